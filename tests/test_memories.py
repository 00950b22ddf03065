"""
Artifacts in an optimizer's memory: named by their digest, never copied, written once.
"""

from __future__ import annotations

import json
import random
from functools import partial

import pytest

import headway
from headway import run
from headway.codec import Decoder, Encoder
from headway.contracts import Artifact, Commit, Measure, Work
from headway.contracts._memories import memory_copy, memory_text
from headway.drivers import Checkpoints
from headway.machine import Returned
from headway.testing import ToyDomain


class Keeper:
    """
    Keeps the last few states that it has seen as artifacts, and starts from one of them.
    """

    batch = 1

    def select(self, ticket, head, memory, rng):
        return Work(parent=rng.choice(memory["seen"])) if memory else Work()

    def step(self, cards, context):
        seen = list(context.memory["seen"]) if context.memory else []
        assert all(isinstance(held, Artifact) for held in seen)
        children = [context.apply(card.diff, onto=card.parent) for card in cards]
        rows = yield Measure((context.head, *children), context.held_out)
        seen = [*seen, *children][-6:]
        best = max(range(len(rows)), key=lambda n: sum(rows[n]))
        if best:
            yield Commit(children[best - 1], [cards[best - 1]], memory={"seen": seen})
            return None
        return {"seen": seen}


def test_artifacts_are_handed_on_and_all_else_is_copied():
    """
    The same artifact, wherever it stands; what was a tuple is a list, as from a file.
    """
    artifact = Artifact({"a": 1})
    memory = {"best": artifact, "all": [(artifact, 0.5)], "n": {"deep": [1]}}
    mine = memory_copy(memory)
    memory["n"]["deep"].append(2)

    assert {"best": artifact, "all": [[artifact, 0.5]], "n": {"deep": [1]}} == mine
    assert mine["best"] is artifact is mine["all"][0][0]
    assert None is memory_copy(None)


def test_memories_are_the_same_when_their_artifacts_have_the_same_content():
    """
    Though they are other objects.
    """
    one, same, other = ({"best": Artifact({"a": n})} for n in (1, 1, 2))

    assert memory_text(one) == memory_text(same) != memory_text(other)


@pytest.mark.parametrize(
    ("memory", "error", "told"),
    [
        ({"rng": random.Random(0)}, TypeError, "JSON values and artifacts, and no Random"),
        ({"score": float("nan")}, ValueError, "not JSON compliant"),
        ([Artifact({"a": float("inf")})], ValueError, "not JSON compliant"),
        ({"$artifact": "0" * 64}, TypeError, r"has the key '\$artifact'"),
        ([Artifact({}), {"$artifact": Artifact({}).digest}], TypeError, "call it otherwise"),
    ],
)
def test_what_cannot_be_kept_is_refused(memory, error, told):
    """
    Also a key that could be mistaken for an artifact.
    """
    with pytest.raises(error, match=told):
        memory_copy(memory)


def test_a_text_that_reads_like_an_artifact_is_a_text():
    """
    Only a key stands for one, and none that merely ends like it.
    """
    memory = {
        "said": '{"$artifact":"0"}',
        "other": ["$artifact"],
        '"$artifact': {'\\"$artifact': 1},
    }

    assert memory == memory_copy(memory)


class Chain:
    """
    Remembers each step in front of all that it remembers, so that it nests ever deeper.
    """

    batch = 1

    def step(self, cards, context):
        yield Measure((context.head,), context.held_out[:1])
        memory = context.memory
        for number in range(60):
            memory = [number, memory]
        return memory


@pytest.mark.parametrize("kept", [False, True])
def test_a_memory_that_nests_ever_deeper_is_its_steps_fault(tmp_path, kept):
    """
    Long before the journal or the result can't hold it: what the run came to is there.
    """
    given = {"run_dir": tmp_path / "r"} if kept else {}
    result = run(ToyDomain(), aggregator=Chain(), driver="simulated", max_rollouts=30, **given)
    told = {(f.fault.where, f.fault.message) for f in result.failures}

    assert {("aggregator", "a memory is nested more than 100 deep")} == told
    assert 59 == result.memory[0]


@pytest.mark.parametrize(("depth", "refused"), [(100, False), (101, True)])
@pytest.mark.parametrize("wrap", [lambda m: [m], lambda m: {"m": m}, lambda m: (m,)])
def test_how_deep_a_memory_may_be_nested(depth, refused, wrap):
    """
    As deep as what a call gives.
    """
    memory = 1
    for _ in range(depth):
        memory = wrap(memory)

    if refused:
        with pytest.raises(ValueError, match="a memory is nested more than 100 deep"):
            memory_copy(memory)
    else:
        assert memory_text(memory) == memory_text(memory_copy(memory))


@pytest.mark.parametrize(("mode", "driver"), [("sync", "serial"), ("async", "threads")])
def test_an_optimizer_may_keep_artifacts_under_every_driver(mode, driver):
    """
    It improves, and no step fails.
    """
    result = run(ToyDomain(), aggregator=Keeper(), mode=mode, driver=driver, max_rollouts=60)

    assert () == result.failures
    assert result.final_reward > result.baseline_reward


def test_a_journal_names_artifacts_of_a_memory():
    """
    It writes each once, beside its rows.
    """
    artifact = Artifact({"a": "x" * 1000})
    event = Returned(1.0, 0, 2, memory_copy({"seen": [artifact, artifact]}))
    written = Encoder(artifact=lambda found: {"$a": found.digest})(event)

    assert len(json.dumps(written)) < 400
    assert event == Decoder(artifact={artifact.digest: artifact}.__getitem__)(written)


class StopAt:
    """
    Breaks a run off at a notice.
    """

    def __init__(self, count):
        self.left = count

    def __call__(self, notice):
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


def test_a_run_whose_optimizer_keeps_artifacts_is_gone_on_with(tmp_path, monkeypatch):
    """
    Broken off again and again, from checkpoints and without, it is the run that nobody broke off.
    """
    monkeypatch.setattr(headway._prepare, "Checkpoints", partial(Checkpoints, every=40))
    given = {"aggregator": Keeper(), "mode": "sync", "driver": "serial", "max_rollouts": 40}
    whole = run(ToyDomain(), **given)
    breaks = 0
    while True:
        try:
            again = run(ToyDomain(), run_dir=tmp_path / "r", observers=[StopAt(9)], **given)
            break
        except KeyboardInterrupt:
            breaks += 1

    assert breaks > 5
    assert (whole.digest, whole.state) == (again.digest, again.state)
