"""
The entry points of installed distributions: found, ordered, de-duplicated, not yet loaded.

Their order is by name, never that of the file system; one that is found twice (an editable install
beside its own metadata, a distribution that was renamed) counts once.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import (
    Distribution,
    EntryPoint,
    PackageNotFoundError,
    distributions,
    version,
)
from typing import Never, TypeAlias

import attrs

from headway.errors import ContractError
from headway.registry._values import Origin, in_words, normalized

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

    Looking through a thousand distributions takes some 20 ms, so it is done again only when something
    was installed or removed, or ``sys.path`` is another one.
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
    found = [entry for distribution in _first_of_each_name() for entry in _entries(distribution)]
    unique: dict[tuple[str, str], Entry] = {}
    for entry in sorted(found, key=_order):
        unique.setdefault((entry.origin.entry, entry.origin.value), entry)
    return tuple(unique.values())


def _first_of_each_name() -> Iterator[Distribution]:
    """
    The distributions that Python would import from, as ``importlib.metadata.entry_points`` has them.
    """
    seen: set[str] = set()
    for distribution in distributions():
        name = _name_of(distribution)
        if name is None or name not in seen:
            seen.add(name or "")
            yield distribution


def _name_of(distribution: Distribution) -> str | None:
    """
    A distribution's name, normalized; None where the metadata that say it are missing or damaged.
    """
    # From the folder's name where there is one: reading the metadata of a thousand takes a second.
    name, kind = os.path.splitext(os.path.basename(str(getattr(distribution, "_path", ""))))  # noqa: PTH119, PTH122 - as above
    if kind in _METADATA:
        return normalized(name.partition("-")[0])
    try:
        # Not asked for where there is none: some Pythons warn of that, and later ones are to raise.
        return normalized(distribution.name) if "Name" in distribution.metadata else None
    except (KeyError, TypeError, UnicodeDecodeError):
        return None


def _entries(distribution: Distribution) -> list[Entry]:
    """
    The entries of a distribution; one that fails when it is loaded where they can't be read.

    ``entry_points`` parses the files of all distributions, which takes longer than all the rest of
    discovery, and stops at the first that is damaged.  Here the word is looked for first.
    """
    try:
        text = distribution.read_text("entry_points.txt") or ""
    except UnicodeDecodeError:  # nobody knows whose entries these are
        return []
    if GROUP not in text:
        return []
    try:
        return [_entry(point) for point in distribution.entry_points if point.group == GROUP]
    except Exception as error:  # noqa: BLE001 - damaged lines end in exceptions of any kind
        return [_unreadable(distribution, in_words(error))]


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


def _unreadable(distribution: Distribution, cause: str) -> Entry:
    name, number, _ = _facts(distribution)

    def load() -> Never:
        raise ContractError(f"its entry_points.txt cannot be read: {cause}")

    origin = Origin(entry=name, value="entry_points.txt", distribution=name, version=number)
    return Entry(origin=origin, requires=(), load=load)


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
