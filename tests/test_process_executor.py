"""
Work in processes: what hangs or crashes there costs its own call and nothing else.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import closing
from multiprocessing import forkserver
from pathlib import Path

import pytest
from process_domains import Wicked

from headway import run
from headway.builtins import _process_executor
from headway.builtins._process_executor import ProcessExecutor
from headway.contracts import TicketEnded
from headway.errors import OptionError, WorkerLostError
from headway.testing import ToyDomain

pytestmark = pytest.mark.skipif(not hasattr(os, "killpg"), reason="looks at groups of processes")

SCRIPT = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
from process_domains import Wicked
from headway import run

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    domain = Wicked(sys.argv[2], hangs=2)
    result = run(domain, executor="process", n_workers=2, max_rollouts=10_000, shutdown_grace=0.1)
    print(result.stop_reason)
"""


def is_gone(process):
    """
    Whether a process ends, given time; one that nobody has waited for yet has ended too.
    """
    for _ in range(400):
        try:
            os.kill(process, 0)
            if "Z" in Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[-1].split()[:1]:
                return True
        except (ProcessLookupError, FileNotFoundError):
            return True
        time.sleep(0.025)
    return False


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "processes"
    made.mkdir()
    return made


def test_a_call_that_hangs_is_killed(folder):
    """
    At its deadline, with all that it started; the run goes on.
    """
    ended = {}

    def note(notice):
        if isinstance(notice, TicketEnded):
            ended[notice.ticket] = notice.completion

    domain, more = Wicked(folder, hangs=2), {"executor": "process", "observers": [note]}
    result = run(domain, n_workers=2, max_rollouts=12, rollout_timeout=5.0, **more)
    started = domain.started()

    assert "max_iters" == result.stop_reason
    assert "timeout" == ended.pop(2)
    assert 11 == len(ended)
    assert "ok" in ended.values()  # where the system is busy, a process may begin too late
    assert started
    assert all(is_gone(process) for process in started)


def test_a_call_that_crashes_has_failed(folder):
    """
    As if it had raised; no other call is lost.
    """
    result = run(
        Wicked(folder, crashes=1), executor="process", mode="sync", n_workers=2, max_rollouts=8
    )
    (failure,) = result.failures

    assert (7, 1) == (result.completions["ok"], result.completions["failed"])
    assert ("rollout", "WorkerLostError") == (failure.fault.where, failure.fault.type)
    assert "signal 11" in failure.fault.message


def test_what_is_charged_comes_back(folder):
    """
    Equal runs charge equal sums, wherever they run.
    """
    options = {"mode": "sync", "driver": "serial", "max_rollouts": 10}
    here, there = (run(Wicked(folder), executor=e, **options) for e in ("thread", "process"))

    assert here.usage.tokens == there.usage.tokens > 0
    assert here.digest == there.digest


def test_only_the_work_of_one_thread_is_killed():
    """
    The thread is told; another one goes on, and a new process serves the first one's next call.
    """
    with closing(ProcessExecutor()) as executor:
        told = []

        def ask():
            try:
                executor.run(time.sleep, 600)
            except WorkerLostError as error:
                told.append(error.exitcode)
            told.append(executor.run(divmod, 7, 2))

        thread = threading.Thread(target=ask)
        thread.start()
        while thread.ident not in executor._busy or executor.run(max, 1, 2) != 2:
            time.sleep(0.01)
        executor.kill(thread.ident)
        executor.kill(threading.get_ident())
        thread.join()

    assert [-signal.SIGKILL, (3, 1)] == told


def test_how_a_process_ended_is_known_while_another_one_starts(monkeypatch):
    """
    The system says it once, and ``multiprocessing`` asks for all processes whenever it starts one:
    where another thread has got the answer, it makes one up.
    """
    read, asks, started = forkserver.read_signed, threading.Event(), threading.Event()
    reads = threading.local()

    def read_between(descriptor):
        reads.count = getattr(reads, "count", 0) + 1
        if threading.current_thread() is lost and reads.count == 2:  # after the process's number
            asks.set()
            started.wait(0.5)
        return read(descriptor)

    def lose():
        with pytest.raises(WorkerLostError) as raised:
            executor.run(os.abort)
        told.append(raised.value.exitcode)

    told, lost = [], threading.Thread(target=lose)
    with closing(ProcessExecutor()) as executor:
        monkeypatch.setattr(forkserver, "read_signed", read_between)
        lost.start()
        assert asks.wait(30)
        assert 3 == executor.run(abs, -3)
        started.set()
        lost.join()

    assert [-signal.SIGABRT] == told


def test_nobody_waits_for_a_start_that_hangs(monkeypatch):
    """
    A process that is lost meanwhile has been lost; only how is not known.
    """
    monkeypatch.setattr(_process_executor, "_ENDING", 0.2)
    executor = ProcessExecutor()
    assert 3 == executor.run(abs, -3)
    with _process_executor._ASKING, pytest.raises(WorkerLostError, match="not known"):
        executor.run(os.abort)
    with _process_executor._ASKING:
        executor.close()


def test_a_domain_that_cannot_be_sent_is_refused():
    """
    Before the run begins, with the reason and the remedy.
    """

    class Local(ToyDomain):
        pass

    with pytest.raises(OptionError, match=r"Local.*module that can be imported.*executor='thread'"):
        run(Local(), executor="process", max_rollouts=3)


def test_a_lock_cannot_be_sent():
    """
    Neither there nor back.
    """
    with closing(ProcessExecutor()) as executor:
        with pytest.raises(TypeError, match=r"arguments can't be sent to another process"):
            executor.run(repr, threading.Lock())
        with pytest.raises(TypeError, match="can't be sent back from its process"):
            executor.run(threading.Lock)

        assert "1" == executor.run(repr, 1)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_processes_end_with_the_program(folder, tmp_path, number):
    """
    After Ctrl-C, which leaves a result, and after a kill, also those that hang.
    """
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    arguments = [sys.executable, str(script), str(Path(__file__).parent), str(folder)]
    program = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)
    while not (hung := Wicked(folder).started()):
        assert program.poll() is None
        time.sleep(0.02)
    program.send_signal(number)
    out, _ = program.communicate(timeout=60)

    assert ("interrupted\n" if number == signal.SIGINT else "") == out
    assert all(is_gone(process) for process in hung)
