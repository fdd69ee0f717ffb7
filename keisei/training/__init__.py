"""The run: what is built for it, and the loop that drives it."""

from keisei.training.trainer import Trainer
from keisei.training.training_loop_manager import TrainingLoopManager

__all__ = ["Trainer", "TrainingLoopManager"]
