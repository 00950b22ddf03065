"""
Reinforcement learning with a bounded staleness.
"""

from headway_rl._advantages import (
    Advantages,
    Batchwise,
    Groupwise,
    WeightedGroup,
    centred,
    counted,
    weigh,
)
from headway_rl._arrays import fingerprint, pack, unpack
from headway_rl._chunks import Accumulation, Chunk, Chunker, ForwardBackwardBatch
from headway_rl._completion import GroupCompletion
from headway_rl._options import Options
from headway_rl._schedule import Schedule
from headway_rl._trajectories import Segment, Trajectory, TrajectoryGroup
from headway_rl._weights import DirectoryStore, InlineStore, MemoryStore, WeightStore

__all__ = [
    "Accumulation",
    "Advantages",
    "Batchwise",
    "Chunk",
    "Chunker",
    "DirectoryStore",
    "ForwardBackwardBatch",
    "GroupCompletion",
    "Groupwise",
    "InlineStore",
    "MemoryStore",
    "Options",
    "Schedule",
    "Segment",
    "Trajectory",
    "TrajectoryGroup",
    "WeightStore",
    "WeightedGroup",
    "centred",
    "counted",
    "fingerprint",
    "pack",
    "unpack",
    "weigh",
]
