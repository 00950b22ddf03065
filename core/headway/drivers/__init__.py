"""
Drivers: all clocks, threads and I/O live here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import attrs

from headway.drivers._checkpoint import Checkpoints, put_back, take
from headway.drivers._domain_calls import CANCELLED, InvalidValue
from headway.drivers._engine import Engine, Telling, Work
from headway.drivers._interrupt import Interrupt, catching_signals
from headway.drivers._recovery import Earlier, Recovery, ResumedLookups, TakenUp, take_up
from headway.drivers._steps import StepHost
from headway.drivers._work import Workbench
from headway.machine import Started

if TYPE_CHECKING:  # importing it costs, and most runs need no loop
    from asyncio import AbstractEventLoop

__all__ = [
    "CANCELLED",
    "DRIVE",
    "Checkpoints",
    "Drive",
    "Earlier",
    "Engine",
    "Interrupt",
    "InvalidValue",
    "ResumedLookups",
    "StepHost",
    "Telling",
    "Work",
    "Workbench",
    "catching_signals",
    "put_back",
    "take",
]


@attrs.frozen(kw_only=True)
class Drive:
    """
    What a driver needs to know beside its run.

    Args:
        seed: Orders what happens at the same virtual moment.
        durations: Laws by kind of work, for the simulated driver.
        interrupt: What Ctrl-C goes to.
        home: The running loop of whoever awaits the run, for its coroutines.
        earlier: What an earlier process journalled, when this one goes on.
        taken_up: Called once that has been read, before anything new happens.
    """

    seed: int
    durations: Mapping[str, Any]
    interrupt: Interrupt
    home: AbstractEventLoop | None = None
    earlier: Earlier | None = None
    taken_up: Callable[[], None] | None = None

    def begin(self, engine: Engine, started: Started) -> TakenUp:
        """
        Where the run begins: at its first event, or where its journal ends.
        """
        if self.earlier is not None:
            if self.earlier.checkpoint is not None:
                put_back(engine, self.earlier.checkpoint)
            recovery = Recovery(engine, self.earlier.lookups, self.earlier.first)
            begin = take_up(recovery, self.earlier.rows, self.earlier.answers)
            self.tell()
            return begin
        return TakenUp(now=started.now, calls=(), cancelled=frozenset(), events=(started,))

    def tell(self) -> None:
        """
        Say that what an earlier process journalled has been read.
        """
        if self.taken_up is not None:
            self.taken_up()


def _clock(since: float) -> Callable[[], float]:
    began = time.monotonic() - since
    return lambda: time.monotonic() - began


def _serial(engine: Engine, started: Started, drive: Drive) -> None:
    from headway.drivers.serial import run_serial

    engine.announce(engine.opening)
    begin = drive.begin(engine, started)
    run_serial(engine, begin, _clock(begin.now), drive.interrupt)


def _threads(engine: Engine, started: Started, drive: Drive) -> None:
    _concurrent(engine, started, drive, steps_on_loop=False)


def _asyncio(engine: Engine, started: Started, drive: Drive) -> None:
    _concurrent(engine, started, drive, steps_on_loop=True)


def _concurrent(engine: Engine, started: Started, drive: Drive, *, steps_on_loop: bool) -> None:
    from headway.drivers.concurrent import ConcurrentRun

    begin = drive.begin(engine, started)
    run = ConcurrentRun(
        engine=engine, now=_clock(begin.now), home=drive.home, steps_on_loop=steps_on_loop
    )
    run.run(begin, drive.interrupt)


def _simulated(engine: Engine, started: Started, drive: Drive) -> None:
    from headway.drivers.simulated import run_simulated

    engine.announce(engine.opening)
    run_simulated(
        engine,
        started,
        seed=drive.seed,
        durations=drive.durations,
        interrupt=drive.interrupt,
        earlier=drive.earlier,
        taken_up=drive.tell,
    )


DRIVE: Mapping[str, Callable[[Engine, Started, Drive], None]] = {
    "serial": _serial,
    "threads": _threads,
    "asyncio": _asyncio,
    "simulated": _simulated,
}
"""How to bring a run to its end, by the driver's name."""
