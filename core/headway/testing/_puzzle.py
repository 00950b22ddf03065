"""
A small pure domain for simulations: guess the hidden value of every key.
"""

from __future__ import annotations

import random
from typing import ClassVar

from headway.contracts import Domain, Json, Outcome, Splits, Task
from headway.keyed import keyed_int, keyed_unit

VALUES = 3
"""Each hidden value is one of 0, 1, 2."""


class Puzzle(Domain):
    """
    Guess the hidden value of every key; a task's reward is the share of its keys that are right.

    Fast, pure and a little treacherous: proposals are right one time in three, some break the
    contract, some no longer apply after a rebase, and there may be noise.

    Args:
        seed: Chooses the hidden values.
        keys: How many there are.
        noise: A measurement's reward is off by up to this much, keyed by its draw.
    """

    name: ClassVar[str] = "puzzle"

    def __init__(self, *, seed: int = 0, keys: int = 6, noise: float = 0.0) -> None:
        self.seed = seed
        self.keys_ = tuple(f"k{i}" for i in range(keys))
        self.hidden = {key: keyed_int(seed, "hidden", key) % VALUES for key in self.keys_}
        self.noise = noise
        self.deterministic = noise == 0.0

    def tasks(self) -> Splits:
        """
        One training task a key, and four held-out tasks over all keys.
        """
        count = len(self.keys_)
        pairs = [[key, self.keys_[(i + 1) % count]] for i, key in enumerate(self.keys_)]
        train = [Task(id=f"t{i}", data=pair) for i, pair in enumerate(pairs)]
        held_out = [Task(id=f"h{i}", data=list(self.keys_[i % 2 :: 2])) for i in range(4)]
        test = [Task(id="x0", data=list(self.keys_))]
        return Splits(train=train, held_out=held_out, test=test)

    def initial(self) -> Json:
        """
        Every key at -1, which is never right.
        """
        return dict.fromkeys(self.keys_, -1)

    def rollout(self, state: Json, task: Task, *, rng: random.Random | None = None) -> Outcome:
        """
        The share of the task's keys that are right; the output names the wrong ones.
        """
        del rng
        wrong = [key for key in task.data if state[key] != self.hidden[key]]
        return Outcome(reward=1.0 - len(wrong) / len(task.data), output=wrong)

    def measure(self, state: Json, task: Task, *, rng: random.Random | None = None) -> float:
        """
        The same share, off by noise when there is any.
        """
        share = self.rollout(state, task).reward
        if rng is None or not self.noise:
            return share
        return min(1.0, max(0.0, share + self.noise * (2 * rng.random() - 1)))

    def propose(
        self, state: Json, task: Task, outcome: Outcome, *, rng: random.Random
    ) -> Json | None:
        """
        A random value for one of the wrong keys.
        """
        del task
        key = rng.choice(outcome.output)
        value = rng.randrange(VALUES)
        return None if state[key] == value else {"key": key, "value": value}

    def apply(self, state: Json, diff: Json) -> Json:
        """
        The state with one value changed.
        """
        return {**state, diff["key"]: diff["value"]}

    def keys(self, diff: Json) -> tuple[str, ...]:
        """
        The one key.
        """
        return (diff["key"],)

    def contract_breaking(self, diff: Json) -> bool:
        """
        One change in eight, chosen by its content.
        """
        return keyed_int(self.seed, "breaking", diff["key"], diff["value"]) % 8 == 0

    def rebase(self, diff: Json, state: Json) -> Json | None:
        """
        The same change; it no longer applies to a value that is right by now.
        """
        unmended = state[diff["key"]] != self.hidden[diff["key"]]
        return diff if unmended or keyed_unit(self.seed, diff["key"]) < 0.5 else None
