"""Trackers: programs of others that also get a run's figures, such as TensorBoard and Weights & Biases.

They live in a process of their own behind a bounded queue (`TrackerProcess`). Whatever happens to them there, the run
goes on at its speed, and its journal has everything.
"""
