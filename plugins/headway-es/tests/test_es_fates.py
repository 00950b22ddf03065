"""
Who is dropped.
"""

from __future__ import annotations

import json

import pytest

from headway import run
from headway.contracts import CardDecided, Decision, GroupDropped, TicketEnded
from headway.durations import parse_law
from headway.testing.conformance import ObserverContract
from headway_es import ESDomain, Fate, Fates, schedule
from headway_es._told import ToldFates


class TestFates(ObserverContract):
    @pytest.fixture
    def make(self):
        return Fates


def ended(group, reward, completion="ok", seconds=1.0):
    return TicketEnded(1.0, group, "train-0", completion, reward, group, seconds=seconds)


def decided(group, kind):
    reason = "" if kind == "committed" else "stale"
    decision = Decision(card=group, kind=kind, reason=reason, version=3)
    return CardDecided(now=2.0, decision=decision, eta=0)


def told(*notices):
    fates = Fates()
    for notice in notices:
        fates(notice)
    return fates


def test_before_anything_there_is_nothing_to_compare():
    """
    No mean of nothing.
    """
    fates, nothing = Fates(), Fate(cards=0, fitness=None, seconds=None)

    assert (nothing, nothing, None, {}) == (fates.used, fates.dropped, fates.bias, fates.lost)


def test_means_are_of_what_was_used_and_of_what_was_dropped():
    """
    A group that is tried again has the reward of the attempt that was good; what is left at the end is
    neither.
    """
    fates = told(
        *(ended(0, None, "failed", 9.0), ended(0, 1.0, seconds=2.0), ended(1, 3.0, seconds=5.0)),
        *(ended(2, 8.0, seconds=7.0), ended(3, 99.0)),
        *(decided(0, "committed"), decided(1, "committed"), decided(2, "discarded")),
        decided(3, "settled"),
    )

    assert Fate(cards=2, fitness=2.0, seconds=3.5) == fates.used
    assert Fate(cards=1, fitness=8.0, seconds=7.0) == fates.dropped
    assert 6.0 == fates.bias


def test_what_was_given_up_has_no_fitness():
    """
    It is counted by its reason.
    """
    given_up = [GroupDropped(now=1.0, group=n, task="train-0", reason="timeout") for n in (0, 1)]
    fates = told(*given_up, ended(2, 1.0), decided(2, "committed"))

    assert {"timeout": 2} == fates.lost
    assert (1, 0) == (fates.used.cards, fates.dropped.cards)


def ran(name, **options):
    fates = Fates()
    result = run(
        ESDomain(objective="rosenbrock", dim=6, population=8),
        updates=40,
        seed=1,
        driver="simulated",
        durations={"rollout": parse_law("lognormal:1,1.5")},
        n_workers=24,
        observers=[fates],
        **{**schedule(name), **options},
    )
    return result, fates


def test_in_a_run_all_that_was_used_and_dropped_is_compared():
    """
    As many as the result counts.
    """
    result, fates = ran("drop-1")

    assert 8 * 40 == fates.used.cards
    assert 0 < result.stale_discarded == fates.dropped.cards
    assert fates.dropped.seconds > 3 * fates.used.seconds > 0


def test_without_dropping_there_is_nobody():
    """
    Waiting loses none.
    """
    _, fates = ran("wait-1")

    assert (8 * 40, 0) == (fates.used.cards, fates.dropped.cards)
    assert fates.bias is None


def test_a_command_line_is_told(tmp_path, capsys):
    """
    By the observer's name, on the error stream: how many, their fitness, and the difference.
    """
    from headway.cli import main

    sets = [f"--set={s}" for s in ("dim=6", "population=8", "schedule=drop-1")]
    law = ["--driver=simulated", "--durations=rollout=lognormal:1,1.5", "--workers=24"]
    observed = ["--updates=20", "--observer=es-fates", "--json", f"--out={tmp_path / 'o'}"]

    assert 0 == main(["run", "es", *sets, *law, *observed])
    out, told = capsys.readouterr()
    result = json.loads(out)
    (line,) = [line for line in told.splitlines() if line.startswith("pairs: ")]

    assert line.startswith("pairs: 160 used (mean fitness -")
    assert f", {result['stale_discarded']} dropped (mean fitness -" in line
    assert "mean fitness of those dropped less that of those used: " in told


def test_what_there_is_not_is_not_told():
    """
    No mean of nothing and no difference; what was lost, with its reason.
    """
    fates = ToldFates()
    for notice in (
        GroupDropped(now=1.0, group=0, task="train-0", reason="timeout"),
        ended(1, 2.5),
        decided(1, "committed"),
    ):
        fates(notice)

    assert [
        "pairs: 1 used (mean fitness 2.5, mean 1 s), 0 dropped, 1 lost (timeout)"
    ] == fates.lines()
