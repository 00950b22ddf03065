"""
A staleness policy that is more patient than the lag budget.
"""

from __future__ import annotations

from headway.contracts import Verdict
from headway.errors import OptionError


class NewcomerPolicy:
    """
    Rebases a card that is at most ``patience`` times as old as the lag budget allows.

    Args:
        patience: How many times; 1 is the budget itself.

    Raises:
        OptionError: it is below 1.
    """

    def __init__(self, patience: int = 2) -> None:
        if patience < 1:
            raise OptionError("patience", patience, "Give a whole number of at least 1.")
        self.patience: int = patience

    def decide(self, eta: int, alpha: int, contract_breaking: bool) -> Verdict:
        """
        Accept what is up to date, rebase what is not too old, discard the rest.

        A card that breaks what other parts rely on is worth nothing once the head has moved.
        """
        if eta <= 0:
            return "accept"
        if contract_breaking or eta > self.patience * alpha:
            return "discard"
        return "rebase"
