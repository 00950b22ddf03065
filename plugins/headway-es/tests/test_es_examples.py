"""
Every example of the docstrings and of the README is true.
"""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import headway_es

MODULES = [f"headway_es.{module.name}" for module in pkgutil.iter_modules(headway_es.__path__)]
README = Path(__file__).parent.parent / "README.md"


@pytest.mark.parametrize("name", MODULES)
def test_every_example_of_a_docstring_is_true(name):
    """
    As a reader would type it.
    """
    module = importlib.import_module(name)
    report = []
    for test in doctest.DocTestFinder().find(module, name):
        doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=report.append)

    assert "" == "".join(report)


def test_the_readmes_script_runs(capsys):
    """
    And comes near to what it looks for.
    """
    (script,) = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    exec(compile(script, "README.md", "exec"), {"__name__": "__main__"})
    *theta, lag = capsys.readouterr().out.replace("[", "").replace("]", "").split()

    assert all(2 < float(value) < 4 for value in theta)
    assert 0 <= float(lag) <= 1


def test_every_name_of_the_package_is_found_when_it_is_asked_for():
    """
    None is missing, and another one is told as Python tells it.
    """
    found = {name: getattr(headway_es, name) for name in headway_es.__all__}

    assert all(value.__module__.startswith("headway_es.") for value in found.values())
    with pytest.raises(AttributeError, match="no attribute 'Es'"):
        _ = headway_es.Es
