"""
Reinforcement learning with a bounded staleness.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headway_rl._account import Account, Standing, Stopwatch
    from headway_rl._advantages import (
        Advantages,
        Batchwise,
        Groupwise,
        WeightedGroup,
        centred,
        counted,
        weigh,
    )
    from headway_rl._aggregator import GroupTrainer, group_of
    from headway_rl._arrays import fingerprint, pack, unpack
    from headway_rl._batches import Batch, Span
    from headway_rl._chunks import Accumulation, Chunk, Chunker, ForwardBackwardBatch
    from headway_rl._completion import GroupCompletion
    from headway_rl._domain import RL, AsyncRL
    from headway_rl._front import AsyncTrainer
    from headway_rl._network import Network, NetworkPolicy
    from headway_rl._numpy_trainer import Adam, NumpyTrainer
    from headway_rl._options import Options
    from headway_rl._recorder import Bar, Mark, Recorder
    from headway_rl._schedule import Schedule
    from headway_rl._steps import StepDone
    from headway_rl._timeline import Timeline, Wait
    from headway_rl._trainer import CachingPolicy, Policy, Published, Sample, Trainer
    from headway_rl._trajectories import Segment, Trajectory, TrajectoryGroup
    from headway_rl._weights import DirectoryStore, InlineStore, MemoryStore, WeightStore

__all__ = [
    "RL",
    "Account",
    "Accumulation",
    "Adam",
    "Advantages",
    "AsyncRL",
    "AsyncTrainer",
    "Bar",
    "Batch",
    "Batchwise",
    "CachingPolicy",
    "Chunk",
    "Chunker",
    "DirectoryStore",
    "ForwardBackwardBatch",
    "GroupCompletion",
    "GroupTrainer",
    "Groupwise",
    "InlineStore",
    "Mark",
    "MemoryStore",
    "Network",
    "NetworkPolicy",
    "NumpyTrainer",
    "Options",
    "Policy",
    "Published",
    "Recorder",
    "Sample",
    "Schedule",
    "Segment",
    "Span",
    "Standing",
    "StepDone",
    "Stopwatch",
    "Timeline",
    "Trainer",
    "Trajectory",
    "TrajectoryGroup",
    "Wait",
    "WeightStore",
    "WeightedGroup",
    "centred",
    "counted",
    "fingerprint",
    "group_of",
    "pack",
    "unpack",
    "weigh",
]

_WHERE = {
    "_account": ("Account", "Standing", "Stopwatch"),
    "_advantages": (
        "Advantages",
        "Batchwise",
        "Groupwise",
        "WeightedGroup",
        "centred",
        "counted",
        "weigh",
    ),
    "_aggregator": ("GroupTrainer", "group_of"),
    "_arrays": ("fingerprint", "pack", "unpack"),
    "_batches": ("Batch", "Span"),
    "_chunks": ("Accumulation", "Chunk", "Chunker", "ForwardBackwardBatch"),
    "_completion": ("GroupCompletion",),
    "_domain": ("RL", "AsyncRL"),
    "_front": ("AsyncTrainer",),
    "_network": ("Network", "NetworkPolicy"),
    "_numpy_trainer": ("Adam", "NumpyTrainer"),
    "_options": ("Options",),
    "_recorder": ("Bar", "Mark", "Recorder"),
    "_schedule": ("Schedule",),
    "_steps": ("StepDone",),
    "_timeline": ("Timeline", "Wait"),
    "_trainer": ("CachingPolicy", "Policy", "Published", "Sample", "Trainer"),
    "_trajectories": ("Segment", "Trajectory", "TrajectoryGroup"),
    "_weights": ("DirectoryStore", "InlineStore", "MemoryStore", "WeightStore"),
}


def __getattr__(name: str) -> Any:
    # Whoever looks for plug-ins imports this package, and most of them want neither it nor numpy.
    for module, names in _WHERE.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
