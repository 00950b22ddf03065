"""
The page that a campaign is told by: made of its results alone, so that it never says more than was run.

Of published figures it says which are consistent with what was measured here, never that they are confirmed:
the task, the policy and most settings are others.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from statistics import fmean

from headway_es.campaign._analysis import Analysis, Endpoint, Row
from headway_es.campaign._claims import published
from headway_es.campaign._figures import draw
from headway_es.campaign._plan import CONTROL, GRADIENT, timed
from headway_es.campaign._statistics import seeds_needed
from headway_es.campaign._store import Store
from headway_es.campaign._words import FEW, LEAST, interval, markdown, p_value

_LEVEL = 0.05
_PUBLISHED = 1.6
"""What a delay costs there at least, in points."""


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
    drawn = draw(analysis, folder) if analysis.told("miniterm") else []
    links = [Path(os.path.relpath(path, page.parent)).as_posix() for path in drawn]
    parts = chain(
        _head(analysis),
        published(analysis),
        _curves(analysis, links),
        _miniterm(analysis),
        _functions(analysis),
        _seeds(analysis),
        _made(analysis, store),
    )
    page.write_text("\n".join(parts).rstrip() + "\n", encoding="utf-8")


def _head(analysis: Analysis) -> Iterator[str]:
    plan = analysis.plan
    yield "# What staleness costs: a campaign"
    yield ""
    yield "This page is made by `python benchmarks/es_campaign.py --report`; its figures and words come from the results."
    yield "[Asynchronous evolution strategies](evolution-strategies.md) says what the schedules are."
    yield ""
    yield from _extent(analysis)
    yield f"A run makes {plan.updates} updates of {plan.population} mirrored pairs with sigma {plan.sigma:g} and Adam, from one saved theta."
    yield f"On [MiniTerm](miniterm.md) each half of a pair does {plan.episodes} tasks, and progress is the share of {plan.held_out:,} held-out tasks that are solved, in points."
    yield "On a function, progress is by how many powers of ten the distance from the best value has shrunk."
    yield f"{plan.workers} pairs are evaluated at a time, in virtual time; a pair takes " + _laws(
        analysis
    )
    yield "`10 %/4` uses a tenth of each batch four updates late; it is an instrument and saves no time."
    yield "Durations have nothing to do with fitness here, which favours `drop-1`: where slow pairs are the informative ones, it learns from the others."
    yield "Of the parameters, only those of `wait-1` and `drop-1` depend on how long pairs take; each has been run under both laws."
    yield (
        "Learning rates are two on purpose, "
        + " and ".join(f"{r:g}" for r in plan.rates)
        + ", chosen on a few runs before so that staleness does much at one and little at the other."
    )
    yield ""
    yield "The primary endpoint is the area under the learning curve, given as the mean progress over the run; the secondary one is progress at its end."
    yield "Differences are paired by seed, with the bootstrap's 95 % interval, the p of a sign-flip test, and that after Holm's correction over the conditions of a table."
    margins = f"{plan.margins['miniterm']:g} points and {plan.margins['functions']:g} powers of ten"
    yield f"`equivalent` is the p of two one-sided tests against a margin of {margins}, which was settled before the first run; it is not corrected for how many there are."
    yield "A p that is not small says nothing: neither that two conditions are alike nor, of `equivalent`, that they differ."
    yield "No correction is over several tables."
    yield ""


def _extent(analysis: Analysis) -> Iterator[str]:
    """
    How many seeds the page rests on.
    """
    plan = analysis.plan
    counts = {
        problem: min(len(analysis.seeds(problem, rate)) for rate in plan.rates)
        for problem in plan.problems
    }
    if set(counts.values()) == {plan.seeds}:
        yield f"**It rests on all {plan.seeds} paired seeds of the plan.**"
        yield ""
        return
    yield f"**The campaign is not finished: of the {plan.seeds} paired seeds of the plan, this page rests on {_counts(counts)}.**"
    yield "It is a look on the way: what was settled beforehand counts for all seeds, and what does not show here may still show."
    most = max(counts.values(), default=0)
    if most < LEAST:
        yield "Of so few nothing can be tested, and differences stand without intervals."
    elif most < FEW:
        yield f"A sign-flip test of {most} pairs can give no smaller p than {2.0 ** (1 - most):.2g}, and intervals of fewer than {FEW} pairs are too narrow."
    yield ""


def _counts(counts: Mapping[str, int]) -> str:
    """
    MiniTerm's seeds, and from how few to how many those of the functions are.
    """
    told = [f"{count} of MiniTerm" for name, count in counts.items() if name == "miniterm"]
    others = sorted({count for name, count in counts.items() if name != "miniterm"})
    if others:
        told.append(
            f"{' to '.join(map(str, dict.fromkeys((others[0], others[-1]))))} of the functions"
        )
    return " and ".join(told)


def _laws(analysis: Analysis) -> str:
    told = [f"{name} (`{law}`)" for name, law in analysis.plan.laws.items()]
    return " or ".join(told) + " durations with a mean of 1."


def _curves(analysis: Analysis, links: Sequence[str]) -> Iterator[str]:
    if not links:
        return
    updates, time = links
    law = next(iter(analysis.plan.laws))
    yield "## Learning curves"
    yield ""
    yield f"Lines are means over the seeds; over updates, `wait-1` and `drop-1` are those under {law} durations."
    yield "Bands are the bootstrap's 95 % intervals of each mean alone: of differences, which are paired, they say too little, and the tables more."
    yield ""
    yield f"![MiniTerm, held-out success over updates]({updates})"
    yield ""
    yield f"![MiniTerm, held-out success over virtual time]({time})"
    yield ""
    yield "Over time every line ends where the first run of its condition does: a faster schedule has made its updates sooner."
    yield ""


def _miniterm(analysis: Analysis) -> Iterator[str]:
    if not analysis.told("miniterm"):
        return
    plan = analysis.plan
    yield "## MiniTerm, equal updates"
    yield ""
    yield "`not used` is how many pairs a run evaluated in vain: discarded by `drop-1`, or still held by a delay at the end."
    if plan.gradient_rates:
        yield f"`{GRADIENT}` has a learning rate of its own, so its runs are the same in both tables; Holm's correction leaves it out."
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
    extra = ("speed",) if law else ("mean lag", "not used")
    rows = [
        (
            "condition",
            *extra,
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
        rows.append(
            (
                row.arm,
                *_first(row, speeds.get(row.arm)),
                f"{row.value:.1f}",
                *_cells(row),
                f"{final.value:.1f}",
                _cells(final)[0],
            )
        )
    yield from markdown(rows)


def _first(row: Row, speed: float | None) -> tuple[str, ...]:
    if speed is not None:
        return (f"{speed:.2f}",)
    return ("", "") if row.arm == GRADIENT else (f"{row.mean_lag:.2f}", f"{row.unused:.0f}")


def _cells(row: Row) -> tuple[str, str, str, str]:
    found = row.difference
    if found is None:
        return "", "", "", ""
    if found.count < LEAST:
        return interval(found), "", "", ""
    corrected = "" if row.corrected is None else p_value(row.corrected)
    equal = "" if found.equivalence is None else p_value(found.equivalence)
    return interval(found), p_value(found.p), corrected, equal


def _functions(analysis: Analysis) -> Iterator[str]:
    plan = analysis.plan
    problems = [p for p in plan.problems if p != "miniterm" and analysis.told(p)]
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
    yield from markdown(rows)


def _short(row: Row) -> str:
    if row.difference is None or row.corrected is None:
        return f"{row.value:.2f}"
    marks = "\\*" if row.corrected < _LEVEL else ""
    if row.difference.equivalence is not None and row.difference.equivalence < _LEVEL:
        marks += " ="
    return f"{row.difference.mean:+.3f}{marks}"


def _seeds(analysis: Analysis) -> Iterator[str]:
    if not analysis.told("miniterm"):
        return
    counts = [len(analysis.seeds("miniterm", rate)) for rate in analysis.plan.rates]
    yield "## How many seeds it would take"
    yield ""
    if min(counts) < LEAST:
        yield "Too few seeds have been run to say how much paired differences vary."
        yield ""
        return
    yield f"To find a difference of {_PUBLISHED:g} points with a two-sided test at 0.05 nine times in ten, in the normal approximation and at the standard deviations that were measured:"
    yield ""
    rows = [("condition", *chain.from_iterable(_headings(rate) for rate in analysis.plan.rates))]
    found = {
        (rate, endpoint): {row.arm: row for row in analysis.table("miniterm", rate, endpoint)}
        for rate in analysis.plan.rates
        for endpoint in _ENDPOINTS
    }
    others = [arm for arm in next(iter(found.values())) if arm != CONTROL]
    rows += [(arm, *(_need(table[arm]) for table in found.values())) for arm in others]
    yield from markdown(rows)


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
    yield "A trace is one of a schedule, a law and a seed; it does not know the problem."
    yield f"So {' and '.join(timed_names) or 'the conditions'} meet the same durations on every problem."
    if seconds := analysis.seconds():
        yield f"A whole seed took {fmean(seconds):.0f} seconds of one processor in the mean, traces included."
    told = ", ".join(f"{name} {version}" for name, version in store.versions.items())
    yield f"Versions: {told}."
    yield ""
