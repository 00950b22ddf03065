"""
Tests of ``headway run``: what it prints, what it writes, how it exits.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import attrs
import pytest

from headway.cli import main
from headway.options import RunOptions
from headway.result import Result


def everything_below(folder):
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())


def in_a_process(site, *arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "headway", "run", *arguments],
        env={**os.environ, "PYTHONPATH": str(site), **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_a_run_ends_with_report_files_and_what_to_try_next(letters, capsys):
    """
    The report goes to standard output, everything before it to standard error.
    """
    code = main(["run", "letters"])
    told = capsys.readouterr()

    assert 0 == code
    assert "letters: held-out reward 0.125 -> 1.000" in told.out
    assert "stopped because" in told.out
    assert "held-out reward over rollouts\n1.000 |" in told.out
    assert "files in headway-runs/letters-0-1\n  artifact/letters.txt  1 line\n" in told.out
    assert "  headway run letters --mode sync\n    the same in rounds\n" in told.out
    assert "a domain that talks" not in told.out
    assert "sweep 1 " in told.err


def test_the_files_are_complete_and_nothing_else_is_there(letters):
    """
    The artifact's files below ``artifact``, the result, the curve, the effective configuration.
    """
    main(["run", "letters", "--out", "deep/out"])
    out = letters / "deep" / "out"
    result = json.loads((out / "result.json").read_text())
    header, *rows = (out / "curve.tsv").read_text().splitlines()

    assert ["artifact/letters.txt", "config.toml", "curve.tsv", "result.json", "saved.json"] == (
        everything_below(out)
    )
    assert "headway\n" == (out / "artifact" / "letters.txt").read_text()
    assert len(result["history"]) == len(rows)
    assert len(header.split("\t")) == len(rows[0].split("\t"))


def test_a_run_says_first_what_it_will_do(letters, capsys):
    """
    Mode, driver, seed, effective numbers, limits, the domain's version, where files go.
    """
    main(["run", "letters", "--workers", "3", "--slots", "5", "--max-calls", "900"])
    lines = capsys.readouterr().err.splitlines()
    start = lines.index("letters: async mode, threads driver, seed 0")

    assert "  3 workers, 5 calls at once, async ratio 3; ends at max-calls 900" == lines[start + 1]
    assert "  domain: letters (headway-letters 2.5)" == lines[start + 2]
    assert "  all other parts: the built-in ones" == lines[start + 3]
    assert "  files go to headway-runs/letters-0-1" == lines[start + 4]
    assert "baseline: held-out reward 0.125" in lines


def test_a_part_that_was_chosen_is_named(letters, capsys):
    """
    With its version; those that everybody has would only hide it.
    """
    main(["run", "letters", "--policy", "full"])
    told = capsys.readouterr().err

    assert "  staleness policy: full (headway " in told
    assert "  aggregator: " not in told


def test_virtual_time_is_called_virtual(letters, capsys):
    """
    Nobody shall take simulated seconds for real ones.
    """
    main(["run", "letters", "--driver", "simulated", "--durations", "rollout=constant:100"])
    told = capsys.readouterr()

    assert "time is virtual" in told.err
    assert " (virtual)\n" in told.out


def test_notes_are_told_before_the_run_and_not_as_warnings(letters, capsys):
    """
    One line each; under ``-W error`` too.
    """
    main(["run", "letters", "--rounds", "3", "--max-rollouts", "8"])

    said = (
        "  note: rounds=3 has no meaning in async mode and is ignored: choose mode sync for it, "
        "or give max_rollouts\n"
    )
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    "idle",
    [
        "--round-size 3",
        "--mode sync --resync lag",
        "--mode sync --max-wait-rounds 2",
        "--mode sync --async-ratio 5 --alpha 2",
    ],
)
def test_options_without_a_meaning_in_the_mode_are_noted(letters, idle, capsys):
    """
    And the same options are no news in the other mode.
    """
    *mode, flag, value = idle.replace(" --alpha 2", "").split()
    main(["run", "letters", "--max-rollouts", "8", *idle.split()])
    name = flag[2:].replace("-", "_")
    told = f"  note: {name}={value} has no meaning in {mode[-1] if mode else 'async'} mode"

    assert told in capsys.readouterr().err
    main(["run", "letters", "--max-rollouts", "8", flag, value, *([] if mode else ["--mode=sync"])])
    assert "note: " not in capsys.readouterr().err


def test_the_async_ratio_means_something_in_sync_mode_too(letters, capsys):
    """
    A policy that was given no alpha takes it instead.
    """
    main(["run", "letters", "--max-rollouts", "8", "--mode", "sync", "--async-ratio", "5"])

    assert "note: " not in capsys.readouterr().err


def test_json_is_one_object_with_the_fields_of_a_result(site, letters):
    """
    Nothing else is on standard output, whatever the domain prints.
    """
    done = in_a_process(site, "letters", "--json")
    told = json.loads(done.stdout)
    names = [field.alias for field in attrs.fields(Result)]

    assert 0 == done.returncode
    assert names == list(told)
    assert "headway" == told["state"]
    assert "letters (headway-letters 2.5)" == told["choices"]["domain"]
    assert told == json.loads((letters / "headway-runs/letters-0-1/result.json").read_text())


def test_default_folders_are_numbered(letters):
    """
    The next free number; one that is there already is left alone.
    """
    (letters / "headway-runs" / "letters-7-1").mkdir(parents=True)
    for _ in range(2):
        main(["run", "letters", "--seed", "7"])

    assert ["letters-7-1", "letters-7-2", "letters-7-3"] == sorted(
        p.name for p in (letters / "headway-runs").iterdir()
    )
    assert [] == everything_below(letters / "headway-runs" / "letters-7-1")


def test_the_effective_configuration_repeats_the_run(letters):
    """
    ``config.toml`` holds every option that counts, and gives the same digest.
    """
    first = ["--driver", "simulated", "--seed", "3", "--durations", "rollout=lognormal:1,1"]
    main(["run", "letters", *first, "--set", "reward=0.25", "--observer", "silent", "--out", "a"])
    main(["run", "letters", "--config", "a/config.toml", "--out", "b"])
    one, two = (json.loads(Path(name, "result.json").read_text()) for name in "ab")

    assert 3 == one["seed"]
    assert one == two
    assert Path("a/config.toml").read_text() == Path("b/config.toml").read_text()


def test_every_option_of_a_run_can_be_written_and_read_back(letters):
    """
    A configuration file has no key that cannot be read again.
    """
    main(["run", "letters", "--out", "a"])
    table = tomllib.loads(Path("a/config.toml").read_text())

    assert set(table) <= {field.name for field in attrs.fields(RunOptions)} | {"domain_name"}
    assert 200 == table["max_rollouts"]


def test_a_flag_wins_over_the_file(letters):
    """
    Options of the run, of the domain, and laws kind by kind.
    """
    Path("study.toml").write_text(
        'driver = "simulated"\nn_workers = 2\nseed = 5\n[domain]\nreward = 0.5\n'
        '[durations]\nrollout = "constant:1"\nmeasure = "constant:2"\n'
    )
    flags = ["--workers", "3", "--set", "reward=0.25", "--durations", "rollout=constant:4"]
    main(["run", "letters", "--config", "study.toml", *flags, "--out", "a"])
    table = tomllib.loads(Path("a/config.toml").read_text())

    assert (3, 5) == (table["n_workers"], table["seed"])
    assert {"reward": "0.25"} == table["domain"]
    assert {"rollout": "constant:4.0", "measure": "constant:2.0"} == table["durations"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--mode", "sync"],
        ["--mode", "sync", "--driver", "serial"],
        ["--mode", "sync", "--driver", "simulated"],
        ["--mode", "async", "--driver", "simulated"],
    ],
    ids=" ".join,
)
def test_modes_and_drivers(letters, arguments):
    """
    Every pair that is possible reaches what can be reached.
    """
    assert 0 == main(["run", "letters", *arguments, "--out", "a"])
    assert "headway\n" == Path("a/artifact/letters.txt").read_text()


def test_rewards_that_are_never_valid_fail_soon(site, letters):
    """
    Exit code 1, and the first cause on one line.
    """
    done = in_a_process(site, "letters", "--set", "reward=nan", "--max-rollouts", "10000", "--json")

    assert 1 == done.returncode
    assert "error" == json.loads(done.stdout)["stop_reason"]
    assert json.loads(done.stdout)["rollouts"] < 200
    assert "headway: error: the run failed: " in done.stderr.splitlines()[-1]
    assert "nan" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("path", ["../up.txt", "/top.txt", "a/../../b", "C:/x", "c:x", "..\\x", ""])
def test_a_domain_cannot_write_elsewhere(letters, path, capsys):
    """
    A rendered path that leaves the folder is the domain's fault; nothing is run or written.
    """
    code = main(["run", "letters", "--set", f"path={path}", "--out", "deep/out"])
    told = capsys.readouterr().err.splitlines()[-1]

    assert 1 == code
    assert f"headway: error: the domain rendered a file named {path!r}." in told
    assert [] == everything_below(letters)


def test_the_help_groups_the_flags(capsys):
    """
    A usage line that fits one line, the usual options first, and every default.
    """
    with pytest.raises(SystemExit):
        main(["run", "--help"])
    told = capsys.readouterr().out

    assert told.startswith("usage: headway run DOMAIN [option ...]\n")
    assert told.index("--max-rollouts") < told.index("--carry-limit")
    assert "(default: guarded)" in told


def test_the_help_behind_a_domain_shows_its_options(letters, capsys):
    """
    On standard output, where what the plug-in prints is not.
    """
    with pytest.raises(SystemExit) as caught:
        main(["run", "letters", "--help"])
    told = capsys.readouterr().out

    assert 0 == caught.value.code
    assert told.startswith("usage: headway run DOMAIN [option ...]\n")
    assert told.endswith(
        "\noptions of letters, for --set:\n  reward  what a wrong letter is worth, 0 by default\n"
    )
    assert 2 == main(["run", "lettres", "-h"])
    assert "Did you mean 'letters'?" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["--json"], ["--help"]], ids=" ".join)
def test_a_reader_that_goes_away_is_no_error(site, letters, arguments):
    """
    As under ``| head``: no traceback, the files are complete, and the exit code says it.
    """
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "headway", "run", "letters", *arguments],
        env={**os.environ, "PYTHONPATH": str(site)},
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        timeout=60,
    )
    os.close(writer)

    assert 141 == done.returncode
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr
    if arguments != ["--help"]:
        assert (letters / "headway-runs" / "letters-0-1" / "result.json").is_file()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("arguments", [[], ["--json"], ["--help"]], ids=" ".join)
def test_a_full_disk_is_one_line(site, letters, arguments):
    """
    It names the folder that holds the result nevertheless.
    """
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "headway", "run", "letters", *arguments],
            env={**os.environ, "PYTHONPATH": str(site)},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=60,
        )
    told = done.stderr.splitlines()[-1]

    assert 1 == done.returncode
    assert "Traceback" not in done.stderr
    assert told.startswith("headway: error: cannot write to standard output: No space left")
    if arguments != ["--help"]:
        assert told.endswith("; the result is in headway-runs/letters-0-1")
        assert Path("headway-runs/letters-0-1/result.json").is_file()


def test_nobody_reads_anything(site, letters):
    """
    Neither stream, as under ``2>&1 | head``.
    """
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "headway", "run", "letters"],
        env={**os.environ, "PYTHONPATH": str(site)},
        stdout=writer,
        stderr=writer,
        check=False,
        timeout=60,
    )
    os.close(writer)

    assert 141 == done.returncode


def test_the_saved_result_can_be_loaded(letters):
    """
    It is the one that ``result.json`` shows.
    """
    assert 0 == main(["run", "letters", "--max-rollouts", "10", "--out", "out"])
    loaded = Result.load("out/saved.json")

    assert json.loads(Path("out/result.json").read_text()) == loaded.to_json()


@pytest.mark.parametrize("kind", ["tokens", "cost"])
def test_a_limit_of_what_is_never_charged_is_noted_at_the_end(kind, letters, capsys):
    """
    And the domain's own bound ends the run.
    """
    assert 0 == main(["run", "letters", f"--max-{kind}", "9", "--out", "out"])

    said = (
        f"headway: note: max_{kind} was given and nothing was charged: call headway.charge({kind}="
    )
    assert said in capsys.readouterr().err
