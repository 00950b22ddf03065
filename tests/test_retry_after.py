"""
Reading from an exception for how long to leave a backend alone.
"""

from __future__ import annotations

from email.utils import formatdate
from time import time
from types import SimpleNamespace

import pytest

from headway.drivers._retry_after import retry_after


def raised(**attributes):
    error = RuntimeError("busy")
    for name, value in attributes.items():
        setattr(error, name, value)
    return error


def with_header(said, name="Retry-After"):
    return raised(response=SimpleNamespace(headers={"Date": "today", name: said}))


@pytest.mark.parametrize("said", [0, 3, 2.5, "3", " 4 "])
def test_seconds(said):
    """As an attribute, in the response's headers, or in headers of its own."""
    expected = float(said)

    assert expected == retry_after(raised(retry_after=said))
    assert expected == retry_after(with_header(said))
    assert expected == retry_after(with_header(said, "retry-after"))
    assert expected == retry_after(raised(headers={"RETRY-AFTER": said}))


@pytest.mark.parametrize("ahead", [-3600, 3600])
def test_a_date(ahead):
    """An HTTP date counts from now; one that has passed is no time at all."""
    found = retry_after(with_header(formatdate(time() + ahead, usegmt=True)))

    assert found == pytest.approx(max(0, ahead), abs=60)


@pytest.mark.parametrize(
    "said", [None, True, -1, "-1", "soon", "", float("nan"), float("inf"), [3], "1e999", b"3"]
)
def test_nonsense(said):
    """It is as if nothing had been said."""

    assert retry_after(raised(retry_after=said)) is None
    assert retry_after(with_header(said)) is None


class Hostile(Exception):  # noqa: N818 - what somebody else may call theirs
    @property
    def retry_after(self):
        raise RuntimeError

    @property
    def response(self):
        return SimpleNamespace(headers=3)


def test_an_exception_that_raises():
    """Its properties are its own business."""

    assert retry_after(Hostile()) is None


def test_a_cause():
    """Who wraps a client's exception keeps what it says."""
    error = ValueError("wrapped")
    error.__cause__ = with_header("7")

    assert 7.0 == retry_after(error)


def test_causes_in_a_circle():
    """They are not followed for ever."""
    one, other = RuntimeError(), RuntimeError()
    one.__cause__, other.__cause__ = other, one

    assert retry_after(one) is None
