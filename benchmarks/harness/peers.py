"""
The environments that the peers live in.
"""

from __future__ import annotations

import sys
from pathlib import Path

_HERE = Path(__file__).parent.parent

FOLDER = _HERE / ".venv"
"""Where ``make_peers.py`` makes that of the engines; Git ignores it."""

FOLDER_ES = _HERE / ".venv-es"
"""The same of evolution strategies, which need gigabytes that the engines don't."""


def interpreter(folder):
    """
    The environment's interpreter.
    """
    inside = Path("Scripts", "python.exe") if sys.platform == "win32" else Path("bin", "python")
    return Path(folder) / inside
