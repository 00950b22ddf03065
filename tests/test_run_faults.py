"""
What plug-ins and domains do wrong is contained, under every driver, and stands in the result.
"""

import asyncio
import subprocess
import sys
import threading
import time

import pytest

from headway import Artifact, Commit, Measure, Registry, run
from headway.builtins._memory_ledger import MemoryLedger
from headway.contracts import Committed, HeadMoved, MeasureAll, Snapshot
from headway.errors import ContractError, OptionError, UsageError
from headway.testing import ToyDomain

ALL = ("serial", "threads", "asyncio", "simulated")
everywhere = pytest.mark.parametrize("driver", ALL)


def go(domain=None, driver="simulated", **options):
    mode = "sync" if driver == "serial" else "async"
    return run(
        domain or ToyDomain(n_keys=20),
        **{"driver": driver, "mode": mode, "max_rollouts": 40, "validate": True, **options},
    )


class Asking:
    """An aggregator whose step asks for what a function makes."""

    batch = 1

    def __init__(self, ask):
        self.ask = ask

    def step(self, cards, context):
        yield self.ask(cards, context)


NOT_FIT = {
    "NaN in a candidate": lambda cards, c: Measure((Artifact({"w": float("nan")}),), c.held_out),
    "NaN in a commit": lambda cards, c: Commit(Artifact({"w": float("nan")}), cards),
    "a state for a candidate": lambda cards, c: Measure(({"a": 1},), c.held_out),
    "a state for a commit": lambda cards, c: Commit({"a": 1}, cards),
    "half a draw": lambda cards, c: Measure((c.head,), c.held_out, draws=1.5),
    "a list for a task": lambda cards, c: Measure((c.head,), [["x"]]),
    "NaN in one of several": lambda cards, c: MeasureAll(
        Measure((a,), c.held_out) for a in (c.head, Artifact({"w": float("nan")}))
    ),
    "no measurement in several": lambda cards, c: MeasureAll([c.head]),
    "a set for memory": lambda cards, c: Commit(c.head, cards, memory={1, 2}),
    "no request": lambda cards, c: "measure, please",
    "exit": lambda cards, c: sys.exit(3),
}


@everywhere
@pytest.mark.parametrize("ask", NOT_FIT.values(), ids=NOT_FIT)
def test_requests_that_are_not_fit(driver, ask):
    """They are the aggregator's fault; two batches in a row end the run."""
    result = go(driver=driver, aggregator=Asking(ask))

    assert "error" == result.stop_reason
    assert "aggregator" == result.error.where
    assert 0 == result.version


@everywhere
@pytest.mark.parametrize("method", ["rollout", "propose", "measure"])
def test_exit_in_a_domain(driver, method):
    """``sys.exit`` in a domain's code is a failed call, not the end of the program."""

    class Exiting(ToyDomain):
        pass

    setattr(Exiting, method, lambda self, *args, rng: sys.exit(3))
    result = go(Exiting(), driver)

    assert {"SystemExit"} == {failure.fault.type for failure in result.failures}


@everywhere
def test_exit_in_a_coroutine(driver):
    """The same for ``async def``."""

    class Exiting(ToyDomain):
        async def rollout(self, state, task, *, rng):
            sys.exit(3)

    result = go(Exiting(), driver)

    assert "error" == result.stop_reason


@everywhere
def test_target(driver):
    """A target ends the run soon after a head reaches it, in every mode."""
    result = go(driver=driver, target_reward=0.3, max_rollouts=2000)

    assert "target_reward" == result.stop_reason
    assert result.rollouts < 400


@pytest.mark.parametrize("driver", ["threads", "asyncio", "simulated"])
def test_target_that_holds_already(driver):
    """A target that the first head reaches ends the run at once."""
    result = go(driver=driver, target_reward=0.0)

    assert "target_reward" == result.stop_reason
    assert result.rollouts < 30


@everywhere
@pytest.mark.parametrize("option", ["max_seconds", "rollout_timeout", "eval_timeout"])
@pytest.mark.parametrize("seconds", [float("inf"), 1e12])
def test_endless_seconds(driver, option, seconds):
    """Infinity and very long times are no deadline at all."""
    result = go(driver=driver, **{option: seconds})

    assert "max_iters" == result.stop_reason
    assert () == result.failures


class Hoarder:
    """An aggregator that changes the memory it was given, then is abandoned by a contract fault."""

    batch = 1

    def step(self, cards, context):
        memory = context.memory or {"seen": []}
        seen = list(memory["seen"])
        if context.memory is not None:
            context.memory["seen"].append("spoilt")
        if context.step % 3 == 0:
            raise RuntimeError("every third step")
        before, _ = yield Measure((context.head, context.apply(cards[0].diff)), context.held_out)
        assert "spoilt" not in seen
        return {"seen": [*seen, sum(before)]}


@everywhere
def test_memory_is_a_copy(driver):
    """Nobody can change what the machine keeps as memory."""
    result = go(driver=driver, aggregator=Hoarder())

    assert "max_iters" == result.stop_reason
    assert {"RuntimeError"} == {failure.fault.type for failure in result.failures}


def test_apply_that_changes_its_argument():
    """A domain whose ``apply`` changes the state it was given is told so; the state stays right."""

    class Mutating(ToyDomain):
        def apply(self, state, diff):
            state.update(super().apply(state, diff))
            return state

    result = go(Mutating(), max_rollouts=10)

    assert Mutating().initial() == result.state
    assert any("let it return a new one" in f.fault.message for f in result.failures)


@everywhere
def test_render_that_raises(driver):
    """A paid run is not lost because its artifact can't be rendered."""

    class Secret(ToyDomain):
        def render(self, state):
            raise OSError("no paper")

    result = go(Secret(), driver)

    assert {} == result.files
    assert ["render"] == [failure.fault.where for failure in result.failures]
    assert result.final_reward is not None


@pytest.mark.parametrize("driver", ["threads", "asyncio"])
def test_slots_are_kept_when_scores_are_not_wanted_any_more(driver):
    """A measurement that nobody waits for keeps its slot until its function has ended."""
    lock, running, most = threading.Lock(), [0], [0]

    class Counting(ToyDomain):
        def measure(self, state, task, *, rng):
            with lock:
                running[0] += 1
                most[0] = max(most[0], running[0])
            threading.Event().wait(0.002)
            with lock:
                running[0] -= 1
            if state != self.initial() and task.id.endswith("3"):
                raise ConnectionError("always")
            return super().measure(state, task, rng=rng)

    go(Counting(n_keys=20), driver, n_workers=1, slots=3)

    assert most[0] <= 3


def test_requests_are_looked_at_without_assertions_too():
    """NaN in a candidate is the aggregator's fault under ``python -O`` as well."""
    program = """
from headway.contracts import Artifact, Commit, Compare, Measure, MeasureAll
from headway.drivers._steps import _settled

bad, good = Artifact({"w": float("nan")}), Artifact({"w": 1.0})
measure = Measure((good, bad), ("x",))
for request in (measure, MeasureAll([measure]), Compare(good, (bad,), ("x",)), Commit(bad, ())):
    try:
        _settled(request)
    except ValueError:
        print(type(request).__name__)
"""
    command = [sys.executable, "-O", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True)

    assert ["Measure", "MeasureAll", "Compare", "Commit"] == done.stdout.split()


def test_a_domain_by_name():
    """A domain may be named, like every other part."""
    registry = Registry()
    registry.add("domain", "toy", ToyDomain)
    result = run("toy", registry=registry, driver="simulated", max_rollouts=5)

    assert "toy (given by the program)" == result.choices["domain"]


@pytest.mark.parametrize("domain", [None, ToyDomain, 3])
def test_what_is_no_domain(domain):
    """It is refused, and named."""

    with pytest.raises(UsageError, match="domain"):
        run(domain, max_rollouts=5)


def test_tasks_that_are_no_splits():
    """They are refused with the remedy."""

    class Listing(ToyDomain):
        def tasks(self):
            return []

    with pytest.raises(ContractError, match=r"Splits\(train="):
        run(Listing(), max_rollouts=5)


@everywhere
@pytest.mark.parametrize("method", ["rollout", "propose", "measure"])
def test_cancelled_in_a_domain(driver, method):
    """``CancelledError`` in a domain's code is a failed call; no slot is lost with it."""

    class Cancelling(ToyDomain):
        pass

    def cancel(self, *args, rng):
        raise asyncio.CancelledError

    setattr(Cancelling, method, cancel)
    result = go(Cancelling(), driver, max_seconds=5)

    assert {"CancelledError"} == {failure.fault.type for failure in result.failures}


class Endless:
    """An aggregator whose step never stops asking."""

    batch = 1

    def step(self, cards, context):
        while True:
            yield Measure((context.head,), context.held_out)


@everywhere
def test_a_step_that_never_ends(driver):
    """It is closed after so many requests, and is the aggregator's fault."""
    result = go(driver=driver, aggregator=Endless(), validate=False)

    assert "error" == result.stop_reason
    assert "requests" in result.error.message


BAD_ANSWERS = {
    "nothing": lambda: None,
    "text": lambda: Committed("x"),
    "the old version": lambda: Committed(0),
    "no head": lambda: HeadMoved(None),
    "a head with NaN": lambda: HeadMoved(Snapshot(1, Artifact(float("nan")))),
}


@everywhere
@pytest.mark.parametrize("answer", BAD_ANSWERS.values(), ids=BAD_ANSWERS)
def test_a_ledger_that_answers_nonsense(driver, answer):
    """It ends the run with an error; what was found until then stands in the result."""

    class Odd(MemoryLedger):
        def commit(self, *arguments, **more):
            return answer()

    ledger = Odd(Artifact(ToyDomain(n_keys=20).initial()))
    result = go(driver=driver, ledger=ledger)

    assert ("error", "commit") == (result.stop_reason, result.error.where)


@everywhere
def test_a_ledger_that_cannot_be_closed(driver):
    """The finished result is not lost with it."""

    class Ajar(MemoryLedger):
        def close(self):
            raise OSError("the door is stuck")

    result = go(driver=driver, ledger=Ajar(Artifact(ToyDomain(n_keys=20).initial())))

    assert "max_iters" == result.stop_reason
    assert ["close"] == [failure.fault.where for failure in result.failures]


def test_slow_observers_do_not_hold_up_a_run():
    """They are told no more once the grace is over; the result is whole and says so."""

    def slow(notice):
        threading.Event().wait(0.02)

    result = go(
        ToyDomain(noise=0.1),  # else it might be exhausted before
        driver="threads",
        observers=[slow],
        max_rollouts=None,
        max_seconds=0.2,
        shutdown_grace=0.2,
    )

    assert "max_seconds" == result.stop_reason
    assert ["TooSlow"] == [failure.fault.type for failure in result.failures]


def test_a_simulation_that_time_cannot_end():
    """Nothing takes time and only time would end it: refused, with the remedy."""

    with pytest.raises(OptionError, match="give durations"):
        run(ToyDomain(), driver="simulated", max_seconds=5)


def test_no_thread_is_left_of_late_calls():
    """Plain functions that overrun their deadline leave no thread behind once they have ended."""
    before = set(threading.enumerate())
    for _ in range(5):
        go(driver="asyncio", rollout_timeout=1e-9, eval_timeout=1e-9, validate=False)
    left = [t for t in set(threading.enumerate()) - before if t.name.startswith("headway")]
    for thread in left:
        while thread.ident is None:  # it is about to start, and can't be waited for before
            time.sleep(0.001)
        thread.join(timeout=10)

    assert [] == [thread.name for thread in left if thread.is_alive()]


class Stubborn(ToyDomain):
    """A coroutine that waits for a thread, which no cancellation ends."""

    async def rollout(self, state, task, *, rng):
        await asyncio.to_thread(self.never.wait)

    never = threading.Event()


def test_a_coroutine_that_does_not_die():
    """The caller is not kept by it."""
    result = go(Stubborn(), "asyncio", max_rollouts=None, max_seconds=0.3, shutdown_grace=0.1)
    Stubborn.never.set()

    assert "max_seconds" == result.stop_reason


class UnshowableError(Exception):
    """An exception of a library whose ``__str__`` itself fails."""

    def __str__(self):
        raise RuntimeError

    __repr__ = __str__


class MisshownError(Exception):
    """An exception whose ``__str__`` gives no text."""

    def __str__(self):
        return 5  # noqa: PLE0307 - the fault that is tested


@everywhere
@pytest.mark.parametrize("error", [UnshowableError, MisshownError])
def test_an_exception_that_cannot_be_shown_is_a_failure_like_any_other(driver, error):
    """It ends its call, and no run."""

    class Odd(ToyDomain):
        def propose(self, *_, **__):
            raise error

    result = go(Odd(n_keys=4), driver, max_rollouts=4)
    found = next(f.fault for f in result.failures if f.fault.where == "propose")

    assert error.__name__ == found.type
    assert found.message in ("it cannot be shown", "MisshownError()")
