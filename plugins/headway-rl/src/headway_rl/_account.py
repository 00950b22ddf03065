"""
The account of a training run: events in, one dictionary of numbers a batch out.

It reads no clock; every event brings its time, in seconds.  What happened since the previous result counts for
the next one, whoever's time it was: so tokens a second go down while the caller evaluates.

The ledger: what was generated is trained, masked, stale, surplus, failed or held, in tokens and in groups, and
the sum always holds.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping

import attrs

from headway_rl._batches import Batch
from headway_rl._quantiles import quantile, weighted_mean, weighted_quantile

FATES = ("trained", "masked", "stale", "surplus", "failed")
"""What becomes of what was generated and is held no more."""

WAITS = ("training", "bound", "groups", "nothing")
"""What a step waits for, one of them at any time."""

_REMEMBERED = 4_096
"""Groups that were trained or dropped last, some of whose members may still run."""

_LEVELS = (("p50", 0.5), ("p95", 0.95), ("p99", 0.99))


def fate_of(reason: str) -> str:
    """
    What a group that is dropped for a reason becomes in the ledger.

    >>> fate_of("stale"), fate_of("cancelled"), fate_of("timeout")
    ('stale', 'surplus', 'failed')
    """
    return {"stale": "stale", "cancelled": "surplus", "surplus": "surplus"}.get(reason, "failed")


def bucket(tokens: int) -> str:
    """
    The length bucket of so many tokens: the next power of two.

    >>> bucket(0), bucket(1), bucket(100)
    ('0', '1', '128')
    """
    return str(1 << (tokens - 1).bit_length()) if tokens else "0"


@attrs.define(eq=False)
class Stopwatch:
    """
    How long each of some states has lasted, one of them at any time.

    >>> watch = Stopwatch("idle")
    >>> watch.to(2.0, "busy"), watch.to(5.0, "idle")
    (None, None)
    >>> watch.read(6.0), watch.begun
    ({'idle': 3.0, 'busy': 3.0}, Counter({'busy': 1, 'idle': 1}))

    Args:
        state: The state that it begins in, at time 0.
    """

    state: str
    begun: Counter[str] = attrs.field(factory=Counter[str], init=False)
    """How often each state has begun."""
    _since: float = attrs.field(default=0.0, init=False)
    _seconds: dict[str, float] = attrs.field(factory=dict[str, float], init=False)

    def to(self, now: float, state: str) -> None:
        """
        Another state begins; the same one goes on.
        """
        self._seconds = self.read(now)
        self._since = max(now, self._since)
        if state != self.state:
            self.begun[state] += 1
        self.state = state

    def read(self, now: float) -> dict[str, float]:
        """
        The seconds of each state up to a time; together they are that time.
        """
        more = max(0.0, now - self._since)
        return {**self._seconds, self.state: self._seconds.get(self.state, 0.0) + more}


@attrs.frozen(kw_only=True)
class Standing:
    """
    How the queue of groups stands after a batch was used.

    Args:
        outstanding: Groups that were admitted and neither trained nor dropped.
        ready: Those of them that are complete.
        slack: How many more groups the bound would bear, at the tightest.
        waits: Seconds since the run began that each of ``WAITS`` has lasted.
        wait_counts: How often each of them has begun; empty where nobody counts.
        blocking: The group that the next step waits for; None when there is none in particular.
        blocking_age: How many updates old that group is.
        most_tries: Of all tasks, the most groups in a row that were too old to be used.
    """

    outstanding: int
    ready: int = 0
    slack: int = 0
    waits: Mapping[str, float] = attrs.field(factory=dict[str, float])
    wait_counts: Mapping[str, int] = attrs.field(factory=dict[str, int])
    blocking: int | None = None
    blocking_age: int | None = None
    most_tries: int = 0


@attrs.define(eq=False)
class Account:
    """
    Adds up what happens and gives the metrics of each batch.

    What it holds is as large as the number of outstanding groups, beside the names of the last ones that
    were trained or dropped.

    Args:
        concurrency: Trajectories that may be active at once.
    """

    concurrency: int = 1
    _entered: float = attrs.field(default=0.0, init=False)
    _resulted: float = attrs.field(default=0.0, init=False)
    _peak: int = attrs.field(default=0, init=False)
    _fresh: int = attrs.field(default=0, init=False)
    _tokens: Counter[str] = attrs.field(factory=Counter[str], init=False)
    _groups: Counter[str] = attrs.field(factory=Counter[str], init=False)
    _held: dict[int, int] = attrs.field(factory=dict[int, int], init=False)
    _lag: int = attrs.field(default=0, init=False)
    _version: int = attrs.field(default=0, init=False)
    _completed: dict[int, int] = attrs.field(factory=dict[int, int], init=False)
    _aged: tuple[int, int] = attrs.field(default=(0, 0), init=False)
    _waits: Mapping[str, float] = attrs.field(factory=dict[str, float], init=False)
    _wait_counts: Mapping[str, int] = attrs.field(factory=dict[str, int], init=False)
    _active: int = attrs.field(default=0, init=False)
    _slot_seconds: float = attrs.field(default=0.0, init=False)
    _slots_since: float = attrs.field(default=0.0, init=False)
    _sampler: Stopwatch = attrs.field(factory=lambda: Stopwatch("idle"), init=False)
    _trainer: Stopwatch = attrs.field(factory=lambda: Stopwatch("idle"), init=False)
    _counts: Counter[str] = attrs.field(factory=Counter[str], init=False)
    _gone: dict[int, str] = attrs.field(factory=dict[int, str], init=False)

    # ------------------------------------------------------------------ events

    def entered(self, now: float) -> None:
        """
        The loop of the next batch is entered: the caller's time is over.
        """
        self._entered = now

    def episode_began(self, now: float) -> None:
        """
        A trajectory is active.
        """
        self._slots(now, +1)

    def episode_ended(self, now: float) -> None:
        """
        It is not any more.
        """
        self._slots(now, -1)

    def training(self, now: float, *, busy: bool) -> None:
        """
        The trainer begins or ends some work.
        """
        self._trainer.to(now, "busy" if busy else "idle")

    def generated(self, tokens: int, group: int, *, failed: bool = False) -> None:
        """
        A trajectory of a group was finished, or came to so many tokens before it failed and is held by
        nobody.

        What comes of a group that was dropped meanwhile goes where that has gone; of one that was trained
        without it, among what failed.
        """
        self._fresh += tokens
        self._tokens["generated"] += tokens
        if failed or group in self._gone:
            self._tokens[self._gone.get(group, "failed")] += tokens
            return
        if group not in self._held:
            self._groups["generated"] += 1
        self._held[group] = self._held.get(group, 0) + tokens
        self._completed[group] = self._version  # by its last member

    def moved(self, version: int) -> None:
        """
        The head is a version now.
        """
        self._version = version

    def lagged(self, versions: int) -> None:
        """
        An episode was first sampled with weights so many versions behind those that it began on; the most
        of an interval are told.
        """
        self._lag = max(self._lag, versions)

    def reserved(self, outstanding: int) -> None:
        """
        So many groups are outstanding now; the peak of an interval is told.
        """
        self._peak = max(self._peak, outstanding)

    def retried(self, reason: str, tokens: int = 0) -> None:
        """
        A member is tried again after an attempt that had come to so many tokens.
        """
        self._counts[f"retries/{reason}"] += 1
        self._counts[f"retries/{reason}/tokens_to_{bucket(tokens)}"] += 1

    def dropped(self, group: int, reason: str) -> None:
        """
        A group was resolved without training.
        """
        tokens = self._held.pop(group, None)
        self._completed.pop(group, None)
        fate = fate_of(reason)
        self._left(group, fate)
        if tokens is not None:
            self._tokens[fate] += tokens
            self._groups[fate] += 1
        self._counts[f"drops/{reason}"] += 1
        self._counts[f"drops/{reason}/tokens_to_{bucket(tokens or 0)}"] += 1

    def used(self, batch: Batch) -> None:
        """
        A batch was trained on, and the ledger has acknowledged that.

        Of a batch without tokens, which an earlier process trained, all that is held was trained.
        """
        told = batch.tokens or [self._held.get(group, 0) for group in batch.groups]
        for group, tokens in zip(batch.groups, told, strict=True):
            held = self._held.pop(group, None)
            self._left(group, "failed")
            if held is None:  # sampled before this account was opened
                self._groups["generated"] += 1
                held = 0
            # Of retries and members that were left out no tokens reach the batch.
            self._tokens["generated"] += max(0, tokens - held)
            self._tokens["failed"] += max(0, held - tokens)
            self._groups["trained"] += 1
        flight, queue = self._ages_of_groups(batch)
        self._aged = (self._aged[0] + flight, self._aged[1] + queue)
        masked = sum(span.tokens for span in batch.spans if span.masked)
        self._tokens["masked"] += masked
        self._tokens["trained"] += sum(told) - masked

    def _left(self, group: int, fate: str) -> None:
        """
        A group is outstanding no more; what its members still give has that fate.
        """
        self._gone[group] = fate
        if len(self._gone) > _REMEMBERED:
            del self._gone[next(iter(self._gone))]

    def _ages_of_groups(self, batch: Batch) -> tuple[int, int]:
        """
        How much the groups aged, all in all, while they were sampled and while they waited.
        """
        flight = queue = 0
        ended = [self._completed.pop(group, batch.version) for group in batch.groups]
        for last, oldest in zip(ended, batch.oldest, strict=bool(batch.oldest)):
            complete = max(oldest, last)
            flight += complete - oldest
            queue += max(0, batch.version - complete)
        return flight, queue

    def _slots(self, now: float, change: int) -> None:
        self._slot_seconds += self._active * max(0.0, now - self._slots_since)
        self._slots_since = max(now, self._slots_since)
        self._active += change
        self._sampler.to(now, "busy" if self._active else "idle")

    # ------------------------------------------------------------------ the result

    def result(self, now: float, batch: Batch, standing: Standing) -> dict[str, float]:
        """
        The metrics of a batch whose result is ready; ``used`` was told of it before.

        Args:
            now: Seconds since the run began.
            batch: What was trained on.
            standing: How the queue stands.
        """
        self.reserved(standing.outstanding)
        interval = now - self._resulted
        metrics = {
            "train/batch_seconds": now - self._entered,
            "train/interval_seconds": interval,
            "sampling/generated_tokens": float(self._fresh),
            "sampling/generated_tokens_per_second": self._fresh / interval if interval else 0.0,
            **_of_batch(batch),
            **_ages(batch),
            **_caches(batch),
            **self._shares(),
            **self._of_standing(standing),
            **self._sides(now),
            **self._ledger(),
            **{name: float(count) for name, count in sorted(self._counts.items())},
        }
        self._resulted = self._entered = now
        self._fresh, self._peak, self._aged, self._lag = 0, standing.outstanding, (0, 0), 0
        self._waits, self._wait_counts = standing.waits, standing.wait_counts
        return metrics

    def _of_standing(self, standing: Standing) -> dict[str, float]:
        since = {name: standing.waits.get(name, 0.0) - self._waits.get(name, 0.0) for name in WAITS}
        counts = Counter(standing.wait_counts)
        counts.subtract(self._wait_counts)
        found: dict[str, float] = {
            "staleness/wait_seconds": since["bound"],
            "staleness/starvation_seconds": since["groups"],
            "staleness/training_seconds": since["training"],
            "staleness/reserved_groups": float(standing.outstanding),
            "staleness/reserved_groups_peak": float(self._peak),
            "staleness/ready_groups": float(standing.ready),
            "staleness/slack": float(standing.slack),
            "staleness/most_tries": float(standing.most_tries),
            "staleness/publish_lag": float(self._lag),
        }
        if standing.wait_counts:
            found["staleness/wait_count"] = float(counts["bound"])
        if standing.blocking is not None:
            found["staleness/blocking_group"] = float(standing.blocking)
        if standing.blocking_age is not None:
            found["staleness/blocking_age"] = float(standing.blocking_age)
        return found

    def _shares(self) -> dict[str, float]:
        flight, queue = self._aged
        if not flight + queue:
            return {}
        return {
            "staleness/age_in_flight_share": flight / (flight + queue),
            "staleness/age_in_queue_share": queue / (flight + queue),
        }

    def _sides(self, now: float) -> dict[str, float]:
        """
        Busy and idle seconds of both sides since the run began; together they are ``now``.
        """
        self._slots(now, 0)
        sampler, trainer = self._sampler.read(now), self._trainer.read(now)
        return {
            "sampling/busy_seconds": sampler.get("busy", 0.0),
            "sampling/idle_seconds": sampler.get("idle", 0.0),
            "sampling/slot_use": self._slot_seconds / (self.concurrency * now) if now else 0.0,
            "train/busy_seconds": trainer.get("busy", 0.0),
            "train/idle_seconds": trainer.get("idle", 0.0),
        }

    def _ledger(self) -> dict[str, float]:
        tokens: dict[str, float] = {
            f"ledger/{name}_tokens": float(self._tokens[name]) for name in ("generated", *FATES)
        }
        groups: dict[str, float] = {
            f"ledger/{name}_groups": float(self._groups[name])
            for name in ("generated", *FATES)
            if name != "masked"
        }
        held = {
            "ledger/held_tokens": float(sum(self._held.values())),
            "ledger/held_groups": float(len(self._held)),
        }
        return {**tokens, **groups, **held}


def _of_batch(batch: Batch) -> dict[str, float]:
    found = {
        **batch.trained,
        "train/groups": float(len(batch.groups)),
        "train/tokens": float(sum(batch.tokens)),
        "train/useful_sequences": float(batch.useful),
        "train/fully_masked_members": float(batch.fully_masked),
        "train/updated": float(batch.updated),
        "train/rebuilt": float(batch.rebuilt),
    }
    if batch.rewards:
        mean = math.fsum(batch.rewards) / len(batch.rewards)
        square = math.fsum((reward - mean) ** 2 for reward in batch.rewards)
        found["reward/mean"] = mean
        found["reward/std"] = math.sqrt(square / len(batch.rewards))
    return found


def _caches(batch: Batch) -> dict[str, float]:
    """
    The ages of prefixes, and how many were computed anew; nothing where weights never changed.
    """
    ages = batch.kv_ages
    found: dict[str, float] = {}
    if ages:
        found["staleness/kv_age_mean"] = math.fsum(ages) / len(ages)
        found["staleness/kv_age_max"] = float(max(ages))
    if ages or batch.refills:
        found["sampling/kv_refills"] = float(batch.refills)
    return found


def _ages(batch: Batch) -> dict[str, float]:
    """
    The ages of a batch's segments, by span and by token.
    """
    if not batch.spans:
        return {}
    ages = [span.age for span in batch.spans]
    tokens = [span.tokens for span in batch.spans]
    found: dict[str, float] = {
        "staleness/span_age_mean": math.fsum(ages) / len(ages),
        "staleness/token_age_mean": weighted_mean(ages, tokens),
        "staleness/span_age_max": float(max(ages)),
    }
    for name, level in _LEVELS:
        found[f"staleness/span_age_{name}"] = float(quantile(ages, level))
        if any(tokens):
            age = weighted_quantile(ages, tokens, level)
            found[f"staleness/token_age_{name}"] = float(age)
    return found
