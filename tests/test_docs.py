"""
The documentation is complete, and what it shows runs.
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import doctest
import importlib
import inspect
import os
import pkgutil
import re
import shlex
import shutil
import sys
import warnings
from functools import cache
from pathlib import Path
from typing import get_args

import attrs
import pytest

import headway
from headway import contracts, errors
from headway.cli import _parser, main
from headway.machine._config import STOPS_DRAINING, STOPS_HALTING
from headway.machine._measuring import _KEPT
from headway.machine._requests import MAX_RACES
from headway.options import DRIVERS, RunOptions
from headway.registry import EVENT_HOOKS, KINDS

ROOT = Path(__file__).parent.parent
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FENCE = re.compile(r"^```(?:\{(doctest|testcode)\}|(python))\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"# (\w+\.py)$", re.MULTILINE)


def pages() -> list[Path]:
    built = ROOT / "docs" / "_build"
    docs = [p for p in sorted((ROOT / "docs").rglob("*.md")) if not p.is_relative_to(built)]
    others = ("README.md", "CONTRIBUTING.md", "benchmarks/README.md")
    return [*(ROOT / name for name in others), *docs]


@cache
def prose() -> str:
    return "\n".join(page.read_text(encoding="utf-8") for page in pages())


def tutorials() -> list[Path]:
    return [page for page in pages() if page.parent.name == "tutorial"]


def other_pages() -> list[Path]:
    return [page for page in pages() if page not in tutorials()]


def transcripts() -> list[Path]:
    return [page for page in other_pages() if CONSOLE.search(page.read_text(encoding="utf-8"))]


def examples() -> list:
    found = []
    for page in other_pages():
        text = page.read_text(encoding="utf-8")
        for match in FENCE.finditer(text):
            line = text.count("\n", 0, match.start(3)) + 1
            name = f"{page.relative_to(ROOT).as_posix()}:{line}"
            found.append(pytest.param(name, line, match[3], id=name))
    return found


def module_names() -> list[str]:
    found = pkgutil.walk_packages(headway.__path__, "headway.")
    return ["headway", *(m.name for m in found if not m.name.endswith("__main__"))]


def run_doctest(test: doctest.DocTest) -> None:
    report: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=report.append)
    assert not report, "".join(report)


NEEDS = {
    "headway_domains": "headway_domains",
    "headway_rl": "headway_rl",
    "headway_envs": "headway_envs",
    "matplotlib": "matplotlib",
    "headway_es": "headway_es",
    "Cma(": "cma",
    "Nevergrad(": "nevergrad",
    "headway_pareto": "headway_pareto",
    "headway_git": "headway_git",
}
"""What an example that holds a word needs."""


def skip_without_what_it_needs(code: str) -> None:
    """
    Skip an example of a plug-in that is not installed.
    """
    for word, module in NEEDS.items():
        if word in code:
            pytest.importorskip(module, reason=f"the example needs {module.replace('_', '-')}")
    required = "git" in os.environ.get("HEADWAY_REQUIRE", "")
    if "headway_git" in code and not shutil.which("git") and not required:
        pytest.skip("the example needs the program git")


def run_example(name: str, line: int, code: str, namespace: dict) -> None:
    """
    Run a fence; one with ``>>>`` is a doctest.

    It may ``await`` as a cell of a notebook does, inside a running loop then.  It warns of nothing:
    a run that fails warns its caller, and raises nothing where warnings are errors.
    """
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        _run_example(name, line, code, namespace)

    assert [] == [str(warning.message) for warning in told]


def _run_example(name: str, line: int, code: str, namespace: dict) -> None:
    if ">>>" in code:
        run_doctest(doctest.DocTestParser().get_doctest(code, namespace, name, name, line))
        return
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    cell = compile("\n" * (line - 1) + code, name, "exec", flags)
    if cell.co_flags & inspect.CO_COROUTINE:
        asyncio.run(eval(cell, namespace))
    else:
        exec(cell, namespace)  # a page's own example


def run_transcript(block: str, capsys: pytest.CaptureFixture[str]) -> None:
    """
    In a ``console`` fence, ``$ headway ...`` prints what stands below it; ``...`` is anything.
    """
    command, _, wanted = block.partition("\n")
    assert command.startswith("$ headway ")
    capsys.readouterr()
    assert main(shlex.split(command)[2:]) == 0
    got = "\n".join(line.rstrip() for line in capsys.readouterr().out.strip().splitlines())
    assert doctest.OutputChecker().check_output(wanted.strip(), got, doctest.ELLIPSIS), got


@pytest.mark.parametrize(("name", "line", "code"), examples())
def test_every_example_of_the_pages_runs(name, line, code, tmp_path, monkeypatch):
    """
    A ``python`` fence runs in a namespace and a folder of its own.
    """
    skip_without_what_it_needs(code)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [name])
    run_example(name, line, code, {"__name__": "__main__"})


@pytest.mark.parametrize("page", transcripts(), ids=lambda p: p.name)
def test_every_transcript_is_what_the_commands_say(page, tmp_path, monkeypatch, capsys):
    """
    The ``console`` fences of a page share one folder.
    """
    pytest.importorskip("headway_domains", reason="the transcripts need headway-domains")
    monkeypatch.chdir(tmp_path)
    for block in CONSOLE.findall(page.read_text(encoding="utf-8")):
        run_transcript(block, capsys)


@pytest.mark.parametrize("page", tutorials(), ids=lambda p: p.name)
def test_every_tutorial_runs_from_its_top_to_its_end(page, tmp_path, monkeypatch, capsys):
    """
    A tutorial is one program: its fences share a namespace and a folder, and run in their order.

    One that begins with the name of a file, as a comment, is that file too.
    """
    text = page.read_text(encoding="utf-8")
    skip_without_what_it_needs(text)
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "__main__"}
    fences = sorted([*CONSOLE.finditer(text), *FENCE.finditer(text)], key=lambda m: m.start())
    for fence in fences:
        if fence.re is CONSOLE:
            run_transcript(fence[1], capsys)
        else:
            line = text.count("\n", 0, fence.start(3)) + 1
            if file := FILE.match(fence[3]):
                Path(file[1]).write_text(fence[3], encoding="utf-8")
            run_example(page.name, line, fence[3], namespace)


@pytest.mark.parametrize("module", module_names())
def test_every_example_of_a_docstring_runs(module, tmp_path, monkeypatch):
    """
    Every ``>>>`` in the core's docstrings is true.
    """
    monkeypatch.chdir(tmp_path)
    for test in doctest.DocTestFinder().find(importlib.import_module(module), module):
        run_doctest(test)


def described(name: str) -> bool:
    """
    Whether a page takes the name's docstring; Sphinx finds out whether that is the right one.
    """
    pattern = rf"^\.\. auto\w+:: (?:[\w.]+\.)?{re.escape(name)}(?:\(.*\))?$"
    return re.search(pattern, prose(), re.MULTILINE) is not None


def in_code(name: str) -> bool:
    """
    Whether a page shows the name as code of its own, perhaps with arguments.
    """
    return re.search(rf"(?<!`)`{re.escape(name)}(?:\([^`]*\))?`(?!`)", prose()) is not None


def in_a_row(page: str, *cells: str) -> bool:
    """
    Whether a table of a page of the reference has a row that begins with these cells.
    """
    text = (ROOT / "docs" / "reference" / page).read_text(encoding="utf-8")
    return f"\n| {' | '.join(cells)} |" in text


def error_classes() -> list[type]:
    classes = inspect.getmembers(errors, inspect.isclass)
    mine = [c for _, c in classes if c.__module__ == "headway.errors"]
    return [c for c in mine if issubclass(c, errors.HeadwayError)]


@pytest.mark.parametrize("name", contracts.__all__)
def test_every_contract_is_documented(name):
    """
    The pages describe every public name of ``headway.contracts``.
    """
    assert described(name)


def test_every_error_is_documented():
    """
    The reference page takes the whole module, and every error of it has a docstring.
    """
    page = (ROOT / "docs" / "reference" / "errors.md").read_text(encoding="utf-8")

    assert ".. automodule:: headway.errors" in page
    assert [] == [c.__name__ for c in error_classes() if not c.__dict__.get("__doc__")]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_documented(kind):
    """
    The page of the hooks has a row for every kind of part, with its hook.
    """
    assert in_a_row("hooks.md", kind, f"`{KINDS[kind]}`")


@pytest.mark.parametrize("hook", [*KINDS.values(), *EVENT_HOOKS.values()])
def test_every_hook_is_documented(hook):
    """
    The pages describe every hook.
    """
    assert described(hook)


@pytest.mark.parametrize("driver", DRIVERS)
def test_every_driver_is_documented(driver):
    """
    The page of ``run`` has a row for every driver.
    """
    assert in_a_row("run.md", f"`{driver}`")


@pytest.mark.parametrize("outcome", get_args(contracts.SweepOutcome))
def test_every_outcome_of_a_sweep_is_documented(outcome):
    """
    The page of the events explains everything that a sweep may come to.
    """
    assert in_a_row("events.md", f"`{outcome}`")


@pytest.mark.parametrize("field", attrs.fields(RunOptions), ids=lambda field: field.name)
def test_every_option_of_a_run_is_documented(field):
    """
    The page of ``run`` lists every option with its default.
    """
    page = (ROOT / "docs" / "reference" / "run.md").read_text(encoding="utf-8")
    defaults = dict(re.findall(r"^\| `(\w+)` \| `([^`]+)` \|", page, re.MULTILINE))

    assert field.default == ast.literal_eval(defaults[field.name])


@pytest.mark.parametrize("reason", [*STOPS_DRAINING, *STOPS_HALTING])
def test_every_stop_reason_is_documented(reason):
    """
    The page of ``run`` explains every reason for which a run ends.
    """
    assert in_a_row("run.md", f"`{reason}`")


def test_numbers_in_the_explanations_are_the_codes():
    """
    Where a page gives a number that no option sets, it is the one in the code.
    """
    assert f"| that happened to {MAX_RACES} commits in a row |" in prose()
    assert f"for the last {_KEPT} candidates" in prose()


@pytest.mark.parametrize("name", headway.__all__)
def test_every_public_name_is_documented(name):
    """
    The pages describe every name that ``headway`` itself offers.
    """
    assert described(name) or in_code(name)


def commands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """
    Every subcommand by its full name.
    """
    found = {}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for child in action.choices.values():
                found |= {child.prog: child, **commands(child)}
    return found


def words(parser: argparse.ArgumentParser) -> set[str]:
    """
    The long options and the positional arguments of one command.
    """
    plain = [a for a in parser._actions if not isinstance(a, argparse._SubParsersAction)]
    names = (
        [o for o in a.option_strings if o.startswith("--")] or [str(a.metavar or a.dest)]
        for a in plain
    )
    return {name for several in names for name in several} - {"--help"}


@pytest.mark.parametrize("command", commands(_parser()))
def test_every_command_and_option_is_documented(command):
    """
    The command line's page has a section for every command, which names all of its options, or says
    that they are those of ``headway run``.
    """
    page = (ROOT / "docs" / "reference" / "command-line.md").read_text(encoding="utf-8")
    sections = dict(re.findall(r"^## `([^`]+)`\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL))
    section = sections[command]
    if "under the flags that `headway run` has" in section:
        section += sections["headway run"]

    assert [] == sorted(w for w in words(commands(_parser())[command]) if f"`{w}" not in section)


@pytest.mark.parametrize("page", pages(), ids=lambda p: p.relative_to(ROOT).as_posix())
def test_prose_has_one_sentence_a_line(page):
    """
    A line of prose ends where its sentence ends.
    """
    text = re.sub(
        r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
    )
    lines = [line for line in text.splitlines() if line and not line.startswith(("|", "    "))]

    assert [] == [line for line in lines if re.search(r"[a-z)`][.?!] [A-Z]", line)]
