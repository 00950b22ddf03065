"""
The audit: when what was accepted is checked once more, and what that teaches about cheap measurements.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, fsum, sqrt

import attrs

from headway._checks import check_count
from headway.builtins.standard._memory import Memory
from headway.contracts import Artifact, Card, Measure, StepContext
from headway.statistics import LARGEST_VARIANCE

HARNESS = 0.30
"""Above this blast radius every merge passes the oracle."""

SUSPICIOUS = 0.75
"""Below this trust every merge does."""

LEAST_TRUST, MOST_TRUST, EARNED = 0.25, 4.0, 0.25

DEEPEST = 10
"""The most draws of each task that an audit takes."""

AUDIT_DRAW = 1 << 18
"""Draws from here on are kept for audits."""


def priority(blast_radius: float, uncertainty: float, trust: float) -> float:
    """
    How much a merge deserves to be checked.

    >>> priority(0.4, 0.5, 2.0)
    0.1
    """
    return blast_radius * uncertainty / trust


def uncertainty_of(mean: float, pairs: int) -> float:
    """
    The largest standard error of a mean difference over ``pairs`` pairs, in units of that mean.

    At most 1; both are in units of the reward range.
    """
    error = sqrt(LARGEST_VARIANCE / pairs)
    return min(1.0, error / mean) if mean > 0 else 1.0


def learnt(trust: float, cheap: float | None, full: float) -> float:
    """
    The trust after a cheap and a full measurement of one change.

    It grows by 0.25, to 4 at most, when they agree in sign, and is halved, to 0.25 at least, when
    they do not; a cheap one without a sign teaches nothing.
    """
    if not cheap:
        return trust
    if (cheap > 0) == (full > 0):
        return min(MOST_TRUST, trust + EARNED)
    return max(LEAST_TRUST, trust / 2)


def own_delta(cards: Sequence[Card]) -> float | None:
    """
    What the cards' own tasks say about them together; None when no card was tried on its own.
    """
    known = [card.delta for card in cards if card.delta is not None]
    return fsum(known) if known else None


@attrs.frozen(kw_only=True)
class Audit:
    """
    The oracle: the held-out tasks, on fresh draws when rewards are noisy, and the oracle tasks.

    Args:
        oracle_budget: How many measurements it may take over the run.

    Raises:
        OptionError: the budget is no whole number of at least 0.
    """

    oracle_budget: int = 200

    def __attrs_post_init__(self) -> None:
        check_count("oracle_budget", self.oracle_budget, 0)

    def request(
        self,
        head: Artifact,
        candidate: Artifact,
        context: StepContext,
        memory: Memory,
        *,
        uncertainty: float,
    ) -> Measure | None:
        """
        What to measure before a merge; None when it needs no check, or none can be paid.

        Args:
            head: What it is compared with.
            candidate: What is about to be committed.
            context: The step's.
            memory: Trust, and what has been spent.
            uncertainty: From 0 to 1; the higher the priority, the more draws.
        """
        if context.blast_radius <= HARNESS and memory.trust >= SUSPICIOUS:
            return None
        tasks = (*context.held_out, *context.oracle)
        if context.deterministic and not context.oracle:
            return None  # the same scores would say the same
        a_draw = 2 * len(tasks)
        affordable = (self.oracle_budget - memory.audited) // a_draw
        wanted = ceil(DEEPEST * min(1.0, priority(context.blast_radius, uncertainty, memory.trust)))
        draws = min(affordable, 1 if context.deterministic else max(1, wanted))
        if draws < 1:
            return None
        first = 0 if context.deterministic else AUDIT_DRAW + context.step * DEEPEST % AUDIT_DRAW
        return Measure((head, candidate), tasks, draws, first)

    def paid(self, request: Measure, memory: Memory) -> Memory:
        """
        The memory after an audit.
        """
        return attrs.evolve(memory, audited=memory.audited + 2 * len(request.tasks) * request.draws)
