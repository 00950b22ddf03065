"""
Checkpoints: a machine that goes on from one does what the uninterrupted machine does.
"""

import itertools
import json
import os
import subprocess
import sys

import attrs
import pytest

from headway import _prepare, run
from headway._report import Recorder
from headway.builtins._estimators import Ewma, Linear
from headway.contracts import Artifact, RunFinished, Snapshot, SweepDone
from headway.drivers import DRIVE, Drive, Earlier, Interrupt, put_back, take
from headway.drivers._recovery import Recovery, ResumedLookups, take_up
from headway.errors import CheckpointError, InvariantError
from headway.journal import Journal, replay
from headway.keyed import keyed_rng
from headway.machine import RecordedLookups, Resume, Started, _checkpoint
from headway.testing import Schedule, ToyDomain, run_schedule
from headway.testing._schedules import World, _audit, as_stored, to_the_end

TIED = (
    *("config", "lookups", "names", "state", "sweeps", "decide", "out", "still"),
    *("reservations", "gate", "queue", "view"),  # which other parts hold too
    "_means",  # which are worked out once more
)
"""
What a part is left out that no new machine need have equal: its ties, what lasts one event, and what is
worked out when it is asked for.
"""


def new_machine(schedule):
    lookups = RecordedLookups()
    return World(schedule).machine(lookups), lookups


def step(machine, lookups, row):
    """What a machine answers to a row, and when it wants to be woken."""
    out = []
    replay([row], machine, lookups, lambda _event, instructions: out.extend(instructions))
    return out, machine.wake_at, machine.can_checkpoint


def seen(machine):
    """All that can be seen of a machine."""
    scoring = machine.scoring
    scores = scoring.baseline, scoring.final, scoring.test
    return machine.digest, machine.statistics(), machine.faults, machine.memory, scores


def halves(schedule, share):
    """A machine that has handled a share of a run's rows, and the rows that are left."""
    rows = run_schedule(schedule).journal.rows
    machine, lookups = new_machine(schedule)
    place = int(len(rows) * share)
    replay(rows[:place], machine, lookups)
    while not machine.can_checkpoint:
        replay(rows[place : place + 1], machine, lookups)
        place += 1
    return machine, lookups, rows[place:]


def in_step(machine, lookups, restored, others, rows):
    """Feed two machines the same rows: they must answer the same."""
    for row in rows:
        expected = step(machine, lookups, row)
        actual = step(restored, others, row)

        assert expected == actual
    restored.validate()

    assert seen(machine) == seen(restored)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("seed", range(25))
def test_goes_on(seed, share):
    """
    Restored at some event, a machine gives the same instructions event by event, to the end.
    """
    schedule = Schedule.draw(seed)
    machine, lookups, rows = halves(schedule, share)
    checkpoint = machine.checkpoint()
    restored, others = new_machine(schedule)
    restored.restore(as_stored(checkpoint))
    restored.validate()

    assert checkpoint == restored.checkpoint()
    assert seen(machine) == seen(restored)
    in_step(machine, lookups, restored, others, rows)


class Backwards(set):
    """A set that is iterated in the opposite order."""

    def __iter__(self):
        return reversed(list(super().__iter__()))


@pytest.mark.parametrize("seed", range(100, 125))
def test_order_of_sets(seed, monkeypatch):
    """
    No decision depends on the order of a set, which a restored machine need not have.
    """
    plain = _checkpoint._READERS["$set"]
    monkeypatch.setitem(_checkpoint._READERS, "$set", lambda *told: Backwards(plain(*told)))
    schedule = Schedule.draw(seed)
    machine, lookups, rows = halves(schedule, 0.4)
    restored, others = new_machine(schedule)
    restored.restore(as_stored(machine.checkpoint()))

    in_step(machine, lookups, restored, others, rows)


def test_hash_seeds():
    """
    Processes that hash strings differently write the same checkpoints.
    """
    code = (
        "import json, sys; sys.path.insert(0, 'tests'); import test_checkpoint as t;"
        "found = [t.halves(t.Schedule.draw(seed), 0.6)[0].checkpoint() for seed in (3, 8)];"
        "print(json.dumps(found))"
    )
    texts = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": hashes},
            capture_output=True,
            check=True,
        ).stdout
        for hashes in ("1", "2")
    ]

    assert texts[0] == texts[1]


def left_out(part, other):
    """
    What two machines' parts leave out of a checkpoint, side by side, but for their ties.
    """
    names = _checkpoint.PARTS[type(part)]

    assert set(names) <= {field.name for field in attrs.fields(type(part))}
    for field in attrs.fields(type(part)):
        held, others = getattr(part, field.name), getattr(other, field.name)
        if field.name == "metered":
            for one, another in zip(held, others, strict=True):
                yield attrs.asdict(one), attrs.asdict(another)
        elif field.name in names and field.name not in TIED:
            yield held, others
        elif type(held) in _checkpoint.PARTS and field.name not in names:
            yield from left_out(held, others)


@pytest.mark.parametrize("seed", range(40, 65))
def test_left_out(seed):
    """
    What is left out of a checkpoint, a new machine has already, and the same, at any moment.
    """
    schedule = Schedule.draw(seed)
    machine, lookups = new_machine(schedule)
    for place, row in enumerate(run_schedule(schedule).journal.rows):
        replay([row], machine, lookups)
        if place % 9 or not machine.can_checkpoint:
            continue
        restored, _ = new_machine(schedule)
        restored.restore(as_stored(machine.checkpoint()))
        for part, other in zip(machine._parts, restored._parts, strict=True):
            for held, others in left_out(part, other):
                assert held == others


def test_shared():
    """
    Two fields that held one artifact hold one again, and another that is equal stays another.
    """
    world = World(Schedule.draw(2))
    machine = world.machine(world.plugins())
    machine.handle(Started(0.0, Snapshot(0, Artifact({"a": 1}))))
    state = machine._state
    state.stable = state.head
    state.memory = {"$": 1, "tuple": (1, (2.5,)), "deep": [{"": None}]}
    restored, _ = new_machine(Schedule.draw(2))
    restored.restore(as_stored(machine.checkpoint()))

    assert restored._state.stable is restored.head
    assert state.memory == restored.memory
    assert (1, (2.5,)) == restored.memory["tuple"]


# ------------------------------------------------------------------------------- live runs


@pytest.mark.parametrize("after", [0, 1, 17])
@pytest.mark.parametrize("seed", range(200, 212))
def test_live(seed, after):
    """
    A simulated run that goes on from a checkpoint and the journal's tail ends as if uninterrupted.
    """
    schedule = Schedule.draw(seed)
    expected = run_schedule(schedule)
    world, journal = World(schedule), Journal()
    first = world.simulation(world.plugins(), journal)
    first.start(world.started())
    for _ in range(keyed_rng(seed, "test").randrange(100)):
        first.step()
    while (checkpoint := first.checkpoint()) is None:
        first.step()
    place = len(journal.rows)
    for _ in range(after):
        first.step()
    lookups = ResumedLookups(world.plugins())
    tail = journal.rows[place:]
    second = world.simulation(lookups, Journal(list(tail)))
    second.recover(tail, Recovery(second.engine, lookups), as_stored(checkpoint))
    to_the_end(second, None)
    rows = second.engine.journal.rows

    assert expected.digest == second.engine.machine.digest
    assert expected.events - place == len(rows)


@pytest.mark.parametrize("after", [0, 17])
@pytest.mark.parametrize("seed", range(220, 236))
def test_what_is_in_flight(seed, after):
    """
    From a checkpoint and the tail, the same calls are made again as from the whole journal.
    """
    schedule = Schedule.draw(seed)
    world, journal = World(schedule), Journal()
    first = world.simulation(world.plugins(), journal)
    first.start(world.started())
    for _ in range(keyed_rng(seed, "test").randrange(100)):
        first.step()
    while (checkpoint := take(first.engine)) is None:
        first.step()
    place = len(journal.rows)
    for _ in range(after):
        first.step()

    def taken_up(rows, checkpoint):
        lookups = ResumedLookups(world.plugins())
        engine = world.simulation(lookups, Journal()).engine
        if checkpoint is not None:
            put_back(engine, checkpoint)
        return take_up(Recovery(engine, lookups), rows), engine.events, engine.stopped_at

    expected = taken_up(journal.rows, None)

    assert expected == taken_up(journal.rows[place:], as_stored(checkpoint))
    assert expected[0].calls == first.engine.machine.in_flight


@pytest.mark.parametrize("driver", ["serial", "threads"])
@pytest.mark.parametrize("seed", [0, 2, 4, 8])
def test_another_driver(seed, driver):
    """
    A run in rounds that goes on from a checkpoint in real time ends as if uninterrupted.
    """
    schedule = attrs.evolve(
        Schedule.draw(seed),
        sync=True,
        fault_rate=0.0,
        race_rate=0.0,
        outage=(0, 0),
        timeout=1e6,
        refresh_interval=1,
        straggler="count",
        round_timeout=None,
        max_seconds=None,
        max_calls=None,
        tokens=0,
        target=None,
        noise=0.0,
        find_out=False,
        checkpoint_every=3,
        groups=(),
        group_size=1,
        least_members=None,
    )
    whole = World(schedule)
    uninterrupted = whole.simulation(whole.plugins(), Journal())
    world, journal = World(schedule), Journal()
    first = world.simulation(world.plugins(), journal)
    uninterrupted.tamper = first.tamper = None  # else timers fire early
    to_the_end(uninterrupted, whole.started())
    first.start(world.started())
    for _ in range(60):
        first.step()
    while (checkpoint := take(first.engine)) is None:
        first.step()
    place = len(journal.rows)
    for _ in range(9):
        first.step()
    lookups = ResumedLookups(world.plugins())
    engine = world.simulation(lookups, Journal()).engine
    earlier = Earlier(rows=journal.rows[place:], lookups=lookups, checkpoint=as_stored(checkpoint))
    drive = Drive(seed=schedule.seed, durations={}, interrupt=Interrupt(), earlier=earlier)
    DRIVE[driver](engine, world.started(), drive)

    assert uninterrupted.engine.machine.digest == engine.machine.digest
    assert 2 == engine.machine.statistics().sessions


def held_back(schedule):
    """
    The longest time without a moment for a checkpoint, in events, and how many steps were begun.
    """
    world = World(schedule)
    simulation = world.simulation(world.plugins(), Journal())
    machine = simulation.engine.machine
    _audit(simulation.engine, schedule)
    handle, every = machine.handle, schedule.checkpoint_every
    counts = [0]
    begun = []

    def watched(event):
        out = handle(event)
        steps = [i.step for i in out if isinstance(i, Resume) and i.n == 0]

        assert not steps or every is None or counts[-1] < every
        counts.append(0 if machine.can_checkpoint else counts[-1] + 1)
        begun.extend(steps)
        return out

    machine.handle = watched
    to_the_end(simulation, world.started())

    assert machine.phase == "finished"
    return max(counts), len(begun)


@pytest.mark.parametrize("every", [1, 5, 30])
@pytest.mark.parametrize("seed", range(300, 312))
def test_room_for_checkpoints(seed, every):
    """
    No step begins once it is time for a checkpoint, and every run ends all the same.
    """
    schedule = attrs.evolve(Schedule.draw(seed), checkpoint_every=every, max_steps=3)
    _, begun = held_back(schedule)

    assert begun > 0


@pytest.mark.parametrize("seed", [7, 15, 17, 36])
def test_racing_steps(seed):
    """
    Where steps race there is hardly ever a moment for a checkpoint, but for the option.
    """
    racing = attrs.evolve(Schedule.draw(seed), max_steps=3, sync=False)
    without, _ = held_back(attrs.evolve(racing, checkpoint_every=None))
    bounded, _ = held_back(attrs.evolve(racing, checkpoint_every=10))

    assert without > bounded


DRIVERS = [
    ("sync", "serial"),
    *itertools.product(("sync", "async"), ("threads", "asyncio", "simulated")),
]


@pytest.mark.parametrize(("mode", "driver"), DRIVERS)
def test_drivers(mode, driver, monkeypatch):
    """
    No driver waits for a step that is held back for a checkpoint, and in a round nothing depends on it.
    """
    options = {"mode": mode, "driver": driver, "max_rollouts": 60, "seed": 3}
    plain = _prepare.make_config
    expected = run(ToyDomain(), **options)
    monkeypatch.setattr(
        _prepare, "make_config", lambda *told: attrs.evolve(plain(*told), checkpoint_every=1)
    )
    result = run(ToyDomain(), **options)

    assert result.stop_reason in ("max_iters", "exhausted")
    assert mode == "async" or expected.digest == result.digest


# ------------------------------------------------------------------------------- what is refused


def test_no_checkpoint_now():
    """
    There is no checkpoint before the run, nor while a step is out; only a new machine is restored.
    """
    schedule = Schedule.draw(2)
    rows = run_schedule(schedule).journal.rows
    machine, lookups = new_machine(schedule)

    with pytest.raises(InvariantError, match="while a step is out"):
        machine.checkpoint()
    place = 0
    while not place or machine.can_checkpoint:
        replay(rows[place : place + 1], machine, lookups)
        place += 1
    with pytest.raises(InvariantError, match="while a step is out"):
        machine.checkpoint()
    with pytest.raises(InvariantError, match="has begun"):
        machine.restore({})


def _other_version(checkpoint):
    checkpoint["layout"] = "0" * 64


def _shorter(checkpoint):
    checkpoint["checkpoint"].pop()


def _shorter_part(checkpoint):
    checkpoint["checkpoint"][0].pop()


def _put(value):
    def put(checkpoint):
        checkpoint["checkpoint"][1][0] = value

    return put


DAMAGE = {
    "another version": _other_version,
    "a part is missing": _shorter,
    "a field is missing": _shorter_part,
    "a class that is not listed": _put({"$": "Machine", "": []}),
    "a function": _put({"$": "system", "": ["true"]}),
    "a class by its module": _put({"$": "os.system", "": ["true"]}),
    "too few fields": _put({"$": "Snapshot", "": [1]}),
    "too many fields": _put({"$": "Snapshot", "": [1, 2, 3]}),
    "no fields": _put({"$": "Snapshot"}),
    "no name": _put({"$": ["Snapshot"], "": [1, 2]}),
    "a mark that there is not": _put({"$eval": "1"}),
    "nothing made yet": _put({"$same": 10**6}),
    "counted from the end": _put({"$same": -1}),
    "no number": _put({"$same": "x"}),
    "no pairs": _put({"$dict": [1]}),
    "no key": _put({"$dict": [[{}, 1]]}),
    "no length": _put({"$deque": [], "most": "x"}),
    "no range": _put({"$range": [1, 2, 0]}),
    "no set": _put({"$set": 5}),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_damaged(damage):
    """
    A checkpoint that is not what was written is refused, whatever is wrong with it.
    """
    schedule = Schedule.draw(5)
    machine, _, _ = halves(schedule, 0.5)
    checkpoint = as_stored(machine.checkpoint())
    damage(checkpoint)
    restored, _ = new_machine(schedule)

    with pytest.raises(CheckpointError, match="Read the whole journal"):
        restored.restore(checkpoint)


@pytest.mark.parametrize("what", [None, [], "x", {}, {"layout": 1}], ids=repr)
def test_no_checkpoint(what):
    """
    What is no checkpoint at all is refused, by a machine and by a run.
    """
    schedule = Schedule.draw(5)
    machine, _ = new_machine(schedule)
    world = World(schedule)
    engine = world.simulation(world.plugins(), Journal()).engine

    with pytest.raises(CheckpointError, match="it is none"):
        machine.restore(what)
    with pytest.raises(CheckpointError, match="it is none"):
        put_back(engine, what)


def test_sorted_keys():
    """
    A store that sorts the keys of dicts would change what is forgotten first: that is refused.
    """
    schedule = Schedule.draw(5)
    machine, _, _ = halves(schedule, 0.5)
    restored, _ = new_machine(schedule)

    with pytest.raises(CheckpointError, match="keys were sorted"):
        restored.restore(json.loads(json.dumps(machine.checkpoint(), sort_keys=True)))


@pytest.mark.parametrize("value", [object(), {object(): 1}, {(object(),): 1}, {frozenset(): 1}])
def test_not_listed(value):
    """
    What is neither JSON nor a listed class can't be kept, and the error shows it.
    """
    machine, _, _ = halves(Schedule.draw(5), 0.5)
    machine._state.memory = value

    with pytest.raises(TypeError, match="can't be kept in a checkpoint"):
        machine.checkpoint()


def test_no_part():
    """
    A gate whose memory nobody knows how to keep is refused by name.
    """
    with pytest.raises(TypeError, match="is no part of a machine"):
        _checkpoint.write([object()])


# ------------------------------------------------------------------------------- beside the machine


class Forgetful:
    """An estimator without a memory."""

    def observe(self, cost, seconds):
        """Learn nothing."""

    def estimate(self, cost):
        """Know nothing."""

    def quantile(self, cost, level):
        """Know nothing."""


class Broken(Forgetful):
    """An estimator whose memory is a trap."""

    @property
    def memory(self):
        """No memory."""
        raise RuntimeError("no memory")

    @memory.setter
    def memory(self, memory):
        raise RuntimeError("no memory")


class NoJson(Forgetful):
    """An estimator whose memory is no JSON."""

    memory = float("nan")


def engine_with(estimator, recorder=None):
    """An engine that has begun, and the world that it is in."""
    world = World(Schedule.draw(4))
    plugins = world.plugins()
    plugins.estimator = estimator
    engine = world.simulation(plugins, Journal()).engine
    engine.recorder = recorder or engine.recorder
    return engine, world


@pytest.mark.parametrize(
    "estimator", [Forgetful(), Broken(), NoJson()], ids=lambda e: type(e).__name__
)
def test_estimators_without_memory(estimator):
    """
    With an estimator that can't say what it has learnt there is no checkpoint, and the run goes on.
    """
    engine, world = engine_with(estimator)
    engine.machine.handle(world.started())

    assert engine.machine.can_checkpoint
    assert take(engine) is None
    assert len(engine.tell.faults.items) == (type(estimator) is not Forgetful)


def test_estimator_refuses():
    """
    An estimator that does not take its memory back makes the checkpoint useless, and nothing else.
    """
    engine, world = engine_with(Ewma())
    engine.machine.handle(world.started())
    other, _ = engine_with(Broken())

    with pytest.raises(CheckpointError, match="can't be put back"):
        put_back(other, take(engine))


@pytest.mark.parametrize("estimator", [Linear, Ewma, None])
def test_run_round_trip(estimator):
    """
    Estimator and recorder come back with the machine.
    """
    recorder = Recorder()
    engine, world = engine_with(estimator and estimator(), recorder)
    engine.machine.handle(world.started())
    sweep = SweepDone(
        now=1.5,
        sweep=1,
        outcome="committed",
        considered=3,
        committed=1,
        stale=0,
        version=1,
        reward=None,
        rollouts=9,
        calls=20,
    )
    recorder(sweep)
    recorder(RunFinished(now=2.5, stop_reason="x", version=1, digest=""))
    engine.lookups.observe(3.0)
    other, _ = engine_with(estimator and estimator(), Recorder())
    put_back(other, as_stored(take(engine)))

    assert ([sweep], 2.5) == ([*other.recorder.history], other.recorder.wallclock)
    assert recorder.history.maxlen == other.recorder.history.maxlen
    assert engine.lookups.estimate() == other.lookups.estimate()
    assert engine.machine.digest == other.machine.digest
