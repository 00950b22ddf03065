"""
The optimizer: weighs the groups of a batch, has the domain train on them, and commits what that gave.

The step is the whole of it.  Forward/backward on complete groups begins while others still run, where the
options allow; the last request of a step names all groups with their weights, so that a trainer that has
not seen exactly those - the process is another one since - makes the gradient anew from the cards.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, ClassVar

import attrs

from headway.contracts import (
    Artifact,
    Card,
    Commit,
    Consume,
    Gather,
    Json,
    Request,
    Step,
    StepContext,
    Train,
)
from headway.errors import OptionError
from headway_rl._advantages import Advantages, Groupwise, Rows, weigh, weighted_with
from headway_rl._checks import check_count, check_flag, check_parts
from headway_rl._chunks import Chunk, Chunker, ForwardBackwardBatch
from headway_rl._options import Options
from headway_rl._trajectories import Trajectory, TrajectoryGroup


def group_of(card: Card, *, outline: bool = False) -> TrajectoryGroup:
    """
    The trajectories that a card holds.

    Args:
        card: The card of a group.
        outline: Leaves out what only a trainer needs.

    Raises:
        ValueError: its outcomes are no trajectories.
    """
    members = tuple(Trajectory.from_json(member.output, outline=outline) for member in card.members)
    return TrajectoryGroup(number=card.number, task=card.task, members=members)


def publish_lag(card: Card, group: TrajectoryGroup) -> int:
    """
    How many versions the weights that a group's members were first sampled with were behind those that
    they began on, at the most.

    Args:
        card: The group's card.
        group: Its trajectories, as ``group_of`` gives them.
    """
    pairs = zip(card.members, group.members, strict=True)
    lags = (member.base - got.version for member, got in pairs if got.version is not None)
    return max(lags, default=0)


def _too_small(lag: int, drops: bool) -> str:
    other = f"at least {lag}" if drops else "stale_policy='drop' or 'mask'"
    return (
        f"Policies sample up to {lag} versions behind what was published when an episode began (the"
        " publish lag); have publish return only once policies sample with the new weights, or give"
        f" {other}."
    )


@attrs.define(eq=False, kw_only=True)
class GroupTrainer:
    """
    Trains on groups of trajectories, a batch at a time.

    A step weighs each group by ``advantages`` and asks the domain to train: ``chunk`` requests on groups
    that are complete early, then one ``update`` that names the whole batch.  What the update answers is
    committed; a batch without any weight commits nothing new, and its groups are used all the same.
    With several ``updates_per_step`` the batch is dealt into as many parts, the oldest groups first, and
    each part is an update and a commit of its own.

    It has no memory: the versions of the head and the trainer's state, to which the head refers, are all.

    Args:
        batch_size: Groups of a batch; the attribute is ``batch``.
        group_size: Members of a group.
        advantages: The rule that turns rewards into weights.
        forward_backward_batch: How much makes a chunk; with None a batch goes to the trainer as a whole.
        mask_beyond: Segments older than so many updates have no weight; None masks none.  The staleness
            policy ``mask`` of a run relies on it: given by its name, ``groups`` has the run's
            ``max_staleness`` for it then.
        updates_per_step: Updates that a batch makes, each of its own groups.
        max_age: The most versions that a segment may be older than what it trains; None bounds nothing.
            The gate keeps that by the versions that members begin on; policies that sample with older
            ones lag behind what was published, by the *publish lag*, and more than the gate can bear.
        drops: Whether what gets too old by that is discarded as stale, for which the lag may be up to
            ``max_age``.  Else any lag is an error.

    Raises:
        OptionError: a number is out of its range, or there are chunks beside several updates.
    """

    learns_from: ClassVar[str] = "outcomes"
    defaults: ClassVar[Mapping[str, Json]] = {"policy": "wait"}

    batch: int = attrs.field(default=8, alias="batch_size")
    group_size: int = 8
    advantages: Advantages = attrs.field(factory=Groupwise)
    forward_backward_batch: ForwardBackwardBatch | None = None
    mask_beyond: int | None = None
    updates_per_step: int = 1
    max_age: int | None = None
    drops: bool = False

    def __attrs_post_init__(self) -> None:
        check_count("batch_size", self.batch, 1)
        check_count("group_size", self.group_size, 1)
        check_parts(self.updates_per_step, self.batch, "batch_size")
        if self.forward_backward_batch is not None and self.updates_per_step > 1:
            remedy = "Chunks are of one update, and a step makes several; leave it out."
            raise OptionError("forward_backward_batch", self.forward_backward_batch, remedy)
        for name in ("mask_beyond", "max_age"):
            if getattr(self, name) is not None:
                check_count(name, getattr(self, name), 0)
        check_flag("drops", self.drops)

    @classmethod
    def of(cls, options: Options) -> GroupTrainer:
        """
        The optimizer that options ask for.
        """
        return cls(
            batch_size=options.groups_per_step,
            group_size=options.group_size,
            advantages=options.advantages,
            forward_backward_batch=options.overlap,
            mask_beyond=options.max_staleness if options.stale_policy == "mask" else None,
            updates_per_step=options.updates_per_step,
            max_age=None if options.stale_policy == "mask" else options.highest_age,
            drops=options.stale_policy == "drop",
        )

    @property
    def gathers(self) -> bool:
        """
        Whether its steps begin with the first groups of a batch and ask for the others.
        """
        return self.forward_backward_batch is not None

    def step(self, cards: Sequence[Card], context: StepContext) -> Step:
        """
        Train on one batch of groups.

        Raises:
            OptionError: policies lag further behind what was published than ``max_age`` can bear.
        """
        version = context.head.version
        held = _Held(oldest=self._oldest(version), name=str(context.step))
        if self.forward_backward_batch is None:
            held.take(cards)
        else:
            yield from self._gathered(cards, held)
        if stale := self._stale(held, version + self.updates_per_step - 1):
            yield Consume(stale, "stale")
            held.give(stale)
        rows = self.advantages.of(held.groups)
        for part in held.parts(self.updates_per_step):
            own = held.cards[part]
            answer = yield Train(own, self._update(held, part, rows[part], version))
            version = (yield Commit(Artifact(answer["state"]), own)).version

    def _stale(self, held: _Held, last: int) -> list[int]:
        """
        The groups with a segment that would be too old at the step's last update.
        """
        if self.max_age is None:
            return []
        lag = max(map(publish_lag, held.cards, held.groups))
        if lag > (self.max_age if self.drops else 0):
            raise OptionError("max_staleness", self.max_age, _too_small(lag, self.drops))
        return [g.number for g in held.groups if last - g.oldest(last) > self.max_age]

    def _oldest(self, version: int) -> int | None:
        return None if self.mask_beyond is None else version - self.mask_beyond

    def _gathered(self, cards: Sequence[Card], held: _Held) -> Generator[Request, Any, None]:
        """
        Make chunks of the groups that are complete, until the batch is.
        """
        assert self.forward_backward_batch is not None  # noqa: S101 - gathers says so
        chunker = Chunker(self.forward_backward_batch)
        while cards:
            for group in weigh(held.take(cards), self.advantages, held.oldest):
                useful = len(group.sequences)
                chunk = chunker.add(group, sequences=useful, tokens=group.input_tokens)
                if chunk is not None:
                    yield held.request(chunk)
            cards = yield Gather()
        if (chunk := chunker.flush()) is not None:
            yield held.request(chunk)

    def _update(self, held: _Held, part: slice, rows: Rows, version: int) -> Json:
        groups, oldest = held.groups[part], self._oldest(version)
        weighted = weighted_with(groups, rows, oldest)
        useful = [group.group.number for group in weighted if group.sequences]
        chunks = held.chunks or ([useful] if useful else [])
        return {
            "do": "update",
            "batch": held.name,
            "version": version,
            "oldest": oldest,
            "factor": self.advantages.factor(groups, oldest),
            "chunks": chunks,
            "sent": bool(held.chunks),
            "rows": [list(row) for row in rows],
        }


@attrs.define(eq=False, kw_only=True)
class _Held:
    """
    What a step has of its batch so far.
    """

    oldest: int | None
    name: str
    cards: list[Card] = attrs.field(factory=list[Card])
    groups: list[TrajectoryGroup] = attrs.field(factory=list[TrajectoryGroup])
    chunks: list[list[int]] = attrs.field(factory=list[list[int]])

    def take(self, cards: Sequence[Card]) -> list[TrajectoryGroup]:
        """
        Add complete groups; the batch stays sorted by number, in whatever order they come.
        """
        groups = [group_of(card, outline=True) for card in cards]
        self.cards = sorted([*self.cards, *cards], key=lambda card: card.number)
        self.groups = sorted([*self.groups, *groups], key=lambda group: group.number)
        return groups

    def give(self, numbers: Sequence[int]) -> None:
        """
        Let groups go.
        """
        self.cards = [card for card in self.cards if card.number not in numbers]
        self.groups = [group for group in self.groups if group.number not in numbers]

    def parts(self, count: int) -> Iterator[slice]:
        """
        The batch dealt into so many parts of about equal size; one with fewer groups into its groups.
        """
        size = len(self.cards)
        places = [size * number // count for number in range(count + 1)]
        return (slice(*ends) for ends in pairwise(places) if ends[0] < ends[1])

    def request(self, chunk: Chunk) -> Train:
        """
        The request that has the trainer add a chunk's gradient.
        """
        numbers = [group.group.number for group in chunk.items]
        self.chunks.append(numbers)
        payload = {
            "do": "chunk",
            "batch": self.name,
            "oldest": self.oldest,
            "reset": chunk.reset,
            "rows": [list(group.advantages) for group in chunk.items],
        }
        return Train(numbers, payload)
