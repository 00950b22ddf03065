"""
Arrays of numbers as JSON values, exact to the last bit, and their fingerprint.

An array goes in as ``{"dtype": "float64", "shape": [n], "data": base64}``, little-endian and in C order,
so that a value means the same on every machine.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from headway.contracts import Json
from headway.errors import shown

Array: TypeAlias = NDArray[Any]
Floats: TypeAlias = NDArray[np.float64]
Arrays: TypeAlias = Mapping[str, Array]
"""Named arrays, as weights and optimizer states are."""

_KINDS = ("float64", "float32", "int64")


def pack(array: Array) -> dict[str, Json]:
    """
    An array as a JSON value.

    >>> pack(np.array([1.0]))
    {'dtype': 'float64', 'shape': [1], 'data': 'AAAAAAAA8D8='}

    Raises:
        TypeError: its numbers are neither float64, float32 nor int64.
    """
    name = array.dtype.name
    if name not in _KINDS:
        message = f"an array of {name} cannot be packed; give one of {', '.join(_KINDS)}"
        raise TypeError(message)
    data = base64.b64encode(_little(array).tobytes()).decode("ascii")
    return {"dtype": name, "shape": list(array.shape), "data": data}


def unpack(value: Json) -> Array:
    """
    The array that ``pack`` made a value of; a new one, which may be written to.

    Raises:
        ValueError: the value is none that ``pack`` makes.
    """
    try:
        kind = np.dtype(_KINDS[_KINDS.index(value["dtype"])])
        raw = np.frombuffer(base64.b64decode(value["data"], validate=True), kind.newbyteorder("<"))
        return raw.reshape(value["shape"]).astype(kind)
    except (KeyError, TypeError, ValueError) as error:
        message = f"{shown(value)} is no packed array: {error}"
        raise ValueError(message) from error


def fingerprint(arrays: Arrays) -> str:
    """
    A SHA-256 over names, types, shapes and numbers, as 64 hexadecimal digits.

    Equal arrays have equal fingerprints, in whatever order they are named.
    """
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name}\x1f{array.dtype.name}\x1f{array.shape}\x1f".encode())
        digest.update(_little(array).tobytes())
    return digest.hexdigest()


def _little(array: Array) -> Array:
    return np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
