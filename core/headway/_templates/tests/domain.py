"""
The contract of its kind, and what only this one does.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from headway import run
from headway._templates.domain import WORDS, NewcomerDomain
from headway.errors import OptionError
from headway.testing.conformance import DomainContract


class TestNewcomerDomain(DomainContract):
    """
    What every domain must do.
    """

    @pytest.fixture
    def make(self) -> Callable[[], NewcomerDomain]:
        """
        A function that makes a new one.
        """
        return NewcomerDomain


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_a_run_learns_every_word(mode: str) -> None:
    """
    Every held-out and test phrase can be translated at the end, although some proposals were wrong.
    """
    result = run(NewcomerDomain(slips=0.3), mode=mode, driver="simulated", seed=1)

    assert (1.0, 1.0) == (result.final_reward, result.test_reward)
    assert set(result.state) <= set(WORDS)


@pytest.mark.parametrize("slips", [1.5, "many"])
def test_a_share_is_from_0_to_1(slips: str | float) -> None:
    """
    Also when it is a text, as the command line gives it.
    """
    with pytest.raises(OptionError, match="Give a number from 0 to 1"):
        NewcomerDomain(slips=slips)
