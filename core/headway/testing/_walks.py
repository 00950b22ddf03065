"""
Random walks over a ledger's calls, and what can be seen of a ledger, for comparing two of them.
"""

from __future__ import annotations

import random
from typing import Any, TypeAlias

from headway.builtins._memory_ledger import MemoryLedger
from headway.contracts import (
    Artifact,
    HeadMoved,
    Json,
    Ledger,
    LedgerEntry,
    Snapshot,
    canonical_json,
)
from headway.errors import LedgerError

ALIKE: tuple[Json, ...] = (1, 1.0, True, "1", 0, 0.0, -0.0, False, "", None, [], [0], [0.0], {})
"""Values of which Python calls some equal, and JSON none."""

Seen: TypeAlias = dict[str, tuple[int, str, tuple[LedgerEntry, ...], dict[int, str]]]
"""By branch: the head's version and state, the log, and the states of its versions."""

Call: TypeAlias = tuple[str, tuple[Any, ...], dict[str, Any]]
"""A method's name, arguments and keyword arguments."""


def spelled(snapshot: Snapshot) -> str:
    """
    A snapshot's state in canonical JSON; its digest may be that of another one, its spelling not.
    """
    return canonical_json(snapshot.artifact.value)


def seen(ledger: Ledger) -> Seen:
    """
    All that can be read from the branches of a walk: heads, logs and every version.
    """
    found: Seen = {}
    for branch in ("dev", "stable", "side"):
        head, log = ledger.snapshot(branch), ledger.log(branch)
        versions = {entry.version: spelled(ledger.snapshot(branch, entry.version)) for entry in log}
        found[branch] = (head.version, spelled(head), log, versions)
    return found


class Walk:
    """
    Seeded random calls of a ledger, most of which can be answered.

    Args:
        seed: Equal seeds make equal calls.
    """

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311 - a seeded test, no secret
        self._made = 0
        self.state: dict[str, Json] = {f"{number}.md": number for number in range(8)}

    def model(self) -> MemoryLedger:
        """
        The ledger that says what is right, with the branches of a walk.
        """
        return MemoryLedger(Artifact(self.state))

    def call(self, ledger: Ledger) -> Call:
        """
        The next call, as name, arguments and keyword arguments.
        """
        draw = self._random
        branches = ("dev", "dev", "dev", "stable", "side")
        branch, other = draw.choice(branches), draw.choice(branches)
        version = draw.randrange(max(1, self._made + 2))
        name = draw.choices(
            ("commit", "snapshot", "promote", "log", "fork"), (60, 15, 15, 5, 5), k=1
        )[0]
        if name == "commit":
            return self._commit(ledger, branch)
        if name == "snapshot":
            return name, (branch, draw.choice((None, version))), {}
        if name == "promote":
            return name, (version,), {"source": branch, "target": other}
        return (name, ("side",), {"source": branch}) if name == "fork" else (name, (branch,), {})

    def _commit(self, ledger: Ledger, branch: str) -> Call:
        draw = self._random
        try:
            head = ledger.snapshot(branch)
        except LedgerError:  # the branch is made later
            head = Snapshot(0, Artifact({}))
        state = dict(head.artifact.value)
        for _ in range(draw.randrange(3)):
            name = f"{draw.randrange(12)}.md"
            if draw.random() < 0.3:
                state.pop(name, None)
            else:
                state[name] = draw.choice((*ALIKE, "x" * draw.randrange(400)))
        expected = head.version if draw.random() < 0.8 else draw.randrange(head.version + 2)
        key = f"k{self._made if draw.random() < 0.8 else draw.randrange(self._made + 1)}"
        self._made += 1
        arguments = {"key": key, "message": f"m{self._made}", "branch": branch}
        return "commit", (expected, Artifact(state)), arguments


def answer(ledger: Ledger, call: Call) -> object:
    """
    What a ledger answers; for a refusal, its kind and its words.
    """
    name, arguments, keywords = call
    try:
        found: object = getattr(ledger, name)(*arguments, **keywords)
    except LedgerError as error:
        return type(error), str(error)
    if isinstance(found, Snapshot):
        return found.version, spelled(found)
    return (found.head.version, spelled(found.head)) if isinstance(found, HeadMoved) else found
