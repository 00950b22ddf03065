"""
Warnings that name the caller's own line.
"""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

_PASSED_OVER = tuple(
    f"{folder}{os.sep}"
    for folder in (Path(__file__).parent, Path(warnings.__file__).parent / "asyncio")
)
"""This package, and what runs a coroutine that no other one awaits."""


def warn_caller(message: str) -> None:
    """
    Give a ``RuntimeWarning`` at the line that called into this package.

    However many functions of the package stand between, the line is the caller's: there a filter can
    find it, and Python shows it once for each such line.
    """
    level, frame = 1, sys._getframe()  # noqa: SLF001 - the one way to see who called
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PASSED_OVER):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, RuntimeWarning, stacklevel=level)
