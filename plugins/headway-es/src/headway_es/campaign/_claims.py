"""
Published figures, and what may be said of them: whether they lie within the interval that was measured here.

Never that they hold: the task, the policy and most settings are others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import attrs

from headway_es.campaign._analysis import Analysis, Row
from headway_es.campaign._plan import GRADIENT
from headway_es.campaign._statistics import Difference
from headway_es.campaign._words import FEW, interval, markdown


@attrs.frozen(kw_only=True)
class Claim:
    """
    What the abstract of the paper says of a condition.

    Args:
        condition: The nearest condition here.
        words: What it says.
        points: By how many points of held-out success that differs from synchronous.
    """

    condition: str
    words: str
    points: float


CLAIMS = (
    Claim(
        condition="wait-1", words="natural Async-1 reaches 25.9 % where sync has 25.4", points=0.5
    ),
    Claim(
        condition="10 %/4", words="a tenth delayed by four updates costs 1.6 points", points=-1.6
    ),
    Claim(
        condition="10 %/8", words="a tenth delayed by eight updates costs 3.1 points", points=-3.1
    ),
    Claim(condition=GRADIENT, words="GRPO reaches 29.0 % where sync has 25.4", points=3.6),
)


def published(analysis: Analysis) -> Iterator[str]:
    """
    The section that sets our differences beside those of the abstract.
    """
    yield "## Beside the published figures"
    yield ""
    yield "The abstract of *Asynchronous Is Nearly Free for Evolution Strategies on Long-Horizon Agentic Tasks* gives held-out success of a language model of 7 billion parameters, over three evaluation seeds."
    yield "Population, sigma, learning rate, gate and number of training runs are not public, and task and policy here are others, so nothing here can settle whether that holds."
    yield "What can be said is whether its differences lie within the interval of ours, at the end of equal updates:"
    yield ""
    if not analysis.told("miniterm"):
        yield "No seed of MiniTerm is complete yet."
        yield ""
        return
    rows = [("the abstract", "there", *(f"here, rate {r:g}" for r in analysis.plan.rates))]
    tables = [analysis.table("miniterm", r, "final") for r in analysis.plan.rates]
    for claim in CLAIMS:
        cells = ["<br>".join(_verdicts(claim, table)) or "not run" for table in tables]
        rows.append((claim.words, f"{claim.points:+.1f}", *cells))
    yield from markdown(rows)
    yield "An interval that is wide is consistent with much: of no effect, too, wherever it includes 0."
    yield f"The policy gradient has as many episodes as the evolution strategy and a learning rate of {_rates(analysis)} that was not tuned; its progress is measured with the likeliest commands, as everybody's."
    yield ""


def _rates(analysis: Analysis) -> str:
    return ", ".join(f"{rate:g}" for rate in analysis.plan.gradient_rates) or "none"


def _verdicts(claim: Claim, table: Sequence[Row]) -> Iterator[str]:
    for row in table:
        condition, _, law = row.arm.partition(", ")
        if condition != claim.condition or row.difference is None:
            continue
        yield f"{law + ': ' if law else ''}{interval(row.difference)}, {_verdict(claim, row.difference)}"


def _verdict(claim: Claim, found: Difference) -> str:
    if found.count < FEW:
        return "too few seeds to say"
    # The ends as they are shown, to a tenth as what is published: a reader compares those.
    within = round(found.low, 1) <= claim.points <= round(found.high, 1)
    return "consistent with it" if within else "outside of the interval"
