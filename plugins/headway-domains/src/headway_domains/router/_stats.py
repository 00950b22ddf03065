"""
How the reference runtime is set, and what it reports.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from headway.contracts import Json
from headway.errors import OptionError
from headway.options import RunOptions
from headway.result import Result
from headway_domains._options import number_of

_RENAMED = {
    "target_accuracy": "target_reward",
    "duration_timeout_factor": "straggler_factor",
}
"""What the core calls the same thing."""

_OF_THE_DOMAIN = "noise"


@attrs.frozen(kw_only=True)
class AsyncConfig:
    """
    How ``AsyncHeadway`` runs; what is not here has the default of ``headway.run``.

    Args:
        n_workers: Rollouts at once.
        async_ratio: The lag budget, in versions and in cards.
        noise: The chance that a proposed label is wrong.
        target_accuracy: The held-out accuracy that ends the run, 0 to 1.
        max_seconds: The limit of the whole run, in seconds.
        oracle_budget: Measurements that audits may take.
        stall_patience: Stale sweeps without a commit before every worker is handed the head.
        duration_timeout_factor: A rollout that takes this many times its prediction is a straggler.
        seed: Every random choice of the run depends on it.
        self_verify: Whether each proposal is tried on its own task before it becomes a card.

    Raises:
        OptionError: a value cannot be used.
    """

    n_workers: int = 6
    async_ratio: int = 3
    noise: float = 0.15
    target_accuracy: float = 0.98
    max_seconds: float = 20.0
    oracle_budget: int = 400
    stall_patience: int = 150
    duration_timeout_factor: float = 3.0
    seed: int = 0
    self_verify: bool = True

    def __attrs_post_init__(self) -> None:
        for name in attrs.fields_dict(AsyncConfig):
            if getattr(self, name) is None:
                raise OptionError(name, None, "Give a value, or leave it out for its default.")
        number_of(self.noise, option="noise", most=1)
        number_of(self.target_accuracy, option="target_accuracy", most=1)
        own = {there: here for here, there in _RENAMED.items()}
        try:
            RunOptions(**self.options())
        except OptionError as error:
            name = own.get(error.option, error.option)
            raise OptionError(name, error.value, error.remedy) from None

    def options(self) -> dict[str, Any]:
        """
        The same as options of ``headway.run``.

        >>> AsyncConfig(target_accuracy=0.95).options()["target_reward"]
        0.95
        """
        given = attrs.asdict(self)
        return {_RENAMED.get(k, k): v for k, v in given.items() if k != _OF_THE_DOMAIN}


@attrs.frozen(kw_only=True)
class AsyncStats:
    """
    What a run of ``AsyncHeadway`` came to.

    Args:
        rollouts: Rollouts that were begun.
        proposals: Evidence cards made of them.
        sweeps: Sweeps of the merger.
        commits: Versions committed.
        fused: Cards that were committed together with another one.
        discarded_stale: Cards discarded as stale.
        conflicts_dropped: Cards discarded because they contradicted a better one.
        forced_refreshes: Workers handed the head because nothing committed.
        stragglers_checkpointed: Rollouts that overran their prediction.
        retired_workers: Worker places that gave up.
        oracle_used: Measurements that audits took; rewards being deterministic, a second look at the
            held-out tasks costs none.
        final_dev_accuracy: Held-out accuracy of the newest version; None when it wasn't measured.
        final_stable_accuracy: That of the version which was promoted last, the first one's when none
            was; None without a branch ``stable``.
        wallclock: Seconds of the run on the driver's clock.
        error: What ended the run, when it failed.
        timeline: Rollouts so far and held-out accuracy, from the start on and at each sweep.
    """

    rollouts: int
    proposals: int
    sweeps: int
    commits: int
    fused: int
    discarded_stale: int
    conflicts_dropped: int
    forced_refreshes: int
    stragglers_checkpointed: int
    retired_workers: int
    oracle_used: int
    final_dev_accuracy: float | None
    final_stable_accuracy: float | None
    wallclock: float
    error: str | None
    timeline: tuple[tuple[int, float], ...]

    @classmethod
    def of(cls, result: Result, *, fused: int, stable: float | None) -> AsyncStats:
        """
        The figures of a finished run.

        Args:
            result: What ``headway.run`` gave.
            fused: See the class; the result does not say which cards went together.
            stable: The accuracy of ``result.stable_state``, which a run does not measure.
        """
        fault = result.error
        return cls(
            rollouts=result.rollouts,
            proposals=sum(result.decisions.values()),
            sweeps=len(result.history),
            commits=result.version,
            fused=fused,
            discarded_stale=result.stale_discarded,
            conflicts_dropped=result.decisions.get("discarded:conflict", 0),
            forced_refreshes=result.forced_refreshes,
            stragglers_checkpointed=result.stragglers,
            retired_workers=result.retired_workers,
            oracle_used=_audited(result.memory),
            final_dev_accuracy=result.final_reward,
            final_stable_accuracy=stable,
            wallclock=result.wallclock,
            error=None if fault is None else f"{fault.where}: {fault.type}: {fault.message}",
            timeline=_timeline(result),
        )


def _audited(memory: Json) -> int:
    """
    What the standard aggregator remembers to have spent on audits; others spend nothing.
    """
    held: Mapping[str, Any] = memory if isinstance(memory, Mapping) else {}
    return int(held.get("audited", 0))


def _timeline(result: Result) -> tuple[tuple[int, float], ...]:
    points = [(0, result.baseline_reward)]
    points += [(sweep.rollouts, sweep.reward) for sweep in result.history]
    return tuple((rollouts, reward) for rollouts, reward in points if reward is not None)
