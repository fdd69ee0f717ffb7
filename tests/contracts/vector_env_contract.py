"""What every vector environment with the interface of `ShogiVectorEnv` must do.

Each ``check_`` function takes a factory, ``make(num_games=…, seed=…, num_threads=…, **options)``, and asserts one
part of the contract. `ShogiGame` is the referee: it plays the same moves beside the environment.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from keisei.errors import ActionError, IllegalMoveError
from keisei.shogi import (
    MAX_LEGAL_MOVES,
    NO_ACTION,
    REASONS,
    RECORD_BYTES,
    ImpasseRule,
    PolicyOutputMapper,
    Reason,
    ShogiGame,
)

Env = Any
Actions = npt.NDArray[np.int32]
MakeEnv = Callable[..., Env]
#: Picks one legal action for each game of an environment, given the referee's games.
Choose = Callable[[Env, Sequence[ShogiGame], Random], Actions]

#: What describes the positions to move in, and what describes the ply just played.
AFTER_ARRAYS = ("records", "legal_counts", "repetitions", "mate_in_one", "mirrored")
STEP_ARRAYS = ("rewards", "terminated", "truncated", "reasons")
DECLARING_RULES = (ImpasseRule.CSA27, ImpasseRule.CSA24)


def legal_of(env: Env, game: int) -> list[int]:
    return env.legal_actions[game, : env.legal_counts[game]].tolist()


def snapshot(env: Env) -> dict[str, Any]:
    """Everything an environment shows, copied; of lists and final positions only what is valid."""
    over = env.terminated | env.truncated
    shown: dict[str, Any] = {name: getattr(env, name).tolist() for name in (*AFTER_ARRAYS, *STEP_ARRAYS)}
    shown["legal_actions"] = [legal_of(env, game) for game in range(env.num_games)]
    shown["final_records"] = env.final_records[over].tolist()
    return shown


def positions_shown(env: Env) -> dict[str, Any]:
    """The part of a snapshot that does not tell of the last ply."""
    shown = snapshot(env)
    return {name: shown[name] for name in (*AFTER_ARRAYS, "legal_actions")}


def history(env: Env, steps: int) -> list[dict[str, Any]]:
    """Snapshots of an environment under its own random actions."""
    seen = [snapshot(env)]
    for _ in range(steps):
        env.step(env.random_actions())
        seen.append(snapshot(env))
    return seen


# ---------------------------------------------------------------- arrays


def check_arrays(make: MakeEnv) -> None:
    """Shapes, types, and that a step writes in place."""
    env = make(num_games=5, seed=1)
    rows = {
        name: getattr(env, name) for name in (*AFTER_ARRAYS, *STEP_ARRAYS, "legal_actions", "final_records")
    }
    types = {name: (array.dtype.name, array.shape[1:]) for name, array in rows.items()}
    assert types == {
        "records": ("uint8", (RECORD_BYTES,)),
        "legal_actions": ("uint16", (MAX_LEGAL_MOVES,)),
        "legal_counts": ("uint16", ()),
        "repetitions": ("uint8", ()),
        "mate_in_one": ("uint16", ()),
        "mirrored": ("bool", ()),
        "rewards": ("float32", ()),
        "terminated": ("bool", ()),
        "truncated": ("bool", ()),
        "reasons": ("uint8", ()),
        "final_records": ("uint8", (RECORD_BYTES,)),
    }
    assert all(len(array) == env.num_games == 5 for array in rows.values())
    before = env.records.copy()
    assert env.step(env.random_actions()) is env
    assert all(getattr(env, name) is array for name, array in rows.items())
    assert not np.array_equal(env.records, before)
    assert env.legal.actions is env.legal_actions
    assert env.legal.counts is env.legal_counts


# ---------------------------------------------------------------- the rules of play


def random_choice(env: Env, games: Sequence[ShogiGame], rng: Random) -> Actions:
    return np.array([rng.choice(legal_of(env, game)) for game in range(len(games))], np.int32)


def check_lockstep(
    make: MakeEnv, *, games: int, steps: int, seed: int, choose: Choose = random_choice, **options: Any
) -> Counter[Reason]:
    """Plays beside the referee and compares everything after every ply; returns how the games ended."""
    env = make(num_games=games, seed=seed, **options)
    mapper = PolicyOutputMapper(env.num_actions)
    declares, finds_mates = options.get("declare", True), options.get("mate_in_one", False)
    beside = [env.game(index) for index in range(games)]
    rng = Random(seed)
    endings: Counter[Reason] = Counter()
    for _ in range(steps):
        for index, game in enumerate(beside):
            assert_same_position(env, index, game, mapper, finds_mates)
        actions = choose(env, beside, rng)
        env.step(actions)
        for index, action in enumerate(actions):
            ended = assert_same_ply(
                env, index, beside[index], mapper.index_to_move(action, beside[index]), declares
            )
            if ended is not None:
                endings[ended] += 1
                finished = env.finished_game(index)
                assert (finished.start_sfen, finished.moves) == (
                    beside[index].start_sfen,
                    beside[index].moves,
                )
                assert finished.outcome == beside[index].outcome
                beside[index] = env.game(index)
                assert beside[index].outcome is None, (
                    "a game that ended is followed by one that can be played"
                )
    return endings


def assert_same_position(
    env: Env, index: int, game: ShogiGame, mapper: PolicyOutputMapper, finds_mates: bool
) -> None:
    assert env.records[index].tobytes() == game.pack()
    assert sorted(legal_of(env, index)) == sorted(mapper.legal_indices(game).tolist())
    assert env.repetitions[index] == game.occurrences - 1
    mate = int(env.mate_in_one[index])
    if not finds_mates or game.mate_in_one() is None:
        assert mate == NO_ACTION
    else:
        after = game.copy()
        _, reward, _, info = after.make_move(mapper.index_to_move(mate, game))
        assert (reward, info["outcome"].reason) == (1.0, Reason.CHECKMATE)


def assert_same_ply(env: Env, index: int, game: ShogiGame, move: Any, declares: bool) -> Reason | None:
    """Plays the move in the referee's game; returns why it ended, if it did."""
    mover = game.turn
    game.play(move)
    if declares and game.outcome is None and game.impasse_rule in DECLARING_RULES:
        declare_if_allowed(game)
    outcome = game.outcome
    winner = None if outcome is None else outcome.winner
    reason = None if outcome is None else outcome.reason
    assert env.rewards[index] == (0 if winner is None else 1 if winner is mover else -1)
    assert REASONS[env.reasons[index]] is reason
    assert bool(env.truncated[index]) is (reason is Reason.MAX_PLIES)
    assert bool(env.terminated[index]) is (reason is not None and reason is not Reason.MAX_PLIES)
    if reason is not None:
        assert env.final_records[index].tobytes() == game.pack()
    return reason


def declare_if_allowed(game: ShogiGame) -> None:
    try:
        game.declare_win()
    except IllegalMoveError:
        return


# ---------------------------------------------------------------- illegal actions


def check_illegal_actions_step_nothing(make: MakeEnv) -> None:
    env = make(num_games=4, seed=2)
    for _ in range(3):
        env.step(env.random_actions())
    good = env.random_actions()
    legal = set(legal_of(env, 2))
    illegal = next(index for index in range(env.num_actions) if index not in legal)
    before, states = snapshot(env), [env.game(index).sfen for index in range(4)]
    for wrong in (illegal, -1, env.num_actions, NO_ACTION, 2**31 - 1, -(2**31)):
        actions = good.copy()
        actions[2] = wrong
        with pytest.raises(ActionError) as error:
            env.step(actions)
        for part in (f"action {wrong}", "game 2", states[2], "no game was stepped"):
            assert part in str(error.value)
        assert snapshot(env) == before
        assert [env.game(index).sfen for index in range(4)] == states
    env.step(good)
    assert snapshot(env) != before


def check_action_arrays(make: MakeEnv) -> None:
    """Integers of any width are taken at their value; anything else is refused, and nothing is stepped."""
    env, twin = make(num_games=4, seed=3), make(num_games=4, seed=3)
    for kind in (np.int32, np.int64, np.uint16, list):
        actions = env.random_actions()
        twin.random_actions()
        twin.step(actions)
        env.step(actions.tolist() if kind is list else actions.astype(kind))
        assert snapshot(env) == snapshot(twin)
    wrong: dict[str, Callable[[Actions], Any]] = {
        "too few": lambda good: good[:3],
        "too many": lambda good: np.append(good, good[0]),
        "two rows": lambda good: np.stack([good, good]),
        "fractions": lambda good: good + 0.5,
        "beyond 32 bits": lambda good: good.astype(np.int64) + 2**32,
        "nothing": lambda good: good[:0],
    }
    for name, damage in wrong.items():
        env = make(num_games=4, seed=3)
        before = snapshot(env)
        assert refuses(env.step, damage(env.random_actions())), name
        assert snapshot(env) == before, name


def refuses(call: Callable[[Any], Any], argument: Any) -> bool:
    try:
        call(argument)
    except (ValueError, TypeError):
        return True
    return False


# ---------------------------------------------------------------- randomness


def check_the_seed_decides(
    make: MakeEnv, *, steps: int, thread_counts: Sequence[int] = (1, 2, 3), **options: Any
) -> None:
    """The same seed gives the same games whatever the threads; other seeds give other games."""
    first, *others = (
        history(make(num_games=17, seed=5, num_threads=n, **options), steps) for n in thread_counts
    )
    assert all(other == first for other in others)
    assert history(make(num_games=17, seed=6, **options), steps) != first
    assert len({str(row) for row in first[-1]["records"]}) > 1, "games of one environment differ"


def check_reset_begins_again(make: MakeEnv, **options: Any) -> None:
    env = make(num_games=6, seed=7, **options)
    first = history(env, 40)
    assert env.reset() is env
    assert history(env, 40) == first


def check_random_actions_are_uniform(make: MakeEnv, draws: int = 20, games: int = 1500) -> None:
    """Chi-square over the 30 moves of the start at a fixed seed; every draw is legal."""
    env = make(num_games=games, seed=8)
    counts: Counter[int] = Counter()
    own = np.empty(games, np.int32)
    for _ in range(draws):
        assert env.random_actions(own) is own
        counts.update(own.tolist())
    assert set(counts) == set(legal_of(env, 0))
    expected = draws * games / 30
    chi_square = sum((count - expected) ** 2 / expected for count in counts.values())
    assert chi_square < 58.3, "29 degrees of freedom exceed this once in a thousand seeds"
    assert env.random_actions().dtype == np.int32


def check_random_play_is_stepping(make: MakeEnv, *, plies: int, **options: Any) -> None:
    env, twin = make(num_games=7, seed=9, **options), make(num_games=7, seed=9, **options)
    ended, wins = Counter[Reason](), Counter[int]()
    for _ in range(plies):
        twin.step(twin.random_actions())
        for index in np.flatnonzero(twin.terminated | twin.truncated):
            ended[REASONS[twin.reasons[index]]] += 1
            white_moved = not twin.final_records[index, 89] & 1
            if twin.rewards[index]:
                wins[int(white_moved == (twin.rewards[index] > 0))] += 1
    played = env.play_random(plies)
    assert snapshot(env) == snapshot(twin)
    assert (played.plies, played.games) == (7 * plies, sum(ended.values()))
    assert {reason: count for reason, count in played.reasons.items() if count} == ended
    assert {int(color): count for color, count in played.wins.items() if count} == wins
    assert played.games > 0


# ---------------------------------------------------------------- saved states


def check_a_saved_state_goes_on_exactly(make: MakeEnv, *, before: int, after: int, **options: Any) -> None:
    """Into a new environment with another number of threads and another seed, and back into itself."""
    env = make(num_games=9, seed=10, num_threads=1, **options)
    for _ in range(before):
        env.step(env.random_actions())
    state = env.save_state()
    assert isinstance(state, bytes)
    shown = positions_shown(env)
    expected = history(env, after)[1:]
    other = make(num_games=9, seed=11, num_threads=3, **options)
    for target in (other, env):
        target.load_state(state)
        assert positions_shown(target) == shown
        assert target.save_state() == state
        assert history(target, after)[1:] == expected


def check_a_state_that_does_not_fit_is_refused(make: MakeEnv) -> None:
    env = make(num_games=3, seed=12)
    for _ in range(20):
        env.step(env.random_actions())
    state = env.save_state()
    smaller, longer_games = make(num_games=2, seed=12), make(num_games=3, seed=12, max_plies=10)
    wrong = [b"", state[:-1], state + b"\0", b"\xff" * len(state), smaller.save_state()]
    wrong += [state[:cut] for cut in range(1, len(state), 7)]
    shown = snapshot(env)
    for damaged in wrong:
        with pytest.raises(ValueError, match=r"saved"):
            env.load_state(damaged)
        assert snapshot(env) == shown
        assert env.save_state() == state
    with pytest.raises(ValueError, match=r"a game is over|not legal"):
        longer_games.load_state(state)
