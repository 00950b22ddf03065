"""
Tests of ``headway run FILE.py:ATTRIBUTE`` and ``headway run MODULE:ATTRIBUTE``.
"""

from __future__ import annotations

import json
import sys
from textwrap import dedent

import pytest

from headway.cli import main
from headway.cli._targets import load
from headway.errors import UsageError

STUDY = """
    from headway import AppendRules, MergeReport, Program
    from headway.contracts import Domain, Outcome, Splits, Task

    HINTS = ("alpha", "beta", "gamma", "delta")
    TASKS = [{"id": f"t{n}", "hint": HINTS[n % 4]} for n in range(20)]

    def reward(task, output):
        return output == "right"

    def run(rendered, task):
        return "right" if task["hint"] in rendered else "wrong"

    def propose(rendered, task, output, reward):
        return f"say {task['hint']}"

    program = Program(
        TASKS, reward, run=run, propose=propose, strategy=AppendRules(), artifact_id="hints"
    )

    def made(template="- {}", n_tasks: int = 20, noise=0.0, loud=False):
        assert (type(n_tasks), type(noise), type(loud)) == (int, float, bool)
        return Program(
            TASKS[:n_tasks], reward, run=run, propose=propose,
            strategy=AppendRules(template=template),
        )

    class Fixed(Domain):
        name = "fixed"
        deterministic = True
        defaults = {"max_rollouts": 5}

        def tasks(self):
            return Splits(train=[Task(id="a"), Task(id="b")], held_out=[Task(id="c"), Task(id="d")])

        def initial(self):
            return 0

        def rollout(self, state, task):
            return Outcome(reward=0.5)

        def propose(self, state, task, outcome):
            return None

        def apply(self, state, diff):
            return diff

    fixed = Fixed()
    seven = 7

    def gives_seven():
        return 7

    def raises():
        raise KeyError("mine")

    class Old:
        def __init__(self, ledger, verifier, audit, config, staleness_policy):
            self.ledger, self.verifier, self.cards = ledger, verifier, []

        def ingest(self, card):
            self.cards.append(card)

        def step(self):
            cards, self.cards = self.cards, []
            candidate = self.ledger.apply(*(card.diff for card in cards))
            before, after = self.verifier.rows([self.ledger.snapshot().artifact.value, candidate])
            better = sum(after) > sum(before)
            outcome = "committed" if better else "below-threshold"
            return [MergeReport(outcome=outcome, cards=cards, candidate=candidate if better else None)]

    class Last:
        def pick(self, book):
            return book.train[-1]

    seen = []

    def watch(notice):
        seen.append(notice)
"""

OFFERS = (
    STUDY
    + """
    from headway.registry import hookimpl

    @hookimpl
    def headway_domains():
        return {"fixed": Fixed}
"""
)


@pytest.fixture
def study(tmp_path, monkeypatch):
    """
    A folder with a file of the user's, to run in; what is imported from it is forgotten.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "study.py").write_text(dedent(STUDY))
    (tmp_path / "mystudy.py").write_text(dedent(STUDY))
    yield tmp_path
    for name in ("_headway_file_study", "mystudy", "broken", "needs"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize("target", ["deep/study.py:program", "mystudy:program", "mystudy:made"])
def test_what_a_script_makes_is_run_with_every_flag(study, target, capsys):
    """
    Tasks, reward and strategy are the script's; the rest is flags.
    """
    code = main(
        f"run {target} --mode sync --workers 3 --target 1.0 --out out --max-iters 60 "
        "--staleness-policy full --duration-estimator linear".split()
    )
    result = json.loads((study / "out" / "result.json").read_text())

    assert 0 == code
    assert ("sync", "target_reward", 1.0) == (
        result["mode"], result["stop_reason"], result["final_reward"]
    )  # fmt: skip
    assert "say" in (study / "out" / "artifact" / "rules.md").read_text()
    assert f"{target}: held-out reward" in capsys.readouterr().out


def test_a_run_of_a_script_is_repeated_from_its_file(study):
    """
    ``config.toml`` holds what was set, under the names that were given.
    """
    first = ["run", "deep/study.py:program", "--driver", "serial", "--mode", "sync", "--out", "a"]
    main([*first, "--set", "held_out_frac=0.25", "--sampler", "deep/study.py:Last"])
    main(["run", "deep/study.py:program", "--config", "a/config.toml", "--out", "b"])
    one, two = (json.loads((study / out / "result.json").read_text()) for out in "ab")

    assert 'sampler = "deep/study.py:Last"' in (study / "a" / "config.toml").read_text()
    assert one["digest"] == two["digest"]
    assert 5 == len(two["splits"]["held_out"])


def test_options_go_to_the_function_and_then_to_the_program(study):
    """
    A text becomes a number where the function says so.
    """
    more = ["n_tasks=12", "noise=0.5", "loud=yes", "template=* {}", "shuffle=no", "artifact_id=x"]
    pairs = [word for pair in more for word in ("--set", pair)]
    code = main(["run", "mystudy:made", "--driver", "simulated", "--out", "out", *pairs])
    result = json.loads((study / "out" / "result.json").read_text())

    assert 0 == code
    assert [f"t{n}" for n in range(7, 12)] == result["splits"]["held_out"]
    assert (study / "out" / "artifact" / "rules.md").read_text().startswith("* say")


def test_parts_and_observers_may_be_written_in_a_file(study, capsys):
    """
    An aggregator also in the older form, as a factory; a class is made, a function observes.
    """
    code = main(
        [
            "run",
            "deep/study.py:program",
            "--aggregator",
            "deep/study.py:Old",
            "--target",
            "1",
            "--observer",
            "deep/study.py:watch",
            "--mode",
            "sync",
            "--out",
            "out",
            "--json",
        ]
    )
    result = json.loads(capsys.readouterr().out)

    assert (0, "target_reward") == (code, result["stop_reason"])
    assert sys.modules["_headway_file_study"].seen
    assert "OldStyle (given by the program)" == result["choices"]["aggregator"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("nowhere.py:x", "nowhere.py: there is no such file. Give a file that exists"),
        ("deep/study.py", "deep/study.py: say what in it is meant, as deep/study.py:NAME."),
        ("deep/study.py:", "deep/study.py: say what in it is meant, as deep/study.py:NAME."),
        ("nowhere:x", "nowhere: there is no module named 'nowhere'. Give a module that can be"),
        ("deep/study.py:progam", "has no 'progam'. Did you mean 'program'?"),
        ("deep/study.py:zzz", "has no 'zzz'. Its domains: fixed, program."),
        ("deep/study.py:seven", "this is of type int, which is no domain. Name a domain, such as"),
        ("deep/study.py:gives_seven", "this is of type int, which is no domain."),
        ("deep/study.py:raises", "calling it raised KeyError: 'mine'. Mend that first."),
        ("deep/study.py:program --set held_out=1", "--set held_out='1': deep/study.py:program has"),
        ("deep/study.py:made --set seeds=1", "Options: template, n_tasks, noise, loud, held_out"),
        ("deep/study.py:made --set n_tasks=x", "--set n_tasks='x': Give a whole number."),
        ("deep/study.py:made --set loud=x", "--set loud='x': Give true or false."),
        ("deep/study.py:fixed --set a=1", "--set a='1': deep/study.py:fixed has no such option."),
        ("deep/study.py:program --set artifact_id=oracle", "This is frozen"),
        ("deep/study.py:program --policy deep/study.py:nope", "has no 'nope'"),
        ("deep/study.py:program --sampler deep/study.py:seven", "which is no Sampler"),
        *(
            (
                f"deep/study.py:program --{option} own.py",
                "own.py: say what in it is meant, as own.py:",
            )
            for option in ("aggregator", "sampler", "observer")
        ),
    ],
)
def test_what_cannot_be_run_is_bad_input(study, arguments, told, capsys):
    """
    One line that names the value, the place and the remedy; nothing was written.
    """
    code = main(["run", *arguments.split()])
    error = capsys.readouterr().err

    assert 2 == code
    assert told in error
    assert 1 == error.count("\n")
    assert not (study / "headway-runs").exists()


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("x = 1\ny = nope", "importing it raised NameError: name 'nope' is not defined ("),
        ("import sys; sys.exit(3)", "importing it raised SystemExit: 3 ("),
        ("import not_there_at_all", "importing it raised ModuleNotFoundError: No module named"),
        ("x = (", "importing it raised SyntaxError: '(' was never closed"),
    ],
)
@pytest.mark.parametrize("target", ["broken.py:x", "broken:x"])
def test_a_script_that_cannot_be_imported_says_why(study, code, told, target, capsys):
    """
    With the line at which it raised.
    """
    (study / "broken.py").write_text(code)

    assert 2 == main(["run", target])
    assert told in capsys.readouterr().err


def test_a_script_imports_what_lies_beside_it(study):
    """
    As a script that is run by Python does.
    """
    (study / "deep" / "needs.py").write_text("from study import fixed\n")

    assert 0 == main(["run", "deep/needs.py:fixed", "--out", "out"])


@pytest.mark.parametrize("target", ["deep/study.py:made", "deep/study.py:program"])
def test_the_help_shows_the_options_of_what_a_script_makes(study, target, capsys):
    """
    The function's, then the program's.
    """
    with pytest.raises(SystemExit):
        main(["run", target, "--help"])
    told = capsys.readouterr().out.partition("for --set:\n")[2]

    assert ("  n_tasks\n" in told) == target.endswith("made")
    assert "  held_out_frac  share of the tasks that candidates are measured on\n" in told


def test_a_distribution_comes_before_a_module(study, install, capsys):
    """
    ``distribution:name`` keeps its meaning where both could be meant.
    """
    install("mystudy2", OFFERS)
    (study / "mystudy2").mkdir()

    assert 0 == main(["run", "mystudy2:fixed", "--out", "out"])
    assert "mystudy2:fixed: held-out reward" in capsys.readouterr().out


def test_modes_of_a_script_are_compared(study):
    """
    ``headway compare`` takes the same places.
    """
    arguments = "compare deep/study.py:program --seeds 0-1 --driver simulated --max-rollouts 20"

    assert 0 == main([*arguments.split(), "--out", "out"])
    assert "sync" in (study / "out" / "table.md").read_text()


def test_parts_of_a_script_are_compared_each_run_with_its_own(study):
    """
    What an aggregator keeps from one run says nothing in the next one; an observer is told of all.
    """
    arguments = (
        "compare deep/study.py:program --seeds 0-1 --driver simulated --max-rollouts 20 --modes async "
        "--aggregator deep/study.py:Old --observer deep/study.py:watch --out out"
    )

    assert 0 == main(arguments.split())
    results = json.loads((study / "out" / "results.json").read_text())
    assert {"deep/study.py:Old"} == {arm["options"]["aggregator"] for arm in results["arms"]}
    assert [True, True] == [trial["reward"] > 0 for trial in results["trials"]]
    assert sys.modules["_headway_file_study"].seen


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("threadng", None),
        ("nothing", None),
        ("Programm", "program"),
        ("limt", None),
        ("progam", "program"),
        ("fixd", "fixed"),
        ("maed", "made"),
        ("Fixd", "Fixed"),
    ],
)
def test_a_name_is_only_likened_to_what_may_be_meant(typed, meant, tmp_path):
    """
    Domains and what the file itself defines, and nothing that it imports or counts with.
    """
    place = tmp_path / f"likened_{typed}.py"
    place.write_text("import threading\nlimit = 7\n" + dedent(STUDY))
    with pytest.raises(UsageError) as caught:
        load(f"{place}:{typed}")
    _, found, hint = str(caught.value).partition(" Did you mean ")

    assert meant == (hint.strip("'?") if found else None)


def test_an_aggregator_in_a_file_leaves_the_policy_as_it_was_named(study, capsys):
    """
    Only a factory of the older form is handed the policy; all others leave it to the run, which
    then tells it by its name.
    """
    (study / "mine.py").write_text(
        "class Mine:\n"
        "    batch, defaults = 1, {'policy': 'reflective'}\n"
        "    def step(self, cards, context):\n"
        "        yield from ()\n"
        "def make():\n    return Mine()\n"
    )
    told = {}
    for name in ("Mine", "make"):
        arguments = ["run", "deep/study.py:program", "--aggregator", f"mine.py:{name}"]
        assert 0 == main([*arguments, "--driver", "simulated", "--max-rollouts", "4", "--json"])
        out = capsys.readouterr()
        told[name] = json.loads(out.out)["choices"]["staleness policy"]
        assert "note: policy=reflective: suits the aggregator Mine" in out.err

    assert {"Mine", "make"} == {n for n, c in told.items() if c.startswith("reflective (headway ")}
