"""How strong a player is: players, matches between them, and scores with error bars."""

from keisei.evaluation.arena import MatchResult, play_match
from keisei.evaluation.openings import random_openings
from keisei.evaluation.players import GreedyPlayer, Player, PolicyPlayer, RandomPlayer, fixed_player
from keisei.evaluation.scores import Score

__all__ = [
    "GreedyPlayer",
    "MatchResult",
    "Player",
    "PolicyPlayer",
    "RandomPlayer",
    "Score",
    "fixed_player",
    "play_match",
    "random_openings",
]
