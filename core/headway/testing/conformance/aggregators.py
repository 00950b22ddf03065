"""
What every aggregator must do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, ClassVar, TypeAlias

import attrs
import pytest

from headway.contracts import (
    KEEP,
    Aggregator,
    Domain,
    canonical_json,
)
from headway.contracts._memories import memory_copy, memory_text
from headway.errors import HeadwayError, OptionError, shown
from headway.testing._playing import ScriptError
from headway.testing._rehearsal import Rehearsal, Rehearsed
from headway.testing._toy import ToyDomain
from headway.testing.conformance._aggregator_checks import (
    arrived_otherwise,
    difference,
    ended,
    fate,
    insist_decided,
    listed,
    selector_of,
    spelled_work,
    unusual,
)
from headway.testing.conformance._aggregator_groups import (
    Nature,
    insist_no_order_shows,
    insist_payload_alone,
    skip_without_groups,
    skip_without_proposals,
)
from headway.testing.conformance._aggregator_steps import Corpus, StandIn, cards_spelled, plain
from headway.testing.conformance._common import Contract, Make, insist
from headway.testing.conformance._effects import Watch, attributes, lines_of, state_of
from headway.testing.conformance._hostile import made_hostile
from headway.testing.conformance._new_process import CannotBeSentError, digests_elsewhere

CHUNKS = 20
"""In so many tests are the interleavings tried, so that they can be spread over processes."""

MakeDomain: TypeAlias = Callable[[], Domain]

_STATELESS = (
    "keep nothing on the object, its class or its module: what is to be remembered goes out as"
    " Commit(memory=...) or as the step's return value, and comes back as context.memory"
)
_NO_RANDOMNESS = "use no randomness but context.rng, and no set whose order decides anything"


def small_domain() -> ToyDomain:
    """
    A domain on which a few rollouts already lead to commits, conflicts and duplicates.
    """
    return ToyDomain(n_keys=4, n_values=3, n_tasks=3, right=0.6)


class AggregatorContract(Contract):
    """
    What holds for every aggregator, in every mode and under every driver.

    Attributes:
        options: Options of the runs, as ``run`` takes them, that the aggregator needs: a policy, say.
        order_free: Whether what a step decides depends on its cards alone, not on the order in which
            they arrived.
        caches: Attributes that hold nothing but a cache, whose loss changes nothing.
        most_lines: Lines of Python that one ``select`` may run; it is called while all workers wait.
        interleavings: How many seeded schedules are tried, with faults.
        scripted: How many schedules are played again by drivers with real threads or a real loop.
    """

    options: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    order_free: ClassVar[bool] = False
    caches: ClassVar[tuple[str, ...]] = ()
    most_lines: ClassVar[int] = 10_000
    interleavings: ClassVar[int] = 1000
    scripted: ClassVar[int] = 20

    @pytest.fixture
    def domain(self) -> MakeDomain:
        """
        A function that makes a domain of few tasks, which takes no time, for the aggregator to work
        on; the same one at each call.  An aggregator that yields ``Train`` needs one that trains.  The
        default is a toy whose states are dicts of numbers; it says what it was given to learn from.
        """
        return small_domain

    # ------------------------------------------------------------------ what tests begin from

    def draw(self, seed: int, make: Callable[[], Any], domain: MakeDomain) -> Rehearsal:
        """
        The short run of a seed, with its faults.
        """
        return Rehearsal.draw(seed, aggregator=make, domain=domain, **self.options)

    def calm(self, seed: int, make: Make, domain: MakeDomain, *, rollouts: int = 6) -> Rehearsal:
        """
        A run in which nothing fails, of so many rollouts, or groups, and those of three batches.
        """
        part = make()
        options = {
            "n_workers": 4,
            "max_rollouts": (rollouts + 3 * part.batch) * Nature.of(part).group_size,
            "rollout_timeout": 5.0,
            "eval_timeout": 5.0,
            "train_timeout": 5.0,
            "final_draws": 1,
        }
        return Rehearsal(
            aggregator=make, domain=domain, seed=seed, options={**options, **self.options}
        )

    @pytest.fixture
    def corpus(self, make: Make, domain: MakeDomain) -> Corpus:
        """
        What calm runs gave the aggregator.
        """
        return Corpus.of([self.calm(seed, make, domain) for seed in range(3)], make)

    # ------------------------------------------------------------------ what it is

    def test_what_it_declares_can_be_used(self, make: Make) -> None:
        """
        ``batch`` is at least 1, ``max_steps`` from 1 to 3, and ``step`` is there; what it says of
        groups goes together.
        """
        part = make()
        insist(
            isinstance(part, Aggregator),
            f"{shown(part)} has no batch or no step",
            do="give it an attribute batch, such as 1, and a method step(self, cards, context)",
        )
        batch, most = part.batch, getattr(part, "max_steps", 1)
        insist(
            type(batch) is int and batch >= 1,
            f"batch is {shown(batch)}",
            do="declare how many new cards make a step worth while: a whole number from 1 on",
        )
        insist(
            type(most) is int and 1 <= most <= 3,
            f"max_steps is {shown(most)}",
            do="declare how many steps may race: 1, 2 or 3; or leave it out, which means 1",
        )
        Nature.of(part).insist_sound(most)

    # ------------------------------------------------------------------ one step

    def test_an_empty_sweep_decides_nothing(self, make: Make, corpus: Corpus) -> None:
        """
        A step that is given no cards ends, and raises nothing.
        """
        skip_without_proposals(make(), "a batch of groups has at least one")
        for case in corpus.cases:
            ended(partial(corpus.walk, make(), case.with_cards()), "on no cards")

    def test_one_card_is_enough(self, make: Make, corpus: Corpus) -> None:
        """
        A step takes a single card, whatever the batch: the last sweep of a run may have no more.
        """
        for case in corpus.cases:
            for card in case.cards:
                alone = case.with_cards(card).quiet
                trace = ended(partial(corpus.walk, make(), alone), f"on {shown(card)}")
                insist_decided(alone, trace)

    def test_every_card_is_decided_once(self, make: Make, corpus: Corpus) -> None:
        """
        No card is committed, consumed or carried twice, and none that the step does not hold.
        """
        part = make()  # one object for all, so that what it keeps of earlier steps is seen
        for case in corpus.cases:
            ended(partial(corpus.walk, part, case), f"on {shown(case.start.cards)}")

    def test_a_quiet_step_decides(self, make: Make, corpus: Corpus) -> None:
        """
        Where nothing else can happen any more, waiting for further cards is waiting for ever.
        """
        for case in corpus.cases:
            trace = ended(partial(corpus.walk, make(), case.quiet), f"on {shown(case.start.cards)}")
            insist_decided(case.quiet, trace)

    def test_unusual_cards_are_borne(self, make: Make, corpus: Corpus) -> None:
        """
        Stale, rebased, duplicate, conflicting, contract-breaking, unverified: a step raises on none.
        Nor does it on groups that are stale, of mixed ages, of equal or extreme rewards.
        """
        least, span = (
            self.options.get("least_members"),
            corpus.stage.engine.bench.domain.reward_range,
        )
        for case in corpus.cases:
            for what, cards in unusual(case, least, span):
                seldom = case.with_cards(*cards).quiet
                about = f"on {what} cards: {shown(cards)}"
                trace = ended(partial(corpus.walk, make(), seldom), about)
                insist_decided(seldom, trace)

    def test_inputs_are_not_changed(self, make: Make, corpus: Corpus) -> None:
        """
        Cards, head and memory are others' too: a step that is run again finds them as they were.
        """
        for case in corpus.cases:
            context = corpus.context(case)
            watched: dict[str, Callable[[], str]] = {
                "cards": partial(cards_spelled, case.start.cards),
                "context.head": partial(canonical_json, context.head.artifact.value),
                "context.memory": partial(memory_text, context.memory),
            }
            before = {name: spell() for name, spell in watched.items()}
            corpus.walk(make(), case, context=context)
            for name, spell in watched.items():
                after = spell()
                insist(
                    before[name] == after,
                    f"a step changed {name}: {shown(before[name])} became {shown(after)}",
                    do="copy what is to be changed: dict(...), list(...) or copy.deepcopy(...)",
                )

    def test_equal_arguments_give_equal_requests(self, make: Make, corpus: Corpus) -> None:
        """
        The same step twice, by one object and by a new one.
        """
        part = make()
        for case in corpus.cases:
            first = corpus.walk(part, case)
            for other in (part, make()):
                again = corpus.walk(other, case)
                insist(
                    first == again,
                    f"a step that is run again does something else: {difference(first, again)}",
                    do=f"{_STATELESS}; {_NO_RANDOMNESS}",
                )

    def test_arrival_order_is_indifferent(self, make: Make, corpus: Corpus) -> None:
        """
        Where the aggregator says so: the same cards in another order have the same fate.  Groups always
        do, in whatever order their rollouts began, and however they are gathered.
        """
        if not self.order_free and not Nature.of(make()).groups:
            pytest.skip("order_free = False: it may take its cards as they arrive")
        for case in corpus.cases:
            expected = fate(case, corpus.walk(make(), case))
            for other in arrived_otherwise(case):
                found = fate(other, corpus.walk(make(), other))
                insist(
                    expected == found,
                    "cards that arrive in another order are decided otherwise:"
                    f" {shown(expected)} became {shown(found)}",
                    do="sort the cards by their tickets before anything else, groups by their numbers,"
                    " or set order_free = False, which groups may not",
                )

    def test_memory_is_json(self, make: Make, corpus: Corpus) -> None:
        """
        It comes back from a file as it went in.
        """
        for case in corpus.cases:
            memory = corpus.walk(make(), case).memory
            if memory is KEEP:
                continue
            plain(memory)  # says what is wrong with it
            back = memory_copy(memory)
            insist(
                back == listed(memory),
                f"the memory {shown(memory)} comes back from a file as {shown(back)}",
                do="use texts for the keys of dicts, and lists where order matters",
            )

    def test_nothing_is_kept_on_the_object(self, make: Make, corpus: Corpus) -> None:
        """
        Steps and selections leave the object as it was.
        """
        part = make()
        before = self._kept(part)
        for case in corpus.cases:
            corpus.walk(part, case)
        for selection in corpus.selections:
            selection.ask(part)
        after = self._kept(part)
        changed = sorted(n for n in {*before, *after} if before.get(n) != after.get(n))
        told = {name: shown(attributes(part).get(name)) for name in changed}
        insist(
            not changed,
            f"steps change what is kept on the object: {told}",
            do=f"{_STATELESS}; name what is only a cache in caches = (...)",
        )

    def _kept(self, part: Any) -> dict[str, Any]:
        kept = attributes(part).items()
        return {name: state_of(value) for name, value in kept if name not in self.caches}

    def test_it_has_no_effect_but_its_requests(self, make: Make, corpus: Corpus) -> None:
        """
        No clock, no waiting, no file, no thread, no output, and no randomness but its own.
        """
        part, watch = make(), Watch()
        for case in corpus.cases:
            corpus.walk(part, case)  # what is imported on first use is imported now
            corpus.walk(part, case, around=watch)
        insist(
            not watch.seen,
            f"step uses {'; '.join(watch.seen)}",
            do="use nothing but the arguments: context.rng for randomness, context.memory to remember,"
            " and a request for everything else",
        )

    def test_a_step_may_be_abandoned_at_every_request(self, make: Make, corpus: Corpus) -> None:
        """
        It lets itself be closed, and does the same when it is run again.
        """
        part = make()
        for case in corpus.cases:
            expected, after = corpus.walk(make(), case), 0
            while corpus.abandon(part, case, after):
                after += 1
                again = corpus.walk(part, case)
                insist(
                    expected == again,
                    f"a step that was abandoned at its request {after} does something else when it is"
                    f" run again: {difference(expected, again)}",
                    do=_STATELESS,
                )

    # ------------------------------------------------------------------ select

    def test_select_is_pure(self, make: Make, corpus: Corpus) -> None:
        """
        Equal arguments give an equal ``Work``, which is JSON; nothing is changed, and no clock, file,
        thread or foreign randomness is used.
        """
        part, watch = selector_of(make), Watch()
        for selection in corpus.selections:
            before = selection.spelled
            first = selection.ask(part)
            with watch():
                again = selection.ask(part)
            other = selection.ask(selector_of(make))
            insist(
                spelled_work(first) == spelled_work(again) == spelled_work(other),
                f"select gives {shown(first)}, then {shown(again)}, and a new object"
                f" {shown(other)}, on equal arguments",
                do=f"{_STATELESS}; use no randomness but the rng that select is given",
            )
            insist(
                before == selection.spelled,
                f"select changed the head or the memory it was given: {shown(before)} became"
                f" {shown(selection.spelled)}",
                do="copy what is to be changed; select has nothing to remember",
            )
        insist(
            not watch.seen,
            f"select uses {'; '.join(watch.seen)}",
            do="use nothing but the arguments, and no randomness but the rng that select is given",
        )

    def test_select_gives_a_group_its_payload_alone(self, make: Make, corpus: Corpus) -> None:
        """
        Task and head are what its members have in common.
        """
        skip_without_groups(make())
        part = selector_of(make)
        for selection in corpus.selections:
            insist_payload_alone(selection.ask(part))

    def test_select_is_quick(self, make: Make, corpus: Corpus) -> None:
        """
        It is called while all workers wait, so it runs few lines.
        """
        part = selector_of(make)
        for selection in corpus.selections:
            lines = lines_of(partial(selection.ask, part), self.most_lines)
            insist(
                lines <= self.most_lines,
                f"one select runs more than {self.most_lines} lines of Python",
                do="work out in step what select needs, and leave it in memory; or raise most_lines",
            )

    # ------------------------------------------------------------------ runs

    @pytest.mark.parametrize("seed", range(5))
    def test_equal_seeds_give_equal_runs(self, make: Make, domain: MakeDomain, seed: int) -> None:
        """
        Nothing outlives a run, neither on the object nor anywhere else.
        """
        part = make()
        rehearsals = [self.draw(seed, lambda: part, domain), self.draw(seed, make, domain)]
        runs = [one.simulate() for one in (*rehearsals, *rehearsals)]
        ends = {(run.digest, plain(run.memory)) for run in runs}
        insist(
            len(ends) == 1,
            f"four runs of seed {seed} came to {len(ends)} different ends",
            do=f"{_STATELESS}; {_NO_RANDOMNESS}",
        )

    @pytest.mark.parametrize("hash_seed", [1, 2])
    def test_another_process_comes_to_the_same(
        self, make: Make, domain: MakeDomain, hash_seed: int
    ) -> None:
        """
        Python puts sets of texts into another order in each process; a run that is taken up, or played
        again, is in another one.
        """
        rehearsals = [self.draw(seed, make, domain) for seed in range(3)]
        try:
            there = digests_elsewhere(rehearsals, hash_seed)
        except CannotBeSentError as error:
            pytest.skip(f"it can't be rehearsed in another process: {error}")
        here = [one.simulate().digest for one in rehearsals]
        insist(
            here == there,
            f"with PYTHONHASHSEED={hash_seed} the digests of three runs are {there}, here {here}",
            do="sort what comes out of a set, and use neither hash() nor id()",
        )

    @pytest.mark.parametrize("seed", range(5))
    def test_a_new_object_goes_on_from_the_memory(
        self, make: Make, domain: MakeDomain, seed: int
    ) -> None:
        """
        A run in which each step and each ``select`` has a new object, with the memory from a file.
        """
        calm = self.calm(seed, make, domain, rollouts=20)
        rehearsal = attrs.evolve(calm, fault_rate=0.1 * (seed % 2))
        whole = rehearsal.simulate()
        anew = attrs.evolve(rehearsal, aggregator=lambda: StandIn(make)).simulate()
        self._insist_same(seed, whole, anew, "with a new object for each step")

    @pytest.mark.parametrize("seed", range(2))
    def test_a_crash_at_any_event_changes_nothing(
        self, make: Make, domain: MakeDomain, seed: int
    ) -> None:
        """
        New objects, the memory from a file, and open steps run again on the answers they had.
        """
        rehearsal = self.draw(seed, make, domain)
        whole = rehearsal.simulate()
        events = len(whole.journal.rows)
        for crash in range(1, events, 1 + events // 50):  # at each event of a run that is short
            try:
                digest = rehearsal.take_up(whole, crash)
            except (AssertionError, HeadwayError) as error:
                digest = f"{type(error).__name__}: {error}"
            insist(
                digest == whole.digest,
                f"the run of seed {seed}, taken up after a crash at event {crash}, ends otherwise:"
                f" {digest}, not {whole.digest}",
                do=_STATELESS,
            )

    @pytest.mark.parametrize("seed", range(5))
    def test_a_lost_commit_is_run_again(self, make: Make, domain: MakeDomain, seed: int) -> None:
        """
        Somebody else commits first, every other time: the step begins anew on the head that is there.
        """
        calm = attrs.evolve(self.calm(seed, make, domain), race_rate=0.5)
        whole = self._sound(seed, calm)
        anew = attrs.evolve(calm, aggregator=lambda: StandIn(make)).simulate()
        self._insist_same(seed, whole, anew, "with a new object for each step")

    @pytest.mark.parametrize("seed", range(5))
    def test_a_failed_measurement_is_borne(self, make: Make, domain: MakeDomain, seed: int) -> None:
        """
        The step is closed at its request; its cards are ``discarded(unmeasured)``.
        """
        calm = self.calm(seed, make, domain)
        failing = attrs.evolve(
            calm,
            fault_rate=0.3,
            faulty=frozenset({"measure"}),
        )
        whole = self._sound(seed, failing)
        anew = attrs.evolve(failing, aggregator=lambda: StandIn(make)).simulate()
        self._insist_same(seed, whole, anew, "with a new object for each step")

    @pytest.mark.parametrize("seed", range(5))
    def test_hostile_proposals_are_borne(self, make: Make, domain: MakeDomain, seed: int) -> None:
        """
        Proposals that are too long, no JSON or made before, and calls that raise instead.
        """
        skip_without_proposals(make(), "nobody is asked for proposals")
        calm = self.calm(seed, make, domain)
        hostile = attrs.evolve(
            calm,
            domain=lambda: made_hostile(domain(), seed),
            options={**calm.options, "max_worker_errors": 1000},  # else some runs end early
        )
        self._sound(seed, hostile)

    @pytest.mark.parametrize("seed", range(5))
    def test_no_order_shows_in_sync_mode(self, make: Make, domain: MakeDomain, seed: int) -> None:
        """
        Of groups: however long rollouts take and however many run at once, the batches are the same.
        """
        skip_without_groups(make())
        insist_no_order_shows(self.calm(seed, make, domain))

    @pytest.mark.parametrize("chunk", range(CHUNKS))
    def test_interleavings(self, make: Make, domain: MakeDomain, chunk: int) -> None:
        """
        Seeded schedules with all faults, under an auditor; now and then with new objects throughout.
        """
        part = make()
        for number, seed in enumerate(range(chunk, self.interleavings, CHUNKS)):
            rehearsal = self.draw(seed, lambda: part, domain)
            again = (
                f"Rehearsal.draw({seed}, aggregator=..., domain=..., **options).simulate() of"
                " headway.testing runs it again"
            )
            whole = self._sound(seed, rehearsal, again)
            if number % 10 == 0:
                anew = attrs.evolve(rehearsal, aggregator=lambda: StandIn(make)).simulate()
                self._insist_same(seed, whole, anew, "with a new object for each step")

    @pytest.mark.parametrize("driver", ["threads", "asyncio", "serial"])
    def test_decisions_are_the_same_under(
        self, make: Make, domain: MakeDomain, driver: str
    ) -> None:
        """
        Schedules that were recorded under the simulated driver, played with completions in the
        recorded order; under ``serial`` those in sync mode.
        """
        for seed in self._scripts(make, domain, sync=driver == "serial"):
            rehearsal = self.draw(seed, make, domain)
            script = rehearsal.record()
            try:
                digest = rehearsal.play(script, driver)
            except ScriptError as error:
                message = f"seed {seed} under {driver}: {error}"
                raise AssertionError(message) from error
            insist(
                digest == script.digest,
                f"seed {seed} comes to {digest} under {driver}, and to {script.digest} under simulated",
                do=f"{_STATELESS}; {_NO_RANDOMNESS}; ask neither for the thread nor for the loop",
            )

    def _scripts(self, make: Make, domain: MakeDomain, *, sync: bool) -> Iterator[int]:
        seed, found = 0, 0
        while found < self.scripted:
            mode = self.draw(seed, make, domain).options["mode"]
            if not sync or mode == "sync":
                found += 1
                yield seed
            elif "mode" in self.options:
                pytest.skip("serial runs in sync mode, and its options are for another")
            seed += 1

    def _sound(
        self, seed: int, rehearsal: Rehearsal, again: str = "this test alone runs it again"
    ) -> Rehearsed:
        """
        Simulate a run, in which nothing may be the aggregator's fault.
        """
        try:
            found = rehearsal.simulate()
        except OptionError:
            raise
        except (AssertionError, HeadwayError) as error:
            message = f"seed {seed}: {type(error).__name__}: {error}\n-> {again}"
            raise AssertionError(message) from error
        ended = [] if found.error is None else [found.error]
        for fault in (*(fault for fault, _ in found.faults), *ended):
            insist(
                fault.where != "aggregator",
                f"seed {seed}: {fault.type}: {fault.message}\n{fault.traceback}",
                do=f"let step and select bear whatever a run may bring; {again}",
            )
        return found

    def _insist_same(self, seed: int, whole: Rehearsed, other: Rehearsed, how: str) -> None:
        pairs = zip(whole.journal.rows, other.journal.rows, strict=False)
        place = next((n for n, (a, b) in enumerate(pairs) if a.witness != b.witness), "the last")
        insist(
            (whole.digest, plain(whole.memory)) == (other.digest, plain(other.memory)),
            f"the run of seed {seed} ends otherwise {how}: its decisions differ from event {place} on,"
            f" and it remembers {shown(other.memory)}, not {shown(whole.memory)}",
            do=_STATELESS,
        )
