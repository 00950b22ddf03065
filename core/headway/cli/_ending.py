"""
What ``headway run`` says at the end: the result, the curve, the files, and what to try next.
"""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

import attrs

from headway.cli._plot import plot
from headway.contracts import Fault
from headway.machine import Score
from headway.result import Failure, Result

REASONS = {
    "target_reward": "the target was reached",
    "patience": "many sweeps in a row committed nothing",
    "rounds": "all rounds were made",
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

_SHOWN_FILES = 12
_SHOWN_FAILURES = 5
_LATE = 0.75
_LATE_GAIN = 0.02
"""
More than this share of the whole gain in the rollouts after that share of them means that it was
still improving.
"""

_WIDEST = 60
_NARROWEST = 20
_MARGIN = 8
"""Columns of the plot itself, and beside it."""


@attrs.frozen(kw_only=True)
class Ending:
    """
    A finished run and where it came from.

    Args:
        name: The domain's name, as the user typed it.
        bare: Whether the user gave nothing beside that name.
        folder: Where the files are.
        result: The result.
    """

    name: str
    bare: bool
    folder: Path
    result: Result

    def text(self, *, ascii_only: bool = False) -> str:
        """
        The whole report.

        Args:
            ascii_only: Whether the plot keeps to ASCII characters.
        """
        parts = (self._summary(), self._curve(ascii_only), self._files(), self._next())
        return "\n".join(filter(None, parts))

    def _summary(self) -> str:
        result = self.result
        test = result.test_reward
        tested = "" if test is None else f"; {test:.3f} on the test tasks"
        virtual = " (virtual)" if result.driver == "simulated" else ""
        calls = ", ".join(f"{count} {kind}" for kind, count in result.calls.items() if count)
        reason = REASONS.get(result.stop_reason, result.stop_reason)
        lines = [
            "",
            f"{self.name}: {_rewards(result)}{tested}",
            f"  stopped because {reason} ({result.stop_reason})",
            f"  rollouts  {result.rollouts}{_apart(result.completions)}",
            f"  calls     {sum(result.calls.values())}{f': {calls}' if calls else ''}",
            *_usage(result),
            f"  commits   {result.version} in {len(result.history)} sweeps",
            f"  seconds   {result.wallclock:.2f}{virtual}",
            *_failures(result),
        ]
        return "\n".join(lines) + "\n"

    def _curve(self, ascii_only: bool) -> str:
        room = shutil.get_terminal_size().columns - _MARGIN
        width = max(_NARROWEST, min(_WIDEST, room))
        drawn = plot(curve(self.result), width=width, ascii_only=ascii_only)
        return f"held-out reward over rollouts\n{drawn}\n" if drawn else ""

    def _files(self) -> str:
        files = self.result.files
        lines = [
            f"  artifact/{name}  {_lines(text)}"
            for name, text in sorted(files.items())[:_SHOWN_FILES]
        ]
        if len(files) > _SHOWN_FILES:
            lines.append(f"  artifact/...  {len(files) - _SHOWN_FILES} more")
        lines.append("  result.json  curve.tsv  config.toml")
        return "\n".join([f"files in {self.folder}", *lines]) + "\n"

    def _next(self) -> str:
        own = typed()
        start = [*own, "run", self.name]
        if not self.bare:
            start += ["--config", str(self.folder / "config.toml")]
        tips = suggestions(self.result)
        commands = [(shlex.join([*start, *more]), why) for more, why in tips]
        if self.result.failed:
            check = shlex.join([*own, "plugins", "--check"])
            commands.append((check, "whether an installed part is broken"))
        else:
            commands.append((shlex.join([*own, "plugins"]), "what else runs can be made of"))
        lines = [f"  {command}\n    {why}" for command, why in commands]
        return "\n".join(["try next", *lines]) + "\n"


def typed() -> list[str]:
    """
    How this command line was started, as words that the shell finds.
    """
    started = Path(sys.argv[0])
    if shutil.which("headway") is not None:
        return ["headway"]
    if started.parts[-2:] == ("headway", "__main__.py"):
        return [sys.executable, "-m", "headway"]
    return [sys.argv[0]] if started.stem == "headway" else ["headway"]


def curve(result: Result) -> list[tuple[float, float | None]]:
    """
    Held-out reward over rollouts, from the first head to the last.
    """
    points: list[tuple[float, float | None]] = [(0, result.baseline_reward)]
    points += [(sweep.rollouts, sweep.reward) for sweep in result.history]
    return [*points, (result.rollouts, result.final_reward)]


def suggestions(result: Result) -> list[tuple[list[str], str]]:
    """
    What to try next: arguments to add to the command, and what they are good for.
    """
    if result.failed:
        one_by_one = ["--mode", "sync", "--driver", "serial"]
        return [(one_by_one, "one call after the other, to see where it fails")]
    tips: list[tuple[list[str], str]] = []
    if result.stop_reason == "interrupted":
        tips.append(([], "the whole run, from the start"))
    if result.stop_reason == "max_iters" and _still_improving(result):
        more = str(2 * result.rollouts)
        tips.append((["--max-rollouts", more], "it was still improving: twice the rollouts"))
    if result.driver == "simulated" and result.wallclock == 0:
        law = ["--durations", "rollout=lognormal:1,1"]
        tips.append((law, "no durations were given, so nothing took time: now rollouts do"))
    if result.mode == "async":
        tips.append((["--mode", "sync"], "the same in rounds"))
    else:
        driver = ["--driver", "threads"] if result.driver == "serial" else []
        # Rounds end nothing without a barrier.
        ends = result.stop_reason == "rounds"
        rounds = ["--max-rollouts", str(result.rollouts)] if ends else []
        tips.append((["--mode", "async", *driver, *rounds], "the same without a barrier"))
    tips.append((["--seed", str(result.seed + 1)], "how much is luck"))
    return tips


def told(fault: Fault) -> str:
    """
    A fault on one line.
    """
    task = "" if fault.task is None else f" on task {fault.task!r}"
    return f"{fault.where}{task}: {_raised(fault)}"


def _raised(fault: Fault) -> str:
    places = re.findall(r'^ *File "(.+)", line (\d+)', fault.traceback, re.MULTILINE)
    place = f" ({Path(places[-1][0]).name}:{places[-1][1]})" if places else ""
    return f"{fault.type}: {' '.join(fault.message.split())}{place}"


def _failures(result: Result) -> list[str]:
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
    return f"{where}: {_raised(first.fault)}"


def _still_improving(result: Result) -> bool:
    known = [(x, y) for x, y in curve(result)[:-1] if y is not None]
    before = [y for x, y in known if x < _LATE * result.rollouts]
    if not before:
        return False
    first, last = known[0][1], known[-1][1]
    return last - before[-1] > _LATE_GAIN * (last - first) > 0


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


def _lines(text: str) -> str:
    count = text.count("\n")
    return f"{count} line{'' if count == 1 else 's'}"


def _reward(reward: float | None) -> str:
    return "unknown" if reward is None else f"{reward:.3f}"


def _apart(completions: Mapping[str, int]) -> str:
    odd = ", ".join(f"{n} {kind}" for kind, n in completions.items() if n and kind != "ok")
    return f" ({odd})" if odd else ""
