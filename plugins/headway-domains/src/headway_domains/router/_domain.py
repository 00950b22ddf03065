"""
The router domain: which label a message gets, learned as a table of keywords.

It is easy, since keywords can be learned apart and rewards have no noise, and it needs no data: the
domain to see at once whether a change of the engine broke something.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import ClassVar

import attrs

from headway.contracts import Json, Outcome, Splits, Task
from headway.errors import OptionError
from headway_domains._latency import SlowDomain
from headway_domains._options import number_of
from headway_domains.router._table import changed, checked, remaining, route, write_routes
from headway_domains.router._universe import LABELS, TaskUniverse, make_task_universe

MOST = 4
"""Keywords a proposal."""


def _universe(value: object) -> TaskUniverse:
    if isinstance(value, TaskUniverse):
        return value
    if isinstance(value, str | int) and not isinstance(value, bool) and str(value).isdecimal():
        return make_task_universe(int(value))
    remedy = "Give a seed, a whole number of at least 0, or what make_task_universe returns."
    raise OptionError("universe", value, remedy)


def _noise(value: object) -> float:
    return number_of(value, option="noise", most=1)


@attrs.define(eq=False, kw_only=True)
class Router(SlowDomain):
    """
    Routing: which of six labels a message gets, by its keyword.

    The artifact is a table from keyword to label that starts empty.  A task is a cluster of
    messages, the reward the share of them that get the right label.  A proposal names the labels of
    up to four keywords that came out wrong.  Any number of threads may share one object.

    Args:
        latency: How long a rollout, a proposal and a measurement each take: a law as
            ``headway.durations.parse_law`` reads it, in seconds, or ``none``.
        noise: The chance that a proposed label is a wrong one, drawn afresh for every label of
            every proposal.
        universe: The messages, or the seed that they are made from.

    Raises:
        OptionError: an option has a value that cannot be used.
    """

    name: ClassVar[str] = "router"
    measure_price: float | None = attrs.field(default=0.0, init=False)  # whatever the latency
    deterministic: bool = attrs.field(default=True, init=False)
    pure: bool = attrs.field(default=True, init=False)
    options: ClassVar[Mapping[str, str]] = {
        "latency": "how long each call takes: none, constant:SECONDS, lognormal:MEAN,SIGMA, ...",
        "noise": "chance that a proposed label is wrong, 0.15 by default",
        "universe": "seed of the messages, 7 by default",
    }
    defaults: ClassVar[Mapping[str, Json]] = {
        "n_workers": 6,
        "sampler": "unsolved",
        "target_reward": 0.98,
        "max_rollouts": 400,
    }

    noise: float = attrs.field(default=0.15, converter=_noise)
    universe: TaskUniverse = attrs.field(factory=make_task_universe, converter=_universe)

    def tasks(self) -> Splits:
        """
        6 clusters of messages for training and 12 held-out ones.
        """
        return self.universe.splits()

    def initial(self) -> Json:
        """
        An empty table.
        """
        empty: dict[str, str] = {}
        return empty

    def rollout(self, state: Json, task: Task, *, rng: random.Random) -> Outcome:
        """
        Route a task's messages; the output names each keyword that came out wrong, and how.
        """
        items = task.data["items"]
        wrong = [text for text, label in items if route(state, text) != label]
        misclassified = {text.split()[1]: route(state, text) for text in wrong}
        self.wait(rng)
        share = (len(items) - len(wrong)) / len(items)
        return Outcome(reward=share, output={"misclassified": misclassified})

    def measure(self, state: Json, task: Task, *, rng: random.Random | None = None) -> float:
        """
        The share of a task's messages that get the right label.

        Args:
            state: The table.
            task: A task of any split.
            rng: Needed for latency only.
        """
        items = task.data["items"]
        right = sum(route(state, text) == label for text, label in items)
        self.wait(rng)
        share: float = right / len(items)
        return share

    def propose(
        self, state: Json, task: Task, outcome: Outcome, *, rng: random.Random
    ) -> Json | None:
        """
        Labels for up to four keywords that the rollout found wrong and that still are.

        None when there are none.
        """
        gold = {text.split()[1]: label for text, label in task.data["items"]}
        found = outcome.output["misclassified"]
        wrong = sorted(keyword for keyword in found if state.get(keyword) != gold[keyword])
        picked = rng.sample(wrong, min(MOST, len(wrong)))
        diff = {keyword: self._label(gold[keyword], state.get(keyword), rng) for keyword in picked}
        self.wait(rng)
        return diff or None

    def apply(self, state: Json, diff: Json) -> Json:
        """
        The table with the labels of some keywords set or struck out.

        Raises:
            ContractError: the diff does not map keywords to labels or None.
        """
        return changed(state, checked(diff))

    def keys(self, diff: Json) -> tuple[str, ...]:
        """
        The keywords that the diff touches.
        """
        return tuple(sorted(checked(diff)))

    def removals(self, state: Json) -> Sequence[Json]:
        """
        Each keyword struck out, in alphabetical order.
        """
        return [{keyword: None} for keyword in sorted(state)]

    def describe(self, state: Json) -> Mapping[str, float]:
        """
        How many keywords there are (``keywords``), and how many of them have the commonest label
        (``commonest``).

        The first rises from 0 towards 1; half of that is 20 keywords.  The second is a share.
        """
        labels = Counter(state.values())
        commonest = max(labels.values(), default=0) / max(1, len(state))
        return {"keywords": len(state) / (len(state) + 20), "commonest": commonest}

    def rebase(self, diff: Json, state: Json) -> Json | None:
        """
        What the newer table does not have yet; None when it has all of it.
        """
        return remaining(checked(diff), state) or None

    def render(self, state: Json) -> Mapping[str, str]:
        """
        The table as one page.
        """
        return write_routes(state)

    def _label(self, right: str, now: str | None, rng: random.Random) -> str:
        if rng.random() >= self.noise:
            return right
        # Never the one that the table has: to propose that would propose nothing.
        return rng.choice([label for label in LABELS if label not in (right, now)])
