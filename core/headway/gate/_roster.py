"""
Who is outstanding: each group from its admission until it is trained or dropped.

Rules: numbers rise by one and stamps never fall, so the order by number is the order by stamp and
number.  A group runs, is ready, or is in training, and is counted in the cohort of its stamp.
Whatever is kept is as large as the number of outstanding groups, never as that of all so far.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable

import attrs


@attrs.define(eq=False)
class Cohort:
    """
    The outstanding groups of one stamp, counted by what they do.
    """

    running: int = 0
    ready: int = 0
    training: int = 0


def _discard(numbers: list[int], number: int) -> bool:
    """
    Take a number out of a sorted list; False when it isn't there.
    """
    at = bisect_left(numbers, number)
    if at == len(numbers) or numbers[at] != number:
        return False
    del numbers[at]
    return True


@attrs.define(eq=False)
class Roster:
    """
    The outstanding groups.
    """

    stamps: dict[int, int] = attrs.field(factory=dict[int, int])
    """The stamp of each, by number, oldest first."""
    cohorts: dict[int, Cohort] = attrs.field(factory=dict[int, Cohort])
    """By stamp, oldest first; none is empty."""
    running: list[int] = attrs.field(factory=list[int])
    """Oldest first."""
    ready: list[int] = attrs.field(factory=list[int])
    """Oldest first."""
    training: set[int] = attrs.field(factory=set[int])

    @property
    def youngest(self) -> int | None:
        """
        The stamp of the group that came last, or None.
        """
        return next(reversed(self.cohorts), None)

    def add(self, number: int, stamp: int) -> None:
        """
        Take in a group, younger than all others, with a stamp of at least theirs.
        """
        self.stamps[number] = stamp
        self.running.append(number)
        cohort = self.cohorts.get(stamp)
        if cohort is None:
            cohort = self.cohorts[stamp] = Cohort()
        cohort.running += 1

    def complete(self, number: int) -> bool:
        """
        A group that runs is ready; False when none of this number runs.
        """
        if not _discard(self.running, number):
            return False
        insort(self.ready, number)
        cohort = self.cohorts[self.stamps[number]]
        cohort.running -= 1
        cohort.ready += 1
        return True

    def train(self, count: int) -> tuple[int, ...]:
        """
        The oldest ready groups, which are in training from now on.
        """
        numbers = tuple(self.ready[:count])
        del self.ready[:count]
        self.training.update(numbers)
        for number in numbers:
            cohort = self.cohorts[self.stamps[number]]
            cohort.ready -= 1
            cohort.training += 1
        return numbers

    def give_back(self) -> None:
        """
        Whatever is in training is ready again.
        """
        for number in self.training:
            cohort = self.cohorts[self.stamps[number]]
            cohort.training -= 1
            cohort.ready += 1
        self.ready = sorted([*self.ready, *self.training])
        self.training.clear()

    def remove(self, number: int) -> None:
        """
        Let a group go, whatever it does.

        Raises:
            KeyError: it is not outstanding.
        """
        stamp = self.stamps.pop(number)
        cohort = self.cohorts[stamp]
        if number in self.training:
            self.training.remove(number)
            cohort.training -= 1
        elif _discard(self.ready, number):
            cohort.ready -= 1
        else:
            _discard(self.running, number)
            cohort.running -= 1
        if not (cohort.running or cohort.ready or cohort.training):
            del self.cohorts[stamp]

    def of(self, stamp: int) -> list[int]:
        """
        The groups of one stamp: those in training, then the ready ones, then the others.
        """
        return [
            number
            for numbers in (sorted(self.training), self.ready, self.running)
            for number in numbers
            if self.stamps[number] == stamp
        ]


def restored(
    groups: Iterable[tuple[int, int]], ready: Iterable[int], training: Iterable[int]
) -> Roster:
    """
    The roster with these groups (number and stamp, oldest first) in these states.

    Raises:
        ValueError: they contradict each other.
    """
    roster = Roster()
    last = (-1, -1)
    for number, stamp in groups:
        if number <= last[0] or stamp < last[1]:
            raise ValueError(f"group {number} of stamp {stamp} comes after group {last[0]}")
        roster.add(number, stamp)
        last = (number, stamp)
    for number in sorted([*ready, *training]):
        if not roster.complete(number):
            raise ValueError(f"group {number} is ready or in training, and is not outstanding")
    for number in training:
        _discard(roster.ready, number)
        roster.training.add(number)
        cohort = roster.cohorts[roster.stamps[number]]
        cohort.ready -= 1
        cohort.training += 1
    return roster
