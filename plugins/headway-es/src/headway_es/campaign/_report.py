"""
The page that a campaign is told by: made of its results alone, so that it never says more than was run.

Of published figures it says which are consistent with what was measured here, never that they are confirmed:
the task, the policy and most settings are others.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from statistics import fmean

import attrs

from headway_es.campaign._analysis import Analysis, Endpoint, Row
from headway_es.campaign._figures import draw
from headway_es.campaign._plan import CONTROL, GRADIENT, timed
from headway_es.campaign._statistics import Difference, seeds_needed
from headway_es.campaign._store import Store

_LEVEL = 0.05
_PUBLISHED = 1.6
"""The smallest published difference, in points."""


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


def write_report(store: Store, page: Path, figures: Path | None = None) -> None:
    """
    Write the page, and its figures beside it.

    Equal results give equal files.

    Args:
        store: The results.
        page: The Markdown file to write.
        figures: The folder of its figures; by default ``../figures`` as seen from the page.

    Raises:
        UsageError: the results can't be read, or matplotlib is not installed.
    """
    analysis = Analysis.of(store)
    folder = page.parent.parent / "figures" if figures is None else figures
    drawn = draw(analysis, folder) if _told(analysis, "miniterm") else []
    links = [Path(os.path.relpath(path, page.parent)).as_posix() for path in drawn]
    parts = chain(
        _head(analysis),
        _published(analysis),
        _curves(analysis, links),
        _miniterm(analysis),
        _functions(analysis),
        _seeds(analysis),
        _made(analysis, store),
    )
    page.write_text("\n".join(parts).rstrip() + "\n", encoding="utf-8")


def _told(analysis: Analysis, problem: str) -> bool:
    plan = analysis.plan
    return problem in plan.problems and all(analysis.seeds(problem, r) for r in plan.rates)


def _head(analysis: Analysis) -> Iterator[str]:
    plan = analysis.plan
    seeds = min((len(analysis.seeds(p, r)) for p in plan.problems for r in plan.rates), default=0)
    yield "# What staleness costs: a campaign"
    yield ""
    yield "This page is made by `python benchmarks/es_campaign.py --report`; its figures and words come from the results."
    yield "[Asynchronous evolution strategies](evolution-strategies.md) says what the schedules are."
    yield ""
    if seeds == plan.seeds:
        yield f"**It rests on all {plan.seeds} paired seeds of the plan.**"
    else:
        yield f"**It rests on {seeds} of the {plan.seeds} paired seeds of the plan; the campaign is not finished.**"
        yield "Intervals are that much wider, and what is not shown here may still show."
    yield ""
    yield f"A run makes {plan.updates} updates of {plan.population} mirrored pairs with sigma {plan.sigma:g} and Adam, from one saved theta."
    yield f"On [MiniTerm](miniterm.md) each half of a pair does {plan.episodes} tasks, and progress is the share of {plan.held_out:,} held-out tasks that are solved, in points."
    yield "On a function, progress is by how many powers of ten the distance from the best value has shrunk."
    yield f"{plan.workers} pairs are evaluated at a time, in virtual time; a pair takes " + _laws(
        analysis
    )
    yield "`10 %/4` uses a tenth of each batch four updates late; it is an instrument and saves no time."
    yield "Only `wait-1` and `drop-1` depend on how long pairs take; each has been run under both laws."
    yield (
        "Learning rates are two on purpose, "
        + " and ".join(f"{r:g}" for r in plan.rates)
        + ": at the higher one staleness does harm, at the lower one it does little."
    )
    yield ""
    yield "The primary endpoint is the area under the learning curve, given as the mean progress over the run; the secondary one is progress at its end."
    yield "Differences are paired by seed, with the bootstrap's 95 % interval, the p of a sign-flip test, and that after Holm's correction over the conditions of a table."
    margins = f"{plan.margins['miniterm']:g} points and {plan.margins['functions']:g} powers of ten"
    yield f"`equivalent` is the p of two one-sided tests against a margin of {margins}, which was settled before the first run."
    yield f"With few seeds a sign-flip test can't be significant at all: the smallest p of {max(seeds, 1)} pairs is {2.0 ** (1 - max(seeds, 1)):.2g}."
    yield ""


def _laws(analysis: Analysis) -> str:
    told = [f"{name} (`{law}`)" for name, law in analysis.plan.laws.items()]
    return " or ".join(told) + " durations with a mean of 1."


def _published(analysis: Analysis) -> Iterator[str]:
    yield "## Beside the published figures"
    yield ""
    yield "The abstract of *Asynchronous Is Nearly Free for Evolution Strategies on Long-Horizon Agentic Tasks* gives held-out success of a language model of 7 billion parameters, over three evaluation seeds."
    yield "Population, sigma, learning rate, gate and number of training runs are not public, and task and policy here are others, so nothing here confirms or refutes it."
    yield "What can be said is whether its differences lie within the interval of ours, at the end of equal updates:"
    yield ""
    if not _told(analysis, "miniterm"):
        yield "No seed of MiniTerm is complete yet."
        yield ""
        return
    rows = [("the abstract", "there", *(f"here, rate {r:g}" for r in analysis.plan.rates))]
    tables = [analysis.table("miniterm", r, "final") for r in analysis.plan.rates]
    for claim in CLAIMS:
        cells = ["<br>".join(_verdicts(claim, table)) or "not run" for table in tables]
        rows.append((claim.words, f"{claim.points:+.1f}", *cells))
    yield from _markdown(rows)
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
        within = row.difference.low <= claim.points <= row.difference.high
        words = "consistent with it" if within else "not consistent with it"
        yield f"{law + ': ' if law else ''}{_interval(row.difference, 1)}, {words}"


def _curves(analysis: Analysis, links: Sequence[str]) -> Iterator[str]:
    if not links:
        return
    updates, time = links
    law = next(iter(analysis.plan.laws))
    yield "## Learning curves"
    yield ""
    yield f"Lines are means over the seeds, bands the bootstrap's 95 % intervals; over updates, `wait-1` and `drop-1` are those under {law} durations."
    yield ""
    yield f"![MiniTerm, held-out success over updates]({updates})"
    yield ""
    yield f"![MiniTerm, held-out success over virtual time]({time})"
    yield ""
    yield "Over time every line ends where the first run of its condition does: a faster schedule has made its updates sooner."
    yield ""


def _miniterm(analysis: Analysis) -> Iterator[str]:
    if not _told(analysis, "miniterm"):
        return
    plan = analysis.plan
    yield "## MiniTerm, equal updates"
    yield ""
    for rate in plan.rates:
        yield from _table(analysis, rate, None)
    yield "## MiniTerm, equal virtual time"
    yield ""
    yield "All runs of a seed count up to the moment at which the fastest has made all its updates; the others have made fewer by then."
    yield "`speed` is how many times as fast as `sync` updates are made."
    yield ""
    for law in plan.laws:
        for rate in plan.rates:
            yield from _table(analysis, rate, law)


def _table(analysis: Analysis, rate: float, law: str | None) -> Iterator[str]:
    title = f"Learning rate {rate:g}" + (f", {law} durations" if law else "")
    yield f"{title}:"
    yield ""
    areas = analysis.table("miniterm", rate, "area", law)
    finals = {row.arm: row for row in analysis.table("miniterm", rate, "final", law)}
    speeds = analysis.speeds("miniterm", rate, law) if law else {}
    extra = "speed" if law else "mean lag"
    rows = [
        (
            "condition",
            extra,
            "area",
            "less `sync`",
            "p",
            "Holm",
            "equivalent",
            "at the end",
            "less `sync`",
        )
    ]
    for row in areas:
        final = finals[row.arm]
        first = (
            f"{speeds[row.arm]:.2f}"
            if law
            else ""
            if row.arm == GRADIENT
            else f"{row.mean_lag:.2f}"
        )
        rows.append(
            (
                row.arm,
                first,
                f"{row.value:.1f}",
                *_cells(row),
                f"{final.value:.1f}",
                _cells(final)[0],
            )
        )
    yield from _markdown(rows)


def _cells(row: Row) -> tuple[str, str, str, str]:
    found = row.difference
    if found is None:
        return "", "", "", ""
    corrected = "" if row.corrected is None else _p(row.corrected)
    equal = "" if found.equivalence is None else _p(found.equivalence)
    return _interval(found, 1), _p(found.p), corrected, equal


def _functions(analysis: Analysis) -> Iterator[str]:
    plan = analysis.plan
    problems = [p for p in plan.problems if p != "miniterm" and _told(analysis, p)]
    if not problems:
        return
    yield "## Functions"
    yield ""
    yield "Area under the curve less that of `sync`, in powers of ten."
    yield f"`*` marks what is below {_LEVEL:g} after Holm's correction over a row, `=` what is equivalent at {_LEVEL:g}."
    yield ""
    for law in (None, *plan.laws):
        for rate in plan.rates:
            where = f"Equal virtual time, {law} durations" if law else "Equal updates"
            yield f"{where}, learning rate {rate:g}:"
            yield ""
            yield from _wide(analysis, problems, rate, law)


def _wide(
    analysis: Analysis, problems: Sequence[str], rate: float, law: str | None
) -> Iterator[str]:
    tables = {problem: analysis.table(problem, rate, "area", law) for problem in problems}
    arms = [row.arm for row in tables[problems[0]]]
    rows = [("function", *(CONTROL if arm == CONTROL else arm for arm in arms))]
    for problem, table in tables.items():
        rows.append((problem, *(_short(row) for row in table)))
    yield from _markdown(rows)


def _short(row: Row) -> str:
    if row.difference is None or row.corrected is None:
        return f"{row.value:.2f}"
    marks = "\\*" if row.corrected < _LEVEL else ""
    if row.difference.equivalence is not None and row.difference.equivalence < _LEVEL:
        marks += " ="
    return f"{row.difference.mean:+.3f}{marks}"


def _seeds(analysis: Analysis) -> Iterator[str]:
    if not _told(analysis, "miniterm"):
        return
    counts = [len(analysis.seeds("miniterm", rate)) for rate in analysis.plan.rates]
    yield "## How many seeds it would take"
    yield ""
    if min(counts) < 3:  # noqa: PLR2004 - a standard deviation of two differences says nothing
        yield "Too few seeds have been run to say how much paired differences vary."
        yield ""
        return
    yield f"To find a difference of {_PUBLISHED:g} points with a two-sided test at 0.05 nine times in ten, at the standard deviations that were measured:"
    yield ""
    rows = [("condition", *chain.from_iterable(_headings(rate) for rate in analysis.plan.rates))]
    found = {
        (rate, endpoint): {row.arm: row for row in analysis.table("miniterm", rate, endpoint)}
        for rate in analysis.plan.rates
        for endpoint in _ENDPOINTS
    }
    others = [arm for arm in next(iter(found.values())) if arm != CONTROL]
    rows += [(arm, *(_need(table[arm]) for table in found.values())) for arm in others]
    yield from _markdown(rows)


_ENDPOINTS: tuple[Endpoint, ...] = ("area", "final")


def _headings(rate: float) -> tuple[str, str]:
    return f"area, rate {rate:g}", f"at the end, rate {rate:g}"


def _need(row: Row) -> str:
    if row.difference is None:
        return ""
    deviation = row.difference.deviation
    return f"{seeds_needed(deviation, _PUBLISHED)} (deviation {deviation:.1f})"


def _made(analysis: Analysis, store: Store) -> Iterator[str]:
    plan, (both, same) = analysis.plan, analysis.checks()
    yield "## How it was made"
    yield ""
    yield "    python benchmarks/es_campaign.py --folder campaign"
    yield "    python benchmarks/es_campaign.py --folder campaign --report docs/explanation/async-es-campaign.md"
    yield ""
    yield "The first command goes on where it was stopped; `--minutes 15` stops it."
    yield "A run replays the trace of Headway's `simulated` driver, which says what each update used, from which versions and when, through the step of `ES`."
    if both:
        yield f"{both} runs were also made whole through Headway's machine: {same} of them led to the same theta, by its SHA-256."
    timed_names = [f"`{name}`" for name in plan.conditions if timed(name)]
    yield f"A trace is one of a schedule, a law and a seed; it does not know the problem.  That makes {' and '.join(timed_names) or 'every condition'} comparable too."
    if seconds := analysis.seconds():
        yield f"A whole seed took {fmean(seconds):.0f} seconds of one processor in the mean, traces included."
    told = ", ".join(f"{name} {version}" for name, version in store.versions.items())
    yield f"Versions: {told}."
    yield ""


def _interval(found: Difference, digits: int) -> str:
    return f"{found.mean:+.{digits}f} [{found.low:+.{digits}f}, {found.high:+.{digits}f}]"


def _p(value: float) -> str:
    return "<0.001" if value < 0.001 else f"{value:.3f}"  # noqa: PLR2004 - three digits are shown


def _markdown(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    head, *body = rows
    yield f"| {' | '.join(head)} |"
    yield f"| {' | '.join('---' for _ in head)} |"
    for row in body:
        yield f"| {' | '.join(row)} |"
    yield ""
