"""
Whole runs of the standard aggregator: what is accepted, refused, pruned and promoted.
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from typing import ClassVar

import pytest

from headway import Registry, run
from headway.builtins.standard import Sequential, StandardAggregator, Union
from headway.contracts import Domain, Outcome, Splits, Task, TrialTerms
from headway.durations import Constant, LogNormal, Uniform
from headway.errors import LedgerError, OptionError

coins = pytest.importorskip("harness.coins", reason="needs a checkout with benchmarks")

HOW = [
    ("sync", "serial"),
    ("sync", "simulated"),
    ("sync", "threads"),
    ("async", "simulated"),
    ("async", "threads"),
]
everywhere = pytest.mark.parametrize(("mode", "driver"), HOW)


class Parts(Domain):
    """
    An artifact is a list of parts; each training task proposes one, and ``worth`` says what they
    are worth together.
    """

    name = "parts"
    deterministic = True
    solved = 2.0

    def __init__(self, names, worth, needs=None):
        self.names, self.worth, self.needs = names, worth, needs or {}

    def tasks(self):
        return Splits(
            train=[Task(id=name, data=name) for name in self.names],
            held_out=[Task(id=f"h{n}") for n in range(8)],
        )

    def initial(self):
        return []

    def rollout(self, state, task):
        return Outcome(reward=self.worth({*state}))

    def propose(self, state, task, outcome):
        missing = self.needs.get(task.data, set()) - {*state}
        return None if missing else {"add": task.data}

    def apply(self, state, diff):
        left = {*state, diff["add"]} if "add" in diff else {*state} - {diff["remove"]}
        return sorted(left)

    def keys(self, diff):
        return (diff.get("add") or diff["remove"],)

    def removals(self, state):
        return [{"remove": name} for name in state]

    def durations(self):
        return dict.fromkeys(("rollout", "propose", "measure"), Uniform(0.5, 1.5))


def quietly(*args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return run(*args, validate=True, **options)


# ---------------------------------------------------------------------- interactions


def rivals(parts):
    """
    ``a`` and ``b`` each help, and hurt together.
    """
    alone = 0.2 * ("a" in parts) + 0.15 * ("b" in parts) + 0.4 * ("c" in parts)
    return alone - 0.45 * ({"a", "b"} <= parts)


def spoilers(parts):
    """
    ``a`` and ``b`` together are better than neither, and worse than ``a`` alone.
    """
    return rivals(parts) + 0.2 * ({"a", "b"} <= parts)


@everywhere
@pytest.mark.parametrize(
    ("worth", "fusion"),
    [(rivals, "union"), (rivals, "alone"), (spoilers, Union(tournament=True))],
    ids=["union", "alone", "tournament"],
)
def test_a_union_that_hurts_is_refused(mode, driver, worth, fusion):
    """
    Also when both of its halves were carried because they help alone.
    """
    registry = Registry()
    registry.add("fusion", "alone", Alone)
    result = quietly(
        Parts(["a", "b", "c"], worth),
        registry=registry,
        fusion=fusion,
        mode=mode,
        driver=driver,
        batch_size=3,
        n_workers=3,
        max_rollouts=30,
        self_verify=False,
    )

    assert ["a", "c"] == result.state
    assert result.final_reward == pytest.approx(0.6)


class Alone:
    """
    Never tries cards together.
    """

    def groups(self, cards, chance):
        return tuple((card,) for card in cards)


def fading(parts):
    """
    ``old`` pays until ``new`` is there.
    """
    return 0.9 if "new" in parts else 0.3 * ("old" in parts)


@everywhere
def test_an_edit_that_stops_paying_is_pruned(mode, driver):
    """
    Some commit later, without a card of its own.
    """
    result = quietly(
        Parts(["old", "new", "x", "y"], fading, needs={"new": {"old"}}),
        mode=mode,
        driver=driver,
        n_workers=2,
        max_rollouts=60,
        self_verify=False,
    )

    assert ["new"] == result.state
    assert result.version > result.decisions["committed"]


@everywhere
def test_a_part_that_pays_is_never_pruned(mode, driver):
    """
    Each is tried, and each stays.
    """

    def worth(parts):
        return 0.1 * len(parts & {"a", "b", "c", "d"})

    result = quietly(
        Parts(["a", "b", "c", "d"], worth),
        mode=mode,
        driver=driver,
        n_workers=2,
        max_rollouts=80,
        self_verify=False,
    )

    assert ["a", "b", "c", "d"] == result.state
    assert result.version <= result.decisions["committed"]


# ---------------------------------------------------------------------- noise


def found(seed, domain, **options):
    return quietly(domain, driver="simulated", seed=seed, self_verify=False, **options)


def test_a_constant_reward_commits_nothing():
    """
    A tie never does.
    """
    results = [found(seed, coins.Constant(), patience=100) for seed in range(3)]

    assert [0, 0, 0] == [result.version for result in results]
    assert all(len(result.history) >= 100 for result in results)


def test_coins_that_nothing_helps_are_rarely_thought_better():
    """
    At most 5 % of runs commit anything; of twelve with fixed seeds none does.
    """
    results = [found(seed, coins.Coins(), max_rollouts=60) for seed in range(12)]

    assert 0 == sum(result.version > 0 for result in results)
    assert 0.4 < sum(result.final_reward for result in results) / 12 < 0.6


def test_an_edit_that_helps_is_found_among_useless_ones():
    """
    In at least 80 % of runs, and nothing else is committed with it.
    """
    domain = coins.Coins(useful=0, once=True)
    results = [found(seed, domain, max_rollouts=20) for seed in range(12)]

    assert sum(0 in result.state for result in results) >= 10
    assert 1 == max(len(result.state) for result in results)


@pytest.mark.parametrize("workers", [1, 5])
def test_verdicts_do_not_depend_on_the_order_in_which_scores_arrive(workers):
    """
    A test takes its draws in the order (task, draw), whatever the durations.
    """
    laws = (Constant(1.0), Uniform(0.1, 3.0), LogNormal(1.0, 1.5))
    digests = {
        found(
            3,
            coins.Coins(useful=0, once=True),
            mode="sync",
            round_size=4,
            n_workers=workers,
            max_rollouts=40,
            durations=dict.fromkeys(("rollout", "propose", "measure"), law),
        ).digest
        for law in laws
    }

    assert 1 == len(digests)


@pytest.mark.parametrize("tasks", [1, 2, 3])
def test_a_removal_that_nothing_can_be_shown_of_is_refused(tasks):
    """
    With so few held-out tasks only the whole range can be shown, and "not worse by that" says nothing.
    """
    trial = Sequential(max_draws=3).trial(
        TrialTerms(tasks=tasks, deterministic=False, step=9, removal=True)
    )
    while trial.verdict == "undecided" and trial.seen < trial.cycles:
        trial.add([-0.9] * tasks)

    assert "accept" != trial.verdict


def test_the_same_test_by_every_driver():
    """
    Sync mode decides alike under each.
    """
    options = {"mode": "sync", "round_size": 4, "max_rollouts": 40, "self_verify": False, "seed": 3}
    digests = {
        quietly(coins.Coins(useful=0, once=True), driver=driver, **options).digest
        for driver in ("serial", "simulated", "threads", "asyncio")
    }

    assert 1 == len(digests)


@pytest.mark.parametrize("max_steps", [2, 3])
def test_racing_steps_spend_levels_of_their_own(max_steps):
    """
    Each attempt has a number of its own, so none spends what another one does.
    """
    acceptance = coins.Recording()
    aggregator = StandardAggregator(acceptance=acceptance, max_steps=max_steps)
    found(0, coins.Coins(), aggregator=aggregator, max_rollouts=100)
    by_level: dict = {}
    for trial in acceptance.trials:
        by_level.setdefault(trial.test.level, []).append(trial)

    assert sum(level * len(trials) for level, trials in by_level.items()) < 0.05


# ---------------------------------------------------------------------- promotion


def test_a_confirmed_version_becomes_the_stable_one():
    """
    The result shows it, and the ledger has it.
    """

    def worth(parts):
        return 0.5 * ("a" in parts)

    result = quietly(
        Parts(["a", "x", "y", "z"], worth), driver="simulated", max_rollouts=40, promote_after=2
    )
    too_soon = quietly(
        Parts(["a", "x", "y", "z"], worth), driver="simulated", max_rollouts=40, promote_after=500
    )

    assert (1, 1, ["a"]) == (result.version, result.stable_version, result.stable_state)
    assert (1, 0, []) == (too_soon.version, too_soon.stable_version, too_soon.stable_state)


class Unpromoting:
    """
    A ledger without a branch ``stable``.
    """

    def __init__(self, ledger):
        self.ledger = ledger

    def __getattr__(self, name):
        return getattr(self.ledger, name)

    def snapshot(self, branch="dev", version=None):
        if branch == "stable":
            raise LedgerError("there is no branch 'stable'")
        return self.ledger.snapshot(branch)

    def promote(self, version, *, source="dev", target="stable"):
        raise LedgerError("nothing is promoted here")

    def commit(self, expected, artifact, *, key, message, branch="dev"):
        return self.ledger.commit(expected, artifact, key=key, message=message, branch=branch)

    def log(self, branch="dev"):
        return self.ledger.log(branch)

    def fork(self, branch, *, source="dev"):
        return self.ledger.fork(branch, source=source)

    def close(self):
        self.ledger.close()


@pytest.mark.parametrize("driver", ["simulated", "threads"])
def test_a_ledger_that_does_not_promote_stops_no_run(driver):
    """
    There is then no stable version to show.
    """
    from headway.builtins._memory_ledger import MemoryLedger
    from headway.contracts import Artifact

    ledger = Unpromoting(MemoryLedger(Artifact([])))
    result = quietly(
        Parts(["a", "x", "y", "z"], lambda parts: 0.5 * ("a" in parts)),
        driver=driver,
        ledger=ledger,
        max_rollouts=40,
        promote_after=1,
    )

    assert not result.failed
    assert (None, None) == (result.stable_version, result.stable_state)


class Refusing(Unpromoting):
    """
    One that has the branch and refuses to move it.
    """

    def snapshot(self, branch="dev", version=None):
        return self.ledger.snapshot(branch)


@pytest.mark.parametrize("driver", ["simulated", "threads", "serial"])
def test_a_promotion_that_fails_is_told_and_stops_no_run(driver):
    """
    As a failure in the result.
    """
    from headway.builtins._memory_ledger import MemoryLedger
    from headway.contracts import Artifact

    result = quietly(
        Parts(["a", "x", "y", "z"], lambda parts: 0.5 * ("a" in parts)),
        driver=driver,
        mode="sync",
        ledger=Refusing(MemoryLedger(Artifact([]))),
        max_rollouts=80,
        promote_after=1,
    )

    assert not result.failed
    assert 0 == result.stable_version
    assert {"promote"} == {failure.fault.where for failure in result.failures}


# ---------------------------------------------------------------------- options


class Tuned:
    """
    An aggregator that takes two of the options that tune one, and one decision.
    """

    seen: ClassVar[dict] = {}

    def __init__(self, batch_size=7, accept_level=0.5, acceptance=None):
        Tuned.seen = {
            "batch_size": batch_size,
            "accept_level": accept_level,
            "acceptance": acceptance,
        }
        self.batch = batch_size

    def step(self, cards, context):
        return
        yield


def tuned(price=0.0, **options):
    registry = Registry()
    registry.add("aggregator", "tuned", Tuned)
    domain = Parts(["a", "x", "y"], len)
    domain.measure_price = price
    return run(
        domain,
        registry=registry,
        aggregator="tuned",
        driver="simulated",
        max_rollouts=1,
        **options,
    )


def test_a_named_aggregator_gets_the_options_that_it_takes():
    """
    Its own default stands where the caller gave none; a decision is made for it.
    """
    tuned(accept_level=0.2)

    assert (7, 0.2) == (Tuned.seen["batch_size"], Tuned.seen["accept_level"])
    assert 0.2 == Tuned.seen["acceptance"].accept_level


@pytest.mark.parametrize(
    "given", [{"max_steps": 2}, {"oracle_budget": 5}, {"promote_after": 9}, {"fusion": "union2"}]
)
def test_an_option_that_the_aggregator_does_not_take_is_told(given):
    """
    Before the run, by name and value.
    """
    ((name, value),) = given.items()
    text = rf"{name}={value} has no meaning for the aggregator tuned"
    with pytest.warns(RuntimeWarning, match=text):
        tuned(**given)


@pytest.mark.parametrize(
    ("price", "options", "expected"),
    [
        (0.0, {}, 7),
        (1.0, {}, 8),
        (0.3, {}, 3),
        (1.0, {"n_workers": 2}, 4),
        (1.0, {"batch_size": 5}, 5),
        (1.0, {"batch_size": 1}, 1),
        (1.0, {"mode": "sync"}, 7),
    ],
)
def test_dear_measurements_make_larger_batches(price, options, expected):
    """
    A candidate costs 8 held-out scores; at most two cards for each worker are gathered, in async mode
    and unless it is told; with a price of 0 the factory's own batch stands.
    """
    tuned(price, **options)

    assert expected == Tuned.seen["batch_size"]


@pytest.mark.parametrize(
    ("seconds", "options", "expected"),
    [
        (0.0, {}, 1),
        (0.05, {}, 1),
        (4.0, {}, 8),
        (4.0, {"n_workers": 2}, 4),
        (4.0, {"batch_size": 1}, 1),
        (4.0, {"batch_size": 3}, 3),
    ],
)
def test_the_price_of_a_measurement_is_found_out(seconds, options, expected):
    """
    From how long it takes beside a rollout of a second, with 8 held-out tasks and at most two cards for
    each worker; unless a size is given.  It is the same again in another run.
    """
    domain = Parts([f"p{n}" for n in range(60)], len)
    domain.measure_price = None
    batches = []

    class Seen(StandardAggregator):
        def step(self, cards, context):
            batches.append(len(cards))
            return (yield from super().step(cards, context))

    registry = Registry()
    registry.add("aggregator", "seen", Seen)
    laws = {"rollout": Constant(1.0), "measure": Constant(seconds)}
    fixed = {"driver": "simulated", "durations": laws, "max_rollouts": 60, "self_verify": False}
    runs = [
        quietly(domain, registry=registry, aggregator="seen", max_wait_rounds=9, **fixed | options)
        for _ in range(2)
    ]

    assert expected == Counter(batches).most_common(1)[0][0]
    assert runs[0].digest == runs[1].digest


@pytest.mark.parametrize("price", [-1, math.nan, "dear"])
def test_a_price_that_is_none_is_refused(price):
    """
    Before anything runs.
    """
    with pytest.raises(OptionError, match="measure_price"):
        tuned(price)


def test_an_aggregator_that_is_an_object_takes_no_options():
    """
    It has been made already.
    """
    with pytest.warns(RuntimeWarning, match=r"accept_level=0\.2 has no meaning"):
        run(
            Parts(["a", "x", "y"], len),
            aggregator=StandardAggregator(),
            driver="simulated",
            max_rollouts=1,
            accept_level=0.2,
        )


def test_the_standard_aggregator_takes_them_all():
    """
    Without a word.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = run(
            Parts(["a", "x"], lambda parts: 0.1 * len(parts)),
            driver="simulated",
            max_rollouts=4,
            batch_size=2,
            max_steps=2,
            accept_level=0.1,
            max_draws=3,
            promote_after=5,
            oracle_budget=7,
            blast_radius=0.9,
        )

    assert result.version > 0


def test_bad_tuning_names_the_option():
    """
    Whoever takes it.
    """
    with pytest.raises(OptionError, match="max_steps"):
        run(Parts(["a", "x"], len), max_rollouts=1, max_steps=4)


def test_what_a_noisy_run_can_show_is_said_before_it():
    """
    As a note, which is no warning; a budget makes it less, and so do few draws.
    """

    def note(**options):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            result = run(coins.Coins(), driver="simulated", max_rollouts=1, **options)
        return next(text for text in result.notes if "rewards are noisy: 20" in text)

    shown = Sequential().shows(20)

    assert f"at least {shown:.3g} with power 0.8" in note()
    assert f"at least {Sequential(max_draws=40).shows(20):.3g} with" in note(max_draws=40)
    assert "no difference can be shown" in note(accept_level=1e-9, max_draws=1)
    assert f"at least {Sequential().shows(20, draws=6):.3g} with" in note(max_calls=340)


def test_a_deterministic_run_has_no_such_note():
    """
    There any gain counts.
    """
    result = run(Parts(["a", "x"], len), driver="simulated", max_rollouts=1)

    assert () == result.notes
