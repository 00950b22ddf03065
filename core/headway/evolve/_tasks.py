"""
From what a user calls tasks to tasks with ids, and to splits of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias, cast

from headway.contracts import Task, content_digest
from headway.errors import OptionError
from headway.keyed import keyed_rng
from headway.strategies._texts import check_unicode

FEWEST_TASKS = 4
FEWEST_ON_A_SIDE = 2
LONGEST_ID = 60
DIGEST_LENGTH = 10

Items: TypeAlias = Mapping[str, Any]
"""What the user gave, by id, in order."""


def identified(tasks: Any, option: str) -> Items:
    """
    Tasks by their ids.

    An id is a ``Task``'s or another object's ``id``; a mapping's ``"id"``; a short text itself; and
    for everything else a digest of the content, so that it is the same in every run.

    Args:
        tasks: What the user gave.
        option: The option that it was given as.

    Raises:
        OptionError: it is no collection of tasks, a task has no id and no JSON content, or an id
            occurs twice or is no valid Unicode.
    """
    given = cast("object", tasks)
    if isinstance(given, str | Mapping) or not isinstance(given, Iterable):
        raise OptionError(option, _short(tasks), "Give a list of tasks.")
    found: dict[str, Any] = {}
    several: Iterable[Any] = tasks
    for item in several:
        number = _id(item, option)
        try:
            check_unicode(number, "this id")
        except ValueError as error:
            raise OptionError(option, number, f"{error}.") from None
        if number in found:
            raise OptionError(option, number, "This id occurs twice; give every task its own.")
        found[number] = item
    return found


def as_task(number: str, item: Any) -> Task:
    """
    The task that stands for what the user gave.
    """
    return item if isinstance(item, Task) else Task(id=number, data=item)


def check_apart(items: Items, others: Items, option: str) -> None:
    """
    Refuse an id that two splits share.

    Raises:
        OptionError: there is one.
    """
    for number in items:
        if number in others:
            remedy = (
                f"Another task has this id, too; ids are unique over all splits. "
                f"Leave it out, or give it another id, such as {f'{option}/{number}'!r}."
            )
            raise OptionError(option, number, remedy)


def divided(
    ids: Sequence[str], held_out_frac: float, *, shuffle: bool, seed: int
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """
    Training and held-out ids, each in the order in which they were given.

    Args:
        ids: All of them.
        held_out_frac: The share to hold out.
        shuffle: Whether chance, keyed by the seed, chooses which; else the last ones are held out.
        seed: The seed.

    Raises:
        OptionError: there are too few, or one side would have fewer than two.
    """
    total = len(ids)
    if total < FEWEST_TASKS:
        raise OptionError("tasks", total, f"Give at least {FEWEST_TASKS} tasks.")
    count = int(total * held_out_frac + 0.5)
    if not FEWEST_ON_A_SIDE <= count <= total - FEWEST_ON_A_SIDE:
        remedy = (
            f"It holds out {count} of {total} tasks, and each side needs {FEWEST_ON_A_SIDE}. Give a "
            f"share from {FEWEST_ON_A_SIDE / total:.2g} to {1 - FEWEST_ON_A_SIDE / total:.2g}."
        )
        raise OptionError("held_out_frac", held_out_frac, remedy)
    order = list(ids)
    if shuffle:
        keyed_rng(seed, "split").shuffle(order)
    held = set(order[total - count :])
    return tuple(i for i in ids if i not in held), tuple(i for i in ids if i in held)


def _id(item: Any, option: str) -> str:
    mapping = isinstance(cast("object", item), Mapping)
    own: object = item.get("id") if mapping else getattr(item, "id", None)
    if isinstance(own, str | int) and not isinstance(own, bool) and own != "":
        return str(own)
    if isinstance(item, str) and 0 < len(item) <= LONGEST_ID and item.isprintable():
        return item
    try:
        return f"task-{content_digest(item)[:DIGEST_LENGTH]}"
    except (TypeError, ValueError):
        remedy = "It has no id, and is no JSON value that one could be made of: give it an id."
        raise OptionError(option, _short(item), remedy) from None


def _short(given: object) -> object:
    text = repr(given)
    return given if len(text) <= LONGEST_ID else f"{text[:LONGEST_ID]}..."
