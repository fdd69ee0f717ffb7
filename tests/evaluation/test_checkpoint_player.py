"""Networks of checkpoints as players: the right weights under a name of their own, and one ply of look-ahead."""

from pathlib import Path

import numpy as np
import pytest
from small_checkpoints import make_run, save_checkpoint, small_network
from stand_in_networks import MaterialNetwork
from stand_in_networks import inference as inference_of

from keisei.errors import CheckpointError, KeiseiError, NoGoodCheckpointError, RunDirectoryError
from keisei.evaluation import checkpoint_player
from keisei.evaluation.checkpoint_player import ValuePlayer, load_player_network
from keisei.evaluation.openings import random_openings
from keisei.shogi import Color, ShogiGame


def test_g5_the_weights_that_play_are_those_of_the_checkpoint(tmp_path: Path) -> None:
    run = make_run(tmp_path, "climber", updates=2)
    loaded = load_player_network("climber", tmp_path, "cpu")
    records = np.frombuffer(ShogiGame().pack(), np.uint8)[None]
    expected = inference_of(small_network(2)).evaluate(records)
    found = loaded.inference.evaluate(records)
    assert found.log_probs.equal(expected.log_probs)
    assert loaded.manifest.update == 2
    assert loaded.run is not None
    assert loaded.run.path == run.path


def test_names_tell_networks_apart(tmp_path: Path) -> None:
    run = make_run(tmp_path, "climber", updates=2)
    older = load_player_network(str(run.checkpoints_path / "update-00000001"), tmp_path, "cpu")
    newest = load_player_network(str(run.path), tmp_path, "cpu")
    assert older.name.startswith("climber@1#")
    assert newest.name.startswith("climber@2#")
    assert older.run is not None


def test_a_checkpoint_outside_of_a_run_has_no_run(tmp_path: Path) -> None:
    plain, averaged = (
        load_player_network(
            str(save_checkpoint(tmp_path / name, averaged=name == "averaged")), tmp_path, "cpu"
        )
        for name in ("plain", "averaged")
    )
    assert plain.run is None
    assert plain.name.startswith("plain@1#")
    assert plain.name.split("#")[1] != averaged.name.split("#")[1]


def test_a_run_that_cannot_be_read_does_not_keep_its_checkpoint_from_playing(tmp_path: Path) -> None:
    run = make_run(tmp_path, "climber")
    (run.path / "run.json").write_text("damaged")
    loaded = load_player_network(str(run.checkpoints_path / "update-00000001"), tmp_path, "cpu")
    assert loaded.run is None


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda folder: "nobody", RunDirectoryError),
        (str, CheckpointError),
        (lambda folder: str(_damaged(folder)), CheckpointError),
        (lambda folder: str(_run_of_damaged(folder)), NoGoodCheckpointError),
    ],
    ids=["no such run", "an empty folder", "a damaged checkpoint", "a run without a good checkpoint"],
)
def test_g5_nothing_plays_with_random_weights(tmp_path: Path, make: object, error: type[KeiseiError]) -> None:
    with pytest.raises(error):
        load_player_network(make(tmp_path), tmp_path, "cpu")  # type: ignore[operator]


def test_one_ply_of_look_ahead_takes_what_the_value_likes_best() -> None:
    """The network knows only material: the rook is worth more than the pawn, for either colour."""
    black = ShogiGame("4k4/9/9/9/4r4/3pG4/9/9/4K4 b - 1")
    white = ShogiGame("4k4/9/9/4gP3/4R4/9/9/9/4K4 w - 1")
    moves = ValuePlayer("value", inference_of(MaterialNetwork())).choose([black, white])
    assert [move.usi for move in moves] == ["5f5e", "5d5e"]


def test_games_are_judged_together_as_one_by_one_and_left_as_they_were(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(checkpoint_player, "BATCH_SIZE", 37)
    player = ValuePlayer("value", inference_of(small_network(5)))
    games = [ShogiGame(sfen) for sfen in random_openings(6, seed=1, plies=20)]
    before = [game.sfen for game in games]
    assert player.choose(games) == [player.choose([game])[0] for game in games]
    assert [game.sfen for game in games] == before


def test_the_choice_is_the_best_child_by_hand() -> None:
    network = inference_of(small_network(5))
    game = ShogiGame(random_openings(1, seed=3, plies=25)[0])
    (move,) = ValuePlayer("value", network).choose([game])

    def worth(usi: str) -> float:
        child = ShogiGame(game.sfen)
        child.play(usi)
        return -float(network.values(np.frombuffer(child.pack(), np.uint8)[None])[0])

    best = max(worth(option.usi) for option in game.legal_moves())
    assert worth(move.usi) == pytest.approx(best, abs=1e-5)


def test_ends_count_as_what_they_bring() -> None:
    """A mate is taken although the network sees nothing in it."""
    mate = ShogiGame("4k4/9/4P4/9/9/9/9/9/4K4 b G2r2b 1")
    (move,) = ValuePlayer("value", inference_of(small_network(1))).choose([mate])
    mate.play(move)
    assert mate.outcome is not None
    assert mate.outcome.winner is Color.BLACK


def _damaged(folder: Path) -> Path:
    path = save_checkpoint(folder)
    weights = path / "model.safetensors"
    data = bytearray(weights.read_bytes())
    data[len(data) // 2] ^= 1
    weights.write_bytes(bytes(data))
    return path


def _run_of_damaged(folder: Path) -> Path:
    run = make_run(folder, "broken")
    (run.checkpoints_path / "update-00000001" / "model.safetensors").unlink()
    return run.path
