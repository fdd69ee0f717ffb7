"""The ladder: steps are played, kept and turned into ratings in the expected order."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from keisei.errors import ConfigError
from keisei.evaluation import ladder as ladder_module
from keisei.evaluation.ladder import ANCHORS_WITH_FAIRY, FIXED_ANCHORS, Ladder, default_anchors
from keisei.evaluation.player_specs import PlayerSpec
from keisei.evaluation.players import Player, RandomPlayer, fixed_player
from keisei.evaluation.registry import Conditions, Registry
from keisei.shogi import Move, ShogiGame


def book(tmp_path: Path) -> Registry:
    return Registry(tmp_path / "registry.json", Conditions(max_plies=150, opening_plies=4))


def players(*names: str) -> list[Player]:
    return [fixed_player(name, seed) for seed, name in enumerate(names)]


def make_ladder(
    tmp_path: Path, contenders: Sequence[Player], *anchors: str, games_per_step: int = 8
) -> Ladder:
    return Ladder(contenders, players(*anchors), book(tmp_path), games_per_step=games_per_step, seed=1)


class Faint(RandomPlayer):
    """Plays some moves and then breaks down."""

    name = "faint"
    answers = 0

    def choose(self, games: Sequence[ShogiGame]) -> list[Move]:
        self.answers += 1
        if self.answers > 20:
            raise RuntimeError("no more")
        return super().choose(games)


def test_steps_put_players_in_order_and_the_registry_keeps_them(tmp_path: Path) -> None:
    steps = make_ladder(tmp_path, players("ab1"), "random", "greedy")
    assert steps.widest() == float("inf")
    met = []
    for _ in range(4):
        pairing = steps.next_pairing()
        met.append(pairing)
        result = steps.play_step(*pairing)
        assert result.score.games == 8
    assert met[0] == ("greedy", "random")
    assert met[1] == ("ab1", "greedy")
    assert [rating.name for rating in steps.ratings()] == ["ab1", "greedy", "random"]
    assert sum(map(sum, book(tmp_path).results.values())) == 16


def test_every_step_of_a_pairing_has_new_openings(tmp_path: Path) -> None:
    steps = make_ladder(tmp_path, [], "random", "greedy")
    starts = []
    for _ in range(3):
        result = steps.play_step("greedy", "random")
        starts += [game.game.start_sfen for game in result.games]
    assert len(set(starts)) == len(starts) / 2


def test_results_of_an_earlier_ladder_count(tmp_path: Path) -> None:
    make_ladder(tmp_path, [], "random", "greedy").play_step("greedy", "random")
    later = make_ladder(tmp_path, players("ab1"), "random", "greedy")
    assert later.next_pairing() == ("ab1", "greedy")


def test_contenders_without_bounds_take_turns(tmp_path: Path) -> None:
    registry = book(tmp_path)
    registry.add("greedy", "random", (0, 0, 0, 0, 10))
    steps = Ladder(players("ab1", "ab2"), players("random", "greedy"), registry, games_per_step=8, seed=1)
    assert steps.next_pairing() == ("ab1", "greedy")
    registry.add("ab1", "greedy", (0, 0, 0, 0, 4))
    assert steps.next_pairing() == ("ab2", "greedy")


def test_a_step_that_breaks_off_leaves_the_registry_as_it_was(tmp_path: Path) -> None:
    steps = make_ladder(tmp_path, [Faint(1)], "random")
    with pytest.raises(RuntimeError, match="no more"):
        steps.play_step("faint", "random")
    stopped = make_ladder(tmp_path, [], "random", "greedy").play_step(
        "greedy", "random", should_stop=lambda: True
    )
    assert stopped.stopped
    assert not book(tmp_path).results


def test_players_that_are_not_on_the_ladder_are_not_shown(tmp_path: Path) -> None:
    registry = book(tmp_path)
    registry.add("stranger", "random", (1, 0, 0, 0, 5))
    steps = Ladder(players("ab1"), players("random"), registry, games_per_step=2, seed=1)
    assert [rating.name for rating in steps.ratings()] == ["random"]


@pytest.mark.parametrize(
    ("contenders", "anchors", "games", "complaint"),
    [
        (("ab1",), ("mate1",), 2, "lack 'random'"),
        (("ab1",), ("random", "ab1"), 2, "different players"),
        (("ab1",), ("random",), 1, "at least 2"),
    ],
)
def test_ladders_that_cannot_be_are_refused(
    tmp_path: Path, contenders: tuple[str, ...], anchors: tuple[str, ...], games: int, complaint: str
) -> None:
    with pytest.raises(ConfigError, match=complaint):
        make_ladder(tmp_path, players(*contenders), *anchors, games_per_step=games)


def test_rungs_of_fairy_stockfish_are_anchors_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ladder_module, "find_program", lambda _: None)
    assert default_anchors() == FIXED_ANCHORS
    monkeypatch.setattr(ladder_module, "find_program", lambda name: f"/usr/games/{name}")
    assert default_anchors() == ANCHORS_WITH_FAIRY
    assert [name for name in ANCHORS_WITH_FAIRY if name in FIXED_ANCHORS] == list(FIXED_ANCHORS)
    for name in ANCHORS_WITH_FAIRY:
        assert PlayerSpec.parse(name).text == name
