"""
MiniTerm as an environment, one episode at a time; it runs the rules themselves, not the tables.
"""

from __future__ import annotations

import operator
import random
from collections.abc import Mapping
from functools import cache
from typing import Any, ClassVar

import attrs

from headway.errors import OptionError, UsageError
from headway_envs._environment import Step
from headway_envs.miniterm._policy import ACTIONS, INPUTS, TASKS, TOLD, observations
from headway_envs.miniterm._rules import (
    DIRECTORIES,
    KINDS,
    LOOK,
    NONE,
    NOTHING,
    PRINTS,
    SUBMIT,
    TESTS,
    TOKENS,
    TURNS,
    Goal,
    World,
    apply,
    fitness,
    tests,
)
from headway_envs.miniterm._tables import VIEWS, view

REWARDS = ("tests", "success")
"""What an episode may be rewarded for."""


@attrs.define(eq=False, kw_only=True)
class MiniTerm:
    """
    A small terminal: find the file that a task is about, change what it asks for, submit.

    A task is what ``TaskBatch.task`` gives; observations have 27 numbers, and an action is the
    number of a command, 0 to 11.

    Args:
        reward: ``tests`` gives the weighted share of tests passed, ``success`` gives 1 if all
            passed, else 0; both at the end, and 0 before.

    Raises:
        OptionError: the reward is another word.
    """

    observation_size: ClassVar[int] = INPUTS
    actions: ClassVar[int] = ACTIONS

    reward: str = "tests"
    goal: Goal | None = attrs.field(default=None, init=False)
    world: World = attrs.field(default=World(files=(NONE,) * DIRECTORIES, cwd=0), init=False)
    turns: int = attrs.field(default=0, init=False)
    _found: bool = attrs.field(default=False, init=False)
    _over: bool = attrs.field(default=True, init=False)

    def __attrs_post_init__(self) -> None:
        if self.reward not in REWARDS:
            raise OptionError("reward", self.reward, f"Give one of {', '.join(REWARDS)}.")

    def reset(self, task: Mapping[str, Any], rng: random.Random | None = None) -> list[float]:
        """
        Begin an episode; nothing in it is left to chance.

        Args:
            task: ``kind`` (a word), ``token``, ``to``, ``files`` and ``start``.
            rng: Not used.

        Returns:
            The first observation, 27 numbers.

        Raises:
            OptionError: it is no task.
        """
        del rng
        self.goal = goal_of(task)
        self.world = self.goal.begin()
        self.turns, self._found, self._over = 0, False, False
        return self._seen(self.goal, NOTHING)

    def step(self, action: int) -> Step:
        """
        Run one command.

        Args:
            action: Its number, 0 to 11.

        Returns:
            The step; its info holds the line ``printed`` and, at the end, ``success`` and the
            tests ``found``, ``changed`` and ``clean``.

        Raises:
            OptionError: there is no such command.
            UsageError: the episode has ended, or none was begun.
        """
        if self.goal is None or self._over:
            raise UsageError("the episode has ended: begin another one with reset.")
        command = _command(action)
        self.world, printed = apply(self.world, command)
        self._found |= command == LOOK and printed == 1 + self.goal.token
        self.turns += 1
        self._over = command == SUBMIT or self.turns == TURNS
        info: dict[str, Any] = {"printed": PRINTS[printed]}
        reward = self._end(self.goal, command == SUBMIT, info) if self._over else 0.0
        return Step(self._seen(self.goal, printed), reward, self._over, info)

    def _end(self, goal: Goal, submitted: bool, info: dict[str, Any]) -> float:
        passed = tests(goal, self.world, found=self._found, submitted=submitted)
        info |= {name: ok for (name, _), ok in zip(TESTS, passed, strict=True)}
        info["success"] = all(passed)
        return fitness(passed) if self.reward == "tests" else float(all(passed))

    def _seen(self, goal: Goal, printed: int) -> list[float]:
        told, seen = _inputs()
        code = int(view(printed, self.world.cwd, self.world.clipboard))
        return [*told[goal.index], *seen[code]]


def _command(action: Any) -> int:
    try:
        command = -1 if isinstance(action, bool) else operator.index(action)
    except TypeError:
        command = -1
    if not 0 <= command < ACTIONS:
        raise OptionError("action", action, f"Give a whole number from 0 to {ACTIONS - 1}.")
    return command


@cache
def _inputs() -> tuple[list[list[float]], list[list[float]]]:
    """
    The inputs that tell of the task, by task, and those that tell of the world, by view.
    """
    told = observations(range(TASKS), 0)[:, :TOLD]
    return told.tolist(), observations(0, range(VIEWS))[:, TOLD:].tolist()


def goal_of(task: Mapping[str, Any]) -> Goal:
    """
    A task's values, checked.

    Raises:
        OptionError: one is missing, or is none that a task may have.
    """
    try:
        kind, numbers = task["kind"], [*task["files"], task["token"], task["to"], task["start"]]
    except (KeyError, TypeError):
        kind, numbers = "", []
    *files, token, to, start = numbers if _are_places(numbers) else [0] * (DIRECTORIES + 3)
    if kind not in KINDS or sorted(files) != list(range(TOKENS)) or files[to] == token:
        raise OptionError("task", task, "Give one that TaskBatch.task has made.")
    return Goal(kind=KINDS.index(kind), token=token, to=to, files=tuple(files), start=start)


def _are_places(numbers: list[Any]) -> bool:
    whole = all(type(number) is int and 0 <= number < DIRECTORIES for number in numbers)
    return whole and len(numbers) == DIRECTORIES + 3
