"""
Everything that one seed chooses of a random run: options, parts, faults and durations.
"""

from __future__ import annotations

import random
from typing import Any

import attrs

from headway.durations import Constant, Law, LogNormal, Pareto, Uniform
from headway.gate import Barrier, LagGate, Reservations
from headway.keyed import keyed_rng
from headway.machine import MachineConfig
from headway.testing._toy import ToyDomain

_ROLLOUTS = {(False, True): (20, 25), (True, True): (31, 37)}
"""Rollouts, by (erratic, noisy), that make about as many events as the others' 38 to 44."""


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
        "alpha": staleness - updates + 1,
        "max_rollouts": 2 * rollouts,
        "max_steps": 1,
        "sync": False,
    }
