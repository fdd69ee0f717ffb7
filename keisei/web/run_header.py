"""The figures at the top of the Now panel, as text."""

import time
from functools import lru_cache

from keisei.record.console import Health
from keisei.record.health import judge
from keisei.record.metrics import PHASE_PREFIX
from keisei.web.run_feed import RunFeed

NONE = "–"
GIB = 2**30
#: A trainer that has recorded nothing for this long is worth a look.
SILENT_SECONDS = 300.0


def header_figures(feed: RunFeed) -> dict[str, str]:
    """Title and text of every tile."""
    facts = feed.facts
    pid, goal, checkpoints = facts.trainer_pid, facts.goal, facts.checkpoints
    point = feed.newest_point()
    plies = 0 if point is None else point.plies
    return {
        "state": "training" if pid else "at rest",
        "update": NONE if point is None else f"{point.update:,}",
        "plies": f"{plies:,}",
        "done": f"{plies / goal.total_plies:.1%}" if goal and goal.total_plies else NONE,
        "games": _whole(feed.figure("games")),
        "plies/s": _whole(feed.figure("plies_per_second")),
        "time left": _time_left(feed, plies) if pid else NONE,
        "policy lag": _whole(feed.figure("policy_lag")),
        "last checkpoint": _checkpoint_words(checkpoints[-1].name) if checkpoints else NONE,
        "last update": NONE if point is None else f"{span(time.time() - point.time)} ago",
        "time goes to": _main_phase(feed),
        "CPU": f"{facts.cpu_share:.0%}",
        "GPU": NONE
        if facts.gpu is None
        else f"{facts.gpu.share:.0%}, {facts.gpu.memory_bytes / GIB:.1f} GiB",
        "memory": NONE if facts.memory_bytes is None else f"{facts.memory_bytes / GIB:.1f} GiB",
    }


def _time_left(feed: RunFeed, plies: int) -> str:
    """To the last ply at the present speed or to the time limit, whichever comes first."""
    goal, speed = feed.facts.goal, feed.figure("plies_per_second")
    spans = []
    if goal and speed:
        spans.append((goal.total_plies - plies) / speed)
    if goal and goal.time_limit_seconds:
        spans.append(goal.time_limit_seconds - _elapsed_seconds(feed, feed.version))
    return span(min(spans)) if spans else NONE


@lru_cache(maxsize=64)
def _elapsed_seconds(feed: RunFeed, _version: int) -> float:
    """The phases of all updates add up to the time that was trained; added up once for all visitors."""
    return sum(point.value for name in _phases(feed) for point in feed.series(name))


def _main_phase(feed: RunFeed) -> str:
    seconds = {name: feed.latest[name].value for name in _phases(feed)}
    total = sum(seconds.values())
    if not total > 0:
        return NONE
    longest = max(seconds, key=seconds.__getitem__)
    return f"{longest.removeprefix(PHASE_PREFIX)} {seconds[longest] / total:.0%}"


def _phases(feed: RunFeed) -> list[str]:
    return [name for name in feed.latest if name.startswith(PHASE_PREFIX)]


def health(feed: RunFeed) -> Health:
    """The light: the journal's own state first, then what the figures mean."""
    if feed.problem is not None:
        return Health("bad", feed.problem)
    point = feed.newest_point()
    if point is None:
        return Health("good", "no update has ended yet")
    silence = time.time() - point.time
    if feed.facts.trainer_pid is not None and silence > SILENT_SECONDS:
        return Health(
            "warning",
            f"the trainer has recorded nothing for {span(silence)}: look at {feed.run.log_path.name}",
        )
    return judge({name: value.value for name, value in feed.latest.items() if value.update == point.update})


def span(seconds: float) -> str:
    """A length of time for people, in its two largest units."""
    minutes, rest = divmod(max(0, round(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    parts = [
        f"{count} {unit}"
        for count, unit in ((days, "d"), (hours, "h"), (minutes, "min"), (rest, "s"))
        if count
    ]
    return " ".join(parts[:2]) or "0 s"


def _checkpoint_words(name: str) -> str:
    """A checkpoint's folder is called after its update, with many zeros."""
    word, _, number = name.rpartition("-")
    return f"{word} {int(number):,}" if number.isdecimal() else name


def _whole(value: float | None) -> str:
    return NONE if value is None or value != value else f"{value:,.0f}"  # noqa: PLR0124 (NaN)
