"""
What a run gives back.
"""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

import attrs

from headway._words import in_short
from headway.codec import decode, encode
from headway.contracts import Fault, Json, LedgerEntry, SweepDone, TotalUsage
from headway.errors import HeadwayError, OptionError
from headway.machine import Score

_FORMAT = 1
"""The number of the format in which results are saved."""


def _by_word(mapping: Mapping[str, Any]) -> Mapping[str, Any]:
    return MappingProxyType(dict(mapping))


def _by_number(mapping: Mapping[int, int]) -> Mapping[int, int]:
    return MappingProxyType(dict(mapping))


@attrs.frozen(kw_only=True)
class Failure:
    """
    Something that went wrong during a run, and how often.

    Args:
        fault: What went wrong the first time, and where.
        count: How often.
    """

    fault: Fault
    count: int


@attrs.frozen(kw_only=True)
class Result:
    """
    The immutable result of a run: its mappings are read-only, and ``state`` is a new copy each time.

    Args:
        state: The final state of the artifact.
        files: The final state as readable files, path to text; see ``rendered`` too.
        baseline_reward: Mean held-out reward of the first head; None when it wasn't measured.
        final_reward: Mean held-out reward of the final head; see ``scores`` for more.
        test_reward: Mean reward of the final head on the test tasks; None without test tasks.
        scores: The same three with interval, draws and source, by ``baseline``, ``final``, ``test``.
        history: One notice a sweep, in order.
        history_of: What these sweeps end: ``rounds`` in sync mode, ``updates`` where the aggregator
            learns from outcomes, else ``sweeps`` of their own.
        deterministic: Whether rewards are: ``declared``; ``assumed``, since two draws of the baseline
            agreed and nothing contradicted it; ``contradicted`` after that; ``noisy``, declared or
            seen; ``unknown``, when the run ended before it was found out.
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
        memory: What the aggregator remembered at the end, as the caller's own copy; None when it
            remembers nothing.
        rollouts: Tickets admitted.
        calls: Paid calls by kind.
        usage: What all paid calls used.  A call that was given up and had not answered by the end
            has not said what it spent.
        slot_seconds: What the slots were used for, in seconds: ``rollout`` (with proposals and
            verifications), ``measure``, ``reverify`` (of rebased cards, and the rebases),
            ``idle_waiting`` (a slot and a worker place were free and the search kept the next
            rollout back: a barrier, the lag budget, the batch that is decided) and ``idle``.
            Together they are the slots times ``wallclock``.
        merge_seconds: Seconds of the aggregator's own code and of rebases.
        ledger_seconds: Seconds from the start of a commit to the ledger's answer.
        trainings: Trainings begun.
        train_seconds: Seconds from the start of a training to its answer, or until it was given up.
        worker_starved_seconds: Seconds for which worker places were free while the run searched,
            summed over the places.
        wallclock: Seconds of the run on the driver's clock; virtual under ``simulated``.
        forced_refreshes: Workers refreshed because the pipeline stalled.
        stragglers: Rollouts that overran their prediction.
        hedges: Second copies that were begun of calls that took too long.
        retired_workers: Worker places that gave up.
        stale_considered: Cards that a sweep took, each counted once.
        stale_discarded: Cards discarded as stale.
        eta_histogram: Judged cards by their last eta.
        committed_by_eta: Committed cards by their last eta.
        commit_races: Commits lost to somebody else.
        late: Answers that came after their call was over.
        no_ops: Proposals that would have changed nothing.
        sessions: Processes that worked on the run, one after the other.
        repeated_calls: Paid calls that were made again, since they were in flight when a process ended.
        durability: What the versions survive: the loss of ``power``, the end of the ``process``, or
            ``none`` of that.
        failures: What went wrong and how often.
        ledger_log: The committed versions, oldest first.
        splits: The ids of the tasks by split: ``train``, ``held_out``, ``test``,
            ``oracle``.
        choices: The effective plug-ins by kind, with distribution and version.
        updates: Batches of outcomes that were used; 0 for an aggregator that learns from proposals.
        update_waits: Seconds by what the next batch waited for: ``training``, a step had one; ``bound``,
            enough groups were complete, and an older one had to come first; ``groups``, too few were;
            ``nothing``.
        lost_groups: Groups that were given up before they were complete, by why: how a member ended,
            ``stale``, or ``cancelled`` at the end of the run.
        notes: What was said before the run started.
        unscored: Why ``final_reward`` is the gate's last measurement, or unknown, or else why
            ``test_reward`` is, though there are test tasks; None when both were measured, or when
            ``notes`` says so already.
    """

    _state: Json = attrs.field(alias="state")
    files: Mapping[str, str] = attrs.field(converter=_by_word)
    baseline_reward: float | None
    final_reward: float | None
    test_reward: float | None
    scores: Mapping[str, Score] = attrs.field(converter=_by_word)
    history: tuple[SweepDone, ...]
    history_of: str
    deterministic: str
    completions: Mapping[str, int] = attrs.field(converter=_by_word)
    decisions: Mapping[str, int] = attrs.field(converter=_by_word)
    stop_reason: str
    error: Fault | None
    mode: str
    driver: str
    seed: int
    digest: str
    version: int
    stable_version: int | None
    _stable_state: Json = attrs.field(alias="stable_state")
    _memory: Json = attrs.field(alias="memory")
    rollouts: int
    calls: Mapping[str, int] = attrs.field(converter=_by_word)
    usage: TotalUsage
    slot_seconds: Mapping[str, float] = attrs.field(converter=_by_word)
    merge_seconds: float
    ledger_seconds: float
    trainings: int = 0
    train_seconds: float = 0.0
    worker_starved_seconds: float
    wallclock: float
    forced_refreshes: int
    stragglers: int
    hedges: int
    retired_workers: int
    stale_considered: int
    stale_discarded: int
    eta_histogram: Mapping[int, int] = attrs.field(converter=_by_number)
    committed_by_eta: Mapping[int, int] = attrs.field(converter=_by_number)
    commit_races: int
    late: int
    no_ops: int
    sessions: int
    repeated_calls: int
    durability: str
    failures: tuple[Failure, ...]
    ledger_log: tuple[LedgerEntry, ...]
    splits: Mapping[str, tuple[str, ...]] = attrs.field(converter=_by_word)
    choices: Mapping[str, str] = attrs.field(converter=_by_word)
    notes: tuple[str, ...]
    unscored: str | None
    updates: int = 0
    update_waits: Mapping[str, float] = attrs.field(factory=dict[str, float], converter=_by_word)
    lost_groups: Mapping[str, int] = attrs.field(factory=dict[str, int], converter=_by_word)

    @property
    def state(self) -> Json:
        """
        The final state of the artifact, a copy of the caller's own.
        """
        return copy.deepcopy(self._state)

    @property
    def stable_state(self) -> Json:
        """
        The state of the version that was promoted last, a copy of the caller's own; None without one.
        """
        return copy.deepcopy(self._stable_state)

    @property
    def memory(self) -> Json:
        """
        What the aggregator remembered at the end, as the caller's own copy.
        """
        return copy.deepcopy(self._memory)

    @property
    def rendered(self) -> str | Mapping[str, str]:
        """
        The text of the only file when the domain renders one; else all files, path to text.
        """
        return next(iter(self.files.values())) if len(self.files) == 1 else self.files

    @property
    def acceptance_by_eta(self) -> Mapping[int, float]:
        """
        The share of judged cards that were committed, by their last eta.
        """
        judged = self.eta_histogram.items()
        return {eta: self.committed_by_eta.get(eta, 0) / count for eta, count in judged}

    @property
    def mean_age(self) -> float | None:
        """
        How many commits committed cards were behind the head, on average; None when there are none.
        """
        count = sum(self.committed_by_eta.values())
        return sum(eta * n for eta, n in self.committed_by_eta.items()) / count if count else None

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

    def __str__(self) -> str:
        """
        A few lines: the rewards, why the run ended, what it took and what failed.
        """
        return in_short(self)

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
        return {name: _plain(value) for name, value in self._held().items()}

    def _held(self) -> dict[str, Any]:
        return {str(field.alias): getattr(self, field.name) for field in attrs.fields(Result)}

    def save(self, path: str | os.PathLike[str]) -> None:
        """
        Write the result to a file that ``load`` reads; the file is written whole or not at all.

        Raises:
            OptionError: the folder that it would be in doesn't exist.
            HeadwayError: the file can't be written.
        """
        place = Path(path)
        if not place.parent.is_dir():
            remedy = f"There is no folder {place.parent}: make it first."
            raise OptionError("path", str(place), remedy)
        draft = place.with_name(f".{place.name}.part")
        try:
            draft.write_text(json.dumps(self._saved()) + "\n", encoding="utf-8")
            draft.replace(place)
        except OSError as error:
            raise HeadwayError(f"cannot write {place}: {error.strerror}") from error
        finally:
            with suppress(OSError):
                draft.unlink(missing_ok=True)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Result:
        """
        Read a result that ``save`` wrote; it equals the one that was saved.

        Raises:
            OptionError: there is no such file, or it holds no whole result.
        """
        place = Path(path)
        try:
            return _restored(json.loads(place.read_text(encoding="utf-8")))
        except OSError as error:
            told = f"The file can't be read: {error.strerror}. Give one that save() wrote."
            raise OptionError("path", str(place), told) from error
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            told = f"It holds no result that this version can read ({error}); give one from save()."
            raise OptionError("path", str(place), told) from error

    def _saved(self) -> Json:
        fields = {name: _written(value) for name, value in self._held().items()}
        return {"headway_result": _FORMAT, "fields": fields}

    def __reduce__(self) -> tuple[Any, ...]:
        return (_restored, (self._saved(),))


def _written(value: Any) -> Json:
    """
    A field as JSON: a read-only mapping by its pairs, since keys need not be strings.
    """
    if isinstance(value, MappingProxyType):
        held = cast("Mapping[object, Any]", value)
        return {"pairs": [[key, encode(item)] for key, item in held.items()]}
    if isinstance(value, tuple) and all(isinstance(item, Failure) for item in _items(value)):
        return {"failures": [[encode(item.fault), item.count] for item in _items(value)]}
    return {"value": encode(value)}


def _items(value: Any) -> tuple[Any, ...]:
    return tuple(value)


def _read(field: Json) -> Any:
    if "pairs" in field:
        return {key: decode(item) for key, item in field["pairs"]}
    if "failures" in field:
        held = field["failures"]
        return tuple(Failure(fault=decode(fault), count=count) for fault, count in held)
    return decode(field["value"])


def _restored(saved: Json) -> Result:
    if isinstance(saved, dict) and {"stop_reason", "digest"} <= saved.keys():
        message = (
            "it is for reading, as to_json() gives it; a run's folder has saved.json beside it"
        )
        raise ValueError(message)
    if not isinstance(saved, dict) or "headway_result" not in saved:
        message = "it has no headway_result in it"
        raise ValueError(message)
    held = cast("Mapping[str, Any]", saved)
    if held["headway_result"] != _FORMAT:
        message = f"its format is {held['headway_result']!r}, not {_FORMAT}"
        raise ValueError(message)
    return Result(**{name: _read(field) for name, field in held["fields"].items()})


def _plain(value: Any) -> Json:
    if hasattr(value, "__attrs_attrs__"):
        return _plain(attrs.asdict(value, recurse=False))
    if isinstance(value, Mapping):
        held = cast("Mapping[object, Any]", value)
        return {str(key): _plain(item) for key, item in held.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in cast("Iterable[Any]", value)]
    return value
