"""
The tests of real threads and event loops, again and again: what fails once in a hundred is a fault.

    python tests/repeat.py --times 100

Each repetition is a new process, and ends with an error when a run has left a thread or a task.
What fails is printed whole, and the next repetition begins; the script then exits with 1.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path
from time import monotonic

ROOT = Path(__file__).parent.parent

DRIVERS = (
    *("lane", "loop", "waker", "timekeeping", "drivers", "arun", "interrupt", "endings"),
    *("process_executor", "journal_rides", "going_on", "run_dir"),
)
"""The files of tests that run wholly."""

RUNS = (
    *("budgets", "charging", "evolve", "group_faults", "groups", "machine_runs"),
    *("run_faults", "sync_loop", "training_recovery", "training_runs", "when_things_fail"),
)
"""The files of which those tests run that name one of the two drivers."""


def files(names: tuple[str, ...]) -> list[str]:
    """
    Where the tests of these names are.
    """
    return [f"tests/test_{name}.py" for name in names]


WHICH = " or ".join(["threads", "asyncio", *(Path(file).name for file in files(DRIVERS))])


def repetition(processes: str) -> tuple[bool, str]:
    """
    Whether all passed, and what pytest printed.
    """
    command = [sys.executable, "-m", "pytest", "-q", "-n", processes, "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "-k", WHICH, *files(DRIVERS + RUNS)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode == 0, done.stdout + done.stderr


def main() -> int:
    """
    Run them, a line for each repetition.
    """
    about = "Run the tests of real threads and event loops again and again."
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--times", type=int, default=100, help="repetitions")
    parser.add_argument(
        "--processes", default="auto", help="of pytest; more than cores make it harder"
    )
    asked = parser.parse_args()
    failed, began = 0, monotonic()
    for number in range(1, asked.times + 1):
        passed, told = repetition(asked.processes)
        last = told.strip().splitlines()[-1] if told.strip() else "nothing was printed"
        print(f"{number}/{asked.times}: {last}", flush=True)
        if not passed:
            failed += 1
            print(told, flush=True)
    print(f"{asked.times} repetitions, {failed} failed, {monotonic() - began:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
