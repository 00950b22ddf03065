"""
The picture of a run.
"""

from __future__ import annotations

import random
import sys

import attrs
import pytest
from rl_worlds import Echo, async_trainer, card

from headway import run
from headway.durations import parse_law
from headway.errors import UsageError
from headway_envs import Slow
from headway_rl import Groupwise, Schedule, Timeline, group_of, weigh
from headway_rl._recorder import Bar, Recorder
from headway_rl._timeline import Wait, lanes

LAWS = {"rollout": parse_law("lognormal:1,1"), "train": parse_law("constant:0.5")}


def weighed(*numbers):
    return weigh([group_of(card(number, [1.0, 0.0])) for number in numbers], Groupwise())


def bar(began, ended, **more):
    return Bar(**{"kind": "sampling", "began": began, "ended": ended, **more})


@pytest.mark.parametrize("seed", range(20))
def test_no_two_bars_of_a_lane_overlap(seed):
    """
    And there are no more lanes than bars at once.
    """
    rng = random.Random(seed)
    starts = sorted(rng.random() for _ in range(60))
    bars = [bar(start, start + rng.random() / 4) for start in starts]
    drawn = lanes(bars)

    for lane, first in drawn:
        for other, second in drawn:
            if first is not second and lane == other:
                assert first.ended <= second.began or second.ended <= first.began
    most = max(sum(b.began <= at < b.ended for b in bars) for at in starts)
    assert most == 1 + max(lane for lane, _ in drawn)


def test_what_has_not_ended_is_left_out():
    """
    A run that was interrupted has such bars.
    """
    assert [] == lanes([bar(0.0, None)])


def test_a_picture_is_written(tmp_path):
    """
    In both formats, and the SVG twice the same.
    """
    pytest.importorskip("matplotlib", reason="needs matplotlib")
    timeline = Timeline(
        bars=(bar(0.0, 1.0), bar(0.5, 2.0, version=1), bar(2.0, 2.5, kind="update", group=-1)),
        waits=(Wait(began=1.0, seconds=1.0),),
        seconds=3.0,
    )
    for name in ("a.svg", "b.svg", "a.png"):
        timeline.draw(tmp_path / name)

    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert "waits for the bound" in (tmp_path / "a.svg").read_text()
    assert (tmp_path / "a.png").stat().st_size > 1_000


def test_a_run_draws_itself(tmp_path):
    """
    Each episode and each update is a bar within the run's seconds.
    """
    pytest.importorskip("matplotlib", reason="needs matplotlib")
    trainer = async_trainer(
        lambda: Slow(Echo(), "constant:0.002", turns=4), schedule=Schedule(concurrency=8)
    )
    trainer.run(updates=5, driver="threads", timeline=tmp_path / "run.svg")

    assert "trajectories" in (tmp_path / "run.svg").read_text()


def drawn(**options):
    slots = Schedule(concurrency=32)
    trainer = async_trainer(schedule=slots, forward_backward_batch=None)
    call, watcher = trainer._call(
        lambda step: None,
        {"updates": 20, "driver": "simulated", "durations": LAWS, "validate": True, **options},
    )
    return run(**call), watcher.timeline()


def test_a_simulated_run_has_a_timeline_of_virtual_seconds():
    """
    Each episode is as long as its ticket was, at most as many are at once as there are slots, an update
    takes as long as training does, and each wait ends where one begins.
    """
    result, timeline = drawn()
    episodes, updates = timeline.sampling(), timeline.training()

    assert 20 * 16 == len(episodes) == result.completions["ok"]
    assert [0.5] * 20 == [pytest.approx(bar.ended - bar.began) for bar in updates]
    assert max(lane for lane, _ in episodes) < 32
    assert {bar.group for _, bar in episodes} == set(range(80))
    assert {4} == {bar.tokens for _, bar in episodes}
    assert timeline.waits
    for wait in timeline.waits:
        assert wait.began + wait.seconds in {bar.began for bar in updates}
    seconds = sum(bar.ended - bar.began for _, bar in episodes)
    assert seconds == pytest.approx(result.slot_seconds["rollout"])


def test_a_simulated_timeline_is_the_same_twice():
    """
    As all of such a run.
    """
    first, second = (attrs.asdict(drawn()[1]) for _ in range(2))

    assert first == second


def test_without_matplotlib_the_remedy_is_named(tmp_path, monkeypatch):
    """
    After the run, whose result is not lost by it.
    """
    monkeypatch.setitem(sys.modules, "matplotlib", None)

    with pytest.raises(UsageError, match=r"pip install 'headway\[plot\]'"):
        Timeline(bars=()).draw(tmp_path / "a.svg")


def test_a_recorder_forgets_what_was_trained_in_vain():
    """
    Groups of a batch that was given up come again in another one.
    """
    recorder = Recorder()
    payload, answer = (
        {"do": "update", "version": 0, "chunks": []},
        {"metrics": {}, "rebuilt": False},
    )
    for numbers in ([0, 1], [0, 2], [3], [5]):
        recorder.trained(weighed(*numbers), payload, answer)

    assert [(0, 2), (3,)] == [batch.groups for batch in recorder.batches({0, 1, 2, 3, 4})]
    assert [(5,)] == [batch.groups for batch in recorder.batches({5})]
    assert [] == recorder.batches({0, 2, 5})


def test_a_recorder_that_nobody_asks_keeps_little(monkeypatch):
    """
    As in a run that was begun by name, whose metrics nobody wants.
    """
    monkeypatch.setattr("headway_rl._recorder.MOST_BARS", 10)
    recorder = Recorder()
    for number in range(100):
        recorder.end(recorder.begin("sampling", ticket=number))
        payload = {"do": "update", "version": 0, "chunks": []}
        recorder.trained(
            weighed(number),
            payload,
            {"metrics": {}, "rebuilt": False},
        )

    assert 10 == len(recorder.bars) == len(recorder.take())
    assert 64 == len(recorder._batches)
    assert 10 == len(recorder._tickets)
