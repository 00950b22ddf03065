"""
What ``headway run inflect`` reaches, seed by seed, in each mode and under each driver.

Run it where Headway and headway-domains are installed::

    python benchmarks/inflect_seeds.py --seeds 10

It prints, for every seed, the final held-out reward, the reward on the test tasks, and the seconds
that the run took on the wall's clock; then the worst of each.  ``--command N`` measures the whole
command instead, N times, starting an interpreter included.
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
    ("sync", "serial"),
    ("sync", "threads"),
    ("async", "simulated"),
)


def measured(mode, driver, seed, options):
    began = time.perf_counter()
    result = run(Inflect(), mode=mode, driver=driver, seed=seed, **options)
    return result, time.perf_counter() - began


def table(mode, driver, seeds, options):
    print(f"\n{mode} {driver}\nseed  final   test    rollouts  calls   commits  seconds")
    finals, tests, times = [], [], []
    for seed in range(seeds):
        result, seconds = measured(mode, driver, seed, options)
        finals.append(result.final_reward)
        tests.append(result.test_reward)
        times.append(seconds)
        calls = sum(result.calls.values())
        print(
            f"{seed:<5} {finals[-1]:.4f}  {tests[-1]:.4f}  {result.rollouts:<8}  {calls:<6}  "
            f"{result.version:<7}  {seconds:.2f}"
        )
    print(f"worst {min(finals):.4f}  {min(tests):.4f}  seconds: median {median(times):.2f}")


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


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--rollouts", type=int, help="instead of the domain's default")
    parser.add_argument("--command", type=int, metavar="N", help="time the whole command")
    arguments = parser.parse_args()
    if arguments.command:
        whole_command(arguments.command)
        return
    options = {"max_rollouts": arguments.rollouts} if arguments.rollouts else {}
    for mode, driver in SETTINGS:
        table(mode, driver, arguments.seeds, options)


if __name__ == "__main__":
    main()
