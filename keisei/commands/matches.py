"""`keisei match`, `keisei tournament`, `keisei ladder` and `keisei tsume`: how strong a player is.

Reports are printed in `finally`: an engine that breaks down, a full disk and Ctrl-C leave what has been played.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter
from cyclopts.validators import Number
from rich.console import Console

from keisei.commands.kept_results import keep_exam, keep_ratings
from keisei.commands.match_report import cross_table, match_lines, rating_table
from keisei.commands.runs import DEFAULT_RUNS, RunsFolder
from keisei.errors import ConfigError
from keisei.shogi.types import DEFAULT_MAX_PLIES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from keisei.evaluation.ladder import Ladder

PLAYER_HELP = (
    "random, mate1, greedy, ab1 to ab6, fairy1 to fairy3, shipped, policy:CHECKPOINT, value1:CHECKPOINT, "
    "search:CHECKPOINT or usi:COMMAND, with options behind a '?', e.g. search:RUN?simulations=64 or "
    "usi:engine?nodes=1000."
)
PlayerText = Annotated[str, Parameter(help=PLAYER_HELP)]
Games = Annotated[
    int, Parameter(help="How many games; half of them with colours swapped.", validator=Number(gte=2))
]
OpeningsFile = Annotated[
    Path | None,
    Parameter(help="File of openings, one SFEN or `startpos moves …` a line; random if not given."),
]
Seed = Annotated[
    int, Parameter(help="Decides random openings and players that play by lot.", validator=Number(gte=0))
]
MaxPlies = Annotated[int, Parameter(help="A game is a draw at this ply.", validator=Number(gte=1))]
Device = Annotated[str, Parameter(help="Where networks run: auto, cpu, cuda or cuda:N.")]
REGISTRY_NAME = "registry.json"
DEFAULT_TSUME_PROBLEMS = 200


def match(
    first: PlayerText,
    second: PlayerText,
    *,
    games: Games = 100,
    openings: OpeningsFile = None,
    sprt: Annotated[
        str | None,
        Parameter(
            help="ELO0,ELO1: stop as soon as it is clear whether the first is ELO1 stronger, or only ELO0."
        ),
    ] = None,
    save: Annotated[Path | None, Parameter(help="Folder for the games, written as they end.")] = None,
    format: Annotated[Literal["kif", "csa", "usi"], Parameter(help="How games are written.")] = "kif",  # noqa: A002
    seed: Seed = 1,
    max_plies: MaxPlies = DEFAULT_MAX_PLIES,
    runs: RunsFolder = DEFAULT_RUNS,
    device: Device = "auto",
) -> None:
    """Play two players against each other: paired games from the same openings with colours swapped."""
    from keisei.commands.match_progress import MatchProgress
    from keisei.commands.saved_games import GameSaver
    from keisei.evaluation.arena import Match
    from keisei.evaluation.player_specs import opened_players
    from keisei.evaluation.sprt import Sprt

    test = None if sprt is None else Sprt.parse(sprt)
    starts = _openings(openings, games, seed)
    with opened_players(first, second, seed=seed, runs=runs, device=device) as (one, other):
        game = Match(one.player, other.player, starts, max_plies=max_plies)
        saver = None if save is None else GameSaver(save, format, game.result)
        try:
            with MatchProgress(game, test, saver) as progress:
                game.play(on_games=progress.on_games, should_stop=progress.is_decided)
        finally:
            _print_lines(match_lines(game.result, test))


def tournament(
    *players: PlayerText,
    games: Games = 20,
    gauntlet: Annotated[
        bool, Parameter(help="Only the first player against each of the others.", negative="")
    ] = False,
    openings: OpeningsFile = None,
    seed: Seed = 1,
    max_plies: MaxPlies = DEFAULT_MAX_PLIES,
    runs: RunsFolder = DEFAULT_RUNS,
    device: Device = "auto",
) -> None:
    """Play everybody against everybody, GAMES for each pairing; a cross table with joint ratings.

    The zero of the ratings is random where it plays, else the player named last.
    """
    from keisei.commands.match_progress import TournamentProgress
    from keisei.evaluation import tournament as room
    from keisei.evaluation.player_specs import opened_players
    from keisei.evaluation.registry import ZERO

    if len(players) < 2:
        raise ConfigError(f"a tournament needs at least two players, got {list(players)!r}")
    starts = _openings(openings, games, seed)
    with opened_players(*players, seed=seed, runs=runs, device=device) as opened:
        names = [entry.player.name for entry in opened]
        pairings = room.gauntlet(names) if gauntlet else room.round_robin(names)
        contest = room.Tournament([entry.player for entry in opened], pairings, starts, max_plies=max_plies)
        try:
            with TournamentProgress(len(pairings) * games) as progress:
                contest.play(on_games=progress.on_games)
        finally:
            zero = ZERO if ZERO in names else names[-1]
            Console(highlight=False).print(cross_table(contest, contest.ratings(zero)))


def ladder(
    *contenders: Annotated[
        str,
        Parameter(
            help="A checkpoint or a run, which plays by its policy, or any player as in `keisei match`."
        ),
    ],
    anchors: Annotated[
        str | None,
        Parameter(help="Fixed opponents, weakest first, with commas; all that are installed by default."),
    ] = None,
    games: Annotated[int, Parameter(help="How many games at most.", validator=Number(gte=2))] = 400,
    games_per_step: Annotated[
        int, Parameter(help="How many games before ratings are fitted anew.", validator=Number(gte=2))
    ] = 20,
    width: Annotated[
        float,
        Parameter(help="Stop when every contender's interval is this narrow (Elo).", validator=Number(gte=0)),
    ] = 100.0,
    registry: Annotated[
        Path | None,
        Parameter(help="File of all results and ratings; registry.json in the runs folder by default."),
    ] = None,
    seed: Seed = 1,
    max_plies: MaxPlies = DEFAULT_MAX_PLIES,
    runs: RunsFolder = DEFAULT_RUNS,
    device: Device = "auto",
) -> None:
    """Place players on the ladder of fixed opponents, where random has 0 Elo.

    Games go where they narrow the widest interval the most. Results are kept in the registry, which runs can share,
    and the ratings of checkpoints also in the journal of their run.
    """
    from keisei.evaluation.ladder import Ladder, default_anchors
    from keisei.evaluation.openings import OPENING_PLIES
    from keisei.evaluation.player_specs import PlayerSpec, opened_players, spec_of_contender
    from keisei.evaluation.registry import Conditions, Registry

    fixed = default_anchors() if anchors is None else tuple(anchors.split(","))
    book = Registry(registry or runs / REGISTRY_NAME, Conditions(max_plies, OPENING_PLIES))
    specs = [*map(PlayerSpec.parse, fixed), *map(spec_of_contender, contenders)]
    with opened_players(*specs, seed=seed, runs=runs, device=device) as opened:
        climbers = opened[len(fixed) :]
        steps = Ladder(
            [entry.player for entry in climbers],
            [entry.player for entry in opened[: len(fixed)]],
            book,
            games_per_step=games_per_step,
            seed=seed,
        )
        try:
            _climb(steps, games, width)
        finally:
            ratings = steps.ratings()
            Console(highlight=False).print(rating_table(ratings, [entry.player.name for entry in climbers]))
            keep_ratings(climbers, ratings)
            _print_lines([f"All results are in {book.path}"])


def tsume(
    player: PlayerText,
    *,
    problems: Annotated[
        int, Parameter(help="How many problems of each length.", validator=Number(gte=1))
    ] = DEFAULT_TSUME_PROBLEMS,
    seed: Seed = 1,
    runs: RunsFolder = DEFAULT_RUNS,
    device: Device = "auto",
) -> None:
    """Let a player begin mates in 1, 3 and 5 plies; the share it begins rightly, with its 95 % interval.

    The result of a checkpoint is also kept in the journal of its run.
    """
    from keisei.evaluation.player_specs import opened_players
    from keisei.evaluation.tsume_exam import LENGTHS, make_problems, sit_exam

    with opened_players(player, seed=seed, runs=runs, device=device) as (entry,):
        for plies in LENGTHS:
            score = sit_exam(entry.player, make_problems(plies, problems, seed))
            keep_exam(entry, plies, score)
            low, high = score.interval
            _print_lines(
                [
                    f"mate in {plies}: {score.wins} of {score.games}, {score.share:.1%} (95 %: {low:.1%} to {high:.1%})"
                ]
            )


def _openings(path: Path | None, games: int, seed: int) -> list[str]:
    """As many openings as there are pairs."""
    from keisei.evaluation.openings import random_openings, read_openings

    if games % 2:
        raise ConfigError(f"games are played in pairs, so their number is even, got {games!r}")
    if path is None:
        return random_openings(games // 2, seed)
    openings = read_openings(path)
    if len(openings) < games // 2:
        raise ConfigError(
            f"the {len(openings)} openings of {path!s} are enough for {2 * len(openings)} games, not for {games}; "
            f"pass --games {2 * len(openings)} or add openings"
        )
    return openings[: games // 2]


def _climb(steps: Ladder, games: int, width: float) -> None:
    from keisei.commands.match_progress import TournamentProgress

    with TournamentProgress(games) as progress:
        while progress.games < games and (widest := steps.widest()) > width:
            first, second = steps.next_pairing()
            progress.describe(f"{first} against {second}; widest interval {widest:.0f} Elo")
            steps.play_step(first, second, on_games=progress.on_games)


def _print_lines(lines: Sequence[str]) -> None:
    console = Console(highlight=False, markup=False, soft_wrap=True)
    for line in lines:
        console.print(line)
