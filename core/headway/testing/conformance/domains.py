"""
What every domain must do, as tests that its author runs.

::

    from headway.testing.conformance import DomainContract

    class TestSorting(DomainContract):
        @pytest.fixture
        def make(self):
            return Sorting
"""

from __future__ import annotations

import inspect
import random
import threading
from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, ClassVar

import pytest

from headway.contracts import Card, Domain, Json, Splits, Task, touch_common
from headway.errors import HeadwayError, shown
from headway.materialize import materialize
from headway.names import check_id, check_paths
from headway.options import make_options
from headway.testing.conformance._aggregator_steps import cards_spelled
from headway.testing.conformance._asking import listed, raised, spelled
from headway.testing.conformance._common import Contract, Make, insist
from headway.testing.conformance._domain_calls import (
    Try,
    applies,
    ask,
    cards_of,
    check_reward,
    mapping,
    plainly,
    proposes,
    trains,
    unchanged,
    walk,
)
from headway.testing.conformance._runs import DRIVEN, Unmoved, faults, toy_run

Answer = tuple[str, int, str]
"""A method's name, which call it was, and what it gave, spelled."""


def _all_tasks(splits: Splits) -> list[Task]:
    return [*splits.train, *splits.held_out, *splits.test, *splits.oracle]


def _asked_again(domain: Any, tries: list[Try]) -> list[Answer]:
    """
    What the domain says to calls that were made before; each has its own random numbers again.
    """
    found: list[Answer] = []
    for a in tries:
        outcome = ask(domain, "rollout", a.state, a.task, key=a.number)
        found.append(("rollout", a.number, spelled([outcome.reward, outcome.output], "rollout")))
        if a.diff is not None:
            diff = ask(domain, "propose", a.state, a.task, a.outcome, key=a.number)
            found.append(("propose", a.number, spelled(diff, "propose")))
        score = ask(domain, "measure", a.state, a.task, key=a.number)
        found.append(("measure", a.number, spelled(score, "measure")))
    return found


class DomainContract(Contract):
    """
    Tests for any domain.  They call it some hundred times; ``tries`` and ``rollouts`` say how often.

    Attributes:
        tries: How many rollouts and proposals the tests look at.
        rollouts: How many rollouts each whole run has.
        reproducible: Whether equal random numbers give equal answers; False for a domain that asks
            what answers as it likes, such as a language model.
        agrees: Whether ``measure`` gives the reward of a rollout, where rewards are deterministic.
        lessons: Payloads that ``train`` is given, where the domain has one.
        commutes: Whether two changes without a common key make the very same state in either order;
            False where they make one that means the same, such as a list in another order.
    """

    tries: ClassVar[int] = 12
    rollouts: ClassVar[int] = 12
    reproducible: ClassVar[bool] = True
    agrees: ClassVar[bool] = True
    commutes: ClassVar[bool] = True
    lessons: ClassVar[Sequence[Json]] = (None,)

    def test_it_is_a_domain(self, make: Make) -> None:
        """
        An object of a class derived from ``Domain``, whose name can be typed; proposals can be applied.
        """
        made = make()
        insist(
            isinstance(made, Domain),
            f"make() gave {shown(made)}, which is no domain",
            do="derive the class from headway.contracts.Domain and give an object of it",
        )
        try:
            check_id(made.name)
        except (HeadwayError, AttributeError) as error:
            raise raised(
                "the domain's name", error, do="set name = 'a-word' in the class"
            ) from error
        insist(
            proposes(made) == applies(made),
            "it has propose and no apply" if proposes(made) else "it has apply and no propose",
            do="write both, or neither where only optimizers that learn from outcomes are to improve it",
        )

    def test_its_figures_make_sense(self, make: Make) -> None:
        """
        The reward's range, what a measurement costs, and what one counts that failed.
        """
        domain = make()
        low, high = domain.reward_range
        insist(low < high, f"reward_range is {(low, high)}", do="give the lower bound first")
        price, score = domain.measure_price, domain.failure_score
        insist(
            price is None or 0 <= price < float("inf"),
            f"measure_price is {shown(price)}",
            do="give rollouts that one measurement costs, or None",
        )
        insist(
            score is None or (low <= score <= high and abs(score) != float("inf")),
            f"failure_score is {shown(score)}, outside of {(low, high)}",
            do="give a reward within reward_range, or None",
        )
        insist(
            domain.deterministic in (True, False, None),
            f"deterministic is {shown(domain.deterministic)}",
            do="give True, False, or None where it is to be found out",
        )

    def test_tasks_are_tasks(self, make: Make) -> None:
        """
        Each has an id of its own over all sides, and JSON as its data; some are for training and some
        are held out.
        """
        splits = make().tasks()
        insist(
            isinstance(splits, Splits),
            f"tasks() gave {shown(splits)}",
            do="return Splits(train=..., held_out=...) of headway.contracts",
        )
        for side in ("train", "held_out"):
            insist(
                len(getattr(splits, side)) > 0,
                f"tasks() gave no task for {side}",
                do="give at least one: workers roll out on train, candidates are measured on held_out",
            )
        counts = Counter(task.id for task in _all_tasks(splits))
        twice = [name for name, count in counts.items() if count > 1]
        insist(
            not twice,
            f"the task ids {twice[:5]} are given more than once",
            do="give every task an id of its own over all sides; a task that is trained on must not be"
            " held out too",
        )
        for task in _all_tasks(splits):
            spelled(task.data, f"the data of task {task.id!r}")

    def test_tasks_and_initial_state_are_the_same_again(self, make: Make) -> None:
        """
        At every call, and of every domain that is made alike; the state is a JSON value.
        """
        one, other = make(), make()
        for method in ("tasks", "initial"):
            first = getattr(one, method)()
            for again in (getattr(one, method)(), getattr(other, method)()):
                same = first == again if method == "tasks" else _same_state(first, again)
                insist(
                    same,
                    f"{method}() gave {shown(first)} once and {shown(again)} later",
                    do="make it from constants, or from a random.Random with a fixed seed",
                )

    def test_rollouts_and_proposals_can_be_used(self, make: Make) -> None:
        """
        Rewards are within the range, outputs and diffs are JSON, and diffs apply; nothing is changed
        in place, and something is proposed at all, if the domain proposes.
        """
        domain = make()
        tries = walk(domain, self.tries)
        for a in tries:
            before = spelled([a.state, a.diff], ""), spelled(a.outcome.output, "")
            ask(domain, "rollout", a.state, a.task, key=a.number)
            if proposes(domain):
                ask(domain, "propose", a.state, a.task, a.outcome, key=a.number)
            check_reward(domain, "measure", ask(domain, "measure", a.state, a.task, key=a.number))
            after = spelled([a.state, a.diff], ""), spelled(a.outcome.output, "")
            unchanged("rollout, propose or measure", before, after)
        led_to = any(a.diff is not None for a in tries) or all(_solved(domain, a) for a in tries)
        insist(
            led_to or not proposes(domain),
            f"{self.tries} rollouts with the rewards {[a.outcome.reward for a in tries]} led to no"
            " proposal",
            do="let propose return a diff now and then, or set tries higher in the test class",
        )

    def lesson(self, domain: Any) -> Sequence[Card]:
        """
        The cards that ``train`` is given.  The default are those of a few proposals; override it where
        the domain learns from others.
        """
        return cards_of(domain, self._changes(domain))

    def test_it_can_train_again(self, make: Make) -> None:
        """
        What it says is JSON, it leaves what it is given as it was, and the same training can be made
        again, as it is when a process ended in its middle.
        """
        domain = make()
        if not trains(domain):
            pytest.skip("it has no train")
        state, cards = plainly(domain, "initial"), tuple(self.lesson(domain))
        for number, payload in enumerate(self.lessons):
            before = (spelled([state, payload], ""), cards_spelled(cards))
            for _ in range(2):
                spelled(ask(domain, "train", state, cards, payload, key=number), "train")
            unchanged("train", before, (spelled([state, payload], ""), cards_spelled(cards)))

    def test_apply_is_pure(self, make: Make) -> None:
        """
        Equal states and diffs give equal states, and what was given stays as it was.
        """
        domain, other = make(), make()
        for a in self._changes(domain):
            before = spelled([a.state, a.diff], "")
            found = [plainly(d, "apply", a.state, a.diff) for d in (domain, domain, other)]
            spellings = [spelled(value, "apply") for value in found]
            insist(
                len(set(spellings)) == 1,
                f"apply({shown(a.state)}, {shown(a.diff)}) gave {[shown(value) for value in found]}",
                do="let apply depend on its arguments alone",
            )
            unchanged("apply", (before,), (spelled([a.state, a.diff], ""),))

    def test_keys_say_what_commutes(self, make: Make) -> None:
        """
        Two changes without a common key come to the same in either order.
        """
        if not self.commutes:
            pytest.skip("commutes = False")
        domain = make()
        changes = [(a, self._keys(domain, a.diff)) for a in self._changes(domain)]
        state = plainly(domain, "initial")
        for (a, one), (b, other) in combinations(changes, 2):
            if touch_common(one, other):
                continue
            ab, ba = (_applied(domain, state, *pair) for pair in ((a, b), (b, a)))
            insist(
                _same_state(ab, ba),
                f"{shown(a.diff)} with keys {one} and {shown(b.diff)} with keys {other} share none, and"
                f" give {shown(ab)} in one order and {shown(ba)} in the other",
                do="let keys name every part that a change reads or writes; a domain for which both states mean"
                " the same sets commutes = False in its test class",
            )

    def _changes(self, domain: Any) -> list[Try]:
        return [a for a in walk(domain, self.tries) if a.diff is not None]

    def _keys(self, domain: Any, diff: Json) -> tuple[str, ...]:
        keys = plainly(domain, "keys", diff)
        insist(
            listed(keys, str),
            f"keys({shown(diff)}) gave {shown(keys)}",
            do="return a tuple of texts; the default ('*',) says that a change touches everything",
        )
        return tuple(keys)

    def test_what_is_said_of_a_change_can_be_used(self, make: Make) -> None:
        """
        Whether it breaks a contract is a boolean; rebased it is None or a change that applies.
        """
        domain = make()
        tries = walk(domain, self.tries)
        newest = tries[-1].after
        for a in tries:
            if a.diff is None:
                continue
            breaking = plainly(domain, "contract_breaking", a.diff)
            insist(
                isinstance(breaking, bool),
                f"contract_breaking({shown(a.diff)}) gave {shown(breaking)}",
                do="return True or False",
            )
            rebased = plainly(domain, "rebase", a.diff, newest)
            if rebased is not None:
                spelled(rebased, "rebase")
                spelled(plainly(domain, "apply", newest, rebased), "apply of what rebase gave")

    def test_removals_apply(self, make: Make) -> None:
        """
        Each is a change like any other, and takes something out.
        """
        domain = make()
        state = walk(domain, self.tries)[-1].after
        for diff in plainly(domain, "removals", state):
            spelled(diff, "removals")
            self._keys(domain, diff)
            left = plainly(domain, "apply", state, diff)
            insist(
                not _same_state(state, left),
                f"the removal {shown(diff)} leaves the state {shown(state)} as it is",
                do="offer only what there is to take out of that state",
            )

    def test_states_are_described_by_numbers(self, make: Make) -> None:
        """
        From 0 to 1, under the same names for each state, and the same again at the next call.
        """
        domain = make()
        tries = walk(domain, self.tries)
        first = mapping(plainly(domain, "describe", tries[0].state), "describe")
        for state in (tries[0].state, *(tried.after for tried in tries)):
            found = mapping(plainly(domain, "describe", state), "describe")
            again = mapping(plainly(domain, "describe", state), "describe")
            insist(
                found == again and sorted(found) == sorted(first),
                f"describe({shown(state)}) gave {shown(found)}, then {shown(again)}, and"
                f" {shown(first)} of the first state",
                do="work it out from the state alone, under the same names for every state",
            )
            insist(
                all(
                    isinstance(number, int | float) and 0 <= number <= 1
                    for number in found.values()
                ),
                f"describe({shown(state)}) gave {shown(found)}",
                do="give numbers from 0 to 1",
            )

    def test_files_can_be_written(self, make: Make, tmp_path: Path) -> None:
        """
        Texts under names that every platform reads alike, the same again at the next call.
        """
        domain = make()
        tries = walk(domain, self.tries)
        for number, state in enumerate((tries[0].state, tries[-1].after)):
            files = mapping(plainly(domain, "render", state), "render")
            try:
                check_paths(files)
                materialize(files, tmp_path / str(number))
            except (HeadwayError, TypeError, AttributeError) as error:
                do = "render texts under relative paths, made of names that the state can't choose"
                raise raised(f"writing {shown(sorted(map(str, files)))}", error, do=do) from error
            again = plainly(domain, "render", state)
            insist(
                dict(files) == dict(again),
                f"render gave {shown(dict(files))} once and {shown(dict(again))} later",
                do="write names and keys in a fixed order, and no time of day",
            )

    def test_only_its_own_random_numbers_count(self, make: Make) -> None:
        """
        The same call gives the same again: later, backwards, of another domain made alike, and on
        several threads at once.
        """
        if not self.reproducible:
            pytest.skip("reproducible = False")
        domain = make()
        tries = walk(domain, self.tries)
        chance = random.getstate()
        first = _asked_again(domain, tries)
        insist(
            chance == random.getstate(),
            "rollout, propose or measure drew from Python's global random numbers",
            do="name rng in the method's signature, and draw from it alone",
        )
        ways = {
            "later": _asked_again(domain, tries),
            "in the opposite order": _asked_again(domain, tries[::-1]),
            "of a domain made alike": _asked_again(make(), tries),
            "on a thread beside others": _on_threads(domain, tries),
        }
        for way, answers in ways.items():
            _compare(first, answers, way)

    def test_deterministic_means_that_one_look_is_enough(self, make: Make) -> None:
        """
        What says so scores the same whatever its random numbers are.
        """
        domain = make()
        if domain.deterministic is not True:
            pytest.skip(f"deterministic is {domain.deterministic}")
        held_out = domain.tasks().held_out
        for a in walk(domain, self.tries):
            task = held_out[a.number % len(held_out)]
            scores = {ask(domain, "measure", a.state, task, key=("draw", n)) for n in range(5)}
            rewards = {ask(domain, "rollout", a.state, a.task, key=n).reward for n in range(5)}
            for method, of, found in (("measure", task, scores), ("rollout", a.task, rewards)):
                insist(
                    len(found) == 1,
                    f"deterministic is True, and {method} of task {of.id!r} gave {sorted(found)}",
                    do="set deterministic = False: the run then draws often enough to see through noise",
                )

    def test_measuring_agrees_with_rolling_out(self, make: Make) -> None:
        """
        On one task both say the same where rewards are deterministic.
        """
        domain = make()
        if domain.deterministic is not True or not self.agrees:
            pytest.skip(f"deterministic is {domain.deterministic}, agrees = {self.agrees}")
        for a in walk(domain, self.tries):
            score = ask(domain, "measure", a.state, a.task, key=a.number)
            insist(
                abs(score - a.outcome.reward) <= 1e-9,
                f"on task {a.task.id!r} measure gave {score!r} and rollout {a.outcome.reward!r}",
                do="score both alike; a domain that means it sets agrees = False in its test class",
            )

    def test_options_and_defaults_are_known(self, make: Make) -> None:
        """
        What it lists its constructor takes, and there is a line on each; its defaults are options of a
        run with values that can be used; so are its laws of durations.
        """
        domain = make()
        parameters = inspect.signature(domain.__class__).parameters.values()
        takes = {p.name for p in parameters if p.kind is not p.VAR_KEYWORD}
        named = set(mapping(domain.options, "options"))
        insist(
            named <= takes,
            f"options lists {sorted(named - takes)}, and the constructor takes {sorted(takes)}",
            do="list what the constructor takes: --set hands it on by that name",
        )
        for name, line in domain.options.items():
            insist(
                isinstance(line, str) and line.strip() and "\n" not in line,
                f"options[{name!r}] is {shown(line)}",
                do="describe it in one line: people read it in headway run --help",
            )
        try:
            make_options(
                {"max_rollouts": 1, "durations": domain.durations() or None}, domain.defaults
            )
        except HeadwayError as error:
            do = "give in defaults options of headway.run, and laws of headway.durations in durations()"
            raise raised("its defaults and durations", error, do=do) from error

    def test_its_twin_under_a_virtual_clock_answers_alike(self, make: Make) -> None:
        """
        Whoever sleeps to seem slow gives a twin that does not sleep; the answers are the same.
        """
        domain = make()
        twin = domain.virtual()
        insist(isinstance(twin, Domain), f"virtual() gave {shown(twin)}", do="return a domain")
        if not self.reproducible:
            pytest.skip("reproducible = False")
        tries = walk(twin, self.tries)
        _compare(_asked_again(domain, tries), _asked_again(twin, tries), "of virtual()")

    def _small(self, domain: Any) -> dict[str, Any]:
        # The invariants are the machine's: with hundreds of test tasks they cost more than the run.
        few = {"n_workers": 2, "max_draws": 2, "final_draws": 1, "validate": False}
        asks = {} if proposes(domain) else {"aggregator": Unmoved()}
        return {"domain": domain, "max_rollouts": self.rollouts, "durations": None, **few, **asks}

    @pytest.mark.parametrize(("mode", "driver"), DRIVEN)
    def test_it_can_be_run(self, make: Make, mode: str, driver: str) -> None:
        """
        In both modes, on real clocks and on a virtual one, and nothing is at fault.
        """
        result = toy_run(mode, driver, **self._small(make()))
        insist(
            not faults(result),
            f"a run of it in {mode} mode under {driver} had faults: {faults(result)}",
            do="mend the first one: its first word is the method, or 'domain' for one that is no call",
        )

    def test_equal_runs_come_out_equal(self, make: Make) -> None:
        """
        Two simulated runs of one seed, of domains made alike.
        """
        if not self.reproducible:
            pytest.skip("reproducible = False")
        digests = [toy_run("async", "simulated", **self._small(make())).digest for _ in range(2)]
        insist(
            digests[0] == digests[1],
            f"two simulated runs of one seed had the digests {digests}",
            do="keep nothing between calls, and draw from rng alone",
        )


def _same_state(one: Json, other: Json) -> bool:
    return spelled(one, "the domain") == spelled(other, "the domain")


def _solved(domain: Any, tried: Try) -> bool:
    return bool(tried.outcome.reward >= domain.solved)


def _applied(domain: Any, state: Json, *changes: Try) -> Json:
    for change in changes:
        state = plainly(domain, "apply", state, change.diff)
    return state


def _compare(first: list[Answer], again: list[Answer], way: str) -> None:
    known = {(method, number): answer for method, number, answer in again}
    for method, number, answer in first:
        insist(
            known[method, number] == answer,
            f"call {number} of {method} gave {shown(answer)}, and {way} {shown(known[method, number])}",
            do="keep nothing between calls, draw from rng alone, and read no clock; a domain that asks"
            " what answers as it likes sets reproducible = False in its test class",
        )


def _on_threads(domain: Any, tries: list[Try]) -> list[Answer]:
    """
    The same calls, each on one of four threads at once.
    """
    found: list[Answer] = []
    failed: list[BaseException] = []

    def work(place: int) -> None:
        try:
            found.extend(_asked_again(domain, tries[place::4]))
        except BaseException as error:  # noqa: BLE001 - it is raised by the thread that waits
            failed.append(error)

    threads = [threading.Thread(target=work, args=(place,)) for place in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]
    return found
