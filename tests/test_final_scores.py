"""
Final scores that are cut short: what was drawn is reported, however the run ended.
"""

from __future__ import annotations

import random
import warnings

import pytest

from headway import run
from headway.durations import LogNormal
from headway.testing import ToyDomain

LAWS = {kind: LogNormal(1, 1) for kind in ("rollout", "propose", "measure")}


class Flaky(ToyDomain):
    """
    Every twentieth call or so raises; whether rewards are noisy is said, or to be found out.
    """

    def __init__(self, seed, share, deterministic, noise=0.3):
        super().__init__(noise=noise)
        self.deterministic = deterministic
        self.share, self.chance = share, random.Random(seed)

    def rollout(self, state, task, *, rng):
        if self.chance.random() < self.share:
            raise ConnectionError("flaky")
        return super().rollout(state, task, rng=rng)


def quietly(domain, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return run(domain, driver="simulated", durations=LAWS, validate=True, **options)


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize("limit", [{"max_calls": 600}, {"max_seconds": 60}])
@pytest.mark.parametrize("share", [0.0, 0.05])
@pytest.mark.parametrize("deterministic", [False, None])
def test_what_was_drawn_at_the_end_is_reported(mode, limit, share, deterministic):
    """
    A draw that fails for good, a budget without a call for its retry, time that was too short, and
    noise that was found out late cost draws, and never the score.
    """
    for seed in range(6):
        result = quietly(Flaky(seed, share, deterministic), mode=mode, seed=seed, **limit)

        for name in ("final", "test"):
            score = result.scores[name]
            assert "fresh" == score.source
            assert 1 <= score.draws <= 4
            assert score.draws * 12 == len(score.scores)
            assert score.mean == pytest.approx(sum(score.scores) / len(score.scores))
        assert result.unscored is None
        assert sum(result.calls.values()) <= limit.get("max_calls", 10**9)


def test_what_seems_deterministic_is_drawn_afresh_once():
    """
    Its score has no interval, since one draw a task shows no spread.
    """
    result = quietly(Flaky(0, 0, None, noise=0.0), max_rollouts=60)
    score = result.scores["final"]

    assert "assumed" == result.deterministic
    assert ("fresh", 1, None) == (score.source, score.draws, score.interval)


class Late(ToyDomain):
    """
    Deterministic until the last head is scored.
    """

    def __init__(self):
        super().__init__()
        self.deterministic = None

    def measure(self, state, task, *, rng):
        reward = self.rollout(state, task, rng=rng).reward
        return reward if self.honest else reward * rng.random()

    honest = True


@pytest.mark.parametrize("max_calls", [None, 1200])
def test_noise_that_the_last_score_finds_out_is_drawn_again(max_calls):
    """
    As often as noisy rewards are, as far as the calls go.
    """
    domain = Late()

    def watch(notice):
        domain.honest = domain.honest and getattr(notice, "rollouts", 0) < 60

    result = quietly(
        domain, max_rollouts=60, max_calls=max_calls, observers=[watch], self_verify=False
    )

    assert "contradicted" == result.deterministic
    assert 4 == result.scores["final"].draws


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize("driver", ["threads", "simulated"])
def test_a_first_head_at_the_target_has_a_baseline(mode, driver):
    """
    One draw ends the run; the second one would only have told whether rewards are noisy.
    """
    plain = ToyDomain()
    plain.deterministic = None
    laws = {"durations": LAWS} if driver == "simulated" else {}
    result = run(plain, mode=mode, driver=driver, target_reward=0.0, validate=True, **laws)

    assert "target_reward" == result.stop_reason
    assert 0 == result.version
    assert result.baseline_reward is not None
    assert result.baseline_reward == result.final_reward


def test_an_interrupted_baseline_is_none_unless_every_task_was_drawn():
    """
    A mean over some of the tasks is no score.
    """
    found = set()
    for seconds in range(1, 60):
        domain = ToyDomain()
        domain.deterministic = None
        result = quietly(domain, max_seconds=seconds, slots=4, seed=seconds)
        score = result.scores.get("baseline")
        found.add(None if score is None else score.draws)
        assert score is None or score.draws * 12 == len(score.scores)

    assert {None, 1, 2} == found
