"""
Arrays as JSON values: ``{"dtype": "float64", "shape": [n], "data": base64}``, little-endian bytes.
"""

from __future__ import annotations

import base64
import binascii
from functools import lru_cache
from typing import Any

import numpy as np

from headway.contracts import Json
from headway.errors import ContractError, shown
from headway_es._kernels import Array

KINDS = ("float32", "float64")
"""What a parameter may be."""


def encoded(array: Array) -> Json:
    """
    An array of float32 or float64 as a JSON value.

    >>> encoded(np.array([1.0, -2.0]))
    {'dtype': 'float64', 'shape': [2], 'data': 'AAAAAAAA8D8AAAAAAAAAwA=='}
    """
    plain = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    data = base64.b64encode(plain.tobytes()).decode()
    return {"dtype": array.dtype.name, "shape": list(array.shape), "data": data}


def decoded(value: Json) -> Array:
    """
    The array that a JSON value stands for; nobody may write to it.

    The last few are kept, so that many rollouts on one state decode it once.

    Raises:
        ContractError: the value is no such array.

    >>> decoded(encoded(np.array([1.0, -2.0]))).tolist()
    [1.0, -2.0]
    """
    try:
        dtype, shape, data = value["dtype"], tuple(value["shape"]), value["data"]
        return _decoded(dtype, shape, data)
    except (TypeError, KeyError, ValueError, binascii.Error) as error:
        told = "give {'dtype': 'float64', 'shape': [n], 'data': base64 of little-endian bytes}"
        raise ContractError(f"{shown(value)} is no array: {told}") from error


@lru_cache(maxsize=16)
def _decoded(dtype: str, shape: tuple[int, ...], data: str) -> Array:
    if dtype not in KINDS:
        raise ValueError(dtype)
    kind: Any = np.dtype(dtype).newbyteorder("<")
    flat = np.frombuffer(base64.b64decode(data, validate=True), dtype=kind)
    return flat.astype(dtype, copy=False).reshape(shape)


def state_of(theta: Array) -> Json:
    """
    The state of a run that improves a parameter vector.
    """
    return {"theta": encoded(theta)}


def theta_of(state: Json) -> Array:
    """
    The parameter vector of a state, of shape (dim,); nobody may write to it.

    Raises:
        ContractError: the state holds none.
    """
    try:
        held = state["theta"]
    except (TypeError, KeyError) as error:
        told = "it must be {'theta': array}"
        raise ContractError(f"{shown(state)} is no state of a parameter vector: {told}") from error
    theta = decoded(held)
    if theta.ndim != 1:
        raise ContractError(f"theta must have one dimension: its shape is {theta.shape}")
    return theta
