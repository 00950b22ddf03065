"""
Run directories: a run that was begun goes on, and one that has ended is not run again.
"""

import itertools
import json
from functools import partial

import attrs
import pytest
from sqlite_files import raw

import headway
from headway import Domain, Outcome, Splits, Task
from headway.builtins._memory_ledger import MemoryLedger
from headway.builtins.sqlite import Database, SqliteLedger
from headway.contracts import CardDecided, Committed, HeadCommitted, TicketEnded
from headway.drivers import Checkpoints
from headway.errors import ContractError, OptionError, RunDirectoryError, UsageError
from headway.journal import JournalFile
from headway.testing._toy import ToyDomain

OPTIONS = {"max_rollouts": 60, "seed": 3, "n_workers": 4}


class Counted(ToyDomain):
    """A toy that counts its paid calls by what they are."""

    def __init__(self, **options):
        super().__init__(**options)
        self.made = []

    def rollout(self, state, task, *, rng, ticket):
        self.made.append((ticket and ticket.number, task.id, json.dumps(state, sort_keys=True)))
        return super().rollout(state, task, rng=rng)


class Elsewhere(ToyDomain):
    def initial(self):
        return dict.fromkeys(super().initial(), 1)


class Other(ToyDomain):
    name = "other"


class StopAt:
    """An observer that ends the process's work when it has seen so many notices."""

    def __init__(self, count, error=KeyboardInterrupt):
        self.left, self.error, self.seen = count, error, []

    def __call__(self, notice):
        self.seen.append(notice)
        self.left -= 1
        if self.left == 0:
            raise self.error


def run(domain, folder, **options):
    return headway.run(domain, run_dir=folder, **{**OPTIONS, **options})


def toy(**options):
    return Counted(n_keys=6, n_tasks=8, right=0.4, **options)


def test_it_is_the_same_run(tmp_path):
    """A run directory changes nothing but what is kept."""
    options = {"mode": "sync", "driver": "serial"}
    kept, loose = run(toy(), tmp_path / "r", **options), headway.run(toy(), **OPTIONS, **options)

    assert loose.digest == kept.digest
    assert ("none", "power") == (loose.durability, kept.durability)
    assert (1, 0) == (kept.sessions, kept.repeated_calls)
    assert [e.version for e in kept.ledger_log] == [e.version for e in loose.ledger_log]


def test_a_run_that_has_ended_is_not_run_again(tmp_path):
    """Its result comes back equal, and nothing is called."""
    first = run(toy(), tmp_path / "r")
    domain = toy()
    again = run(domain, tmp_path / "r")

    assert first == again
    assert [] == domain.made


@pytest.mark.parametrize("driver", ["threads", "asyncio", "simulated"])
@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize("after", [30, 100])
def test_what_broke_off_goes_on(tmp_path, driver, mode, after):
    """Again and again, until it has ended; what observers were told is not undone."""
    told, sessions = [], 0
    domain = toy()
    for session in itertools.count(1):
        sessions = session
        watch = StopAt(after + 10 * session)
        try:
            result = run(domain, tmp_path / "r", driver=driver, mode=mode, observers=[watch])
        except KeyboardInterrupt:
            told += watch.seen
        else:
            told += watch.seen
            break
        assert session < 200
    ended = [n.ticket for n in told if isinstance(n, TicketEnded)]
    decided = [n.decision.card for n in told if isinstance(n, CardDecided)]
    heads = [n.head.version for n in told if isinstance(n, HeadCommitted)]

    assert result.stop_reason in ("max_iters", "exhausted")
    assert sessions > (after < 100)
    assert sorted(set(ended)) == sorted(ended)
    assert sorted(set(decided)) == sorted(decided)
    assert sorted(set(heads)) == heads
    assert result.version == max(entry.version for entry in result.ledger_log)


def test_a_simulated_run_ends_as_without_a_break(tmp_path):
    """Wherever it broke off."""
    whole = headway.run(toy(), **OPTIONS, driver="simulated", durations=LAWS)
    for after in (1, 7, 40, 90):
        folder = tmp_path / str(after)
        with pytest.raises(KeyboardInterrupt):
            run(toy(), folder, driver="simulated", durations=LAWS, observers=[StopAt(after)])

        assert whole.digest == run(toy(), folder, driver="simulated", durations=LAWS).digest


LAWS = {
    "rollout": headway.durations.parse_law("lognormal:1,1"),
    "measure": headway.durations.parse_law("uniform:0.1,0.5"),
}


def test_an_interrupted_run_goes_on(tmp_path):
    """Ctrl-C gives a whole result; the same call then goes on as if nobody had stopped it."""
    import _thread

    class Interrupted(SlowToy):
        before = itertools.count()

        def rollout(self, state, task, *, rng):
            if next(self.before) == 7:
                self.seconds = 0.5  # the others end after the interrupt was seen
                _thread.interrupt_main()
            return super().rollout(state, task, rng=rng)

    domain = Interrupted(n_keys=6, n_tasks=8, right=0.4)
    first = run(domain, tmp_path / "r")
    domain.seconds = 0.0
    second = run(domain, tmp_path / "r")
    third = run(domain, tmp_path / "r")

    assert "interrupted" == first.stop_reason
    assert first.rollouts < 60
    assert second.stop_reason in ("max_iters", "exhausted")
    assert first.rollouts < second.rollouts
    assert second == third
    assert 2 == second.sessions


class SlowToy(ToyDomain):
    """A toy whose rollouts take long enough to be interrupted."""

    seconds = 0.02

    def rollout(self, state, task, *, rng):
        import time

        time.sleep(self.seconds)
        return super().rollout(state, task, rng=rng)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"max_rollouts": 61}, "max_rollouts=60, not 61"),
        ({"seed": 4}, "seed=3, not 4"),
        ({"mode": "sync"}, "mode='async', not 'sync'"),
        ({"policy": "full"}, "policy='guarded', not 'full'"),
        ({"rollout_timeout": 3.0}, "rollout_timeout=None, not 3.0"),
    ],
)
def test_other_options_are_refused(tmp_path, change, named):
    """With the first difference; nothing of the run is touched."""
    first = run(toy(), tmp_path / "r")
    with pytest.raises(RunDirectoryError, match=named):
        run(toy(), tmp_path / "r", **change)

    assert first == run(toy(), tmp_path / "r")


@pytest.mark.parametrize(
    ("domain", "named"),
    [
        (lambda: ToyDomain(n_keys=6, n_tasks=9), "with other tasks"),
        (lambda: Elsewhere(n_keys=6, n_tasks=8), "another initial state"),
        (Other, "domain='toy', not 'other'"),
    ],
)
def test_another_domain_is_refused(tmp_path, domain, named):
    """Other tasks, another state to begin with, or another name."""
    run(toy(), tmp_path / "r")

    with pytest.raises(RunDirectoryError, match=named):
        run(domain(), tmp_path / "r")


def test_what_is_no_run_directory(tmp_path):
    """A file, and a folder that holds something else, stay as they are."""
    (tmp_path / "file").write_text("x")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "mine.txt").write_text("x")

    with pytest.raises(RunDirectoryError, match="this is a file"):
        run(toy(), tmp_path / "file")
    with pytest.raises(RunDirectoryError, match=r"something else, such as mine\.txt"):
        run(toy(), tmp_path / "folder")
    assert ["mine.txt"] == [f.name for f in (tmp_path / "folder").iterdir()]


@pytest.mark.parametrize("named", ["", 5, b"r", "a\0b"])
def test_what_names_no_folder_is_refused(tmp_path, monkeypatch, named):
    """Nothing is taken for the current folder."""
    monkeypatch.chdir(tmp_path)

    with pytest.raises(OptionError, match=r"run_dir=.* Give the name of a folder\."):
        run(toy(), named)
    assert [] == list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "error", "named"),
    [
        ({"ledger": "memory"}, OptionError, "give sqlite"),
        ({"ledger": MemoryLedger()}, OptionError, "give sqlite"),
        ({"journal": headway.journal.Journal()}, OptionError, "run_dir keeps one"),
        ({"policy": "gaurded"}, UsageError, "guarded"),
        ({"n_workers": 0}, OptionError, "n_workers"),
    ],
)
def test_a_run_that_cannot_begin_leaves_nothing(tmp_path, options, error, named):
    """Neither a folder nor a file, and the next one may begin there."""
    with pytest.raises(error, match=named):
        run(toy(), tmp_path / "r", **options)

    assert [] == list(tmp_path.iterdir())
    assert run(toy(), tmp_path / "r").stop_reason in ("max_iters", "exhausted")


def test_what_cannot_be_journalled_is_an_invalid_call(tmp_path):
    """It is named in the failures, and the others go on."""

    class Odd(ToyDomain):
        def rollout(self, state, task, *, rng):
            outcome = super().rollout(state, task, rng=rng)
            odd = task.id == "train-1"
            return Outcome(reward=outcome.reward, output=object() if odd else outcome.output)

    result = run(Odd(n_keys=6, n_tasks=8, right=0.4), tmp_path / "r")
    told = [f.fault.message for f in result.failures if f.fault.type == "InvalidValue"]

    assert result.completions["invalid"] >= 1
    assert result.completions["ok"] >= 5
    assert any("can't be journalled" in text for text in told)


def test_a_commit_that_was_not_acknowledged_is_made_once(tmp_path):
    """The process ends between the ledger's commit and the journal's word of it."""
    folder = tmp_path / "r"
    domain = toy()
    with pytest.raises(KeyboardInterrupt):
        run(domain, folder, observers=[StopAtCommit()])
    database = Database(folder / "run.sqlite")
    journal = JournalFile(database)
    events = [row.event for row in journal.rows()]
    journal.cut(
        next(n for n, e in enumerate(events) if isinstance(getattr(e, "value", 0), Committed))
    )
    commits = len(SqliteLedger(database).log())
    database.close()
    result = run(domain, folder)
    versions = [entry.version for entry in result.ledger_log]

    assert commits >= 1
    assert [*range(1, len(versions) + 1)] == versions
    assert versions[-1] == result.version


class StopAtCommit:
    def __call__(self, notice):
        if isinstance(notice, HeadCommitted):
            raise KeyboardInterrupt


def test_evolve_goes_on_too(tmp_path):
    """The same call, with the same functions, in the same directory."""
    calls = []

    def solve(rendered, task):
        calls.append(task)
        return rendered

    def reward(task, output):
        return 1.0 if output == "yes" else 0.0

    def propose(rendered, task, output, reward, *, rng):
        return rng.choice(["yes", "no", "maybe"])

    def go(*observers):
        return headway.evolve(
            [f"task {n}" for n in range(24)],
            reward,
            run=solve,
            propose=propose,
            strategy=headway.SingleSlot("none"),
            run_dir=tmp_path / "r",
            rounds=4,
            observers=observers,
        )

    with pytest.raises(KeyboardInterrupt):
        go(StopAt(6))
    result = go()
    before = len(calls)

    assert 1.0 == result.final_reward
    assert result == go()
    assert before == len(calls)


def test_an_aggregator_that_asks_otherwise_is_found_out(tmp_path):
    """A step that was open is run again, and must ask for what it asked for before."""
    from headway import Measure
    from headway.errors import ReplayDivergence

    class Asks:
        batch = 1

        def __init__(self, tasks):
            self.tasks = tasks

        def step(self, cards, context):
            fresh = 10 * context.step
            yield Measure((context.head,), context.held_out[: self.tasks], first=fresh)
            yield Measure((context.head,), context.held_out[: self.tasks], first=fresh + 1)

    class Stops(SlowToy):
        left = 12

        def measure(self, state, task, *, rng):
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt
            return 0.0

    domain = Stops(n_keys=6, n_tasks=8, right=0.4, noise=0.1)
    with pytest.raises(KeyboardInterrupt):
        run(domain, tmp_path / "r", aggregator=Asks(1))
    with pytest.raises((ReplayDivergence, ContractError), match=r"step .* asks for"):
        run(domain, tmp_path / "r", aggregator=Asks(3))


def test_a_domain_of_its_own(tmp_path):
    """Nothing of it needs to be known by name."""

    class Mine(Domain):
        name = "mine"

        def tasks(self):
            return Splits(
                train=[Task(id=f"t{n}") for n in range(8)],
                held_out=[Task(id=f"h{n}") for n in range(8)],
            )

        def initial(self):
            return 0

        def rollout(self, state, task, *, rng):
            return Outcome(reward=min(1.0, state / 3))

        def propose(self, state, task, outcome, *, rng):
            return 1

        def apply(self, state, diff):
            return min(3, state + diff)

    result = run(Mine(), tmp_path / "r", max_rollouts=12, mode="sync", driver="serial")

    assert 1.0 == result.final_reward


@pytest.mark.parametrize("after", [15, 25, 40])
def test_it_goes_on_from_a_checkpoint(tmp_path, monkeypatch, after):
    """As from the first event; and what came before the checkpoint is not even read."""
    options = {"mode": "sync", "driver": "serial"}
    monkeypatch.setattr(headway._prepare, "Checkpoints", partial(Checkpoints, every=30))
    whole = headway.run(toy(), **OPTIONS, **options)
    began = []
    for session in itertools.count(1):
        try:
            watch = StopAt(after + session)
            result = run(toy(), tmp_path / "r", observers=[watch], **options)
        except KeyboardInterrupt:
            with raw(tmp_path / "r" / "run.sqlite") as look:
                found = "SELECT max(event) FROM journal_checkpoint"
                began.append(look.execute(found).fetchone()[0] or 0)
                # What is damaged before the checkpoint is no hindrance.
                look.execute(
                    "UPDATE journal SET lines = 'x' || lines WHERE first + count < ?",
                    (began[-1] // 2,),
                )
        else:
            break
        assert session < 60

    assert whole.digest == result.digest
    assert [attrs.evolve(s, now=0) for s in whole.history] == [
        attrs.evolve(s, now=0) for s in result.history
    ]
    assert whole.failures == result.failures
    assert began[-1] > 0
