"""
Runs that are killed, interrupted, or find no room: the run directory opens again, nothing is lost.
"""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from textwrap import dedent

import pytest

from headway import run
from headway.builtins.sqlite import Database, SqliteLedger
from headway.errors import (
    LedgerCorrupt,
    LedgerError,
    RunDirectoryError,
    StorageError,
)
from headway.rundir import RunDirectory
from headway.testing import ToyDomain

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
pytest.importorskip("harness.killing", reason="needs a checkout with benchmarks")

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="kills processes that it forks off"),
    pytest.mark.timeout(240),
]

ENDS = ("max_iters", "exhausted")
"""Why a run ends that nobody interrupted."""

SIMULATED = {"driver": "simulated", "mode": "async", "max_rollouts": 30, "seed": 5}
PROGRAM = """
    import os, signal, sys, threading, time, warnings
    sys.path.insert(0, {benchmarks!r})
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGINT, signal.default_int_handler)  # else a background job ignores it
    from harness.victims import Paid, observer
    from headway import run
    from headway.builtins.sqlite import Database

    folder, kind, body = sys.argv[1:4]
    log = os.open(folder + "/log.txt", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    tell = observer(log)
    begun = threading.Event()

    def told(notice):
        tell(notice)
        if not begun.is_set():
            begun.set()
            print("begun", flush=True)

    def go(speed=1.0, **more):
        return run(
            Paid(log, speed), run_dir=folder + "/run", observers=[told], driver=kind,
            mode="sync" if kind == "serial" else "async", **{{"max_rollouts": 60, **more}},
        )

    exec(body)
"""


def program(folder, kind="threads", body="result = go(); print(result.stop_reason, result.digest)"):
    """
    A process of its own that runs in ``folder``; what it prints can be read from it.
    """
    code = dedent(PROGRAM).format(benchmarks=str(BENCHMARKS))
    return subprocess.Popen(
        [sys.executable, "-c", code, str(folder), kind, dedent(body)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def ended(process, seconds=60):
    """
    What a process printed last, and its exit status.
    """
    out, err = process.communicate(timeout=seconds)
    assert "Traceback" not in err or process.returncode, err
    return (out.strip().splitlines() or [""])[-1], process.returncode, err


def crashes(tmp_path, *arguments):
    """
    What ``benchmarks/crashes.py`` counts; it runs in a process of its own, since it forks.
    """
    file = tmp_path / "counted.json"
    command = [sys.executable, str(BENCHMARKS / "crashes.py"), "--json", str(file), *arguments]
    done = subprocess.run(
        [*command, "--folder", str(tmp_path / "runs")], capture_output=True, text=True, check=False
    )
    assert file.exists(), done.stderr
    return json.loads(file.read_text(encoding="utf-8")), done.stdout + done.stderr


# ------------------------------------------------------------------------------ kill -9, by the dozen


@pytest.mark.parametrize("kind", ["threads", "asyncio", "serial"])
def test_kill(tmp_path, kind):
    """Whenever a run is killed, nothing that was acknowledged is lost, and it goes on by itself."""
    (counted,), told = crashes(tmp_path, "--kill", "20", "--kinds", kind)

    assert [] == counted["missed"], told
    assert 20 == counted["kills"]
    assert (0, 0) == (counted["lost commits"], counted["lost cards"])


def test_paid_calls(tmp_path):
    """No call is paid for again whose answer was in the journal when its run was killed."""
    (counted,), told = crashes(tmp_path, "--resume", "20")

    assert [] == counted["missed"], told
    assert 0 == counted["paid twice"]
    assert counted["kills"] >= 20


def test_replay(tmp_path):
    """A run in real time is played again to its digest, and an altered event is named."""
    (counted,), told = crashes(tmp_path, "--replay", "6")

    assert [] == counted["missed"], told
    assert (6, 24) == (counted["runs"], counted["altered"])


def test_every_event(tmp_path):
    """A simulated run that is stopped after an event ends as the one that was not."""
    (counted,), told = crashes(tmp_path, "--events", "1", "--rollouts", "3", "--every", "4")

    assert [] == counted["missed"], told
    assert counted["interruptions"] > 10


def test_contended(tmp_path):
    """Two processes that commit to one ledger lose nothing, though they get into each other's way."""
    (counted,), told = crashes(tmp_path, "--contend", "400")

    assert [] == counted["missed"], told
    assert counted["conflicts"] > 0


def test_growth(tmp_path):
    """A thousand commits leave no file, thread or process open, and no memory taken."""
    (counted,), told = crashes(tmp_path, "--growth", "1000")

    assert [] == counted["missed"], told


# ------------------------------------------------------------------------------------- one at a time


def test_second_run(tmp_path):
    """A run directory that is worked in is refused; the error names the process and the machine."""
    process = program(tmp_path, body="go(max_rollouts=100000)")
    assert "begun\n" == process.stdout.readline()
    with pytest.raises(RunDirectoryError) as caught:
        run(ToyDomain(), run_dir=tmp_path / "run", **SIMULATED)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()

    assert f"process {process.pid} on {socket.gethostname()} works in it" in str(caught.value)


def test_dead_owner(tmp_path):
    """The lease of a process that was killed is taken over, also when its children live on."""
    body = """
        import subprocess
        left = os.fork()
        if left == 0:
            os.setsid()
            time.sleep(60)
        from headway.rundir import RunDirectory
        directory = RunDirectory(folder + "/run")
        forked = os.fork()
        if forked == 0:
            os.setsid()
            time.sleep(60)
        started = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        print(left, forked, started.pid, flush=True)
        time.sleep(60)
    """
    process = program(tmp_path, body=body)
    others = [int(number) for number in process.stdout.readline().split()]
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    lease = tmp_path / "run" / "lease.json"
    try:
        directory = RunDirectory(tmp_path / "run")
        owner = json.loads(lease.read_text())["pid"]
        directory.close()
    finally:
        for number in others:
            os.kill(number, signal.SIGKILL)
        process.communicate()

    assert os.getpid() == owner


# --------------------------------------------------------------------------------- asked to end


@pytest.mark.parametrize("kind", ["threads", "asyncio", "serial"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals(tmp_path, kind, number):
    """After Ctrl-C and SIGTERM there is a result, and the run goes on; at the end nothing failed."""
    body = "r = go({}max_rollouts=300); print(r.stop_reason, len(r.failures), r.version)"
    slow, body = body.format("speed=20, "), body.format("")  # else one may end before it is asked
    rng, seen = random.Random(f"{kind} {number}"), []
    for _ in range(3):
        process = program(tmp_path, kind, slow)
        process.stdout.readline()
        time.sleep(0.1 * rng.random())
        process.send_signal(number)
        line, status, err = ended(process)
        assert 0 == status, err
        seen.append(line.split())
    line, status, err = ended(program(tmp_path, kind, body))

    assert 0 == status, err
    assert line.split()[0] in ENDS
    assert {"interrupted"} == {reason for reason, *_ in seen}
    assert {"0"} == {failures for _, failures, _ in [*seen, line.split()]}


@pytest.mark.parametrize("place", ["RunDirectory.end", "JournalFile.end", "Result.save"])
def test_killed_while_it_ends(tmp_path, place):
    """A run that is interrupted, and killed before all of that is written, goes on all the same."""
    body = f"""
        from headway.journal import JournalFile
        from headway.result import Result
        from headway.rundir import RunDirectory

        def die(*args, **kwargs):
            os._exit(9)

        setattr({place.split(".")[0]}, {place.split(".")[1]!r}, die)

        def interrupt():
            begun.wait()
            time.sleep(0.1)
            os.kill(os.getpid(), signal.SIGINT)

        threading.Thread(target=interrupt).start()
        go(max_rollouts=2000)
    """
    assert 9 == ended(program(tmp_path, body=body))[1]
    line, status, err = ended(program(tmp_path, body="print(go(max_rollouts=2000).stop_reason)"))

    assert 0 == status, err
    assert line in ENDS


# ---------------------------------------------------------------------- no room, no right, damaged


class Small(Database):
    """A database whose disk has so many pages of 4 KiB left for it."""

    pages = 0

    def __init__(self, path, **more):
        super().__init__(path, **more)
        with self.reading() as connection:
            connection.execute(f"PRAGMA max_page_count = {self.pages}")


@pytest.mark.parametrize("driver", ["simulated", "threads", "asyncio"])
def test_full(tmp_path, monkeypatch, driver):
    """Wherever the disk is full: the error names the file, no version is lost, and it goes on."""
    options = {**SIMULATED, "driver": driver}
    plain = run(ToyDomain(), run_dir=tmp_path / "plain", **options)
    place, told, versions = tmp_path / "run", [], [0]
    for pages in range(2, 60, 3 if driver == "simulated" else 7):
        monkeypatch.setattr(Small, "pages", pages)
        monkeypatch.setattr("headway.builtins.sqlite.Database", Small)
        try:
            result = run(ToyDomain(), run_dir=place, **options)
        except StorageError as error:
            told.append(str(error))
        else:
            break
        versions.append(_readable(place / "run.sqlite"))
    monkeypatch.undo()
    result = run(ToyDomain(), run_dir=place, **options)

    assert len(told) >= 3
    assert [] == [text for text in told if "run.sqlite: no space left" not in text]
    assert versions == sorted(versions)
    assert () == result.failures
    assert driver != "simulated" or plain.digest == result.digest


def _readable(path):
    """
    The version that is read from a file, which nobody need be able to write.
    """
    try:
        database = Database(path, read_only=True)
    except LedgerError:
        return 0  # there was not even room for the ledger's tables
    try:
        ledger = SqliteLedger(database)
        return ledger.snapshot().version
    except LedgerError:
        return 0
    finally:
        database.close()


def test_file_size_limit(tmp_path):
    """What the system refuses to write is told with the file's name, and the run goes on later."""
    body = """
        import resource
        resource.setrlimit(resource.RLIMIT_FSIZE, (@, resource.RLIM_INFINITY))
        from headway.errors import StorageError
        try:
            go()
        except StorageError as error:
            print(error)
    """
    told = [
        ended(program(tmp_path, body=body.replace("@", str(size))))[0]
        for size in (20_000, 100_000, 200_000)
    ]
    line, status, err = ended(program(tmp_path))

    assert 0 == status, err
    assert line.split()[0] in ENDS
    assert [] == [text for text in told[:2] if "run.sqlite: " not in text]


@pytest.fixture
def broken(tmp_path):
    """
    A run directory of a run that was killed in the middle, with its journal in the file itself.
    """
    body = """
        from headway.journal import JournalFile
        append, seen = JournalFile.append, []

        def counted(journal, *row):
            append(journal, *row)
            seen.append(row)
            journal.settle()
            if len(seen) == 90:
                os._exit(9)

        JournalFile.append = counted
        go()
    """
    assert 9 == ended(program(tmp_path, body=body))[1]
    connection = sqlite3.connect(tmp_path / "run" / "run.sqlite")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.execute("PRAGMA journal_mode = DELETE")
    yield connection
    connection.close()


def _refused(tmp_path, connection):
    """
    What is said of a run directory whose file was changed; the file stays as it is.
    """
    connection.commit()
    file = tmp_path / "run" / "run.sqlite"
    before = list(connection.execute("SELECT first, count, lines FROM journal"))
    line, status, err = ended(program(tmp_path, body=REFUSED))
    assert 0 == status, err
    assert before == list(connection.execute("SELECT first, count, lines FROM journal"))
    assert file.exists()
    return line


REFUSED = """
    from headway.errors import HeadwayError
    try:
        go()
        print("it went on")
    except HeadwayError as error:
        print(type(error).__name__, str(error).replace("\\n", " "))
"""


def _change(connection, event, change):
    found = "SELECT first, lines FROM journal WHERE first <= ? ORDER BY first DESC LIMIT 1"
    first, text = connection.execute(found, (event,)).fetchone()
    lines = text.split("\n")
    lines[event - first : event - first + 1] = change(lines[event - first])
    values = ("\n".join(lines), len(lines), first)
    connection.execute("UPDATE journal SET lines = ?, count = ? WHERE first = ?", values)


DAMAGES = {
    "a flipped byte": lambda line: [line[:30] + chr(ord(line[30]) ^ 1) + line[31:]],
    "half a line": lambda line: [line[: len(line) // 2]],
    "an empty line": lambda line: [""],
    "twice": lambda line: [line, line],
    "missing": lambda line: [],
}


@pytest.mark.parametrize("event", [0, 40, 89])
@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_damaged_row(tmp_path, broken, event, damage):
    """A journal that is not what was written is read no further; nothing of it is cut off."""
    _change(broken, event, damage)
    told = _refused(tmp_path, broken)
    number = {"twice": event + 1}.get(next(k for k, v in DAMAGES.items() if v is damage), event)

    assert told.startswith("LedgerCorrupt"), told
    assert f"event {number}" in told
    assert "run.sqlite" in told


def test_missing_group(tmp_path, broken):
    """A group of events that is gone from the middle is missed."""
    firsts = [first for (first,) in broken.execute("SELECT first FROM journal ORDER BY first")]
    gone = firsts[len(firsts) // 2]
    broken.execute("DELETE FROM journal WHERE first = ?", (gone,))
    told = _refused(tmp_path, broken)

    assert told.startswith("LedgerCorrupt"), told
    assert f"event {gone}" in told


def test_newer(tmp_path, broken):
    """What a newer Headway wrote is refused with the command that upgrades; all else is kept."""
    ((text,),) = list(broken.execute("SELECT text FROM journal_header"))
    newer = json.dumps({**json.loads(text), "format": 99, "headway": "99.0"})
    broken.execute("UPDATE journal_header SET text = ?", (newer,))
    header = _refused(tmp_path, broken)
    broken.execute("UPDATE journal_header SET text = ?", (text,))
    broken.execute("UPDATE headway SET value = 99 WHERE name = 'schema'")
    schema = _refused(tmp_path, broken)

    assert header.startswith("RunDirectoryError"), header
    assert "Headway 99.0 wrote it" in header
    assert schema.startswith("StorageError"), schema
    assert all("pip install --upgrade headway" in told for told in (header, schema))


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", "null", '{"format": 1}'])
def test_damaged_header(tmp_path, broken, text):
    """A header that is not what was written is told as such."""
    broken.execute("UPDATE journal_header SET text = ?", (text,))
    told = _refused(tmp_path, broken)

    assert told.startswith("LedgerCorrupt"), told
    assert f"{tmp_path}/run" in told


@pytest.mark.parametrize("size", [10, 100, 5000, 0.5, 0.9])
def test_truncated(tmp_path, broken, size):
    """A file that was cut short is told as such, wherever it was cut, and not written to."""
    broken.close()
    file = tmp_path / "run" / "run.sqlite"
    whole = file.stat().st_size
    os.truncate(file, size if size > 1 else int(whole * size) // 4096 * 4096)
    cut = file.read_bytes()
    line, status, err = ended(program(tmp_path, body=REFUSED))

    assert 0 == status, err
    assert line.startswith("LedgerCorrupt"), line
    assert "run.sqlite" in line
    assert cut == file.read_bytes()


def test_damaged_result(tmp_path):
    """A result that can't be read is told with its remedy, which works."""
    place = tmp_path / "run"
    result = run(ToyDomain(), run_dir=place, **SIMULATED)
    (place / "saved.json").write_text("{", encoding="utf-8")
    with pytest.raises(LedgerCorrupt, match=r"saved\.json.*Remove the file"):
        run(ToyDomain(), run_dir=place, **SIMULATED)
    (place / "saved.json").unlink()
    again = run(ToyDomain(), run_dir=place, **SIMULATED)

    assert result.digest == again.digest
    assert result.sessions == again.sessions


def test_read_only():
    """A run directory that can't be written to is told so, with its name; it can still be read."""
    body = """
        from headway.builtins.sqlite import SqliteLedger
        from headway.errors import StorageError
        from headway.rundir import RunDirectory
        version = go(max_rollouts=20).version
        place = folder + "/run"
        for name in os.listdir(place):
            os.chmod(place + "/" + name, 0o444)
        os.chmod(place, 0o555)
        if os.getuid() == 0:
            os.seteuid(65534)
        for path in (place, place + "/new"):
            try:
                RunDirectory(path)
            except StorageError as error:
                print(error)
        ledger = SqliteLedger(Database(place + "/run.sqlite", read_only=True))
        print(version == ledger.snapshot().version)
    """
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)  # whoever that run becomes must get there
        process = program(folder, body=body)
        out, err = process.communicate(timeout=60)
    _, refused, new, same = out.splitlines()

    assert f"{folder}/run/lease.json: Permission denied" in refused, err
    assert f"{folder}/run/new: Permission denied" in new
    assert "True" == same
