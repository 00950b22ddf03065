"""
Tests of the inflect domain's rules: the interpreter, edits, skills.
"""

from __future__ import annotations

import json
import random
from itertools import combinations, pairwise

import pytest

from headway.contracts import canonical_json
from headway.errors import ContractError
from headway_domains.inflect import Inflect, inflect, read_skills
from headway_domains.inflect._rules import FAMILIES, Edit, edit_of, interacting

PLURAL = {"": "s", "y": "ies", "ay": "ays", "s": "ses", "child": "children"}


def random_edit(rng):
    """
    An edit over a tiny alphabet, so that suffixes often meet.
    """
    suffix = "".join(rng.choices("ab", k=rng.randrange(4)))
    replacement = rng.choice([None, "", "a", "ab", "bb"])
    return Edit(
        family=rng.choice(["verb-past", "verb-ing"]), suffix=suffix, replacement=replacement
    )


def random_state(rng):
    """
    A library after 15 random edits.
    """
    domain, state = Inflect(), Inflect().initial()
    for _ in range(15):
        state = domain.apply(state, random_edit(rng).to_diff())
    return state


@pytest.mark.parametrize(
    ("word", "form"),
    [
        ("cat", "cats"),
        ("city", "cities"),
        ("day", "days"),
        ("bus", "buses"),
        ("grandchild", "grandchildren"),
        ("", "s"),
    ],
)
def test_longest_suffix_decides(word, form):
    """
    Of the rules whose suffix ends the word, the longest is applied, and no other.
    """
    assert form == inflect(PLURAL, word)


def test_word_without_a_rule_stays():
    """
    A word that no rule fits comes out as it went in.
    """
    assert inflect({"y": "ies"}, "cat") == "cat"


@pytest.mark.parametrize("seed", range(20))
def test_interpreter_agrees_with_its_definition(seed):
    """
    The interpreter does what trying every rule, longest suffix first, would do.
    """
    rng = random.Random(seed)
    rules = random_state(rng)["verb-past"]
    word = "".join(rng.choices("ab", k=5))
    fitting = [suffix for suffix in rules if word.endswith(suffix)]
    longest = max(fitting, key=len, default=None)
    expected = word if longest is None else word.removesuffix(longest) + rules[longest]

    assert expected == inflect(rules, word)


@pytest.mark.parametrize("replacement", ["ed", "", None])
def test_edit_and_diff_are_two_spellings_of_one_thing(replacement):
    """
    A diff survives JSON and gives the edit that it was made from.
    """
    edit = Edit(family="verb-past", suffix="e", replacement=replacement)

    assert edit == edit_of(json.loads(canonical_json(edit.to_diff())))


@pytest.mark.parametrize(
    "diff",
    [
        None,
        {},
        {"op": "add", "family": "verb-past", "suffix": "e"},
        {"op": "add", "family": "verb-past", "suffix": "e", "replacement": 1},
        {"op": "remove", "family": "verb-past", "suffix": "e", "replacement": "ed"},
        {"op": "swap", "family": "verb-past", "suffix": "e"},
        {"op": "remove", "family": "verb-future", "suffix": "e"},
    ],
)
def test_malformed_diff_is_refused(diff):
    """
    What is no edit of a rule breaks the contract, and nothing is guessed.
    """
    with pytest.raises(ContractError):
        edit_of(diff)


def test_apply_leaves_the_old_state_alone():
    """
    A change makes a new value and the old one reads as before.
    """
    state = Inflect().initial()
    before = canonical_json(state)
    edit = Edit(family="verb-past", suffix="", replacement="ed")
    after = Inflect().apply(state, edit.to_diff())

    assert before == canonical_json(state)
    assert after["verb-past"] == {"": "ed"}


def test_newer_rule_replaces_an_older_one():
    """
    A suffix has one rule, the newest, and removing it leaves none.
    """
    domain = Inflect()
    state, seen = domain.initial(), []
    for replacement in ("s", "es", None):
        edit = Edit(family="noun-plural", suffix="x", replacement=replacement)
        state = domain.apply(state, edit.to_diff())
        seen.append(state["noun-plural"])

    assert seen == [{"x": "s"}, {"x": "es"}, {}]


@pytest.mark.parametrize("seed", range(50))
def test_changes_without_a_common_key_commute(seed):
    """
    Two edits of different rules give the same content in either order.
    """
    rng = random.Random(seed)
    domain, state = Inflect(), random_state(rng)
    one, two = random_edit(rng).to_diff(), random_edit(rng).to_diff()
    one_first = domain.apply(domain.apply(state, one), two)
    two_first = domain.apply(domain.apply(state, two), one)
    apart = domain.keys(one) != domain.keys(two)

    assert not apart or canonical_json(one_first) == canonical_json(two_first)


def test_key_is_the_rule_and_not_the_file():
    """
    Two rules of one family have different keys; the same suffix in two families has two keys.
    """
    places = [("verb-past", "e"), ("verb-past", "y"), ("verb-ing", "e")]
    edits = [Edit(family=family, suffix=suffix, replacement="") for family, suffix in places]
    keys = [Inflect().keys(edit.to_diff()) for edit in edits]

    assert keys == [("verb-past/e",), ("verb-past/y",), ("verb-ing/e",)]


@pytest.mark.parametrize("seed", range(50))
def test_rebase_drops_exactly_what_would_change_nothing(seed):
    """
    A rebased edit is the same edit, unless the newer library already is as it would make it.
    """
    rng = random.Random(seed)
    domain, state = Inflect(), random_state(rng)
    diff = random_edit(rng).to_diff()
    expected = None if domain.apply(state, diff) == state else diff

    assert expected == domain.rebase(diff, state)


def test_every_family_is_a_skill_folder():
    """
    The rendered library has one skill a family, also before it has rules.
    """
    files = Inflect().render(Inflect().initial())

    assert {f"skills/{family}/SKILL.md" for family in FAMILIES} == set(files)


@pytest.mark.parametrize("seed", range(10))
def test_skills_read_back_as_the_state(seed):
    """
    What is rendered can be read again, and gives the same library.
    """
    state = random_state(random.Random(seed))

    assert state == read_skills(Inflect().render(state))


def test_skill_lists_rules_in_the_order_in_which_they_are_tried():
    """
    A reader who applies the first rule that fits does what the interpreter does.
    """
    page = Inflect().render({**Inflect().initial(), "noun-plural": PLURAL})[
        "skills/noun-plural/SKILL.md"
    ]
    suffixes = [line.split("`")[1] for line in page.splitlines() if "becomes" in line]

    assert page.startswith("---\nname: noun-plural\ndescription: ")
    assert len(PLURAL) == len(suffixes)
    assert all(len(a) >= len(b) for a, b in pairwise(suffixes))


def idle_pairs(share):
    """
    The pairs of 60 suffixes that interact.
    """
    suffixes = [chr(97 + n % 26) * (1 + n // 26) for n in range(60)]
    return {
        pair
        for pair in combinations(suffixes, 2)
        if interacting("verb-ing", dict.fromkeys(pair, "x"), share) != dict.fromkeys(pair, "x")
    }


def test_share_of_interacting_pairs_is_as_asked():
    """
    A larger share adds pairs and takes none away; with 0 no pair interacts and with 1 each does.
    """
    few, many = idle_pairs(0.1), idle_pairs(0.3)
    number = 60 * 59 // 2

    assert (0, number) == (len(idle_pairs(0)), len(idle_pairs(1)))
    assert few < many
    assert [len(few) / number, len(many) / number] == pytest.approx([0.1, 0.3], abs=0.03)


def test_interaction_is_of_a_family_and_needs_both_rules():
    """
    A rule acts again once the other one is gone; other families have other pairs.
    """
    rules = {"e": "ed", "y": "ied"}

    assert {"e": "ed"} == interacting("verb-past", {"e": "ed"}, 1)
    assert {"e": "e", "y": "y"} == interacting("verb-past", rules, 1)
    assert 1 < len(
        {
            tuple(interacting(family, dict.fromkeys("abcdefgh", "x"), 0.2).items())
            for family in FAMILIES
        }
    )
