"""
Tries many schedules: ``python -m headway.testing.simulate --schedules 10000``.

Each seed is one schedule with its faults; a seed that fails is printed with what it broke, and
``--seeds 4711`` runs it alone.  Exit code 1 when any failed.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import islice

import attrs

from headway.errors import MachineError
from headway.testing._schedules import check

CHUNK = 50
"""Schedules that a process is given at once."""


@attrs.frozen(kw_only=True)
class Findings:
    """
    What some schedules came to.

    Args:
        schedules: How many were tried.
        events: How many events they had.
        failures: The seeds that failed, each with what it broke.
    """

    schedules: int
    events: int
    failures: tuple[tuple[int, str], ...]


def try_seeds(seeds: Sequence[int]) -> Findings:
    """
    Check the schedules of some seeds.
    """
    gc.disable()  # a schedule leaves little behind, and looking for it costs a tenth of the time
    events = 0
    failures: list[tuple[int, str]] = []
    for seed in seeds:
        try:
            events += check(seed)
        except (AssertionError, MachineError) as error:
            failures.append((seed, f"{type(error).__name__}: {error}"))
    gc.enable()
    gc.collect()
    return Findings(schedules=len(seeds), events=events, failures=tuple(failures))


def chunks(seeds: Iterable[int], size: int) -> Iterable[list[int]]:
    """
    Seeds in lists of a size.
    """
    rest = iter(seeds)
    while chunk := list(islice(rest, size)):
        yield chunk


def merge(parts: Iterable[Findings]) -> Findings:
    """
    The findings of all parts together.
    """
    found = list(parts)
    return Findings(
        schedules=sum(part.schedules for part in found),
        events=sum(part.events for part in found),
        failures=tuple(failure for part in found for failure in part.failures),
    )


def main(argv: Sequence[str] | None = None) -> int:
    """
    Try schedules and print what came of them.
    """
    parser = argparse.ArgumentParser(
        prog="python -m headway.testing.simulate",
        description="Try many seeded schedules of the machine, with faults, replays and crashes.",
        epilog="Example:\n  python -m headway.testing.simulate --schedules 10000",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--schedules", type=int, default=1000, help="how many (default 1000)")
    parser.add_argument("--first", type=int, default=0, help="the first seed (default 0)")
    parser.add_argument("--seeds", type=int, nargs="+", help="these seeds instead")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes (default all)")
    arguments = parser.parse_args(argv)
    seeds = arguments.seeds or range(arguments.first, arguments.first + arguments.schedules)
    began = time.monotonic()
    with ProcessPoolExecutor(arguments.jobs) as pool:
        found = merge(pool.map(try_seeds, chunks(seeds, CHUNK)))
    seconds = time.monotonic() - began
    for seed, text in found.failures:
        sys.stdout.write(f"seed {seed}: {text}\n")
    sys.stdout.write(
        f"{found.schedules} schedules, {found.events} events, {len(found.failures)} failed, "
        f"{seconds:.0f} s\n"
    )
    return 1 if found.failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
