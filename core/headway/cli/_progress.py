"""
What ``headway run`` shows while it runs: a live table on a terminal, else one plain line a sweep.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Self, TextIO

import attrs

from headway.contracts import FaultSeen, Notice, SweepDone, TicketEnded
from headway.options import RunOptions

REFRESHES = 8
"""How often a second the live table is drawn."""


def opening_text(name: str, options: RunOptions, choices: Mapping[str, str], limits: str) -> str:
    """
    What a run is going to do, in a few lines.

    Args:
        name: The domain's name.
        options: The effective options.
        choices: The effective plug-ins by kind.
        limits: What will end the run.
    """
    effective = (
        f"{options.n_workers} workers, {options.capacity} calls at once"
        f"{_lag(options)}; ends at {limits}"
    )
    lines = [
        f"{name}: {options.mode} mode, {options.driver} driver, seed {options.seed}",
        f"  {effective}",
        *(f"  {kind}: {choice}" for kind, choice in choices.items()),
    ]
    if options.driver == "simulated":
        lines.append("  time is virtual: seconds are what the durations add up to, nobody waits")
    return "\n".join(lines) + "\n"


def progress(stream: TextIO, options: RunOptions) -> PlainLines | LiveTable:
    """
    What shows on a stream how the run goes: an observer to be used inside its own ``with``.
    """
    if stream.isatty() and _has_rich():
        return LiveTable(stream, options)
    return PlainLines(stream)


@attrs.frozen(eq=False)
class PlainLines:
    """
    Writes one line a sweep.
    """

    stream: TextIO

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        pass

    def __call__(self, notice: Notice) -> None:
        """
        Write a line when a sweep is done.
        """
        if isinstance(notice, SweepDone):
            self.stream.write(sweep_line(notice))
            self.stream.flush()


@attrs.define(eq=False)
class LiveTable:
    """
    Keeps what the table shows; whoever draws it may be on another thread.
    """

    stream: TextIO
    options: RunOptions
    _live: Any = attrs.field(default=None, init=False)
    last: SweepDone | None = attrs.field(default=None, init=False)
    now: float = attrs.field(default=0.0, init=False)
    tickets: Counter[str] = attrs.field(factory=Counter[str], init=False)
    sweeps: Counter[str] = attrs.field(factory=Counter[str], init=False)
    faults: int = attrs.field(default=0, init=False)

    def __enter__(self) -> Self:
        from rich.console import Console
        from rich.live import Live

        console = Console(file=self.stream)
        self._live = Live(console=console, refresh_per_second=REFRESHES, get_renderable=self.draw)
        self._live.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._live.stop()

    def __call__(self, notice: Notice) -> None:
        """
        Keep what is new.
        """
        if isinstance(notice, TicketEnded):
            self.tickets[notice.completion] += 1
        elif isinstance(notice, SweepDone):
            self.last = notice
            self.sweeps[notice.outcome] += 1
        elif isinstance(notice, FaultSeen):
            self.faults += 1
        self.now = getattr(notice, "now", self.now)

    def rows(self) -> list[tuple[str, str]]:
        """
        The table's lines: what, and how much.
        """
        last = self.last
        most = self.options.max_rollouts
        return [
            ("held-out reward", _reward(last.reward if last else None)),
            ("version", str(last.version if last else 0)),
            ("rollouts", f"{sum(self.tickets.values())}{f' of {most}' if most else ''}"),
            ("ended", _counts(self.tickets)),
            ("sweeps", _counts(self.sweeps)),
            ("calls", str(last.calls if last else 0)),
            ("faults", str(self.faults)),
            ("seconds", f"{self.now:.1f}{_virtual(self.options)}"),
        ]

    def draw(self) -> Any:
        """
        The table, for Rich.
        """
        from rich.table import Table

        table = Table.grid(padding=(0, 2))
        table.add_column(style="dim")
        table.add_column()
        for what, much in self.rows():
            table.add_row(what, much)
        return table


def sweep_line(sweep: SweepDone) -> str:
    """
    A sweep in one line.
    """
    return (
        f"sweep {sweep.sweep:<5} {sweep.outcome:<15} version {sweep.version:<4} "
        f"reward {_reward(sweep.reward)}  rollouts {sweep.rollouts:<5} calls {sweep.calls:<6} "
        f"{sweep.now:.2f} s\n"
    )


def _lag(options: RunOptions) -> str:
    if options.mode == "async":
        return f", async ratio {options.async_ratio}"
    size = options.n_workers if options.round_size is None else options.round_size
    return f", rounds of {size}"


def _reward(reward: float | None) -> str:
    return "-    " if reward is None else f"{reward:.3f}"


def _counts(counts: Counter[str]) -> str:
    # A copy, since the observer's thread may add a key meanwhile.
    return ", ".join(f"{count} {what}" for what, count in dict(counts).items()) or "-"


def _virtual(options: RunOptions) -> str:
    return " (virtual)" if options.driver == "simulated" else ""


def _has_rich() -> bool:
    from importlib.util import find_spec

    return find_spec("rich") is not None
