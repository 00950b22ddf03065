"""
Reported scores: their interval, draws and source, and what is kept back to take them.
"""

from __future__ import annotations

import math
import random
import warnings

import pytest

from headway import run
from headway.durations import Constant
from headway.machine._intervals import interval, student_t
from headway.testing import ToyDomain
from headway.testing._hasty import Hasty

QUANTILES = {1: 12.7062, 2: 4.3027, 3: 3.1824, 4: 2.7764, 5: 2.5706, 10: 2.2281, 60: 2.0003}
"""Published 97.5 % quantiles of Student's distribution."""

quiet = pytest.mark.filterwarnings("ignore::RuntimeWarning")


@pytest.mark.parametrize(("df", "quantile"), QUANTILES.items())
def test_the_quantiles_are_the_published_ones(df, quantile):
    """
    Within 0.004, also for few degrees of freedom.
    """
    assert math.isclose(quantile, student_t(df), abs_tol=0.004)


def coverage(shares, draws, trials, seed):
    """
    The share of intervals that hold the expected reward, with one success probability a task.
    """
    rng, expected = random.Random(seed), sum(shares) / len(shares)
    held = 0
    for _ in range(trials):
        rows = [[float(rng.random() < share) for _ in range(draws)] for share in shares]
        low, high = interval(rows, (0.0, 1.0))
        held += low <= expected <= high
    return held / trials


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_interval_covers_a_fair_coin(seed):
    """
    Twenty tasks, four draws each: 0.50 is covered in about 95 % of the trials.
    """
    assert 0.91 <= coverage([0.5] * 20, 4, 400, seed) <= 0.99


@pytest.mark.parametrize(
    ("shares", "draws"),
    [
        ([0.05, 0.95] * 10, 4),
        ([0.1, 0.5, 0.9] * 7, 3),
        ([0.5] * 20, 2),
        ([0.0] * 10 + [0.5] * 10, 4),
    ],
)
def test_the_interval_covers_tasks_of_different_difficulty(shares, draws):
    """
    The spread between tasks is no error of the mean on these tasks.
    """
    assert 0.90 <= coverage(shares, draws, 1000, 5) <= 0.995


def test_the_spread_between_tasks_does_not_widen_the_interval():
    """
    Tasks are strata: easy and hard ones with equal draws each have a narrow interval.
    """
    rows = [[0.0, 0.0, 0.1, 0.0], [1.0, 1.0, 1.0, 0.9]]
    low, high = interval(rows, (0.0, 1.0))

    assert high - low < 0.2


def test_a_hand_made_interval():
    """
    One task, draws 0.2 and 0.4: mean 0.3, standard error 0.1, one degree of freedom.
    """
    low, high = interval([[0.2, 0.4]], (-10.0, 10.0))

    assert math.isclose(0.3 - 1.27062, low, abs_tol=1e-4)
    assert math.isclose(0.3 + 1.27062, high, abs_tol=1e-4)


def test_the_interval_is_cut_to_the_reward_range():
    """
    No reward outside of it is to be expected.
    """
    assert (-1.0, 2.0) == interval([[-1.0, 2.0]], (-1.0, 2.0))


def test_draws_that_agree_leave_some_doubt():
    """
    Eighty successes in eighty draws do not prove that there is no failure; more draws prove more.
    """
    few = interval([[1.0] * 4] * 20, (0.0, 1.0))
    many = interval([[1.0] * 40] * 20, (0.0, 1.0))

    assert 0.94 < few[0] < 0.96
    assert 0.99 < many[0] < 1.0
    assert 1.0 == few[1] == many[1]


def test_one_draw_a_task_shows_no_spread():
    """
    Then there is no interval.
    """
    assert interval([[0.5], [0.7]], (0.0, 1.0)) is None


# ---------------------------------------------------------------------------- in a run


def test_scores_of_a_deterministic_domain():
    """
    One draw a task is all there is to know: the interval has no width.
    """
    result = run(ToyDomain(), driver="simulated", max_rollouts=60)

    for name, reward in [("baseline", result.baseline_reward), ("final", result.final_reward)]:
        score = result.scores[name]
        assert (1, "fresh", (reward, reward)) == (score.draws, score.source, score.interval)


@pytest.mark.parametrize("draws", [1, 2, 5])
def test_scores_of_a_noisy_domain(draws):
    """
    The final and the test score have as many draws as asked for; one alone has no interval.
    """
    result = run(
        ToyDomain(noise=0.3),
        driver="simulated",
        acceptance=Hasty(),
        max_rollouts=60,
        final_draws=draws,
    )

    for name in ("final", "test"):
        score = result.scores[name]
        assert (draws, "fresh") == (score.draws, score.source)
        assert 12 * draws == len(score.scores)
        if draws == 1:
            assert score.interval is None
        else:
            assert score.interval[0] < score.mean < score.interval[1]
    assert result.scores["baseline"].interval is None


# ---------------------------------------------------------------------------- when it can't be done


def told(domain, **options):
    """
    A run's result and the warnings that it gave.
    """
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        result = run(domain, driver="simulated", **options)
    return result, [str(warning.message) for warning in seen]


LAWS = {"rollout": Constant(1.0), "propose": Constant(1.0), "measure": Constant(6.0)}


def test_no_time_is_left():
    """
    Measurements take so long that the final ones do not fit: one warning, after the run.
    """
    domain = ToyDomain(noise=0.2)
    result, said = told(domain, max_seconds=11.0, slots=6, n_workers=2, durations=LAWS)

    assert "max_seconds" == result.stop_reason
    assert "final" not in result.scores or "gate" == result.scores["final"].source
    assert [result.unscored] == said
    assert "max_seconds" in result.unscored


@quiet
def test_the_gate_says_what_it_knows():
    """
    A final score from the gate has neither interval nor draws.
    """
    result = run(ToyDomain(), driver="simulated", max_calls=13 + 3, max_rollouts=1)
    score = result.scores["final"]

    assert ("gate", 0, None) == (score.source, score.draws, score.interval)
    assert result.final_reward == result.baseline_reward


def test_a_small_budget_is_told_once_and_before():
    """
    What was said before the start is not said again at the end.
    """
    result, said = told(ToyDomain(noise=0.1), max_calls=30)
    about = [text for text in said if "final" in text]

    assert 1 == len(about)
    assert about[0] in result.notes
    assert result.unscored is None


def test_a_failure_is_told_once():
    """
    A run that ends in an error says that its final reward was not measured.
    """
    result, said = told(Failing(), max_rollouts=50)

    assert "error" == result.stop_reason
    (once,) = [text for text in said if "final" in text]
    assert once.startswith("the run failed: ")
    assert once.endswith(f"; {result.unscored}")


class Failing(ToyDomain):
    """
    Nothing works.
    """

    def rollout(self, state, task, *, rng):
        message = "the backend is down"
        raise ConnectionError(message)


def test_a_warning_that_is_an_error_costs_no_result():
    """
    What was found has been paid for.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = run(Failing(), driver="simulated", max_rollouts=50)

    assert "error" == result.stop_reason


def test_time_is_kept_back_before_any_measurement_ended():
    """
    With one slot the baseline comes after the rollouts; their length is the estimate until then.
    """
    laws = {"rollout": Constant(1.0), "propose": Constant(1.0), "measure": Constant(1.0)}
    result = run(
        ToyDomain(),
        driver="simulated",
        n_workers=2,
        slots=2,
        max_seconds=60.0,
        durations=laws,
    )

    assert "max_seconds" == result.stop_reason
    assert "fresh" == result.scores["final"].source
    assert result.wallclock <= 60.0
