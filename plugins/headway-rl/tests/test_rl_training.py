"""
What the domain does when a step has it train, and the steps that ask for it.
"""

from __future__ import annotations

import asyncio
import gc
import random
import threading
from itertools import permutations

import numpy as np
import pytest
from rl_worlds import AsyncScribe, Echo, Scribe, card, numpy_trainer

from headway.contracts import (
    Artifact,
    Gather,
    Snapshot,
    Splits,
    StepContext,
    Task,
    Train,
    canonical_json,
)
from headway.errors import OptionError
from headway_rl import (
    RL,
    Batchwise,
    ForwardBackwardBatch,
    GroupTrainer,
    Options,
)

SPLITS = Splits(
    train=[Task(id="row-0"), Task(id="row-1")], held_out=[Task(id="h-0"), Task(id="h-1")]
)
CHUNKED = {"forward_backward_batch": ForwardBackwardBatch(min_sequences=2, min_tokens=None)}


def domain_of(trainer):
    return RL(environment=Echo, trainer=trainer, splits=SPLITS)


def context(state, version=0, step=0):
    return StepContext(
        head=Snapshot(version, Artifact(state)),
        memory=None,
        held_out=("h-0", "h-1"),
        deterministic=False,
        quiet=False,
        rng=random.Random(0),
        step=step,
        combine=lambda artifact, *_: artifact,
    )


def played(domain, aggregator, arrivals, state, version=0, before=None):
    """
    A step, its trainings made by the domain; returns its requests, the answers and the new state.

    Args:
        arrivals: The cards, in lots; the first begins the step, each ``Gather`` gives another.
        before: Called with (number of the training, request) before each is made.
    """
    lots = list(arrivals)
    held = list(lots[0])
    step = aggregator.step(lots.pop(0), context(state, version))
    asked, answers, answer = [], [], None
    while True:
        try:
            request = step.send(answer)
        except StopIteration:
            return asked, answers, asked[-1].candidate.value
        asked.append(request)
        if isinstance(request, Gather):
            answer = tuple(lots.pop(0)) if lots else ()
            held += answer
        elif isinstance(request, Train):
            if before is not None:
                before(len(answers), request)
            by_number = {c.number: c for c in held}
            cards = [by_number[number] for number in request.cards]
            answer = domain.train(state, cards, request.payload)
            canonical_json(answer)
            answers.append(answer)
        else:
            version += request.candidate.value != state
            state = request.candidate.value
            answer = Snapshot(version, request.candidate)


def kinds(asked):
    return [
        request.payload["do"] if isinstance(request, Train) else type(request).__name__
        for request in asked
    ]


def cards_of(*numbers):
    return [card(number, [1.0, 0.0]) for number in numbers]


@pytest.mark.parametrize("trainer", [Scribe, AsyncScribe])
def test_a_whole_batch_is_one_update(trainer):
    """
    Forward/backward with a reset, the optimizer, and what is published is committed.
    """
    trainer = trainer()
    domain = domain_of(trainer)
    state = domain.initial()
    asked, answers, new = played(
        domain, GroupTrainer(batch_size=2, group_size=2), [cards_of(0, 1)], state
    )

    assert ["update", "Commit"] == kinds(asked)
    assert {"weights": [[0, 1]], "fingerprint": "[[0, 1]]", "trainer": 1, "update": 1} == new
    assert ("forward_backward", [0, 1], True) in trainer.said
    assert {"train/loss": 2.0, "train/norm": 1.0} == answers[0]["metrics"]
    assert not answers[0]["rebuilt"]
    assert 0 == domain.training.rebuilt


def test_chunks_go_ahead_of_the_update():
    """
    Each as soon as it is complete; only the first resets, and the update finds the gradient as it is.
    """
    trainer = Scribe()
    domain = domain_of(trainer)
    asked, answers, new = played(
        domain,
        GroupTrainer(batch_size=4, group_size=2, **CHUNKED),
        [cards_of(2), cards_of(0), cards_of(3, 1)],
        domain.initial(),
    )

    assert [
        *["chunk", "Gather"] * 2,
        *["chunk", "chunk", "Gather"],
        *["update", "Commit"],
    ] == kinds(asked)
    passes = [said[1:] for said in trainer.said if said[0] == "forward_backward"]
    assert [([2], True), ([0], False), ([3], False), ([1], False)] == passes
    assert (0, 1, 2, 3) == asked[-1].cards
    assert [[0, 1, 2, 3]] == new["weights"]
    assert not answers[-1]["rebuilt"]


def test_a_group_without_weight_makes_no_request():
    """
    It is used all the same.
    """
    trainer = Scribe()
    domain = domain_of(trainer)
    lots = [[card(0, [0.5, 0.5])], [card(1, [1.0, 0.0])]]
    asked, _, _ = played(
        domain, GroupTrainer(batch_size=2, group_size=2, **CHUNKED), lots, domain.initial()
    )

    assert ["Gather", "chunk", "Gather", "update", "Commit"] == kinds(asked)
    assert (0, 1) == asked[-1].cards


@pytest.mark.parametrize("more", [{}, CHUNKED])
def test_worked_example_7_a_batch_without_weight_moves_nothing(more):
    """
    The head is committed as it is, which moves no version, and the trainer is not asked.
    """
    trainer = Scribe()
    domain = domain_of(trainer)
    state = domain.initial()
    trainer.said.clear()
    asked, _, new = played(
        domain,
        GroupTrainer(batch_size=2, group_size=2, **more),
        [[card(0, [0.5, 0.5]), card(1, [0.0, 0.0])]],
        state,
    )

    assert state == new
    assert (0, 1) == asked[-1].cards
    assert [] == trainer.said


def test_batch_centred_advantages_wait_for_the_whole_batch():
    """
    A group of equal rewards has a weight then.
    """
    trainer = Scribe()
    options = Options(advantages=Batchwise(), groups_per_step=2, group_size=2, max_staleness=0)
    aggregator = GroupTrainer.of(options)
    domain = domain_of(trainer)
    asked, _, new = played(
        domain, aggregator, [[card(0, [1.0, 1.0]), card(1, [0.0, 0.0])]], domain.initial()
    )

    assert not aggregator.gathers
    assert ["update", "Commit"] == kinds(asked)
    assert [[0, 1]] == new["weights"]


def test_several_updates_have_a_part_of_the_batch_each():
    """
    The oldest groups first, each with the factor of its own part and at the version that it moves; the
    baseline of a batch is that of all of it.
    """
    trainer = Scribe()
    domain = domain_of(trainer)
    cards = [card(n, [1.0, 0.0] if n < 3 else [0.0, 0.0]) for n in range(5)]
    aggregator = GroupTrainer(
        batch_size=5, group_size=2, updates_per_step=3, mask_beyond=9, advantages=Batchwise()
    )
    asked, _, new = played(domain, aggregator, [cards], domain.initial(), version=4)
    trained = [request for request in asked if isinstance(request, Train)]

    assert ["update", "Commit"] * 3 == kinds(asked)
    assert [(0,), (1, 2), (3, 4)] == [request.cards for request in trained]
    assert [(0,), (1, 2), (3, 4)] == [r.cards for r in asked if not isinstance(r, Train)]
    assert [(4, -5), (5, -4), (6, -3)] == [
        (request.payload["version"], request.payload["oldest"]) for request in trained
    ]
    assert [1 / 2, 1 / 4, 1 / 4] == [request.payload["factor"] for request in trained]
    assert [[0.7, -0.3]] == [pytest.approx(row) for row in trained[0].payload["rows"]]
    assert [[0], [1, 2], [3, 4]] == new["weights"]


def test_a_part_without_weight_moves_nothing():
    """
    As a batch without any: the others are of the versions that there are.
    """
    domain = domain_of(Scribe())
    cards = [card(0, [0.5, 0.5]), card(1, [1.0, 0.0])]
    aggregator = GroupTrainer(batch_size=2, group_size=2, updates_per_step=2)
    asked, _, new = played(domain, aggregator, [cards], domain.initial())

    assert [0, 0] == [r.payload["version"] for r in asked if isinstance(r, Train)]
    assert (1, [[1]]) == (new["update"], new["weights"])


def test_a_batch_with_fewer_groups_than_updates_makes_fewer():
    """
    The last one of a run may.
    """
    domain = domain_of(Scribe())
    aggregator = GroupTrainer(batch_size=3, group_size=2, updates_per_step=3)
    asked, _, _ = played(domain, aggregator, [cards_of(0, 1)], domain.initial())

    assert [(0,), (1,)] == [r.cards for r in asked if isinstance(r, Train)]


def test_masks_go_by_the_head_s_version():
    """
    Segments older than the bound have no weight, and the baseline keeps their rewards.
    """
    trainer = numpy_trainer()
    domain = domain_of(trainer)
    old, new = card(0, [1.0, 0.0], versions=(3,), head=7), card(1, [1.0, 0.0], (6, 7), head=7)
    asked, _, _ = played(
        domain,
        GroupTrainer(batch_size=2, group_size=2, mask_beyond=2),
        [[old, new]],
        domain.initial(),
        version=7,
    )

    payload = asked[0].payload
    assert 5 == payload["oldest"]
    assert [[1]] == payload["chunks"]
    assert [[0.5, -0.5]] * 2 == payload["rows"]
    assert 1 / 4 == payload["factor"]  # of four unmasked units


def test_the_order_of_arrival_does_not_show():
    """
    In the new weights, to the last bit, with and without chunks; nor in the cards that are committed.
    """
    found = set()
    for order in permutations(range(4)):
        for more in (CHUNKED, {}):
            domain = domain_of(numpy_trainer())
            cards = {n: card(n, [1.0, 0.0, n / 4], versions=(0, 0)) for n in range(4)}
            lots = [[cards[n]] for n in order] if more else [[cards[n] for n in order]]
            asked, _, new = played(
                domain, GroupTrainer(batch_size=4, group_size=3, **more), lots, domain.initial()
            )
            found.add((asked[-1].cards, canonical_json(new)))

    assert 1 == len(found)


@pytest.mark.parametrize("place", [0, 1])
def test_a_failed_chunk_forbids_the_optimizer(place):
    """
    The step is made again from its beginning, and the gradient is made anew from the data.
    """
    trainer = Scribe()
    domain = domain_of(trainer)
    state, aggregator = domain.initial(), GroupTrainer(batch_size=2, group_size=2, **CHUNKED)
    lots = [cards_of(0), cards_of(1)]

    def fail(number, request):
        if number == place:
            trainer.fails = ["forward_backward"]

    with pytest.raises(RuntimeError, match="forward_backward failed"):
        played(domain, aggregator, lots, state, before=fail)
    assert not [said for said in trainer.said if said[0] == "optim_step"]
    _, answers, new = played(domain, aggregator, lots, state)

    assert [[0, 1]] == new["weights"]
    assert not answers[-1]["rebuilt"]


def test_an_update_does_not_trust_a_gradient_in_doubt():
    """
    A chunk failed and its step went on all the same: later chunks are refused, the update makes it anew.
    """
    trainer = Scribe()
    domain = domain_of(trainer)
    state = domain.initial()

    def fail(number, request):
        if number == 1:
            trainer.fails = ["forward_backward"]
            with pytest.raises(RuntimeError):
                domain.train(state, cards_of(*request.cards), request.payload)

    _, answers, new = played(
        domain,
        GroupTrainer(batch_size=3, group_size=2, **CHUNKED),
        [cards_of(0), cards_of(1), cards_of(2)],
        state,
        before=fail,
    )

    assert [True, False, False] == [answer["added"] for answer in answers[:-1]]
    assert answers[-1]["rebuilt"]
    assert [[0, 1, 2]] == new["weights"]


def test_another_process_makes_the_gradient_anew():
    """
    After a crash between the last chunk and the update: the same chunks, from the cards.
    """
    first, second = domain_of(numpy_trainer()), domain_of(numpy_trainer())
    state = first.initial()
    aggregator = GroupTrainer(batch_size=2, group_size=2, **CHUNKED)
    asked, answers, new = played(first, aggregator, [cards_of(0), cards_of(1)], state)
    update = asked[-2]

    answer = second.train(state, cards_of(*update.cards), update.payload)

    assert answer["rebuilt"]
    assert new == answer["state"] == answers[-1]["state"]
    assert 1 == second.training.rebuilt


@pytest.mark.parametrize("name", ["optim_step", "publish", "state_dict"])
def test_an_update_that_fails_half_way_is_made_again_from_its_head(name):
    """
    Nobody knows where the trainer stands then; it loads the head, and the result is the same.
    """
    trainer = Scribe()
    domain = domain_of(trainer)
    state = domain.initial()
    aggregator = GroupTrainer(batch_size=1, group_size=2)

    def fail(number, request):
        trainer.fails = [name]

    with pytest.raises(RuntimeError, match=f"{name} failed"):
        played(domain, aggregator, [cards_of(0)], state, before=fail)
    _, _, new = played(domain, aggregator, [cards_of(0)], state)

    assert [[0]] == new["weights"]
    assert ("load", 0) in trainer.said


def test_an_update_that_was_made_is_not_made_again():
    """
    Its answer was lost on the way: asked again, it gives the same, and the optimizer rests.
    """
    trainer = Scribe()
    domain = domain_of(trainer)
    state, aggregator = domain.initial(), GroupTrainer(batch_size=1, group_size=2)
    _, first, _ = played(domain, aggregator, [cards_of(0)], state)
    count = len(trainer.said)
    _, second, _ = played(domain, aggregator, [cards_of(0)], state)

    assert first == second
    assert count == len(trainer.said)


def test_a_trainer_that_ran_ahead_of_a_lost_commit_goes_back():
    """
    A foreign writer moved the head: the next update starts from that head's weights.
    """
    trainer = numpy_trainer()
    domain = domain_of(trainer)
    state, aggregator = domain.initial(), GroupTrainer(batch_size=1, group_size=2)
    played(domain, aggregator, [cards_of(0)], state)  # never committed
    _, _, new = played(domain, aggregator, [cards_of(1)], state)
    fresh = domain_of(numpy_trainer())
    _, _, expected = played(fresh, aggregator, [cards_of(1)], fresh.initial())

    assert expected == new


def test_three_updates_in_a_row_equal_three_in_three_processes():
    """
    Whether the trainer goes on as it stands or loads each head.
    """
    aggregator = GroupTrainer(batch_size=2, group_size=2, **CHUNKED)
    domain = domain_of(numpy_trainer())
    state = other = domain.initial()
    for update in range(3):
        lots = [cards_of(2 * update), cards_of(2 * update + 1)]
        _, _, state = played(domain, aggregator, lots, state)
        _, _, other = played(domain_of(numpy_trainer(seed=9)), aggregator, lots, other)

    assert 3 == state["update"]
    assert state == other


def test_the_state_is_small_and_says_where_the_weights_are(tmp_path):
    """
    With a folder, the ledger holds two names and two numbers.
    """
    from headway_rl import DirectoryStore

    domain = domain_of(numpy_trainer(store=DirectoryStore(tmp_path)))
    aggregator = GroupTrainer(batch_size=1, group_size=2)
    _, _, state = played(domain, aggregator, [cards_of(0)], domain.initial())

    assert len(canonical_json(state)) < 400
    assert {"weights", "fingerprint", "trainer", "update"} == state.keys()
    assert np.array_equal(
        domain.trainer.theta,
        domain.trainer.store.get(state["weights"])["theta"],
    )


def test_requests_of_others_are_refused():
    """
    A payload that is none of the optimizer's.
    """
    domain = domain_of(Scribe())

    with pytest.raises(ValueError, match="'fit' is no training"):
        domain.train(domain.initial(), [], {"do": "fit"})


def test_an_async_trainer_can_be_asked_inside_a_loop():
    """
    As a notebook does; it has a loop of its own.
    """

    async def main():
        return domain_of(AsyncScribe()).initial()

    assert 0 == asyncio.run(main())["update"]


def test_an_async_trainer_has_one_loop():
    """
    A client with open connections finds the same one at each call, and it ends with the domain.
    """
    loops = []

    class Client(AsyncScribe):
        async def forward_backward(self, groups, reset):
            loops.append(asyncio.get_running_loop())
            return await super().forward_backward(groups, reset)

    domain = domain_of(Client())
    state, aggregator = domain.initial(), GroupTrainer(batch_size=1, group_size=2)
    for number in range(3):
        _, _, state = played(domain, aggregator, [cards_of(number)], state)
    names = {thread.name: thread for thread in threading.enumerate()}
    del domain
    gc.collect()
    names["headway-rl-trainer"].join(20)

    assert 3 == len(loops)
    assert 1 == len(set(loops))
    assert not names["headway-rl-trainer"].is_alive()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"batch_size": 0}, "batch_size=0"),
        ({"group_size": 0}, "group_size=0"),
        ({"mask_beyond": -1}, "mask_beyond=-1"),
        ({"updates_per_step": 0}, "updates_per_step=0"),
        ({"updates_per_step": 3, "batch_size": 2}, "updates_per_step=3"),
        ({"updates_per_step": 2, **CHUNKED}, "forward_backward_batch=ForwardBackwardBatch"),
    ],
)
def test_an_optimizer_out_of_its_range_is_refused(given, told):
    """
    As its options are.
    """
    with pytest.raises(OptionError) as caught:
        GroupTrainer(**given)

    assert told in str(caught.value)


def test_an_optimizer_is_made_of_options():
    """
    Masks only under the policy that masks.
    """
    made_of = GroupTrainer.of(Options(groups_per_step=3, group_size=5))
    masks = GroupTrainer.of(Options(stale_policy="mask", max_staleness=4, accept_lost_data=True))

    assert (3, 5, None, True) == (
        made_of.batch,
        made_of.group_size,
        made_of.mask_beyond,
        made_of.gathers,
    )
    assert (4, False) == (masks.mask_beyond, masks.gathers)
