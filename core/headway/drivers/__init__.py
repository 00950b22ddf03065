"""
Drivers: all clocks, threads and I/O live here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import attrs

from headway.drivers._engine import Engine, Telling, Work
from headway.drivers._interrupt import Interrupt, catching_signals
from headway.drivers._steps import StepHost
from headway.drivers._work import InvalidValue, Workbench
from headway.machine import Started

if TYPE_CHECKING:  # importing it costs, and most runs need no loop
    from asyncio import AbstractEventLoop

__all__ = [
    "DRIVE",
    "Drive",
    "Engine",
    "Interrupt",
    "InvalidValue",
    "StepHost",
    "Telling",
    "Work",
    "Workbench",
    "catching_signals",
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
    """

    seed: int
    durations: Mapping[str, Any]
    interrupt: Interrupt
    home: AbstractEventLoop | None = None


def _clock() -> Callable[[], float]:
    began = time.monotonic()
    return lambda: time.monotonic() - began


def _serial(engine: Engine, started: Started, drive: Drive) -> None:
    from headway.drivers.serial import run_serial

    engine.announce(engine.opening)
    run_serial(engine, started, _clock(), drive.interrupt)


def _threads(engine: Engine, started: Started, drive: Drive) -> None:
    from headway.drivers.concurrent import ConcurrentRun

    run = ConcurrentRun(engine=engine, now=_clock(), home=drive.home)
    run.run(started, drive.interrupt)


def _asyncio(engine: Engine, started: Started, drive: Drive) -> None:
    from headway.drivers.concurrent import ConcurrentRun

    run = ConcurrentRun(engine=engine, now=_clock(), home=drive.home, steps_on_loop=True)
    run.run(started, drive.interrupt)


def _simulated(engine: Engine, started: Started, drive: Drive) -> None:
    from headway.drivers.simulated import run_simulated

    engine.announce(engine.opening)
    run_simulated(
        engine,
        started,
        seed=drive.seed,
        durations=drive.durations,
        interrupt=drive.interrupt,
    )


DRIVE: Mapping[str, Callable[[Engine, Started, Drive], None]] = {
    "serial": _serial,
    "threads": _threads,
    "asyncio": _asyncio,
    "simulated": _simulated,
}
"""How to bring a run to its end, by the driver's name."""
