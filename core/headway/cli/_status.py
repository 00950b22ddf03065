"""
``headway status``: how the run of a directory stands, whoever works on it.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import time
from collections.abc import Iterator, Mapping
from typing import Any

from headway._words import REASONS
from headway.cli._directories import add_directory
from headway.cli._ending import typed
from headway.rundir import Status, read_status

_EXAMPLE = """\
Example:
  headway status first

Nothing is locked and nothing is written, so it may be asked while the run goes on.
"""

_UNITS = ("B", "kB", "MB", "GB")


def add_parser(subparsers: Any) -> None:
    """
    Add the command's parser to what argparse's ``add_subparsers`` gave; that has no public type.
    """
    parser = subparsers.add_parser(
        "status",
        help="how a run stands",
        description="How the run of a directory stands, while it goes on or afterwards.",
        epilog=_EXAMPLE,
    )
    add_directory(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    about = "read all events, also of a long run that has not ended: about 5,000 a second"
    parser.add_argument("--full", action="store_true", help=about)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """
    Print how the run stands.

    Returns:
        The exit code.
    """
    status = read_status(args.directory, full=args.full)
    if args.json:
        text = json.dumps(status.to_json(), indent=2) + "\n"
    else:
        text = "".join(f"{line}\n" for line in _lines(status))
    sys.stdout.write(text)
    return 0


def _lines(status: Status) -> Iterator[str]:
    yield f"{status.path}: {_state(status)}"
    yield f"  run            {status.name}, {status.mode} mode, {status.driver} driver"
    yield f"  version        {status.version}"
    yield f"  events         {status.events}"
    if status.rollouts is None:
        yield "  rollouts       not counted, since there are that many events; --full reads them"
    else:
        yield from _counts(status)
    ago = max(0.0, time.time() - status.last_activity)
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(status.last_activity))
    yield f"  last activity  {when}, {ago:.0f} s ago"
    yield f"  on disk        {_size(status.size)}"


def _state(status: Status) -> str:
    if status.owner is not None:
        return f"running, {status.owner}"
    if status.state == "finished":
        reason = status.reason or ""
        return f"finished, because {REASONS.get(reason, reason)} ({reason})"
    how = {"interrupted": "by a signal", "error": "by an error", None: "by a crash"}
    cause = how.get(status.reason, status.reason)
    if not status.named:
        return f"interrupted {cause}; run the program again that began it, and it goes on"
    again = shlex.join([*typed(), "resume", status.path])
    return f"interrupted {cause}; {again} goes on"


def _counts(status: Status) -> Iterator[str]:
    yield f"  rollouts       {status.rollouts}"
    if status.updates:
        yield f"  updates        {status.updates}"
    calls = status.calls or {}
    again = f"; beside these {status.repeated} made again" if status.repeated else ""
    yield f"  calls          {sum(calls.values())}{_apart(calls)}{again}"
    if status.trainings:
        yield f"  trainings      {status.trainings}, in {status.train_seconds:.2f} s"
    if status.tokens or status.cost:
        yield f"  charged        {status.tokens} tokens, cost {status.cost:g}"
    if status.in_flight:
        yield f"  in flight      {sum(status.in_flight.values())}{_apart(status.in_flight)}"
    yield f"  reward         {_reward(status.baseline)} -> {_reward(status.reward)}"
    if status.seconds is not None:
        virtual = " (virtual)" if status.driver == "simulated" else ""
        sessions = status.sessions or 1
        several = f", in {sessions} sessions" if sessions > 1 else ""
        yield f"  seconds        {status.seconds:.2f}{virtual}{several}"


def _apart(counts: Mapping[str, int]) -> str:
    told = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
    return f": {told}" if told else ""


def _reward(reward: float | None) -> str:
    return "unknown" if reward is None else f"{reward:.3f}"


def _size(count: float) -> str:
    unit = 0
    while count >= 1000 and unit + 1 < len(_UNITS):  # noqa: PLR2004 - the step between two units
        count, unit = count / 1000, unit + 1
    return f"{count:.0f} B" if unit == 0 else f"{count:.1f} {_UNITS[unit]}"
