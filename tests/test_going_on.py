"""
What a run goes on through: odd values, parts that fail or have changed, and ends that come twice.
"""

import _thread
import json
import math
import time
import warnings
from collections import Counter
from functools import partial

import pytest
from sqlite_files import raw

import headway
from headway import Measure, Outcome
from headway.builtins._estimators import Ewma
from headway.contracts import RunFinished, Work
from headway.drivers import Checkpoints
from headway.errors import ContractError
from headway.journal import _file
from headway.testing._toy import ToyDomain

OPTIONS = {"max_rollouts": 40, "seed": 3, "n_workers": 4, "mode": "sync"}


class Text(str):
    """A text as other libraries have them."""

    __slots__ = ()


class Number(float):
    """A number as other libraries have them."""


class Whole(int):
    """Another one."""


class StopAt:
    def __init__(self, count):
        self.left = count

    def __call__(self, notice):
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


class OneByOne:
    """A sampler that may raise, and whose texts are of a class of their own."""

    def __init__(self, raises=False):
        self.raises = raises

    def pick(self, book):
        if self.raises:
            raise ValueError("out of order")
        return Text(book.train[book.drawn % len(book.train)])


class Asks:
    """An aggregator that only measures the head."""

    batch = 1

    def __init__(self, payload=None, draws=1):
        self.payload, self.draws = payload, draws

    def select(self, ticket, head, memory, rng):
        return Work(payload=self.payload)

    def step(self, cards, context):
        yield Measure((context.head,), map(Text, context.held_out), self.draws)


def toy(**options):
    return ToyDomain(n_keys=6, n_tasks=8, right=0.4, **options)


def run(folder, domain=None, **options):
    return headway.run(domain or toy(), run_dir=folder, **{**OPTIONS, **options})


@pytest.mark.parametrize(
    "options",
    [
        {"sampler": OneByOne()},
        {
            "aggregator": Asks(
                payload={"a": Number(1.5), "b": (1, [Whole(2)]), Text("c"): Text("d")}
            )
        },
        {"aggregator": Asks(draws=Whole(1))},
    ],
    ids=["sampler", "payload", "request"],
)
def test_values_of_derived_classes_are_kept(tmp_path, options):
    """As what they are derived from, wherever a part may give them: the run ends as without a journal."""
    loose = headway.run(toy(), **OPTIONS, **options)

    assert loose.digest == run(tmp_path / "r", **options).digest


@pytest.mark.parametrize("depth", [100, 101, 400, 5000])
def test_what_is_nested_deep_is_read_again_or_refused(tmp_path, depth):
    """Whoever takes a run up may stand deeper in the stack than those who wrote its journal."""

    class Deep(ToyDomain):
        def rollout(self, state, task, *, rng):
            output = 0
            for _ in range(depth):
                output = {"a": output}
            return Outcome(reward=0.0, output=output)

        def propose(self, state, task, outcome, *, rng):
            return None

    def deeper(calls):
        if calls:
            return deeper(calls - 1)
        return run(tmp_path / "r", Deep(), max_rollouts=8, driver="serial")

    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "r", Deep(), max_rollouts=8, driver="serial", observers=[StopAt(4)])
    result = deeper(100)

    assert ("error" if depth > 100 else "max_iters") == result.stop_reason


def test_a_number_that_is_too_long_to_be_spelled(tmp_path):
    """Its call is invalid, and the journal goes on."""

    class Long(ToyDomain):
        def rollout(self, state, task, *, rng):
            return Outcome(reward=0.0, output=10**5000 if task.id == "train-1" else None)

    result = run(tmp_path / "r", Long(), max_rollouts=8)

    assert result.completions["invalid"] >= 1


def nested(depth):
    value = 0
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("payload", "told"),
    [
        ({"a": [{1: "x"}]}, "the key 1 is no text"),
        (nested(101), "the payload is nested more than 100 deep"),
        (nested(400), "the payload is nested more than 100 deep"),
    ],
    ids=["key", "101", "400"],
)
def test_a_payload_that_cannot_be_kept_is_the_aggregators_fault(tmp_path, payload, told):
    """A key that is no text, which would be one when it is read again, and what is nested too deep."""
    result = run(tmp_path / "r", aggregator=Asks(payload=payload))

    assert "error" == result.stop_reason
    assert told in result.error.message


def test_a_payload_may_be_nested_as_deep_as_what_a_call_gives(tmp_path):
    """It is kept, and read again."""
    result = run(tmp_path / "r", aggregator=Asks(payload=nested(100)))

    assert () == result.failures
    assert result.digest == run(tmp_path / "r", aggregator=Asks(payload=nested(100))).digest


def test_a_run_that_broke_at_its_first_event_goes_on(tmp_path):
    """What it has left behind is in nobody's way."""
    first = run(tmp_path / "r", sampler=OneByOne(raises=True))
    second = run(tmp_path / "r", sampler=OneByOne())

    assert "error" == first.stop_reason
    assert second.stop_reason in ("max_iters", "exhausted")
    assert second == run(tmp_path / "r", sampler=OneByOne())


@pytest.mark.parametrize("driver", ["serial", "threads", "asyncio"])
def test_what_was_paid_for_when_a_run_broke_is_not_paid_for_again(tmp_path, driver):
    """A sampler breaks off the run while a rollout's outcome comes in; that outcome is kept."""
    made = Counter()

    class Counted(ToyDomain):
        def rollout(self, state, task, *, rng, ticket):
            made[ticket and ticket.number, task.id, json.dumps(state)] += ticket is not None
            return super().rollout(state, task, rng=rng)

    class Breaks(OneByOne):
        def pick(self, book):
            self.raises = self.breaks and book.drawn > 9
            return super().pick(book)

    domain, sampler = Counted(n_keys=6, n_tasks=8, right=0.4, useless=0.0), Breaks()
    sampler.breaks = True
    first = run(tmp_path / "r", domain, sampler=sampler, driver=driver, n_workers=1)
    sampler.breaks = False
    second = run(tmp_path / "r", domain, sampler=sampler, driver=driver, n_workers=1)

    assert "error" == first.stop_reason
    assert second.stop_reason in ("max_iters", "exhausted")
    assert {} == {call: count for call, count in made.items() if count > 1}


def test_rewards_without_a_bound(tmp_path):
    """JSON has no infinities, and the run is kept and gone on with all the same."""

    class Boundless(ToyDomain):
        reward_range = (-math.inf, math.inf)

    domain = partial(Boundless, n_keys=6, n_tasks=8, right=0.4)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "r", domain(), driver="serial", observers=[StopAt(20)])
    loose = headway.run(domain(), **OPTIONS, driver="serial")

    assert loose.digest == run(tmp_path / "r", domain(), driver="serial").digest


def test_an_interrupt_of_the_final_scoring_is_taken_back(tmp_path):
    """The run had been stopped by its budget already; the same call then scores its end."""

    class Slow(ToyDomain):
        interrupts = waits = True

        def rollout(self, state, task, *, rng):
            if task.id.startswith("test") and self.waits:  # each of them, lest the others be enough
                if self.interrupts:
                    self.interrupts = False
                    _thread.interrupt_main()
                time.sleep(1.5)
            return super().rollout(state, task, rng=rng)

    domain = Slow(n_keys=6, n_tasks=8, right=0.4, noise=0.1)
    first = run(tmp_path / "r", domain)
    domain.waits = False
    second = run(tmp_path / "r", domain)

    assert (first.test_reward, first.unscored) != (None, None)
    assert first.stop_reason == second.stop_reason
    assert first.test_reward is None
    assert second.test_reward is not None
    assert second == run(tmp_path / "r", domain)


class Faulty(Ewma):
    """An estimator that fails once."""

    left = 5

    def observe(self, cost, seconds):
        self.left -= 1
        if self.left == 0:
            raise ValueError("once")
        super().observe(cost, seconds)


@pytest.mark.parametrize("driver", ["serial", "threads", "simulated"])
def test_an_estimator_that_has_failed_once(tmp_path, driver):
    """It fails again while the journal is read, or does not: what was journalled holds."""
    for left in (5, 7, 1000):
        folder, estimators = tmp_path / str(left), (Faulty(), Faulty())
        estimators[1].left = left
        with pytest.raises(KeyboardInterrupt):
            run(folder, estimator=estimators[0], driver=driver, observers=[StopAt(30)])
        result = run(folder, estimator=estimators[1], driver=driver)

        assert result.stop_reason in ("max_iters", "exhausted")


class Changing(Ewma):
    """An estimator whose newer version can't take over what the older one has learnt."""

    newer = False

    @property
    def memory(self):
        return [1.0, [1.0, 1.0]]

    @memory.setter
    def memory(self, memory):
        if self.newer:
            raise ValueError("another layout")


def test_an_estimator_that_cannot_take_over_its_memory(tmp_path, monkeypatch):
    """Then the journal is read from its first event, with the checkpoint left aside."""
    monkeypatch.setattr(headway._prepare, "Checkpoints", partial(Checkpoints, every=10))
    older, newer = Changing(), Changing()
    newer.newer = True
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "r", estimator=older, driver="serial", observers=[StopAt(40)])
    result = run(tmp_path / "r", estimator=newer, driver="serial")

    assert result.stop_reason in ("max_iters", "exhausted")


def test_processes_that_live_shortly_take_checkpoints_too(tmp_path, monkeypatch):
    """The events that an earlier process has seen since the last checkpoint count."""
    monkeypatch.setattr(headway._prepare, "Checkpoints", partial(Checkpoints, every=60))
    began = 0
    for _ in range(12):
        try:
            run(tmp_path / "r", driver="serial", observers=[StopAt(6)])
        except KeyboardInterrupt:
            with raw(tmp_path / "r" / "run.sqlite") as look:
                found = "SELECT max(event) FROM journal_checkpoint"
                began = look.execute(found).fetchone()[0] or began

    assert began >= 60


def test_a_decision_that_nobody_takes_does_not_make_another_run(tmp_path):
    """An object has another address in every process, which is no option of the run."""

    class Mine:
        pass

    with pytest.warns(RuntimeWarning, match="no meaning"):
        first = run(tmp_path / "r", aggregator=Asks(), acceptance=Mine())
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing is run, so there is nothing to be warned of
        second = run(tmp_path / "r", aggregator=Asks(), acceptance=Mine())

    assert first == second


@pytest.mark.parametrize("state", [(0, 0), {1: 0}, {"a": [(1,)]}])
def test_a_state_that_would_come_back_as_another_is_refused(tmp_path, state):
    """Before anything is run: whoever takes the run up would hand the domain lists and texts."""

    class Odd(ToyDomain):
        def initial(self):
            return state

    with pytest.raises(ContractError, match="lists and texts"):
        run(tmp_path / "r", Odd())
    assert [] == list(tmp_path.iterdir())


@pytest.mark.parametrize("driver", ["serial", "simulated", "threads", "asyncio"])
def test_observers_do_not_slow_a_run_down_by_the_journals_pace(tmp_path, monkeypatch, driver):
    """Where the run waits for its observers, as at its end, what they are told is written at once."""
    for pace in ("PACE", "SLOWEST_PACE"):
        monkeypatch.setattr(_file, pace, 3600.0)
    heard = []
    result = run(tmp_path / "r", driver=driver, observers=[heard.append])

    assert () == result.failures
    assert RunFinished is type(heard[-1])
