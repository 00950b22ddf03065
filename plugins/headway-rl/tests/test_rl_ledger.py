"""
The ledger of tokens and the metrics of waiting, in whole runs.
"""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from rl_worlds import NETWORK, Echo, async_trainer

from headway import run
from headway.contracts import GroupDropped, TicketEnded, UpdateDone
from headway.durations import parse_law
from headway_rl import GroupCompletion, NumpyTrainer, Schedule
from headway_rl._account import FATES

LOSES = {"accept_lost_data": True}
LAWS = {
    "rollout": parse_law("lognormal:1,1"),
    "train": parse_law("constant:0.5"),
}
PAGE = Path(__file__).parents[3] / "docs/reference/reinforcement-learning.md"


class Breaks(Echo):
    """
    Three in ten of the episodes that train fail at their last turn.
    """

    share = 0.3

    def reset(self, task, rng):
        self.calm = task == "held out"
        return super().reset(task, rng)

    def step(self, action):
        if self.turn == 3 and not self.calm and self.rng.random() < self.share:
            message = "the tool is gone"
            raise OSError(message)
        return super().step(action)


def watched(driver="simulated", updates=20, environment=Breaks, run_options=(), **options):
    """
    The steps of a run, its notices, and the account that was kept of it.
    """
    steps, notices = [], []
    trainer = async_trainer(environment, held_out=["held out"] * 8, **options)
    more = {"durations": LAWS} if driver == "simulated" else {}
    call, watcher = trainer._call(
        steps.append,
        {
            "updates": updates,
            "driver": driver,
            "observers": [notices.append],
            "validate": True,
            **more,
            **dict(run_options),
        },
    )
    result = run(**call)
    assert "updates" == result.stop_reason
    return steps, notices, watcher._account


def parts(metrics, unit):
    fates = [name for name in FATES if unit == "tokens" or name != "masked"]
    return sum(metrics[f"ledger/{fate}_{unit}"] for fate in (*fates, "held"))


def insist_it_closes(steps):
    for step in steps:
        metrics = step.metrics
        for unit in ("tokens", "groups"):
            assert metrics[f"ledger/generated_{unit}"] == parts(metrics, unit)


def insist_no_more_is_held(steps, account):
    """
    Than is outstanding; at the end under any driver, since episodes run on while a notice is on its way.
    """
    assert len(account._held) <= 8
    assert account._completed.keys() == account._held.keys()
    assert len(account._gone) <= 4 * len(steps) + steps[-1].metrics.get("drops/failed", 0)


COMPLETIONS = {
    "drop": GroupCompletion(retries=0, on_failure="drop"),
    "drop after retries": GroupCompletion(retries=1, on_failure="drop"),
    "shrink": GroupCompletion(retries=0, on_failure="shrink", min_members=3),
}


@pytest.mark.parametrize("driver", ["simulated", "threads", "asyncio"])
@pytest.mark.parametrize("completion", COMPLETIONS.values(), ids=COMPLETIONS)
def test_the_ledger_closes_where_groups_are_given_up(completion, driver):
    """
    At every step: generated = trained + masked + stale + surplus + failed + held, and no more groups are
    held than are outstanding.
    """
    steps, notices, account = watched(driver, completion=completion, **LOSES)
    last = steps[-1].metrics
    dropped = [notice for notice in notices if isinstance(notice, GroupDropped)]

    insist_it_closes(steps)
    insist_no_more_is_held(steps, account)
    if driver == "simulated":
        for metrics in (step.metrics for step in steps):
            assert metrics["ledger/held_groups"] <= metrics["staleness/reserved_groups"]
    assert len(dropped) > 1
    assert {"failed"} == {notice.reason for notice in dropped}
    assert last["ledger/failed_groups"] > 0
    assert last["ledger/failed_tokens"] > 0


@pytest.mark.parametrize("driver", ["simulated", "threads", "asyncio"])
def test_what_failed_attempts_came_to_is_among_what_failed(driver):
    """
    Three tokens each, which somebody has paid for, though the attempt has raised.
    """
    steps, _, _ = watched(driver, 8, completion=GroupCompletion(retries=99))
    last = steps[-1].metrics

    insist_it_closes(steps)
    assert last["retries/failed"] > 10
    assert last["retries/failed"] == last["retries/failed/tokens_to_4"]
    assert last["ledger/failed_tokens"] == 4 * last["retries/failed"]
    assert (
        last["ledger/generated_tokens"]
        >= last["ledger/trained_tokens"] + last["ledger/failed_tokens"]
    )


@pytest.mark.parametrize("policy", ["drop", "mask"])
def test_the_ledger_closes_where_groups_get_too_old(policy):
    """
    And each group that was dropped, with something generated, is one group of the ledger.
    """
    steps, notices, account = watched(
        environment=Echo, stale_policy=policy, max_staleness=1, updates=30, **LOSES
    )
    last = steps[-1].metrics

    insist_it_closes(steps)
    assert not [notice for notice in notices if isinstance(notice, GroupDropped)]
    if policy == "drop":
        assert last["drops/stale"] == last["ledger/stale_groups"] > 0
    else:
        assert last["ledger/masked_tokens"] > 0
    assert account._completed.keys() == account._held.keys()
    assert len(account._held) <= 8


def test_groups_that_are_given_up_are_told_one_by_one():
    """
    By the number that its tickets had, once, and it trains never; counts agree with the run's own.
    """
    steps, notices, _ = watched(completion=COMPLETIONS["drop"], **LOSES)
    gone = [notice.group for notice in notices if isinstance(notice, GroupDropped)]
    used = {group for step in steps for group in step.groups}
    updates = [notice for notice in notices if isinstance(notice, UpdateDone)]

    assert len(gone) == len(set(gone))
    assert not used & set(gone)
    assert updates[-1].dropped["failed"] == steps[-1].metrics["drops/failed"]
    assert steps[-1].metrics["drops/failed"] == sum(
        count
        for name, count in steps[-1].metrics.items()
        if name.startswith("drops/failed/tokens_to_")
    )


def test_a_member_that_comes_after_its_group_has_left():
    """
    One that was given up at its deadline and ends later adds to what failed, and is held by nobody.
    """
    given_up, hung = threading.Event(), []

    class Hangs(Echo):
        def reset(self, task, rng):
            if task != "held out" and not hung and rng.random() < 0.05:
                hung.append(1)
                given_up.wait(60)
            return super().reset(task, rng)

    class Patient(NumpyTrainer):  # so that the run is not over before
        def forward_backward(self, *arguments):
            if hung:
                given_up.wait(60)
            return super().forward_backward(*arguments)

    def note(notice):
        if isinstance(notice, TicketEnded) and notice.completion == "timeout":
            given_up.set()

    steps, _, account = watched(
        "threads",
        200,
        Hangs,
        trainer=Patient(network=NETWORK),
        run_options={"rollout_timeout": 3.0, "eval_timeout": 30.0, "observers": [note]},
    )

    insist_it_closes(steps)
    last = steps[-1].metrics
    assert 1 == last["retries/timeout"]
    assert 4 == last["ledger/failed_tokens"]
    insist_no_more_is_held(steps, account)


def test_waits_are_counted_and_the_blocking_group_has_an_age():
    """
    What the notices say since the run began, the metrics say since the last step.
    """
    steps, notices, _ = watched(
        environment=Echo, updates=40, schedule=Schedule(concurrency=32), max_staleness=2
    )
    told = [notice for notice in notices if isinstance(notice, UpdateDone)]
    counts = [step.metrics["staleness/wait_count"] for step in steps]
    blocked = [step for step in steps if "staleness/blocking_group" in step.metrics]

    assert sum(counts) == told[-1].waits["bound"] > 1
    for step, count in zip(steps, counts, strict=True):
        assert (step.metrics["staleness/wait_seconds"] > 0) <= (count > 0)
    assert blocked
    for step in blocked:
        assert 0 <= step.metrics["staleness/blocking_age"] <= 2
        assert step.metrics["staleness/blocking_group"] not in step.groups


def test_the_peak_is_never_below_what_is_outstanding():
    """
    Nor above what may be; with the pipeline full it is all of that, and it begins anew at each step.
    """
    steps, _, _ = watched(environment=Echo, updates=20)
    peaks = [step.metrics["staleness/reserved_groups_peak"] for step in steps]
    left = [step.metrics["staleness/reserved_groups"] for step in steps]

    assert all(peak >= many for peak, many in zip(peaks, left, strict=True))
    assert 8 == max(peaks) == peaks[5]
    assert [(8, 4), (4, 0)] == list(zip(peaks, left, strict=True))[
        -2:
    ]  # the last ones are under way


def spelled(name):
    """
    The name as the page has it: reasons and lengths stand for themselves.
    """
    first, *more = name.split("/")
    if first in {"drops", "retries"}:
        return "/".join([first, "REASON", *(["tokens_to_N"] if len(more) > 1 else [])])
    return name


def test_every_metric_is_on_its_page():
    """
    By its whole name, but for what the trainer tells.
    """
    found = set()
    for options in (
        {"completion": COMPLETIONS["drop"], **LOSES},
        {"completion": COMPLETIONS["shrink"], "schedule": Schedule(concurrency=32), **LOSES},
        {"stale_policy": "mask", "max_staleness": 1, **LOSES, "environment": Echo},
    ):
        steps, _, _ = watched(**options)
        found |= {spelled(name) for step in steps for name in step.metrics}
    page = PAGE.read_text()
    own = {"train/loss", "train/entropy", "train/gradient_norm", "train/norm"}

    assert [] == sorted(name for name in found - own if f"`{name}`" not in page)
    assert {"staleness/wait_count", "staleness/blocking_age", "drops/REASON"} <= found
