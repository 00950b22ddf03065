"""
The scripts that made the warm start and show what can be learned.
"""

from __future__ import annotations

import importlib.util
import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from headway_envs.miniterm import MiniTerm, TaskBatch, rollouts, warm_start
from headway_envs.miniterm._rules import PRINTS

SCRIPTS = Path(__file__).parent.parent / "scripts"


def script(name):
    if not (path := SCRIPTS / f"{name}.py").exists():
        pytest.skip("needs a checkout with the scripts")
    spec = importlib.util.spec_from_file_location(f"envs_{name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_an_expert_solves_every_task_from_what_a_policy_sees():
    """
    So a policy without memory can, and sixteen commands are enough.
    """
    expert, batch, world = script("make_warm_start").expert, TaskBatch.draw(31, 0, 600), MiniTerm()
    lengths = []
    for episode in range(len(batch)):
        world.reset(batch.task(episode))
        printed, step = 0, None
        while step is None or not step.done:
            step = world.step(expert(world.goal, world.world, printed))
            printed = PRINTS.index(step.info["printed"])
        lengths.append(world.turns)

        assert step.info["success"]
    assert (3, 12) == (min(lengths), max(lengths))


def test_the_script_makes_the_file(tmp_path):
    """
    To what another machine's linear algebra may change.
    """
    path = SCRIPTS / "make_warm_start.py"
    if not path.exists():
        pytest.skip("needs a checkout with the scripts")
    command = [sys.executable, str(path), "--out", str(tmp_path / "made.npy")]
    one_thread = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, env=one_thread, capture_output=True, text=True, check=True)
    made = np.load(tmp_path / "made.npy")

    assert "likeliest commands: success 0.258" in done.stdout
    assert np.float32 == made.dtype
    assert np.abs(made - warm_start()).max() < 1e-3


def test_the_policy_gradient_is_the_slope():
    """
    Against finite differences of what it is the gradient of.
    """
    plain = script("plain_pg")
    batch, rng = TaskBatch.draw(0, 0, 4), np.random.default_rng(0)
    tasks = [batch.task(n) for n in range(4) for _ in range(3)]
    theta = warm_start()
    seen, commands, episode, rewards = played = plain.played(theta, tasks, rng)
    centred = (rewards.reshape(4, 3) - rewards.reshape(4, 3).mean(axis=1, keepdims=True)).ravel()
    slope = plain.slope(theta, played, 3)

    def value(there):
        chance = plain.forward(there, seen)[1][np.arange(len(commands)), commands]
        return float((np.log(chance) * centred[episode]).sum()) / len(rewards)

    for where in random.Random(0).sample(range(len(theta)), 40):
        step = np.zeros_like(theta)
        step[where] = 1e-5

        assert (value(theta + step) - value(theta - step)) / 2e-5 == pytest.approx(
            slope[where], abs=1e-7
        )


@pytest.mark.parametrize("name", ["plain_es", "plain_pg"])
def test_both_learners_run(name, monkeypatch, capsys):
    """
    Two updates of each: a line a seed that begins with the warm start's success.
    """
    monkeypatch.setattr(sys, "argv", [name, "--seeds", "1", "--updates", "2"])
    script(name).main()
    told = capsys.readouterr().out
    sample = name == "plain_pg"
    start = rollouts(warm_start(), TaskBatch.draw(0, 2**32, 2048), sample=sample).success.mean()

    assert told.startswith("seed 0")
    assert f": {100 * start:5.1f}" in told
