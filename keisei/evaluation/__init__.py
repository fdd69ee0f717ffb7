"""How strong a player is: players, matches between them, ratings with error bars, a ladder and a tsume exam."""

from keisei.evaluation.arena import Match, MatchResult, PlayedGame, play_match
from keisei.evaluation.ladder import Ladder
from keisei.evaluation.openings import random_openings, read_openings
from keisei.evaluation.player_specs import PlayerSpec, opened_players
from keisei.evaluation.players import (
    Closing,
    GreedyPlayer,
    Player,
    PolicyPlayer,
    RandomPlayer,
    fixed_player,
)
from keisei.evaluation.ratings import Rating, elo_difference, fit_ratings
from keisei.evaluation.registry import Registry
from keisei.evaluation.scores import Score
from keisei.evaluation.sprt import Sprt
from keisei.evaluation.tournament import Tournament, gauntlet, round_robin
from keisei.evaluation.tsume_exam import make_problems, sit_exam
from keisei.evaluation.usi_player import UsiLimit, UsiPlayer

__all__ = [
    "Closing",
    "GreedyPlayer",
    "Ladder",
    "Match",
    "MatchResult",
    "PlayedGame",
    "Player",
    "PlayerSpec",
    "PolicyPlayer",
    "RandomPlayer",
    "Rating",
    "Registry",
    "Score",
    "Sprt",
    "Tournament",
    "UsiLimit",
    "UsiPlayer",
    "elo_difference",
    "fit_ratings",
    "fixed_player",
    "gauntlet",
    "make_problems",
    "opened_players",
    "play_match",
    "random_openings",
    "read_openings",
    "round_robin",
    "sit_exam",
]
