"""
The best-of-N control: independent samples of the first head, and all workers at work on them.
"""

from __future__ import annotations

from collections import Counter
from statistics import fmean
from typing import ClassVar

import pytest

from headway import run
from headway.builtins._best_of_n import BestOfN
from headway.contracts import Domain, HeadCommitted, Outcome, RunFinished, Splits, Task, TicketEnded
from headway.durations import Constant, LogNormal
from headway.errors import OptionError
from headway.testing._toy import ToyDomain

MODES = ("sync", "async")


class Watched(ToyDomain):
    """
    Remembers on what each rollout and each proposal worked.
    """

    def __init__(self, **options):
        super().__init__(**options)
        self.rolled, self.proposed, self.changes = [], [], []

    def rollout(self, state, task, *, rng):
        self.rolled.append(dict(state))
        return super().rollout(state, task, rng=rng)

    def measure(self, state, task, *, rng):
        return super().rollout(state, task, rng=rng).reward

    def propose(self, state, task, outcome, *, rng):
        self.proposed.append(dict(state))
        change = super().propose(state, task, outcome, rng=rng)
        if change is not None:
            self.changes.append(change)
        return change


def held_out_reward(domain, state):
    tasks = domain.tasks().held_out
    return fmean(1 - len(domain._wrong(state, task)) / len(task.data) for task in tasks)


def sample(domain, mode, **options):
    given = {
        "aggregator": "best-of-n",
        "policy": "full",
        "driver": "simulated",
        "max_rollouts": 80,
        "durations": {"rollout": LogNormal(1.0, 1.0), "measure": LogNormal(0.2, 1.0)},
        "self_verify": False,
        "validate": True,
    }
    return run(domain, mode=mode, **{**given, **options})


@pytest.mark.parametrize("mode", MODES)
def test_every_sample_is_of_the_first_head(mode):
    """
    Also after commits, nothing is rolled out or proposed on anything else.
    """
    domain = Watched()
    result = sample(domain, mode)
    seed = domain.initial()

    assert result.version > 1
    assert 80 == len(domain.rolled)
    assert [] == [state for state in domain.rolled + domain.proposed if state != seed]


@pytest.mark.parametrize("mode", MODES)
def test_the_best_single_sample_wins(mode):
    """
    The final state is one proposal applied to the first head, and no other one measures better.
    """
    domain = Watched()
    result = sample(domain, mode)
    states = [domain.apply(domain.initial(), change) for change in domain.changes]

    assert result.state in states
    rewards = [held_out_reward(domain, state) for state in states]
    assert max(rewards) == pytest.approx(result.final_reward)


@pytest.mark.parametrize("mode", MODES)
def test_each_commit_is_better_than_the_one_before(mode):
    """
    A tie keeps the older sample, so versions are few and their rewards rise.
    """
    domain, heads = Watched(), []
    sample(
        domain,
        mode,
        observers=[lambda n: heads.append(n.head) if isinstance(n, HeadCommitted) else None],
    )
    rewards = [held_out_reward(domain, head.artifact.value) for head in heads]

    assert len(rewards) > 1
    assert sorted(set(rewards)) == rewards


@pytest.mark.parametrize("mode", MODES)
def test_no_sample_is_stale(mode):
    """
    Under the policy that goes with it, none is let go because others were committed meanwhile.
    """
    assert 0 == sample(Watched(), mode, n_workers=8, max_rollouts=200).stale_discarded


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("workers", [1, 4, 8])
def test_all_workers_work(mode, workers):
    """
    Rollouts of one second, 80 of them: the last one ends after 80 / workers seconds.
    """
    ended = []
    durations = {"rollout": Constant(1.0)}
    sample(
        Watched(),
        mode,
        n_workers=workers,
        durations=durations,
        observers=[lambda n: ended.append(n.now) if isinstance(n, TicketEnded) else None],
    )

    assert pytest.approx(80 / workers) == max(ended)
    assert {workers} == set(Counter(round(now, 6) for now in ended).values())


def test_measuring_does_not_keep_workers_waiting():
    """
    While samples are measured for as long as a rollout takes, rollouts go on in async mode.
    """
    ended = []
    durations = {"rollout": Constant(1.0), "measure": Constant(1.0)}
    sample(
        Watched(),
        "async",
        n_workers=4,
        slots=200,
        async_ratio=16,
        durations=durations,
        observers=[lambda n: ended.append(n.now) if isinstance(n, TicketEnded) else None],
    )

    assert pytest.approx(80 / 4) == max(ended)


class Luck(Domain):
    """
    Every state is as good as any other one: half of its rewards are 1, half are 0.
    """

    name = "luck"
    deterministic = False
    defaults: ClassVar = {"max_rollouts": 40}

    def tasks(self):
        sides = {side: [Task(id=f"{side}-{n}") for n in range(8)] for side in ("train", "held_out")}
        return Splits(**sides)

    def initial(self):
        return 0

    def rollout(self, state, task, *, rng):
        return Outcome(reward=0.0)

    def measure(self, state, task, *, rng):
        return float(rng.random() < 0.5)

    def propose(self, state, task, outcome, *, rng):
        return rng.getrandbits(40)

    def apply(self, state, diff):
        return diff


def test_noise_flatters_the_gate_and_not_the_final_score():
    """
    Of equal samples the luckiest is chosen: the gate reads 0.6 and more, fresh draws read 0.5.
    """
    gates, finals = [], []
    for seed in range(20):
        result = sample(Luck(), "async", seed=seed, max_rollouts=40, final_draws=20)
        gates += [sweep.reward for sweep in result.history if sweep.reward is not None][-1:]
        finals.append(result.final_reward)

    assert 0.5 == pytest.approx(fmean(finals), abs=0.03)
    assert fmean(gates) > 0.6


def test_a_run_repeats_under_the_simulated_driver():
    """
    Equal seeds give equal digests, other seeds other ones.
    """
    digests = [sample(Watched(), "async", seed=seed).digest for seed in (1, 1, 2)]

    assert digests[0] == digests[1] != digests[2]


def test_it_runs_on_threads_too():
    """
    The control is no creature of the simulation.
    """
    domain, ends = Watched(), []
    observers = [lambda n: ends.append(n) if isinstance(n, RunFinished) else None]
    result = sample(domain, "async", driver="threads", durations=None, observers=observers)

    assert (80, "max_iters") == (result.rollouts, result.stop_reason)
    assert 1 == len(ends)
    assert [] == [state for state in domain.rolled if state != domain.initial()]


@pytest.mark.parametrize(
    ("option", "value"), [("batch", 0), ("max_steps", 4), ("draws", 0), ("draws", 1.5)]
)
def test_its_options_are_checked(option, value):
    """
    A count is a whole number in its range.
    """
    with pytest.raises(OptionError, match=option):
        BestOfN(**{option: value})
