"""
Tests of ``evolve``, ``async_evolve`` and ``aevolve``: what they run, warn of and refuse.
"""

from __future__ import annotations

import asyncio
import math
import re
import threading
import warnings

import attrs
import pytest
from hints import (
    TASKS,
    parts,
    propose,
    propose_awaited,
    reward,
    reward_awaited,
    run,
    run_awaited,
)

from headway import AppendRules, Program, Task, aevolve, async_evolve, charge, evolve, get_policy
from headway.contracts import SweepDone
from headway.durations import Constant
from headway.errors import OptionError, UnknownNameError, UsageError
from headway.evolve._plan import plan
from headway.options import make_options
from headway.registry import Registry
from headway.run import run as run_domain

DRIVERS = ("threads", "asyncio", "serial", "simulated")
SYNC = {"run": run, "propose": propose}
ASYNC = {"run": run_awaited, "propose": propose_awaited}


async def later(sweep):
    """
    A function whose call does nothing yet.
    """


def told_while(call):
    """
    What ``call`` gave, and the texts of the warnings meanwhile.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = call()
    assert {RuntimeWarning} >= {w.category for w in caught}
    return result, [str(w.message) for w in caught]


# ---------------------------------------------------------------------------------------- runs


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize(
    "functions", [SYNC, ASYNC, SYNC | {"run": run_awaited}], ids=["plain", "awaited", "mixed"]
)
@pytest.mark.parametrize("score", [reward, reward_awaited])
def test_plain_and_awaited_functions_run_under_every_driver(driver, functions, score):
    """
    In any mixture, and with the same result in rounds.
    """
    result = evolve(
        TASKS, score, strategy=AppendRules(), driver=driver, target_reward=1.0, **functions
    )
    first = evolve(TASKS, reward, **parts(), driver="serial", target_reward=1.0)

    assert ("target_reward", 1.0) == (result.stop_reason, result.final_reward)
    assert ("sync", driver) == (result.mode, result.driver)
    assert first.digest == result.digest


@pytest.mark.parametrize("driver", ["threads", "asyncio", "simulated"])
@pytest.mark.parametrize("functions", [SYNC, ASYNC], ids=["sync", "async"])
def test_without_a_barrier_the_same_is_learned(driver, functions):
    """
    By either spelling; the mode is the result's.
    """
    given = {**functions, "strategy": AppendRules(), "target_reward": 1.0, "max_rollouts": 9000}
    for front, more in [
        (evolve, {"asynchronous": True}),
        (evolve, {"mode": "async"}),
        (async_evolve, {}),
    ]:
        result = front(TASKS, reward, driver=driver, **given, **more)

        assert ("async", "target_reward") == (result.mode, result.stop_reason)


def test_a_plain_reward_beside_an_awaited_run_does_not_hold_up_the_loop():
    """
    It runs on a thread of its own; all of a round's rewards can wait for one another.
    """
    together = threading.Barrier(4)
    loops = set()

    def score(task, output):
        loops.add(threading.current_thread().name)
        together.wait()  # deadlocks on a loop, where one waits for what cannot begin
        return 0.5

    result = evolve(
        TASKS, score, run=run_awaited, propose=lambda *_: None, strategy=AppendRules(),
        driver="asyncio", rounds=1, n_workers=4, slots=4,
    )  # fmt: skip

    assert 4 == result.completions["ok"]
    assert {"headway-call"} == loops


@pytest.mark.parametrize("driver", ["threads", "asyncio", "simulated", "serial"])
def test_the_blocking_form_runs_inside_a_running_loop(driver):
    """
    Which stands still meanwhile.
    """

    async def main():
        return evolve(
            TASKS, reward_awaited, **parts(**ASYNC), driver=driver, target_reward=1.0
        ).converged

    assert asyncio.run(main())


@pytest.mark.parametrize("driver", DRIVERS)
def test_the_awaited_form_lets_the_loop_go_on(driver):
    """
    Coroutines of the run share it with the caller's, under the drivers that overlap.
    """
    loops = set()

    async def run_here(rendered, task):
        loops.add(asyncio.get_running_loop())
        return run(rendered, task)

    async def main():
        result = await aevolve(
            TASKS, reward, **parts(run=run_here), driver=driver, target_reward=1.0
        )
        return result, asyncio.get_running_loop()

    result, loop = asyncio.run(main())

    assert result.converged
    if driver in {"threads", "asyncio"}:
        assert {loop} == loops


def test_an_exact_number_of_rollouts_is_made():
    """
    Whatever the number of workers, and under both names; the default rounds give way.
    """
    never = parts(propose=lambda *_: "nothing")
    for n_workers in (1, 3, 7):
        for name in ("max_rollouts", "max_iters"):
            result = evolve(
                TASKS, lambda task, output: 0.5, **never, n_workers=n_workers, **{name: 20}
            )

            assert (20, "max_iters") == (result.rollouts, result.stop_reason)


def test_by_default_there_are_fifteen_rounds():
    """
    Of as many rollouts as there are workers.
    """
    result = evolve(TASKS, lambda *_: 0.5, **parts(propose=lambda *_: "no"), driver="serial")

    assert (60, "rounds") == (result.rollouts, result.stop_reason)


def test_virtual_time_follows_the_laws():
    """
    Under ``simulated``; user code runs for real.
    """
    result = evolve(
        TASKS,
        reward,
        **parts(),
        driver="simulated",
        rounds=2,
        durations={"rollout": Constant(10.0)},
        self_verify=False,
    )

    assert 20.0 == result.wallclock


# ---------------------------------------------------------------------------------------- rewards


@pytest.mark.parametrize("bad", [1.5, -0.1, math.nan, math.inf, "1", None])
def test_a_reward_that_is_none_is_invalid_never_clamped_and_warned_of_once(bad):
    """
    It is counted with task and value; the rollouts that give one bring no card.
    """

    def score(task, output):
        return bad if task.id in {"t0", "t5", "t10"} else reward(task, output)

    names = {"t0", "t5", "t10"}
    result, told = told_while(
        lambda: evolve(
            [t for t in TASKS if t.id in names] + [t for t in TASKS if t.id not in names],
            score, **parts(), shuffle=False, rounds=6, driver="serial",
        )
    )  # fmt: skip
    invalid = [f for f in result.failures if f.fault.type == "InvalidValue"]

    assert 1 == len(told)
    assert "it counts as invalid" in told[0]
    assert repr(bad) in told[0]
    assert result.completions["invalid"] == sum(f.count for f in invalid) > 0
    assert names >= {f.fault.task for f in invalid}
    assert all(repr(bad) in f.fault.message for f in invalid)


def test_the_run_ends_when_no_reward_is_valid():
    """
    After the first ``max_worker_errors`` completions, with the reason.
    """

    def score(task, output, ticket):
        return 0.5 if ticket is None else 2

    result, told = told_while(
        lambda: evolve(TASKS, score, **parts(), n_workers=1, max_worker_errors=3)
    )

    assert ("error", 3) == (result.stop_reason, result.rollouts)
    assert {"invalid": 3} == {k: v for k, v in result.completions.items() if v}
    assert "the reward 2 is not within [0, 1]" == result.error.message
    assert 1 == len([text for text in told if "it counts as invalid" in text])


def test_the_run_ends_when_the_baseline_cannot_be_measured():
    """
    For a reward that is none, and for one that raises.
    """

    def raising(task, output, ticket):
        if ticket is None:
            raise KeyError(task.id)
        return 0.5

    for score in (raising, lambda task, output, ticket: 0.5 if ticket else -1):
        result, _ = told_while(lambda score=score: evolve(TASKS, score, **parts(), rounds=50))

        assert "error" == result.stop_reason
        assert result.baseline_reward is None


# ---------------------------------------------------------------------------------------- warnings


def quick(**more):
    return async_evolve(TASKS, reward, **parts(), driver="simulated", **more)


def test_rounds_and_time_are_said_to_become_something_else():
    """
    The numbers are in the text, whether they were chosen or are the default.
    """
    result, told = told_while(quick)

    assert 2 == len(told)
    assert told[0].startswith("rounds=15 becomes max_rollouts=60")
    assert told[1].startswith("max_seconds=None becomes 20.0")
    assert 60 >= result.rollouts

    result, told = told_while(lambda: quick(rounds=3, n_workers=5, max_seconds=math.inf))
    assert ["rounds=3 becomes max_rollouts=15"] == [text.split(" without")[0] for text in told]


@pytest.mark.parametrize(
    ("budget", "wanted"),
    [
        ({"max_rollouts": 10}, []),
        ({"max_iters": 10}, []),
        ({"max_calls": 500}, ["rounds"]),
        ({"max_tokens": 500, "tokens_per_call": 1}, ["rounds"]),
        ({"max_cost": 500.0, "cost_per_call": 1.0}, ["rounds"]),
        ({"max_seconds": 5.0}, ["rounds"]),
        ({"max_seconds": math.inf}, ["rounds"]),
        ({"rounds": 2}, ["rounds", "max_seconds"]),
        ({"rounds": None, "max_rollouts": 10}, []),
        ({"rounds": None, "target_reward": 1.0}, ["max_seconds"]),
    ],
    ids=str,
)
def test_a_budget_that_was_given_replaces_the_defaults(budget, wanted):
    """
    Rollouts stand in for rounds; any budget of work does for the time; the default rounds do not.
    """
    _, told = told_while(lambda: quick(**budget))

    assert wanted == [text.split("=")[0] for text in told if "was charged" not in text]


def test_what_has_no_meaning_without_a_barrier_is_warned_of():
    """
    One warning each; the run goes on.
    """
    given = {
        "parallel": "data",
        "round_size": 3,
        "max_concurrency": 2,
        "round_timeout": 5.0,
        "refresh_interval": 2,
    }
    result, told = told_while(lambda: quick(max_rollouts=10, **given))

    assert "max_iters" == result.stop_reason
    assert sorted(given) == sorted(text.split("=")[0] for text in told)
    assert all("has no meaning in async mode" in text for text in told)
    assert ["rollout_timeout" in text for text in told] == [
        text.startswith("round_timeout=") for text in told
    ]

    _, told = told_while(lambda: quick(max_rollouts=10, parallel=Always("t0")))
    assert ["parallel=Always has no meaning in async mode and is ignored"] == [
        text.split(";")[0] for text in told
    ]


def test_an_alpha_below_the_lag_budget_is_warned_of():
    """
    Where the policy then throws away what the gate lets come about; one that does not is told nothing.
    """

    class Idle:
        def __init__(self, *made_with):
            pass

        def ingest(self, card):
            pass

        def step(self):
            return []

    class Raising:
        def decide(self, eta, alpha, contract_breaking):
            raise RuntimeError

    for more, wanted in [
        ({"alpha": 1}, ["alpha=1 is below 3"]),
        ({"alpha": 3}, []),
        ({"alpha": 0, "async_ratio": 0}, ["alpha=0 is below 1"]),
        ({"alpha": 3, "blast_radius": 0.31}, ["alpha=3 is below 5"]),
        ({"alpha": 3, "blast_radius": 0.3}, []),
        ({"alpha": 1, "staleness_policy": "full"}, []),
        ({"alpha": 1, "staleness_policy": "reflective"}, []),
        ({"alpha": 1, "staleness_policy": get_policy("full")}, []),
        ({"alpha": 1, "staleness_policy": get_policy("guarded")}, ["alpha=1 is below 3"]),
        ({"alpha": 1, "staleness_policy": "full", "aggregator_factory": Idle}, []),
        (
            {"alpha": 1, "staleness_policy": Raising()},
            ["the run failed: staleness policy: RuntimeError"],
        ),
    ]:
        _, told = told_while(lambda more=more: quick(max_rollouts=10, **more))

        assert len(wanted) == len(told)
        assert all(text.startswith(start) for start, text in zip(wanted, told, strict=True))
    _, told = told_while(lambda: evolve(TASKS, reward, **parts(), driver="serial", alpha=0))
    assert [] == told


def test_few_held_out_tasks_are_warned_of():
    """
    With the smallest difference that they can show.
    """
    _, told = told_while(lambda: evolve(TASKS[:10], reward, **parts(), driver="serial"))

    assert 1 == len(told)
    assert "4 held-out tasks: the smallest difference" in told[0]
    assert "0.250" in told[0]


@pytest.mark.parametrize("asynchronous", [False, True])
def test_fewer_slots_than_rollouts_are_warned_of(asynchronous):
    """
    Nobody gets less than was asked for without a word.
    """

    def told(slots):
        more = {"asynchronous": asynchronous, "max_rollouts": 4, "slots": slots}
        return told_while(lambda: evolve(TASKS, reward, **parts(), driver="simulated", **more))[1]

    said, enough = told(3), told(4)

    assert 1 == len(said)
    assert "slots=3 is less than the 4 rollouts that may run at once" in said[0]
    assert [] == enough


@pytest.mark.parametrize("awaited", [False, True])
def test_every_warning_names_the_line_that_called(awaited):
    """
    However many functions stand between: a filter by place finds it, and Python tells each place once.
    """

    def bad(_, output):
        return 0.5 if output is None else math.nan

    async def calls():
        return await aevolve(TASKS[:10], bad, **parts(), max_iters=4, asynchronous=True, rounds=3)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if awaited:
            asyncio.run(calls())
        else:
            evolve(TASKS[:10], bad, **parts(), driver="serial")
    ours = [w for w in caught if "counts as invalid" not in str(w.message)]  # told by an observer

    assert 2 <= len(ours)  # before the run, and after it
    assert {__file__} == {w.filename for w in ours}


@pytest.mark.parametrize("answer", [7, ValueError("no score")])
def test_a_test_reward_that_could_not_be_measured_is_warned_of(answer):
    """
    Once, whether scoring raises or gives what is no reward; the final reward stands.
    """

    def score(task, output):
        if not task.id.startswith("test/"):
            return reward(task, output)
        if isinstance(answer, Exception):
            raise answer
        return answer

    tests = [Task(id=f"test/{task.id}", data=task.data) for task in TASKS[:3]]
    result, said = told_while(
        lambda: evolve(TASKS, score, **parts(), driver="simulated", rounds=2, test_tasks=tests)
    )

    assert (None, "fresh") == (result.test_reward, result.scores["final"].source)
    assert [result.unscored] == [text for text in said if "counts as invalid" not in text]
    assert "the test reward could not be measured" in result.unscored


# ---------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"max_rollouts": 5, "max_iters": 6}, "max_iters=6: It is another name of max_rollouts"),
        ({"asynchronous": True, "mode": "sync"}, "mode='sync': asynchronous=True asks for another"),
        ({"asynchronous": False, "mode": "async"}, "mode='async': asynchronous=False asks for"),
        ({"asynchronous": 1}, "asynchronous=1: Give true or false."),
        ({"mode": "rounds"}, "mode='rounds': Give one of sync, async."),
        ({"asynchronous": True, "driver": "serial"}, "driver='serial': Async mode needs a driver"),
        ({"policy": "full"}, "policy='full': Here it is called staleness_policy."),
        ({"estimator": "ewma"}, "estimator='ewma': Here it is called duration_estimator."),
        ({"n_worker": 3}, "There is no such option. Did you mean 'n_workers'?"),
        ({"parallel": "tasks"}, "parallel='tasks': Give one of data, ensemble."),
        ({"parallel": "data", "sampler": "ensemble"}, "leave this or sampler out"),
        ({"parallel": object(), "sampler": "shuffled"}, "sampler is given as well: leave one"),
        ({"observers": "bell"}, "observers='bell': Give a list of observers"),
        ({"on_round": 7}, "on_round=7: Give a function that is called as on_round(sweep)."),
        (
            {"on_round": lambda: None},
            "It is called as on_round(sweep), which does not fit: it takes fewer arguments",
        ),
        ({"on_round": later}, "It is told, and nobody awaits it: give a plain function."),
        ({"mode": ""}, "mode='': Give one of sync, async."),
        ({"driver": ""}, "driver='': Give one of threads"),
        ({"registry": 0}, "registry=0: Give a Registry, or leave it out."),
        ({"durations": 5}, "durations=5: Give a mapping from rollout"),
        ({"aggregator_factory": lambda a: a}, "does not fit: it takes fewer arguments."),
        ({"aggregator": "standard", "aggregator_factory": dict}, "aggregator is given as well"),
        ({"rounds": 0}, "rounds=0: Give a whole number of at least 1."),
        ({"asynchronous": True, "rounds": "3"}, "rounds='3': Give a whole number of at least 1."),
        ({"artifact_id": "oracle"}, "artifact_id='oracle': This is frozen"),
        ({"async_ratio": -1}, "async_ratio=-1: Give a whole number of at least 0."),
    ],
    ids=lambda value: re.sub(" at 0x[0-9a-f]+", "", str(value)),
)
def test_options_that_cannot_be_used_are_refused(given, told):
    """
    Before anything runs, with the value and the remedy.
    """

    def never(*_):
        raise AssertionError

    with pytest.raises(OptionError) as caught:
        evolve(TASKS, reward, **parts(run=never), **given)

    assert told in str(caught.value)


def test_who_asks_for_no_barrier_gets_none():
    """
    ``async_evolve`` has no other mode.
    """
    for given in ({"asynchronous": False}, {"mode": "sync"}):
        with pytest.raises(OptionError, match="asynchronous"):
            async_evolve(TASKS, reward, **parts(), **given)


def test_a_name_that_nobody_offers_is_refused():
    """
    As everywhere.
    """
    with pytest.raises(UnknownNameError, match="no staleness policy named 'gaurded'"):
        evolve(TASKS, reward, **parts(), staleness_policy="gaurded")


def test_a_run_that_nothing_would_end_is_refused():
    """
    Who takes the rounds away must give something else.
    """
    with pytest.raises(UsageError, match="Nothing would end this run"):
        evolve(TASKS, reward, **parts(), rounds=None)


# ---------------------------------------------------------------------------------------- parts


def test_observers_are_told_and_each_round_is():
    """
    ``on_round`` gets the sweeps, observers everything; one that raises costs nothing but itself.
    """
    rounds, notices = [], []

    def broken(notice):
        raise ValueError("bad observer")

    result = evolve(
        TASKS, reward, **parts(), on_round=rounds.append, observers=[broken, notices.append],
        target_reward=1.0,
    )  # fmt: skip

    assert result.converged
    assert result.history == tuple(rounds)
    assert {SweepDone} == {type(r) for r in rounds}
    assert len(notices) > len(rounds)
    assert ["bad observer"] == [f.fault.message for f in result.failures]


def test_names_are_looked_up_in_the_registry_that_is_given():
    """
    So that a program can offer its own.
    """
    registry, notices = Registry(), []
    registry.add("observer", "bell", lambda: notices.append)
    result = evolve(TASKS, reward, **parts(), registry=registry, observers=["bell"], rounds=2)

    assert "rounds" == result.stop_reason
    assert notices


@attrs.define
class Always:
    task: str

    def pick(self, book):
        return self.task


def tasks_of_rounds(**more):
    """
    The tasks of each round, in order.
    """
    seen = []

    def look(rendered, task, ticket):
        if ticket is not None:
            seen.append((ticket.number, task.id))
        return "wrong"

    result = evolve(
        TASKS,
        lambda *_: 0.5,
        **parts(run=look, propose=lambda *_: None),
        rounds=5,
        deterministic=False,
        **more,
    )
    names = [task for _, task in sorted(set(seen))]
    size = result.rollouts // 5
    return [names[n : n + size] for n in range(0, len(names), size)]


@pytest.mark.parametrize("driver", ["threads", "serial"])
@pytest.mark.parametrize("size", [3, 4, 5])
def test_a_round_shares_no_task_or_shares_one(driver, size):
    """
    ``parallel`` says which; another round has other tasks.
    """
    data = tasks_of_rounds(parallel="data", round_size=size, driver=driver)
    ensemble = tasks_of_rounds(parallel="ensemble", round_size=size, driver=driver)

    assert [size] * len(data) == [len(set(tasks)) for tasks in data]
    assert [1] * 5 == [len(set(tasks)) for tasks in ensemble]
    assert 5 == len({tasks[0] for tasks in ensemble})


def test_who_gets_which_task_may_be_a_sampler():
    """
    An object under ``parallel`` is one.
    """
    held = tasks_of_rounds(parallel=Always("t0"), shuffle=False)

    assert {"t0"} == {task for tasks in held for task in tasks}


def test_the_result_says_which_tasks_were_held_out():
    """
    Every split, by ids.
    """
    more = {"test_tasks": [Task(id="x", data="alpha")], "oracle_tasks": [Task(id="y", data="beta")]}
    result = evolve(TASKS, reward, **parts(), **more, rounds=1)
    split = result.splits

    assert {t.id for t in TASKS} == {*split["train"], *split["held_out"]}
    assert (("x",), ("y",)) == (split["test"], split["oracle"])
    assert 8 == len(split["held_out"])


@pytest.mark.parametrize("driver", DRIVERS)
def test_what_each_function_charges_is_counted(driver):
    """
    Also on the thread of a plain reward beside an awaited run.
    """

    async def spend(rendered, task):
        charge(tokens=1)
        return run(rendered, task)

    def score(task, output):
        charge(tokens=10)
        return 0.5

    def suggest(rendered, task, output, reward):
        charge(tokens=100)

    result = evolve(TASKS, score, **parts(run=spend, propose=suggest), driver=driver, rounds=2)
    calls = {kind: count for kind, count in result.calls.items() if count}
    tried = sum(calls.values()) - calls["propose"]

    assert 11 * tried + 100 * calls["propose"] == result.usage.tokens


def test_whether_rewards_are_noisy_is_found_out():
    """
    Unless the caller says so.
    """

    def noisy(task, output, rng):
        return rng.random()

    found = {
        (score, given): evolve(
            TASKS, score, **parts(), driver="serial", rounds=1, deterministic=given
        ).deterministic
        for score, given in [(reward, None), (reward, True), (reward, False), (noisy, None)]
    }

    assert ["assumed", "declared", "noisy", "noisy"] == list(found.values())


def test_two_steps_of_the_standard_aggregator_race():
    """
    Unless the caller says how many, or chooses another aggregator.
    """
    for given, wanted in [
        ({}, 2),
        ({"max_steps": 3}, 3),
        ({"aggregator": "standard"}, 1),
    ]:
        made = plan(TASKS, reward, {**parts(), **given})

        assert wanted == make_options(made.options, {}).max_steps


# ------------------------------------------------------------------------------- what a run's end says


def raising(*_, **__):
    return 1 / 0


def warned_while(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return caught


ENTRIES = [
    lambda **more: evolve(TASKS, reward, driver="serial", **more),
    lambda **more: async_evolve(TASKS, reward, driver="simulated", max_rollouts=30, **more),
    lambda **more: asyncio.run(aevolve(TASKS, reward, driver="asyncio", **more)),
]


@pytest.mark.parametrize("entry", ENTRIES)
def test_a_failed_run_says_why(entry):
    """
    Once, in the words of the command line, at a line of the caller's.
    """
    caught = warned_while(lambda: entry(**parts() | {"run": raising}))
    told = [w for w in caught if "the run failed" in str(w.message)]

    assert 1 == len(told)
    assert str(told[0].message).startswith("the run failed: measure on task ")
    assert "ZeroDivisionError: division by zero (test_evolve.py:" in str(told[0].message)
    assert "final reward could be measured" in str(told[0].message)
    assert "test_evolve.py" == told[0].filename.rpartition("/")[2]


@pytest.mark.parametrize("option", ["on_round", "observers"])
@pytest.mark.parametrize("entry", ENTRIES)
def test_what_is_told_of_a_run_and_raises_is_warned_of_once(entry, option):
    """
    However often it did; the run goes on.
    """
    caught = warned_while(
        lambda: entry(**parts(), **{option: raising if option == "on_round" else [raising]})
    )
    told = [w for w in caught if "ZeroDivisionError" in str(w.message)]

    assert 1 == len(told)
    assert "the run went on: ZeroDivisionError" in str(told[0].message)
    assert "test_evolve.py" == told[0].filename.rpartition("/")[2]


@pytest.mark.parametrize(
    ("limits", "spent", "said"),
    [
        ({"max_cost": 9.0}, {}, ["cost"]),
        ({"max_tokens": 10**6}, {}, ["tokens"]),
        ({"max_cost": 9.0, "max_tokens": 10**6}, {"tokens": 1}, ["cost"]),
        ({"max_cost": 9.0}, {"cost": 1e-6}, []),
        ({"max_cost": math.inf}, {}, []),
        ({}, {}, []),
    ],
)
def test_a_limit_of_what_is_never_charged_is_warned_of(limits, spent, said):
    """
    At the end, with the call that charges.
    """

    def paid(rendered, task):
        charge(**spent)
        return run(rendered, task)

    limits = {"max_rollouts": 10, **limits}
    functions = parts() | {"run": paid}
    _, told = told_while(lambda: evolve(TASKS, reward, driver="serial", **functions, **limits))

    assert [f"call headway.charge({kind}=...)" for kind in said] == [
        text.partition("nothing was charged: ")[2] for text in told if "was charged:" in text
    ]


def test_swapped_tasks_and_reward_are_told():
    """
    Rather than that a function is no list.
    """
    with pytest.raises(OptionError, match=r"tasks come first, then the reward"):
        evolve(reward, TASKS, **parts())


@pytest.mark.parametrize(
    ("function", "unfit"),
    [
        (lambda rendered: "", "it takes fewer arguments"),
        (lambda rendered, task, more: "", "missing a required argument: 'more'"),
        (lambda task, rendered: "", "its parameters stand in another order"),
    ],
)
def test_a_function_that_does_not_fit_is_told_how(function, unfit):
    """
    In a sentence, whatever Python says of it.
    """
    with pytest.raises(OptionError) as caught:
        evolve(TASKS, reward, **parts() | {"run": function})

    told = f"It is called as run(rendered, task), which does not fit: {unfit}."
    assert caught.value.remedy.startswith(told)


@pytest.mark.parametrize(
    ("mode", "option", "value"),
    [
        ("async", "rounds", 3),
        ("async", "round_size", 3),
        ("async", "max_concurrency", 3),
        ("async", "round_timeout", 3.0),
        ("async", "refresh_interval", 3),
        ("sync", "resync", "lag"),
        ("sync", "max_wait_rounds", 3),
    ],
)
def test_an_option_without_meaning_is_noted_with_what_to_do(mode, option, value):
    """
    The other mode, and what does instead here.
    """
    given = {"mode": mode, option: value, "max_rollouts": 8, "driver": "simulated"}
    other = "async" if mode == "sync" else "sync"
    program = Program(TASKS, reward, **parts())
    _, told = told_while(lambda: run_domain(program, **given))
    (note,) = [text for text in told if text.startswith(f"{option}=")]

    assert f"has no meaning in {mode} mode and is ignored: choose mode {other} for it" in note
    assert ("or give max_rollouts" in note) == (option == "rounds")
