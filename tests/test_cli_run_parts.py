"""
Tests of the parts of ``headway run``: the plot, the progress, the files, the configuration file.
"""

from __future__ import annotations

import io
import json
import re
import sys
import time
import tomllib
from contextlib import redirect_stdout
from typing import get_args

import attrs
import pytest

from headway import Domain, Outcome, Splits, Task, run
from headway._prepare import prepare
from headway._words import REASONS
from headway.cli._config_file import read_config
from headway.cli._ending import Ending, suggestions, typed
from headway.cli._plot import plot
from headway.cli._progress import OUTCOMES, LiveTable, PlainLines, progress, sweep_line
from headway.contracts import FaultSeen, RunStarted, SweepDone, SweepOutcome, TicketEnded
from headway.drivers import Interrupt
from headway.durations import parse_law
from headway.errors import ContractError, HeadwayError
from headway.machine._config import STOPS_DRAINING, STOPS_HALTING
from headway.options import RunOptions
from headway.registry import Registry
from headway.result import Result
from headway.run import finish
from headway.rundir import Recipe
from headway.rundir._files import COLUMNS, check_files, write

SWEEP = SweepDone(
    now=1.5,
    sweep=3,
    outcome="committed",
    considered=4,
    committed=2,
    stale=1,
    version=2,
    reward=0.75,
    rollouts=12,
    calls=99,
)


class Counter(Domain):
    """
    A number that is to grow; the first reward of some tasks can be spoilt.
    """

    name = "counter"
    deterministic = True

    def __init__(self, spoilt=()):
        self.spoilt = dict(spoilt)

    def tasks(self):
        train = [Task(id=f"t{n}", data=n) for n in range(200)]
        return Splits(train=train, held_out=[Task(id=f"h{n}") for n in range(8)])

    def initial(self):
        return 0

    def rollout(self, state, task, *, rng=None):
        return Outcome(reward=self.spoilt.pop(task.data, min(1.0, state / 100)))

    def propose(self, state, task, outcome):
        return state + 1

    def apply(self, state, diff):
        return diff


def test_the_plot_holds_a_value_until_the_next():
    """
    The last column shows the last value, the first one the first.
    """
    drawn = plot([(0, 0.0), (50, 0.5), (100, 1.0)], width=10, height=2, ascii_only=True)

    assert [
        "1.000 |     ....#",
        "0.000 |.....#####",
        "       0      100",
    ] == drawn.splitlines()


@pytest.mark.parametrize(
    "points",
    [[(0, 0.5)], [(0, 0.5), (10, 0.5)], [(0, None), (10, 0.5)], [(5, 0.5), (5, 0.5), (5, None)]],
    ids=["one point", "constant", "one unknown", "one x"],
)
def test_a_plot_without_a_range_is_a_flat_line(points):
    """
    Neither one point nor a constant is divided by.
    """
    rows = plot(points, width=12, height=4).splitlines()[:-1]

    assert 4 == len(rows)
    assert [1] == [row.count("0.500") for row in rows if "0.500" in row]
    assert all("█" * 12 in row for row in rows[2:])


def test_no_point_no_plot():
    """
    A run may end before anything is measured.
    """
    assert "" == plot([])
    assert "" == plot([(0, None), (3, None)])


def test_the_plot_has_its_size():
    """
    About sixty columns and ten lines, whatever the number of points.
    """
    points = [(x, x * x) for x in range(1000)]
    *rows, _ = plot(points).splitlines()

    assert 10 == len(rows)
    assert all(len(row) <= len("998001.000 |") + 60 for row in rows)


def test_without_a_terminal_there_is_a_line_a_sweep():
    """
    And before the first one how the reward begins; each one is written at once.
    """
    stream = io.StringIO()
    with progress(stream, RunOptions()) as display:
        run(Counter(), mode="sync", driver="serial", max_rollouts=1, observers=[display])
        display(SWEEP)
        display(TicketEnded(now=2.0, ticket=1, task="a", completion="ok", reward=1.0))
        display(attrs.evolve(SWEEP, sweep=4, outcome="all-stale", reward=None))
    first, *_, third, fourth = stream.getvalue().splitlines()

    assert isinstance(display, PlainLines)
    assert "measuring the baseline" == first
    assert sweep_line(SWEEP).rstrip() == third
    assert ["sweep", "3", "committed", "reward", "0.750", "12", "rollouts"] == third.split()[:7]
    assert fourth.startswith("sweep 4    all stale ")
    assert len(fourth) <= 79


def test_on_a_terminal_there_is_a_live_table():
    """
    It shows the newest numbers when it is drawn.
    """
    pytest.importorskip("rich")

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    stream = Terminal()
    with progress(stream, RunOptions(max_rollouts=40, driver="simulated")) as display:
        display(SWEEP)
        display(TicketEnded(now=2.0, ticket=1, task="a", completion="ok", reward=1.0))
    rows = dict(display.rows())

    assert isinstance(display, LiveTable)
    assert "0.750" == rows["held-out reward"]
    assert "1 of 40" == rows["rollouts"]
    assert "99" == rows["calls"]
    assert "1 committed" == rows["sweeps"]
    assert "2.0 (virtual)" == rows["seconds"]
    assert "held-out reward" in stream.getvalue()


def test_what_a_domain_prints_stands_above_the_table(monkeypatch):
    """
    Whole lines, although the command has pointed standard output elsewhere.
    """
    pytest.importorskip("rich")

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    stream = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    with redirect_stdout(stream), progress(stream, RunOptions()):
        print("a domain that talks")
        assert sys.stdout is not stream

    assert "\na domain that talks\n" in re.sub(
        r"\x1b\[[0-9;?]*[A-Za-z]|\r", "\n", stream.getvalue()
    )


def test_the_table_asks_the_machine_for_what_no_notice_tells():
    """
    The first reward, the calls so far, and how many rollouts run.
    """
    options = RunOptions(mode="sync", driver="serial", max_rollouts=3)
    prepared = prepare(Counter(), options, registry=Registry.discover())
    table = LiveTable(io.StringIO(), options)
    table.watch(prepared.engine.machine)

    assert "measuring the baseline" == dict(table.rows())["held-out reward"]
    result = finish(prepared, Interrupt())
    rows = dict(table.rows())
    assert "0.000" == rows["held-out reward"]
    assert str(sum(result.calls.values())) == rows["calls"]


def test_real_time_passes_between_notices():
    """
    Virtual time does not.
    """
    for driver, passes in (("threads", True), ("simulated", False)):
        table = LiveTable(io.StringIO(), RunOptions(driver=driver))
        table(
            RunStarted(
                run="a", mode="async", driver=driver, seed=0, choices={}, notes=(), limits={}
            )
        )
        begun = table._seconds()
        time.sleep(0.002)

        assert passes == (begun < table._seconds())


def test_every_outcome_has_plain_words():
    """
    Nobody has to look up what a line says.
    """
    assert set(get_args(SweepOutcome)) == set(OUTCOMES)
    assert not [words for words in OUTCOMES.values() if "-" in words]


def test_without_rich_a_terminal_gets_plain_lines(monkeypatch):
    """
    Rich is an extra.
    """
    from headway.cli import _progress

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(_progress, "_has_rich", lambda: False)

    assert isinstance(progress(Terminal(), RunOptions()), PlainLines)


def test_faults_are_counted_in_the_table():
    """
    Something that was contained is still seen.
    """
    from headway.contracts import Fault

    table = LiveTable(io.StringIO(), RunOptions())
    table(FaultSeen(now=0.5, fault=Fault(where="rollout", type="OSError", message="gone")))

    assert "1" == dict(table.rows())["faults"]


@pytest.mark.parametrize(
    "name", ["../x", "a/../../x", "/x", "C:\\x", "\\x", "a\\..\\x", "", ".", "a\0b"]
)
def test_a_rendered_path_stays_below_its_folder(name):
    """
    On any system, whoever reads the files later.
    """
    with pytest.raises(ContractError, match="relative path"):
        check_files({name: ""})


def test_a_rendered_file_is_text():
    """
    Whatever a plug-in returns.
    """
    check_files({"a/b.txt": "", ".hidden": "", "a..b": ""})

    with pytest.raises(ContractError, match="which is no text"):
        check_files({"a": b""})
    with pytest.raises(ContractError, match="differs only in case"):
        check_files({"a": "", "A": ""})


def test_a_file_is_written_whole_or_not_at_all(tmp_path):
    """
    What cannot be encoded leaves the old file, and no draft beside it.
    """
    write(tmp_path, "a/x.txt", "old\n")
    with pytest.raises(HeadwayError, match=r"cannot write .*x\.txt"):
        write(tmp_path, "a/x.txt", "new \ud800\n")

    assert "old\n" == (tmp_path / "a" / "x.txt").read_text()
    assert ["x.txt"] == [path.name for path in (tmp_path / "a").iterdir()]


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    """
    The system's own words, without a traceback.
    """
    (tmp_path / "a").write_text("a file")

    with pytest.raises(HeadwayError, match="cannot write"):
        write(tmp_path, "a/x.txt", "")


def test_a_configuration_is_read_as_it_was_written(tmp_path):
    """
    Strings with anything in them, numbers, lists, tables and laws.
    """
    domain = {
        "text": 'quotes " \\ and\nlines \x7f é 𝄞',
        "an odd key": [1, 2.5, True, "x"],
        "nested": {"a": {"b": -1}},
        "inf": float("inf"),
    }
    laws = {"rollout": parse_law("lognormal:1,0.5"), "measure": parse_law("none")}
    options = RunOptions(driver="simulated", max_seconds=3.5, durations=laws, self_verify=False)
    path = tmp_path / "c.toml"
    recipe = Recipe(domain="toy", options=options, settings=domain, observers=["bell"])
    path.write_text(recipe.text(), encoding="utf-8")
    read = read_config(str(path))

    assert "toy" == read.name
    assert domain == read.domain
    assert ("bell",) == read.observers
    assert options == RunOptions(**read.options)
    assert "lognormal:1.0,0.5" == tomllib.loads(path.read_text("utf-8"))["durations"]["rollout"]


def test_every_stop_reason_is_explained():
    """
    In words, not only by its name.
    """
    assert {*STOPS_DRAINING, *STOPS_HALTING} <= set(REASONS)


def test_suggestions_depend_on_the_result():
    """
    More rollouts only while it improves, the other mode, where to look after a failure.
    """
    improving = run(Counter(), mode="sync", driver="serial", max_rollouts=20)
    failed = attrs.evolve(improving, stop_reason="error")
    rounds = attrs.evolve(improving, stop_reason="rounds", history=())

    assert ["--max-rollouts", "40"] in [more for more, _ in suggestions(improving)]
    assert [["--mode", "sync", "--driver", "serial"]] == [more for more, _ in suggestions(failed)]
    assert ["--mode", "async", "--driver", "threads", "--max-rollouts", "20"] in [
        more for more, _ in suggestions(rounds)
    ]


def test_a_small_gain_at_the_end_is_no_reason_to_go_on():
    """
    Some gain is found nearly always: only more than a fiftieth of it all counts.
    """
    result = run(Counter(), mode="sync", driver="serial", max_rollouts=20)
    last = attrs.evolve(SWEEP, rollouts=19, reward=0.901)
    little = (attrs.evolve(SWEEP, rollouts=10, reward=0.9), last)
    flat = attrs.evolve(result, history=little)
    steep = attrs.evolve(result, history=(little[0], attrs.evolve(last, reward=0.95)))

    assert "--max-rollouts" not in [word for more, _ in suggestions(flat) for word in more]
    assert ["--max-rollouts", "40"] in [more for more, _ in suggestions(steep)]


def test_a_simulation_without_durations_is_told_how_to_get_some():
    """
    Else its zero seconds are a riddle.
    """
    result = run(Counter(), driver="simulated", max_rollouts=4)
    longer = attrs.evolve(result, wallclock=1.0)

    assert ["--durations", "rollout=lognormal:1,1"] in [more for more, _ in suggestions(result)]
    assert "--durations" not in [word for more, _ in suggestions(longer) for word in more]


@pytest.mark.parametrize(
    ("argument", "on_path", "words"),
    [
        (".venv/bin/headway", None, [".venv/bin/headway"]),
        ("/opt/bin/headway", "/opt/bin/headway", ["headway"]),
        ("core/headway/__main__.py", None, [sys.executable, "-m", "headway"]),
        ("study.py", None, ["headway"]),
    ],
)
def test_commands_are_named_as_they_were_typed(argument, on_path, words, monkeypatch):
    """
    What the shell does not find is no help.
    """
    monkeypatch.setattr("sys.argv", [argument])
    monkeypatch.setattr("shutil.which", lambda name: on_path)

    assert words == typed()


def test_equal_failures_are_one_line_with_a_place(tmp_path):
    """
    However many tasks and calls they come from.
    """

    class Broken(Counter):
        def rollout(self, state, task, *, rng=None):
            if task.data % 2:
                raise ZeroDivisionError("division by zero")
            return super().rollout(state, task)

        propose = rollout

    result = run(Broken(), mode="sync", driver="serial", max_rollouts=20)
    text = Ending(name="broken", bare=True, folder=tmp_path, result=result).text()
    lines = [line for line in text.splitlines() if "ZeroDivisionError" in line]

    assert 1 == len(lines)
    assert re.fullmatch(
        r"  failure   \d+ x rollout: ZeroDivisionError: division by zero \(\S+\.py:\d+\)", lines[0]
    )
    assert "result.json has all of them, with tracebacks\n" in text


def test_a_narrow_terminal_has_a_narrow_plot(tmp_path, monkeypatch):
    """
    A line that is broken is no curve.
    """
    result = run(Counter(), mode="sync", driver="serial", max_rollouts=8)
    ending = Ending(name="counter", bare=True, folder=tmp_path, result=result)
    widths = {}
    for columns in ("40", "300"):
        monkeypatch.setenv("COLUMNS", columns)
        widths[columns] = max(len(line) for line in ending.text().splitlines() if "|" in line)

    assert {"40": 39, "300": 67} == widths


def test_a_report_without_rewards_has_no_plot(tmp_path):
    """
    A run may end before its first head is measured.
    """
    result = run(Counter(), mode="sync", driver="serial", max_rollouts=4)
    nothing = attrs.evolve(
        result, history=(), baseline_reward=None, final_reward=None, stop_reason="interrupted"
    )
    text = Ending(name="counter", bare=True, folder=tmp_path, result=nothing).text()

    assert "counter: it ended before the held-out reward was measured\n" in text
    assert "over rollouts" not in text
    assert "  headway run counter\n    the whole run, from the start\n" in text


def test_invalid_rewards_are_named_and_the_run_completes():
    """
    One NaN and one reward of 1.5 in 200 rollouts: both are in ``failures``, with their tasks.
    """
    spoilt = {7: float("nan"), 11: 1.5}
    result = run(Counter(spoilt), mode="sync", driver="serial", max_rollouts=200)
    named = {failure.fault.task: failure for failure in result.failures}

    assert "max_iters" == result.stop_reason
    assert 2 == result.completions["invalid"]
    assert {"t7", "t11"} == set(named)
    assert "nan" in named["t7"].fault.message
    assert "1.5" in named["t11"].fault.message


def test_a_result_as_json_survives_the_round_trip():
    """
    Every field is there, and is a JSON value already: string keys, lists, numbers that are finite.
    """
    spoilt = dict.fromkeys(range(0, 200, 9), float("nan"))
    result = run(Counter(spoilt), mode="async", driver="simulated", max_rollouts=60)
    told = result.to_json()

    assert told == json.loads(json.dumps(told, allow_nan=False))
    assert [field.alias for field in attrs.fields(Result)] == list(told)
    assert len(result.history) == len(told["history"])
    assert result.failures[0].fault.message == told["failures"][0]["fault"]["message"]
    assert {str(eta): n for eta, n in result.eta_histogram.items()} == told["eta_histogram"]


def test_the_curve_has_a_column_a_number():
    """
    The names that its first line gives.
    """
    assert {*COLUMNS} - {"seconds"} < {field.name for field in attrs.fields(SweepDone)}
