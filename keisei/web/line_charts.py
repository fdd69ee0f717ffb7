"""Charts of lines that grow while a visitor looks: drawn as a whole once, then only their points are sent."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from nicegui import ui

from keisei.web.curves import Line, chart

#: A chart that is not there yet gets its points a little later, as NiceGUI does with options.
_SHOW: Final = """.forEach(([id, lines]) => {
  const show = () => {
    const chart = getElement(id)?.chart;
    chart ? chart.setOption({series: lines.map((data) => ({data}))}) : setTimeout(show, 50);
  };
  show();
})"""


@dataclass(frozen=True)
class Frame:
    """What is around the lines: the name of the axis, and how all charts of a page are drawn."""

    axis: str
    dark: bool | None
    log: bool = False


class LineCharts:
    """The charts of one visitor's page, by title."""

    def __init__(self) -> None:
        self._client = ui.context.client
        self._plots: dict[str, ui.echart] = {}
        self._shown: dict[str, tuple[Frame, Sequence[Line]]] = {}

    def add(self, title: str) -> None:
        """A place for one chart, here."""
        plot = self._plots[title] = ui.echart({}).classes("k-chart")
        plot.props["aria-label"] = title

    def show(self, lines: Mapping[str, Sequence[Line]], frame: Frame) -> None:
        """Draw what has changed; where nothing but points has, those are sent, for all charts in one message."""
        grown: list[str] = []
        for title, new in lines.items():
            old_frame, old = self._shown.get(title, (None, ()))
            self._shown[title] = (frame, new)
            if old_frame != frame or _names(old) != _names(new) or not self._client.has_socket_connection:
                # Also for a visitor who is not connected: messages would pile up, options replace each other.
                draw(self._plots[title], chart(new, frame.axis, log=frame.log, dark=frame.dark))
            elif old != new:
                grown.append(f"[{self._plots[title].id},[{','.join(line.data for line in new)}]]")
        if grown:
            self._client.run_javascript(f"[{','.join(grown)}]{_SHOW}")


def _names(lines: Sequence[Line]) -> list[str]:
    return [line.name for line in lines]


def draw(plot: ui.echart, options: Mapping[str, Any]) -> None:
    """Draw a chart anew."""
    plot.options.clear()
    plot.options.update(options)
    plot.update()
