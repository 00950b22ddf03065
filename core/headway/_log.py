"""
What happens in a run, for programs that use ``logging``.

Everything goes to the standard library's logger ``headway``: what happened, in the past tense, as
the message; what it happened to as attributes of the record.  Nothing is configured here, and a
program in which nobody listens pays nothing: it gets no observer, and structlog is not imported.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from operator import attrgetter
from typing import Any, TypeAlias

from headway.contracts import (
    CardDecided,
    FaultSeen,
    GroupDropped,
    HeadCommitted,
    Notice,
    Observer,
    RunFinished,
    RunStarted,
    SweepDone,
    UpdateDone,
)

LOGGER = "headway"

_Rule: TypeAlias = tuple[int, str, Mapping[str, str]]

# Level, event, and where in the notice each of its keys is found.  A record has a ``message`` of
# its own, so a fault's is its ``detail``.
_RULES: Mapping[type[Any], _Rule] = {
    RunStarted: (
        logging.INFO,
        "run_started",
        {"mode": "mode", "driver": "driver", "seed": "seed"},
    ),
    SweepDone: (
        logging.INFO,
        "sweep_merged",
        {
            "now": "now",
            "version": "version",
            "sweep": "sweep",
            "outcome": "outcome",
            "considered": "considered",
            "committed": "committed",
            "stale": "stale",
            "reward": "reward",
        },
    ),
    CardDecided: (
        logging.DEBUG,
        "card_discarded",
        {
            "now": "now",
            "version": "decision.version",
            "eta": "eta",
            "card": "decision.card",
            "reason": "decision.reason",
        },
    ),
    HeadCommitted: (
        logging.INFO,
        "head_committed",
        {"now": "now", "version": "head.version", "cards": "cards"},
    ),
    UpdateDone: (
        logging.INFO,
        "update_done",
        {
            "now": "now",
            "version": "version",
            "update": "update",
            "outstanding": "outstanding",
            "ready": "ready",
            "blocking": "blocking",
        },
    ),
    GroupDropped: (
        logging.WARNING,
        "group_dropped",
        {"now": "now", "group": "group", "task": "task", "reason": "reason"},
    ),
    FaultSeen: (
        logging.WARNING,
        "fault_seen",
        {
            "now": "now",
            "where": "fault.where",
            "task": "fault.task",
            "type": "fault.type",
            "detail": "fault.message",
        },
    ),
    RunFinished: (
        logging.INFO,
        "run_finished",
        {"now": "now", "version": "version", "stop_reason": "stop_reason", "digest": "digest"},
    ),
}


def log_observer(run: str) -> Observer | None:
    """
    An observer that logs; None when nobody listens to any of its events.

    Who listens is settled here, once: a level that is changed later counts for later runs.  Call
    the observer from one thread at a time.

    Args:
        run: The run's name, a key of every event.
    """
    logger = logging.getLogger(LOGGER)
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())  # else warnings would go to standard error
    heard = {kind: rule for kind, rule in _RULES.items() if logger.isEnabledFor(rule[0])}
    return _observer(logger, run, heard) if heard and _has_listener(logger) else None


def _observer(logger: logging.Logger, run: str, heard: Mapping[type[Any], _Rule]) -> Observer:
    from structlog import stdlib, wrap_logger

    log = wrap_logger(
        logger,
        processors=[
            stdlib.filter_by_level,
            stdlib.PositionalArgumentsFormatter(),
            stdlib.render_to_log_kwargs,
        ],
        wrapper_class=stdlib.BoundLogger,  # else the application's own configuration would count
        context_class=dict,
        run=run,
    )

    def observe(notice: Notice) -> None:
        rule = heard.get(type(notice))
        if rule is None:
            return
        if isinstance(notice, CardDecided) and notice.decision.kind != "discarded":
            return
        level, event, keys = rule
        log.log(level, event, **{key: attrgetter(place)(notice) for key, place in keys.items()})

    return observe


def _has_listener(logger: logging.Logger) -> bool:
    """
    Whether a handler would do something with a record.
    """
    place: logging.Logger | None = logger
    while place is not None:
        if not all(isinstance(handler, logging.NullHandler) for handler in place.handlers):
            return True
        place = place.parent if place.propagate else None
    return False
