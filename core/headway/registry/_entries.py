"""
The entry points of installed distributions: found, ordered, de-duplicated, not yet loaded.

Their order is by name, never that of the file system; one that is found twice (an editable install
beside its own metadata, a distribution that was renamed) counts once.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from importlib.metadata import Distribution, EntryPoint, PackageNotFoundError, entry_points, version
from typing import TypeAlias

import attrs

from headway.registry._values import Origin, normalized

GROUP = "headway"

Stamp: TypeAlias = tuple[tuple[str, int, tuple[str, ...]], ...]

_METADATA = (".dist-info", ".egg-info")


@attrs.frozen(kw_only=True, eq=False)
class Entry:
    """
    One entry point.

    Args:
        origin: Where it comes from.
        requires: What its distribution requires.
        load: Imports what it names.
    """

    origin: Origin
    requires: tuple[str, ...]
    load: Callable[[], object]


@attrs.frozen(eq=False)
class _Reading:
    """
    What was read last, and what the folders looked like then.
    """

    stamp: Stamp = ()
    entries: tuple[Entry, ...] = ()
    version: str = ""


_last = _Reading()


def installed_entries() -> tuple[Entry, ...]:
    """
    Every entry point of the group, sorted by name, each once.

    Reading the metadata of a hundred distributions takes some 30 ms, so it is done again only when
    something was installed or removed, or ``sys.path`` is another one.
    """
    return _reading().entries


def running_version() -> str:
    """
    The version of Headway that is running; ``""`` in a source tree that is not installed.
    """
    return _reading().version


def _reading() -> _Reading:
    global _last  # noqa: PLW0603 - a cache of what is installed, replaced as a whole
    stamp = _stamp()
    if stamp != _last.stamp:
        _last = _Reading(stamp, _read(), _version())
    return _last


def _stamp() -> Stamp:
    return tuple((folder, *_look(folder)) for folder in sys.path)


def _look(folder: str) -> tuple[int, tuple[str, ...]]:
    """
    When a folder, or a zip file, changed last, and the metadata in it: clocks can be too coarse.
    """
    try:
        changed = os.stat(folder or ".").st_mtime_ns  # noqa: PTH116 - some 2 ms a run are spared
        names = os.listdir(folder or ".") if os.path.isdir(folder or ".") else []  # noqa: PTH112, PTH208 - as above
    except OSError:
        return (0, ())
    return (changed, tuple(sorted(name for name in names if name.endswith(_METADATA))))


def _read() -> tuple[Entry, ...]:
    found = [_entry(point) for point in entry_points(group=GROUP)]
    unique: dict[tuple[str, str], Entry] = {}
    for entry in sorted(found, key=_order):
        unique.setdefault((entry.origin.entry, entry.origin.value), entry)
    return tuple(unique.values())


def allowed_distributions() -> frozenset[str] | None:
    """
    What ``HEADWAY_PLUGINS`` allows; None when it is not set and everything is allowed.
    """
    setting = os.environ.get("HEADWAY_PLUGINS")
    if setting is None:
        return None
    return frozenset(normalized(part.strip()) for part in setting.split(",") if part.strip())


def is_strict() -> bool:
    """
    Whether ``HEADWAY_PLUGINS_STRICT`` turns every failure into an error.
    """
    return os.environ.get("HEADWAY_PLUGINS_STRICT", "") not in {"", "0"}


def missing_distributions(allowed: Iterable[str], entries: Iterable[Entry]) -> tuple[str, ...]:
    """
    What ``HEADWAY_PLUGINS`` names although no such plug-in is installed.
    """
    return tuple(sorted(set(allowed) - {entry.origin.distribution for entry in entries}))


def _version() -> str:
    try:
        return version("headway")
    except PackageNotFoundError:
        return ""


def _order(entry: Entry) -> tuple[str, str, str]:
    return (entry.origin.entry, entry.origin.value, entry.origin.distribution)


def _entry(point: EntryPoint) -> Entry:
    name, number, requires = _facts(point.dist)
    origin = Origin(entry=point.name, value=point.value, distribution=name, version=number)
    return Entry(origin=origin, requires=requires, load=point.load)


def _facts(distribution: Distribution | None) -> tuple[str, str, tuple[str, ...]]:
    """
    Name, version and requirements; ``unknown`` where the METADATA is missing or damaged.
    """
    try:
        if distribution is None or not {"Name", "Version"} <= set(distribution.metadata):
            return ("unknown", "unknown", ())
        requires = tuple(distribution.requires or ())
    except (KeyError, TypeError, UnicodeDecodeError):
        return ("unknown", "unknown", ())
    return (str(distribution.name), str(distribution.version), requires)
