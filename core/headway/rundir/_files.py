"""
The files that a run leaves for people and programs to read.

A file is written under another name and then renamed, so that none is ever half there.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from headway.errors import (
    ContractError,
    HeadwayError,
    LedgerCorrupt,
    OptionError,
    UnsafeNameError,
)
from headway.materialize import materialize
from headway.names import check_paths
from headway.result import Result

CONFIG = "config.toml"
CURVE = "curve.tsv"
READABLE = "result.json"
RESULT = "saved.json"
ARTIFACT = "artifact"

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
    Write the curve, the result twice, to be read and to be loaded, and the artifact.

    What is loaded comes last: where it is, all else is, but for what the domain could not render.

    Raises:
        ContractError: the domain rendered a file that some system could not have below ``artifact``.
        HeadwayError: a file cannot be written.
    """
    write(folder, CURVE, curve_text(result))
    write(folder, READABLE, json.dumps(result.to_json(), indent=2, allow_nan=False) + "\n")
    try:
        check_files(result.files)
        if result.files:
            materialize(result.files, folder / ARTIFACT)
    finally:
        result.save(folder / RESULT)


def read_result(folder: Path) -> Result | None:
    """
    The result that ``write_result`` kept; None when there is none.

    Raises:
        LedgerCorrupt: the file is not what was written.
    """
    place = folder / RESULT
    try:
        return Result.load(place) if place.is_file() else None
    except OptionError as error:
        remedy = "Remove the file: going on makes the result anew from the journal"
        raise LedgerCorrupt(str(place), "the result", f"{error.remedy} {remedy}") from error


def remove_result(folder: Path) -> None:
    """
    Remove what ``write_result`` wrote, as far as it is there.
    """
    for name in (RESULT, READABLE, CURVE):
        (folder / name).unlink(missing_ok=True)
    if (folder / ARTIFACT).exists():
        shutil.rmtree(folder / ARTIFACT)


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
