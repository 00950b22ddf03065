"""
A trainer in numpy: policy gradient over a small network, with Adam.

The gradient of each group is kept by itself and summed in the order of the groups' numbers at the optimizer's step,
so neither the order in which groups came nor the chunks they came in show in the result.

After R. J. Williams, "Simple statistical gradient-following algorithms for connectionist reinforcement
learning", 1992, and D. P. Kingma and J. Ba, "Adam: a method for stochastic optimization", 2015.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np

from headway.contracts import Json
from headway.errors import LedgerCorrupt
from headway_rl._advantages import WeightedGroup
from headway_rl._arrays import Arrays, Floats, fingerprint
from headway_rl._checks import check_number
from headway_rl._network import Network, NetworkPolicy
from headway_rl._trainer import Metrics, Published
from headway_rl._weights import InlineStore, WeightStore


def _rate(name: str, value: float) -> None:
    check_number(name, value, above=0.0)


@attrs.frozen(kw_only=True)
class Adam:
    """
    The optimizer's settings.

    Args:
        learning_rate: How far a step goes, in units of the weights.
        beta1: How much of the mean gradient stays from step to step.
        beta2: How much of the mean square stays.
        epsilon: Keeps a division by a small root in bounds.
        max_norm: Longer gradients are cut to this length; None cuts none.

    Raises:
        OptionError: one of them is out of its range.
    """

    learning_rate: float = 0.02
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    max_norm: float | None = None

    def __attrs_post_init__(self) -> None:
        _rate("learning_rate", self.learning_rate)
        _rate("epsilon", self.epsilon)
        check_number("beta1", self.beta1, least=0.0, below=1.0)
        check_number("beta2", self.beta2, least=0.0, below=1.0)
        if self.max_norm is not None:
            _rate("max_norm", self.max_norm)

    def cut(self, gradient: Floats) -> Floats:
        """
        The gradient, no longer than ``max_norm``.
        """
        norm = float(np.sqrt(np.square(gradient).sum()))
        if self.max_norm is None or norm <= self.max_norm:
            return gradient
        return gradient * (self.max_norm / norm)


@attrs.define(eq=False, kw_only=True)
class NumpyTrainer:
    """
    Policy gradient with weighted groups over a ``Network``.

    A segment holds one action and the observation that it was sampled for.

    Args:
        network: The policy's shape.
        seed: What its first weights are drawn from.
        theta: The first weights, of shape ``(network.size,)``; None draws them.
        optimizer: Adam's settings.
        max_ratio: Corrects for age: each action's weight is multiplied by its probability now over
            that when it was sampled, at most this; None corrects nothing.
        store: Where weights and the optimizer's state lie; ``DirectoryStore`` for a large network.

    Raises:
        OptionError: the weights have another shape, or the ratio is out of its range.
    """

    network: Network
    seed: int = 0
    theta: Floats = attrs.field(default=None, eq=False, repr=False)
    optimizer: Adam = attrs.field(factory=Adam)
    max_ratio: float | None = None
    store: WeightStore = attrs.field(factory=InlineStore)
    _gradients: dict[int, Floats] = attrs.field(factory=dict[int, Floats], init=False, repr=False)
    _mean: Floats = attrs.field(init=False, repr=False)
    _square: Floats = attrs.field(init=False, repr=False)
    _count: int = attrs.field(default=0, init=False)
    _last: tuple[str, Metrics] | None = attrs.field(default=None, init=False, repr=False)
    _policies: dict[str, Floats] = attrs.field(factory=dict[str, Floats], init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        given: Any = self.theta
        self.theta = self.network.initial(self.seed) if given is None else np.array(given, float)
        self.network.check(self.theta)
        if self.max_ratio is not None:
            _rate("max_ratio", self.max_ratio)
        self._fresh()

    def _fresh(self) -> None:
        self._mean, self._square = np.zeros(self.network.size), np.zeros(self.network.size)
        self._count, self._last = 0, None
        self._gradients.clear()

    # ------------------------------------------------------------------ the gradient

    def forward_backward(self, groups: Sequence[WeightedGroup], reset: bool) -> Metrics:
        """
        Keep the gradient of each of some groups; see ``Trainer``.

        Raises:
            ValueError: a segment holds several actions, or a gradient is not finite.
        """
        if reset:
            self._gradients.clear()
        entropies: list[float] = []
        for group in groups:
            gradient, entropy = self._gradient(group)
            self._gradients[group.group.number] = gradient
            entropies.extend(entropy)
        return {"train/entropy": math.fsum(entropies) / len(entropies)} if entropies else {}

    def _gradient(self, group: WeightedGroup) -> tuple[Floats, list[float]]:
        rows = [
            (part, advantage)
            for trajectory, advantage in group.sequences
            for part in trajectory.segments
            if group.oldest is None or part.version >= group.oldest
        ]
        if not rows:
            return np.zeros(self.network.size), []
        for part, _ in rows:
            if part.tokens != 1:
                message = f"NumpyTrainer takes one action a segment, and here are {part.tokens}"
                raise ValueError(message)
        seen = np.array([part.observation for part, _ in rows], np.float64)
        actions = np.array([part.actions[0] for part, _ in rows])
        logs = self.network.log_probabilities(self.theta, seen)
        weights = np.array([advantage for _, advantage in rows])
        if self.max_ratio is not None:
            now = logs[np.arange(len(rows)), actions]
            then = np.array([part.logprobs[0] for part, _ in rows])
            weights = weights * np.minimum(np.exp(now - then), self.max_ratio)
        gradient = self.network.gradient(self.theta, seen, actions, weights)
        if not np.isfinite(gradient).all():
            message = f"the gradient of group {group.group.number} is not finite"
            raise ValueError(message)
        return gradient, (-(np.exp(logs) * logs).sum(1)).tolist()

    # ------------------------------------------------------------------ the step

    def optim_step(self, step_id: str, factor: float) -> Metrics:
        """
        One step of Adam up the gradient; see ``Trainer``.

        Raises:
            ValueError: there is no gradient.
        """
        if self._last is not None and self._last[0] == step_id:
            return self._last[1]
        if not self._gradients:
            message = f"step {step_id} has no gradient; call forward_backward first"
            raise ValueError(message)
        whole = factor * sum(
            (self._gradients[number] for number in sorted(self._gradients)),
            np.zeros(self.network.size),
        )
        self._move(self.optimizer.cut(whole))
        metrics = {"train/gradient_norm": float(np.sqrt(np.square(whole).sum()))}
        self._gradients.clear()
        self._last = (step_id, metrics)
        return metrics

    def _move(self, gradient: Floats) -> None:
        adam = self.optimizer
        self._count += 1
        self._mean = adam.beta1 * self._mean + (1 - adam.beta1) * gradient
        self._square = adam.beta2 * self._square + (1 - adam.beta2) * gradient * gradient
        mean = self._mean / (1 - adam.beta1**self._count)
        square = self._square / (1 - adam.beta2**self._count)
        self.theta = self.theta + adam.learning_rate * mean / (np.sqrt(square) + adam.epsilon)

    # ------------------------------------------------------------------ what is kept

    def publish(self) -> Published:
        """
        Put the weights into the store; see ``Trainer``.
        """
        weights = {"theta": self.theta}
        return Published(reference=self.store.put(weights), fingerprint=fingerprint(weights))

    def state_dict(self) -> Json:
        """
        Adam's means, in the store, and how many steps were made.
        """
        kept = {"mean": self._mean, "square": self._square}
        return {"moments": self.store.put(kept), "count": self._count}

    def load(self, published: Published, state: Json) -> None:
        """
        Stand where these were given; see ``Trainer``.
        """
        theta = self._theta(published)
        self._fresh()
        self.theta = theta.copy()
        if state is not None:
            kept: Arrays = self.store.get(state["moments"])
            self._mean, self._square = kept["mean"], kept["square"]
            self._count = state["count"]

    def policy(self, published: Published, version: int) -> NetworkPolicy:
        """
        The network with published weights, which are looked up once and then remembered.
        """
        theta = self._policies.get(published.fingerprint)
        if theta is None:
            theta = self._theta(published)
            remembered = {**self._policies, published.fingerprint: theta}
            # A new dict each time: others may be reading the old one.
            self._policies = dict(list(remembered.items())[-_REMEMBERED:])
        return NetworkPolicy(network=self.network, theta=theta, version=version)

    def _theta(self, published: Published) -> Floats:
        weights = self.store.get(published.reference)
        if fingerprint(weights) != published.fingerprint:
            raise LedgerCorrupt("the store", "the weights", "they have another fingerprint")
        theta: Floats = weights["theta"]
        self.network.check(theta)
        return theta


_REMEMBERED = 16
"""Versions whose weights a trainer remembers for sampling."""
