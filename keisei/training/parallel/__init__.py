"""Experience from worker processes that lose nothing: slots in shared memory, versions, restarts."""

from keisei.training.parallel.communication import WorkerCommunicator
from keisei.training.parallel.model_sync import ModelSynchronizer
from keisei.training.parallel.parallel_manager import ParallelManager
from keisei.training.parallel.self_play_worker import SelfPlayWorker

__all__ = ["ModelSynchronizer", "ParallelManager", "SelfPlayWorker", "WorkerCommunicator"]
