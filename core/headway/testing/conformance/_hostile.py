"""
A domain some of whose proposals are of no use.
"""

from __future__ import annotations

import inspect
import random
from functools import wraps
from math import nan
from typing import Any

from headway.contracts import Domain, Json, Outcome, Task, content_digest
from headway.keyed import keyed_int
from headway.testing._faults import HUGE

_ONE_IN = 12
"""Each useless proposal is made once in so many calls."""


def made_hostile(domain: Domain, seed: int) -> Domain:
    """
    The same domain: now it also proposes what is too long, no JSON, or what it proposed first; and
    sometimes it raises.
    """
    propose = domain.propose
    first: list[Json] = []

    def again() -> Json:
        return first[0] if first else None

    useless = (lambda: "x" * HUGE, lambda: nan, object, again, again, _refuse)

    def choice(state: Json, task: Task, rng: random.Random | None) -> int:
        draw = None if rng is None else hash(rng.getstate())  # else a task would be spoilt for good
        return keyed_int(seed, "hostile", task.id, content_digest(state), draw) % _ONE_IN

    def kept(proposal: Json) -> Json:
        if proposal is not None and not first:
            first.append(proposal)
        return proposal

    @wraps(propose)
    def plain(state: Json, task: Task, outcome: Outcome, **named: Any) -> Any:
        number = choice(state, task, named.get("rng"))
        if number < len(useless):
            return useless[number]()
        return kept(propose(state, task, outcome, **named))

    @wraps(propose)
    async def awaited(state: Json, task: Task, outcome: Outcome, **named: Any) -> Any:
        number = choice(state, task, named.get("rng"))
        if number < len(useless):
            return useless[number]()
        proposal: Any = propose(state, task, outcome, **named)
        return kept(await proposal)

    made = awaited if inspect.iscoroutinefunction(propose) else plain
    setattr(domain, "propose", made)  # noqa: B010 - whatever its class says of it
    return domain


def _refuse() -> Json:
    raise ConnectionError("injected: refused")
