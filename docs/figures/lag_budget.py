"""
Makes the table of docs/explanation/choosing-a-lag-budget.md: python docs/figures/lag_budget.py

A minute of one core.  The simulated driver makes every figure repeatable.
"""

from __future__ import annotations

from pathlib import Path
from statistics import fmean

from headway import run
from headway.durations import Constant, LogNormal
from headway.testing import ToyDomain

LAWS = {
    "rollout": LogNormal(1.0, 1.0),
    "propose": LogNormal(1.0, 1.0),
    "measure": Constant(0.1),
}
WORKERS = 16
RATIOS = (0, 1, 3, 8, 32, 128)
SEEDS = range(10)
ARMS = {
    "by default": {},
    "`alpha=1`": {"alpha": 1},
    '`resync="lag"`, `bind="early"`': {"resync": "lag", "bind": "early"},
}
HEADING = (
    "| how | `async_ratio` | seconds | free workers | stale cards | mean lag | calls | reward |"
)


def domain() -> ToyDomain:
    """
    26 hidden values, of which a rollout sees two and a proposal gets one right now and then.
    """
    return ToyDomain(n_keys=26, n_tasks=26, n_values=9, right=0.3)


def trial(seed: int, ratio: int, options: dict[str, object]) -> tuple[float, ...]:
    """
    What the table shows, of one run.
    """
    result = run(
        domain(),
        driver="simulated",
        durations=LAWS,
        n_workers=WORKERS,
        async_ratio=ratio,
        max_rollouts=300,
        seed=seed,
        **options,
    )
    lags = result.eta_histogram
    return (
        result.wallclock,
        100 * result.worker_starved_seconds / (WORKERS * result.wallclock),
        100 * result.stale_rate(),
        sum(lag * cards for lag, cards in lags.items()) / sum(lags.values()),
        sum(result.calls.values()),
        result.final_reward or 0.0,
    )


def rows() -> list[str]:
    """
    One row for each way and ratio, means over the seeds.
    """
    found = [HEADING, "| --- " * 8 + "|"]
    for how, options in ARMS.items():
        for ratio in RATIOS:
            trials = [trial(seed, ratio, options) for seed in SEEDS]
            seconds, free, stale, lag, calls, reward = map(fmean, zip(*trials, strict=True))
            found.append(
                f"| {how} | {ratio} | {seconds:.0f} | {free:.0f} % | {stale:.0f} % "
                f"| {lag:.1f} | {calls:.0f} | {reward:.3f} |"
            )
    return found


if __name__ == "__main__":
    Path(__file__).with_name("lag-budget.md").write_text("\n".join(rows()) + "\n", encoding="utf-8")
