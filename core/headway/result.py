"""
What a run gives back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

import attrs

from headway.contracts import Fault, Json, LedgerEntry, SweepDone
from headway.machine import Score


@attrs.frozen(kw_only=True)
class Failure:
    """
    Something that went wrong during a run, and how often.
    """

    fault: Fault
    count: int


@attrs.frozen(kw_only=True)
class Result:
    """
    The immutable result of a run.

    Args:
        state: The final state of the artifact.
        files: The final state as readable files, path to text.
        baseline_reward: Mean held-out reward of the first head; None when it wasn't measured.
        final_reward: Mean held-out reward of the final head; see ``scores`` for draws and source.
        test_reward: Mean reward of the final head on the test tasks; None without test tasks.
        scores: The same three with draws and source, by ``baseline``, ``final``, ``test``.
        history: One notice a sweep, in order.
        completions: Ended tickets by how they ended.
        decisions: Decided cards by ``committed``, ``settled`` or ``discarded:reason``.
        stop_reason: Why the run ended.
        error: What ended it, when the reason is ``error`` or ``stalled``.
        mode: ``sync`` or ``async``.
        driver: Who ran it.
        seed: The run's seed.
        digest: The digest of all decisions, versions and the final state.
        version: The final head's version.
        stable_version: The version that was promoted last; None when the ledger has no branch
            ``stable``.
        stable_state: The state of that version.
        rollouts: Tickets admitted.
        calls: Paid calls by kind.
        wallclock: Seconds of the run on the driver's clock; virtual under ``simulated``.
        forced_refreshes: Workers refreshed because the pipeline stalled.
        stragglers: Rollouts that overran their prediction.
        retired_workers: Worker places that gave up.
        stale_considered: Cards that a sweep took, each counted once.
        stale_discarded: Cards discarded as stale.
        eta_histogram: Judged cards by their last eta.
        committed_by_eta: Committed cards by their last eta.
        commit_races: Commits lost to somebody else.
        late: Answers that came after their call was over.
        no_ops: Proposals that would have changed nothing.
        failures: What went wrong and how often.
        ledger_log: The committed versions, oldest first.
        choices: The effective plug-ins by kind, with distribution and version.
        notes: What was said before the run started.
    """

    state: Json
    files: Mapping[str, str]
    baseline_reward: float | None
    final_reward: float | None
    test_reward: float | None
    scores: Mapping[str, Score]
    history: tuple[SweepDone, ...]
    completions: Mapping[str, int]
    decisions: Mapping[str, int]
    stop_reason: str
    error: Fault | None
    mode: str
    driver: str
    seed: int
    digest: str
    version: int
    stable_version: int | None
    stable_state: Json
    rollouts: int
    calls: Mapping[str, int]
    wallclock: float
    forced_refreshes: int
    stragglers: int
    retired_workers: int
    stale_considered: int
    stale_discarded: int
    eta_histogram: Mapping[int, int]
    committed_by_eta: Mapping[int, int]
    commit_races: int
    late: int
    no_ops: int
    failures: tuple[Failure, ...]
    ledger_log: tuple[LedgerEntry, ...]
    choices: Mapping[str, str]
    notes: tuple[str, ...]

    @property
    def converged(self) -> bool:
        """
        Whether the run ended because the target was reached.
        """
        return self.stop_reason == "target_reward"

    @property
    def failed(self) -> bool:
        """
        Whether the run ended because of an error or a stall.
        """
        return self.stop_reason in ("error", "stalled")

    def outcomes(self) -> Mapping[str, int]:
        """
        Finished sweeps by what they came to.
        """
        counts: dict[str, int] = {}
        for sweep in self.history:
            counts[sweep.outcome] = counts.get(sweep.outcome, 0) + 1
        return counts

    def stale_rate(self) -> float:
        """
        The share of considered cards that were discarded as stale; 0.0 when none was considered.
        """
        return self.stale_discarded / self.stale_considered if self.stale_considered else 0.0

    def to_json(self) -> dict[str, Any]:
        """
        The result as one JSON object, keyed by field names.

        Everything in it is a JSON value already: a mapping's keys are strings, a sequence is a list.
        """
        return {field.name: _plain(getattr(self, field.name)) for field in attrs.fields(Result)}


def _plain(value: Any) -> Json:
    if hasattr(value, "__attrs_attrs__"):
        return _plain(attrs.asdict(value, recurse=False))
    if isinstance(value, Mapping):
        held = cast("Mapping[object, Any]", value)
        return {str(key): _plain(item) for key, item in held.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in cast("Iterable[Any]", value)]
    return value
