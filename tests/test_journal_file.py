"""
The journal on disk: what is read is what was written, and what was acknowledged is there.
"""

import random
import threading
from contextlib import suppress
from functools import partial
from zlib import crc32

import pytest
from sqlite_files import raw

from headway.builtins.sqlite import Database
from headway.codec import decode, encode, is_plain
from headway.contracts import NO_USAGE, Artifact, Outcome, Snapshot, Usage, Work, canonical_json
from headway.errors import LedgerCorrupt, LedgerError
from headway.journal import JournalFile
from headway.machine import Done, Started, Tick
from headway.testing import Schedule, run_schedule


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.sqlite"


JOURNALS = []


@pytest.fixture(autouse=True)
def closed():
    """At the end of a test what it opened is closed, whatever it has come to."""
    yield
    while JOURNALS:
        journal = JOURNALS.pop()
        with suppress(Exception):
            journal.close()
        journal.database.close()


def opened(path):
    JOURNALS.append(JournalFile(Database(path)))
    return JOURNALS[-1]


def written(path, rows, group=7):
    """A file that holds these rows, in groups of so many."""
    journal = opened(path)
    journal.begin({"run": "r"})
    for number, row in enumerate(rows):
        journal.append(row.event, row.answers, row.witness)
        if number % group == 0:
            journal.settle()
    journal.close()
    journal.database.close()


@pytest.fixture(scope="module")
def rows():
    """The rows of a few whole runs, faults and races among them."""
    return [row for seed in range(6) for row in run_schedule(Schedule.draw(seed)).journal.rows]


def test_what_is_read_is_what_was_written(path, rows):
    """Every kind of event comes back equal, in order, with its answers and its witness."""
    written(path, rows)
    again = opened(path)

    assert {"run": "r"} == again.header()
    assert rows == list(again.rows())


def test_it_goes_on_behind_what_was_read(path, rows):
    """Rows that another process appends follow those that were there."""
    written(path, rows[:50])
    second = opened(path)
    assert 50 == len(list(second.rows()))
    for row in rows[50:80]:
        second.append(row.event, row.answers, row.witness)
    second.close()
    second.database.close()

    assert rows[:80] == list(opened(path).rows())


def test_what_was_settled_is_on_the_disk(path, rows):
    """Another connection sees it, while the journal is still open."""
    journal = opened(path)
    journal.begin({})
    for row in rows[:30]:
        journal.append(row.event, row.answers, row.witness)
    journal.settle()

    assert rows[:30] == list(opened(path).rows())


def test_one_that_does_not_hurry_is_settled_too(path, rows):
    """Who waits without urgency waits for the group's time, and not for ever."""
    journal = opened(path)
    journal.begin({})
    for row in rows[:3]:
        journal.append(row.event, row.answers, row.witness)
        journal.settle(urgent=False)

    assert rows[:3] == list(opened(path).rows())


def test_many_threads_settle(path):
    """What each thread appended before it was told so is there, whatever the others do."""
    journal = opened(path)
    journal.begin({})
    lock, missing = threading.Lock(), []

    def work(first):
        for number in range(first, first + 40):
            with lock:  # events come in under the driver's lock
                journal.append(Tick(float(number)), (), "")
            journal.settle()
            with raw(path) as look:
                text = "".join(t for (t,) in look.execute("SELECT lines FROM journal"))
            if f'["T",{float(number)!r},' not in text:
                missing.append(number)

    threads = [threading.Thread(target=work, args=(1000 * k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    journal.close()
    journal.database.close()

    assert [] == missing
    assert 160 == len(list(opened(path).rows()))


@pytest.mark.parametrize("cut", [0, 1, 6, 7, 8, 29, 30, 59])
def test_a_cut_leaves_what_came_before(path, rows, cut):
    """Also in the middle of a group; and the journal goes on from there."""
    written(path, rows[:60])
    journal = opened(path)
    journal.end("interrupted", cut)
    assert ("interrupted", cut) == journal.ended()
    journal.cut(cut)
    kept = list(journal.rows())
    for row in rows[100:110]:
        journal.append(row.event, row.answers, row.witness)
    journal.close()
    journal.database.close()
    again = opened(path)

    assert rows[:cut] == kept
    assert rows[:cut] + rows[100:110] == list(again.rows())
    assert again.ended() is None


def changed(path, change):
    with raw(path) as connection:
        change(connection)


def text_of(connection, first):
    return connection.execute("SELECT lines FROM journal WHERE first = ?", (first,)).fetchone()[0]


@pytest.mark.parametrize("event", [0, 3, 14, 15, 27, 59])
def test_an_altered_event_is_named(path, rows, event):
    """One character of one row: the row is named by its number, and those before it are read."""
    written(path, rows[:60])

    def alter(connection):
        firsts = [f for (f,) in connection.execute("SELECT first FROM journal ORDER BY first")]
        first = max(f for f in firsts if f <= event)
        lines = text_of(connection, first).split("\n")
        at = len(lines[event - first]) // 2
        line = lines[event - first]
        lines[event - first] = line[:at] + ("0" if line[at] != "0" else "1") + line[at + 1 :]
        text = "\n".join(lines)
        connection.execute("UPDATE journal SET lines = ? WHERE first = ?", (text, first))

    changed(path, alter)
    read = []
    with pytest.raises(LedgerCorrupt, match=f"event {event} is damaged"):
        read.extend(opened(path).rows())

    assert rows[:event] == read


@pytest.mark.parametrize(
    "row",
    [
        '["Z",1.0,5,null,[],"w"]',
        '[{"$":"Fault","where":"a","type":"b","message":"c"},[],"w"]',
        '[{},[],"w"]',
    ],
)
def test_an_event_of_an_unknown_kind_is_named(path, rows, row):
    """As a later version may write one into a run that an earlier one began."""
    written(path, rows[:1])

    def add(connection):
        before = int(text_of(connection, 0)[:8], 16)
        line = f"{crc32(row.encode(), before):08x} {row}"
        connection.execute("INSERT INTO journal VALUES (1, 1, ?)", (line,))

    changed(path, add)

    with pytest.raises(LedgerCorrupt, match=r"event 1 is damaged.*no kind that this version knows"):
        list(opened(path).rows())


@pytest.mark.parametrize(
    ("change", "event"),
    [
        ("DELETE FROM journal WHERE first = 1", 1),
        ("DELETE FROM journal WHERE first = 0", 0),
        ("UPDATE journal SET first = first + 1 WHERE first = 57", 57),
        ("UPDATE journal SET count = count + 1 WHERE first = 1", 1),
        ("UPDATE journal SET lines = lines || char(10) || lines WHERE first = 57", 57),
        ("UPDATE journal_header SET text = '{}'", 0),
    ],
)
def test_missing_and_moved_rows_are_found(path, rows, change, event):
    """Nothing is cut silently: the first event that is not as it was is named."""
    written(path, rows[:60])
    changed(path, lambda connection: connection.execute(change))

    with pytest.raises(LedgerCorrupt, match=f"event {event} is damaged"):
        list(opened(path).rows())


def test_a_file_that_cannot_be_written_ends_it(path, rows):
    """The error names the file, comes to whoever settles and to the next event, and nothing hangs."""
    journal = opened(path)
    journal.begin({})
    with journal.database.writing() as connection:
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}")
    big = Done(0.0, 0, Outcome(reward=0.0, output="x" * 100_000), NO_USAGE)
    journal.append(big, (), "")
    with pytest.raises(LedgerError, match="no space left"):
        journal.settle()
    with pytest.raises(LedgerError, match="no space left"):
        journal.append(big, (), "")
    with pytest.raises(LedgerError, match="no space left"):
        journal.close()

    assert [] == list(opened(path).rows())


def test_where_the_system_has_no_thread_that_is_the_error(path, monkeypatch):
    """It comes to whoever appends, settles and closes, and nothing hangs."""
    journal = opened(path)
    journal.begin({})

    def refuse(thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    append = partial(journal.append, Tick(0.0), (), "")
    for use in (append, append, journal.settle, journal.close):
        with pytest.raises(RuntimeError, match="can't start new thread"):
            use()

    assert [] == list(opened(path).rows())


def test_a_closed_journal_takes_nothing(path):
    """Closing twice is harmless; an event after it is refused."""
    journal = opened(path)
    journal.begin({})
    journal.close()
    journal.close()

    with pytest.raises(LedgerError, match="closed before this event"):
        journal.append(Tick(0.0), (), "")


@pytest.mark.parametrize(
    "output",
    [
        None,
        True,
        1,
        1.0,
        "x\n\u2028\ud800",
        {"a": 1, "b": 1.0, "c": True, "d": None},
        {"$": 1},
        {"a": {"$": 1}},
        {"$t": [1]},
        [1, (2, [3])],
        (1,),
        {},
    ],
    ids=repr,
)
@pytest.mark.parametrize("usage", [NO_USAGE, Usage(tokens=3)], ids=["free", "paid"])
def test_outputs(path, output, usage):
    """Whatever a rollout may give comes back equal and of the same types."""
    event = Done(0.1, 5, Outcome(reward=0.5, output=output), usage)
    journal = opened(path)
    journal.begin({})
    journal.spell(5, event.value)
    journal.append(event, (0.25, None, "t"), "w")
    journal.close()
    (row,) = opened(path).rows()

    assert (repr(event), (0.25, None, "t")) == (repr(row.event), row.answers)


@pytest.mark.parametrize("usage", [NO_USAGE, Usage(tokens=3)], ids=["free", "paid"])
def test_a_value_is_kept_as_it_was_given(path, usage):
    """Whoever changes it in place later changes nothing of what is kept."""
    output = {"a": [1]}
    event = Done(0.1, 5, Outcome(reward=0.5, output=output), usage)
    journal = opened(path)
    journal.begin({})
    journal.spell(5, event.value)
    output["a"].append(2)
    journal.append(event, (), "")
    journal.close()
    (row,) = opened(path).rows()

    assert {"a": [1]} == row.event.value.output
    assert usage == row.event.usage


@pytest.mark.parametrize(
    "output",
    [object(), {"a": object()}, {1: "a"}, {"a": {2: 1}}, float("nan"), {"a": float("inf")}, b"x"],
    ids=["object", "inner object", "key", "inner key", "nan", "inner inf", "bytes"],
)
def test_what_cannot_be_kept_is_refused(path, output):
    """At once, by the thread that made it, so that it is that call's fault."""
    journal = opened(path)

    with pytest.raises((TypeError, ValueError)):
        journal.spell(0, Outcome(reward=0.0, output=output))


@pytest.mark.parametrize(
    "value", [None, 1, "x", {}, {"a": 1}, {"$": 1}, {"a": []}, {"a": (1,)}, [], (1,)], ids=repr
)
def test_plain_values(value):
    """What is called plain is spelled as it is."""

    assert not is_plain(value) or encode(value) == value
    assert value == decode(encode(value))


def artifacts(path):
    with raw(path) as connection:
        return connection.execute("SELECT digest, length(body) FROM journal_artifact").fetchall()


def large(n):
    return Artifact({f"file-{k}": "x" * 100 for k in range(200)} | {"file-7": f"{n}"})


def test_an_artifact_is_written_once(path):
    """As what is different from the one before; rows only name it, and all come back equal."""
    heads = [Started(0.0, Snapshot(n % 30, large(n % 30))) for n in range(60)]
    journal = opened(path)
    journal.begin({})
    for event in heads:
        journal.append(event, (Work(parent=event.head.artifact),), "")
    journal.close()
    journal.database.close()
    found = artifacts(path)

    assert heads == [row.event for row in opened(path).rows()]
    assert 30 == len(found) == len({digest for digest, _ in found})
    assert 29 == sum(size < 200 for _, size in found)


def test_many_artifacts_in_one_group(path):
    """As many as there are come back, however many go into one statement."""
    heads = [Started(0.0, Snapshot(n, Artifact({"n": str(n)}))) for n in range(600)]
    journal = opened(path)
    journal.begin({})
    journal.append(heads[0], (), "")
    with journal.database.writing():  # the others come along with it
        for event in heads[1:]:
            journal.append(event, (), "")
    journal.close()

    assert 600 == len(artifacts(path))
    assert heads == [row.event for row in opened(path).rows()]


def test_a_damaged_artifact_is_found(path):
    """By its digest; an event that needs it is not taken for another."""
    journal = opened(path)
    journal.begin({})
    journal.append(Started(0.0, Snapshot(0, large(1))), (), "")
    journal.close()
    journal.database.close()
    changed(path, lambda connection: connection.execute("DELETE FROM journal_artifact"))

    with pytest.raises(LedgerCorrupt, match=r"the artifact .* is damaged: it is missing"):
        list(opened(path).rows())


@pytest.mark.parametrize("since", [0, 1, 6, 7, 8, 29, 30, 59, 60])
def test_the_tail_alone(path, rows, since):
    """It is what came after so many rows, and what is appended follows it."""
    written(path, rows[:60])
    journal = opened(path)
    tail = list(journal.rows(since))
    journal.append(rows[60].event, rows[60].answers, rows[60].witness)
    journal.close()
    journal.database.close()

    assert rows[since:60] == tail
    assert rows[:61] == list(opened(path).rows())


def test_checkpoints(path, rows):
    """The newest that is whole is found; a cut takes back those of what it takes away."""
    journal = opened(path)
    journal.begin({})
    for number, row in enumerate(rows[:60], 1):
        journal.append(row.event, row.answers, row.witness)
        if number % 20 == 0:
            journal.keep({"after": number, "b": 1, "a": 2})
            journal.settle()
    journal.close()
    journal.database.close()
    damage = "UPDATE journal_checkpoint SET body = x'00' WHERE event = 60"

    assert (60, {"after": 60, "b": 1, "a": 2}) == opened(path).checkpoint()
    changed(path, lambda connection: connection.execute(damage))
    assert (40, {"after": 40, "b": 1, "a": 2}) == opened(path).checkpoint()
    opened(path).cut(39)
    assert opened(path).checkpoint() is None


def shuffled(rng, state):
    """Another state: a few parts set, dropped, or of another spelling."""
    value = dict(state) if isinstance(state, dict) else {}
    for _ in range(rng.randrange(4)):
        name = rng.choice("abcdefgh")
        value[name] = rng.choice([1, 1.0, True, 0, False, None, "x", "", [1], [1.0], {"$": 1}])
    for name in rng.sample("abcdefgh", rng.randrange(3)):
        value.pop(name, None)
    return value if rng.random() < 0.95 else rng.choice([[], 7, "text", {}])


@pytest.mark.parametrize("seed", range(20))
def test_artifacts_come_back_as_they_were(path, seed):
    """Also where Python calls two parts equal that JSON spells differently; whoever reads, and when."""
    rng, states = random.Random(seed), [{}]
    for _ in range(200):
        states.append(shuffled(rng, rng.choice(states[-3:])))
    heads = [Started(0.0, Snapshot(n, Artifact(state))) for n, state in enumerate(states)]
    journal = opened(path)
    journal.begin({})
    for number, event in enumerate(heads):
        journal.append(event, (), "")
        if number == 100:
            journal.close()
            journal.database.close()
            journal = opened(path)
            assert 101 == len(list(journal.rows()))
    journal.close()
    journal.database.close()
    found = [row.event.head.artifact for row in opened(path).rows()]
    tail = [row.event.head.artifact for row in opened(path).rows(150)]

    assert [canonical_json(state) for state in states] == [canonical_json(a.value) for a in found]
    assert found[150:] == tail
