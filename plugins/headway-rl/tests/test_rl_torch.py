"""
The example that trains a torch module, where torch is installed.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the example needs torch")

from rl_worlds import Echo, async_trainer, card  # noqa: E402 - as above

from headway_rl import Groupwise, MemoryStore, Trainer, group_of, weigh  # noqa: E402 - torch may be missing

PLACE = Path(__file__).parent.parent / "examples" / "torch_trainer.py"


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("torch_trainer_example", PLACE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    torch.set_num_threads(1)
    return module


def made(example, rate=0.05):
    return example.TorchTrainer(lambda: example.network(4, 4, 8), MemoryStore(), rate)


def batch(*numbers):
    cards = [card(n, [1.0, 0.0, 0.5], versions=(0, 1)) for n in numbers]
    return weigh([group_of(c) for c in cards], Groupwise())


def test_it_keeps_the_contract(example):
    """
    All methods, and the same weights have the same fingerprint.
    """
    trainer = made(example)

    assert isinstance(trainer, Trainer)
    assert trainer.publish() == trainer.publish() == made(example).publish()


def test_chunks_add_up(example):
    """
    Within rounding: torch adds gradients in the order in which they come.
    """
    whole, parts = made(example), made(example)
    whole.forward_backward(batch(0, 1), reset=True)
    parts.forward_backward(batch(1), reset=True)
    parts.forward_backward(batch(0), reset=False)
    for trainer in (whole, parts):
        trainer.optim_step("1", 0.5)

    for first, second in zip(whole.module.parameters(), parts.module.parameters(), strict=True):
        assert torch.allclose(first, second, atol=1e-5)


def test_a_step_is_made_once_and_can_be_gone_on_with(example):
    """
    Idempotent, and the same from what was saved.
    """
    first = made(example)
    first.forward_backward(batch(0), reset=True)
    told = first.optim_step("1", 1.0)
    published, state = first.publish(), first.state_dict()
    second = made(example)
    second.store = first.store
    second.load(published, state)

    assert told == first.optim_step("1", 1.0)
    assert published == first.publish()
    for trainer in (first, second):
        trainer.forward_backward(batch(1), reset=True)
        trainer.optim_step("2", 1.0)
    assert first.publish() == second.publish()


def test_it_learns(example):
    """
    In a run as any other trainer's.
    """
    steps = []
    trainer = async_trainer(Echo, made(example))
    result = trainer.run(updates=40, driver="threads", on_step=steps.append)

    assert "updates" == result.stop_reason
    assert np.mean([step.metrics["reward/mean"] for step in steps[-5:]]) > 0.8
