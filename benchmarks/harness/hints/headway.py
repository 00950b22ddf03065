"""
Headway on the hidden hints.
"""

from __future__ import annotations

from typing import ClassVar

import attrs

from harness.hints import LONG, LONGEST, SHORTEST, TIMES, hint_of
from headway import run
from headway.contracts import Domain, HeadCommitted, Outcome, Splits, Task


@attrs.frozen
class Law:
    """
    The durations of ``harness.hints.draw`` as a law for the simulated driver.
    """

    long: float

    @property
    def mean(self):
        return (SHORTEST + LONGEST) / 2 * (1 + self.long * (TIMES - 1))

    def draw(self, unit):
        short = 1 - self.long
        times, place = (1, unit / short) if unit < short else (TIMES, (unit - short) / self.long)
        return times * (SHORTEST + (LONGEST - SHORTEST) * place)


SIMULATED = {"uniform": Law(0.0), "heavy": Law(LONG)}


class Hints(Domain):
    name: ClassVar[str] = "hints"
    deterministic = True
    measure_price = 1.0

    def __init__(self, watched, train, held):
        self.watched, self.shown, self.held = watched, train, held

    def tasks(self):
        def side(name, numbers):
            return [Task(id=f"{name}-{n}", data=n) for n in numbers]

        return Splits(train=side("train", self.shown), held_out=side("held", self.held))

    def initial(self):
        return []

    def rollout(self, state, task):
        self.watched.wait()
        return self.outcome(state, task)

    def propose(self, state, task, outcome):
        self.watched.wait()
        return hint_of(task.data)

    def measure(self, state, task):
        self.watched.wait()
        return self.outcome(state, task).reward

    def apply(self, state, diff):
        return sorted({*state, diff})

    def keys(self, diff):
        return (diff,)

    def rebase(self, diff, state):
        return None if diff in state else diff

    def outcome(self, state, task):
        return Outcome(reward=float(hint_of(task.data) in state))


class AsyncHints(Hints):
    async def rollout(self, state, task):
        await self.watched.wait_async()
        return self.outcome(state, task)

    async def propose(self, state, task, outcome):
        await self.watched.wait_async()
        return hint_of(task.data)

    async def measure(self, state, task):
        await self.watched.wait_async()
        return self.outcome(state, task).reward


class InstantHints(Hints):
    """
    For the simulated driver, whose clock waits instead.
    """

    def rollout(self, state, task):
        self.watched.calls += 1
        return self.outcome(state, task)

    def propose(self, state, task, outcome):
        self.watched.calls += 1
        return hint_of(task.data)

    def measure(self, state, task):
        self.watched.calls += 1
        return self.outcome(state, task).reward


DOMAINS = {"threads": Hints, "asyncio": AsyncHints, "simulated": InstantHints}


def search(watched, train, held, *, mode, driver, workers, slots, seed, law, **options):
    domain = DOMAINS[driver](watched, train, held)
    over = []

    def watch(notice):
        if isinstance(notice, HeadCommitted):
            watched.committed(notice.head.artifact.value)
            if watched.over and not over:
                over.append(notice.now)

    kinds = ("rollout", "propose", "measure")
    result = run(
        domain,
        mode=mode,
        driver=driver,
        n_workers=workers,
        slots=slots,
        seed=seed,
        target_reward=1.0,
        max_rollouts=2000,
        observers=[watch],
        durations=dict.fromkeys(kinds, SIMULATED[law]) if driver == "simulated" else None,
        **options,
    )
    return {
        "stop": result.stop_reason,
        "seconds": over[0] if driver == "simulated" else None,
        "rollouts": result.rollouts,
        "calls_by": dict(result.calls),
        "decisions": dict(result.decisions),
        "commits": result.version,
        "sweeps": dict(result.outcomes()),
        "idle": result.slot_seconds["idle_waiting"],
    }
