"""What one batch frees serves the next."""

import subprocess
import sys

import pytest

ROUNDS = 8
# A process of its own: what other tests have freed decides how much the C library keeps.
PROGRAM = f"""
import resource

import torch

from keisei.config_schema import ModelConfig
from keisei.core.inference import Inference
from keisei.core.model_factory import model_factory
from keisei.shogi import ShogiVectorEnv

torch.set_num_threads(1)
network = model_factory(ModelConfig(), 2187).requires_grad_(False)
inference = Inference(network, device=torch.device("cpu"), precision="fp32")
records = ShogiVectorEnv(64, seed=1, num_threads=1).records
for _ in range({ROUNDS}):
    inference.evaluate(records)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range({ROUNDS}):
    inference.evaluate(records)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="only the C library of Linux hands memory back at once"
)
def test_a_process_that_only_plays_does_not_ask_the_kernel_for_memory_at_every_batch() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], check=True, capture_output=True, text=True)
    # One batch of features is 160 pages. Without the setting an evaluation takes several hundred.
    assert int(done.stdout) / ROUNDS < 100
