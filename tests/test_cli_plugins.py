"""
Tests of ``headway plugins`` and of what all commands share.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys

import pytest

from headway.cli import _parser, main

KEEN = """
    from headway.registry import hookimpl

    print("a plug-in that talks while it is imported")

    class Keen:
        def decide(self, eta, alpha, contract_breaking):
            return "accept"

    @hookimpl
    def headway_staleness_policies():
        return {"keen": "headway_keen:Keen"}

    @hookimpl
    def headway_sweep_done(event):
        pass
"""

SAD = "import a_module_that_is_not_there"

LAZY = """
    from headway.registry import hookimpl

    @hookimpl
    def headway_ledgers():
        return {"paper": "headway_nowhere:Paper"}
"""


@pytest.fixture
def headway(site):
    """
    ``headway("plugins")`` runs the command in an interpreter of its own, as a user does.
    """

    def run(*arguments, **environment):
        return subprocess.run(
            [sys.executable, "-m", "headway", *arguments],
            env={**os.environ, "PYTHONPATH": str(site), **environment},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    return run


def lines_with(text, word):
    return [line.split() for line in text.splitlines() if word in line]


def test_the_table_has_a_line_a_name(headway, install):
    """
    Kind, name, target, distribution and version, hooks, status; built-in parts are there too.
    """
    install("headway-keen", KEEN, version="2.5")
    done = headway("plugins")
    (line,) = lines_with(done.stdout, "headway-keen")
    header = done.stdout.splitlines()[0].split()

    assert 0 == done.returncode
    assert ["KIND", "NAME", "TARGET", "DISTRIBUTION", "HOOKS", "STATUS"] == header
    assert [
        *("staleness", "policy", "keen", "headway_keen:Keen", "headway-keen", "2.5"),
        *("headway_staleness_policies", "headway_sweep_done", "ok"),
    ] == line
    assert lines_with(done.stdout, "headway.builtins._policies:Guarded")


@pytest.mark.parametrize(
    ("columns", "left_out"),
    [(300, set()), (130, {"HOOKS"}), (90, {"HOOKS", "TARGET"}), (20, {"HOOKS", "TARGET"})],
)
def test_a_narrow_terminal_gets_fewer_columns(monkeypatch, capsys, columns, left_out):
    """
    Those that say least about what can be used; the last line says so.
    """
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    main(["plugins"])
    header, *rows = capsys.readouterr().out.splitlines()
    every = {"KIND", "NAME", "TARGET", "DISTRIBUTION", "HOOKS", "STATUS"}

    assert every - left_out == set(header.split())
    assert bool(left_out) == rows[-1].startswith("(too narrow for HOOKS")
    assert columns == 20 or max(map(len, [header, *rows])) <= columns


def test_json_is_one_object_and_nothing_else(headway, install):
    """
    What plug-ins print goes elsewhere, and so do warnings.
    """
    install("headway-keen", KEEN)
    install("headway-sad", SAD)
    done = headway("plugins", "--json")
    rows = {row["distribution"]: row for row in json.loads(done.stdout)["plugins"]}

    assert 0 == done.returncode
    assert {
        "kind": "staleness policy",
        "name": "keen",
        "target": "headway_keen:Keen",
        "distribution": "headway-keen",
        "version": "1.0",
        "hooks": ["headway_staleness_policies", "headway_sweep_done"],
        "status": "ok",
        "detail": "",
    } == rows["headway-keen"]
    assert "broken" == rows["headway-sad"]["status"]
    assert "talks while it is imported" in done.stderr


def test_a_broken_plugin_is_one_warning_line_and_a_row(headway, install):
    """
    Listing is no failure; the warning is one line without a line of code.
    """
    install("headway-sad", SAD)
    done = headway("plugins")
    warnings = [line for line in done.stderr.splitlines() if "headway-sad" in line]

    assert 0 == done.returncode
    assert 1 == len(warnings)
    assert warnings[0].startswith(
        "headway: warning: plug-in 'sad' (headway_sad) of headway-sad 1.0"
    )
    assert 1 == len(lines_with(done.stdout, "broken: ModuleNotFoundError"))


@pytest.mark.parametrize("code", [SAD, LAZY], ids=["plug-in", "target"])
def test_check_fails_when_anything_is_broken(headway, install, code):
    """
    A plug-in, or a target that is imported only when it is asked for.
    """
    install("headway-sad", code)
    done = headway("plugins", "--check", HEADWAY_PLUGINS="headway-sad")
    (line,) = lines_with(done.stdout, "headway-sad")

    assert 1 == done.returncode
    assert "broken:" in line


def test_strict_mode_fails_naming_the_plugin(headway, install):
    """
    One line, exit code 1, no traceback.
    """
    install("headway-sad", SAD)
    done = headway("plugins", HEADWAY_PLUGINS_STRICT="1")

    assert (1, "") == (done.returncode, done.stdout)
    assert 1 == len(done.stderr.splitlines())
    assert done.stderr.startswith("headway: error: plug-in 'sad' (headway_sad) of headway-sad 1.0")


def test_bad_input_is_one_line_and_exit_code_2(headway):
    """
    A usage error has no traceback.
    """
    done = headway("plugins", HEADWAY_PLUGINS="headway-nothing", HEADWAY_PLUGINS_STRICT="1")

    assert 2 == done.returncode
    assert (
        "headway: error: HEADWAY_PLUGINS names headway-nothing, which is not installed\n"
        == done.stderr
    )


WRONG = {
    "plug-ins": "plug-ins: There is no such command. Did you mean 'plugins'? See headway --help.",
    "x": "x: There is no such command. See headway --help.",
    "plugins --jsno": (
        "--jsno: There is no such option. Did you mean '--json'? See headway plugins --help."
    ),
    "plugins --che": (
        "--che: There is no such option. Did you mean '--check'? See headway plugins --help."
    ),
}


@pytest.mark.parametrize("arguments", WRONG)
def test_an_unknown_command_or_option_is_one_line_and_exit_code_2(arguments, capsys):
    """
    With the nearest that there is, and where all of them are listed.
    """
    with pytest.raises(SystemExit) as caught:
        main(arguments.split())

    assert 2 == caught.value.code
    assert ("", f"headway: error: {WRONG[arguments]}\n") == capsys.readouterr()


def commands():
    """Every command that ``headway`` has, by the name that people type."""
    (parsers,) = (a for a in _parser()._actions if isinstance(a, argparse._SubParsersAction))
    return [*parsers.choices]


@pytest.mark.parametrize("command", ["", *commands(), "plugins new"])
def test_every_help_has_an_example(command, capsys):
    """
    An example says more than a list of options.
    """
    with pytest.raises(SystemExit) as caught:
        main([*command.split(), "--help"])

    assert 0 == caught.value.code
    assert f"Example:\n  headway {command}" in capsys.readouterr().out


def test_without_a_command_the_help_is_shown(capsys):
    """
    On standard error, since nothing was done: exit code 2.
    """
    assert 2 == main([])
    told = capsys.readouterr()

    assert "" == told.out
    assert told.err.startswith("usage: headway ")


def test_the_version_is_told(capsys):
    """
    That of the installed distribution.
    """
    from importlib.metadata import version

    with pytest.raises(SystemExit) as caught:
        main(["--version"])

    assert 0 == caught.value.code
    assert f"headway {version('headway')}\n" == capsys.readouterr().out


def test_ctrl_c_before_a_run_is_one_line(monkeypatch, capsys):
    """
    While modules are imported, for instance.
    """
    from headway import cli

    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "_parser", interrupted)

    assert 130 == main(["plugins"])
    assert ("", "headway: interrupted\n") == capsys.readouterr()


def test_other_warnings_are_shown_as_usual(monkeypatch, capsys):
    """
    Only warnings about plug-ins are Headway's to shorten, and only while a command runs.
    """
    import warnings

    from headway.cli import _plain_warnings
    from headway.errors import PluginWarning

    shown = []
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        monkeypatch.setattr(warnings, "showwarning", lambda *told, **more: shown.append(told[1]))
        with _plain_warnings():
            warnings.warn("mine", PluginWarning, stacklevel=1)
            warnings.warn("yours", UserWarning, stacklevel=1)

    assert [UserWarning] == shown
    assert "headway: warning: mine\n" == capsys.readouterr().err
