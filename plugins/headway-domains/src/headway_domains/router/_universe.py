"""
The messages of the router domain, and how they are cut into tasks.

Every message has one keyword and every keyword one label.  The seed decides the filler words, the
order of the messages, and thereby which of them are held out.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import cycle
from types import MappingProxyType
from typing import cast

import attrs

from headway.contracts import Splits, Task
from headway.errors import OptionError
from headway.keyed import keyed_int, keyed_rng

LABELS = ("billing", "delivery", "returns", "account", "support", "sales")

KEYWORDS = (
    *("invoice", "parcel", "refund", "password", "crash", "discount"),
    *("receipt", "courier", "exchange", "login", "error", "quote"),
    *("payment", "tracking", "warranty", "username", "update", "catalogue"),
    *("tax", "address", "damage", "profile", "outage", "voucher"),
)
"""The labels are dealt to them cyclically."""

FILLERS = ("about", "another", "my", "that", "the", "this", "urgent", "your")

ITEMS = 12
"""Messages a keyword."""

TRAINING = 0.6
"""The share of messages that are for training."""

CLUSTERS = 6
"""Training tasks."""

CHUNKS = 12
"""Held-out tasks."""


@attrs.frozen
class Item:
    """
    One message, the keyword in it, and the label that is right for it.
    """

    text: str
    keyword: str
    label: str


@attrs.frozen(kw_only=True)
class TaskUniverse:
    """
    All messages of a seed, and which of them are held out.

    ``print(universe)`` shows it in a few lines.

    Args:
        seed: What it was made from.
        gold: The right label of every keyword.
        train: The messages for training.
        held_out: The messages that candidates are measured on.
    """

    seed: int
    gold: Mapping[str, str]
    train: tuple[Item, ...]
    held_out: tuple[Item, ...]

    def clusters(self) -> tuple[tuple[Item, ...], ...]:
        """
        The training messages by a hash of their keyword, without the clusters that got none.
        """
        dealt = [
            tuple(item for item in self.train if cluster_of(item.keyword) == number)
            for number in range(CLUSTERS)
        ]
        return tuple(filter(None, dealt))

    def chunks(self) -> tuple[tuple[Item, ...], ...]:
        """
        The held-out messages, dealt in turn.
        """
        return tuple(self.held_out[number::CHUNKS] for number in range(CHUNKS))

    def splits(self) -> Splits:
        """
        A training task a cluster and a held-out task a chunk; there is no test.
        """
        return Splits(
            train=[_task(f"train/{n}", items) for n, items in enumerate(self.clusters())],
            held_out=[_task(f"held-out/{n:02}", items) for n, items in enumerate(self.chunks())],
        )

    def __str__(self) -> str:
        messages = f"{len(self.train)} messages for training, {len(self.held_out)} held out"
        lines = [
            f"router universe of seed {self.seed}: {len(self.gold)} keywords, {messages}",
            *(f"  {label}: {', '.join(self._keywords(label))}" for label in LABELS),
            f"  messages a training task: {_sizes(self.clusters())}",
            f"  messages a held-out task: {_sizes(self.chunks())}",
        ]
        return "\n".join(lines)

    def _keywords(self, label: str) -> list[str]:
        return [keyword for keyword, right in self.gold.items() if right == label]


def make_task_universe(seed: int = 7) -> TaskUniverse:
    """
    The universe of a seed: 24 keywords, 6 labels, 288 messages, three fifths of them for training.

    >>> universe = make_task_universe(seed=7)
    >>> len(universe.train), len(universe.held_out)
    (173, 115)
    >>> universe.gold["parcel"]
    'delivery'

    Raises:
        OptionError: the seed is no whole number of at least 0.
    """
    if not isinstance(cast("object", seed), int) or isinstance(seed, bool) or seed < 0:
        raise OptionError("seed", seed, "Give a whole number of at least 0.")
    gold = dict(zip(KEYWORDS, cycle(LABELS), strict=False))
    rng = keyed_rng("router", seed)
    items = [
        Item(f"{rng.choice(FILLERS)} {keyword} {index}", keyword, label)
        for keyword, label in gold.items()
        for index in range(ITEMS)
    ]
    rng.shuffle(items)
    end = round(TRAINING * len(items))
    return TaskUniverse(
        seed=seed,
        gold=MappingProxyType(gold),
        train=tuple(items[:end]),
        held_out=tuple(items[end:]),
    )


def cluster_of(keyword: str) -> int:
    """
    The number of a keyword's training task; the same in every process and for every seed.
    """
    return keyed_int("router cluster", keyword) % CLUSTERS


def _task(task_id: str, items: tuple[Item, ...]) -> Task:
    return Task(id=task_id, data={"items": [[item.text, item.label] for item in items]})


def _sizes(groups: tuple[tuple[Item, ...], ...]) -> str:
    return " ".join(str(len(group)) for group in groups)
