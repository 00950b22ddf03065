"""
Kills processes that run in a run directory, and looks at what is left of it.

The children are forked from this process, which has imported everything and has no other thread, so
that a life costs no start of an interpreter.
"""

from __future__ import annotations

import faulthandler
import fcntl
import functools
import os
import select
import shutil
import signal
import sys
import time
import traceback
import warnings
from contextlib import ExitStack, suppress
from pathlib import Path

import attrs

from harness.victims import (
    Awaited,
    Paid,
    acknowledgement,
    mark,
    observer,
    options,
    take_checkpoints,
)
from headway import Registry, run
from headway.journal import replay
from headway.machine import Notify, RecordedLookups
from headway.result import Result
from headway.rundir import RunDirectory

PATIENCE = 20.0
"""Seconds after which a run that has not ended is wedged."""

RUNNING = b"!"
"""What a child says once its run has begun."""


class Child:
    """
    A process in a process group of its own that calls a function, and says where it is.

    Args:
        function: Called with the pipe that it says so through.
        errors: A file for what it raises.
    """

    def __init__(self, function, errors):
        read, pipe = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(read)
            _live(function, pipe, errors)
        os.close(pipe)
        self._pipe, self._over = read, False
        self.said = b""
        with suppress(PermissionError, ProcessLookupError):  # it was faster, or is gone
            os.setpgid(self.pid, self.pid)

    def hear(self, until, seconds):
        """
        Listen until a condition on what was said holds; False when the time or the child ends first.
        """
        ends = time.monotonic() + seconds
        while not until(self.said):
            left = ends - time.monotonic()
            if self._over or left <= 0 or not select.select([self._pipe], [], [], left)[0]:
                return False
            heard = os.read(self._pipe, 65536)
            self._over = not heard
            self.said += heard
        return True

    def kill(self):
        """
        Kill its process group; returns None, or the exit status when it had ended by itself.
        """
        os.killpg(self.pid, signal.SIGKILL)
        _, status = os.waitpid(self.pid, 0)
        self.hear(lambda said: False, PATIENCE)
        os.close(self._pipe)
        code = os.waitstatus_to_exitcode(status)
        return None if code == -signal.SIGKILL else code

    def wait(self, seconds=PATIENCE):
        """
        The exit status; None when it did not end in time and was killed.
        """
        ended = self.hear(lambda said: False, seconds) or self._over
        if not ended:
            os.kill(self.pid, signal.SIGABRT)  # its stacks go to its file of errors
            time.sleep(0.2)
            os.killpg(self.pid, signal.SIGKILL)
        os.close(self._pipe)
        _, status = os.waitpid(self.pid, 0)
        return os.waitstatus_to_exitcode(status) if ended else None

    def is_inside(self, place):
        """
        Whether it had entered a place and not left it.
        """
        letter = place[0].encode()
        return self.said.count(letter) > self.said.count(letter.upper())


def _live(function, pipe, errors):
    os.setpgid(0, 0)
    status = 1
    with Path(errors).open("a", encoding="utf-8") as file:
        faulthandler.enable(file)
        try:
            warnings.simplefilter("ignore")
            function(pipe)
            status = 0
        except BaseException:  # noqa: BLE001 - this process must not go on as its parent
            traceback.print_exc(file=file)
        finally:
            file.flush()
            os._exit(status)


@attrs.frozen(kw_only=True)
class Aim:
    """
    Where a kill goes: so long after a place was entered so often.
    """

    place: str
    entered: int
    after: float

    @classmethod
    def draw(cls, rng):
        """
        Half of the kills go anywhere into the work, the others to the places where it is decided
        what is there afterwards.
        """
        place = rng.choice(
            ("work",) * 5 + ("commit", "commit", "group", "opening", "reading", "ending")
        )
        entered = rng.randint(1, 8) if place in ("commit", "group") else 1
        longest = {"work": 0.25, "opening": 0.02, "reading": 0.05, "ending": 0.006}
        return cls(place=place, entered=entered, after=rng.random() * longest.get(place, 0.002))

    def is_reached(self, said):
        """
        Whether a child is there that has said this.
        """
        letter = RUNNING if self.place == "work" else self.place[0].encode()
        return said.count(letter) >= self.entered


@attrs.define(eq=False)
class Life:
    """
    One run directory, its log, and all that happens to it until its run has ended.
    """

    folder: Path
    kind: str
    seed: int
    rollouts: int = 60
    ledger: str = "sqlite"
    speed: float = 1.0
    durable: list = attrs.field(factory=list)
    """How many events were on disk after each kill."""
    logged: list = attrs.field(factory=list)
    """How many lines the log had then."""

    def __attrs_post_init__(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)

    @property
    def path(self):
        return self.folder / "run"

    @property
    def errors(self):
        return self.folder / "errors.txt"

    @property
    def lines(self):
        log = self.folder / "log.txt"
        return log.read_text(encoding="utf-8").split("\n")[:-1] if log.exists() else []

    def options(self):
        return options(self.kind, self.seed, self.rollouts, self.ledger)

    def note(self, found):
        """
        Remember how far the journal had got at a kill, and how much had been called.
        """
        self.durable.append(0 if found is None else len(found.rows))
        self.logged.append(len(self.lines))

    def result(self):
        """
        What the run came to.
        """
        return Result.load(self.folder / "result.json")

    def begin(self, prepare=lambda: None):
        """
        Start a process that begins the run, or goes on with it.
        """
        return Child(lambda pipe: self._run(pipe, prepare), self.errors)

    def _run(self, pipe, prepare):
        log = os.open(self.folder / "log.txt", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        mark(pipe)
        if self.seed % 3 == 0:  # else runs as short as these take none
            take_checkpoints(30)
        prepare()
        domain = (Awaited if self.kind == "asyncio" else Paid)(log, self.speed)
        tell = observer(log)

        def told(notice):
            if type(notice).__name__ == "RunStarted":
                os.write(pipe, RUNNING)
            tell(notice)

        result = run(domain, run_dir=self.path, observers=[told], **self.options())
        result.save(self.folder / "result.json")

    def die(self, aim):
        """
        Live until an aim is hit; returns an exit status if it came first, and the child.
        """
        child = self.begin()
        if child.hear(aim.is_reached, PATIENCE):
            time.sleep(aim.after)
        return child.kill(), child


@attrs.define(eq=False)
class Autopsy:
    """
    What a run directory holds, read from a copy, so that nothing but the next process repairs it.
    """

    blueprint: object
    rows: list
    machine: object
    told: set
    versions: dict
    calls: dict
    """Every call by its number."""

    @classmethod
    def of(cls, life):
        """
        What is there; None when the run had not got so far that there is a journal.
        """
        copy = life.folder / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        if not life.path.exists():
            return None
        _copied(life.path, copy)
        directory = RunDirectory(copy)
        try:
            return None if directory.header is None else cls.read(directory, life.ledger)
        finally:
            directory.close()

    @classmethod
    def read(cls, directory, ledger="sqlite"):
        """
        Play the journal through a machine, and list the ledger.
        """
        rows = list(directory.journal.rows())
        lookups = RecordedLookups()
        blueprint = directory.header.plan.blueprint
        machine = blueprint.machine(lookups)
        told, calls = set(), {}

        def follow(event, out):
            for instruction in out:
                if isinstance(instruction, Notify):
                    told.add(acknowledgement(instruction.notice))
                elif type(instruction).__name__ == "Run":
                    calls[instruction.call.id] = instruction.call

        replay(rows, machine, lookups, follow)
        place = {"path": directory.ledger_path(ledger)}
        kept = registry().create("ledger", ledger, initial=None, **place)
        try:
            versions = {entry.version: entry.digest for entry in kept.log()}
        finally:
            kept.close()
        return cls(
            blueprint=blueprint,
            rows=rows,
            machine=machine,
            told=told,
            versions=versions,
            calls=calls,
        )


def _copied(path, copy, tries=5):
    """
    Copy a directory in which the last of those that were killed may not have ended quite yet.

    Git's processes are groups of their own: until the last has ended, it has the ledger's locks.
    """
    try:
        with ExitStack() as held:
            for lock in path.rglob("headway*.lock"):
                fcntl.flock(held.enter_context(lock.open(encoding="ascii")), fcntl.LOCK_EX)
            shutil.copytree(path, copy, dirs_exist_ok=True)
    except (
        shutil.Error
    ):  # those that are of its group have ended, or do so within their system call
        if not tries:
            raise
        shutil.rmtree(copy)
        time.sleep(0.05)
        _copied(path, copy, tries - 1)


@functools.cache
def registry():
    return Registry.discover()


def acknowledged(lines):
    """
    The lines of a log that say what an observer was told.
    """
    return {line for line in lines if line.split(" ")[0] in ("head", "card", "ticket", "finished")}


def losses(lines, found):
    """
    What was acknowledged and is not there: commits, and cards and tickets.
    """
    told = acknowledged(lines)
    heads = {line for line in told if line.startswith("head ")}
    if found is None:
        return heads, told - heads
    there = {f"head {version} {digest}" for version, digest in found.versions.items()}
    return heads - there, told - heads - found.told


def say(text):
    print(text, flush=True)


def explain(life):
    """
    The last words of a life's children.
    """
    text = life.errors.read_text(encoding="utf-8") if life.errors.exists() else ""
    print(text[-3000:], file=sys.stderr)
