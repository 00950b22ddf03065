"""
A domain that is made of tasks, a reward, a run, a proposer and a strategy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from numbers import Rational
from pathlib import Path
from typing import Any, ClassVar, Self

import attrs

from headway.contracts import Domain, Json, Outcome, Splits, Task, canonical_json
from headway.drivers import InvalidValue
from headway.errors import OptionError, suggestion
from headway.evolve._calls import Given, UserCall
from headway.evolve._files import read_value
from headway.evolve._options import OPTION_HELP, ProgramOptions, from_text
from headway.evolve._tasks import Items, as_task, check_apart, divided, identified
from headway.strategies import AppendRules, Strategy
from headway.strategies._disk import IGNORED, read_folder

_FILES: Mapping[str, str] = {
    "test_tasks": "a file of tasks to be scored once, at the end",
    "oracle_tasks": "a file of tasks that audits measure as well",
    "initial_state": "a file or folder with the state to start from",
}
"""Options whose text on the command line names a file."""

_METHODS = ("initial", "render", "to_diff", "apply")
"""What a strategy must have."""


class Program(Domain):
    """
    A domain that is made of tasks, a reward, a run, a proposer and a strategy.

    A rollout calls ``run(rendered, task)`` and then ``reward(task, output)``.  When the reward is
    below 1, ``propose(rendered, task, output, reward)`` may suggest a change: anything that the
    strategy's ``to_diff`` takes, or None.  Held-out tasks are scored by ``run`` and ``reward``.
    Each of the three may be ``def`` or ``async def``, and is given ``rng``, ``ticket`` or ``payload``
    when its signature names it: a ``random.Random`` of its own, the ticket (None for a measurement),
    and what the aggregator's ``select`` gave (None when it gave nothing).

    All of them, an agent's methods too, are called from several threads at once: what an agent keeps
    between calls is shared by these, and for the agent to guard.

    Args:
        tasks: At least 4.  A ``Task`` has an id; of anything else see the reference.  The functions
            receive each task as it is given here.
        reward: ``reward(task, output)``: a finite number from 0 to 1.
        strategy: What is improved, how a run sees it, and how a proposal becomes a change; by default
            ``AppendRules()``.
        agent: An object with ``run`` and ``propose``, or one that is called as ``run``.
        run: Instead of an agent's.
        propose: Instead of an agent's.
        test_tasks: Scored once, at the end.
        oracle_tasks: What an audit measures beside the held-out tasks.
        initial_state: The state to start from, instead of the strategy's.
        held_out_frac: The share of the tasks that candidates are measured on.
        shuffle: Whether chance, keyed by ``seed``, chooses these; else they are the last ones.
        seed: The split's seed.
        artifact_id: The name of what is improved.
        defaults: Options of a run that stand where the caller of ``run`` gives none.

    Raises:
        OptionError: something cannot be used, or a function cannot be called as it will be.
    """

    name = "artifact"
    deterministic: bool | None = None
    measure_price: float | None = 1.0
    options: ClassVar[Mapping[str, str]] = {**OPTION_HELP, **_FILES}
    defaults: ClassVar[Mapping[str, Json]] = {"max_rollouts": 60}

    def __init__(
        self,
        tasks: Iterable[Any],
        reward: Callable[..., Any],
        *,
        strategy: Any = None,
        agent: Any = None,
        run: Callable[..., Any] | None = None,
        propose: Callable[..., Any] | None = None,
        test_tasks: Iterable[Any] | None = None,
        oracle_tasks: Iterable[Any] | None = None,
        initial_state: Json = None,
        held_out_frac: float = 0.4,
        shuffle: bool = True,
        seed: int = 0,
        artifact_id: str = "artifact",
        defaults: Mapping[str, Json] | None = None,
    ) -> None:
        self._options = ProgramOptions(
            held_out_frac=held_out_frac, shuffle=shuffle, seed=seed, artifact_id=artifact_id
        )
        _check_swapped(tasks, reward)
        self._run, self._propose = _functions(agent, run, propose)
        self._reward = UserCall.checked("reward", reward, ("task", "output"))
        self.strategy: Any = _checked_strategy(AppendRules() if strategy is None else strategy)
        items = identified(tasks, "tasks")
        tests: Items = {} if test_tasks is None else _side(test_tasks, items, "test_tasks")
        oracle: Items = {}
        if oracle_tasks is not None:
            oracle = _side(oracle_tasks, {**items, **tests}, "oracle_tasks")
        self._items: Items = {**items, **tests, **oracle}
        self._splits = _splits(items, tests, oracle, self._options)
        self._initial: Json = _checked_state(self.strategy, initial_state)
        self._made: Mapping[str, Any] = {
            "tasks": tuple(items.values()),
            "reward": reward,
            "strategy": self.strategy,
            "run": self._run.function,
            "propose": self._propose.function,
            "test_tasks": tuple(tests.values()) or None,
            "oracle_tasks": tuple(oracle.values()) or None,
            "initial_state": initial_state,
            "defaults": defaults,
            **attrs.asdict(self._options),
        }
        own: dict[str, Any] = {"name": artifact_id}
        if defaults is not None:
            own["defaults"] = dict(defaults)
        if self._run.is_async or self._reward.is_async:
            own["rollout"] = self._rollout_awaited
        if self._propose.is_async:
            own["propose"] = self._propose_awaited
        # The attributes of the class say what is so for every program; a driver asks the object.
        vars(self).update(own)

    def with_options(self, **options: Any) -> Self:
        """
        A program like this one, with other options.

        A text stands for a value as on the command line; for ``test_tasks``,
        ``oracle_tasks`` and ``initial_state`` it names a file.

        Raises:
            OptionError: there is no such option, or a value cannot be used.
        """
        known = type(self).options
        for option, value in options.items():
            if option not in known:
                told = f"A program has no such option.{suggestion(option, known)}"
                raise OptionError(option, value, f"{told} Options: {', '.join(known)}.")
        read = {option: self._read(option, given) for option, given in options.items()}
        return type(self)(**{**self._made, **read})

    def _read(self, option: str, given: Any) -> Any:
        if option not in _FILES or not isinstance(given, str):
            return from_text(option, given)
        path = Path(given)
        if option == "initial_state" and path.is_dir():
            return read_folder(path, getattr(self.strategy, "ignore", IGNORED))
        return read_value(option, path)

    # ------------------------------------------------------------------------ the domain's methods

    def tasks(self) -> Splits:
        """
        The split that was made when the program was.
        """
        return self._splits

    def initial(self) -> Json:
        """
        The state to start from.
        """
        return self._initial

    def rollout(
        self, state: Json, task: Task, *, rng: Any, payload: Json = None, ticket: Any = None
    ) -> Outcome:
        """
        Call ``run`` and ``reward``.
        """
        given, item = _given(rng, payload, ticket), self._items[task.id]
        with self._rendering(state) as rendered:
            output = self._run(rendered, item, given=given)
            return _outcome(self._reward(item, output, given=given), output)

    async def _rollout_awaited(
        self, state: Json, task: Task, *, rng: Any, payload: Json = None, ticket: Any = None
    ) -> Outcome:
        given, item = _given(rng, payload, ticket), self._items[task.id]
        with self._rendering(state) as rendered:
            output = await self._run.awaited(rendered, item, given=given)
            return _outcome(await self._reward.awaited(item, output, given=given), output)

    def propose(
        self,
        state: Json,
        task: Task,
        outcome: Outcome,
        *,
        rng: Any,
        payload: Json = None,
        ticket: Any = None,
    ) -> Json | None:
        """
        Call ``propose``, and make a diff of what it returns.
        """
        given, item = _given(rng, payload, ticket), self._items[task.id]
        with self._rendering(state) as rendered:
            found = self._propose(rendered, item, outcome.output, outcome.reward, given=given)
            return self._diff(found, state)

    async def _propose_awaited(
        self,
        state: Json,
        task: Task,
        outcome: Outcome,
        *,
        rng: Any,
        payload: Json = None,
        ticket: Any = None,
    ) -> Json | None:
        given, item = _given(rng, payload, ticket), self._items[task.id]
        with self._rendering(state) as rendered:
            found = await self._propose(rendered, item, outcome.output, outcome.reward, given=given)
            return self._diff(found, state)

    def apply(self, state: Json, diff: Json) -> Json:
        """
        The strategy's ``apply``.
        """
        return self.strategy.apply(state, diff)

    def keys(self, diff: Json) -> tuple[str, ...]:
        """
        The strategy's ``keys``.
        """
        found: tuple[str, ...] = self._optional("keys")(diff)
        return found

    def contract_breaking(self, diff: Json) -> bool:
        """
        The strategy's ``contract_breaking``.
        """
        return bool(self._optional("contract_breaking")(diff))

    def rebase(self, diff: Json, state: Json) -> Json | None:
        """
        The strategy's ``rebase``, or the three-way rule by key.
        """
        return self._optional("rebase")(diff, state)

    def removals(self, state: Json) -> tuple[Json, ...]:
        """
        The strategy's ``removals``.
        """
        return tuple(self._optional("removals")(state))

    def describe(self, state: Json) -> Mapping[str, float]:
        """
        The strategy's ``describe``.
        """
        found: Mapping[str, float] = self._optional("describe")(state)
        return found

    def render(self, state: Json) -> Mapping[str, str]:
        """
        The strategy's ``files``.
        """
        found: Mapping[str, str] = self._optional("files")(state)
        return found

    def _rendering(self, state: Json) -> AbstractContextManager[Any]:
        if hasattr(self.strategy, "rendering"):
            lent: AbstractContextManager[Any] = self.strategy.rendering(state)
            return lent
        return nullcontext(self.strategy.render(state))

    def _optional(self, method: str) -> Callable[..., Any]:
        """
        A strategy's own method, or the default one of ``Strategy``.
        """
        own: Callable[..., Any] | None = getattr(self.strategy, method, None)
        return partial(getattr(Strategy, method), self.strategy) if own is None else own

    def _diff(self, proposal: Any, state: Json) -> Json | None:
        if proposal is None:
            return None
        try:
            return self.strategy.to_diff(proposal, state)
        except (TypeError, ValueError) as error:
            message = f"{type(self.strategy).__name__} refuses the proposal: {error}"
            raise InvalidValue(message) from error


def _given(rng: Any, payload: Json, ticket: Any) -> Given:
    return {"rng": rng, "payload": payload, "ticket": ticket}


def _outcome(reward: Any, output: Any) -> Outcome:
    return Outcome(reward=_number(reward), output=output)


def _number(reward: Any) -> Any:
    """
    A comparison's result, or an array library's single number, as a plain one.

    What else a reward may be is for the driver to say.
    """
    if getattr(reward, "ndim", None) == 0 and hasattr(reward, "item"):
        reward = reward.item()
    plain = type(reward) is int or not isinstance(reward, Rational)  # a boolean is rational, too
    return reward if plain else float(reward)


def _check_swapped(tasks: object, reward: object) -> None:
    if callable(tasks) and not isinstance(tasks, Iterable) and isinstance(reward, Iterable):
        remedy = "This is a function: tasks come first, then the reward."
        raise OptionError("tasks", tasks, remedy)


def _functions(
    agent: Any, run: Callable[..., Any] | None, propose: Callable[..., Any] | None
) -> tuple[UserCall, UserCall]:
    if isinstance(agent, type):
        raise OptionError("agent", agent.__name__, "Give an object: put () behind the class.")
    of_agent = {name: getattr(agent, name, None) for name in ("run", "propose")}
    if agent is not None and of_agent["run"] is None:
        if not callable(agent):
            raise OptionError("agent", agent, "Give an object with run and propose, or a function.")
        of_agent["run"] = agent
    given = {"run": run, "propose": propose}
    for name, function in given.items():
        if function is not None and of_agent[name] is not None:
            raise OptionError(
                name, function, f"The agent has its own {name}: leave one of them out."
            )
        if function is None and of_agent[name] is None:
            remedy = f"Give {name}, or an agent that has it as a method."
            raise OptionError(name, None, remedy)
    found = {name: given[name] or of_agent[name] for name in given}
    arguments = {
        "run": ("rendered", "task"),
        "propose": ("rendered", "task", "output", "reward"),
    }
    made = {name: UserCall.checked(name, found[name], arguments[name]) for name in given}
    return made["run"], made["propose"]


def _checked_strategy(strategy: Any) -> Any:
    if isinstance(strategy, type):
        raise OptionError("strategy", strategy.__name__, "Give an object: put () behind the class.")
    lacking = [name for name in _METHODS if not hasattr(strategy, name)]
    if lacking:
        remedy = (
            f"It lacks {', '.join(lacking)}. "
            "Give AppendRules(), KeyedRules(), SingleSlot(), FileTree(), or a Strategy of your own."
        )
        raise OptionError("strategy", strategy, remedy)
    return strategy


def _checked_state(strategy: Any, given: Json) -> Json:
    option = "strategy" if given is None else "initial_state"
    try:
        state = strategy.initial() if given is None else given
        getattr(strategy, "check", canonical_json)(state)
        canonical_json(state)
    except (TypeError, ValueError) as error:
        value = strategy if given is None else given
        raise OptionError(option, value, f"It gives no state: {error}.") from error
    return state


def _side(tasks: Iterable[Any], others: Items, option: str) -> Items:
    items = identified(tasks, option)
    if not items:
        raise OptionError(option, [], "Give at least one task, or leave it out.")
    check_apart(items, others, option)
    return items


def _splits(items: Items, tests: Items, oracle: Items, options: ProgramOptions) -> Splits:
    train, held_out = divided(
        tuple(items), options.held_out_frac, shuffle=options.shuffle, seed=options.seed
    )
    return Splits(
        train=[as_task(number, items[number]) for number in train],
        held_out=[as_task(number, items[number]) for number in held_out],
        test=[as_task(number, item) for number, item in tests.items()],
        oracle=[as_task(number, item) for number, item in oracle.items()],
    )
