"""
Kills runs at random instants, and counts what is lost, paid for twice, or can't be gone on with.

    python benchmarks/crashes.py --kill 500 --resume 200 --replay 50 --check

All processes, kills and files are real; only under ``--events`` the clock is simulated.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path

from harness.aftermath import (
    alterations,
    broken_at,
    change_byte,
    named,
    paid_calls,
    play,
    read_error,
    same,
    whole,
)
from harness.contending import contend, growth
from harness.killing import Aim, Autopsy, Life, explain, losses, registry
from harness.tables import counts, setting

REAL = ("threads", "asyncio", "serial")
MOST_KILLS = 8
"""Kills after which a run may end in peace."""

MOST_MB = 8.0
"""What the memory may grow by, in which the interpreter's own ups and downs are."""

WELL = ("max_iters", "target_reward", "exhausted")
"""Why a run of these may end."""


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    for part, text in {
        "kill": "kill -9 cycles, shared by the kinds of runs",
        "resume": "interrupted runs against a counter of paid calls",
        "replay": "runs that are played again from their journals, then altered",
        "events": "simulated runs that are interrupted at every event",
        "contend": "commits of two processes on one ledger",
        "growth": "snapshots and commits of one process",
    }.items():
        parser.add_argument(f"--{part}", type=int, default=0, metavar="N", help=text)
    parser.add_argument("--kinds", nargs="+", default=REAL, help="what is killed: %(default)s")
    parser.add_argument("--ledger", choices=("sqlite", "git"), default="sqlite")
    parser.add_argument("--rollouts", type=int, default=6, help="rollouts of a run of --events")
    parser.add_argument("--every", type=int, default=1, help="take every so many-th event alone")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, help="where the runs lie; else a temporary folder")
    parser.add_argument("--check", action="store_true", help="exit with 1 when a figure is missed")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every single result")
    return parser.parse_args()


class Report:
    """
    Prints what each part counted, and keeps what it missed.
    """

    def __init__(self, asked, folder):
        self.asked, self.folder = asked, folder
        self.results, self.missed = [], []

    def life(self, name, kind, seed, **more):
        return Life(
            folder=self.folder / name, kind=kind, seed=seed, ledger=self.asked.ledger, **more
        )

    def part(self, what, count, missed):
        told = "  MISSED: " + "; ".join(map(str, missed[:5])) if missed else ""
        print(f"{what:18s} {counts(count)}{told}", flush=True)
        self.results.append({"what": what, **count, "missed": [str(m) for m in missed]})
        self.missed += missed

    # -------------------------------------------------------------------------- kill -9 at any time

    def kill(self, kind, cycles):
        """
        Kill runs of a kind until it was done so often; every run is brought to its end.
        """
        rng, count, missed = random.Random(f"kill {kind} {self.asked.seed}"), Counter(), []
        while count["kills"] < cycles:
            life = self.life(f"{kind}-{count['runs']}", kind, self.asked.seed + count["runs"])
            most = min(rng.randint(2, MOST_KILLS), cycles - count["kills"])
            missed += self._killed(life, [Aim.draw(rng) for _ in range(most)], count)
        self.part(f"kill {kind}", count, missed)

    def _killed(self, life, aims, count):
        count["runs"] += 1
        missed = self._interrupted(life, aims, count) or self._finished(life, count)
        if missed:
            print(f"{life.folder}: {missed}", file=sys.stderr)
            explain(life)
        else:
            shutil.rmtree(life.folder)
        return missed

    def _interrupted(self, life, aims, count):
        for aim in aims:
            status, child = life.die(aim)
            if status is not None:
                return [f"exit status {status}"] if status else []
            count["kills"] += 1
            count["kills inside commit, group, opening or ending"] += child.is_inside(aim.place)
            count["kills at work"] += aim.place == "work"
            try:
                found = Autopsy.of(life)
            except Exception as error:  # noqa: BLE001 - somebody would have to repair it by hand
                count["repairs"] += 1
                return [f"does not open: {error!r}"]
            life.note(found)
            missed = self._lost(life, found, count)
            if missed:
                return missed
        return []

    def _lost(self, life, found, count):
        commits, cards = losses(life.lines, found)
        count["lost commits"] += len(commits)
        count["lost cards"] += len(cards)
        return [f"lost {sorted([*commits, *cards])[:5]}"] if commits or cards else []

    def _finished(self, life, count):
        status = life.begin().wait()
        if status != 0:
            count["wedged" if status is None else "repairs"] += 1
            return ["wedged" if status is None else f"exit status {status} when it went on"]
        found, result = Autopsy.of(life), life.result()
        told = {line.split(" ")[0] + " " + line.split(" ")[1] for line in life.lines}
        count["acknowledged commits"] += sum(word.startswith("head ") for word in told)
        count["acknowledged cards"] += sum(word.startswith("card ") for word in told)
        count["acknowledged tickets"] += sum(word.startswith("ticket ") for word in told)
        missed = self._lost(life, found, count)
        if found.machine.digest != result.digest:
            missed.append("the journal leads to another digest than the result has")
        if result.failures or result.stop_reason not in WELL:
            missed.append(f"ended with {result.stop_reason}: {result.failures}")
        calls, bad = paid_calls(life, found)
        count.update({"calls": calls["calls"], "calls made again": calls["again"]})
        count["said to be made again"] += result.repeated_calls
        count["calls of forgotten decisions"] += calls["unknown"]
        count["paid twice"] += len(bad)
        return [*missed, *bad]

    # -------------------------------------------------------------------------------- paid calls

    def resume(self, runs):
        """
        Interrupt so many runs, several times each, in the middle of their work.
        """
        rng, count, missed = random.Random(f"resume {self.asked.seed}"), Counter(), []
        for number in range(runs):
            kind = self.asked.kinds[number % len(self.asked.kinds)]
            life = self.life(f"resume-{number}", kind, self.asked.seed + number)
            aims = [
                Aim(place="work", entered=1, after=0.15 * rng.random())
                for _ in range(rng.randint(1, 3))
            ]
            missed += self._killed(life, aims, count)
        self.part("resume", count, missed)

    # ------------------------------------------------------------------------------------ replay

    def replay(self, runs):
        """
        Play runs again from their journals, as they are and altered.
        """
        rng, count, missed = random.Random(f"replay {self.asked.seed}"), Counter(), []
        for number in range(runs):
            kind = ("threads", "asyncio")[number % 2]
            life = self.life(f"replay-{number}", kind, self.asked.seed + number)
            missed += self._replayed(life, rng, count)
            shutil.rmtree(life.folder)
        self.part("replay", count, missed)

    def _replayed(self, life, rng, count):
        status = life.begin().wait()
        if status != 0:
            explain(life)
            return [f"exit status {status}"]
        found, missed = Autopsy.of(life), []
        count["runs"] += 1
        count["events"] += len(found.rows)
        if play(found.blueprint, found.rows) != life.result().digest:
            missed.append("another digest")
        for what, at, rows in alterations(rng, found.rows):
            count["altered"] += 1
            said = named(found.blueprint, rows)
            if said is None or not said.startswith(f"event {at} "):
                missed.append(f"{what} of event {at} altered: {said}")
        at = rng.randrange(len(found.rows))
        change_byte(life.path / "run.sqlite", at, rng)
        count["altered"] += 1
        said = read_error(life.path)
        if said is None or f"event {at} is damaged" not in said:
            missed.append(f"a byte of event {at} changed: {said}")
        return missed

    # -------------------------------------------------------------------- at every event, simulated

    def events(self, seeds):
        """
        Interrupt simulated runs after each of their events, and once after every one.
        """
        count, missed = Counter(), []
        for seed in range(self.asked.seed, self.asked.seed + seeds):
            small = {"rollouts": self.asked.rollouts, "speed": 0.0}
            result, events = whole(self.life("whole", "simulated", seed, **small))
            count["runs"] += 1
            for event in range(1, events + 1, self.asked.every):
                again, _ = broken_at(self.life("broken", "simulated", seed, **small), event)
                count["interruptions"] += 1
                missed += self._differs(seed, event, result, again)
            again, lives = broken_at(self.life("broken", "simulated", seed, **small), 5, every=True)
            count["lives of 5 events"] += lives
            missed += self._differs(seed, "each fifth", result, again)
        self.part("events", count, missed)

    @staticmethod
    def _differs(seed, event, result, again):
        other = ["it did not end"] if again is None else same(result, again)
        return [f"seed {seed}, event {event}: {', '.join(other)}"] if other else []

    # --------------------------------------------------------------------------- ledgers under load

    def contend(self, commits):
        """
        Let two processes commit to one ledger.
        """
        count = contend(self.folder, self.asked.ledger, commits)
        missed = ["lost or failed"] if count["lost"] or count["failed"] else []
        self.part(f"contend {self.asked.ledger}", count, missed)

    def growth(self, commits):
        """
        Look at what a process holds after many commits.
        """
        before, after = growth(self.folder, self.asked.ledger, commits)
        count = {name: after[name] - before[name] for name in after}
        missed = [name for name in count if count[name] > (MOST_MB if name == "MB" else 0)]
        self.part(f"growth {self.asked.ledger}", count, missed)


def go(asked, folder):
    """
    All parts that were asked for.
    """
    folder.mkdir(parents=True, exist_ok=True)
    report = Report(asked, folder)
    for place, kind in enumerate(asked.kinds if asked.kill else ()):
        report.kill(kind, (asked.kill + place) // len(asked.kinds))
    for part in ("resume", "replay", "events", "contend", "growth"):
        if number := getattr(asked, part):
            getattr(report, part)(number)
    if asked.json is not None:
        asked.json.write_text(json.dumps(report.results, indent=1) + "\n", encoding="utf-8")
    if report.missed:
        print(f"{len(report.missed)} figures missed")
    return report.missed


def main():
    asked = arguments()
    if asked.ledger == "git" and "git" not in registry().names("ledger"):
        print("left out: git, since the plug-in headway-git is not installed")
        return
    print(setting())
    with tempfile.TemporaryDirectory() as made:
        missed = go(asked, asked.folder or Path(made))
    sys.exit(asked.check and bool(missed))


if __name__ == "__main__":
    main()
