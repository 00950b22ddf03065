"""
What every observer must do, as tests that its author runs.

::

    from headway.testing.conformance import ObserverContract

    class TestBell(ObserverContract):
        @pytest.fixture
        def make(self):
            return Bell
"""

from __future__ import annotations

import inspect
from typing import Any, get_args

import attrs
import pytest

from headway.contracts import (
    Artifact,
    CardDecided,
    Decision,
    Fault,
    FaultSeen,
    GroupDropped,
    HeadCommitted,
    Notice,
    RunFinished,
    RunStarted,
    Snapshot,
    SweepDone,
    SweepOutcome,
    TicketEnded,
    UpdateDone,
    canonical_json,
)
from headway.errors import shown
from headway.testing.conformance._asking import asked
from headway.testing.conformance._common import Contract, Make, insist
from headway.testing.conformance._runs import DRIVEN, faults, toy_groups, toy_run


@attrs.frozen(kw_only=True)
class Unheard:
    """
    A notice that a later version may bring.
    """

    now: float


def _swept(outcome: SweepOutcome, reward: float | None) -> SweepDone:
    counts = {"considered": 2, "committed": 1, "stale": 0, "version": 1, "rollouts": 3, "calls": 9}
    return SweepDone(now=1.5, sweep=1, outcome=outcome, reward=reward, **counts)


def _updated(groups: dict[int, int], blocking: int | None = None) -> UpdateDone:
    counts = {"update": 1, "version": 1, "outstanding": 4, "ready": 1, "slack": 2}
    seconds, dropped = (
        dict.fromkeys(("training", "bound", "groups", "nothing"), 0.5),
        {"timeout": 1},
    )
    told: dict[str, Any] = {"groups": groups, "seconds": seconds, "dropped": dropped, **counts}
    return UpdateDone(now=1.6, blocking=blocking, **told)


def _started() -> RunStarted:
    choices, limits = {"ledger": "memory (headway 0.1)"}, {"max_rollouts": 3}
    fixed: dict[str, Any] = {
        "run": "toy",
        "mode": "async",
        "driver": "threads",
        "seed": 0,
        "notes": ("a note",),
    }
    return RunStarted(choices=choices, limits=limits, **fixed)


def notices() -> list[Any]:
    """
    One run's notices: each type there is, with what may be missing in it there and missing.
    """
    head = Snapshot(1, Artifact({"a.md": "line\n\u00e9 \U0001f600", "b": [1, {"c": None}]}))
    fault = Fault(where="rollout", type="OSError", message="x" * 5_000, task="train-1")
    nobody = Fault(where="backend", type="", message="")
    decisions = (
        Decision(card=0, kind="committed", reason="", version=1),
        Decision(card=1, kind="discarded", reason="stale", version=1),
        Decision(card=2, kind="settled", reason="max_iters", version=1),
    )
    return [
        _started(),
        TicketEnded(0.5, 0, "train-0", "ok", 0.25),
        TicketEnded(0.5, 1, "train-1", "timeout", None),
        *(_swept(outcome, None) for outcome in get_args(SweepOutcome)),
        _swept("committed", 0.75),
        *(CardDecided(now=1.5, decision=decision, eta=2) for decision in decisions),
        HeadCommitted(now=1.5, head=head, cards=(0, 1)),
        HeadCommitted(now=1.6, head=head, cards=()),
        _updated({}),
        _updated({0: 1, 3: 0}, blocking=2),
        GroupDropped(now=1.6, group=4, task="train-0", reason="failed"),
        FaultSeen(now=1.7, fault=fault),
        FaultSeen(now=1.7, fault=nobody),
        RunFinished(now=2.0, stop_reason="max_iters", version=1, digest="0" * 64),
    ]


def _content(notice: Any) -> str:
    """
    All that a notice holds, spelled out; that of an artifact too, which nothing freezes.
    """
    found = attrs.asdict(notice)
    if isinstance(notice, HeadCommitted):
        found["head"] = [notice.head.version, notice.head.artifact.value]
    return canonical_json(found)


class ObserverContract(Contract):
    """
    Tests for any observer.

    An observer may be any function that takes one notice.
    """

    def test_it_is_an_observer(self, make: Make) -> None:
        """
        A plain function, or an object that can be called; nobody would await a coroutine.
        """
        made = make()
        call = made if inspect.isroutine(made) else getattr(made, "__call__", None)  # noqa: B004 - the method itself is looked at
        insist(
            callable(made) and not isinstance(made, type),
            f"make() gave {shown(made)}, which is no observer",
            do="give a function of one notice, or an object with __call__(self, notice)",
        )
        insist(
            not inspect.iscoroutinefunction(call),
            f"make() gave {shown(made)}, which is async",
            do="write def, not async def: nobody awaits what an observer returns",
        )

    def test_every_kind_of_notice_has_an_example(self) -> None:
        """
        The other tests show an observer every type of notice that there is.
        """
        assert set(get_args(Notice)) == {type(notice) for notice in notices()}, (
            "the kit knows other notices than the contracts\n-> update headway"
        )

    def test_it_takes_every_notice(self, make: Make) -> None:
        """
        Of every type, in a run's order, with what may be missing missing; it returns nothing.
        """
        observer = make()
        for notice in notices():
            told = _told(observer, notice)
            insist(
                told is None,
                f"for {shown(notice)} it returned {shown(told)}",
                do="return nothing: an answer is not looked at, and a coroutine would not be awaited",
            )

    @pytest.mark.parametrize("type_of", get_args(Notice), ids=lambda kind: kind.__name__)
    def test_it_takes_any_notice_first(self, make: Make, type_of: type) -> None:
        """
        A run that is taken up, or that ends at once, does not begin as others do.
        """
        for notice in notices():
            if isinstance(notice, type_of):
                _told(make(), notice)

    def test_it_passes_over_what_it_does_not_know(self, make: Make) -> None:
        """
        A later version may tell more.
        """
        _told(make(), Unheard(now=1.0))

    def test_it_changes_no_notice(self, make: Make) -> None:
        """
        Others are told the same object, and the head in it is the run's own.
        """
        observer = make()
        for notice in notices():
            before = _content(notice)
            _told(observer, notice)
            insist(
                _content(notice) == before,
                f"it changed {shown(before)} to {shown(_content(notice))}",
                do="change a copy: copy.deepcopy(notice.head.artifact.value)",
            )

    @pytest.mark.parametrize(("mode", "driver"), DRIVEN)
    def test_a_run_comes_to_the_same_with_it(self, make: Make, mode: str, driver: str) -> None:
        """
        Nobody needs it: where the order is fixed the digest is the same without, and it is told of no
        fault of its own anywhere.
        """
        result = toy_run(mode, driver, observers=(make(),))
        insist(
            not faults(result),
            f"a run with it in {mode} mode under {driver} had faults: {faults(result)}",
            do="mend the first one: 'observer' means that it raised; after three times it is told no more",
        )
        if mode == "sync" or driver == "simulated":
            digests = result.digest, toy_run(mode, driver).digest
            insist(
                digests[0] == digests[1],
                f"the run's digest is {digests[0]} with it and {digests[1]} without",
                do="change nothing that the run uses, such as the artifact of a HeadCommitted",
            )

    @pytest.mark.parametrize(("mode", "driver"), DRIVEN)
    def test_a_run_of_groups_ends_well_with_it(self, make: Make, mode: str, driver: str) -> None:
        """
        It is told of updates there, and has no fault of its own.
        """
        found = faults(toy_groups(mode, driver, observers=(make(),)))
        insist(
            not found,
            f"a run of groups with it in {mode} mode under {driver} had faults: {found}",
            do="mend the first one: 'observer' means that it raised; after three times it is told no more",
        )

    def test_two_of_them_do_not_mind_each_other(self, make: Make) -> None:
        """
        One run may have several, and a program several runs, one after the other.
        """
        one, other = make(), make()
        for observers in ((one, other), (one,)):
            found = faults(toy_run("async", "simulated", observers=observers))
            insist(
                not found,
                f"a run with {len(observers)} of them had faults: {found}",
                do="keep what belongs to a run in the object, and begin anew with RunStarted",
            )


def _told(observer: Any, notice: Any) -> Any:
    do = "pass over what it does not need, and expect nothing that may be None"
    return asked(observer, notice, do=do)
