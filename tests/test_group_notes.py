"""
What is said before a run that learns from outcomes, and of options that it has no use for.
"""

from __future__ import annotations

import warnings

import pytest
from climbing import Climber, Hill

from headway import run
from headway._group_notes import ASYNC_ALONE, FOR_OUTCOMES, FOR_PROPOSALS
from headway.builtins._policies import Window
from headway.contracts import Artifact, Commit
from headway.errors import OptionError
from headway.testing import ToyDomain

SET = {
    "async_ratio": 7,
    "resync": "lag",
    "bind": "early",
    "self_verify": False,
    "max_wait_rounds": 3,
    "carry_limit": 5,
    "stall_patience": 9,
    "round_size": 5,
    "refresh_interval": 2,
    "round_timeout": 4.0,
    "max_staleness": 4,
    "admit_ahead": 2,
    "oversample_factor": 1.25,
    "batch_order": "admission",
    "bases": "stamp",
    "member_attempts": 2,
    "least_members": 2,
    "lost_groups": "drop",
    "stall_alarm": 5.0,
}
"""Another value than the default of each option that one kind of aggregator alone has a use for."""


def told_by(domain, **options):
    """
    A short simulated run: what is warned of, and the result.
    """
    options = {"driver": "simulated", "n_workers": 16, **options}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = run(domain, **options)
    return [str(warning.message) for warning in caught], result


def climbed(**options):
    return told_by(Hill(), **{"aggregator": Climber(), "updates": 3, **options})


def test_every_option_of_one_kind_is_set_here():
    """
    So that none is left out of the tests below.
    """
    assert set(SET) == {*FOR_PROPOSALS, *FOR_OUTCOMES}


@pytest.mark.parametrize("option", FOR_PROPOSALS)
def test_options_for_proposals_are_noted_where_outcomes_are_learnt_from(option):
    """
    Once each; they change nothing.
    """
    told, result = climbed(**{option: SET[option]})
    _, plain = climbed()

    assert [True] == [text.startswith(f"{option}={SET[option]} has no meaning") for text in told]
    assert "learns from outcomes" in told[0]
    assert plain.digest == result.digest


@pytest.mark.parametrize("option", FOR_OUTCOMES)
def test_options_for_outcomes_are_noted_where_proposals_are_learnt_from(option):
    """
    Once each; they change nothing.
    """
    told, result = told_by(ToyDomain(), max_rollouts=20, **{option: SET[option]})
    _, plain = told_by(ToyDomain(), max_rollouts=20)

    assert [True] == [text.startswith(f"{option}={SET[option]} has no meaning") for text in told]
    assert "learns from proposals" in told[0]
    assert plain.digest == result.digest


@pytest.mark.parametrize("option", ASYNC_ALONE)
def test_options_of_staleness_are_noted_in_sync_mode(option):
    """
    There nothing is stale.
    """
    told, result = climbed(mode="sync", **{option: SET[option]})
    _, plain = climbed(mode="sync")

    assert [f"{option}={SET[option]} has no meaning in sync mode"] == [
        text.partition(" and is")[0] for text in told
    ]
    assert plain.digest == result.digest


def test_a_run_with_nothing_odd_is_told_of_its_ages_and_warned_of_nothing():
    """
    The mean and the largest, which the two dials set.
    """
    told, result = climbed(max_staleness=3)

    assert [] == told
    assert (
        "ages of groups, in versions: mean about 1 while 8 are under way; never more than 3"
    ) in result.notes


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"mode": "sync"}, "each update waits for its batch of 4 groups: ages are 0"),
        ({"admit_ahead": 2}, "mean about 2 while"),
        ({"n_workers": 4}, "less since that takes 16 workers; never more than 2"),
        ({"n_workers": 4, "bases": "stamp"}, "8 are under way; never"),
        ({"policy": "soft"}, "the largest has no bound"),
        ({"policy": "mask"}, "the largest has no bound"),
        ({"policy": "drop"}, "older than 2 is thrown away, slow rollouts more often"),
        ({"policy": "drop", "max_staleness": 5}, "older than 5 is thrown away"),
        ({"policy": Window(5)}, "never more than 3"),
    ],
)
def test_the_ages_to_expect_are_told(options, said):
    """
    As the gate's bound and the policy have them.
    """
    _, result = climbed(**options)
    (note,) = [note for note in result.notes if "age" in note]

    assert said in note


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"admit_ahead": 2, "oversample_factor": 1.5}, ["oversample_factor=1.5 has no effect"]),
        ({"admit_ahead": 9, "oversample_factor": 1.5}, ["oversample_factor=1.5 has no effect"]),
        ({"admit_ahead": 1, "oversample_factor": 1.25}, []),
        ({"max_calls": 36}, ["max_calls=36 affords about 2 updates"]),
        ({"max_calls": 60}, []),
    ],
)
def test_what_changes_nothing_or_throws_away_is_warned_of(options, told):
    """
    And nothing else is.
    """
    said, _ = climbed(**options)

    assert [True] * len(told) == [
        text.startswith(what) for text, what in zip(said, told, strict=True)
    ]


def test_a_policy_for_groups_is_noted_where_there_are_none():
    """
    By its name, or the name of its class.
    """
    by_name, _ = told_by(ToyDomain(), max_rollouts=8, policy="wait")
    by_class, _ = told_by(ToyDomain(), max_rollouts=8, policy=Window(3))
    other, _ = told_by(ToyDomain(), max_rollouts=8, policy="full")

    assert "policy=wait is for an aggregator that learns from outcomes" in by_name[0]
    assert "policy=Window is for" in by_class[0]
    assert [] == other


class Halves(Climber):
    """
    Moves twice, with one half of its batch and then with the other.
    """

    updates_per_step = 2

    def step(self, cards, context):
        value = context.head.artifact.value
        yield Commit(Artifact(value + 0.1), cards[:2])
        yield Commit(Artifact(value + 0.2), cards[2:])


@pytest.mark.parametrize("options", [{"mode": "sync"}, {"max_staleness": 1}])
def test_a_step_of_two_updates_runs_in_either_mode(options):
    """
    In sync mode without a staleness of its own; the later update's groups are a version old.
    """
    told, result = climbed(aggregator=Halves(), **options)
    (note,) = [note for note in result.notes if "ages" in note]

    assert [] == told
    assert (6, {0: 6, 1: 6}) == (result.version, dict(result.committed_by_eta))
    assert note.endswith("at most 1" if "mode" in options else "never more than 1")


def test_too_little_staleness_for_the_updates_of_a_step_is_refused():
    """
    With the least that does.
    """
    with pytest.raises(OptionError, match="max_staleness=0: Give at least 1"):
        climbed(aggregator=Halves(), max_staleness=0)


class OfPairs(Climber):
    group_size = 2.0


class OfNothing(Climber):
    learns_from = "outcome"


class OfSeveralSteps(Climber):
    max_steps = 2


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"aggregator": OfPairs()}, r"group_size=2\.0: Give a whole number of at least 1"),
        ({"aggregator": OfNothing()}, "learns_from='outcome': Give one of proposals, outcomes"),
        ({"aggregator": OfSeveralSteps()}, "takes one step at a time"),
        ({"least_members": 3}, "least_members=3: Give a whole number from 1 to 2"),
        ({"updates": None, "max_rollouts": 1}, "A group takes 2 rollouts"),
        ({"mode": "sync", "rounds": 3}, "batch by batch; give updates"),
        ({"alpha": 5}, "alpha=5: .* max_staleness says how old they may be"),
        ({"policy": Window(0)}, "window=0: Give at least 1"),
        ({"policy": "soft", "batch_order": "admission"}, "in the order of admission"),
        ({"max_staleness": 0, "oversample_factor": 2.0}, "every batch is waited for whole"),
    ],
)
def test_what_cannot_be_is_refused(options, told):
    """
    With the option, its value and what to give.
    """
    with pytest.raises(OptionError, match=told):
        climbed(**options)


def test_updates_are_refused_where_proposals_are_learnt_from():
    """
    They would end nothing.
    """
    with pytest.raises(OptionError, match="learns from proposals; give max_rollouts"):
        told_by(ToyDomain(), updates=3)
