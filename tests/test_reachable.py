"""
Every documented parameter can be reached from each entry point and from the command line.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import get_type_hints

import attrs
import pytest
from test_docs import commands, words

from headway import Program, aevolve, async_evolve, evolve
from headway.cli import _parser
from headway.cli._flags import ALIASES, flag_of
from headway.evolve._arguments import FRONT, PROGRAM, RENAMED, EvolveArguments, arguments
from headway.options import RunOptions

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "reference" / "evolve.md").read_text(encoding="utf-8")
DOCUMENTED = dict(re.findall(r"^\| `(\w+)` \| (.*?) \|", PAGE, re.MULTILINE))

IN_A_FILE = {"tasks", "reward", "agent", "run", "propose", "strategy"}
"""What is code: the command line takes it from the file that ``DOMAIN`` names."""

OTHERWISE = {
    "run_dir": "--run-dir",
    "asynchronous": "--mode",
    "on_round": "--observer",
    "observers": "--observer",
    "aggregator_factory": "--aggregator",
    "max_iters": "--max-iters",
    "registry": "headway plugins",
}
"""What the command line calls by another name; what is installed is its registry."""


def parameters(function) -> dict[str, inspect.Parameter]:
    return dict(inspect.signature(function).parameters)


@pytest.mark.parametrize("function", [evolve, async_evolve, aevolve])
def test_every_documented_parameter_is_one_of_every_entry_point(function):
    """
    And no other; what chooses the mode is for those that have a choice.
    """
    chosen = set() if function is not async_evolve else {"mode", "asynchronous"}

    assert set(DOCUMENTED) - chosen == set(parameters(function))


def test_every_parameter_has_the_documented_default():
    """
    A dash where there is none.
    """
    shown = {
        name: "-" if p.default is p.empty else f"`{p.default!r}`"
        for name, p in parameters(evolve).items()
    }

    assert shown == {name: text.replace('"', "'") for name, text in DOCUMENTED.items()}


def test_type_checkers_know_the_same_parameters():
    """
    The list that they read has no name more or less.
    """
    assert set(arguments(asynchronous=True)) == set(get_type_hints(EvolveArguments))


def test_every_option_of_a_run_and_of_a_program_is_a_parameter():
    """
    Under its own name, but for two.
    """
    fields = {RENAMED.get(f.name, f.name) for f in attrs.fields(RunOptions)}
    made = set(inspect.signature(Program).parameters) - {"defaults", "tasks", "reward"}

    assert set(parameters(evolve)) == {
        *fields, *made, *FRONT, "asynchronous", "tasks", "reward"
    }  # fmt: skip
    assert made == set(PROGRAM)


def reachable() -> set[str]:
    """
    What ``headway run`` takes, by the parameter's name.
    """
    flags = words(commands(_parser())["headway run"])
    options = {f.name for f in attrs.fields(RunOptions) if flag_of(f.name) in flags}
    return {
        *IN_A_FILE,
        *Program.options,
        *(RENAMED.get(name, name) for name in options),
        *(
            name
            for name, flag in OTHERWISE.items()
            if flag.partition(" ")[0] in {*flags, "headway"}
        ),
    }


def test_every_documented_parameter_can_be_given_on_the_command_line():
    """
    As a flag, by ``--set``, or as code in the file that is named.
    """
    assert set(DOCUMENTED) == reachable()


def test_the_command_line_also_knows_what_evolve_calls_an_option():
    """
    So that nobody need learn two names.
    """
    known = {**RENAMED, "max_rollouts": "max_iters"}

    assert {o: f"--{name.replace('_', '-')}" for o, name in known.items()} == dict(ALIASES)
