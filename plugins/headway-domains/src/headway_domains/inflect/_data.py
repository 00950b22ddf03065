"""
The examples of the inflect domain, cut into tasks.

In each family the examples are ordered by a hash of family and lemma: the first 400 are for
training, the next 200 are held out, the rest are the test.  A task is a chunk of up to 20 examples
of one family.  The file is read when tasks are first asked for, never at import.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import resources
from typing import TypeAlias

from headway.contracts import Splits, Task
from headway.keyed import keyed_int

Example: TypeAlias = tuple[str, list[str]]
"""A lemma and the spellings of its form; each of them is right, the first is the model."""

TRAIN = 400
HELD_OUT = 200
CHUNK = 20


@cache
def splits() -> Splits:
    """
    The tasks by split, read once a process; safe to call from several threads.
    """
    ordered = {family: _shuffled(family, found) for family, found in _read()}
    end = TRAIN + HELD_OUT
    return Splits(
        train=_tasks("train", {f: found[:TRAIN] for f, found in ordered.items()}),
        held_out=_tasks("held-out", {f: found[TRAIN:end] for f, found in ordered.items()}),
        test=_tasks("test", {f: found[end:] for f, found in ordered.items()}),
    )


def _read() -> Iterator[tuple[str, list[Example]]]:
    """
    Each family with its examples, in the file's order.
    """
    packed = (
        resources.files("headway_domains.inflect").joinpath("data/inflections.txt.gz").read_bytes()
    )
    for block in gzip.decompress(packed).decode("ascii").split("# ")[1:]:
        family, *lines = block.splitlines()
        yield family, [_example(line) for line in lines]


def _example(line: str) -> Example:
    lemma, _, spellings = line.partition("\t")
    return lemma, spellings.split("/")


def _shuffled(family: str, examples: Iterable[Example]) -> list[Example]:
    return sorted(examples, key=lambda example: keyed_int("inflect", family, example[0]))


def _tasks(split: str, examples: dict[str, list[Example]]) -> tuple[Task, ...]:
    return tuple(
        _task(f"{split}/{family}/{start // CHUNK:03}", family, found[start : start + CHUNK])
        for family, found in examples.items()
        for start in range(0, len(found), CHUNK)
    )


def _task(task_id: str, family: str, chunk: list[Example]) -> Task:
    return Task(id=task_id, data={"family": family, "items": [list(example) for example in chunk]})
