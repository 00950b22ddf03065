"""
What rollouts have shown of the head: which tasks it solves, which brought nothing, and whether one
artifact scores the same twice.
"""

from __future__ import annotations

import attrs

from headway.machine._flights import Flight
from headway.machine._state import State

_NOTHING = frozenset[str]()


@attrs.define(eq=False)
class Seen:
    """
    What is known of the head from rollouts on it.

    Solved tasks are noted when an ending is applied, so that under a barrier no order of arrival shows.
    """

    state: State
    _solved_at: dict[str, int] = attrs.field(factory=dict[str, int], init=False)
    _barren: set[str] = attrs.field(factory=set[str], init=False)
    _at: int = attrs.field(default=0, init=False)
    _rewards: dict[str, float] = attrs.field(factory=dict[str, float], init=False)
    _rewards_at: int = attrs.field(default=0, init=False)
    _solved: frozenset[str] = attrs.field(default=frozenset[str](), init=False)

    def solved(self, flight: Flight) -> None:
        """
        A rollout needs no proposal.
        """
        if flight.work.parent is None:
            version = flight.source.version
            if version > self._solved_at.get(flight.task, -1):
                self._solved_at[flight.task] = version

    def mended(self, task: str) -> bool:
        """
        Whether the head has solved a task that an older version had not.
        """
        return self._solved_at.get(task) == self.state.head.version

    def compare(self, flight: Flight) -> None:
        """
        Compare a rollout with an earlier one of the same head on the same task.
        """
        version = flight.source.version
        if flight.work.parent is not None or flight.work.payload is not None:
            return
        if version > self._rewards_at:
            self._rewards.clear()
            self._rewards_at = version
        if version == self._rewards_at and flight.outcome is not None:
            reward = flight.outcome.reward
            self.state.repeated(flight.task, self._rewards.setdefault(flight.task, reward), reward)

    def learnt(self, flight: Flight) -> None:
        """
        A rollout ended well: note whether it brought anything.
        """
        head = self.state.head.version
        if self._at != head:
            self._barren.clear()
            self._solved = frozenset()
            self._at = head
        if flight.work.parent is not None or flight.source.version != head:
            return
        if flight.proposal is not None:
            self._barren.discard(flight.task)
            return
        self._barren.add(flight.task)
        assert flight.outcome is not None
        enough = flight.outcome.reward >= self.state.config.solved
        if enough and flight.task not in self._solved:
            self._solved |= {flight.task}

    @property
    def known_solved(self) -> frozenset[str]:
        """
        The tasks that the head is known to solve.
        """
        if self.state.deterministic and self._at == self.state.head.version:
            return self._solved
        return _NOTHING

    @property
    def exhausted(self) -> bool:
        """
        Whether every training task was rolled out at this head, none brought a proposal, and no card is
        left.
        """
        state = self.state
        return (
            state.deterministic
            and len(self._barren) == len(state.config.train)
            and self._at == state.head.version
            and not len(state.buffer)
        )
