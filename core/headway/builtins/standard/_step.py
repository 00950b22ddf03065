"""
The standard aggregator: merges what helps and does not conflict.

A step resolves conflicts and measures, all at once and against the head on the same held-out tasks
and draws: the union of all its cards while unions are likely to help; else each new card alone, and
the union of those that an earlier step carried.  It commits the best of them that is accepted, and
carries the other cards that help, or still may, over to the next step, which merges them.  A union that
does not help is taken apart in the same step.  When nothing is better, the head is now and then compared
with what it is without one of its parts.

Each decision is a part of its own: what contradicts (``conflict``), what is tried together
(``fusion``), when a candidate is known to be better (``acceptance``), and when a version becomes the
stable one (``promotion``).
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from math import fsum
from typing import Any

import attrs

from headway._checks import check_count
from headway.builtins.standard._acceptance import FIRST_ROUND, Sequential
from headway.builtins.standard._audit import Audit, learnt, own_delta, uncertainty_of
from headway.builtins.standard._conflict import SharedTasks
from headway.builtins.standard._contest import (
    Contender,
    comparable,
    compare,
    contest,
    differences,
)
from headway.builtins.standard._fusion import Union
from headway.builtins.standard._memory import Memory
from headway.builtins.standard._promotion import Confirmed
from headway.contracts import (
    Acceptance,
    Artifact,
    Card,
    Carry,
    Commit,
    Conflict,
    Consume,
    Fusion,
    Measure,
    Promote,
    Promotion,
    Removal,
    Request,
    Resolved,
    Scores,
    Snapshot,
    Step,
    StepContext,
    TrialTerms,
)

CONFIRM_DRAW = 1 << 19
"""Draws from here on are kept for confirmations of the head."""

PRUNE_EVERY = 20
"""Steps on one head after which one more removal is tried."""

PROMOTION_TRIES = 3
"""In how many steps a promotion is asked for while the ledger has not acknowledged it."""


@attrs.define(eq=False)
class Merged:
    """
    What cards make of an artifact, worked out once in a step.

    Args:
        context: The step's.
    """

    context: StepContext
    _made: dict[tuple[str, tuple[int, ...]], Artifact] = attrs.field(
        factory=dict[tuple[str, tuple[int, ...]], Artifact], init=False
    )

    def of(self, group: Sequence[Card], head: Artifact) -> Artifact:
        """
        The parent of the group's cards, or the head, with their changes applied.
        """
        onto = group[0].parent or head
        key = onto.digest, tuple([card.number for card in group])
        made = self._made.get(key)
        if made is None:
            diffs = [card.diff for card in group]
            made = self._made[key] = self.context.apply(*diffs, onto=onto)
        return made


@attrs.define(eq=False, kw_only=True)
class StandardAggregator:
    """
    Commits the best candidate that is shown to be better than the head.

    Args:
        batch_size: How many new cards make a step worth while; the attribute is ``batch``.
        max_steps: How many steps may be open at once, 1 to 3.
        oracle_budget: Measurements that audits may take over the run.
        conflict: Which contradictory cards stay.
        fusion: What is tried together.
        acceptance: When a candidate is known to be better.
        promotion: When a committed version becomes the stable one.

    Raises:
        OptionError: a count is no whole number or out of its range.
    """

    batch: int = attrs.field(default=1, alias="batch_size")
    max_steps: int = 1
    oracle_budget: int = 200
    conflict: Conflict = attrs.field(factory=SharedTasks)
    fusion: Fusion = attrs.field(factory=Union)
    acceptance: Acceptance = attrs.field(factory=Sequential)
    promotion: Promotion = attrs.field(factory=Confirmed)
    _audit: Audit = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        check_count("batch_size", self.batch, 1)
        check_count("max_steps", self.max_steps, 1, 3)
        self._audit = Audit(oracle_budget=self.oracle_budget)

    def step(self, cards: Sequence[Card], context: StepContext) -> Step:
        """
        Merge what helps.
        """
        begun = memory = Memory.read(context)
        kept, clashing = yield from self._resolve(cards, context)
        if clashing:
            yield Consume(clashing, "conflict")
        merged, head = Merged(context), context.head.artifact
        same = [card for card in kept if merged.of((card,), head) == head]
        if same:
            yield Consume(same, "duplicate")
            kept = tuple(card for card in kept if card not in same)
        if kept:
            memory = yield from self._confirm(memory, context)
            memory = yield from self._merge(kept, memory, merged)
        return None if memory == begun else memory.to_json()

    def _resolve(
        self, cards: Sequence[Card], context: StepContext
    ) -> Generator[Request, Any, Resolved]:
        found = self.conflict.resolve(cards, context)
        return (yield from found) if isinstance(found, Generator) else found

    # ------------------------------------------------------------------ merging

    def _merge(
        self, cards: Sequence[Card], memory: Memory, merged: Merged
    ) -> Generator[Request, Any, Memory]:
        context = merged.context
        head: Snapshot = context.head
        removal = _next_removal(memory, context)
        groups = self.fusion.groups(cards, memory.chance)
        idle = [] if context.quiet else _idle(groups, memory)
        if idle:
            groups = tuple(g for g in groups if not (len(g) == 1 and g[0] in idle))
        pool: list[Contender] = []
        share = FIRST_ROUND
        while groups or removal:
            contenders = self._contenders(groups, removal, head.artifact, share, merged)
            if comparable(contenders, context):
                yield from compare([*pool, *contenders], head.artifact, context)
            else:
                first = _first_draw(groups, memory, context)
                seen = yield from contest(contenders, head.artifact, context, first)
                memory = _seen(memory, first + seen, context)
            memory = _unions(memory, contenders)
            groups, removal, share = (), None, share * (1 - FIRST_ROUND)
            pool += [c for c in contenders if not c.failed_union]
            failed = [card for c in contenders if c.failed_union for card in c.group]
            if failed:
                groups = _alone(failed)  # what is known by now costs nothing again
                continue
            winner, memory = yield from self._winner(pool, memory, head, context)
            if winner is None:
                memory = yield from self._keep(pool, idle, memory, context)
                return (yield from self._prune(pool, memory, context))
            late = _late(pool, winner, idle)
            if late and not context.quiet:
                yield Carry(late)
            memory = memory.after_commit(winner.artifact.digest, context.step, memory.used)
            if len(winner.group) > 1:
                memory = memory.on_probation(key for card in winner.group for key in card.keys)
            head = yield Commit(winner.artifact, winner.group, memory.to_json())
            pool = []
            groups = _alone(late) if context.quiet else ()  # the last step is the last chance
        if idle:
            yield Carry(idle)
        return memory

    def _contenders(
        self,
        groups: Sequence[tuple[Card, ...]],
        removal: Removal | None,
        head: Artifact,
        share: float,
        merged: Merged,
    ) -> list[Contender]:
        context = merged.context
        part = share / (len(groups) + (removal is not None))
        terms = TrialTerms(
            tasks=len(context.held_out),
            deterministic=context.deterministic,
            step=context.step,
            part=part,
        )
        found = [
            Contender(
                group=group,
                artifact=merged.of(group, head),
                trial=self.acceptance.trial(terms),
            )
            for group in groups
        ]
        if removal is not None:
            trial = self.acceptance.trial(attrs.evolve(terms, removal=True))
            without = context.apply(removal.diff, onto=head)
            found.append(Contender(group=(), artifact=without, trial=trial, removal=removal))
        return found

    def _keep(
        self,
        contenders: Sequence[Contender],
        idle: Sequence[Card],
        memory: Memory,
        context: StepContext,
    ) -> Generator[Request, Any, Memory]:
        """
        Carry the cards that may still help; of those that were carried before, only the best.
        """
        hopeful = [c for c in contenders if c.group and c.hopeful]
        if not hopeful and not idle:
            return memory
        hopeful.sort(key=lambda c: c.rank)
        again = [c.group[0] for c in hopeful if c.group[0].carried]
        if again[1:]:
            yield Consume(again[1:], "uncertain")
        kept = [c for c in hopeful if c.group[0] not in again[1:]]
        cards = [*idle, *(c.group[0] for c in kept)]
        yield Carry(cards)  # a last step's are then discarded as uncertain, which they are
        spent = {card.number for card in idle} | {c.group[0].number for c in kept if c.exhausted}
        return attrs.evolve(memory, spent=tuple(sorted(spent)))

    def _prune(
        self, contenders: Sequence[Contender], memory: Memory, context: StepContext
    ) -> Generator[Request, Any, Memory]:
        """
        Commit the head without a part, if it was seen to do as well without.
        """
        tried = next((c for c in contenders if c.removal), None)
        if tried is None or tried.removal is None:
            return memory
        keys = tried.removal.keys
        memory = memory.after_removal(context.head.digest, context.step, keys)
        if not tried.accepted:
            return memory
        passed, memory = yield from self._passes(tried, memory, context.head, context)
        if passed:
            memory = memory.after_commit(tried.artifact.digest, context.step, memory.used)
            yield Commit(tried.artifact, (), memory.to_json(), keys)
        return memory

    # ------------------------------------------------------------------ checks

    def _winner(
        self,
        contenders: Sequence[Contender],
        memory: Memory,
        head: Snapshot,
        context: StepContext,
    ) -> Generator[Request, Any, tuple[Contender | None, Memory]]:
        """
        The best of the accepted cards or unions that passes the audit, if any.
        """
        accepted = [c for c in contenders if c.accepted and c.group]
        for contender in sorted(accepted, key=lambda c: c.rank):
            passed, memory = yield from self._passes(contender, memory, head, context)
            if passed:
                return contender, memory
            yield Consume(contender.group, "vetoed")
            contender.vetoed = True
        return None, memory

    def _passes(
        self, contender: Contender, memory: Memory, head: Snapshot, context: StepContext
    ) -> Generator[Request, Any, tuple[bool, Memory]]:
        """
        Whether the oracle, where it is asked, has no objection; and what that taught.
        """
        trial = contender.trial
        request = self._audit.request(
            head.artifact,
            contender.artifact,
            context,
            memory,
            uncertainty=uncertainty_of(trial.mean, trial.seen * len(context.held_out)),
        )
        gate = 1.0 if contender.group else 0.0  # it is accepted; what removes a part may be a tie
        if request is None:
            trust = learnt(memory.trust, own_delta(contender.group), gate)
            return True, attrs.evolve(memory, trust=trust)
        before, after = yield request
        full = fsum(differences(after, before, context.reward_range))
        memory = self._audit.paid(request, memory)
        memory = attrs.evolve(memory, trust=learnt(memory.trust, gate, full))
        return full > 0 or (contender.removal is not None and full == 0), memory

    def _confirm(self, memory: Memory, context: StepContext) -> Generator[Request, Any, Memory]:
        """
        Promote the head once it has been confirmed often enough.

        A deterministic score can't become worse, so there each later step is a confirmation.
        """
        head, stable = context.head, context.stable
        if stable is None or memory.committed != head.digest or stable.digest == head.digest:
            return memory
        if context.deterministic:
            confirmed = context.step - memory.since
            asked_before = self.promotion.due(confirmed - PROMOTION_TRIES)
        else:
            asked_before = self.promotion.due(memory.confirmed - PROMOTION_TRIES + 1)
            confirmed = 0
            if not asked_before:
                draw = CONFIRM_DRAW + context.step % CONFIRM_DRAW
                scores: Scores = yield Measure((head, stable), context.held_out, 1, draw)
                confirmed = memory.confirmed + 1 if self.promotion.confirms(*scores) else 0
                memory = attrs.evolve(memory, confirmed=confirmed)
        if self.promotion.due(confirmed) and not asked_before:
            yield Promote(head.version)
        return memory


def _next_removal(memory: Memory, context: StepContext) -> Removal | None:
    """
    The removal to try: of parts that came in untried, one in each step; of the others, one a commit
    and one every ``PRUNE_EVERY`` steps.
    """
    head = context.head.digest
    if memory.committed != head:
        return None
    removals = context.removals()
    for removal in removals:
        if not memory.probation.isdisjoint(removal.keys):
            return removal
    lately = memory.pruned == head and context.step < memory.pruned_in + PRUNE_EVERY
    if not removals or lately:
        return None
    return removals[memory.cursor % len(removals)]


def _idle(groups: Sequence[tuple[Card, ...]], memory: Memory) -> list[Card]:
    """
    Cards that can't learn anything alone on this head: they wait for company.
    """
    return [group[0] for group in groups if len(group) == 1 and group[0].number in memory.spent]


def _first_draw(groups: Sequence[tuple[Card, ...]], memory: Memory, context: StepContext) -> int:
    """
    The first draw of a round.

    A union of carried cards was chosen by its members' scores on this head, so it is tried on draws
    of the head that have chosen nothing yet.
    """
    if context.deterministic:
        return 0
    fused = any(len(group) > 1 and any(card.carried for card in group) for group in groups)
    return memory.used if fused else memory.first


def _unions(memory: Memory, contenders: Sequence[Contender]) -> Memory:
    for union in (c for c in contenders if len(c.group) > 1):
        memory = memory.after_union(helps=union.accepted)
    return memory


def _seen(memory: Memory, draws: int, context: StepContext) -> Memory:
    if context.deterministic:
        return memory
    return attrs.evolve(memory, used=max(memory.used, draws))


def _late(contenders: Sequence[Contender], winner: Contender, idle: Sequence[Card]) -> list[Card]:
    """
    The cards that are worth another look beside those that won.
    """
    gone = {card.number for c in contenders if c is winner or c.vetoed for card in c.group}
    again = [c for c in contenders if c.hopeful or (c.undecided and len(c.group) > 1)]
    late = {card.number: card for c in again for card in c.group if card.number not in gone}
    return [*idle, *late.values()]


def _alone(cards: Sequence[Card]) -> tuple[tuple[Card, ...], ...]:
    return tuple((card,) for card in cards)
