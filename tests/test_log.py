"""
What a run tells those who listen to the logger ``headway``, and that nobody else hears of it.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys

import pytest

from headway._log import LOGGER, log_observer
from headway.contracts import (
    Artifact,
    CardDecided,
    Decision,
    Fault,
    FaultSeen,
    GroupDropped,
    HeadCommitted,
    RunFinished,
    RunStarted,
    Snapshot,
    SweepDone,
    TicketEnded,
)

DISCARDED = Decision(card=4, kind="discarded", reason="stale", version=3)
NOTICES = [
    RunStarted(run="r", mode="sync", driver="serial", seed=7, choices={}, notes=(), limits={}),
    TicketEnded(now=0.5, ticket=0, task="a", completion="ok", reward=1.0),
    SweepDone(
        now=1.0,
        sweep=1,
        outcome="committed",
        considered=2,
        committed=1,
        stale=1,
        version=3,
        reward=0.5,
        rollouts=9,
        calls=20,
    ),
    CardDecided(now=1.0, decision=DISCARDED, eta=2),
    CardDecided(now=1.0, decision=Decision(card=5, kind="committed", reason="", version=3), eta=0),
    HeadCommitted(now=1.0, head=Snapshot(3, Artifact("x")), cards=(5,)),
    GroupDropped(now=1.4, group=7, task="c", reason="failed"),
    FaultSeen(now=1.5, fault=Fault(where="rollout", type="ValueError", message="no", task="b")),
    RunFinished(now=2.0, stop_reason="rounds", version=3, digest="d"),
]
EVENTS = [
    (logging.INFO, "run_started"),
    (logging.INFO, "sweep_merged"),
    (logging.DEBUG, "card_discarded"),
    (logging.INFO, "head_committed"),
    (logging.WARNING, "group_dropped"),
    (logging.WARNING, "fault_seen"),
    (logging.INFO, "run_finished"),
]

RUN = """
import sys, warnings
import headway

warnings.simplefilter("ignore")

class Count(headway.Domain):
    name = "count"
    deterministic = True

    def tasks(self):
        names = [headway.Task(id=str(n), data=n) for n in range(8)]
        return headway.Splits(train=names[:4], held_out=names[4:])

    def initial(self):
        return 0

    def rollout(self, state, task):
        if task.data == 0:
            raise RuntimeError("a task that always fails")
        return headway.Outcome(reward=min(1.0, state / 4))

    def propose(self, state, task, outcome):
        return 1

    def apply(self, state, diff):
        return min(4, state + diff)

headway.run(Count(), mode="sync", driver="serial", max_rollouts=12)
print("structlog" in sys.modules)
"""


@pytest.fixture
def logger():
    """
    The library's logger, as it was before.
    """
    logger = logging.getLogger(LOGGER)
    before = (logger.level, list(logger.handlers), logger.propagate)
    yield logger
    logger.setLevel(before[0])
    logger.handlers[:], logger.propagate = before[1:]


def told(notices):
    observe = log_observer("r")
    for notice in notices:
        observe(notice)


def run_logged(setup):
    return subprocess.run(
        [sys.executable, "-c", setup + RUN],
        env={**os.environ, "PYTHONWARNINGS": "error"},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )


def test_every_event_is_logged_at_its_level(logger, caplog):
    """
    Once, in order; a ticket or a card that was committed is no event of its own.
    """
    caplog.set_level(logging.DEBUG, LOGGER)
    told(NOTICES)

    assert EVENTS == [(record.levelno, record.getMessage()) for record in caplog.records]
    assert {LOGGER} == {record.name for record in caplog.records}
    assert {"r"} == {record.run for record in caplog.records}


def test_what_an_event_is_about_is_an_attribute_of_its_record(logger, caplog):
    """
    Under the names that notices have; a fault's message is its detail.
    """
    caplog.set_level(logging.DEBUG, LOGGER)
    told(NOTICES)
    started, merged, discarded, committed, dropped, fault, finished = caplog.records

    assert ("sync", "serial", 7) == (started.mode, started.driver, started.seed)
    assert (1.0, 1, "committed", 3) == (merged.now, merged.sweep, merged.outcome, merged.version)
    assert (4, "stale", 3, 2) == (
        discarded.card,
        discarded.reason,
        discarded.version,
        discarded.eta,
    )
    assert (3, (5,)) == (committed.version, committed.cards)
    assert (7, "c", "failed") == (dropped.group, dropped.task, dropped.reason)
    assert ("rollout", "b", "ValueError", "no") == (
        fault.where,
        fault.task,
        fault.type,
        fault.detail,
    )
    assert ("rounds", 3, "d") == (finished.stop_reason, finished.version, finished.digest)


def test_levels_are_kept(logger, caplog):
    """
    Who wants warnings gets warnings.
    """
    caplog.set_level(logging.WARNING, LOGGER)
    told(NOTICES)

    assert ["group_dropped", "fault_seen"] == [r.getMessage() for r in caplog.records]


def test_nobody_listens_and_nobody_is_told(logger):
    """
    No handler but one that does nothing, or no level that any event has.
    """
    logger.propagate = False
    logger.handlers[:] = []

    assert log_observer("r") is None
    assert [logging.NullHandler] == [type(handler) for handler in logger.handlers]
    assert log_observer("r") is None
    assert 1 == len(logger.handlers)
    logger.addHandler(logging.StreamHandler())
    assert log_observer("r") is not None
    logger.setLevel(logging.CRITICAL)
    assert log_observer("r") is None


def test_a_program_that_sets_up_no_logging_sees_nothing():
    """
    Not even warnings, and structlog is not imported.
    """
    done = run_logged("")

    assert ("False\n", "") == (done.stdout, done.stderr)


def test_a_program_that_sets_up_logging_sees_what_happens():
    """
    With the standard library's own set-up, and nothing on standard output.
    """
    done = run_logged("import logging; logging.basicConfig(level=logging.DEBUG)\n")
    lines = done.stderr.splitlines()

    assert "True\n" == done.stdout
    assert "INFO:headway:run_started" == lines[0]
    assert "INFO:headway:run_finished" == lines[-1]
    assert {
        "INFO:headway:sweep_merged",
        "INFO:headway:head_committed",
        "DEBUG:headway:card_discarded",
        "WARNING:headway:fault_seen",
    } <= set(lines)


def test_an_applications_structlog_is_left_as_it_is():
    """
    Its configuration is neither used nor changed.
    """
    setup = """
import logging, structlog

def refuse(*_):
    raise AssertionError("the application's processors were used")

logging.basicConfig(level=logging.INFO)
structlog.configure(processors=[refuse], wrapper_class=structlog.BoundLogger)
before = structlog.get_config()
"""
    check = "\nassert before == structlog.get_config()\n"
    done = subprocess.run(
        [sys.executable, "-c", setup + RUN + check],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )

    assert "INFO:headway:run_finished" in done.stderr.splitlines()
