"""
``headway log``, ``show``, ``diff``, ``checkout`` and ``export``: the versions of a run, while it goes
on or afterwards.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from difflib import unified_diff
from importlib import import_module
from pathlib import Path
from typing import Any

import attrs

from headway.cli._directories import Renderer, add_directory, entry_of, version_of
from headway.contracts import Ledger, LedgerEntry, Snapshot
from headway.errors import LedgerError, OptionError, RunDirectoryError, UsageError
from headway.materialize import materialize
from headway.rundir import OpenRun, open_run

_VERSION = "a number, head or stable"
_REWARD = re.compile(r"^Held-out reward ([^\s,]+)", re.MULTILINE)
_CARDS = re.compile(r"^Card (\d+): ", re.MULTILINE)


def add_parser(subparsers: Any) -> None:
    """
    Add the commands' parsers to what argparse's ``add_subparsers`` gave; that has no public type.
    """
    log = _add(subparsers, "log", log_, "the versions of a run, newest first", "log first")
    log.add_argument("--branch", default="dev", metavar="NAME", help="dev or stable (default: dev)")
    log.add_argument("--json", action="store_true", help="print one JSON object")
    show = _add(subparsers, "show", show_, "one version of a run", "show first head")
    show.add_argument("version", metavar="VERSION", help=_VERSION)
    form = show.add_mutually_exclusive_group()
    form.add_argument("--files", action="store_true", help="only name its files")
    form.add_argument("--json", action="store_true", help="print one JSON object with the state")
    diff = _add(
        subparsers, "diff", diff_, "what two versions of a run differ in", "diff first 0 head"
    )
    diff.add_argument("old", metavar="A", help=_VERSION)
    diff.add_argument("new", metavar="B", help=_VERSION)
    checkout = _add(
        subparsers,
        "checkout",
        checkout_,
        "write the files of a version into a new folder",
        "checkout first stable found",
    )
    checkout.add_argument("version", metavar="VERSION", help=_VERSION)
    checkout.add_argument("target", metavar="TARGET", help="a folder that is new or empty")
    export = _add(
        subparsers,
        "export",
        export_,
        "write all versions into a new git repository",
        "export first --git first.git",
    )
    about = "a folder that is new or empty; needs the plug-in headway-git"
    export.add_argument("--git", metavar="PATH", required=True, help=about)


def _add(
    subparsers: Any, name: str, run: Callable[[argparse.Namespace], int], about: str, example: str
) -> Any:
    parser = subparsers.add_parser(
        name,
        help=about,
        description=f"{about[0].upper()}{about[1:]}.",
        epilog=f"Example:\n  headway {example}\n",
    )
    add_directory(parser)
    parser.set_defaults(run=run)
    return parser


# ------------------------------------------------------------------------------------------ log


def log_(args: argparse.Namespace) -> int:
    """
    Print the versions of a branch.

    Returns:
        The exit code.
    """
    with open_run(args.directory) as kept, kept.ledger() as ledger:
        entries = _log(kept, ledger, args.branch)
        stable = _stable(ledger)
    if args.json:
        told = [_as_json(entry) for entry in entries]
        sys.stdout.write(json.dumps({"versions": told, "stable": stable}, indent=2) + "\n")
        return 0
    if not entries:
        sys.stderr.write(f"headway: note: nothing was committed to {args.branch} yet\n")
    sys.stdout.write("".join(_line(entry, stable) + "\n" for entry in entries))
    return 0


def _log(kept: OpenRun, ledger: Ledger, branch: str) -> list[LedgerEntry]:
    try:
        ledger.snapshot(branch)
    except LedgerError as error:
        remedy = "Give dev, which every commit goes to, or stable."
        raise RunDirectoryError(str(kept.path), f"{error}.", remedy) from error
    return list(reversed(ledger.log(branch)))


def _stable(ledger: Ledger) -> int | None:
    try:
        return ledger.snapshot("stable").version
    except LedgerError:  # a ledger need not have that branch
        return None


def _line(entry: LedgerEntry, stable: int | None) -> str:
    reward, title = _reward(entry), entry.message.partition("\n")[0]
    held = "-" if reward is None else f"{reward:.3f}"
    mark = "  (stable)" if entry.version == stable else ""
    return f"{entry.version:>6}  reward {held:<6}  {title}{mark}"


def _reward(entry: LedgerEntry) -> float | None:
    found = _REWARD.search(entry.message)
    try:
        return None if found is None else float(found[1])
    except ValueError:
        return None


def _as_json(entry: LedgerEntry) -> dict[str, Any]:
    cards = [int(number) for number in _CARDS.findall(entry.message)]
    return {**attrs.asdict(entry), "reward": _reward(entry), "cards": cards}


# ----------------------------------------------------------------------------------------- show


def show_(args: argparse.Namespace) -> int:
    """
    Print one version.

    Returns:
        The exit code.
    """
    with open_run(args.directory) as kept, kept.ledger() as ledger:
        snapshot = version_of(kept, ledger, args.version)
        entry = entry_of(ledger, snapshot.version)
        if args.json:
            text = json.dumps(_state_json(snapshot, entry), indent=2) + "\n"
        else:
            files = Renderer(kept).files(snapshot.artifact.value)
            text = "".join(_shown(snapshot, entry, files, only_names=args.files))
    sys.stdout.write(text)
    return 0


def _state_json(snapshot: Snapshot, entry: LedgerEntry | None) -> dict[str, Any]:
    own = {"version": snapshot.version, "digest": snapshot.digest}
    more = {} if entry is None else _as_json(entry)
    return {**more, **own, "state": snapshot.artifact.value}


def _shown(
    snapshot: Snapshot, entry: LedgerEntry | None, files: Mapping[str, str], *, only_names: bool
) -> Iterator[str]:
    on = "the one that the run began with" if entry is None else f"made on version {entry.parent}"
    yield f"version {snapshot.version}, {on}, content {snapshot.digest[:12]}\n"
    if entry is not None:
        yield "".join(f"  {line}".rstrip() + "\n" for line in entry.message.splitlines())
    for name, text in sorted(files.items()):
        count = len(text.splitlines())
        yield f"{'' if only_names else chr(10)}{name}  {count} line{'' if count == 1 else 's'}\n"
        if not only_names:
            yield text if text.endswith("\n") else f"{text}\n"


# ------------------------------------------------------------------------------- diff, checkout


def diff_(args: argparse.Namespace) -> int:
    """
    Print what two versions differ in.

    Returns:
        The exit code.
    """
    with open_run(args.directory) as kept, kept.ledger() as ledger:
        old, new = (version_of(kept, ledger, named) for named in (args.old, args.new))
        render = Renderer(kept)
        before, after = (render.files(version.artifact.value) for version in (old, new))
    for name in sorted({*before, *after}):
        sys.stdout.write("".join(_file_diff(name, before, after)))
    return 0


def _file_diff(name: str, before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[str]:
    lines = unified_diff(
        before.get(name, "").splitlines(keepends=True),
        after.get(name, "").splitlines(keepends=True),
        fromfile=f"a/{name}" if name in before else "(no file)",
        tofile=f"b/{name}" if name in after else "(no file)",
    )
    for line in lines:
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def checkout_(args: argparse.Namespace) -> int:
    """
    Write the files of a version.

    Returns:
        The exit code.
    """
    target = Path(args.target)
    _refuse_what_is_there("TARGET", target)
    with open_run(args.directory) as kept, kept.ledger() as ledger:
        snapshot = version_of(kept, ledger, args.version)
        files = Renderer(kept).files(snapshot.artifact.value)
    try:
        target.absolute().parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        remedy = f"Its folder can't be made: {error.strerror}. Give one that can be written to."
        raise OptionError("TARGET", args.target, remedy) from error
    materialize(files, target)
    sys.stdout.write(f"version {snapshot.version}: {len(files)} files in {target}\n")
    return 0


def _refuse_what_is_there(what: str, path: Path) -> None:
    taken = path.is_symlink() or path.exists()
    if taken and (path.is_symlink() or not path.is_dir() or any(path.iterdir())):
        raise OptionError(what, str(path), "It is there already: give a new or empty folder.")


def export_(args: argparse.Namespace) -> int:
    """
    Write all versions into a git repository.

    Returns:
        The exit code.
    """
    _refuse_what_is_there("--git", Path(args.git))
    with ExitStack() as stack:
        kept = stack.enter_context(open_run(args.directory))
        try:
            plugin: Any = import_module("headway_git")
        except ModuleNotFoundError as error:
            remedy = "Install the plug-in headway-git, which lies in plugins/headway-git of Headway's own repository."
            raise UsageError(f"--git {args.git}: {error}. {remedy}") from None
        count = plugin.export_to_git(stack.enter_context(kept.ledger()), args.git)
    sys.stdout.write(f"{count} commits in {args.git}\n")
    return 0
