"""
Keyed noise: what a perturbation is made of is a pure function of (run seed, job, block), and is never sent.

A perturbation is drawn in blocks of 65,536 numbers, each with a key of its own.  The ziggurat method takes
a varying number of raw words, so a place inside one stream could not be addressed; a block can be, by
anybody, in any order.  Normals of 32 bits, and + - x of them in a fixed order, are the same bits on every
processor; that is what the rules of this module are for.

=================  ==================================================================  ==================
``zig32-v1``       block b of job j: ``Generator(Philox(key=[seed, 0xE5], counter=    independent
                   [0, b, j, 0])).standard_normal(float32)``
``sign32-v1``      -1 or +1 by one raw bit of the same stream                          independent
``table32-v1/K``   a piece of one table of 2**K normals, at a keyed offset             pieces may overlap
=================  ==================================================================  ==================
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from headway.errors import OptionError
from headway_es._philox import philox

Float32: TypeAlias = npt.NDArray[np.float32]

BLOCK = 65_536
"""Numbers in a block."""

_NOISE_KEY, _TABLE_KEY, _OFFSET_KEY = 0xE5, 0x7AB1E, 0x0FF5E7
_LARGEST = 2**64
_SMALLEST_TABLE, _LARGEST_TABLE = 16, 32


class Source(Protocol):
    """
    The noise of one run.  Cheap to make, not safe to share between threads: each has its own.

    Attributes:
        spec: What names the noise in a payload.
    """

    spec: str

    def block(self, job: int, number: int, out: Float32) -> Float32:
        """
        The first ``len(out)`` numbers of a block.

        Args:
            job: The number of the job, from 0.
            number: The number of the block, from 0.
            out: Where they may be written, at most ``BLOCK`` numbers; what it holds is lost.

        Returns:
            ``out``, or a piece of a table that nobody may write to.
        """
        ...

    def scaled(self, job: int, number: int, factor: np.float32, out: Float32) -> Float32:
        """
        The same times a factor, written to ``out``; the products are of 32 bits.
        """
        ...


class _Stream:
    """
    One Philox generator that is set to a counter again and again, which is quicker than a new one.
    """

    def __init__(self, first: int, second: int) -> None:
        self.bits = philox(first, second)
        self._state: Any = self.bits.state

    def at(self, number: int, job: int) -> np.random.Philox:
        """
        The generator, at the beginning of a block of a job.
        """
        self._state["state"]["counter"][:] = (0, number, job, 0)
        self.bits.state = self._state
        return self.bits


class Zig32:
    """
    Standard normals by the ziggurat method, 32 bits each: ``zig32-v1``.

    Args:
        seed: The run's seed, from 0 to 2**64 - 1.
        dim: How long a perturbation is; not needed.

    Raises:
        OptionError: the seed is no such number.
    """

    spec: str = "zig32-v1"

    def __init__(self, seed: int, dim: int = 0) -> None:
        del dim
        self._stream = _Stream(checked_seed(seed), _NOISE_KEY)
        self._normal = np.random.Generator(self._stream.bits).standard_normal

    def block(self, job: int, number: int, out: Float32) -> Float32:
        """
        The first numbers of a block, written to ``out``.
        """
        self._stream.at(number, job)
        return self._normal(dtype=np.float32, out=out)

    def scaled(self, job: int, number: int, factor: np.float32, out: Float32) -> Float32:
        """
        The same times a factor.
        """
        return np.multiply(self.block(job, number, out), factor, out=out)


class Sign32:
    """
    Minus one or plus one with equal chances, from raw bits: ``sign32-v1``.

    Args:
        seed: The run's seed, from 0 to 2**64 - 1.
        dim: How long a perturbation is; not needed.

    Raises:
        OptionError: the seed is no such number.
    """

    spec: str = "sign32-v1"

    def __init__(self, seed: int, dim: int = 0) -> None:
        del dim
        self._stream = _Stream(checked_seed(seed), _NOISE_KEY)
        self._octets = np.empty_like(_signs())

    def block(self, job: int, number: int, out: Float32) -> Float32:
        """
        The first signs of a block, written to ``out``.
        """
        return self._spread(job, number, _signs(), out)

    def scaled(self, job: int, number: int, factor: np.float32, out: Float32) -> Float32:
        """
        The same times a factor: as many look-ups, and no product more.
        """
        np.multiply(_signs(), factor, out=self._octets)
        return self._spread(job, number, self._octets, out)

    def _spread(self, job: int, number: int, octets: Float32, out: Float32) -> Float32:
        """
        Eight numbers for each byte of raw bits.
        """
        whole = len(out) // 8 * 8
        packed = self._packed(job, number, len(out))
        np.take(octets, packed[: whole // 8], axis=0, out=out[:whole].reshape(-1, 8), mode="wrap")
        if whole < len(out):
            out[whole:] = octets[packed[-1]][: len(out) - whole]
        return out

    def _packed(self, job: int, number: int, count: int) -> npt.NDArray[np.uint8]:
        words = self._stream.at(number, job).random_raw(-(-count // 64))
        packed: npt.NDArray[np.uint8] = words.astype("<u8", copy=False).view(np.uint8)
        return packed[: -(-count // 8)]


class Table32:
    """
    Pieces of one table of standard normals that all runs share: ``table32-v1/K``.

    It costs no more than reading, and two jobs whose pieces overlap are not independent: take a table
    that is many times as long as a perturbation.

    Args:
        seed: The run's seed, from 0 to 2**64 - 1; the offsets depend on it.
        dim: How long a perturbation is.
        log2: The table holds 2**log2 numbers, 4 bytes each.

    Raises:
        OptionError: the seed or the size can't be used, or the perturbation is longer than the table.
    """

    spec: str = "table32-v1"

    def __init__(self, seed: int, dim: int, log2: int = 22) -> None:
        if not _SMALLEST_TABLE <= log2 <= _LARGEST_TABLE:
            remedy = f"Give a power of two from {_SMALLEST_TABLE} to {_LARGEST_TABLE}."
            raise OptionError("noise", f"{self.spec}/{log2}", remedy)
        if dim > 2**log2:
            remedy = f"A table of 2**{log2} numbers is shorter than {dim}: give a larger one."
            raise OptionError("noise", f"{self.spec}/{log2}", remedy)
        self._stream = _Stream(checked_seed(seed), _OFFSET_KEY)
        self._table = _table(log2)
        self._offsets = 2**log2 - dim + 1
        self._last = (-1, 0)

    def block(self, job: int, number: int, out: Float32) -> Float32:
        """
        A piece of the table; ``out`` says how long and is left as it is.
        """
        begin = self.offset(job) + number * BLOCK
        return self._table[begin : begin + len(out)]

    def scaled(self, job: int, number: int, factor: np.float32, out: Float32) -> Float32:
        """
        The same times a factor.
        """
        return np.multiply(self.block(job, number, out), factor, out=out)

    def offset(self, job: int) -> int:
        """
        Where a job's perturbation begins.
        """
        if self._last[0] != job:
            self._last = (job, int(self._stream.at(0, job).random_raw()) % self._offsets)
        return self._last[1]


class Stored:
    """
    Noise of another source that is kept once it has been drawn: 4 bytes a number and job.

    Args:
        source: What draws it.
        dim: How long a perturbation is.
        jobs: How many jobs are kept at once; drawing one more takes the place of the oldest.
    """

    def __init__(self, source: Source, dim: int, jobs: int) -> None:
        self.spec = source.spec
        self._source = source
        self._rows = np.zeros((jobs, dim), dtype=np.float32)
        self._held: list[int | None] = [None] * jobs
        self._done: list[set[int]] = [set() for _ in range(jobs)]

    def block(self, job: int, number: int, out: Float32) -> Float32:
        """
        The first numbers of a block as they lie in the store; ``out`` says how many.
        """
        place = job % len(self._held)
        if self._held[place] != job:
            self._held[place] = job
            self._done[place].clear()
        begin = number * BLOCK
        if number not in self._done[place]:
            whole = self._rows[place, begin : begin + BLOCK]
            drawn = self._source.block(job, number, whole)
            if drawn is not whole:
                whole[:] = drawn
            self._done[place].add(number)
        return self._rows[place, begin : begin + len(out)]

    def scaled(self, job: int, number: int, factor: np.float32, out: Float32) -> Float32:
        """
        The same times a factor.
        """
        return np.multiply(self.block(job, number, out), factor, out=out)


def source_of(spec: str, seed: int, dim: int) -> Source:
    """
    The noise that a payload names.

    Args:
        spec: ``zig32-v1``, ``sign32-v1`` or ``table32-v1/K``.
        seed: The run's seed.
        dim: How long a perturbation is.

    Raises:
        OptionError: there is no such noise, or it can't be used here.

    >>> source_of("sign32-v1", seed=7, dim=4).block(0, 0, np.zeros(4, np.float32)).tolist()
    [-1.0, 1.0, 1.0, -1.0]
    """
    name, _, size = spec.partition("/")
    if name == Table32.spec and size.isdecimal():
        return Table32(seed, dim, int(size))
    if spec == Zig32.spec:
        return Zig32(seed, dim)
    if spec == Sign32.spec:
        return Sign32(seed, dim)
    remedy = f"Give {Zig32.spec}, {Sign32.spec} or {Table32.spec}/22."
    raise OptionError("noise", spec, remedy)


def perturbation(spec: str, *, seed: int, job: int, dim: int) -> Float32:
    """
    A whole perturbation: float32, of shape (dim,).

    Raises:
        OptionError: there is no such noise, or it can't be used here.
    """
    source, whole = source_of(spec, seed, dim), np.empty(dim, dtype=np.float32)
    for number, begin in enumerate(range(0, dim, BLOCK)):
        piece = whole[begin : begin + BLOCK]
        drawn = source.block(job, number, piece)
        if drawn is not piece:
            piece[:] = drawn
    return whole


def checked_seed(seed: int) -> int:
    """
    The seed, when it fits the key.

    Raises:
        OptionError: it does not.
    """
    if not 0 <= seed < _LARGEST:
        raise OptionError("seed", seed, "Give a whole number from 0 to 2**64 - 1.")
    return seed


@lru_cache(maxsize=1)
def _signs() -> Float32:
    """
    The eight signs that a byte stands for, its lowest bit first.
    """
    bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little")
    return np.where(bits == 1, np.float32(1), np.float32(-1))


@lru_cache(maxsize=2)
def _table(log2: int) -> Float32:
    stream, table = _Stream(0, _TABLE_KEY), np.empty(2**log2, dtype=np.float32)
    normal = np.random.Generator(stream.bits).standard_normal
    for number, begin in enumerate(range(0, len(table), BLOCK)):
        stream.at(number, 0)
        normal(dtype=np.float32, out=table[begin : begin + BLOCK])
    table.setflags(write=False)
    return table
