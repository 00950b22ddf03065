"""
Every option of a training run, and every combination of them that is refused.

A combination is refused when what one option promises another takes away; the error names both.  What
loses data, or gives up the hard bound, must be acknowledged in so many words.  What merely has no effect
is a warning.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, TypeAlias

import attrs

from headway.errors import OptionError
from headway_rl._advantages import Advantages, Groupwise
from headway_rl._checks import check_choice, check_count, check_flag, check_parts
from headway_rl._chunks import ForwardBackwardBatch
from headway_rl._completion import GroupCompletion
from headway_rl._schedule import Schedule

StalePolicy: TypeAlias = Literal["wait", "drop", "mask", "soft", "window", "unbounded"]

STALE_POLICIES: tuple[StalePolicy, ...] = ("wait", "drop", "mask", "soft", "window", "unbounded")
BATCH_ORDERS = ("completion", "admission")
SAMPLING_POLICIES = ("trajectory", "segment")
KV_POLICIES = ("hold", "refill")

LOSING = ("drop", "mask")
"""Policies under which something that was sampled does not train."""

UNBOUND = ("soft", "window", "unbounded")
"""Policies under which something older than ``max_staleness`` may train."""


@attrs.frozen(kw_only=True)
class Options:
    """
    How groups are admitted, chosen and trained.

    Args:
        max_staleness: The highest age of a segment when it is trained, in updates; 0 is synchronous.
        stale_policy: What keeps that bound.  ``wait`` holds the trainer back and loses nothing.
            ``drop`` resolves a group that got too old, ``mask`` takes the weight of segments that
            did; both need ``accept_lost_data``.  ``soft`` keeps the mean only, ``window`` keeps
            ``max_staleness + ceil((window - 1) / groups_per_step)``, ``unbounded`` nothing; these
            need ``accept_no_bound``.
        window: For ``window`` only: how many of the oldest groups the trainer may choose among.
        groups_per_step: Groups that make a batch.
        updates_per_step: Updates that a batch makes, each of its own part of the groups, the oldest
            first.  The version moves by as many, and ages count versions, so that a step needs a
            ``max_staleness`` of at least ``updates_per_step - 1``.
        group_size: Members of a group.
        batch_order: ``completion`` takes the oldest groups that are ready, ``admission`` the oldest,
            which must be ready.
        forward_backward_batch: ``auto`` overlaps forward/backward with sampling where that is sound:
            chunks of one batch at ``max_staleness=0``, groups that no later event can take from the
            batch above it.  A ``ForwardBackwardBatch`` sets the size of chunks, and None turns the
            overlap off.
        completion: What a member's failure does to its group.
        sampling_policy: ``trajectory`` samples all of an episode with the weights that it began on,
            ``segment`` each request with the newest.
        max_kv_age: The highest age of a cached prefix, in updates, for ``segment`` only: the version of the
            weights that sample less that of those which computed the oldest part of the prefix.  None
            bounds none.
        kv_policy: What happens to a request for which the newest weights would exceed that: ``hold``
            samples it with the weights of the request before, ``refill`` computes the prefix anew with
            the newest.
        advantages: ``Groupwise(...)`` or ``Batchwise(...)``.
        schedule: How much is under way at once.
        accept_lost_data: Acknowledges that some of what was sampled does not train.
        accept_no_bound: Acknowledges that ``max_staleness`` is no bound.

    Raises:
        OptionError: an option is out of its range, or does not go with another.
    """

    max_staleness: int = 2
    stale_policy: StalePolicy = "wait"
    window: int | None = None
    groups_per_step: int = 8
    updates_per_step: int = 1
    group_size: int = 8
    batch_order: Literal["completion", "admission"] = "completion"
    forward_backward_batch: ForwardBackwardBatch | Literal["auto"] | None = "auto"
    completion: GroupCompletion = attrs.field(factory=GroupCompletion)
    sampling_policy: Literal["trajectory", "segment"] = "trajectory"
    max_kv_age: int | None = None
    kv_policy: Literal["hold", "refill"] | None = None
    advantages: Advantages = attrs.field(factory=Groupwise)
    schedule: Schedule = attrs.field(factory=Schedule)
    accept_lost_data: bool = False
    accept_no_bound: bool = False

    def __attrs_post_init__(self) -> None:
        for check in _CHECKS:
            check(self)

    @property
    def capacity(self) -> int:
        """
        Groups that may be outstanding at once.
        """
        return self.schedule.capacity(self.groups_per_step, self.ahead)

    @property
    def ahead(self) -> int:
        """
        How many batches the bound lets be admitted beside the next one.
        """
        return (self.gate_staleness - self.updates_per_step + 1) // self.updates_per_step

    @property
    def gate_staleness(self) -> int:
        """
        What the gate is told that the highest age is: so much that, where nothing bounds the age, it
        cuts nothing that may be admitted ahead.
        """
        if self.stale_policy != "unbounded":
            return self.max_staleness
        ahead = self.schedule.admit_ahead
        wanted = self.schedule.wanted(self.groups_per_step, ahead)
        batches = max(ahead + 1, -(-wanted // self.groups_per_step))
        return max(self.max_staleness, batches * self.updates_per_step - 1)

    @property
    def implied_mean_age(self) -> float:
        """
        The mean age of what is trained, in updates, while as much is outstanding as may be.

        >>> Options(max_staleness=2, schedule=Schedule(admit_ahead=1)).implied_mean_age
        1.0
        """
        batches = self.capacity / self.groups_per_step - 1
        return batches * self.updates_per_step + (self.updates_per_step - 1) / 2

    @property
    def highest_age(self) -> int | None:
        """
        The highest age that can be trained, in updates; None when nothing bounds it.
        """
        if self.stale_policy in {"soft", "unbounded"}:
            return None
        if self.window is None:
            return self.max_staleness
        batches = self.ahead + -((1 - self.window) // self.groups_per_step)
        return (batches + 1) * self.updates_per_step - 1

    @property
    def overlap(self) -> ForwardBackwardBatch | None:
        """
        The chunks in which a batch goes to the trainer; None when it goes as a whole.

        ``auto`` means a quarter of a batch, and no overlap where it is not sound: batch-centred
        advantages need all rewards, only under ``wait`` in order of completion is it known early
        which groups a batch will hold, and of several updates all but the first begin on other weights.
        """
        if isinstance(self.forward_backward_batch, ForwardBackwardBatch):
            return self.forward_backward_batch
        early = self.stale_policy == "wait" and self.batch_order == "completion"
        if self.updates_per_step > 1:
            return None
        if self.forward_backward_batch is None or self.advantages.needs_batch or not early:
            return None
        sequences = self.groups_per_step * self.group_size
        return ForwardBackwardBatch(min_sequences=max(1, -(-sequences // 4)), min_tokens=None)

    def warnings(self) -> tuple[str, ...]:
        """
        What has no effect, one sentence each.
        """
        return tuple(_without_effect(self))

    def announcement(self) -> str:
        """
        What a run prints at its start: how much is outstanding, and the ages that follow from it.

        >>> Options().announcement()
        'up to 16 groups (128 trajectories) outstanding, 8 a step: mean age 1, at most 2 updates'
        """
        most = self.highest_age
        bound = "with no upper bound" if most is None else f"at most {most} updates"
        return (
            f"up to {self.capacity} groups ({self.capacity * self.group_size} trajectories)"
            f" outstanding, {self.groups_per_step} a step: mean age {self.implied_mean_age:g}, {bound}"
        )


def _check_ranges(options: Options) -> None:
    check_count("max_staleness", options.max_staleness, 0)
    check_count("groups_per_step", options.groups_per_step, 1)
    check_parts(options.updates_per_step, options.groups_per_step, "groups_per_step")
    check_count("group_size", options.group_size, 1)
    check_choice("stale_policy", options.stale_policy, STALE_POLICIES)
    check_choice("batch_order", options.batch_order, BATCH_ORDERS)
    check_choice("sampling_policy", options.sampling_policy, SAMPLING_POLICIES)
    check_flag("accept_lost_data", options.accept_lost_data)
    check_flag("accept_no_bound", options.accept_no_bound)
    if options.window is not None:
        check_count("window", options.window, 1)


def _check_kinds(options: Options) -> None:
    given: Any = options.forward_backward_batch
    if given not in {None, "auto"} and not isinstance(given, ForwardBackwardBatch):
        remedy = "Give 'auto', ForwardBackwardBatch(...) or None."
        raise OptionError("forward_backward_batch", given, remedy)
    if not isinstance(options.advantages, Advantages):  # pyright: ignore[reportUnnecessaryIsInstance] # what callers give
        raise OptionError(
            "advantages", options.advantages, "Give Groupwise(...) or Batchwise(...)."
        )
    if not isinstance(options.schedule, Schedule):  # pyright: ignore[reportUnnecessaryIsInstance] # what callers give
        raise OptionError("schedule", options.schedule, "Give Schedule(...).")
    if not isinstance(options.completion, GroupCompletion):  # pyright: ignore[reportUnnecessaryIsInstance] # what callers give
        raise OptionError("completion", options.completion, "Give GroupCompletion(...).")


def _check_acknowledged(options: Options) -> None:
    if not options.accept_lost_data:
        if options.stale_policy in LOSING:
            remedy = "Some of what was sampled will not train; add accept_lost_data=True."
            raise OptionError("stale_policy", options.stale_policy, remedy)
        if options.completion.loses_data:
            remedy = "Some of what was sampled will not train; add accept_lost_data=True."
            raise OptionError("completion", options.completion.on_failure, remedy)
    if options.stale_policy in UNBOUND and not options.accept_no_bound:
        remedy = "max_staleness is no bound then; add accept_no_bound=True."
        raise OptionError("stale_policy", options.stale_policy, remedy)


def _check_updates(options: Options) -> None:
    later = options.updates_per_step - 1
    if options.max_staleness < later:
        remedy = (
            f"With updates_per_step={options.updates_per_step}, the last update of a step is {later}"
            f" versions later than the first; give at least {later}."
        )
        raise OptionError("max_staleness", options.max_staleness, remedy)


def _check_synchronous(options: Options) -> None:
    if options.max_staleness:
        return
    if options.schedule.oversample_factor > 1:
        remedy = "With max_staleness=0 a surplus group could never train; give 1."
        raise OptionError("oversample_factor", options.schedule.oversample_factor, remedy)
    if options.stale_policy != "wait":
        remedy = "With max_staleness=0 nothing gets old; give 'wait'."
        raise OptionError("stale_policy", options.stale_policy, remedy)


def _check_window(options: Options) -> None:
    if options.stale_policy == "window" and options.window is None:
        remedy = "stale_policy='window' needs it; give a whole number of at least 1."
        raise OptionError("window", options.window, remedy)
    if options.stale_policy != "window" and options.window is not None:
        remedy = "It belongs to stale_policy='window'; leave it out or give that policy."
        raise OptionError("window", options.window, remedy)


def _check_order(options: Options) -> None:
    if options.batch_order == "admission" and options.stale_policy in UNBOUND:
        remedy = (
            f"stale_policy={options.stale_policy!r} lets ready groups overtake older ones, which"
            " this order forbids; give 'completion'."
        )
        raise OptionError("batch_order", options.batch_order, remedy)


def _check_chunks(options: Options) -> None:
    given = options.forward_backward_batch
    if not isinstance(given, ForwardBackwardBatch):
        return
    if options.max_staleness:
        remedy = "It is for max_staleness=0, where a batch has one version; give 'auto'."
        raise OptionError("forward_backward_batch", given, remedy)
    if options.advantages.needs_batch:
        remedy = "Batch-centred advantages need all rewards before the first chunk; give 'auto'."
        raise OptionError("forward_backward_batch", given, remedy)


def _check_members(options: Options) -> None:
    least = options.completion.min_members
    if least is not None and least > options.group_size:
        remedy = f"A group has {options.group_size} members; give at most so many."
        raise OptionError("min_members", least, remedy)
    if options.advantages.needs_batch:
        return
    if options.group_size == 1:
        remedy = "A group of one is its own baseline, so nothing would be learnt; give at least 2, or Batchwise()."
        raise OptionError("group_size", options.group_size, remedy)
    if least == 1:
        remedy = "A group of one is its own baseline, so nothing would be learnt; give at least 2."
        raise OptionError("min_members", least, remedy)


def check_cache(max_kv_age: Any, kv_policy: Any, sampling_policy: str) -> None:
    """
    Refuse a bound of the age of cached prefixes that is none, or that there is no use for.

    Raises:
        OptionError: it is.
    """
    if max_kv_age is not None:
        check_count("max_kv_age", max_kv_age, 0)
    if kv_policy is not None:
        check_choice("kv_policy", kv_policy, KV_POLICIES)
    if (max_kv_age is None) != (kv_policy is None):
        given = max_kv_age if kv_policy is None else kv_policy
        name = "max_kv_age" if kv_policy is None else "kv_policy"
        raise OptionError(name, given, "Give max_kv_age and kv_policy together.")
    if max_kv_age is not None and sampling_policy == "trajectory":
        remedy = "A trajectory that keeps its weights has no older prefix; give sampling_policy='segment'."
        raise OptionError("max_kv_age", max_kv_age, remedy)


def _check_cache(options: Options) -> None:
    check_cache(options.max_kv_age, options.kv_policy, options.sampling_policy)


_CHECKS: Any = (
    _check_ranges,
    _check_kinds,
    _check_acknowledged,
    _check_updates,
    _check_synchronous,
    _check_window,
    _check_order,
    _check_chunks,
    _check_members,
    _check_cache,
)


def _without_effect(options: Options) -> Iterator[str]:
    schedule, bound = options.schedule, options.ahead
    wanted = schedule.wanted(options.groups_per_step, bound)
    factor = schedule.oversample_factor
    if options.max_staleness and schedule.admit_ahead > bound:
        yield f"admit_ahead={schedule.admit_ahead} counts as {bound}, which max_staleness allows"
    if wanted > options.capacity:
        base = (1 + min(schedule.admit_ahead, bound)) * options.groups_per_step
        left = options.capacity / base
        effect = "has no effect" if left == 1 else f"counts as {left:g}"
        yield (
            f"oversample_factor={factor:g} {effect}: {wanted} groups are cut to the"
            f" {options.capacity} that max_staleness={options.max_staleness} allows"
        )
    if factor > 1 and options.batch_order == "admission":
        yield f"oversample_factor={factor:g} gives no choice under batch_order='admission'"
    if 0 < bound <= schedule.admit_ahead and options.stale_policy == "wait":
        yield (
            f"admit_ahead={schedule.admit_ahead} leaves no slack below"
            f" max_staleness={options.max_staleness}: groups train strictly in the order of their admission; give a smaller one, or a higher bound"
        )
    trajectories = options.capacity * options.group_size
    if schedule.concurrency > trajectories:
        yield (
            f"concurrency={schedule.concurrency} is never reached: at most {trajectories}"
            " trajectories are outstanding"
        )
    if schedule.requests > schedule.concurrency:
        yield (
            f"max_sample_requests={schedule.requests} is never reached: {schedule.concurrency}"
            " trajectories have one request each"
        )
    if options.accept_lost_data and not _loses(options):
        yield "accept_lost_data=True acknowledges nothing: no data is lost"
    if options.accept_no_bound and options.stale_policy not in UNBOUND:
        yield "accept_no_bound=True acknowledges nothing: the bound is hard"


def _loses(options: Options) -> bool:
    return options.stale_policy in LOSING or options.completion.loses_data
