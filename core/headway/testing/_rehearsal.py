"""
Rehearsals: somebody's own aggregator on their own domain, under a virtual clock, with faults.

A seed is a schedule: how many workers there are, how long everything takes, what fails and when.  A
run that went wrong is a seed that can be run again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from typing import Any, Self

import attrs

from headway._prepare._config import make_blueprint, make_config
from headway._prepare._parts import Parts, gathered
from headway.contracts import Artifact, Domain, Fault, Json, RunStarted, Selector
from headway.drivers import Engine, ResumedLookups, StepHost, Telling, Workbench
from headway.drivers._recovery import Recovery
from headway.drivers.simulated import Delivery, Simulation
from headway.durations import Constant, Law, LogNormal, Pareto, Uniform
from headway.errors import suggestion
from headway.journal import Journal
from headway.keyed import keyed_rng
from headway.machine import (
    Call,
    CommitCall,
    Done,
    Event,
    Failed,
    Instruction,
    Lookups,
    PluginLookups,
    Run,
    Started,
    Statistics,
)
from headway.options import RunOptions, make_options
from headway.registry import Registry
from headway.testing._auditor import Auditor
from headway.testing._faults import EARLY, ContendedLedger, Faults, put_back
from headway.testing._playing import PLAY, Script, ScriptError, Turns
from headway.testing._schedules import Follow, look_over, most_events, to_the_end

PATIENCE = 60.0
"""Seconds that a script may take to play, unless one says otherwise."""

_TIMEOUTS = ("rollout_timeout", "eval_timeout", "train_timeout")

_REGISTRY = Registry().freeze()

_LAWS: tuple[Mapping[str, Law], ...] = (
    {},
    *(
        {"rollout": law, "propose": law, "measure": law, "commit": Constant(0.2), "train": law}
        for law in (Constant(1.0), Uniform(0.5, 1.5), LogNormal(1.0, 1.0), Pareto(1.0, 1.5))
    ),
)
"""How long work takes: none at all, always as long, or up to heavy tails."""


@attrs.frozen(kw_only=True)
class Rehearsed:
    """
    What a rehearsal came to.

    Args:
        digest: One number for all decisions, versions and the final state.
        memory: What the aggregator remembers at the end.
        stop_reason: Why it ended.
        error: What ended it, when that is ``error`` or ``stalled``.
        faults: What went wrong, and how often; injected faults among it.
        statistics: The counts of everything.
        journal: Every event.
        commits: The calls of the ledger, each with how many events came before it.
    """

    digest: str
    memory: Json
    stop_reason: str
    error: Fault | None
    faults: tuple[tuple[Fault, int], ...]
    statistics: Statistics
    journal: Journal
    commits: tuple[tuple[int, CommitCall], ...]


@attrs.frozen(kw_only=True)
class Rehearsal:
    """
    A run of one's own parts that can be repeated: simulated, crashed, or played by real drivers.

    Args:
        aggregator: Makes the aggregator.
        domain: Makes the domain.
        seed: The run's seed, and that of all faults.
        options: The run's other options, as ``run`` takes them.
        durations: How long each kind of work takes, in virtual seconds.
        fault_rate: The share of calls that hang, raise, give NaN or 5 MB, are answered twice or late.
        race_rate: The share of commits before which somebody else commits.
        outage: Every paid call raises from the first of these numbers on, as many as the second says.
        faulty: The kinds of calls that may suffer something; empty for all.
    """

    aggregator: Callable[[], Any]
    domain: Callable[[], Domain]
    seed: int = 0
    options: Mapping[str, Any] = attrs.field(factory=dict[str, Any])
    durations: Mapping[str, Law] = attrs.field(factory=dict[str, Law])
    fault_rate: float = 0.0
    race_rate: float = 0.0
    outage: tuple[int, int] = (0, 0)
    faulty: frozenset[str] = frozenset()

    @classmethod
    def draw(
        cls,
        seed: int,
        *,
        aggregator: Callable[[], Any],
        domain: Callable[[], Domain],
        **options: Any,
    ) -> Self:
        """
        The rehearsal of a seed: a short run, whose options and faults the seed draws.

        Args:
            seed: Equal seeds give equal rehearsals.
            aggregator: Makes the aggregator.
            domain: Makes the domain.
            options: Options of the run that are not drawn.
        """
        rng, part = keyed_rng(seed, "rehearsal"), aggregator()
        drawn = _draw_options(seed, part.batch)
        if getattr(part, "learns_from", "proposals") == "outcomes":
            drawn |= _draw_groups(seed, part, options)
        return cls(
            aggregator=aggregator,
            domain=domain,
            seed=seed,
            options={**drawn, **options},
            durations=rng.choice(_LAWS),
            fault_rate=rng.choice([0.0, 0.1, 0.2]),
            race_rate=rng.choice([0.0, 0.0, 0.3]),
            outage=rng.choice([(0, 0), (0, 0), (0, 0), (rng.randint(5, 30), rng.randint(3, 15))]),
        )

    # ------------------------------------------------------------------ what can be done with it

    def simulate(self, follow: Follow | None = None, *, audited: bool = True) -> Rehearsed:
        """
        Run it under the simulated driver, with an auditor who looks at every event.

        Args:
            follow: Told each event and the machine's instructions, when given.
            audited: Whether there is an auditor; without one a run goes on that is wrong already.

        Raises:
            AuditError: the run did something that no run may do, or did not end.
            MachineError: the machine found itself wrong.
        """
        return self._simulated(Stage.of(self, "simulated"), self.faults, follow, audited=audited)

    def record(self) -> Script:
        """
        Run it likewise, and keep what is needed to play it again.

        Raises:
            AuditError: see ``simulate``.
            MachineError: see ``simulate``.
        """
        recorder = _Recorder(self.faults)
        rehearsed = self._simulated(Stage.of(self, "simulated"), recorder)
        rows = tuple(rehearsed.journal.rows)
        return Script(rows=rows, answers=recorder.answers, digest=rehearsed.digest)

    def play(self, script: Script, driver: str, *, patience: float = PATIENCE) -> str:
        """
        Play a script that it recorded by a real driver, and return the digest, which is the script's.

        Args:
            script: What ``record`` gave.
            driver: ``threads``, ``asyncio``, or ``serial`` for one in sync mode.
            patience: Seconds that it may take, under the first two; one that hangs is given up then.

        Raises:
            ScriptError: it did something else than the script says, or did not go on.
            OptionError: the driver can't run it.
        """
        if driver not in PLAY:
            hint = suggestion(driver, PLAY)
            raise ScriptError(f"nothing plays a script by {driver!r}.{hint} Give {', '.join(PLAY)}")
        stage = Stage.of(self, driver)
        turns = Turns(script, stage.engine)
        look_over(stage.engine, turns.follow)
        try:
            PLAY[driver](turns, stage.started, patience)
        finally:
            stage.engine.bench.close()
        return stage.engine.machine.digest

    def take_up(self, rehearsed: Rehearsed, crash: int) -> str:
        """
        Crash after so many events of a run that was simulated, go on with new parts, and return the
        digest, which is the run's.

        Raises:
            ReplayDivergence: a step that was run again asked for something else.
            AuditError: it does not end.
        """
        stage = Stage.of(self, "simulated", resumed=True)
        for before, call in rehearsed.commits:
            if before < crash:
                stage.ledger.commit(call.expected, call.artifact, key=call.key, message="")
        simulation = self._simulation(stage, self.faults)
        assert isinstance(stage.engine.lookups, ResumedLookups)
        recovery = Recovery(stage.engine, stage.engine.lookups)
        simulation.recover(rehearsed.journal.rows[:crash], recovery)
        to_the_end(simulation, None)
        return stage.engine.machine.digest

    # ------------------------------------------------------------------ how

    @property
    def faults(self) -> Faults:
        """
        What its calls suffer.
        """
        timeouts = [self.options.get(name) for name in _TIMEOUTS]
        return Faults(
            seed=self.seed,
            rate=self.fault_rate,
            timeout=max((timeout for timeout in timeouts if timeout is not None), default=0.0),
            # A timeout that comes early is a fault, of whatever kind of call it strikes.
            early_timers=EARLY if self.fault_rate and not self.faulty else 0.0,
            outage=self.outage,
            kinds=self.faulty,
        )

    def _simulation(self, stage: Stage, tamper: Faults | _Recorder) -> Simulation:
        return Simulation(
            engine=stage.engine, seed=self.seed, durations=self.durations, tamper=tamper
        )

    def _simulated(
        self,
        stage: Stage,
        tamper: Faults | _Recorder,
        follow: Follow | None = None,
        *,
        audited: bool = True,
    ) -> Rehearsed:
        commits: list[tuple[int, CommitCall]] = []

        def note(event: Event, out: list[Instruction]) -> None:
            if follow is not None:
                follow(event, out)
            calls = [instruction.call for instruction in out if isinstance(instruction, Run)]
            before = len(stage.journal.rows)
            most_events(before)
            commits.extend((before, call) for call in calls if isinstance(call, CommitCall))

        if audited:
            look_over(stage.engine, stage.auditor().follow)
        look_over(stage.engine, note)
        to_the_end(self._simulation(stage, tamper), stage.started)
        stage.engine.bench.close()
        machine = stage.engine.machine
        if audited:
            machine.validate()
        return Rehearsed(
            digest=machine.digest,
            memory=machine.memory,
            stop_reason=machine.stop_reason or "",
            error=machine.error,
            faults=machine.faults,
            statistics=machine.statistics(),
            journal=stage.journal,
            commits=tuple(commits),
        )


def _draw_options(seed: int, batch: int) -> dict[str, Any]:
    rng = keyed_rng(seed, "options")
    n_workers = rng.randint(1, 6)
    sync = rng.random() < 0.25
    return {
        "mode": "sync" if sync else "async",
        "n_workers": n_workers,
        "slots": n_workers + rng.randint(0, 3),
        "round_size": rng.randint(1, 6),
        "refresh_interval": rng.choice([1, 1, 2]),
        "async_ratio": rng.choice([0, 1, 2, 3, 8]),
        "resync": rng.choice(["commit", "lag"]),
        "max_rollouts": rng.randint(2, 4) + batch * rng.choice([1, 1, 2]),
        "max_seconds": rng.choice([None, None, None, rng.uniform(5.0, 30.0)]),
        "carry_limit": rng.choice([0, 2, 32]),
        "stall_patience": rng.choice([1, 3, 50]),
        "rollout_timeout": rng.choice([3.0, 6.0]),
        "eval_timeout": rng.choice([3.0, 6.0]),
        "round_timeout": rng.choice([None, None, rng.uniform(1.0, 8.0)]),
        "straggler": rng.choice(["count", "count", "hedge", "cancel"]),
        "final_draws": 1,
        "train_timeout": rng.choice([3.0, 6.0]),
        "max_train_errors": 1000,
    }


def _draw_groups(seed: int, part: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """
    Options for an aggregator that learns from outcomes, which go together with those that are given.
    """
    rng, size = keyed_rng(seed, "groups"), getattr(part, "group_size", 1)
    staleness = max(rng.choice([0, 1, 1, 2, 3]), getattr(part, "updates_per_step", 1) - 1)
    policy = rng.choice(["wait", "wait", "guarded", "drop", "soft"])
    waits = policy in ("wait", "guarded") and "policy" not in given
    oversample = rng.choice([1.0, 1.0, 1.5]) if staleness and "max_staleness" not in given else 1.0
    return {
        "max_rollouts": size * (part.batch * rng.choice([1, 2, 3, 4]) + rng.randint(0, 2)),
        "policy": policy,
        "max_staleness": staleness,
        "admit_ahead": rng.choice([0, 1, 1, 2]),
        "oversample_factor": oversample,
        "batch_order": rng.choice(["completion", "admission"]) if waits else "completion",
        "bases": rng.choice(["head", "head", "stamp"]),
        "member_attempts": rng.randint(1, 3),
        "lost_groups": rng.choice(["drop", "drop", "stop"]),
        "stall_alarm": rng.choice([2.0, 600.0]),
        "round_timeout": None,
    }


@attrs.define(eq=False)
class _Recorder:
    """
    Injects faults, and keeps what each call gave before.
    """

    faults: Faults
    answers: dict[int, Done | Failed] = attrs.field(factory=dict[int, "Done | Failed"])

    def __call__(self, call: Call, seconds: float, answer: Done | Failed) -> list[Delivery]:
        self.answers[call.id] = answer
        return self.faults(call, seconds, answer)

    def deliveries(self, call: Call) -> int:
        return self.faults.deliveries(call)

    def early(self, wake_at: float) -> bool:
        return self.faults.early(wake_at)


def _ignore(notice: object) -> None:
    del notice


@attrs.frozen(kw_only=True)
class Stage:
    """
    One run of a rehearsal, put together from new parts.
    """

    options: RunOptions
    aggregator: Any
    engine: Engine
    ledger: ContendedLedger
    journal: Journal

    @classmethod
    def of(cls, rehearsal: Rehearsal, driver: str, *, resumed: bool = False) -> Stage:
        domain = rehearsal.domain()
        given = {**rehearsal.options, "seed": rehearsal.seed, "driver": driver}
        options = make_options({**given, "aggregator": rehearsal.aggregator()}, domain.defaults)
        domain = domain.virtual() if driver == "simulated" else domain
        splits, initial = domain.tasks(), Artifact(domain.initial())
        config = make_config(domain, splits, options)
        gather = gathered(domain, splits, options)
        chosen = _REGISTRY.describe("domain", domain)
        parts = Parts.look_up(_REGISTRY, options, initial, chosen, gather, None)
        blueprint = make_blueprint(domain, config, options, parts)
        ledger = ContendedLedger(
            initial, seed=rehearsal.seed, rate=rehearsal.race_rate, rival=put_back
        )
        plugins: Lookups = PluginLookups(
            aggregator=parts.aggregator,
            policy=parts.policy,
            sampler=parts.sampler,
            estimator=parts.estimator,
        )
        lookups = ResumedLookups(plugins) if resumed else plugins
        tasks = (*splits.train, *splits.held_out, *splits.test, *splits.oracle)
        journal = Journal()
        engine = Engine(
            machine=blueprint.machine(lookups),
            lookups=lookups,
            steps=StepHost(parts.aggregator, domain, blueprint.config, options.blast_radius),
            bench=Workbench(
                domain=domain,
                ledger=ledger,
                tasks={task.id: task for task in tasks},
                seed=rehearsal.seed,
                executor=parts.executor,
                max_proposal_bytes=options.max_proposal_bytes,
            ),
            recorder=_ignore,
            tell=Telling(()),
            opening=_opening(domain, driver, rehearsal.seed),
            journal=journal,
        )
        return cls(
            options=options,
            aggregator=parts.aggregator,
            engine=engine,
            ledger=ledger,
            journal=journal,
        )

    @property
    def started(self) -> Started:
        """
        The first event.
        """
        head = self.ledger.snapshot()
        return Started(0.0, head, self.ledger.snapshot("stable"))

    def auditor(self) -> Auditor:
        """
        Somebody to keep accounts of it.
        """
        options = self.options
        alpha = options.least_alpha if options.alpha is None else options.alpha
        proposals = self.engine.machine.config.learns_from == "proposals"
        plain = proposals and not isinstance(self.aggregator, Selector)
        bounded = options.policy == "guarded" and plain
        return Auditor(
            engine=self.engine,
            gate=copy(self.engine.machine._state.gate),  # type: ignore[arg-type] # the two that a blueprint names
            alpha=alpha if bounded else None,
            carried=options.carry_limit,
        )


def _opening(domain: Domain, driver: str, seed: int) -> RunStarted:
    return RunStarted(
        run=domain.name, mode="", driver=driver, seed=seed, choices={}, notes=(), limits={}
    )
