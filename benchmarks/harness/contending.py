"""
Ledgers under load: two processes that commit to one, and one that commits thousands of versions.
"""

from __future__ import annotations

import gc
import json
import os
import random
import threading
import time
from pathlib import Path

from harness.killing import PATIENCE, Child, registry
from headway.contracts import Artifact, Committed

SETTLED = 0.3
"""The share of the commits after which nothing may grow any more."""


def contend(folder, ledger, commits, writers=2):
    """
    Let processes commit to one ledger; returns what they were told and what is there.
    """
    place = folder / f"contended.{ledger}"
    _opened(ledger, place).close()
    share = commits // writers
    gate, opened = os.pipe()
    children = [
        Child(
            lambda pipe, n=n: _commit(ledger, place, n, share, folder, pipe, gate),
            folder / f"errors-{n}",
        )
        for n in range(writers)
    ]
    for child in children:
        child.hear(lambda said: b"!" in said, PATIENCE)
    os.write(opened, b"!" * writers)
    statuses = [child.wait(600) for child in children]
    os.close(gate)
    os.close(opened)
    kept = _opened(ledger, place)
    try:
        state, entries = kept.snapshot().artifact.value, kept.log()
    finally:
        kept.close()
    told = [_told(folder / f"told-{n}") for n in range(writers)]
    there = {entry.version: entry.digest for entry in entries}
    lost = sum(there.get(version) != digest for one in told for version, digest in one["acked"])
    lost += sum(abs(state[f"writer {n}"] - len(one["acked"])) for n, one in enumerate(told))
    return {
        "commits": sum(len(one["acked"]) for one in told),
        "conflicts": sum(one["conflicts"] for one in told),
        "lost": lost,
        "failed": sum(status != 0 for status in statuses),
    }


def _told(path):
    if not path.exists():
        return {"acked": [], "conflicts": 0}
    return json.loads(path.read_text(encoding="utf-8"))


def _opened(ledger, place):
    initial = Artifact({"writer 0": 0, "writer 1": 0})
    return registry().create("ledger", ledger, initial=initial, path=place)


def _commit(ledger, place, me, share, folder, pipe, gate):
    kept, acked, conflicts = _opened(ledger, place), [], 0
    rng = random.Random(me)
    os.write(pipe, b"!")
    os.read(gate, 1)  # all begin at once
    head = kept.snapshot()
    while len(acked) < share:
        time.sleep(0.0005 * rng.random())  # while it works on its change, others commit theirs
        state = {**head.artifact.value, f"writer {me}": len(acked) + 1}
        artifact = Artifact(state)
        key = f"{me}.{len(acked)}.{head.version}"
        answer = kept.commit(head.version, artifact, key=key, message="one more")
        if isinstance(answer, Committed):
            acked.append((answer.version, artifact.digest))
            head = kept.snapshot()
        else:
            conflicts += 1
            head = answer.head
    kept.close()
    told = json.dumps({"acked": acked, "conflicts": conflicts})
    (folder / f"told-{me}").write_text(told, encoding="utf-8")


# ------------------------------------------------------------------------------------------- growth


def growth(folder, ledger, commits):
    """
    What thousands of snapshots and commits leave behind in a process: before, and at the end.
    """
    child = Child(lambda pipe: _grow(folder, ledger, commits), folder / "errors-growth")
    status = child.wait(600)
    if status != 0:
        raise RuntimeError((folder / "errors-growth").read_text(encoding="utf-8")[-2000:])
    return json.loads((folder / "growth.json").read_text(encoding="utf-8"))


def _grow(folder, ledger, commits):
    kept = registry().create(
        "ledger", ledger, initial=Artifact({}), path=folder / f"grown.{ledger}"
    )
    seen = []
    for n in range(commits):
        head = kept.snapshot()
        state = {**head.artifact.value, f"name {n % 50}": f"text {n}" * 10}
        kept.commit(head.version, Artifact(state), key=f"key {n}", message=f"commit {n}")
        if n in (int(commits * SETTLED), commits - 1):
            for packing in threading.enumerate():
                if packing.name == "headway-git-pack":
                    packing.join()
            gc.collect()
            seen.append(_held())
    kept.close()
    (folder / "growth.json").write_text(json.dumps(seen), encoding="utf-8")


def _held():
    status = Path("/proc/self/status").read_text(encoding="ascii")
    resident = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return {
        "files": len(list(Path("/proc/self/fd").iterdir())),
        "threads": threading.active_count(),
        "processes": len(_children()),
        "MB": int(resident.split()[1]) / 1024,
    }


def _children():
    return Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="ascii").split()
