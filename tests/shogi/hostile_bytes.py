"""A program that feeds damaged and made-up bytes to everything that reads packed positions or saved games.

``python hostile_bytes.py KIND COUNT SEED``, with tests/ on the path, ends with status 0 when every input met a clean
error or made sense. It is a program of its own so that a memory fault ends it and not the tests.
"""

import faulthandler
import sys
from random import Random

import numpy as np
import numpy.typing as npt
from damage import damaged_bytes
from random_play import MIXED_STARTS, visited_records

from keisei.errors import RecordError
from keisei.shogi import (
    MAX_LEGAL_MOVES,
    RECORD_BYTES,
    Color,
    Move,
    PolicyOutputMapper,
    ShogiGame,
    ShogiVectorEnv,
    Starts,
)
from keisei.shogi.positions import (
    legal_actions,
    legal_mask_bits,
    legal_masks,
    masks_from_lists,
    mirror_records,
    unpack_plane_bits,
    unpack_planes,
    unpack_planes_uint8,
)

SIZES = ("2187", "13527")


def damaged_record(originals: list[bytes], rng: Random) -> bytes:
    """Bytes flipped in place, or no position at all."""
    if rng.random() < 0.1:
        return rng.randbytes(RECORD_BYTES)
    record = bytearray(rng.choice(originals))
    for _ in range(rng.randint(1, 6)):
        record[rng.randrange(RECORD_BYTES)] = rng.choice((0, rng.randrange(29), rng.randrange(256)))
    return bytes(record)


def packed_positions(count: int, rng: Random) -> None:
    originals = [row.tobytes() for row in visited_records(500, seed=rng.randrange(2**32))]
    for number in range(count):
        record = damaged_record(originals, rng)
        if number % 20 == 0:
            record = damaged_bytes(record, rng)
        try:
            game = ShogiGame.from_packed(record)
        except RecordError:
            continue
        assert ShogiGame(game.sfen) == game
        for move in game.legal_moves()[:3]:
            if game.outcome is None:
                game.make_move(move)
                game.undo_move()


def legal_lists(count: int, rng: Random) -> None:
    originals = [row.tobytes() for row in visited_records(500, seed=rng.randrange(2**32))]
    for _ in range(count):
        unpack_everything(np.frombuffer(damaged_record(originals, rng), np.uint8)[None], rng.choice(SIZES))


def crowded_boards(count: int, rng: Random) -> None:
    """More pieces than a set has: more moves than any position has."""
    for _ in range(count):
        record = np.zeros(RECORD_BYTES, np.uint8)
        squares = rng.sample(range(81), 81)
        for square in squares[2 : rng.randint(10, 60)]:
            record[square] = rng.choice((4, 6, 7, 13, 14))
        record[squares[0]], record[squares[1]] = 8, 22
        record[81:89] = (18, 0x44, 0x44, 0x22) * 2
        unpack_everything(record[None], rng.choice(SIZES))


def unpack_everything(records: npt.NDArray[np.uint8], size: str) -> None:
    """Planes never fail; legal lists may refuse a record, but never hold more than the most moves."""
    unpack_planes(records)
    unpack_planes_uint8(records)
    unpack_plane_bits(records)
    mirror_records(records)
    try:
        legal = legal_actions(records, size)
    except RecordError:
        return
    assert legal.counts[0] <= MAX_LEGAL_MOVES
    assert legal.actions[0, : legal.counts[0]].max(initial=0) < int(size)
    masks = legal_masks(records, size)
    assert np.array_equal(masks, masks_from_lists(legal, size))
    assert np.array_equal(np.packbits(masks, axis=1, bitorder="little"), legal_mask_bits(records, size))


def saved_states(count: int, rng: Random) -> None:
    """A damaged state is refused without a change, or its games are games that can be played."""
    for _ in range(max(1, count // 1000)):
        size = rng.choice(SIZES)
        env = ShogiVectorEnv(2, rng.randrange(2**32), 1, actions=size, starts=MIXED_STARTS, max_plies=60)
        env.play_random(rng.randint(1, 120))
        state = env.save_state()
        for _ in range(min(count, 1000)):
            before = env.save_state()
            try:
                env.load_state(damaged_bytes(state, rng))
            except ValueError:
                assert env.save_state() == before
                continue
            assert_playable(env)


def forged_moves(count: int, rng: Random) -> None:
    """A state whose only move is 7h7f: from an empty square, but along the same line to the same square as 7g7f."""
    for size in SIZES:
        env = ShogiVectorEnv(1, 1, 1, actions=size)
        env.step(np.array([PolicyOutputMapper(size).move_to_index("7g7f", Color.BLACK)]))
        state = env.save_state()
        assert state.endswith(Move.from_usi("7g7f").code.to_bytes(2, "little"))
        assert_refused(env, state[:-2] + Move.from_usi("7h7f").code.to_bytes(2, "little"))


def forged_archive(count: int, rng: Random) -> None:
    """A state with earlier positions from which no game can begin, since the side to move is mated."""
    env = ShogiVectorEnv(1, 3, 1, starts=Starts(standard=0, earlier=1), max_plies=20)
    env.play_random(100)
    state = env.save_state()
    archived = int.from_bytes(state[24:28], "little")
    assert archived > 0
    mated = ShogiGame("8k/9/9/9/9/9/4p4/4g4/4K4 b - 1").pack()
    assert_refused(env, state[:28] + archived * mated + state[28 + archived * RECORD_BYTES :])


def assert_refused(env: ShogiVectorEnv, forged: bytes) -> None:
    before = env.save_state()
    try:
        env.load_state(forged)
    except ValueError:
        assert env.save_state() == before
        return
    raise AssertionError(f"a forged state was accepted: {env.game(0).moves} in {env.game(0).sfen}")


def assert_playable(env: ShogiVectorEnv) -> None:
    for index in range(env.num_games):
        game = env.game(index)
        replayed = ShogiGame(game.start_sfen, max_plies=game.max_plies)
        for move in game.moves:
            replayed.make_move(move)
        assert replayed == game
    for _ in range(40):
        assert env.legal_counts.min() > 0, "a game in flight has a legal move"
        env.step(env.random_actions())


KINDS = {
    check.__name__: check
    for check in (packed_positions, legal_lists, crowded_boards, saved_states, forged_moves, forged_archive)
}


def main() -> None:
    faulthandler.enable()
    kind, count, seed = sys.argv[1:]
    KINDS[kind](int(count), Random(int(seed)))


if __name__ == "__main__":
    main()
