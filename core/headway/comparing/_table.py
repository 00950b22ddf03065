"""
A comparison as tables, in Markdown that also reads well on a terminal.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from headway.comparing._comparison import Comparison, Difference, Metric, Summary
from headway.comparing._plan import Arm

_COMPARED = ("reward", "test_reward", "mean_reward", "seconds", "target_seconds")
"""Metrics whose differences the table shows; ``results.json`` has all."""


def table(comparison: Comparison) -> str:
    """
    What the arms came to, and how they differ seed by seed.
    """
    plan = comparison.plan
    seeds = f"{len(plan.seeds)} seed{'' if len(plan.seeds) == 1 else 's'}"
    head = f"{plan.domain}: equal {plan.equal} ({plan.budget:g} each), {seeds}"
    parts = [head, *_incomplete(comparison), _arms(comparison)]
    if differences := _differences(comparison):
        interval = f"{plan.level:.0%} interval of the paired t test"
        told = f"Paired differences: mean ({interval}); seeds won-lost-tied:"
        parts += [told, differences]
    parts += [*_gated(comparison), *_unscored(comparison), *_failures(comparison)]
    return "\n\n".join(parts) + "\n"


def _incomplete(comparison: Comparison) -> list[str]:
    if comparison.complete:
        return []
    whole = sum(trial.status != "interrupted" for trial in comparison.trials)
    return [f"INCOMPLETE: interrupted after {whole} of {comparison.plan.size} runs."]


def _arms(comparison: Comparison) -> str:
    metrics = comparison.metrics()
    title = ("arm", "runs", "failed", *(metric.title for metric in metrics))
    rows = [_arm(comparison, arm, metrics) for arm in comparison.plan.arms]
    return f"Median (first to third quartile):\n\n{_markdown((title, *rows))}"


def _arm(comparison: Comparison, arm: Arm, metrics: Iterable[Metric]) -> tuple[str, ...]:
    failed = sum(trial.arm == arm.label for trial in comparison.failed)
    done = len(comparison.done(arm))
    cells = (_summary(comparison.summary(arm, metric), metric.digits, done) for metric in metrics)
    return (arm.label, str(done), str(failed), *cells)


def _summary(summary: Summary | None, digits: int, done: int) -> str:
    if summary is None:
        return "-"
    median, low, high = (
        _number(value, digits) for value in (summary.median, summary.low, summary.high)
    )
    spread = "" if low == high else f" ({low} to {high})"
    return f"{median}{spread}{_few(summary.count, done)}"


def _few(count: int, most: int) -> str:
    return "" if count == most else f" [{count} of {most}]"


def _differences(comparison: Comparison) -> str:
    equal = comparison.plan.equal
    metrics = [m for m in comparison.metrics() if m.key in _COMPARED and m.key != equal]
    rows: dict[tuple[str, str], dict[str, Difference]] = {}
    for difference in comparison.differences():
        rows.setdefault((difference.arm, difference.against), {})[difference.metric] = difference
    title = ("arm", "minus", "pairs", *(metric.title for metric in metrics))
    lines: list[tuple[str, ...]] = []
    for (arm, other), found in rows.items():
        most = max(difference.pairs for difference in found.values())
        cells = (_cell(found[metric.key], metric.digits, most) for metric in metrics)
        lines.append((arm, other, str(most), *cells))
    return _markdown((title, *lines)) if lines else ""


def _cell(difference: Difference, digits: int, most: int) -> str:
    if not difference.pairs:
        return "-"
    counts = f"{difference.wins}-{difference.losses}-{difference.ties}"
    found = difference.interval
    if found is None:
        return f"{counts}{_few(difference.pairs, most)}"
    mean = f"{found.mean:+.{digits}f}{_few(difference.finite, most)}"
    if found.low is None:
        return f"{mean}; {counts}"
    return f"{mean} ({found.low:+.{digits}f} to {found.high:+.{digits}f}); {counts}"


def _gated(comparison: Comparison) -> list[str]:
    """
    Runs whose reward is the one that the search itself chose by: optimistic when rewards are noisy.
    """
    counts = Counter(t.arm for t in comparison.trials if t.status == "done" and t.source == "gate")
    if not counts:
        return []
    told = ", ".join(f"{count} of {arm}" for arm, count in counts.items())
    why = "the budget left no room to score the final state anew"
    return [f"Held-out reward as the gate measured it last ({why}): {told}."]


def _unscored(comparison: Comparison) -> list[str]:
    trials = [t for t in comparison.trials if t.status == "done" and not t.scored]
    if not trials:
        return []
    counts = ", ".join(f"{n} of {arm}" for arm, n in Counter(t.arm for t in trials).items())
    lines = [f"- {t.arm}, seed {t.seed}: {t.error}" for t in trials if t.error]
    told = f"Curves of what the search itself measured, which is not every head: {counts}."
    return ["\n".join((told, *(("", *lines) if lines else ())))]


def _failures(comparison: Comparison) -> list[str]:
    lines = [f"- {t.arm}, seed {t.seed}: {t.error}" for t in comparison.failed]
    return ["\n".join(("Failed, and in no figure above:", "", *lines))] if lines else []


def _number(value: float, digits: int) -> str:
    return f"{value:.{digits}f}" if math.isfinite(value) else "never"


def _markdown(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [f"| {' | '.join(map(str.ljust, row, widths))} |" for row in rows]
    rule = f"| {' | '.join('-' * width for width in widths)} |"
    return "\n".join((lines[0], rule, *lines[1:]))
