"""
Checkpoints of a run: the machine and what remembers something beside it.

Those are the duration estimator, the recorder of the result's history, and the count of events.  A domain, an aggregator, a
sampler and a staleness policy remember nothing, and what observers did wrong concerns the process that
they were in.  Whoever drives a run asks ``take`` between two events, from the thread that handles them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import attrs

from headway.contracts import Fault, Json, Remembering, canonical_json
from headway.drivers._domain_calls import FAILURES
from headway.drivers._engine import Engine
from headway.errors import CheckpointError


def take(engine: Engine) -> Json | None:
    """
    A checkpoint, as JSON whose dicts must keep the order of their keys; None when there can be none now.

    There can be none while a step is out, and never with an estimator that has no ``memory``.

    Raises:
        TypeError: a domain's value is no JSON; a journal on disk has refused such a value before.
    """
    if not engine.machine.can_checkpoint:
        return None
    try:
        learnt = engine.lookups.learnt
        if learnt is None:
            return None
        learnt = json.loads(canonical_json(learnt))  # a copy, and proof that it is JSON
    except FAILURES as error:  # a plug-in may raise anything; without a checkpoint the run goes on
        engine.tell.faults.add(Fault.of("duration estimator", error))
        return None
    recorder: Any = engine.recorder
    recorded = recorder.memory if isinstance(recorder, Remembering) else None
    return {
        "machine": engine.machine.checkpoint(),
        "learnt": learnt,
        "recorded": recorded,
        "events": [engine.events, engine.stopped_at],
    }


EVERY = 10_000
"""Events between two checkpoints of a run directory."""


@attrs.define(eq=False)
class Checkpoints:
    """
    Takes a checkpoint every so many events, or as soon after that as no step is out.

    Args:
        engine: The run.
        keep: What keeps one.
        every: So many events.
        at: How many events came before the last checkpoint, be it of an earlier process: one that
            never lives for so many events takes some too.
    """

    engine: Engine
    keep: Callable[[Json], None]
    every: int = EVERY
    at: int = 0

    def __call__(self) -> None:
        """
        Take a checkpoint when one is due; called after every event.
        """
        if self.engine.events - self.at >= self.every and self.engine.stopped_at is None:
            checkpoint = take(self.engine)
            if checkpoint is not None:
                self.at = self.engine.events
                self.keep(checkpoint)


def put_back(engine: Engine, checkpoint: Json) -> None:
    """
    Let a new engine, built as the one before was, stand where that one stood.

    The journal's tail goes through it next, see ``Recovery``.

    Raises:
        CheckpointError: it can't be read; this engine is of no use then.
    """
    try:
        machine, learnt = checkpoint["machine"], checkpoint["learnt"]
        recorded = checkpoint["recorded"]
        engine.events, engine.stopped_at = checkpoint["events"]
    except (KeyError, TypeError, ValueError) as error:
        raise CheckpointError("it is none of a run") from error
    engine.machine.restore(machine)
    try:
        engine.lookups.recall(learnt)
        if isinstance(engine.recorder, Remembering) and recorded is not None:
            engine.recorder.memory = recorded
    except FAILURES as error:  # the estimator is a plug-in
        raise CheckpointError(f"what was learnt can't be put back ({error!r})") from error
