"""
What ``headway run`` says at the end: the result, the curve, the files, and what to try next.
"""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path

import attrs

from headway._words import failures, summary
from headway.cli._plot import plot
from headway.result import Result
from headway.rundir import TAKEN_BACK

_SHOWN_FILES = 12
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
        durable: Whether the folder is a run directory.
    """

    name: str
    bare: bool
    folder: Path
    result: Result
    durable: bool = False

    def text(self, *, ascii_only: bool = False) -> str:
        """
        The whole report.

        Args:
            ascii_only: Whether the plot keeps to ASCII characters.
        """
        parts = (self._summary(), self._curve(ascii_only), self._files(), self._next())
        return "\n".join(filter(None, parts))

    def _summary(self) -> str:
        first, *more = summary(self.result)
        return "\n".join(["", f"{self.name}: {first}", *more, *failures(self.result)]) + "\n"

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
        names = ["result.json", "saved.json", "curve.tsv"]
        names += ["config.toml"] if self._config.exists() else []
        names += ["run.sqlite"] if self.durable else []
        lines.append(f"  {'  '.join(names)}")
        return "\n".join([f"files in {self.folder}", *lines]) + "\n"

    @property
    def _config(self) -> Path:
        return self.folder / "config.toml"

    def _next(self) -> str:
        own = typed()
        start = [*own, "run", self.name]
        if not self.bare:
            start += ["--config", str(self._config)]
        # What a program began has no name that the command line could use.
        tips = suggestions(self.result) if self.bare or self._config.exists() else []
        commands = [(shlex.join([*start, *more]), why) for more, why in tips]
        if self.durable and self.result.stop_reason in TAKEN_BACK:
            again = shlex.join([*own, "resume", str(self.folder)])
            commands.insert(0, (again, "goes on; nothing that is done is done again"))
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
    if result.stop_reason == "updates" and _still_improving(result):
        more = str(2 * result.updates)
        tips.append((["--updates", more], "it was still improving: twice the updates"))
    if result.driver == "simulated" and result.wallclock == 0:
        law = ["--durations", "rollout=lognormal:1,1"]
        tips.append((law, "no durations were given, so nothing took time: now rollouts do"))
    if result.mode == "async":
        whole = "with nothing stale: each update waits for its whole batch"
        batches = result.history_of == "updates"
        tips.append((["--mode", "sync"], f"the same {whole if batches else 'in rounds'}"))
    else:
        driver = ["--driver", "threads"] if result.driver == "serial" else []
        # Rounds end nothing without a barrier.
        ends = result.stop_reason == "rounds"
        rounds = ["--max-rollouts", str(result.rollouts)] if ends else []
        tips.append((["--mode", "async", *driver, *rounds], "the same without a barrier"))
    tips.append((["--seed", str(result.seed + 1)], "how much is luck"))
    return tips


def _still_improving(result: Result) -> bool:
    known = [(x, y) for x, y in curve(result)[:-1] if y is not None]
    before = [y for x, y in known if x < _LATE * result.rollouts]
    if not before:
        return False
    first, last = known[0][1], known[-1][1]
    return last - before[-1] > _LATE_GAIN * (last - first) > 0


def _lines(text: str) -> str:
    count = len(text.splitlines())
    return f"{count} line{'' if count == 1 else 's'}"
