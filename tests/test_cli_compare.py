"""
Tests of ``headway compare``: what it prints, what it writes, how it exits.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys

import attrs
import pytest

from headway.cli import _parser, main
from headway.cli._flags import flag_of, read_seeds, read_words, read_workers
from headway.errors import OptionError
from headway.options import RunOptions

QUICK = ("--driver", "simulated", "--max-rollouts", "12", "--durations", "rollout=lognormal:1,1")

FRAIL = """
    import signal
    import sys

    from headway.contracts import Domain, Outcome, Splits, Task
    from headway.registry import hookimpl

    class Frail(Domain):
        name = "frail"
        deterministic = True
        options = {"dead": "whether rollouts raise", "stop": "the run in which Ctrl-C comes"}
        defaults = {"max_rollouts": 20}
        made = 0

        def __init__(self, dead="", stop="0"):
            self.dead, self.stop = dead, int(stop)
            Frail.made += 1
            self.number = Frail.made

        def tasks(self):
            train = [Task(id=f"t{n}") for n in range(8)]
            return Splits(train=train, held_out=[Task(id=f"h{n}") for n in range(8)])

        def initial(self):
            return 0

        def rollout(self, state, task):
            if self.dead:
                raise ConnectionError("nobody answers")
            if self.number == self.stop:
                signal.raise_signal(signal.SIGINT)
            return Outcome(reward=min(1.0, state / 100))

        def propose(self, state, task, outcome):
            return state + 1

        def apply(self, state, diff):
            return diff

        def measure(self, state, task):
            return min(1.0, state / 100)

    @hookimpl
    def headway_domains():
        return {"frail": Frail}
"""


def in_a_process(site, *arguments):
    places = filter(None, (str(site), os.environ.get("PYTHONPATH")))
    return subprocess.run(
        [sys.executable, "-m", "headway", "compare", *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(places)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_a_comparison_is_a_table_and_files(letters, capsys):
    """
    The table goes to standard output, progress to standard error, all of it into the folder.
    """
    code = main(
        ["compare", "letters", *QUICK, "--seeds", "0-2", "--against", "best-of-n", "--out", "out"]
    )
    told = capsys.readouterr()
    out = letters / "out"

    assert 0 == code
    assert told.out == (out / "table.md").read_text(encoding="utf-8")
    assert told.out.startswith("letters: equal rollouts (12 each), 3 seeds\n")
    for arm in ("sync", "async", "best-of-n"):
        assert f"| {arm}, 4 workers" in told.out
    assert re.search(
        r"^run 9 of 9: best-of-n, 4 workers, seed 2: done, reward", told.err, re.MULTILINE
    )
    assert re.search(r"^run 4 of 9: .*; about \d+ s left$", told.err, re.MULTILINE)
    assert 9 == len(json.loads((out / "results.json").read_text(encoding="utf-8"))["trials"])
    assert "a domain that talks" not in told.out


def test_without_a_folder_it_takes_the_next_free_one(letters, capsys):
    """
    Below ``headway-runs``, as ``headway run`` does.
    """
    for _ in range(2):
        main(["compare", "letters", *QUICK, "--seeds", "3", "--modes", "async"])

    assert ["letters-compare-3-1", "letters-compare-3-2"] == sorted(
        path.name for path in (letters / "headway-runs").iterdir()
    )
    assert "files go to headway-runs/letters-compare-3-2" in capsys.readouterr().err


def test_json_is_one_object_and_nothing_else(letters, capsys):
    """
    The same as the file holds, whatever a domain prints.
    """
    main(["compare", "letters", *QUICK, "--seeds", "0,4", "--json", "--out", "out"])
    told = json.loads(capsys.readouterr().out)

    assert told == json.loads((letters / "out" / "results.json").read_text(encoding="utf-8"))
    assert [0, 4] == told["seeds"]


def test_the_same_command_gives_the_same_results(letters, capsys):
    """
    Under the simulated driver, file by file.
    """
    for out in ("one", "two"):
        main(["compare", "letters", *QUICK, "--seeds", "0-1", "--out", out])
    names = sorted(path.name for path in (letters / "one").iterdir() if path.suffix != ".png")

    assert {"results.json", "table.md"} <= set(names)
    for name in names:
        assert (letters / "one" / name).read_bytes() == (letters / "two" / name).read_bytes()


def test_several_numbers_of_workers_are_several_groups(letters, capsys):
    """
    Each compared with its own first arm.
    """
    main(["compare", "letters", *QUICK, "--seeds", "0", "--workers", "2,3", "--json"])
    told = json.loads(capsys.readouterr().out)

    assert [2, 2, 3, 3] == [arm["workers"] for arm in told["arms"]]
    assert {("async, 2 workers", "sync, 2 workers"), ("async, 3 workers", "sync, 3 workers")} == {
        (difference["arm"], difference["against"]) for difference in told["differences"]
    }


def test_equal_seconds_are_virtual_when_simulated(letters, capsys):
    """
    Every run is bounded by the same number of them.
    """
    arguments = ("--driver", "simulated", "--durations", "rollout=constant:1", "--json")
    main(["compare", "letters", *arguments, "--equal", "seconds", "--max-seconds", "6"])
    told = json.loads(capsys.readouterr().out)

    assert ("seconds", 6.0, 20) == (told["equal"], told["budget"], len(told["trials"]))
    assert all(trial["seconds"] <= 6.0 for trial in told["trials"])


def test_a_configuration_file_is_read(letters, capsys):
    """
    That of a run too: its mode and seed are not what is compared, its workers are.
    """
    text = 'mode = "sync"\nseed = 7\nn_workers = 3\ndriver = "simulated"\nmax_rollouts = 9\n'
    (letters / "study.toml").write_text(text, encoding="utf-8")
    main(["compare", "letters", "--config", "study.toml", "--seeds", "0", "--json"])
    told = json.loads(capsys.readouterr().out)

    assert (9, [0]) == (told["budget"], told["seeds"])
    assert ["sync, 3 workers", "async, 3 workers"] == [arm["label"] for arm in told["arms"]]


def test_what_the_domain_was_made_with_stands_in_the_results(letters, capsys):
    """
    So that nobody has to remember the command.
    """
    main(["compare", "letters", *QUICK, "--seeds", "0", "--json", "--set", "reward=0.5"])

    assert {"reward": "0.5"} == json.loads(capsys.readouterr().out)["settings"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--seeds", "3-1"], "--seeds='3-1': Give seeds and ranges"),
        (["--seeds", "x"], "--seeds='x': "),
        (["--seeds", ""], "--seeds='': "),
        (["--seeds", "1,1"], "--seeds=1: It is there twice"),
        (["--modes", "sync,assync"], "--modes='assync': Give one of sync, async"),
        (["--modes", "sync,,async"], "--modes='sync,,async': Give names"),
        (["--workers", "8,x"], "--workers='8,x': Give whole numbers"),
        (["--workers", "0"], "--workers=0: Give a whole number of at least 1."),
        (["--equal", "tokens"], "--equal='tokens': Give one of rollouts, calls, seconds"),
        (["--equal", "seconds"], "--equal='seconds': Give --max-seconds too"),
        (["--against", "best-of-m"], "--against='best-of-m': Give one of best-of-n, chains"),
        (["--against", "chains", "--max-rollouts", "3"], "--max-rollouts=3: Give at least 4"),
        (["--driver", "serial"], "--driver='serial': Async mode needs"),
        (["--rounds", "3"], "--rounds=3: "),
        (["--target", "3"], "--target=3.0: "),
        (["--policy", "gaurded"], "--policy: there is no staleness policy named 'gaurded'"),
        (["--out", "taken"], "--out='taken': This folder is not empty"),
        (["--mode", "sync"], "--mode: There is no such option. Did you mean '--modes'?"),
        (["--seed", "3"], "--seed: There is no such option. Did you mean '--seeds'?"),
        (["--set", "rewrd=1"], "--set rewrd"),
    ],
)
def test_bad_input_is_one_line_and_nothing_runs(letters, capsys, arguments, told):
    """
    The line names the value, the flag and the remedy; no folder is made.
    """
    (letters / "taken").mkdir()
    (letters / "taken" / "file").write_text("", encoding="utf-8")
    try:
        code = main(["compare", "letters", *arguments])
    except SystemExit as ended:
        code = ended.code
    lines = capsys.readouterr().err.splitlines()

    assert 2 == code
    assert told in lines[-1]
    assert ["taken"] == [path.name for path in letters.iterdir()]


def test_every_option_of_a_run_can_be_given():
    """
    Under its own flag, or under one that takes several values.
    """
    subparsers = next(a for a in _parser()._actions if a.choices and "compare" in a.choices)
    flags = subparsers.choices["compare"]._option_string_actions
    several = {"mode": "--modes", "seed": "--seeds", "n_workers": "--workers"}
    names = [field.name for field in attrs.fields(RunOptions)]

    assert [] == [n for n in names if several.get(n, flag_of(n)) not in flags]


def test_lists_are_read_as_they_are_written():
    """
    Ranges include both ends; spaces do not matter.
    """
    assert (0, 1, 2, 9) == read_seeds("--seeds", "0-2, 9")
    assert ("sync", "async") == read_words("--modes", "sync, async")
    assert (8, 32) == read_workers("--workers", "8, 32")
    with pytest.raises(OptionError):
        read_seeds("--seeds", "-1")


def test_a_run_that_fails_is_a_row_and_the_exit_code_1(install, tmp_path, monkeypatch, capsys):
    """
    The others are made all the same, and everything is written.
    """
    install("headway-frail", FRAIL)
    monkeypatch.chdir(tmp_path)
    code = main(["compare", "frail", *QUICK, "--set", "dead=yes", "--seeds", "0-1", "--out", "o"])
    told = capsys.readouterr()

    assert 1 == code
    assert "run 1 of 4: sync, 4 workers, seed 0: failed, rollout: ConnectionError" in told.err
    assert 4 == told.out.count("ConnectionError: nobody answers")
    assert (
        "failed" == json.loads((tmp_path / "o" / "results.json").read_text())["trials"][3]["status"]
    )


def test_runs_that_take_long_are_told_when_they_begin(letters, capsys):
    """
    On threads a run may take hours; one that is simulated is over at once.
    """
    main(["compare", "letters", "--max-rollouts", "8", "--seeds", "4", "--modes", "async"])
    main(["compare", "letters", *QUICK, "--seeds", "5", "--modes", "async"])
    told = capsys.readouterr().err

    begins, ends = (
        "run 1 begins: async, 4 workers, seed 4\n",
        "run 1 of 1: async, 4 workers, seed 4",
    )

    assert 0 < told.index(begins) < told.index(ends)
    assert "run 1 begins: async, 4 workers, seed 5" not in told


def test_ctrl_c_leaves_what_is_done(install, site, tmp_path, monkeypatch):
    """
    The report and the files, marked as incomplete, and the signal's exit code.
    """
    install("headway-frail", FRAIL)
    monkeypatch.chdir(tmp_path)
    # Three domains are made before the first run: one to plan with, one for each arm's check.
    more = ("--set", "stop=6", "--seeds", "0-9", "--out", "out", "--no-score-heads")
    done = in_a_process(site, "frail", *QUICK, *more)
    results = json.loads((tmp_path / "out" / "results.json").read_text(encoding="utf-8"))

    assert 128 + signal.SIGINT == done.returncode
    assert ["done", "done", "interrupted"] == [trial["status"] for trial in results["trials"]]
    assert results["complete"] is False
    assert "INCOMPLETE: interrupted after 2 of 20 runs." in done.stdout
    assert "INCOMPLETE" in (tmp_path / "out" / "table.md").read_text(encoding="utf-8")


def test_without_matplotlib_there_is_everything_but_the_plot(install, site, tmp_path, monkeypatch):
    """
    One line says so and how to have it; table, JSON and exit code are as ever.
    """
    install("headway-frail", FRAIL)
    monkeypatch.chdir(tmp_path)
    (site / "matplotlib.py").write_text("raise ImportError('blocked')\n", encoding="utf-8")
    done = in_a_process(site, "frail", *QUICK, "--seeds", "0", "--out", "out")

    assert 0 == done.returncode
    assert "headway: no plot: matplotlib cannot be imported (blocked)" in done.stderr
    assert "python -m pip install 'headway[plot]'" in done.stderr
    assert "files in out: results.json table.md" in done.stderr
    assert "sync, 4 workers" in done.stdout


def test_with_matplotlib_there_are_two_plots(letters, capsys):
    """
    Beside the results.
    """
    pytest.importorskip("matplotlib", reason="it draws with matplotlib")
    main(["compare", "letters", *QUICK, "--seeds", "0", "--out", "out"])

    assert ["plot.png", "plot.svg", "results.json", "table.md"] == sorted(
        path.name for path in (letters / "out").iterdir()
    )


def test_no_command_imports_matplotlib_before_it_draws(install, site, tmp_path, monkeypatch):
    """
    It costs half a second.
    """
    code = "import headway.cli, headway.comparing, sys; headway.cli._parser(); "
    check = "print('matplotlib' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code + check], capture_output=True, text=True, check=True, timeout=60
    )

    assert "False" == done.stdout.strip()


def test_help_behind_a_domain_shows_its_options(letters, capsys):
    """
    As ``headway run`` does.
    """
    with pytest.raises(SystemExit) as ended:
        main(["compare", "letters", "--help"])
    told = capsys.readouterr().out

    assert 0 == ended.value.code
    assert "options of letters, for --set:" in told
    assert "--seeds N-N" in told
