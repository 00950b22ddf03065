"""
Tests of the built-in staleness policies.
"""

from __future__ import annotations

import pickle

import pytest
from climbing import Climber, Hill
from hypothesis import given
from hypothesis import strategies as st

from headway import run
from headway.builtins._policies import (
    Drop,
    Full,
    Guarded,
    Mask,
    Reflective,
    Soft,
    Wait,
    Window,
)
from headway.contracts import StalenessPolicy
from headway.durations import LogNormal
from headway.registry import Registry

ALPHA = 3

# The specification's table: eta = 0, 0 < eta <= alpha, eta > alpha, contract-breaking and eta > 0.
TABLE = {
    Full: ("accept", "accept", "accept", "discard"),
    Guarded: ("accept", "rebase", "discard", "discard"),
    Reflective: ("accept", "rebase", "rebase", "discard"),
    Wait: ("accept", "accept", "accept", "discard"),
    Drop: ("accept", "accept", "discard", "discard"),
    Mask: ("accept", "accept", "accept", "discard"),
    Soft: ("accept", "accept", "accept", "discard"),
    Window: ("accept", "accept", "accept", "discard"),
}
policies = pytest.mark.parametrize("policy", TABLE)


@policies
def test_policies_follow_the_table(policy):
    """
    Every column of the specification, at its edges.
    """
    fresh, within, beyond, breaking = TABLE[policy]
    decide = policy().decide

    assert [fresh, within, within, beyond] == [decide(eta, ALPHA, False) for eta in (0, 1, 3, 4)]
    assert [fresh, breaking, breaking, breaking] == [
        decide(eta, ALPHA, True) for eta in (0, 1, 3, 4)
    ]


@policies
def test_policies_keep_their_contract(policy):
    """
    They are staleness policies, and can be sent to another process.
    """
    assert isinstance(policy(), StalenessPolicy)
    assert policy is type(pickle.loads(pickle.dumps(policy())))


@policies
@given(eta=st.integers(0, 9), alpha=st.integers(0, 9), breaking=st.booleans())
def test_policies_are_pure_and_never_kinder_to_the_staler(policy, eta, alpha, breaking):
    """
    Equal arguments, equal answers; one commit more never turns an answer towards accepting.
    """
    order = ["accept", "rebase", "discard"]
    now = policy().decide(eta, alpha, breaking)
    later = policy().decide(eta + 1, alpha, breaking)

    assert now == policy().decide(eta, alpha, breaking)
    assert order.index(now) <= order.index(later)


@pytest.mark.parametrize(
    ("policy", "rule"),
    [(Wait, "wait"), (Drop, "none"), (Mask, "none"), (Soft, "none"), (Window, "window")],
)
def test_policies_for_groups_say_by_which_rule_a_batch_is_used(policy, rule):
    """
    The others say nothing, which means that it waits.
    """
    assert rule == policy.rule
    assert not [other for other in (Full, Guarded, Reflective) if hasattr(other, "rule")]


def test_a_window_is_its_own():
    """
    One object's says nothing of another's; by its name it is the smallest.
    """
    from headway import get_policy

    assert (4, 1) == (Window(4).window, get_policy("window").window)
    assert 6 == Registry().create("staleness policy", "window", window=6).window


def ages(**options):
    """
    How old the groups were that a short run with long tails used, and how many it threw away.
    """
    result = run(
        Hill(),
        aggregator=Climber(),
        driver="simulated",
        durations={"rollout": LogNormal(1.0, 1.5)},
        n_workers=64,
        updates=60,
        max_staleness=2,
        admit_ahead=2,
        **options,
    )
    assert "updates" == result.stop_reason
    return result.committed_by_eta, result.stale_discarded


@pytest.mark.parametrize(
    ("policy", "bound", "drops"),
    [
        ("wait", 2, False),
        ("guarded", 2, False),
        ("drop", 2, True),
        ("soft", None, False),
        ("mask", None, False),
        (Window(5), 3, False),
        ("window", 2, False),
    ],
)
def test_what_each_policy_bounds(policy, bound, drops):
    """
    The largest age of what is used, at a price; all but the two without a bound keep theirs.
    """
    used, stale = ages(policy=policy)

    assert (max(used) <= bound) if bound is not None else (max(used) > 3)
    assert drops == (stale > 0)


@given(eta=st.integers(0, 9), alpha=st.integers(0, 9))
def test_of_groups_nothing_within_the_bound_is_discarded(eta, alpha):
    """
    By any built-in policy: another group would take its place and be no younger.
    """
    for policy in TABLE:
        verdict = policy().decide(min(eta, alpha), alpha, False)

        assert "discard" != verdict
