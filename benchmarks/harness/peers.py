"""
The environment that the peers live in.
"""

from __future__ import annotations

import sys
from pathlib import Path

FOLDER = Path(__file__).parent.parent / ".venv"
"""Where ``make_peers.py`` makes it; Git ignores it."""


def interpreter(folder):
    """
    The environment's interpreter.
    """
    inside = Path("Scripts", "python.exe") if sys.platform == "win32" else Path("bin", "python")
    return Path(folder) / inside
