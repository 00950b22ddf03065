"""
Tests of the built-in staleness policies.
"""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.builtins._policies import Full, Guarded, Reflective
from headway.contracts import StalenessPolicy

ALPHA = 3

# The specification's table: eta = 0, 0 < eta <= alpha, eta > alpha, contract-breaking and eta > 0.
TABLE = {
    Full: ("accept", "accept", "accept", "discard"),
    Guarded: ("accept", "rebase", "discard", "discard"),
    Reflective: ("accept", "rebase", "rebase", "discard"),
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
