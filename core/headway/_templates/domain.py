"""
A domain: a glossary that grows until every phrase can be translated with it.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import ClassVar

from headway.contracts import Domain, Json, Outcome, Splits, Task
from headway.errors import OptionError

WORDS: Mapping[str, str] = {
    "one": "eins",
    "two": "zwei",
    "three": "drei",
    "old": "alte",
    "new": "neue",
    "red": "rote",
    "big": "grosse",
    "small": "kleine",
    "houses": "Haeuser",
    "books": "Buecher",
    "trees": "Baeume",
    "dogs": "Hunde",
}
"""What the translator that is asked knows, and the glossary at first does not."""

NUMBERS, KINDS, THINGS = (tuple(WORDS)[start:end] for start, end in ((0, 3), (3, 8), (8, 12)))


class NewcomerDomain(Domain):
    """
    The state maps words to translations; a task is a phrase; its reward is the share of right words.

    A proposal adds the translation of one word that the phrase lacked.  Slips of the translator make
    some proposals wrong, so that measuring them is worth while.

    Args:
        slips: The share of proposals that are wrong, from 0 to 1.

    Raises:
        OptionError: it is outside.
    """

    name: ClassVar[str] = "newcomer"
    deterministic: bool | None = True
    measure_price: float | None = 0.0
    pure: bool = True
    options: ClassVar[Mapping[str, str]] = {"slips": "share of proposals that are wrong"}
    defaults: ClassVar[Mapping[str, Json]] = {"max_rollouts": 100, "target_reward": 1.0}

    def __init__(self, slips: str | float = 0.2) -> None:
        try:
            self.slips: float = float(slips)  # text, as --set gives it
        except ValueError:
            self.slips = -1.0
        if not 0 <= self.slips <= 1:
            raise OptionError("slips", slips, "Give a number from 0 to 1.")

    def tasks(self) -> Splits:
        """
        Every phrase of a number, a kind and a thing: two thirds to train on, a sixth each to
        measure and to test.
        """
        phrases = [f"{n} {k} {t}" for n in NUMBERS for k in KINDS for t in THINGS]
        random.Random(0).shuffle(phrases)  # the same split in every run
        tasks = [Task(id=phrase) for phrase in phrases]
        return Splits(train=tasks[:40], held_out=tasks[40:50], test=tasks[50:])

    def initial(self) -> Json:
        """
        An empty glossary.
        """
        return {}

    def rollout(self, state: Json, task: Task, *, rng: random.Random) -> Outcome:
        """
        Translate a phrase; the output names the words that came out wrong.
        """
        del rng  # for a domain that draws
        words = task.id.split()
        wrong = [word for word in words if state.get(word) != WORDS[word]]
        return Outcome(reward=1 - len(wrong) / len(words), output=wrong)

    def propose(
        self, state: Json, task: Task, outcome: Outcome, *, rng: random.Random
    ) -> Json | None:
        """
        Look one of the wrong words up; None when there is none.
        """
        del state, task
        if not outcome.output:
            return None
        word = rng.choice(outcome.output)
        right = rng.random() >= self.slips
        return {word: WORDS[word] if right else rng.choice(sorted(WORDS.values()))}

    def apply(self, state: Json, diff: Json) -> Json:
        """
        The glossary with an entry more, or another one.
        """
        return {**state, **diff}

    def keys(self, diff: Json) -> tuple[str, ...]:
        """
        Entries for different words have nothing to do with each other.
        """
        return tuple(sorted(diff))

    def render(self, state: Json) -> Mapping[str, str]:
        """
        A page with a line an entry.
        """
        return {"glossary.md": "".join(f"- {w}: {state[w]}\n" for w in sorted(state))}
