"""
Whole runs: what must not show in the result, and what must.
"""

from __future__ import annotations

import hashlib
import random
from collections import Counter

import numpy as np
import pytest
from plain_es import plain_es

from headway import run
from headway.contracts import Outcome, TicketEnded, UpdateDone
from headway.durations import parse_law
from headway_es import ES, Delay, ESDomain, report_of, schedule, theta_of
from headway_es._domain import ESDomain as Base
from headway_es._evidence import Evidence
from headway_es._kernels import candidates
from headway_es._merge import Method
from headway_es._noise import source_of
from headway_es._objectives import FUNCTIONS, rosenbrock
from headway_es._optimizers import Adam
from headway_es._shaping import ranks

LAWS = ("constant:1", "lognormal:1,1.5", "pareto:1,1.5")
DIM, PAIRS, UPDATES, SEED = 30, 8, 10, 3


def domain(kind=ESDomain, **options):
    return kind(**{"objective": "rosenbrock", "dim": DIM, "population": PAIRS, **options})


def digest(result):
    return hashlib.sha256(theta_of(result.state).tobytes()).hexdigest()


def ran(what=None, name="sync", *, law="constant:1", driver="simulated", **options):
    if driver == "simulated":
        options["durations"] = {"rollout": parse_law(law)}
    given = {"updates": UPDATES, "seed": SEED, "driver": driver, **schedule(name), **options}
    result = run(what or domain(), **given)

    assert "updates" == result.stop_reason
    return result


@pytest.fixture(scope="module")
def plain():
    start = np.zeros(DIM)
    return plain_es(
        rosenbrock, start, seed=SEED, updates=UPDATES, pairs=PAIRS, sigma=0.05, lr=0.02
    )[0]


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("workers", [1, 3, 24, 100])
def test_without_staleness_it_is_the_plain_loop_to_the_bit(plain, workers, law):
    """
    Any number of workers, any durations.
    """
    assert plain == digest(ran(n_workers=workers, law=law))


@pytest.mark.parametrize("driver", ["serial", "threads", "asyncio"])
@pytest.mark.parametrize("workers", [1, 3, 24, 100])
def test_so_it_is_with_real_threads(plain, workers, driver):
    """
    And with one thread, and under asyncio.
    """
    assert plain == digest(ran(n_workers=workers, driver=driver))


@pytest.mark.parametrize("bound", [1, 2, 4])
@pytest.mark.parametrize("law", LAWS)
def test_a_pipeline_repeats_without_a_trace(bound, law):
    """
    The version that a job starts from depends on its number alone: one hash for any number of workers,
    any durations, and real threads.
    """
    name = f"pipeline-{bound}"
    found = {digest(ran(name=name, n_workers=workers, law=law)) for workers in (1, 7, 64)}
    found.add(digest(ran(name=name, n_workers=7, driver="threads")))

    assert 1 == len(found)


def trace(**options):
    """
    A run, and for each update the jobs and the versions that they ran on.
    """
    seen = []

    def watch(notice):
        if isinstance(notice, UpdateDone):
            before = notice.version - 1
            seen.append({job: before - lag for job, lag in notice.groups.items()})

    return ran(observers=[watch], **options), seen


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("workers", [1, 7, 64])
def test_in_a_pipeline_the_base_is_a_function_of_the_job(law, workers):
    """
    max(0, j // N - K), and every batch is N jobs in a row.
    """
    for bound in (1, 3):
        _, seen = trace(name=f"pipeline-{bound}", law=law, n_workers=workers)
        jobs = [job for batch in seen for job in batch]

        assert list(range(UPDATES * PAIRS)) == jobs
        assert all(
            base == max(0, job // PAIRS - bound) for batch in seen for job, base in batch.items()
        )


@pytest.mark.parametrize("bound", [1, 2, 4])
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("workers", [1, 7, 64])
def test_waiting_keeps_the_bound_and_loses_nothing(bound, law, workers):
    """
    Also with more workers than pairs in a batch, where waiting for cards that are due is not enough.
    """
    result, seen = trace(name=f"wait-{bound}", law=law, n_workers=workers)
    report = report_of(result.memory)
    jobs = Counter(job for batch in seen for job in batch)

    assert bound >= report.max_lag
    assert [PAIRS] * UPDATES == [len(batch) for batch in seen]
    assert {1} == set(jobs.values())
    assert 0 == result.stale_discarded


def test_wait_k_is_the_reservations_gate_by_another_name():
    """
    One trace, and one theta, as with the gate's own options.
    """
    named, seen = trace(name="wait-2", law="pareto:1,1.5", n_workers=7)
    by_hand, again = trace(
        name="wait-1",  # all that it says is said otherwise below
        law="pareto:1,1.5",
        n_workers=7,
        mode="async",
        max_staleness=2,
        admit_ahead=2,
        batch_order="completion",
        bases="head",
    )

    assert seen == again
    assert digest(named) == digest(by_hand)


@pytest.mark.parametrize("bound", [1, 3])
def test_admission_fixes_who_is_in_a_batch_and_not_what_they_run_on(bound):
    """
    Batches are N jobs in a row; their mean lag is at most that of a pipeline, and time shows in it.
    """
    found = set()
    for law in LAWS:
        result, seen = trace(name=f"admit-{bound}", law=law, n_workers=3)
        found.add(digest(result))

        assert list(range(UPDATES * PAIRS)) == [job for batch in seen for job in batch]
        assert bound > report_of(result.memory).mean_lag > 0
    assert 1 < len(found)


def test_dropping_is_counted():
    """
    What was too old is discarded as stale, and none that is older than the bound is used.
    """
    result, seen = trace(name="drop-1", law="lognormal:1,1.5", n_workers=64)
    jobs = {job for batch in seen for job in batch}

    assert result.stale_discarded > 0
    assert result.decisions["discarded:stale"] == result.stale_discarded
    assert 1 == report_of(result.memory).max_lag
    assert max(jobs) + 1 > len(jobs)


def replayed(seen):
    """
    Theta of a trace, by hand.
    """
    source, adam, moments = source_of("zig32-v1", SEED, DIM), Adam(lr=0.02), None
    how = Method(shaping=ranks, optimizer=adam)
    centres = [np.zeros(DIM)]
    for version, batch in enumerate(seen):
        cards = [
            Evidence(
                job=job,
                fitness=tuple(
                    rosenbrock(half) for half in candidates(source, job, centres[base], 0.05)
                ),
                sigma=0.05,
                base=base,
                lag=version - base,
            )
            for job, base in batch.items()
        ]
        random.Random(version).shuffle(cards)
        theta, moments = how.move(
            cards, how.estimate(cards, source, centres[-1]), centres[-1], moments
        )
        centres.append(theta)
    return hashlib.sha256(centres[-1].tobytes()).hexdigest()


@pytest.mark.parametrize("workers", [1, 7, 64])
def test_the_trace_of_a_threaded_run_repeats_it(workers):
    """
    Which jobs were in which update, and on which versions they ran, is all that time can show in.
    """
    result, seen = trace(name="wait-2", driver="threads", n_workers=workers)

    assert digest(result) == replayed(seen)


class Unreliable(Base):
    """
    Every fifth job raises, every seventh gives no number, the first time that it is tried.
    """

    def rollout(self, state, task, *, payload=None, rng, ticket=None):
        if payload is not None and ticket.attempt == 0:
            if ticket.group % 5 == 0:
                raise OSError("the machine is gone")
            if ticket.group % 7 == 0:
                return Outcome(reward=float("nan"), output={"f_plus": float("nan")})
        return super().rollout(state, task, payload=payload, rng=rng)


@pytest.mark.parametrize("name", ["sync", "pipeline-2"])
@pytest.mark.parametrize("workers", [1, 7, 64])
def test_what_fails_and_is_tried_again_does_not_show(name, workers):
    """
    The same job with the same noise; in a pipeline on the same version, too.
    """
    failed = []

    def watch(notice):
        if isinstance(notice, TicketEnded) and notice.completion != "ok":
            failed.append(notice)

    sound = digest(ran(name=name, n_workers=workers, law="pareto:1,1.5"))
    shaky = ran(domain(Unreliable), name, n_workers=workers, law="pareto:1,1.5", observers=[watch])

    assert len(failed) >= 20
    assert sound == digest(shaky)


@pytest.mark.parametrize("name", ["sync", "pipeline-2"])
def test_what_comes_too_late_does_not_show(name):
    """
    A tenth of the rollouts overrun their time; their results are late and change nothing.
    """
    late = ran(name=name, n_workers=7, law="uniform:0,1", rollout_timeout=0.9, member_attempts=20)

    assert late.completions["timeout"] > 5
    assert digest(ran(name=name, n_workers=7)) == digest(late)


class StopAt:
    """
    Breaks a run off at a notice.
    """

    def __init__(self, count):
        self.left = count

    def __call__(self, notice):
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


@pytest.mark.parametrize("name", ["sync", "pipeline-2"])
@pytest.mark.parametrize("count", [1, 23, 60, 90])
def test_a_run_that_was_broken_off_goes_on_to_the_same_theta(tmp_path, name, count):
    """
    With cards in flight, held and half a batch complete; from what stands on disk.
    """
    more = {"name": name, "driver": "threads", "n_workers": 7, "run_dir": tmp_path / "r"}
    with pytest.raises(KeyboardInterrupt):
        ran(observers=[StopAt(count)], **more)
    whole = digest(ran(name=name, n_workers=7))

    assert whole == digest(ran(**more))


@pytest.mark.parametrize("objective", FUNCTIONS)
@pytest.mark.parametrize("name", ["sync", "wait-1", "pipeline-4"])
def test_it_climbs(objective, name):
    """
    Every function, in every mode; Rosenbrock's valley takes thousands of updates.
    """
    share = 0.97 if objective == "rosenbrock" else 0.5
    result = run(
        domain(objective=objective, dim=20, population=16, schedule=name, lr=0.005, sigma=0.02),
        updates=250,
        driver="simulated",
        durations={"rollout": parse_law("lognormal:1,1")},
    )

    assert result.final_reward > share * result.baseline_reward
    assert result.baseline_reward < 0


@pytest.mark.parametrize("noise", ["sign32-v1", "table32-v1/18"])
def test_other_noise_climbs_too(noise):
    """
    By its name, on the sphere.
    """
    result = ran(domain(objective="sphere", noise=noise, lr=0.1), updates=30)

    assert result.final_reward > 0.5 * result.baseline_reward


def test_single_samples_climb_too():
    """
    Half as many evaluations a job, and more noise.
    """
    result = ran(
        domain(objective="sphere"),
        aggregator=ES(population=32, mirrored=False, lr=0.1),
        updates=30,
    )

    assert result.final_reward > 0.7 * result.baseline_reward
    assert 0 == report_of(result.memory).max_lag


def test_a_delay_holds_a_keyed_share_and_no_clock_shows():
    """
    Batch t is the fresh share of version t and what was held D versions before; the first D are smaller,
    and what is held at the end is used by nobody.
    """

    def delayed(workers, law):
        aggregator = ES(population=PAIRS, delay=Delay(share=0.25, by=3))
        return ran(aggregator=aggregator, n_workers=workers, law=law)

    results = [delayed(1, "constant:1"), delayed(24, "pareto:1,1.5")]
    report = report_of(results[0].memory)

    assert digest(results[0]) == digest(results[1])
    assert {0: 6 * UPDATES, 3: 2 * (UPDATES - 3)} == dict(report.lags)
    assert 2 * 3 == report.held
    assert digest(results[0]) != digest(ran())


@pytest.mark.parametrize("seed", range(48))
def test_no_drawn_schedule_breaks_the_bound_or_loses_a_card(seed):
    """
    Any population, workers, bound and durations, under each schedule that promises it.
    """
    rng = random.Random(seed)
    bound, pairs = rng.randrange(1, 9), rng.randrange(1, 13)
    kind, law = rng.choice(["wait", "admit", "pipeline"]), rng.choice(LAWS)
    result, seen = trace(
        what=domain(dim=2, population=pairs),
        name=f"{kind}-{bound}",
        law=law,
        n_workers=rng.choice([1, 2, 5, 17, 60]),
        seed=seed,
    )
    jobs = sorted(job for batch in seen for job in batch)

    assert bound >= report_of(result.memory).max_lag
    assert [pairs] * UPDATES == [len(batch) for batch in seen]
    assert len(set(jobs)) == len(jobs)
    assert 0 == result.stale_discarded


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("workers", "pairs"), [(32, 8), (20, 4), (9, 8)])
def test_without_a_bound_the_mean_lag_is_that_of_littles_law(workers, pairs, law):
    """
    (W - 1) / N for any durations, where jobs are used as they come: what is in flight is passed by as
    many updates as there are batches of others in flight.
    """
    updates = 400 // pairs
    result = ran(
        domain(dim=2, population=pairs),
        "wait-1",
        law=law,
        n_workers=workers,
        policy="soft",
        max_staleness=1000,
        admit_ahead=1000,
        updates=updates,
    )
    settled = (workers - 1) / pairs

    assert settled == pytest.approx(report_of(result.memory).mean_lag, rel=0.2)


@pytest.mark.parametrize("bound", [1, 2, 4])
def test_a_bound_buys_no_more_speed_than_itself_and_one(bound):
    """
    However many workers there are, and however long the tail.
    """
    spent = {
        name: ran(domain(dim=2), name, law="pareto:1,1.2", n_workers=200, updates=60).wallclock
        for name in ("sync", f"wait-{bound}")
    }
    speed = spent["sync"] / spent[f"wait-{bound}"]

    assert 1.2 < speed < 1.1 * (bound + 1)


@pytest.mark.parametrize(
    ("name", "delay"), [("pipeline-8", None), ("wait-6", None), ("sync", "0.25,7")]
)
def test_how_far_the_centre_has_gone_is_told_of_every_stale_version(name, delay):
    """
    However old its cards are, and in every step.
    """
    seen = []

    class Watched(ES):
        def step(self, cards, context):
            for request in super().step(cards, context):
                seen.append(request.memory["report"])
                yield request

    watched = Watched(population=PAIRS, delay=domain(delay=delay).defaults["aggregator"].delay)
    ran(name=name, aggregator=watched, updates=24, n_workers=40, law="lognormal:1,1")
    before, most = {}, 0
    for report in seen:
        used = {int(lag) for lag, n in report["lags"].items() if n > before.get(lag, 0)} - {0}
        version, before = report["last"]["version"], report["lags"]
        told = {version - int(base) for base in report["last"]["drift"]}
        most = max(most, *told, 0)

        assert used == told
        assert all(gone > 0 for gone in report["last"]["drift"].values())

    assert most > 4
