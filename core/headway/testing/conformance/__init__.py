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
    "headway.testing.conformance._aggregator_checks",
    "headway.testing.conformance._aggregator_steps",
    "headway.testing.conformance._common",
    "headway.testing.conformance._ledger_states",
    "headway.testing.conformance.aggregators",
    "headway.testing.conformance.ledgers",
    "headway.testing.conformance.observers",
)
# Only what is imported from here on is rewritten.
from headway.testing.conformance._common import Contract, insist  # noqa: E402 - see above
from headway.testing.conformance.acceptances import AcceptanceContract  # noqa: E402 - see above
from headway.testing.conformance.aggregators import AggregatorContract  # noqa: E402 - see above
from headway.testing.conformance.conflicts import ConflictContract  # noqa: E402 - see above
from headway.testing.conformance.domains import DomainContract  # noqa: E402 - see above
from headway.testing.conformance.estimators import DurationEstimatorContract  # noqa: E402 - see above
from headway.testing.conformance.executors import ExecutorContract  # noqa: E402 - see above
from headway.testing.conformance.fusions import FusionContract  # noqa: E402 - see above
from headway.testing.conformance.ledgers import LedgerContract  # noqa: E402 - see above
from headway.testing.conformance.observers import ObserverContract  # noqa: E402 - see above
from headway.testing.conformance.policies import StalenessPolicyContract  # noqa: E402 - see above
from headway.testing.conformance.promotions import PromotionContract  # noqa: E402 - see above
from headway.testing.conformance.samplers import SamplerContract  # noqa: E402 - see above

__all__ = [
    "AcceptanceContract",
    "AggregatorContract",
    "ConflictContract",
    "Contract",
    "DomainContract",
    "DurationEstimatorContract",
    "ExecutorContract",
    "FusionContract",
    "LedgerContract",
    "ObserverContract",
    "PromotionContract",
    "SamplerContract",
    "StalenessPolicyContract",
    "insist",
]
