"""
Headway, as its users run it.
"""

from __future__ import annotations

from harness.rules import DOMAINS
from headway import run


def search(case, waits, search):
    result = run(
        DOMAINS[case.driver](waits, search),
        driver=case.driver,
        n_workers=case.workers,
        async_ratio=case.async_ratio,
        max_rollouts=case.rollouts,
        seed=case.seed,
        # Verifying a proposal on its own task is a second rollout, which the bound does not know.
        self_verify=False,
        **case.options,
    )
    return {
        "final_reward": result.final_reward,
        "decisions": dict(result.decisions),
        "stop": result.stop_reason,
    }
