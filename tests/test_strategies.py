"""
Tests of the strategies: a change, applied and fitted to a newer state.
"""

from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.contracts import canonical_json
from headway.errors import OptionError
from headway.strategies import (
    AppendRules,
    FileTree,
    KeyedRules,
    SingleSlot,
    Strategy,
    change,
    rebase_change,
)

TEXTS = st.text("abc", max_size=2)
KEYS = st.sampled_from(["k", "l", "m", "n"])
STATES = st.dictionaries(KEYS, TEXTS)
PROPOSALS = st.dictionaries(KEYS, st.none() | TEXTS)
RULES = st.lists(st.sampled_from(["Be brief", "be  BRIEF.", "- Be kind", "Ask", "Do not ask"]))


def merged_by_key(base, mine, theirs, conflict):
    """
    The three-way merge of three mappings, written down apart from the code under test.
    """
    found = {}
    for key in {*base, *mine, *theirs}:
        b, m, t = base.get(key), mine.get(key), theirs.get(key)
        both = m not in (b, t) and t != b
        value = {"mine": m, "theirs": t}[conflict] if both else (t if m == b else m)
        if value is not None:
            found[key] = value
    return found


def keyed(conflict):
    return [KeyedRules(conflict=conflict), FileTree(conflict=conflict)]


@given(base=STATES, theirs=STATES, proposal=PROPOSALS, conflict=st.sampled_from(["mine", "theirs"]))
def test_rebase_then_apply_is_the_three_way_merge_by_key(base, theirs, proposal, conflict):
    """
    Whatever the three states are; and no change is left exactly when the newer state is the merge.
    """
    for strategy in keyed(conflict):
        diff = strategy.to_diff(proposal, base)
        mine = base if diff is None else strategy.apply(base, diff)
        wanted = merged_by_key(base, mine, theirs, conflict)
        left = None if diff is None else strategy.rebase(diff, theirs)
        got = theirs if left is None else strategy.apply(theirs, left)

        assert wanted == got
        assert (left is None) == (wanted == theirs)


@given(base=STATES, proposal=PROPOSALS)
def test_a_change_gives_what_was_proposed(base, proposal):
    """
    Applied to what it was made against; and there is none when nothing would change.
    """
    wanted = {k: v for k, v in {**base, **proposal}.items() if v is not None}
    for strategy in keyed("theirs"):
        diff = strategy.to_diff(proposal, base)

        assert wanted == (base if diff is None else strategy.apply(base, diff))
        assert (diff is None) == (wanted == base)


@given(base=STATES, theirs=STATES, proposal=PROPOSALS)
def test_nothing_that_is_given_is_changed(base, theirs, proposal):
    """
    Neither states, nor proposals, nor diffs; and all that comes out is JSON.
    """
    for strategy in keyed("theirs"):
        before = copy.deepcopy((base, theirs, proposal))
        diff = strategy.to_diff(proposal, base)
        if diff is None:
            continue
        kept = copy.deepcopy(diff)
        results = [
            strategy.apply(theirs, diff),
            strategy.rebase(diff, theirs),
            strategy.keys(diff),
            strategy.render(base),
            strategy.removals(base),
        ]
        strategy.render(base).clear()

        assert before == (base, theirs, proposal)
        assert kept == diff
        assert canonical_json(results)


@given(base=STATES, first=PROPOSALS, second=PROPOSALS)
def test_changes_without_a_common_key_commute(base, first, second):
    """
    Which is what ``keys`` promises the merger.
    """
    for strategy in keyed("theirs"):
        one, two = strategy.to_diff(first, base), strategy.to_diff(second, base)
        if one is None or two is None or set(strategy.keys(one)) & set(strategy.keys(two)):
            continue
        either = strategy.apply(strategy.apply(base, one), two)

        assert either == strategy.apply(strategy.apply(base, two), one)


@given(base=STATES)
def test_each_key_can_be_taken_away_alone(base):
    """
    One removal a key, and applying it takes just that one.
    """
    for strategy in keyed("theirs"):
        left = [strategy.apply(base, diff) for diff in strategy.removals(base)]

        assert [{k: v for k, v in base.items() if k != key} for key in sorted(base)] == left


def test_a_plain_mapping_is_a_change_that_knows_nothing_of_its_base():
    """
    It stands wherever the newer state has another value.
    """
    assert {"a": "2"} == rebase_change({"a": "2"}, {"a": "3"})["set"]
    assert rebase_change({"a": "2"}, {"a": "2"}) is None


def normalized(rules):
    return [rule.casefold().strip("-. ").replace("  ", " ") for rule in rules]


@given(base=RULES, added=RULES, removed=RULES, theirs=RULES)
def test_no_rule_is_there_twice_however_it_is_spelled(base, added, removed, theirs):
    """
    A newer state gets what is new to it and loses what it still has; the order is kept.
    """
    strategy = AppendRules()
    base, theirs = (strategy.apply([], {"add": rules}) for rules in (base, theirs))
    diff = strategy.to_diff({"add": added, "remove": removed}, base)
    kept = copy.deepcopy((base, theirs, diff))
    left = None if diff is None else strategy.rebase(diff, theirs)
    got = theirs if left is None else strategy.apply(theirs, left)
    gone = [] if diff is None else normalized(diff.get("remove", []))
    new = [] if diff is None else normalized(diff.get("add", []))
    stay = [rule for rule in normalized(theirs) if rule not in gone]

    assert [*stay, *(rule for rule in new if rule not in stay)] == normalized(got)
    assert len(set(normalized(got))) == len(got)
    assert kept == (base, theirs, diff)
    strategy.check(got)


def test_a_rule_is_proposed_as_a_text_or_several():
    """
    None is left when all are there already.
    """
    strategy = AppendRules(["Be brief"])
    state = strategy.initial()

    assert {"add": ["Ask"]} == strategy.to_diff(" Ask ", state)
    assert {"add": ["Ask", "Wait"]} == strategy.to_diff(["Ask", "be brief.", "Wait"], state)
    assert strategy.to_diff("* BE BRIEF", state) is None
    assert {"remove": ["be brief"]} == strategy.to_diff({"remove": "be brief"}, state)


def test_two_spellings_of_a_rule_have_one_key():
    """
    So that they are a conflict, or duplicates, and never merged.
    """
    strategy = AppendRules()

    assert strategy.keys({"add": ["Be brief"]}) == strategy.keys({"add": ["- be  brief."]})
    assert strategy.keys({"add": ["Be brief"]}) != strategy.keys({"add": ["Be kind"]})


def test_rules_are_rendered_one_a_line():
    """
    As a prompt takes them; the template is the user's.
    """
    assert "- a\n- b" == AppendRules().render(["a", "b"])
    assert "* {x} *" == AppendRules(template="* {} *").render(["{x}"])
    assert {"rules.md": ""} == AppendRules().files([])


def test_one_text_is_replaced_as_a_whole():
    """
    And nothing is proposed that is there already.
    """
    slot = SingleSlot("Answer.")
    diff = slot.to_diff("Answer briefly.", slot.initial())

    assert "Answer briefly." == slot.apply("Answer.", diff)
    assert slot.to_diff("Answer.", "Answer.") is None
    assert ("text",) == slot.keys(diff)
    assert {"text.txt": "Answer."} == slot.files("Answer.")


def test_a_text_made_for_an_older_one_stays_an_alternative():
    """
    Unless the user says that the newer one stays.
    """
    first, newer = "Answer.", "Answer in verse."
    for conflict, wanted in {"mine": "Answer briefly.", "theirs": None}.items():
        slot = SingleSlot(first, conflict=conflict)
        left = slot.rebase(slot.to_diff("Answer briefly.", first), newer)

        assert wanted == (None if left is None else slot.apply(newer, left))


@pytest.mark.parametrize(
    ("strategy", "proposal", "told"),
    [
        (AppendRules(), 3, "rule 3 is of type int; give a text or a list of them"),
        (AppendRules(), ["a", 3], "rule 3 is of type int; give a text"),
        (AppendRules(), " - ", "is empty; give a text, or None to propose nothing"),
        (AppendRules(), {"drop": "a"}, "no 'drop'; give add, remove or both"),
        (KeyedRules(), "a", "the proposal 'a' is of type str; give {key: text}"),
        (KeyedRules(), {"a": 1}, "'a' of the proposal is 1; give a text, or None to remove"),
        (KeyedRules(), {1: "a"}, "a key of the proposal is 1; give a text"),
        (KeyedRules(), {"": "a"}, "a key of the proposal is empty; give it a name"),
        (SingleSlot(), 7, "7 is of type int; give a text"),
        (FileTree(), "a", "is of type str; give {path: text}, or the Path of a folder"),
        (FileTree(), {"a": b"x"}, "'a' of the proposal holds bytes; only text files"),
        (FileTree(), {"a": "x\0"}, "'a' of the proposal holds a zero byte"),
        (AppendRules(), "a\ud800", "is no valid Unicode: half of a surrogate pair at 1"),
        (KeyedRules(), {"a": "\ud800"}, "'a' of the proposal is no valid Unicode"),
        (KeyedRules(), {"\ud800": "a"}, "a key of the proposal is no valid Unicode"),
        (SingleSlot(), "\ud800", "the text is no valid Unicode"),
        (FileTree(), {"a": "\ud800"}, "'a' of the proposal is no valid Unicode"),
        (FileTree(), {"a": 5}, "'a' of the proposal is 5; give a text, or None to remove the file"),
    ],
)
def test_a_proposal_that_means_nothing_is_refused(strategy, proposal, told):
    """
    With a message that names the value and what to give.
    """
    with pytest.raises((TypeError, ValueError)) as caught:
        strategy.to_diff(proposal, strategy.initial())

    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: AppendRules(["a", 1]), "rule 1 is of type int"),
        (lambda: AppendRules(template="x"), "template='x': Write {} where"),
        (lambda: AppendRules(template=5), "template=5: Give a text."),
        (lambda: KeyedRules(["a"]), "the state ['a'] is of type list; give {key: text}"),
        (lambda: FileTree([1]), "the state [1] is of type list; give {path: text}"),
        (lambda: FileTree(as_folder="yes"), "as_folder='yes': Give true or false."),
        (lambda: KeyedRules({"a": None}), "leave a key without a text out"),
        (lambda: KeyedRules(conflict="ours"), "conflict='ours': Give one of theirs, mine."),
        (lambda: SingleSlot(3), "3 is of type int; give a text"),
        (lambda: FileTree({"a": "", "a/b": ""}), "both a file and a folder"),
    ],
)
def test_a_strategy_refuses_what_it_cannot_start_with(make, told):
    """
    When it is made.
    """
    with pytest.raises((TypeError, ValueError, OptionError)) as caught:
        make()

    assert told in str(caught.value)


def test_a_state_of_another_shape_is_refused():
    """
    By every strategy's ``check``.
    """
    wrong = {AppendRules(): "a", KeyedRules(): ["a"], SingleSlot(): {}}
    for strategy, state in [*wrong.items(), (AppendRules(), ["a", "A"]), (FileTree(), {"a": None})]:
        with pytest.raises((TypeError, ValueError)):
            strategy.check(state)


class Counter(Strategy):
    """
    A strategy of somebody's own, with the four methods that it must have.
    """

    def initial(self):
        return {"n": 0}

    def render(self, state):
        return state["n"]

    def to_diff(self, proposal, state):
        return change({"n": proposal}, state)

    def apply(self, state, diff):
        return {**state, **diff["set"]}


def test_an_own_strategy_gets_the_three_way_rule_by_key():
    """
    For states and changes that are mappings; what is none is left as it is and touches everything.
    """
    counter = Counter()
    diff = counter.to_diff(1, {"n": 0})

    assert {"n": 1} == counter.rebase(diff, {"n": 0, "m": 5})["set"]
    assert counter.rebase(diff, {"n": 2}) is None
    assert ("n",) == counter.keys(diff)
    assert 7 == counter.rebase(7, [1])
    assert ("*",) == counter.keys(7)
    assert {"state.json": '{"n":0}\n'} == counter.files({"n": 0})
    assert not counter.removals({"n": 0})


@pytest.mark.parametrize(
    ("strategy", "state"),
    [
        (AppendRules(), {"rule": "x" * 9_000}),
        (AppendRules(), ["x" * 9_000] * 2),
        (KeyedRules(), ["x" * 9_000]),
        (KeyedRules(), {"key": ["x" * 9_000]}),
        (SingleSlot("one"), ["x" * 9_000]),
        (FileTree({"a.txt": "one"}), ["x" * 9_000]),
        (FileTree({"a.txt": "one"}), {"a.txt": ["x" * 9_000]}),
    ],
)
def test_an_error_about_a_state_shows_its_ends(strategy, state):
    """
    A state may be megabytes, and what is wrong with it is to be read.
    """
    with pytest.raises((TypeError, ValueError)) as caught:
        strategy.check(state)

    assert "xxx" in str(caught.value)
    assert len(str(caught.value)) < 400
