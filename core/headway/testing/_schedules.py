"""
Random runs under the simulated driver: one seed gives one schedule, with all its faults.

``check`` runs a schedule under an auditor, replays its journal without plug-ins, crashes it at a
random event and takes it up again, and crashes that once more and takes it up from a checkpoint; all
must reach one digest.
"""

from __future__ import annotations

import itertools
import json
import random
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
from headway.durations import Constant, Law, LogNormal, Pareto, Uniform
from headway.gate import Barrier, LagGate, Reservations
from headway.journal import Journal, replay
from headway.keyed import keyed_int, keyed_rng
from headway.machine import (
    CommitCall,
    Event,
    Instruction,
    Lookups,
    Machine,
    MachineConfig,
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
from headway.testing._toy import ToyDomain

Follow: TypeAlias = Callable[[Event, list[Instruction]], None]
"""Told each event that the machine handles, and its instructions."""

MOST_EVENTS = 20_000
"""No schedule needs this many events; one that does never ends."""

FEWEST_EVENTS = 200
"""A seed's runs have at least this many events together."""

_ROLLOUTS = {(False, True): (20, 25), (True, True): (31, 37)}
"""Rollouts, by (erratic, noisy), that make about as many events as the others' 38 to 44."""

_OPENING = RunStarted(
    run="toy", mode="", driver="simulated", seed=0, choices={}, notes=(), limits={}
)


@attrs.frozen(kw_only=True)
class Schedule:
    """
    Everything that one seed chooses.
    """

    seed: int
    sync: bool
    n_workers: int
    round_size: int
    max_steps: int
    slots: int
    async_ratio: int
    alpha: int
    batch: int
    policy: str
    resync: str
    bind: str
    self_verify: bool
    erratic: bool
    parents: float
    noise: float
    keys: int
    carry_limit: int
    stall_patience: int
    max_rollouts: int
    max_calls: int | None
    max_seconds: float | None
    target: float | None
    fault_rate: float
    race_rate: float
    timeout: float
    law: int
    tokens: int
    max_tokens: int | None
    ceiling: bool
    find_out: bool
    straggler: str
    straggler_factor: float
    round_timeout: float | None
    refresh_interval: int
    outage: tuple[int, int]
    checkpoint_every: int | None
    most_batch: int
    training: float
    max_train_errors: int
    train_law: int
    groups: tuple[tuple[str, Any], ...] = ()
    """The options of the gate of groups; none for an optimizer that learns from proposals."""
    group_size: int = 1
    least_members: int | None = None
    lost_groups: str = "stop"
    member_attempts: int = 3

    @classmethod
    def draw(cls, seed: int) -> Schedule:
        """
        The schedule of a seed.
        """
        rng, more = keyed_rng(seed, "schedule"), keyed_rng(seed, "failures")
        held, trains = keyed_rng(seed, "checkpoints"), keyed_rng(seed, "trainings")
        workers = rng.randint(1, 16)
        erratic, noisy = rng.random() < 0.5, rng.random() < 0.33
        sync, max_steps = rng.random() < 0.25, rng.choice([1, 2, 3])
        rollouts = rng.randint(*_ROLLOUTS.get((erratic, noisy), (38, 44)))
        racing = max_steps > 1 and not sync  # what is run again makes more events
        schedule = cls(
            seed=seed,
            sync=sync,
            n_workers=workers,
            round_size=rng.randint(1, 12),
            max_steps=max_steps,
            slots=max(1, workers + rng.randint(-2, 6)),
            async_ratio=rng.choice([0, 1, 2, 3, 8, 64]),
            alpha=rng.choice([0, 1, 2, 3, 8]),
            batch=rng.choice([1, 1, 1, 2, 3, 7]),
            policy=rng.choice(["full", "guarded", "reflective"]),
            resync=rng.choice(["commit", "lag"]),
            bind=rng.choice(["late", "early"]),
            self_verify=rng.random() < 0.5,
            erratic=erratic,
            parents=rng.choice([0.0, 0.0, 0.3]),
            noise=0.2 if noisy else 0.0,
            keys=rng.choice([6, 8, 10]),
            carry_limit=rng.choice([0, 2, 32]),
            stall_patience=rng.choice([1, 3, 50]),
            max_rollouts=rollouts * 5 // 6 if racing else rollouts,
            max_calls=rng.choice([None, None, None, rng.randint(180, 300)]),
            max_seconds=rng.choice([None, None, None, rng.uniform(40, 200)]),
            target=rng.choice([None, None, None, 1.0]),
            fault_rate=rng.choice([0.0, 0.05, 0.1, 0.2]),
            race_rate=rng.choice([0.0, 0.0, 0.2]),
            timeout=rng.choice([3.0, 6.0]),
            law=rng.randrange(5),
            tokens=rng.choice([0, 0, 40]),
            max_tokens=rng.choice([None, rng.randint(1200, 6000)]),
            ceiling=rng.random() < 0.5,
            find_out=rng.random() < 0.25,
            straggler=more.choice(["count", "hedge", "hedge", "cancel"]),
            straggler_factor=more.choice([0.5, 1.2, 3.0]),
            round_timeout=more.choice([None, None, more.uniform(1.0, 8.0)]),
            refresh_interval=more.choice([1, 1, 2, 3]),
            outage=more.choice([(0, 0), (0, 0), (more.randint(10, 120), more.randint(5, 90))]),
            checkpoint_every=held.choice([None, None, None, held.randint(1, 40)]),
            most_batch=more.choice([0, 0, 12]),
            training=trains.choice([0.0, 0.6, 1.0]),
            max_train_errors=trains.choice([1, 3, 1000, 1000]),
            train_law=trains.randrange(3),
        )
        return attrs.evolve(schedule, **_draw_groups(keyed_rng(seed, "groups"), rollouts))

    @property
    def domain(self) -> ToyDomain:
        """
        A new domain.
        """
        return ToyDomain(
            n_keys=self.keys,
            n_values=4,
            n_tasks=5,
            right=0.3,
            silent=0.05,
            useless=0.05,
            breaking=0.12,
            noise=self.noise,
            tokens=self.tokens,
        )

    @property
    def config(self) -> MachineConfig:
        """
        The machine's options.
        """
        splits = self.domain.tasks()
        return MachineConfig(
            seed=self.seed,
            train=tuple(task.id for task in splits.train),
            held_out=tuple(task.id for task in splits.held_out),
            test=tuple(task.id for task in splits.test),
            deterministic=None if self.find_out else not self.noise,
            n_workers=self.n_workers,
            slots=self.slots,
            max_steps=self.max_steps,
            bind=self.bind,
            self_verify=self.self_verify,
            final_draws=2,
            max_rollouts=self.max_rollouts,
            max_calls=self.max_calls,
            max_tokens=self.max_tokens if self.tokens else None,
            tokens_per_call=self.tokens or None if self.ceiling else None,
            max_seconds=self.max_seconds,
            target_reward=self.target,
            rollout_timeout=self.timeout,
            eval_timeout=self.timeout,
            train_timeout=self.timeout,
            max_train_errors=self.max_train_errors,
            straggler=self.straggler,
            straggler_factor=self.straggler_factor,
            round_timeout=self.round_timeout if self.sync else None,
            checkpoint_every=self.checkpoint_every,
            learns_from="outcomes" if self.groups else "proposals",
            group_size=self.group_size,
            least_members=self.least_members,
            lost_groups=self.lost_groups,
            member_attempts=self.member_attempts,
            stall_alarm=2.0 if self.groups else None,
        )

    @property
    def gate(self) -> LagGate | Barrier | Reservations:
        """
        A new gate.
        """
        if self.groups:
            return Reservations(**dict(self.groups))
        if self.sync:
            return Barrier(
                n_workers=self.n_workers,
                round_size=self.round_size,
                refresh_interval=self.refresh_interval,
            )
        return LagGate(
            n_workers=self.n_workers,
            async_ratio=self.async_ratio,
            batch=self.batch,
            most_batch=max(self.batch, self.most_batch),
            resync="lag" if self.resync == "lag" else "commit",
        )

    @property
    def durations(self) -> dict[str, Law]:
        """
        Laws for rollouts, proposals, measurements and trainings.
        """
        laws: tuple[Law | None, ...] = (
            None,
            Constant(1.0),
            Uniform(0.5, 1.5),
            LogNormal(1.0, 1.0),
            Pareto(1.0, 1.5),
        )
        law = laws[self.law]
        if law is None:
            return {}
        train = (Constant(0.0), Constant(2.5), Uniform(0.0, 8.0))[self.train_law]
        laws_of = {"rollout": law, "propose": law, "measure": law, "commit": Constant(0.2)}
        return {**laws_of, "train": train}


def _draw_groups(rng: random.Random, rollouts: int) -> dict[str, Any]:
    """
    For one seed in four, what makes it a run of an optimizer that learns from outcomes.
    """
    if rng.random() >= 0.25:
        return {}
    size, staleness = rng.choice([1, 1, 2, 3, 5]), rng.choice([0, 1, 2, 4])
    order = rng.choice(["completion", "admission"])
    rule = rng.choice(["wait", "wait", "wait", "none"]) if order == "completion" else "wait"
    updates = rng.choice([1, 1, 2]) if staleness else 1
    gate = {
        "updates_per_step": updates,
        "groups_per_step": rng.choice([1, 2, 3, 4]),
        "max_staleness": staleness,
        "admit_ahead": rng.choice([0, 1, 2, 4]),
        "oversample_factor": rng.choice([1.0, 1.25, 1.5]) if staleness else 1.0,
        "batch_order": order,
        "bases": rng.choice(["head", "stamp"]),
        "rule": rule,
        "early": rule == "wait" and rng.random() < 0.5,
        "groups": max(1, 2 * rollouts // size),
    }
    return {
        "groups": tuple(gate.items()),
        "group_size": size,
        "least_members": rng.choice([None, None, rng.randint(1, size)]),
        "lost_groups": rng.choice(["stop", "drop", "drop"]),
        "member_attempts": rng.choice([1, 2, 3]),
        "policy": "wait" if rule == "wait" else rng.choice(["drop", "soft"]),
        "alpha": staleness,
        "max_rollouts": 2 * rollouts,
        "max_steps": 1,
        "sync": False,
    }


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
