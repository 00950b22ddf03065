"""
What the options of the gate of groups may be, alone and together.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from headway._checks import check_choice, check_count, check_flag, check_number
from headway.errors import OptionError

if TYPE_CHECKING:
    from headway.gate._reservations import Reservations


def check_options(gate: Reservations) -> None:
    """
    Check them.

    Raises:
        OptionError: a number is none or out of its range, a word is another, or two options contradict
            each other.
    """
    _check_ranges(gate)
    _check_rules(gate)


def _check_ranges(gate: Reservations) -> None:
    check_count("groups_per_step", gate.groups_per_step, 1)
    check_count("max_staleness", gate.max_staleness, 0)
    check_count("admit_ahead", gate.admit_ahead, 0)
    check_number("oversample_factor", gate.oversample_factor, least=1, below=inf)
    check_choice("batch_order", gate.batch_order, ("completion", "admission"))
    check_choice("rule", gate.rule, ("wait", "window", "none"))
    check_count("window", gate.window, 0)
    check_count("updates_per_step", gate.updates_per_step, 1)
    check_flag("early", gate.early)
    if gate.groups is not None:
        check_count("groups", gate.groups, 1)
    check_choice("bases", gate.bases, ("head", "stamp"))


def _check_rules(gate: Reservations) -> None:
    if gate.max_staleness < gate.updates_per_step - 1:
        remedy = (
            f"Give at least {gate.updates_per_step - 1}: with updates_per_step="
            f"{gate.updates_per_step}, the last update of a step is that much later than the first."
        )
        raise OptionError("max_staleness", gate.max_staleness, remedy)
    if gate.oversample_factor > 1 and not gate.max_staleness:
        remedy = "Give 1, or a max_staleness above 0: without one, every batch is waited for whole."
        raise OptionError("oversample_factor", gate.oversample_factor, remedy)
    if gate.rule == "window" and not gate.window:
        raise OptionError("window", gate.window, 'Give at least 1 with rule="window".')
    if gate.rule != "window" and gate.window:
        raise OptionError("window", gate.window, 'Give it with rule="window" alone.')
    if gate.batch_order == "admission" and gate.rule != "wait":
        remedy = 'Give "completion", or rule="wait": in the order of admission, none overtakes.'
        raise OptionError("batch_order", gate.batch_order, remedy)
