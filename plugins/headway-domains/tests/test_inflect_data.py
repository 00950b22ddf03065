"""
Tests of the inflect domain's examples and their splits.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import chain

import pytest

from headway_domains.inflect import Inflect
from headway_domains.inflect._data import splits
from headway_domains.inflect._rules import FAMILIES


def all_tasks():
    """
    The tasks of all splits.
    """
    return list(chain(splits().train, splits().held_out, splits().test))


def lemmas(tasks):
    """
    Family and lemma of every example of some tasks, in order.
    """
    return [(task.data["family"], item[0]) for task in tasks for item in task.data["items"]]


def test_split_sizes():
    """
    In each of six families 400 examples are for training and 200 are held out, 20 a task.
    """
    sizes = {
        name: (len(tasks), set(Counter(family for family, _ in lemmas(tasks)).values()))
        for name, tasks in (("train", splits().train), ("held-out", splits().held_out))
    }

    assert sizes == {"train": (120, {400}), "held-out": (60, {200})}


def test_test_split_is_the_rest():
    """
    Together the splits hold all of the 39,059 examples, by family as the data file has them.
    """
    counts = Counter(family for family, _ in lemmas(all_tasks()))

    assert counts == {
        "noun-plural": 18_067,
        "verb-past": 6_468,
        "verb-third-person": 6_468,
        "verb-ing": 6_466,
        "adjective-comparative": 795,
        "adjective-superlative": 795,
    }


def test_no_example_is_in_two_tasks():
    """
    The splits are disjoint: a family's lemma occurs once.
    """
    seen = lemmas(all_tasks())

    assert len(set(seen)) == len(seen)


def test_task_ids_are_unique_and_say_what_they_are():
    """
    A task's id gives its split, its family and its number, over all splits.
    """
    ids = [task.id for task in all_tasks()]

    assert len(set(ids)) == len(ids)
    assert splits().train[0].id == f"train/{splits().train[0].data['family']}/000"


def test_chunks_hold_twenty_examples_but_for_the_last_of_a_family():
    """
    No task is larger than 20, and each family has at most one smaller task.
    """
    sizes = [len(task.data["items"]) for task in all_tasks()]

    assert max(sizes) == 20
    assert sum(size < 20 for size in sizes) <= len(FAMILIES)


def test_words_are_plain():
    """
    Lemmas and forms consist of the letters a to z, and no example is without a form.
    """
    items = [item for task in all_tasks() for item in task.data["items"]]
    words = {word for lemma, forms in items for word in (lemma, *forms)}

    assert all(forms for _, forms in items)
    assert not [word for word in words if not re.fullmatch("[a-z]+", word)]


def test_no_word_ends_the_way_a_useless_rule_wants():
    """
    No lemma has a q before another q, which is what makes a useless rule useless.
    """
    assert not [lemma for _, lemma in lemmas(all_tasks()) if "qq" in lemma]


@pytest.mark.parametrize("split", ["train", "held_out", "test"])
def test_splits_are_the_same_at_every_call(split):
    """
    Every object of the domain has the same tasks.
    """
    assert getattr(Inflect().tasks(), split) == getattr(Inflect(noise=0.1).tasks(), split)


def test_first_tasks_never_change():
    """
    The order of the examples is a pure function of family and lemma, the same on every machine.
    """
    first = {task.id: task.data["items"][0][0] for task in splits().train if task.id[-3:] == "000"}

    assert first == {
        "train/adjective-comparative/000": "streaky",
        "train/adjective-superlative/000": "dumpy",
        "train/noun-plural/000": "swamp",
        "train/verb-ing/000": "canvass",
        "train/verb-past/000": "filter",
        "train/verb-third-person/000": "muzzle",
    }
