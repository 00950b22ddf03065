"""
What plug-ins of a run that learns from outcomes declare: refused by its own name when it can't be, and
when the run that a directory holds was begun with something else.
"""

import _thread
import json
import math
import tomllib
import warnings
from pathlib import Path

import pytest

import groups
from groups import Better, Slope, options
from headway import run
from headway.builtins._policies import Window
from headway.cli import main
from headway.contracts import FaultSeen, Measure, UpdateDone
from headway.durations import parse_law
from headway.errors import OptionError, OtherRunError
from headway.rundir import Header
from headway.testing import ToyDomain


class StopAfter:
    """An observer that stops a run after so many updates."""

    def __init__(self, count):
        self.left = count

    def __call__(self, notice):
        self.left -= isinstance(notice, UpdateDone)
        if not self.left:
            _thread.interrupt_main()


class Suggesting(Slope):
    """A domain for optimizers of either kind."""

    def propose(self, state, task, outcome):
        return None

    def apply(self, state, diff):
        return state


def ran(aggregator, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return run(Suggesting(), aggregator=aggregator, driver="simulated", **options(**more))


def declaring(**what):
    aggregator = Better()
    for name, value in what.items():
        setattr(aggregator, name, value)
    return aggregator


# ------------------------------------------------------------------------------------ what can't be


@pytest.mark.parametrize("bound", [{"updates": 2}, {"updates": None, "max_rollouts": 40}])
@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize("value", ["3", 0, -1, 2.5, None, True, math.inf])
@pytest.mark.parametrize("name", ["batch", "group_size", "updates_per_step"])
def test_a_count_that_is_none_is_refused(name, value, mode, bound):
    """By the name that its author gave it, whatever ends the run."""
    with pytest.raises(OptionError, match=f"^{name}=.*Give a whole number of at least 1") as caught:
        ran(declaring(**{name: value}), mode=mode, **bound)

    assert value is caught.value.value


@pytest.mark.parametrize("value", ["yes", 1, None, 0.0])
def test_gathers_is_true_or_false(value):
    """By its own name, which the gate does not know."""
    with pytest.raises(OptionError, match=r"^gathers=.*Give true or false"):
        ran(declaring(gathers=value))


@pytest.mark.parametrize(
    ("factor", "capacity"), [(1e308, 36), (1.7e308, 36), (1e9, 36), (1.25, 10)]
)
def test_any_finite_factor_is_a_factor(factor, capacity):
    """It is cut off at what ``max_staleness`` allows, also where the product has no end."""
    told = []
    ran(
        Better(),
        updates=12,
        n_workers=200,
        max_staleness=8,
        oversample_factor=factor,
        observers=[told.append],
    )
    peaks = [notice.peak for notice in told if isinstance(notice, UpdateDone)]

    assert capacity == max(peaks)


# ---------------------------------------------------------------------------------------- one bound


@pytest.mark.parametrize("alpha", [0, 2, 5])
@pytest.mark.parametrize("more", [{}, {"mode": "sync"}, {"policy": "drop"}])
def test_alpha_is_no_second_bound_of_ages(alpha, more):
    """``max_staleness`` says how old outcomes may be; the two could only contradict each other."""
    with pytest.raises(OptionError, match=f"alpha={alpha}: .*max_staleness says how old"):
        ran(Better(), alpha=alpha, **more)


def test_the_alpha_that_a_domain_brings_is_for_others():
    """It is among its defaults for whatever learns from proposals, and changes nothing here."""

    class Usual(Slope):
        defaults = {"alpha": 0}  # noqa: RUF012 - as a domain has them

    given = {"aggregator": Better(), "driver": "simulated", **options(policy="drop", updates=12)}

    assert run(Slope(), **given).digest == run(Usual(), **given).digest


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("more", [{}, {"admit_ahead": 2}, {"bases": "stamp", "n_workers": 5}])
@pytest.mark.parametrize("policy", ["guarded", "full", "reflective"])
def test_policies_for_proposals_come_to_wait(policy, more, seed):
    """No group ever gets so old that they would be asked about it."""
    law = {"rollout": parse_law("lognormal:1,1.5")}
    given = {"updates": 12, "seed": seed, "durations": law, **more}
    waiting, other = (ran(Better(), **{**given, "policy": name}) for name in ("wait", policy))

    assert waiting.digest == other.digest
    assert waiting.committed_by_eta == other.committed_by_eta
    assert dict(waiting.decisions) == dict(other.decisions)


# ---------------------------------------------------------------------------- a directory's own run

BEGUN = {
    "learns_from": "outcomes",
    "batch": 4,
    "group_size": 2,
    "updates_per_step": 1,
    "gathers": False,
    "max_steps": 1,
    "rule": "window",
    "window": 3,
}
"""What the run of the directory was begun with."""


def went(folder=None, aggregator=None, policy=None, **more):
    given = {"updates": 12, "policy": policy or Window(3), "run_dir": folder, **more}
    return ran(aggregator or Better(), **given)


def begun(folder, **more):
    """Begin a run and stop it; what its directory holds."""
    assert "interrupted" == went(folder, observers=[StopAfter(3)], **more).stop_reason
    return held(folder)


def held(folder):
    return {path.name: path.stat().st_size for path in folder.iterdir()}


def refused(folder, **more):
    with pytest.raises(OtherRunError) as caught:
        went(folder, **more)
    return caught.value


def test_all_that_counts_is_kept(tmp_path):
    """Nothing is left out of the tests below."""
    begun(tmp_path / "run")
    path = tmp_path / "run" / "run.json"
    header = Header.from_json(str(path), json.loads(path.read_text(encoding="utf-8")))

    assert BEGUN == header.plan.blueprint.declared


@pytest.mark.parametrize(
    ("name", "now"),
    [
        ("batch", 7),
        ("batch", 1),
        ("group_size", 5),
        ("updates_per_step", 2),
        ("gathers", True),
    ],
)
def test_a_run_is_not_gone_on_with_by_an_aggregator_that_declares_something_else(
    tmp_path, name, now
):
    """The difference is named; with what it was begun with, it goes on as if nothing had been."""
    folder = tmp_path / "run"
    before = begun(folder)
    error = refused(folder, aggregator=declaring(**{name: now}))
    after = held(folder)

    assert (name, BEGUN[name], now) == (error.what, error.began, error.now)
    assert f"its run was begun with {name}={BEGUN[name]}, not {now}. Give what" in str(error)
    assert before == after
    assert went().digest == went(folder).digest


def test_nor_when_it_has_ended(tmp_path):
    """Its result is the result of something else."""
    went(tmp_path / "run")

    assert "batch" == refused(tmp_path / "run", aggregator=declaring(batch=7)).what


def test_nor_by_one_that_learns_from_something_else(tmp_path):
    """Which is named before all that follows from it."""
    bound = {"updates": None, "max_rollouts": 96}
    begun(tmp_path / "run", **bound)
    error = refused(tmp_path / "run", aggregator=declaring(learns_from="proposals"), **bound)

    assert ("learns_from", "outcomes", "proposals") == (error.what, error.began, error.now)


@pytest.mark.parametrize(("name", "now"), [("rule", "wait"), ("window", 5)])
def test_nor_under_a_policy_that_declares_something_else(tmp_path, name, now):
    """Though it has the same name."""
    other = type("Window", (Window,), {"rule": now})(0) if name == "rule" else Window(now)
    begun(tmp_path / "run")
    error = refused(tmp_path / "run", policy=other)

    assert (name, BEGUN[name], now) == (error.what, error.began, error.now)


@pytest.mark.parametrize("name", ["max_steps", "batch"])
def test_nor_where_proposals_are_learnt_from(tmp_path, name):
    """There, too, it would be the journal's that counts."""

    class Idle:
        batch = max_steps = 1

        def step(self, cards, context):
            yield Measure((context.head,), context.held_out)

    def idle(**what):
        aggregator = Idle()
        vars(aggregator).update(what)
        options = {"driver": "simulated", "max_rollouts": 8, "run_dir": tmp_path / "run"}
        return run(ToyDomain(), aggregator=aggregator, **options)

    idle()
    with pytest.raises(OtherRunError, match=f"begun with {name}=1, not 2"):
        idle(**{name: 2})


# --------------------------------------------------------------------------------- without an end


@pytest.mark.parametrize(
    "option", ["stall_alarm", "max_seconds", "max_cost", "straggler_factor", "rollout_timeout"]
)
def test_an_option_without_an_end_is_kept_in_a_directory(tmp_path, option):
    """Though JSON has no infinities: the run goes on, and is told apart from one that has an end."""
    begun(tmp_path / "run", **{option: math.inf})
    error = refused(tmp_path / "run", **{option: 5.0})
    result = went(tmp_path / "run", **{option: math.inf})

    assert (option, "inf", 5.0) == (error.what, error.began, error.now)
    assert went().digest == result.digest


@pytest.mark.parametrize("driver", ["threads", "asyncio", "simulated"])
def test_an_alarm_that_never_comes(driver):
    """``stall_alarm`` may be infinity; the run is as any other, and nothing is told of waiting."""
    told = []
    result = run(
        Slope(),
        aggregator=Better(),
        driver=driver,
        observers=[told.append],
        **options(stall_alarm=math.inf, updates=4),
    )

    assert "updates" == result.stop_reason
    assert not [notice for notice in told if isinstance(notice, FaultSeen)]


def test_no_alarm_however_long_a_group_takes():
    """Where any other alarm would be told of; None is no number of seconds."""
    law = {"rollout": parse_law("pareto:1,1.1")}
    waits = {"updates": 40, "durations": law}
    faults = [
        [fault.fault.type for fault in ran(Better(), stall_alarm=after, **waits).failures]
        for after in (5.0, math.inf)
    ]

    assert [["Waiting"], []] == [sorted(set(types)) for types in faults]
    with pytest.raises(OptionError, match="stall_alarm=None: Give a number"):
        ran(Better(), stall_alarm=None)


def test_the_command_line_knows_infinity(tmp_path, monkeypatch, capsys):
    """As ``inf``, which the configuration that it keeps has too."""
    monkeypatch.chdir(Path(groups.__file__).parent)
    folder = str(tmp_path / "run")
    parts = ["groups.py:Slope", "--aggregator", "groups.py:Better", "--driver", "simulated"]
    command = ["run", *parts, "--updates", "4", "--run-dir", folder, "--stall-alarm"]
    ended = [main([*command, "inf"]), main(["resume", folder]), main([*command, "5"])]
    config = tomllib.loads((tmp_path / "run" / "config.toml").read_text(encoding="utf-8"))

    assert [0, 0, 2] == ended
    assert math.inf == config["stall_alarm"]
    assert "begun with --stall-alarm=" in capsys.readouterr().err
