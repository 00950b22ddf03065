"""
What ``headway run`` shows while it runs: a live table on a terminal, else one plain line a sweep.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Self, TextIO

import attrs

from headway._words import ages, waits
from headway.contracts import (
    FaultSeen,
    Notice,
    RunStarted,
    SweepDone,
    SweepOutcome,
    TicketEnded,
    UpdateDone,
)
from headway.machine import Machine, Statistics
from headway.options import PARTS, RunOptions

REFRESHES = 8
"""How often a second the live table is drawn."""

OUTCOMES: Mapping[SweepOutcome, str] = {
    "committed": "committed",
    "below-threshold": "no gain",
    "carried": "unsure yet",
    "all-stale": "all stale",
    "duplicate": "all known",
    "conflict": "no fit",
    "oversized": "too large",
    "oracle-rejected": "vetoed",
    "unmeasured": "unmeasured",
    "all-dropped": "all dropped",
    "returned": "waiting",
    "lost": "overtaken",
    "cas-conflict": "outside",
    "error": "failed",
    "given-up": "given up",
}
"""Everything that a sweep may come to, in plain words."""

_WIDTH = max(map(len, OUTCOMES.values()))


def opening_text(
    name: str,
    options: RunOptions,
    choices: Mapping[str, str],
    limits: str,
    learns_from: str = "proposals",
) -> str:
    """
    What a run is going to do, in a few lines.

    Args:
        name: The domain's name.
        options: The effective options.
        choices: The effective plug-ins by kind.
        limits: What will end the run.
        learns_from: What its aggregator learns from; a note tells of the ages of outcomes.
    """
    lag = _lag(options) if learns_from == "proposals" else ""
    effective = (
        f"{options.n_workers} workers, {options.capacity} calls at once{lag}; ends at {limits}"
    )
    lines = [
        f"{name}: {options.mode} mode, {options.driver} driver, seed {options.seed}",
        f"  {effective}",
        *_parts(options, choices),
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


@attrs.define(eq=False)
class PlainLines:
    """
    Writes one line a sweep, and before the first one how the reward begins.
    """

    stream: TextIO
    _machine: Machine | None = attrs.field(default=None, init=False)
    _began: bool = attrs.field(default=False, init=False)
    _update: UpdateDone | None = attrs.field(default=None, init=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        pass

    def watch(self, machine: Machine) -> None:
        """
        Ask this machine for what no notice tells.
        """
        self._machine = machine

    def __call__(self, notice: Notice) -> None:
        """
        Write a line when a sweep is done.
        """
        if isinstance(notice, RunStarted):
            if _baseline(self._machine) is None:
                self._write("measuring the baseline\n")
        elif isinstance(notice, UpdateDone):
            self._update = notice  # its sweep ends in the same event
        elif isinstance(notice, SweepDone):
            self._begin()
            self._write(sweep_line(notice, self._update))
            self._update = None
        elif isinstance(notice, TicketEnded):
            self._begin()

    def _begin(self) -> None:
        baseline = _baseline(self._machine)
        if not self._began and baseline is not None:
            self._began = True
            self._write(f"baseline: held-out reward {baseline:.3f}\n")

    def _write(self, line: str) -> None:
        self.stream.write(line)
        self.stream.flush()


@attrs.define(eq=False)
class LiveTable:
    """
    Keeps what the table shows; Rich draws it on a thread of its own, so that time is seen to pass
    while calls take long.
    """

    stream: TextIO
    options: RunOptions
    _live: Any = attrs.field(default=None, init=False)
    _machine: Machine | None = attrs.field(default=None, init=False)
    _begun: float | None = attrs.field(default=None, init=False)
    last: SweepDone | None = attrs.field(default=None, init=False)
    now: float = attrs.field(default=0.0, init=False)
    tickets: Counter[str] = attrs.field(factory=Counter[str], init=False)
    sweeps: Counter[str] = attrs.field(factory=Counter[str], init=False)
    faults: int = attrs.field(default=0, init=False)
    update: UpdateDone | None = attrs.field(default=None, init=False)
    ages: Counter[int] = attrs.field(factory=Counter[int], init=False)

    def __enter__(self) -> Self:
        from rich.console import Console
        from rich.live import Live

        console = Console(file=self.stream)
        self._live = Live(console=console, refresh_per_second=REFRESHES, get_renderable=self.draw)
        self._live.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._live.stop()

    def watch(self, machine: Machine) -> None:
        """
        Ask this machine for what no notice tells.
        """
        self._machine = machine

    def __call__(self, notice: Notice) -> None:
        """
        Keep what is new.
        """
        if isinstance(notice, RunStarted):
            self._begun = time.monotonic()
        elif isinstance(notice, TicketEnded):
            self.tickets[notice.completion] += 1
        elif isinstance(notice, SweepDone):
            self.last = notice
            self.sweeps[OUTCOMES[notice.outcome]] += 1
        elif isinstance(notice, UpdateDone):
            self.update = notice
            self.ages.update(notice.groups.values())
        elif isinstance(notice, FaultSeen):
            self.faults += 1
        self.now = getattr(notice, "now", self.now)

    def rows(self) -> list[tuple[str, str]]:
        """
        The table's lines: what, and how much.
        """
        counts = _counted(self._machine)
        ended, most = sum(dict(self.tickets).values()), self.options.max_rollouts
        running = f", {counts.in_flight} running" if counts and counts.in_flight else ""
        calls = sum(counts.calls.values()) if counts else self.last.calls if self.last else 0
        trained = counts.trainings if counts else 0
        seconds = counts.train_seconds if counts else 0.0
        trainings = [("trainings", f"{trained}, in {seconds:.1f} s")] if trained else []
        return [
            ("held-out reward", self._rewards()),
            ("version", str(self.last.version if self.last else 0)),
            ("rollouts", f"{ended}{f' of {most}' if most else ''}{running}"),
            ("ended", _counts(self.tickets)),
            ("sweeps", _counts(self.sweeps)),
            *self._updates(),
            ("calls", str(calls)),
            *trainings,
            ("faults", str(self.faults)),
            ("seconds", f"{self._seconds():.1f}{_virtual(self.options)}"),
        ]

    def _updates(self) -> list[tuple[str, str]]:
        update, most = self.update, self.options.updates
        if update is None:
            return []
        begun = f"{update.outstanding} begun, {update.ready} of them complete"
        return [
            ("updates", f"{update.update}{f' of {most}' if most else ''}; {ages(dict(self.ages))}"),
            ("groups", f"{begun}{_lost(update)}"),
            ("waited", waits(update.seconds) or "-"),
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

    def _rewards(self) -> str:
        baseline = _baseline(self._machine)
        reward = self.last.reward if self.last else None
        if reward is None:
            return "measuring the baseline" if baseline is None else f"{baseline:.3f}"
        return f"{reward:.3f}" if baseline is None else f"{baseline:.3f} -> {reward:.3f}"

    def _seconds(self) -> float:
        if self._begun is None or self.options.driver == "simulated":
            return self.now
        return time.monotonic() - self._begun


def sweep_line(sweep: SweepDone, update: UpdateDone | None = None) -> str:
    """
    A sweep in one line.

    Args:
        sweep: The sweep.
        update: The update that it made, if it made one.
    """
    return (
        f"sweep {sweep.sweep:<4} {OUTCOMES[sweep.outcome]:<{_WIDTH}}  reward {_reward(sweep.reward)}"
        f"  {sweep.rollouts:>5} rollouts  {sweep.calls:>6} calls  {sweep.now:>7.2f} s"
        f"{'' if update is None else _update(update)}\n"
    )


def _update(update: UpdateDone) -> str:
    told = f"; {ages(Counter(update.groups.values()))}" if update.groups else ""
    return f"  update {update.update}{told}{_lost(update)}"


def _lost(update: UpdateDone) -> str:
    lost = sum(update.dropped.values())
    return f"; {lost} lost so far" if lost else ""


def _parts(options: RunOptions, choices: Mapping[str, str]) -> list[str]:
    """
    The plug-ins that somebody chose, and one line for those that everybody has.
    """
    usual = dict(_usual(options))
    shown = {kind: held for kind, held in choices.items() if not _built_in(held, usual.get(kind))}
    lines = [f"  {kind}: {choice}" for kind, choice in shown.items()]
    return lines if len(shown) == len(choices) else [*lines, "  all other parts: the built-in ones"]


def _usual(options: RunOptions) -> Iterable[tuple[str, str]]:
    """
    The default of each kind of part.
    """
    defaults = {field.name: field.default for field in attrs.fields(type(options))}
    return ((kind, str(defaults[option])) for option, kind in PARTS.items())


def _built_in(choice: str, name: str | None) -> bool:
    return name is not None and choice.startswith(f"{name} (headway ")


def _counted(machine: Machine | None) -> Statistics | None:
    # A machine that has not begun has no head to count from.
    return None if machine is None or machine.phase == "new" else machine.statistics()


def _baseline(machine: Machine | None) -> float | None:
    score = None if machine is None else machine.scoring.baseline
    return None if score is None else score.mean


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
