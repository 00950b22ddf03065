"""
A finished run in words, the same wherever they are read: in Python and on the command line.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from headway.contracts import Fault
from headway.machine import Score

if TYPE_CHECKING:  # a result is told in these words
    from headway.result import Failure, Result

REASONS = {
    "target_reward": "the target was reached",
    "patience": "many sweeps in a row committed nothing",
    "rounds": "all rounds were made",
    "updates": "all updates were made",
    "exhausted": "no training task led to a proposal any more",
    "max_seconds": "the time was up",
    "max_iters": "all rollouts were made",
    "max_calls": "the paid calls were used up",
    "max_tokens": "the tokens were used up",
    "max_cost": "the money was used up",
    "interrupted": "it was interrupted",
    "stalled": "nothing could go on",
    "error": "of an error",
}
"""Every stop reason, in words that follow "stopped because"."""

_SHOWN_FAILURES = 5


def summary(result: Result) -> list[str]:
    """
    What a run came to, a line each: the rewards, why it stopped, and what it took.
    """
    test = result.test_reward
    tested = "" if test is None else f"; {test:.3f} on the test tasks"
    virtual = " (virtual)" if result.driver == "simulated" else ""
    calls = ", ".join(f"{count} {kind}" for kind, count in result.calls.items() if count)
    reason = REASONS.get(result.stop_reason, result.stop_reason)
    return [
        f"{_rewards(result)}{tested}",
        f"  stopped because {reason} ({result.stop_reason})",
        f"  rollouts  {result.rollouts}{_apart(result.completions)}",
        f"  calls     {sum(result.calls.values())}{f': {calls}' if calls else ''}",
        *_usage(result),
        f"  commits   {result.version} in {len(result.history)} sweeps",
        *_updates(result),
        f"  seconds   {result.wallclock:.2f}{virtual}",
    ]


def in_short(result: Result) -> str:
    """
    A result as ``print`` shows it.
    """
    count = sum(failure.count for failure in result.failures)
    kinds = sorted({failure.fault.type for failure in result.failures})
    what = f"  failures  {count} ({', '.join(kinds)}); result.failures has all of them"
    lines = [*summary(result), *([what] if count else []), *_why(result)]
    return "\n".join(lines)


def _why(result: Result) -> list[str]:
    why = why_failed(result)
    return [] if why is None else [f"  {why}"]


def why_failed(result: Result) -> str | None:
    """
    What ended a run that failed; None when it did not, or nothing is known.
    """
    if not result.failed or result.error is None:
        return None
    return f"the run failed: {told(result.error)}"


def observers_raised(result: Result) -> str | None:
    """
    That what is told of a run raised, how often, and what it was first; None when nothing did.
    """
    raising = [failure for failure in result.failures if failure.fault.where == "observer"]
    if not raising:
        return None
    count = sum(failure.count for failure in raising)
    times = "once" if count == 1 else f"{count} times"
    who = "an observer (on_round is one) or an event hook"
    return f"{who} raised {times}; the run went on: {raised(raising[0].fault)}"


def told(fault: Fault) -> str:
    """
    A fault on one line.
    """
    task = "" if fault.task is None else f" on task {fault.task!r}"
    return f"{fault.where}{task}: {raised(fault)}"


def raised(fault: Fault) -> str:
    """
    What was raised, and at which line.
    """
    places = re.findall(r'^ *File "(.+)", line (\d+)', fault.traceback, re.MULTILINE)
    place = f" ({Path(places[-1][0]).name}:{places[-1][1]})" if places else ""
    return f"{fault.type}: {' '.join(fault.message.split())}{place}"


def failures(result: Result) -> list[str]:
    """
    What went wrong, once for each type and message: it may have done so on every task.
    """
    groups: dict[tuple[str, str], list[Failure]] = {}
    for failure in result.failures:
        groups.setdefault((failure.fault.type, failure.fault.message), []).append(failure)
    lines = [f"  failure   {_group(group)}" for group in list(groups.values())[:_SHOWN_FAILURES]]
    if len(groups) > _SHOWN_FAILURES:
        lines.append(f"  failure   {len(groups) - _SHOWN_FAILURES} other kinds")
    if groups:
        lines.append("            result.json has all of them, with tracebacks")
    return lines


def _group(failures: Iterable[Failure]) -> str:
    first, *others = failures
    if not others:
        return f"{first.count} x {told(first.fault)}"
    counts: Counter[str] = Counter()
    for failure in (first, *others):
        counts[failure.fault.where] += failure.count
    where = ", ".join(f"{count} x {place}" for place, count in counts.items())
    return f"{where}: {raised(first.fault)}"


def _rewards(result: Result) -> str:
    if result.baseline_reward is None and result.final_reward is None:
        return "it ended before the held-out reward was measured"
    rewards = f"{_reward(result.baseline_reward)} -> {_reward(result.final_reward)}"
    return f"held-out reward {rewards}{_spread(result.scores.get('final'))}"


def _spread(score: Score | None) -> str:
    """
    How sure a score is, when that is not plain.
    """
    if score is None:
        return ""
    if score.source == "gate":
        return " (the gate's last measurement)"
    if score.interval is None or score.interval[0] == score.interval[1]:
        return ""
    low, high = score.interval
    return f" (95 % interval {low:.3f} to {high:.3f})"


def _usage(result: Result) -> list[str]:
    usage = result.usage
    tokens = [f"{usage.tokens} tokens"] if usage.tokens else []
    cost = [f"cost {usage.cost:.6g}"] if usage.cost else []
    return [f"  charged   {', '.join([*tokens, *cost])}"] if tokens or cost else []


def _updates(result: Result) -> list[str]:
    """
    How old the outcomes were that a run learned from, and what it waited for.
    """
    if not result.update_waits:
        return []
    age = "" if result.mean_age is None else f"; {ages(result.committed_by_eta)}"
    lines = [f"  updates   {result.updates}{age}"]
    if told := waits(result.update_waits):
        lines.append(f"  waited    {told}")
    lost = sum(result.lost_groups.values()) - result.lost_groups.get("cancelled", 0)
    stale = result.stale_discarded
    if lost or stale:
        lines.append(f"  let go    {lost} groups that lost members, {stale} that were stale")
    return lines


def ages(groups: Mapping[int, int]) -> str:
    """
    How many updates groups were behind the head, given how many were how old.

    >>> ages({0: 1, 2: 3})
    'ages 0 to 2, mean 1.50'
    """
    low, high = min(groups), max(groups)
    mean = sum(age * count for age, count in groups.items()) / sum(groups.values())
    return f"ages {low} to {high}, mean {mean:.2f}" if low < high else f"age {low}"


def waits(seconds: Mapping[str, float]) -> str:
    """
    How long updates waited, by what for; nothing where they didn't.

    >>> waits({"training": 2.0, "bound": 1.25, "groups": 0.0, "nothing": 0.0})
    '1.25 s for the staleness bound'
    """
    told = {"groups": "for groups to be complete", "bound": "for the staleness bound"}
    kept = {kind: seconds.get(kind, 0.0) for kind in told}
    return ", ".join(f"{kept[kind]:.2f} s {told[kind]}" for kind in told if kept[kind])


def _reward(reward: float | None) -> str:
    return "unknown" if reward is None else f"{reward:.3f}"


def _apart(completions: Mapping[str, int]) -> str:
    odd = ", ".join(f"{n} {kind}" for kind, n in completions.items() if n and kind != "ok")
    return f" ({odd})" if odd else ""
