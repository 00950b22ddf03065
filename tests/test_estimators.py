"""
Tests of the built-in duration estimators.
"""

from __future__ import annotations

import json
import math
import random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headway.builtins._estimators import Ewma, Linear
from headway.contracts import DurationEstimator, Remembering
from headway.errors import OptionError

estimators = pytest.mark.parametrize("estimator", [Linear, Ewma])
costs = st.floats(0, 1e6)
pairs = st.lists(st.tuples(costs, st.floats(0, 1e6)), min_size=1, max_size=40)


def taught(estimator, *observations):
    for cost, seconds in observations:
        estimator.observe(cost, seconds)
    return estimator


@estimators
def test_nothing_is_predicted_before_there_is_data(estimator):
    """
    None, so that nobody mistakes a default for knowledge.
    """
    assert isinstance(estimator(), DurationEstimator)
    assert None is estimator().estimate(1.0)
    assert None is estimator().quantile(1.0, 0.5)


@estimators
def test_equal_costs_predict_what_was_seen(estimator):
    """
    One cost only is no division by zero, for any cost that is asked about.
    """
    known = taught(estimator(), (2.0, 4.0), (2.0, 4.0))

    assert 4.0 == known.estimate(2.0) == known.quantile(2.0, 0.9)
    assert known.estimate(0.0) is not None


def test_linear_finds_the_line():
    """
    Least squares over points of a line is the line.
    """
    known = taught(Linear(), *((c, 3.0 + 0.5 * c) for c in (1.0, 2.0, 5.0, 9.0)))

    assert pytest.approx(3.0) == known.estimate(0.0)
    assert pytest.approx(53.0) == known.estimate(100.0)


def test_linear_is_least_squares():
    """
    The online sums give what the closed form gives, for costs far from zero too.
    """
    rng = random.Random(7)
    seen = [(1e6 + rng.random(), 2.0 + rng.random()) for _ in range(200)]
    mean_cost = math.fsum(c for c, _ in seen) / 200
    mean_seconds = math.fsum(s for _, s in seen) / 200
    slope = math.fsum((c - mean_cost) * (s - mean_seconds) for c, s in seen) / math.fsum(
        (c - mean_cost) ** 2 for c, _ in seen
    )

    assert pytest.approx(mean_seconds + slope * (1e6 + 0.25 - mean_cost), rel=1e-6) == taught(
        Linear(), *seen
    ).estimate(1e6 + 0.25)


def test_linear_with_equal_costs_predicts_the_mean():
    """
    Without a slope to be seen, the mean holds everywhere.
    """
    known = taught(Linear(), (2.0, 4.0), (2.0, 6.0))

    assert [5.0, 5.0] == [known.estimate(cost) for cost in (2.0, 50.0)]


def test_ewma_follows_a_drift():
    """
    Old observations fade; the prediction scales with the cost.
    """
    known = taught(Ewma(weight=0.5), *[(1.0, 1.0)] * 20, *[(1.0, 3.0)] * 20)

    assert pytest.approx(3.0, abs=1e-4) == known.estimate(1.0)
    assert pytest.approx(6.0, abs=1e-4) == known.estimate(2.0)


def test_ewma_of_work_without_cost_is_its_mean_duration():
    """
    A cost of zero throughout is no division by zero.
    """
    known = taught(Ewma(weight=0.5), (0.0, 2.0), (0.0, 4.0))

    assert 3.0 == known.estimate(0.0)


@estimators
def test_quantiles_cover_the_share_that_they_promise(estimator):
    """
    Of heavy-tailed durations a share of about ``level`` stays within the quantile.
    """
    rng = random.Random(7)
    known = estimator(window=400)
    for _ in range(2000):
        known.observe(1.0, rng.lognormvariate(0.0, 1.0))
    later = [rng.lognormvariate(0.0, 1.0) for _ in range(2000)]
    for level in (0.5, 0.9, 0.95):
        share = sum(seconds <= known.quantile(1.0, level) for seconds in later) / 2000

        assert pytest.approx(level, abs=0.05) == share


@estimators
@given(pairs=pairs, cost=costs, low=st.floats(0, 1), high=st.floats(0, 1))
@example(pairs=[(5e-324, 1.0), (1.0, 0.0)], cost=0.0, low=0.0, high=1.0)
def test_predictions_are_never_negative_and_quantiles_never_fall(estimator, pairs, cost, low, high):
    """
    Whatever was seen; a higher level is never a shorter duration.
    """
    known = taught(estimator(), *pairs)
    least, most = sorted((low, high))

    assert known.estimate(cost) >= 0
    assert 0 <= known.quantile(cost, least) <= known.quantile(cost, most)


@estimators
@pytest.mark.parametrize(
    ("cost", "seconds"), [(1.0, -1.0), (1.0, math.nan), (math.inf, 1.0), (math.nan, 1.0)]
)
def test_what_cannot_be_learned_from_changes_nothing(estimator, cost, seconds):
    """
    One NaN would spoil every later prediction.
    """
    known = taught(estimator(), (1.0, 2.0))
    with pytest.raises(ValueError, match="cannot learn from"):
        known.observe(cost, seconds)

    assert 2.0 == known.estimate(1.0)


@estimators
@pytest.mark.parametrize("level", [-0.1, 1.1, math.nan])
def test_a_level_is_a_share(estimator, level):
    """
    Anything outside [0, 1] is refused.
    """
    with pytest.raises(ValueError, match="not within"):
        estimator().quantile(1.0, level)


@pytest.mark.parametrize(
    ("estimator", "options"),
    [
        (Linear, {"window": 0}),
        (Linear, {"window": 1.5}),
        (Ewma, {"window": 0}),
        (Ewma, {"weight": 0}),
        (Ewma, {"weight": 1.5}),
        (Ewma, {"weight": math.nan}),
    ],
)
def test_options_are_checked(estimator, options):
    """
    A window holds something, and a weight is a share.
    """
    with pytest.raises(OptionError, match=next(iter(options))):
        estimator(**options)


@estimators
def test_memory_is_bounded(estimator):
    """
    Ten thousand observations take no more room than the window.
    """
    known = taught(estimator(window=16), *((1.0, 1.0) for _ in range(10_000)))

    assert 16 == len(known._recent)


@estimators
@given(before=st.lists(st.tuples(costs, st.floats(0, 1e6)), max_size=20), after=pairs)
def test_memory(estimator, before, after):
    """
    A new estimator that is given another's memory, through JSON text, goes on as that one does.
    """
    known, restored = taught(estimator(window=8), *before), estimator(window=8)
    restored.memory = json.loads(json.dumps(known.memory, allow_nan=False))
    one, other = taught(known, *after), taught(restored, *after)

    assert isinstance(known, Remembering)
    assert one.memory == other.memory
    assert one.estimate(3.0) == other.estimate(3.0)
    assert one.quantile(3.0, 0.9) == other.quantile(3.0, 0.9)
