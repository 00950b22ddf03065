"""
The inflect domain: from a lemma to an inflected form, learned as suffix rules.

Everything is a pure function of its arguments and of ``rng``.  A simulated wait is drawn last, so
that the same ticket gives the same answer with and without waiting.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import ClassVar

import attrs

from headway.contracts import Json, Outcome, Splits, Task
from headway.errors import OptionError
from headway_domains._latency import SlowDomain
from headway_domains._options import number_of
from headway_domains.inflect._data import splits
from headway_domains.inflect._propose import proposal
from headway_domains.inflect._rules import (
    FAMILIES,
    Edit,
    Rules,
    edit_of,
    edited,
    inflect,
    interacting,
    is_pointless,
)
from headway_domains.inflect._skills import write_skills


def _noise(value: object) -> float:
    return number_of(value, option="noise")


def _useless(value: object) -> float:
    return number_of(value, option="useless", most=1)


def _interaction(value: object) -> float:
    return number_of(value, option="interaction", most=1)


def _harmful(value: object) -> float:
    return number_of(value, option="harmful", most=1)


@attrs.define(eq=False, kw_only=True)
class Inflect(SlowDomain):
    """
    English inflection: from a lemma and a family of forms to the inflected word.

    The artifact is a library of suffix rules in six families.  It starts empty, and an empty
    library leaves every word as it is.  A task is a chunk of up to 20 examples of one family, the
    reward the share of them that come out right, which is in a spelling that the lexicon lists.  Any
    number of threads may share one object.

    Args:
        latency: How long a rollout, a proposal and a measurement each take: a law as
            ``headway.durations.parse_law`` reads it, in seconds, or ``none``.
        noise: The standard deviation of what is added to each reward; the sum is cut to 0 ... 1.
            Above 0 the domain is no longer deterministic.
        useless: The share of proposals that are replaced by a rule that applies to no word.
        harmful: The share of proposals that are replaced by a rule that does damage.
        interaction: The share of pairs of a family's suffixes whose rules do nothing while the
            library has both.

    Raises:
        OptionError: an option has a value that cannot be used.
    """

    name: ClassVar[str] = "inflect"
    measure_price: float | None = attrs.field(default=0.0, init=False)  # whatever the latency
    options: ClassVar[Mapping[str, str]] = {
        "latency": "how long each call takes: none, constant:SECONDS, lognormal:MEAN,SIGMA, ...",
        "noise": "standard deviation of the noise on each reward, 0 by default",
        "useless": "share of proposals replaced by useless ones, 0 by default",
        "harmful": "share of proposals replaced by harmful ones, 0 by default",
        "interaction": "share of rule pairs that do nothing together, 0 by default",
    }
    defaults: ClassVar[Mapping[str, Json]] = {"max_rollouts": 1600}

    noise: float = attrs.field(default=0.0, converter=_noise)
    useless: float = attrs.field(default=0.0, converter=_useless)
    harmful: float = attrs.field(default=0.0, converter=_harmful)
    interaction: float = attrs.field(default=0.0, converter=_interaction)
    deterministic: bool = attrs.field(init=False)
    pure: bool = attrs.field(default=True, init=False)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if self.useless + self.harmful > 1:
            remedy = f"Give at most {1 - self.useless:g}, since useless={self.useless:g}."
            raise OptionError("harmful", self.harmful, remedy)
        self.deterministic = self.noise == 0

    def tasks(self) -> Splits:
        """
        120 training tasks, 60 held-out tasks and the test tasks, in six families each.
        """
        return splits()

    def initial(self) -> Json:
        """
        A library without rules.
        """
        empty: dict[str, dict[str, str]] = {family: {} for family in FAMILIES}
        return empty

    def rollout(self, state: Json, task: Task, *, rng: random.Random) -> Outcome:
        """
        Inflect a task's lemmas; the output holds the family and each failure.

        A failure is a list of the lemma, the first listed form, and what came out instead.
        """
        family, items = task.data["family"], task.data["items"]
        rules = self._acting(state, family)
        tried = ((lemma, forms, inflect(rules, lemma)) for lemma, forms in items)
        failures = [[lemma, forms[0], got] for lemma, forms, got in tried if got not in forms]
        reward = self._noisy((len(items) - len(failures)) / len(items), rng)
        self.wait(rng)
        return Outcome(reward=reward, output={"family": family, "failures": failures})

    def measure(self, state: Json, task: Task, *, rng: random.Random | None = None) -> float:
        """
        The share of a task's lemmas that come out right.

        Args:
            state: The library.
            task: A task of any split.
            rng: Needed for noise and latency only.
        """
        rules, items = self._acting(state, task.data["family"]), task.data["items"]
        right = sum(inflect(rules, lemma) in forms for lemma, forms in items)
        share: float = right / len(items)
        if rng is None or (self.deterministic and not self.waits):
            return share
        reward = self._noisy(share, rng)
        self.wait(rng)
        return reward

    def propose(
        self, state: Json, task: Task, outcome: Outcome, *, rng: random.Random
    ) -> Json | None:
        """
        A rule induced from one of the rollout's failures; None when there are none.
        """
        del state, task  # the rollout's output says all that is needed
        failures = outcome.output["failures"]
        diff = None
        if failures:
            shares = (self.useless, self.harmful)
            diff = proposal(outcome.output["family"], failures, shares=shares, rng=rng)
        self.wait(rng)
        return diff

    def apply(self, state: Json, diff: Json) -> Json:
        """
        The library with one rule added, replaced or removed.

        Raises:
            ContractError: the diff is no edit of a rule.
        """
        return edited(state, edit_of(diff))

    def keys(self, diff: Json) -> tuple[str, ...]:
        """
        The one rule that the diff touches, as ``family/suffix``.
        """
        return (edit_of(diff).key,)

    def removals(self, state: Json) -> Sequence[Json]:
        """
        The removal of each rule, in alphabetical order of families and suffixes.
        """
        return [
            Edit(family=family, suffix=suffix, replacement=None).to_diff()
            for family in sorted(state)
            for suffix in sorted(state[family])
        ]

    def describe(self, state: Json) -> Mapping[str, float]:
        """
        How many rules there are (``rules``), and how long their suffixes are (``length``).

        Both rise from 0 towards 1; half of that is 30 rules, and 2 letters in the mean.
        """
        suffixes = [suffix for rules in state.values() for suffix in rules]
        letters = sum(map(len, suffixes)) / max(1, len(suffixes))
        return {"rules": len(suffixes) / (len(suffixes) + 30), "length": letters / (letters + 2)}

    def rebase(self, diff: Json, state: Json) -> Json | None:
        """
        The same edit, by rule and not by file; None when the newer library already has it.
        """
        return None if is_pointless(state, edit_of(diff)) else diff

    def render(self, state: Json) -> Mapping[str, str]:
        """
        One skill folder a family, with the rules in the order in which they are tried.
        """
        return write_skills(state)

    def _acting(self, state: Json, family: str) -> Rules:
        rules: Rules = state[family]
        return interacting(family, rules, self.interaction) if self.interaction else rules

    def _noisy(self, share: float, rng: random.Random) -> float:
        if self.deterministic:
            return share
        return min(1.0, max(0.0, share + rng.gauss(0.0, self.noise)))
