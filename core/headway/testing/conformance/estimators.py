"""
What every duration estimator must do, as tests that its author runs.

::

    from headway.testing.conformance import DurationEstimatorContract

    class TestMedian(DurationEstimatorContract):
        @pytest.fixture
        def make(self):
            return Median
"""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, ClassVar, TypeAlias

import pytest

from headway.contracts import DurationEstimator, Remembering
from headway.errors import shown
from headway.keyed import keyed_rng
from headway.testing.conformance._asking import asked, spelled
from headway.testing.conformance._common import Contract, Make, insist
from headway.testing.conformance._runs import DRIVEN, faults, toy_run

Seen: TypeAlias = tuple[tuple[float, float], ...]
"""Observations: (cost, seconds) each."""

DO_ANSWER = (
    "do with every cost and every duration that is finite and at least 0, and divide by no 0"
)

LEVELS: tuple[float, ...] = (0.0, 0.01, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1.0)
COSTS: tuple[float, ...] = (0.0, 1e-12, 0.5, 1.0, 2.0, 1e6, 1e12)


def _drawn(name: str, count: int) -> Seen:
    rng = keyed_rng("durations", name)
    return tuple((rng.uniform(0.0, 4.0), rng.lognormvariate(0.0, 1.0)) for _ in range(count))


SERIES: dict[str, Seen] = {
    "one": ((1.0, 2.0),),
    "equal costs": ((1.0, 2.0), (1.0, 3.0), (1.0, 2.5)) * 4,
    "no time": ((1.0, 0.0),) * 5,
    "no cost": ((0.0, 2.0), (0.0, 4.0)),
    "mixed": _drawn("mixed", 60),
    "falling": ((1.0, 9.0), (2.0, 5.0), (3.0, 1.0), (4.0, 0.5)),
    "tiny": ((1e-300, 1e-300), (5e-324, 1e-12), (1.0, 5e-324)),
    "huge": ((1e12, 1e9), (1e13, 1e10), (1.0, 1e9)),
    "one outlier": (*((1.0, 1.0),) * 30, (1.0, 1e9)),
}
"""What an estimator is taught, with what a backend may do."""


def _taught(made: Any, seen: Sequence[tuple[float, float]]) -> Any:
    for cost, seconds in seen:
        asked(made.observe, cost, seconds, do=DO_ANSWER)
    return made


def _answers(made: Any, costs: Sequence[float] = COSTS) -> dict[str, Any]:
    """
    Everything that an estimator says, by what it was asked.
    """
    return {
        **{f"estimate({cost:g})": asked(made.estimate, cost, do=DO_ANSWER) for cost in costs},
        **{
            f"quantile({cost:g}, {level:g})": asked(made.quantile, cost, level, do=DO_ANSWER)
            for cost in costs
            for level in LEVELS
        },
    }


def _same(one: dict[str, Any], other: dict[str, Any], when: str, do: str) -> None:
    for call, answer in one.items():
        insist(
            other[call] == answer,
            f"{call} gave {shown(answer)}, and {when} {shown(other[call])}",
            do=do,
        )


class DurationEstimatorContract(Contract):
    """
    Tests for any duration estimator.

    One that has ``memory`` must be able to go on from it; one that has none passes over those tests.

    Attributes:
        learns: Whether what is predicted follows what was observed.
    """

    learns: ClassVar[bool] = True

    def test_it_is_a_duration_estimator(self, make: Make) -> None:
        """
        An object that has ``observe``, ``estimate`` and ``quantile``.
        """
        made = make()
        insist(
            isinstance(made, DurationEstimator) and not isinstance(made, type),
            f"make() gave {shown(made)}, which is no duration estimator",
            do="give an object with observe(cost, seconds), estimate(cost) and quantile(cost, level)",
        )

    def test_it_knows_nothing_before_it_has_seen_something(self, make: Make) -> None:
        """
        None is nobody's prediction; a default would be taken for knowledge.
        """
        for call, answer in _answers(make()).items():
            insist(
                answer is None,
                f"{call} gave {shown(answer)} before anything was observed",
                do="return None until the first observe",
            )

    @pytest.mark.parametrize("series", SERIES)
    def test_predictions_are_durations(self, make: Make, series: str) -> None:
        """
        A finite number of seconds of at least 0, whatever was seen and whatever is asked.
        """
        for call, answer in _answers(_taught(make(), SERIES[series])).items():
            number = isinstance(answer, int | float) and not isinstance(answer, bool)
            insist(
                number and 0 <= answer < math.inf,
                f"{call} gave {shown(answer)} after {series} observations, {SERIES[series][:3]} ...",
                do="return seconds: cut what falls below 0 to 0, and divide by nothing that can be 0",
            )

    @pytest.mark.parametrize("series", SERIES)
    def test_a_higher_level_is_no_shorter_time(self, make: Make, series: str) -> None:
        """
        What a larger share of the work stays within is at least as long.
        """
        made = _taught(make(), SERIES[series])
        for cost in COSTS:
            for low, high in pairwise(LEVELS):
                shorter, longer = made.quantile(cost, low), made.quantile(cost, high)
                insist(
                    shorter <= longer,
                    f"quantile({cost:g}, {low:g}) gave {shorter!r} and quantile({cost:g}, {high:g})"
                    f" only {longer!r} after {series} observations",
                    do="sort what was seen and take the level as a rank in it, counted from below",
                )

    def test_it_learns(self, make: Make) -> None:
        """
        After a hundred equal observations a slow backend is predicted to be slower than a fast one,
        and not shorter than half or longer than twice what it was throughout.
        """
        if not self.learns:
            pytest.skip("learns = False")
        found = [_taught(make(), [(1.0, s)] * 100).estimate(1.0) for s in (0.1, 10.0)]
        insist(
            0.05 <= found[0] <= 0.2 and 5.0 <= found[1] <= 20.0,
            f"after 100 observations of 0.1 s it predicts {found[0]!r}, after 100 of 10 s {found[1]!r}",
            do="let observe change what estimate says; one that means to stand still sets"
            " learns = False in its test class",
        )

    def test_equal_observations_give_equal_answers(self, make: Make) -> None:
        """
        Two estimators made alike and taught alike say the same, bit for bit; asking teaches nothing.
        """
        one, other = make(), make()
        for number, (cost, seconds) in enumerate(SERIES["mixed"]):
            one.observe(cost, seconds)
            other.observe(cost, seconds)
            if number % 10 == 0:
                _answers(other)  # what is asked in between must not matter
        _same(
            _answers(one),
            _answers(other),
            "one that was also asked in between",
            "let estimate and quantile change nothing; draw nothing and read no clock",
        )

    def test_estimators_share_nothing(self, make: Make) -> None:
        """
        What one has learnt another one made alike does not know.
        """
        _taught(make(), SERIES["mixed"])
        insist(
            make().estimate(1.0) is None,
            f"a new estimator predicts {make().estimate(1.0)!r} after another one was taught",
            do="keep what is learnt in the object (self), not in the class or the module",
        )

    def test_its_memory_brings_everything_along(self, make: Make) -> None:
        """
        Through JSON text, at any point; from there on both learn alike.
        """
        before, after = SERIES["mixed"][:37], (*SERIES["mixed"][37:], *SERIES["falling"])
        for count in (0, 1, 5, len(before)):
            known, restored = _taught(make(), before[:count]), make()
            if not isinstance(known, Remembering):
                pytest.skip("has no memory, so runs with it take no checkpoints")
            restored.memory = json.loads(spelled(known.memory, f"after {count} observations"))
            do = "give in memory all that later answers depend on, and put all of it back when it is set"
            _same(_answers(known), _answers(restored), f"put back after {count} observations", do)
            for estimator in (known, restored):
                _taught(estimator, after)
            when = f"put back after {count} observations and taught {len(after)} more"
            _same(_answers(known), _answers(restored), when, do)

    def test_its_memory_is_a_value(self, make: Make) -> None:
        """
        What was given stays as it was while the estimator learns on, and stays bounded.
        """
        made = _taught(make(), SERIES["mixed"][:20])
        if not isinstance(made, Remembering):
            pytest.skip("has no memory")
        memory = made.memory
        before = spelled(memory, "after 20 observations")
        _taught(made, SERIES["mixed"][20:])
        insist(
            spelled(memory, "after 60 observations") == before,
            f"the memory of 20 observations became {shown(memory)} when more were observed",
            do="let memory give a copy, never the list or dict that observe goes on changing",
        )
        sizes = [len(spelled(_taught(made, [(1.0, 1.0)] * n).memory, "")) for n in (3000, 3000)]
        insist(
            sizes[1] <= sizes[0] * 1.5,
            f"3,000 further observations made the memory grow from {sizes[0]} to {sizes[1]} bytes",
            do="keep sums, or the last observations in a deque(maxlen=...): a run may have millions",
        )

    def test_it_starts_no_thread(self, make: Make) -> None:
        """
        It is called by the machine, quickly, and owns nothing that must be ended.
        """
        before = set(threading.enumerate())
        _answers(_taught(make(), SERIES["mixed"]))
        began = [thread.name for thread in threading.enumerate() if thread not in before]
        insist(
            not began,
            f"it started the threads {began}",
            do="compute in observe and estimate themselves: a part owns no threads",
        )

    @pytest.mark.parametrize(("mode", "driver"), DRIVEN)
    def test_runs_end_well_with_it(self, make: Make, mode: str, driver: str) -> None:
        """
        Also where every straggler that it predicts is run a second time.
        """
        options = {"straggler": "hedge", "straggler_factor": 1.2}
        found = faults(toy_run(mode, driver, estimator=make(), **options))
        insist(
            not found,
            f"a run with it in {mode} mode under {driver} had faults: {found}",
            do="mend the first one: 'duration estimator' means that observe or estimate raised, or"
            " that estimate gave no seconds",
        )
