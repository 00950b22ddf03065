"""
Schedules by their names, and the controlled delay.
"""

from __future__ import annotations

import pytest

from headway.errors import OptionError
from headway.gate import Reservations
from headway.options import make_options
from headway_es import Delay, schedule
from headway_es._delay import held_cards, held_json
from headway_es._evidence import Evidence

NAMES = [
    f"{kind}-{bound}" for kind in ("wait", "admit", "pipeline", "drop") for bound in (1, 3, 12)
]


@pytest.mark.parametrize("name", ["sync", *NAMES])
def test_a_schedule_is_made_of_options_of_a_run(name):
    """
    All of them are known, and go together.
    """
    options = make_options({"updates": 1, **schedule(name)}, {})
    bound = 0 if name == "sync" else int(name.partition("-")[2])

    assert bound == options.staleness


@pytest.mark.parametrize("name", NAMES)
def test_no_more_than_k_and_one_batches_are_begun_and_not_used(name):
    """
    That is what bounds the work that waits, also before the first commit.
    """
    given = schedule(name)
    gate = Reservations(
        groups_per_step=7,
        rule="none" if given["policy"] == "drop" else "wait",
        **{k: given[k] for k in ("max_staleness", "admit_ahead", "batch_order", "bases")},
    )

    assert 7 * (given["max_staleness"] + 1) == gate.capacity


@pytest.mark.parametrize("kind", ["wait", "admit", "pipeline", "drop"])
def test_a_bound_of_nothing_is_sync(kind):
    """
    Whatever the word before it.
    """
    assert {"mode": "sync", "policy": "wait"} == schedule("sync") == schedule(f"{kind}-0")


@pytest.mark.parametrize(
    "name", ["", "async", "wait", "wait-", "wait-x", "wait--1", "Wait-1", "wait-1 "]
)
def test_another_name_is_refused(name):
    """
    With those that there are.
    """
    with pytest.raises(OptionError, match="sync, or wait-K, admit-K, pipeline-K or drop-K"):
        schedule(name)


def fresh(version, count=8):
    return [
        Evidence(
            job=version * count + i, fitness=(float(i), 0.5), sigma=0.1, base=version, batch=version
        )
        for i in range(count)
    ]


@pytest.mark.parametrize(("share", "by"), [(0.25, 1), (0.25, 4), (0.75, 2)])
def test_each_card_is_used_once_at_once_or_so_many_updates_later(share, by):
    """
    Batch t is the fresh rest of version t and what version t - D held; the last ones are left over.
    """
    delay, held, used = Delay(share=share, by=by), [], []
    for version in range(10):
        now, held = delay.split(fresh(version), held, seed=3, version=version)
        used.append(now)
    late = round(8 * share)
    jobs = [card.job for batch in used for card in batch]

    assert [8 - late] * by + [8] * (10 - by) == [len(batch) for batch in used]
    assert {0, by} == {card.lag for batch in used for card in batch}
    assert len(set(jobs)) == len(jobs)
    assert late * by == len(held)
    assert set(range(80)) == {*jobs, *(card.job for card in held)}
    assert all(card.base + card.lag == t for t, batch in enumerate(used) for card in batch)


def test_who_is_held_depends_on_the_seed():
    """
    And over many versions every place in a batch is held about as often.
    """
    delay = Delay(share=0.25, by=1)
    held = {
        seed: [
            card.job % 8
            for version in range(400)
            for card in delay.split(fresh(version), [], seed=seed, version=version)[1]
        ]
        for seed in (1, 2)
    }
    counts = [held[1].count(place) for place in range(8)]

    assert held[1] != held[2]
    assert 60 < min(counts) <= max(counts) < 140


def test_held_cards_survive_json():
    """
    As they were.
    """
    cards = fresh(3)

    assert cards == held_cards(held_json(cards))
    assert [] == held_cards(held_json([]))
