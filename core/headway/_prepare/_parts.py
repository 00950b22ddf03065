"""
Looking up the plug-ins of a run, and making them.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any

import attrs

from headway._checks import check_number
from headway.contracts import Artifact, Domain, Splits
from headway.errors import OptionError
from headway.options import DECISIONS, PARTS, TUNING, RunOptions
from headway.registry import Choice, Registry
from headway.rundir import RunDirectory


@attrs.frozen(kw_only=True)
class Parts:
    """
    The plug-ins of one run.

    Args:
        brings: The options of a run that the aggregator brings.
        idle: What to say about options that nobody takes.
        most_batch: The largest batch that the run may find out to be worth while.
    """

    aggregator: Any
    policy: Any
    sampler: Any
    estimator: Any
    executor: Any
    ledger: Any
    acceptance: Any
    choices: Mapping[str, str]
    names: Mapping[str, str]
    distributions: tuple[str, ...]
    brings: Mapping[str, Any]
    idle: tuple[str, ...]
    most_batch: int | None

    @classmethod
    def look_up(
        cls,
        registry: Registry,
        options: RunOptions,
        initial: Artifact,
        domain: Choice,
        gather: int | None,
        directory: RunDirectory | None,
    ) -> Parts:
        registry.freeze()
        made: dict[str, Any] = {}
        choices: dict[str, str] = {"domain": str(domain)}
        names: dict[str, str] = {}
        distributions = [domain.distribution]
        tuning = _Tuning(registry, options, gather)
        aggregator = tuning.aggregator()
        for option, kind in PARTS.items():
            if option in DECISIONS and option not in tuning.decisions:
                continue
            spec, more = _spec(option, options, initial, registry, directory)
            choice = registry.describe(kind, spec)
            choices[kind] = str(choice)
            names["commit" if kind == "ledger" else kind] = choice.name
            distributions.append(choice.distribution)
            if option != "aggregator" and option not in DECISIONS:
                made[option] = _made(registry, kind, spec, more)
        return cls(
            **made,
            aggregator=aggregator,
            acceptance=tuning.decisions.get("acceptance"),
            choices=choices,
            names=names,
            distributions=tuple(d for d in distributions if d),
            brings=registry.defaults_of(options.aggregator),
            idle=tuning.idle(choices["aggregator"]),
            most_batch=_most_gathered(options) if tuning.finds_out else None,
        )


@attrs.define(eq=False)
class _Tuning:
    """
    Makes the aggregator and its decisions, and hands each the options that its factory takes.

    An option that was left at its default is handed to nobody, so that a factory's own stands.

    Args:
        registry: Where names are looked up.
        options: The run's.
        gather: The batch size where none was given; None where the run finds it out.
    """

    registry: Registry
    options: RunOptions
    gather: int | None
    decisions: dict[str, Any] = attrs.field(factory=dict[str, Any], init=False)
    _taken: set[str] = attrs.field(factory=set[str], init=False)

    @property
    def _given(self) -> dict[str, Any]:
        fields = attrs.fields_dict(RunOptions)
        held = {name: getattr(self.options, name) for name in (*TUNING, *DECISIONS)}
        return {name: value for name, value in held.items() if value != fields[name].default}

    def _make(self, kind: str, spec: object, **more: Any) -> Any:
        known = self.registry.options_of(kind, spec)
        given = {n: v for n, v in self._given.items() if n in known and n in TUNING}
        self._taken |= {*given, *more}
        if self.gather is not None and self.gather > 1 and "batch_size" in known:
            given.setdefault("batch_size", self.gather)
        return self.registry.create(kind, spec, **given, **more)

    def aggregator(self) -> Any:
        spec = self.options.aggregator
        known = self.registry.options_of("aggregator", spec)
        for option in DECISIONS:
            if option in known:
                self.decisions[option] = self._make(PARTS[option], getattr(self.options, option))
        return self._make("aggregator", spec, **self.decisions)

    @property
    def finds_out(self) -> bool:
        """
        Whether the run is to find out the size of the aggregator's batches.
        """
        known = self.registry.options_of("aggregator", self.options.aggregator)
        left_open = self.gather is None and "batch_size" not in self._given
        return left_open and "batch_size" in known

    def idle(self, aggregator: str) -> tuple[str, ...]:
        """
        What to say about options that were set and that nobody takes.
        """
        return tuple(
            f"{name}={value} has no meaning for the aggregator {aggregator} and is ignored"
            for name, value in self._given.items()
            if name not in self._taken
        )


def gathered(domain: Domain, splits: Splits, options: RunOptions) -> int | None:
    """
    How many cards async mode gathers for a step unless it is told: as many as a candidate costs
    rollouts; None when that is to be found out.
    """
    price: float | None = domain.measure_price
    if price is not None:
        check_number("measure_price", price, least=0, below=math.inf)
    if options.mode == "sync":
        return 1
    if price is None:
        return None
    return max(1, min(math.ceil(price * len(splits.held_out)), _most_gathered(options)))


def _most_gathered(options: RunOptions) -> int:
    """
    At most two for each worker, since a batch waits for one round of rollouts at most.
    """
    return 2 * options.n_workers


def _spec(
    option: str,
    options: RunOptions,
    initial: Artifact,
    registry: Registry,
    directory: RunDirectory | None,
) -> tuple[Any, dict[str, Any]]:
    """
    What stands for a part, and what it is made with.
    """
    spec: Any = getattr(options, option)
    if option == "sampler" and options.parallel is not None and options.mode == "sync":
        return options.parallel, {"window": options.window}
    if option != "ledger" or not isinstance(spec, str):
        return spec, {}
    known = registry.options_of("ledger", spec)
    if options.repo_path is not None:
        return spec, {"initial": initial, "path": _repository(options.repo_path, spec, known)}
    kept = directory is not None and "path" in known
    place = {"path": directory.ledger_path(spec)} if directory is not None and kept else {}
    return spec, {"initial": initial, **place}


def _made(registry: Registry, kind: str, spec: Any, more: Mapping[str, Any]) -> Any:
    try:
        return registry.create(kind, spec, **more)
    except OptionError as error:
        if error.option != "path":
            raise
        # Whoever gave it knows the place by the name that it has among the options of a run.
        raise OptionError("repo_path", error.value, error.remedy) from error


def _repository(path: str, ledger: str, known: Collection[str]) -> str:
    if "path" not in known:
        remedy = f"The ledger {ledger} keeps nothing there: leave ledger out, which then is git."
        raise OptionError("repo_path", path, remedy)
    return path
