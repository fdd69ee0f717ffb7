"""Run folders with journals, written through the real writer and without any training."""

import math
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from random import Random

from keisei.record.journal import Evaluation, Event, Game, Journal
from keisei.record.run_directory import RunDirectory
from keisei.shogi import ShogiGame

HOSTILE = "<img src=x onerror=\"document.title='stolen'\"><script>document.title='stolen'</script>"
TOTAL_PLIES = 4_000_000
CONFIG = f"training:\n  total_plies: {TOTAL_PLIES}\n  time_limit_seconds: 0.0\n"
START_TIME = 1_790_000_000.0
SECONDS_PER_UPDATE = 12.0
PLIES_PER_UPDATE = 8192


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
                journal.add_game(update, kept[index % len(kept)])
            if update % max(1, updates // 10) == 0:
                for opponent, pace in (("random", 30), ("mate1", 90), ("ab1", 400)):
                    journal.add_evaluation(update, match_result(opponent, 1 - math.exp(-update / pace)))
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
