"""
The protocol of environments, and what plays an episode of one.
"""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys

import pytest

from headway.errors import OptionError, UsageError
from headway_envs import Environment, Episode, Step, play, play_async


class Countdown:
    """
    Counts down from the task; the reward is what the action says, if it is a number.
    """

    def reset(self, task, rng):
        self.left, self.rng = task, rng
        return [self.left]

    def step(self, action):
        self.left -= 1
        return [self.left], float(action), self.left == 0, {"drawn": self.rng.random()}


class Agent:
    """
    A conversation with a tool: the action is a message, the tool's answer the next observation.
    """

    def __init__(self):
        self.asked = []

    async def reset(self, task, rng):
        await asyncio.sleep(0)
        self.messages = [{"role": "user", "content": task["question"]}]
        self.answer = task["answer"]
        return list(self.messages)

    async def step(self, action):
        self.messages.append({"role": "assistant", "content": action})
        if action.startswith("answer "):
            right = action.removeprefix("answer ") == self.answer
            return Step(list(self.messages), float(right), True, {"success": right})
        self.messages.append({"role": "tool", "content": await self.tool(action)})
        return Step(list(self.messages), 0.0, False, {})

    async def tool(self, words):
        await asyncio.sleep(0)
        self.asked.append(words)
        first, _, second = words.split()
        return str(int(first) + int(second))


async def model(messages, rng):
    """
    Asks the tool once, then believes it.
    """
    await asyncio.sleep(0)
    last = messages[-1]
    return f"answer {last['content']}" if last["role"] == "tool" else last["content"]


QUESTION = {"question": "2 + 3", "answer": "5"}


def one(seen, rng):
    return 1


def test_an_episode_is_told_turn_by_turn():
    """
    One observation more than actions; the reward is the sum.
    """
    got = play(Countdown(), 3, lambda seen, rng: seen[0], random.Random(1))
    chance = random.Random(1)

    assert ([3], [2], [1], [0]) == got.observations
    assert (3, 2, 1) == got.actions
    assert (3.0, 2.0, 1.0) == got.rewards
    assert (6.0, True) == (got.reward, got.done)
    assert [chance.random() for _ in range(3)] == [info["drawn"] for info in got.infos]


def test_a_limit_of_turns_cuts_an_episode_off():
    """
    Then it is not done; a limit that it does not reach changes nothing.
    """
    cut = play(Countdown(), 3, one, random.Random(1), turns=2)
    whole = play(Countdown(), 3, one, random.Random(1))

    assert (2, False) == (len(cut.actions), cut.done)
    assert whole == play(Countdown(), 3, one, random.Random(1), turns=3)
    assert whole == play(Countdown(), 3, one, random.Random(1), turns=99)


def test_a_conversation_with_tools_is_an_episode():
    """
    Its coroutines are awaited, the policy's as well.
    """
    agent = Agent()
    got = asyncio.run(play_async(agent, QUESTION, model, random.Random(0)))

    assert ("2 + 3", "answer 5") == got.actions
    assert ["2 + 3"] == agent.asked
    assert {"success": True} == got.infos[-1]
    assert (1.0, True) == (got.reward, got.done)
    assert ["user", "assistant", "tool", "assistant"] == [m["role"] for m in got.observations[-1]]


def test_conversations_run_side_by_side():
    """
    An object for each; none sees another's messages.
    """

    async def several():
        tasks = [{"question": f"{n} + {n}", "answer": str(2 * n)} for n in range(20)]
        played = (play_async(Agent(), task, model, random.Random(0)) for task in tasks)
        return await asyncio.gather(*played)

    assert [f"answer {2 * n}" for n in range(20)] == [e.actions[-1] for e in asyncio.run(several())]


def test_plain_functions_can_be_played_in_a_loop():
    """
    The same episode as without one.
    """
    got = asyncio.run(play_async(Countdown(), 4, one, random.Random(5), turns=3))

    assert play(Countdown(), 4, one, random.Random(5), turns=3) == got


class HalfAsync(Countdown):
    async def step(self, action):
        return super().step(action)


@pytest.mark.parametrize(
    ("environment", "act", "name"),
    [(Agent(), one, "reset"), (HalfAsync(), one, "step"), (Countdown(), model, "act")],
    ids=["reset", "step", "act"],
)
def test_coroutines_can_not_be_played_without_a_loop(environment, act, name):
    """
    The error says which function it was, and what plays it; no coroutine is left behind.
    """
    with pytest.raises(UsageError, match=f"^{name} returned something to await: .* play_async"):
        play(environment, 3, act, random.Random(0))


@pytest.mark.parametrize("turns", [0, -1, 1.5, True, "3"])
def test_a_limit_that_is_none_is_refused(turns):
    with pytest.raises(OptionError, match=r"^turns=.*Give a whole number of at least 1"):
        play(Countdown(), 3, one, random.Random(0), turns=turns)
    with pytest.raises(OptionError, match=r"^turns="):
        asyncio.run(play_async(Countdown(), 3, one, random.Random(0), turns=turns))


def test_an_error_of_the_environment_is_the_callers():
    """
    Nothing is caught.
    """
    with pytest.raises(ValueError, match="could not convert"):
        play(Countdown(), 3, lambda seen, rng: "much", random.Random(0))


def test_both_kinds_fit_the_protocol():
    """
    For a reader and a type checker: neither class derives from anything.
    """
    environments: list[Environment] = [Countdown(), Agent()]

    assert all(callable(each.reset) and callable(each.step) for each in environments)


def test_an_episode_is_a_frozen_value():
    got = play(Countdown(), 1, one, random.Random(0))
    with pytest.raises(AttributeError):
        got.done = False

    assert isinstance(got, Episode)


def test_the_import_needs_neither_numpy_nor_gymnasium():
    """
    Only what uses them loads them.
    """
    code = (
        "import sys, headway_envs; print([n for n in ('numpy', 'gymnasium') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert "[]" == done.stdout.strip()
