"""
The same rehearsals in a new interpreter, whose sets of texts are in an order of their own.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import attrs

from headway.testing._rehearsal import Rehearsal

_PROGRAM = """
import pickle, sys
sys.path[:] = pickle.load(sys.stdin.buffer)
for rehearsal in pickle.load(sys.stdin.buffer):
    print(rehearsal.simulate().digest)
"""


class CannotBeSentError(Exception):
    """
    What was to be rehearsed can't be sent to another process, or not be made there.
    """


@attrs.frozen
class _Copies:
    """
    Makes copies of a part.
    """

    part: Any

    def __call__(self) -> Any:
        return deepcopy(self.part)


def digests_elsewhere(rehearsals: Sequence[Rehearsal], hash_seed: int) -> list[str]:
    """
    The digests of rehearsals in a new process.

    Args:
        rehearsals: Their aggregators and domains are sent there.
        hash_seed: Says in which order sets of texts are there.

    Raises:
        CannotBeSentError: they can't be sent, or not be rehearsed there.
    """
    sent = [
        attrs.evolve(one, aggregator=_Copies(one.aggregator()), domain=_Copies(one.domain()))
        for one in rehearsals
    ]
    try:
        given = pickle.dumps(sys.path) + pickle.dumps(sent)
    except Exception as error:
        raise CannotBeSentError(str(error)) from error
    done = subprocess.run(  # noqa: S603 - our own program, and no shell
        [sys.executable, "-c", _PROGRAM],
        input=given,
        env=os.environ | {"PYTHONHASHSEED": str(hash_seed)},
        capture_output=True,
        check=False,
    )
    lines = done.stdout.decode().split()
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise CannotBeSentError(said[-1] if said else f"exit status {done.returncode}")
    return lines[-len(sent) :]  # what a module prints at import comes before
