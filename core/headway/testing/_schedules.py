"""
Random runs under the simulated driver: one seed gives one schedule, with all its faults.

``check`` runs a schedule under an auditor, replays its journal without plug-ins, crashes it at a
random event and takes it up again, and crashes that once more and takes it up from a checkpoint; all
must reach one digest.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from typing import Any, TypeAlias

import attrs

from headway.backpressure import Backpressure
from headway.builtins._estimators import Ewma
from headway.builtins._executor import ThreadExecutor
from headway.builtins._policies import Drop, Full, Guarded, Reflective, Soft, Wait
from headway.builtins._sampler import ShuffledEpochs
from headway.builtins.standard import Confirmed, Sequential, StandardAggregator
from headway.contracts import Artifact, Json, RunStarted, StalenessPolicy
from headway.drivers import Engine, StepHost, Telling, Workbench
from headway.drivers._recovery import Recovery, ResumedLookups
from headway.drivers.simulated import Simulation
from headway.journal import Journal, replay
from headway.keyed import keyed_int
from headway.machine import (
    CommitCall,
    Event,
    Instruction,
    Lookups,
    Machine,
    PluginLookups,
    RecordedLookups,
    Run,
    Started,
)
from headway.testing._auditor import Auditor
from headway.testing._erratic import Erratic
from headway.testing._erratic_groups import ErraticGroups
from headway.testing._faults import ContendedLedger, Faults
from headway.testing._hasty import Hasty
from headway.testing._must import must
from headway.testing._schedule import Schedule
from headway.testing._toy import ToyDomain

Follow: TypeAlias = Callable[[Event, list[Instruction]], None]
"""Told each event that the machine handles, and its instructions."""

MOST_EVENTS = 20_000
"""No schedule needs this many events; one that does never ends."""

FEWEST_EVENTS = 200
"""A seed's runs have at least this many events together."""

_OPENING = RunStarted(
    run="toy", mode="", driver="simulated", seed=0, choices={}, notes=(), limits={}
)


@attrs.define(eq=False)
class World:
    """
    What outlives a crash: the ledger, and what the journal holds.
    """

    schedule: Schedule
    ledger: ContendedLedger = attrs.field(init=False)
    domain: ToyDomain = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        schedule = self.schedule
        self.domain = schedule.domain
        self.ledger = ContendedLedger(
            Artifact(self.domain.initial()), seed=schedule.seed, rate=schedule.race_rate
        )

    def plugins(self) -> PluginLookups:
        """
        New plug-ins, with nothing learnt.
        """
        policies: dict[str, Callable[[], StalenessPolicy]] = {
            "full": Full,
            "guarded": Guarded,
            "reflective": Reflective,
            "drop": Drop,
            "soft": Soft,
            "wait": Wait,
        }
        return PluginLookups(
            aggregator=self.aggregator(),
            policy=policies[self.schedule.policy](),
            sampler=ShuffledEpochs(),
            estimator=Ewma(),
        )

    def aggregator(self) -> Any:
        """
        A new aggregator.
        """
        batch, most = self.schedule.batch, self.schedule.max_steps
        if self.schedule.groups:
            gate = dict(self.schedule.groups)
            return ErraticGroups(
                batch=gate["groups_per_step"],
                group_size=self.schedule.group_size,
                gathers=gate["early"],
                updates_per_step=gate["updates_per_step"],
                training=self.schedule.training,
            )
        if self.schedule.erratic:
            return Erratic(
                batch=batch,
                max_steps=most,
                parents=self.schedule.parents,
                training=self.schedule.training,
            )
        # Honest acceptance would hardly ever commit in a noisy run of this size.
        acceptance = Hasty() if self.schedule.noise else Sequential()
        return StandardAggregator(
            batch_size=batch,
            max_steps=most,
            acceptance=acceptance,
            promotion=Confirmed(promote_after=1),
        )

    def machine(self, lookups: Lookups) -> Machine:
        """
        A new machine.
        """
        schedule = self.schedule
        return Machine(
            schedule.config,
            gate=schedule.gate,
            alpha=schedule.alpha,
            backpressure=Backpressure(
                stall_patience=schedule.stall_patience, carry_limit=schedule.carry_limit
            ),
            lookups=lookups,
        )

    def simulation(self, lookups: Lookups, journal: Journal) -> Simulation:
        """
        A new simulation, not started.
        """
        schedule = self.schedule
        machine = self.machine(lookups)
        tasks = self.domain.tasks()
        by_id = {t.id: t for t in (*tasks.train, *tasks.held_out, *tasks.test)}
        engine = Engine(
            machine=machine,
            lookups=lookups,
            steps=StepHost(self.aggregator(), self.domain, schedule.config),
            bench=Workbench(
                domain=self.domain,
                ledger=self.ledger,
                tasks=by_id,
                seed=schedule.seed,
                executor=ThreadExecutor(),
            ),
            recorder=lambda _notice: None,
            tell=Telling(()),
            opening=_OPENING,
            journal=journal,
            validate=True,
        )
        faults = Faults(
            seed=schedule.seed,
            rate=schedule.fault_rate,
            timeout=schedule.timeout,
            outage=schedule.outage,
        )
        return Simulation(
            engine=engine, seed=schedule.seed, durations=schedule.durations, tamper=faults
        )

    def started(self) -> Started:
        """
        The first event.
        """
        return Started(0.0, self.ledger.snapshot())


@attrs.frozen(kw_only=True)
class Outcome:
    """
    What a schedule came to.
    """

    digest: str
    events: int
    stop_reason: str
    journal: Journal


def run_schedule(schedule: Schedule) -> Outcome:
    """
    Run a schedule to its end under an auditor.

    Raises:
        AuditError: the run did something that no run may do, or did not end.
        MachineError: the machine found itself wrong.
    """
    world = World(schedule)
    journal = Journal()
    simulation = world.simulation(world.plugins(), journal)
    auditor = _audit(simulation.engine, schedule)
    to_the_end(simulation, world.started())
    machine = simulation.engine.machine
    return Outcome(
        digest=machine.digest,
        events=auditor.events,
        stop_reason=machine.stop_reason or "",
        journal=journal,
    )


def _audit(engine: Engine, schedule: Schedule) -> Auditor:
    bounded = schedule.policy == "guarded" and not (schedule.erratic and schedule.parents)
    auditor = Auditor(
        engine=engine,
        gate=schedule.gate,
        alpha=schedule.alpha if bounded else None,
        carried=schedule.carry_limit,
    )
    look_over(engine, auditor.follow)
    return auditor


def look_over(engine: Engine, follow: Follow) -> None:
    """
    Have somebody follow each event of a run that is not started yet, and what the machine said to it.
    """
    handle = engine.machine.handle

    def followed(event: Event) -> list[Instruction]:
        out = handle(event)
        follow(event, out)
        return out

    engine.machine.handle = followed  # type: ignore[method-assign] # it looks over its shoulder


def to_the_end(simulation: Simulation, started: Started | None) -> None:
    """
    Bring a simulation to its end, from its start when a first event is given.

    Raises:
        AuditError: it does not end.
    """
    if started is not None:
        simulation.start(started)
    for _ in range(MOST_EVENTS):
        if not simulation.step():
            return
    most_events(MOST_EVENTS + 1)


def most_events(seen: int) -> None:
    """
    See that a run has not gone on for too long; steps may answer each other within one event.

    Raises:
        AuditError: it has.
    """
    must(seen <= MOST_EVENTS, f"the run does not end within {MOST_EVENTS} events")


def check_replay(schedule: Schedule, outcome: Outcome, crash: int) -> World:
    """
    Replay a run's journal without plug-ins: it must reach the same digest.

    In every other schedule the machine is exchanged on the way for one that is made from its checkpoint.

    Returns:
        A world whose ledger holds what it held when the run had seen ``crash`` events.
    """
    world = World(schedule)
    seen = 0

    def follow(event: Event, out: list[Instruction]) -> None:
        nonlocal seen
        del event
        seen += 1
        for instruction in out if seen <= crash else ():
            if isinstance(instruction, Run) and isinstance(instruction.call, CommitCall):
                call = instruction.call
                world.ledger.commit(call.expected, call.artifact, key=call.key, message="")

    rows = outcome.journal.rows
    exchange = keyed_int(schedule.seed, "exchange")
    lookups = RecordedLookups()
    machine = world.machine(lookups)
    first = exchange % len(rows) if exchange & 1 else len(rows)
    replay(rows[:first], machine, lookups, follow)
    while first < len(rows) and not machine.can_checkpoint:
        replay(rows[first : first + 1], machine, lookups, follow)
        first += 1
    if first < len(rows):
        lookups = RecordedLookups()
        restored = world.machine(lookups)
        restored.restore(as_stored(machine.checkpoint()))
        restored.validate()
        machine = restored
        replay(rows[first:], machine, lookups, follow)
    must(machine.digest == outcome.digest, "a replay ends in another digest")
    must(machine.phase == "finished", "a replay does not end")
    return world


def as_stored(checkpoint: Json) -> Json:
    """
    A checkpoint as it comes back from a file.
    """
    return json.loads(json.dumps(checkpoint, allow_nan=False))


def check_crash(world: World, outcome: Outcome, crash: int) -> None:
    """
    Take a run up that crashed after so many events, and again from a checkpoint: it must reach the
    same digest.
    """
    rows = outcome.journal.rows[:crash]
    journal = Journal(list(rows))
    lookups = ResumedLookups(world.plugins())
    resumed = world.simulation(lookups, journal)
    resumed.engine.validate = False
    resumed.recover(rows, Recovery(resumed.engine, lookups))
    checkpoint = _crash_again(resumed, journal, keyed_int(world.schedule.seed, "again"))
    if checkpoint is not None:
        place, stored = checkpoint
        lookups = ResumedLookups(world.plugins())
        resumed = world.simulation(lookups, Journal())
        resumed.engine.validate = False
        resumed.recover(journal.rows[place:], Recovery(resumed.engine, lookups), as_stored(stored))
    to_the_end(resumed, None)
    resumed.engine.machine.validate()
    digest = resumed.engine.machine.digest
    must(digest == outcome.digest, f"a crash after event {crash} and a resume end differently")


def _crash_again(simulation: Simulation, journal: Journal, key: int) -> tuple[int, Json] | None:
    """
    Go on for a while, take a checkpoint, and go on for another while.

    Returns:
        The checkpoint, and how many events came before it; None when the run was over sooner.
    """
    before, after = key % 40, key // 40 % 40
    for _ in range(before):
        simulation.step()
    while (checkpoint := simulation.checkpoint()) is None:
        simulation.step()
    place = len(journal.rows)
    for _ in range(after):
        simulation.step()
    return None if simulation.engine.finished else (place, checkpoint)


def check(seed: int) -> int:
    """
    Run, replay, crash and resume the schedules of a seed, until they had ``FEWEST_EVENTS`` events.

    Returns:
        The number of events of the audited runs.

    Raises:
        AuditError: see ``run_schedule``; or the three do not reach one digest.
        MachineError: the machine found itself wrong.
    """
    events = 0
    for part in itertools.count():
        schedule = Schedule.draw(seed)
        if part:
            more = 3 + (FEWEST_EVENTS - events) // 5
            schedule = attrs.evolve(Schedule.draw(keyed_int(seed, "more", part)), max_rollouts=more)
        outcome = run_schedule(schedule)
        crash = 1 + keyed_int(schedule.seed, "crash") % (len(outcome.journal.rows) - 1)
        world = check_replay(schedule, outcome, crash)
        check_crash(world, outcome, crash)
        events += outcome.events
        if events >= FEWEST_EVENTS:
            break
    return events
