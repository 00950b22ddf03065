"""
Where results lie: ``plan.json``, written once, and ``results.jsonl``, a line a unit.

A line is on the disk before the next unit is told of, so a campaign may be killed at any moment: what is
there counts, and a line that was cut short is made again.  One process at a time writes to a folder.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import attrs

from headway.errors import UsageError
from headway_es.campaign._plan import Plan, Unit


@attrs.frozen(kw_only=True)
class Done:
    """
    A unit that was run.

    Args:
        unit: Which.
        curve: Progress at the start and after every ``plan.every`` updates.
        times: For each law of the plan, or that of the unit, the virtual time at each point of the curve,
            in mean durations of a pair; empty for the policy gradient and for checks.
        digest: The SHA-256 of the last theta.
        mean_lag: The mean lag of the cards used.
        max_lag: The largest.
        unused: Cards that were evaluated and never used.
        seconds: What it took, of the processor.
        more: What else is told of it.
    """

    unit: Unit
    curve: tuple[float, ...]
    times: Mapping[str, tuple[float, ...]]
    digest: str
    mean_lag: float = 0.0
    max_lag: int = 0
    unused: int = 0
    seconds: float = 0.0
    more: Mapping[str, float] = attrs.field(factory=dict[str, float])


@attrs.frozen(kw_only=True)
class Store:
    """
    A folder of results.

    Args:
        folder: Where it is.
        plan: What is run in it.
    """

    folder: Path
    plan: Plan

    @classmethod
    def begin(cls, folder: Path, plan: Plan) -> Store:
        """
        Open a folder, and fix the plan in it when there is none yet.

        Raises:
            UsageError: a campaign with another plan was begun there, or its files can't be read.
        """
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "plan.json"
        if not path.exists():
            part = path.with_suffix(".part")
            told = {"plan": plan.as_json(), "versions": versions()}
            part.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
            part.replace(path)
        store = cls.read(folder)
        if store.plan != plan:
            raise UsageError(
                f"{folder} holds results of another plan: go on with that one, or give a new folder"
            )
        _cut(folder / "results.jsonl")
        return store

    @classmethod
    def read(cls, folder: Path) -> Store:
        """
        Open a folder in which a campaign was begun.

        Raises:
            UsageError: there is none, or its plan can't be read.
        """
        try:
            held = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
            return cls(folder=folder, plan=Plan(**held["plan"]))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UsageError(f"{folder} holds no campaign that can be read: {error}") from error

    @property
    def versions(self) -> Mapping[str, str]:
        """
        The versions that the campaign was begun with.
        """
        held = json.loads((self.folder / "plan.json").read_text(encoding="utf-8"))
        found: Mapping[str, str] = held["versions"]
        return found

    def done(self) -> dict[Unit, Done]:
        """
        What was run so far, by unit.

        Raises:
            UsageError: a line is none of a result.
        """
        path = self.folder / "results.jsonl"
        lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
        found = dict[Unit, Done]()
        for number, line in enumerate(lines, 1):
            try:
                one = _done(json.loads(line))
            except (ValueError, KeyError, TypeError) as error:
                raise UsageError(f"{path}, line {number} is no result: {error}") from error
            found[one.unit] = one
        return found

    def add(self, one: Done) -> None:
        """
        Write a result; it is on the disk when this returns.
        """
        line = json.dumps(attrs.asdict(one), separators=(",", ":"), allow_nan=False)
        with (self.folder / "results.jsonl").open("ab") as file:
            file.write(line.encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())


def versions() -> dict[str, str]:
    """
    The versions of what results depend on.
    """
    packages = ("headway", "headway-es", "headway-envs", "numpy")
    found = {"python": platform.python_version(), "machine": platform.machine()}
    for package in packages:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def _done(held: dict[str, Any]) -> Done:
    given: dict[str, Any] = {
        "unit": Unit(**held["unit"]),
        "curve": tuple(held["curve"]),
        "times": {law: tuple(at) for law, at in held["times"].items()},
    }
    return Done(**{**held, **given})


def _cut(path: Path) -> None:
    """
    Remove what stands behind the last whole line.
    """
    if not path.exists():
        return
    whole = path.read_bytes().rfind(b"\n") + 1
    if whole < path.stat().st_size:
        os.truncate(path, whole)
