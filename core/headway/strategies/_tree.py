"""
A strategy for a folder of text files, such as a skill.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, Self, cast

import attrs

from headway._checks import check_flag
from headway.contracts import Json
from headway.errors import UnsafeNameError, UsageError, shown
from headway.names import check_path, check_paths
from headway.strategies._disk import (
    IGNORED,
    ignored,
    patterns,
    read_folder,
    write_folder,
)
from headway.strategies._keyed import (
    Conflict,
    apply_change,
    as_conflict,
    change,
    parsed,
    rebase_change,
)
from headway.strategies._strategy import Strategy
from headway.strategies._texts import check_unicode


@attrs.frozen(kw_only=True, eq=False)
class FileTree(Strategy):
    """
    Text files by relative path.

    A state maps paths to texts.  ``render`` gives just that; with ``as_folder`` a run receives the
    ``Path`` of a temporary folder of its own that holds the files, and is gone after the call.  A
    proposal is ``{path: text}``, with None for a file to be removed, or the ``Path`` of a folder: what
    differs there from the state is the change, so ``propose`` may edit the folder that it was given
    and return it.  Changes to different files can be merged together.

    Args:
        texts: The files to start with, by path; ``load`` reads them from a folder.
        as_folder: Whether a run receives a folder.
        ignore: Names that are no part of the tree, as patterns.
        conflict: As of ``KeyedRules``, file by file.

    Raises:
        OptionError: ``conflict`` is another word, or ``as_folder`` no boolean.
        TypeError: a text is no text.
        UnsafeNameError: a path would be misread somewhere, or two of them clash.
    """

    texts: Mapping[str, str] = attrs.field(factory=dict[str, str], kw_only=False)
    as_folder: bool = False
    ignore: Sequence[str] = attrs.field(default=IGNORED, converter=patterns)
    conflict: Conflict = attrs.field(default="theirs", converter=as_conflict)

    def __attrs_post_init__(self) -> None:
        check_flag("as_folder", self.as_folder)
        self.check(self.texts)

    @classmethod
    def load(
        cls,
        folder: str | os.PathLike[str],
        *,
        as_folder: bool = False,
        ignore: Sequence[str] = IGNORED,
        conflict: Conflict = "theirs",
    ) -> Self:
        """
        A tree that starts with the files below a folder.

        Raises:
            UsageError: there is no such folder, a file in it is no UTF-8 text, or a link leads out.
        """
        found = read_folder(folder, patterns(ignore))
        return cls(found, as_folder=as_folder, ignore=ignore, conflict=conflict)

    def write(self, state: Json, folder: str | os.PathLike[str]) -> None:
        """
        Write a state's files below a folder; other files in it are left alone.

        Raises:
            UsageError: a link below the folder leads out of it.
            TypeError: the state is no mapping from paths to texts.
            UnsafeNameError: a path would be misread somewhere, or two of them clash.
        """
        self.check(state)
        write_folder(state, folder)

    def initial(self) -> Json:
        """
        The files to start with.
        """
        return dict(self.texts)

    def render(self, state: Json) -> dict[str, str]:
        """
        Text by path.
        """
        return dict(state)

    def rendering(self, state: Json) -> AbstractContextManager[Any]:
        """
        The mapping, or a temporary folder that is removed afterwards.
        """
        return _temporary(state) if self.as_folder else nullcontext(self.render(state))

    def to_diff(self, proposal: Any, state: Json) -> Json | None:
        """
        The files that the proposal gives another text, adds or removes.
        """
        new: dict[str, str | None]
        # A text is no path here: what a model writes must not choose which folder is read.
        if isinstance(proposal, os.PathLike):
            new = self._edited(cast("os.PathLike[str]", proposal), state)
        else:
            new = _by_path(proposal, "proposal")
        diff = change(new, state)
        if diff is not None:
            check_paths(apply_change(state, diff))
        return diff

    def _edited(self, folder: os.PathLike[str], state: Json) -> dict[str, str | None]:
        try:
            found = read_folder(folder, self.ignore)
        except UsageError as error:  # whoever proposes is no caller
            raise ValueError(str(error)) from error
        seen = (path for path in state if not ignored(path, self.ignore))
        return {**dict.fromkeys(seen), **found}

    def apply(self, state: Json, diff: Json) -> Json:
        """
        The files with those of the change.

        Raises:
            TypeError: the diff is no mapping.
            UnsafeNameError: a path would be misread somewhere, or two of them clash.
        """
        _by_path(parsed(diff).new, "diff")
        files = apply_change(state, diff)
        check_paths(files)
        return files

    def rebase(self, diff: Json, state: Json) -> Json | None:
        """
        The three-way rule, file by file; None also where a file would stand in a folder's place.
        """
        left = rebase_change(diff, state, self.conflict)
        return None if left is None or _clashes(apply_change(state, left)) else left

    def removals(self, state: Json) -> tuple[Json, ...]:
        """
        Each file alone.
        """
        return tuple(change({path: None}, state) for path in sorted(state))

    def check(self, state: Json) -> None:
        """
        Refuse anything but a mapping from safe paths to texts.
        """
        if None in _by_path(state, "state").values():
            message = "a file of the state is None; leave it out"
            raise TypeError(message)
        check_paths(state)

    def files(self, state: Json) -> Mapping[str, str]:
        """
        The files themselves.
        """
        return dict(state)


@contextmanager
def _temporary(state: Mapping[str, str]) -> Generator[Path]:
    from tempfile import TemporaryDirectory  # costs, and only folders need it

    # What a hanging process holds open must not cost the rollout its result.
    with TemporaryDirectory(prefix="headway-", ignore_cleanup_errors=True) as folder:
        write_folder(state, folder)
        yield Path(folder)


def _clashes(files: Iterable[str]) -> bool:
    try:
        check_paths(files)
    except UnsafeNameError:
        return True
    return False


def _by_path(given: object, what: str) -> dict[str, str | None]:
    if not isinstance(given, Mapping):
        wanted = "{path: text}, or the Path of a folder" if what == "proposal" else "{path: text}"
        message = f"the {what} {shown(given)} is of type {type(given).__name__}; give {wanted}"
        raise TypeError(message)
    return {
        check_path(path): _text(path, text, what)
        for path, text in cast("Mapping[object, object]", given).items()
    }


def _text(path: object, text: object, what: str) -> str | None:
    if isinstance(text, bytes):
        message = f"{path!r} of the {what} holds bytes; only text files can be improved: decode it"
        raise TypeError(message)
    if text is None:
        return None
    if isinstance(text, str):
        if "\0" in text:
            message = f"{path!r} of the {what} holds a zero byte; only text files can be improved"
            raise ValueError(message)
        return check_unicode(text, f"{path!r} of the {what}")
    message = f"{path!r} of the {what} is {shown(text)}; give a text, or None to remove the file"
    raise TypeError(message)
