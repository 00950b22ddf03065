"""
Where what has happened waits until the machine is told of it.
"""

from __future__ import annotations

from typing import Protocol, TypeVar

T = TypeVar("T")


class Arrivals(Protocol[T]):
    """
    A queue whose order is that in which the machine is told; a plain ``deque`` keeps the order in
    which things happened.

    Any thread may append and ask for the length; one at a time takes.
    """

    def append(self, arrived: T, /) -> None:
        """
        Something has happened.
        """
        ...

    def popleft(self) -> T:
        """
        What the machine is to be told next.
        """
        ...

    def __len__(self) -> int:
        """
        How much the machine may be told now.
        """
        ...
