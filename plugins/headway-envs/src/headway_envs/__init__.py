"""
Environments of many turns, and what runs one episode of them.

``headway_envs.miniterm`` holds the terminal; it alone needs numpy.
"""

from headway_envs._environment import Act, Environment, Episode, Step, play, play_async
from headway_envs._gym import Gym
from headway_envs._slow import Slow, SlowAsync, seconds_of

__all__ = [
    "Act",
    "Environment",
    "Episode",
    "Gym",
    "Slow",
    "SlowAsync",
    "Step",
    "play",
    "play_async",
    "seconds_of",
]
