"""
Rows of the journal come along with what is committed to their database, whole and once.
"""

import sqlite3
import threading
from contextlib import closing, suppress
from functools import partial

import pytest
from sqlite_files import raw

from headway.builtins.sqlite import Database, SqliteLedger
from headway.contracts import Artifact, Committed
from headway.errors import LedgerError
from headway.journal import Journal, JournalFile
from headway.machine import Done, Tick

TICKS = [Tick(float(number)) for number in range(40)]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.sqlite"


@pytest.fixture
def journal(path):
    """A journal without rows; at the end of its test its thread ends, whatever it has come to."""
    journal = JournalFile(Database(path))
    journal.begin({})
    yield journal
    with suppress(LedgerError, TypeError):
        journal.close()
    journal.database.close()


@pytest.fixture
def ledger(journal):
    return SqliteLedger(journal.database, initial=Artifact({"a": 0}))


def keep(journal, events):
    for event in events:
        journal.append(event, (), "")


def commit(ledger, number):
    return ledger.commit(number, Artifact({"a": number + 1}), key=str(number), message="")


def append_undone(journal, event, answers=()):
    """An event comes in, and is written into a transaction that then fails."""
    with journal.database.writing() as connection:
        journal.append(event, answers, "")
        journal.database.rider(connection)
        raise ZeroDivisionError


def rows(path):
    with closing(Database(path)) as database:
        return list(JournalFile(database).rows())


def read(path):
    return [row.event for row in rows(path)]


def test_who_takes_along_whose_rows(journal, ledger, tmp_path):
    """A ledger in the same database does, from the first row until the journal is closed."""
    other = SqliteLedger(tmp_path / "other.sqlite", initial=Artifact({}))
    before = journal.comes_with(ledger)
    keep(journal, TICKS[:1])
    during = [journal.comes_with(one) for one in (ledger, other)]
    journal.close()
    other.close()

    assert [False, True, False, False] == [before, *during, journal.comes_with(ledger)]
    assert not Journal().comes_with(ledger)


def test_a_commit_takes_along_what_led_to_it(journal, ledger, path):
    """What was appended before it is on the disk when it returns, whatever the writer does."""
    keep(journal, TICKS[:1])
    journal.settle()
    for number in range(20):
        keep(journal, TICKS[number + 1 : number + 2])
        assert Committed(number + 1) == commit(ledger, number)

        assert TICKS[: number + 2] == read(path)


def test_they_share_one_flush(journal, ledger, path):
    """Neither is there without the other: until both are, a second connection sees none."""
    keep(journal, TICKS[:1])
    journal.settle()
    seen = []

    def look():
        with raw(path) as connection:
            rows = connection.execute("SELECT sum(count) FROM journal").fetchone()[0]
            versions = connection.execute("SELECT max(version) FROM ledger_log").fetchone()[0]
        seen.append((rows, versions))

    ride = journal.database.rider

    def looked_at(connection):
        landed = ride(connection)
        look()
        return landed

    journal.database.rider = looked_at
    keep(journal, TICKS[1:9])
    commit(ledger, 0)
    look()

    assert {(1, 0), (9, 1)} == set(seen)  # the journal's own thread may look once more at the end
    assert (1, 0) == seen[0]
    assert (9, 1) == seen[-1]


def test_a_commit_that_is_undone_loses_no_row(journal, path):
    """They stay where they were, and come along with the next one, in order."""
    keep(journal, TICKS[:1])
    journal.settle()
    for number in range(1, 30):
        with pytest.raises(ZeroDivisionError):
            append_undone(journal, TICKS[number])
    journal.settle()

    assert TICKS[:30] == read(path)


def test_artifacts_of_an_undone_commit_come_with_the_next(journal, ledger, path):
    """As differences from one another, too."""
    parts = dict.fromkeys("bcdefgh", "same")
    keep(journal, TICKS[:1])
    journal.settle()
    heads = [Artifact({**parts, "a": str(n)}) for n in range(3)]
    for event, head in zip(TICKS[1:], heads, strict=False):
        with pytest.raises(ZeroDivisionError):
            append_undone(journal, event, (head,))
    commit(ledger, 0)

    assert [(), *((head,) for head in heads)] == [row.answers for row in rows(path)]


def test_a_version_is_not_made_without_its_rows(journal, ledger, path):
    """Once a row could not be kept, commits to the same database fail, and nothing follows the gap."""
    keep(journal, TICKS[:1])
    journal.settle()
    with pytest.raises(TypeError, match="can't be journalled"):
        journal.append(Tick(1.0), (object(),), "")
    commits = partial(commit, ledger, 0)
    for use in (commits, partial(keep, journal, TICKS[2:3]), journal.close, commits):
        with pytest.raises(TypeError, match="can't be journalled"):
            use()
    with closing(SqliteLedger(path)) as again:
        head = again.snapshot()

    assert (0, TICKS[:1]) == (head.version, read(path))


def test_a_row_is_kept_as_it_was(journal, path):
    """Answers that are cleared and values that are changed in place afterwards change nothing of it."""
    answers, value = [1.5, {"a": [1]}], [1]
    journal.append(Done(0.0, 3, value), answers, "w")
    value.append(2)
    answers[1]["a"].append(2)
    answers.clear()
    journal.close()
    journal.database.close()
    (row,) = rows(path)

    assert ([1], (1.5, {"a": [1]})) == (row.event.value, row.answers)


def test_what_comes_just_before_the_end_is_kept(journal, ledger, path):
    """Closing writes what nobody took along; commits go on without a journal."""
    keep(journal, TICKS[:25])
    journal.close()
    after = commit(ledger, 0)
    with pytest.raises(LedgerError, match="closed before this event"):
        keep(journal, TICKS[25:26])

    assert (Committed(1), TICKS[:25]) == (after, read(path))


def test_commits_beside_the_writer_and_whoever_appends(journal, ledger, path):
    """Each row is there once and in its place, whoever took it along."""
    events = [Tick(float(number)) for number in range(4000)]
    missing, begun = [], threading.Event()

    def commits():
        begun.wait()
        for number in range(60):
            before = journal._count
            commit(ledger, number)
            if journal._durable < before:
                missing.append(number)

    def hurry():
        begun.wait()
        for _ in range(60):
            journal.settle()

    threads = [threading.Thread(target=work) for work in (commits, hurry)]
    for thread in threads:
        thread.start()
    keep(journal, events[:1])
    begun.set()
    keep(journal, events[1:])
    for thread in threads:
        thread.join()
    journal.close()

    assert [] == missing
    assert events == read(path)


def test_a_rider_hears_of_what_landed_alone(path):
    """It rides with what may write, and hears of the end of none that was undone."""
    database, heard = Database(path), []

    def rider(connection):
        connection.execute("CREATE TABLE IF NOT EXISTS t (n INTEGER)")
        heard.append("rode")
        return lambda: heard.append("landed")

    database.rider = rider
    with database.reading():
        pass
    with database.writing():
        pass
    with pytest.raises(ZeroDivisionError), database.writing():
        raise ZeroDivisionError
    with pytest.raises(sqlite3.Error), database.writing() as connection:
        connection.execute("ROLLBACK")  # what it wrote is gone, and so is the transaction
    database.close()

    assert ["rode", "landed", "rode"] == heard
