"""
Whether a plug-in's requirement on ``headway`` is met by the version that is running.

A small reading of the version specifiers of Python packages, because the core does not depend on
a library for them.  What it cannot read it takes as met: the installer has the last word.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from operator import ge, gt, le, lt
from typing import TypeAlias

_Key: TypeAlias = tuple[int, tuple[int, ...], tuple[str, int], int, float]

_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9._-]+)\s*(?:\[[^\]]*\])?\s*\(?([^;)@]*)\)?\s*(;?)")
_CLAUSE = re.compile(r"\s*(~=|===|==|!=|<=|>=|<|>)\s*(\S+?)\s*")
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
        # One with a marker holds for an extra or another platform only.
        if match is None or match[1].lower() != "headway" or match[3]:
            continue
        if not all(_meets(running, clause) for clause in match[2].split(",") if clause.strip()):
            return requirement
    return None


def _meets(running: str, clause: str) -> bool:
    match = _CLAUSE.fullmatch(clause)
    if match is None:
        return True
    operator, wanted = match[1], match[2]
    if operator == "===":
        return running == wanted
    if operator in {"==", "!="}:
        return _equals(running, wanted) == (operator == "==")
    here, there = _key(running), _key(wanted)
    if here is None or there is None:
        return True
    if operator == "~=":
        return here >= there and _equals(running, wanted.rpartition(".")[0] + ".*")
    return _COMPARE[operator](here, there)


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
