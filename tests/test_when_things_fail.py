"""
What a run does when its backend fails, when a plug-in raises, and when rollouts take too long.
"""

from __future__ import annotations

from collections import Counter

import pytest

from headway import Artifact, run
from headway.builtins._estimators import Ewma
from headway.builtins._executor import ThreadExecutor
from headway.builtins._memory_ledger import MemoryLedger
from headway.builtins._policies import Guarded
from headway.builtins._sampler import ShuffledEpochs
from headway.builtins.standard import StandardAggregator
from headway.contracts import FaultSeen
from headway.durations import Constant, Pareto
from headway.errors import ContractError, OptionError
from headway.testing import ToyDomain

modes = pytest.mark.parametrize("mode", ["sync", "async"])
drivers = pytest.mark.parametrize("driver", ["simulated", "threads"])
SECOND = {"rollout": Constant(1.0), "propose": Constant(1.0), "measure": Constant(1.0)}


def go(domain=None, driver="simulated", **options):
    options = {"max_rollouts": 40, "validate": True, "mode": "async"} | options
    return run(domain or ToyDomain(n_keys=20), driver=driver, **options)


def whole(result):
    """
    Whether every ticket and card of a run is accounted for; true of every result.
    """
    return result.rollouts == sum(result.completions.values())


class Failing:
    """
    Raises at the calls that it is told to, counted from 1.
    """

    def __init__(self, when):
        self.when, self.calls = when, 0

    def __call__(self):
        self.calls += 1
        if self.when(self.calls):
            raise RuntimeError(f"broken at call {self.calls}")


def breaking(base, method, failing, after=False):
    """
    A class whose method fails when told to.
    """
    plain = getattr(base, method)

    def broken(self, *arguments, **more):
        if not after:
            failing()
        answer = plain(self, *arguments, **more)
        if after:
            failing()
        return answer

    return type("Broken", (base,), {method: broken})


def stepping(failing):
    """
    An aggregator that fails after its first answer.
    """

    class Broken(StandardAggregator):
        def step(self, cards, context):
            plain = super().step(cards, context)
            answer, asked = None, 0
            while True:
                try:
                    request = plain.send(answer)
                except StopIteration as stop:
                    return stop.value
                if asked:
                    failing()
                asked += 1
                answer = yield request

    Broken.__qualname__ = "Broken"
    return Broken()


class Selecting(StandardAggregator):
    def select(self, ticket, head, memory, rng):
        from headway import Work

        return Work()


def ledger(method, failing):
    start = Artifact(ToyDomain(n_keys=20).initial())
    return breaking(MemoryLedger, method, failing)(start)


PLUGINS = {
    "select": ("aggregator", lambda f: {"aggregator": breaking(Selecting, "select", f)()}),
    "step": ("aggregator", lambda f: {"aggregator": breaking(StandardAggregator, "step", f)()}),
    "step after an answer": ("aggregator", lambda f: {"aggregator": stepping(f)}),
    "decide": ("staleness policy", lambda f: {"policy": breaking(Guarded, "decide", f)()}),
    "pick": ("sampler", lambda f: {"sampler": breaking(ShuffledEpochs, "pick", f)()}),
    "estimate": ("duration estimator", lambda f: {"estimator": breaking(Ewma, "estimate", f)()}),
    "observe": ("duration estimator", lambda f: {"estimator": breaking(Ewma, "observe", f)()}),
    "commit": ("commit", lambda f: {"ledger": ledger("commit", f)}),
    "run": ("executor", lambda f: {"executor": breaking(ThreadExecutor, "run", f)()}),
}
plugins = pytest.mark.parametrize(("where", "made"), PLUGINS.values(), ids=PLUGINS)


@drivers
@modes
@plugins
def test_a_plug_in_that_always_raises(where, made, mode, driver):
    """Its second failure in a row ends the run; the error is named as its own, with the traceback."""
    result = go(driver=driver, mode=mode, **made(Failing(lambda n: True)))

    assert ("error", where, "Broken") == (
        result.stop_reason,
        result.error.where,
        result.error.plugin,
    )
    assert "broken at call" in result.error.message
    assert "RuntimeError" in result.error.traceback
    assert whole(result)
    assert {where} == {failure.fault.where for failure in result.failures}


@drivers
@modes
@plugins
def test_a_plug_in_that_raises_once(where, made, mode, driver):
    """The batch is kept and tried again: nothing is lost, and the run goes on to its end."""
    result = go(driver=driver, mode=mode, **made(Failing(lambda n: n == 3)))

    assert "max_iters" == result.stop_reason
    assert [(where, "Broken", 1)] == [
        (f.fault.where, f.fault.plugin, f.count) for f in result.failures
    ]
    assert whole(result)
    assert not [kind for kind in result.decisions if "plugin_error" in kind]


@modes
def test_a_step_that_always_fails_quarantines_its_cards(mode):
    """The cards of the second failure are let go as such, and are counted."""
    broken = breaking(StandardAggregator, "step", Failing(lambda n: True))
    result = go(mode=mode, aggregator=broken())

    assert result.decisions["discarded:plugin_error"] > 0


@drivers
@modes
@pytest.mark.parametrize("method", ["apply", "keys", "contract_breaking"])
def test_a_domain_that_raises_beside_its_calls(method, mode, driver):
    """It is no backend failure: the proposals are invalid, under the domain's name."""
    domain = breaking(ToyDomain, method, Failing(lambda n: True))(n_keys=20)
    result = go(domain, driver, mode=mode)

    assert {("domain", "toy")} == {(f.fault.where, f.fault.plugin) for f in result.failures}
    assert 0 == result.completions["failed"] < result.completions["invalid"]
    assert whole(result)


@modes
def test_a_domain_whose_apply_fails_in_a_step(mode):
    """The error is the domain's, not the aggregator's."""

    class Late(ToyDomain):
        def apply(self, state, diff):
            if len(diff) > 1:
                raise RuntimeError("two at once")
            return super().apply(state, diff)

    class Pairs:
        batch = 1

        def step(self, cards, context):
            context.apply({"a": 1, "b": 1})
            yield

    result = go(Late(n_keys=20), mode=mode, aggregator=Pairs())

    assert ("error", "domain", "toy") == (
        result.stop_reason,
        result.error.where,
        result.error.plugin,
    )


@drivers
def test_a_rebase_that_raises(driver):
    """The card no longer applies, and the domain is named."""
    domain = breaking(ToyDomain, "rebase", Failing(lambda n: True))(n_keys=20)
    result = go(domain, driver, policy="reflective", bind="early", n_workers=8, async_ratio=8)

    assert "max_iters" == result.stop_reason
    assert {("rebase", "toy")} >= {(f.fault.where, f.fault.plugin) for f in result.failures}


@pytest.mark.parametrize("answer", [None, "error"])
def test_a_ledger_without_a_head(answer):
    """It is refused before anything runs."""

    class Broken(MemoryLedger):
        def snapshot(self, branch="dev", version=None):
            if answer:
                raise RuntimeError("no head")

    with pytest.raises(ContractError, match=r"the ledger .*Broken"):
        go(ledger=Broken())


def test_a_log_that_cannot_be_read():
    """The result is there without it, and says why."""
    result = go(ledger=ledger("log", Failing(lambda n: True)))

    assert () == result.ledger_log
    assert ["ledger"] == [failure.fault.where for failure in result.failures]


# ---------------------------------------------------------------------------- the backend


class Backend(ToyDomain):
    """
    Fails where and when it is told to.

    Args:
        when: Called with the kind of the call and how many of the kind came before; True to fail.
        error: What to raise.
    """

    def __init__(self, when, error=ConnectionError, **options):
        super().__init__(**{"n_keys": 20} | options)
        self.when, self.error, self.counts = when, error, Counter()

    def _meet(self, kind):
        self.counts[kind] += 1
        if self.when(kind, self.counts[kind]):
            raise self.error(f"no answer to {kind}")

    def rollout(self, state, task, *, rng):
        self._meet("rollout")
        return super().rollout(state, task, rng=rng)

    def propose(self, state, task, outcome, *, rng):
        self._meet("propose")
        return super().propose(state, task, outcome, rng=rng)

    def measure(self, state, task, *, rng):
        self._meet("measure")
        return super().rollout(state, task, rng=rng).reward


@drivers
@modes
@pytest.mark.parametrize("workers", [1, 4, 16])
def test_a_backend_that_is_dead_from_the_start(workers, mode, driver):
    """The run ends with the backend's own words, after few calls and no waiting to speak of."""
    domain = Backend(lambda kind, n: True)
    result = go(domain, driver, mode=mode, n_workers=workers, max_rollouts=10_000)

    assert "error" == result.stop_reason
    assert "no answer to" in result.error.message
    assert domain.counts.total() <= 8 * (workers + 8)
    assert result.wallclock < 20


@modes
@pytest.mark.parametrize("kind", ["rollout", "propose", "measure"])
def test_one_kind_of_call_that_never_works(kind, mode):
    """The run ends with an error also when the other kinds work."""
    result = go(Backend(lambda k, n: k == kind), mode=mode, max_rollouts=10_000, durations=SECOND)

    assert ("error", f"no answer to {kind}") == (result.stop_reason, result.error.message)
    assert result.rollouts < 100


@modes
def test_an_outage(mode):
    """
    After a success nobody retires: the backend is left alone longer and longer, told of once, and
    what waits for it goes on when it is back.
    """
    seen = []
    domain = Backend(lambda kind, n: 30 <= domain.counts.total() < 60)
    result = go(domain, mode=mode, durations=SECOND, observers=[seen.append], slots=8)
    told = [n.fault for n in seen if isinstance(n, FaultSeen) and n.fault.where == "backend"]

    assert ("max_iters", 0) == (result.stop_reason, result.retired_workers)
    assert 1 == len(told)
    assert "no answer to" in told[0].message
    assert result.version > 0
    assert result.wallclock > 60


def test_a_short_outage_costs_no_card():
    """What was partly measured stays, and is measured to the end."""
    domain = Backend(lambda kind, n: 60 <= domain.counts.total() < 100)
    result = go(domain, durations=SECOND, slots=8)

    assert 0 == result.decisions.get("discarded:unmeasured", 0)


@modes
@pytest.mark.parametrize("kind", ["rollout", "propose", "measure"])
def test_three_failures_in_ten(kind, mode):
    """They are no streak; few or no cards are lost, and no worker."""
    domain = Backend(lambda k, n: k == kind and n * 7 % 10 < 3)
    result = go(domain, mode=mode, durations=SECOND, max_rollouts=100)

    assert ("max_iters", 0) == (result.stop_reason, result.retired_workers)
    assert 0 == result.decisions.get("discarded:unmeasured", 0)
    assert result.final_reward is not None


def test_one_task_that_is_broken_for_candidates_keeps_nothing_waiting_for_long():
    """
    Where few calls run at once its failures look like an outage; other scores show that it is none.

    In ten runs it takes 11 virtual seconds, and 41 if the same score is tried until it is given up.
    """

    class Broken(ToyDomain):
        def measure(self, state, task, *, rng):
            if state != self.initial() and task.id == "held_out-3":
                raise ConnectionError("always")
            return super().measure(state, task, rng=rng)

    options = {"durations": {"measure": Constant(0.002)}, "max_rollouts": 40}
    results = [
        go(Broken(n_keys=20), n_workers=1, slots=3, seed=seed, **options) for seed in range(10)
    ]

    assert all(result.decisions["discarded:unmeasured"] for result in results)
    assert sum(result.wallclock for result in results) < 25


class BusyError(Exception):
    """What the usual clients raise."""

    retry_after = 30


def test_retry_after_is_honoured():
    """No call begins before the time that the backend named."""
    began = []

    class Named(Backend):
        def rollout(self, state, task, *, rng):
            began.append(self.counts["rollout"])
            return super().rollout(state, task, rng=rng)

    domain = Named(lambda kind, n: (kind, n) == ("rollout", 5), BusyError)
    plain = go(Backend(lambda kind, n: False), durations=SECOND)
    result = go(domain, durations=SECOND)

    assert "max_iters" == result.stop_reason
    assert plain.wallclock + 25 < result.wallclock < plain.wallclock + 35


@modes
def test_time_runs_during_a_pause(mode):
    """A run whose backend stays down ends when its time is up, not when the pause is."""
    domain = Backend(lambda kind, n: domain.counts.total() >= 30)
    limits = {"max_rollouts": None, "max_seconds": 61.0}
    result = go(domain, mode=mode, durations=SECOND, **limits)

    assert ("max_seconds", 61.0) == (result.stop_reason, result.wallclock)


def test_a_serial_run_waits_out_a_pause():
    """With one thread for everything too, and its rest is told by the clock."""
    domain = Backend(
        lambda kind, n: (kind, n) == ("rollout", 5), type("B", (BusyError,), {"retry_after": 0.2})
    )
    result = go(domain, "serial", mode="sync")

    assert "max_iters" == result.stop_reason
    assert result.wallclock >= 0.2


@drivers
@pytest.mark.parametrize("score", [0.0, 0.25])
def test_a_failure_score(score, driver):
    """A measurement that failed for good counts as the domain says."""

    class Scored(Backend):
        failure_score = score

    domain = Scored(lambda kind, n: kind == "measure" and n > 12)
    result = go(domain, driver, max_rollouts=10)

    assert 0 == result.decisions.get("discarded:unmeasured", 0)
    assert score == result.final_reward or result.version == 0


@pytest.mark.parametrize("score", [2.0, "none", True, float("nan")])
def test_a_failure_score_out_of_range(score):
    """It is refused."""

    class Scored(ToyDomain):
        failure_score = score

    with pytest.raises(OptionError, match="failure_score"):
        go(Scored())


# ---------------------------------------------------------------------------- stragglers

SLOW = {"rollout": Pareto(1.0, 1.1), "propose": Constant(0.5), "measure": Constant(0.5)}


@modes
def test_hedges_shorten_a_run(mode):
    """A second copy of what takes long is begun, once, and the first answer counts."""
    options = {"mode": mode, "durations": SLOW, "max_rollouts": 100, "straggler_factor": 2.0}
    plain = [go(seed=seed, **options) for seed in range(5)]
    hedged = [go(seed=seed, straggler="hedge", **options) for seed in range(5)]

    for run_ in hedged:
        assert 0 < run_.hedges <= run_.stragglers
        assert {"ok"} == {kind for kind, count in run_.completions.items() if count}
    assert {0} == {run_.hedges for run_ in plain}
    assert sum(r.wallclock for r in hedged) < sum(r.wallclock for r in plain)


def test_hedges_change_nothing_in_sync_mode():
    """A copy has its ticket's seed, so decisions, versions and states are the same."""
    plain = go(mode="sync", durations=SLOW)
    hedged = go(mode="sync", durations=SLOW, straggler="hedge", straggler_factor=1.5)

    assert 0 < hedged.hedges
    assert plain.digest == hedged.digest


def test_hedges_are_within_the_budget():
    """A copy that can't be paid is not begun."""
    result = go(durations=SLOW, straggler="hedge", straggler_factor=1.1, max_calls=150)

    assert sum(result.calls.values()) <= 150
    assert result.hedges > 0


@modes
def test_stragglers_are_cancelled(mode):
    """They end as timeouts at that moment, and their tasks come again."""
    result = go(mode=mode, durations=SLOW, straggler="cancel", max_rollouts=100)

    assert result.stragglers == result.completions["timeout"] > 0
    assert {"Straggler"} == {failure.fault.type for failure in result.failures}


def test_no_straggler_before_anything_is_known():
    """Without a finished rollout there is no prediction to overrun."""
    result = go(durations=SLOW, n_workers=10, max_rollouts=10, straggler="cancel")

    assert 0 == result.stragglers


# ---------------------------------------------------------------------------- rounds


def test_round_timeout():
    """What runs when a round's time is up ends as a timeout; the next round begins."""
    result = go(mode="sync", durations=SLOW, round_timeout=4.0, rounds=10, max_rollouts=None)

    assert "rounds" == result.stop_reason
    assert result.completions["timeout"] > 0
    assert whole(result)


@pytest.mark.parametrize("most", [1, 2, 4, None])
def test_max_concurrency(most):
    """So many rollouts run at once, and what comes of them is the same."""
    plain = go(mode="sync", durations=SECOND)
    result = go(mode="sync", durations=SECOND, max_concurrency=most)

    assert plain.digest == result.digest
    assert plain.wallclock <= result.wallclock


def test_refresh_interval():
    """Workers keep their snapshot for so many rounds, so evidence may be stale in sync mode too."""
    options = {"mode": "sync", "bind": "early", "policy": "guarded", "alpha": 0}
    fresh = go(max_rollouts=80, **options)
    old = go(max_rollouts=80, refresh_interval=3, **options)

    assert fresh.stale_discarded < old.stale_discarded


@pytest.mark.parametrize(
    ("option", "value"), [("max_concurrency", 2), ("round_timeout", 3.0), ("refresh_interval", 2)]
)
def test_options_of_rounds_are_idle_without_them(option, value):
    """In async mode they are noted and ignored."""
    with pytest.warns(RuntimeWarning, match=f"{option}=.* has no meaning in async mode"):
        result = go(max_rollouts=8, **{option: value})

    assert go(max_rollouts=8).digest == result.digest


# ---------------------------------------------------------------------------- memory


@drivers
def test_an_oversized_proposal_is_not_looked_at(driver):
    """Its card is discarded as such, and nothing of the domain is asked about it."""

    class Huge(ToyDomain):
        def propose(self, state, task, outcome, *, rng):
            return {"a": "x" * 2_000_000}

        def apply(self, state, diff):
            raise AssertionError

    result = go(Huge(), driver, max_rollouts=10)

    assert {"discarded:oversized": result.completions["ok"]} == result.decisions


def test_a_fault_is_kept_short():
    """An exception that shows megabytes does not fill the result with them."""

    class Talking(ToyDomain):
        def rollout(self, state, task, *, rng):
            raise ValueError("x" * 5_000_000)

    result = go(Talking())

    assert all(len(f.fault.message) < 3000 for f in result.failures)
    assert all(len(f.fault.traceback) < 30_000 for f in result.failures)
