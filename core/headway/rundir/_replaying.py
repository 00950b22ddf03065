"""
Replaying: the machine run again on what its journal holds, without plug-ins and without the domain.

Guarantee: the machine comes to the same decisions, versions and final state as it did then, or the
first event that says otherwise is named.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator

import attrs

from headway.errors import ReplayDivergence, RunDirectoryError
from headway.journal import Row, replay
from headway.machine import Event, Instruction, Machine, RecordedLookups, Statistics
from headway.rundir._reading import OpenRun, open_run

_FROM = re.compile(r"\((\S+) (\S+)\)$")
"""Where a part comes from, at the end of what a header says of it."""


@attrs.frozen(kw_only=True)
class Replayed:
    """
    What a replay came to.

    Args:
        events: How many events there were.
        seconds: The run's own clock at the last one.
        ended: Whether the run had ended; else the replay went as far as its journal does.
        stop_reason: Why the run ended, or ends; None while it does not.
        digest: The digest of all decisions, versions and the final state.
        kept: The digest in the stored result, which is the same; None where none is stored.
        statistics: The machine's counts at the end.
        changed: Versions that are other ones than those the run was begun with, as sentences.
    """

    events: int
    seconds: float
    ended: bool
    stop_reason: str | None
    digest: str
    kept: str | None
    statistics: Statistics
    changed: tuple[str, ...]


def replay_run(
    path: str | os.PathLike[str],
    *,
    force: bool = False,
    follow: Callable[[Event, list[Instruction]], None] | None = None,
) -> Replayed:
    """
    Run the machine of a run directory again from its journal.

    Nothing is measured, paid or written, and no code of a plug-in or a domain runs.  A run that goes
    on meanwhile is replayed as far as it is.

    Args:
        path: The run directory.
        force: Whether to replay with other versions of Headway and of plug-ins, too.
        follow: Told each event and its instructions, when given.

    Raises:
        ReplayDivergence: the machine does not come to what the journal or the result holds; the first
            event that differs is named.
        LedgerCorrupt: an event is not what was written; it is named.
        RunDirectoryError: there is no run, or it was begun with other versions than are installed.
        StorageError: the directory can't be read.
    """
    with open_run(path) as kept:
        changed = changed_versions(kept)
        if changed and not force:
            raise RunDirectoryError(
                str(path),
                f"{changed[0]}.",
                "A replay may differ: install that version, or replay all the same with --force "
                "(force=True).",
            )
        if not kept.events:
            reason = "nothing has happened in its run yet."
            raise RunDirectoryError(str(path), reason, "Wait until it has, or go on with it.")
        result = kept.result()
        machine, last, count = _replayed(kept, follow)
        if result is not None and result.digest != machine.digest:
            message = (
                f"the replay of {count} events ends in the digest {machine.digest}; "
                f"the stored result has {result.digest}"
            )
            raise ReplayDivergence(message)
    return Replayed(
        events=count,
        seconds=last,
        ended=machine.phase == "finished",
        stop_reason=machine.stop_reason,
        digest=machine.digest,
        kept=None if result is None else result.digest,
        statistics=machine.statistics(),
        changed=changed,
    )


def changed_versions(kept: OpenRun) -> tuple[str, ...]:
    """
    What is installed in another version than a run was begun with, as sentences without a full stop.
    """
    began = {"headway": kept.header.headway}
    for choice in kept.header.plan.choices.values():
        found = _FROM.search(choice)
        if found is not None:
            began.setdefault(found[1], found[2])
    return tuple(
        f"its run was begun with {name} {then}; installed is {now or 'none'}"
        for name, then in began.items()
        if (now := _installed(name)) != then
    )


def _installed(distribution: str) -> str | None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def _replayed(
    kept: OpenRun, follow: Callable[[Event, list[Instruction]], None] | None
) -> tuple[Machine, float, int]:
    lookups = RecordedLookups()
    machine = kept.header.plan.blueprint.machine(lookups)
    last = 0.0

    def rows() -> Iterator[Row]:
        nonlocal last
        for row in kept.rows():
            last = max(last, row.event.now)
            yield row

    count = replay(rows(), machine, lookups, follow)
    return machine, last, count
