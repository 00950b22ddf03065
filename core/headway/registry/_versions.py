"""
Whether a plug-in's requirement on ``headway`` is met by the version that is running.

A small reading of the version specifiers of Python packages, because the core does not depend on
a library for them.  What it cannot read it takes as met: the installer has the last word.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from operator import ge, gt, le, lt
from typing import TypeAlias

_Key: TypeAlias = tuple[int, tuple[int, ...], tuple[str, int], int, float]

_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9._-]+)\s*(?:\[[^\]]*\])?\s*\(?([^;)@]*)\)?\s*(?:;(.*))?")
_CLAUSE = re.compile(r"\s*(~=|===|==|!=|<=|>=|<|>)\s*(\S+?)\s*")
_MARKER = re.compile(r"\s*python_(full_)?version\s*([~=!<>]+)\s*([\"'])(\S+)\3\s*")
_VERSION = re.compile(
    r"v?(?:(?P<epoch>\d+)!)?(?P<release>\d+(?:\.\d+)*)"
    r"(?:[-_.]?(?P<pre>alpha|beta|preview|pre|rc|a|b|c)[-_.]?(?P<pre_number>\d*))?"
    r"(?:[-_.]?(?P<post>post|rev|r)[-_.]?(?P<post_number>\d*))?"
    r"(?:[-_.]?(?P<dev>dev)[-_.]?(?P<dev_number>\d*))?(?:\+[a-z0-9._-]*)?",
    re.IGNORECASE,
)
_PHASES = {"alpha": "a", "beta": "b", "preview": "rc", "pre": "rc", "c": "rc"}
_FINAL, _BEFORE_ALPHA = ("z", 0), ("", 0)
_COMPARE: Mapping[str, Callable[[_Key, _Key], bool]] = {">=": ge, ">": gt, "<=": le, "<": lt}


def unmet(requirements: Iterable[str], running: str) -> str | None:
    """
    The first requirement on ``headway`` that the running version does not meet.

    >>> unmet(["attrs", "headway>=9"], "0.1.0")
    'headway>=9'
    >>> unmet(["headway>=0.1,<0.2"], "0.1.0")
    """
    for requirement in requirements:
        match = _REQUIREMENT.match(requirement)
        if match is None or match[1].lower() != "headway" or not _applies(match[3] or ""):
            continue
        if not all(_meets(running, clause) for clause in match[2].split(",") if clause.strip()):
            return requirement
    return None


def _applies(marker: str) -> bool:
    """
    Whether a requirement with a marker holds here: what is for some versions of Python may, as some
    tools write it behind every requirement; what is for an extra or a platform is taken not to.
    """
    return not marker.strip() or all(_is_python(part) for part in marker.split(" and "))


def _is_python(marker: str) -> bool:
    match = _MARKER.fullmatch(marker)
    running = ".".join(map(str, sys.version_info[: 3 if match and match[1] else 2]))
    return match is not None and _meets(running, f"{match[2]}{match[4]}")


def pinned(running: str) -> str:
    """
    The requirement for a plug-in that is written for the running version: up to the next version that
    may change what plug-ins rely on.

    >>> pinned("0.1.0"), pinned("2.3.1")
    ('headway>=0.1,<0.2', 'headway>=2.3,<3')
    >>> pinned("0.2.0rc1"), pinned("")
    ('headway>=0.2.0rc1,<0.3', 'headway')
    """
    found = _key(running)
    if found is None:
        return "headway"
    major, minor = _padded(found[1], 2)
    following = f"{major + 1}" if major else f"0.{minor + 1}"
    least = f"{major}.{minor}"
    if unmet([f"headway>={least}"], running):  # a pre-release comes before its own version
        least = running
    return f"headway>={least},<{following}"


def _meets(running: str, clause: str) -> bool:
    match = _CLAUSE.fullmatch(clause)
    operator, wanted = (match[1], match[2]) if match else ("", "")
    if operator == "===":
        return running == wanted
    if operator in {"==", "!="}:
        return _equals(running, wanted) == (operator == "==")
    here, there = _key(running), _key(wanted)
    if here is None or there is None:  # what cannot be read
        return True
    if operator == "~=":
        return here >= there and _equals(running, _series(wanted))
    return _COMPARE[operator](here, there) and not _too_near(operator, here, there)


def _series(wanted: str) -> str:
    """
    What ``~=`` stays within: ``1.4.*`` for ``1.4.2`` and for ``1.4.2rc1``.
    """
    return re.sub(r"\.\d+([^.\d].*|\.[^\d].*)?$", ".*", wanted)


def _too_near(operator: str, here: _Key, there: _Key) -> bool:
    """
    Whether an exclusive bound keeps a version out that is on the right side of it: ``<1.0`` means no
    pre-release of 1.0 either, and ``>1.0`` no post-release of it.
    """
    if operator == "<":
        return not _is_pre(there) and _is_pre(here) and _same(here, there, but=(2, 4))
    return operator == ">" and there[3] < 0 <= here[3] and _same(here, there, but=(3,))


def _same(here: _Key, there: _Key, *, but: tuple[int, ...]) -> bool:
    return all(h == t for n, (h, t) in enumerate(zip(here, there, strict=True)) if n not in but)


def _is_pre(key: _Key) -> bool:
    return key[2] != _FINAL or key[4] != math.inf


def _equals(running: str, wanted: str) -> bool:
    exact = wanted.removesuffix(".*")
    here, there = _key(running), _key(exact)
    if here is None or there is None:
        return True
    if exact == wanted:
        return here == there
    length = exact.count(".") + 1
    return here[0] == there[0] and _padded(here[1], length) == _padded(there[1], length)


def _padded(release: tuple[int, ...], length: int) -> tuple[int, ...]:
    return (release + (0,) * length)[:length]


def _key(version: str) -> _Key | None:
    """
    What versions are ordered by; None for what is no version.
    """
    match = _VERSION.fullmatch(version.strip())
    if match is None:
        return None
    release = re.sub(r"(\.0+)+$", "", match["release"])
    post = int(match["post_number"] or 0) if match["post"] else -1
    dev = int(match["dev_number"] or 0) if match["dev"] else math.inf
    numbers = tuple(map(int, release.split(".")))
    return (int(match["epoch"] or 0), numbers, _phase(match), post, dev)


def _phase(match: re.Match[str]) -> tuple[str, int]:
    if match["pre"]:
        phase = match["pre"].lower()
        return (_PHASES.get(phase, phase), int(match["pre_number"] or 0))
    return _BEFORE_ALPHA if match["dev"] and not match["post"] else _FINAL
