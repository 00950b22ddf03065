"""
Backends and plug-ins that fail in every way that a run must bear, and runs that meet them.
"""

from __future__ import annotations

import resource
from time import monotonic

from headway import Artifact, Work, run
from headway.builtins._estimators import Ewma
from headway.builtins._executor import ThreadExecutor
from headway.builtins._memory_ledger import MemoryLedger
from headway.builtins._policies import Guarded
from headway.builtins._sampler import ShuffledEpochs
from headway.builtins.standard import StandardAggregator
from headway.durations import LogNormal
from headway.keyed import keyed_unit
from headway.testing import ToyDomain

KEYS, TASKS = 16, 16
WORKERS, SLOTS = 8, 24
TARGET = 0.8
LAWS = {kind: LogNormal(1.0, 0.5) for kind in ("rollout", "propose", "measure")}
"""Seconds of a call, whether it fails or not."""

HUGE = 5_000_000

KINDS = ("rollout", "propose", "measure")

SHARES = {
    "fault-free": {},
    "dead from the start": dict.fromkeys(KINDS, 1.0),
    "2 failures in 3": dict.fromkeys(KINDS, 2 / 3),
    "30 % of rollouts": {"rollout": 0.3},
    "30 % of proposals": {"propose": 0.3},
    "30 % of measurements": {"measure": 0.3},
}
"""The share of each kind of calls that fails."""


class Flaky(ToyDomain):
    """
    The toy domain behind a backend that fails.

    Args:
        shares: The share of each kind of calls that fails.
        seed: Chooses which.
        dead: The worker whose rollouts all fail, if any.
    """

    def __init__(self, shares, seed, dead=None):
        # A task that is silent once ends a search as exhausted, with or without failures.
        super().__init__(n_keys=KEYS, n_tasks=TASKS, silent=0.0, useless=0.0)
        self.shares, self.seed, self.dead = shares, seed, dead
        self.calls = 0

    def meet(self, kind):
        self.calls += 1
        if keyed_unit("flaky", self.seed, self.calls) < self.shares.get(kind, 0.0):
            raise ConnectionError(f"no answer to {kind}")

    def rollout(self, state, task, *, rng, payload=None):
        self.meet("rollout")
        if payload is not None and payload == self.dead:
            raise ConnectionError("no answer to this worker")
        return super().rollout(state, task, rng=rng)

    def propose(self, state, task, outcome, *, rng):
        self.meet("propose")
        return super().propose(state, task, outcome, rng=rng)

    def measure(self, state, task, *, rng):
        self.meet("measure")
        return super().rollout(state, task, rng=rng).reward


class Huge(Flaky):
    """
    Proposes 5 MB.
    """

    def propose(self, state, task, outcome, *, rng):
        del state, task, outcome
        return {"a": rng.choice("xyz") * HUGE}


class Placed(StandardAggregator):
    """
    Tells rollouts which worker they run on.
    """

    def select(self, ticket, head, memory, rng):
        del head, memory, rng
        return Work(payload=ticket.worker)


def broken(base, method, when):
    """
    A class whose method raises at the calls that ``when`` names, counted from 1.
    """
    plain, calls = getattr(base, method), [0]

    def breaking(self, *arguments, **more):
        calls[0] += 1
        if when(calls[0]):
            raise RuntimeError(f"{method} is broken")
        return plain(self, *arguments, **more)

    return type("Broken", (base,), {method: breaking})


def ledger(method, when):
    return broken(MemoryLedger, method, when)(Artifact(Flaky({}, 0).initial()))


def after_an_answer(when):
    """
    An aggregator that raises once it was answered.
    """
    calls = [0]

    class Broken(StandardAggregator):
        def step(self, cards, context):
            steps = super().step(cards, context)
            answer = yield steps.send(None)
            calls[0] += 1
            if when(calls[0]):
                raise RuntimeError("step is broken")
            while True:
                try:
                    answer = yield steps.send(answer)
                except StopIteration as stop:
                    return stop.value

    Broken.__qualname__ = "Broken"
    return Broken()


PLUGINS = {
    "select": lambda when: {"aggregator": broken(Placed, "select", when)()},
    "step": lambda when: {"aggregator": broken(StandardAggregator, "step", when)()},
    "step, answered": lambda when: {"aggregator": after_an_answer(when)},
    "decide": lambda when: {"policy": broken(Guarded, "decide", when)()},
    "pick": lambda when: {"sampler": broken(ShuffledEpochs, "pick", when)()},
    "estimate": lambda when: {"estimator": broken(Ewma, "estimate", when)()},
    "observe": lambda when: {"estimator": broken(Ewma, "observe", when)()},
    "commit": lambda when: {"ledger": ledger("commit", when)},
    "run": lambda when: {"executor": broken(ThreadExecutor, "run", when)()},
}
"""Options with a plug-in that raises in one method of its contract."""


def told(result, began):
    """
    What a row needs to know of a result.
    """
    error = result.error
    lost = ("unmeasured", "plugin_error")
    return {
        "stop": result.stop_reason,
        "error": ""
        if error is None
        else f"{error.where} {error.plugin}".strip() + f": {error.message}",
        "seconds": result.wallclock,
        "real": monotonic() - began,
        "lost": sum(result.decisions.get(f"discarded:{reason}", 0) for reason in lost),
        "retired": result.retired_workers,
        "whole": result.rollouts == sum(result.completions.values()),
        "failures": sum(failure.count for failure in result.failures),
        "cards": sum(result.decisions.values()),
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def search(domain, mode, seed, driver="simulated", **options):
    """
    A search for the target.
    """
    usual = {"target_reward": TARGET, "max_rollouts": 4000, "n_workers": WORKERS}
    durations = {"durations": LAWS} if driver == "simulated" else {}
    began = monotonic()
    result = run(
        domain,
        mode=mode,
        driver=driver,
        seed=seed,
        slots=SLOTS,
        **usual | durations | options,
    )
    return told(result, began)


def backend(what, mode, seed, driver="simulated"):
    """
    A search with a backend that fails as ``what`` says.
    """
    return search(Flaky(SHARES[what], seed), mode, seed, driver)


def one_worker(mode, seed, dead):
    """
    A search in which one worker's backend is dead, or none's.
    """
    domain = Flaky({}, seed, 0 if dead else None)
    return search(domain, mode, seed, aggregator=Placed())


def plugin(method, mode, driver, always):
    """
    A search with a plug-in that raises always, or once.
    """
    return search(Flaky({}, 0), mode, 0, driver, **PLUGINS[method](lambda n: always or n == 3))


def proposals(mode, huge):
    """
    A run whose proposals are 5 MB long, or are not, with as many workers as by default.
    """
    domain = (Huge if huge else Flaky)({}, 0)
    options = {"target_reward": None, "max_rollouts": 200, "n_workers": 4}
    return search(domain, mode, 0, "threads", **options)
