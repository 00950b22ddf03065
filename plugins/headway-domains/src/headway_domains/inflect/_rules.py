"""
Rules that rewrite the end of a word, and what can be done with them.

A state maps each family to its rules, and the rules map a suffix to its replacement.  Of all the
suffixes of a word that have a rule, the longest decides; a word without one stays as it is.  A
suffix has one rule, the newest, so which rule applies never depends on the order in which rules of
different suffixes were added: such changes commute.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from itertools import combinations
from typing import TypeAlias

import attrs

from headway.contracts import Json
from headway.errors import ContractError
from headway.keyed import keyed_unit

Rules: TypeAlias = Mapping[str, str]
"""Suffix to replacement; the empty suffix ends every word."""

FAMILIES: dict[str, str] = {
    "noun-plural": "the plural of an English noun",
    "verb-past": "the past tense of an English verb",
    "verb-third-person": "the third person singular, present tense, of an English verb",
    "verb-ing": "the -ing form of an English verb",
    "adjective-comparative": "the comparative of an English adjective",
    "adjective-superlative": "the superlative of an English adjective",
}
"""What each family of rules forms."""


@attrs.frozen(kw_only=True)
class Edit:
    """
    One change of one rule.

    Args:
        family: The family that the rule belongs to.
        suffix: Which words the rule is for.
        replacement: What takes the suffix's place; None removes the rule.

    Raises:
        ContractError: there is no such family.
    """

    family: str
    suffix: str
    replacement: str | None

    def __attrs_post_init__(self) -> None:
        if self.family not in FAMILIES:
            raise ContractError(f"no family {self.family!r}; there are {', '.join(FAMILIES)}")

    @property
    def key(self) -> str:
        """
        The one part of the artifact that the edit touches.
        """
        return f"{self.family}/{self.suffix}"

    def to_diff(self) -> Json:
        """
        The edit as a JSON value; ``edit_of`` reads it.
        """
        place = {"family": self.family, "suffix": self.suffix}
        if self.replacement is None:
            return {"op": "remove", **place}
        return {"op": "add", **place, "replacement": self.replacement}


def edit_of(diff: Json) -> Edit:
    """
    The edit that a diff stands for.

    Raises:
        ContractError: the diff is not of the form that ``Edit.to_diff`` gives.
    """
    match diff:
        case {"op": "add", "family": str(f), "suffix": str(s), "replacement": str(r), **rest}:
            edit = Edit(family=f, suffix=s, replacement=r)
        case {"op": "remove", "family": str(f), "suffix": str(s), **rest}:
            edit = Edit(family=f, suffix=s, replacement=None)
        case _:
            raise ContractError(f"not an edit of a rule: {diff!r}")
    if rest:
        raise ContractError(f"an edit of a rule has no {', '.join(map(str, rest))}: {diff!r}")
    return edit


def inflect(rules: Rules, word: str) -> str:
    """
    A word with the rule of its longest suffix applied.

    >>> inflect({"": "s", "y": "ies"}, "city")
    'cities'
    """
    for start in range(len(word) + 1):
        replacement = rules.get(word[start:])
        if replacement is not None:
            return word[:start] + replacement
    return word


def interacting(family: str, rules: Rules, share: float) -> Rules:
    """
    The rules as they act when a share of all pairs of a family interact.

    Of two rules that interact, neither acts while the library has both: the words that they decide
    stay as they are.  So two rules that each help alone can hurt together.  Which pairs of suffixes
    interact is a hash's choice and always the same; a larger share adds pairs and takes none away.

    >>> interacting("verb-past", {"e": "ed", "y": "ied"}, 1.0)
    {'e': 'e', 'y': 'y'}

    Args:
        family: The family of the rules.
        rules: All its rules.
        share: The share of pairs that interact, 0 to 1.
    """
    pairs = combinations(sorted(rules), 2)
    idle = {suffix for pair in pairs if _place(family, *pair) < share for suffix in pair}
    return {suffix: suffix if suffix in idle else new for suffix, new in rules.items()}


@lru_cache(maxsize=65_536)
def _place(family: str, one: str, other: str) -> float:
    return keyed_unit("inflect interaction", family, one, other)


def edited(state: Json, edit: Edit) -> Json:
    """
    A new state with the edit made; what it did not touch is shared with the old state.
    """
    rules = dict(state[edit.family])
    if edit.replacement is None:
        rules.pop(edit.suffix, None)
    else:
        rules[edit.suffix] = edit.replacement
    return {**state, edit.family: rules}


def is_pointless(state: Json, edit: Edit) -> bool:
    """
    Whether the state already is as the edit would make it.
    """
    return bool(state[edit.family].get(edit.suffix) == edit.replacement)
