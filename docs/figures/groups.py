"""
Makes the table and the plot of docs/explanation/groups.md: python docs/figures/groups.py

Half a minute of one core.  The simulated driver makes every figure repeatable.  Needs the extra "plot".
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

import attrs

from headway import run
from headway.builtins._policies import Window
from headway.contracts import Artifact, Card, Commit, Step, StepContext
from headway.durations import Constant, LogNormal
from headway.testing import ToyDomain

GROUPS, UPDATES, SEEDS = 8, 200, range(5)
LAWS = {"rollout": LogNormal(1.65, 1.0), "commit": Constant(0.5)}
HEADING = (
    "| `policy` | `max_staleness` | `admit_ahead` | speed | mean age | largest age | thrown away |"
)


@attrs.frozen
class Arm:
    """
    A way to run, and how it is told.
    """

    policy: object
    staleness: int
    ahead: int

    @property
    def name(self) -> str:
        return "window" if isinstance(self.policy, Window) else str(self.policy)

    @property
    def told(self) -> str:
        if isinstance(self.policy, Window):
            return f"`Window({self.policy.window})`"
        return f"`{self.name}`"


SYNC = Arm("wait", 0, 0)
ARMS = (
    SYNC,
    Arm("wait", 1, 1),
    Arm("wait", 2, 1),
    Arm("wait", 2, 2),
    Arm("wait", 4, 1),
    Arm("wait", 4, 2),
    Arm("wait", 4, 4),
    Arm(Window(9), 2, 2),
    Arm(Window(17), 2, 2),
    Arm("drop", 2, 2),
    Arm("mask", 2, 2),
    Arm("soft", 2, 2),
)


class Counter:
    """
    Counts its batches, and looks at nothing.
    """

    learns_from = "outcomes"
    batch = GROUPS

    def step(self, cards: Sequence[Card], context: StepContext) -> Step:
        count = context.head.artifact.value
        yield Commit(Artifact({**count, "a": count["a"] + 1}), cards)


def trial(arm: Arm, seed: int) -> tuple[float, ...]:
    """
    What the table shows, of one run: seconds, mean and largest age, per cent thrown away.
    """
    mode = "sync" if arm is SYNC else "async"
    result = run(
        ToyDomain(),
        aggregator=Counter(),
        driver="simulated",
        mode=mode,
        policy=arm.policy,
        durations=LAWS,
        n_workers=400,
        max_staleness=arm.staleness if mode == "async" else 2,
        admit_ahead=arm.ahead if mode == "async" else 1,
        updates=UPDATES,
        seed=seed,
    )
    ages = result.committed_by_eta
    mean = sum(age * groups for age, groups in ages.items()) / sum(ages.values())
    return result.wallclock, mean, max(ages), 100 * result.stale_discarded / result.rollouts


def measured() -> dict[Arm, tuple[float, float, int, float]]:
    """
    Speed, mean age, largest age and per cent thrown away of each arm, over all seeds.
    """
    found = {}
    for arm in ARMS:
        seconds, mean, largest, away = zip(*(trial(arm, seed) for seed in SEEDS), strict=True)
        found[arm] = (fmean(seconds), fmean(mean), max(largest), fmean(away))
    sync = found[SYNC][0]
    return {arm: (sync / seconds, *others) for arm, (seconds, *others) in found.items()}


def rows(found: dict[Arm, tuple[float, float, int, float]]) -> list[str]:
    """
    The table.
    """
    lines = [HEADING, "| --- " * 7 + "|"]
    for arm, (speed, mean, largest, away) in found.items():
        told = "sync mode" if arm is SYNC else arm.told
        lines.append(
            f"| {told} | {arm.staleness} | {arm.ahead} | {speed:.2f} | {mean:.2f} | {largest} "
            f"| {away:.0f} % |"
        )
    return lines


def plot(found: dict[Arm, tuple[float, float, int, float]], stem: Path) -> None:
    """
    Speed over the largest age, as PNG and as SVG.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    marks = {"wait": "o", "window": "s", "drop": "^", "mask": "x", "soft": "+"}
    with mpl.rc_context({"svg.hashsalt": "headway"}):
        figure = Figure(figsize=(7, 4), layout="constrained")
        axes = figure.subplots()
        for name, mark in marks.items():
            points = [figures for arm, figures in found.items() if arm.name == name]
            largest, speed = [p[2] for p in points], [p[0] for p in points]
            axes.plot(largest, speed, mark, label=name, markersize=8, alpha=0.8)
        axes.set_xscale("symlog", linthresh=4)
        axes.set_xticks(
            [0, 1, 2, 3, 4, 8, 16, 32, 64], ["0", "1", "2", "3", "4", "8", "16", "32", "64"]
        )
        axes.minorticks_off()
        axes.set_xlabel("largest age of a group that was used, in updates")
        axes.set_ylabel("updates a second, sync mode = 1")
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
        axes.legend(title="policy")
        figure.savefig(stem.with_suffix(".png"), dpi=120, metadata={"Software": None})
        figure.savefig(stem.with_suffix(".svg"), metadata={"Date": None})


if __name__ == "__main__":
    here = Path(__file__)
    figures = measured()
    here.with_suffix(".md").write_text("\n".join(rows(figures)) + "\n", encoding="utf-8")
    plot(figures, here)
