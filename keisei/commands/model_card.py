"""The model card of a network: what it is, how it was trained, how strong it is, and what it is not good at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from keisei.commands.network_facts import COMMAND, EXAM, RATING
from keisei.commands.network_scores import POLICY, SEARCH

if TYPE_CHECKING:
    from keisei.commands.network_scores import NetworkScore
    from keisei.core.compact_network import CompactNetwork

EVEN: Final = 0.5
#: Settings that matter to players; the manifest has the rest.
_ARCHITECTURE: Final = ("architecture", "blocks", "channels", "num_actions")
_LICENCE: Final = "## Licence\n\nMIT, as Keisei itself."
_CAVEATS: Final = (
    "By its policy alone it looks no move ahead. Play it with search where strength matters.",
    "Scores hold against these opponents, from these openings; they say nothing about human grades.",
)


def model_card(
    name: str, network: CompactNetwork, facts: Mapping[str, str], scores: Sequence[NetworkScore]
) -> str:
    """The card as Markdown; ``name`` is what the network is called on a command line."""
    parts = [
        _head(name, network),
        _training(facts),
        _strength(facts, scores),
        _weaknesses(scores),
        _LICENCE,
    ]
    return "\n\n".join(parts) + "\n"


def _head(name: str, network: CompactNetwork) -> str:
    from keisei.core.onnx_export import CHECKED_POSITIONS

    saved = network.manifest.architecture
    rows = {
        **{key.replace("_", " "): str(saved[key]) for key in _ARCHITECTURE if key in saved},
        "weights": f"{network.num_weights:,}, {network.size:,} bytes in half precision (float16)",
        "same favourite move as in single precision": f"{network.agreement:.1%} of {CHECKED_POSITIONS:,} positions",
        "largest difference of the value": f"{network.value_difference:.1e}",
    }
    return "\n\n".join(
        [
            f"# The network `{name}`",
            "Plays shogi: from a position to the probability of each move, and of winning, drawing and losing.\n"
            "`keisei export --network` wrote it and this card.",
            f"```sh\nkeisei play {name}\nkeisei match search:{name} ab1\nkeisei usi {name}\n```",
            _table(("network", ""), rows.items()),
        ]
    )


def _training(facts: Mapping[str, str]) -> str:
    rows = [row for row in facts.items() if row[0] != COMMAND and not _is_about_strength(row[0])]
    lines = ["## How it was trained", _table(("fact", ""), rows)]
    if COMMAND in facts:
        lines += ["To train another like it, as far as the plies above:", f"```sh\n{facts[COMMAND]}\n```"]
    return "\n\n".join(lines)


def _is_about_strength(name: str) -> bool:
    return name.startswith((RATING, EXAM))


def _strength(facts: Mapping[str, str], scores: Sequence[NetworkScore]) -> str:
    from keisei.evaluation.gumbel_search import DEFAULT_SIMULATIONS
    from keisei.evaluation.openings import OPENING_PLIES

    recorded = [row for row in facts.items() if _is_about_strength(row[0])]
    parts = ["## How strong it is"]
    if scores:
        parts += [
            f"Games in pairs with colours swapped, from random balanced openings of {OPENING_PLIES} plies, "
            f"by these very\nweights. `{POLICY}` plays the likeliest move, `{SEARCH}` is Gumbel search with "
            f"{DEFAULT_SIMULATIONS} simulations.",
            _score_table(scores),
        ]
    if recorded:
        parts += ["Measured before the weights were rounded:", _table(("measure", ""), recorded)]
    return "\n\n".join(parts if scores or recorded else [*parts, "Not measured."])


def _score_table(scores: Sequence[NetworkScore]) -> str:
    rows = []
    for entry in scores:
        low, high = entry.score.interval
        counts = f"{entry.score.wins}/{entry.score.draws}/{entry.score.losses}"
        interval = f"{low:.1%} to {high:.1%}"
        rows.append(
            (entry.player, entry.opponent, counts, f"{entry.score.share:.1%}", interval, entry.elo or "-")
        )
    names = ("player", "opponent", "won/drawn/lost", "score", "95 %", "Elo difference [95 %]")
    return _table(names, rows)


def _weaknesses(scores: Sequence[NetworkScore]) -> str:
    return "\n".join(["## What it is not good at", "", *(f"- {line}" for line in _weak_points(scores))])


def _weak_points(scores: Sequence[NetworkScore]) -> Iterator[str]:
    against = [entry for entry in scores if entry.player == POLICY]
    lost = [f"`{entry.opponent}` ({entry.score.share:.1%})" for entry in against if entry.score.share < EVEN]
    if lost:
        yield f"Its policy loses to {', '.join(lost)}."
    elif against:
        yield "Its policy held its own against every opponent above; stronger ones were not tried."
    yield from _CAVEATS


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
