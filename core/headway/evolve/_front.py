"""
``evolve``, ``async_evolve`` and ``aevolve``: a program and options, handed to ``run``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Unpack

from headway.errors import OptionError
from headway.evolve._arguments import EvolveArguments, signature
from headway.evolve._plan import Plan, plan
from headway.result import Result
from headway.run import arun, run


def evolve(
    tasks: Iterable[Any], reward: Callable[..., Any], **options: Unpack[EvolveArguments]
) -> Result:
    """
    Improve what a strategy describes, on tasks, by what a reward says.

    In rounds, unless ``asynchronous=True`` or ``mode="async"`` asks for a run without a barrier.  May
    be called inside a running event loop, which stands still meanwhile; ``aevolve`` is awaited.

    Args:
        tasks: At least 4 tasks; see ``Program``.
        reward: ``reward(task, output)``: a finite number from 0 to 1, or a boolean.
        options: See the reference; those of ``Program`` and of ``RunOptions`` are among them.

    Raises:
        UsageError: an option, a name, a task or a function can't be used; nothing was run.
        PluginError: a plug-in that was asked for can't be loaded.
    """
    return _run(plan(tasks, reward, options))


def async_evolve(
    tasks: Iterable[Any], reward: Callable[..., Any], **options: Unpack[EvolveArguments]
) -> Result:
    """
    ``evolve(..., asynchronous=True)``: the same, without a round barrier.

    It is no coroutine and is not awaited: see ``aevolve``.

    Args:
        tasks: At least 4 tasks; see ``Program``.
        reward: ``reward(task, output)``: a finite number from 0 to 1, or a boolean.
        options: As of ``evolve``.

    Raises:
        UsageError: an option, a name, a task or a function can't be used; nothing was run.
        PluginError: a plug-in that was asked for can't be loaded.
    """
    asked = options.get("asynchronous", True)
    if asked is not True:
        raise OptionError("asynchronous", asked, "Call evolve for a run in rounds.")
    options["asynchronous"] = True
    return _run(plan(tasks, reward, options))


async def aevolve(
    tasks: Iterable[Any], reward: Callable[..., Any], **options: Unpack[EvolveArguments]
) -> Result:
    """
    As ``evolve``, for a program that has an event loop, which goes on meanwhile.

    Coroutines run on the caller's loop, under ``threads`` and ``asyncio``.  Cancelling it interrupts
    the run: no call begins any more, and ``CancelledError`` is raised once it ended.

    Args:
        tasks: At least 4 tasks; see ``Program``.
        reward: ``reward(task, output)``: a finite number from 0 to 1, or a boolean.
        options: As of ``evolve``.

    Raises:
        UsageError: an option, a name, a task or a function can't be used; nothing was run.
        PluginError: a plug-in that was asked for can't be loaded.
        asyncio.CancelledError: the caller was cancelled.
    """
    made = plan(tasks, reward, options)
    return await arun(
        made.program,
        registry=made.registry,
        observers=made.observers,
        run_dir=made.run_dir,
        **made.options,
    )


def _run(made: Plan) -> Result:
    return run(
        made.program,
        registry=made.registry,
        observers=made.observers,
        run_dir=made.run_dir,
        **made.options,
    )


# Type checkers read the keywords above; whoever looks at the function sees every one by name.
vars(evolve)["__signature__"] = signature(asynchronous=True)
vars(async_evolve)["__signature__"] = signature(asynchronous=False)
vars(aevolve)["__signature__"] = signature(asynchronous=True)
