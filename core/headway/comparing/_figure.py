"""
A comparison as a figure, when matplotlib is installed.

matplotlib is the optional extra ``plot``; it is imported only here, and only when a figure is made.
It writes files and never opens a window.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from headway.comparing._comparison import Comparison
from headway.comparing._curves import held_at
from headway.comparing._plan import Arm
from headway.comparing._statistics import quantile
from headway.comparing._trial import Axis, Trial
from headway.errors import UsageError

FILES = ("plot.png", "plot.svg")

NO_MATPLOTLIB = (
    "no plot: matplotlib cannot be imported ({}). "
    "Install it with: python -m pip install 'headway[plot]'"
)

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")
"""Of Okabe and Ito's palette, which people with any kind of colour vision can tell apart."""

_STYLES = ("-", "--", "-.", ":")
_AXES: tuple[Axis, ...] = ("seconds", "rollouts")
_POINTS = 160
_BAND = 0.18
_SETTINGS = {
    "font.size": 11.0,
    "svg.fonttype": "none",  # text that can be searched and that screen readers find
    "svg.hashsalt": "headway",  # else its ids differ from run to run
}


def draw(comparison: Comparison, folder: Path) -> None:
    """
    Write ``plot.png`` and ``plot.svg``: held-out reward over seconds and over rollouts.

    A line is the median over the seeds, its band the middle half.  Equal comparisons give equal
    SVG files under one version of matplotlib.

    Raises:
        UsageError: matplotlib is not installed; the message names the remedy.
    """
    try:
        matplotlib: Any = import_module("matplotlib")
        figures: Any = import_module("matplotlib.figure")
    except ImportError as error:
        raise UsageError(NO_MATPLOTLIB.format(error)) from error
    with matplotlib.rc_context(_SETTINGS):
        figure = _figure(figures.Figure, comparison)
        figure.savefig(folder / FILES[0], dpi=110, metadata={"Software": None})
        figure.savefig(folder / FILES[1], metadata={"Date": None, "Creator": None})


def _figure(make: Any, comparison: Comparison) -> Any:
    plan = comparison.plan
    sizes = tuple(dict.fromkeys(arm.workers for arm in plan.arms))
    figure = make(figsize=(10, 3.9 * len(sizes)), layout="constrained")
    grid = figure.subplots(len(sizes), len(_AXES), squeeze=False, sharey=True)
    for row, workers in zip(grid, sizes, strict=True):
        arms = [arm for arm in plan.arms if arm.workers == workers]
        for axes, axis in zip(row, _AXES, strict=True):
            for arm, colour, style in zip(arms, _COLOURS, _STYLES, strict=False):
                _line(axes, comparison, arm, axis, colour=colour, style=style)
            axes.set_xlabel(_unit(axis, plan.arms))
            axes.grid(visible=True, alpha=0.3)
        row[0].set_ylabel("held-out reward")
        row[0].set_title(f"{workers} workers", loc="left")
    handles, labels = grid[0][0].get_legend_handles_labels()
    if handles:
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
    seeds = f"{len(plan.seeds)} seeds, median and middle half"
    figure.suptitle(f"{plan.domain}, equal {plan.equal} ({plan.budget:g} each), {seeds}")
    return figure


def _line(
    axes: Any, comparison: Comparison, arm: Arm, axis: Axis, *, colour: str, style: str
) -> None:
    bands = _bands(list(comparison.done(arm).values()), axis)
    if not bands:
        return
    places, low, middle, high = zip(*bands, strict=True)
    axes.step(places, middle, where="post", color=colour, linestyle=style, lw=2, label=arm.name)
    axes.fill_between(places, low, high, step="post", color=colour, alpha=_BAND, linewidth=0)


def _places(trials: Sequence[Trial], axis: Axis) -> list[float]:
    end = max((getattr(trial, axis) or 0.0 for trial in trials), default=0.0)
    return [end * n / _POINTS for n in range(_POINTS + 1)]


def _bands(trials: Sequence[Trial], axis: Axis) -> list[tuple[float, float, float, float]]:
    """
    Place and quartiles wherever these change, from where every trial has a reward to the end.
    """
    places = _places(trials, axis)
    curves = (held_at(trial.curve, axis, places) for trial in trials)
    bands: list[tuple[float, float, float, float]] = []
    for place, held in zip(places, zip(*curves, strict=True), strict=False):
        known = [reward for reward in held if reward is not None]
        if len(known) < len(held):
            continue
        low, middle, high = (quantile(known, share) for share in (0.25, 0.5, 0.75))
        if not bands or bands[-1][1:] != (low, middle, high) or place == places[-1]:
            bands.append((place, low, middle, high))
    return bands


def _unit(axis: Axis, arms: Sequence[Arm]) -> str:
    virtual = axis == "seconds" and arms[0].options.driver == "simulated"
    return f"{axis} (virtual)" if virtual else axis
