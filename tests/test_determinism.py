"""
``deterministic=None``: what the baseline shows is believed until something contradicts it.
"""

from __future__ import annotations

import pytest
from by_hand import Hand, artifact, proposal

from headway import Commit, Measure, run
from headway.contracts import Committed, FaultSeen, Outcome
from headway.durations import Uniform
from headway.testing import ToyDomain

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

DRIVERS = ("threads", "asyncio", "simulated")


class Silent(ToyDomain):
    """
    A domain that does not say whether it is deterministic, and whose rewards can be seen to vary.
    """

    def __init__(self, **options):
        super().__init__(**options)
        self.deterministic = None

    def initial(self):
        known = list(self.hidden.items())[: len(self.hidden) // 2]
        return {**super().initial(), **dict(known)}


class Delayed(Silent):
    """
    Deterministic where it is measured; now and then a rollout is unlucky.
    """

    def rollout(self, state, task, *, rng):
        outcome = super().rollout(state, task, rng=rng)
        return Outcome(reward=outcome.reward * (rng.random() < 0.8), output=outcome.output)

    def measure(self, state, task, *, rng):
        return ToyDomain.rollout(self, state, task, rng=rng).reward


class Worn(Delayed):
    """
    Its first rollouts are honest, so that the baseline is known before any is not.
    """

    honest = 0

    def rollout(self, state, task, *, rng):
        self.honest -= 1
        domain = ToyDomain if self.honest > 0 else Delayed
        return domain.rollout(self, state, task, rng=rng)


def faults(result):
    return [f.count for f in result.failures if f.fault.type == "NotDeterministic"]


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("mode", ["sync", "async"])
def test_equal_draws_are_believed(mode, driver):
    """
    The baseline is drawn twice; then the run is as one that was declared deterministic.
    """
    # So many that the baseline is measured before they have all been made, however busy the machine.
    result = run(Silent(), mode=mode, driver=driver, max_rollouts=20_000)

    assert ("assumed", "exhausted") == (result.deterministic, result.stop_reason)
    assert (2, 1) == (result.scores["baseline"].draws, result.scores["final"].draws)
    assert [] == faults(result)


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("mode", ["sync", "async"])
def test_unequal_draws_are_noisy(mode, driver):
    """
    Then nothing was assumed, so nothing is contradicted; the baseline has an interval.
    """
    result = run(Silent(noise=0.4), mode=mode, driver=driver, max_rollouts=60)
    baseline = result.scores["baseline"]

    assert "noisy" == result.deterministic
    assert 4 == result.scores["final"].draws
    assert baseline.interval[0] < baseline.mean < baseline.interval[1]
    assert [] == faults(result)


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("mode", ["sync", "async"])
def test_a_contradiction_is_told_once_and_kept(mode, driver):
    """
    Two rollouts of one head on one task differ: from then on the run is noisy.
    """
    worn = Worn(silent=0.0, useless=0.0, right=0.0)
    worn.honest = 0 if mode == "sync" else 40
    result = run(worn, mode=mode, driver=driver, max_rollouts=400, validate=True)

    assert "contradicted" == result.deterministic
    assert [1] == faults(result)
    assert 4 == result.scores["final"].draws
    assert "max_iters" == result.stop_reason


@pytest.mark.parametrize(
    ("declared", "given", "found"),
    [
        (True, None, "declared"),
        (False, None, "noisy"),
        (None, True, "declared"),
        (None, False, "noisy"),
        (True, False, "noisy"),
        (False, True, "declared"),
        (None, None, "assumed"),
    ],
)
def test_the_caller_s_word_comes_before_the_domain_s(declared, given, found):
    """
    Only when neither says so is it to be found out.
    """
    domain = Silent()
    domain.deterministic = declared
    result = run(domain, driver="simulated", max_rollouts=30, deterministic=given)

    assert found == result.deterministic
    assert (2 if found == "assumed" else 1) == result.scores["baseline"].draws


def test_a_run_that_ended_before_it_was_known():
    """
    Nothing was found out, and that is what the result says.
    """

    class Away(Silent):
        def measure(self, state, task, *, rng):
            message = "the judge is away"
            raise ConnectionError(message)

    result = run(Away(), driver="simulated", max_rollouts=30)

    assert ("error", "unknown") == (result.stop_reason, result.deterministic)


# ---------------------------------------------------------------------------- by hand


def found_out(second=0.0):
    """
    A run whose baseline's second draws are as given, with a card in an open step.
    """
    hand = Hand(deterministic=None, n_workers=1, slots=2).start()
    while hand.calls("measure"):
        call = hand.calls("measure")[0]
        hand.done("measure", second if call.draw else 0.0)
    hand.card()
    return hand


@pytest.mark.parametrize(("second", "told"), [(0.0, True), (0.5, False)])
def test_a_step_is_told_what_is_known_when_it_begins(second, told):
    """
    The machine says so in what the step begins with.
    """
    assert told is found_out(second).resumed.value.deterministic


def test_repeated_draws_contradict():
    """
    A step that draws twice, against advice, finds out; the next step is told.
    """
    hand = found_out()
    assert hand.resumed.value.deterministic
    hand.says(Measure((artifact(1),), ("x",), 2))
    while hand.calls("measure"):
        hand.done("measure", 1.0 if hand.calls("measure")[0].draw else 0.0)
    noted = [n.fault for n in hand.notices if isinstance(n, FaultSeen)]
    hand.says(Commit(artifact(1), hand.cards))
    hand.done("commit", Committed(1))
    hand.returns()
    while not hand.calls("propose"):
        hand.done("rollout", Outcome(reward=0.0))
    hand.done("propose", proposal({"k": 9}))

    assert [("NotDeterministic", "x")] == [(fault.type, fault.task) for fault in noted]
    assert hand.resumed.value.deterministic is False


def test_a_rollout_of_another_head_contradicts_nothing():
    """
    A new head may score as it likes.
    """
    hand = found_out()
    hand.says(Commit(artifact(1), hand.cards))
    hand.done("commit", Committed(1))
    hand.returns()
    for _ in range(2):
        hand.done("rollout", Outcome(reward=1.0))

    assert "assumed" == hand.machine.statistics().determinism


# ---------------------------------------------------------------------------- budget and order


@pytest.mark.parametrize("most", [24, 30, 36, 50, 80, 200])
@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_the_second_draws_are_inside_the_budget(most, noise):
    """
    No call too many, whatever is found out.
    """
    result = run(
        Silent(noise=noise), driver="simulated", n_workers=8, max_calls=most, validate=True
    )

    assert sum(result.calls.values()) <= most
    assert result.calls["measure"] >= 24


@pytest.mark.parametrize("domain", [Silent(), Silent(noise=0.3), Delayed()])
def test_rounds_do_not_depend_on_the_order_of_arrival(domain):
    """
    The first round waits for the baseline, and a contradiction is noticed in the order of tickets.
    """
    runs = [
        run(domain, mode="sync", driver=driver, n_workers=workers, round_size=6, max_rollouts=90)
        for driver, workers in [("serial", 1), ("simulated", 6), ("threads", 3)]
    ]

    assert 1 == len({(r.digest, r.deterministic, r.final_reward) for r in runs})


@pytest.mark.parametrize("seed", range(8))
def test_a_repeated_run_finds_out_the_same(seed):
    """
    Equal options give an equal end, with delays and a contradiction in the middle.
    """
    laws = {kind: Uniform(0.1, 2.0) for kind in ("rollout", "propose", "measure")}
    options = {"driver": "simulated", "seed": seed, "n_workers": 6, "durations": laws}
    first, again = (run(Delayed(), max_rollouts=120, **options) for _ in range(2))

    assert first == again
