"""
The reference runtime: the router domain and ``headway.run``, with the figures that matter for both.
"""

from __future__ import annotations

import json
from pathlib import Path
from statistics import fmean
from typing import Any, cast

import attrs

from headway import run
from headway.contracts import HeadCommitted, Json, Notice, StalenessPolicy
from headway.errors import OptionError
from headway.result import Result
from headway_domains.router._domain import Router
from headway_domains.router._stats import AsyncConfig, AsyncStats
from headway_domains.router._universe import TaskUniverse


@attrs.define(eq=False)
class AsyncHeadway:
    """
    Learns the routing table of a universe without a barrier; no model is involved.

    Args:
        repo_path: A folder for the table, the figures and the whole result; it is made when it is
            missing, and files of an earlier run in it are replaced.  None writes nothing.
        universe: What ``make_task_universe`` returns.
        config: How it runs.
        staleness_policy: What becomes of evidence that is behind the head; see
            ``headway.get_policy``.
        mode: ``async``, or ``sync`` for the same in rounds.
        driver: Who runs it: ``threads``, ``asyncio``, ``simulated``, in sync mode also ``serial``.
        latency: How long a rollout, a proposal and a measurement each take; see ``Router``.

    Raises:
        OptionError: ``repo_path`` is no folder, or ``config`` is no ``AsyncConfig``.
    """

    repo_path: str | Path | None
    universe: TaskUniverse
    config: AsyncConfig = attrs.field(factory=AsyncConfig)
    staleness_policy: StalenessPolicy | str = "guarded"
    mode: str = attrs.field(default="async", kw_only=True)
    driver: str = attrs.field(default="threads", kw_only=True)
    latency: Any = attrs.field(default="none", kw_only=True)

    def __attrs_post_init__(self) -> None:
        if self.repo_path is not None and Path(self.repo_path).is_file():
            raise OptionError("repo_path", str(self.repo_path), "This is a file: give a folder.")
        if not isinstance(cast("object", self.config), AsyncConfig):
            raise OptionError("config", self.config, "Give an AsyncConfig, or leave it out.")

    def run(self) -> AsyncStats:
        """
        Run until the target is reached or the time is up, and write the files.

        Raises:
            UsageError: an option can't be used; nothing was run.
            OSError: the folder cannot be made, in which case nothing was run, or a file be written.
        """
        if self.repo_path is not None:
            Path(self.repo_path).mkdir(parents=True, exist_ok=True)  # before anything is spent
        fusions = _Fusions()
        domain = Router(universe=self.universe, noise=self.config.noise, latency=str(self.latency))
        result = run(
            domain,
            mode=self.mode,
            driver=self.driver,
            policy=self.staleness_policy,
            max_rollouts=None,
            observers=[fusions],
            **self.config.options(),
        )
        stable = _accuracy(domain, result.stable_state)
        stats = AsyncStats.of(result, fused=fusions.cards, stable=stable)
        if self.repo_path is not None:
            _write(Path(self.repo_path), result, stats)
        return stats


def _accuracy(domain: Router, state: Json) -> float | None:
    """
    The held-out accuracy of a table, which nothing is charged for; None without a table.
    """
    if state is None:
        return None
    return fmean(domain.measure(state, task) for task in domain.tasks().held_out)


@attrs.define(eq=False)
class _Fusions:
    """
    The observer that counts cards which were committed with others.
    """

    cards: int = 0

    def __call__(self, notice: Notice) -> None:
        if isinstance(notice, HeadCommitted) and len(notice.cards) > 1:
            self.cards += len(notice.cards)


def _write(folder: Path, result: Result, stats: AsyncStats) -> None:
    texts = {
        **result.files,
        "stats.json": _as_json(attrs.asdict(stats)),
        "result.json": _as_json(result.to_json()),
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")


def _as_json(value: Any) -> str:
    return json.dumps(value, indent=2, allow_nan=False) + "\n"
