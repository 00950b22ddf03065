"""
Which paths and ids every platform and every ledger reads alike.

One validator stands in front of all ledgers and of every place that writes files: what it accepts
means the same file on Linux, macOS and Windows and in git, and no accepted set of paths holds two
that some file system takes for one.  Nothing is mended here: a name is taken as it is, or refused.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import lru_cache

from headway.errors import UnsafeNameError

LONGEST_PART = 255
"""Bytes of a part of a path, in UTF-8, that the usual file systems take."""

LONGEST_PATH = 4_096
"""Bytes of a whole path."""

DEEPEST = 100
"""Parts of a path; what removes a folder tree recurses, and must not run out of stack."""

LONGEST_ID = 100
"""Characters of an id."""

_GIVE_PORTABLE = "Give it a name that every system can have."

PATH_FAULTS: Mapping[str, tuple[str, str]] = {
    "text": ("is no text", "Give a path as a string."),
    "empty": ("is empty", "Give a path such as folder/file."),
    "unicode": ("is no valid Unicode", "Decode it with errors='replace'."),
    "long": (f"is longer than {LONGEST_PATH:,} bytes", "Give it a shorter one."),
    "deep": (f"has more than {DEEPEST} parts", "Put it less deep."),
    "absolute": ("is absolute", "Give it relative to the folder."),
    "drive": ("begins with a drive letter", "Give it relative to the folder."),
    "backslash": ("holds a backslash", "Put / between the parts."),
    "control": ("holds a control character", "Leave control characters and line ends out."),
    "outside": ("leaves the folder", "Leave .. out."),
    "dot": ("has a part that is a single dot", "Leave . out."),
    "part": ("has an empty part", "Write it as folder/file."),
    "git": ("has a part that may be read as git's own .git", "Give it another name."),
    "invisible": ("holds an invisible character", "Leave invisible characters out."),
    "forbidden": ('holds one of the characters < > : " | ? *', _GIVE_PORTABLE),
    "stand-in": ("holds a character that stands for another one", _GIVE_PORTABLE),
    "device": ("has a part that is a device on Windows", _GIVE_PORTABLE),
    "end": ("has a part that ends in a dot or a space", "Leave it out: Windows would."),
    "hyphen": ("has a part that begins with a hyphen", "Begin it otherwise: it reads as a flag."),
    "wide": (f"has a part of more than {LONGEST_PART} bytes", "Give it a shorter one."),
}
"""What can be wrong with one path: the reason and the remedy of its error."""

PAIR_FAULTS: Mapping[str, tuple[str, str]] = {
    "twice": ("is given twice", "Leave one out."),
    "same": ("differs only in case or in how accents are written from", "Rename one."),
    "both": ("would have to be both a file and a folder beside", "Rename one."),
    "spelling": ("spells a folder otherwise than", "Spell it the same way."),
}
"""What can be wrong with two paths together; the reason ends in the other path."""

ID_FAULTS: Mapping[str, tuple[str, str]] = {
    "text": ("is no text", "Give an id as a string."),
    "empty": ("is empty", "Give an id such as dev."),
    "long": (f"is longer than {LONGEST_ID} characters", "Give a shorter one."),
    "letters": (
        "holds something else than letters, digits, '.', '_' and '-'",
        "Use the letters A to Z, digits, '.', '_' and '-'.",
    ),
    "first": ("begins with neither a letter nor a digit", "Begin it with a letter or digit."),
    "dots": ("holds '..'", "Use single dots."),
    "end": ("ends in a dot or in .lock", "Give it another end."),
    "device": ("is a device on Windows", _GIVE_PORTABLE),
}
"""What can be wrong with an id."""

_DRIVE = re.compile(r"[A-Za-z]:")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_FORBIDDEN = re.compile(r'[<>:"|?*]')
# HFS+ and APFS pass over such characters, and people do not see them: what has no glyph and no
# width, beside the whole category of format characters.
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0000-\U000e0fff]"
)
# Cygwin and WSL write a forbidden character as one of these, and macOS does so for Windows disks;
# the rest of the line is no character at all.
_STAND_IN = re.compile("[\uf000-\uf0ff\ufdd0-\ufdef\ufffe\uffff]")
_GIT = re.compile(r"\.git|git~[0-9]+", re.IGNORECASE)
_DEVICE = re.compile(r"con|prn|aux|nul|clock\$|conin\$|conout\$|(com|lpt)[1-9¹²³]", re.IGNORECASE)
_ID = re.compile(r"[A-Za-z0-9._-]+")


def check_path(path: object) -> str:
    """
    The path itself, when every platform and every ledger reads it as the same file.

    Raises:
        UnsafeNameError: it would be misread; the first fault that was found is its reason.

    >>> check_path("scripts/run.py")
    'scripts/run.py'
    """
    if not isinstance(path, str):
        raise UnsafeNameError(path, *PATH_FAULTS["text"])
    fault = _path_fault(path)
    if fault:
        raise UnsafeNameError(path, *PATH_FAULTS[fault])
    return path


def check_paths(paths: Iterable[object]) -> tuple[str, ...]:
    """
    The paths themselves, when they can all stand in one folder on every platform.

    Raises:
        UnsafeNameError: one of them would be misread, two would be one file where case or the
            spelling of accents does not count, or one would have to be both a file and a folder.

    >>> check_paths(["a.txt", "b/c.txt"])
    ('a.txt', 'b/c.txt')
    """
    checked = tuple(check_path(path) for path in paths)
    files: dict[str, str] = {}
    for path in checked:
        folded = _folded(path)
        if folded in files:
            raise _pair("twice" if files[folded] == path else "same", path, files[folded])
        files[folded] = path
    if any("/" in path for path in checked):
        _check_folders(checked, files)
    return checked


def check_id(text: object) -> str:
    """
    The id of a branch or an artifact itself, when every ledger can store something under it.

    Raises:
        UnsafeNameError: it cannot be stored everywhere.

    >>> check_id("dev")
    'dev'
    """
    fault = _id_fault(text) if isinstance(text, str) else "text"
    if fault:
        raise UnsafeNameError(text, *ID_FAULTS[fault])
    assert isinstance(text, str)  # noqa: S101 - tells the type checker what "text" stands for
    return text


def _check_folders(paths: Iterable[str], files: Mapping[str, str]) -> None:
    folders: dict[str, tuple[str, str]] = {}
    for path in paths:
        end = path.rfind("/")
        while end > 0:
            folder = path[:end]
            spelled, of = folders.setdefault(_folded(folder), (folder, path))
            if spelled != folder:
                raise _pair("spelling", path, of)
            if of is not path:
                break  # this folder and all above it were looked at for another path
            if _folded(folder) in files:
                raise _pair("both", path, files[_folded(folder)])
            end = path.rfind("/", 0, end)


def _pair(fault: str, path: str, other: str) -> UnsafeNameError:
    reason, remedy = PAIR_FAULTS[fault]
    told = reason if fault == "twice" else f"{reason} {other!r}"
    return UnsafeNameError(path, told, remedy)


@lru_cache(maxsize=4_096)  # a run checks the same few paths with every proposal
def _path_fault(path: str) -> str:
    faults = (_part_fault(part) for part in path.split("/"))
    return _whole_fault(path) or next((fault for fault in faults if fault), "")


def _whole_fault(path: str) -> str:
    if not path:
        return "empty"
    try:
        length = len(path.encode())
    except UnicodeEncodeError:
        return "unicode"
    faults = {
        "long": length > LONGEST_PATH,
        "deep": path.count("/") >= DEEPEST,
        "absolute": path.startswith("/"),
        "drive": _DRIVE.match(path),
        "backslash": "\\" in path,
        "control": _CONTROL.search(path),
    }
    return _first(faults)


def _part_fault(part: str) -> str:
    visible = part if part.isascii() else "".join(c for c in part if not _invisible(c))
    stem = part.partition(".")[0].rstrip(" ")
    faults = {
        "part": not part,
        "dot": part == ".",
        "outside": part == "..",
        # Windows reads on after a colon as a stream of the file, and leaves dots and spaces out.
        "git": _GIT.fullmatch(visible.partition(":")[0].rstrip(" .")),
        "invisible": visible != part,
        "forbidden": _FORBIDDEN.search(part),
        "stand-in": _STAND_IN.search(part) or _is_no_character(part),
        "device": _DEVICE.fullmatch(stem),
        "end": part.endswith((".", " ")),
        "hyphen": part.startswith("-"),
        "wide": len(part.encode()) > LONGEST_PART,
    }
    return _first(faults)


def _id_fault(text: str) -> str:
    faults = {
        "empty": not text,
        "long": len(text) > LONGEST_ID,
        "letters": not _ID.fullmatch(text),
        "first": text[:1] in {".", "_", "-"},
        "dots": ".." in text,
        "end": text.lower().endswith((".", ".lock")),
        "device": _DEVICE.fullmatch(text.partition(".")[0]),
    }
    return _first(faults)


def _first(faults: Mapping[str, object]) -> str:
    return next((name for name, found in faults.items() if found), "")


def _invisible(character: str) -> bool:
    return unicodedata.category(character) == "Cf" or _INVISIBLE.match(character) is not None


def _is_no_character(part: str) -> bool:
    return not part.isascii() and any(ord(c) & 0xFFFE == 0xFFFE for c in part)  # noqa: PLR2004 - see the Unicode standard, 23.7


def _folded(path: str) -> str:
    if path.isascii():
        return path.lower()
    # Unicode's canonical caseless matching; the last step makes of it one spelling again.
    folded = unicodedata.normalize("NFD", path).casefold()
    return unicodedata.normalize("NFC", folded)
