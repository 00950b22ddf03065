"""
What must be true of runs that were killed or are read again, checked event by event.
"""

from __future__ import annotations

import os
import sqlite3
from bisect import bisect_right
from collections import Counter, defaultdict

import attrs

from harness.killing import Autopsy
from harness.victims import key_of
from headway.errors import LedgerCorrupt, ReplayDivergence
from headway.journal import JournalFile, replay
from headway.machine import Done, Failed, RecordedLookups
from headway.rundir import RunDirectory

# ------------------------------------------------------------------------------------- paid calls


def paid_calls(life, found):
    """
    How often each paid call was made, against what the journal held at each kill.

    Returns:
        Counts, and a line for each call that was made again although its answer was durable.
    """
    begun, known = defaultdict(Counter), Counter()
    for place, line in enumerate(life.lines):
        if line.startswith("+ "):
            begun[line[2:]][bisect_right(life.logged, place)] += 1
    answered = {}
    for place, row in enumerate(found.rows):
        if isinstance(row.event, Done | Failed):
            answered.setdefault(row.event.call, place)
    bad = []
    for number, call in found.calls.items():
        if not call.paid:
            continue
        key = key_of(call, life.seed)
        known[key] += 1
        bad += _misdeeds(number, key, begun.get(key, {}), answered, found.rows, life.durable)
    bad += [f"{key} was made {made} times in one life" for key, made in _twice(begun, known)]
    total = sum(sum(made.values()) for made in begun.values())
    counted = Counter(
        calls=total,
        again=sum(max(0, sum(made.values()) - max(1, known[k])) for k, made in begun.items()),
        unknown=sum(key not in known for key in begun),
    )
    return counted, bad


def _misdeeds(number, key, made, answered, rows, durable):
    place = answered.get(number)
    if place is None:
        return
    last = bisect_right(durable, place)
    """The life in which the answer became durable: so many kills found the journal shorter."""
    if any(life > last for life in made):
        yield f"call {number} ({key}) was made again after event {place} had been kept"
    if isinstance(rows[place].event, Done) and not made:
        yield f"call {number} ({key}) has an answer and was never made"


def _twice(begun, known):
    for key, made in begun.items():
        most = max(made.values())
        if most > max(1, known[key]):
            yield key, most


# -------------------------------------------------------------------------------- reading it again


def play(blueprint, rows):
    """
    The digest that rows lead to.
    """
    lookups = RecordedLookups()
    machine = blueprint.machine(lookups)
    replay(rows, machine, lookups)
    return machine.digest


def alterations(rng, rows):
    """
    Journals in which one event is not what was written, and the number that is to be named.
    """
    with_answers = [n for n, row in enumerate(rows) if row.answers]
    for what, at in (("witness", rng.randrange(len(rows))), ("answers", rng.choice(with_answers))):
        row = rows[at]
        changed = (
            {"witness": f"9{row.witness}"} if what == "witness" else {"answers": row.answers[:-1]}
        )
        yield what, at, [*rows[:at], attrs.evolve(row, **changed), *rows[at + 1 :]]
    calls = [n for n, row in enumerate(rows) if isinstance(row.event, Done)]
    at = rng.choice(calls)
    strange = attrs.evolve(rows[at].event, call=10**9)
    yield "call", at, [*rows[:at], attrs.evolve(rows[at], event=strange), *rows[at + 1 :]]


def named(blueprint, rows):
    """
    What a replay says of altered rows; None when it finds nothing.
    """
    try:
        play(blueprint, rows)
    except ReplayDivergence as error:
        return str(error)
    return None


def change_byte(path, number, rng):
    """
    Change one character of an event in the file.
    """
    connection = sqlite3.connect(path)
    found = "SELECT first, lines FROM journal WHERE first <= ? ORDER BY first DESC LIMIT 1"
    first, text = connection.execute(found, (number,)).fetchone()
    lines = text.split("\n")
    line = lines[number - first]
    place = rng.randrange(len(line))
    other = "0" if line[place] != "0" else "1"
    lines[number - first] = line[:place] + other + line[place + 1 :]
    connection.execute("UPDATE journal SET lines = ? WHERE first = ?", ("\n".join(lines), first))
    connection.commit()
    connection.close()


def read_error(path):
    """
    What a run directory says when its journal is read; None when nothing is wrong with it.
    """
    try:
        directory = RunDirectory(path)
        try:
            for _ in directory.journal.rows():
                pass
        finally:
            directory.close()
    except LedgerCorrupt as error:
        return str(error)
    return None


# ------------------------------------------------------------------------ interrupted at every event


def stopping_at(event):
    """
    What makes a process end right after an event is durable.
    """

    def prepare():
        append, seen = JournalFile.append, [0]

        def counted(journal, *row):
            append(journal, *row)
            seen[0] += 1
            if seen[0] == event:
                journal.settle()
                os._exit(9)

        JournalFile.append = counted

    return prepare


def whole(life):
    """
    Run without a break; returns what it came to and how many events there were.
    """
    assert life.begin().wait() == 0, life.errors.read_text()
    return life.result(), len(Autopsy.of(life).rows)


def broken_at(life, event, every=False):
    """
    Run, stop after an event, and go on to the end.

    Args:
        life: A new one.
        event: The event, counted from 1.
        every: Whether those that go on are stopped so, too, until one has fewer left.
    """
    status = life.begin(stopping_at(event)).wait()
    lives = 1
    while status == 9:
        lives += 1
        status = life.begin(stopping_at(event) if every else lambda: None).wait()
    return (life.result() if status == 0 else None), lives


def same(one, other):
    """
    Whether two results are the same but for how many processes it took.
    """
    fields = (
        "digest",
        "version",
        "state",
        "decisions",
        "completions",
        "scores",
        "rollouts",
        "wallclock",
    )
    return [name for name in fields if getattr(one, name) != getattr(other, name)]
