"""
What an aggregator's step may ask for.

A step yields one of these and is resumed with its answer:

==========================================  ===============================================
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeAlias, TypeVar, final

import attrs
from attrs.converters import optional
from attrs.validators import ge, instance_of

from headway.contracts._values import DISCARD_REASONS, Artifact, Card, Json, Snapshot
from headway.errors import shown, suggestion


@final
class _Keep:
    """
    The type of ``KEEP``.
    """

    def __repr__(self) -> str:
        return "KEEP"


KEEP: Final = _Keep()
"""The default of ``Commit(memory=...)``: the optimizer's memory stays as it is."""


def _artifact(candidate: Artifact | Snapshot) -> Artifact:
    return _is_artifact(candidate.artifact if isinstance(candidate, Snapshot) else candidate)


def _is_artifact(found: object) -> Artifact:
    if isinstance(found, Artifact):
        return found
    message = (
        f"{shown(found)} is no candidate; give an Artifact, as context.apply makes, or a Snapshot"
    )
    raise TypeError(message)


def _check_reason(instance: object, attribute: object, reason: object) -> None:
    del instance, attribute
    if reason not in DISCARD_REASONS:
        hint = suggestion(reason, DISCARD_REASONS) if isinstance(reason, str) else ""
        message = (
            f"{shown(reason)} is no reason to discard a card.{hint} Give one of"
            f" {', '.join(DISCARD_REASONS)}"
        )
        raise ValueError(message)


def _artifacts(candidates: Iterable[Artifact | Snapshot]) -> tuple[Artifact, ...]:
    return tuple([_artifact(candidate) for candidate in candidates])


def _task_ids(tasks: Iterable[str]) -> tuple[str, ...]:
    return _checked(tasks, str, "task id")


def _measures(measures: Iterable[Measure]) -> tuple[Measure, ...]:
    return _checked(measures, Measure, "Measure")


def _number(card: Card | int) -> int:
    return card.number if isinstance(card, Card) else card


def _numbers(cards: Iterable[Card | int]) -> tuple[int, ...]:
    return _checked(map(_number, cards), int, "card or card number")


def _keys(keys: Iterable[str]) -> tuple[str, ...]:
    return _checked(keys, str, "key")


T = TypeVar("T")


def _checked(values: Iterable[T], kind: type, what: str) -> tuple[T, ...]:
    found = tuple(values)
    for value in found:
        if not isinstance(value, kind):
            message = f"{shown(value)} is no {what}"
            raise TypeError(message)
    return found


@attrs.frozen
class Measure:
    """
    Score candidates on tasks.

    The answer is a tuple of rows, one a candidate; a row is a tuple of rewards in the order (task,
    draw).  Scores that are known already cost nothing.  When a score cannot be had, the step does
    not return from this request: its cards are ``discarded(unmeasured)``.

    Args:
        candidates: Artifacts or snapshots.
        tasks: Task ids.
        draws: How often each candidate is scored on each task.  Deterministic domains need one.
        first: The number of the first of these draws; ask for others to get fresh ones.

    Raises:
        TypeError: a candidate, a task id or a number is of another type.
        ValueError: ``draws`` is below 1 or ``first`` below 0.
    """

    candidates: tuple[Artifact, ...] = attrs.field(converter=_artifacts)
    tasks: tuple[str, ...] = attrs.field(converter=_task_ids)
    draws: int = attrs.field(default=1, validator=[instance_of(int), ge(1)])
    first: int = attrs.field(default=0, validator=[instance_of(int), ge(0)])


@attrs.frozen
class MeasureAll:
    """
    Make several measurements at once: of other candidates on other tasks, say, as when each card is tried
    once more on its own task.

    The answer is a tuple with the answer to each of them.  One after the other they would take the time
    of as many measurements.  A score that more than one of them asks for is taken once.  Else as
    ``Measure``.

    Args:
        measures: The measurements, at least one.

    Raises:
        TypeError: one of them is no ``Measure``.
    """

    measures: tuple[Measure, ...] = attrs.field(converter=_measures)


@attrs.frozen
class Compare:
    """
    Find out which candidates beat a reference on tasks, with one draw each.

    It is for deterministic rewards.  The answer is a ``Comparison`` of the mean rewards, given as soon
    as no value of a missing score could change it; what is not needed any more is not measured.  Else
    as ``Measure``.

    Args:
        reference: What the candidates are held against, mostly ``context.head``.
        candidates: Artifacts or snapshots.
        tasks: Task ids.

    Raises:
        TypeError: the reference, a candidate or a task id is of another type.
    """

    reference: Artifact = attrs.field(converter=_artifact)
    candidates: tuple[Artifact, ...] = attrs.field(converter=_artifacts)
    tasks: tuple[str, ...] = attrs.field(converter=_task_ids)


@attrs.frozen(kw_only=True)
class Comparison:
    """
    The answer to ``Compare``.  A tie beats nothing.

    Args:
        best: The candidate with the highest mean of those that beat the reference, the first of equal
            ones, counted from 0; None when none does.
        better: All that beat the reference, in their order.
    """

    best: int | None
    better: tuple[int, ...]


@attrs.frozen
class Commit:
    """
    Make a candidate the new head.

    The request returns the new head, or does not return: when somebody else, or another open step,
    moved the head first, the step is abandoned and run again on the head as it then is.  A
    candidate that equals the head moves no version: its cards count as committed and the memory is
    kept.

    Args:
        candidate: The artifact to commit.
        cards: The cards that it is made of.
        memory: The optimizer's new memory, kept together with the commit.
        keys: Which parts of the artifact a commit without cards changes; None means any.

    Raises:
        TypeError: the candidate, a card or a key is of another type.
    """

    candidate: Artifact = attrs.field(converter=_artifact)
    cards: tuple[int, ...] = attrs.field(converter=_numbers)
    memory: Json = KEEP
    keys: tuple[str, ...] | None = attrs.field(default=None, converter=optional(_keys))


@attrs.frozen
class Train:
    """
    Have the domain learn from cards: its ``train`` is called, beside everything else that runs.

    The answer is the JSON value that it returned.  When it raises, gives no JSON value or is not back
    within ``train_timeout``, the request does not return: the step is abandoned, its cards wait again,
    and it is tried again; ``max_train_errors`` failures with no step that got through between them end
    the run.  Trainings are made one at a time.

    Args:
        cards: The cards of this step to learn from.
        payload: A JSON value for the domain.  It is where a name of the update belongs by which the
            domain knows one that it has made: of the head's version and the cards, say.  A step that is
            tried again has another number, and may hold further cards.

    Raises:
        TypeError: a card or a number is of another type.
    """

    cards: tuple[int, ...] = attrs.field(converter=_numbers)
    payload: Json = None


@attrs.frozen
class Promote:
    """
    Make a committed version the head of the branch ``stable``.

    The step goes on at once; ``context.stable`` shows the version to steps that begin after the
    ledger has answered.  When the ledger refuses, that is a failure in the result and no more.

    Args:
        version: The version of the head, or an earlier one.

    Raises:
        TypeError: the version is no whole number.
        ValueError: it is below 0.
    """

    version: int = attrs.field(validator=[instance_of(int), ge(0)])


@attrs.frozen
class Consume:
    """
    Discard cards for a stated reason.

    Args:
        cards: Cards of this step.
        reason: One of ``DISCARD_REASONS``.

    Raises:
        ValueError: there is no such reason.
    """

    cards: tuple[int, ...] = attrs.field(converter=_numbers)
    reason: str = attrs.field(default="worse", validator=_check_reason)


@attrs.frozen
class Carry:
    """
    Keep cards that may help for a later step; they come back with new ones.

    Args:
        cards: Cards of this step.
    """

    cards: tuple[int, ...] = attrs.field(converter=_numbers)


@attrs.frozen
class Gather:
    """
    Wait for further cards of this step's batch.

    It is for an aggregator that learns from outcomes and has ``gathers = True``: its steps begin with
    the first groups of which it is sure that they belong to the batch, and can work on them while
    the others run.  The answer is a tuple of cards, at least one; ``()`` once the batch is complete,
    and only then may it be committed.
    """


Request: TypeAlias = (
    Measure | MeasureAll | Compare | Commit | Consume | Carry | Promote | Train | Gather
)
Scores: TypeAlias = tuple[tuple[float, ...], ...]
"""The answer to ``Measure``: one row a candidate."""
