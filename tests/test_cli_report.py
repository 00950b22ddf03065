"""
What ``headway run`` says of the final reward, of what was charged and of why it ended.
"""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from headway import run
from headway._words import REASONS
from headway.cli._ending import Ending, _lines
from headway.cli._progress import OUTCOMES
from headway.contracts import SweepOutcome
from headway.machine._config import STOPS_DRAINING, STOPS_HALTING
from headway.testing import ToyDomain

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def report(domain, **options):
    result = run(domain, driver="simulated", **options)
    return result, Ending(name="toy", bare=False, folder=Path("out"), result=result).text()


def test_every_reason_and_outcome_has_words():
    """
    Whatever a run or a sweep comes to can be said.
    """
    assert {*STOPS_DRAINING, *STOPS_HALTING} == set(REASONS)
    assert set(get_args(SweepOutcome)) == set(OUTCOMES)


def test_a_noisy_final_reward_comes_with_its_interval():
    """
    With the three digits of the reward itself.
    """
    result, text = report(ToyDomain(noise=0.2), max_rollouts=60)
    low, high = result.scores["final"].interval

    assert f"{result.final_reward:.3f} (95 % interval {low:.3f} to {high:.3f})" in text


def test_a_certain_final_reward_stands_alone():
    """
    Deterministic rewards have no spread to be told, and nothing that was not charged is told.
    """
    _, text = report(ToyDomain(), max_rollouts=60)

    assert "interval" not in text
    assert "gate" not in text
    assert "charged" not in text


def test_a_reward_of_the_gate_is_told_as_one():
    """
    So that nobody takes it for the final score.
    """
    _, text = report(ToyDomain(), max_calls=15)

    assert "(the gate's last measurement)" in text


def test_what_was_charged_is_told():
    """
    Tokens, and the option that ended the run.
    """
    result, text = report(ToyDomain(tokens=100), max_tokens=9_000, tokens_per_call=100)

    assert f"charged   {result.usage.tokens} tokens\n" in text
    assert "because the tokens were used up (max_tokens)" in text


@pytest.mark.parametrize(
    ("text", "lines"),
    [("", "0 lines"), ("one", "1 line"), ("one\n", "1 line"), ("one\ntwo", "2 lines")],
)
def test_lines_are_counted_with_the_last_one(text, lines):
    """
    Whether or not it ends in a line break.
    """
    assert lines == _lines(text)
