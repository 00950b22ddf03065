"""
``headway compare``: the same domain in several modes and beside controls, at equal budget.

Standard output holds the tables, or with ``--json`` one object and nothing else; progress goes to
standard error.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path
from typing import Any, TextIO

import attrs

from headway.cli._arguments import add_shared
from headway.cli._flags import add_flags, flag_of, read_seeds, read_words, read_workers
from headway.cli._output import SIGNALLED, answer, claim
from headway.cli._settings import Settings, gather
from headway.cli._targets import defaults_of, make_domain, observer, registered, with_parts
from headway.comparing import (
    CONTROLS,
    EQUAL,
    Arm,
    Comparison,
    Plan,
    Runner,
    Trial,
    draw,
    make_plan,
    table,
)
from headway.contracts import Domain
from headway.drivers import Interrupt
from headway.errors import UsageError
from headway.options import MODES
from headway.registry import Registry
from headway.rundir._files import write

_EXAMPLE = """\
Example:
  headway compare inflect --modes sync,async --seeds 0-9 --against best-of-n

  headway compare inflect --driver simulated --set latency=lognormal:1,1 \\
    --workers 8,32 --equal seconds --max-seconds 600 --seeds 0-4
  headway compare inflect --help                         all options of the domain too

Exit codes: 0 done, 1 a run failed, 2 bad input, 130 after Ctrl-C, 141 when nobody reads the
output to its end, 143 after SIGTERM.
"""

_OWN = ("mode", "seed", "n_workers")
"""Options of a run that this command takes several of, under flags of its own."""


def add_parser(subparsers: Any) -> None:
    """
    Add the command's parser to what argparse's ``add_subparsers`` gave; that has no public type.
    """
    parser = subparsers.add_parser(
        "compare",
        help="compare modes and controls at equal budget",
        usage="headway compare DOMAIN [option ...]",
        description="Run a domain in several modes with several seeds, and compare seed by seed.",
        epilog=_EXAMPLE,
        add_help=False,
    )
    add_shared(parser, folder="DOMAIN-compare-N", told="what happens in every run")
    _add_own(parser)
    add_flags(parser, without=_OWN)
    parser.set_defaults(run=run)


def _add_own(parser: Any) -> None:
    own = parser.add_argument_group("what is compared")
    modes = ",".join(MODES)
    own.add_argument(
        "--modes", default=modes, metavar="NAMES", help=f"one arm each (default: {modes})"
    )
    own.add_argument(
        "--seeds", default="0-9", metavar="N-N", help="such as 0-9 or 1,3,5-7 (default: 0-9)"
    )
    own.add_argument(
        "--equal",
        default="rollouts",
        metavar="WHAT",
        help=f"what all get alike: {', '.join(EQUAL)} (default: rollouts)",
    )
    own.add_argument(
        "--against", default="", metavar="NAMES", help=f"controls: {', '.join(CONTROLS)}"
    )
    own.add_argument(
        "--score-heads",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="score every head after its run, outside the budget (default: when simulated)",
    )
    own.add_argument(
        "--workers", metavar="N,N", help="rollouts at once; with several numbers one group each"
    )


def run(args: argparse.Namespace) -> int:
    """
    Compare.

    Returns:
        The exit code.
    """
    interrupt, stdout = Interrupt(), sys.stdout
    # What a domain prints, on whichever thread, must not get between the lines of the answer.
    with interrupt.catching(signal.SIGINT, signal.SIGTERM), redirect_stdout(sys.stderr):
        try:
            study = _study(args)
        except KeyboardInterrupt:
            sys.stderr.write("headway: interrupted before anything was run\n")
            return SIGNALLED + (interrupt.number or signal.SIGINT)
        comparison = Comparison(plan=study.plan, trials=tuple(_made(study, interrupt)))
        _leave(study.folder, comparison)
        text = table(comparison)
        if args.json:
            text = json.dumps(comparison.to_json(), allow_nan=False) + "\n"
        _answer(stdout, text, study.folder)
        if interrupt.number is not None:
            return SIGNALLED + interrupt.number
        return int(bool(comparison.failed))


@attrs.frozen(kw_only=True)
class _Study:
    """
    A comparison that is ready to start.
    """

    plan: Plan
    runner: Runner
    folder: Path


def _study(args: argparse.Namespace) -> _Study:
    settings = _with_own(gather(args))
    registry = Registry.discover()

    def make() -> Domain:
        return make_domain(settings.name, settings.domain, registry)

    with settings.naming_domain():
        domain = make()
    with settings.naming():
        plan = make_plan(
            domain,
            settings.options,
            modes=read_words("--modes", args.modes),
            seeds=read_seeds("--seeds", args.seeds),
            workers=() if args.workers is None else read_workers("--workers", args.workers),
            equal=args.equal,
            against=read_words("--against", args.against),
            score_heads=args.score_heads,
            name=settings.name,
            settings=settings.domain,
            shown=flag_of,
            brings=partial(defaults_of, registry=registry),
        )
        runner = Runner(
            make=make,
            registry=registry,
            name=registered(settings.name, registry),
            observers=tuple(map(observer, settings.observers)),
            with_parts=partial(with_parts, registry=registry),
        )
        notes = runner.check(plan)
    folder = claim(args.out, name=f"{settings.name}-compare", seed=plan.seeds[0])
    _open(plan, notes, folder)
    return _Study(plan=plan, runner=runner, folder=folder)


def _with_own(settings: Settings) -> Settings:
    own = {name: f"--{name}" for name in ("modes", "seeds", "workers", "equal", "against")}
    return attrs.evolve(settings, places={"n_workers": "--workers", **settings.places, **own})


def _open(plan: Plan, notes: Sequence[str], folder: Path) -> None:
    lines = [
        f"{plan.domain}: {plan.size} runs, each of {plan.budget:g} {plan.equal}",
        *(f"  arm: {arm.label}, {arm.options.driver} driver" for arm in plan.arms),
        *(f"  note: {note}" for note in notes),
        f"  files go to {folder}",
    ]
    sys.stderr.write("\n".join(lines) + "\n")


def _made(study: _Study, interrupt: Interrupt) -> list[Trial]:
    """
    The trials, each told as it ends; those that were made when somebody gives up waiting.
    """
    made: list[Trial] = []
    begun = time.monotonic()
    interrupt.begin()

    def begin(arm: Arm, seed: int) -> None:
        if arm.options.driver != "simulated":  # those take long, one after the other
            sys.stderr.write(f"run {len(made) + 1} begins: {arm.label}, seed {seed}\n")

    try:
        for trial in study.runner.trials(study.plan, interrupt, begin):
            made.append(trial)
            told = _progress(trial, len(made), study.plan.size, time.monotonic() - begun)
            sys.stderr.write(told)
    except KeyboardInterrupt:
        sys.stderr.write("headway: the run that was going on is given up\n")
    finally:
        interrupt.end()
    return made


def _progress(trial: Trial, done: int, size: int, elapsed: float) -> str:
    left = elapsed / done * (size - done)
    came = trial.error if trial.status == "failed" else _came(trial)
    rest = f"; about {left:.0f} s left" if done < size and trial.status != "interrupted" else ""
    return f"run {done} of {size}: {trial.arm}, seed {trial.seed}: {trial.status}, {came}{rest}\n"


def _came(trial: Trial) -> str:
    reward = "unknown" if trial.reward is None else f"{trial.reward:.3f}"
    return f"reward {reward}, {trial.rollouts} rollouts, {trial.seconds or 0.0:.1f} s"


def _leave(folder: Path, comparison: Comparison) -> None:
    text = json.dumps(comparison.to_json(), indent=1, allow_nan=False)
    write(folder, "results.json", text + "\n")
    write(folder, "table.md", table(comparison))
    try:
        draw(comparison, folder)
    except UsageError as error:
        sys.stderr.write(f"headway: {error}\n")
    files = sorted(path.name for path in _files(folder))
    sys.stderr.write(f"files in {folder}: {' '.join(files)}\n")


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.iterdir() if path.is_file())


def _answer(stdout: TextIO, text: str, folder: Path) -> None:
    answer(stdout, text, kept=f"; the results are in {folder}")
