"""
The built-in staleness policies.

==========  ========  ================  ===========  ============================
policy      eta = 0   0 < eta <= alpha  eta > alpha  contract-breaking, eta > 0
==========  ========  ================  ===========  ============================
full        accept    accept            accept       discard
guarded     accept    rebase            discard      discard
reflective  accept    rebase            rebase       discard
==========  ========  ================  ===========  ============================

A card that is not behind the head is always accepted.  One that breaks what other parts of the
artifact rely on is worth nothing once the head has moved: nobody knows what it would break now.
"""

from __future__ import annotations

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


def _judge(eta: int, contract_breaking: bool, otherwise: Verdict) -> Verdict:
    if eta <= 0:
        return "accept"
    return "discard" if contract_breaking else otherwise
