"""
The runs that are killed: what they do, and what they write down outside of the run directory.

Every line of the log is one write to a file that is only appended to, so it is there whatever then
becomes of the process:

=======================  =========================================================================
``+ key`` ``- key``      a paid call begins; it ends.  The key is of what is called with what
``head 3 digest``        an observer is told of a version
``card 7 kind reason``   an observer is told what became of a card
``ticket 5 ok``          an observer is told how a ticket ended
``finished digest``      an observer is told that the run ended
=======================  =========================================================================
"""

from __future__ import annotations

import asyncio
import functools
import os
import time

from headway.contracts import CardDecided, HeadCommitted, RunFinished, TicketEnded, content_digest
from headway.durations import Constant, Uniform
from headway.keyed import keyed_rng
from headway.testing import ToyDomain

WORK = {"rollout": 0.006, "propose": 0.003}
"""The longest a call sleeps, in seconds."""

KINDS = {
    "threads": {"driver": "threads", "mode": "async"},
    "asyncio": {"driver": "asyncio", "mode": "async"},
    "serial": {"driver": "serial", "mode": "sync"},
    "rounds": {"driver": "threads", "mode": "sync"},
    "simulated": {
        "driver": "simulated",
        "mode": "async",
        "durations": {
            "rollout": Uniform(0.5, 2.0),
            "propose": Uniform(0.1, 0.5),
            "measure": Uniform(0.1, 1.0),
            "commit": Constant(0.3),
        },
    },
}
"""The kinds of runs, and the options that make them."""


class Paid(ToyDomain):
    """
    A domain whose calls take a little time and are counted outside of the run.

    Args:
        log: Where they are counted; None counts nothing.
        speed: What the time of each call is multiplied with.
    """

    name = "paid"

    def __init__(self, log=None, speed=1.0):
        super().__init__(n_keys=26, right=0.7, silent=0.05)
        self.log, self.speed = log, speed

    def begin(self, method, state, task, rng):
        """
        Note that a call begins; returns its key and the seconds that it takes.
        """
        draw = rng.random()
        key = call_key(method, task.id, draw, content_digest(state))
        write(self.log, f"+ {key}")
        return key, self.speed * WORK[method] * draw

    def rollout(self, state, task, *, rng, ticket):
        key, seconds = self.begin("rollout", state, task, rng)
        time.sleep(seconds)
        outcome = super().rollout(state, task, rng=rng)
        write(self.log, f"- {key}")
        return outcome

    def propose(self, state, task, outcome, *, rng, ticket):
        key, seconds = self.begin("propose", state, task, rng)
        time.sleep(seconds)
        proposal = super().propose(state, task, outcome, rng=rng)
        write(self.log, f"- {key}")
        return proposal


class Awaited(Paid):
    """
    The same with coroutines.
    """

    async def rollout(self, state, task, *, rng, ticket):
        key, seconds = self.begin("rollout", state, task, rng)
        await asyncio.sleep(seconds)
        outcome = ToyDomain.rollout(self, state, task, rng=rng)
        write(self.log, f"- {key}")
        return outcome

    async def propose(self, state, task, outcome, *, rng, ticket):
        key, seconds = self.begin("propose", state, task, rng)
        await asyncio.sleep(seconds)
        proposal = ToyDomain.propose(self, state, task, outcome, rng=rng)
        write(self.log, f"- {key}")
        return proposal


def call_key(method, task, draw, digest):
    """
    What tells a paid call from all others: its random stream's first number and the state.
    """
    return f"{method}/{task}/{draw:.12f}/{digest[:12]}"


def key_of(call, seed):
    """
    The key that a call of a machine has in the log.
    """
    state = call.artifact.value
    if call.kind == "measure":
        stream = ("measure", call.task, call.draw, call.artifact.digest)
    else:
        stream = ("propose" if call.kind == "propose" else "rollout", call.ticket.number)
    if call.kind == "verify":
        state = ToyDomain(n_keys=26).apply(state, call.diff)
    method = "propose" if call.kind == "propose" else "rollout"
    draw = keyed_rng(seed, *stream).random()
    return call_key(method, call.task, draw, content_digest(state))


def write(log, line):
    """
    Add a line to a log.
    """
    if log is not None:
        os.write(log, f"{line}\n".encode())


def acknowledgement(notice):
    """
    What an observer that is told a notice may rely on, as a line; None when that is nothing.
    """
    if isinstance(notice, HeadCommitted):
        return f"head {notice.head.version} {notice.head.digest}"
    if isinstance(notice, CardDecided):
        decision = notice.decision
        return f"card {decision.card} {decision.kind} {decision.reason} {decision.version}"
    if isinstance(notice, TicketEnded):
        return f"ticket {notice.ticket} {notice.task} {notice.completion} {notice.reward}"
    if isinstance(notice, RunFinished):
        return f"finished {notice.digest}"
    return None


def observer(log):
    """
    Writes down everything that is acknowledged.
    """

    def told(notice):
        line = acknowledgement(notice)
        if line is not None:
            write(log, line)

    return told


def options(kind, seed, rollouts, ledger="sqlite"):
    """
    The options of a run.
    """
    return {
        **KINDS[kind],
        "seed": seed,
        "max_rollouts": rollouts,
        "n_workers": 6,
        "straggler": "count",
        "ledger": ledger,
        "validate": seed % 2 == 0,
    }


# --------------------------------------------------------------------------------- places to kill at

PLACES = {
    "opening": "headway.rundir:RunDirectory.__init__",
    "reading": "headway.drivers:take_up",
    "group": "headway.journal:JournalFile._ride",
    "commit": "headway.drivers:Workbench._commit",
    "ending": "headway.rundir:RunDirectory.end",
}
"""What a kill is aimed at."""


def mark(pipe):
    """
    Have this process say through a pipe where it is: a letter on entering, its capital on leaving.
    """
    import importlib

    for place, where in PLACES.items():
        module, _, names = where.partition(":")
        owner, name = importlib.import_module(module), names
        if "." in names:
            cls, name = names.split(".")
            owner = getattr(owner, cls)
        setattr(owner, name, _marked(getattr(owner, name), place[0].encode(), pipe))


def take_checkpoints(every):
    """
    Have this process take a checkpoint after so many events.
    """
    from headway import _prepare

    _prepare.Checkpoints = functools.partial(_prepare.Checkpoints, every=every)


def _marked(function, letter, pipe):
    @functools.wraps(function)
    def told(*args, **kwargs):
        os.write(pipe, letter)
        try:
            return function(*args, **kwargs)
        finally:
            os.write(pipe, letter.upper())

    return told
