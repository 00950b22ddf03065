"""
Copies of JSON values: faithful, apart, and a change in one never goes unnoticed.
"""

from __future__ import annotations

from collections import OrderedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.contracts import Artifact, canonical_json
from headway.drivers._copies import copied, longer_than, untouched

floats = st.floats(allow_nan=False, allow_infinity=False)
scalars = st.none() | st.booleans() | st.integers() | floats | st.text()
values = st.recursive(
    scalars,
    lambda inside: (
        st.lists(inside)
        | st.dictionaries(st.text(), inside)
        | st.builds(tuple, st.lists(inside, max_size=3))
    ),
    max_leaves=12,
)


@given(value=values)
def test_a_copy_is_the_same_value_and_known_to_be_untouched(value):
    """
    Also in its types: a tuple stays a tuple.
    """
    mine = copied(value)

    assert repr(value) == repr(mine)
    assert untouched(mine, value)


@given(value=values, other=values)
def test_what_is_spelled_otherwise_is_never_called_untouched(value, other):
    """
    Whatever was put in place of the copy, or into it.
    """
    holder = {"a": [value], "b": {}}
    mine = copied(holder)
    mine["a"][0] = other
    same = canonical_json(mine) == canonical_json(holder)

    assert same or not untouched(mine, holder)


@pytest.mark.parametrize(
    "change",
    [
        lambda state: state.update(n=True),
        lambda state: state.update(n=1.0),
        lambda state: state.update(more=None),
        lambda state: state.pop("n"),
        lambda state: state["deep"]["list"].append(3),
        lambda state: state["deep"]["list"].clear(),
        lambda state: state["deep"].update(list=(1, 2)),
    ],
)
def test_changes_are_seen_and_do_not_reach_the_original(change):
    """
    Equal to Python, as ``True == 1`` is, does not count as unchanged.
    """
    state = {"n": 1, "deep": {"list": [1, 2]}}
    before = canonical_json(state)
    mine = copied(state)
    change(mine)

    assert not untouched(mine, state)
    assert before == canonical_json(state)


def test_other_containers_are_copied_whole_and_looked_at_closely():
    """
    What is no plain container is copied all the same, and never passed without a look.
    """
    value = {"odd": OrderedDict(a=[1])}
    mine = copied(value)
    mine["odd"]["a"].append(2)

    assert [1] == value["odd"]["a"]
    assert not untouched(copied(value), value)


@pytest.mark.parametrize(
    "value", [{"a": "x" * 90}, ["x" * 95], "x" * 99, list(range(60)), {"k" * 97: 1}]
)
def test_longer_than(value):
    """What is longer for sure is found without spelling it; what is not longer is never refused."""
    spelled = len(canonical_json(value))

    assert longer_than(value, 60)
    assert not longer_than(value, spelled)


def test_longer_than_ends():
    """Also where a value holds itself."""
    value = []
    value.append(value)

    assert longer_than(value, 1000)


def test_artifacts_are_shared():
    """
    Nobody changes an artifact, so what holds some is copied around them.
    """
    value = {"best": Artifact([1]), "others": [Artifact([2])]}
    mine = copied(value)

    assert mine["best"] is value["best"]
    assert mine["others"] is not value["others"]
    assert mine["others"][0] is value["others"][0]
    assert untouched(mine, value)
