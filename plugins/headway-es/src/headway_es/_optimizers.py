"""
From a gradient estimate to the next centre: + - x / and square roots only, so the bits are the same on
every processor.

An optimizer is a frozen value; what it remembers between steps is a mapping of names to numbers and arrays
that it is given and gives back.  All of it is float64.  The gradient points uphill.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Protocol, TypeAlias

import attrs
import numpy as np
from attrs.validators import ge, gt, instance_of, lt

from headway.errors import OptionError, suggestion
from headway_es._kernels import Array, Float64

Moments: TypeAlias = Mapping[str, Any]
"""What an optimizer remembers: float64 arrays of shape (dim,) and plain numbers, by name."""

_STRIDE = 16_384
"""Parameters handled at once, so that all that is touched stays in the cache."""

_RATE: Any = [instance_of((int, float)), gt(0), lt(float("inf"))]
_SHARE: Any = [instance_of((int, float)), ge(0), lt(1)]


class Optimizer(Protocol):
    """
    Moves a centre along a gradient estimate.
    """

    def step(
        self, theta: Array, gradient: Float64, moments: Moments | None, rate: float = 1.0
    ) -> tuple[Array, Moments]:
        """
        The next centre and what is to be remembered.

        Args:
            theta: The centre, float32 or float64, of shape (dim,); it is left as it is.
            gradient: Of the same shape; it is left as it is.
            moments: What the step before gave; None at first.
            rate: What the learning rate is multiplied by in this step.
        """
        ...


@attrs.frozen(kw_only=True)
class SGD:
    """
    A step of the learning rate times the gradient.

    Args:
        lr: The learning rate.

    Raises:
        ValueError: it is out of its range.
    """

    lr: float = attrs.field(default=0.02, validator=_RATE)

    def step(
        self, theta: Array, gradient: Float64, moments: Moments | None, rate: float = 1.0
    ) -> tuple[Array, Moments]:
        """
        See ``Optimizer``; it remembers nothing.
        """
        del moments
        return _moved(theta, self.lr * rate * gradient), {}


@attrs.frozen(kw_only=True)
class Momentum:
    """
    A step along a running sum of gradients, each older one worth ``beta`` of the next.

    Args:
        lr: The learning rate.
        beta: How much of the sum is kept.

    Raises:
        ValueError: an option is out of its range.
    """

    lr: float = attrs.field(default=0.02, validator=_RATE)
    beta: float = attrs.field(default=0.9, validator=_SHARE)

    def step(
        self, theta: Array, gradient: Float64, moments: Moments | None, rate: float = 1.0
    ) -> tuple[Array, Moments]:
        """
        See ``Optimizer``; it remembers the sum, ``m``.
        """
        m = gradient.copy() if moments is None else self.beta * moments["m"] + gradient
        return _moved(theta, self.lr * rate * m), {"m": m}


@attrs.frozen(kw_only=True)
class Adam:
    """
    Adam with bias correction (D. P. Kingma and J. Ba, "Adam: A Method for Stochastic Optimization", 2015).

    The powers of the decay rates are products that are carried along, so that no library's power function
    shows in the result.

    Args:
        lr: The learning rate.
        beta1: How much of the running mean is kept.
        beta2: How much of the running mean square is kept.
        epsilon: What is added to the root.

    Raises:
        ValueError: an option is out of its range.
    """

    lr: float = attrs.field(default=0.02, validator=_RATE)
    beta1: float = attrs.field(default=0.9, validator=_SHARE)
    beta2: float = attrs.field(default=0.999, validator=_SHARE)
    epsilon: float = attrs.field(default=1e-8, validator=_RATE)

    def step(
        self, theta: Array, gradient: Float64, moments: Moments | None, rate: float = 1.0
    ) -> tuple[Array, Moments]:
        """
        See ``Optimizer``; it remembers ``m``, ``v`` and the powers ``p1`` and ``p2``.
        """
        old: Moments = {"m": 0.0, "v": 0.0, "p1": 1.0, "p2": 1.0} if moments is None else moments
        p1, p2 = old["p1"] * self.beta1, old["p2"] * self.beta2
        m, v, moved = np.empty_like(gradient), np.empty_like(gradient), np.empty_like(theta)
        scale, root = self.lr * rate / (1 - p1), 1 / (1 - p2)
        room = np.empty((2, min(len(theta), _STRIDE)))
        for begin in range(0, len(theta), _STRIDE):
            piece = slice(begin, begin + _STRIDE)
            g, new_m, new_v = gradient[piece], m[piece], v[piece]
            term, under = room[:, : len(g)]
            _decayed(_piece(old["m"], piece), self.beta1, g, term, new_m)
            _decayed(_piece(old["v"], piece), self.beta2, np.multiply(g, g, out=under), term, new_v)
            np.sqrt(np.multiply(new_v, root, out=under), out=under)
            np.add(under, self.epsilon, out=under)
            np.divide(np.multiply(new_m, scale, out=term), under, out=term)
            np.add(theta[piece], term, out=moved[piece], casting="same_kind")
        return moved, {"m": m, "v": v, "p1": p1, "p2": p2}


def _piece(held: Any, piece: slice) -> Any:
    return held if isinstance(held, float) else held[piece]


def _decayed(old: Any, beta: float, new: Float64, room: Float64, out: Float64) -> None:
    """
    ``beta * old + (1 - beta) * new``.
    """
    np.multiply(new, 1 - beta, out=room)
    np.multiply(old, beta, out=out)
    np.add(out, room, out=out)


def _moved(theta: Array, move: Float64) -> Array:
    return np.add(theta, move, dtype=np.float64).astype(theta.dtype, copy=False)


OPTIMIZERS: Mapping[str, Any] = MappingProxyType({"adam": Adam, "sgd": SGD, "momentum": Momentum})
"""Each optimizer by its name."""


def optimizer_of(given: Any, lr: float | None) -> Optimizer:
    """
    The optimizer of a name with a learning rate, or the object that was given.

    Raises:
        OptionError: there is none of that name, or an object came with a learning rate beside it.
    """
    if not isinstance(given, str):
        if lr is not None:
            raise OptionError("lr", lr, "Give the learning rate to the optimizer that you pass.")
        made: Optimizer = given
        return made
    if given not in OPTIMIZERS:
        hint = suggestion(given, OPTIMIZERS)
        raise OptionError("optimizer", given, f"Give one of {', '.join(OPTIMIZERS)}.{hint}")
    options = {} if lr is None else {"lr": lr}
    fresh: Optimizer = OPTIMIZERS[given](**options)
    return fresh
