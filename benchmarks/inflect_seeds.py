"""
What ``headway run inflect`` reaches, seed by seed, in each mode and under each driver.

Run it where Headway and headway-domains are installed::

    python benchmarks/inflect_seeds.py --mode async --driver threads

It prints, for every seed, the final held-out reward, the reward on the test tasks, and the seconds
that the run took on the wall's clock; then the median and the worst of each.  Without ``--mode`` and
``--driver`` it tries one combination after the other.  ``--least-test R`` exits with 1 when the
median test reward of one of them is below R.  ``--command N`` measures the whole command instead, N
times, starting an interpreter included.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from statistics import median

from headway import run
from headway_domains.inflect import Inflect

SETTINGS = (
    ("async", "threads"),
    ("async", "asyncio"),
    ("async", "simulated"),
    ("sync", "threads"),
    ("sync", "asyncio"),
    ("sync", "serial"),
    ("sync", "simulated"),
)


def measured(mode, driver, seed, options):
    began = time.perf_counter()
    result = run(Inflect(), mode=mode, driver=driver, seed=seed, **options)
    return result, time.perf_counter() - began


def table(mode, driver, seeds, options):
    """
    Print one setting's table and return its median test reward.
    """
    print(f"\n{mode} {driver}\nseed    final   test    seconds  rollouts  calls   commits")
    finals, tests, times = [], [], []
    for seed in range(seeds):
        result, seconds = measured(mode, driver, seed, options)
        finals.append(result.final_reward)
        tests.append(result.test_reward)
        times.append(seconds)
        print(
            f"{seed:<6}  {finals[-1]:.4f}  {tests[-1]:.4f}  {seconds:<7.2f}  {result.rollouts:<8}  "
            f"{sum(result.calls.values()):<6}  {result.version}",
            flush=True,
        )
    print(f"median  {median(finals):.4f}  {median(tests):.4f}  {median(times):.2f}")
    print(f"worst   {min(finals):.4f}  {min(tests):.4f}  {max(times):.2f}", flush=True)
    return median(tests)


def whole_command(times):
    seconds = []
    for _ in range(times):
        with tempfile.TemporaryDirectory() as folder:
            began = time.perf_counter()
            command = [sys.executable, "-m", "headway", "run", "inflect"]
            subprocess.run(command, cwd=folder, check=True, capture_output=True)
            seconds.append(time.perf_counter() - began)
    told = " ".join(f"{second:.2f}" for second in seconds)
    print(f"headway run inflect: {told} seconds, median {median(seconds):.2f}")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--seeds", type=int, default=10, help="how many, from 0 on")
    parser.add_argument("--rollouts", type=int, help="instead of the domain's default")
    parser.add_argument("--mode", choices=sorted({mode for mode, _ in SETTINGS}))
    parser.add_argument("--driver", choices=sorted({driver for _, driver in SETTINGS}))
    parser.add_argument("--least-test", type=float, metavar="R", help="exit with 1 below it")
    parser.add_argument("--command", type=int, metavar="N", help="time the whole command")
    return parser.parse_args()


def main():
    asked = arguments()
    if asked.command:
        whole_command(asked.command)
        return
    options = {"max_rollouts": asked.rollouts} if asked.rollouts else {}
    medians = [
        table(mode, driver, asked.seeds, options)
        for mode, driver in SETTINGS
        if asked.mode in (None, mode) and asked.driver in (None, driver)
    ]
    if not medians:
        sys.exit(f"{asked.driver} does not run {asked.mode} mode")
    if asked.least_test is not None and min(medians) < asked.least_test:
        sys.exit(f"the median test reward {min(medians):.4f} is below {asked.least_test}")


if __name__ == "__main__":
    main()
