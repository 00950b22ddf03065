"""
Whole runs: every driver, every policy, failures, and going on after a crash.
"""

from __future__ import annotations

import _thread
import asyncio
import threading

import pytest
from rl_worlds import NETWORK, AsyncEcho, AsyncScribe, Echo, async_trainer, numpy_trainer

from headway import Artifact, run
from headway.errors import OptionError
from headway.testing._faults import ContendedLedger
from headway_rl import (
    Adam,
    Batchwise,
    DirectoryStore,
    ForwardBackwardBatch,
    GroupCompletion,
    InlineStore,
    MemoryStore,
    NumpyTrainer,
    Schedule,
)

LOSES, UNBOUND = {"accept_lost_data": True}, {"accept_no_bound": True}
DRIVERS = ("simulated", "threads", "asyncio")
LAWS = {"rollout": "lognormal:1,1", "train": "constant:0.5"}


def laws():
    from headway.durations import parse_law

    return {kind: parse_law(text) for kind, text in LAWS.items()}


def trained(trainer, updates=12, driver="simulated", **more):
    """
    The result of a run, and its steps.
    """
    steps = []
    if driver == "simulated":
        more.setdefault("durations", laws())
    result = trainer.run(
        updates=updates, driver=driver, on_step=steps.append, validate=True, **more
    )
    return result, steps


def ages(steps):
    return [age for step in steps for age in step.groups.values()]


@pytest.mark.parametrize("bound", [0, 2])
@pytest.mark.parametrize("driver", DRIVERS)
def test_it_learns_under_every_driver(driver, bound):
    """
    Four to choose among: from a quarter to nearly all; and nothing that trains is older than the bound.
    """
    result, steps = trained(async_trainer(max_staleness=bound), 40, driver)

    assert "updates" == result.stop_reason
    assert 40 == len(steps)
    assert max(ages(steps)) <= bound
    assert max(step.metrics["staleness/span_age_max"] for step in steps) <= bound
    assert result.baseline_reward < 0.5
    assert result.final_reward > 0.85
    assert steps[-1].version == result.version == result.state["update"]


def test_synchronous_runs_are_equal_under_every_driver():
    """
    And with every size of chunk: batches, weights and all.
    """
    found = set()
    for driver in (*DRIVERS, "serial"):
        for chunks in ("auto", None, ForwardBackwardBatch(min_sequences=1)):
            trainer = async_trainer(max_staleness=0, forward_backward_batch=chunks)
            result, steps = trained(trainer, 6, driver)
            found.add((result.state["fingerprint"], tuple(tuple(s.groups) for s in steps)))

    assert 1 == len(found)


def test_a_simulated_run_is_the_same_twice():
    """
    Asynchronous, too.
    """
    found = [trained(async_trainer(), 8, seed=3)[0] for _ in range(2)]

    assert found[0].digest == found[1].digest
    assert found[0].digest != trained(async_trainer(), 8, seed=4)[0].digest


@pytest.mark.filterwarnings("ignore:admit_ahead")
def test_admit_ahead_sets_the_mean_age_and_max_staleness_the_highest():
    """
    While the pipeline is full the mean age is what was announced.
    """
    for bound, ahead in ((1, 1), (2, 1), (4, 1), (4, 2), (4, 4)):
        slots = Schedule(concurrency=16 * (1 + ahead), admit_ahead=ahead)
        slow = numpy_trainer(optimizer=Adam(learning_rate=1e-5))  # each batch has a weight
        trainer = async_trainer(trainer=slow, max_staleness=bound, schedule=slots)
        _, steps = trained(trainer, 60)
        middle = ages(steps[10:-10])

        assert trainer.implied_mean_age == pytest.approx(sum(middle) / len(middle), abs=0.1)
        assert max(middle) == bound


@pytest.mark.filterwarnings("ignore:admit_ahead")
def test_waiting_loses_nothing():
    """
    Every group that was admitted is trained, once; the ledger's tokens are all trained.
    """
    _, steps = trained(async_trainer(max_staleness=1), 20)
    groups = [number for step in steps for number in step.groups]
    ledger = steps[-1].metrics

    assert list(range(80)) == sorted(groups)
    assert ledger["ledger/generated_tokens"] == ledger["ledger/trained_tokens"] == 80 * 16


@pytest.mark.parametrize(
    "options",
    [
        {"batch_order": "admission"},
        {"schedule": Schedule(concurrency=8, oversample_factor=1.5)},
        {"sampling_policy": "segment"},
        {"advantages": Batchwise()},
        {"forward_backward_batch": None},
        {"stale_policy": "mask", **LOSES},
        {"stale_policy": "drop", **LOSES},
        {"stale_policy": "soft", **UNBOUND},
        {"stale_policy": "unbounded", **UNBOUND},
        {"stale_policy": "window", "window": 6, **UNBOUND},
    ],
    ids=str,
)
def test_every_way_to_choose_runs_and_learns(options):
    """
    Each to its end, with what it promises of ages.
    """
    trainer = async_trainer(**options)
    result, steps = trained(trainer, 30)

    assert "updates" == result.stop_reason
    assert 30 == len(steps)
    assert (
        trainer.highest_age is None
        or options.get("stale_policy") == "mask"
        or max(ages(steps)) <= trainer.highest_age
    )
    assert result.final_reward > result.baseline_reward + 0.2


@pytest.mark.filterwarnings("ignore:admit_ahead")
@pytest.mark.parametrize("driver", DRIVERS)
def test_worked_example_9_two_updates_a_step(driver):
    """
    With S=1 only groups that were admitted at the version at which the step begins are used: those of
    its first update are of age 0, those of its second of age 1.
    """
    slow = numpy_trainer(optimizer=Adam(learning_rate=1e-5))  # each part has a weight
    trainer = async_trainer(trainer=slow, updates_per_step=2, max_staleness=1)
    result, steps = trained(trainer, 8, driver)

    assert 16 == result.version == result.state["update"]
    assert [[0, 0, 1, 1]] * 8 == [[age for _, age in sorted(s.groups.items())] for s in steps]
    for step in steps:
        assert 2 == step.metrics["train/updated"]
        assert 1 == step.metrics["staleness/span_age_max"]
        assert 0.5 == step.metrics["staleness/span_age_mean"]
        assert (4, 64) == (step.metrics["train/groups"], step.metrics["train/tokens"])


@pytest.mark.filterwarnings("ignore:admit_ahead")
@pytest.mark.parametrize("policy", ["wait", "drop", "mask"])
def test_several_updates_keep_the_bound(policy):
    """
    Whatever keeps it, it is that of the update which uses a group.
    """
    told = {} if policy == "wait" else LOSES
    trainer = async_trainer(updates_per_step=2, max_staleness=3, stale_policy=policy, **told)
    result, steps = trained(trainer, 30)
    last = steps[-1].metrics
    old = sum(16 for age in ages(steps) if age > 3)

    assert 30 < result.version <= 60
    assert "updates" == result.stop_reason
    assert (old > 0) == (last["ledger/masked_tokens"] > 0) == (policy == "mask")
    assert last["ledger/masked_tokens"] <= old  # of such a group some members may have begun later
    assert ("drops/stale" in last) == (policy == "drop")
    assert result.final_reward > result.baseline_reward + 0.2


@pytest.mark.filterwarnings("ignore:admit_ahead")
@pytest.mark.parametrize(("name", "times"), [("forward_backward", 1), ("optim_step", 2)])
def test_a_batch_that_is_given_up_between_its_updates(name, times):
    """
    What its first update used is used, the rest comes again or is counted as too old, and the ledger
    closes.
    """
    options = {"updates_per_step": 2, "max_staleness": 3, "stale_policy": "wait"}
    trainer = FailsOnce(name, times)
    trainer._skip = 1
    result, steps = trained(async_trainer(trainer=trainer, **options), 12)
    last = steps[-1].metrics

    assert "updates" == result.stop_reason
    assert any(failure.fault.where == "train" for failure in result.failures)
    assert max(ages(steps)) <= 3
    assert last["staleness/span_age_max"] <= 3
    assert last["ledger/held_groups"] == last["staleness/reserved_groups"] == 0
    assert last["ledger/generated_groups"] == last["ledger/trained_groups"] + last.get(
        "ledger/stale_groups", 0
    )


def test_masks_bound_what_trains():
    """
    Old groups are used, and their old segments have no weight.
    """
    trainer = async_trainer(stale_policy="mask", max_staleness=1, **LOSES)
    _, steps = trained(trainer, 30, durations=None, driver="simulated")
    _, heavy = trained(trainer, 30)

    assert max(ages(heavy)) > 1
    masked = heavy[-1].metrics["ledger/masked_tokens"]
    old = sum(16 for age in ages(heavy) if age > 1)
    assert old == masked
    assert steps[-1].metrics["ledger/masked_tokens"] == sum(16 for age in ages(steps) if age > 1)


def test_drops_bound_what_trains_and_lose_the_rest():
    """
    What got too old is in the ledger as stale.
    """
    trainer = async_trainer(stale_policy="drop", max_staleness=1, **LOSES)
    _, steps = trained(trainer, 30)
    ledger = steps[-1].metrics

    assert max(ages(steps)) <= 1
    assert ledger["ledger/stale_tokens"] > 0
    assert ledger["ledger/stale_tokens"] == 16 * ledger["drops/stale"]


class Lags(NumpyTrainer):
    """
    Its policies are those of so many versions ago, as those of an engine that is slow to load weights.
    """

    lag = 1

    def policy(self, published, version):
        self.seen = {**getattr(self, "seen", {}), version: published}
        behind = max(0, version - self.lag)
        return super().policy(self.seen.get(behind, published), behind)


def lagging(lag, **more):
    trainer = Lags(network=NETWORK, optimizer=Adam(learning_rate=0.05))
    trainer.lag = lag
    return async_trainer(trainer=trainer, **more)


DROPS = {"stale_policy": "drop", **LOSES}


def test_what_an_engine_that_lags_gave_is_as_old_as_it_is():
    """
    Not as what it was to sample with; so ``drop`` drops more, and still keeps the bound.
    """
    result, steps = trained(lagging(1, max_staleness=2, **DROPS), 30)
    _, prompt = trained(lagging(0, max_staleness=2, **DROPS), 30)
    last = steps[-1].metrics

    assert "updates" == result.stop_reason
    assert 2 == max(step.metrics["staleness/span_age_max"] for step in steps)
    assert {0, 1} >= {step.metrics["staleness/publish_lag"] for step in steps}
    assert 1 == steps[5].metrics["staleness/publish_lag"]
    assert last["drops/stale"] > prompt[-1].metrics["drops/stale"] > 0
    assert last["drops/stale"] == last["ledger/stale_groups"]
    assert 0 == max(step.metrics["staleness/publish_lag"] for step in prompt)


@pytest.mark.parametrize(
    ("policy", "bound", "lag", "told_to"),
    [("drop", 1, 2, "give at least 2"), ("wait", 2, 1, "give stale_policy='drop' or 'mask'")],
)
def test_a_bound_that_can_not_bear_the_publish_lag_ends_the_run(policy, bound, lag, told_to):
    """
    With the bound, the lag that was measured and what to do; nothing that is too old has trained.
    ``wait`` bears none, since the gate counts on the version that a member begins on.
    """
    told = DROPS if policy == "drop" else {}
    result, steps = trained(lagging(lag, max_staleness=bound, **told), 40)

    assert "error" == result.stop_reason
    assert f"max_staleness={bound}" in result.error.message
    assert f"up to {lag} versions behind" in result.error.message
    assert told_to in result.error.message
    assert max(step.metrics.get("staleness/span_age_max", 0) for step in steps) <= bound


def test_a_task_that_is_never_in_time_has_a_name():
    """
    And how often it was begun in vain.
    """
    _, steps = trained(async_trainer(max_staleness=1, **DROPS), 60)
    found = [(step.metrics["staleness/most_tries"], step.most_tried) for step in steps]

    assert {0, 1} <= {count for count, _ in found}
    assert all((count > 0) == (name is not None) for count, name in found)
    assert {name for _, name in found} - {None} <= {f"row-{n}" for n in range(16)}


def test_a_long_one_makes_the_trainer_wait():
    """
    With a bound and durations with a heavy tail the wait shows in the metrics, and has a name.
    """
    _, steps = trained(async_trainer(schedule=Schedule(concurrency=32)), 30)

    assert sum(step.metrics["staleness/wait_seconds"] for step in steps) > 1
    assert any("staleness/blocking_group" in step.metrics for step in steps)


@pytest.mark.parametrize("driver", ["threads", "asyncio"])
def test_coroutines_run_as_well(driver):
    """
    An environment and a trainer that are to be awaited; the weights are those of plain ones.
    """

    class Awaited(NumpyTrainer):
        async def forward_backward(self, groups, reset):
            await asyncio.sleep(0)
            return super().forward_backward(groups, reset)

    awaited = Awaited(network=NETWORK, optimizer=Adam(learning_rate=0.05))
    result, steps = trained(async_trainer(AsyncEcho, awaited, max_staleness=0), 10, driver)
    plain, _ = trained(async_trainer(max_staleness=0), 10)

    assert plain.state == result.state

    assert "updates" == result.stop_reason
    assert 10 == len(steps)


def test_an_async_environment_is_seen_by_its_methods():
    """
    So nobody has to say it; a policy's ``sample`` alone has to be told of.
    """
    assert "AsyncRL" == type(async_trainer(AsyncEcho).domain()).__name__
    assert "AsyncRL" == type(async_trainer(asynchronous=True).domain()).__name__
    assert "RL" == type(async_trainer(trainer=AsyncScribe()).domain()).__name__


@pytest.mark.parametrize("folder", [False, True])
def test_episodes_can_run_in_processes(tmp_path, folder):
    """
    Training stays in the run's own; the weights are those of threads, and the ledger closes.
    """

    def made():
        return numpy_trainer(
            store=DirectoryStore(tmp_path / "weights") if folder else InlineStore()
        )

    options = {"max_staleness": 0, "schedule": Schedule(concurrency=2)}
    threads, _ = trained(async_trainer(trainer=made(), **options), 3, "threads")
    processes, steps = trained(
        async_trainer(trainer=made(), **options), 3, "threads", executor="process"
    )
    ledger = steps[-1].metrics

    assert threads.state == processes.state
    assert 3 * 16 * 4 == ledger["ledger/generated_tokens"] == ledger["ledger/trained_tokens"]


def test_segments_cannot_be_sampled_in_processes():
    """
    These do not know what the newest weights are, and the error says so.
    """
    with pytest.raises(OptionError, match="the run's own process alone"):
        async_trainer(sampling_policy="segment").run(updates=1, executor="process")


# ------------------------------------------------------------------ failures


CALM = ["held out"] * 8


class Flaky(Echo):
    """
    Some of the episodes that train fail, as their chance has it.
    """

    share = 0.1

    def reset(self, task, rng):
        self.calm = task == "held out"
        return super().reset(task, rng)

    def step(self, action):
        if self.turn == 0 and not self.calm and self.rng.random() < self.share:
            message = "the tool is gone"
            raise OSError(message)
        return super().step(action)


def test_failed_members_are_tried_again_with_fresh_chance():
    """
    Every group is complete in the end, and none is lost.
    """
    result, steps = trained(
        async_trainer(Flaky, held_out=CALM, completion=GroupCompletion(retries=9)), 20
    )

    assert "updates" == result.stop_reason
    assert result.completions["failed"] > 10
    assert steps[-1].metrics["retries/failed"] > 10
    assert list(range(80)) == sorted(n for step in steps for n in step.groups)


class Hopeless(Echo):
    """
    One row always fails.
    """

    def reset(self, task, rng):
        if task == "bad":
            message = "no such task"
            raise OSError(message)
        return super().reset(task, rng)


ROWS = {"rows": ["bad", *range(15)]}


def test_a_member_that_always_fails_ends_the_run_with_its_error():
    """
    Once, with its origin; that is no end of the data.
    """
    result, _ = trained(async_trainer(Hopeless, **ROWS), 20)

    assert "error" == result.stop_reason
    assert "no such task" in result.error.message


def test_a_group_whose_members_all_fail_can_be_dropped():
    """
    The others are trained as before.
    """
    completion = GroupCompletion(retries=1, on_failure="drop")
    result, steps = trained(async_trainer(Hopeless, completion=completion, **ROWS, **LOSES), 20)

    assert "updates" == result.stop_reason
    assert 80 == len({number for step in steps for number in step.groups})
    assert steps[-1].metrics["drops/failed"] >= 1


def test_a_group_can_shrink():
    """
    To those that ended well.
    """

    class HalfBad(Flaky):
        share = 0.4

    completion = GroupCompletion(retries=0, on_failure="shrink", min_members=2)
    result, steps = trained(
        async_trainer(HalfBad, held_out=CALM, completion=completion, **LOSES), 15
    )
    tokens = [step.metrics["train/tokens"] for step in steps]

    assert "updates" == result.stop_reason
    assert min(tokens) < 64
    assert all(tokens)


class FailsOnce:
    """
    A trainer one of whose methods fails a few times.
    """

    def __init__(self, name, times):
        self._inner, self._name, self._left = numpy_trainer(), name, times

    def __getattr__(self, name):
        method = getattr(self._inner, name)

        def called(*arguments, **more):
            if self._armed and name == self._name and self._left:
                if self._skip:
                    self._skip -= 1
                    return method(*arguments, **more)
                self._left -= 1
                message = f"{name} failed"
                raise RuntimeError(message)
            return method(*arguments, **more)

        return called

    _armed = False
    _skip = 0

    def forward_backward(self, groups, reset):
        self._armed = True  # the first weights are published before any training
        return self.__getattr__("forward_backward")(groups, reset)


@pytest.mark.parametrize("name", ["forward_backward", "optim_step", "publish", "state_dict"])
def test_a_training_that_fails_is_made_again(name):
    """
    The weights are those of a run in which nothing failed.
    """
    options = {"max_staleness": 0}
    expected, _ = trained(async_trainer(**options), 6)
    result, steps = trained(async_trainer(trainer=FailsOnce(name, 2), **options), 6)

    assert "updates" == result.stop_reason
    assert expected.state["fingerprint"] == result.state["fingerprint"]
    assert 6 == len(steps)
    assert any(failure.fault.where == "train" for failure in result.failures)


def test_a_training_that_always_fails_ends_the_run():
    """
    With that error; nothing is committed.
    """
    result, steps = trained(async_trainer(trainer=FailsOnce("optim_step", 99)), 6)

    assert "error" == result.stop_reason
    assert "optim_step failed" in result.error.message
    assert [] == steps
    assert 0 == result.version


def test_a_member_that_hangs_is_given_up_and_tried_again():
    """
    At its deadline; what it would have been is generated again, and no group is lost.
    """
    release, hung = threading.Event(), []

    class Hangs(Echo):
        def step(self, action):
            if self.turn == 0 and len(hung) < 2 and self.rng.random() < 0.05:
                hung.append(1)
                release.wait(60)
            return super().step(action)

    try:
        result, steps = trained(
            async_trainer(Hangs), 10, "threads", rollout_timeout=0.5, eval_timeout=30.0
        )
    finally:
        release.set()

    assert "updates" == result.stop_reason
    assert result.completions["timeout"] >= 1
    assert list(range(40)) == sorted(n for step in steps for n in step.groups)


def test_somebody_else_moves_the_head():
    """
    An update that was made on the old head is made again on the new one, from its weights; nothing that
    trains is older than the bound, and what can't be used in time any more is counted.
    """
    first = async_trainer().domain().initial()
    ledger = ContendedLedger(
        Artifact(first), seed=3, rate=0.4, rival=lambda held: _moved(held.snapshot().artifact.value)
    )
    result, steps = trained(async_trainer(max_staleness=3), 15, ledger=ledger)

    assert "updates" == result.stop_reason
    assert result.commit_races > 3
    assert max(ages(steps)) <= 3
    assert result.version > result.state["update"] - 1_000 * result.commit_races
    assert result.state["update"] >= 1_000 * result.commit_races
    generated, parts = (steps[-1].metrics[f"ledger/{n}_tokens"] for n in ("generated", "trained"))
    assert generated >= parts > 0


def _moved(state):
    return Artifact({**state, "update": state["update"] + 1_000})


# ------------------------------------------------------------------ going on


class Interrupts:
    """
    A trainer during whose n-th call of some method Ctrl-C is pressed.
    """

    def __init__(self, name, count):
        self._inner, self._name, self._left = numpy_trainer(), name, count

    def __getattr__(self, name):
        method = getattr(self._inner, name)

        def called(*arguments, **more):
            self._left -= 1
            if self._left == 0:
                _thread.interrupt_main()
            return method(*arguments, **more)

        return called if name == self._name else method


@pytest.mark.parametrize(
    ("name", "count", "bound"),
    [
        ("forward_backward", 3, 0),
        ("forward_backward", 2, 2),
        ("forward_backward", 5, 2),
        ("optim_step", 2, 2),
        ("publish", 4, 2),
        ("policy", 40, 2),
        ("optim_step", 4, 3),
    ],
)
@pytest.mark.filterwarnings("ignore:admit_ahead")
def test_a_run_that_was_interrupted_goes_on(tmp_path, name, count, bound):
    """
    In the midst of a chunk, an update, a publication or an episode, and taken up with a fresh trainer:
    the weights and the groups are those of the run in one go, none twice, none lost.
    """
    options = {"max_staleness": bound, "updates_per_step": 1 + (bound == 3)}
    whole, steps = trained(async_trainer(**options), 6)
    first, before = trained(
        async_trainer(trainer=Interrupts(name, count), **options), 6, run_dir=tmp_path / "run"
    )
    second, after = trained(async_trainer(**options), 6, run_dir=tmp_path / "run")
    groups = [tuple(step.groups) for step in [*before, *after]]

    assert "interrupted" == first.stop_reason
    assert whole.digest == second.digest
    assert whole.state == second.state
    assert sorted(tuple(step.groups) for step in steps) == sorted(groups)


def test_a_run_that_has_ended_is_not_run_again(tmp_path):
    """
    Its result is there.
    """
    whole, _ = trained(async_trainer(), 3, run_dir=tmp_path / "run")
    again, steps = trained(async_trainer(), 3, run_dir=tmp_path / "run")

    assert whole.digest == again.digest
    assert [] == steps


def test_weights_in_memory_are_not_found_by_another_process():
    """
    The error says what to do.
    """
    first, second = (numpy_trainer(store=MemoryStore()) for _ in range(2))
    published = first.publish()
    with pytest.raises(LookupError, match="DirectoryStore"):
        second.load(published, None)


# ------------------------------------------------------------------ the front end


def test_steps_come_one_by_one():
    """
    With everything that a logger wants, and the run ends with them.
    """
    steps = list(async_trainer().steps(updates=6, driver="threads"))

    assert [1, 2, 3, 4, 5, 6] == [step.update for step in steps]
    assert all(step.metrics["reward/mean"] <= 1 for step in steps)
    assert steps[-1].state["update"] == steps[-1].version


def test_who_leaves_the_loop_ends_the_run():
    """
    No thread of it goes on.
    """
    before = set(threading.enumerate())
    for step in async_trainer().steps(updates=10_000, driver="threads"):
        if step.update == 3:
            break

    left = [t for t in set(threading.enumerate()) - before if t.name == "headway-rl-steps"]
    assert [] == left


def test_an_error_of_the_run_is_raised_to_who_goes_through_the_steps():
    """
    An option that can't be used, before anything runs.
    """
    with pytest.raises(OptionError, match="updates"):
        list(async_trainer().steps(updates=0))


def test_it_can_be_awaited():
    """
    For programs with an event loop.
    """
    result = asyncio.run(async_trainer().arun(updates=2, driver="threads"))

    assert 2 == result.state["update"]


@pytest.mark.parametrize("name", ["max_staleness", "aggregator", "n_workers", "mode"])
def test_options_that_follow_from_the_trainer_s_are_refused(name):
    """
    They would say it twice.
    """
    with pytest.raises(OptionError, match=f"{name}=3: It follows"):
        async_trainer().run(**{name: 3})


def test_the_ages_are_announced_and_warnings_told():
    """
    Before anything runs.
    """
    told = []
    trainer = async_trainer(announce=told.append, max_staleness=1)
    with pytest.warns(UserWarning, match="leaves no slack"):
        trainer.run(updates=1, driver="simulated")

    assert [
        "up to 8 groups (32 trajectories) outstanding, 4 a step: mean age 1, at most 1 updates"
    ] == told


def test_fewer_slots_than_members_still_end():
    """
    K < n: members run one after another; K < G * n and Q < K likewise.
    """
    for concurrency, requests in ((1, 1), (3, None), (8, 2)):
        trainer = async_trainer(
            schedule=Schedule(concurrency=concurrency, max_sample_requests=requests)
        )
        result, _ = trained(trainer, 4, "threads")

        assert "updates" == result.stop_reason


def test_data_shorter_than_a_batch_are_repeated():
    """
    The same row may be in two groups of one batch.
    """
    result, steps = trained(async_trainer(rows=[0, 1]), 3)

    assert "updates" == result.stop_reason
    assert [4, 4, 4] == [len(step.groups) for step in steps]


def test_a_last_batch_may_be_smaller():
    """
    Where the rollouts end in the midst of one.
    """
    steps = []
    result = async_trainer().run(
        max_rollouts=6 * 4, driver="simulated", durations=laws(), on_step=steps.append
    )

    assert [4, 2] == [len(step.groups) for step in steps]
    assert "max_iters" == result.stop_reason


def test_it_runs_by_name():
    """
    Domain and optimizer as people type them.
    """
    result = run("rl", updates=2, driver="simulated")

    assert "updates" == result.stop_reason
    assert {"weights", "fingerprint", "trainer", "update"} == result.state.keys()
