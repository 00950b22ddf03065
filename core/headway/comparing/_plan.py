"""
What a comparison runs: arms, seeds, and the budget that all have alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, get_args

import attrs

from headway._checks import check_choice, check_count, check_number
from headway._prepare import choose_options
from headway.comparing._trial import Axis
from headway.contracts import Domain
from headway.errors import OptionError
from headway.options import MODES, RunOptions
from headway.registry import Registry

EQUAL: Mapping[Axis, str] = MappingProxyType(
    {"rollouts": "max_rollouts", "calls": "max_calls", "seconds": "max_seconds"}
)
"""What all arms may have alike, and the option that bounds it."""

CONTROLS = ("best-of-n", "chains")
"""What a search may be held against."""

_SPLIT = ("max_rollouts", "max_calls", "slots")
"""What independent runs split among them, beside the workers."""


@attrs.frozen(kw_only=True)
class Arm:
    """
    One way to spend the budget.

    Args:
        name: A mode or a control.
        options: The options of its runs, all parts and every seed together.
        parts: Independent runs that one trial splits the budget over; the best of them counts.
        scored: Whether every head is scored after the run, outside its budget.
    """

    name: str
    options: RunOptions
    parts: int = 1
    scored: bool = False

    @property
    def workers(self) -> int:
        """
        Rollouts at once, over all parts.
        """
        return self.options.n_workers

    @property
    def label(self) -> str:
        """
        Its name in tables and plots.
        """
        return f"{self.name}, {self.workers} worker{'' if self.workers == 1 else 's'}"

    def runs(self, seed: int) -> list[RunOptions]:
        """
        The options of each run that a trial with this seed is made of.
        """
        if self.parts == 1:
            return [attrs.evolve(self.options, seed=seed)]
        return [self._part(seed, part) for part in range(self.parts)]

    def _part(self, seed: int, part: int) -> RunOptions:
        whole, parts = self.options, self.parts
        return attrs.evolve(
            whole,
            n_workers=1,
            slots=_share(whole.capacity, part, parts),  # at least one each: a worker has its own
            seed=seed * parts + part,
            max_rollouts=_share(whole.max_rollouts, part, parts),
            max_calls=_share(whole.max_calls, part, parts),
        )


@attrs.frozen(kw_only=True)
class Plan:
    """
    All that is to be run, in the order seed by seed.

    Args:
        domain: The domain's name.
        equal: What all arms have alike.
        budget: How much of it.
        arms: The arms; those with equally many workers are compared with the first one of them.
        seeds: The seeds, each a pair over all arms.
        target: A reward whose time is to be measured, when asked for.
        settings: The options that the domain was made with.
        level: How often an interval is to cover the true mean.
    """

    domain: str
    equal: Axis
    budget: float
    arms: tuple[Arm, ...]
    seeds: tuple[int, ...]
    target: float | None = None
    settings: Mapping[str, Any] = MappingProxyType({})
    level: float = 0.95

    @property
    def size(self) -> int:
        """
        How many trials there are.
        """
        return len(self.arms) * len(self.seeds)


def make_plan(
    domain: Domain,
    given: Mapping[str, Any],
    *,
    modes: Sequence[str],
    seeds: Sequence[int],
    workers: Sequence[int] = (),
    equal: str = "rollouts",
    against: Sequence[str] = (),
    score_heads: bool | None = None,
    name: str | None = None,
    settings: Mapping[str, Any] = MappingProxyType({}),
    shown: Callable[[str], str] = str,
    brings: Callable[[object], Mapping[str, Any]] | None = None,
) -> Plan:
    """
    Plan a comparison.

    ``target_reward`` ends no run of it, since then the budgets would differ; it is the plan's
    ``target``.

    Args:
        domain: What is improved.
        given: Options of a run that hold for every arm; ``mode`` and ``seed`` are not among them.
        modes: One arm each.
        seeds: Every arm runs once with each.
        workers: One group of arms each; by default one, as ``given`` and the domain say.
        equal: ``rollouts``, ``calls`` or ``seconds``.
        against: Controls, one more arm each.
        score_heads: Whether every head is scored on the held-out tasks after its run, outside the
            budget; by default under the ``simulated`` driver.
        name: The domain's name, when it is to be called otherwise.
        settings: The options that the domain was made with.
        shown: How to write an option's name in an error.
        brings: As ``Registry.defaults_of``, which says what an aggregator brings; by default of all
            that is installed.

    Raises:
        OptionError: a value cannot be used, or the budget that is to be equal is not bounded.
        PluginError: an aggregator can't be loaded, or its ``defaults`` can't be used.
    """
    for mode in modes:
        check_choice("modes", mode, MODES)
    for control in against:
        check_choice("against", control, CONTROLS)
    check_choice("equal", equal, get_args(Axis))
    _check_lists(modes=modes, seeds=seeds, against=against, workers=workers)
    axis: Axis = next(known for known in EQUAL if known == equal)
    shared = _shared(given)
    choose = _chooser(domain, brings or Registry.discover().defaults_of)
    sizes = workers or (choose({**shared, "mode": modes[0]}).n_workers,)
    arms = [
        _arm(arm, {**shared, "n_workers": count}, domain, choose)
        for count in sizes
        for arm in (*modes, *against)
    ]
    budget: float | None = getattr(arms[0].options, EQUAL[axis])
    if budget is None:
        option = shown(EQUAL[axis])
        raise OptionError("equal", equal, f"Give {option} too: every run then gets that much.")
    _check_parts(arms, shown)
    return Plan(
        domain=name or domain.name,
        equal=axis,
        budget=budget,
        arms=tuple(_with_scores(arm, score_heads) for arm in arms),
        seeds=tuple(seeds),
        target=_target(domain, given),
        settings=settings,
    )


def _chooser(
    domain: Domain, brings: Callable[[object], Mapping[str, Any]]
) -> Callable[[Mapping[str, Any]], RunOptions]:
    return partial(choose_options, domain=domain, brings=brings)


def _with_scores(arm: Arm, wanted: bool | None) -> Arm:
    simulated = arm.options.driver == "simulated"
    return attrs.evolve(arm, scored=simulated if wanted is None else wanted)


def _shared(given: Mapping[str, Any]) -> dict[str, Any]:
    if given.get("rounds") is not None:
        remedy = "Rounds would end synchronous runs alone: leave it out."
        raise OptionError("rounds", given["rounds"], remedy)
    if given.get("repo_path") is not None:
        remedy = "Each run would go on from the one before: leave it out."
        raise OptionError("repo_path", given["repo_path"], remedy)
    shared = {key: value for key, value in given.items() if key not in ("mode", "seed")}
    return {**shared, "rounds": None, "target_reward": None}


def _target(domain: Domain, given: Mapping[str, Any]) -> float | None:
    target: float | None = given.get("target_reward")
    if target is not None:
        low, high = domain.reward_range
        check_number("target_reward", target, least=low, most=high)
    return target


def _arm(
    name: str,
    given: Mapping[str, Any],
    domain: Domain,
    choose: Callable[[Mapping[str, Any]], RunOptions],
) -> Arm:
    if name in MODES:
        return Arm(name=name, options=choose({**given, "mode": name}))
    driver = given.get("driver", domain.defaults.get("driver"))
    # No control is made to wait at a barrier, unless the driver can't do without.
    free = {**given, "mode": "sync" if driver == "serial" else "async"}
    if name == "chains":
        options = choose(free)
        return Arm(name=name, options=options, parts=options.n_workers)
    # A sample does not age, and whether it helps its own task is nothing that the control asks.
    own = {"aggregator": "best-of-n", "policy": "full", "self_verify": False}
    return Arm(name=name, options=choose({**free, **own}))


def _check_lists(**lists: Sequence[object]) -> None:
    for option, values in lists.items():
        if option in ("modes", "seeds") and not values:
            raise OptionError(option, "", "Give at least one.")
        twice = next((value for value, count in Counter(values).items() if count > 1), None)
        if twice is not None:
            raise OptionError(option, twice, "It is there twice: give each once.")
    for option in ("seeds", "workers"):
        for value in lists[option]:
            check_count(option, value, 0 if option == "seeds" else 1)


def _check_parts(arms: Iterable[Arm], shown: Callable[[str], str]) -> None:
    for arm in arms:
        for option in _SPLIT:
            held: int | None = getattr(arm.options, option)
            if held is not None and held < arm.parts:
                remedy = f"Give at least {arm.parts}: {arm.label} splits it into as many parts."
                raise OptionError(shown(option), held, remedy)


def _share(whole: int | None, part: int, parts: int) -> int | None:
    if whole is None:
        return None
    return whole // parts + (part < whole % parts)
