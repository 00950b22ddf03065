"""
What every sampler must do, as tests that its author runs.

::

    from headway.testing.conformance import SamplerContract

    class TestHardest(SamplerContract):
        @pytest.fixture
        def make(self):
            return Hardest
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import attrs
import pytest

from headway.contracts import Sampler, TaskBook
from headway.errors import shown
from headway.keyed import keyed_rng
from headway.testing.conformance._asking import asked
from headway.testing.conformance._common import Contract, Make, insist
from headway.testing.conformance._runs import DRIVEN, faults, toy_groups, toy_run

SIZES: tuple[int, ...] = (1, 2, 7, 40)
"""Numbers of training tasks."""


def _train(size: int) -> tuple[str, ...]:
    return tuple(f"train-{number}" for number in range(size))


def _books() -> list[TaskBook]:
    """
    What a run may show a sampler: beginnings and long runs, retries, and tasks that are solved.
    """
    rng = keyed_rng("sampler", "books")
    found: list[TaskBook] = []
    for size in SIZES:
        train = _train(size)
        for drawn in (*range(2 * size + 2), 10_000, 10**9):
            retry = rng.sample(train, rng.randrange(min(size, 3) + 1))
            solved = rng.sample(train, rng.randrange(size + 1))
            book = TaskBook(train, drawn, (), rng.randrange(4))
            found += [
                book,
                attrs.evolve(book, retry=tuple(retry)),
                attrs.evolve(book, solved=frozenset(solved)),
                attrs.evolve(book, solved=frozenset(train)),
                attrs.evolve(book, retry=tuple(retry), solved=frozenset(solved)),
            ]
    return found


def _picked(sampler: Any, book: TaskBook) -> str:
    """
    What a sampler picks; anything but a training task fails the test.
    """
    task = asked(sampler.pick, book, do="pick one of book.train for every book that has one")
    insist(
        isinstance(task, str) and task in book.train,
        f"pick({shown(book)}) gave {shown(task)}, which is none of its training tasks",
        do="pick the id of one of book.train, never a task that is held out",
    )
    return str(task)


def _series(sampler: Any, count: int, **book: Any) -> list[str]:
    return [_picked(sampler, TaskBook(drawn=drawn, **book)) for drawn in range(count)]


class SamplerContract(Contract):
    """
    Tests for any sampler.

    Attributes:
        laps: In how many draws for each training task every one of them has its turn.
        seeded: Whether the run's seed has a say in the order.
    """

    laps: ClassVar[int] = 4
    seeded: ClassVar[bool] = True

    def test_it_is_a_sampler(self, make: Make) -> None:
        """
        An object that has ``pick``.
        """
        made = make()
        insist(
            isinstance(made, Sampler) and not isinstance(made, type),
            f"make() gave {shown(made)}, which is no sampler",
            do="give an object with a method pick(self, book)",
        )

    def test_it_picks_training_tasks(self, make: Make) -> None:
        """
        One of the book's, whatever else the book says.
        """
        sampler = make()
        found = {_picked(sampler, book) for book in _books()}

        assert found

    def test_equal_books_give_equal_tasks(self, make: Make) -> None:
        """
        In whatever order they come, and whichever of two samplers made alike is asked.
        """
        books, first, rng = _books(), make(), keyed_rng("sampler", "orders")
        known = {book: _picked(first, book) for book in books}
        for sampler in (first, make(), first):
            for book in rng.sample(books, len(books)):
                again = _picked(sampler, book)
                insist(
                    known[book] == again,
                    f"pick({shown(book)}) gave {known[book]!r} once and {again!r} later",
                    do="choose by the book alone: drawn says how many tasks were drawn, and"
                    " headway.keyed.keyed_rng(book.seed, ...) gives random numbers",
                )

    @pytest.mark.parametrize("size", SIZES)
    def test_every_task_has_its_turn(self, make: Make, size: int) -> None:
        """
        From the first draw and from a later one.
        """
        train, count = _train(size), self.laps * size
        for seed in range(3):
            picked = _series(make(), 2 * count, train=train, retry=(), seed=seed)
            for begin in (0, count):
                self._all_of(train, picked[begin : begin + count], f"of {count} draws")

    def _all_of(self, wanted: Sequence[str], picked: Sequence[str], which: str) -> None:
        missing = [task for task in wanted if task not in picked]
        insist(
            not missing,
            f"{which}, none was of {missing[:5]}: {shown(list(picked))}",
            do="go through all tasks, in an order that depends on book.drawn; one that takes longer"
            " sets laps in its test class",
        )

    def test_every_unsolved_task_has_its_turn(self, make: Make) -> None:
        """
        However many of the others the head solves.
        """
        train = _train(7)
        for solved in (train[:1], train[2:6], train[1:]):
            book = {"train": train, "retry": (), "seed": 1, "solved": frozenset(solved)}
            picked = _series(make(), self.laps * 7, **book)
            rest = [task for task in train if task not in solved]
            self._all_of(rest, picked, f"of {self.laps * 7} draws with {list(solved)} solved")

    def test_a_task_to_be_retried_is_served(self, make: Make) -> None:
        """
        At once or by and by, also when there are several.
        """
        train, sampler = _train(7), make()
        retry: tuple[str, ...] = ("train-5", "train-1", "train-3")
        drawn, picked = 3, list[str]()
        while retry and len(picked) < self.laps * 7 + 3:
            task = _picked(sampler, TaskBook(train, drawn, retry, 0))
            drawn += task not in retry
            retry = tuple(other for other in retry if other != task)
            picked.append(task)
        insist(
            not retry,
            f"the tasks {retry} to be retried did not come in {len(picked)} draws: {picked}",
            do="pick from book.retry, the oldest first, before anything new",
        )

    def test_the_seed_has_a_say(self, make: Make) -> None:
        """
        Of four seeds not all give one order.
        """
        if not self.seeded:
            pytest.skip("seeded = False")
        train = _train(40)
        found = [_series(make(), 40, train=train, retry=(), seed=seed) for seed in range(4)]
        insist(
            any(series != found[0] for series in found),
            f"the seeds 0 to 3 all give the order {shown(found[0])}",
            do="shuffle with headway.keyed.keyed_rng(book.seed, ...); one that means to have a fixed"
            " order sets seeded = False in its test class",
        )

    @pytest.mark.parametrize(("mode", "driver"), DRIVEN)
    def test_runs_end_well_with_it(self, make: Make, mode: str, driver: str) -> None:
        """
        In both modes, on real clocks and on a virtual one, and nothing is at fault.
        """
        found = faults(toy_run(mode, driver, sampler=make()))
        insist(
            not found,
            f"a run with it in {mode} mode under {driver} had faults: {found}",
            do="mend the first one: 'sampler' means that pick raised or gave no training task",
        )

    @pytest.mark.parametrize(("mode", "driver"), DRIVEN)
    def test_runs_of_groups_end_well_with_it(self, make: Make, mode: str, driver: str) -> None:
        """
        Where outcomes are learnt from, it picks a task for each group.
        """
        found = faults(toy_groups(mode, driver, sampler=make()))
        insist(
            not found,
            f"a run of groups with it in {mode} mode under {driver} had faults: {found}",
            do="mend the first one: 'sampler' means that pick raised or gave no training task",
        )

    def test_equal_runs_come_out_equal(self, make: Make) -> None:
        """
        Simulated runs of one seed, the last with a sampler that was used before.
        """
        used = make()
        digests = [
            toy_run("async", "simulated", sampler=sampler).digest
            for sampler in (used, make(), used)
        ]
        insist(
            len(set(digests)) == 1,
            f"three simulated runs of one seed had the digests {digests}",
            do="keep nothing from one call to the next that the book does not say",
        )
