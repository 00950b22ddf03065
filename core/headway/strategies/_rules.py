"""
Strategies for rules: a list of texts, and texts by key.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import attrs

from headway.contracts import Json, text_digest
from headway.errors import shown
from headway.strategies._keyed import (
    Conflict,
    apply_change,
    as_conflict,
    change,
    rebase_change,
)
from headway.strategies._strategy import Strategy
from headway.strategies._texts import check_unicode

_LIST_MARK = re.compile(r"^(?:[-*•]|\d+[.)])(?:\s+|$)")
_KEY_LENGTH = 16


def normalized_rule(text: str) -> str:
    """
    What two spellings of one rule have in common.

    Case, the width of white space, a list mark in front and full stops at the end do not count.

    >>> normalized_rule("- Always   answer in English.") == normalized_rule("always answer in english")
    True
    """
    plain = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    return _LIST_MARK.sub("", plain).rstrip(". ")


def texts(given: object, what: str) -> tuple[str, ...]:
    """
    One text or several, none of them empty.

    Raises:
        TypeError: something is no text.
        ValueError: a text is empty.
    """
    if isinstance(given, str):
        several: Sequence[object] = (given,)
    elif isinstance(given, list | tuple):
        several = cast("Sequence[object]", given)
    else:
        message = f"{what} {shown(given)} is of type {type(given).__name__}; give a text or a list of them"
        raise TypeError(message)
    return tuple(_text(text, what) for text in several)


def _text(given: object, what: str) -> str:
    if not isinstance(given, str):
        message = f"{what} {shown(given)} is of type {type(given).__name__}; give a text"
        raise TypeError(message)
    if not normalized_rule(given):
        message = f"{what} {shown(given)} is empty; give a text, or None to propose nothing"
        raise ValueError(message)
    return check_unicode(given.strip(), f"{what} {shown(given)}")


def _first_rules(given: Sequence[str]) -> tuple[str, ...]:
    return texts(given, "rule")


@attrs.frozen(kw_only=True, eq=False)
class AppendRules(Strategy):
    """
    A list of rules, in the order in which they came; no rule twice.

    A state is a list of texts; ``render`` gives one text with a line a rule, such as a prompt takes.
    A proposal is a rule, a list of rules, or ``{"add": rules, "remove": rules}``.  A diff is
    ``{"add": [text], "remove": [text]}``.  Two texts are one rule when they differ only in case,
    white space, a list mark in front or a full stop at the end.

    Args:
        rules: The rules to start with.
        template: How ``render`` writes a rule; ``{}`` stands for its text.

    Raises:
        TypeError: a rule is no text.
        ValueError: a rule is empty, or the template has no ``{}``.
    """

    rules: Sequence[str] = attrs.field(default=(), converter=_first_rules, kw_only=False)
    template: str = "- {}"

    def __attrs_post_init__(self) -> None:
        if not isinstance(cast("object", self.template), str):
            message = f"template={self.template!r}: Give a text."
            raise TypeError(message)
        if "{}" not in self.template:
            message = f"template={self.template!r}: Write {{}} where the rule's text belongs."
            raise ValueError(message)

    def initial(self) -> Json:
        """
        The rules to start with.
        """
        return _without_doubles(self.rules)

    def render(self, state: Json) -> str:
        """
        One line a rule.
        """
        return "\n".join(self.template.replace("{}", rule) for rule in state)

    def to_diff(self, proposal: Any, state: Json) -> Json | None:
        """
        Add what is new and remove what is there.
        """
        if isinstance(proposal, Mapping):
            halves = cast("Mapping[str, Any]", proposal)
            unknown = set(halves) - {"add", "remove"}
            if unknown:
                message = f"a proposal has no {min(unknown)!r}; give add, remove or both"
                raise ValueError(message)
            added, removed = (texts(halves.get(half, ()), "rule") for half in ("add", "remove"))
        else:
            added, removed = texts(proposal, "rule"), ()
        return self.rebase({"add": list(added), "remove": list(removed)}, state)

    def apply(self, state: Json, diff: Json) -> Json:
        """
        The rules without those removed, and with those added behind them.
        """
        gone = set(map(normalized_rule, diff.get("remove", ())))
        kept = [rule for rule in state if normalized_rule(rule) not in gone]
        return _without_doubles([*kept, *diff.get("add", ())])

    def rebase(self, diff: Json, state: Json) -> Json | None:
        """
        What is left to do: add what is not there, remove what still is.
        """
        there = set(map(normalized_rule, state))
        added = [
            r for r in _without_doubles(diff.get("add", ())) if normalized_rule(r) not in there
        ]
        removed = [r for r in diff.get("remove", ()) if normalized_rule(r) in there]
        left = {"add": added, "remove": _without_doubles(removed)}
        return {half: rules for half, rules in left.items() if rules} or None

    def keys(self, diff: Json) -> tuple[str, ...]:
        """
        One key a rule, the same for every spelling of it.
        """
        rules = (*diff.get("add", ()), *diff.get("remove", ()))
        return tuple(sorted({text_digest(normalized_rule(r))[:_KEY_LENGTH] for r in rules}))

    def removals(self, state: Json) -> tuple[Json, ...]:
        """
        Each rule alone.
        """
        return tuple({"remove": [rule]} for rule in state)

    def check(self, state: Json) -> None:
        """
        Refuse anything but a list of texts, none of them twice.
        """
        if not isinstance(cast("object", state), list):
            message = f"{shown(state)} is no state of AppendRules; give a list of rules"
            raise TypeError(message)
        rules = texts(state, "rule")
        if len(_without_doubles(rules)) < len(rules):
            message = f"{shown(state)} holds a rule twice; leave one out"
            raise ValueError(message)

    def files(self, state: Json) -> Mapping[str, str]:
        """
        The rendered rules.
        """
        return {"rules.md": self.render(state)}


def _without_doubles(rules: Iterable[str]) -> list[str]:
    """
    The first spelling of each rule.
    """
    found: dict[str, str] = {}
    for rule in rules:
        found.setdefault(normalized_rule(rule), rule)
    return list(found.values())


@attrs.frozen(kw_only=True, eq=False)
class KeyedRules(Strategy):
    """
    Texts by key.

    A state maps keys to texts, and ``render`` gives just that.  A proposal is ``{key: text}``, with
    None for a key to be removed.  Changes to different keys can be merged together.

    Args:
        rules: The texts to start with, by key.
        conflict: What a key keeps that both a change and the head have changed since the change was
            made: ``"theirs"``, the head's text, or ``"mine"``, the change's.

    Raises:
        OptionError: ``conflict`` is another word.
        TypeError: a key or a text is no text.
        ValueError: a key is empty.
    """

    rules: Mapping[str, str] = attrs.field(factory=dict[str, str], kw_only=False)
    conflict: Conflict = attrs.field(default="theirs", converter=as_conflict)

    def __attrs_post_init__(self) -> None:
        self.check(self.rules)

    def initial(self) -> Json:
        """
        The texts to start with.
        """
        return dict(self.rules)

    def render(self, state: Json) -> dict[str, str]:
        """
        Text by key.
        """
        return dict(state)

    def to_diff(self, proposal: Any, state: Json) -> Json | None:
        """
        The keys that the proposal gives another text.
        """
        return change(_by_key(proposal, "proposal"), state)

    def apply(self, state: Json, diff: Json) -> Json:
        """
        The texts with those of the change.
        """
        return apply_change(state, diff)

    def rebase(self, diff: Json, state: Json) -> Json | None:
        """
        The three-way rule by key.
        """
        return rebase_change(diff, state, self.conflict)

    def removals(self, state: Json) -> tuple[Json, ...]:
        """
        Each key alone.
        """
        return tuple(change({key: None}, state) for key in sorted(state))

    def check(self, state: Json) -> None:
        """
        Refuse anything but a mapping from keys to texts.
        """
        if None in _by_key(state, "state").values():
            message = f"{shown(state)} is no state of KeyedRules; leave a key without a text out"
            raise TypeError(message)

    def files(self, state: Json) -> Mapping[str, str]:
        """
        One file with all texts.
        """
        return {
            "rules.json": json.dumps(state, indent=2, ensure_ascii=False, sort_keys=True) + "\n"
        }


def _by_key(given: object, what: str) -> dict[str, str | None]:
    if not isinstance(given, Mapping):
        message = f"the {what} {shown(given)} is of type {type(given).__name__}; give {{key: text}}"
        raise TypeError(message)
    held = cast("Mapping[object, object]", given)
    return {_key(key, what): _value(key, text, what) for key, text in held.items()}


def _key(key: object, what: str) -> str:
    if not isinstance(key, str):
        message = f"a key of the {what} is {key!r}; give a text"
        raise TypeError(message)
    if not key:
        message = f"a key of the {what} is empty; give it a name"
        raise ValueError(message)
    return check_unicode(key, f"a key of the {what}")


def _value(key: object, text: object, what: str) -> str | None:
    if text is None:
        return None
    if isinstance(text, str):
        return check_unicode(text, f"{key!r} of the {what}")
    message = f"{key!r} of the {what} is {shown(text)}; give a text, or None to remove the key"
    raise TypeError(message)
