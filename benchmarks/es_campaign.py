"""
What schedules that let evidence grow old cost an evolution strategy: a campaign over paired seeds.

    python benchmarks/es_campaign.py --folder campaign
    python benchmarks/es_campaign.py --folder campaign --minutes 15
    python benchmarks/es_campaign.py --folder campaign --report docs/explanation/async-es-campaign.md
    python benchmarks/es_campaign.py --smoke

The same command goes on where it was stopped or killed.  The plan is written to ``plan.json`` in the folder at the
first start and can't be changed afterwards.  ``--report`` runs nothing.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
from pathlib import Path
from time import monotonic

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # each process keeps to one core
os.environ.setdefault("OMP_NUM_THREADS", "1")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--folder", type=Path, help="where results lie, or are to lie")
    parser.add_argument("--minutes", type=float, help="begin no further run after so many")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seeds", type=int, help="how many; settled at the first start, else 40")
    parser.add_argument("--report", type=Path, metavar="PAGE", help="write a page of what there is")
    parser.add_argument("--smoke", action="store_true", help="half a minute of it, checked")
    asked = parser.parse_args()
    if asked.folder is None and not asked.smoke:
        parser.error("give --folder, or --smoke")
    return asked


class Told:
    """
    A line a run, with the time that the rest will take.
    """

    def __init__(self):
        self.begun, self.first = monotonic(), None

    def __call__(self, one, done, of):
        self.first = done - 1 if self.first is None else self.first
        pace = (monotonic() - self.begun) / (done - self.first)
        unit, end = one.unit, f"{one.curve[-1]:6.2f}" if one.curve else "whole "
        print(
            f"{done}/{of}  {unit.problem}, {unit.arm}, rate {unit.rate:g}, seed {unit.seed}: {end}"
            f"  {one.seconds:.1f} s  ({(of - done) * pace / 60:.0f} min to go)",
            flush=True,
        )


def smoke(processes):
    """
    Two runs of the same short plan agree to the last bit, and all cards 8 old are worse than none.
    """
    from headway_es.campaign import SMOKE, Store, carry_out
    from headway_es.campaign._analysis import Analysis

    found = []
    with tempfile.TemporaryDirectory() as folder:
        for name in ("once", "again"):
            store = Store.begin(Path(folder, name), SMOKE)
            carry_out(store, processes=processes, progress=Told())
            found.append(Analysis.of(store))
    once, again = ({u: d.digest for u, d in one.results.items()} for one in found)
    areas = found[0].values("miniterm", SMOKE.rates[0], "area")
    worse = max(areas["pipeline-8"]) < min(areas["sync"])
    print(f"the same twice: {once == again}; all cards 8 old are worse than none: {worse}")
    return once == again and worse


def main():
    asked = arguments()
    if asked.smoke:
        sys.exit(not smoke(asked.processes))
    import attrs

    from headway_es.campaign import FULL, Store, carry_out, write_report

    if asked.report is not None:
        write_report(Store.read(asked.folder), asked.report)
        return
    plan = FULL if asked.seeds is None else attrs.evolve(FULL, seeds=asked.seeds)
    if asked.seeds is None and (asked.folder / "plan.json").exists():
        plan = Store.read(asked.folder).plan
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    store = Store.begin(asked.folder, plan)
    try:
        whole = carry_out(store, processes=asked.processes, minutes=asked.minutes, progress=Told())
    except KeyboardInterrupt:
        sys.exit("stopped; the same command goes on")
    print("all done" if whole else "the same command goes on")


if __name__ == "__main__":
    main()
