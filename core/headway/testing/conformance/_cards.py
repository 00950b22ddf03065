"""
Cards and contexts for the contracts of the decisions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headway.contracts import (
    Artifact,
    Card,
    Json,
    Snapshot,
    StepContext,
    canonical_json,
    content_digest,
    touch_common,
)
from headway.keyed import keyed_rng, keyed_unit

HELD_OUT: tuple[str, ...] = tuple(f"held-out-{number}" for number in range(16))
HEAD = Snapshot(4, Artifact(dict.fromkeys("abcdef", 0)))

_KEYS: tuple[tuple[str, ...], ...] = (
    ("a",),
    ("b",),
    ("c",),
    ("a", "b"),
    ("c", "d"),
    ("e",),
    ("f",),
    ("*",),
    (),
)
_DELTAS: tuple[float | None, ...] = (None, -0.5, 0.0, 0.25, 0.25, 0.5, 1.0)


def card(number: int, keys: Sequence[str], delta: float | None = 0.5, **more: Any) -> Card:
    """
    A card whose change sets each of its keys to its number.
    """
    diff = {key: number for key in keys if key != "*"}
    usual: dict[str, Any] = {"tickets": (number,), "task": f"train-{number % 5}", "base": 4}
    usual |= {"diff": diff, "digest": content_digest([diff, number])}
    return Card(number=number, keys=tuple(keys), delta=delta, **(usual | more))


def hands(apart: bool = False) -> list[tuple[Card, ...]]:
    """
    Cards as a step may be given them, the oldest first: none, one, a few, many, of all sorts.

    Args:
        apart: Whether no two of a hand touch a common part.
    """
    found: list[tuple[Card, ...]] = [(), (card(3, ("a",)),), (card(0, ("a",)), card(9, ("b",)))]
    for size in (2, 3, 5, 8, 12):
        for seed in range(8):
            rng = keyed_rng("hand", size, seed)
            hand: list[Card] = []
            for number in sorted(rng.sample(range(40), size)):
                keys, parent = rng.choice(_KEYS), None
                if apart and any(touch_common(keys, other.keys) for other in hand):
                    continue
                if rng.random() < 0.15:
                    parent = Artifact(dict.fromkeys("abcdef", 7))
                made = card(
                    number, keys, rng.choice(_DELTAS), parent=parent, carried=rng.random() < 0.3
                )
                hand.append(made)
            found.append(tuple(hand))
    return found


def combine(artifact: Artifact, *diffs: Json) -> Artifact:
    """
    A mapping with what the diffs set, one after the other.
    """
    state = dict(artifact.value)
    for diff in diffs:
        state |= diff
    return Artifact(state)


def context(step: int = 1) -> StepContext:
    """
    What a step is told, with a small artifact as its head.
    """
    return StepContext(
        head=HEAD,
        memory=None,
        held_out=HELD_OUT,
        deterministic=True,
        quiet=False,
        rng=keyed_rng("context", step),
        step=step,
        combine=combine,
        stable=Snapshot(0, HEAD.artifact),
    )


def score(candidate: Artifact, task: str) -> float:
    """
    What a candidate scores on a task: any number, the same each time.
    """
    return round(keyed_unit("score", candidate.digest, task), 2)


def numbers(cards: Sequence[Card]) -> list[int]:
    """
    The cards' numbers.
    """
    return [card.number for card in cards]


def described(cards: Sequence[Card]) -> str:
    """
    Cards in a few words: number, keys and delta of each.
    """
    return ", ".join(f"{c.number}:{'/'.join(c.keys) or '-'}({c.delta})" for c in cards) or "no card"


def content(cards: Sequence[Card]) -> str:
    """
    What the cards hold, spelled out.
    """
    return canonical_json([[c.number, c.diff, list(c.keys), c.payload] for c in cards])
