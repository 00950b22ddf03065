"""
A run as a picture: who sampled when and with which weights, when the trainer worked, and what it waited for.

matplotlib is the extra ``plot``; it is imported only here, and only when a picture is made.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from importlib import import_module
from pathlib import Path
from typing import Any

import attrs

from headway.errors import UsageError
from headway_rl._recorder import Bar

NO_MATPLOTLIB = (
    "no timeline: matplotlib cannot be imported ({}). "
    "Install it with: python -m pip install 'headway[plot]'"
)

_COLOURS = ("#0072B2", "#56B4E9", "#009E73", "#F0E442", "#CC79A7")
"""Of Okabe and Ito's palette: one for each version in turn."""

_TRAINER = {"chunk": "#999999", "update": "#000000"}
_WAIT = "#D55E00"
_SETTINGS = {"font.size": 10.0, "svg.fonttype": "none", "svg.hashsalt": "headway"}


@attrs.frozen(kw_only=True)
class Wait:
    """
    The trainer held a batch back because of the bound.

    Args:
        began: Seconds since the run began.
        seconds: How long.
    """

    began: float
    seconds: float


@attrs.frozen(kw_only=True)
class Timeline:
    """
    What happened in a run, in seconds since it began.

    Args:
        bars: Episodes, chunks and updates.
        waits: When the trainer waited because of the bound.
        seconds: The length of the run.
    """

    bars: tuple[Bar, ...]
    waits: tuple[Wait, ...] = ()
    seconds: float = 0.0

    def sampling(self) -> tuple[tuple[int, Bar], ...]:
        """
        The episodes, each with the lane that it is drawn in: the lowest that is free.
        """
        return tuple(lanes(bar for bar in self.bars if bar.kind == "sampling"))

    def training(self) -> tuple[Bar, ...]:
        """
        The trainer's work.
        """
        return tuple(bar for bar in self.bars if bar.kind in _TRAINER)

    def draw(self, path: str | Path) -> None:
        """
        Write the picture to a file whose name ends in ``.png`` or ``.svg``.

        Raises:
            UsageError: matplotlib is not installed; the message names the remedy.
        """
        try:
            matplotlib: Any = import_module("matplotlib")
            figures: Any = import_module("matplotlib.figure")
        except ImportError as error:
            raise UsageError(NO_MATPLOTLIB.format(error)) from error
        with matplotlib.rc_context(_SETTINGS):
            figure = _figure(figures.Figure, self)
            metadata = {"Date": None} if str(path).endswith(".svg") else {"Software": None}
            figure.savefig(path, dpi=110, metadata=metadata)


def lanes(bars: Iterable[Bar]) -> list[tuple[int, Bar]]:
    """
    Each bar with a lane, so that no two of one lane overlap, and there are as few as can be.

    Args:
        bars: In the order of beginning; those that have not ended are left out.
    """
    busy: list[tuple[float, int]] = []
    free: list[int] = []
    found: list[tuple[int, Bar]] = []
    for bar in bars:
        if bar.ended is None:
            continue
        while busy and busy[0][0] <= bar.began:
            heappush(free, heappop(busy)[1])
        lane = heappop(free) if free else len(busy)
        heappush(busy, (bar.ended, lane))
        found.append((lane, bar))
    return found


def _figure(make: Any, timeline: Timeline) -> Any:
    drawn = timeline.sampling()
    count = 1 + max((lane for lane, _ in drawn), default=0)
    figure = make(figsize=(11, 1.8 + min(0.09 * count, 6.0)), layout="constrained")
    trainer, sampler = figure.subplots(
        2, 1, sharex=True, gridspec_kw={"height_ratios": [1, max(2.0, count / 6)]}
    )
    _trainer(trainer, timeline)
    _sampler(sampler, drawn)
    sampler.set_xlabel("seconds")
    sampler.set_xlim(0, timeline.seconds or None)
    return figure


def _trainer(axes: Any, timeline: Timeline) -> None:
    for kind, colour in _TRAINER.items():
        _broken(axes, [bar for bar in timeline.training() if bar.kind == kind], 1, colour, kind)
    waits = [(wait.began, wait.seconds) for wait in timeline.waits]
    if waits:
        axes.broken_barh(waits, (-0.4, 0.8), color=_WAIT, label="waits for the bound")
    axes.set_yticks([0, 1], ["waits", "trains"])
    axes.set_ylim(-0.6, 1.6)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=3, fontsize=8)


def _sampler(axes: Any, drawn: Sequence[tuple[int, Bar]]) -> None:
    for lane, bar in drawn:
        colour = _COLOURS[bar.version % len(_COLOURS)]
        _broken(axes, [bar], lane, colour, None)
    axes.set_ylabel("trajectories, coloured by version")


def _broken(axes: Any, bars: Sequence[Bar], lane: int, colour: str, label: str | None) -> None:
    spans = [(bar.began, bar.ended - bar.began) for bar in bars if bar.ended is not None]
    if spans:
        axes.broken_barh(spans, (lane - 0.4, 0.8), color=colour, label=label)
