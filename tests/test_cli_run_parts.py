"""
Tests of the parts of ``headway run``: the plot, the progress, the files, the configuration file.
"""

from __future__ import annotations

import io
import json
import tomllib

import attrs
import pytest

from headway import Domain, Outcome, Splits, Task, run
from headway.cli._config_file import config_text, read_config
from headway.cli._ending import REASONS, Ending, suggestions
from headway.cli._output import COLUMNS, check_files, write
from headway.cli._plot import plot
from headway.cli._progress import LiveTable, PlainLines, progress, sweep_line
from headway.contracts import FaultSeen, SweepDone, TicketEnded
from headway.durations import parse_law
from headway.errors import ContractError, HeadwayError
from headway.machine._config import STOPS_DRAINING, STOPS_HALTING
from headway.options import RunOptions
from headway.result import Result

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
    And nothing else; each one is written at once.
    """
    stream = io.StringIO()
    with progress(stream, RunOptions()) as display:
        display(SWEEP)
        display(TicketEnded(now=2.0, ticket=1, task="a", completion="ok", reward=1.0))
        display(attrs.evolve(SWEEP, sweep=4, reward=None))
    lines = stream.getvalue().splitlines()

    assert isinstance(display, PlainLines)
    assert 2 == len(lines)
    assert sweep_line(SWEEP).rstrip() == lines[0]
    assert ["sweep", "3", "committed", "version", "2", "reward", "0.750"] == lines[0].split()[:7]


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
    assert "1 committed" == rows["sweeps"]
    assert "2.0 (virtual)" == rows["seconds"]
    assert "held-out reward" in stream.getvalue()


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
    path.write_text(config_text("toy", options, domain, ["bell"]), encoding="utf-8")
    read = read_config(str(path))

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


def test_a_report_without_rewards_has_no_plot(tmp_path):
    """
    A run may end before its first head is measured.
    """
    result = run(Counter(), mode="sync", driver="serial", max_rollouts=4)
    nothing = attrs.evolve(
        result, history=(), baseline_reward=None, final_reward=None, stop_reason="interrupted"
    )
    text = Ending(name="counter", bare=True, folder=tmp_path, result=nothing).text()

    assert "held-out reward unknown -> unknown" in text
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
    assert [field.name for field in attrs.fields(Result)] == list(told)
    assert len(result.history) == len(told["history"])
    assert result.failures[0].fault.message == told["failures"][0]["fault"]["message"]
    assert {str(eta): n for eta, n in result.eta_histogram.items()} == told["eta_histogram"]


def test_the_curve_has_a_column_a_number():
    """
    The names that its first line gives.
    """
    assert {*COLUMNS} - {"seconds"} < {field.name for field in attrs.fields(SweepDone)}
