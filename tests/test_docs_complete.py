"""
Whatever a user may meet stands in the documentation: names, fields, events, errors, variables, keys.
"""

from __future__ import annotations

import importlib
import inspect
import logging
import re
from pathlib import Path
from typing import get_args

import attrs
import pytest
from test_docs import (
    ROOT,
    described,
    error_classes,
    in_a_row,
    in_code,
    module_names,
    pages,
    prose,
)

from headway import contracts
from headway._log import _RULES
from headway.cli._config_file import _ALIASES as CONFIG_ALIASES
from headway.durations import SPELLINGS
from headway.registry import KINDS, Registry
from headway.registry._values import Status

INSIDE = {
    "headway.builtins": "what is in it has names, and pages of its own",
    "headway.cli": "the command is the interface",
    "headway.codec": "how values are written; only the journal and results need it",
    "headway.drivers": "run chooses one by its name",
    "headway.journal": "the reference describes what a program reads of it, the Journal",
    "headway.machine": "the machine is driven by the drivers; the four parts have a page",
    "headway.options": "what run takes; RunOptions and every option have their places",
    "headway.run": "headway itself offers its two functions",
    "headway.testing": "what tests of Headway itself are made of",
}
"""Public modules that need not be described name by name, and why."""

DESCRIBED = {
    "headway.builtins.sqlite",
    "headway.builtins.standard",
    "headway.testing.conformance",
}
"""Modules of these that are described all the same, where they exist."""


def is_inside(module: str) -> bool:
    """
    Whether a module, or the package that it is in, need not be described.
    """
    parts = module.split(".")
    above = {".".join(parts[:length]) for length in range(1, len(parts) + 1)}
    return module not in DESCRIBED and not above.isdisjoint(INSIDE)


def public_modules() -> list[str]:
    return [name for name in module_names() if "._" not in name]


def public_names() -> list[tuple[str, str]]:
    """
    Every public name of every public module, but for those that are ``INSIDE``.
    """
    found = []
    for name in public_modules():
        if is_inside(name):
            continue
        module = importlib.import_module(name)
        own = [n for n, v in vars(module).items() if getattr(v, "__module__", "") == name]
        names = getattr(module, "__all__", own)
        found += [(name, n) for n in names if not n.startswith("_")]
    return found


def test_what_is_inside_is_there():
    """
    No module is excused that does not exist.
    """
    assert [] == sorted(set(INSIDE) - set(public_modules()))


@pytest.mark.parametrize(("module", "name"), public_names())
def test_every_name_of_every_public_module_is_documented(module, name):
    """
    A page takes its docstring, or shows it as code; the page of the errors takes their module.
    """
    whole = f".. automodule:: {module}\n   :show-inheritance:" in prose()

    assert whole or described(name) or in_code(name) or in_code(f"{module}.{name}")


def values() -> list:
    """
    Every public frozen value that users read, with its fields.
    """
    found = (getattr(importlib.import_module(m), n) for m, n in public_names())
    shown = {c for c in found if inspect.isclass(c) and attrs.has(c)}
    return sorted(shown, key=lambda c: f"{c.__module__}.{c.__qualname__}")


def named_in(text: str, field: str) -> bool:
    """
    Whether a docstring's "Args:" or "Attributes:" has the field, alone or together with others.
    """
    return re.search(rf"^ +(?:\w+, )*{field}(?:, \w+)*:", text, re.MULTILINE) is not None


@pytest.mark.parametrize("value", values(), ids=lambda c: c.__name__)
def test_every_field_of_every_value_is_documented(value):
    """
    Its docstring says what each is; an options class does so in each field's ``help``.
    """
    text = inspect.cleandoc(value.__doc__ or "").replace("\n", "\n    ")
    hidden = {"desk", "plugins"}  # of classes that users are handed and never make
    missing = [
        field.alias
        for field in attrs.fields(value)
        if field.init
        and not field.metadata.get("help")
        and field.alias not in hidden
        and not named_in(value.__doc__ or text, field.alias)
    ]

    assert [] == missing


@pytest.mark.parametrize("notice", get_args(contracts.Notice), ids=lambda c: c.__name__)
def test_every_event_is_documented(notice):
    """
    The page of the events has every notice.
    """
    page = (ROOT / "docs" / "reference" / "events.md").read_text(encoding="utf-8")

    assert f".. autoclass:: {notice.__name__}\n" in page


@pytest.mark.parametrize("notice", _RULES, ids=lambda c: c.__name__)
def test_every_log_message_is_documented(notice):
    """
    With its level and its attributes, in the order in which they are given.
    """
    level, message, keys = _RULES[notice]
    told = ", ".join(f"`{key}`" for key in ("run", *keys))

    assert in_a_row("events.md", f"`{message}`", logging.getLevelName(level), told)


@pytest.mark.parametrize("name", [c.__name__ for c in error_classes()])
def test_every_error_has_its_remedy(name):
    """
    The page of the errors has a row for each: when it is raised, and what to do.
    """
    page = (ROOT / "docs" / "reference" / "errors.md").read_text(encoding="utf-8")
    (row,) = re.findall(rf"^\| `{name}` \| (.+) \| (.+) \|$", page, re.MULTILINE)

    assert all(cell.strip(" -") for cell in row)


@pytest.mark.parametrize("kind", get_args(contracts.CompletionKind))
def test_every_completion_is_documented(kind):
    """
    The page of the events says how a ticket may end.
    """
    assert in_a_row("events.md", f"`{kind}`")


@pytest.mark.parametrize("word", [*get_args(contracts.DecisionKind), *contracts.DISCARD_REASONS])
def test_every_decision_is_documented(word):
    """
    The page of the events says what may become of a card, and why it is discarded.
    """
    assert in_a_row("events.md", f"`{word}`")


def variables() -> list[str]:
    """
    The environment variables that the core reads.
    """
    texts = (path.read_text(encoding="utf-8") for path in (ROOT / "core").rglob("*.py"))
    return sorted({name for text in texts for name in re.findall(r"\bHEADWAY_[A-Z_]+\b", text)})


@pytest.mark.parametrize("variable", variables())
def test_every_environment_variable_is_documented(variable):
    """
    The command line's page has a row for each.
    """
    page = (ROOT / "docs" / "reference" / "command-line.md").read_text(encoding="utf-8")

    assert re.search(rf"^\| `{variable}=[^`]*` \|", page, re.MULTILINE)


@pytest.mark.parametrize("key", [*CONFIG_ALIASES, "domain", "durations", "observers"])
def test_every_key_of_a_configuration_file_is_documented(key):
    """
    Beside the options of a run, which have their own names there.
    """
    page = (ROOT / "docs" / "reference" / "command-line.md").read_text(encoding="utf-8")
    about = page.partition("In a configuration file,")[2].partition("\n## ")[0]

    assert f"`{key}`" in about or f"`[{key}]`" in about


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind in KINDS for name in Registry().names(kind)]
)
def test_every_built_in_part_is_documented(kind, name):
    """
    Some page of the documentation shows its name as code.
    """
    assert in_code(name)


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_every_law_is_documented(spelling):
    """
    The page of the durations has a row for every way to write one.
    """
    assert in_a_row("durations.md", f"`{spelling}`")


@pytest.mark.parametrize("status", get_args(Status))
def test_every_status_of_a_plugin_is_documented(status):
    """
    The command line's page explains what the listing may say of a part.
    """
    assert in_a_row("command-line.md", f"`{status}`")


DOMAIN_PARTS = sorted(n for n in vars(contracts.Domain) if not n.startswith("_"))


@pytest.mark.parametrize("part", DOMAIN_PARTS)
def test_every_part_of_a_domain_is_shown(part):
    """
    The guide to writing a domain names whatever one may have.
    """
    page = (ROOT / "docs" / "howto" / "write-a-domain.md").read_text(encoding="utf-8")

    assert re.search(rf"\b{part}\b", page)


def guides() -> list[Path]:
    """
    Every page of the site but its first one and what others include.
    """
    docs = ROOT / "docs"
    found = [page for page in pages() if page.is_relative_to(docs) and page.parent != docs]
    return [page for page in found if page.parent.name != "figures"]


@pytest.mark.parametrize("page", guides(), ids=lambda p: p.name)
def test_the_first_page_links_to_every_page(page):
    """
    Whoever comes with a task finds it there, not only in the list at the side.
    """
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")

    assert f"]({page.relative_to(ROOT / 'docs').as_posix()})" in index
