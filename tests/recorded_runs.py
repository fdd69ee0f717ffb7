"""Run folders with journals, written through the real writer and without any training."""

import math
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from random import Random

from keisei.record.journal import Evaluation, Event, Game, Journal, PlayerRating
from keisei.record.journal_schema import Exam, Thought, WatchedPly
from keisei.record.run_directory import RunDirectory
from keisei.shogi import Color, ShogiGame

HOSTILE = "<img src=x onerror=\"document.title='stolen'\"><script>document.title='stolen'</script>"
TOTAL_PLIES = 4_000_000
CONFIG = f"training:\n  total_plies: {TOTAL_PLIES}\n  time_limit_seconds: 0.0\n"
START_TIME = 1_790_000_000.0
SECONDS_PER_UPDATE = 12.0
PLIES_PER_UPDATE = 8192
WATCHED_BOARDS = 4


def random_game(seed: int, max_plies: int = 200, black: str = "keisei", white: str = "keisei") -> Game:
    """A legal game of random moves, mates not missed, to its end."""
    random = Random(seed)
    game = ShogiGame(max_plies=max_plies)
    while game.outcome is None:
        game.play(game.mate_in_one() or random.choice(game.legal_moves()))
    winner = game.outcome.winner
    return Game(
        black=black,
        white=white,
        start_sfen=game.start_sfen,
        moves=tuple(move.usi for move in game.moves),
        winner=None if winner is None else winner.name.lower(),
        reason=game.outcome.reason.value,
    )


def thoughts_on(game: Game, seed: int) -> tuple[tuple[str, Thought], ...]:
    """The position before each ply of a game, and what a network that sees the end coming might think of it."""
    random = Random(seed)
    board = ShogiGame(game.start_sfen)
    black_value, found = 0.0, []
    goal = {"black": 1.0, "white": -1.0, None: 0.0}[game.winner]
    for ply, usi in enumerate(game.moves):
        black_value += (goal * (ply / len(game.moves)) ** 2 - black_value) * 0.15 + random.uniform(
            -0.06, 0.06
        )
        black_value = max(-1.0, min(1.0, black_value))
        others = random.sample([move.usi for move in board.legal_moves()], k=min(3, len(board.legal_moves())))
        moves = list(dict.fromkeys([usi, *others]))
        policy = tuple((move, round(0.55 / 2**place, 4)) for place, move in enumerate(moves))
        mover_value = black_value if board.turn is Color.BLACK else -black_value
        found.append((board.sfen, Thought(round(mover_value, 4), policy)))
        board.play(usi)
    return tuple(found)


def watched(game: Game, board: int, number: int, plies: int) -> list[WatchedPly]:
    """The first plies of a game, on a board to be watched."""
    is_whole = plies >= len(game.moves)
    return [
        WatchedPly(board, number, sfen, usi, thought, "over" if is_whole and ply == plies - 1 else "")
        for ply, (usi, (sfen, thought)) in enumerate(
            zip(game.moves[:plies], thoughts_on(game, number), strict=False)
        )
    ]


def worker_states(update: int) -> dict[str, object]:
    """What four workers say of themselves, as the trainer records it."""
    return {
        "workers": {
            str(worker): {
                "state": "playing" if worker else "waiting_for_slot",
                "plies_per_second": 5_500.0 + 40 * worker,
                "utilisation": 0.95 - 0.02 * worker,
                "generation": 2 if worker == 2 else 1,
                "age_seconds": 0.004 * worker,
                "lag": worker % 2,
                "memory_bytes": 203 * 2**20,
                "alive": True,
                "pid": 4000 + worker,
                "slots": 8 * update,
            }
            for worker in range(4)
        },
        "queue_info": {"free": 5, "lent": 2, "filled": 1, "arrived": 0},
        "rows_by_lag": {"0": 4096 * update, "1": 2048 * update, "2": 64},
    }


def rating_of(update: int) -> PlayerRating:
    """A rating that rises and is known to 40 Elo."""
    elo = 520 * (1 - math.exp(-update / 90))
    return PlayerRating(f"policy:update-{update}", elo, elo - 40, elo + 40, 300)


def metrics_of(update: int, random: Random) -> dict[str, float]:
    """Figures that look like those of a run that learns."""
    done = 1 - math.exp(-update / 80)
    noise = random.uniform
    return {
        "policy_loss": -0.012 + noise(-0.006, 0.006),
        "value_loss": 0.62 - 0.35 * done + noise(-0.03, 0.03),
        "entropy": 3.8 - 2.2 * done + noise(-0.06, 0.06),
        "approx_kl": 0.012 + noise(-0.005, 0.005),
        "clip_fraction": 0.16 + noise(-0.04, 0.04),
        "explained_variance": 0.7 * done + noise(-0.05, 0.05),
        "gradient_norm": 0.6 + noise(-0.2, 0.2),
        "first_ratio_deviation": noise(0, 1e-5),
        "game_plies": 240 - 130 * done + noise(-15, 15),
        "black_share": 0.47 + noise(-0.05, 0.05),
        "white_share": 0.45 + noise(-0.05, 0.05),
        "truncated_share": 0.08 * (1 - done),
        "ended_checkmate": 0.9 - 0.08 * (1 - done),
        "ended_max_plies": 0.08 * (1 - done),
        "ended_repetition": 0.06,
        "policy_lag": 1.0,
        "plies_per_second": 21_000 + noise(-900, 900),
        "games": 60.0 * update,
        "learning_rate": 3e-4 * (1 - update / 1000),
        "entropy_weight": 0.01,
        "workers": 4.0,
        "worker_utilisation": 0.93 + noise(-0.03, 0.03),
        "worker_plies_per_second": 22_000 + noise(-900, 900),
        "worker_memory_mib": 812.0,
        "worker_restarts": 0.0 if update < 100 else 1.0,
        "slots_waiting": float(random.randint(0, 3)),
        "rows_refused": 0.0,
        "rows_lost": 0.0,
        "syncs": float(4 * update),
        "sync_seconds": 0.004,
        "seconds_collect": 7.5,
        "seconds_learn": 2.5,
    }


def _clock() -> Iterator[float]:
    return (START_TIME + SECONDS_PER_UPDATE * step / 10 for step in count())


def record_run(
    runs: Path, name: str, *, updates: int = 200, games: int = 24, seed: int = 1, black: str = "keisei"
) -> RunDirectory:
    """A finished run with metrics, games, evaluations and events."""
    run = RunDirectory.create(runs, name)
    run.write_config(CONFIG)
    random = Random(seed)
    ticks = _clock()
    kept = [random_game(seed * 1000 + index, black=black) for index in range(min(games, 24))]
    with Journal(run.journal_path, clock=lambda: next(ticks)) as journal:
        for update in range(1, updates + 1):
            journal.add_metrics(update, update * PLIES_PER_UPDATE, metrics_of(update, random))
            for index in range(games * (update - 1) // updates, games * update // updates):
                game = kept[index % len(kept)]
                # Of every other game only the moves are known, as of those that nobody watched.
                thoughts = (
                    [thought for _, thought in thoughts_on(game, index)] if index < 24 and index % 2 else ()
                )
                journal.add_game(update, game, thoughts)
            if update % max(1, updates // 10) == 0:
                for opponent, pace in (("random", 30), ("mate1", 90), ("ab1", 400)):
                    journal.add_evaluation(update, match_result(opponent, 1 - math.exp(-update / pace)))
                journal.add_rating(update, rating_of(update))
        for mate_plies, solved in ((1, 92), (3, 61), (5, 23)):
            journal.add_exam(updates, Exam(mate_plies, 100, solved))
        journal.add_state(updates, "evaluation", {"measuring": [updates]})
        for board in range(min(WATCHED_BOARDS, len(kept))):
            game = kept[-1 - board]
            journal.add_watched_plies(updates, watched(game, board, 100 + board, 30 + 20 * board))
        journal.add_state(updates, "workers", worker_states(updates))
        journal.add_event(updates // 2, Event("worker_restarted", "worker 2 ended and was replaced"))
    return run


def match_result(opponent: str, strength: float, games: int = 100) -> Evaluation:
    """A match of 100 games with an interval of two standard errors."""
    wins = round(games * strength)
    score = wins / games
    margin = 1.96 * math.sqrt(max(score * (1 - score), 0.0025) / games)
    return Evaluation(
        opponent, games, wins, 0, games - wins, score, max(0, score - margin), min(1, score + margin)
    )
