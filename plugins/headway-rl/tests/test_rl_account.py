"""
The account of a run: ages, rates, waits, sides and the ledger of tokens.
"""

from __future__ import annotations

import random

import attrs
import pytest

from headway_rl import (
    Account,
    Batch,
    Segment,
    Span,
    Standing,
    Stopwatch,
    Trajectory,
    TrajectoryGroup,
    WeightedGroup,
)
from headway_rl._account import FATES, bucket, fate_of
from headway_rl._quantiles import quantile, weighted_mean, weighted_quantile


def batch(spans=(), groups=(0,), tokens=None, **more):
    total = sum(span.tokens for span in spans)
    tokens = tokens if tokens is not None else (total, *[0] * (len(groups) - 1))
    return Batch(groups=groups, spans=tuple(spans), rewards=(), tokens=tokens, **more)


def spans(*ages, tokens=1):
    return [Span(age=age, tokens=tokens) for age in ages]


def result(account, now=1.0, given=None, **standing):
    given = batch() if given is None else given
    account.used(given)
    return account.result(now, given, Standing(**{"outstanding": 0, **standing}))


def test_worked_example_6_ages_of_segments():
    """
    Versions 10, 10, 11, 12 at 12: p50 1.5, p99 about 2.
    """
    found = result(Account(), given=batch(spans(2, 2, 1, 0)))

    assert 1.5 == found["staleness/span_age_p50"]
    assert 1.9 < found["staleness/span_age_p99"] <= 2
    assert 2 == found["staleness/span_age_max"]
    assert 1.25 == found["staleness/span_age_mean"]


def test_ages_by_span_hide_what_ages_by_token_show():
    """
    One span of 8,000 tokens aged 2 and nine of 100 tokens aged 0: the median span is new, the mean
    token 1.80 updates old.
    """
    given = batch([Span(age=2, tokens=8_000), *spans(*[0] * 9, tokens=100)])
    found = result(Account(), given=given)

    assert 0 == found["staleness/span_age_p50"]
    assert 1.80 == round(found["staleness/token_age_mean"], 2)
    assert 2 == found["staleness/token_age_p50"]


def test_worked_example_10_throughput():
    """
    120,000 tokens in an interval of 60 s, 20 of them training and 10 the caller's: 2,000 tokens a second,
    not 4,000; and the batch took 50 s.
    """
    account = Account()
    result(account, now=100.0)
    account.entered(110.0)
    account.generated(120_000, group=1)
    account.training(130.0, busy=True)
    account.training(150.0, busy=False)

    found = result(account, now=160.0, given=batch(groups=(2,)))

    assert 2_000 == found["sampling/generated_tokens_per_second"]
    assert 50 == found["train/batch_seconds"]
    assert 60 == found["train/interval_seconds"]
    assert 20 == found["train/busy_seconds"]


def test_worked_example_11_a_hung_group():
    """
    What is waited for to keep the bound is no starvation; the group has a name.
    """
    account = Account()
    result(account, waits={"bound": 0.0, "groups": 4.0, "training": 1.0})

    found = result(
        account,
        now=31.0,
        given=batch(groups=(5,)),
        waits={"bound": 30.0, "groups": 4.0, "training": 1.0},
        wait_counts={"bound": 1},
        blocking=3,
        blocking_age=2,
        outstanding=12,
        ready=11,
        slack=0,
    )

    assert 30 == found["staleness/wait_seconds"]
    assert 1 == found["staleness/wait_count"]
    assert 0 == found["staleness/starvation_seconds"]
    assert (3, 2) == (found["staleness/blocking_group"], found["staleness/blocking_age"])
    assert (12, 11, 0) == tuple(
        found[f"staleness/{name}"] for name in ("reserved_groups", "ready_groups", "slack")
    )


def test_a_run_that_waits_for_nothing_names_no_group():
    """
    There is no such key, rather than a number that is none.
    """
    found = result(Account())

    assert not [name for name in found if "blocking" in name]
    assert "staleness/wait_count" not in found


def test_the_names_of_the_guide_are_there():
    """
    All six, for a batch with spans.
    """
    found = result(Account(), given=batch(spans(0)))

    assert {
        "train/batch_seconds",
        "sampling/generated_tokens_per_second",
        "staleness/span_age_p50",
        "staleness/span_age_p99",
        "staleness/wait_seconds",
        "staleness/reserved_groups",
    } <= found.keys()
    assert all(type(value) is float for value in found.values())


def test_the_peak_is_that_of_the_interval():
    """
    And begins anew with each result.
    """
    account = Account()
    account.reserved(16)
    account.reserved(9)
    first = result(account, outstanding=8)
    second = result(account, now=2.0, given=batch(groups=(1,)), outstanding=10)

    assert (8, 16) == (
        first["staleness/reserved_groups"],
        first["staleness/reserved_groups_peak"],
    )
    assert 10 == second["staleness/reserved_groups_peak"]


def held_against(found, unit):
    fates = [name for name in FATES if unit == "tokens" or name != "masked"]
    parts = [found[f"ledger/{fate}_{unit}"] for fate in (*fates, "held")]
    return found[f"ledger/generated_{unit}"], sum(parts)


@pytest.mark.parametrize("seed", range(30))
def test_the_ledger_closes(seed):
    """
    After every batch: generated = trained + masked + stale + surplus + failed + held, in tokens and in
    groups, whatever was retried, dropped late or sampled before the account was opened.
    """
    rng = random.Random(seed)
    account, open_groups, number = Account(), {}, 0
    for update in range(40):
        for _ in range(rng.randrange(6)):
            open_groups[number] = 0
            for _ in range(rng.randrange(1, 4)):
                tokens = rng.randrange(200)
                account.generated(tokens, number)
                open_groups[number] += tokens
            number += 1
        if rng.random() < 0.3:
            account.generated(rng.randrange(200), number, failed=True)  # an attempt that failed
        if open_groups and rng.random() < 0.4:
            gone = rng.choice(sorted(open_groups))
            del open_groups[gone]
            account.dropped(gone, rng.choice(["stale", "cancelled", "timeout", "failed"]))
            if rng.random() < 0.5:
                account.generated(50, gone)  # a member that came too late
        taken = rng.sample(sorted(open_groups), min(2, len(open_groups)))
        tokens = tuple(max(0, open_groups.pop(n) - rng.choice([0, 0, 10])) for n in taken)
        if rng.random() < 0.1:  # sampled by a process before this one
            taken, tokens = [*taken, 10_000 + update], (*tokens, 77)
        made = [Span(age=0, tokens=t, masked=rng.random() < 0.3) for t in tokens]
        given = batch(made, groups=tuple(taken), tokens=tokens)

        found = result(account, now=float(update + 1), given=given)

        for unit in ("tokens", "groups"):
            generated, parts = held_against(found, unit)
            assert generated == parts
        assert len(open_groups) == found["ledger/held_groups"]


def test_a_batch_that_an_earlier_process_trained():
    """
    Nobody here knows its tokens: what is held of its groups was trained, and the ledger closes.
    """
    account = Account()
    account.generated(30, 0)

    found = result(account, given=Batch(groups=(0, 1), spans=(), rewards=()))

    assert (30, 2, 0) == (
        found["ledger/trained_tokens"],
        found["ledger/trained_groups"],
        found["ledger/held_groups"],
    )
    for unit in ("tokens", "groups"):
        generated, parts = held_against(found, unit)
        assert generated == parts


def test_where_tokens_go_by_fate():
    """
    Each of the fates, one at a time.
    """
    account = Account()
    for group in range(5):
        account.generated(100, group)
    account.dropped(1, "stale")
    account.dropped(2, "cancelled")
    account.dropped(3, "timeout")
    given = batch([Span(age=0, tokens=60), Span(age=3, tokens=40, masked=True)], groups=(0,))

    found = result(account, given=given)

    expected = {
        "generated": 500,
        "trained": 60,
        "masked": 40,
        "stale": 100,
        "surplus": 100,
        "failed": 100,
        "held": 100,
    }
    assert expected == {name: found[f"ledger/{name}_tokens"] for name in expected}


def test_drops_and_retries_are_counted_by_reason_and_length():
    """
    So that a bias against long ones shows.
    """
    account = Account()
    account.generated(900, 1)
    account.generated(30, 2)
    account.dropped(1, "stale")
    account.dropped(2, "stale")
    account.retried("timeout", 513)

    found = result(account)

    assert 2 == found["drops/stale"]
    assert 1 == found["drops/stale/tokens_to_1024"]
    assert 1 == found["drops/stale/tokens_to_32"]
    assert 1 == found["retries/timeout/tokens_to_1024"]


def test_buckets_are_powers_of_two():
    """
    Each holds what is above the one before.
    """
    assert ["0", "1", "2", "4", "4", "8", "1024", "2048"] == [
        bucket(tokens) for tokens in (0, 1, 2, 3, 4, 5, 1024, 1025)
    ]
    assert "surplus" == fate_of("surplus")


@pytest.mark.parametrize("seed", range(20))
def test_busy_and_idle_seconds_are_all_seconds(seed):
    """
    On each side, over all pauses, whenever one asks.
    """
    rng = random.Random(seed)
    account, now, active = Account(concurrency=4), 0.0, 0
    for update in range(10):
        for _ in range(rng.randrange(20)):
            now += rng.random()
            if rng.random() < 0.5 and active < 4:
                account.episode_began(now)
                active += 1
            elif active:
                account.episode_ended(now)
                active -= 1
            if rng.random() < 0.3:
                account.training(now, busy=rng.random() < 0.5)
        now += rng.random()
        found = result(account, now=now, given=batch(groups=(update,)))
        for side in ("sampling", "train"):
            both = found[f"{side}/busy_seconds"] + found[f"{side}/idle_seconds"]
            assert pytest.approx(now) == both
        assert 0 <= found["sampling/slot_use"] <= 1


def test_a_stopwatch_keeps_whole_time():
    """
    The same state again is no beginning, and time that runs backwards counts as none.
    """
    watch = Stopwatch("groups")
    watch.to(1.0, "bound")
    watch.to(2.0, "bound")
    watch.to(1.5, "training")
    watch.to(4.0, "bound")

    assert {"groups": 1.0, "bound": 2.0, "training": 2.0} == watch.read(5.0)
    assert 2 == watch.begun["bound"]


def test_ages_split_into_flight_and_queue():
    """
    A group that was sampled from version 3 on, complete at 4 and trained at 6: one update in flight, two
    in the queue.
    """
    account = Account()
    account.moved(4)
    account.generated(10, 0)
    account.moved(6)
    given = batch(spans(3, tokens=10), version=6, oldest=(3,))

    found = result(account, given=given)

    assert pytest.approx(1 / 3) == found["staleness/age_in_flight_share"]
    assert pytest.approx(2 / 3) == found["staleness/age_in_queue_share"]


def test_ages_of_prefixes_and_those_that_were_computed_anew():
    """
    Over the segments whose prefix is of other weights; nothing is told where weights never changed.
    """

    def member(*parts):
        made = [
            Segment(version=v, actions=[0], logprobs=[-1.0], kv_version=cached)
            for v, cached in parts
        ]
        return Trajectory(segments=made, reward=1.0)

    group = TrajectoryGroup(
        number=7,
        task="t",
        members=(member((1, None), (2, 1), (4, 1)), member((1, None), (3, None), (4, 3), (4, 3))),
    )
    found, plain = (
        result(Account(), given=Batch.of([WeightedGroup(group=g, advantages=(1.0, -1.0))], 5, {}))
        for g in (group, attrs.evolve(group, members=(member((1, None)),) * 2))
    )

    assert (1, 3, 6 / 4) == (
        found["sampling/kv_refills"],
        found["staleness/kv_age_max"],
        found["staleness/kv_age_mean"],
    )
    assert not [name for name in plain if "kv_" in name]


def test_all_maps_are_bounded():
    """
    Nothing is kept of a group that was trained or dropped, but the names of the last dropped ones.
    """
    account = Account()
    for number in range(20_000):
        account.generated(1, number)
        if number % 2:
            account.dropped(number, "stale")
        else:
            account.used(batch(groups=(number,), tokens=(1,)))

    assert not account._held
    assert not account._completed
    assert len(account._gone) <= 4_096


def test_a_batch_is_counted_as_it_is_weighed():
    """
    Spans with their ages and masks, rewards of scored members, useful and fully masked members.
    """

    def member(versions, reward, scored=True):
        parts = tuple(Segment(version=v, actions=[0, 1], logprobs=[-1.0, -1.0]) for v in versions)
        return Trajectory(segments=parts, reward=reward, scored=scored)

    group = TrajectoryGroup(
        number=7,
        task="t",
        members=(member((9,), 1.0), member((9, 11), 0.0), member((11,), 0.5, scored=False)),
    )
    weighted = WeightedGroup(group=group, advantages=(0.5, -0.5, 0.0), oldest=10)

    found = Batch.of([weighted], 12, {"train/loss": 2.0})

    assert (7,) == found.groups
    assert [(3, True), (3, True), (1, False), (1, False)] == [
        (span.age, span.masked) for span in found.spans
    ]
    assert (1.0, 0.0) == found.rewards
    assert (8,) == found.tokens
    assert (1, 1, (9,)) == (found.useful, found.fully_masked, found.oldest)


@pytest.mark.parametrize("seed", range(20))
def test_weighted_quantiles_are_those_of_the_spelled_out_list(seed):
    """
    Every value repeated as often as it weighs.
    """
    rng = random.Random(seed)
    values = [rng.randrange(5) for _ in range(rng.randrange(1, 9))]
    weights = [rng.randrange(4) for _ in values]
    weights[0] += 1
    spelled = sorted(v for v, w in zip(values, weights, strict=True) for _ in range(w))

    for level in (0.0, 0.3, 0.5, 0.95, 1.0):
        place = max(0, -int(-level * len(spelled) // 1) - 1)
        assert spelled[place] == weighted_quantile(values, weights, level)
    assert pytest.approx(sum(spelled) / len(spelled)) == weighted_mean(values, weights)


def test_quantiles_lie_between_neighbours():
    """
    One value is every quantile of itself.
    """
    assert [3, 3] == [quantile([3], level) for level in (0.0, 0.99)]
    assert 0.0 == weighted_mean([1], [0])
    assert 2.5 == quantile([1, 2, 3, 4], 0.5)
