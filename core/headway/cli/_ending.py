"""
What ``headway run`` says at the end: the result, the curve, the files, and what to try next.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

import attrs

from headway.cli._plot import plot
from headway.contracts import Fault
from headway.result import Result

REASONS = {
    "target_reward": "the target was reached",
    "patience": "many sweeps in a row committed nothing",
    "rounds": "all rounds were made",
    "exhausted": "no training task led to a proposal any more",
    "max_seconds": "the time was up",
    "max_iters": "all rollouts were made",
    "max_calls": "the paid calls were used up",
    "interrupted": "it was interrupted",
    "stalled": "nothing could go on",
    "error": "of an error",
}
"""Every stop reason, in words that follow "stopped because"."""

_SHOWN_FILES = 12
_SHOWN_FAILURES = 5
_LATE = 0.75
"""A commit in the rollouts after this share of them means that it was still improving."""


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
        rewards = f"{_reward(result.baseline_reward)} -> {_reward(result.final_reward)}"
        virtual = " (virtual)" if result.driver == "simulated" else ""
        calls = ", ".join(f"{count} {kind}" for kind, count in result.calls.items() if count)
        reason = REASONS.get(result.stop_reason, result.stop_reason)
        lines = [
            "",
            f"{self.name}: held-out reward {rewards}{tested}",
            f"  stopped because {reason} ({result.stop_reason})",
            f"  rollouts  {result.rollouts}{_apart(result.completions)}",
            f"  calls     {sum(result.calls.values())}{f': {calls}' if calls else ''}",
            f"  commits   {result.version} in {len(result.history)} sweeps",
            f"  seconds   {result.wallclock:.2f}{virtual}",
            *_failures(result),
        ]
        return "\n".join(lines) + "\n"

    def _curve(self, ascii_only: bool) -> str:
        drawn = plot(curve(self.result), ascii_only=ascii_only)
        return f"held-out reward over rollouts\n{drawn}\n" if drawn else ""

    def _files(self) -> str:
        files = self.result.files
        lines = [
            f"  artifact/{name}  {text.count(chr(10))} lines"
            for name, text in sorted(files.items())[:_SHOWN_FILES]
        ]
        if len(files) > _SHOWN_FILES:
            lines.append(f"  artifact/...  {len(files) - _SHOWN_FILES} more")
        lines.append("  result.json  curve.tsv  config.toml")
        return "\n".join([f"files in {self.folder}", *lines]) + "\n"

    def _next(self) -> str:
        start = ["headway", "run", self.name]
        if not self.bare:
            start += ["--config", str(self.folder / "config.toml")]
        tips = suggestions(self.result)
        commands = [(shlex.join([*start, *more]), why) for more, why in tips]
        if self.result.failed:
            commands.append(("headway plugins --check", "whether an installed part is broken"))
        else:
            commands.append(("headway plugins", "what else runs can be made of"))
        lines = [f"  {command}\n    {why}" for command, why in commands]
        return "\n".join(["try next", *lines]) + "\n"


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
    return f"{fault.where}{task}: {fault.type}: {' '.join(fault.message.split())}"


def _failures(result: Result) -> list[str]:
    shown = result.failures[:_SHOWN_FAILURES]
    lines = [f"  failure   {failure.count} x {told(failure.fault)}" for failure in shown]
    if len(result.failures) > len(shown):
        lines.append(
            f"  failure   {len(result.failures) - len(shown)} other kinds: see result.json"
        )
    return lines


def _still_improving(result: Result) -> bool:
    late = _LATE * result.rollouts
    return any(sweep.committed and sweep.rollouts >= late for sweep in result.history)


def _reward(reward: float | None) -> str:
    return "unknown" if reward is None else f"{reward:.3f}"


def _apart(completions: Mapping[str, int]) -> str:
    odd = ", ".join(f"{n} {kind}" for kind, n in completions.items() if n and kind != "ok")
    return f" ({odd})" if odd else ""
