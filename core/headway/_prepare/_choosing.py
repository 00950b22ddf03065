"""
Which options a run has: what the caller gave, then what suits its aggregator, its domain, anyone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import attrs

from headway.contracts import Domain
from headway.errors import ContractError, OptionError
from headway.options import LIMITS, RunOptions, check_names, make_options, option_names

NOT_FOR_AGGREGATORS = ("aggregator", "mode", "driver", "seed", *LIMITS)
"""What an aggregator's ``defaults`` may not say: it works alike in every mode, for as long as it is let."""


def choose_options(
    given: Mapping[str, Any], domain: Domain, brings: Callable[[object], Mapping[str, Any]]
) -> RunOptions:
    """
    The options of a run.

    Args:
        given: What the caller gave.
        domain: Whose ``defaults`` stand behind those of the aggregator.
        brings: Says the ``defaults`` of an aggregator, by what stands for it.

    Raises:
        OptionError: an option is unknown or has a bad value.
        ContractError: the aggregator's ``defaults`` can't be used.
    """
    usual = attrs.fields(RunOptions).aggregator.default
    spec = given.get("aggregator", domain.defaults.get("aggregator", usual))
    own = brings(spec)
    _check(own, spec)
    return make_options(given, {**domain.defaults, **own})


def _check(own: Mapping[str, Any], spec: object) -> None:
    try:
        check_names(own, set(option_names()) - set(NOT_FOR_AGGREGATORS), "options it may bring")
        RunOptions(**own)
    except OptionError as error:
        who = spec if isinstance(spec, str) else type(spec).__qualname__
        raise ContractError(f"the aggregator {who}, its defaults: {error}") from error


def brought_notes(own: Mapping[str, Any], options: RunOptions, who: str) -> Iterable[str]:
    """
    What to say of the options that are as the aggregator's ``defaults`` have them.

    Args:
        own: Those ``defaults``.
        options: The run's.
        who: The aggregator.
    """
    held = {name: value for name, value in own.items() if getattr(options, name) == value}
    if held:
        told = ", ".join(f"{name}={value}" for name, value in held.items())
        yield f"{told}: suits the aggregator {who}, and stands unless it is given"
