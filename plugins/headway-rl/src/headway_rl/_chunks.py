"""
Chunks: which complete groups go to the trainer together, before the batch is complete.

A group is never split.  Groups are taken in the order in which they come, and their useful sequences and
input tokens are added up; as soon as either threshold is reached, what was taken is a chunk.  At the end
of the batch the rest is a chunk whatever its size.  A group without useful sequences makes no request.
The first chunk of a batch resets the gradient, later ones add to it.
"""

from __future__ import annotations

from typing import Any

import attrs

from headway.errors import OptionError
from headway_rl._checks import check_count


@attrs.frozen(kw_only=True)
class ForwardBackwardBatch:
    """
    How much makes a chunk worth a request; either threshold is enough.

    Args:
        min_sequences: Useful sequences, those whose advantage is not 0; None for no such threshold.
        min_tokens: Input tokens of these sequences; None for no such threshold.

    Raises:
        OptionError: a threshold is no whole number of at least 1, or there is none.
    """

    min_sequences: int | None = 32
    min_tokens: int | None = 65_536

    def __attrs_post_init__(self) -> None:
        for name in ("min_sequences", "min_tokens"):
            if getattr(self, name) is not None:
                check_count(name, getattr(self, name), 1)
        if self.min_sequences is None and self.min_tokens is None:
            remedy = "Give min_sequences, min_tokens or both."
            raise OptionError("forward_backward_batch", self, remedy)

    def reached(self, sequences: int, tokens: int) -> bool:
        """
        Whether so much is enough.
        """
        enough = self.min_sequences is not None and sequences >= self.min_sequences
        return enough or (self.min_tokens is not None and tokens >= self.min_tokens)


@attrs.frozen(kw_only=True)
class Chunk:
    """
    What one forward/backward request is made of.

    Args:
        items: Its groups, in the order in which they came.
        reset: Whether the gradient begins anew with it.
    """

    items: tuple[Any, ...]
    reset: bool


@attrs.define(eq=False)
class Chunker:
    """
    Makes chunks of the groups of one batch.

    >>> chunker = Chunker(ForwardBackwardBatch(min_sequences=2, min_tokens=None))
    >>> chunker.add("a", sequences=1, tokens=10)
    >>> chunker.add("b", sequences=1, tokens=10)
    Chunk(items=('a', 'b'), reset=True)
    >>> chunker.add("c", sequences=1, tokens=10)
    >>> chunker.flush()
    Chunk(items=('c',), reset=False)

    Args:
        settings: How much makes a chunk.
    """

    settings: ForwardBackwardBatch
    _items: list[Any] = attrs.field(factory=list[Any], init=False)
    _sequences: int = attrs.field(default=0, init=False)
    _tokens: int = attrs.field(default=0, init=False)
    _made: int = attrs.field(default=0, init=False)

    def add(self, item: Any, *, sequences: int, tokens: int) -> Chunk | None:
        """
        Take a complete group; returns a chunk when that is enough for one.

        Args:
            item: The group.
            sequences: Its useful sequences; without any it is taken and makes no request.
            tokens: Its input tokens.
        """
        if not sequences:
            return None
        self._items.append(item)
        self._sequences += sequences
        self._tokens += tokens
        return self.flush() if self.settings.reached(self._sequences, self._tokens) else None

    def flush(self) -> Chunk | None:
        """
        What was taken and is in no chunk yet, whatever its size; None when there is nothing.
        """
        if not self._items:
            return None
        chunk = Chunk(items=tuple(self._items), reset=not self._made)
        self._items, self._sequences, self._tokens = [], 0, 0
        self._made += 1
        return chunk


@attrs.define(eq=False)
class Accumulation:
    """
    Which groups a trainer's gradient holds, and whether the optimizer may use it.

    A gradient is *of* one base (the fingerprint of the weights) and one batch.  A chunk that failed, or
    that was made for another base or batch, spoils it: the optimizer is forbidden until a chunk that
    resets begins anew, and what is in doubt is rebuilt from the data, never restored.
    """

    _base: str = attrs.field(default="", init=False)
    _batch: str = attrs.field(default="", init=False)
    _groups: list[int] = attrs.field(factory=list[int], init=False)
    _sound: bool = attrs.field(default=False, init=False)

    def begin(self, base: str, batch: str, groups: tuple[int, ...], *, reset: bool) -> bool:
        """
        A chunk is about to be added; returns whether it may be, which a spoilt gradient forbids.

        Until ``done`` is told, the gradient counts as spoilt.

        Args:
            base: The fingerprint of the weights that it is made for.
            batch: What names the batch.
            groups: The groups of the chunk.
            reset: Whether the gradient begins anew.
        """
        if reset:
            self._base, self._batch, self._groups = base, batch, []
        fits = reset or (self._sound and (base, batch) == (self._base, self._batch))
        self._sound = False
        if fits:
            self._groups.extend(groups)
        return fits

    def done(self) -> None:
        """
        The trainer has acknowledged the chunk.
        """
        self._sound = True

    def spoil(self) -> None:
        """
        The gradient is of no use any more: it was consumed, or something failed.
        """
        self._sound = False

    def holds(self, base: str, batch: str, groups: tuple[int, ...]) -> bool:
        """
        Whether the gradient is exactly that of these groups, in any order, and may be used.
        """
        same = (self._base, self._batch) == (base, batch)
        return self._sound and same and sorted(self._groups) == sorted(groups)
