"""
Optimizers against the textbook.
"""

from __future__ import annotations

import numpy as np
import pytest

from headway.errors import OptionError
from headway_es import SGD, Adam, Momentum
from headway_es._optimizers import _STRIDE, optimizer_of

DIM = _STRIDE + 100


def gradients(count=6):
    rng = np.random.default_rng(2)
    return [rng.normal(size=DIM) for _ in range(count)]


def walked(optimizer, theta, moments=None, rates=(1.0,) * 6):
    for gradient, rate in zip(gradients(), rates, strict=True):
        theta, moments = optimizer.step(theta, gradient, moments, rate)
    return theta, moments


def test_sgd_adds_the_gradients():
    """
    Times the learning rate, uphill.
    """
    theta, moments = walked(SGD(lr=0.1), np.ones(DIM))

    np.testing.assert_allclose(1 + 0.1 * sum(gradients()), theta, rtol=1e-12)
    assert {} == moments


def test_momentum_keeps_a_share_of_what_was():
    """
    The textbook's m = beta m + g.
    """
    m, wanted = 0.0, np.ones(DIM)
    for g in gradients():
        m = 0.8 * m + g
        wanted = wanted + 0.1 * m
    theta, moments = walked(Momentum(lr=0.1, beta=0.8), np.ones(DIM))

    np.testing.assert_allclose(wanted, theta, rtol=1e-12)
    np.testing.assert_allclose(m, moments["m"], rtol=1e-12)


def test_adam_is_that_of_the_paper():
    """
    With powers where the optimizer carries products.
    """
    m, v, wanted = 0.0, 0.0, np.ones(DIM)
    for t, g in enumerate(gradients(), 1):
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        wanted = wanted + 0.01 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
    theta, _ = walked(Adam(lr=0.01), np.ones(DIM))

    np.testing.assert_allclose(wanted, theta, rtol=1e-10)


@pytest.mark.parametrize("optimizer", [SGD(), Momentum(), Adam()])
def test_a_rate_is_a_factor_of_the_learning_rate(optimizer):
    """
    For that step alone; what is remembered does not depend on it.
    """
    once, _ = optimizer.step(np.zeros(DIM), gradients()[0], None, 1.0)
    half, moments = optimizer.step(np.zeros(DIM), gradients()[0], None, 0.5)

    np.testing.assert_allclose(0.5 * once, half, rtol=1e-12)
    np.testing.assert_equal(optimizer.step(np.zeros(DIM), gradients()[0], None)[1], moments)


@pytest.mark.parametrize("optimizer", [SGD(), Momentum(), Adam()])
def test_what_it_is_given_stays_as_it_is(optimizer):
    """
    Theta, the gradient and the moments: a step may be run again on them.
    """
    theta, (first, second, *_) = np.ones(DIM), gradients()
    theta.setflags(write=False)
    first.setflags(write=False)
    second.setflags(write=False)
    moved, moments = optimizer.step(theta, first, None)
    for held in moments.values():
        if isinstance(held, np.ndarray):
            held.setflags(write=False)
    again = [optimizer.step(moved, second, moments)[0].tobytes() for _ in range(2)]

    assert again[0] == again[1]


@pytest.mark.parametrize("optimizer", [SGD(), Momentum(), Adam()])
def test_theta_of_32_bits_stays_so(optimizer):
    """
    It is rounded once a step, from 64.
    """
    theta = np.ones(DIM, dtype=np.float32)
    moved, _ = optimizer.step(theta, gradients()[0], None)
    exact, _ = optimizer.step(theta.astype(np.float64), gradients()[0], None)

    assert np.dtype(np.float32) == moved.dtype
    np.testing.assert_allclose(exact, moved, rtol=1e-6)


def test_an_optimizer_has_a_name_or_is_an_object():
    """
    An object brings its own learning rate.
    """
    assert Adam(lr=0.3) == optimizer_of("adam", 0.3)
    assert SGD() == optimizer_of("sgd", None)
    assert Momentum(beta=0.5) == optimizer_of(Momentum(beta=0.5), None)
    with pytest.raises(OptionError, match="to the optimizer that you pass"):
        optimizer_of(SGD(), 0.1)
    with pytest.raises(OptionError, match=r"adam, sgd, momentum.*'adam'"):
        optimizer_of("adm", None)


@pytest.mark.parametrize(("name", "value"), [("lr", 0), ("beta1", 1), ("epsilon", float("inf"))])
def test_options_are_checked(name, value):
    """
    By name, when it is made.
    """
    with pytest.raises(ValueError, match=name):
        Adam(**{name: value})
