"""
A small policy network: one hidden layer of tanh units, and one choice among some actions.

Its weights are one flat vector, ``W1 (features x hidden)``, ``b1``, ``W2 (hidden x actions)``, ``b2``, in C order.
What it gives for one observation depends on nothing else, in particular not on how many are asked at once
when each group is asked by itself.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from itertools import accumulate

import attrs
import numpy as np

from headway.contracts import Json
from headway.errors import OptionError
from headway_rl._arrays import Array, Floats
from headway_rl._checks import check_count
from headway_rl._trainer import Policy, Sample


@attrs.frozen(kw_only=True)
class Network:
    """
    The shape of a network, and what it computes.

    Args:
        features: Numbers in an observation.
        hidden: Units of the hidden layer.
        actions: Actions to choose among.

    Raises:
        OptionError: one of them is no whole number of at least 1.
    """

    features: int
    hidden: int
    actions: int

    def __attrs_post_init__(self) -> None:
        for name in ("features", "hidden", "actions"):
            check_count(name, getattr(self, name), 1)

    @property
    def size(self) -> int:
        """
        How many weights it has.

        >>> Network(features=12, hidden=32, actions=6).size
        614
        """
        return (self.features + 1) * self.hidden + (self.hidden + 1) * self.actions

    def initial(self, seed: int) -> Floats:
        """
        Weights to begin with, of shape ``(size,)``: normal, of deviation one over the root of a layer's
        inputs, and a tenth of that where they lead to an action, so that all are about as likely.
        """
        rng = np.random.Generator(np.random.Philox(key=[seed, 0]))
        first = rng.standard_normal((self.features, self.hidden)) / math.sqrt(self.features)
        second = rng.standard_normal((self.hidden, self.actions)) * 0.1 / math.sqrt(self.hidden)
        nothing = (np.zeros(self.hidden), np.zeros(self.actions))
        parts = (first, nothing[0], second, nothing[1])
        return np.concatenate([part.ravel() for part in parts])

    def check(self, theta: Array) -> None:
        """
        Refuse weights of another shape.

        Raises:
            OptionError: they are.
        """
        if theta.shape != (self.size,):
            remedy = f"A network of {self} has weights of shape ({self.size},)."
            raise OptionError("theta", theta.shape, remedy)

    def parts(self, theta: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """
        The two layers of a theta, weights and biases, as views of it.
        """
        first = self.features * self.hidden
        second = first + self.hidden
        last = second + self.hidden * self.actions
        return (
            theta[:first].reshape(self.features, self.hidden),
            theta[first:second],
            theta[second:last].reshape(self.hidden, self.actions),
            theta[last:],
        )

    def log_probabilities(self, theta: Floats, observations: Floats) -> Floats:
        """
        The log-probabilities of all actions, of shape ``(n, actions)``, in nats.

        Args:
            theta: Weights of shape ``(size,)``.
            observations: Of shape ``(n, features)``.
        """
        first, b1, second, b2 = self.parts(theta)
        return _log_softmax(np.tanh(observations @ first + b1) @ second + b2)

    def gradient(
        self, theta: Floats, observations: Floats, actions: Array, weights: Floats
    ) -> Floats:
        """
        The gradient of ``sum of weight * log p(action | observation)``, of shape ``(size,)``.

        Args:
            theta: Weights of shape ``(size,)``.
            observations: Of shape ``(n, features)``.
            actions: Of shape ``(n,)``.
            weights: Of shape ``(n,)``; constants, not differentiated.
        """
        first, b1, second, b2 = self.parts(theta)
        units = np.tanh(observations @ first + b1)
        chances = np.exp(_log_softmax(units @ second + b2))
        chosen = np.zeros_like(chances)
        chosen[np.arange(len(actions)), actions] = 1.0
        outward = (chosen - chances) * weights[:, None]
        inward = (outward @ second.T) * (1.0 - units * units)
        parts = (observations.T @ inward, inward.sum(0), units.T @ outward, outward.sum(0))
        return np.concatenate([part.ravel() for part in parts])


def _log_softmax(logits: Floats) -> Floats:
    shifted = logits - logits.max(1, keepdims=True)
    found: Floats = shifted - np.log(np.exp(shifted).sum(1, keepdims=True))
    return found


def _parts_of(policy: NetworkPolicy) -> tuple[Floats, Floats, Floats, Floats]:
    return policy.network.parts(policy.theta)


@attrs.frozen(kw_only=True)
class NetworkPolicy:
    """
    A network with weights, to sample with.

    Args:
        network: The network.
        theta: Its weights, of shape ``(network.size,)``.
        version: Their version.
        greedy: Takes the likeliest action instead of drawing one.
        kv_version: What its samples say of the prefix that they were sampled on.  A network reads no
            prefix and caches none; it says what an engine that does would say.
    """

    network: Network
    theta: Floats = attrs.field(eq=False, repr=False)
    version: int = 0
    greedy: bool = False
    kv_version: int | None = None
    _parts: tuple[Floats, Floats, Floats, Floats] = attrs.field(
        init=False, eq=False, repr=False, default=attrs.Factory(_parts_of, takes_self=True)
    )

    def sample(self, observation: Json, rng: random.Random) -> Sample:
        """
        Draw an action with one number of ``rng``.

        Args:
            observation: A list of ``network.features`` numbers.
            rng: What draws.

        Raises:
            ValueError: it is of another length.
        """
        row = np.asarray(observation, np.float64)
        if row.shape != (self.network.features,):
            message = (
                f"the observation has the shape {row.shape}, and the network takes"
                f" ({self.network.features},); give a Network(features=...) that fits"
            )
            raise ValueError(message)
        first, b1, second, b2 = self._parts
        logits: list[float] = (np.tanh(row @ first + b1) @ second + b2).tolist()
        most = max(logits)
        weights = [math.exp(logit - most) for logit in logits]
        total = math.fsum(weights)
        action = logits.index(most) if self.greedy else _drawn(weights, rng.random() * total)
        logprob = logits[action] - most - math.log(total)
        return Sample(
            actions=(action,),
            logprobs=(logprob,),
            version=self.version,
            kv_version=self.kv_version,
        )

    def continuing(self, earlier: Policy) -> NetworkPolicy:
        """
        The same network on the prefix of an earlier one; see ``CachingPolicy``.

        Raises:
            TypeError: the earlier one is no ``NetworkPolicy``.
        """
        if not isinstance(earlier, NetworkPolicy):
            message = f"a NetworkPolicy goes on with what another one has, not with {earlier!r}"
            raise TypeError(message)
        prefix = earlier.version if earlier.kv_version is None else earlier.kv_version
        return attrs.evolve(self, kv_version=prefix)


def _drawn(weights: Sequence[float], place: float) -> int:
    for action, reached in enumerate(accumulate(weights)):
        if place < reached:
            return action
    return len(weights) - 1  # the sum may end a little below what it was drawn from
