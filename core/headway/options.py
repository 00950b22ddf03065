"""
The options of a run: one frozen object, validated before anything starts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any, Literal

import attrs

from headway.durations import Law
from headway.errors import OptionError

MODES = ("sync", "async")
DRIVERS = ("threads", "asyncio", "serial", "simulated")
WORK = ("rollout", "propose", "measure", "rebase", "commit")
"""The kinds of work that a law of ``durations`` may stand for."""


def _help(text: str, default: Any, least: float | None = None, *, whole: bool = False) -> Any:
    return attrs.field(default=default, metadata=_about(text, least, whole=whole))


def _about(text: str, least: float | None = None, *, whole: bool = False) -> dict[str, Any]:
    return {"help": text, "least": least, "whole": whole}


@attrs.frozen(kw_only=True)
class RunOptions:
    """
    How a domain is to be run; a parameter means the same in every mode and under every driver.

    ``field.metadata["help"]`` is the description that the command line and the reference show.
    """

    mode: Literal["sync", "async"] = _help("sync: in rounds; async: without a barrier", "async")
    driver: str = _help("who runs it: threads, asyncio, serial or simulated", "threads")
    seed: int = _help("every random choice of the run depends on it", 0, 0, whole=True)
    aggregator: Any = attrs.field(
        default="standard", metadata=_about("the optimizer: a name or an object")
    )
    policy: Any = attrs.field(
        default="guarded", metadata=_about("the staleness policy: a name or an object")
    )
    sampler: Any = attrs.field(
        default="shuffled", metadata=_about("who chooses tasks: a name or an object")
    )
    estimator: Any = attrs.field(
        default="ewma", metadata=_about("the duration estimator: a name or an object")
    )
    executor: Any = attrs.field(
        default="thread", metadata=_about("where plain functions run: a name or an object")
    )
    ledger: Any = attrs.field(
        default="memory", metadata=_about("where versions are stored: a name or an object")
    )
    n_workers: int = _help("rollouts at once", 4, 1, whole=True)
    eval_concurrency: int = _help("calls at once beside the rollouts", 8, 0, whole=True)
    slots: int | None = _help("calls at once in all; default workers + 8", None, 1, whole=True)
    async_ratio: int = _help(
        "the lag budget of async mode, in versions and cards", 3, 0, whole=True
    )
    alpha: int | None = _help("the largest lag that a policy tolerates", None, 0, whole=True)
    resync: str = _help("commit: start from the head; lag: keep a snapshot while it may", "commit")
    bind: str = _help("late: propose against the newest head; early: against the rollout's", "late")
    round_size: int | None = _help("rollouts in a round of sync mode", None, 1, whole=True)
    rounds: int | None = _help("rounds of sync mode", None, 1, whole=True)
    max_wait_rounds: int = _help("rounds that a batch below its size waits", 1, 0, whole=True)
    carry_limit: int = _help("uncertain cards that may be carried over", 32, 0, whole=True)
    stall_patience: int = _help("stale sweeps without a commit before a refresh", 50, 1, whole=True)
    self_verify: bool = _help("try each change on its own task first", True)
    max_rollouts: int | None = _help("rollouts to make", None, 1, whole=True)
    max_calls: int | None = _help("paid calls to make, final scoring included", None, 1, whole=True)
    max_seconds: float | None = _help("seconds for the whole run", None, 0.0)
    target_reward: float | None = _help("held-out reward that ends the run", None)
    patience: int | None = _help("sweeps without a commit that end the run", None, 1, whole=True)
    rollout_timeout: float | None = _help("seconds for a rollout or proposal", None, 0.0)
    eval_timeout: float | None = _help("seconds for a measurement", None, 0.0)
    shutdown_grace: float = _help("seconds after the end for what is on its way", 2.0, 0.0)
    straggler_factor: float = _help("times the prediction that make a straggler", 3.0, 0.0)
    max_worker_errors: int = _help("failures borne while nothing has succeeded", 3, 1, whole=True)
    max_proposal_bytes: int = _help("longer proposals are discarded", 1_000_000, 1, whole=True)
    final_draws: int = _help("draws of each held-out task at the end", 4, 1, whole=True)
    durations: Mapping[str, Law] | None = _help("laws for the simulated driver", None)
    validate: bool = _help("assert every invariant after every event", False)

    def __attrs_post_init__(self) -> None:
        for field in attrs.fields(type(self)):
            _check_number(field.name, getattr(self, field.name), field.metadata)
        _check_choice("mode", self.mode, MODES)
        _check_choice("driver", self.driver, DRIVERS)
        _check_choice("resync", self.resync, ("commit", "lag"))
        _check_choice("bind", self.bind, ("late", "early"))
        if self.target_reward is not None:
            _check_real("target_reward", self.target_reward)
        for name in ("self_verify", "validate"):
            if not isinstance(getattr(self, name), bool):
                raise OptionError(name, getattr(self, name), "Give true or false.")
        check_names(self.durations or {}, WORK, "kinds of work")
        if self.mode == "async" and self.driver == "serial":
            remedy = (
                "Async mode needs a driver that can overlap: threads, asyncio or simulated; "
                "serial runs in sync mode."
            )
            raise OptionError("driver", self.driver, remedy)

    @property
    def capacity(self) -> int:
        """
        How many calls may run at once.
        """
        return self.n_workers + self.eval_concurrency if self.slots is None else self.slots

    @property
    def limits(self) -> Mapping[str, float]:
        """
        What bounds the run; only what was set.
        """
        names = (
            "max_rollouts",
            "max_calls",
            "max_seconds",
            "rounds",
            "target_reward",
            "patience",
        )
        known = {name: getattr(self, name) for name in names}
        if self.mode == "async":
            del known["rounds"]  # they have no meaning there and would end nothing
        return {name: value for name, value in known.items() if value is not None}


def option_names() -> tuple[str, ...]:
    """
    The names of all options of a run.
    """
    return tuple(field.name for field in attrs.fields(RunOptions))


def make_options(given: Mapping[str, Any], defaults: Mapping[str, Any]) -> RunOptions:
    """
    Options from what the caller gave, a domain's defaults, and the built-in ones, in that order.

    A domain's default for what bounds a run does not count once the caller bounds it.

    Raises:
        OptionError: an option is unknown or has a bad value.
    """
    check_names(given, option_names(), "options of a run")
    bounds = {"max_rollouts", "max_calls", "max_seconds"}
    if given.get("mode", defaults.get("mode")) == "sync":
        bounds.add("rounds")
    bounded = any(given.get(name) is not None for name in bounds)
    usable = {k: v for k, v in defaults.items() if not (bounded and k in bounds)}
    return RunOptions(**{**usable, **given})


def check_names(given: Iterable[str], known: Iterable[str], what: str) -> None:
    """
    Refuse a name that is not known, with a suggestion.
    """
    choices = sorted(known)
    for name in given:
        if name in choices:
            continue
        close = get_close_matches(name, choices, n=1)
        hint = f"Did you mean {close[0]!r}? " if close else ""
        listed = ", ".join(choices) or "none"
        raise OptionError(name, None, f"There is no such option. {hint}The {what}: {listed}.")


def _check_number(name: str, value: Any, rule: Mapping[str, Any]) -> None:
    least = rule["least"]
    if value is None or least is None:
        return
    if rule["whole"]:
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise OptionError(name, value, f"Give a whole number of at least {least}.")
        return
    _check_real(name, value)
    positive = name != "shutdown_grace"
    if value < least or (positive and value == least):
        bound = "above" if positive else "of at least"
        raise OptionError(name, value, f"Give a number {bound} {least:g}.")


def _check_real(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
        raise OptionError(name, value, "Give a number.")


def _check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    if value not in choices:
        close = get_close_matches(str(value), choices, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise OptionError(name, value, f"Give one of {', '.join(choices)}.{hint}")
