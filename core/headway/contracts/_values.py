"""
The values that travel between the machine, the drivers and plug-ins.

All of them are frozen.  What a domain or an optimizer puts inside (a state, a diff, a payload, an
output) is a JSON value: numbers, strings, booleans, None, lists and string-keyed dicts.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from contextlib import suppress
from functools import cached_property
from traceback import format_exception
from typing import Any, Literal, TypeAlias

import attrs
from attrs.validators import instance_of, optional

from headway._records import record
from headway._secrets import shorten

Json: TypeAlias = Any
"""A JSON value.  Spelled ``Any`` because a recursive alias rejects a plain ``dict[str, int]``."""

CompletionKind: TypeAlias = Literal["ok", "invalid", "failed", "timeout", "cancelled", "abandoned"]
"""How a ticket ended, exactly once."""

COMPLETIONS: tuple[CompletionKind, ...] = (
    "ok",
    "invalid",
    "failed",
    "timeout",
    "cancelled",
    "abandoned",
)

DecisionKind: TypeAlias = Literal["committed", "discarded", "settled"]
"""What became of a card, exactly once."""

DISCARD_REASONS: tuple[str, ...] = (
    "stale",
    "worse",
    "uncertain",
    "conflict",
    "duplicate",
    "oversized",
    "vetoed",
    "unmeasured",
    "plugin_error",
)
"""Why a card was discarded; ``Consume`` accepts these reasons."""


_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False).encode


def canonical_json(value: Json) -> str:
    """
    The one spelling of a JSON value: sorted keys, no spaces, no NaN.

    Raises:
        ValueError: the value holds NaN or an infinity.
        TypeError: the value is not made of JSON types.
    """
    return _encode(value)


def content_digest(value: Json) -> str:
    """
    The SHA-256 of a JSON value's one spelling, as 64 hexadecimal digits.
    """
    return text_digest(canonical_json(value))


def text_digest(text: str) -> str:
    """
    The content digest of a JSON value that is spelled already.
    """
    return hashlib.sha256(text.encode()).hexdigest()


@attrs.frozen(eq=False)
class Artifact:
    """
    One state of what is being improved; two artifacts are equal when their content is.

    Args:
        value: The state, a JSON value.  Nobody changes it after this.
    """

    value: Json

    @cached_property
    def digest(self) -> str:
        """
        The content digest, computed once.
        """
        return content_digest(self.value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Artifact):
            return NotImplemented
        return self is other or self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)


@attrs.frozen
class Snapshot:
    """
    A version of the artifact that a worker works on.

    Args:
        version: 0 at the start, one more with every commit.
        artifact: The state at that version.
    """

    version: int
    artifact: Artifact

    @property
    def digest(self) -> str:
        """
        The artifact's content digest.
        """
        return self.artifact.digest


@attrs.frozen
class Committed:
    """
    A commit's answer: it was made.

    Args:
        version: The version that it made.
    """

    version: int


@attrs.frozen
class HeadMoved:
    """
    A commit's answer: somebody else moved the head first, nothing was changed.

    Args:
        head: The head that is there instead.
    """

    head: Snapshot


@attrs.frozen(kw_only=True)
class Task:
    """
    One thing to be done, and to be scored on.

    Args:
        id: Unique within the run, over all splits.
        data: What the domain needs to run it.
    """

    id: str
    data: Json = None


def _tasks(tasks: Iterable[Task]) -> tuple[Task, ...]:
    return tuple(tasks)


@attrs.frozen(kw_only=True)
class Splits:
    """
    A domain's tasks by what they are for.

    Args:
        train: What workers roll out on.
        held_out: What candidates are measured on.
        test: Scored once, at the end; may be empty.
        oracle: What an aggregator may measure on beside the held-out tasks, to check a candidate
            more closely; may be empty.
    """

    train: tuple[Task, ...] = attrs.field(converter=_tasks)
    held_out: tuple[Task, ...] = attrs.field(converter=_tasks)
    test: tuple[Task, ...] = attrs.field(converter=_tasks, default=())
    oracle: tuple[Task, ...] = attrs.field(converter=_tasks, default=())


@attrs.frozen(kw_only=True)
class Work:
    """
    What an aggregator's ``select`` asks a ticket to do.

    What a parent or a payload brings holds for the snapshot that was rolled out, so such a ticket
    proposes against that snapshot, also with ``bind="late"``.

    Args:
        parent: The artifact to work on; None means the head.
        payload: A small JSON value handed to the domain and found again on the card.
        task: The id of the task to roll out; None leaves it to the sampler.
    """

    parent: Artifact | None = attrs.field(default=None, validator=optional(instance_of(Artifact)))
    payload: Json = None
    task: str | None = attrs.field(default=None, validator=optional(instance_of(str)))


@record
class Ticket:
    """
    Permission to run one rollout.

    Args:
        number: 0, 1, 2, ... in order of admission.
        base: The version of the head that its worker held at admission; it never changes.
        worker: Which of the ``n_workers`` worker places it occupies.
        seed: The run's seed; the ticket's random streams are keyed by it and by ``key``.
        group: The number of the group that it belongs to; -1 when it belongs to none.
        member: Which member of the group it runs, from 0.
        attempt: How often that member was tried before.
    """

    number: int
    base: int
    worker: int
    seed: int
    group: int = -1
    member: int = 0
    attempt: int = 0

    @property
    def key(self) -> tuple[int, ...]:
        """
        What tells its random streams from those of other tickets of the run.

        That is its number, or, in a group, which attempt of which member it is: so a member draws the
        same whatever else was tried again before it.
        """
        if self.group < 0:
            return (self.number,)
        return self.group, self.member, self.attempt


@attrs.frozen(kw_only=True)
class Outcome:
    """
    What one rollout gave.

    Args:
        reward: Finite and within the domain's ``reward_range``.
        output: What the proposer may look at; a JSON value.
    """

    reward: float
    output: Json = None


@attrs.frozen(kw_only=True)
class Proposal:
    """
    A change that a rollout suggests, as the worker sends it.

    Args:
        diff: The change, a JSON value that the domain's ``apply`` understands.
        digest: The content digest of ``diff``.
        keys: Which parts of the artifact the change touches, sorted.
        size: The length of the diff's canonical JSON, in bytes.
        no_op: Whether applying it to its base leaves the base as it is.
        contract_breaking: Whether it changes what other parts of the artifact rely on.
    """

    diff: Json
    digest: str
    keys: tuple[str, ...] = ()
    size: int = 0
    no_op: bool = False
    contract_breaking: bool = False


@record
class Member:
    """
    What one rollout of a group gave.

    Args:
        ticket: The number of its ticket.
        member: Which member of its group it is, from 0.
        base: The version that it ran on.
        payload: What ``select`` gave its ticket.
        reward: Its reward.
        output: What its outcome holds beside the reward.

    ``payload`` and ``output`` are shared with the run, which may use them again: they must not be
    changed, neither by a step nor by a training.
    """

    ticket: int
    member: int
    base: int
    payload: Json
    reward: float
    output: Json


@attrs.frozen(kw_only=True)
class Card:
    """
    An evidence card: what was found, and what is known about it.

    A card of a group holds the outcomes of its members and no change: ``diff`` is None, ``base`` the
    oldest version that one of them ran on, ``number`` the number of the group, ``reward`` the mean of
    their rewards.

    What a card holds, its members and what they hold included, is shared with the run, which may use
    it again: whoever is given one must not change it, and copies what is to be changed.

    Args:
        number: 0, 1, 2, ... in the order in which cards were made.
        tickets: The numbers of the tickets it gathers.
        task: The id of the task that it was found on.
        base: The version that its proposal was made against, or was last accepted or rebased at.
        parent: What it was made against when that was not the head.
        payload: What ``select`` gave its ticket.
        diff: The change.
        digest: The content digest of ``diff``.
        keys: Which parts of the artifact the change touches.
        contract_breaking: See ``Proposal``.
        reward: The reward of the rollout that it came from.
        delta: Reward with the change minus reward without, on its own task; None when unknown.
        eta: Commits between ``base`` and the head, when it was last judged.
        rebased: ``(from, to)`` versions when it was rebased, else None.
        carried: Whether an earlier step kept it as helpful but uncertain.
        members: The outcomes of a group's members, in their order; empty for a proposal.
    """

    number: int
    tickets: tuple[int, ...]
    task: str
    base: int
    diff: Json
    digest: str
    keys: tuple[str, ...] = ()
    parent: Artifact | None = None
    payload: Json = None
    contract_breaking: bool = False
    reward: float = 0.0
    delta: float | None = None
    eta: int = 0
    rebased: tuple[int, int] | None = None
    carried: bool = False
    members: tuple[Member, ...] = ()

    @property
    def is_group(self) -> bool:
        """
        Whether it holds the outcomes of a group and no change.
        """
        return bool(self.members)


@attrs.frozen(kw_only=True)
class Removal:
    """
    A change that takes one part out of the artifact, to see whether it is still needed.

    Args:
        diff: The change, as the domain's ``apply`` understands it.
        keys: Which parts of the artifact it touches.
    """

    diff: Json
    keys: tuple[str, ...]


def touch_common(keys: Iterable[str], others: Iterable[str]) -> bool:
    """
    Whether changes with these keys touch a common part of the artifact.

    The key ``"*"`` stands for every part, so it has a common part with any change, also with one
    that names no key.

    >>> touch_common(("a", "b"), ("b",)), touch_common(("a",), ("b",)), touch_common(("*",), ())
    (True, False, True)
    """
    first, second = set(keys), set(others)
    return "*" in first or "*" in second or not first.isdisjoint(second)


@attrs.frozen(kw_only=True)
class Decision:
    """
    What became of a card.

    Args:
        card: The card's number.
        kind: ``committed``, ``discarded`` or ``settled``.
        reason: Why, when it was discarded or settled; ``""`` when it was committed.
        version: The head's version when it was decided.
    """

    card: int
    kind: DecisionKind
    reason: str
    version: int


_LONGEST_MESSAGE = 2_000
_LONGEST_TRACEBACK = 20_000
"""Characters kept of a fault: what is wrong may show megabytes of what it is wrong with."""


def _message(text: str) -> str:
    return shorten(text, _LONGEST_MESSAGE)


def _told(error: BaseException) -> str:
    for tell in (str, repr):
        # An exception that cannot be shown must not take the run with it.
        with suppress(Exception):
            if text := tell(error):
                return text
    return "it cannot be shown"


def _traceback(text: str) -> str:
    return shorten(text, _LONGEST_TRACEBACK)


@attrs.frozen(kw_only=True)
class Fault:
    """
    Something that went wrong, as it stands in the journal and the result.

    Whatever made it, its message and traceback hold nothing that looks like a secret.

    Args:
        where: ``rollout``, ``propose``, ``verify``, ``rebase``, ``measure``, ``train``, ``commit``,
            ``backend`` (call after call failed), ``domain`` (one of its methods that is no call),
            ``aggregator`` or another plug-in's kind.
        type: The exception's class name, or what was wrong with a value.
        message: The exception's text, or the offending value; the middle of a long one is left out.
        task: The id of the task, when one was involved.
        traceback: The formatted traceback, when there was an exception.
        plugin: The name of the plug-in whose fault it is; empty when it is nobody's.
    """

    where: str
    type: str
    message: str = attrs.field(converter=_message)
    task: str | None = None
    traceback: str = attrs.field(default="", converter=_traceback)
    plugin: str = ""

    @classmethod
    def of(cls, where: str, error: BaseException, task: str | None = None) -> Fault:
        """
        An exception, as it stands in the journal and the result.
        """
        return cls(
            where=where,
            type=type(error).__name__,
            message=_told(error),
            task=task,
            traceback="".join(format_exception(error)),
        )
