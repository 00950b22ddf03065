"""
Learning curves of MiniTerm as SVG files, when matplotlib is installed.

A line is the mean over the whole seeds, its band the bootstrap's 95 % interval of the mean; there is none of fewer
seeds than an interval is told of in tables.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from io import StringIO
from pathlib import Path
from statistics import fmean
from typing import Any, TypeAlias

from headway.errors import UsageError
from headway_es.campaign._analysis import Analysis, held
from headway_es.campaign._plan import GRADIENT
from headway_es.campaign._statistics import bootstrap
from headway_es.campaign._store import Done
from headway_es.campaign._words import LEAST

_POINTS = 20
_STYLES = {
    "sync": ("#000000", "-"),
    "wait-1": ("#0072B2", "-"),
    "pipeline-1": ("#56B4E9", "--"),
    "10 %/4": ("#009E73", "-"),
    "10 %/8": ("#009E73", ":"),
    "pipeline-4": ("#E69F00", "-"),
    "pipeline-8": ("#D55E00", "-"),
    "drop-1": ("#CC79A7", "--"),
    GRADIENT: ("#777777", "-."),
}
"""Okabe and Ito's palette, which people with any kind of colour vision can tell apart."""

_SETTINGS = {
    "font.size": 10.0,
    "svg.fonttype": "none",  # text that can be searched and that screen readers find
    "svg.hashsalt": "headway",  # else its ids differ from run to run
}

_PATH = re.compile(r' d="[^"]*"')
_LONG = re.compile(r"(\d\.\d)\d+")

_Line: TypeAlias = tuple[list[float], list[float], list[float], list[float]]
_Shape: TypeAlias = Callable[[Sequence[Done]], _Line]


def draw(analysis: Analysis, folder: Path, problem: str = "miniterm") -> list[Path]:
    """
    Write a figure over updates and one over virtual time; equal results give equal files.

    Args:
        analysis: What was found.
        folder: Where the files go.
        problem: Of what.

    Returns:
        The files.

    Raises:
        UsageError: matplotlib is not installed; the message names the remedy.
    """
    try:
        matplotlib: Any = import_module("matplotlib")
        figures: Any = import_module("matplotlib.figure")
    except ImportError as error:
        remedy = "Install it with: python -m pip install 'headway[plot]'"
        raise UsageError(f"no plot: matplotlib cannot be imported ({error}). {remedy}") from error
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"async-es-{axis}.svg" for axis in ("updates", "time")]
    with matplotlib.rc_context(_SETTINGS):
        for path, made in zip(
            paths,
            (
                _over_updates(figures.Figure, analysis, problem),
                _over_time(figures.Figure, analysis, problem),
            ),
            strict=True,
        ):
            text = StringIO()
            made.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
            path.write_text(_PATH.sub(_rounded, text.getvalue()), encoding="utf-8")
    return paths


def _rounded(path: re.Match[str]) -> str:
    """
    A path's places to a tenth of a point, which is a third of the file less.
    """
    return _LONG.sub(r"\1", path[0])


def _over_updates(make: Any, analysis: Analysis, problem: str) -> Any:
    plan = analysis.plan
    figure, grid = _grid(make, 1, len(plan.rates))
    law = next(iter(plan.laws))
    for axes, rate in zip(grid[0], plan.rates, strict=True):
        runs = {
            arm: ran
            for arm, ran in analysis.runs(problem, rate).items()
            if not ran[0].unit.law or ran[0].unit.law == law
        }
        _lines(axes, runs, partial(_by_updates, every=plan.every))
        axes.set(title=f"learning rate {rate:g}", xlabel="updates")
    return _finished(figure, grid, analysis, problem)


def _over_time(make: Any, analysis: Analysis, problem: str) -> Any:
    plan = analysis.plan
    figure, grid = _grid(make, len(plan.laws), len(plan.rates))
    for row, law in zip(grid, plan.laws, strict=True):
        for axes, rate in zip(row, plan.rates, strict=True):
            runs = analysis.runs(problem, rate, law)
            _lines(axes, runs, partial(_by_time, law=law))
            axes.set(
                title=f"learning rate {rate:g}, {law} durations",
                xlabel="virtual time, in mean durations of a pair",
            )
    return _finished(figure, grid, analysis, problem)


def _grid(make: Any, rows: int, columns: int) -> tuple[Any, Any]:
    figure = make(figsize=(4.6 * columns, 3.4 * rows + 0.6), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, sharey=True)


def _finished(figure: Any, grid: Any, analysis: Analysis, problem: str) -> Any:
    for row in grid:
        row[0].set_ylabel("held-out success, %" if problem == "miniterm" else "powers of ten")
        for axes in row:
            axes.grid(visible=True, alpha=0.3)
    handles, labels = grid[0][0].get_legend_handles_labels()
    if handles:
        figure.legend(handles, labels, loc="outside lower center", ncols=min(5, len(labels)))
    counts = [len(analysis.seeds(problem, rate)) for rate in analysis.plan.rates]
    told = "one seed" if min(counts) == 1 else f"mean of {min(counts)} seeds"
    bands = ", 95 % intervals" if min(counts) >= LEAST else ""
    figure.suptitle(f"{'MiniTerm' if problem == 'miniterm' else problem}: {told}{bands}")
    return figure


def _lines(axes: Any, runs: dict[str, list[Done]], shape: _Shape) -> None:
    for ran in runs.values():
        condition = ran[0].unit.condition
        colour, style = _STYLES.get(condition, ("#999999", "-"))
        places, middle, low, high = shape(ran)
        axes.plot(places, middle, color=colour, linestyle=style, lw=1.6, label=condition)
        if len(ran) >= LEAST:
            axes.fill_between(places, low, high, color=colour, alpha=0.1, linewidth=0)


def _by_updates(ran: Sequence[Done], every: int) -> _Line:
    columns = list(zip(*(one.curve for one in ran), strict=True))
    return _line([float(every * n) for n in range(len(columns))], columns)


def _by_time(ran: Sequence[Done], law: str) -> _Line:
    """
    Up to where the first of them ends, on an even grid.
    """
    end = min(one.times[law][-1] for one in ran)
    places = [end * n / _POINTS for n in range(_POINTS + 1)]
    return _line(places, [[held(one.times[law], one.curve, at) for one in ran] for at in places])


def _line(places: list[float], columns: Sequence[Sequence[float]]) -> _Line:
    low, high = zip(*(bootstrap(column) for column in columns), strict=True)
    return places, [fmean(column) for column in columns], list(low), list(high)
