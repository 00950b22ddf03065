"""
What finding plug-ins takes in an environment of many distributions, beside a bare scan of it.

    python benchmarks/discovery.py --check

Each figure comes from a fresh process, and the three kinds of process take turns.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
from pathlib import Path
from time import perf_counter, process_time

from harness.fresh import call
from harness.tables import Table, add_common, end, mid

MOST = 1.5
"""Times as long as a bare scan."""

PLUGIN = """\
from headway.registry import hookimpl


@hookimpl
def headway_staleness_policies():
    return {{"policy-{number}": "nowhere_{number}:Policy"}}
"""


def install(site, distributions, plugins):
    """
    Write what an installer would write: the metadata of each distribution, and the plug-ins' modules.
    """
    for number in range(distributions):
        name = f"dist{number}"
        info = site / f"{name}-1.0.dist-info"
        info.mkdir()
        # About as much as a real one has: a description is most of it.
        metadata = ["Metadata-Version: 2.1", f"Name: {name}", "Version: 1.0", "", "word " * 1_000]
        (info / "METADATA").write_text("\n".join(metadata), encoding="utf-8")
        (info / "RECORD").write_text(f"{name}.py,,\n" * 20, encoding="utf-8")
        entries = [f"[console_scripts]\n{name} = {name}:main"]
        if number < plugins:
            entries.append(f"[headway]\n{name} = {name}")
            (site / f"{name}.py").write_text(PLUGIN.format(number=number), encoding="utf-8")
        (info / "entry_points.txt").write_text("\n\n".join(entries) + "\n", encoding="utf-8")


def scan(site):
    """
    Seconds of a bare scan, and how many entries it finds.
    """
    sys.path.insert(0, site)
    began = perf_counter(), process_time()
    from importlib.metadata import entry_points

    found = entry_points()
    return _taken(began) | {"found": len(found.select(group="headway"))}


def discover(site):
    """
    Seconds of the first question that needs every plug-in, and how many it finds.
    """
    sys.path.insert(0, site)
    import headway.registry

    began = perf_counter(), process_time()
    names = headway.registry.Registry.discover().names("staleness policy")
    return _taken(began) | {"found": sum(name.startswith("policy-") for name in names)}


def start(site):
    """
    How many modules ``import headway`` loads of those that discovery needs, and of plug-ins.
    """
    sys.path.insert(0, site)
    began = perf_counter(), process_time()
    import headway

    del headway
    looked = re.compile(r"dist\d+$|pluggy\b|importlib\.metadata\b|headway\.registry\._catalogue")
    return _taken(began) | {"found": sum(bool(looked.match(name)) for name in sys.modules)}


def _taken(began):
    return {"wall": perf_counter() - began[0], "cpu": process_time() - began[1]}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--distributions", type=int, default=1_000, help="how many are installed")
    parser.add_argument("--plugins", type=int, default=10, help="how many of them are plug-ins")
    add_common(parser, repeat=7)
    return parser.parse_args()


def main():
    asked = arguments()
    table = Table(step="10s", wall_ms="7.1f", CPU_ms="7.1f", found="5.0f", over_scan="9.2f")
    # What is installed has compiled modules: those of a checkout are compiled by the first round.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory() as folder:
        install(Path(folder), asked.distributions, asked.plugins)
        steps = ("scan", "discover", "start")
        _, *results = [
            {step: call(f"discovery:{step}", site=folder) for step in steps}
            for _ in range(asked.repeat + 1)
        ]
    for step in steps:
        runs = [result[step] for result in results]
        over = mid(results, lambda result, s=step: result[s]["cpu"] / result["scan"]["cpu"])
        table.row(
            step=step,
            wall_ms=mid(runs, "wall") * 1_000,
            CPU_ms=mid(runs, "cpu") * 1_000,
            found=mid(runs, "found"),
            over_scan=over,
            missed=missed(step, over, runs, asked),
        )
    end(asked, table, results)


def missed(step, over, runs, asked):
    """
    What is not as it must be.
    """
    told = []
    if step == "discover" and over > MOST:
        told.append(f"{over:.2f} x > {MOST} x a bare scan")
    if step == "discover" and any(run["found"] != asked.plugins for run in runs):
        told.append(f"not all {asked.plugins} plug-ins found")
    if step == "start" and any(run["found"] for run in runs):
        told.append("import headway looked for plug-ins")
    return told


if __name__ == "__main__":
    main()
