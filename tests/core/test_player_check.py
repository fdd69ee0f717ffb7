"""A player that does not compute what the plain network does is found out, whichever plane it does not see."""

import re
from collections.abc import Callable

import numpy as np
import pytest
import torch
from network_samples import network
from self_play import ACTIONS, CPU, environment
from torch import Tensor

from keisei.core import device_player
from keisei.core.device_player import DevicePlayer
from keisei.core.device_positions import PositionTables, packed_mask, planes_of
from keisei.core.inference import Inference
from keisei.core.player_check import check_player, one_plane_each
from keisei.errors import CompilerError
from keisei.shogi import PLANES
from keisei.shogi.positions import PIECE_PLANES, unpack_planes

Planes = Callable[[Tensor, PositionTables], Tensor]
PRECISIONS = ["fp32", "bf16"]
HANDS = slice(PIECE_PLANES, PIECE_PLANES + 14)


def player(
    precision: str = "fp32",
    *,
    seed: int = 0,
    places: int = 64,
    temperature: float = 1.0,
    is_compiled: bool = True,
) -> DevicePlayer:
    """With a fresh network, as at the beginning of a run; narrower than that of configs/gpu.yaml."""
    fresh = network("resnet_gpool", ACTIONS, seed, blocks=6, channels=16, se_ratio=0)
    thinker = Inference(fresh, device=CPU, precision=precision)
    return DevicePlayer(thinker, places, temperature=temperature, seed=1, is_compiled=is_compiled)


def check(checked: DevicePlayer, more_games: int = 0) -> None:
    """Before the games of an environment, in all of which it could be to move, or in ``more_games`` besides."""
    check_player(checked, environment(checked.capacity + more_games, mirror=True))


def miscompile(monkeypatch: pytest.MonkeyPatch, planes: Planes) -> None:
    """Has players see these planes; the plain network sees those of the engine."""
    monkeypatch.setattr(device_player, "planes_of", planes)


def without(planes_missed: int | slice) -> Planes:
    def planes(records: Tensor, tables: PositionTables) -> Tensor:
        kept = torch.ones(PLANES, 1, 1)
        kept[planes_missed] = 0
        return planes_of(records, tables) * kept.to(tables.pieces.dtype)

    return planes


def reordered(order: list[int]) -> Planes:
    return lambda records, tables: planes_of(records, tables)[:, order]


def planes_found_wrong(checked: DevicePlayer) -> list[int]:
    with pytest.raises(CompilerError, match="differ from the plain network's where they depend on") as caught:
        check(checked)
    named = re.search(r"these planes: ([\d, ]+);", str(caught.value))
    assert named is not None
    return [int(plane) for plane in named[1].split(", ")]


def test_positions_that_show_a_plane_differ_by_this_plane_alone_and_clearly() -> None:
    shown, without = one_plane_each()
    assert len(shown) == len(without) == PLANES
    for plane, pair in enumerate(zip(shown, without, strict=True)):
        drawn, before = (unpack_planes(records) for records in pair)
        assert np.array_equal(np.delete(drawn, plane, axis=1), np.delete(before, plane, axis=1))
        assert not before[:, plane].any() or plane < PIECE_PLANES
        assert 0.4 < (drawn - before)[:, plane].mean() <= 1


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("seed", range(3))
def test_a_player_that_sees_what_the_network_sees_is_trusted(precision: str, seed: int) -> None:
    check(player(precision, seed=seed))


@pytest.mark.parametrize("places", [3, 1000])
def test_any_number_of_places_will_do(places: int, monkeypatch: pytest.MonkeyPatch) -> None:
    check(player(places=places))
    check(player(places=places), more_games=5)
    miscompile(monkeypatch, without(27))
    assert 27 in planes_found_wrong(player(places=places))


@pytest.mark.parametrize("temperature", [0.2, 10.0])
def test_any_temperature_will_do(temperature: float, monkeypatch: pytest.MonkeyPatch) -> None:
    check(player("bf16", temperature=temperature))
    miscompile(monkeypatch, without(3))
    assert 3 in planes_found_wrong(player("bf16", temperature=temperature))


@pytest.mark.parametrize("plane", range(PLANES))
def test_a_plane_that_is_not_seen_is_named(plane: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """28 of pieces, 14 of hands, then turn, ply, repetition and check."""
    miscompile(monkeypatch, without(plane))
    found = planes_found_wrong(player("bf16"))
    assert plane in found
    # A kind of piece may be missed in positions that show a plane without pieces, but not in those of another kind.
    assert plane < PIECE_PLANES or found == [plane]
    assert [other for other in found if other < PIECE_PLANES] in ([plane], [])


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("blind", [slice(0, PIECE_PLANES), slice(PIECE_PLANES, PLANES)])
def test_no_plane_is_too_faint_for_any_network(
    seed: int, precision: str, blind: slice, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No two of these are set in one position: missing all of them tells of each what missing it alone would."""
    miscompile(monkeypatch, without(blind))
    assert set(planes_found_wrong(player(precision, seed=seed))) >= set(range(PLANES)[blind])


@pytest.mark.parametrize(
    "order",
    [
        pytest.param([plane ^ 1 for plane in range(PLANES)], id="neighbours swapped"),
        pytest.param([(plane + 14) % PLANES for plane in range(PLANES)], id="the other side's"),
    ],
)
@pytest.mark.parametrize("precision", PRECISIONS)
def test_planes_in_another_order_are_named(
    order: list[int], precision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    miscompile(monkeypatch, reordered(order))
    assert planes_found_wrong(player(precision)) == list(range(PLANES))


def test_two_planes_that_are_swapped_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    order = list(range(PLANES))
    order[6], order[20] = 20, 6
    miscompile(monkeypatch, reordered(order))
    assert {6, 20} <= set(planes_found_wrong(player()))


def test_the_error_that_was_met_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fused kernel compared the board with 1 ^ i instead of 1 + i."""

    def planes(records: Tensor, tables: PositionTables) -> Tensor:
        taken = torch.tensor([1 ^ plane for plane in range(28)])
        board = records[:, :81].view(-1, 1, 9, 9)
        wrong = (board == taken.view(1, -1, 1, 1)).to(tables.pieces.dtype)
        return torch.cat((wrong, planes_of(records, tables)[:, 28:]), dim=1)

    miscompile(monkeypatch, planes)
    assert set(planes_found_wrong(player("bf16"))) >= {plane for plane in range(28) if 1 ^ plane != 1 + plane}


def test_what_errs_only_where_several_planes_are_set_is_found_in_the_games(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def planes(records: Tensor, tables: PositionTables) -> Tensor:
        drawn = planes_of(records, tables).clone()
        kinds_in_hand = (drawn[:, HANDS, 0, 0] > 0).sum(dim=1)
        drawn[kinds_in_hand > 1, HANDS] = 0
        return drawn

    miscompile(monkeypatch, planes)
    with pytest.raises(CompilerError, match=r"differ from the plain network's in the positions of its games"):
        check(player())


def test_wrong_legal_moves_for_the_learner_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        device_player, "packed_mask", lambda mask, tables: packed_mask(mask.roll(1, dims=1), tables)
    )
    with pytest.raises(CompilerError, match="legal moves differ from the engine's"):
        check(player())


@pytest.mark.parametrize(
    ("is_compiled", "advice"),
    [
        (True, r"set training\.compile to false$"),
        (False, r"install another one, or set training\.device to cpu$"),
    ],
)
def test_the_advice_fits_the_settings(
    is_compiled: bool, advice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    miscompile(monkeypatch, without(0))
    with pytest.raises(CompilerError, match=advice):
        check(player(is_compiled=is_compiled))
