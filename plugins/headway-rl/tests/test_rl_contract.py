"""
The optimizer runs the conformance kit.
"""

from __future__ import annotations

from functools import partial

import pytest
from rl_worlds import NETWORK, Echo, numpy_trainer

from headway.contracts import Splits, Task
from headway.testing.conformance import AggregatorContract
from headway_rl import RL, ForwardBackwardBatch, GroupTrainer

FEWER = 40
"""Schedules: two in each chunk, one of which has new objects throughout."""


def tasks(kind, count):
    return [Task(id=f"{kind}-{number}", data=number) for number in range(count)]


def small():
    """
    Episodes of four turns, and a network that learns them.
    """
    return RL(
        environment=Echo,
        trainer=numpy_trainer(network=NETWORK),
        splits=Splits(train=tasks("row", 4), held_out=tasks("held-out", 2)),
    )


class TestGroupTrainer(AggregatorContract):
    interleavings = FEWER
    scripted = 3

    @pytest.fixture
    def make(self):
        return partial(GroupTrainer, batch_size=2, group_size=2)

    @pytest.fixture
    def domain(self):
        return small


class TestSeveralUpdates(AggregatorContract):
    interleavings = FEWER
    scripted = 3

    @pytest.fixture
    def make(self):
        return partial(GroupTrainer, batch_size=2, group_size=2, updates_per_step=2)

    @pytest.fixture
    def domain(self):
        return small


class TestInChunks(AggregatorContract):
    interleavings = FEWER
    scripted = 3

    @pytest.fixture
    def make(self):
        chunks = ForwardBackwardBatch(min_sequences=1)
        return partial(GroupTrainer, batch_size=2, group_size=2, forward_backward_batch=chunks)

    @pytest.fixture
    def domain(self):
        return small
