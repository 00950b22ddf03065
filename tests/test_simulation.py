"""
Whole runs with faults, under the simulated driver.
"""

import planted
import pytest

from headway.testing import Schedule, run_schedule
from headway.testing._schedules import check_crash, check_replay
from headway.testing.simulate import Findings, main, merge, try_seeds


@pytest.mark.parametrize("part", range(10))
def test_schedules(part):
    """1,000 schedules: every invariant after every event, and one digest after replay and crash."""
    found = try_seeds(range(part * 100, part * 100 + 100))

    assert () == found.failures
    assert found.events >= 100 * 200


def test_steps_that_were_about_to_speak():
    """Racing steps go on after a crash in the order in which they would have spoken without it."""
    schedule = Schedule.draw(50196)
    outcome = run_schedule(schedule)

    assert schedule.max_steps > 1
    for crash in range(120, 150):
        check_crash(check_replay(schedule, outcome, crash), outcome, crash)


def test_equal_seeds():
    """One seed gives one run; another seed another one."""
    digests = [run_schedule(Schedule.draw(seed)).digest for seed in (3, 3, 4)]

    assert digests[0] == digests[1] != digests[2]


@pytest.mark.parametrize("bug", planted.BUGS, ids=lambda bug: bug.__name__)
def test_planted_bugs(bug, monkeypatch):
    """Each planted bug is found within 2,000 schedules."""
    bug(monkeypatch)

    assert planted.first_failure(planted.WITHIN) is not None


def test_script(capsys):
    """The script prints one closing line and says by its exit code whether all went well."""
    code = main(["--schedules", "3", "--jobs", "1"])

    assert code == 0
    assert capsys.readouterr().out.startswith("3 schedules, ")


def test_merge():
    """Findings add up."""
    parts = [
        Findings(schedules=1, events=200, failures=()),
        Findings(schedules=2, events=500, failures=((7, "broken"),)),
    ]

    assert Findings(schedules=3, events=700, failures=((7, "broken"),)) == merge(parts)
