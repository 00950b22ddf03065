"""
What a step is told by whoever runs it.
"""

from __future__ import annotations

import attrs
import pytest

from headway import Artifact
from headway.builtins.standard import StandardAggregator
from headway.contracts import Snapshot
from headway.drivers._steps import StepHost
from headway.keyed import keyed_rng
from headway.machine import MachineConfig, StepStart
from headway.testing import ToyDomain

CONFIG = MachineConfig(seed=7, train=("a",), held_out=("x",))


def told(step=3, memory=None):
    """
    The context of a step.
    """
    head = Snapshot(2, Artifact({}))
    start = StepStart((), head, memory, quiet=False, deterministic=True, stable=None)
    return StepHost(StandardAggregator(), ToyDomain(), CONFIG).context(step, start)


@pytest.mark.parametrize("step", [1, 3])
def test_a_step_draws_from_a_generator_of_its_own(step):
    """
    It is keyed by the seed and the step's number.
    """
    about = told(step)

    assert keyed_rng(7, "step", step).random() == about.rng.random()


def test_the_generator_goes_on_where_it_was():
    """
    Asked for again, and from a copy of the context, it is the same one.
    """
    about = told()
    wanted = keyed_rng(7, "step", 3)
    copy = attrs.evolve(about, quiet=True)

    assert [wanted.random() for _ in range(3)] == [c.rng.random() for c in (about, copy, about)]


def test_a_step_s_memory_is_its_own():
    """
    It may change what it is given; artifacts in it are the same, since nobody changes one.
    """
    kept = {"tried": [1], "best": Artifact([2])}
    memory = told(memory=kept).memory
    memory["tried"].append(2)

    assert {"tried": [1], "best": Artifact([2])} == kept
    assert memory["best"] is kept["best"]
