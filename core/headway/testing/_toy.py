"""
A small domain for tests: guess the hidden value of each key.

It needs nothing, takes no time, and shows what a search meets: right, wrong, conflicting, empty and
useless proposals, tasks that are solved, and a reward that is the same at every draw or is not.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from headway.contracts import Card, Domain, Json, Outcome, Splits, Task, charge
from headway.keyed import keyed_int, keyed_rng

_LETTERS = "abcdefghijklmnopqrstuvwxyz"


class ToyDomain(Domain):
    """
    A state maps keys to numbers; a task wants the hidden number of some keys.

    A rollout's reward is the share of its task's keys that are right.  A proposal sets one key that
    its task found wrong, sometimes a second one at random.

    Args:
        n_keys: How many keys there are, at most 26.
        n_values: How many values a key may have; 0 is never the hidden one.
        n_tasks: How many tasks each of the training, held-out and test side has.
        width: How many keys a task wants.
        right: The share of proposals that are right about the key they are made for.
        silent: The share of rollouts after which nothing is proposed.
        useless: The share of proposals that change nothing.
        breaking: The share of proposals that break a contract.
        noise: The share of rollouts and measurements that come out as 0; above 0, rewards are not
            deterministic.
        tokens: The most tokens that a rollout, a proposal or a measurement charges; 0 charges nothing.
    """

    name: ClassVar[str] = "toy"
    measure_price: float | None = 0.0  # batches do not depend on the latency
    options: ClassVar[Mapping[str, str]] = {
        "n_keys": "how many keys there are",
        "n_values": "how many values a key may have",
        "n_tasks": "how many tasks each side has",
        "width": "how many keys a task wants",
        "right": "share of proposals that are right",
        "silent": "share of rollouts without a proposal",
        "useless": "share of proposals that change nothing",
        "breaking": "share of proposals that break a contract",
        "noise": "share of rewards that come out as 0",
        "tokens": "the most tokens that a call charges",
    }

    def __init__(
        self,
        *,
        n_keys: int = 8,
        n_values: int = 5,
        n_tasks: int = 12,
        width: int = 2,
        right: float = 0.4,
        silent: float = 0.1,
        useless: float = 0.1,
        breaking: float = 0.0,
        noise: float = 0.0,
        tokens: int = 0,
    ) -> None:
        self.deterministic: bool | None = noise == 0
        self.hidden: dict[str, int] = {
            k: 1 + keyed_int("hidden", k) % (n_values - 1) for k in _LETTERS[:n_keys]
        }
        self._n_values, self._n_tasks, self._width = n_values, n_tasks, width
        self._right, self._silent, self._useless = right, silent, useless
        self._breaking, self._noise, self._tokens = breaking, noise, tokens

    def tasks(self) -> Splits:
        """
        Each task wants ``width`` keys.
        """
        return Splits(**{side: self._side(side) for side in ("train", "held_out", "test")})

    def _side(self, side: str) -> tuple[Task, ...]:
        keys = sorted(self.hidden)
        found: list[Task] = []
        for n in range(self._n_tasks):
            others = keyed_rng("wants", side, n).sample(keys, self._width)
            wants = sorted({keys[n % len(keys)], *others[1:]})
            found.append(Task(id=f"{side}-{n}", data=wants))
        return tuple(found)

    def initial(self) -> Json:
        """
        Every key is 0, which is never right.
        """
        return dict.fromkeys(self.hidden, 0)

    def _wrong(self, state: Json, task: Task) -> list[str]:
        return [key for key in task.data if state[key] != self.hidden[key]]

    def rollout(self, state: Json, task: Task, *, rng: random.Random) -> Outcome:
        """
        The share of the task's keys that are right, and which are not.
        """
        wrong = self._wrong(state, task)
        self._spend("rollout", task.id, *wrong)
        lucky = not self._noise or rng.random() >= self._noise
        return Outcome(reward=(1 - len(wrong) / len(task.data)) * lucky, output=wrong)

    def propose(
        self, state: Json, task: Task, outcome: Outcome, *, rng: random.Random
    ) -> Json | None:
        """
        Set one key that was wrong; None when nothing comes to mind.
        """
        self._spend("propose", task.id)
        if not outcome.output or rng.random() < self._silent:
            return None
        key = rng.choice(outcome.output)
        if rng.random() < self._useless:
            return {key: state[key]}
        diff: dict[str, Any] = {key: self._guess(key, rng)}
        if rng.random() < 0.2:
            diff[rng.choice(sorted(self.hidden))] = rng.randrange(self._n_values)
        if rng.random() < self._breaking:
            diff["!"] = True
        return diff

    def train(
        self, state: Json, cards: Sequence[Card], payload: Json, *, rng: random.Random
    ) -> Json:
        """
        Nothing is kept: it says which cards it was given and how many of them set a key right that
        was wrong.
        """
        self._spend("train", *(str(card.number) for card in cards))
        wrong = {key for key, value in self.hidden.items() if state[key] != value}
        right = sum(
            any(card.diff[k] == self.hidden[k] for k in wrong & {*card.keys}) for card in cards
        )
        numbers = [card.number for card in cards]
        return {"cards": numbers, "right": right, "payload": payload, "toss": rng.random()}

    def _spend(self, *what: str) -> None:
        if self._tokens:
            charge(tokens=keyed_int("tokens", *what) % (self._tokens + 1))

    def _guess(self, key: str, rng: random.Random) -> int:
        return self.hidden[key] if rng.random() < self._right else rng.randrange(self._n_values)

    def removals(self, state: Json) -> Sequence[Json]:
        """
        Each key that has a value, back to 0.
        """
        return [{key: 0} for key in sorted(self.hidden) if state[key]]

    def apply(self, state: Json, diff: Json) -> Json:
        """
        Set what the change sets.
        """
        return {**state, **{key: value for key, value in diff.items() if key != "!"}}

    def keys(self, diff: Json) -> tuple[str, ...]:
        """
        The keys that the change sets.
        """
        return tuple(sorted(key for key in diff if key != "!"))

    def contract_breaking(self, diff: Json) -> bool:
        """
        Whether the change says so.
        """
        return "!" in diff

    def rebase(self, diff: Json, state: Json) -> Json | None:
        """
        What the change would still change; None when somebody else has set all of its keys right.
        """
        left = {k: v for k, v in diff.items() if k == "!" or state[k] != self.hidden[k]}
        return left if self.keys(left) else None
