"""
The options of a run: one frozen object, validated before anything starts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, cast, get_args

import attrs

from headway._checks import (
    check_choice,
    check_count,
    check_flag,
    check_folder_name,
    check_number,
)
from headway.durations import Law
from headway.errors import OptionError, suggestion

Mode: TypeAlias = Literal["sync", "async"]
Driver: TypeAlias = Literal["threads", "asyncio", "serial", "simulated"]
Resync: TypeAlias = Literal["commit", "lag"]
Bind: TypeAlias = Literal["late", "early"]
Straggler: TypeAlias = Literal["count", "hedge", "cancel"]
Parallel: TypeAlias = Literal["data", "ensemble"]
BatchOrder: TypeAlias = Literal["completion", "admission"]
Bases: TypeAlias = Literal["head", "stamp"]
LostGroups: TypeAlias = Literal["stop", "drop"]

MODES: tuple[str, ...] = get_args(Mode)
DRIVERS: tuple[str, ...] = get_args(Driver)
HARNESS = 0.3
"""An artifact with a larger blast radius is a harness: it is changed rarely, and with more care."""

LEAST_ALPHA_HARNESS = 5

WORK = ("rollout", "propose", "measure", "rebase", "commit", "train")
"""The kinds of work that a law of ``durations`` may stand for."""

BUDGETS = (
    "max_rollouts",
    "max_calls",
    "max_tokens",
    "max_cost",
    "max_seconds",
    "rounds",
    "updates",
)
"""The options that bound how much a run may do."""

METERED = ("max_tokens", "max_cost")
"""Those of them that end nothing unless calls are charged for."""

LIMITS = (*BUDGETS, "target_reward", "patience")
"""The options that end a run; it needs at least one of them."""

PARTS: Mapping[str, str] = MappingProxyType(
    {
        "aggregator": "aggregator",
        "conflict": "conflict",
        "fusion": "fusion",
        "acceptance": "acceptance",
        "promotion": "promotion",
        "policy": "staleness policy",
        "sampler": "sampler",
        "estimator": "duration estimator",
        "executor": "executor",
        "ledger": "ledger",
    }
)
"""The options that take a part, and the kind of each."""

DECISIONS = ("conflict", "fusion", "acceptance", "promotion")
"""The parts that an aggregator is made of, when its factory takes them."""

TUNING = (
    "batch_size",
    "max_steps",
    "accept_level",
    "max_draws",
    "promote_after",
    "oracle_budget",
    "mask_beyond",
)
"""The options that are handed to an aggregator and its decisions, when their factories take them."""

_Check: TypeAlias = Callable[[str, Any], None]


def _about(text: str, check: _Check | None = None) -> dict[str, Any]:
    return {"help": text, "check": check}


def _word(text: str, choices: Any) -> dict[str, Any]:
    return _about(text, partial(check_choice, choices=get_args(choices)))


def _flag(text: str, *, default: bool | None) -> Any:
    return attrs.field(default=default, metadata=_about(text, check_flag))


def _count(text: str, default: int | None, least: int = 1, most: int | None = None) -> Any:
    check = partial(check_count, least=least, most=most)
    return attrs.field(default=default, metadata=_about(text, check))


def _number(text: str, default: float | None, **bounds: Any) -> Any:
    check = partial(check_number, **bounds)
    return attrs.field(default=default, metadata=_about(text, check))


def _absolute(given: Any) -> Any:
    """
    The name of a folder, so that it stays the same one whatever the current folder is.

    What is no name is left for the check to refuse.
    """
    name: Any = given.__fspath__() if hasattr(given, "__fspath__") else given
    return str(Path(name).absolute()) if isinstance(name, str) and name else given


@attrs.frozen(kw_only=True)
class RunOptions:
    """
    How a domain is to be run; a parameter means the same in every mode and under every driver.

    ``field.metadata["help"]`` is the description that the command line and the reference show.

    Raises:
        OptionError: a value cannot be used, or two cannot be used together.
    """

    mode: Mode = attrs.field(
        default="async", metadata=_word("sync: in rounds; async: without a barrier", Mode)
    )
    driver: Driver = attrs.field(
        default="threads",
        metadata=_word("who runs it: threads, asyncio, serial or simulated", Driver),
    )
    seed: int = _count("every random choice of the run depends on it", 0, 0)
    aggregator: Any = attrs.field(
        default="standard", metadata=_about("the optimizer: a name or an object")
    )
    conflict: Any = attrs.field(
        default="shared-tasks",
        metadata=_about("which contradictory cards stay: a name or an object"),
    )
    fusion: Any = attrs.field(
        default="union", metadata=_about("which cards are tried together: a name or an object")
    )
    acceptance: Any = attrs.field(
        default="sequential",
        metadata=_about("when a candidate is known to be better: a name or an object"),
    )
    promotion: Any = attrs.field(
        default="confirmed",
        metadata=_about("when a version becomes the stable one: a name or an object"),
    )
    policy: Any = attrs.field(
        default="guarded", metadata=_about("the staleness policy: a name or an object")
    )
    sampler: Any = attrs.field(
        default="shuffled", metadata=_about("who chooses tasks: a name or an object")
    )
    parallel: Parallel | None = attrs.field(
        default=None,
        metadata=_word(
            "data: a round's rollouts share no task; ensemble: they share one", Parallel
        ),
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
    repo_path: str | None = attrs.field(
        default=None,
        converter=_absolute,
        metadata=_about("a git repository that keeps the versions", check_folder_name),
    )
    n_workers: int = _count("rollouts at once", 4)
    eval_concurrency: int = _count("calls at once beside the rollouts", 8, 0)
    slots: int | None = _count("calls at once in all; default workers + 8", None)
    async_ratio: int = _count("the lag budget of async mode, in versions and cards", 3, 0)
    alpha: int | None = _count(
        "the largest lag that a policy tolerates (learning from proposals)", None, 0
    )
    max_staleness: int = _count(
        "updates that an outcome may be behind the head it trains (learning from outcomes)", 2, 0
    )
    admit_ahead: int = _count("batches of outcomes that may be begun ahead", 1, 0)
    oversample_factor: float = _number(
        "times the groups begun of a batch that are needed", 1.0, least=1
    )
    batch_order: BatchOrder = attrs.field(
        default="completion",
        metadata=_word(
            "completion: a batch is the oldest complete groups; admission: the oldest", BatchOrder
        ),
    )
    bases: Bases = attrs.field(
        default="head",
        metadata=_word(
            "head: a group's member starts from the head; stamp: from the group's first", Bases
        ),
    )
    member_attempts: int = _count("times that a member of a group is tried", 3)
    least_members: int | None = _count(
        "members with which a group is complete when others are lost; default all", None
    )
    lost_groups: LostGroups = attrs.field(
        default="stop",
        metadata=_word(
            "a group with too few members ends the run (stop) or is dropped", LostGroups
        ),
    )
    stall_alarm: float = _number(
        "seconds without an update after which it is told what is waited for; inf: never",
        600.0,
        above=0,
    )
    mask_beyond: int | None = _count(
        "updates after which a part of an outcome has no weight; default max_staleness under mask",
        None,
        0,
    )
    updates: int | None = _count("batches of outcomes to train on", None)
    resync: Resync = attrs.field(
        default="commit",
        metadata=_word("commit: start from the head; lag: keep a snapshot while it may", Resync),
    )
    bind: Bind = attrs.field(
        default="late",
        metadata=_word("late: propose against the newest head; early: against the rollout's", Bind),
    )
    round_size: int | None = _count("rollouts in a round of sync mode", None)
    rounds: int | None = _count("rounds of sync mode", None)
    max_concurrency: int | None = _count("rollouts at once in a round of sync mode", None)
    round_timeout: float | None = _number("seconds for a round of sync mode", None, above=0)
    refresh_interval: int = _count("rounds of sync mode between two hand-outs of the head", 1)
    max_wait_rounds: int = _count("rounds that a batch below its size waits", 1, 0)
    batch_size: int | None = _count(
        "new cards that make a step worth while; default 1, or as measuring is dear", None
    )
    max_steps: int = _count("steps of the aggregator that may race", 1, 1, 3)
    accept_level: float = _number(
        "probability that a run with noisy rewards accepts anything useless", 0.05, above=0, below=1
    )
    max_draws: int = _count("draws of each held-out task that one test may take", 10)
    promote_after: int = _count("confirmations of a version before it becomes the stable one", 3)
    oracle_budget: int = _count("measurements that audits may take", 200, 0)
    blast_radius: float = _number(
        "how much a bad commit damages; above 0.3 every merge is audited", 0.2, least=0, most=1
    )
    carry_limit: int = _count("uncertain cards that may be carried over", 32, 0)
    stall_patience: int = _count("stale sweeps without a commit before a refresh", 50)
    self_verify: bool = _flag("try each change on its own task first", default=True)
    deterministic: bool | None = _flag(
        "whether one artifact always scores the same on one task; default: the domain's word",
        default=None,
    )
    max_rollouts: int | None = _count("rollouts to make", None)
    max_calls: int | None = _count("paid calls to make, final scoring included", None)
    max_tokens: int | None = _count("tokens to be charged, final scoring included", None)
    max_cost: float | None = _number("money to be charged, final scoring included", None, above=0)
    tokens_per_call: int | None = _count("the most tokens that one call charges", None)
    cost_per_call: float | None = _number(
        "the most money that one call charges", None, above=0, below=math.inf
    )
    max_seconds: float | None = _number("seconds for the whole run", None, above=0)
    target_reward: float | None = _number("held-out reward that ends the run", None)
    patience: int | None = _count("sweeps without a commit that end the run", None)
    rollout_timeout: float | None = _number("seconds for a rollout or proposal", None, above=0)
    eval_timeout: float | None = _number("seconds for a measurement", None, above=0)
    train_timeout: float | None = _number("seconds for a training", None, above=0)
    shutdown_grace: float = _number(
        "seconds after the stop in which a commit on its way may still land",
        2.0,
        least=0,
        below=math.inf,
    )
    straggler_factor: float = _number("times the prediction that make a straggler", 3.0, above=0)
    straggler: Straggler = attrs.field(
        default="count",
        metadata=_word("a straggler is counted, run twice (hedge), or ended (cancel)", Straggler),
    )
    max_worker_errors: int = _count("failures borne while nothing has succeeded", 3)
    max_train_errors: int = _count("failed trainings with no step that got through between them", 3)
    max_proposal_bytes: int = _count("longer proposals are discarded", 1_000_000)
    final_draws: int = _count("draws of each held-out task at the end", 4)
    durations: Mapping[str, Law] | None = attrs.field(
        default=None, metadata=_about("laws for the simulated driver")
    )
    validate: bool = _flag("assert every invariant after every event", default=False)

    def __attrs_post_init__(self) -> None:
        for field in attrs.fields(type(self)):
            value, check = getattr(self, field.name), field.metadata["check"]
            unset = value is None and field.default is None
            if check is not None and not unset:
                check(field.name, value)
        if self.durations is not None:
            _check_laws(self.durations)
        if self.parallel is not None and self.sampler != "shuffled":
            remedy = "It is a sampler of its own: leave this or sampler out."
            raise OptionError("parallel", self.parallel, remedy)
        if self.repo_path is not None and not isinstance(self.ledger, str):
            remedy = "The ledger is an object, which has its own place: leave one of them out."
            raise OptionError("repo_path", self.repo_path, remedy)
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
    def at_once(self) -> int:
        """
        How many rollouts may run at once.
        """
        if self.mode == "async" or self.max_concurrency is None:
            return self.n_workers
        return min(self.n_workers, self.max_concurrency)

    @property
    def least_alpha(self) -> int:
        """
        The lag that may come about, and so the least alpha that a guarded policy gets along with.
        """
        least = LEAST_ALPHA_HARNESS if self.blast_radius > HARNESS else 1
        return max(least, self.async_ratio)

    @property
    def staleness(self) -> int:
        """
        How many updates an outcome may be behind the head that it trains.
        """
        return 0 if self.mode == "sync" else self.max_staleness

    @property
    def window(self) -> int:
        """
        How many rollouts a round of sync mode has.
        """
        return self.n_workers if self.round_size is None else self.round_size

    @property
    def limits(self) -> Mapping[str, float]:
        """
        What bounds the run; only what was set.
        """
        known = {name: getattr(self, name) for name in _meaningful(LIMITS, self.mode)}
        return {name: value for name, value in known.items() if value is not None}


def _meaningful(limits: Iterable[str], mode: Any) -> list[str]:
    # Rounds have no meaning in async mode and would end nothing there.
    return [name for name in limits if name != "rounds" or mode == "sync"]


def limits_remedy(shown: Callable[[str], str] = str) -> str:
    """
    What to do about a run that nothing would end.

    Args:
        shown: How to write an option's name.

    >>> limits_remedy()
    'Give max_rollouts, max_calls, max_tokens, ..., target_reward or patience.'
    """
    *names, last = map(shown, LIMITS)
    return f"Give {', '.join(names)} or {last}."


def option_names() -> tuple[str, ...]:
    """
    The names of all options of a run.
    """
    return tuple(field.name for field in attrs.fields(RunOptions))


def make_options(given: Mapping[str, Any], defaults: Mapping[str, Any]) -> RunOptions:
    """
    Options from what the caller gave, a domain's defaults, and the built-in ones, in that order.

    A domain's default for what bounds a run does not count once the caller bounds it by anything but
    tokens or cost, which may never be charged.  Under the policy ``mask``, an aggregator that is named is
    told what is too old.

    Raises:
        OptionError: an option, or what a domain's defaults name, is unknown or has a bad value.
    """
    check_names(given, option_names(), "options of a run")
    check_names(defaults, option_names(), "options of a run, which a domain's defaults must be,")
    bounds = _meaningful(BUDGETS, given.get("mode", defaults.get("mode")))
    bounded = any(given.get(name) is not None for name in bounds if name not in METERED)
    usable = {k: v for k, v in defaults.items() if not (bounded and k in bounds)}
    options = RunOptions(**{**usable, **given})
    named = isinstance(options.aggregator, str)  # an object was told by whoever made it
    if named and options.policy == "mask" and options.mask_beyond is None:
        return attrs.evolve(options, mask_beyond=options.staleness)
    return options


def _check_laws(durations: Any) -> None:
    if not isinstance(durations, Mapping):
        remedy = f"Give a mapping from {', '.join(WORK)} to laws."
        raise OptionError("durations", cast("object", durations), remedy)
    laws = cast("Mapping[str, object]", durations)
    check_names(laws, WORK, "kinds of work")
    for kind, law in laws.items():
        if not hasattr(law, "draw"):
            remedy = "Give a law, such as parse_law('uniform:1,2') of headway.durations makes."
            raise OptionError(f"durations[{kind!r}]", law, remedy)


def check_names(given: Iterable[str], known: Iterable[str], what: str) -> None:
    """
    Refuse a name that is not known, with a suggestion.

    Raises:
        OptionError: there is one.
    """
    choices = sorted(known)
    for key in given:
        name = str(key)  # the defaults of a plug-in may have any
        if name in choices:
            continue
        hint = suggestion(name, choices)
        listed = ", ".join(choices) or "none"
        value = cast("Mapping[str, Any]", given)[key] if isinstance(given, Mapping) else None
        raise OptionError(name, value, f"There is no such option.{hint} The {what}: {listed}.")
