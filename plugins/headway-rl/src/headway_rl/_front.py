"""
``AsyncTrainer``: from an environment, a trainer and options to a run, its steps and its metrics.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import attrs

from headway import Registry, arun, run
from headway.contracts import Observer, Splits, Task
from headway.errors import OptionError
from headway.result import Result
from headway_envs import Environment
from headway_rl._aggregator import GroupTrainer
from headway_rl._domain import RL, AsyncRL
from headway_rl._options import Options
from headway_rl._steps import StepDone, Watcher
from headway_rl._trainer import Trainer


def _rows(rows: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(rows)


def _named(rows: Iterable[Any], kind: str) -> tuple[Task, ...]:
    return tuple(
        row if isinstance(row, Task) else Task(id=f"{kind}-{number}", data=row)
        for number, row in enumerate(rows)
    )


def _print(text: str) -> None:
    print(text)  # noqa: T201 - it is for people, and can be turned off


@attrs.frozen(kw_only=True)
class AsyncTrainer(Options):
    """
    Trains a policy while it goes on sampling; nothing trains that is older than ``max_staleness``.

    All options of ``Options`` are options of this.  What belongs to a run - ``updates``, ``seed``, ``driver``,
    ``run_dir``, ``max_seconds`` and so on - is given to ``run`` or ``steps``; see ``headway.run``.

    Args:
        environment: Makes an environment; called once an episode.
        trainer: What samples and learns; a run begins where it stands.
        rows: Training tasks: ``Task`` objects, or what goes to ``reset``.
        held_out: Tasks to evaluate on, in the same form; at least two, and never trained on.
        max_turns: Sampling requests after which an episode is over; None leaves that to the environment.
        reward_range: The lowest and the highest reward of an episode.
        asynchronous: Whether episodes are coroutines; needed where only a policy's ``sample`` is ``async
            def``, since an environment shows that itself.
        announce: Given the sentence that a run begins with, which names the ages to expect; None keeps
            it quiet.

    Raises:
        OptionError: an option is out of its range, or does not go with another.
    """

    environment: Callable[[], Environment]
    trainer: Trainer
    rows: tuple[Any, ...] = attrs.field(converter=_rows)
    held_out: tuple[Any, ...] = attrs.field(converter=_rows)
    max_turns: int | None = None
    reward_range: tuple[float, float] = (0.0, 1.0)
    asynchronous: bool = False
    announce: Callable[[str], None] | None = _print

    def domain(self) -> RL:
        """
        A domain of the environment and the trainer, for ``headway.run`` and for tests of a part of it.
        """
        kind = AsyncRL if self._awaits() else RL
        return kind(
            environment=self.environment,
            trainer=self.trainer,
            splits=Splits(
                train=_named(self.rows, "row"), held_out=_named(self.held_out, "held-out")
            ),
            max_turns=self.max_turns,
            max_sample_requests=self.schedule.requests,
            sampling_policy=self.sampling_policy,
            max_kv_age=self.max_kv_age,
            kv_policy=self.kv_policy,
            reward_range=self.reward_range,
        )

    def _awaits(self) -> bool:
        if self.asynchronous:
            return True
        made = self.environment()
        return any(map(inspect.iscoroutinefunction, (made.reset, made.step)))

    def run(
        self,
        *,
        on_step: Callable[[StepDone], None] | None = None,
        timeline: str | Path | None = None,
        **options: Any,
    ) -> Result:
        """
        Train until a limit is reached.

        Args:
            on_step: Given each step as it is done, on a thread of the run's.
            timeline: A file for a picture of the run, ``.png`` or ``.svg``; needs matplotlib.
            options: Options of the run, as ``updates=200``; see ``headway.run``.

        Raises:
            OptionError: one of them follows from the trainer's own options, or can't be used.
            UsageError: as ``headway.run``.
        """
        call, watcher = self._call(on_step or _nothing, options)
        result = run(**call)
        if timeline is not None:
            watcher.timeline().draw(timeline)
        return result

    async def arun(
        self, *, on_step: Callable[[StepDone], None] | None = None, **options: Any
    ) -> Result:
        """
        As ``run``, for a program that has an event loop.
        """
        call, _ = self._call(on_step or _nothing, options)
        return await arun(**call)

    def steps(self, **options: Any) -> Iterator[StepDone]:
        """
        Train, and give the steps one by one as they are done.

        The run goes on while the caller looks at one.  Whoever leaves the loop ends the run: no episode
        begins any more.

        Raises:
            OptionError: as ``run``.
            HeadwayError: what ended the run badly.
        """
        queue: SimpleQueue[StepDone | _End] = SimpleQueue()
        call, _ = self._call(queue.put, options)
        return _stepwise(call, queue)

    def _call(
        self, tell: Callable[[StepDone], None], options: Mapping[str, Any]
    ) -> tuple[dict[str, Any], Watcher]:
        """
        The arguments of ``headway.run``, and what watches it.
        """
        given = dict(options)
        own = self._options()
        for name in sorted(own.keys() & given.keys()):
            remedy = "It follows from the options of AsyncTrainer; set it there."
            raise OptionError(name, given[name], remedy)
        self._say()
        domain = self.domain()
        watcher = Watcher(
            recorder=domain.recorder, concurrency=self.schedule.concurrency, tell=tell
        )
        observers: list[Observer | str] = [domain.heads, watcher, *given.pop("observers", ())]
        return {"domain": domain, "observers": observers, **own, **given}, watcher

    def _options(self) -> dict[str, Any]:
        """
        The options of a run that follow from these.
        """
        completion = self.completion
        return {
            "aggregator": GroupTrainer.of(self),
            "policy": self._policy(),
            **self._ahead(),
            "n_workers": self.schedule.concurrency,
            "member_attempts": completion.retries + 1,
            "least_members": completion.min_members,
            "lost_groups": "stop" if completion.on_failure == "stop" else "drop",
        }

    def _ahead(self) -> dict[str, Any]:
        """
        The mode, and what is admitted ahead; in sync mode nothing is.
        """
        if not self.max_staleness:
            return {"mode": "sync"}
        return {
            "mode": "async",
            "max_staleness": self.gate_staleness,
            "admit_ahead": self.schedule.admit_ahead,
            "oversample_factor": self.schedule.oversample_factor,
            "batch_order": self.batch_order,
        }

    def _policy(self) -> Any:
        if self.stale_policy == "window":
            registry = Registry.discover()
            return registry.create("staleness policy", "window", window=self.window)
        return "soft" if self.stale_policy == "unbounded" else self.stale_policy

    def _say(self) -> None:
        if self.announce is not None:
            self.announce(self.announcement())
        for sentence in self.warnings():
            warnings.warn(sentence, stacklevel=4)


def _nothing(step: StepDone) -> None:
    del step


@attrs.frozen
class _End:
    """
    The run is over.
    """

    error: BaseException | None


def _stepwise(call: Mapping[str, Any], queue: SimpleQueue[StepDone | _End]) -> Iterator[StepDone]:
    """
    Run on a thread of its own, and give what it puts into a queue.
    """
    background = _Background(call, queue)
    thread = threading.Thread(target=background.run, name="headway-rl-steps")
    thread.start()
    try:
        while not isinstance(found := queue.get(), _End):
            yield found
        if found.error is not None:
            raise found.error
    finally:
        background.cancel()
        thread.join()


@attrs.define(eq=False)
class _Background:
    """
    A run that can be ended from another thread.
    """

    call: Mapping[str, Any]
    queue: SimpleQueue[StepDone | _End]
    _loop: asyncio.AbstractEventLoop = attrs.field(factory=asyncio.new_event_loop, init=False)
    _task: asyncio.Task[Result] | None = attrs.field(default=None, init=False)

    def run(self) -> None:
        """
        Run it to its end.
        """
        error: BaseException | None = None
        try:
            asyncio.set_event_loop(self._loop)
            self._task = self._loop.create_task(arun(**self.call))
            self._loop.run_until_complete(self._task)
        except asyncio.CancelledError:
            pass  # whoever went through the steps has left
        except BaseException as found:  # noqa: BLE001 - it is raised where the steps are asked for
            error = found
        finally:
            self._loop.close()
            self.queue.put(_End(error))

    def cancel(self) -> None:
        """
        End it, unless it has ended.
        """
        with suppress(RuntimeError):  # the loop is closed: the run has ended
            self._loop.call_soon_threadsafe(self._cancel)

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()
