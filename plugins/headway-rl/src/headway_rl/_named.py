"""
The domain that is found by its name: MiniTerm, or an environment of Gymnasium, and a small network.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from functools import partial
from typing import Any, ClassVar

from headway.contracts import Json, Splits, Task
from headway.durations import Law, parse_law
from headway.errors import OptionError
from headway_envs import Environment, Gym, Slow
from headway_envs.miniterm import HIDDEN, TURNS, MiniTerm, TaskBatch, warm_start
from headway_rl._checks import check_choice
from headway_rl._domain import RL
from headway_rl._network import Network
from headway_rl._numpy_trainer import Adam, NumpyTrainer
from headway_rl._weights import DirectoryStore, InlineStore

_GYM = "gym:"
_TRAIN, _HELD_OUT = 512, 64
_LONGEST = 500
"""Turns of an episode of Gymnasium; CartPole and Acrobot end by then."""


class NamedRL(RL):
    """
    A small network that learns an environment; any number of threads may share one object.

    Args:
        environment: ``miniterm``, or ``gym:`` and an id of Gymnasium with a vector to observe and a
            choice of actions, such as ``gym:CartPole-v1``.
        reward: For ``miniterm``: ``tests``, the weighted share of tests passed, or ``success``.
        latency: How long an episode of 16 turns takes: a law as ``headway.durations.parse_law`` reads it,
            in seconds, or ``none``.
        learning_rate: Adam's.
        start: For ``miniterm``: ``warm``, a policy that has learned a little, or ``cold``.
        weights: A folder for weights; without one they lie in the ledger.

    Raises:
        OptionError: an option has a value that cannot be used.
        UsageError: Gymnasium is not installed.
    """

    options: ClassVar[Mapping[str, str]] = {
        "environment": "miniterm, or gym:ID as gym:CartPole-v1; miniterm by default",
        "reward": "miniterm's reward: tests (the share passed, the default) or success",
        "latency": "how long an episode takes: none, constant:SECONDS, lognormal:MEAN,SIGMA, ...",
        "learning_rate": "Adam's learning rate, 0.02 by default",
        "start": "miniterm's first policy: warm (the default) or cold",
        "weights": "a folder for weights; without one they lie in the ledger",
    }
    defaults: ClassVar[Mapping[str, Json]] = {
        "aggregator": "groups",
        "policy": "wait",
        "updates": 100,
        "n_workers": 16,
    }

    def __init__(
        self,
        *,
        environment: str = "miniterm",
        reward: str = "tests",
        latency: str | Law = "none",
        learning_rate: float | str = 0.02,
        start: str = "warm",
        weights: str = "",
    ) -> None:
        self.latency = parse_law(latency, option="latency") if isinstance(latency, str) else latency
        check_choice("start", start, ("warm", "cold"))
        make, network, more = _made(environment, reward)
        self._quick = make
        known = environment == "miniterm" and start == "warm"
        super().__init__(
            environment=partial(_slowed, make, self.latency),
            trainer=NumpyTrainer(
                network=network,
                theta=warm_start() if known else None,  # type: ignore[arg-type] # None draws them
                optimizer=Adam(learning_rate=_number(learning_rate)),
                store=DirectoryStore(weights) if weights else InlineStore(),
            ),
            **more,
        )

    def virtual(self) -> NamedRL:
        """
        A domain with the same trainer, tasks and recorder, whose episodes take no time.
        """
        twin = copy(self)
        twin.environment, twin.recorder = self._quick, self.recorder
        twin.latency, twin._quick = self.latency, self._quick  # noqa: SLF001 - of its own class
        return twin

    def durations(self) -> Mapping[str, object]:
        """
        The law of an episode, for the simulated driver.
        """
        return {"rollout": self.latency, "measure": self.latency}


def _number(value: float | str) -> float:
    try:
        return float(value)
    except ValueError as error:
        raise OptionError("learning_rate", value, "Give a number.") from error


def _slowed(make: Callable[[], Environment], law: Law) -> Environment:
    return Slow(make(), law) if law.mean else make()


def _made(
    environment: str, reward: str
) -> tuple[Callable[[], Environment], Network, dict[str, Any]]:
    """
    An environment, the network that fits it, and what else the domain is told.
    """
    if environment == "miniterm":
        make = partial(MiniTerm, reward=reward)
        made = make()
        network = Network(features=made.observation_size, hidden=HIDDEN, actions=made.actions)
        return make, network, {"splits": _terminal_tasks(), "max_turns": TURNS}
    if environment.startswith(_GYM):
        return _gymnasium(environment.removeprefix(_GYM))
    remedy = "Give miniterm, or gym:ID as gym:CartPole-v1."
    raise OptionError("environment", environment, remedy)


def _gymnasium(name: str) -> tuple[Callable[[], Environment], Network, dict[str, Any]]:
    made = Gym(name)
    network = Network(features=made.observation_size, hidden=HIDDEN, actions=made.actions)
    splits = Splits(
        train=[Task(id=f"seed-{n}", data={"seed": n}) for n in range(_TRAIN)],
        held_out=[Task(id=f"held-out-{n}", data={"seed": _TRAIN + n}) for n in range(_HELD_OUT)],
    )
    more = {"splits": splits, "max_turns": _LONGEST, "reward_range": (-math.inf, math.inf)}
    return partial(Gym, name), network, more


def _terminal_tasks() -> Splits:
    return Splits(train=[*_batch("train", 0, _TRAIN)], held_out=[*_batch("held-out", 1, _HELD_OUT)])


def _batch(name: str, batch: int, count: int) -> Iterator[Task]:
    drawn = TaskBatch.draw(0, batch, count)
    return (Task(id=f"{name}-{n}", data=drawn.task(n)) for n in range(count))
