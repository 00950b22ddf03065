"""
A toy domain, and parts, of which one call never returns: the first one of a given kind.

A call hangs in one of three ways: a plain function waits for an event, a coroutine awaits a future,
or a coroutine waits for an event and so blocks its whole loop.  ``release`` lets the event come.
"""

from __future__ import annotations

import asyncio
import threading
from itertools import product

from headway.builtins._memory_ledger import MemoryLedger
from headway.builtins.standard import StandardAggregator
from headway.contracts import Artifact
from headway.testing import ToyDomain

CALLS = ("rollout", "propose", "verify", "baseline", "measure", "reverify", "final")
"""Kinds of calls that a domain may write in each of the ways."""

PLAIN = ("rebase", "step", "commit", "observer")
"""What is a plain function in any case."""

OLD = ("reverify", "rebase")
"""What only evidence of an old head is put to, so not in rounds."""

MODES = ("sync", "async")
DRIVERS = ("threads", "asyncio")
WAYS = ("def", "async", "blocking")


class Trap:
    """
    Catches the first call of one kind, and counts what begins before and afterwards.
    """

    def __init__(self, place):
        self.place = place
        self.never = threading.Event()
        self.reached = threading.Event()
        self.before = self.after = 0
        self._lock = threading.Lock()

    def release(self):
        self.never.set()

    def caught(self, place):
        """
        Whether this call is the one; each call of the domain asks once.
        """
        with self._lock:
            if place == self.place and not self.reached.is_set():
                self.reached.set()
                return True
            self.after += self.reached.is_set()
            self.before += not self.reached.is_set()
            return False

    def pass_by(self, place):
        """
        Never comes back from the call that is caught.
        """
        if self.caught(place):
            self.never.wait()

    async def pass_by_async(self, place, *, blocking):
        """
        The same for coroutines.
        """
        if not self.caught(place):
            return
        if blocking:
            self.never.wait()
        else:
            await asyncio.get_running_loop().create_future()


class Hanging(ToyDomain):
    """
    The toy domain; its rewards are the same at every draw, so that a search comes to rest.
    """

    def __init__(self, trap, **options):
        super().__init__(**options)
        self.trap = trap
        self._candidates = set()

    def rollout(self, state, task, *, rng):
        self.trap.pass_by(self._tried(state, task))
        return ToyDomain.rollout(self, state, task, rng=rng)

    def propose(self, state, task, outcome, *, rng):
        self.trap.pass_by("propose")
        return self._noted(state, task, ToyDomain.propose(self, state, task, outcome, rng=rng))

    def measure(self, state, task, *, rng):
        self.trap.pass_by(self._measured(state, task))
        return ToyDomain.rollout(self, state, task, rng=rng).reward

    def rebase(self, diff, state):
        self.trap.pass_by("rebase")
        return super().rebase(diff, state)

    def _noted(self, state, task, diff):
        if diff is not None:
            self._candidates.add(self._key(self.apply(state, diff), task))
        return diff

    def _tried(self, state, task):
        return "verify" if self._key(state, task) in self._candidates else "rollout"

    def _measured(self, state, task):
        side = task.id.partition("-")[0]
        if side == "held_out":
            return "baseline" if state == self.initial() else "measure"
        return {"train": "reverify", "test": "final"}[side]

    @staticmethod
    def _key(state, task):
        return tuple(sorted(state.items())), task.id


class HangingAsync(Hanging):
    """
    The same with coroutines.
    """

    blocking = False

    async def rollout(self, state, task, *, rng):
        await self.trap.pass_by_async(self._tried(state, task), blocking=self.blocking)
        return ToyDomain.rollout(self, state, task, rng=rng)

    async def propose(self, state, task, outcome, *, rng):
        await self.trap.pass_by_async("propose", blocking=self.blocking)
        return self._noted(state, task, ToyDomain.propose(self, state, task, outcome, rng=rng))

    async def measure(self, state, task, *, rng):
        await self.trap.pass_by_async(self._measured(state, task), blocking=self.blocking)
        return ToyDomain.rollout(self, state, task, rng=rng).reward


class HangingBlocking(HangingAsync):
    """
    Coroutines of which one blocks its loop.
    """

    blocking = True


DOMAINS = {"def": Hanging, "async": HangingAsync, "blocking": HangingBlocking}


class HangingAggregator(StandardAggregator):
    """
    The standard aggregator, whose first step never goes on.
    """

    def __init__(self, trap):
        super().__init__()
        self.trap = trap

    def step(self, cards, context):
        self.trap.pass_by("step")
        return (yield from super().step(cards, context))


class HangingLedger(MemoryLedger):
    """
    A ledger in memory, whose first commit never answers.
    """

    def __init__(self, trap, initial):
        super().__init__(initial)
        self.trap = trap
        self.answers = []
        """What commits were answered."""

    def commit(self, *arguments, **more):
        self.trap.pass_by("commit")
        answer = super().commit(*arguments, **more)
        self.answers.append(answer)
        return answer


def matrix():
    """
    Every case as keywords of ``parts``: each call in each way in both modes under both drivers.
    """
    cases = [*product(CALLS, WAYS), *product(PLAIN, ("def",))]
    return [
        {"place": place, "way": way, "mode": mode, "driver": driver}
        for (place, way), mode, driver in product(cases, MODES, DRIVERS)
        if not (place in OLD and mode == "sync")
    ]


def parts(place, way, driver, mode):
    """
    The trap, the domain and the options of a run in which one call never returns.
    """
    trap = Trap(place)
    old = place in OLD
    domain = DOMAINS[way](trap, n_keys=26 if old else 8, n_tasks=26 if old else 8)
    ledger = HangingLedger(trap, Artifact(domain.initial()))
    options = {"driver": driver, "mode": mode, "ledger": ledger}
    options["aggregator"] = HangingAggregator(trap)
    options["observers"] = [lambda notice: trap.pass_by("observer")]
    if old:
        options |= {"bind": "early", "self_verify": False, "n_workers": 8, "async_ratio": 8}
        options |= {"policy": "reflective", "alpha": 8}
    return trap, domain, options
