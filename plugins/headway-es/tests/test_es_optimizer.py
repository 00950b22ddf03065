"""
The optimizer's select and step by hand, its report, and what it refuses.
"""

from __future__ import annotations

import random
from copy import deepcopy

import numpy as np
import pytest

from headway.contracts import Artifact, Card, Commit, Member, Snapshot, StepContext, Ticket
from headway.errors import ContractError, OptionError
from headway_es import ES, SGD, Delay, Importance, report_of, state_of, theta_of
from headway_es._kernels import candidates
from headway_es._noise import source_of
from headway_es._objectives import sphere

DIM, SEED = 12, 5


def ticket(group, attempt=0):
    return Ticket(100 + group, 0, 0, SEED, group, 0, attempt)


def snapshot(version=0, theta=None):
    return Snapshot(version, Artifact(state_of(np.ones(DIM) if theta is None else theta)))


def card(aggregator, job, head, function=sphere, output=None):
    payload = aggregator.select(ticket(job), head, None, random.Random(0)).payload
    source = source_of(payload["noise"], payload["seed"], DIM)
    halves = candidates(source, job, theta_of(head.artifact.value), payload["sigma"])
    values = [function(half) for half in halves]
    names = ("f_plus", "f_minus") if payload["mirrored"] else ("f_plus",)
    given = dict(zip(names, values, strict=False)) if output is None else output
    member = Member(100 + job, 0, head.version, payload, sum(values) / 2, given)
    return Card(
        number=job,
        tickets=(100 + job,),
        task="train-0",
        base=head.version,
        diff=None,
        digest=f"group {job}",
        members=(member,),
    )


def context(head, memory=None):
    return StepContext(
        head=head,
        memory=deepcopy(memory),
        held_out=("h",),
        deterministic=True,
        quiet=False,
        rng=random.Random(0),
        step=head.version,
        combine=lambda artifact, *diffs: artifact,
    )


def stepped(aggregator, cards, head, memory=None):
    (request,) = list(aggregator.step(cards, context(head, memory)))

    assert isinstance(request, Commit)
    return request


def test_what_is_sent_names_the_perturbation_and_does_not_hold_it():
    """
    A few numbers and words, the same for every attempt and whatever the head is.
    """
    aggregator = ES(population=4)
    work = aggregator.select(ticket(9), snapshot(), None, random.Random(0))
    again = aggregator.select(ticket(9, attempt=2), snapshot(3), {"a": 1}, random.Random(1))

    assert work == again
    assert {
        "job": 9,
        "batch": 2,
        "seed": SEED,
        "sigma": 0.05,
        "noise": "zig32-v1",
        "mirrored": True,
    } == work.payload
    assert work.parent is None


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_arrival_does_not_show(seed):
    """
    Not in theta, and not in the memory.
    """
    aggregator, head = ES(population=20), snapshot()
    cards = [card(aggregator, job, head) for job in range(20)]
    wanted = stepped(aggregator, cards, head)
    random.Random(seed).shuffle(cards)
    found = stepped(aggregator, cards, head)

    assert wanted.candidate.digest == found.candidate.digest
    assert wanted.memory["report"] == found.memory["report"]
    assert wanted.memory["moments"] == found.memory["moments"]


def test_a_step_leaves_what_it_is_given_and_keeps_nothing():
    """
    Run twice on the same, it asks for the same; moments are artifacts, which are never copied.
    """
    aggregator, head = ES(population=6), snapshot()
    first = stepped(aggregator, [card(aggregator, j, head) for j in range(6)], head)
    head = Snapshot(1, first.candidate)
    cards = [card(aggregator, j, head) for j in range(6, 12)]
    one, other = (stepped(aggregator, cards, head, first.memory) for _ in range(2))

    assert one.candidate.digest == other.candidate.digest
    assert one.memory == other.memory
    assert isinstance(one.memory["moments"]["m"], Artifact)
    assert one.candidate.digest != first.candidate.digest


def test_what_else_is_in_the_state_stays_there():
    """
    Somebody's own field.
    """
    aggregator = ES(population=2)
    value = {**state_of(np.ones(DIM)), "about": "mine"}
    head = Snapshot(0, Artifact(value))
    commit = stepped(aggregator, [card(aggregator, j, head) for j in range(2)], head)

    assert "mine" == commit.candidate.value["about"]


def test_the_last_batch_may_be_smaller():
    """
    One pair is a batch too; none asks for nothing.
    """
    aggregator, head = ES(population=8), snapshot()

    assert head.digest != stepped(aggregator, [card(aggregator, 0, head)], head).candidate.digest
    assert [] == list(aggregator.step([], context(head)))


def walked(aggregator, bases, memory=None):
    """
    Steps whose batches have cards of the versions that are given; the memory after the last.
    """
    heads, job = [snapshot()], 0
    for batch in bases:
        cards = []
        for base in batch:
            cards.append(card(aggregator, job, heads[base]))
            job += 1
        commit = stepped(aggregator, cards, heads[-1], memory)
        heads.append(Snapshot(len(heads), commit.candidate))
        memory = commit.memory
    return memory, heads


def test_the_report_tells_how_old_the_cards_were():
    """
    Mean, quantiles, the largest, and the share that was stale.
    """
    memory, _ = walked(ES(population=4), [[0] * 4, [0, 0, 1, 1], [0, 2, 2, 2]])
    report = report_of(memory)

    assert {0: 9, 1: 2, 2: 1} == dict(report.lags)
    assert (12, 3, 2) == (report.cards, report.updates, report.max_lag)
    assert 4 / 12 == pytest.approx(report.mean_lag)
    assert 3 / 12 == pytest.approx(report.share_stale)
    assert [0, 1, 2] == [report.lag(level) for level in (0.5, 0.9, 0.99)]
    assert [0, 1] == [report.lag(level) for level in (9 / 12, 11 / 12)]  # not exceeded is enough


def test_the_report_tells_how_far_the_centre_has_gone_and_what_that_did():
    """
    The distance in units of sigma, and how much less fit the stale cards were.
    """
    memory, heads = walked(ES(population=6, cosine=True), [[0] * 6] * 3 + [[1, 1, 3, 3, 3, 3]])
    last = report_of(memory).last
    gone = theta_of(heads[1].artifact.value) - theta_of(heads[3].artifact.value)

    assert {1: np.linalg.norm(gone) / 0.05} == pytest.approx(dict(last.drift))
    assert last.offset < 0
    assert -1 <= last.cosine <= 1
    assert -0.9 < last.cosine_fresh < 0.9  # two halves of noise, and none of them twice
    assert (3, 6, 1.0) == (last.version, last.cards, last.rate)


def test_looking_changes_nothing():
    """
    With the cosines and a longer history theta is the same, to the bit.
    """
    bases = [[0] * 6, [0, 0, 1, 1, 1, 1], [0, 1, 2, 2, 2, 2]]
    plain, watched = ES(population=6), ES(population=6, cosine=True, history=9)

    assert walked(plain, bases)[1][-1].digest == walked(watched, bases)[1][-1].digest


def test_as_many_centres_are_held_as_are_asked_for():
    """
    None with history=0; as many as importance weights need.
    """
    bases = [[v] * 2 for v in range(6)]
    found = {
        name: sorted(walked(aggregator, bases)[0]["thetas"])
        for name, aggregator in {
            "none": ES(population=2, history=0),
            "two": ES(population=2, history=2),
            "weights": ES(population=2, history=0, corrections=[Importance(history=3)]),
        }.items()
    }

    assert {"none": [], "two": ["3", "4", "5"], "weights": ["2", "3", "4", "5"]} == found


def test_refused_weights_are_counted():
    """
    In the report, with what was left of the sample.
    """
    aggregator = ES(population=4, corrections="importance", optimizer=SGD(lr=30.0))
    memory, _ = walked(aggregator, [[0] * 4, [1] * 4, [0, 0, 2, 2]])
    report = report_of(memory)

    assert 1 == report.refused
    assert 0.5 > report.last.effective >= 0


def test_a_memory_of_another_kind_has_no_report():
    """
    Before the first step it is empty.
    """
    assert 0 == report_of(None).updates
    assert (0.0, 0, 0.0, 0) == (
        report_of(None).mean_lag,
        report_of(None).max_lag,
        report_of(None).share_stale,
        report_of(None).lag(0.5),
    )
    with pytest.raises(ContractError, match="no memory of an evolution strategy"):
        report_of({"walker": None})


def test_the_delay_is_keyed_by_seed_and_version_and_by_nothing_else():
    """
    Fitness is not in it; a quarter of eight cards is two.
    """
    aggregator, head = ES(population=8, delay=Delay(share=0.25, by=2)), snapshot()

    def held(function, version):
        at = Snapshot(version, head.artifact)
        cards = [card(aggregator, job, at, function) for job in range(8)]
        return [one["job"] for one in stepped(aggregator, cards, at).memory["held"]]

    assert held(sphere, 0) == held(lambda x: float(x[0]), 0)
    assert {2} == {len(held(sphere, version)) for version in range(5)}
    assert 1 < len({tuple(held(sphere, version)) for version in range(5)})


def test_a_batch_that_is_all_held_moves_nothing():
    """
    It can only be the last one, when it is smaller than the others.
    """
    aggregator, head = ES(population=10, delay=Delay(share=0.6, by=2)), snapshot()
    commit = stepped(aggregator, [card(aggregator, 0, head)], head)

    assert head.digest == commit.candidate.digest
    assert [0] == [one["job"] for one in commit.memory["held"]]
    assert (0, 1) == (report_of(commit.memory).updates, report_of(commit.memory).held)


def test_steps_that_lead_nowhere_are_told():
    """
    With the remedy.
    """
    aggregator, head = ES(population=2, optimizer=SGD(lr=1e308), shaping="raw"), snapshot()
    cards = [card(aggregator, job, head, lambda x: 1e10 * sphere(x)) for job in range(2)]
    with (
        pytest.warns(RuntimeWarning, match="overflow"),
        pytest.raises(ContractError, match="not finite; take a lower learning rate"),
    ):
        stepped(aggregator, cards, head)


@pytest.mark.parametrize("output", [None, {"f": 1.0}, {"f_plus": "much"}, [1.0]])
def test_cards_of_another_domain_are_told(output):
    """
    What it must be instead.
    """
    aggregator, head = ES(population=1), snapshot()
    given = card(aggregator, 0, head, output=output or {})
    with pytest.raises(ContractError, match="must be one of ESDomain's"):
        stepped(aggregator, [given], head)


def test_pairs_and_single_samples_do_not_mix():
    """
    In one batch.
    """
    head = snapshot()
    cards = [card(ES(mirrored=bool(j)), j, head) for j in range(2)]
    with pytest.raises(ContractError, match="pairs and single samples"):
        stepped(ES(population=2), cards, head)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"shaping": "rank"}, "Did you mean 'ranks'"),
        ({"optimizer": "adamw"}, "Did you mean 'adam'"),
        ({"corrections": "recentre,decoy"}, "Did you mean 'decay'"),
        ({"noise": "zig32"}, "Give zig32-v1"),
        ({"optimizer": SGD(), "lr": 0.1}, "to the optimizer that you pass"),
        ({"mirrored": False, "shaping": "pair-z"}, "needs mirrored pairs"),
        ({"corrections": "importance", "shaping": "raw"}, "shaping='ranks' alone"),
    ],
)
def test_options_that_cannot_be_used_are_refused(options, told):
    """
    When it is made, with what to give instead.
    """
    with pytest.raises(OptionError, match=told):
        ES(**options)


@pytest.mark.parametrize(
    ("name", "value"),
    [("population", 0), ("sigma", 0), ("lr", -1), ("history", -1), ("max_lag", -1)],
)
def test_numbers_are_checked(name, value):
    """
    By name.
    """
    with pytest.raises(ValueError, match=name):
        ES(**{name: value})
    with pytest.raises(ValueError, match="share"):
        Delay(share=1.0, by=2)


def test_corrections_are_given_by_name_or_as_objects():
    """
    In one text, with commas between them, as a command line has them.
    """
    assert (
        ES(corrections="recentre,rate").corrections
        == ES(corrections=["recentre", "rate"]).corrections
    )
    assert () == ES(corrections="").corrections
