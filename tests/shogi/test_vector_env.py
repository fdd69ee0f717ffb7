"""ShogiVectorEnv: the contract of vector environments, and what only this one promises."""

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np
import pytest
from contracts import vector_env_contract as contract
from random_play import MIXED_STARTS, SPARSE_SFENS, way_back
from twins import turned_sfen, turned_usi

from keisei.errors import SfenError
from keisei.shogi import (
    HANDICAP_SFENS,
    NO_ACTION,
    REASONS,
    RECORD_BYTES,
    STANDARD_SFEN,
    Color,
    PolicyOutputMapper,
    Reason,
    ShogiGame,
    ShogiVectorEnv,
    Starts,
    positions,
)

SIZES = ("2187", "13527")
MATE_IN_ONE = "4k4/9/4P4/9/9/9/9/9/4K4 b G 1"


def make(num_games: int, seed: int = 0, num_threads: int = 1, **options: Any) -> ShogiVectorEnv:
    return ShogiVectorEnv(num_games, seed, num_threads, **options)


def restless_choice(env: ShogiVectorEnv, games: Sequence[ShogiGame], rng: Random) -> np.ndarray:
    """Random legal actions that often take back the mover's last move, so that positions recur."""
    mapper = PolicyOutputMapper(env.num_actions)
    actions = contract.random_choice(env, games, rng)
    for index, game in enumerate(games):
        back = way_back(game)
        if back is not None and back in game.legal_moves() and rng.random() < 0.8:
            actions[index] = mapper.move_to_index(back, game.turn)
    return actions


# ---------------------------------------------------------------- the contract


def test_arrays() -> None:
    contract.check_arrays(make)


@pytest.mark.parametrize("size", SIZES)
def test_every_ply_is_the_one_that_a_single_game_plays(size: str) -> None:
    """22,000 plies a mapping from all kinds of starts, with mates on show."""
    endings = contract.check_lockstep(
        make, games=55, steps=400, seed=1, actions=size, starts=MIXED_STARTS, max_plies=120, mate_in_one=True
    )
    assert min(endings[Reason.CHECKMATE], endings[Reason.MAX_PLIES]) >= 10


@pytest.mark.parametrize("rule", ["csa27", "csa24", "try", "off"])
def test_every_ply_is_the_one_that_a_single_game_plays_where_games_repeat(rule: str) -> None:
    starts = Starts(standard=0, listed=1, sfens=(*SPARSE_SFENS[1:4], "k8/9/9/9/9/9/9/9/4K4 b - 1"))
    endings = contract.check_lockstep(
        make,
        games=20,
        steps=150,
        seed=2,
        choose=restless_choice,
        starts=starts,
        impasse_rule=rule,
        max_plies=100,
    )
    assert endings[Reason.REPETITION] >= 10


@pytest.mark.parametrize("declare", [True, False])
@pytest.mark.parametrize("rule", ["csa27", "csa24", "try", "off"])
def test_every_ply_is_the_one_that_a_single_game_plays_where_kings_have_entered(
    rule: str, declare: bool
) -> None:
    entered = "K8/1+P+P+P+P+P+P+P+P/1+P+P6/9/9/9/9/9/7k1 w 2RB3P 1"
    starts = Starts(
        standard=0, listed=1, sfens=(entered, turned_sfen(entered), "3K5/9/9/9/9/9/9/9/5k3 b RBrb 1")
    )
    endings = contract.check_lockstep(
        make, games=20, steps=60, seed=3, starts=starts, impasse_rule=rule, max_plies=60, declare=declare
    )
    assert (endings[Reason.DECLARATION] > 0) is (declare and rule == "csa27")
    assert (endings[Reason.IMPASSE] > 0) is (rule == "try" or (declare and rule == "csa24"))


def test_illegal_actions_step_nothing() -> None:
    for size in SIZES:
        contract.check_illegal_actions_step_nothing(lambda **options: make(actions=size, **options))  # noqa: B023


def test_action_arrays() -> None:
    contract.check_action_arrays(make)


def test_the_seed_decides_and_threads_do_not() -> None:
    contract.check_the_seed_decides(make, steps=120)
    contract.check_the_seed_decides(
        make, steps=120, starts=MIXED_STARTS, max_plies=60, mate_in_one=True, mirror=True
    )


def test_reset_begins_again() -> None:
    contract.check_reset_begins_again(make, starts=MIXED_STARTS, max_plies=40)


def test_random_actions_are_uniform() -> None:
    contract.check_random_actions_are_uniform(make)


@pytest.mark.parametrize("threads", [1, 2])
def test_random_play_is_stepping(threads: int) -> None:
    contract.check_random_play_is_stepping(
        make, plies=300, num_threads=threads, starts=MIXED_STARTS, max_plies=80, mirror=True
    )


@pytest.mark.parametrize("size", SIZES)
def test_a_saved_state_goes_on_exactly(size: str) -> None:
    contract.check_a_saved_state_goes_on_exactly(
        make,
        before=150,
        after=100,
        actions=size,
        starts=MIXED_STARTS,
        max_plies=60,
        mate_in_one=True,
        mirror=True,
    )


@pytest.mark.parametrize("size", SIZES)
def test_mirrored_games_are_mirror_images_from_their_first_ply_to_their_last(size: str) -> None:
    env = make(40, seed=8, actions=size, starts=MIXED_STARTS, max_plies=50, mate_in_one=True, mirror=True)
    mapper = PolicyOutputMapper(size)
    frames = env.mirrored.copy()
    assert 5 < frames.sum() < 35
    mates = 0
    for _ in range(200):
        for index, mirrored in enumerate(frames):
            game = env.game(index)
            record = np.frombuffer(game.pack(), np.uint8)[None]
            expected = positions.mirror_records(record) if mirrored else record
            assert env.records[index].tobytes() == expected.tobytes()
            legal = mapper.legal_indices(game)
            assert sorted(contract.legal_of(env, index)) == sorted(
                mapper.flip_indices(legal) if mirrored else legal
            )
            mate = env.mate_in_one[index]
            if mate != NO_ACTION:
                mates += 1
                played = mapper.flip_indices(np.array([mate]))[0] if mirrored else mate
                game.make_move(mapper.index_to_move(int(played), game))
                assert game.outcome is not None
        env.step(env.random_actions())
        over = env.terminated | env.truncated
        for index in np.flatnonzero(over):
            final = np.frombuffer(env.finished_game(int(index)).pack(), np.uint8)[None]
            expected = positions.mirror_records(final) if frames[index] else final
            assert env.final_records[index].tobytes() == expected.tobytes()
        assert (env.mirrored == frames)[~over].all(), "a game keeps its frame"
        frames = env.mirrored.copy()
    assert mates


def test_a_state_that_does_not_fit_is_refused() -> None:
    contract.check_a_state_that_does_not_fit_is_refused(make)


# ---------------------------------------------------------------- how games end

ENDINGS = {
    "mate": (MATE_IN_ONE, "G*5b", {}, Reason.CHECKMATE, 1),
    "no legal move": ("k8/9/N1G6/9/9/9/9/9/4K4 b - 1", "7c8c", {}, Reason.NO_LEGAL_MOVES, 1),
    "repetition": (STANDARD_SFEN, "2h3h 8b7b 3h2h 7b8b " * 3, {}, Reason.REPETITION, 0),
    "perpetual check, evader last": (
        "5k3/9/9/9/4R4/9/9/9/8K b - 1",
        "5e4e 4a5a 4e5e 5a4a " * 3,
        {},
        Reason.PERPETUAL_CHECK,
        1,
    ),
    "perpetual check, checker last": (
        "4k4/9/9/9/4R4/9/9/9/8K w - 1",
        "5a4a 5e4e 4a5a 4e5e " * 3,
        {},
        Reason.PERPETUAL_CHECK,
        -1,
    ),
    "ply cap": (STANDARD_SFEN, "7g7f 3c3d 2g2f", {"max_plies": 3}, Reason.MAX_PLIES, 0),
    "mate at the ply cap": (MATE_IN_ONE, "G*5b", {"max_plies": 1}, Reason.CHECKMATE, 1),
    "declaration": (
        "K8/1+P+P+P+P+P+P+P+P/1+P+P6/9/9/9/9/9/7k1 w 2RB3P 1",
        "2i1i",
        {},
        Reason.DECLARATION,
        -1,
    ),
    "impasse": (
        "K8/1+P+P+P+P+P+P+P+P/1+P+P6/9/9/9/9/9/7k1 w 2RB 1",
        "2i1i",
        {"impasse_rule": "csa24"},
        Reason.IMPASSE,
        0,
    ),
    "try": ("9/3K5/9/9/9/9/9/9/8k b - 1", "6b5a", {"impasse_rule": "try"}, Reason.IMPASSE, 1),
}


@pytest.mark.parametrize("color", list(Color))
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("sfen", "moves", "options", "reason", "reward"), ENDINGS.values(), ids=ENDINGS)
def test_an_ending_by_name(
    sfen: str, moves: str, options: dict[str, Any], reason: Reason, reward: int, size: str, color: Color
) -> None:
    """The whole of an ending: flags, reward in the view of the player who moved, final record, automatic reset."""
    if color is Color.WHITE and reason is not Reason.DECLARATION:
        sfen, moves = turned_sfen(sfen), " ".join(map(turned_usi, moves.split()))
    start = ShogiGame(sfen)
    env = make(1, actions=size, starts=Starts(standard=0, listed=1, sfens=[sfen]), **options)
    mapper = PolicyOutputMapper(size)
    *firsts, last = moves.split()
    for usi in firsts:
        env.step(np.array([mapper.move_to_index(usi, env.game(0).turn)]))
        assert (env.terminated[0], env.truncated[0], env.reasons[0], env.rewards[0]) == (False, False, 0, 0)
    before_last = env.game(0)
    env.step(np.array([mapper.move_to_index(last, before_last.turn)]))
    before_last.play(last)
    assert (REASONS[env.reasons[0]], env.rewards[0]) == (reason, reward)
    assert (env.terminated[0], env.truncated[0]) == (
        reason is not Reason.MAX_PLIES,
        reason is Reason.MAX_PLIES,
    )
    assert env.final_records[0].tobytes() == before_last.pack()
    assert env.game(0).sfen == start.sfen
    assert env.records[0].tobytes()[:92] == start.pack()[:92]
    assert env.legal_counts[0] == len(start.legal_moves())
    assert env.repetitions[0] == 0


def test_without_declarations_the_game_goes_on() -> None:
    sfen, move, *_ = ENDINGS["declaration"]
    env = make(1, starts=Starts(standard=0, listed=1, sfens=[sfen]), declare=False)
    env.step(np.array([PolicyOutputMapper("2187").move_to_index(move, Color.WHITE)]))
    assert not env.terminated[0]
    assert env.game(0).can_declare_win()


# ---------------------------------------------------------------- starts


def start_positions(starts: Starts, games: int = 400, **options: Any) -> list[ShogiGame]:
    env = make(games, seed=4, starts=starts, **options)
    return [env.game(index) for index in range(games)]


def test_the_standard_start_is_the_default() -> None:
    env = make(3)
    assert {env.game(index).sfen for index in range(3)} == {STANDARD_SFEN}
    assert env.legal_counts.tolist() == [30, 30, 30]


def test_handicap_starts_are_all_used() -> None:
    games = start_positions(Starts(standard=0, handicap=1))
    assert {game.sfen for game in games} == set(HANDICAP_SFENS.values())


def test_listed_starts_are_all_used_and_nothing_else() -> None:
    games = start_positions(Starts(standard=0, listed=1, sfens=SPARSE_SFENS))
    assert {game.sfen for game in games} == {ShogiGame(sfen).sfen for sfen in SPARSE_SFENS}


def test_a_random_prefix_is_legal_and_of_every_length() -> None:
    games = start_positions(Starts(standard=0, random_prefix=1, prefix_plies=6))
    assert {game.ply for game in games} == {1, 2, 3, 4, 5, 6}
    for game in games:
        replayed = ShogiGame()
        for move in game.moves:
            replayed.make_move(move)
        assert (game.start_sfen, game.sfen, len(game.moves)) == (STANDARD_SFEN, replayed.sfen, game.ply)
    assert len({game.moves[0] for game in games}) == 30, "every first move occurs"


def test_a_random_prefix_never_ends_a_game() -> None:
    games = start_positions(Starts(standard=0, random_prefix=1, prefix_plies=299), games=60, max_plies=300)
    assert all(game.outcome is None for game in games)
    assert max(game.ply for game in games) > 150


def test_earlier_positions_come_from_earlier_games_of_the_same_board() -> None:
    env = make(8, seed=5, starts=Starts(standard=0, earlier=1), max_plies=40)
    visited: list[set[str]] = [{env.game(index).sfen} for index in range(8)]
    assert visited == [{STANDARD_SFEN}] * 8, "until a game has ended there is only the standard start"
    later_starts = Counter[str]()
    for _ in range(400):
        env.step(env.random_actions())
        for index in range(8):
            game = env.game(index)
            if env.terminated[index] or env.truncated[index]:
                assert game.sfen in visited[index]
                assert (game.moves, game.outcome) == ([], None)
                assert game.ply < 20, "in the first half of the ply cap"
                later_starts[game.sfen] += 1
            visited[index].add(game.sfen)
    assert len(later_starts) > 20


def test_starts_are_mixed_by_their_weights() -> None:
    games = start_positions(Starts(standard=1, handicap=3), games=2_000)
    handicaps = sum(game.turn is Color.WHITE for game in games)
    assert abs(handicaps - 1_500) < 4 * np.sqrt(2_000 * 0.75 * 0.25)


@pytest.mark.parametrize(
    ("starts", "reason"),
    [
        (Starts(standard=-1), "weights"),
        (Starts(standard=float("nan")), "weights"),
        (Starts(standard=float("inf")), "weights"),
        (Starts(standard=0), "positive"),
        (Starts(listed=1), "list"),
        (Starts(random_prefix=1, prefix_plies=0), "prefix"),
        (Starts(random_prefix=1, prefix_plies=512), "prefix"),
        (Starts(listed=1, sfens=["4k4/4G4/4P4/9/9/9/9/9/4K4 w - 1"]), "no legal move: '4k4/4G4"),
        (Starts(listed=1, sfens=[STANDARD_SFEN.removesuffix("1") + "513"]), "max_plies: 'lnsgkgsnl"),
    ],
)
def test_starts_that_make_no_sense_are_refused(starts: Starts, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        make(2, starts=starts)


def test_a_start_that_is_no_position_is_refused() -> None:
    with pytest.raises(SfenError, match="there is no white king"):
        make(2, starts=Starts(listed=1, sfens=["9/9/9/9/9/9/9/9/4K4 b - 1"]))


def test_a_start_in_which_the_mover_may_declare_ends_no_game_before_it_began() -> None:
    sfen = "K8/1+P+P+P+P+P+P+P+P/1+P+P6/9/9/9/9/9/8k b 2RB3P 1"
    env = make(2, starts=Starts(standard=0, listed=1, sfens=[sfen]))
    assert env.legal_counts.min() > 0
    env.step(env.random_actions())


# ---------------------------------------------------------------- mates on show


def test_mates_are_shown_only_on_request() -> None:
    starts = Starts(standard=0, listed=1, sfens=[MATE_IN_ONE])
    assert make(2, starts=starts).mate_in_one.tolist() == [NO_ACTION, NO_ACTION]
    for size in SIZES:
        env = make(2, starts=starts, mate_in_one=True, actions=size)
        mate = PolicyOutputMapper(size).move_to_index("G*5b", Color.BLACK)
        assert env.mate_in_one.tolist() == [mate, mate]


# ---------------------------------------------------------------- arrays of the caller


def test_the_caller_may_bring_the_arrays() -> None:
    records = np.zeros((3, RECORD_BYTES), np.uint8)
    rewards = np.frombuffer(bytearray(3 * 4), np.float32)
    env = make(3, seed=1, arrays={"records": records, "rewards": rewards})
    twin = make(3, seed=1)
    assert env.records is records
    assert env.rewards is rewards
    for _ in range(50):
        env.step(env.random_actions())
        twin.step(twin.random_actions())
    assert np.array_equal(records, twin.records)


def test_the_callers_arrays_outlive_their_names() -> None:
    env = make(2, seed=1, arrays={"records": np.zeros((2, RECORD_BYTES), np.uint8)})
    del env.records
    for _ in range(50):
        env.step(env.random_actions())


def read_only(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("records", np.zeros((2, RECORD_BYTES), np.uint8)),
        ("records", np.zeros((3, RECORD_BYTES - 1), np.uint8)),
        ("records", np.zeros((3, RECORD_BYTES), np.int8)),
        ("records", np.zeros((6, RECORD_BYTES), np.uint8)[::2]),
        ("records", np.zeros((RECORD_BYTES, 3), np.uint8).T),
        ("records", read_only(np.zeros((3, RECORD_BYTES), np.uint8))),
        ("rewards", np.zeros(3, np.float64)),
        ("rewards", np.zeros((3, 1), np.float32)),
        ("terminated", np.zeros(3, np.uint8)),
        ("legal_counts", np.zeros(3, ">u2")),
    ],
    ids=[
        "rows",
        "width",
        "type",
        "strides",
        "transposed",
        "read-only",
        "double",
        "shape",
        "no bool",
        "byte order",
    ],
)
def test_an_array_that_does_not_fit_is_refused_by_name(name: str, array: np.ndarray) -> None:
    with pytest.raises(ValueError, match=f"array '{name}' must be a writable C-contiguous"):
        make(3, arrays={name: array})


def test_an_array_of_another_name_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"unknown arrays \['record'\]; the environment has \['final_records'"
    ):
        make(3, arrays={"record": np.zeros((3, RECORD_BYTES), np.uint8)})


@pytest.mark.parametrize(
    "out",
    [
        np.zeros(3, np.int64),
        np.zeros(2, np.int32),
        np.zeros(6, np.int32)[::2],
        read_only(np.zeros(3, np.int32)),
    ],
)
def test_random_actions_need_an_array_they_can_fill(out: np.ndarray) -> None:
    """Silently filling a converted copy would leave the caller with garbage."""
    with pytest.raises((ValueError, TypeError)):
        make(3).random_actions(out)


# ---------------------------------------------------------------- arguments


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_games": 0}, "num_games must be at least 1, not 0"),
        ({"num_games": 1, "num_threads": 0}, "num_threads must be at least 1 or None"),
        ({"num_games": 1, "max_plies": 0}, "max_plies must lie in 1..65534, not 0"),
        ({"num_games": 1, "max_plies": 65_536}, "max_plies must lie in 1..65534, not 65536"),
        ({"num_games": 1, "actions": "2188"}, "actions must be '2187' or '13527', not '2188'"),
        ({"num_games": 1, "impasse_rule": "csa"}, "csa"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ShogiVectorEnv(**arguments)


def test_one_thread_a_core_unless_told() -> None:
    assert ShogiVectorEnv(2).num_threads >= 1
    assert ShogiVectorEnv(2, num_threads=3).num_threads == 3


def test_any_whole_number_is_a_seed() -> None:
    for seed in (-1, 2**64 - 1, 2**70 - 1):
        assert contract.history(make(3, seed=seed), 20) == contract.history(make(3, seed=-1), 20)


def test_a_game_taken_out_is_a_copy() -> None:
    env = make(2, seed=1)
    env.step(env.random_actions())
    shown = contract.snapshot(env)
    game = env.game(1)
    assert len(game.moves) == 1
    game.undo_move()
    assert contract.snapshot(env) == shown
    assert len(env.game(1).moves) == 1
    for index in (-1, 2):
        with pytest.raises(IndexError):
            env.game(index)


def test_a_board_on_which_no_game_has_ended_has_no_finished_game() -> None:
    env = make(2, seed=1, max_plies=10)
    for _ in range(9):
        env.step(env.random_actions())
        with pytest.raises(IndexError):
            env.finished_game(0)
    env.step(env.random_actions())
    assert len(env.finished_game(0).moves) == 10
    for index in (-1, 2):
        with pytest.raises(IndexError):
            env.finished_game(index)
    env.reset()
    with pytest.raises(IndexError):  # a reset environment is like a new one
        env.finished_game(0)


def test_no_plies_of_random_play_change_nothing() -> None:
    env = make(2)
    shown = contract.snapshot(env)
    assert (env.play_random(0).plies, env.play_random(0).games) == (0, 0)
    assert contract.snapshot(env) == shown
