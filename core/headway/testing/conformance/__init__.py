"""
The conformance kit: what each kind of part must do, as tests that its author runs; it needs pytest.

An author subclasses the contract of the part's kind, and says how one is made::

    import pytest

    from headway.testing.conformance import AggregatorContract

    class TestMine(AggregatorContract):
        @pytest.fixture
        def make(self):
            return Mine

Nothing loads it by itself; failures show values, as in the author's own tests.
"""

import pytest

pytest.register_assert_rewrite(
    "headway.testing.conformance._common",
)
# Only what is imported from here on is rewritten.
from headway.testing.conformance._common import Contract, insist  # noqa: E402 - see above

__all__ = [
    "Contract",
    "insist",
]
