"""
The folder of a run: claimed before anything starts, never one that holds something already.

A file is written under another name and then renamed, so that none is ever half there.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, TextIO

from headway.errors import ContractError, HeadwayError, OptionError, UnsafeNameError
from headway.materialize import materialize
from headway.names import check_paths
from headway.result import Result

PARENT = "headway-runs"
"""Where runs go when no folder is named."""

SIGNALLED = 128
"""Exit codes above it say which signal ended a process."""

COLUMNS = (
    "rollouts",
    "calls",
    "seconds",
    "sweep",
    "outcome",
    "considered",
    "committed",
    "stale",
    "version",
    "reward",
)
"""The columns of ``curve.tsv``."""


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


def write(folder: Path, name: str, text: str) -> None:
    """
    Write one file, whole or not at all.

    Raises:
        HeadwayError: it cannot be written.
    """
    path = folder / name
    draft = path.with_name(f".{path.name}.part")
    try:
        content = text.encode()
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.write_bytes(content)
        draft.replace(path)
    except (OSError, UnicodeEncodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise HeadwayError(f"cannot write {path}: {reason}") from error


def write_result(folder: Path, result: Result) -> None:
    """
    Write the curve, the result twice, to be loaded and to be read, and the artifact.

    Raises:
        ContractError: the domain rendered a file that some system could not have below ``artifact``.
        HeadwayError: a file cannot be written.
    """
    write(folder, "curve.tsv", curve_text(result))
    result.save(folder / "saved.json")
    write(folder, "result.json", json.dumps(result.to_json(), indent=2, allow_nan=False) + "\n")
    check_files(result.files)
    if result.files:
        materialize(result.files, folder / "artifact")


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


def check_files(files: Mapping[Any, Any]) -> None:
    """
    Refuse a rendered file that is no text, would lie elsewhere or has a name that some system misreads.

    Raises:
        ContractError: there is one.
    """
    try:
        check_paths(files)
    except UnsafeNameError as error:
        told = "Name files by a relative path with '/' and without '..'."
        message = f"the domain rendered a file named {error.name!r}. It {error.reason}. {told}"
        raise ContractError(message) from error
    for name, text in files.items():
        if not isinstance(text, str):
            raise ContractError(f"the domain rendered {name!r} as {text!r}, which is no text.")


def curve_text(result: Result) -> str:
    """
    The sweeps as a table with tabs; its first line names the columns.
    """
    rows: Iterable[tuple[object, ...]] = (
        (
            *(sweep.rollouts, sweep.calls, f"{sweep.now:.6g}", sweep.sweep, sweep.outcome),
            *(sweep.considered, sweep.committed, sweep.stale, sweep.version),
            "" if sweep.reward is None else f"{sweep.reward:.6g}",
        )
        for sweep in result.history
    )
    return "".join("\t".join(map(str, row)) + "\n" for row in (COLUMNS, *rows))


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
