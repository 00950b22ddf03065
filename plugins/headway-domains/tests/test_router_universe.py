"""
Tests of the router domain's messages.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter

import attrs
import pytest

from headway.errors import OptionError
from headway_domains.router import make_task_universe
from headway_domains.router._universe import CLUSTERS, KEYWORDS, LABELS, cluster_of

SEEDS = range(20)


def everything(universe):
    return [*universe.train, *universe.held_out]


def test_labels_are_dealt_cyclically():
    """
    24 keywords, 6 labels, four keywords each.
    """
    gold = make_task_universe().gold

    assert (24, 24) == (len(gold), len(set(KEYWORDS)))
    assert [LABELS[n % 6] for n in range(24)] == [gold[keyword] for keyword in KEYWORDS]


@pytest.mark.parametrize("seed", SEEDS)
def test_every_keyword_has_twelve_messages(seed):
    """
    Each message is a filler word, the keyword and its number, and has the keyword's label.
    """
    universe = make_task_universe(seed)
    items = everything(universe)
    told = [(item.text.split()[1], item.label) for item in items]

    assert dict.fromkeys(KEYWORDS, 12) == Counter(item.keyword for item in items)
    assert [(item.keyword, universe.gold[item.keyword]) for item in items] == told
    assert {(k, str(n)) for k in KEYWORDS for n in range(12)} == {
        tuple(item.text.split()[1:]) for item in items
    }


@pytest.mark.parametrize("seed", SEEDS)
def test_three_fifths_are_for_training(seed):
    """
    No message is on both sides, and a training message shows every keyword that is held out.
    """
    universe = make_task_universe(seed)
    seen = {item.keyword for item in universe.train}

    assert (173, 115, 288) == (
        len(universe.train),
        len(universe.held_out),
        len({item.text for item in everything(universe)}),
    )
    assert {item.keyword for item in universe.held_out} <= seen


@pytest.mark.parametrize("seed", SEEDS)
def test_tasks_hold_every_message_once(seed):
    """
    Six clusters that share no keyword, twelve chunks whose sizes differ by at most one.
    """
    universe = make_task_universe(seed)
    clusters, chunks = universe.clusters(), universe.chunks()
    keywords = [{item.keyword for item in cluster} for cluster in clusters]
    sizes = [len(chunk) for chunk in chunks]

    assert (CLUSTERS, 12) == (len(clusters), len(chunks))
    assert Counter(universe.train) == Counter(item for cluster in clusters for item in cluster)
    assert Counter(universe.held_out) == Counter(item for chunk in chunks for item in chunk)
    assert sum(map(len, keywords)) == len(set().union(*keywords))
    assert max(sizes) - min(sizes) <= 1


def test_seed_decides_everything_but_the_labels():
    """
    Equal seeds make equal universes; another one mixes the messages differently.
    """
    one, again, other = make_task_universe(3), make_task_universe(3), make_task_universe(4)

    assert one == again
    assert one.gold == other.gold
    assert one.train != other.train


@pytest.mark.parametrize("seed", [-1, 1.5, "7", None, True])
def test_seed_is_a_whole_number(seed):
    """
    Anything else would give a universe that nobody can make again from its text.
    """
    with pytest.raises(OptionError, match=r"^seed=.*Give a whole number of at least 0"):
        make_task_universe(seed)


def test_clusters_are_the_same_in_every_process():
    """
    The hash of a keyword is not Python's, which differs from process to process.
    """
    script = (
        "from headway_domains.router._universe import KEYWORDS, cluster_of;"
        "print([cluster_of(keyword) for keyword in KEYWORDS])"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout.strip()
        for seed in ("0", "1")
    }

    assert {str([cluster_of(keyword) for keyword in KEYWORDS])} == printed


def test_universe_is_frozen():
    """
    Neither the universe nor its labels can be changed.
    """
    universe = make_task_universe()
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        universe.seed = 8
    with pytest.raises(TypeError):
        universe.gold["parcel"] = "sales"

    assert 7 == universe.seed


def test_universe_can_be_printed():
    """
    The page names the seed, every label with its keywords, and the sizes.
    """
    page = str(make_task_universe())

    assert "seed 7: 24 keywords, 173 messages for training, 115 held out" in page
    assert "  delivery: parcel, courier, tracking, address\n" in page
    assert "  messages a held-out task: 10 10 10 10 10 10 10 9 9 9 9 9" in page
