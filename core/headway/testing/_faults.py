"""
Faults for simulations, each a function of (seed, call): the same schedule has the same faults.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Literal, TypeAlias

import attrs

from headway.builtins._memory_ledger import MemoryLedger
from headway.contracts import (
    Artifact,
    Committed,
    Fault,
    HeadMoved,
    Ledger,
    LedgerEntry,
    Proposal,
    Snapshot,
)
from headway.drivers.simulated import Delivery
from headway.keyed import keyed_unit
from headway.machine import Call, Done, Failed

Fate: TypeAlias = Literal["fine", "hang", "raise", "nan", "duplicate", "late", "huge"]

ASKING = 0.1
"""The share of raised faults that say after how many seconds to come again."""

MORE = 2.0
"""How many times as often a training suffers something: there are few in a run."""

EARLY = 0.05
"""The share of timers that fire before everything that is due earlier, as where a machine stands still."""

HUGE = 5_000_000
"""The size of an oversized reply, in bytes."""

_TOTALS: tuple[tuple[Fate, float], ...] = (
    ("hang", 0.15),
    ("raise", 0.35),
    ("nan", 0.5),
    ("duplicate", 0.75),
    ("late", 0.9),
    ("huge", 1.0),
)
"""Kinds of faults with their cumulative shares."""


@attrs.frozen(kw_only=True)
class Faults:
    """
    Injects faults into a simulation; see ``headway.drivers.simulated.Tamper``.

    Args:
        seed: Chooses which calls suffer what.
        rate: The share of calls that suffer something.
        early_timers: The share of timers that fire before everything that is due earlier.
        timeout: The calls' deadline in seconds; late replies come after it.
        outage: Every call with an id from the first of these numbers on raises, as many as the second
            says; now and then the backend says when to come again.
        kinds: The kinds of calls that suffer at all, but for an outage; empty for all.
    """

    seed: int
    rate: float
    timeout: float
    early_timers: float = EARLY
    outage: tuple[int, int] = (0, 0)
    kinds: frozenset[str] = frozenset()

    def fate(self, call: Call) -> Fate:
        """
        What a call suffers.
        """
        first, length = self.outage
        if call.paid and 0 <= call.id - first < length:
            return "raise"
        unit = keyed_unit(self.seed, "fault", call.id)
        rate = min(1.0, self.rate * MORE) if call.kind == "train" else self.rate
        if unit >= rate or (self.kinds and call.kind not in self.kinds):
            return "fine"
        share = unit / rate
        kind: Fate = next(kind for kind, total in _TOTALS if share < total)
        if call.kind == "commit":
            return "duplicate" if kind == "duplicate" else "fine"
        if call.kind == "train":
            return "fine" if kind == "huge" else kind
        if call.kind == "promote":  # waited for as a commit is, but it may fail
            return kind if kind in ("duplicate", "raise") else "fine"
        return "fine" if kind == "huge" and call.kind != "propose" else kind

    def deliveries(self, call: Call) -> int:
        """
        How many answers arrive for a call.
        """
        return {"hang": 0, "duplicate": 2}.get(self.fate(call), 1)

    def __call__(self, call: Call, seconds: float, answer: Done | Failed) -> list[Delivery]:
        """
        What arrives for a call, and when.
        """
        fate = self.fate(call)
        if fate == "hang":
            return []
        if fate == "duplicate":
            return [(seconds, answer), (seconds * 1.5 + 0.01, answer)]
        if fate == "late":
            return [(seconds + self.timeout * 1.5, answer)]
        return [(seconds, self._spoilt(call, fate, answer))]

    def _spoilt(self, call: Call, fate: Fate, answer: Done | Failed) -> Done | Failed:
        task = getattr(call, "task", None)
        if fate in ("raise", "nan"):
            kind = "ConnectionError" if fate == "raise" else "InvalidValue"
            fault = Fault(where=call.kind, type=kind, message=f"injected: {fate}", task=task)
            asked = keyed_unit(self.seed, "again", call.id)
            again = asked * 4 if fate == "raise" and asked < ASKING else None
            return Failed(answer.now, call.id, fault, fate == "nan", answer.usage, again)
        if fate == "huge" and isinstance(answer, Done) and isinstance(answer.value, Proposal):
            return attrs.evolve(answer, value=attrs.evolve(answer.value, size=HUGE))
        return answer

    def early(self, wake_at: float) -> bool:
        """
        Whether this timer fires early.
        """
        return keyed_unit(self.seed, "early", wake_at) < self.early_timers


Rival: TypeAlias = Callable[[Ledger], Artifact]
"""What a second writer commits, who has read a ledger."""


def change_a_number(ledger: Ledger) -> Artifact:
    """
    The head of a toy domain with another number under its first key.
    """
    value = ledger.snapshot().artifact.value
    name = min(value)
    return Artifact({**value, name: (value[name] + 1) % 2})


def put_back(ledger: Ledger) -> Artifact:
    """
    A state that was the head half the versions ago, of whatever domain.
    """
    return ledger.snapshot("dev", ledger.snapshot().version // 2).artifact


class ContendedLedger:
    """
    A memory ledger with a second writer, who now and then commits first.

    Args:
        initial: The state at version 0.
        seed: Chooses before which commits the other writer is first.
        rate: The share of commits that lose.
        rival: What the other writer commits; the default is for states of the toy domain.
    """

    def __init__(
        self, initial: Artifact, *, seed: int, rate: float, rival: Rival = change_a_number
    ) -> None:
        self._ledger = MemoryLedger(initial=initial)
        self._seed = seed
        self._rate = rate
        self._rival = rival
        self._met: set[str] = set()
        self._lock = threading.Lock()

    def commit(
        self, expected: int, artifact: Artifact, *, key: str, message: str, branch: str = "dev"
    ) -> Committed | HeadMoved:
        """
        Commit, unless the other writer is first.
        """
        with self._lock:
            if key not in self._met and keyed_unit(self._seed, "race", key) < self._rate:
                self._met.add(key)
                self._intrude(key)
        return self._ledger.commit(expected, artifact, key=key, message=message, branch=branch)

    def _intrude(self, key: str) -> None:
        expected, theirs = self._ledger.snapshot().version, self._rival(self._ledger)
        self._ledger.commit(expected, theirs, key=f"other.{key}", message="the other writer")

    def snapshot(self, branch: str = "dev", version: int | None = None) -> Snapshot:
        """
        The head of a branch, or an earlier version of it.
        """
        return self._ledger.snapshot(branch, version)

    def promote(self, version: int, *, source: str = "dev", target: str = "stable") -> Snapshot:
        """
        Make a version of one branch the head of another.
        """
        return self._ledger.promote(version, source=source, target=target)

    def log(self, branch: str = "dev") -> tuple[LedgerEntry, ...]:
        """
        The commits of a branch, oldest first.
        """
        return self._ledger.log(branch)

    def fork(self, branch: str, *, source: str = "dev") -> Snapshot:
        """
        A new branch at another one's head.
        """
        return self._ledger.fork(branch, source=source)

    def close(self) -> None:
        """
        Leave the ledger open, so that a simulation can look at it after the run.
        """
