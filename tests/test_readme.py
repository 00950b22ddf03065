"""
The README's script, taken from it, runs in every mode and under every driver.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from headway.errors import OptionError
from headway.options import DRIVERS, MODES

README = Path(__file__).parent.parent / "README.md"
FENCE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MOST_LINES = 15


def script() -> str:
    fences = FENCE.findall(README.read_text(encoding="utf-8"))
    (found,) = [fence for fence in fences if "sys.argv" in fence]
    return found


def runs(script_text, mode, driver, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["own.py", mode, driver])
    exec(compile(script_text, "own.py", "exec"), {"__name__": "__main__"})


def test_the_script_is_short():
    """
    Fifteen lines of code, blank ones aside, with an aggregator of its own.
    """
    code = [line for line in script().splitlines() if line.strip()]

    assert len(code) <= MOST_LINES
    assert "aggregator=" in script()


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("mode", MODES)
def test_the_script_runs_in_every_mode_and_under_every_driver(mode, driver, monkeypatch, capsys):
    """
    It finds something; serial overlaps nothing, so in async mode it is refused with a remedy.
    """
    pytest.importorskip("headway_domains", reason="the script runs inflect")
    if (mode, driver) == ("async", "serial"):
        with pytest.raises(OptionError, match="threads, asyncio or simulated"):
            runs(script(), mode, driver, monkeypatch)
        return
    runs(script(), mode, driver, monkeypatch)
    before, after = re.search(r"reward ([\d.]+) -> ([\d.]+);", capsys.readouterr().out).groups()

    assert float(after) > float(before) + 0.3


def test_the_script_saved_as_a_file_runs_alone(tmp_path):
    """
    As the README says: saved as ``own.py``, without arguments.
    """
    pytest.importorskip("headway_domains", reason="the script runs inflect")
    (tmp_path / "own.py").write_text(script(), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "own.py"], cwd=tmp_path, capture_output=True, text=True, check=True
    )

    assert "stopped because all rollouts were made" in done.stdout


def test_the_commands_of_the_readme_are_those_that_are_tried():
    """
    Each row of the table behind the script is a mode and a driver that exist.
    """
    rows = re.findall(r"^\| `python own\.py ?([^`]*)` \|", README.read_text("utf-8"), re.MULTILINE)
    asked = [row.split() for row in rows]

    assert [] in asked
    assert {"sync", "async"} == {words[0] for words in asked if words}
    assert all(words[0] in MODES and words[1] in DRIVERS for words in asked if words)
