"""
MiniTerm: a terminal of many turns, small enough for hundreds of thousands of episodes a second.
"""

from headway_envs.miniterm._environment import MiniTerm
from headway_envs.miniterm._policy import DIMENSION, HIDDEN, Policy, observations
from headway_envs.miniterm._rollouts import Outcomes, rollouts
from headway_envs.miniterm._rules import COMMANDS, KINDS, PRINTS, TESTS, TURNS, Goal, World, apply
from headway_envs.miniterm._tasks import SCALE, TaskBatch
from headway_envs.miniterm._warm_start import warm_start

__all__ = [
    "COMMANDS",
    "DIMENSION",
    "HIDDEN",
    "KINDS",
    "PRINTS",
    "SCALE",
    "TESTS",
    "TURNS",
    "Goal",
    "MiniTerm",
    "Outcomes",
    "Policy",
    "TaskBatch",
    "World",
    "apply",
    "observations",
    "rollouts",
    "warm_start",
]
