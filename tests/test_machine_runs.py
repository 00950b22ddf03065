"""
The machine in whole runs: how they end, what they may spend, and that nothing is lost.
"""

from __future__ import annotations

import threading
from collections import Counter

import pytest

from headway import Commit, Consume, Measure, Outcome, run
from headway.builtins.standard import StandardAggregator
from headway.contracts import CardDecided, RunFinished, TicketEnded
from headway.durations import Constant, LogNormal, Pareto
from headway.testing._toy import ToyDomain

LAWS = {
    "rollout": Pareto(1.0, 1.2),
    "propose": LogNormal(0.5, 0.5),
    "measure": LogNormal(0.3, 0.8),
    "rebase": Constant(0.1),
    "commit": Constant(0.2),
}
SLOW = dict.fromkeys(LAWS, Constant(1.0))
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


class Counting(ToyDomain):
    """
    Counts what really runs, and how much of it at once; fails where it is told to.
    """

    def __init__(self, *, bad=lambda kind, n: None, **options):
        super().__init__(**options)
        self.bad = bad
        self.counts: Counter[str] = Counter()
        self.now = self.most = 0
        self.lock = threading.Lock()

    def counted(self, kind, function):
        with self.lock:
            self.counts[kind] += 1
            self.now += 1
            self.most = max(self.most, self.now)
            bad = self.bad(kind, self.counts[kind])
        try:
            if isinstance(bad, BaseException):
                raise bad
            return function() if bad is None else bad
        finally:
            with self.lock:
                self.now -= 1

    def rollout(self, state, task, *, rng):
        return self.counted("rollout", lambda: ToyDomain.rollout(self, state, task, rng=rng))

    def propose(self, state, task, outcome, *, rng):
        return self.counted(
            "propose", lambda: ToyDomain.propose(self, state, task, outcome, rng=rng)
        )

    def measure(self, state, task, *, rng):
        return self.counted("measure", lambda: ToyDomain.rollout(self, state, task, rng=rng).reward)


class Never:
    """
    Never decides anything.
    """

    batch = 1

    def step(self, cards, context):
        return
        yield


class Broken:
    """
    Its steps raise, before or after they have asked for something.
    """

    batch = 1

    def __init__(self, after):
        self.after, self.begun = after, []

    def step(self, cards, context):
        self.begun.append([card.number for card in cards])
        if self.after:
            yield Measure((context.head,), context.held_out)
        raise ZeroDivisionError("step")


class Rejecting:
    """
    Lets everything go.
    """

    batch = 1

    def step(self, cards, context):
        yield Consume(cards)


class Ledger:
    """
    What an observer saw: every ticket and card must end exactly once.
    """

    def __init__(self):
        self.tickets, self.cards, self.finished = [], [], []

    def __call__(self, notice):
        if isinstance(notice, TicketEnded):
            self.tickets.append(notice.ticket)
        elif isinstance(notice, CardDecided):
            self.cards.append(notice.decision.card)
        elif isinstance(notice, RunFinished):
            self.finished.append(notice.stop_reason)


def go(domain=None, driver="simulated", **options):
    """
    Run, and check that every ticket ended once, every card was decided once, and one end was told.
    """
    seen = Ledger()
    if driver == "simulated":
        options = {"durations": LAWS} | options
    result = run(
        domain or ToyDomain(n_keys=20), driver=driver, observers=[seen], validate=True, **options
    )

    assert list(range(result.rollouts)) == sorted(seen.tickets)
    assert list(range(len(seen.cards))) == sorted(seen.cards)
    assert result.rollouts == sum(result.completions.values())
    assert len(seen.cards) == sum(result.decisions.values())
    assert [result.stop_reason] == seen.finished
    assert result.stale_discarded == result.decisions.get("discarded:stale", 0)
    assert result.stale_considered == sum(result.eta_histogram.values())
    return result


# ---------------------------------------------------------------------------- stop reasons

EASY = {"n_keys": 4, "n_values": 3, "right": 1.0, "silent": 0.0, "useless": 0.0}
modes = pytest.mark.parametrize("mode", ["sync", "async"])


@modes
@pytest.mark.parametrize("driver", ["simulated", "threads"])
def test_a_target_that_is_reached_ends_the_run(mode, driver):
    """
    The final reward is at least the target.
    """
    result = go(ToyDomain(**EASY), driver, mode=mode, target_reward=0.9, max_rollouts=500)

    assert ("target_reward", True) == (result.stop_reason, result.converged)
    assert 0.9 <= result.final_reward


class Unmeasured:
    """
    Commits whatever is proposed; so nobody has scored a head before it is one.
    """

    batch = 1

    def step(self, cards, context):
        yield Commit(context.apply(cards[0].diff), cards[:1])


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("n_workers", "slots"), [(1, 1), (2, 2), (1, 2), (4, 4)])
def test_a_head_that_leaves_nothing_to_find_is_scored_before_the_run_ends(n_workers, slots, seed):
    """
    Its rollouts had each slot until then, so whether it is at the target is not known yet.
    """
    domain, options = ToyDomain(**EASY), {"n_workers": n_workers, "slots": slots, "seed": seed}
    result = go(domain, aggregator=Unmeasured(), mode="async", target_reward=1.0, **options)

    assert ("target_reward", 1.0) == (result.stop_reason, result.final_reward)


@pytest.mark.parametrize("max_calls", range(12, 48))
def test_no_score_is_waited_for_that_cannot_be_afforded(max_calls):
    """
    Then such a run ends without it.
    """
    domain, options = ToyDomain(**EASY), {"n_workers": 1, "slots": 1, "max_calls": max_calls}
    result = go(domain, aggregator=Unmeasured(), mode="async", target_reward=1.0, **options)

    assert result.stop_reason in ("max_calls", "target_reward")
    assert result.stop_reason == "max_calls" or result.final_reward == 1.0


@modes
def test_patience_ends_the_run(mode):
    """
    After so many sweeps in a row that committed nothing.
    """
    result = go(mode=mode, aggregator=Rejecting(), patience=4)

    assert "patience" == result.stop_reason
    assert 4 == len(result.history)


def test_rounds_end_a_synchronous_run():
    """
    After exactly so many rounds.
    """
    result = go(mode="sync", rounds=3, round_size=5, n_workers=2)

    assert ("rounds", 15) == (result.stop_reason, result.rollouts)


@modes
def test_a_search_without_anything_left_to_find_is_exhausted(mode):
    """
    Every training task was rolled out at the head, and none brought a proposal.
    """
    result = go(ToyDomain(**EASY), mode=mode, max_rollouts=5000)

    assert "exhausted" == result.stop_reason
    assert 1.0 == result.final_reward
    assert 200 > result.rollouts


@modes
@pytest.mark.parametrize("max_seconds", [3.0, 10.0, 50.0])
def test_time_ends_the_run(mode, max_seconds):
    """
    The whole run is within the time and the grace after it.
    """
    result = go(mode=mode, max_seconds=max_seconds, shutdown_grace=2.0, durations=SLOW)

    assert "max_seconds" == result.stop_reason
    assert result.wallclock <= max_seconds + 2.0
    assert result.final_reward is not None or max_seconds < 5


@modes
def test_rollouts_end_the_run(mode):
    """
    All of them were made, and all that they brought is decided.
    """
    result = go(mode=mode, max_rollouts=23)

    assert ("max_iters", 23) == (result.stop_reason, result.rollouts)
    assert 0 == result.decisions.get("settled", 0)


def test_a_step_that_never_decides_stalls_the_run():
    """
    Once nothing can start, the reason names the cards.
    """
    result = go(mode="async", aggregator=Never(), max_rollouts=500)

    assert ("stalled", True) == (result.stop_reason, result.failed)
    assert "decided none of the cards 0, 1" in result.error.message


@modes
def test_a_search_whose_backend_never_works_ends_with_its_error(mode):
    """
    The workers retire, and the real message is the run's error.
    """
    domain = Counting(bad=lambda kind, n: OSError("no key") if kind == "rollout" else None)
    result = go(domain, mode=mode, max_rollouts=500)

    assert "error" == result.stop_reason
    assert "no key" == result.error.message
    assert 30 > result.rollouts


@modes
def test_a_baseline_that_cannot_be_measured_ends_the_run(mode):
    """
    Without it nothing can be compared.
    """
    domain = Counting(bad=lambda kind, n: OSError("down") if kind == "measure" else None)
    result = go(domain, mode=mode, max_rollouts=500)

    assert ("error", "down") == (result.stop_reason, result.error.message)
    assert result.final_reward is None


@modes
def test_rewards_that_are_never_valid_end_the_run(mode):
    """
    The completions say ``invalid``, and the value is shown.
    """
    domain = Counting(bad=lambda kind, n: Outcome(reward=1.5) if kind == "rollout" else None)
    result = go(domain, mode=mode, max_rollouts=500)

    assert "error" == result.stop_reason
    assert "1.5" in result.error.message
    assert result.rollouts == result.completions["invalid"] + result.completions["cancelled"]


# ---------------------------------------------------------------------------- budgets

QUICK = {"n_keys": 20, "n_tasks": 4}
workers = pytest.mark.parametrize("n_workers", [1, 8, 32, 512])
drivers = pytest.mark.parametrize("driver", ["simulated", "threads"])


@modes
@drivers
@workers
def test_twenty_asked_is_twenty_delivered(mode, driver, n_workers):
    """
    Rollouts are exact at any number of workers.
    """
    domain = Counting(**QUICK)
    result = go(domain, driver, mode=mode, n_workers=n_workers, max_rollouts=20, self_verify=False)

    assert ("max_iters", 20) == (result.stop_reason, result.rollouts)
    assert 20 == domain.counts["rollout"]


@modes
@drivers
@pytest.mark.parametrize("n_workers", [1, 8, 64])
@pytest.mark.parametrize("max_calls", [15, 16, 31, 60, 110])
def test_calls_are_never_overshot(mode, driver, n_workers, max_calls):
    """
    Counted in the domain itself, final scoring included; what a step that lost had begun is paid,
    whether it was cancelled before the domain saw it or not.
    """
    domain = Counting(**QUICK)
    result = go(domain, driver, mode=mode, n_workers=n_workers, max_calls=max_calls)

    assert "max_calls" == result.stop_reason
    assert domain.counts.total() <= sum(result.calls.values()) <= max_calls
    assert result.final_reward is not None


@modes
def test_failing_calls_are_within_the_budget_too(mode):
    """
    What is tried again is paid again.
    """
    domain = Counting(bad=lambda kind, n: OSError("flaky") if n % 3 == 0 else None, **QUICK)
    result = go(domain, mode=mode, n_workers=8, max_calls=120)

    assert 120 >= domain.counts.total() == sum(result.calls.values())


@pytest.mark.parametrize("slots", [1, 3, 10])
def test_no_more_runs_at_once_than_there_are_slots(slots):
    """
    Counted in the domain, under threads.
    """
    domain = Counting(**QUICK)
    go(domain, "threads", mode="async", n_workers=8, slots=slots, max_rollouts=40)

    assert slots >= domain.most


# ---------------------------------------------------------------------------- faults


@drivers
def test_a_candidate_that_cannot_be_measured_is_unmeasured(driver):
    """
    One of its scores was tried three times; the run goes on.
    """

    class Fragile(Counting):
        def measure(self, state, task, *, rng):
            if state != self.initial():
                return self.counted("bad", lambda: 1 / 0)
            return super().measure(state, task, rng=rng)

    domain = Fragile(silent=0.0)
    result = go(domain, driver, mode="async", n_workers=1, slots=1, max_rollouts=12)

    assert "max_iters" == result.stop_reason
    assert 0 < result.decisions["discarded:unmeasured"]
    assert 0 == domain.counts["bad"] % 3
    assert 0 == result.decisions.get("committed", 0)
    assert {"ZeroDivisionError"} == {failure.fault.type for failure in result.failures}


@modes
@pytest.mark.parametrize("after", [0, 1])
def test_a_broken_optimizer_ends_the_run_within_a_second(mode, after):
    """
    Each batch is tried twice; the second one that fails is the end.
    """
    broken = Broken(after)
    result = go(mode=mode, aggregator=broken, max_rollouts=5000, durations={})

    assert ("error", "ZeroDivisionError") == (result.stop_reason, result.error.type)
    assert 1.0 > result.wallclock
    assert 4 == len(broken.begun)
    assert set(broken.begun[0]) <= set(broken.begun[1])
    assert result.decisions["discarded:plugin_error"] >= 2


@drivers
def test_a_step_that_will_not_close_is_contained(driver):
    """
    An optimizer that clings to its step when it is abandoned harms nobody.
    """

    class Clinging:
        batch = 1

        def step(self, cards, context):
            try:
                yield Measure((context.apply({"a": 3}),), ["nowhere"])
            finally:
                yield Consume(cards)

    result = go(driver=driver, mode="async", aggregator=Clinging(), max_rollouts=50)

    assert "error" == result.stop_reason


@modes
def test_what_fails_now_and_then_stops_nothing(mode):
    """
    Failures end tickets and are counted; their tasks come again; the search goes on.
    """
    domain = Counting(bad=lambda kind, n: OSError("flaky") if n % 4 == 0 else None, n_keys=20)
    result = go(domain, mode=mode, max_rollouts=100, policy="reflective")

    assert ("max_iters", 100) == (result.stop_reason, result.rollouts)
    assert 5 < result.completions["failed"]
    assert result.final_reward > result.baseline_reward


def test_a_commit_of_a_stranger_is_adopted():
    """
    A commit from outside is found by the next one of ours, and built upon.
    """
    from headway.builtins._memory_ledger import MemoryLedger
    from headway.contracts import Artifact

    domain = ToyDomain(n_keys=20)
    ledger = MemoryLedger(Artifact(domain.initial()))

    class Intruding:
        batch, standard = 1, StandardAggregator()

        def step(self, cards, context):
            for_all = self.standard.step(cards, context)
            answer = None
            while True:
                try:
                    request = for_all.send(answer)
                except StopIteration:
                    return
                if isinstance(request, Commit) and ledger.snapshot().version == 0:
                    theirs = Artifact({**domain.initial(), "a": domain.hidden["a"]})
                    ledger.commit(0, theirs, key="theirs", message="theirs")
                answer = yield request

    result = go(domain, mode="async", aggregator=Intruding(), ledger=ledger, max_rollouts=60)

    assert 1 == result.commit_races
    assert domain.hidden["a"] == result.state["a"]
    assert result.version > 2
