"""A module that only the trainer can import."""

from multiprocessing import parent_process

from keisei.core.networks import build_cnn

if parent_process() is not None:
    raise ImportError("not for workers")

build = build_cnn
