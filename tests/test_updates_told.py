"""
How a run that learns from outcomes is told: its result, its words, its progress, its log.
"""

from __future__ import annotations

import io
import logging
import math
import pickle
from pathlib import Path

import attrs
import pytest
from climbing import Climber, Gatherer, Hill
from sqlite_files import raw

from headway import run
from headway.cli import main
from headway.cli._ending import suggestions
from headway.cli._progress import LiveTable, PlainLines
from headway.contracts import UpdateDone
from headway.durations import LogNormal
from headway.options import RunOptions
from headway.result import Result
from headway.rundir import read_status
from headway.what_if import what_if

LAWS = {"rollout": LogNormal(1.0, 1.0)}


def climbed(**options):
    told = {"aggregator": Climber(), "driver": "simulated", "durations": LAWS, "n_workers": 16}
    return run(Hill(), **{"updates": 12, **told, **options})


class Flaky(Hill):
    """
    Some members of groups fail, however often they are tried.
    """

    def rollout(self, state, task, *, payload):
        if payload is not None and abs(payload) > 1.5:
            raise OSError("too far")
        return super().rollout(state, task, payload=payload)


def losing():
    """
    A run in which groups are lost.
    """
    return run(
        Flaky(),
        aggregator=Climber(),
        driver="simulated",
        durations=LAWS,
        n_workers=16,
        updates=12,
        policy="drop",
        max_staleness=1,
        admit_ahead=1,
        lost_groups="drop",
        max_worker_errors=100,
    )


def test_the_result_counts_updates_and_what_they_waited_for():
    """
    Ages are those of the groups that were used; waiting adds up to the run's search.
    """
    result = climbed()

    assert (12, "updates") == (result.updates, result.stop_reason)
    assert 12 * 4 == sum(result.committed_by_eta.values())
    assert 0 < result.mean_age < 2 >= max(result.committed_by_eta)
    assert {"training", "bound", "groups", "nothing"} == set(result.update_waits)
    assert math.isclose(result.wallclock, sum(result.update_waits.values()))
    assert {} == result.lost_groups


def test_the_result_is_kept_with_its_updates(tmp_path):
    """
    By save and by pickle; one that was saved without them has none.
    """
    result = climbed()
    result.save(tmp_path / "saved.json")
    older = {"updates", "update_waits", "lost_groups"}
    saved = result._saved()
    saved["fields"] = {name: held for name, held in saved["fields"].items() if name not in older}

    assert result == Result.load(tmp_path / "saved.json") == pickle.loads(pickle.dumps(result))
    assert 12 == result.to_json()["updates"]
    assert 0 == pickle.loads(pickle.dumps(attrs.evolve(result, updates=0))).updates
    from headway.result import _restored

    assert (0, {}, {}) == attrs.astuple(_restored(saved), recurse=False)[-3:]


def test_a_run_of_proposals_has_no_updates():
    """
    And says nothing of them.
    """
    from headway.testing import ToyDomain

    result = run(ToyDomain(), driver="simulated", max_rollouts=30)

    assert (0, {}, {}) == (result.updates, result.update_waits, result.lost_groups)
    assert "updates" not in str(result)
    assert result.mean_age is not None


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({}, "updates   12; ages 0 to 2, mean 0.9"),
        ({}, "s for groups to be complete, "),
        ({}, "s for the staleness bound\n"),
        ({"mode": "sync"}, "updates   12; age 0\n"),
        ({"updates": 5}, "stopped because all updates were made (updates)"),
        ({"mode": "sync", "max_rollouts": 17, "updates": None}, "updates   2; age 0\n"),
    ],
)
def test_the_words_tell_updates_ages_and_waits(options, told):
    """
    In Python and on the command line.
    """
    assert told in str(climbed(**options))


def test_groups_that_are_let_go_are_told():
    """
    Those that lost members apart from those that were too old.
    """
    result = losing()
    lost, stale = sum(result.lost_groups.values()), result.stale_discarded
    lost -= result.lost_groups.get("cancelled", 0)

    assert lost
    assert stale
    assert f"let go    {lost} groups that lost members, {stale} that were stale" in str(result)


def test_a_plain_line_tells_the_update():
    """
    Behind its sweep: ages, and groups that were lost.
    """
    stream = io.StringIO()
    result = climbed(observers=[PlainLines(stream)])
    lines = stream.getvalue().splitlines()[1:]

    assert 12 == len(lines)
    assert lines[0].endswith("update 1; age 0")
    assert lines[-1].partition("  update 12; age")[1]
    assert not [line for line in lines if "lost" in line]
    assert 12 == result.updates


def notices(**options):
    found = []
    climbed(observers=[found.append], **options)
    return found


def test_the_table_tells_updates_groups_and_waits():
    """
    As the last notice has them.
    """
    table = LiveTable(io.StringIO(), RunOptions(updates=12))
    assert not {"updates", "groups", "waited"} & {name for name, _ in table.rows()}
    for notice in notices():
        table(notice)
    rows = dict(table.rows())

    assert rows["updates"].startswith("12 of 12; ages 0 to 2, mean")
    assert "0 begun, 0 of them complete" == rows["groups"]
    assert "s for groups to be complete" in rows["waited"]


def test_the_table_tells_groups_that_were_lost():
    """
    Whatever the reason.
    """
    done = next(notice for notice in notices() if isinstance(notice, UpdateDone))
    table = LiveTable(io.StringIO(), RunOptions())
    table(attrs.evolve(done, dropped={"timeout": 2, "failed": 1}))
    rows = dict(table.rows())

    assert rows["groups"].endswith("; 3 lost so far")
    assert rows["updates"].startswith("1; age")


def test_updates_are_logged(caplog):
    """
    One record an update, with what is under way.
    """
    with caplog.at_level(logging.INFO, logger="headway"):
        climbed()
    records = [record for record in caplog.records if record.getMessage() == "update_done"]

    assert list(range(1, 13)) == [record.update for record in records]
    assert {"outstanding", "ready", "blocking", "version"} <= set(vars(records[0]))


def test_what_to_try_next_suits_updates():
    """
    More updates are offered where they helped to the end; sync mode has no rounds of its own.
    """
    tips = {why: add for add, why in suggestions(climbed())}
    sync = {why: add for add, why in suggestions(climbed(mode="sync"))}

    assert ["--mode", "sync"] == tips[
        "the same with nothing stale: each update waits for its whole batch"
    ]
    assert ["--mode", "async"] == sync["the same without a barrier"]


def test_more_updates_are_offered_where_they_helped_to_the_end():
    """
    By the heads' rewards, where they were measured.
    """
    result = climbed(updates=6, mode="sync")
    better = [attrs.evolve(sweep, reward=0.25 + 0.1 * n) for n, sweep in enumerate(result.history)]
    result = attrs.evolve(result, history=tuple(better))
    tips = {why: add for add, why in suggestions(result)}

    assert ["--updates", "12"] == tips["it was still improving: twice the updates"]


FILE = """
from climbing import Climber, Hill
"""


@pytest.fixture
def kept(tmp_path, monkeypatch, capsys):
    """
    A run directory of a run by the command line, and what was told on the way.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(Path(__file__).parent)
    Path("mine.py").write_text(FILE)
    flags = ["--updates", "8", "--driver", "simulated", "--durations", "rollout=lognormal:1,1"]
    flags += ["--workers", "16", "--max-staleness", "3", "--run-dir", "kept"]
    assert main(["run", "mine.py:Hill", "--aggregator", "mine.py:Climber", *flags]) == 0
    return capsys.readouterr()


def test_the_command_tells_the_ages_to_expect_and_no_lag_budget(kept):
    """
    What the other kind of aggregator goes by is not named.
    """
    assert "async ratio" not in kept.err
    assert "mean about 1 while 8 are under way; never more than 3" in kept.err
    assert "update 8; " in kept.err
    assert "  updates   8; ages 0 to" in kept.out


@pytest.mark.parametrize("name", ["Climber", "Gatherer"])
def test_what_if_answers_for_groups(name, tmp_path):
    """
    With as many updates as were made, and ages that the changed bound allows.
    """
    kind = {"Climber": Climber, "Gatherer": Gatherer}[name]
    options = {"driver": "simulated", "durations": LAWS, "n_workers": 16, "updates": 12}
    made = run(Hill(), aggregator=kind(), run_dir=tmp_path / "d", **options)
    answer = what_if(tmp_path / "d", {"max_staleness": 1})

    assert 12 == made.version == answer.simulated.commits == answer.changed.commits
    assert made.rollouts == answer.simulated.rollouts
    assert max(answer.simulated.lag) <= 2
    assert max(answer.changed.lag) <= 1
    assert answer.changed.seconds > answer.simulated.seconds


def test_the_status_tells_updates(kept, capsys):
    """
    Of a run that has ended, and from its events alone.
    """
    main(["status", "kept"])
    told = capsys.readouterr().out
    with raw("kept/run.sqlite") as connection:
        connection.execute("DELETE FROM journal_end")
    Path("kept/saved.json").unlink()

    assert "  updates        8\n" in told
    assert 8 == read_status("kept").updates
