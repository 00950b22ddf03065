"""
Environments that take time: how long, and that nothing else changes.
"""

from __future__ import annotations

import asyncio
import random
import threading
from statistics import fmean, median

import pytest

from headway.durations import Constant, LogNormal, Pareto, parse_law
from headway.errors import OptionError, UsageError
from headway_envs import Slow, SlowAsync, play, play_async, seconds_of
from headway_envs.miniterm import MiniTerm, TaskBatch

BATCH = TaskBatch.draw(3, 0, 50)


def act(seen, rng):
    return rng.randrange(12)


class Clock:
    """
    Notes how long it was asked to sleep.
    """

    def __init__(self):
        self.slept = []

    def sleep(self, seconds):
        self.slept.append(seconds)

    async def pause(self, seconds):
        self.sleep(seconds)


class Coroutines:
    async def reset(self, task, rng):
        return 0

    async def step(self, action):
        return 1, 1.0, True, {}


def test_an_episode_is_the_same_with_and_without_waiting():
    """
    Nothing is drawn from its generator.
    """
    for n in range(len(BATCH)):
        slow = Slow(MiniTerm(), "lognormal:1,1", sleep=Clock().sleep)
        rngs = random.Random(n), random.Random(n)

        assert play(MiniTerm(), BATCH.task(n), act, rngs[0]) == play(
            slow, BATCH.task(n), act, rngs[1]
        )
        assert rngs[0].getstate() == rngs[1].getstate()


def test_each_turn_takes_an_equal_share():
    """
    Of the time that an episode of so many turns takes.
    """
    clock = Clock()
    slow = Slow(MiniTerm(), Constant(8.0), turns=16, sleep=clock.sleep)
    done = play(slow, BATCH.task(0), act, random.Random(1))

    assert [0.5] * len(done.actions) == clock.slept


def test_equal_generators_take_equally_long():
    """
    And others take another time, also on the same task.
    """
    law = LogNormal(1.0, 1.0)
    seconds = [seconds_of(law, random.Random(seed)) for seed in range(100)]

    assert [seconds_of(law, random.Random(seed)) for seed in range(100)] == seconds
    assert 100 == len(set(seconds))


def test_the_generators_state_counts_and_not_its_seed():
    """
    An episode that begins later in the same stream takes its own time.
    """
    rng, law = random.Random(3), LogNormal(1.0, 1.0)
    first = seconds_of(law, rng)
    for _ in range(700):  # past the state's next renewal
        rng.random()

    assert first != seconds_of(law, rng)


def test_two_episodes_of_one_stream_take_different_times():
    """
    Also where little was drawn between them.
    """
    rng, law = random.Random(3), LogNormal(1.0, 1.0)
    seconds = []
    for _ in range(50):
        seconds.append(seconds_of(law, rng))
        rng.random()

    assert 50 == len(set(seconds))


@pytest.mark.parametrize("law", [LogNormal(2.0, 1.0), Pareto(2.0, 2.5)], ids=str)
def test_durations_follow_the_law(law):
    """
    Median within 5 %, mean within 10 %, of 4,000 episodes.
    """
    seconds = [seconds_of(law, random.Random(f"slow {seed}")) for seed in range(4_000)]

    assert median(seconds) == pytest.approx(law.draw(0.5), rel=0.05)
    assert fmean(seconds) == pytest.approx(law.mean, rel=0.1)


def test_the_wait_comes_before_the_action():
    """
    As a tool's answer does: the world has not moved while one waits.
    """
    inner, turns = MiniTerm(), []
    slow = Slow(inner, Constant(1.0), sleep=lambda seconds: turns.append(inner.turns))
    slow.reset(BATCH.task(0), random.Random(0))
    slow.step(0)
    slow.step(1)

    assert [0, 1] == turns


@pytest.mark.parametrize("inner", [MiniTerm, Coroutines])
def test_coroutines_may_wait_too(inner):
    """
    Whatever the inner environment is.
    """
    clock = Clock()
    slow = SlowAsync(inner(), Constant(3.0), turns=3, sleep=clock.pause)
    done = asyncio.run(play_async(slow, BATCH.task(0), act, random.Random(0)))

    assert done.done
    assert [1.0] * len(done.actions) == clock.slept


def test_both_wait_equally_long():
    """
    Equal generators, equal waits.
    """
    clocks = Clock(), Clock()
    slow = Slow(MiniTerm(), "pareto:1,1.5", sleep=clocks[0].sleep)
    other = SlowAsync(MiniTerm(), "pareto:1,1.5", sleep=clocks[1].pause)
    got = play(slow, BATCH.task(4), act, random.Random(9))

    assert got == asyncio.run(play_async(other, BATCH.task(4), act, random.Random(9)))
    assert clocks[0].slept == clocks[1].slept


def test_a_slow_one_has_what_the_inner_one_has():
    """
    Such as its sizes; what neither has is an error.
    """
    slow = Slow(MiniTerm(), Constant(0.0))

    assert (27, 12) == (slow.observation_size, slow.actions)
    with pytest.raises(AttributeError, match="speed"):
        _ = slow.speed


@pytest.mark.parametrize("name", ["reset", "step"])
def test_coroutines_are_not_for_the_one_that_sleeps(name):
    """
    The error names the one that is for them.
    """
    inner = Coroutines()
    if name == "step":
        inner.reset = lambda task, rng: 0
    with pytest.raises(UsageError, match=f"^{name} returned .* wrap it with SlowAsync"):
        play(Slow(inner, Constant(0.0)), None, act, random.Random(0))


@pytest.mark.parametrize("kind", [Slow, SlowAsync])
@pytest.mark.parametrize(
    ("option", "given"),
    [
        ("law", {"law": "often"}),
        ("law", {"law": "lognormal:1"}),
        ("turns", {"law": "none", "turns": 0}),
        ("turns", {"law": "none", "turns": 2.5}),
    ],
)
def test_what_can_not_be_waited_for_is_refused(kind, option, given):
    with pytest.raises(OptionError, match=f"^{option}="):
        kind(MiniTerm(), **given)


def test_a_law_may_be_a_text():
    assert parse_law("uniform:1,2") == Slow(MiniTerm(), "uniform:1,2").law


def test_a_barrier_waits_for_the_slowest_on_real_threads():
    """
    Eight threads in rounds need the sum of the rounds' longest times; the waits are real ones, and
    a barrier of the threads themselves makes the rounds.
    """
    law, rounds, workers = LogNormal(0.002, 1.5), 4, 8
    barrier, waited = threading.Barrier(workers), [[0.0] * workers for _ in range(rounds)]

    def work(number):
        for turn in range(rounds):
            rng = random.Random(f"{turn} {number}")
            total = Clock()

            def sleep(seconds, total=total):
                total.sleep(seconds)
                threading.Event().wait(seconds)

            slow = Slow(MiniTerm(), law, turns=1, sleep=sleep)
            play(slow, BATCH.task(0), lambda seen, rng: 11, rng)
            waited[turn][number] = sum(total.slept)
            barrier.wait()

    threads = [threading.Thread(target=work, args=(n,)) for n in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    planned = [
        [seconds_of(law, random.Random(f"{turn} {n}")) for n in range(workers)]
        for turn in range(rounds)
    ]
    longest = sum(max(row) for row in planned)
    balanced = sum(map(sum, planned)) / workers

    assert planned == waited
    assert longest > 2 * balanced
