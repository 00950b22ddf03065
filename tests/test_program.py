"""
Tests of ``Program``: what it accepts, how it splits, and how it calls what it was given.
"""

from __future__ import annotations

import json
import random
from fractions import Fraction
from functools import partial

import attrs
import pytest
from hints import HINTS, TASKS, parts, propose, reward, run

from headway import AppendRules, FileTree, KeyedRules, Program, SingleSlot, Task
from headway import run as run_domain
from headway.contracts import Outcome, Ticket
from headway.errors import OptionError
from headway.evolve._calls import UserCall
from headway.evolve._options import FROZEN_IDS


def program(tasks=TASKS, reward=reward, **more):
    return Program(tasks, reward, **parts(**more))


def yields(*_):
    yield 1.0


async def yields_awaited(*_):
    yield None


def ids(tasks):
    return [task.id for task in tasks]


# ---------------------------------------------------------------------------------------- tasks


@attrs.frozen
class Question:
    id: str
    text: str = ""


def test_every_task_has_an_id_that_is_the_same_in_every_run():
    """
    Its own, a short text itself, or a digest of its content.
    """
    given = [
        Task(id="own"),
        {"id": 7, "q": "?"},
        Question("object"),
        "a text",
        ("a", "pair"),
        {"q": "no id"},
        "long " * 50,
    ]
    first, second = (
        [t.id for side in (p.tasks().train, p.tasks().held_out) for t in side]
        for p in (program(given, shuffle=False), program(json_copy(given), shuffle=False))
    )

    assert ["own", "7", "object", "a text"] == first[:4]
    assert all(name.startswith("task-") for name in first[4:])
    assert first == second
    assert len(set(first)) == len(given)


def json_copy(given):
    return [json.loads(json.dumps(x)) if isinstance(x, dict) else x for x in given]


def test_functions_receive_each_task_as_it_was_given():
    """
    A mapping stays a mapping, an object the object.
    """
    given = [{"id": "m"}, ("a", "b"), "text", Question("q"), Task(id="t")]
    seen = []

    def look(rendered, task):
        seen.append(task)
        return "right"

    made = program(given, run=look)
    for task in (*made.tasks().train, *made.tasks().held_out):
        made.rollout([], task, rng=random.Random(0))

    assert sorted(map(repr, given)) == sorted(map(repr, seen))
    assert any(task is given[3] for task in seen)


@pytest.mark.parametrize(
    ("tasks", "told"),
    [
        ("abcd", "Give a list of tasks."),
        ({"a": 1}, "Give a list of tasks."),
        (7, "tasks=7: Give a list of tasks."),
        (["a", "b", "c"], "tasks=3: Give at least 4 tasks."),
        (["a", "b", "c", "a"], "tasks='a': This id occurs twice; give every task its own."),
        (["a", "b", "c", {"id": "a"}], "tasks='a': This id occurs twice"),
        (["a", "b", "c", {"id": "\ud800"}], "this id is no valid Unicode"),
        (["a", "b", "c", object()], "It has no id, and is no JSON value"),
    ],
)
def test_tasks_that_cannot_be_told_apart_are_refused(tasks, told):
    """
    With the id, and what to do.
    """
    with pytest.raises(OptionError) as caught:
        program(tasks)

    assert told in str(caught.value)


# ---------------------------------------------------------------------------------------- split


def test_the_split_is_seeded_whole_and_disjoint():
    """
    Equal seeds give equal splits, other seeds other ones; the order is the caller's.
    """
    splits = {seed: program(seed=seed).tasks() for seed in (0, 0, 1, 2)}
    everything = ids(TASKS)

    for split in splits.values():
        train, held_out = ids(split.train), ids(split.held_out)
        assert 8 == len(held_out)
        assert everything == sorted(train + held_out, key=everything.index)
        assert train == sorted(train, key=everything.index)
    assert program(seed=0).tasks() == splits[0]
    assert len({tuple(ids(s.held_out)) for s in splits.values()}) == 3


def test_without_shuffling_the_last_tasks_are_held_out():
    """
    As many as the share says.
    """
    split = program(shuffle=False, held_out_frac=0.25).tasks()

    assert ids(TASKS[-5:]) == ids(split.held_out)
    assert ids(TASKS[:-5]) == ids(split.train)


@pytest.mark.parametrize("frac", [0.05, 0.07, 0.95])
def test_a_side_of_fewer_than_two_is_refused(frac):
    """
    With the shares that would do.
    """
    with pytest.raises(OptionError, match=r"each side needs 2. Give a share from 0.1 to 0.9"):
        program(held_out_frac=frac)


@pytest.mark.parametrize("frac", [0, 1, -0.1, 1.5, float("nan"), "0.4", True])
def test_a_share_that_is_none_is_refused(frac):
    """
    By name.
    """
    with pytest.raises(OptionError, match="held_out_frac="):
        program(held_out_frac=frac)


def test_test_tasks_are_kept_apart():
    """
    They are scored once, and share no id with the others.
    """
    made = program(test_tasks=[Task(id="x", data="alpha"), "y"])

    assert ["x", "y"] == ids(made.tasks().test)
    with pytest.raises(OptionError, match=r"test_tasks='t3': .*such as 'test_tasks/t3'"):
        program(test_tasks=[Task(id="t3")])
    with pytest.raises(OptionError, match="Give at least one task, or leave it out"):
        program(test_tasks=[])


# ---------------------------------------------------------------------------------------- functions


class Agent:
    def run(self, rendered, task):
        return run(rendered, task)

    def propose(self, rendered, task, output, reward):
        return propose(rendered, task, output, reward)


class OnlyRuns:
    def __call__(self, rendered, task):
        return run(rendered, task)


@pytest.mark.parametrize(
    "given",
    [
        {"agent": Agent()},
        {"agent": OnlyRuns(), "propose": propose},
        {"agent": run, "propose": propose},
        {"run": Agent().run, "propose": partial(propose)},
        {"run": lambda r, t, *more: run(r, t), "propose": lambda *given: propose(*given[:4])},
    ],
)
def test_an_agent_may_be_an_object_or_functions(given):
    """
    Each of these improves the same rules.
    """
    made = Program(TASKS, reward, strategy=AppendRules(), **given)
    result = run_domain(made, driver="serial", mode="sync", max_rollouts=40, target_reward=1.0)

    assert result.converged


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"run": None}, "run=None: Give run, or an agent that has it as a method."),
        ({"propose": None}, "propose=None: Give propose, or an agent that has it as a method."),
        ({"agent": Agent()}, "The agent has its own run: leave one of them out."),
        ({"agent": 7, "run": None}, "agent=7: Give an object with run and propose"),
        ({"run": 3}, "run=3: Give a function that is called as run(rendered, task)."),
        (
            {"run": lambda prompt: None},
            "run='<lambda>(prompt)': It is called as run(rendered, task), which does not fit: it takes fewer arguments",
        ),
        (
            {"run": lambda r, t, temperature: None},
            "missing a required argument: 'temperature'. Beside these it may only ask for rng",
        ),
        ({"run": lambda rng, task: None}, "multiple values for argument 'rng'"),
        (
            {"propose": lambda r, t, output: None},
            "It is called as propose(rendered, task, output, reward), which does not fit: it takes fewer",
        ),
        (
            {"reward": lambda output, task: 1},
            "It is called as reward(task, output), which does not fit: its parameters stand in another order.",
        ),
        ({"run": yields}, "run='yields': It yields, so a call of it gives no value yet"),
        ({"reward": partial(yields)}, "reward='yields': It yields"),
        ({"propose": yields_awaited}, "propose='yields_awaited': It yields"),
        ({"agent": Agent, "run": None}, "agent='Agent': Give an object: put () behind the class."),
        (
            {"reward": lambda output: None},
            "It is called as reward(task, output), which does not fit: it takes fewer",
        ),
        ({"strategy": AppendRules}, "strategy='AppendRules': Give an object: put () behind"),
        ({"strategy": object()}, "It lacks initial, render, to_diff, apply. Give AppendRules()"),
        ({"initial_state": "x"}, "initial_state='x': It gives no state: 'x' is no state of"),
        ({"artifact_id": ""}, "artifact_id='': Give a name."),
        ({"seed": -1}, "seed=-1: Give a whole number of at least 0."),
        ({"shuffle": 1}, "shuffle=1: Give true or false."),
    ],
)
def test_what_cannot_be_called_or_used_is_refused_before_anything_runs(given, told):
    """
    The message names the function, the parameter and the expected signature.
    """
    with pytest.raises(OptionError) as caught:
        program(**given)

    assert told in str(caught.value)


@pytest.mark.parametrize("name", FROZEN_IDS)
def test_what_is_frozen_cannot_be_improved(name):
    """
    Whatever somebody calls it.
    """
    with pytest.raises(OptionError, match=r"This is frozen: nothing may change it"):
        program(artifact_id=name)


def test_who_names_rng_ticket_or_payload_is_given_them():
    """
    In a rollout all three; in a measurement there is no ticket and no payload.
    """
    seen = []

    def look(rendered, task, *, rng, ticket=None, payload="unset"):
        seen.append(("run", type(rng), ticket, payload))
        return "wrong"

    def score(task, output, rng):
        seen.append(("reward", type(rng)))
        return 0

    def suggest(rendered, task, output, reward, ticket):
        seen.append(("propose", ticket))

    made = program(run=look, reward=score, propose=suggest)
    task, ticket = made.tasks().train[0], Ticket(3, 0, 1, 0)
    outcome = made.rollout([], task, rng=random.Random(0), payload=5, ticket=ticket)
    made.propose([], task, outcome, rng=random.Random(0), ticket=ticket)
    made.rollout([], task, rng=random.Random(0))

    assert [
        ("run", random.Random, ticket, 5),
        ("reward", random.Random),
        ("propose", ticket),
        ("run", random.Random, None, None),
        ("reward", random.Random),
    ] == seen


def test_a_run_hands_over_tickets_and_keyed_randomness():
    """
    End to end: every rollout has its ticket, and equal seeds draw equal numbers.
    """

    def drawn(seed):
        seen = set()

        def look(rendered, task, *, rng, ticket):
            seen.add((None if ticket is None else ticket.number, rng.random()))
            return "wrong"

        run_domain(program(run=look), driver="threads", mode="sync", max_rollouts=12, seed=seed)
        return seen

    first = drawn(0)

    assert set(range(12)) | {None} == {number for number, _ in first}
    assert first == drawn(0)
    assert first != drawn(1)


def test_a_plain_function_that_gives_a_coroutine_is_told_so():
    """
    A lambda around ``async def`` looks plain; nothing is left unawaited.
    """

    async def later(rendered, task):
        return "right"

    made = program(run=lambda r, t: later(r, task=t))

    with pytest.raises(TypeError, match="run returned something to be awaited; write it as async"):
        made.rollout([], made.tasks().train[0], rng=None)


def test_a_comparison_is_a_reward():
    """
    True is 1 and False is 0.
    """
    made = program()
    outcome = made.rollout(["alpha"], Task(id="t0", data="alpha"), rng=None)

    assert Outcome(reward=1.0, output="right") == outcome


class Scalar:
    """
    A single number of an array library's own, such as ``numpy.float32(0.5)`` or a tensor.
    """

    ndim = 0

    def __init__(self, value):
        self.value = value

    def item(self):
        return self.value


@pytest.mark.parametrize(
    ("given", "expected"),
    [(Scalar(0.5), 0.5), (Scalar(True), 1.0), (Fraction(1, 2), 0.5), (False, 0.0), (0.25, 0.25)],
)
def test_a_number_of_another_library_is_a_reward(given, expected):
    """
    Where a comparison gives a boolean of the library's own, that is one, too.
    """
    made = program(reward=lambda task, output: given)

    found = made.rollout([], made.tasks().train[0], rng=None).reward

    assert (expected, float) == (found, type(found))


def test_an_awaited_function_is_known_in_any_dress():
    """
    As a method, as an object that is called, and behind ``partial``.
    """

    class Called:
        async def __call__(self, rendered, task):
            return "right"

    several = (Called(), partial(Called()), partial(partial(Called().__call__)))

    assert [True] * 3 == [
        UserCall.checked("run", f, ("rendered", "task")).is_async for f in several
    ]


# ---------------------------------------------------------------------------------------- strategy


class Bare:
    """
    A strategy that is derived from nothing and has no method but the four.
    """

    def initial(self):
        return {}

    def render(self, state):
        return " ".join(state)

    def to_diff(self, proposal, state):
        return {proposal: "x"}

    def apply(self, state, diff):
        return {**state, **diff}


def test_a_strategy_needs_four_methods_and_no_base_class():
    """
    The others are as ``Strategy`` has them.
    """
    made = program(strategy=Bare())

    assert {"a": "x"} == made.rebase({"a": "x"}, {"b": "y"})["set"]
    assert ("a",) == made.keys({"a": "x"})
    assert not made.contract_breaking({"a": "x"})
    assert () == made.removals({"a": "x"})
    result = run_domain(made, driver="serial", mode="sync", max_rollouts=60, target_reward=1.0)
    assert result.converged
    assert {f"say {hint}" for hint in HINTS} >= set(result.state)


@pytest.mark.parametrize(
    ("strategy", "state"),
    [
        (AppendRules(), ["say alpha"]),
        (KeyedRules(), {"first": "say alpha"}),
        (SingleSlot("say"), "say alpha"),
        (FileTree(), {"a.md": "say alpha"}),
    ],
)
def test_a_run_may_start_from_a_given_state(strategy, state):
    """
    Of the strategy's shape; the artifact's name is the run's.
    """
    made = program(strategy=strategy, initial_state=state, artifact_id="hints")

    assert state == made.initial()
    assert "hints" == made.name
    assert "artifact" == Program.name


def test_a_proposal_that_cannot_be_used_makes_the_rollout_invalid():
    """
    It is a bad value, not a failure of the backend.
    """
    made = program(propose=lambda *_: 7)
    result = run_domain(made, driver="serial", mode="sync", max_rollouts=6)

    assert "error" == result.stop_reason
    assert {"invalid"} == {kind for kind, count in result.completions.items() if count}
    assert "AppendRules refuses the proposal: rule 7 is of type int" in (
        result.failures[0].fault.message
    )


def test_a_program_with_other_options_is_another_program(tmp_path):
    """
    A text stands for a value, as on the command line; the first one stays as it is.
    """
    tests = tmp_path / "tests.jsonl"
    tests.write_text('{"id": "x", "q": 1}\n\n"y"\n')
    state = tmp_path / "state.json"
    state.write_text('["say beta"]')
    made = program()
    other = made.with_options(
        held_out_frac="0.25", shuffle="false", seed="3", test_tasks=str(tests),
        initial_state=str(state), artifact_id="b",
    )  # fmt: skip

    assert ids(TASKS[-5:]) == ids(other.tasks().held_out)
    assert ["x", "y"] == ids(other.tasks().test)
    assert ["say beta"] == other.initial()
    assert ("artifact", "b") == (made.name, other.name)
    assert [] == made.initial()


def test_a_folder_may_be_the_state_to_start_from(tmp_path):
    """
    For a tree of files.
    """
    (tmp_path / "SKILL.md").write_text("say alpha")
    made = program(strategy=FileTree()).with_options(initial_state=str(tmp_path))

    assert {"SKILL.md": "say alpha"} == made.initial()
    (tmp_path / "logo.png").write_bytes(b"\xff")
    patient = program(strategy=FileTree(ignore="*.png")).with_options(initial_state=str(tmp_path))
    assert {"SKILL.md": "say alpha"} == patient.initial()


@pytest.mark.parametrize(
    ("option", "value", "told"),
    [
        ("held_out", 0.3, "A program has no such option. Did you mean 'held_out_frac'?"),
        ("seed", "x", "seed='x': Give a whole number of at least 0."),
        ("shuffle", "maybe", "shuffle='maybe': Give true or false."),
        ("held_out_frac", "half", "held_out_frac='half': Give a number."),
        ("test_tasks", "nowhere.json", "nowhere.json': No such file or directory: give a file"),
        ("test_tasks", "bad.json", "This is no JSON"),
        ("test_tasks", "bad.bin", "This is no UTF-8 text."),
    ],
)
def test_options_that_cannot_be_used_are_refused(option, value, told, tmp_path, monkeypatch):
    """
    By name, with the remedy.
    """
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.json").write_text("{")
    (tmp_path / "bad.bin").write_bytes(b"\xff")
    with pytest.raises(OptionError) as caught:
        program().with_options(**{option: value})

    assert told in str(caught.value)
