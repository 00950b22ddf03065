"""
How the contract of domains calls one: as a run does, with random numbers that belong to a key.
"""

from __future__ import annotations

import asyncio
import copy
import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from headway.contracts import (
    Card,
    Domain,
    Json,
    Outcome,
    Task,
    Ticket,
    canonical_json,
    content_digest,
)
from headway.errors import shown
from headway.keyed import keyed_rng
from headway.testing.conformance._asking import raised, spelled
from headway.testing.conformance._common import insist


def ask(domain: Domain, method: str, *arguments: Any, key: object = 0) -> Any:
    """
    What a method gives that is called as a run calls it; a coroutine is waited for.

    Args:
        domain: Whose method it is.
        method: The method's name.
        arguments: The state and what else it is given.
        key: Its random numbers are those of this key.
    """
    if method == "measure" and type(domain).measure is Domain.measure:
        return ask(domain, "rollout", *arguments, key=("measure", key)).reward
    function = getattr(domain, method)
    offered = {
        "rng": keyed_rng("conformance", method, key),
        "payload": None,
        "ticket": Ticket(0, 0, 0, 0),
    }
    wanted = {*inspect.signature(function).parameters}
    if method == "train":  # each is given the payload
        wanted.discard("payload")
    more = {name: value for name, value in offered.items() if name in wanted}
    try:
        found = function(*arguments, **more)
        return asyncio.run(_awaited(found)) if inspect.iscoroutine(found) else found
    except Exception as error:
        do = f"let {method} do with every state that apply gave and with every task of tasks()"
        raise raised(f"{method} of the domain {domain.name!r}", error, do=do) from error


async def _awaited(found: Any) -> Any:
    return await found


def plainly(domain: Domain, method: str, *arguments: Any) -> Any:
    """
    What a method gives that takes no more than its arguments; it must leave them as they are.
    """
    before = copy.deepcopy(arguments)
    try:
        found = getattr(domain, method)(*arguments)
    except Exception as error:
        do = f"let {method} do with every state that apply gave and every diff that propose gave"
        raise raised(f"{method}({_listed(arguments)})", error, do=do) from error
    unchanged(method, before, arguments)
    return found


def unchanged(method: str, before: tuple[Any, ...], after: tuple[Any, ...]) -> None:
    """
    See that a call has left its arguments as they were.
    """
    for was, now in zip(before, after, strict=True):
        insist(
            _alike(was, now),
            f"{method} was given {shown(was)} and left it as {shown(now)}",
            do="return a new value, such as {**state, key: value}, and change none in place",
        )


def _alike(was: Any, now: Any) -> bool:
    if isinstance(was, Task | Outcome):
        return bool(was == now)
    return canonical_json(was) == canonical_json(now)


def _listed(arguments: tuple[Any, ...]) -> str:
    return ", ".join(map(shown, arguments))


@attrs.frozen(kw_only=True)
class Try:
    """
    One rollout, and what was made of it.

    Args:
        number: Which one; its random numbers are keyed by it.
        state: The state that it tried.
        task: The task that it tried it on.
        outcome: What came out.
        diff: What was proposed; None when nothing was.
        after: The state with the change applied.
    """

    number: int
    state: Json
    task: Task
    outcome: Outcome
    diff: Json
    after: Json


def walk(domain: Domain, tries: int) -> list[Try]:
    """
    So many rollouts, each on the state that the proposals before it have made.
    """
    tasks, state = domain.tasks().train, plainly(domain, "initial")
    made: list[Try] = []
    for number in range(tries):
        task = tasks[number % len(tasks)]
        outcome = ask(domain, "rollout", state, task, key=number)
        check_outcome(domain, outcome)
        diff = None
        if outcome.reward < domain.solved and proposes(domain):
            diff = ask(domain, "propose", state, task, outcome, key=number)
        after = state
        if diff is not None:
            spelled(diff, "propose")
            after = plainly(domain, "apply", state, diff)
            spelled(after, "apply")
        made.append(
            Try(number=number, state=state, task=task, outcome=outcome, diff=diff, after=after)
        )
        state = after
    return made


def proposes(domain: Domain) -> bool:
    """
    Whether a domain has a ``propose`` of its own, and is not only for optimizers that learn from outcomes.
    """
    return type(domain).propose is not Domain.propose


def applies(domain: Domain) -> bool:
    """
    Whether a domain has an ``apply`` of its own.
    """
    return type(domain).apply is not Domain.apply


def trains(domain: Domain) -> bool:
    """
    Whether a domain has a ``train`` of its own.
    """
    return type(domain).train is not Domain.train


def cards_of(domain: Domain, tries: Sequence[Try]) -> tuple[Card, ...]:
    """
    The cards that proposals would become.
    """
    return tuple(
        Card(
            number=a.number,
            tickets=(a.number,),
            task=a.task.id,
            base=0,
            diff=a.diff,
            digest=content_digest(a.diff),
            keys=tuple(plainly(domain, "keys", a.diff)),
            delta=None,
        )
        for a in tries
    )


def check_outcome(domain: Domain, outcome: Any) -> None:
    """
    See that a rollout gave an outcome that can be used.
    """
    insist(
        isinstance(outcome, Outcome),
        f"rollout gave {shown(outcome)}",
        do="return Outcome(reward=..., output=...) of headway.contracts",
    )
    check_reward(domain, "rollout", outcome.reward)
    spelled(outcome.output, "the output of rollout")


def check_reward(domain: Domain, method: str, reward: Any) -> None:
    """
    See that a reward is a number within the range that the domain declares.
    """
    low, high = domain.reward_range
    number = isinstance(reward, int | float) and not isinstance(reward, bool)
    insist(
        number and low <= reward <= high and abs(reward) != float("inf"),
        f"{method} gave the reward {shown(reward)}, which is not within [{low:g}, {high:g}]",
        do="return a finite number within reward_range, or declare another reward_range",
    )


def mapping(found: Any, method: str) -> Mapping[Any, Any]:
    """
    What a method gave, which must be a mapping.
    """
    insist(isinstance(found, Mapping), f"{method} gave {shown(found)}", do="return a dict")
    given: Mapping[Any, Any] = found
    return given
