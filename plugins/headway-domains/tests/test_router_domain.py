"""
Tests of the router domain.
"""

from __future__ import annotations

import random
from collections import Counter

import attrs
import pytest

from headway.contracts import Outcome, Task
from headway.errors import ContractError, OptionError
from headway.keyed import keyed_rng
from headway_domains import _plugin
from headway_domains.router import Router, make_task_universe, read_routes, route
from headway_domains.router._universe import LABELS

TASK = Task(
    id="made-up",
    data={
        "items": [
            ["my parcel 3", "delivery"],
            ["the parcel 5", "delivery"],
            ["about refund 1", "returns"],
            ["that invoice 0", "billing"],
        ]
    },
)
WRONG = {"misclassified": {"parcel": None, "refund": None, "invoice": "sales"}}
GOLD = {"parcel": "delivery", "refund": "returns", "invoice": "billing"}


def test_rollout_names_what_came_out_wrong():
    """
    The reward is the share of messages that get the right label.
    """
    state = {"parcel": "delivery", "invoice": "sales"}
    outcome = Router().rollout(state, TASK, rng=random.Random(0))

    assert outcome == Outcome(
        reward=0.5, output={"misclassified": {"refund": None, "invoice": "sales"}}
    )


def test_measure_is_the_reward_of_a_rollout():
    """
    Measuring gives what a rollout gives, with or without random numbers.
    """
    domain, state = Router(), {"parcel": "delivery"}
    rewards = {
        domain.rollout(state, TASK, rng=random.Random(0)).reward,
        domain.measure(state, TASK),
        domain.measure(state, TASK, rng=random.Random(1)),
    }

    assert {0.5} == rewards


def test_gold_table_is_all_that_can_be_learned():
    """
    An empty table gets nothing right, the right labels get everything right, on every task.
    """
    domain = Router()
    splits = domain.tasks()
    scores = {
        name: {domain.measure(state, task) for task in (*splits.train, *splits.held_out)}
        for name, state in (("none", {}), ("all", dict(domain.universe.gold)))
    }

    assert {"none": {0.0}, "all": {1.0}} == scores
    assert () == splits.test


def test_proposal_has_the_right_labels_without_noise():
    """
    All that were wrong, when they are at most four.
    """
    diff = Router(noise=0).propose(
        {}, TASK, Outcome(reward=0.0, output=WRONG), rng=random.Random(0)
    )

    assert GOLD == diff


def test_proposal_has_at_most_four_keywords():
    """
    Which four of them is left to chance.
    """
    domain = Router(noise=0)
    task = max(domain.tasks().train, key=lambda task: len(task.data["items"]))
    outcome = domain.rollout({}, task, rng=random.Random(0))
    found = [domain.propose({}, task, outcome, rng=random.Random(n)) for n in range(50)]

    assert 5 == len(outcome.output["misclassified"])
    assert {4} == {len(diff) for diff in found}
    assert set(outcome.output["misclassified"]) == set().union(*found)


def test_noise_is_the_share_of_wrong_labels():
    """
    Each label of each proposal is wrong by itself, with any of the other labels.
    """
    domain, outcome = Router(noise=0.25), Outcome(reward=0.0, output=WRONG)
    diffs = [domain.propose({}, TASK, outcome, rng=random.Random(n)) for n in range(2000)]
    labels = Counter(diff["parcel"] for diff in diffs)
    wrong = sum(diff[keyword] != GOLD[keyword] for diff in diffs for keyword in diff)

    assert pytest.approx(0.25, abs=0.02) == wrong / 6000
    assert set(LABELS) == set(labels)


def test_wrong_label_is_another_one_than_the_table_has():
    """
    A proposal changes every keyword that it names.
    """
    domain, outcome = Router(noise=1), Outcome(reward=0.0, output=WRONG)
    state = {"invoice": "sales"}
    diffs = [domain.propose(state, TASK, outcome, rng=random.Random(n)) for n in range(200)]

    assert {"account", "delivery", "returns", "support"} == {diff["invoice"] for diff in diffs}


def test_noise_is_drawn_afresh_at_every_attempt():
    """
    A label that one ticket gets wrong another one gets right: no mistake is for good.
    """
    domain, outcome = Router(noise=0.5), Outcome(reward=0.0, output=WRONG)
    tickets = [keyed_rng(0, "propose", number) for number in range(30)]
    labels = {domain.propose({}, TASK, outcome, rng=rng)["parcel"] for rng in tickets}

    assert "delivery" in labels
    assert len(labels) > 2


def test_proposal_leaves_out_what_the_newer_head_mended():
    """
    A proposal may be made against a newer table than its rollout's.
    """
    domain, outcome = Router(noise=0), Outcome(reward=0.0, output=WRONG)
    rng = random.Random(0)

    assert {"invoice": "billing"} == domain.propose(
        {"parcel": "delivery", "refund": "returns"}, TASK, outcome, rng=rng
    )
    assert domain.propose(GOLD, TASK, outcome, rng=rng) is None


def test_apply_sets_and_strikes_out():
    """
    The old table stays as it is.
    """
    state = {"parcel": "sales", "tax": "billing"}
    after = Router().apply(state, {"parcel": "delivery", "tax": None, "login": None})

    assert {"parcel": "delivery"} == after
    assert {"parcel": "sales", "tax": "billing"} == state


@pytest.mark.parametrize("diff", [None, {}, [], {"parcel": 1}, {3: "sales"}, "parcel"])
def test_what_is_no_diff_is_refused(diff):
    """
    The message shows it.
    """
    with pytest.raises(ContractError, match="not a change of a routing table"):
        Router().apply({}, diff)


def test_keys_are_keywords():
    """
    Changes of different keywords can be merged.
    """
    assert ("invoice", "parcel") == Router().keys({"parcel": "delivery", "invoice": None})


def test_rebase_keeps_what_is_not_there_yet():
    """
    By keyword; nothing is left when the newer table has all of it.
    """
    domain, diff = Router(), {"parcel": "delivery", "tax": "billing", "login": None}

    assert {"tax": "billing"} == domain.rebase(diff, {"parcel": "delivery", "tax": "sales"})
    assert domain.rebase(diff, {"parcel": "delivery", "tax": "billing"}) is None


def test_removals_strike_one_keyword_out_each():
    """
    Together they would leave an empty table.
    """
    domain, state = Router(), {"tax": "billing", "parcel": "delivery"}
    removals = domain.removals(state)

    assert [{"tax": "billing"}, {"parcel": "delivery"}] == [
        domain.apply(state, diff) for diff in removals
    ]
    assert [("parcel",), ("tax",)] == [domain.keys(diff) for diff in removals]


@pytest.mark.parametrize("state", [{}, {"parcel": "delivery", "invoice": "billing"}])
def test_page_can_be_read_back(state):
    """
    What people read is the whole table.
    """
    assert state == read_routes(Router().render(state))


def test_message_goes_by_its_keyword():
    """
    A message without a listed keyword gets no label.
    """
    assert "delivery" == route({"parcel": "delivery"}, "my parcel 3")
    assert route({"parcel": "delivery"}, "my parcels 3") is None


def test_latency_is_slept_and_the_virtual_twin_does_not_sleep(monkeypatch):
    """
    Each of the three calls sleeps its drawn time, except under a virtual clock.
    """
    slept = []
    monkeypatch.setattr("headway_domains._latency.time.sleep", slept.append)
    domain = Router(latency="constant:0.02")
    for used in (domain, domain.virtual()):
        outcome = used.rollout({}, TASK, rng=random.Random(0))
        used.propose({}, TASK, outcome, rng=random.Random(0))
        used.measure({}, TASK, rng=random.Random(0))

    assert [0.02] * 3 == slept
    assert {"rollout", "propose", "measure"} == set(domain.durations())
    assert {} == Router().durations()


def test_waiting_changes_no_answer():
    """
    With a latency, without one and under a virtual clock, a ticket gives the same answers.
    """
    waiting = Router(latency="constant:0.0001", noise=0.5)
    outcome = Outcome(reward=0.0, output=WRONG)
    answers = [
        domain.propose({}, TASK, outcome, rng=random.Random(5))
        for domain in (waiting, waiting.virtual(), Router(noise=0.5))
    ]

    assert [answers[0]] * 3 == answers


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("latency", "soon"),
        ("noise", "loud"),
        ("noise", 1.5),
        ("noise", True),
        ("noise", 10**400),
        ("universe", "mine"),
        ("universe", -1),
        ("universe", True),
        ("universe", None),
    ],
)
def test_bad_option_names_itself_its_value_and_a_remedy(option, value):
    """
    A value that cannot be used is refused at once, in the words that the user typed.
    """
    with pytest.raises(OptionError, match="Give ") as caught:
        Router(**{option: value})

    assert (option, value) == (caught.value.option, caught.value.value)


def test_universe_is_an_object_or_its_seed():
    """
    A command line can only give the seed.
    """
    universe = make_task_universe(5)

    assert universe is Router(universe=universe).universe
    assert universe == Router(universe=5).universe == Router(universe="5").universe


def test_every_option_is_described():
    """
    The constructor takes exactly the options that are described.
    """
    taken = {field.name for field in attrs.fields(Router) if field.init}

    assert set(Router.options) == taken


def test_plug_in_names_an_importable_target():
    """
    The name that people type leads to the domain.
    """
    module, _, attribute = _plugin.headway_domains()["router"].partition(":")

    assert ("headway_domains.router", "Router") == (module, attribute)
