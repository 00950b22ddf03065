"""
Tests of the commands that look at a run directory: ``status``, ``log``, ``show``, ``diff``,
``checkout``, ``export`` and ``replay``.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
from sqlite_files import raw

from headway.builtins.sqlite import SqliteLedger
from headway.cli import main
from headway.contracts import SweepDone
from headway.errors import LedgerCorrupt, RunDirectoryError
from headway.journal import JournalFile
from headway.machine import Notify
from headway.result import Result
from headway.rundir import _status, open_run, read_status, replay_run
from headway.rundir._lease import boot


@pytest.fixture
def kept(letters, capsys):
    """
    A run directory whose run has ended, as the current folder's ``d``.
    """
    main(["run", "letters", "--run-dir", "d", "--driver", "simulated", "--max-rollouts", "80"])
    capsys.readouterr()
    return letters / "d"


def promote(folder, version):
    ledger = SqliteLedger(folder / "run.sqlite")
    ledger.promote(version)
    ledger.close()


def unended(folder):
    """
    Make a directory look as its run's process left it, had it been killed at the end.
    """
    with raw(folder / "run.sqlite") as connection:
        connection.execute("DELETE FROM journal_end")
    (folder / "saved.json").unlink()


def told_by(capsys, *arguments):
    code = main([*arguments])
    out = capsys.readouterr().out
    assert 0 == code
    return out


def test_status_of_a_finished_run(kept, capsys):
    """
    What its result says, without its events.
    """
    result = Result.load("d/saved.json")
    told = told_by(capsys, "status", "d")
    as_json = json.loads(told_by(capsys, "status", "d", "--json"))

    assert told.startswith("d: finished, because all rollouts were made (max_iters)\n")
    assert f"  rollouts       {result.rollouts}\n" in told
    assert "  reward         0.125 -> 1.000\n" in told
    assert ("finished", "max_iters", None) == tuple(
        as_json[name] for name in ("state", "reason", "owner")
    )
    assert (result.version, dict(result.calls)) == (as_json["version"], as_json["calls"])


def test_status_of_a_run_that_was_killed_comes_from_its_events(kept, capsys, monkeypatch):
    """
    The same counts; of a long run only when they are asked for.
    """
    result = Result.load("d/saved.json")
    unended(kept)
    told = told_by(capsys, "status", "d")
    status = read_status("d")

    assert told.startswith("d: interrupted by a crash; headway resume d goes on\n")
    assert ("interrupted", None) == (status.state, status.reason)
    assert (result.rollouts, result.version) == (status.rollouts, status.version)
    assert (dict(result.calls), {}) == (status.calls, status.in_flight)
    assert (result.baseline_reward, 1.0) == (status.baseline, status.reward)

    monkeypatch.setattr(_status, "QUICK", 10)

    assert "  rollouts       not counted" in told_by(capsys, "status", "d")
    assert f"  rollouts       {result.rollouts}\n" in told_by(capsys, "status", "d", "--full")


def test_log_has_the_newest_version_first(kept, capsys):
    """
    With reward and title, and which one is stable; as JSON with cards and all.
    """
    result = Result.load("d/saved.json")
    promote(kept, result.version)
    lines = told_by(capsys, "log", "d").splitlines()
    as_json = json.loads(told_by(capsys, "log", "d", "--json"))
    rewards = {n.version: n.reward for n in result.history if n.outcome == "committed"}

    assert [*range(result.version, 0, -1)] == [int(line.split()[0]) for line in lines]
    assert re.fullmatch(r" +\d+  reward 1\.000   Cards? [\d, ]+  \(stable\)", lines[0])
    assert result.version == as_json["stable"]
    assert rewards == {v["version"]: v["reward"] for v in as_json["versions"]}
    assert all(v["cards"] for v in as_json["versions"])


def test_log_of_the_stable_branch(kept, capsys):
    """
    Only what was promoted.
    """
    assert 0 == main(["log", "d", "--branch", "stable"])
    assert "nothing was committed to stable yet" in capsys.readouterr().err
    promote(kept, 3)

    assert "     3  reward -       promote version 3 of dev  (stable)\n" == (
        told_by(capsys, "log", "d", "--branch", "stable")
    )


def test_show_says_what_a_version_is(kept, capsys):
    """
    Its message and its files as the domain renders them; by number, as head, as stable.
    """
    promote(kept, 7)
    head = told_by(capsys, "show", "d", "head")
    number = Result.load("d/saved.json").version

    assert head == told_by(capsys, "show", "d", str(number))
    assert head.startswith(f"version {number}, made on version ")
    assert head.endswith("\nletters.txt  1 line\nheadway\n")
    assert told_by(capsys, "show", "d", "head", "--files").endswith("\nletters.txt  1 line\n")
    assert "the one that the run began with" in told_by(capsys, "show", "d", "0")
    assert "headway" == json.loads(told_by(capsys, "show", "d", "stable", "--json"))["state"]


def test_diff_shows_what_changed(kept, capsys):
    """
    A unified diff of the files.
    """
    told = told_by(capsys, "diff", "d", "0", "head")

    assert "--- a/letters.txt\n+++ b/letters.txt\n@@ -1 +1 @@\n-\n+headway\n" == told
    assert "" == told_by(capsys, "diff", "d", "head", "head")


def test_what_no_domain_renders_is_json(kept, capsys):
    """
    Where the domain has gone, or never had a name.
    """
    Path("d/config.toml").write_text('domain_name = "gone"\n')

    assert 0 == main(["show", "d", "head"])
    told = capsys.readouterr()
    assert told.out.endswith('\nstate.json  1 line\n"headway"\n')
    assert "d is shown as JSON, since its domain can't be made here: there is no domain" in told.err


def test_checkout_writes_the_files_of_a_version(kept, capsys):
    """
    Into a folder that is new or empty, and no other.
    """
    Path("empty").mkdir()
    told_by(capsys, "checkout", "d", "head", "deep/new")
    told_by(capsys, "checkout", "d", "1", "empty")

    assert "headway\n" == Path("deep/new/letters.txt").read_text()
    assert "h\n" == Path("empty/letters.txt").read_text()
    for target in ("empty", "d/run.sqlite"):
        assert 2 == main(["checkout", "d", "head", target])
        assert "It is there already" in capsys.readouterr().err
    assert "h\n" == Path("empty/letters.txt").read_text()


def test_checkout_below_what_is_no_folder(kept, capsys):
    """
    Is bad input, not a traceback.
    """
    Path("file").write_text("x")

    assert 2 == main(["checkout", "d", "head", "file/found"])
    assert "TARGET='file/found': Its folder can't be made: " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["show", "d", "999"], "has no version 999. Give a number from 0 to 7, head or stable."),
        (["show", "d", "-1"], "-1"),
        (["show", "d", "newest"], "newest: this is no version. Give a number, head or stable."),
        (["diff", "d", "0", "999"], "has no version 999"),
        (["checkout", "d", "999", "t"], "has no version 999"),
        (["log", "d", "--branch", "main"], "there is no branch 'main'"),
        (["export", "d", "--git", "d"], "It is there already"),
        (["export", "d"], "--git"),
    ],
)
def test_what_is_not_there_is_named(kept, capsys, arguments, told):
    """
    With exit code 2 and what there is.
    """
    try:
        code = main(arguments)
    except SystemExit as ended:
        code = ended.code

    assert 2 == code
    assert told in capsys.readouterr().err
    assert not Path("t").exists()


def test_export_needs_the_plugin(kept, capsys, monkeypatch):
    """
    And says how to install it.
    """
    monkeypatch.setitem(sys.modules, "headway_git", None)

    assert 2 == main(["export", "d", "--git", "g"])
    assert "plugins/headway-git" in capsys.readouterr().err


def test_export_hands_the_ledger_over(kept, capsys, monkeypatch):
    """
    To the plug-in's own function, with all its versions.
    """
    plugin = ModuleType("headway_git")
    plugin.export_to_git = lambda ledger, path: (
        len(ledger.log()) + ledger.snapshot("dev", 1).version
    )
    monkeypatch.setitem(sys.modules, "headway_git", plugin)
    count = Result.load("d/saved.json").version + 1

    assert f"{count} commits in g\n" == told_by(capsys, "export", "d", "--git", "g")


def test_replay_comes_to_the_same(kept, capsys):
    """
    The digest of the result; in Python with every event and instruction.
    """
    result, seen = Result.load("d/saved.json"), []
    told = told_by(capsys, "replay", "d")

    def follow(event, out):
        seen.extend(i.notice for i in out if isinstance(i, Notify))

    replayed = replay_run("d", follow=follow)

    assert f"  digest     {result.digest}\n" in told
    assert told.endswith("same digest as the result: the run ended by max_iters\n")
    assert (result.digest, result.digest, True) == (replayed.digest, replayed.kept, replayed.ended)
    assert result.history == tuple(n for n in seen if isinstance(n, SweepDone))


def test_a_run_that_has_not_ended_is_replayed_as_far_as_it_goes(kept, capsys):
    """
    And the answer says so.
    """
    unended(kept)
    with raw(kept / "run.sqlite") as connection:
        last = connection.execute("SELECT max(first) FROM journal").fetchone()
        connection.execute("DELETE FROM journal WHERE first = ?", last)

    assert "the run has not ended, and its journal ends here" in told_by(capsys, "replay", "d")
    assert not replay_run("d").ended


def test_a_replay_of_a_run_whose_result_is_gone_says_so(kept, capsys):
    """
    It had ended all the same.
    """
    (kept / "saved.json").unlink()

    told = "same after every event: the run ended by max_iters, but its result is gone\n"
    assert told_by(capsys, "replay", "d").endswith(told)


@pytest.mark.parametrize("command", ["status", "replay", "resume"])
def test_a_damaged_result_is_named_with_the_remedy(kept, capsys, command):
    """
    And is made anew from the journal once it is removed.
    """
    was = Result.load("d/saved.json")
    (kept / "saved.json").write_text('{"a":')

    assert 1 == main([command, "d"])
    told = capsys.readouterr().err
    assert "d/saved.json: the result is damaged: " in told
    assert "Remove the file" in told
    (kept / "saved.json").unlink()
    assert 0 == main(["resume", "d"])
    assert was.digest == Result.load("d/saved.json").digest


def test_status_writes_a_command_that_can_be_typed(kept, capsys):
    """
    Also when the directory's name has a space.
    """
    unended(kept)
    kept.rename("d e")

    first = told_by(capsys, "status", "d e").splitlines()[0]
    assert first.endswith("interrupted by a crash; headway resume 'd e' goes on")


@pytest.mark.parametrize(("start", "state"), [("another", "interrupted"), (None, "running")])
def test_a_directory_of_another_machine_is_in_nobodys_hands(kept, start, state):
    """
    Its disk is here, so whoever worked there has ended; a container of this machine's has not.
    """
    unended(kept)
    signed = {"pid": 1, "host": "elsewhere", "boot": start or boot()}
    (kept / "lease.json").write_text(json.dumps(signed))

    assert state == read_status("d").state


def test_no_plugin_and_no_domain_runs(kept, monkeypatch):
    """
    Nor need they be there.
    """
    monkeypatch.delitem(sys.modules, "headway_letters")
    monkeypatch.setattr(sys, "path", [p for p in sys.path if not p.endswith("site")])

    assert replay_run("d", force=True).ended
    with pytest.raises(RunDirectoryError, match=r"headway-letters 2\.5; installed is none"):
        replay_run("d")


def change(folder, old, new):
    """
    Change the first event that holds a text, and its checksum is not made to fit.
    """
    with raw(folder / "run.sqlite") as connection:
        for first, lines in connection.execute("SELECT first, lines FROM journal").fetchall():
            if old in lines:
                changed = lines.replace(old, new, 1)
                row = (changed, first)
                connection.execute("UPDATE journal SET lines = ? WHERE first = ?", row)
                return first + lines[: lines.index(old)].count("\n")
    raise AssertionError(old)


def test_an_altered_event_is_named(kept, capsys):
    """
    One digit of one event, which its checksum finds.
    """
    number = change(kept, "held-out 3", "held-out 4")

    assert 1 == main(["replay", "d"])
    assert f"event {number} is damaged" in capsys.readouterr().err
    with pytest.raises(LedgerCorrupt, match=f"event {number}"):
        replay_run("d")


def test_an_event_that_leads_elsewhere_is_named(kept, capsys, monkeypatch):
    """
    As when another machine wrote the journal: checksums fit, and the machine comes to something else.
    """
    real = JournalFile.rows

    def other(self):
        for number, row in enumerate(real(self)):
            yield row if number != 30 else type(row)(row.event, row.answers, "0.000000000000")

    monkeypatch.setattr(JournalFile, "rows", other)

    assert 1 == main(["replay", "d"])
    assert "headway: error: event 30 (" in capsys.readouterr().err


def test_another_result_is_no_same_digest(kept, capsys):
    """
    A result that some other run left is found out.
    """
    path = kept / "saved.json"
    digest = Result.load(path).digest
    path.write_text(path.read_text().replace(digest, digest[::-1]))

    assert 1 == main(["replay", "d"])
    assert f"the stored result has {digest[::-1]}" in capsys.readouterr().err


def test_looking_changes_nothing(kept, capsys):
    """
    Every file stays as it is, whatever is asked.
    """
    before = {p: (p.read_bytes(), p.stat().st_mtime) for p in kept.rglob("*") if p.is_file()}
    for command in ("status d", "log d", "show d head", "diff d 0 head", "replay d"):
        told_by(capsys, *command.split())
    with open_run("d") as opened:
        assert opened.owner is None

    after = {p: (p.read_bytes(), p.stat().st_mtime) for p in before}
    assert before == after
