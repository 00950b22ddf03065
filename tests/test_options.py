"""
The options of a run, and the checks that all constructors share.
"""

from __future__ import annotations

import math
from typing import Any, get_args, get_type_hints

import attrs
import pytest

from headway._checks import check_choice, check_count, check_number
from headway.drivers import DRIVE
from headway.durations import parse_law
from headway.errors import OptionError, suggestion
from headway.machine import MachineConfig
from headway.options import (
    BUDGETS,
    DRIVERS,
    LIMITS,
    MODES,
    PARTS,
    RunOptions,
    check_names,
    limits_remedy,
    make_options,
    option_names,
)
from headway.registry import KINDS

DEFAULTS = {field.name: field.default for field in attrs.fields(RunOptions)}
COUNTS = [
    name for name, hint in get_type_hints(RunOptions).items() if int in (hint, *get_args(hint))
]
NUMBERS = [
    name for name, hint in get_type_hints(RunOptions).items() if float in (hint, *get_args(hint))
]
MAY_BE_ZERO = {
    "seed",
    "eval_concurrency",
    "async_ratio",
    "alpha",
    "max_staleness",
    "admit_ahead",
    "max_wait_rounds",
    "carry_limit",
    "oracle_budget",
    "mask_beyond",
    "blast_radius",
    "shutdown_grace",
}


class CannotBeShown:
    """
    Its ``repr`` raises.
    """

    def __repr__(self):
        raise RuntimeError


def test_every_driver_can_be_chosen_and_every_choice_driven():
    """
    The names stand in two places, since options know no driver.
    """
    assert set(DRIVE) == set(DRIVERS)


def test_names_that_others_derive_theirs_from_are_options():
    """
    Limits, parts and their kinds.
    """
    known = set(option_names())

    assert set(LIMITS) <= known
    assert set(BUDGETS) <= set(LIMITS)
    assert set(PARTS) <= known
    assert set(PARTS.values()) <= set(KINDS)


@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.parametrize("value", [-1, 1.5, True, "4", math.nan])
def test_a_count_is_a_whole_number(name, value):
    """
    Nothing else passes for one.
    """
    with pytest.raises(
        OptionError, match=rf"^{name}=.*: Give a whole number (of at least [01]|from 1 to 3)\.$"
    ):
        RunOptions(**{name: value})


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("value", [math.nan, True, "2"])
def test_a_number_is_a_number(name, value):
    """
    NaN, true and a text are none.
    """
    with pytest.raises(OptionError, match=rf"^{name}=.*: Give a number\.$"):
        RunOptions(**{name: value})


@pytest.mark.parametrize("name", sorted({*COUNTS, *NUMBERS} - {"target_reward"}))
def test_zero_is_refused_where_it_means_nothing(name):
    """
    And allowed where it does; a negative one never is.
    """
    with pytest.raises(OptionError, match=name):
        RunOptions(**{name: -1})
    if name in MAY_BE_ZERO:
        assert 0 == getattr(RunOptions(**{name: 0}), name)
        return
    with pytest.raises(OptionError, match=name):
        RunOptions(**{name: 0})


@pytest.mark.parametrize("name", [*COUNTS, *NUMBERS, "mode", "driver", "resync", "self_verify"])
def test_none_stands_only_for_a_default_of_none(name):
    """
    What has to be known cannot be left open.
    """
    if DEFAULTS[name] is None:
        assert getattr(RunOptions(**{name: None}), name) is None
        return
    with pytest.raises(OptionError, match=name):
        RunOptions(**{name: None})


@pytest.mark.parametrize("name", ["mode", "driver", "resync", "bind"])
def test_a_word_is_one_of_its_words(name):
    """
    All of them are named, and the nearest.
    """
    words = get_args(get_type_hints(RunOptions)[name])
    fitting: dict[str, Any] = {"mode": "sync"}
    for word in words:
        assert word == getattr(RunOptions(**fitting | {name: word}), name)
    with pytest.raises(OptionError) as caught:
        RunOptions(**{name: words[0] + "x"})

    told = f"Give one of {', '.join(words)}. Did you mean {words[0]!r}?"
    assert told == caught.value.remedy


@pytest.mark.parametrize("name", ["self_verify", "validate"])
def test_a_flag_is_true_or_false(name):
    """
    Not what counts as one.
    """
    with pytest.raises(OptionError, match="Give true or false"):
        RunOptions(**{name: 1})


def test_laws_stand_for_kinds_of_work():
    """
    A misspelt kind is named with the nearest.
    """
    law = parse_law("constant:1")

    assert {"rollout": law} == RunOptions(durations={"rollout": law}).durations
    with pytest.raises(OptionError, match=r"^rolout.*Did you mean 'rollout'\? The kinds of work: "):
        RunOptions(durations={"rolout": law})
    with pytest.raises(OptionError, match=r"^durations\['rollout'\]=1: Give a law"):
        RunOptions(durations={"rollout": 1})


def test_serial_cannot_overlap():
    """
    Async mode under it would be sync mode by another name.
    """
    with pytest.raises(OptionError, match="serial runs in sync mode"):
        RunOptions(mode="async", driver="serial")


@pytest.mark.parametrize("mode", MODES)
def test_only_what_was_set_is_a_limit(mode):
    """
    Rounds are none without rounds.
    """
    every = dict.fromkeys(LIMITS, 3)
    ends = [name for name in LIMITS if name != "rounds" or mode == "sync"]

    assert {} == RunOptions(mode=mode).limits
    assert ends == list(RunOptions(mode=mode, **every).limits)


def test_the_remedy_names_all_limits():
    """
    As the caller writes them.
    """
    assert "Give <max_rollouts>, <max_calls>" in limits_remedy("<{}>".format)
    assert all(name in limits_remedy() for name in LIMITS)


def test_what_the_caller_gives_wins():
    """
    Over the domain's default, and that over the built-in one.
    """
    options = make_options({"n_workers": 2}, {"n_workers": 8, "alpha": 5})

    assert (2, 5, "late") == (options.n_workers, options.alpha, options.bind)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, 400),
        ({"max_seconds": 5}, None),
        ({"max_seconds": None}, 400),
        ({"target_reward": 1}, 400),
        ({"rounds": 3}, 400),
        ({"mode": "sync", "rounds": 3}, None),
    ],
)
def test_a_budget_of_the_caller_replaces_the_domains(given, expected):
    """
    A goal does not, nor do rounds in async mode.
    """
    assert expected == make_options(given, {"max_rollouts": 400}).max_rollouts


def test_an_unknown_option_among_a_domains_defaults_is_named():
    """
    With the nearest, and with where it stands.
    """
    with pytest.raises(OptionError, match=r"max_rolouts=9.*'max_rollouts'.*a domain's defaults"):
        make_options({}, {"max_rolouts": 9})


def test_an_unknown_option_is_named_with_the_nearest():
    """
    And all that there are.
    """
    with pytest.raises(OptionError) as caught:
        make_options({"n_worker": 2}, {})

    assert 2 == caught.value.value
    assert caught.value.remedy.startswith("There is no such option. Did you mean 'n_workers'? The ")
    with pytest.raises(OptionError, match="The things: none"):
        check_names(["x"], [], "things")


@pytest.mark.parametrize(("name", "expected"), [("gaurded", " Did you mean 'guarded'?"), ("x", "")])
def test_a_suggestion_is_a_sentence_or_nothing(name, expected):
    """
    So that it can be put behind any other one.
    """
    assert expected == suggestion(name, ("full", "guarded"))


@pytest.mark.parametrize(
    ("bounds", "good", "bad", "told"),
    [
        ({}, -math.inf, "x", "Give a number."),
        ({"above": 0}, math.inf, 0, "Give a number above 0."),
        (
            {"least": 0, "below": math.inf},
            0,
            math.inf,
            "Give a number of at least 0 and below inf.",
        ),
        ({"above": 0, "most": 1}, 1, 1.5, "Give a number above 0 and of at most 1."),
    ],
)
def test_a_number_is_held_against_its_bounds(bounds, good, bad, told):
    """
    All of which are named.
    """
    check_number("x", good, **bounds)
    with pytest.raises(OptionError) as caught:
        check_number("x", bad, **bounds)

    assert told == caught.value.remedy


def test_checks_say_nothing_about_what_is_right():
    """
    They return nothing either.
    """
    assert (None, None) == (check_count("x", 3, 3), check_choice("x", "a", ("a", "b")))


TASKS = {"seed": 0, "train": ("a", "b"), "held_out": ("c",)}


@pytest.mark.parametrize(
    "more",
    [
        {"n_workers": 0},
        {"n_workers": None},
        {"slots": 1.5},
        {"max_rollouts": True},
        {"max_calls": 0},
        {"patience": "3"},
        {"max_seconds": 0},
        {"rollout_timeout": math.nan},
        {"straggler_factor": None},
        {"shutdown_grace": -1},
        {"shutdown_grace": math.inf},
        {"bind": "soon"},
    ],
)
def test_a_machine_refuses_what_its_options_would(more):
    """
    It can be built without them, by whoever uses it alone.
    """
    with pytest.raises(OptionError, match=next(iter(more))):
        MachineConfig(**TASKS, **more)


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"test": ("a",)}, "tasks='a': "),
        ({"held_out": ("b",)}, "tasks='b': "),
        ({"train": ()}, "tasks=1: "),
        ({"held_out": ()}, "tasks=2: "),
    ],
)
def test_a_machine_needs_tasks_of_their_own(more, told):
    """
    On both sides, each under one id.
    """
    with pytest.raises(OptionError) as caught:
        MachineConfig(**{**TASKS, **more})

    assert str(caught.value).startswith(told)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({}, 60),
        ({"max_cost": 1.0}, 60),
        ({"max_tokens": 9}, 60),
        ({"max_cost": 1.0, "max_tokens": 9}, 60),
        ({"max_cost": 1.0, "max_calls": 50}, None),
        ({"max_cost": 1.0, "max_seconds": 5}, None),
        ({"max_cost": 1.0, "max_rollouts": 70}, 70),
        ({"rounds": 3}, 60),
        ({"rounds": 3, "mode": "sync"}, None),
    ],
)
def test_a_limit_that_may_never_end_a_run_leaves_the_domains_bounds(given, kept):
    """
    Tokens and cost need not be charged; rounds mean nothing in async mode.
    """
    assert kept == make_options(given, {"max_rollouts": 60}).max_rollouts


@pytest.mark.parametrize(
    "value", ["x" * 9_000, list(range(5_000)), {"rules": ["y" * 999] * 20}, CannotBeShown()]
)
def test_an_error_shows_the_ends_of_a_long_value(value):
    """
    A value is cut, and one that cannot be shown is named by its type.
    """
    text = str(OptionError("initial_state", value, "It gives no state."))

    assert len(text) < 300
    assert text.startswith("initial_state=")
    assert text.endswith(": It gives no state.")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"policy": "mask"}, 2),
        ({"policy": "mask", "max_staleness": 4}, 4),
        ({"policy": "mask", "mode": "sync"}, 0),
        ({"policy": "mask", "mask_beyond": 1}, 1),
        ({"policy": "wait"}, None),
        ({"policy": "mask", "aggregator": object()}, None),
    ],
)
def test_under_mask_a_named_aggregator_is_told_what_is_too_old(given, expected):
    """
    What a domain's defaults say counts as what the caller says; an object knows it or does not.
    """
    assert expected == make_options(given, {}).mask_beyond
    assert expected == make_options({}, given).mask_beyond
