"""
The folder of a run: claimed before anything starts, never one that holds something already; and
standard output.
"""

from __future__ import annotations

import os
import re
from collections.abc import Generator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import TextIO

from headway.errors import HeadwayError, OptionError

PARENT = "headway-runs"
"""Where runs go when no folder is named."""

SIGNALLED = 128
"""Exit codes above it say which signal ended a process."""


def claim(out: str | None, *, name: str, seed: int) -> Path:
    """
    Make the folder of a run.

    Args:
        out: What ``--out`` named; None for the next free one of the default names.
        name: The domain's name.
        seed: The run's seed.

    Raises:
        OptionError: the folder is not empty or cannot be made.
    """
    if out is None:
        return _next_free(f"{re.sub(r'[^A-Za-z0-9._-]+', '-', name)}-{seed}")
    if not out:
        raise OptionError("--out", out, "Give the name of a folder.")
    folder = Path(out)
    if folder.exists() and not folder.is_dir():
        raise OptionError("--out", out, "This is a file: give a folder that is new or empty.")
    with _refusing(out):
        folder.mkdir(parents=True, exist_ok=True)
        taken = any(folder.iterdir())
    if taken:
        remedy = f"This folder is not empty: give a new one, or leave --out out to use {PARENT}."
        raise OptionError("--out", out, remedy)
    return folder


def answer(stream: TextIO, text: str, *, kept: str = "") -> None:
    """
    Write all of an answer, now.

    Args:
        stream: Standard output.
        text: The answer.
        kept: Where else it can be found, as the end of a sentence.

    Raises:
        BrokenPipeError: nobody reads it.
        HeadwayError: it cannot be written; the stream is let go of.
    """
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        let_go(stream)
        reason = f"cannot write to standard output: {error.strerror}"
        raise HeadwayError(f"{reason}{kept}") from error


def let_go(stream: TextIO) -> None:
    """
    Point a standard stream that holds what cannot be written at nothing: the interpreter flushes it
    when it ends, and complains.
    """
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, stream.fileno())
    os.close(nothing)


def _next_free(stem: str) -> Path:
    for number in count(1):
        folder = Path(PARENT) / f"{stem}-{number}"
        with _refusing(str(folder)):
            try:
                folder.mkdir(parents=True)
            except FileExistsError:
                continue
        return folder
    raise AssertionError  # ``count`` does not end


@contextmanager
def _refusing(out: str) -> Generator[None, None, None]:
    try:
        yield
    except OSError as error:
        remedy = f"It cannot be used: {error.strerror}. Give a folder that can be written to."
        raise OptionError("--out", out, remedy) from error
