"""
A run ends whatever its parts do: calls that never return, in every place, mode, way and driver.

Here a generous ceiling stands for "returns at all"; ``benchmarks/endings.py`` measures how late.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from textwrap import dedent
from time import monotonic

import pytest

from headway import run
from headway.drivers._waker import Waker
from headway.drivers.concurrent import LINGER

hanging = pytest.importorskip("harness.hanging", reason="needs a checkout with benchmarks")

GRACE = 0.1
CEILING = 10.0
"""Seconds that no wait for anything takes; what hangs here hangs for ever."""

SECONDS = (0.2, 2.0, 8.0)
"""A loaded machine may not reach the call that hangs in time: then a run is given more time."""

GOES_ON = ("rollout", "propose", "verify", "measure", "baseline")
"""Places beside which there is other work to do, at least until a card is to be decided."""

BENCHMARKS = Path(hanging.__file__).parent.parent

pytestmark = pytest.mark.filterwarnings("ignore:.*held-out tasks:RuntimeWarning")


def own_threads(before=()):
    found = [t for t in threading.enumerate() if t.name.startswith("headway")]
    return [thread for thread in found if thread not in before]


def until_over(before):
    for thread in own_threads(before):
        thread.join(CEILING)
    return [thread.name for thread in own_threads(before)]


def hung(case):
    """
    A run in which the call was reached, and how many seconds it took longer than ``max_seconds``.

    Beside the call the others must have gone on, unless it blocks the loop that they are on.
    """
    for seconds in SECONDS:
        trap, domain, options = hanging.parts(**case)
        began = monotonic()
        result = run(domain, max_seconds=seconds, shutdown_grace=GRACE, **options)
        late = monotonic() - began - seconds
        if trap.reached.is_set() and (trap.after > 10 or not goes_on(**case)):
            return trap, result, options["ledger"], late
        trap.release()
    pytest.fail(f"{case} never came to the call that hangs, or not on beside it")


def goes_on(place, way, mode, driver):
    return place in GOES_ON and mode == "async" and way != "blocking"


TOGETHER = {
    "a rollout's calls": ("rollout", "propose", "verify"),
    "measurements": ("baseline", "measure", "final"),
    "old evidence": hanging.OLD,
    "everything else": ("step", "commit", "observer"),
}
"""Places whose runs are made at the same time, since most of them only wait."""


def test_no_place_is_left_out():
    """
    Each is in one of the groups.
    """
    assert {*hanging.CALLS, *hanging.PLAIN} == {
        place for group in TOGETHER.values() for place in group
    }


@pytest.mark.parametrize("places", TOGETHER.values(), ids=TOGETHER)
def test_a_call_that_never_returns(places):
    """
    The run returns, its result is whole, and a call that comes back later changes nothing.
    """
    cases = [case for case in hanging.matrix() if case["place"] in places]
    before = own_threads()
    with ThreadPoolExecutor(len(cases)) as pool:
        ended = list(pool.map(hung, cases))
    told = [result.to_json() for _, result, _, _ in ended]
    begun = [(trap.before, trap.after) for trap, _, _, _ in ended]
    for trap, *_ in ended:
        trap.release()
    left = until_over(before)

    assert [] == left
    assert max(late for *_, late in ended) < GRACE + CEILING
    assert told == [result.to_json() for _, result, _, _ in ended]
    assert begun == [(trap.before, trap.after) for trap, _, _, _ in ended]
    for _, result, ledger, _ in ended:
        assert result.stop_reason in ("max_seconds", "exhausted")
        assert result.rollouts == sum(result.completions.values())
        assert result.stale_considered <= sum(result.decisions.values())
        assert result.version == len(ledger.answers) == len(result.ledger_log)


@pytest.mark.parametrize("driver", hanging.DRIVERS)
def test_the_interpreter_exits(driver):
    """
    With every kind of call hanging in it at once.
    """
    code = f"""
        import sys, warnings
        from concurrent.futures import ThreadPoolExecutor

        sys.path.insert(0, {str(BENCHMARKS)!r})
        from harness.hanging import matrix, parts
        from headway import run

        warnings.simplefilter("ignore")

        def hung(case):
            trap, domain, options = parts(**case)
            run(domain, max_seconds=0.5, shutdown_grace=0.1, **options)
            return trap.reached.is_set()

        cases = [case for case in matrix() if case["driver"] == {driver!r}]
        with ThreadPoolExecutor(len(cases)) as pool:
            first = pool.map(hung, cases)
            reached = [hung(cases[0]), *first]
        print(sum(reached), flush=True)
    """
    process = subprocess.Popen(
        [sys.executable, "-c", dedent(code)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    reached = process.stdout.readline()
    said = monotonic()
    _, err = process.communicate(timeout=60)
    took = monotonic() - said

    assert "" == err
    assert 0 == process.returncode
    assert int(reached) > 5
    assert took < CEILING


def test_a_hung_commit_and_a_hung_observer(monkeypatch):
    """
    Both have the same grace, from the stop on: observers are not given another one.
    """
    trap, domain, options = hanging.parts("commit", "def", "threads", "async")
    never, asked, plain = threading.Event(), [], Waker.wait

    def wait(waker, seconds):
        asked.append(seconds)
        plain(waker, seconds)

    monkeypatch.setattr(Waker, "wait", wait)
    options["observers"] = [lambda notice: never.wait()]
    result = run(domain, max_seconds=1.0, shutdown_grace=1.0, **options)
    trap.release()
    never.set()

    assert "max_seconds" == result.stop_reason
    assert {"commit", "observer"} == {failure.fault.where for failure in result.failures}
    assert LINGER >= asked[-1]  # not a second as for the commit
