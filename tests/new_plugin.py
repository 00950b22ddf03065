"""
A plug-in from nothing, as a user makes one: wheels, a fresh environment, plain pip, three runs.

    python tests/new_plugin.py

It builds wheels of this checkout, so it needs what pip needs to get the build back-end.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import monotonic

ROOT = Path(__file__).parent.parent

RUNS = {
    "sync": ("--mode", "sync"),
    "async": ("--mode", "async"),
    "simulated": ("--mode", "async", "--driver", "simulated"),
}
"""By name of the folder: what makes it that kind of run."""

LEFT_OUT = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "HEADWAY_PLUGINS", "HEADWAY_PLUGINS_STRICT")
"""What would bring this environment into the new one."""


class Failed(Exception):  # noqa: N818 - it is this script's own
    """
    A step did not do what it must.
    """


def call(*command: str | Path, within: Path) -> str:
    """
    What a command prints; it must end with 0.
    """
    environment = {k: v for k, v in os.environ.items() if k not in LEFT_OUT}
    done = subprocess.run(
        command, cwd=within, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        told = f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}".strip()
        raise Failed(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{told}")
    return done.stdout


def installed(folder: Path) -> Path:
    """
    A fresh environment with wheels of this checkout; where its programs are.
    """
    wheels = folder / "wheels"
    pip = (sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", wheels)
    call(*pip, ROOT, ROOT / "plugins" / "headway-domains", within=folder)
    call(sys.executable, "-m", "venv", "environment", within=folder)
    programs = folder / "environment" / ("Scripts" if os.name == "nt" else "bin")
    found = sorted(wheels.glob("*.whl"))
    call(programs / "python", "-m", "pip", "install", "--quiet", *found, within=folder)
    return programs


def next_commands(told: str) -> list[str]:
    """
    What the command that wrote the package says to do, a line each.
    """
    return [line.strip() for line in told.partition("try next\n")[2].splitlines()]


def check_listing(programs: Path, folder: Path) -> None:
    """
    The new part is on offer, and can be imported.
    """
    listed = json.loads(call(programs / "headway", "plugins", "--check", "--json", within=folder))
    rows = [row for row in listed["plugins"] if row["distribution"] == "headway-greedy"]
    told = [(row["kind"], row["name"], row["version"], row["status"]) for row in rows]
    if told != [("aggregator", "greedy", "0.1.0", "ok")]:
        raise Failed(f"headway plugins lists {told} of headway-greedy")


def check_run(programs: Path, folder: Path, name: str) -> str:
    """
    A run with the new part by its name gets better, and says whose part it was.
    """
    options = ("--aggregator", "greedy", "--max-rollouts", "150", "--seed", "1", "--out", name)
    call(programs / "headway", "run", "inflect", *RUNS[name], *options, within=folder)
    result = json.loads((folder / name / "result.json").read_text(encoding="utf-8"))
    chosen = result["choices"]["aggregator"]
    if chosen != "greedy (headway-greedy 0.1.0)":
        raise Failed(f"the run {name} was made with {chosen}")
    if result["failures"] or result["stop_reason"] != "max_iters":
        raise Failed(f"the run {name} ended {result['stop_reason']} with {result['failures']}")
    begin, end = result["baseline_reward"], result["final_reward"]
    if not end > begin or not result["decisions"].get("committed"):
        raise Failed(f"the run {name} went from {begin} to {end} with {result['decisions']}")
    return f"{begin:.3f} -> {end:.3f}, {result['version']} commits"


def steps(folder: Path) -> None:
    """
    From wheels to three runs, with a line and the seconds so far for each step.
    """
    begun = monotonic()

    def say(text: str) -> None:
        print(f"{monotonic() - begun:6.1f} s  {text}", flush=True)

    programs = installed(folder)
    say("wheels of this checkout installed")
    told = call(
        *(programs / "headway", "plugins", "new", "headway-greedy", "--kind", "aggregator"),
        within=folder,
    )
    install, test, _ = next_commands(told)
    package = "./headway-greedy[test]"
    if package not in install or test != "python -m pytest headway-greedy":
        raise Failed(f"headway plugins new says to do {install!r} and {test!r}")
    call(programs / "python", "-m", "pip", "install", "--quiet", package, within=folder)
    say("headway-greedy made and installed")
    told = call(programs / "python", "-m", "pytest", "headway-greedy", within=folder)
    say(f"its tests: {told.splitlines()[-1].strip('= ')}")
    check_listing(programs, folder)
    for name in RUNS:
        say(f"{name}: {check_run(programs, folder, name)}")


def main() -> int:
    """
    Do all of it in a temporary folder; 1 when a step fails, with what it said.
    """
    with tempfile.TemporaryDirectory() as folder:
        try:
            steps(Path(folder))
        except Failed as failure:
            print(failure)
            return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
