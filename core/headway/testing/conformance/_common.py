"""
What the contracts of all kinds share.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any, ClassVar, TypeAlias

import pytest

from headway.errors import shown

Make: TypeAlias = Callable[[], Any]
"""Makes a new part at each call, each like the others."""


def insist(holds: object, wrong: str, *, do: str) -> None:
    """
    Fail the test unless something holds.

    Args:
        holds: What must hold.
        wrong: What is wrong, with the values.
        do: What the author is to do about it, in the imperative.

    Raises:
        AssertionError: it does not hold.
    """
    __tracebackhide__ = True
    if not holds:
        raise AssertionError(f"{wrong}\n-> {do}")


class Contract:
    """
    What holds for a part of any kind.

    Attributes:
        by_reference: Whether the part's class can be imported by its name, so that another process
            can make one; False for one that a function defines.
    """

    by_reference: ClassVar[bool] = True

    @pytest.fixture
    def make(self) -> Make:
        """
        A function that makes a new part at each call; every author gives one.
        """
        name = type(self).__name__
        pytest.fail(
            f"{name} says not what it tests\n-> give it a fixture 'make', a method decorated with"
            " @pytest.fixture, that returns a function which makes a new part at each call",
            pytrace=False,
        )

    def test_another_process_can_make_one(self, make: Make) -> None:
        """
        Its class is found by its name: parts travel by reference, never as objects.
        """
        if not self.by_reference:
            pytest.skip("by_reference = False")
        kind: Any = make().__class__
        try:
            found = pickle.loads(pickle.dumps(kind))  # noqa: S301 - made in this very line
        except (pickle.PicklingError, AttributeError) as error:
            found = error
        insist(
            found is kind,
            f"{kind.__module__}.{kind.__qualname__} is not what is found by that name: {shown(found)}",
            do="define the class at the top level of a module that can be imported, under the name"
            " it has",
        )
