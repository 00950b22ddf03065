"""
The journal as JSON: what is written is what is read.
"""

import json

import pytest

from headway.codec import decode, encode
from headway.contracts import KEEP, Artifact, Card, Commit
from headway.errors import ReplayDivergence
from headway.journal import Journal, replay
from headway.machine import RecordedLookups
from headway.testing import Schedule, run_schedule
from headway.testing._schedules import World


@pytest.mark.parametrize("seed", range(12))
def test_round_trip(seed):
    """A journal that went through JSON text replays to the same digest."""
    schedule = Schedule.draw(seed)
    outcome = run_schedule(schedule)
    text = json.dumps(outcome.journal.to_json(), allow_nan=False)
    lookups = RecordedLookups()
    machine = World(schedule).machine(lookups)
    replay(Journal.from_json(json.loads(text)).rows, machine, lookups)

    assert outcome.digest == machine.digest


def test_altered_journal():
    """A journal whose look-ups were altered is found out, and the event is named."""
    schedule = Schedule.draw(1)
    rows = run_schedule(schedule).journal.rows
    at = next(i for i, row in enumerate(rows) if row.answers)
    rows[at] = type(rows[at])(rows[at].event, (*rows[at].answers, "more"))
    lookups = RecordedLookups()

    with pytest.raises(ReplayDivergence, match=f"event {at} "):
        replay(rows, World(schedule).machine(lookups), lookups)


@pytest.mark.parametrize(
    "value",
    [
        None,
        {"$": 1, "plain": [1, 2.5, "x"]},
        ({"a": (1, [2])}, KEEP),
        Commit(Artifact({"k": 1}), (3,), memory={"$t": []}),
        Card(number=1, tickets=(2,), task="t", base=0, diff={"d": None}, digest="x"),
    ],
    ids=repr,
)
def test_values(value):
    """Whatever may be in a journal comes back equal, through JSON text."""

    assert value == decode(json.loads(json.dumps(encode(value))))


def test_foreign_value():
    """A value that is neither JSON nor Headway's own can't be journalled."""

    with pytest.raises(TypeError, match="can't be journalled"):
        encode(object())
