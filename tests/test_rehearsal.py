"""
Somebody's own parts: simulated with faults, crashed, and played by drivers with real concurrency.
"""

import subprocess
import sys
import threading
from typing import ClassVar

import attrs
import mutants_aggregators as mutants
import pytest

from headway.builtins._memory_ledger import MemoryLedger
from headway.builtins.standard import StandardAggregator
from headway.contracts import Artifact, Carry, Consume
from headway.durations import Constant, Uniform
from headway.errors import OptionError
from headway.testing import AuditError, Rehearsal, ScriptError, ToyDomain, _schedules
from headway.testing._faults import put_back
from headway.testing.conformance.aggregators import small_domain

CONCURRENT = ("threads", "asyncio")
both = pytest.mark.parametrize("driver", CONCURRENT)


def rehearse(aggregator=StandardAggregator, domain=small_domain, **more):
    options = {"n_workers": 3, "max_rollouts": 8, "final_draws": 1, **more.pop("options", {})}
    durations = {"rollout": Uniform(0.5, 1.5), "measure": Constant(0.2)}
    return Rehearsal(
        aggregator=aggregator, domain=domain, durations=durations, options=options, **more
    )


def test_a_seed_is_a_rehearsal():
    """
    Equal seeds draw equal options and faults and come to one end; other seeds to others.
    """
    first, again, other = (
        Rehearsal.draw(seed, aggregator=StandardAggregator, domain=small_domain)
        for seed in (4, 4, 5)
    )

    assert first == again != other
    assert first.simulate().digest == again.simulate().digest != other.simulate().digest


def test_given_options_are_not_drawn():
    """
    What the author needs stands; an option that there is not is refused.
    """
    made = Rehearsal.draw(1, aggregator=StandardAggregator, domain=small_domain, n_workers=9)

    assert made.options["n_workers"] == 9
    with pytest.raises(OptionError, match="n_worker"):
        rehearse(options={"n_worker": 2}).simulate()


def test_faults_are_injected():
    """
    Of the kinds that were asked for, and of all; also those of an outage, and lost commits.
    """
    options = {"rollout_timeout": 5.0, "eval_timeout": 5.0, "max_rollouts": 30}
    calm = rehearse(options=options)
    measured = attrs.evolve(calm, fault_rate=0.5, faulty=frozenset({"measure"})).simulate()
    down = attrs.evolve(calm, outage=(10, 5)).simulate()
    contested = attrs.evolve(calm, race_rate=0.7).simulate()

    assert () == calm.simulate().faults
    assert {"measure"} == {fault.where for fault, _ in measured.faults}
    assert any(fault.type == "ConnectionError" for fault, _ in down.faults)
    assert contested.statistics.commit_races > 0


def test_a_rival_puts_an_old_state_back():
    """
    It needs to know nothing of the domain.
    """
    ledger = MemoryLedger(Artifact("first"))
    for version, state in enumerate(["second", "third"]):
        ledger.commit(version, Artifact(state), key=state, message="")

    assert Artifact("second") == put_back(ledger)


@pytest.mark.parametrize("race_rate", [0.0, 0.5])
def test_a_crash_changes_nothing(race_rate):
    """
    At any event: also where somebody else put an earlier state back before.
    """
    rehearsal = rehearse(options={"max_rollouts": 5}, race_rate=race_rate)
    whole = rehearsal.simulate()
    ends = {rehearsal.take_up(whole, crash) for crash in range(1, len(whole.journal.rows))}

    assert {whole.digest} == ends


class FailsWhenQuiet:
    """
    Decides nothing while more may come, and raises where it must decide.
    """

    batch = 3

    def __init__(self, *, carries):
        self.carries = carries

    def step(self, cards, context):
        if context.quiet:
            message = "too few"
            raise ValueError(message)
        if self.carries:
            yield Carry(cards)


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize("carries", [False, True])
def test_an_aggregator_that_fails_only_when_it_must_decide_ends(mode, carries):
    """
    It is told to decide again, so waiting and failing do not take turns for ever.
    """
    options = {"mode": mode, "max_rollouts": 5, "n_workers": 1}
    found = rehearse(lambda: FailsWhenQuiet(carries=carries), options=options).simulate()

    assert {("aggregator", "ValueError")} == {(f.where, f.type) for f, _ in found.faults}
    assert len(found.journal.rows) < 100


def test_a_run_that_does_not_end_is_given_up(monkeypatch):
    """
    Also where all of it happens within one moment.
    """
    monkeypatch.setattr(_schedules, "MOST_EVENTS", 10)

    with pytest.raises(AuditError, match="does not end within 10 events"):
        rehearse().simulate()


# ---------------------------------------------------------------------------- scripts


class SeesItsThread(StandardAggregator):
    """
    Notes on which threads its steps run.
    """

    threads: ClassVar = set()

    def step(self, cards, context):
        self.threads.add(threading.current_thread().name)
        return (yield from super().step(cards, context))


class Vetoes(StandardAggregator):
    """
    Wants none of its cards.
    """

    def step(self, cards, context):
        yield Consume(cards, "vetoed")


class Awaited(ToyDomain):
    """
    The same toy, whose rollouts and proposals are coroutines.
    """

    async def rollout(self, state, task, *, rng):
        return super().rollout(state, task, rng=rng)

    async def propose(self, state, task, outcome, *, rng):
        return super().propose(state, task, outcome, rng=rng)


@both
def test_a_script_is_played_on_real_threads(driver):
    """
    The work is done elsewhere than on the calling thread, and what comes of it is the script's.
    """
    rehearsal = rehearse(SeesItsThread)
    script = rehearsal.record()
    SeesItsThread.threads.clear()

    assert script.digest == rehearsal.play(script, driver)
    assert SeesItsThread.threads
    assert "MainThread" not in SeesItsThread.threads


@both
def test_a_script_of_coroutines_is_played(driver):
    """
    With faults: some of them are cancelled on the way, or never heard of.
    """
    options = {"rollout_timeout": 3.0, "eval_timeout": 3.0, "straggler": "cancel"}
    for seed in range(4):
        domain = lambda: Awaited(n_keys=4, n_values=3, n_tasks=3, right=0.6)  # noqa: E731 - a factory
        rehearsal = rehearse(domain=domain, seed=seed, fault_rate=0.2, options=options)
        script = rehearsal.record()

        assert script.digest == rehearsal.play(script, driver)


@pytest.mark.parametrize("driver", ["serial", *CONCURRENT])
def test_faults_and_crossing_answers_are_played(driver):
    """
    Answers that overtake each other, come twice or too late, or are spoilt: in rounds, by all drivers.
    """
    options = {"mode": "sync", "round_size": 5, "rollout_timeout": 3.0, "eval_timeout": 3.0}
    for seed in range(4):
        rehearsal = rehearse(seed=seed, fault_rate=0.3, race_rate=0.3, options=options)
        script = rehearsal.record()

        assert script.digest == rehearsal.play(script, driver)


@pytest.mark.parametrize("driver", ["serial", *CONCURRENT])
def test_the_first_event_that_differs_is_named(driver):
    """
    With what the script has, what came instead, and what to do.
    """
    rehearsal = rehearse(options={"mode": "sync"})
    script = rehearsal.record()
    with pytest.raises(ScriptError, match=r"^event \d+, Yielded of request 1 of step 1, ") as info:
        attrs.evolve(rehearsal, aggregator=Vetoes).play(script, driver)
    with pytest.raises(ScriptError, match=r"^look-ups of event 0, Started, differ"):
        attrs.evolve(rehearsal, aggregator=mutants.Sound).play(script, driver)

    assert "the script has\n" in str(info.value)
    assert "-> let it depend on its arguments alone" in str(info.value)


@both
def test_a_call_that_gives_something_else_is_named(driver):
    """
    The call, its kind, its task and its ticket.
    """
    rehearsal = rehearse()
    script = rehearsal.record()
    number = next(n for n, answer in script.answers.items() if getattr(answer.value, "output", 0))
    answer = script.answers[number]
    value = attrs.evolve(answer.value, output=["z"])
    altered = attrs.evolve(
        script, answers={**script.answers, number: attrs.evolve(answer, value=value)}
    )
    with pytest.raises(
        ScriptError, match=rf"Done of call {number} \(rollout: task .*, ticket \d+\)"
    ):
        rehearsal.play(altered, driver)


@pytest.mark.parametrize("driver", ["serial", *CONCURRENT])
def test_what_nobody_will_bring_is_not_waited_for(driver):
    """
    A script with an event that nothing leads to fails at once, and says which.
    """
    rehearsal = rehearse(options={"mode": "sync"})
    script = rehearsal.record()
    strange = attrs.evolve(script.rows[5], event=attrs.evolve(script.rows[5].event, call=999))
    altered = attrs.evolve(script, rows=(*script.rows[:5], strange, *script.rows[6:]))
    with pytest.raises(ScriptError, match=r"event 5 .* nothing is running that would bring it"):
        rehearsal.play(altered, driver)


@both
def test_a_script_that_hangs_is_given_up(driver):
    """
    A step that waits for ever, away from the main thread: what was waited for is named.
    """
    go_on = threading.Event()

    class Waits(mutants.Sound):
        def step(self, cards, context):
            if threading.current_thread() is not threading.main_thread():
                go_on.wait()
            yield Consume(cards)

    rehearsal = rehearse(Waits)
    script = rehearsal.record()
    with pytest.raises(ScriptError, match=r"stopped at event \d+ .* It waited for ") as info:
        rehearsal.play(script, driver, patience=0.5)
    go_on.set()

    assert "-> see what keeps that from ending" in str(info.value)


def test_a_driver_that_plays_nothing_is_refused():
    """
    With the names of those that do.
    """
    rehearsal = rehearse()
    with pytest.raises(ScriptError, match=r"'thread'.*serial, threads, asyncio"):
        rehearsal.play(rehearsal.record(), "thread")


def test_the_kit_is_not_loaded_by_itself():
    """
    Simulating needs no pytest; the contracts do.
    """
    program = "import sys, headway.testing; print('pytest' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert "False\n" == done.stdout
