"""
What every executor must do, as tests that its author runs.

::

    from headway.testing.conformance import ExecutorContract

    class TestPool(ExecutorContract):
        elsewhere = True

        @pytest.fixture
        def make(self):
            return Pool
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import pytest

from headway.contracts import Executor
from headway.errors import shown
from headway.testing._toy import ToyDomain
from headway.testing.conformance._common import Contract, Make, insist
from headway.testing.conformance._runs import DRIVEN, faults, toy_run


class Refused(Exception):  # noqa: N818 - what user code may raise has any name
    """
    An exception with more than a message.

    Args:
        code: What the caller wants to know.
        told: What people want to know.
    """

    def __init__(self, code: int, told: str) -> None:
        super().__init__(code, told)
        self.code = code


class Stubborn(Exception):  # noqa: N818 - as above
    """
    An exception that can't be made again from its arguments.
    """

    def __init__(self, *, code: int) -> None:
        super().__init__(f"code {code}")


def given(*arguments: Any) -> tuple[Any, ...]:
    """
    What it was given.
    """
    return arguments


def refuse(code: int) -> None:
    """
    Raise an exception that holds a code.
    """
    raise Refused(code, "no ink")


def refuse_stubbornly(code: int) -> None:
    """
    Raise an exception that can't be sent to another process.
    """
    raise Stubborn(code=code)


def interrupted(kind: type[BaseException]) -> None:
    """
    Raise what is no ``Exception``.
    """
    raise kind(7)


def process() -> int:
    """
    The process that it runs in.
    """
    return os.getpid()


def large(size: int) -> str:
    """
    A long text.
    """
    return "x" * size


class ExecutorContract(Contract):
    """
    Tests for any executor.

    Attributes:
        elsewhere: Whether work runs in another process: then functions, arguments and results are
            copies, an exception is one of the same kind with the same arguments, and what cannot be
            sent there is refused.
        at_once: How many calls can run at the same time at least.
        patience: Seconds after which calls that wait for each other are taken to wait for ever.
    """

    elsewhere: ClassVar[bool] = False
    at_once: ClassVar[int] = 4
    patience: ClassVar[float] = 10.0

    @pytest.fixture
    def executor(self, make: Make) -> Iterator[Any]:
        """
        An executor, which is closed at the end.
        """
        made = make()
        yield made
        made.close()

    def test_it_is_an_executor(self, executor: Any) -> None:
        """
        An object that has ``run`` and ``close``.
        """
        insist(
            isinstance(executor, Executor) and not isinstance(executor, type),
            f"make() gave {shown(executor)}, which is no executor",
            do="give an object with run(function, /, *arguments) and close()",
        )

    @pytest.mark.parametrize("value", [None, 0, "", [], {"a": [1, None]}, 1.5, ()], ids=repr)
    def test_it_returns_what_the_function_returns(self, executor: Any, value: Any) -> None:
        """
        Also what Python takes for false.
        """
        found = executor.run(given, value)
        insist(
            found == (value,) and type(found) is tuple,
            f"run(function, {value!r}) gave {shown(found)}, and the function had returned {(value,)!r}",
            do="return what the function returned, whatever its truth",
        )

    def test_it_hands_all_arguments_on(self, executor: Any) -> None:
        """
        In their order, none left out, none taken for an option of its own.
        """
        for arguments in ((), (1,), (1, 2, 3), ("function", None), tuple(range(12))):
            found = executor.run(given, *arguments)
            insist(
                found == arguments,
                f"the function was given {shown(found)} instead of {arguments!r}",
                do="pass *arguments on: function(*arguments)",
            )

    def test_the_very_objects_come_through(self, executor: Any) -> None:
        """
        Within a process nothing is copied, so that a long state costs nothing.
        """
        if self.elsewhere:
            pytest.skip("elsewhere = True: arguments are copied")
        state = {"a": [1, 2]}
        (found,) = executor.run(given, state)
        insist(
            found is state,
            f"the function was given a copy of {state!r}",
            do="hand the objects on; an executor that runs work in another process sets"
            " elsewhere = True in its test class",
        )

    def test_work_runs_where_it_says(self, executor: Any) -> None:
        """
        In this process, or in another one.
        """
        found = executor.run(process)
        insist(
            (found != os.getpid()) == self.elsewhere,
            f"with elsewhere = {self.elsewhere} the work ran in process {found}; this one is {os.getpid()}",
            do="set elsewhere in the test class as the executor is",
        )

    def test_it_raises_what_the_function_raises(self, executor: Any) -> None:
        """
        The exception itself, with all that it says; never one of the executor's own in its place.
        """
        found = _raised(executor, refuse, 7)
        told = (type(found), getattr(found, "args", ()), getattr(found, "code", None))
        insist(
            told == (Refused, (7, "no ink"), 7),
            f"the function raised Refused(7, 'no ink') and run {_came(found)}",
            do="let exceptions through: catch none, wrap none, log none instead of raising it",
        )

    def test_it_raises_the_very_exception(self, executor: Any) -> None:
        """
        Within a process it is the same object, with its traceback and its cause.
        """
        if self.elsewhere:
            pytest.skip("elsewhere = True: an exception is copied")
        error = Refused(1, "cause")

        def fail() -> None:
            raise error

        found = _raised(executor, fail)
        insist(
            found is error,
            f"the function raised {error!r} and run {_came(found)}, another object",
            do="raise the exception that was caught, or catch none",
        )

    @pytest.mark.parametrize("kind", [SystemExit, StopIteration, TimeoutError, KeyError])
    def test_no_exception_is_special(self, executor: Any, kind: type[BaseException]) -> None:
        """
        What loops, generators and interpreters use for themselves comes through too.
        """
        found = _raised(executor, interrupted, kind)
        insist(
            type(found) is kind and getattr(found, "args", ()) == (7,),
            f"the function raised {kind.__name__}(7) and run {_came(found)}",
            do="make no difference between exceptions: what is raised is for whoever called run",
        )

    def test_an_exception_that_cannot_be_sent_is_told(self, executor: Any) -> None:
        """
        And the executor goes on: a waiting thread would wait for ever.
        """
        found = _raised(executor, refuse_stubbornly, 3)
        insist(
            found is not None and "code" in str(found),
            f"the function raised Stubborn(code=3) and run {_came(found)}",
            do="where an exception can't be pickled raise one that holds its type and its text",
        )
        insist(
            executor.run(given, 1) == (1,),
            "after an exception that can't be pickled the executor gives nothing right any more",
            do="make the result in the worker picklable before it is sent",
        )

    def test_large_results_come_whole(self, executor: Any) -> None:
        """
        Five megabytes, which is more than a pipe holds.
        """
        found = executor.run(large, 5_000_000)
        insist(
            len(found) == 5_000_000,
            f"of a result of 5,000,000 characters {len(found)} came",
            do="read while the worker writes: a pipe holds some 64 KiB",
        )

    def test_calls_run_at_once(self, make: Make) -> None:
        """
        Each thread that asks is served, with its own answer; calls that wait for each other all run.
        """
        executor, barrier = make(), threading.Barrier(self.at_once)

        def together(number: int) -> int:
            barrier.wait(self.patience)
            return number

        work: Callable[[int], Any] = _doubled if self.elsewhere else together
        answers = _on_threads(executor, work, self.at_once)
        executor.close()
        right = {n: 2 * n if self.elsewhere else n for n in range(self.at_once)}
        insist(
            answers == right,
            f"{self.at_once} calls at once gave {shown(answers)} instead of {right}",
            do="hold no lock while the function runs, and give each call its own answer; an executor"
            " that runs fewer at once sets at_once in its test class",
        )

    def test_what_is_charged_is_counted(self, make: Make) -> None:
        """
        Wherever the work runs: what is not heard by the thread that asks comes with the result.
        """
        usage = toy_run("sync", "threads", executor=make(), domain=ToyDomain(tokens=3)).usage
        insist(
            usage.tokens > 0,
            f"a run whose calls charge up to 3 tokens each came to {usage.tokens} tokens",
            do="return what the function returned itself: what was charged elsewhere comes with it",
        )

    def test_closing_twice_is_harmless(self, make: Make) -> None:
        """
        Whoever ends a run need not know who else did.
        """
        executor = make()
        executor.run(given)
        for time in ("first", "second"):
            try:
                executor.close()
            except Exception as error:
                wrong = f"the {time} close() raised {error!r}"
                raise AssertionError(
                    f"{wrong}\n-> let close do nothing when it was called"
                ) from error

    def test_closing_unused_is_harmless(self, make: Make) -> None:
        """
        A run may end before its first call.
        """
        made = make()
        insist(
            made.close() is None,
            "close() of an executor that ran nothing gave a value",
            do="let close release what there is, and return nothing",
        )

    @pytest.mark.parametrize(("mode", "driver"), DRIVEN)
    def test_runs_end_well_with_it(self, make: Make, mode: str, driver: str) -> None:
        """
        And come to the same as with the built-in one where the order is fixed.
        """
        result = toy_run(mode, driver, executor=make())
        insist(
            not faults(result),
            f"a run with it in {mode} mode under {driver} had faults: {faults(result)}",
            do="mend the first one: 'executor' means that run raised or returned something of its own",
        )
        if mode == "sync":
            digests = result.digest, toy_run(mode, driver).digest
            insist(
                digests[0] == digests[1],
                f"the run's digest is {digests[0]} with it and {digests[1]} with the built-in one",
                do="run each function once, with its own arguments, and return its own result",
            )


def _doubled(number: int) -> int:
    return 2 * number


def _came(found: BaseException | None) -> str:
    return "returned" if found is None else f"raised {found!r}"


def _raised(executor: Any, function: Callable[..., Any], *arguments: Any) -> BaseException | None:
    try:
        executor.run(function, *arguments)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - what came through is looked at
        return error
    return None


def _on_threads(executor: Any, work: Callable[[int], Any], count: int) -> dict[int, Any]:
    """
    What each of so many threads was answered, or what was raised there.
    """
    answers: dict[int, Any] = {}

    def ask(number: int) -> None:
        try:
            answers[number] = executor.run(work, number)
        except Exception as error:  # noqa: BLE001 - it is shown with the answers
            answers[number] = error

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers
