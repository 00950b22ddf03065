"""
MiniTerm's tasks: what they hold, and that they are keyed.
"""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest

from headway.errors import OptionError
from headway_envs.miniterm import KINDS, SCALE, TaskBatch
from headway_envs.miniterm._rules import wanted
from headway_envs.miniterm._tables import code_of
from headway_envs.miniterm._tasks import _NOISE, _TASKS, _generator

BATCH = TaskBatch.draw(11, 4, 400)


def test_equal_keys_draw_equal_tasks():
    """
    Another seed or another batch draws others.
    """
    again = [TaskBatch.draw(11, 4, 400).task(n) for n in range(400)]
    others = [TaskBatch.draw(11, 5, 400), TaskBatch.draw(12, 4, 400), TaskBatch.draw(4, 11, 400)]

    assert [BATCH.task(n) for n in range(400)] == again
    assert all([other.task(n) for n in range(400)] != again for other in others)


@pytest.mark.parametrize("episodes", [1, 7, 399])
def test_a_longer_batch_begins_with_the_shorter_one(episodes):
    """
    Its tasks and its noise.
    """
    short = TaskBatch.draw(11, 4, episodes)

    assert [BATCH.task(n) for n in range(episodes)] == [short.task(n) for n in range(episodes)]
    assert np.array_equal(BATCH.noise()[:episodes], short.noise())


def test_every_task_can_be_done_and_asks_for_something():
    """
    Each token lies in one directory, and a file is never to go where it is.
    """
    goals = [BATCH.goal(n) for n in range(len(BATCH))]

    assert all(sorted(goal.files) == [0, 1, 2, 3] for goal in goals)
    assert all(goal.to != goal.source for goal in goals)
    assert all(0 <= goal.start < 4 for goal in goals)


@pytest.mark.parametrize("what", ["kind", "token", "to", "start", "source"])
def test_all_choices_are_about_as_frequent(what):
    """
    4,000 tasks: each of the four values comes up between 900 and 1,100 times.
    """
    batch = TaskBatch.draw(0, 0, 4_000)
    counts = Counter(getattr(batch.goal(n), what) for n in range(len(batch)))

    assert {0, 1, 2, 3} == set(counts)
    assert all(900 < count < 1_100 for count in counts.values())


def test_a_task_is_json():
    """
    And says all that there is to it.
    """
    task, goal = BATCH.task(3), BATCH.goal(3)

    assert task == json.loads(json.dumps(task))
    assert {
        "kind": KINDS[goal.kind],
        "token": goal.token,
        "to": goal.to,
        "files": list(goal.files),
        "start": goal.start,
    } == task


def test_arrays_say_what_goals_say():
    """
    The index, the first world, what is wanted, and where the test looks.
    """
    goals = [BATCH.goal(n) for n in range(len(BATCH))]
    files, link = BATCH.wanted()
    ends = [wanted(goal) for goal in goals]
    changes = {
        "link": lambda goal: set(),
        "remove": lambda goal: {goal.source},
        "copy": lambda goal: {goal.to},
        "move": lambda goal: {goal.source, goal.to},
    }

    assert [goal.index for goal in goals] == BATCH.index.tolist()
    assert [code_of(goal.begin()) for goal in goals] == BATCH.codes.tolist()
    assert [sum(t * 5**n for n, t in enumerate(f)) for f, _ in ends] == files.tolist()
    assert [end[1] for end in ends] == link.tolist()
    assert [changes[KINDS[goal.kind]](goal) for goal in goals] == [
        set(np.flatnonzero(row).tolist()) for row in BATCH.mask()
    ]


def test_noise_is_gumbels_in_whole_multiples():
    """
    Its mean is Euler's constant, its variance pi**2 / 6; it is drawn once.
    """
    noise = BATCH.noise()

    assert noise is BATCH.noise()
    assert (400, 16, 12) == noise.shape
    assert np.array_equal(np.rint(noise), noise)
    assert abs(float(noise.mean()) / SCALE - 0.5772) < 0.02
    assert abs(float((noise / SCALE).var()) - np.pi**2 / 6) < 0.05


@pytest.mark.parametrize(
    ("option", "key"),
    [
        ("seed", (-1, 0, 1)),
        ("seed", (2**64, 0, 1)),
        ("seed", (True, 0, 1)),
        ("batch", (0, -1, 1)),
        ("batch", (0, 1.0, 1)),
        ("episodes", (0, 0, 0)),
        ("episodes", (0, 0, "3")),
    ],
)
def test_a_key_that_is_none_is_refused(option, key):
    """
    The error names which part of it, and the remedy.
    """
    with pytest.raises(OptionError, match=rf"^{option}=.*Give a whole number of at least"):
        TaskBatch.draw(*key)


def test_the_largest_key_can_be_drawn():
    assert 1 == len(TaskBatch.draw(2**64 - 1, 2**64 - 1, 1))


def test_tasks_and_noise_are_drawn_from_streams_of_their_own():
    """
    Neither tells anything about the other.
    """
    first = [_generator(1, 2, purpose).random(1_000) for purpose in (_TASKS, _NOISE)]

    assert abs(float(np.corrcoef(first)[0, 1])) < 0.1
