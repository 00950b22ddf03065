"""
For how long a backend asks to be left alone, read from the exception that a call raised.

Source of the header's two forms: RFC 9110, section 10.2.3.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC
from email.utils import parsedate_to_datetime
from time import time
from typing import Any

_CAUSES = 8
"""How far a chain of causes is followed."""


def retry_after(error: BaseException) -> float | None:
    """
    Seconds from now, at least 0.0; None when the exception does not say, or says nonsense.

    Looks, on the exception and on what caused it, for an attribute ``retry_after`` in seconds, then
    for ``response.headers`` or ``headers`` with a Retry-After of seconds or of an HTTP date, which is
    what the exceptions of the usual HTTP clients carry.
    """
    for raised in _chain(error):
        for said in _said(raised):
            seconds = _seconds(said)
            if seconds is not None:
                return seconds
    return None


def _chain(error: BaseException) -> Iterator[BaseException]:
    raised: BaseException | None = error
    for _ in range(_CAUSES):
        if raised is None:
            return
        yield raised
        raised = raised.__cause__


def _said(error: BaseException) -> Iterator[Any]:
    yield _attribute(error, "retry_after")
    for holder in (_attribute(error, "response"), error):
        yield _header(_attribute(holder, "headers"))


def _attribute(holder: object, name: str) -> Any:
    try:
        return getattr(holder, name, None)
    except Exception:  # noqa: BLE001 - a property of somebody else's exception
        return None


def _header(headers: Any) -> Any:
    try:
        return next((headers[key] for key in headers if str(key).lower() == "retry-after"), None)
    except Exception:  # noqa: BLE001 - whatever it is, it holds no header
        return None


def _seconds(said: Any) -> float | None:
    if isinstance(said, bool) or not isinstance(said, (int, float, str)):
        return None
    try:
        seconds = float(said)
    except (ValueError, OverflowError):
        return _until(said) if isinstance(said, str) else None
    return seconds if 0 <= seconds < math.inf else None


def _until(date: str) -> float | None:
    try:
        when = parsedate_to_datetime(date)
        zoned = when if when.tzinfo is not None else when.replace(tzinfo=UTC)
        return max(0.0, zoned.timestamp() - time())
    except (ValueError, OverflowError, TypeError):
        return None
