"""
Relative paths that stay where they belong.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from headway.strategies._texts import check_unicode

_LONGEST_NAME = 255
"""Bytes of a name that the usual file systems take."""

_DRIVE = re.compile(r"^[A-Za-z]:")


def check_path(path: object) -> str:
    """
    Refuse what is no relative path below its folder.

    Raises:
        TypeError: it is no text.
        ValueError: it is empty, absolute, leaves the folder, or is not written as this module
            writes paths: parts with ``/`` between them.
    """
    if not isinstance(path, str):
        message = f"the path {path!r} is no text"
        raise TypeError(message)
    if path.startswith("/") or _DRIVE.match(path):
        raise ValueError(_refusal(path, "is absolute", "Give it relative to the folder."))
    if "\\" in path or "\0" in path:
        raise ValueError(_refusal(path, "holds a character that no path has", "Use / only."))
    parts = path.split("/")
    if ".." in parts:
        raise ValueError(_refusal(path, "leaves the folder", "Leave .. out."))
    if "" in parts or "." in parts:
        raise ValueError(_refusal(path, "has an empty part", "Write it as folder/file."))
    check_unicode(path, f"the path {path!r}")
    if any(len(part.encode()) > _LONGEST_NAME for part in parts):
        fault = f"has a name of more than {_LONGEST_NAME} bytes"
        raise ValueError(_refusal(path, fault, "Give it a shorter one."))
    return path


def clash(paths: Iterable[str]) -> str | None:
    """
    A path that would have to be both a file and a folder, if there is one.

    >>> clash(("a", "a/b")), clash(("a", "ab"))
    ('a', None)
    """
    known = set(paths)
    for path in sorted(known):
        parts = path.split("/")
        for end in range(1, len(parts)):
            parent = "/".join(parts[:end])
            if parent in known:
                return parent
    return None


def _refusal(path: str, fault: str, remedy: str) -> str:
    return f"the path {path!r} {fault}. {remedy}"
