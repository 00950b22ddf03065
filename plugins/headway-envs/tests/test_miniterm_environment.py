"""
MiniTerm as an environment, one episode at a time.
"""

from __future__ import annotations

import json
import pickle
import random

import pytest

from headway.errors import OptionError, UsageError
from headway_envs import Slow, play
from headway_envs.miniterm import COMMANDS, PRINTS, MiniTerm, TaskBatch
from headway_envs.miniterm._rules import apply, fitness
from headway_envs.miniterm._rules import tests as run_tests

BATCH = TaskBatch.draw(17, 0, 200)
TASK = {"kind": "move", "token": 1, "to": 3, "files": [3, 1, 0, 2], "start": 2}
SOLUTION = ["cd 1", "look", "copy", "remove", "cd 3", "paste", "submit"]


def run(commands, *, task=TASK, **options):
    """
    The steps of an episode of these commands.
    """
    world = MiniTerm(**options)
    world.reset(task)
    return [world.step(COMMANDS.index(command)) for command in commands]


def test_a_solved_task():
    """
    The reward comes at the end, and the info tells what passed.
    """
    steps = run(SOLUTION)

    assert [0.0] * 6 + [1.0] == [step.reward for step in steps]
    assert [False] * 6 + [True] == [step.done for step in steps]
    assert ["", "token 1", "done", "empty", "", "done", ""] == [s.info["printed"] for s in steps]
    assert {
        "printed": "",
        "found": True,
        "changed": True,
        "clean": True,
        "success": True,
    } == steps[-1].info


def test_success_alone_may_be_rewarded():
    """
    Then a part of the tests brings nothing.
    """
    assert 1.0 == run(SOLUTION, reward="success")[-1].reward
    assert 0.0 == run(["look", "cd 1", "look", "submit"], reward="success")[-1].reward
    assert 0.2 == run(["look", "cd 1", "look", "submit"])[-1].reward


def test_sixteen_commands_end_an_episode():
    """
    What was not submitted is not clean.
    """
    steps = run([*SOLUTION[:-1], *["wait"] * 10])

    assert 16 == len(steps)
    assert [False] * 15 + [True] == [step.done for step in steps]
    assert 0.4 == steps[-1].reward


def test_the_sixteenth_command_may_submit():
    assert 1.0 == run([*["wait"] * 9, *SOLUTION])[-1].reward


def test_an_observation_is_27_numbers_as_json():
    """
    Kind, token, goal; directory, line, clipboard.
    """
    world = MiniTerm()
    first = world.reset(TASK)
    last = [world.step(COMMANDS.index(command)) for command in SOLUTION[:3]][-1].observation
    told = [0.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]

    assert told + [0.0, 0.0, 1.0, 0.0] + [0.0] * 7 + [0.0] * 4 == first
    assert [*told, 0.0, 1.0, 0.0, 0.0, 0, 0, 0, 0, 0, 1.0, 0, 0, 1.0, 0, 0] == last
    assert first == json.loads(json.dumps(first))


def test_what_is_not_told_is_not_seen():
    """
    Two tasks that differ in where the files are look equal until one looks.
    """
    other = {**TASK, "files": [1, 3, 0, 2]}

    assert MiniTerm().reset(TASK) == MiniTerm().reset(other)
    assert run(["cd 1"])[0] == run(["cd 1"], task=other)[0]
    assert run(["cd 1", "look"])[1] != run(["cd 1", "look"], task=other)[1]


@pytest.mark.parametrize("seed", range(200))
def test_random_playouts_follow_the_rules(seed):
    """
    Random commands: every line, world and test is the one of the rules.
    """
    rng, goal = random.Random(seed), BATCH.goal(seed)
    world, found = goal.begin(), False
    mini = MiniTerm()
    mini.reset(BATCH.task(seed))
    for turn in range(1, 17):
        command = rng.randrange(11 if rng.random() < 0.9 else 12)
        world, printed = apply(world, command)
        found |= COMMANDS[command] == "look" and printed == 1 + goal.token
        step = mini.step(command)

        assert (PRINTS[printed], world) == (step.info["printed"], mini.world)
        assert (command == 11 or turn == 16) == step.done
        if step.done:
            passed = run_tests(goal, world, found=found, submitted=command == 11)
            assert fitness(passed) == step.reward
            break


def test_one_object_plays_many_episodes():
    """
    Nothing of the last one is left.
    """
    rng = random.Random(0)
    world = MiniTerm()
    for episode in range(50):
        again = [
            play(each, BATCH.task(episode), lambda seen, chance: chance.randrange(12), kept)
            for each, kept in (
                (world, random.Random(episode)),
                (MiniTerm(), random.Random(episode)),
            )
        ]

        assert again[0] == again[1]
    assert 0 < rng.random()


def test_reset_in_the_middle_begins_anew():
    world = MiniTerm()
    first = world.reset(TASK)
    world.step(COMMANDS.index("wipe"))

    assert first == world.reset(TASK)


def test_nothing_is_drawn_from_the_generator():
    rng = random.Random(3)
    MiniTerm().reset(TASK, rng)

    assert random.Random(3).getstate() == rng.getstate()


def test_a_step_without_an_episode_is_refused():
    """
    Before the first one, and after its end.
    """
    world = MiniTerm()
    with pytest.raises(UsageError, match="begin another one with reset"):
        world.step(0)
    world.reset(TASK)
    world.step(COMMANDS.index("submit"))
    with pytest.raises(UsageError, match="begin another one with reset"):
        world.step(0)


@pytest.mark.parametrize("action", [-1, 12, 1.5, True, "look", None, float("nan")])
def test_an_action_that_is_none_is_refused_and_changes_nothing(action):
    world = MiniTerm()
    world.reset(TASK)
    with pytest.raises(OptionError, match=r"^action=.*Give a whole number from 0 to 11"):
        world.step(action)

    assert (0, False) == (world.turns, world.step(0).done)


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "swap"},
        {"kind": 3},
        {"token": 4},
        {"to": -1},
        {"to": 1},
        {"start": 4},
        {"files": [0, 1, 2]},
        {"files": [0, 1, 1, 2]},
        {"files": None},
        {"token": "1"},
    ],
    ids=str,
)
def test_a_task_that_is_none_is_refused(change):
    """
    With the task in the error, and where to get one.
    """
    with pytest.raises(OptionError, match=r"^task=.*Give one that TaskBatch.task has made"):
        MiniTerm().reset({**TASK, **change})


@pytest.mark.parametrize("task", [None, {}, [], "move", {"kind": "move"}], ids=str)
def test_what_is_no_task_at_all_is_refused(task):
    with pytest.raises(OptionError, match=r"^task="):
        MiniTerm().reset(task)


def test_another_reward_is_refused():
    with pytest.raises(OptionError, match=r"^reward='speed': Give one of tests, success\."):
        MiniTerm(reward="speed")


def test_it_may_travel_to_another_process():
    """
    Fresh, in the middle of an episode, and slow.
    """
    world = MiniTerm()
    fresh = pickle.loads(pickle.dumps(world))
    world.reset(TASK)
    world.step(COMMANDS.index("cd 1"))
    halfway = pickle.loads(pickle.dumps(Slow(world, "none")))

    assert MiniTerm().reset(TASK) == fresh.reset(TASK)
    assert world.step(COMMANDS.index("look")) == halfway.step(COMMANDS.index("look"))
