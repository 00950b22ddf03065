"""
Comparing: plans, trials, paired differences, tables and figures, checked against hand computation.
"""

from __future__ import annotations

import json
import math
import random
import sys
from typing import ClassVar

import attrs
import pytest

from headway import run
from headway.comparing import Comparison, Point, Runner, Trial, draw, make_plan, paired_t, table
from headway.comparing._curves import held_at, mean_reward, reached_at
from headway.comparing._heads import Heads
from headway.comparing._statistics import quantile, t_quantile, t_within
from headway.comparing._trial import best_of
from headway.drivers import Interrupt
from headway.durations import LogNormal
from headway.errors import OptionError, UsageError
from headway.options import PARTS
from headway.registry import Registry
from headway.run import finish
from headway.testing._toy import ToyDomain


class Kept:
    """Some part, made by hand."""


GIVEN = {
    "driver": "simulated",
    "max_rollouts": 40,
    "durations": {"rollout": LogNormal(1.0, 1.0), "measure": LogNormal(0.2, 1.0)},
}


def planned(domain=None, given=GIVEN, **more):
    options = {"modes": ("sync", "async"), "seeds": (0, 1), "workers": (4,), **more}
    return make_plan(domain or ToyDomain(), given, **options)


@pytest.mark.parametrize("against", [(), ("best-of-n",)])
def test_a_driver_for_rounds_alone_compares_rounds(against):
    """
    Whatever mode a domain has by default, and however many workers that is.
    """
    given = {"driver": "serial", "max_rollouts": 8}
    plan = make_plan(ToyDomain(), given, modes=("sync",), seeds=(0,), against=against)

    assert ["sync"] * (1 + len(against)) == [arm.options.mode for arm in plan.arms]


def compared(plan, make=ToyDomain, interrupt=None):
    interrupt = interrupt or Interrupt()
    interrupt.begin()
    runner = Runner(make=make, registry=Registry())
    return Comparison(plan=plan, trials=tuple(runner.trials(plan, interrupt)))


def curve(*points):
    return tuple(Point(seconds=s, rollouts=n, calls=10 * n, reward=r) for s, n, r in points)


# ---------------------------------------------------------------------------- statistics


@pytest.mark.parametrize(
    ("values", "share", "expected"),
    [
        ([3.0], 0.25, 3.0),
        ([4.0, 1.0, 2.0, 3.0], 0.5, 2.5),
        ([4.0, 1.0, 2.0, 3.0], 0.25, 1.75),
        ([1.0, math.inf], 0.5, math.inf),
        ([math.inf, math.inf], 0.75, math.inf),
        ([1.0, 2.0, math.inf], 0.5, 2.0),
    ],
)
def test_a_quantile_lies_between_its_neighbours(values, share, expected):
    """
    In proportion, whatever the order; infinity is a value.
    """
    assert expected == quantile(values, share)


def test_there_is_no_quantile_and_no_interval_of_nothing():
    """
    Both say so.
    """
    with pytest.raises(ValueError, match="no values"):
        quantile([], 0.5)
    with pytest.raises(ValueError, match="no differences"):
        paired_t([])


@pytest.mark.parametrize(
    ("degrees", "expected"),
    [(1, 12.7062), (2, 4.3027), (3, 3.1824), (9, 2.2622), (10, 2.2281), (30, 2.0423), (99, 1.9842)],
)
def test_quantiles_of_students_t_are_those_of_the_tables(degrees, expected):
    """
    Two-sided 95 %, odd and even degrees of freedom.
    """
    assert pytest.approx(expected, abs=5e-5) == t_quantile(0.95, degrees)


@pytest.mark.parametrize("degrees", [1, 2, 3, 4, 9, 40])
def test_the_quantile_of_t_undoes_its_distribution(degrees):
    """
    At every level.
    """
    for level in (0.5, 0.9, 0.99):
        assert pytest.approx(level) == t_within(t_quantile(level, degrees), degrees)


def test_an_interval_is_that_of_the_paired_t_test():
    """
    Mean 2.5, deviation 1.29099, t(3) 3.18245: half a width of 2.05426.
    """
    interval = paired_t([1.0, 2.0, 3.0, 4.0])

    assert 2.5 == interval.mean
    assert pytest.approx((0.44574, 4.55426), abs=1e-5) == (interval.low, interval.high)


def test_few_or_equal_differences_have_an_honest_interval():
    """
    One difference has none; equal ones have no width.
    """
    assert None is paired_t([1.0]).low
    assert (0.5, 0.5) == (paired_t([0.5] * 4).low, paired_t([0.5] * 4).high)


@pytest.mark.parametrize(
    ("draw_one", "true", "least"),
    [
        (lambda rng: rng.gauss(0.3, 2.0), 0.3, 0.94),
        (lambda rng: rng.random(), 0.5, 0.94),
        (lambda rng: rng.expovariate(1.0), 1.0, 0.88),
    ],
    ids=["normal", "uniform", "skewed"],
)
def test_the_interval_covers_the_true_mean_as_often_as_it_says(draw_one, true, least):
    """
    Ten differences, 3,000 times: 95 % when they are normal, somewhat less when they are skewed.
    """
    rng = random.Random(20)
    covered = 0
    for _ in range(3000):
        interval = paired_t([draw_one(rng) for _ in range(10)])
        covered += interval.low <= true <= interval.high

    assert least < covered / 3000 < 0.965


# ---------------------------------------------------------------------------- curves


CURVE = curve((0, 0, 0.1), (2, 5, 0.4), (6, 9, 0.8))


def test_a_reward_holds_until_the_next_one():
    """
    From its place on; before the first place there is none.
    """
    assert [0.1, 0.1, 0.4, 0.8] == held_at(CURVE, "seconds", [0, 1.9, 2, 100])
    assert [None, 0.4] == held_at(CURVE[1:], "rollouts", [4, 5])


def test_the_mean_over_the_budget_is_the_area_by_hand():
    """
    0.1 for 2 seconds, 0.4 for 4, 0.8 for 4 more: 5.0 / 10; over 8 rollouts 0.5 + 1.2.
    """
    assert pytest.approx(0.5) == mean_reward(CURVE, "seconds", 10)
    assert pytest.approx((0.1 * 5 + 0.4 * 3) / 8) == mean_reward(CURVE, "rollouts", 8)
    assert pytest.approx(0.1) == mean_reward(CURVE, "calls", 40)


def test_a_curve_without_a_beginning_has_no_mean():
    """
    Nothing is made up for what was not measured.
    """
    assert None is mean_reward((), "seconds", 10)
    assert None is mean_reward(CURVE[1:], "seconds", 10)


def test_a_target_is_reached_once_or_never():
    """
    At the first point that is there, also when the reward falls again.
    """
    falling = (*CURVE, *curve((8, 12, 0.2)))

    assert (6, 9, math.inf) == (
        reached_at(falling, "seconds", 0.8),
        reached_at(falling, "rollouts", 0.5),
        reached_at(falling, "seconds", 0.9),
    )


# ---------------------------------------------------------------------------- plans


def test_every_arm_has_the_same_budget_and_every_seed():
    """
    Two numbers of workers, two modes and two controls are eight arms.
    """
    plan = planned(workers=(4, 8), against=("best-of-n", "chains"), seeds=(3, 5, 9))

    assert ["sync", "async", "best-of-n", "chains"] * 2 == [arm.name for arm in plan.arms]
    assert [4] * 4 + [8] * 4 == [arm.workers for arm in plan.arms]
    assert 24 == plan.size
    for arm in plan.arms:
        for seed in plan.seeds:
            assert 40 == sum(options.max_rollouts for options in arm.runs(seed))


def test_chains_share_workers_slots_and_budget():
    """
    One worker each; what does not divide goes to the first ones; no two have the same seed.
    """
    plan = planned(given={**GIVEN, "max_rollouts": 42, "max_calls": 4001}, against=("chains",))
    parts = [options for seed in (0, 1, 2) for options in plan.arms[-1].runs(seed)]

    assert [1] * 12 == [options.n_workers for options in parts]
    assert [11, 11, 10, 10] == [options.max_rollouts for options in parts[:4]]
    assert [1001, 1000, 1000, 1000] == [options.max_calls for options in parts[:4]]
    assert 12 == sum(options.slots for options in parts[:4])
    assert 12 == len({options.seed for options in parts})


def test_the_best_of_n_control_has_what_it_needs():
    """
    No barrier, no staleness, and no call that it has no use for.
    """
    options = planned(against=("best-of-n",)).arms[-1].options

    assert ("async", "best-of-n", "full", False) == (
        options.mode,
        options.aggregator,
        options.policy,
        options.self_verify,
    )


def test_a_driver_that_cannot_overlap_has_controls_in_rounds():
    """
    So that they can be had with it.
    """
    given = {"driver": "serial", "max_rollouts": 40}
    plan = planned(given=given, modes=("sync",), against=("best-of-n", "chains"))

    assert {"sync"} == {arm.options.mode for arm in plan.arms}


def test_a_target_ends_no_run():
    """
    Else the budgets would differ; its time is measured instead.
    """
    plan = planned(given={**GIVEN, "target_reward": 0.5})

    assert 0.5 == plan.target
    assert {None} == {arm.options.target_reward for arm in plan.arms}


@pytest.mark.parametrize(
    ("given", "more", "told"),
    [
        ({}, {"equal": "seconds"}, "equal='seconds': Give max_seconds too"),
        ({}, {"equal": "calls"}, "Give max_calls too"),
        ({}, {"equal": "tokens"}, "Give one of rollouts, calls, seconds"),
        ({}, {"modes": ("snyc",)}, "Did you mean 'sync'"),
        ({}, {"modes": ()}, "at least one"),
        ({}, {"modes": ("sync", "sync")}, "twice"),
        ({}, {"seeds": ()}, "at least one"),
        ({}, {"seeds": (1, 1)}, "twice"),
        ({}, {"seeds": (-1,)}, "seeds=-1"),
        ({}, {"workers": (0,)}, "workers=0"),
        ({}, {"against": ("best-of-m",)}, "best-of-n"),
        ({"rounds": 3}, {}, "rounds=3"),
        ({"target_reward": 2.0}, {}, "target_reward=2.0"),
        ({"max_rollouts": 3}, {"against": ("chains",)}, "max_rollouts=3: Give at least 4"),
        ({"slots": 3}, {"against": ("chains",)}, "slots=3: Give at least 4"),
        ({"driver": "serial"}, {}, "driver='serial'"),
        ({"seed_": 3}, {}, "seed_"),
    ],
)
def test_what_cannot_be_compared_is_refused(given, more, told):
    """
    Before anything runs, with the value and the remedy.
    """
    with pytest.raises(OptionError) as raised:
        planned(given={**GIVEN, **given}, **more)

    assert told in str(raised.value)


# ---------------------------------------------------------------------------- runs


def test_a_trial_is_the_run_that_anybody_can_make():
    """
    The same options and seed give the same digest and figures with ``run``.
    """
    plan = planned()
    comparison = compared(plan)
    for trial in comparison.trials:
        mode = trial.arm.split(",")[0]
        result = run(ToyDomain(), mode=mode, seed=trial.seed, n_workers=4, **GIVEN)

        assert (result.digest, result.final_reward) == (trial.digest, trial.reward)
        assert (result.wallclock, result.rollouts) == (trial.seconds, trial.rollouts)
        assert (result.test_reward, sum(result.calls.values())) == (trial.test_reward, trial.calls)


def test_trials_come_seed_by_seed():
    """
    So that a comparison that is cut short has whole pairs.
    """
    trials = compared(planned()).trials

    assert [(t.seed, t.arm) for t in trials] == [
        (seed, arm) for seed in (0, 1) for arm in ("sync, 4 workers", "async, 4 workers")
    ]


def test_a_simulated_comparison_repeats():
    """
    Two of them are equal, number by number.
    """
    plan = planned(against=("best-of-n", "chains"))

    assert compared(plan).to_json() == compared(plan).to_json()


def test_independent_runs_are_one_trial():
    """
    The best reward, the costs of all, the time of the longest, the best so far at every moment.
    """
    kind = {"arm": "chains", "seed": 0, "status": "done"}
    first = {"reward": 0.6, "test_reward": 0.1, "seconds": 5.0, "rollouts": 7, "calls": 70}
    second = {"reward": 0.5, "test_reward": 0.9, "seconds": 8.0, "rollouts": 6, "calls": 60}
    trial = best_of(
        [
            Trial(**kind, **first, curve=curve((0, 0, 0.1), (4, 6, 0.6))),
            Trial(**kind, **second, curve=curve((0, 0, 0.1), (2, 3, 0.3), (6, 5, 0.5))),
        ]
    )

    assert (0.6, 0.1, 8.0, 13, 130) == (
        trial.reward,
        trial.test_reward,
        trial.seconds,
        trial.rollouts,
        trial.calls,
    )
    assert curve((0, 0, 0.1), (2, 3, 0.3), (4, 9, 0.6)) == trial.curve


def test_chains_do_not_know_of_each_other():
    """
    A trial is the best of the runs that anybody can make one by one.
    """
    arm = planned(against=("chains",)).arms[-1]
    trial = Runner(make=ToyDomain, registry=Registry()).trial(arm, 1, Interrupt())
    results = [
        run(ToyDomain(), **attrs.asdict(options, recurse=False), registry=Registry())
        for options in arm.runs(1)
    ]

    assert max(result.final_reward for result in results) == trial.reward
    assert 40 == trial.rollouts == sum(result.rollouts for result in results)
    assert max(result.wallclock for result in results) == trial.seconds


class Failing(ToyDomain):
    """
    A backend that is dead from the start.
    """

    def rollout(self, state, task, *, rng):
        message = "no\nroute"
        raise OSError(message)


def test_a_failing_run_is_a_row_that_says_so():
    """
    It stands in the trials and the table, in no figure, and takes no other run with it.
    """
    made = []

    def make():
        made.append(1)
        return (Failing if len(made) == 2 else ToyDomain)()

    comparison = compared(planned(score_heads=False), make)
    failed = comparison.trials[1]

    assert ["done", "failed", "done", "done"] == [trial.status for trial in comparison.trials]
    assert comparison.complete
    assert (failed,) == comparison.failed
    assert "OSError: no route" in failed.error
    assert "- async, 4 workers, seed 0: " in table(comparison)
    assert [1] == list(comparison.done(comparison.plan.arms[1]))
    assert {1} == {difference.pairs for difference in comparison.differences()}


def test_a_run_that_raises_is_a_row_too():
    """
    Also when it could not even be prepared.
    """
    made = []

    def make():
        made.append(1)
        if len(made) == 3:
            raise RuntimeError("the\ndata is gone")
        return ToyDomain()

    comparison = compared(planned(score_heads=False), make)

    assert ["done", "done", "failed", "done"] == [trial.status for trial in comparison.trials]
    assert "RuntimeError: the data is gone" == comparison.trials[2].error


def test_when_all_runs_fail_there_is_still_a_table():
    """
    With no figures, and with every failure.
    """
    text = table(compared(planned(), Failing))

    assert 4 == text.count("OSError")
    assert "| sync, 4 workers  | 0    | 2      | -" in text


def test_an_interrupted_comparison_keeps_what_is_done():
    """
    The run that was going on is a row that counts for nothing; no further one begins.
    """
    interrupt = Interrupt()

    class Stopping(ToyDomain):
        def propose(self, state, task, outcome, *, rng):
            if len(made) == 3:
                interrupt.request(2)
            return super().propose(state, task, outcome, rng=rng)

    made = []

    def make():
        made.append(1)
        return Stopping()

    comparison = compared(planned(score_heads=False), make, interrupt)

    assert ["done", "done", "interrupted"] == [trial.status for trial in comparison.trials]
    assert not comparison.complete
    assert "INCOMPLETE: interrupted after 2 of 4 runs." in table(comparison)
    assert {1} == {difference.pairs for difference in comparison.differences()}


def test_a_check_runs_nothing_and_says_what_is_to_be_known():
    """
    Each sentence once, with the arms that it is about.
    """
    domain = ToyDomain(n_tasks=4)
    plan = planned(domain, workers=(2, 4))
    notes = Runner(make=lambda: domain, registry=Registry()).check(plan)

    assert 1 == len(notes)
    assert notes[0].startswith("sync, 2 workers; async, 2 workers; sync, 4 workers; async, 4")
    assert "4 held-out tasks" in notes[0]


def test_a_part_that_nobody_offers_is_found_before_anything_runs():
    """
    By the check.
    """
    plan = planned(given={**GIVEN, "sampler": "shufled"})
    with pytest.raises(UsageError, match="Did you mean 'shuffled'"):
        Runner(make=ToyDomain, registry=Registry()).check(plan)


class Counted(ToyDomain):
    """
    Counts its measurements, and fails those behind a number of them.
    """

    measured, most = 0, math.inf

    def measure(self, state, task, *, rng):
        Counted.measured += 1
        if Counted.measured > Counted.most:
            raise OSError("gone")
        return super().rollout(state, task, rng=rng).reward


@pytest.mark.parametrize("aggregator", ["standard", "best-of-n"])
def test_every_head_is_scored_after_its_run(aggregator):
    """
    The curve is the true held-out reward of every version that changes it, from the first head to the
    last; a part that is taken out changes nothing.
    """
    plan = planned(given={**GIVEN, "aggregator": aggregator, "policy": "full"})
    for trial in compared(plan).trials:
        rewards = [point.reward for point in trial.curve]

        assert trial.scored
        assert trial.version + 1 >= len(rewards) > 1
        assert sorted({*rewards}) == rewards
        assert trial.reward == pytest.approx(rewards[-1])
        assert all(0 <= point.seconds <= trial.seconds for point in trial.curve)
        assert all(point.calls <= trial.calls for point in trial.curve)


def test_noisy_heads_are_scored_on_fresh_draws():
    """
    The last point is the run's own final score, not what the search chose by.
    """
    noisy = ToyDomain(noise=0.3)
    for trial in compared(planned(noisy), lambda: ToyDomain(noise=0.3)).trials:
        assert trial.reward == pytest.approx(trial.curve[-1].reward)


def test_scoring_heads_is_outside_the_budget_and_can_be_left_out():
    """
    It costs no call of the run; without it nothing is measured twice.
    """
    arms = [planned(score_heads=score).arms[1] for score in (True, False)]
    trials, counts = [], []
    for arm in arms:
        Counted.measured, Counted.most = 0, math.inf
        trials.append(Runner(make=Counted, registry=Registry()).trial(arm, 0, Interrupt()))
        counts.append(Counted.measured)
    scored, plain = trials
    heads = scored.version + 1

    assert (scored.digest, scored.calls) == (plain.digest, plain.calls)
    assert counts[1] + heads * 12 == counts[0]
    assert (True, False) == (scored.scored, plain.scored)
    assert (scored.curve[0], scored.curve[-1].reward) == (plain.curve[0], plain.curve[-1].reward)


def test_final_scores_that_did_not_fit_the_budget_are_scored_after_the_run():
    """
    A budget that ends in the middle of final scoring leaves no test reward otherwise.
    """
    given = {**GIVEN, "max_rollouts": None, "max_calls": 60}
    plans = [planned(given=given, equal="calls", score_heads=score) for score in (False, True)]
    plain, scored = (
        Runner(make=ToyDomain, registry=Registry()).trial(plan.arms[1], 0, Interrupt())
        for plan in plans
    )
    cut = attrs.evolve(plain, source="gate", test_reward=None)

    assert (scored.reward, scored.test_reward) == (plain.reward, plain.test_reward)
    assert "fresh" == scored.source
    assert scored == _again(plans[1].arms[1], cut)


def _again(arm, trial):
    """
    What scoring makes of a trial whose final scores were cut off.
    """
    runner = Runner(make=ToyDomain, registry=Registry())
    (options,) = arm.runs(0)
    prepared = runner._prepared(options)
    heads = Heads.of(prepared)
    result = finish(prepared, Interrupt())
    return runner._scored(trial, heads, result, options)


def test_only_simulated_runs_are_scored_unasked():
    """
    Elsewhere measurements are paid for.
    """
    asked = {
        driver: planned(given={**GIVEN, "driver": driver}) for driver in ("simulated", "threads")
    }

    assert {"simulated": True, "threads": False} == {
        driver: plan.arms[0].scored for driver, plan in asked.items()
    }


def test_a_head_that_cannot_be_scored_costs_the_curve_and_not_the_run():
    """
    The trial counts, and the table says whose curve is not complete.
    """
    arm = planned(score_heads=False).arms[1]
    runner = Runner(make=Counted, registry=Registry())
    Counted.measured, Counted.most = 0, math.inf
    runner.trial(arm, 0, Interrupt())
    Counted.measured, Counted.most = 0, Counted.measured + 5
    trial = runner.trial(attrs.evolve(arm, scored=True), 0, Interrupt())
    text = table(Comparison(plan=planned(), trials=(trial,)))

    assert ("done", False) == (trial.status, trial.scored)
    assert "a head could not be scored" in trial.error
    assert "not every head: 1 of async, 4 workers." in text
    assert "- async, 4 workers, seed 0: HeadwayError: a head could not be scored" in text


# ---------------------------------------------------------------------------- tables


def by_hand(target=0.5):
    """
    Three seeds, two arms, numbers that can be computed in the head.
    """
    plan = planned(given={**GIVEN, "target_reward": target}, seeds=(0, 1, 2))
    rows = {
        "sync, 4 workers": [(0.5, 0.4, 10.0), (0.6, 0.5, 12.0), (0.7, 0.6, 20.0)],
        "async, 4 workers": [(0.6, 0.4, 6.0), (0.5, 0.5, 7.0), (0.9, 0.9, 8.0)],
    }
    trials = [
        Trial(
            arm=arm,
            seed=seed,
            status="done",
            source="fresh",
            scored=True,
            reward=reward,
            test_reward=test,
            seconds=seconds,
            rollouts=40,
            calls=100,
            curve=curve((0, 0, 0.1), (seconds / 2, 20, reward)),
        )
        for arm, numbers in rows.items()
        for seed, (reward, test, seconds) in enumerate(numbers)
    ]
    return Comparison(plan=plan, trials=tuple(trials))


def test_summaries_are_medians_and_quartiles():
    """
    Of 10, 12 and 20: 12, 11 and 16.
    """
    comparison = by_hand()
    seconds = next(metric for metric in comparison.metrics() if metric.key == "seconds")
    summary = comparison.summary(comparison.plan.arms[0], seconds)

    assert (3, 12.0, 11.0, 16.0) == (summary.count, summary.median, summary.low, summary.high)


def test_differences_are_paired_by_seed():
    """
    Rewards +0.1, -0.1, +0.2; seconds -4, -5, -12, of which less is better.
    """
    found = {difference.metric: difference for difference in by_hand().differences()}
    reward, seconds, test = found["reward"], found["seconds"], found["test_reward"]
    half = 4.302653 * 0.1527525 / math.sqrt(3)

    assert pytest.approx(0.2 / 3) == reward.interval.mean
    assert pytest.approx(0.2 / 3 - half, abs=1e-5) == reward.interval.low
    assert (2, 1, 0) == (reward.wins, reward.losses, reward.ties)
    assert pytest.approx(-7.0) == seconds.interval.mean
    assert (3, 0, 0) == (seconds.wins, seconds.losses, seconds.ties)
    assert (1, 0, 2) == (test.wins, test.losses, test.ties)


def test_the_table_shows_what_was_computed():
    """
    Cell by cell; rewards with three digits, times with one.
    """
    text = table(by_hand())
    first = next(line for line in text.splitlines() if line.startswith("| sync"))
    cells = [cell.strip() for cell in first.strip("|").split("|")]
    difference = text.splitlines()[-1]

    assert [
        "sync, 4 workers",
        "3",
        "0",
        "0.600 (0.550 to 0.650)",
        "0.500 (0.450 to 0.550)",
        "0.350 (0.325 to 0.375)",
        "12.0 (11.0 to 16.0)",
        "40",
        "100",
        "6.0 (5.5 to 8.0)",
    ] == cells
    assert "+0.067 (-0.313 to +0.446); 2-1-0" in difference
    assert "-7.0 (-17.8 to +3.8); 3-0-0" in difference


def test_a_target_that_is_not_reached_is_never():
    """
    A median over those that reached it alone would flatter; it counts as a loss against who did.
    """
    comparison = by_hand(target=0.65)
    text = table(comparison)
    found = {d.metric: d for d in comparison.differences()}["target_seconds"]

    assert "never" in text
    assert (3, 1, 1, 0, 2) == (
        found.pairs,
        found.finite,
        found.wins,
        found.losses,
        found.ties,
    )
    assert pytest.approx(-6.0) == found.interval.mean
    assert "-6.0 [1 of 3]; 1-0-2 |" in text


def test_a_score_that_did_not_fit_is_not_passed_over():
    """
    The table says how many runs have a test reward, and whose reward is the gate's.
    """
    whole = by_hand()
    first = attrs.evolve(whole.trials[0], test_reward=None, source="gate")
    text = table(attrs.evolve(whole, trials=(first, *whole.trials[1:])))

    assert "0.550 (0.525 to 0.575) [2 of 3]" in text
    assert "to score the final state anew): 1 of sync, 4 workers." in text


def test_one_arm_has_a_table_without_differences():
    """
    There is nothing to compare it with, and with one seed no spread.
    """
    text = table(compared(planned(modes=("async",), seeds=(0,))))

    assert "Paired" not in text
    assert "1 seed\n" in text


def test_parts_that_are_objects_are_told_by_their_class():
    """
    Also those that the domain brings: nothing else of them can be written down.
    """
    held = dict.fromkeys(PARTS, Kept())

    class Bringing(ToyDomain):
        defaults: ClassVar = {"policy": Kept()}

    plan = planned(given={**GIVEN, **held})
    brought = planned(Bringing())
    told = json.loads(json.dumps(Comparison(plan=plan, trials=()).to_json()))
    names = {part: told["arms"][0]["options"][part] for part in PARTS}

    assert set(names.values()) == {f"{__name__}:Kept"}
    assert (
        Comparison(plan=brought, trials=()).to_json()["arms"][0]["options"]["policy"]
        == f"{__name__}:Kept"
    )


def test_everything_is_json():
    """
    What was never reached is null, since JSON has no infinity.
    """
    told = json.loads(json.dumps(by_hand(target=1.0).to_json(), allow_nan=False))
    summary = told["arms"][0]["summary"]["target_seconds"]

    assert {"count": 3, "median": None, "low": None, "high": None} == summary
    assert ("paired t", 0.95, True) == (told["method"], told["level"], told["complete"])
    assert {"rollout": "lognormal:1.0,1.0", "measure": "lognormal:0.2,1.0"} == (
        told["arms"][0]["options"]["durations"]
    )
    assert 6 == len(told["trials"])
    assert [0, 0, 0, 0.1] == list(told["trials"][0]["curve"][0].values())


# ---------------------------------------------------------------------------- figures


def test_a_figure_is_two_files_and_the_svg_repeats(tmp_path):
    """
    Every arm is named, and the text can be read by machines.
    """
    pytest.importorskip("matplotlib", reason="it draws with matplotlib")
    folders = [tmp_path / name for name in ("one", "two")]
    comparison = compared(planned(workers=(2, 4), against=("best-of-n",)))
    for folder in folders:
        folder.mkdir()
        draw(comparison, folder)
    one, two = (folder / "plot.svg" for folder in folders)
    text = one.read_text(encoding="utf-8")

    assert one.read_bytes() == two.read_bytes()
    assert (tmp_path / "one" / "plot.png").read_bytes().startswith(b"\x89PNG")
    for word in ("sync", "async", "best-of-n", "2 workers", "4 workers", "held-out reward"):
        assert f">{word}</text>" in text
    assert ">seconds (virtual)</text>" in text
    assert "<dc:date>" not in text


def test_a_figure_of_nothing_is_empty_and_not_an_error(tmp_path):
    """
    All runs failed, or there were none.
    """
    pytest.importorskip("matplotlib", reason="it draws with matplotlib")
    draw(Comparison(plan=planned(), trials=()), tmp_path)

    assert ["plot.png", "plot.svg"] == sorted(path.name for path in tmp_path.iterdir())


def test_without_matplotlib_the_remedy_is_named(tmp_path, monkeypatch):
    """
    And nothing is written.
    """
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UsageError, match=r"pip install 'headway\[plot\]'"):
        draw(by_hand(), tmp_path)

    assert [] == list(tmp_path.iterdir())
