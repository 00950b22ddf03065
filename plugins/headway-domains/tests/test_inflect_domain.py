"""
Tests of the inflect domain's behaviour in a run.
"""

from __future__ import annotations

import random
import subprocess
import sys
from itertools import islice

import attrs
import pytest

from headway.contracts import Outcome, Task, canonical_json
from headway.errors import OptionError
from headway.keyed import keyed_rng
from headway_domains import _plugin
from headway_domains.inflect import Inflect
from headway_domains.inflect._propose import harmful, induced, useless

TASK = Task(
    id="made-up",
    data={
        "family": "verb-past",
        "items": [["walk", ["walked"]], ["stop", ["stopped"]], ["bet", ["bet", "betted"]]],
    },
)
FAILURES = [["stop", "stopped", "stoped"]]


def state_with(**families):
    """
    The initial state with the rules of some families, named with underscores.
    """
    given = {name.replace("_", "-"): rules for name, rules in families.items()}
    return {**Inflect().initial(), **given}


def held_out_score(domain, state):
    """
    The mean reward over the held-out tasks.
    """
    tasks = domain.tasks().held_out
    return sum(domain.measure(state, task) for task in tasks) / len(tasks)


def climb(seed, rollouts):
    """
    The simplest search there is: one rollout, one rule, kept when the held-out score rises.
    """
    domain = Inflect()
    state, best = domain.initial(), 0.0
    for n in range(rollouts):
        task = keyed_rng(seed, "task", n).choice(domain.tasks().train)
        outcome = domain.rollout(state, task, rng=keyed_rng(seed, "rollout", n))
        diff = domain.propose(state, task, outcome, rng=keyed_rng(seed, "propose", n))
        candidate = state if diff is None else domain.apply(state, diff)
        score = held_out_score(domain, candidate)
        state, best = (candidate, score) if score > best else (state, best)
    return state, best


def test_rollout_tells_what_went_wrong():
    """
    The reward is the share of right forms; any listed spelling is right; the first is the model.
    """
    state = state_with(verb_past={"": "ed", "et": "etted"})
    outcome = Inflect().rollout(state, TASK, rng=random.Random(0))

    assert outcome == Outcome(
        reward=pytest.approx(2 / 3), output={"family": "verb-past", "failures": FAILURES}
    )


def test_measure_is_the_reward_of_a_rollout():
    """
    Measuring gives what a rollout gives, with or without random numbers.
    """
    domain, state = Inflect(), state_with(verb_past={"": "ed"})
    rewards = {
        domain.rollout(state, TASK, rng=random.Random(0)).reward,
        domain.measure(state, TASK),
        domain.measure(state, TASK, rng=random.Random(1)),
    }

    assert len(rewards) == 1


def test_empty_library_is_a_poor_start():
    """
    Without rules the held-out score is above nothing and at most 0.12.
    """
    assert 0 < held_out_score(Inflect(), Inflect().initial()) <= 0.12


@pytest.mark.parametrize("seed", range(30))
def test_proposed_rule_mends_its_failure(seed):
    """
    Whatever the context, the rule turns the failed lemma into its form.
    """
    edit = induced("verb-past", FAILURES, random.Random(seed))
    state = Inflect().apply(Inflect().initial(), edit.to_diff())
    mended = Task(id="one", data={"family": "verb-past", "items": [["stop", ["stopped"]]]})

    assert Inflect().measure(state, mended) == 1.0


def test_context_is_of_random_length():
    """
    One failure gives rules from no context at all up to the whole word.
    """
    found = {induced("verb-past", FAILURES, random.Random(seed)).suffix for seed in range(200)}

    assert found == {"", "p", "op", "top", "stop"}


def test_nothing_is_proposed_when_nothing_failed():
    """
    A rollout without failures gives no proposal.
    """
    outcome = Outcome(reward=1.0, output={"family": "verb-past", "failures": []})

    assert Inflect().propose({}, TASK, outcome, rng=random.Random(0)) is None


def test_equal_random_numbers_give_equal_answers():
    """
    Rollouts, proposals and measurements depend on their arguments and on rng alone.
    """
    options = {"noise": 0.1, "useless": 0.3, "harmful": 0.3}

    def answers():
        domain = Inflect(**options)
        state = domain.initial()
        for n, task in enumerate(islice(domain.tasks().train, 30)):
            outcome = domain.rollout(state, task, rng=random.Random(n))
            diff = domain.propose(state, task, outcome, rng=random.Random(n))
            yield outcome, diff, domain.measure(state, task, rng=random.Random(n))

    assert list(answers()) == list(answers())


def test_waiting_changes_no_answer():
    """
    With a latency, without one and under a virtual clock, a ticket gives the same answers.
    """
    waiting = Inflect(latency="constant:0.0001", noise=0.1)
    answers = [
        (outcome, domain.propose(domain.initial(), TASK, outcome, rng=random.Random(5)))
        for domain in (waiting, waiting.virtual(), Inflect(noise=0.1))
        for outcome in [domain.rollout(domain.initial(), TASK, rng=random.Random(4))]
    ]

    assert answers[0] == answers[1] == answers[2]


def test_latency_is_slept_and_the_virtual_twin_does_not_sleep(monkeypatch):
    """
    Each of the three calls sleeps its drawn time, except under a virtual clock.
    """
    slept = []
    monkeypatch.setattr("headway_domains._latency.time.sleep", slept.append)
    domain = Inflect(latency="constant:0.02")
    for used in (domain, domain.virtual()):
        outcome = used.rollout(used.initial(), TASK, rng=random.Random(0))
        used.propose(used.initial(), TASK, outcome, rng=random.Random(0))
        used.measure(used.initial(), TASK, rng=random.Random(0))

    assert slept == [0.02] * 3


def test_durations_are_the_latency_law():
    """
    The simulated driver is told the law for each kind of work, and nothing when there is none.
    """
    law = "lognormal:0.05,0.8"
    told = {kind: str(known) for kind, known in Inflect(latency=law).durations().items()}

    assert told == dict.fromkeys(("rollout", "propose", "measure"), law)
    assert Inflect().durations() == {}


def test_noise_makes_the_domain_random_and_keeps_rewards_valid():
    """
    Noisy rewards differ, average to nearly the share, and stay within the valid range.
    """
    domain, state = Inflect(noise=0.2), state_with(verb_past={"": "ed"})
    rewards = [domain.measure(state, TASK, rng=random.Random(n)) for n in range(2000)]

    assert (Inflect().deterministic, domain.deterministic) == (True, False)
    assert 0 <= min(rewards) < max(rewards) <= 1
    assert sum(rewards) / len(rewards) == pytest.approx(1 / 3, abs=0.03)


def test_useless_rule_changes_nothing_but_the_state():
    """
    A useless proposal is no no-op, and the score stays as it is.
    """
    domain, state = Inflect(), state_with(verb_past={"": "ed"})
    after = domain.apply(state, useless("verb-past", FAILURES, random.Random(0)).to_diff())

    assert canonical_json(state) != canonical_json(after)
    assert held_out_score(domain, state) == held_out_score(domain, after)


def test_harmful_rule_lowers_the_score():
    """
    A harmful proposal breaks words that came out right.
    """
    domain, state = Inflect(), state_with(verb_past={"": "ed"})
    failures = [["go", "went", "goed"], ["bet", "bet", "beted"]]
    diff = harmful("verb-past", failures[1:], random.Random(0)).to_diff()

    assert held_out_score(domain, state) > held_out_score(domain, domain.apply(state, diff))


def test_shares_of_bad_proposals_are_as_asked():
    """
    The options say how many proposals are useless and how many harmful.
    """
    domain = Inflect(useless="0.25", harmful="0.25")
    outcome = Outcome(reward=0.0, output={"family": "verb-past", "failures": FAILURES})
    diffs = [domain.propose({}, TASK, outcome, rng=random.Random(n)) for n in range(2000)]
    useless_share = sum(diff["suffix"].startswith("qq") for diff in diffs) / len(diffs)
    harmful_share = sum(diff["replacement"] == "" for diff in diffs) / len(diffs)

    assert (useless_share, harmful_share) == (
        pytest.approx(0.25, abs=0.03),
        pytest.approx(0.25, abs=0.03),
    )


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("latency", "soon"),
        ("latency", "pareto:1,1"),
        ("noise", "loud"),
        ("noise", -0.1),
        ("noise", None),
        ("noise", False),
        ("noise", "nan"),
        ("useless", 1.5),
        ("harmful", "-1"),
        ("interaction", 1.1),
    ],
)
def test_bad_option_names_itself_its_value_and_a_remedy(option, value):
    """
    A value that cannot be used is refused at once, in the words that the user typed.
    """
    with pytest.raises(OptionError, match="Give ") as caught:
        Inflect(**{option: value})

    assert (option, value) == (caught.value.option, caught.value.value)


def test_shares_of_bad_proposals_fit_together():
    """
    The two shares may not exceed all proposals.
    """
    with pytest.raises(OptionError, match=r"at most 0\.4"):
        Inflect(useless=0.6, harmful=0.5)


def test_rules_that_interact_help_alone_and_hurt_together():
    """
    Two rules that each raise the score leave less than either when the library has both.
    """
    domain = Inflect(interaction=1)
    one, other = {"": "ed"}, {"e": "ed"}
    scores = [
        held_out_score(domain, state_with(verb_past=rules))
        for rules in ({}, one, other, {**one, **other})
    ]

    assert scores[0] < min(scores[1:3])
    assert scores[0] == scores[3]
    assert held_out_score(Inflect(), state_with(verb_past={**one, **other})) > max(scores)


def test_rollouts_see_interaction_too():
    """
    A rollout and a measurement score alike.
    """
    domain, state = Inflect(interaction=1), state_with(verb_past={"": "ed", "et": "et"})

    assert domain.measure(state, TASK) == domain.rollout(state, TASK, rng=random.Random(0)).reward


def test_options_arrive_as_text():
    """
    Numbers from a command line are as good as numbers.
    """
    assert Inflect(noise="0.1").noise == Inflect(noise=0.1).noise


def test_every_option_is_described():
    """
    The constructor takes exactly the options that are described.
    """
    taken = {field.name for field in attrs.fields(Inflect) if field.init}

    assert set(Inflect.options) == taken


def test_search_learns_english():
    """
    200 rollouts of plain hill climbing with a fixed seed reach a held-out score of 0.9.
    """
    state, score = climb(seed=0, rollouts=200)

    assert score >= 0.9
    assert len(canonical_json(state)) < 4_000


def test_plug_in_names_an_importable_target():
    """
    The name that people type leads to the domain.
    """
    module, _, attribute = _plugin.headway_domains()["inflect"].partition(":")

    assert (module, attribute) == ("headway_domains.inflect", Inflect.__name__)


def test_plug_in_imports_no_domain():
    """
    Looking at what is on offer imports no domain and reads no data.
    """
    script = (
        "import sys, headway_domains._plugin; "
        "print([m for m in sys.modules if m.startswith('headway_domains.')])"
    )
    printed = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout

    assert printed.strip() == "['headway_domains._plugin']"
