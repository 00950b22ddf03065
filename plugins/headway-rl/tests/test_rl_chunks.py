"""
Chunks of a batch, and what a gradient in the making may be used for.
"""

from __future__ import annotations

import random

import pytest

from headway_rl import Accumulation, Chunk, Chunker, ForwardBackwardBatch


def chunks_of(settings, groups):
    chunker = Chunker(settings)
    made = [
        chunker.add(number, sequences=sequences, tokens=tokens)
        for number, (sequences, tokens) in enumerate(groups)
    ]
    return [chunk for chunk in [*made, chunker.flush()] if chunk is not None]


def test_worked_example_8_chunks():
    """
    The first four groups, the long one alone, the tail; the empty group makes no request.
    """
    groups = [
        (8, 10_000),
        (8, 30_000),
        (8, 12_000),
        (8, 20_000),
        (0, 0),
        (8, 70_000),
        (8, 9_000),
    ]

    found = chunks_of(ForwardBackwardBatch(min_sequences=32, min_tokens=65_536), groups)

    assert [
        Chunk(items=(0, 1, 2, 3), reset=True),
        Chunk(items=(5,), reset=False),
        Chunk(items=(6,), reset=False),
    ] == found


def test_the_first_useful_chunk_resets():
    """
    Groups without useful sequences before it change nothing about that.
    """
    found = chunks_of(ForwardBackwardBatch(min_sequences=1), [(0, 0), (0, 0), (1, 5), (1, 5)])

    assert [Chunk(items=(2,), reset=True), Chunk(items=(3,), reset=False)] == found


def test_a_batch_without_signal_makes_no_request():
    """
    All groups are taken, and there is nothing to flush.
    """
    assert [] == chunks_of(ForwardBackwardBatch(), [(0, 0)] * 8)


@pytest.mark.parametrize("seed", range(50))
def test_every_useful_group_is_in_exactly_one_chunk(seed):
    """
    In order, whole, and no chunk but the last below both thresholds; none could have been sent earlier.
    """
    rng = random.Random(seed)
    groups = [(rng.choice([0, 1, 4, 8]), rng.randrange(1, 40_000)) for _ in range(40)]
    settings = ForwardBackwardBatch(
        min_sequences=rng.choice([None, 1, 9, 32]), min_tokens=rng.choice([1, 30_000, 65_536])
    )

    found = chunks_of(settings, groups)

    useful = [number for number, (sequences, _) in enumerate(groups) if sequences]
    assert useful == [item for chunk in found for item in chunk.items]
    assert [True] + [False] * (len(found) - 1) == [chunk.reset for chunk in found]
    for chunk in found[:-1]:
        sizes = [groups[item] for item in chunk.items]
        assert settings.reached(sum(s for s, _ in sizes), sum(t for _, t in sizes))
        assert not settings.reached(sum(s for s, _ in sizes[:-1]), sum(t for _, t in sizes[:-1]))


def test_a_gradient_is_used_when_it_is_exactly_the_batch_s():
    """
    In whatever order its groups came.
    """
    gradient = Accumulation()
    assert gradient.begin("w", "7", (3, 1), reset=True)
    gradient.done()
    assert gradient.begin("w", "7", (2,), reset=False)
    gradient.done()

    assert gradient.holds("w", "7", (1, 2, 3))
    assert not gradient.holds("w", "7", (1, 2))
    assert not gradient.holds("w", "7", (1, 2, 3, 4))
    assert not gradient.holds("w", "8", (1, 2, 3))
    assert not gradient.holds("v", "7", (1, 2, 3))


def test_one_failure_forbids_the_optimizer_until_a_reset():
    """
    What is in doubt is rebuilt from the data: later chunks are refused as well.
    """
    gradient = Accumulation()
    gradient.begin("w", "7", (1,), reset=True)
    gradient.done()
    gradient.begin("w", "7", (2,), reset=False)  # never done: it raised

    assert not gradient.holds("w", "7", (1, 2))
    assert not gradient.begin("w", "7", (3,), reset=False)
    assert not gradient.holds("w", "7", (1, 2, 3))
    assert gradient.begin("w", "7", (1, 2, 3), reset=True)
    gradient.done()
    assert gradient.holds("w", "7", (1, 2, 3))


def test_a_gradient_of_other_weights_is_not_added_to():
    """
    The head moved, or another batch began: only a reset begins anew.
    """
    gradient = Accumulation()
    gradient.begin("w", "7", (1,), reset=True)
    gradient.done()

    assert not gradient.begin("v", "7", (2,), reset=False)
    assert not gradient.holds("w", "7", (1,))


def test_a_gradient_is_consumed_once():
    """
    The optimizer's step takes it.
    """
    gradient = Accumulation()
    gradient.begin("w", "7", (1,), reset=True)
    gradient.done()
    gradient.spoil()

    assert not gradient.holds("w", "7", (1,))
