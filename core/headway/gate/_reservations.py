"""
The gate of groups: who is admitted ahead, and when a step may train which groups, so that none gets
too old.

Terms: a group's *stamp* is the head's version at its admission, its *deadline* the last version at
which a step that trains it may begin.  ``G`` groups are a batch.  A *place* is room for one group in
one batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import ceil, inf
from typing import Any, ClassVar, Literal

import attrs

from headway.gate._look_ahead import LookAhead
from headway.gate._options import check_options
from headway.gate._roster import Roster, restored
from headway.gate._standing import Standing
from headway.gate._view import GateView

_ROUNDING = 6
"""Decimals of ``groups * oversample_factor`` that count: 50 * 1.1 is 55 groups, not 56."""


@attrs.define(eq=False, kw_only=True)
class Reservations:
    """
    The gate of groups: bounds how many versions old a group is when it is trained.

    A group is admitted as a whole, stamped with the head's version, runs, is complete, and is
    trained together with others, ``groups_per_step`` at a time; until it is trained or dropped, it
    is *outstanding*.  ``admit_ahead`` sets the mean age, ``max_staleness`` the largest.

    Bound of ``rule="wait"``: a step that trains a group begins at most
    ``max_staleness - (updates_per_step - 1)`` versions after the group's stamp, so that no update
    ever uses an answer that is more than ``max_staleness`` versions old.  It holds as long as the
    head moves at most ``updates_per_step`` versions a step, and only by steps.  Let D be a group's
    deadline, c the head's version, and one update a step.  A step at c is legal when, for the i-th
    oldest group that would remain, ``i <= (D - c) * G`` (look-ahead); before every step,
    ``i <= (D - c + 1) * G`` for the i-th oldest outstanding group (feasible).
    Proof: feasible says for i = 1 that no deadline has passed.  A legal step at c makes the state at
    c + 1 feasible, which is the same formula; a step that moves nothing only leaves more places.  A
    new group has the deadline c + S, hence (S + 1) * G places and is the last of at most
    ``capacity`` groups, which is no more.  Dropping a group lowers indices.  If all are ready, the
    G oldest are taken and the i-th that remains was the (i + G)-th: a step is legal, so that it
    waits for groups that run and for nothing else.  Of all selections the G oldest ready leave the
    latest deadlines, so that a step is legal for them if it is for any.  With u updates a step,
    places come in steps of u versions: ``(D - c) // u`` batches begin after this one.

    Bound of ``rule="window"``: at most ``window - 1`` younger groups overtake one that is not ready,
    which makes it at most ``max_staleness + ceil((window - 1) / groups_per_step)`` versions old with
    one update a step, as long as each step uses its whole batch and nobody else moves the head.
    Proof: at its admission fewer than ``(1 + max_staleness) * G`` groups are
    older, and each step takes G groups of these and of those that overtake.

    ``rule="none"`` bounds no age: only the number of outstanding groups, and with it the mean age.

    What the head does beside steps is not bounded: when somebody else has moved it, ``lost`` names
    the groups that can't be trained in time any more.

    All that is kept is as large as the number of outstanding groups; a decision takes time by the
    number of different stamps, everything else little more than a constant.

    Not safe to use from several threads at once: the machine's driver serialises.

    >>> from headway import GateView, Reservations
    >>> gate, view = Reservations(groups_per_step=2, max_staleness=1), GateView(head=0)
    >>> while gate.admit(view):
    ...     _ = gate.reserve(view.head)
    >>> gate.outstanding
    (0, 1, 2, 3)
    >>> gate.complete(3), gate.complete(1), gate.take(view)
    (None, None, True)
    >>> batch = gate.batch()
    >>> gate.trained(batch)
    >>> batch, gate.standing(1).slack
    ((1, 3), 0)

    Args:
        groups_per_step: Groups that a step trains, G.
        max_staleness: The most versions that an answer may be old when it is used.
        admit_ahead: Batches that are admitted beside the one that comes next; no more than
            ``max_staleness`` allows count.
        oversample_factor: Admits so many times as many groups, within what ``max_staleness`` allows.
        batch_order: ``"completion"``: a step takes the oldest ready groups.  ``"admission"``: the
            oldest groups, which must be ready.
        rule: ``"wait"``: a step waits when it would make a group too old.  ``"window"``: when it
            would let more than ``window - 1`` groups overtake one.  ``"none"``: for nothing.
        window: For ``rule="window"`` alone.
        updates_per_step: The most versions that a step moves the head.
        early: Whether groups join an open batch one by one, as soon as it is sure that the bound can
            be kept with them; none is ever taken out again.
        groups: Groups to be trained in all; None for no end.  A dropped one makes room for another.
        bases: Which version a member starts on, ``"head"`` or the group's ``"stamp"``; the gate only
            holds it for the machine.

    Raises:
        OptionError: a number is none or out of its range, a word is another, or two options
            contradict each other.
    """

    ordered: ClassVar[bool] = False

    groups_per_step: int
    max_staleness: int = 2
    admit_ahead: int = 1
    oversample_factor: float = 1.0
    batch_order: Literal["completion", "admission"] = "completion"
    rule: Literal["wait", "window", "none"] = "wait"
    window: int = 0
    updates_per_step: int = 1
    early: bool = False
    groups: int | None = None
    bases: Literal["head", "stamp"] = "head"
    capacity: int = attrs.field(init=False)
    """The most groups outstanding at once."""
    _rule: LookAhead = attrs.field(init=False)
    _next: int = attrs.field(default=0, init=False)
    _trained: int = attrs.field(default=0, init=False)
    _roster: Roster = attrs.field(factory=Roster, init=False)
    _began: int | None = attrs.field(default=None, init=False)
    """The version at which the open step began; None while no step is open."""
    _closed: bool = attrs.field(default=False, init=False)
    """Whether the open step's batch is complete."""
    _offer: GateView | None = attrs.field(default=None, init=False)
    """The view with which a step was last found legal."""
    _refusal: tuple[int, float] | None = attrs.field(default=None, init=False)
    """Where ``take`` has refused whole batches: its view's version, and up to which stamp a group must
    be complete or go before it can allow one."""

    def __attrs_post_init__(self) -> None:
        check_options(self)
        self._rule = LookAhead(
            size=self.groups_per_step,
            staleness=self.max_staleness - self.updates_per_step + 1,
            updates=self.updates_per_step,
            deadlines=self.rule == "wait",
            window=self._window(),
        )
        ahead = min(self.admit_ahead, self._rule.ahead)
        wanted = (1 + ahead) * self.groups_per_step * self.oversample_factor
        most = (1 + self._rule.ahead) * self.groups_per_step
        # A product without end can be compared, and not be rounded.
        self.capacity = ceil(round(min(most, wanted), _ROUNDING))

    def _window(self) -> float:
        if self.batch_order == "admission":
            return 1
        return self.window if self.rule == "window" else inf

    # ------------------------------------------------------------------------------ what is told

    @property
    def max_age(self) -> int | None:
        """
        The most versions that an answer can be old when it is used; None for no bound.
        """
        if self.rule == "none":
            return None
        if self.rule == "wait":
            return self.max_staleness
        batches = self._rule.ahead + ceil((self.window - 1) / self.groups_per_step)
        return (batches + 1) * self.updates_per_step - 1

    @property
    def mean_age(self) -> float:
        """
        The mean age in versions while as many groups are outstanding as may be, and every step
        moves the head ``updates_per_step`` versions.
        """
        batches = self.capacity / self.groups_per_step - 1
        return batches * self.updates_per_step + (self.updates_per_step - 1) / 2

    @property
    def open(self) -> bool:
        """
        Whether a step is open.
        """
        return self._began is not None

    @property
    def full(self) -> bool:
        """
        Whether a batch is open and complete.
        """
        return self._closed

    @property
    def outstanding(self) -> tuple[int, ...]:
        """
        The numbers of all outstanding groups, oldest first.
        """
        return tuple(self._roster.stamps)

    @property
    def count(self) -> int:
        """
        How many groups are outstanding.
        """
        return len(self._roster.stamps)

    @property
    def ready(self) -> tuple[int, ...]:
        """
        The numbers of the groups that are complete and wait, oldest first.
        """
        return tuple(self._roster.ready)

    @property
    def in_training(self) -> tuple[int, ...]:
        """
        The numbers of the groups that the open step has, oldest first.
        """
        return tuple(sorted(self._roster.training))

    def stamp(self, group: int) -> int:
        """
        The version at which an outstanding group was admitted.

        Raises:
            ValueError: it is not outstanding.
        """
        try:
            return self._roster.stamps[group]
        except KeyError:
            raise ValueError(self._no(group, "outstanding")) from None

    def _no(self, group: int, state: str) -> str:
        known = group in self._roster.stamps
        at_all = "it is in another state" if known else "it is not outstanding"
        return f"group {group} is not {state}: {at_all}, of {len(self._roster.stamps)} groups"

    # --------------------------------------------------------------------------------- groups

    @property
    def priced(self) -> bool:
        """
        False: what a candidate costs to measure changes nothing.
        """
        return False

    def admit(self, view: GateView) -> bool:
        """
        Whether one more group may be admitted.

        The groups of a complete batch hold their room until the step ends, also that of one which
        is dropped meanwhile: the step's commit passes a version, and nobody else can use the place.
        """
        return not view.draining and self.has_room

    @property
    def has_room(self) -> bool:
        """
        Whether one more group may be outstanding.
        """
        held = len(self._roster.stamps)
        if self._closed:
            held += self.groups_per_step - len(self._roster.training)
        return held < self.capacity and not self.exhausted

    @property
    def exhausted(self) -> bool:
        """
        Whether no more groups come, unless one is dropped.
        """
        return self.groups is not None and self._trained + len(self._roster.stamps) >= self.groups

    @property
    def ripe(self) -> bool:
        """
        Whether enough groups are ready to ask ``take``, or whether to ask ``gather``.
        """
        if self._closed:
            return False
        ready = len(self._roster.ready)
        enough = ready >= self.groups_per_step and self._refusal is None
        return enough or self.early or self.exhausted

    def reserve(self, version: int) -> int:
        """
        Admit a group; returns its number, one more than the last one's.

        Args:
            version: The head's version, the group's stamp.

        Raises:
            ValueError: as many groups are outstanding as may be, or a younger version was stamped.
        """
        if not self.has_room:
            raise ValueError("no group can be admitted: ask admit first")
        youngest = self._roster.youngest
        if youngest is not None and version < youngest:
            raise ValueError(f"version {version} is older than the last group's stamp, {youngest}")
        number = self._next
        self._roster.add(number, version)
        self._next = number + 1
        return number

    def complete(self, group: int) -> None:
        """
        A group has ended and is ready to be trained.

        Raises:
            ValueError: it is not outstanding, or was ready before.
        """
        if not self._roster.complete(group):
            raise ValueError(self._no(group, "running"))
        self._changed(self._roster.stamps[group])

    def drop(self, group: int) -> None:
        """
        A group will not be trained; its room is free at once, but for one of a complete batch.

        Raises:
            ValueError: it is not outstanding.
        """
        if group not in self._roster.stamps:
            raise ValueError(self._no(group, "outstanding"))
        self._changed(self._roster.stamps[group])
        self._roster.remove(group)

    def _changed(self, stamp: int) -> None:
        """
        A group of this stamp is complete, or goes.
        """
        if self._refusal is not None and stamp <= self._refusal[1]:
            self._refusal = None

    def lost(self, version: int) -> tuple[int, ...]:
        """
        The fewest groups without which all others can be trained in time; of equal ones, first
        those that are not ready.  Only a head that somebody else has moved can lose any.

        Args:
            version: The head's version.
        """
        return self._rule.lost(self._roster, self._since(version))

    # ----------------------------------------------------------------------------------- steps

    def take(self, view: GateView) -> bool:
        """
        Whether a step may begin: with ``early``, whether a ready group can be assigned to it.

        A batch has fewer than ``groups_per_step`` groups only when no more come, because the run is
        draining or ``groups`` is reached, and all that are outstanding are ready.
        """
        may = self._began is None and not view.sweeping and self._may_begin(view)
        self._offer = view if may else None
        return may

    def _may_begin(self, view: GateView) -> bool:
        if self.early:
            return self._rule.assignable(self._roster, view.head)
        if len(self._roster.ready) >= self.groups_per_step:
            stamp = self._waits_for(view.head)
            self._refusal = None if stamp is None else (view.head, stamp)
            return stamp is None
        return self._is_last(view.draining) and bool(self._roster.ready)

    def _waits_for(self, version: int) -> float | None:
        """
        As the rule says, of a batch for which enough groups are ready.

        A refusal stands while no older group changes: a head that moves only takes places away.
        """
        if self._refusal is not None and version >= self._refusal[0]:
            return self._refusal[1]
        return self._rule.waits_for(self._roster, version)

    def _is_last(self, draining: bool) -> bool:
        """
        Whether no more groups come and none that is outstanding runs.
        """
        return not self._roster.running and (draining or self.exhausted)

    def batch(self) -> tuple[int, ...]:
        """
        Begin the step that ``take`` allowed: its groups, oldest first.

        They are in training until ``trained``, ``returned`` or ``drop``.  With ``early`` they are
        those that can be assigned by now, and ``gather`` brings further ones.

        Raises:
            ValueError: ``take`` was not asked, or did not allow a step.
        """
        view = self._offer
        if view is None or not self.take(view):
            raise ValueError("no step may begin: ask take first")
        self._offer, self._began = None, view.head
        if self.early:
            return self._assign(view.head)
        self._closed = True
        return self._roster.train(self.groups_per_step)

    def gather(self, view: GateView) -> tuple[int, ...] | None:
        """
        Further groups that are assigned to the open batch now, oldest first; ``()`` once the batch
        is complete, None when there are none yet.

        Raises:
            ValueError: no step is open.
        """
        if self._began is None:
            raise ValueError("no batch is open: ask take first")
        if self._closed:
            return ()
        groups = self._assign(view.head)
        if not groups and not self._roster.ready and self._is_last(view.draining):
            self._closed = True
            return ()
        return groups or None

    def _assign(self, version: int) -> tuple[int, ...]:
        groups: tuple[int, ...] = ()
        while not self._closed and self._rule.assignable(self._roster, version):
            groups += self._roster.train(1)
            self._closed = len(self._roster.training) == self.groups_per_step
        return groups

    def returned(self) -> None:
        """
        The open step was given up, or ended: the groups that it still has are ready again; nothing
        happens when none is open.
        """
        self._roster.give_back()
        self._end()

    def trained(self, groups: Iterable[int]) -> None:
        """
        A commit has consumed these groups of the open step.

        A step that makes one update ends with its last group.  One that may make several ends when
        ``returned`` is called: until then its next update may be to come, and the groups that are
        admitted meanwhile would be stamped too early.

        Raises:
            ValueError: one of them is not in training, or the batch is not complete.
        """
        numbers = set(groups)
        missing = numbers - self._roster.training
        if missing:
            raise ValueError(self._no(min(missing), "in training"))
        if not self._closed:
            raise ValueError("the batch is not complete: ask gather until it says so")
        for number in numbers:
            self._roster.remove(number)
        self._trained += len(numbers)
        if not self._roster.training and self.updates_per_step == 1:
            self._end()

    def _end(self) -> None:
        self._began, self._closed, self._offer = None, False, None

    # ------------------------------------------------------------------------------- statistics

    def waits_for(self, version: int) -> Literal["bound", "groups", "nothing"]:
        """
        What the next step waits for, see ``Standing``.

        Args:
            version: The head's version.
        """
        if self._closed or self._is_last(draining=False):
            return "nothing"
        if len(self._roster.ready) < (1 if self.early else self.groups_per_step):
            return "groups"
        if self.early:
            legal = self._rule.assignable(self._roster, version)
        else:
            legal = self._waits_for(version) is None
        return "nothing" if legal else "bound"

    def slack(self, version: int) -> int:
        """
        The fewest places to spare before a deadline; below 0, a group will be too old.

        Args:
            version: The head's version; during a step, the one at which it began.
        """
        return self._rule.slack(self._roster, version)

    def standing(self, version: int) -> Standing:
        """
        What is outstanding, and what the next step waits for.

        Args:
            version: The head's version.
        """
        roster, waits_for = self._roster, self.waits_for(version)
        names = bool(roster.running) and waits_for != "nothing"
        blocking = roster.running[0] if names else None
        return Standing(
            admitted=self._next,
            trained=self._trained,
            dropped=self._next - self._trained - len(roster.stamps),
            outstanding=len(roster.stamps),
            ready=len(roster.ready),
            in_training=len(roster.training),
            slack=self.slack(self._since(version)),
            blocking=blocking,
            blocking_age=None if blocking is None else version - roster.stamps[blocking],
            waits_for=waits_for,
        )

    def _since(self, version: int) -> int:
        """
        The version at which the open step began, if the head is within what the step may move it.

        Until the step ends, what it has not decided is still in training, and as timely as it began.
        """
        began = self._began
        if began is not None and began <= version <= began + self.updates_per_step:
            return began
        return version

    # ----------------------------------------------------------------------- the machine's gate

    def base(self, held: int, head: int) -> int:  # noqa: ARG002 - the protocol's signature
        """
        The version that a worker starts its next rollout from: the head.
        """
        return head

    def admitted(self) -> None:
        """
        One rollout was admitted: nothing to note, ``reserve`` has noted its group.
        """

    def applied(self) -> None:
        """
        Endings were applied: nothing to note, ``complete`` and ``drop`` tell.
        """

    def within_bound(self, view: GateView) -> bool:
        """
        Whether no more than ``capacity`` groups are outstanding, and with ``rule="wait"`` each of them
        can be trained, or is in training, in time.
        """
        stamps = self._roster.stamps
        if len(stamps) > self.capacity:
            return False
        return self.rule != "wait" or self.slack(self._since(view.head)) >= 0

    # ------------------------------------------------------------------------------ checkpoints

    @property
    def memory(self) -> dict[str, Any]:
        """
        All that the gate knows beside its options, as a JSON value for a checkpoint.
        """
        roster = self._roster
        return {
            "next": self._next,
            "trained": self._trained,
            "groups": [[number, stamp] for number, stamp in roster.stamps.items()],
            "ready": list(roster.ready),
            "training": sorted(roster.training),
            "began": self._began,
            "closed": self._closed,
        }

    @memory.setter
    def memory(self, memory: Mapping[str, Any]) -> None:
        groups = [(number, stamp) for number, stamp in memory["groups"]]
        roster = restored(groups, memory["ready"], memory["training"])
        if groups and groups[-1][0] >= memory["next"]:
            raise ValueError(
                f"group {groups[-1][0]} is to be admitted yet: next is {memory['next']}"
            )
        if len(groups) > self.capacity:
            raise ValueError(f"{len(groups)} groups are more than the capacity, {self.capacity}")
        if memory["began"] is None and roster.training:
            raise ValueError("groups are in training, and no step is open")
        self._roster, self._next, self._trained = roster, memory["next"], memory["trained"]
        self._began, self._closed, self._offer = memory["began"], memory["closed"], None
        self._refusal = None
