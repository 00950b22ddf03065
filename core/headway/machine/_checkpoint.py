"""
A machine's whole memory as JSON, and back.

A machine is made of *parts*, which a new machine has already and which are filled in place, and of
*values*, which are made anew.  Both are listed here, and reading makes nothing else: no pickle, no
class by its module's name.  A part's fields are all kept but for those that are named beside it: what
it was built from, which the new machine has of its own, and what is worked out from that or from its
memory.

Guarantee: whatever two fields shared they share again, dicts keep their order, and what is written as
JSON text and read again is what was written.  The machine asks of some artifacts whether they are one
and the same, so that matters.  Sets come back in another order, so nothing in the machine may depend
on the order of a set.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

import attrs

from headway import contracts
from headway.backpressure import Backpressure
from headway.buffer import EvidenceBuffer
from headway.contracts import Json, content_digest
from headway.errors import CheckpointError
from headway.gate import Barrier, GateView, LagGate, Reservations
from headway.gate._roster import Cohort, Roster
from headway.machine._backoff import Backoff
from headway.machine._budget import Budget, Resource
from headway.machine._calls import (
    MeasureCall,
    PromoteCall,
    ProposeCall,
    RebaseCall,
    RolloutCall,
    VerifyCall,
)
from headway.machine._digest import RunDigest
from headway.machine._flights import Flight, TaskQueue, Workers
from headway.machine._groups import Group, Groups
from headway.machine._measuring import Item, Measuring, Wanted
from headway.machine._open import OpenSweep
from headway.machine._proposals import Proposals
from headway.machine._requests import Requests
from headway.machine._scoring import Score, Scoring
from headway.machine._seen import Seen
from headway.machine._slots import Slots
from headway.machine._state import State
from headway.machine._stragglers import Stragglers
from headway.machine._sweeps import Sweeps
from headway.machine._tally import FaultCount, Tally
from headway.machine._tickets import Tickets
from headway.machine._training import Training
from headway.merger import Merger

PARTS: dict[type, tuple[str, ...]] = {
    State: ("config", "lookups", "names", "out", "still", "_timeouts", "reservations"),
    Tickets: ("state", "_most_calls"),
    Proposals: ("state", "view"),
    Seen: ("state",),
    Groups: ("state", "gate"),
    Stragglers: ("state", "_acts"),
    Sweeps: ("state",),
    Requests: ("state", "sweeps", "_tasks"),
    Scoring: ("state", "_cycle"),
    LagGate: (
        "n_workers",
        "async_ratio",
        "batch",
        "max_wait_rounds",
        "resync",
        "most_batch",
        "priced",
        "capacity",
        "_sure",
    ),
    Barrier: ("n_workers", "round_size", "refresh_interval"),
    Reservations: (
        "groups_per_step",
        "max_staleness",
        "admit_ahead",
        "oversample_factor",
        "batch_order",
        "rule",
        "window",
        "updates_per_step",
        "early",
        "groups",
        "bases",
        "capacity",
        "_rule",
        "_refusal",
    ),
    Roster: (),
    Merger: ("decide", "alpha"),
    Backpressure: ("stall_patience", "carry_limit"),
    EvidenceBuffer: (),
    Measuring: ("_means",),
    Training: (),
    Tally: (),
    FaultCount: (),
    RunDigest: (),
    Backoff: (),
    Budget: (
        "max_rollouts",
        "max_calls",
        "max_tokens",
        "max_cost",
        "tokens_per_call",
        "cost_per_call",
        "metered",
    ),
    Resource: ("name", "most", "ceiling"),
    Slots: ("capacity",),
    Workers: (),
    TaskQueue: ("train", "seed"),
}
"""What is filled in place, and which of its fields are no memory."""

VALUES: tuple[type, ...] = (
    contracts.Artifact,
    contracts.Card,
    contracts.Fault,
    contracts.Measure,
    contracts.Member,
    contracts.Outcome,
    contracts.Proposal,
    contracts.Snapshot,
    contracts.Ticket,
    contracts.Usage,
    contracts.Work,
    Cohort,
    Flight,
    GateView,
    Group,
    Item,
    MeasureCall,
    OpenSweep,
    PromoteCall,
    ProposeCall,
    RebaseCall,
    RolloutCall,
    Score,
    VerifyCall,
    Wanted,
)
"""What is made anew: all that a machine may hold while no step is out."""

_MARK = "$"
_KINDS: dict[str, Any] = {kind.__name__: kind for kind in VALUES}


def _kind(value: object) -> type:
    return type(value)


@cache
def _fields(kind: Any) -> tuple[str, ...]:
    left_out = PARTS.get(kind, ())
    return tuple(field.name for field in attrs.fields(kind) if field.name not in left_out)


@cache
def layout() -> str:
    """
    A digest of everything that may stand in a checkpoint.

    It changes with every field, so a checkpoint of another version is never misread.
    """
    return content_digest([[kind.__name__, *_fields(kind)] for kind in (*PARTS, *VALUES)])


def write(parts: Iterable[object]) -> Json:
    """
    The memory of some parts, and of the parts in them, as JSON.

    The order of a dict's keys belongs to it: it must not be stored with its keys sorted.

    Raises:
        TypeError: a part holds something that is not listed here.
    """
    writer = _Writer()
    return {"layout": layout(), "checkpoint": [writer.part(part) for part in parts]}


def read(checkpoint: Json, parts: Sequence[object]) -> None:
    """
    Fill parts of a new machine with what ``write`` gave; they are of no use when it raises.

    Raises:
        CheckpointError: it was written by another version, has been altered, or is none.
    """
    if _kind(checkpoint) is not dict or [*checkpoint] != ["layout", "checkpoint"]:
        raise CheckpointError("it is none, or its keys were sorted")
    if checkpoint["layout"] != layout():
        raise CheckpointError("it was written by another version of Headway")
    reader = _Reader()
    try:
        for part, written in zip(parts, checkpoint["checkpoint"], strict=True):
            reader.fill(part, written)
    except _DAMAGE as error:
        raise CheckpointError(f"it has been altered ({type(error).__name__}: {error})") from error


_DAMAGE = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


# ---------------------------------------------------------------------------------------- writing


@attrs.define(eq=False)
class _Writer:
    _numbers: dict[int, int] = attrs.field(factory=dict[int, int], init=False)

    def part(self, part: object) -> Json:
        """
        The memory of one part.
        """
        kind = _kind(part)
        if kind not in PARTS:
            raise TypeError(f"{part!r} is no part of a machine whose memory can be kept")
        held = [getattr(part, name) for name in _fields(kind)]
        return [self.part(value) if _kind(value) in PARTS else self.value(value) for value in held]

    def value(self, value: Any) -> Json:
        """
        Anything that a part holds.
        """
        kind = _kind(value)
        if kind in _PLAIN:
            return value
        write = _WRITERS.get(kind)
        return self._object(value, kind) if write is None else write(self, value)

    def _object(self, value: object, kind: type) -> Json:
        number = self._numbers.get(id(value))
        if number is not None:
            return {"$same": number}
        if _KINDS.get(kind.__name__) is not kind:
            raise TypeError(f"{value!r} can't be kept in a checkpoint: its class is not listed")
        written = self.values([getattr(value, name) for name in _fields(kind)])
        self._numbers[id(value)] = len(self._numbers)
        return {_MARK: kind.__name__, "": written}

    def values(self, values: Iterable[Any]) -> list[Json]:
        """
        One after the other.
        """
        return [value if type(value) in _PLAIN else self.value(value) for value in values]

    def mapping(self, value: dict[Any, Any]) -> Json:
        """
        A dict: as itself when that is JSON already, else as pairs.
        """
        if all(type(key) is str and key[:1] != _MARK for key in value):
            return dict(zip(value, self.values(value.values()), strict=True))
        return {"$dict": self.pairs(value)}

    def pairs(self, value: dict[Any, Any]) -> Json:
        """
        A dict's keys and values.
        """
        keys = [key if type(key) in _PLAIN else _key(key) for key in value]
        return [*map(list, zip(keys, self.values(value.values()), strict=True))]


def _key(key: Any) -> Json:
    """
    A dict's key or a set's member, which is never a list: so that stands for a tuple.
    """
    kind = _kind(key)
    if kind is tuple:
        return [item if _kind(item) in _PLAIN else _key(item) for item in key]
    if kind not in _PLAIN:
        raise TypeError(f"{key!r} can't be kept in a checkpoint as a key")
    return key


def _members(values: Iterable[Any]) -> Json:
    return sorted(map(_key, values))


_PLAIN = frozenset((type(None), bool, int, float, str))

_WRITERS: dict[type, Callable[[_Writer, Any], Json]] = {
    list: _Writer.values,
    tuple: lambda writer, value: {"$tuple": writer.values(value)},
    dict: _Writer.mapping,
    Counter: lambda writer, value: {"$counter": writer.pairs(value)},
    defaultdict: lambda writer, value: {"$numbers": writer.pairs(value)},
    deque: lambda writer, value: {"$deque": writer.values(value), "most": value.maxlen},
    set: lambda _, value: {"$set": _members(value)},
    frozenset: lambda _, value: {"$frozenset": _members(value)},
    range: lambda _, value: {"$range": [value.start, value.stop, value.step]},
}
"""How to write a value of exactly this type; what is in neither table is an object."""


# ---------------------------------------------------------------------------------------- reading


@attrs.define(eq=False)
class _Reader:
    _made: list[object] = attrs.field(factory=list[object], init=False)

    def fill(self, part: object, written: Json) -> None:
        """
        Fill one part.
        """
        for name, value in zip(_fields(_kind(part)), written, strict=True):
            held = getattr(part, name, None)
            if _kind(held) in PARTS:
                self.fill(held, value)
            else:
                setattr(part, name, self.value(value))

    def value(self, written: Json) -> Any:
        """
        What was written.
        """
        kind = _kind(written)
        if kind is list:
            return [self.value(item) for item in written]
        if kind is not dict:
            return written
        mark = next(iter(written), "")
        if mark[:1] != _MARK:
            return {key: self.value(item) for key, item in written.items()}
        return _READERS[mark](self, written)

    def pairs(self, written: Json) -> Iterable[tuple[Any, Any]]:
        """
        Keys and values.
        """
        return ((_read_key(key), self.value(item)) for key, item in written)

    def made(self, written: Json) -> object:
        """
        One of the listed classes, without its constructor: all its fields are here.
        """
        kind = _KINDS[written[_MARK]]
        values = [self.value(item) for item in written[""]]
        made = object.__new__(kind)
        for name, value in zip(_fields(kind), values, strict=True):
            object.__setattr__(made, name, value)  # some are frozen
        self._made.append(made)
        return made

    def again(self, written: Json) -> object:
        """
        One that was made before.
        """
        number = written["$same"]
        if number < 0:
            raise IndexError(number)
        return self._made[number]


def _read_key(key: Json) -> Any:
    if _kind(key) is not list:
        return key
    return tuple([item if _kind(item) in _PLAIN else _read_key(item) for item in key])


def _numbers(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, int]:
    return defaultdict(int, pairs)


_READERS: dict[str, Callable[[_Reader, Any], Any]] = {
    _MARK: _Reader.made,
    "$same": _Reader.again,
    "$tuple": lambda reader, written: tuple(map(reader.value, written["$tuple"])),
    "$dict": lambda reader, written: dict(reader.pairs(written["$dict"])),
    "$counter": lambda reader, written: Counter(dict(reader.pairs(written["$counter"]))),
    "$numbers": lambda reader, written: _numbers(reader.pairs(written["$numbers"])),
    "$deque": lambda reader, written: deque(map(reader.value, written["$deque"]), written["most"]),
    "$set": lambda _, written: set(map(_read_key, written["$set"])),
    "$frozenset": lambda _, written: frozenset(map(_read_key, written["$frozenset"])),
    "$range": lambda _, written: range(*written["$range"]),
}
"""How to read a dict by its first key."""
