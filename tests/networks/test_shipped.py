"""The network that comes with Keisei: small, whole, part of the package, and a player."""

import json
import subprocess
from importlib.resources import files
from pathlib import Path

import pytest

from keisei.core.checkpoint_format import verify_folder
from keisei.core.compact_network import MAX_BYTES
from keisei.evaluation import opened_players, play_match, random_openings
from keisei.networks import CARD_FILE, SHIPPED, shipped_network
from keisei.shogi import ShogiGame

REPOSITORY = Path(__file__).resolve().parents[2]
FILES = ("manifest.json", "model.safetensors", "state.json", CARD_FILE)


@pytest.fixture
def folder() -> Path:
    found = shipped_network()
    assert found is not None
    return found


def test_it_is_small_and_every_byte_is_vouched_for(folder: Path) -> None:
    assert sum(path.stat().st_size for path in folder.iterdir()) <= MAX_BYTES
    verify_folder(folder)


def test_it_is_package_data_that_version_control_knows() -> None:
    """The wheel takes every file of the package that is not ignored."""
    shipped = files("keisei.networks") / SHIPPED
    assert {entry.name for entry in shipped.iterdir()} == set(FILES)
    paths = [f"keisei/networks/{SHIPPED}/{name}" for name in FILES]
    asked = subprocess.run(
        ["git", "check-ignore", "--no-index", *paths],
        cwd=REPOSITORY,
        text=True,
        capture_output=True,
        check=False,
    )
    assert asked.stdout == ""


def test_its_card_tells_what_its_state_knows(folder: Path) -> None:
    card = (folder / CARD_FILE).read_text(encoding="utf-8")
    state = json.loads((folder / "state.json").read_text(encoding="utf-8"))
    assert {"plies", "minutes", "processor", "command"} <= state["facts"].keys()
    for name, value in state["facts"].items():
        assert value in card, name
    assert {score["opponent"] for score in state["scores"]} >= {"random", "greedy"}
    for score in state["scores"]:
        assert f"| {score['opponent']} | {score['wins']}/{score['draws']}/{score['losses']} |" in card
    assert "MIT" in card


def test_no_other_name_is_shipped() -> None:
    assert shipped_network("nobody") is None


def test_it_plays_legal_moves_and_beats_random() -> None:
    with opened_players("shipped", "random", seed=1, device="cpu") as (ours, random):
        game = ShogiGame()
        assert ours.player.choose([game])[0] in game.legal_moves()
        result = play_match(ours.player, random.player, random_openings(4, seed=1), max_plies=256)
    assert result.score.games == 8
    assert result.score.wins >= 6
