"""
The built-in staleness policies.

==========  ========  ================  ===========  ============================
policy      eta = 0   0 < eta <= alpha  eta > alpha  contract-breaking, eta > 0
==========  ========  ================  ===========  ============================
full        accept    accept            accept       discard
guarded     accept    rebase            discard      discard
reflective  accept    rebase            rebase       discard
==========  ========  ================  ===========  ============================

For the optimizers that learn from outcomes there are these; ``rule`` is what the gate goes by, and
``decide`` says what becomes of a group older than ``alpha``, the ``max_staleness`` of the run:

======  =====================================  ==========================  =======================
policy  a batch may be used when               a group older than alpha    what is bounded
======  =====================================  ==========================  =======================
wait    all others can still be used in time   there is none               the age of all
drop    there is one                           is discarded                the age of what is used
mask    there is one                           is used; the optimizer      what it makes of them
                                               gives old parts no weight
soft    there is one                           is used, and counted        the mean age
window  few younger groups overtake            is used, and counted        the age, more loosely
======  =====================================  ==========================  =======================

A card that is not behind the head is always accepted.  One that breaks what other parts of the
artifact rely on is worth nothing once the head has moved: nobody knows what it would break now.
"""

from __future__ import annotations

from typing import ClassVar

import attrs

from headway.contracts import Verdict


class Full:
    """
    Tolerates any lag: a card is applied to the head as it is, without a run.
    """

    def decide(self, eta: int, alpha: int, contract_breaking: bool) -> Verdict:
        """
        Accept, whatever the lag.

        >>> Full().decide(9, 2, False)
        'accept'
        """
        return _judge(eta, contract_breaking, "accept")


class Guarded:
    """
    Tolerates a lag of ``alpha``: up to it a card is rebased, beyond it discarded.
    """

    def decide(self, eta: int, alpha: int, contract_breaking: bool) -> Verdict:
        """
        Rebase within the bound, discard beyond it.

        >>> [Guarded().decide(eta, 2, False) for eta in (0, 1, 2, 3)]
        ['accept', 'rebase', 'rebase', 'discard']
        """
        return _judge(eta, contract_breaking, "rebase" if eta <= alpha else "discard")


class Reflective:
    """
    Tolerates any lag at the price of a look: every card behind the head is rebased.
    """

    def decide(self, eta: int, alpha: int, contract_breaking: bool) -> Verdict:
        """
        Rebase, whatever the lag.

        >>> Reflective().decide(9, 2, False)
        'rebase'
        """
        return _judge(eta, contract_breaking, "rebase")


class Wait:
    """
    Holds a batch back as long as using it would make another group too old.
    """

    rule: ClassVar[str] = "wait"

    def decide(self, eta: int, alpha: int, contract_breaking: bool) -> Verdict:
        """
        Accept: the gate lets no group become too old.

        >>> Wait().decide(2, 2, False)
        'accept'
        """
        return _judge(eta, contract_breaking, "accept")


class Drop:
    """
    Discards what has become too old; short rollouts are favoured by that.
    """

    rule: ClassVar[str] = "none"

    def decide(self, eta: int, alpha: int, contract_breaking: bool) -> Verdict:
        """
        Discard beyond the bound.

        >>> [Drop().decide(eta, 2, False) for eta in (2, 3)]
        ['accept', 'discard']
        """
        return _judge(eta, contract_breaking, "accept" if eta <= alpha else "discard")


class Mask:
    """
    Uses groups of any age; the optimizer gives no weight to the parts of them that are too old.
    """

    rule: ClassVar[str] = "none"

    def decide(self, eta: int, alpha: int, contract_breaking: bool) -> Verdict:
        """
        Accept, whatever the lag.

        >>> Mask().decide(9, 2, False)
        'accept'
        """
        return _judge(eta, contract_breaking, "accept")


class Soft:
    """
    Uses groups of any age: how many are outstanding bounds their mean age, nothing the oldest's.
    """

    rule: ClassVar[str] = "none"

    def decide(self, eta: int, alpha: int, contract_breaking: bool) -> Verdict:
        """
        Accept, whatever the lag.

        >>> Soft().decide(9, 2, False)
        'accept'
        """
        return _judge(eta, contract_breaking, "accept")


@attrs.frozen
class Window:
    """
    Lets a few younger groups overtake one that is not complete.

    Args:
        window: How many groups, from the oldest outstanding one on, a batch is taken from.
    """

    rule: ClassVar[str] = "window"

    window: int = attrs.field(default=1, metadata={"help": "groups that a batch is taken from"})

    def decide(self, eta: int, alpha: int, contract_breaking: bool) -> Verdict:
        """
        Accept, whatever the lag.

        >>> Window(4).decide(3, 2, False)
        'accept'
        """
        return _judge(eta, contract_breaking, "accept")


def _judge(eta: int, contract_breaking: bool, otherwise: Verdict) -> Verdict:
    if eta <= 0:
        return "accept"
    return "discard" if contract_breaking else otherwise
