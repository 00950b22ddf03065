"""
What an object must have to count as a part of some kind.

Guarantees: ``isinstance`` answers alike on every Python.  Up to 3.11 it asked an object for what a
protocol names, later ones look through its class; here the object is asked, so that one that forwards by
``__getattr__`` is what it forwards to.
"""

from __future__ import annotations

import inspect
from functools import cache
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from abc import ABCMeta as _ProtocolMeta
else:
    _ProtocolMeta = type(Protocol)


class Structural(_ProtocolMeta):
    """
    The metaclass of protocols that an object follows when it has all that they name, from wherever.

    The object is asked, as ``hasattr`` does, on every Python.  So a wrapper that forwards by
    ``__getattr__`` follows what it wraps, and a method that is None is none.

    ::

        @runtime_checkable
        class Scorer(Protocol, metaclass=Structural):
            def score(self, text: str) -> float: ...
    """

    def __instancecheck__(self, instance: object) -> bool:
        """
        Whether an object has all that the protocol names; of a class, whether the object is one of it.
        """
        if Protocol not in self.__bases__:
            return super().__instancecheck__(instance)
        return all(_has(instance, name, self) for name in _members(self))


@cache
def _members(protocol: type) -> set[str]:
    above = [base for base in protocol.__mro__ if Protocol in base.__bases__]
    named = {name for base in above for name in (*vars(base), *inspect.get_annotations(base))}
    return {name for name in named if not name.startswith("_")}


def _has(instance: object, name: str, protocol: type) -> bool:
    if callable(getattr(protocol, name, None)):
        return getattr(instance, name, None) is not None
    return hasattr(instance, name)
