"""
Sweeps and steps that are open: what each holds and whom it waits for.
"""

from __future__ import annotations

from collections import deque
from typing import Literal, TypeAlias

import attrs

from headway.contracts import KEEP, Card, Json
from headway.gate import Standing
from headway.machine._calls import CommitCall

Awaiting: TypeAlias = Literal["plugin", "measure", "train", "commit", "turn", "gather"]


@attrs.define(eq=False)
class OpenStep:
    """
    A step of the aggregator that has begun and not ended.

    Args:
        number: The step's number.
        n: How many requests it has made.
        awaiting: Whom the machine waits for: the plug-in, a measurement, a training, the ledger,
            another step's commit, or further cards.
        several: Whether its last measurements were several at once.
        asked: Whether it has asked for anything.
        trained: Whether a training has worked for it.
        trainings: How many trainings have begun for it.
        moves: How often it has moved the head.
        carried: Cards that it wants to carry over.
        commit: The commit that is on its way.
        memory: The memory to keep once that commit is acknowledged.
        keys: The parts that it changes, when it has no cards.
        left: How the groups stood once its batch had gone and before others were reserved in its place,
            with the most that were outstanding by then; None until then.
    """

    number: int
    n: int = 0
    awaiting: Awaiting = "plugin"
    several: bool = False
    asked: bool = False
    trained: bool = False
    trainings: int = 0
    moves: int = 0
    carried: set[int] = attrs.field(factory=set[int])
    commit: CommitCall | None = None
    memory: Json = KEEP
    keys: tuple[str, ...] | None = None
    left: tuple[Standing, int] | None = None


@attrs.define(eq=False)
class OpenSweep:
    """
    A sweep that has begun and not ended.

    Args:
        number: The sweep's number.
        head: The version that its cards are judged against and its step is a transaction on.
        quiet: Nothing else could happen when it began: its step must decide.
        retry: It began with the cards of a step that failed.
        considered: How many cards it took.
        made: How many cards had been made in all when it began.
        rebasing: Cards whose rebase has not started.
        rebases: The card of each rebase that runs, by call.
        verifying: Cards that are being rebased or verified, by number.
        survivors: Cards for the step, by number.
        committed: Cards committed so far.
        used: The groups committed so far, with how many versions behind the head each was.
        moved: Whether it has moved the head, with or without cards.
        stale: Cards discarded as stale so far.
        reasons: Why cards were discarded so far.
        begun: Its step, once it is open.
    """

    number: int
    head: int
    quiet: bool
    retry: bool
    considered: int
    made: int
    rebasing: deque[Card] = attrs.field(factory=deque[Card])
    rebases: dict[int, int] = attrs.field(factory=dict[int, int])
    verifying: dict[int, Card] = attrs.field(factory=dict[int, Card])
    survivors: dict[int, Card] = attrs.field(factory=dict[int, Card])
    committed: int = 0
    used: dict[int, int] = attrs.field(factory=dict[int, int])
    moved: bool = False
    stale: int = 0
    reasons: set[str] = attrs.field(factory=set[str])
    begun: OpenStep | None = None

    @property
    def step(self) -> OpenStep:
        """
        Its step, which has begun.
        """
        assert self.begun is not None
        return self.begun

    @property
    def ready(self) -> bool:
        """
        Whether its cards are all judged and its step has not begun.
        """
        return self.begun is None and not self.verifying

    @property
    def waits(self) -> bool:
        """
        Whether nothing but a rebase or a measurement can take it further.
        """
        return self.begun is None or self.begun.awaiting == "measure"

    @property
    def trains(self) -> bool:
        """
        Whether it waits for a training.
        """
        return self.begun is not None and self.begun.awaiting == "train"

    @property
    def has_committed(self) -> bool:
        """
        Whether it has committed anything.
        """
        return self.moved or self.committed > 0

    @property
    def is_used_up(self) -> bool:
        """
        Whether its step has asked for something, and all that it had is decided.
        """
        return self.begun is not None and self.begun.asked and not self.cards

    @property
    def cards(self) -> tuple[int, ...]:
        """
        The numbers of the cards that it holds.
        """
        return *self.survivors, *self.verifying
