"""
How much is under way at once.
"""

from __future__ import annotations

import math

import attrs

from headway_rl._checks import check_count, check_number


@attrs.frozen(kw_only=True)
class Schedule:
    """
    How much is under way at once.

    ``admit_ahead`` sets the mean age of what is trained on, ``AsyncTrainer.max_staleness`` the highest:
    two dials.

    Args:
        concurrency: Trajectories that are active at once, those whose tools run included.
        admit_ahead: How many future batches may be admitted beside the present one.
        max_sample_requests: Sampling requests that may be open at once; None means ``concurrency``.
        oversample_factor: Admits so many times as many groups, of which the trainer takes those that
            are ready first; what is left over stays for later batches.

    Raises:
        OptionError: one of them is out of its range.
    """

    concurrency: int = 64
    admit_ahead: int = 1
    max_sample_requests: int | None = None
    oversample_factor: float = 1.0

    def __attrs_post_init__(self) -> None:
        check_count("concurrency", self.concurrency, 1)
        check_count("admit_ahead", self.admit_ahead, 0)
        if self.max_sample_requests is not None:
            check_count("max_sample_requests", self.max_sample_requests, 1)
        check_number("oversample_factor", self.oversample_factor, least=1.0)

    @property
    def requests(self) -> int:
        """
        Sampling requests that may be open at once.
        """
        return self.max_sample_requests or self.concurrency

    def wanted(self, groups: int, most_ahead: int) -> int:
        """
        The groups that may be outstanding before the bound cuts them.

        Args:
            groups: Groups a step.
            most_ahead: Batches that the bound lets be admitted beside the present one.
        """
        ahead = min(self.admit_ahead, most_ahead)
        # Rounded first: 10 * 1.1 is a little more than 11 in binary, and would become 12.
        return math.ceil(round((1 + ahead) * groups * self.oversample_factor, 9))

    def capacity(self, groups: int, most_ahead: int) -> int:
        """
        The groups that may be outstanding at once.

        >>> Schedule(admit_ahead=1, oversample_factor=1.25).capacity(8, 2)
        20
        """
        return min((1 + most_ahead) * groups, self.wanted(groups, most_ahead))
