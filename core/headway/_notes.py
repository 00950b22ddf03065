"""
What is worth saying about a run before it starts.
"""

from __future__ import annotations

from math import inf

import attrs

from headway.errors import OptionError
from headway.machine import MachineConfig
from headway.options import RunOptions

FEW_HELD_OUT = 8
"""Fewer held-out tasks than this are worth a warning."""

FEW_PROPOSALS = 3

LATER_STEP = 100
"""Tests become stricter from step to step; what this one can show is told beside the first."""


def notes_before(options: RunOptions, config: MachineConfig) -> tuple[str, ...]:
    """
    What the caller is warned of.

    Raises:
        OptionError: ``max_calls`` does not even pay the baseline.
    """
    notes: list[str] = []
    held_out = len(config.held_out)
    if held_out < FEW_HELD_OUT:
        notes.append(
            f"{held_out} held-out tasks: the smallest difference in mean reward that one task can "
            f"make is {1 / held_out:.3f} of the reward range; {FEW_HELD_OUT} or more are better"
        )
    if config.max_calls is not None:
        notes += _call_notes(config, config.max_calls)
    if options.durations is not None and options.driver != "simulated":
        notes.append(f"durations have no meaning under {options.driver} and are ignored")
    return (*notes, *_idle_notes(options))


def effect_notes(config: MachineConfig, acceptance: object, width: float) -> tuple[str, ...]:
    """
    What the run's acceptance can show at best, when rewards are noisy and it can say so.

    Args:
        config: The machine's options.
        acceptance: The aggregator's acceptance, if it has one.
        width: The width of the reward range.
    """
    shows = getattr(acceptance, "shows", None)
    if config.deterministic or shows is None or width == inf:
        return ()
    held_out = len(config.held_out)
    draws: int | None = None
    if config.max_calls is not None:
        final = config.final_draws * (held_out + len(config.test))
        draws = (config.max_calls - held_out - final) // (2 * held_out)
    first, later = (width * shows(held_out, step, draws) for step in (1, LATER_STEP))
    if first >= width:
        text = "no difference can be shown with power 0.8: more held-out tasks or draws are needed"
    else:
        text = (
            f"can show differences of mean reward of at least {first:.3g} with power 0.8 in the "
            f"first step, {later:.3g} in step {LATER_STEP}"
        )
    return (f"rewards are noisy; {held_out} held-out tasks {text}",)


def _idle_notes(options: RunOptions) -> list[str]:
    """
    Options that were set and mean nothing in the run's mode.
    """
    idle = {
        "async": ("rounds", "round_size"),
        # Without an alpha of its own, a policy takes the async ratio for it, in either mode.
        "sync": ("resync", "max_wait_rounds", *(() if options.alpha is None else ("async_ratio",))),
    }[options.mode]
    defaults = {field.name: field.default for field in attrs.fields(RunOptions)}
    held = {name: getattr(options, name) for name in idle}
    return [
        f"{name}={value} has no meaning in {options.mode} mode and is ignored"
        for name, value in held.items()
        if value != defaults[name]
    ]


def _call_notes(config: MachineConfig, max_calls: int) -> list[str]:
    held_out = len(config.held_out)
    draws = 1 if config.deterministic else config.final_draws
    final = draws * (held_out + len(config.test))
    left = max_calls - held_out - final
    if left < 0:
        final, left = 0, max_calls - held_out
        text = "too few to score the final state; its reward will be the gate's last measurement"
        notes = [f"max_calls={max_calls}: {text}"]
    else:
        notes = []
    if left < 0:
        remedy = (
            f"Give at least {held_out + config.calls_per_ticket}: the baseline takes {held_out}."
        )
        raise OptionError("max_calls", max_calls, remedy)
    proposals = left // (config.calls_per_ticket + held_out)
    if proposals < FEW_PROPOSALS:
        notes.append(f"max_calls={max_calls} affords about {proposals} proposals that are measured")
    return notes
