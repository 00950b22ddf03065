"""
Names for the ways in which a run may let cards grow old, as options of the run.

With N the population, K the bound in updates, v the version and j the number of a job:

==============  =========================================================================================
``sync``        batch t is the jobs tN ... (t+1)N-1, all from version t
``wait-K``      batches are first come, first served, the oldest first, and a step waits as long as it would
                leave a card that could not be used within K updates: nothing is lost
``admit-K``     batch t is the jobs tN ... (t+1)N-1, which start once v >= t - K, each from the newest version
``pipeline-K``  as ``admit-K``, each from version max(0, t - K): a function of the job's number alone, so that
                a run repeats to the last bit on machines of any speed
``drop-K``      first come, first served; a card that is more than K updates old is discarded, and counted.
                Fast, and biased towards what is quick to evaluate
==============  =========================================================================================

In all of them at most ``(K + 1) N`` jobs are begun and not used.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from headway.errors import OptionError

_SPELLED = re.compile(r"(wait|admit|pipeline|drop)-(\d{1,6})")

_KINDS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "wait": {"batch_order": "completion", "bases": "head", "policy": "wait"},
        "admit": {"batch_order": "admission", "bases": "head", "policy": "wait"},
        "pipeline": {"batch_order": "admission", "bases": "stamp", "policy": "wait"},
        "drop": {"batch_order": "completion", "bases": "head", "policy": "drop"},
    }
)


def schedule(name: str) -> dict[str, Any]:
    """
    The options of a run that a schedule's name stands for: ``run(..., **schedule("wait-1"))``.

    A bound of 0 is ``sync``, whatever the word before it.

    Raises:
        OptionError: there is no such schedule.

    >>> schedule("pipeline-2")["max_staleness"], schedule("pipeline-2")["bases"]
    (2, 'stamp')
    >>> schedule("wait-0") == schedule("sync")
    True
    """
    spelled = _SPELLED.fullmatch(name)
    if name != "sync" and spelled is None:
        remedy = "Give sync, or wait-K, admit-K, pipeline-K or drop-K with a whole number K."
        raise OptionError("schedule", name, remedy)
    bound = 0 if spelled is None else int(spelled[2])
    if spelled is None or not bound:
        return {"mode": "sync", "policy": "wait"}
    return {"mode": "async", "max_staleness": bound, "admit_ahead": bound, **_KINDS[spelled[1]]}
