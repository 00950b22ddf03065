"""
Replaying a trace is the whole run, and a trace says what a run did.
"""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from plain_es import plain_es

from headway import run
from headway.contracts import UpdateDone
from headway.durations import parse_law
from headway_es import ES, Delay, ESDomain, schedule
from headway_es._objectives import rosenbrock
from headway_es.campaign import replay, traced, whole
from headway_es.campaign._plan import FULL, scheduled
from headway_es.campaign._problems import problem_of
from headway_es.campaign._replay import digest
from headway_es.campaign._traces import kept

SIZES = {"updates": 14, "population": 6, "workers": 5}
LAWS = tuple(FULL.laws.values())


def problem(name, seed=3):
    return problem_of(name, seed=seed, episodes=4, held_out=64)


def both(name, condition, law, seed=3, rate=0.02):
    """
    The digests of the replay and of the whole run.
    """
    schedule_name, delay = scheduled(condition)
    what, more = problem(name, seed), {"seed": seed, "rate": rate, "sigma": 0.05, "delay": delay}
    trace = traced(schedule_name, law, seed=seed, **SIZES)
    again = whole(schedule_name, law, what, **more, **SIZES)
    return replay(trace, what, **more).digest, digest(again)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("condition", [*FULL.conditions, "admit-2", "wait-3", "drop-2"])
def test_a_replay_is_the_whole_run(condition, law):
    """
    Every condition of the campaign, and some more, through Headway's machine: the same theta to the bit.
    """
    replayed, made = both("rosenbrock-20", condition, law)

    assert made == replayed


@pytest.mark.parametrize("condition", FULL.conditions)
def test_so_it_is_on_miniterm(condition):
    """
    Where jobs of one update may have different tasks.
    """
    pytest.importorskip("headway_envs", reason="needs headway-envs")
    replayed, made = both("miniterm", condition, LAWS[0])

    assert made == replayed


def test_what_is_not_the_same_has_another_digest():
    """
    Another seed, rate or condition leads elsewhere: digests that are equal say something.
    """
    cases = [("sync", 3, 0.02), ("sync", 4, 0.02), ("sync", 3, 0.01), ("pipeline-1", 3, 0.02)]
    found = {both("sphere-20", c, LAWS[0], seed, rate)[0] for c, seed, rate in cases}

    assert len(cases) == len(found)


def test_without_staleness_it_is_the_plain_loop():
    """
    That of the tests, which knows neither Headway nor this distribution.
    """
    trace = traced("sync", LAWS[0], seed=3, **SIZES)
    found = replay(trace, problem("rosenbrock-20"), seed=3, rate=0.02, sigma=0.05)
    plain, _ = plain_es(rosenbrock, np.zeros(20), seed=3, updates=14, pairs=6, sigma=0.05, lr=0.02)

    assert plain == found.digest == hashlib.sha256(found.theta.tobytes()).hexdigest()


@pytest.mark.parametrize("name", ["wait-1", "drop-1", "pipeline-2"])
def test_a_trace_does_not_know_the_problem(name):
    """
    A run that optimizes something uses the same jobs of the same versions at the same moments.
    """
    seen = []
    run(
        ESDomain(objective="rastrigin", dim=5),
        aggregator=ES(population=6),
        updates=14,
        seed=3,
        n_workers=5,
        driver="simulated",
        durations={"rollout": parse_law(LAWS[1])},
        observers=[lambda notice: seen.append(notice) if isinstance(notice, UpdateDone) else None],
        **schedule(name),
    )
    trace = traced(name, LAWS[1], seed=3, **SIZES)

    assert trace.times.tolist() == [notice.now for notice in seen]
    assert trace.jobs.tolist() == [sorted(notice.groups) for notice in seen]
    assert trace.lags.tolist() == [[n.groups[j] for j in sorted(n.groups)] for n in seen]


def test_what_traces_look_like():
    """
    Nothing is old in ``sync``; in a pipeline the base is a function of the job; ``drop`` throws away.
    """
    sync, pipeline, drop = (
        traced(name, LAWS[1], seed=3, **SIZES) for name in ("sync", "pipeline-2", "drop-1")
    )
    jobs = np.arange(14 * 6).reshape(14, 6)

    assert not sync.lags.any()
    assert jobs.tolist() == sync.jobs.tolist() == pipeline.jobs.tolist()
    assert np.maximum(0, jobs // 6 - 2).tolist() == pipeline.bases.tolist()
    assert 1 == drop.lags.max()
    assert 0 == sync.discarded == pipeline.discarded < drop.discarded
    assert pipeline.times[-1] < sync.times[-1]


def test_a_trace_that_is_kept(tmp_path):
    """
    It comes back as it was, another seed's is another file, and no part of one is left behind.
    """
    first = kept(tmp_path, "drop-1", LAWS[1], seed=3, **SIZES)
    again = kept(tmp_path, "drop-1", LAWS[1], seed=3, **SIZES)
    other = kept(tmp_path, "drop-1", LAWS[1], seed=4, **SIZES)

    for name in ("jobs", "bases", "times"):
        assert getattr(first, name).tobytes() == getattr(again, name).tobytes()
    assert first.discarded == again.discarded
    assert first.times.tolist() != other.times.tolist()
    assert 2 == len(list(tmp_path.iterdir()))


def test_what_a_replay_tells():
    """
    Lags, what a delay still holds, and progress at the start and as often as asked for.
    """
    trace, what = traced("sync", LAWS[0], seed=3, **SIZES), problem("sphere-20")
    delayed = {"seed": 3, "rate": 0.05, "sigma": 0.05, "delay": Delay(share=0.5, by=4)}
    found = replay(trace, what, **delayed, every=7)

    assert (3, 0.0) == (len(found.curve), found.curve[0])
    assert found.curve == sorted(found.curve)
    assert (4, 12) == (found.max_lag, found.unused)
    assert 10 * 3 * 4 / (14 * 6 - 12) == pytest.approx(found.mean_lag)
    assert [] == replay(trace, what, **delayed).curve


@pytest.mark.parametrize("name", ["sphere-20", "ellipsoid-20", "rosenbrock-20", "rastrigin-20"])
def test_progress_on_a_function(name):
    """
    It is 0 at the start, and 1 where a tenth of the distance from the best value is left.
    """
    what = problem(name)
    start = what.start

    assert 0.0 == what.progress(start)
    if name in {"sphere-20", "ellipsoid-20"}:
        assert 1.0 == pytest.approx(what.progress(start / np.sqrt(10)))


def test_progress_on_miniterm():
    """
    The share of held-out tasks that are solved, in points; the tasks are the seed's.
    """
    envs = pytest.importorskip("headway_envs.miniterm", reason="needs headway-envs")
    what = problem("miniterm", seed=5)
    tasks = envs.TaskBatch.draw(5, 2**34, 64)
    solved = envs.rollouts(what.start, tasks).success.sum()

    assert 100 * solved / 64 == what.progress(what.start)
    assert 0 < solved < 64
