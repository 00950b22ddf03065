"""
Real drivers: coroutines, hangs, threads that end, and a loop that runs already.
"""

import asyncio
import subprocess
import sys
import threading
from textwrap import dedent

import pytest

from headway import Artifact, run
from headway.builtins._memory_ledger import MemoryLedger
from headway.testing import ToyDomain

REAL = ("threads", "asyncio")
ALL = ("serial", "threads", "asyncio", "simulated")


class CoroutineToy(ToyDomain):
    """The toy domain, written with ``async def``."""

    async def rollout(self, state, task, *, rng):
        await asyncio.sleep(0)
        return super().rollout(state, task, rng=rng)

    async def propose(self, state, task, outcome, *, rng):
        await asyncio.sleep(0)
        return super().propose(state, task, outcome, rng=rng)


class Hanging(ToyDomain):
    """Every fifth rollout waits for something that never comes."""

    def __init__(self, **options):
        super().__init__(**options)
        self.count = 0
        self.never = threading.Event()

    def rollout(self, state, task, *, rng):
        self.count += 1
        if self.count % 5 == 0:
            self.never.wait()
        return super().rollout(state, task, rng=rng)

    def measure(self, state, task, *, rng):
        return ToyDomain.rollout(self, state, task, rng=rng).reward


class HangingCoroutine(Hanging):
    """The same, as a coroutine that can be cancelled."""

    async def rollout(self, state, task, *, rng):
        self.count += 1
        if self.count % 5 == 0:
            await asyncio.get_running_loop().create_future()
        return ToyDomain.rollout(self, state, task, rng=rng)


class Bulky(ToyDomain):
    """Proposals of 5 MB."""

    def propose(self, state, task, outcome, *, rng):
        diff = super().propose(state, task, outcome, rng=rng)
        return None if diff is None else {**diff, "!": "x" * 5_000_000}


def sync(domain, driver):
    return run(domain, mode="sync", driver=driver, round_size=5, max_rollouts=40, validate=True)


@pytest.mark.parametrize("driver", ALL)
def test_coroutines(driver):
    """A domain written with ``async def`` gives the same run, under every driver."""
    result = sync(CoroutineToy(), driver)

    assert () == result.failures
    assert sync(ToyDomain(), "serial").digest == result.digest


@pytest.mark.parametrize("driver", REAL)
@pytest.mark.parametrize("domain", [Hanging, HangingCoroutine])
@pytest.mark.parametrize("mode", ["sync", "async"])
def test_hangs(driver, domain, mode):
    """A rollout that hangs ends at its deadline as a timeout; the run makes all the others."""
    hanging = domain()
    result = run(
        hanging,
        mode=mode,
        driver=driver,
        max_rollouts=20,
        rollout_timeout=0.05,
        eval_timeout=0.05,
        validate=True,
    )
    hanging.never.set()

    assert "max_iters" == result.stop_reason
    assert result.completions["timeout"] >= 2
    assert 20 == sum(result.completions.values())


@pytest.mark.parametrize("driver", REAL)
def test_time_is_up(driver):
    """``max_seconds`` ends a run whose rollouts hang for ever, without any other deadline."""
    hanging = Hanging()
    result = run(hanging, driver=driver, max_seconds=0.3, validate=True)
    hanging.never.set()

    assert "max_seconds" == result.stop_reason
    assert result.wallclock < 0.3 + 0.5
    assert result.completions["abandoned"] > 0


@pytest.mark.parametrize("driver", REAL)
def test_the_interpreter_exits(driver):
    """A thread that hangs does not keep the interpreter alive."""
    code = f"""
        import threading
        from headway import run
        from headway.testing import ToyDomain

        class Hanging(ToyDomain):
            def rollout(self, state, task, *, rng):
                threading.Event().wait()

        print(run(Hanging(), driver={driver!r}, max_seconds=0.2).stop_reason)
    """
    done = subprocess.run(
        [sys.executable, "-c", dedent(code)], capture_output=True, text=True, timeout=20, check=True
    )

    assert "max_seconds\n" == done.stdout


@pytest.mark.parametrize("driver", ALL)
def test_inside_a_running_loop(driver):
    """``run`` blocks and works also where an event loop runs already."""

    async def main():
        return sync(CoroutineToy(), driver)

    assert sync(ToyDomain(), "serial").digest == asyncio.run(main()).digest


@pytest.mark.parametrize("driver", ALL)
def test_oversized_proposals(driver):
    """A proposal of 5 MB is discarded as oversized, not measured."""
    result = sync(Bulky(), driver)

    assert {"discarded:oversized"} == set(result.decisions)


@pytest.mark.parametrize("driver", REAL)
def test_no_thread_is_left(driver):
    """When a run has ended, its threads end."""
    sync(CoroutineToy(), driver)
    left = [t for t in threading.enumerate() if t.name.startswith("headway")]
    for thread in left:
        thread.join(timeout=10)

    assert [] == [thread.name for thread in left if thread.is_alive()]


class StuckLedger(MemoryLedger):
    """A ledger whose commits never answer."""

    def __init__(self, initial):
        super().__init__(initial)
        self.never = threading.Event()

    def commit(self, *arguments, **more):
        self.never.wait()
        return super().commit(*arguments, **more)


@pytest.mark.parametrize("driver", REAL)
def test_a_commit_that_hangs(driver):
    """It is waited for ``shutdown_grace`` after the stop and no longer; the run says so."""
    ledger = StuckLedger(Artifact(ToyDomain().initial()))
    result = run(ToyDomain(), driver=driver, ledger=ledger, max_seconds=0.2, shutdown_grace=0.2)
    ledger.never.set()

    assert "max_seconds" == result.stop_reason
    assert ["commit"] == [failure.fault.where for failure in result.failures]
    assert result.wallclock < 0.2 + 0.2 + 0.5
