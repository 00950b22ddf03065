"""
Measurements: who needs which scores, which are known, queued or running.

Guarantee: no (artifact, task, draw) is measured twice at once, nor again once it is known; and a
requester that waits has at least one score missing.  Scores are answered in the order (candidate,
task, draw), whatever the order of arrival.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from math import ceil, fsum, log
from typing import TypeAlias

import attrs

from headway.contracts import Artifact, Comparison, Measure, Scores
from headway.errors import InvariantError
from headway.machine._ranking import Ranking

Key: TypeAlias = tuple[str, str, int]
"""(content digest, task, draw)."""

Requester: TypeAlias = tuple[str, int]
"""Who waits: (what for, which one)."""

FINAL_DRAW = 1 << 20
"""Draws from here on are kept for final scores, which the gate never sees."""

MAX_TRIES = 3
"""How often a failing measurement is tried in all, where others succeed."""

MOST_TRIES = 40
"""How often it is tried at most, however many others fail."""

BY_CHANCE = 1e-5
"""Nothing is given up while as many failures in a row come by chance more often than this."""

_RECENT = 200
"""On how many outcomes of measurements the failure rate looks back."""

_KEPT_SCORES = 100_000
"""How many scores are remembered in all, besides those that are waited for: about 15 MB."""

_KEPT = 256
"""How many artifacts' scores are remembered, besides those that are waited for."""


@attrs.define(eq=False)
class Item:
    """
    One score that is wanted and not yet known.

    Args:
        tries: How often its measurement was begun.
        spared: How many of them fell into an outage of the backend.
    """

    key: Key
    artifact: Artifact
    waiters: set[Requester]
    tries: int = 0
    spared: int = 0
    call: int | None = None
    cancelled: bool = False


@attrs.define(eq=False)
class Wanted:
    """
    What a requester asked for.

    Args:
        measures: The measurements.
        missing: How many scores of them are not known yet.
        ranking: What has been found out, when the question is who beats the first candidate.
    """

    measures: tuple[Measure, ...]
    missing: int = 0
    ranking: Ranking | None = None

    def arrived(self, key: Key, score: float) -> bool:
        """
        Take one score in; True when no more of them are needed.
        """
        self.missing -= 1
        if self.ranking is None:
            return self.missing == 0
        (measure,) = self.measures
        for row, artifact in enumerate(measure.candidates):
            if artifact.digest == key[0]:
                for _ in range(measure.tasks.count(key[1])):
                    self.ranking.arrived(row, score)
        return self.ranking.answer is not None


@attrs.define(eq=False)
class Measuring:
    """
    The memo of scores and the queue of those that are wanted.
    """

    _memo: dict[str, dict[tuple[str, int], float]] = attrs.field(
        factory=dict[str, dict[tuple[str, int], float]], init=False
    )
    _items: dict[Key, Item] = attrs.field(factory=dict[Key, Item], init=False)
    _by_call: dict[int, Item] = attrs.field(factory=dict[int, Item], init=False)
    _queue: deque[Key] = attrs.field(factory=deque[Key], init=False)
    _background: deque[Key] = attrs.field(factory=deque[Key], init=False)
    _wanted: dict[Requester, Wanted] = attrs.field(factory=dict[Requester, Wanted], init=False)
    _given_up: dict[int, Key] = attrs.field(factory=dict[int, Key], init=False)
    _known: int = attrs.field(default=0, init=False)
    _means: dict[str, tuple[Sequence[str], float | None]] = attrs.field(
        factory=dict[str, tuple[Sequence[str], float | None]], init=False
    )
    """An artifact's mean that was asked for last, and over which tasks, until it has another score."""
    _recent: deque[tuple[str, str, bool]] = attrs.field(
        factory=lambda: deque[tuple[str, str, bool]](maxlen=_RECENT), init=False
    )

    def want(self, requester: Requester, *measures: Measure, background: bool = False) -> bool:
        """
        Ask for scores; True when all of them are known already.
        """
        wanted = self._wanted[requester] = Wanted(measures)
        queue = self._background if background else self._queue
        for measure in measures:
            for artifact in measure.candidates:
                known = self._memo.get(artifact.digest, {})
                for task, draw in _cycles(measure):
                    if (task, draw) not in known:
                        key = (artifact.digest, task, draw)
                        self._want_one(requester, wanted, artifact, key, queue)
        return wanted.missing == 0

    def compare(
        self, requester: Requester, measure: Measure, reward_range: tuple[float, float]
    ) -> bool:
        """
        Ask who beats the first candidate, by one draw a task; True when that is known already.
        """
        ranking = Ranking(*reward_range)
        wanted = self._wanted[requester] = Wanted((measure,), ranking=ranking)
        rows = [self._memo.get(artifact.digest, {}) for artifact in measure.candidates]
        draws = [*_cycles(measure)]
        for row in rows:
            ranking.add(len(draws), [row[draw] for draw in draws if draw in row])
        if ranking.answer is not None:
            return True
        # Where the reference is low there is most to gain, so those tasks settle most.
        draws.sort(key=lambda draw: rows[0].get(draw, reward_range[1]))
        for artifact, row in [*zip(measure.candidates, rows, strict=True)][::-1]:
            for draw in draws:
                if draw not in row:
                    key = (artifact.digest, *draw)
                    self._want_one(requester, wanted, artifact, key, self._queue)
        return False

    def _want_one(
        self,
        requester: Requester,
        wanted: Wanted,
        artifact: Artifact,
        key: Key,
        queue: deque[Key],
    ) -> None:
        item = self._items.get(key)
        if item is None:
            item = self._items[key] = Item(key, artifact, set())
            queue.append(key)
        elif item.call is None and queue is self._queue and key in self._background:
            self._background.remove(key)
            queue.append(key)
        if requester not in item.waiters:
            item.waiters.add(requester)
            wanted.missing += 1

    def compared(self, requester: Requester) -> tuple[Comparison, list[int]] | None:
        """
        The answer to a comparison, and the running calls that it makes moot; None when the requester
        asked for scores.

        What is being measured of the winner, or of the reference when there is none, goes on: the next
        comparison needs it.
        """
        wanted = self._wanted[requester]
        if wanted.ranking is None:
            return None
        answer = wanted.ranking.answer
        assert answer is not None
        (measure,) = wanted.measures
        kept = measure.candidates[0 if answer.best is None else answer.best + 1]
        return answer, self.drop(requester, kept.digest)

    def take(self, requester: Requester) -> tuple[Scores, ...]:
        """
        The scores of each measurement that a requester asked for, once none is missing.
        """
        return tuple(map(self._rows, self._wanted.pop(requester).measures))

    def _rows(self, measure: Measure) -> Scores:
        draws = _draws(measure)
        return tuple(
            tuple(self._memo[artifact.digest][task, n] for task in measure.tasks for n in draws)
            for artifact in measure.candidates
        )

    def known(self, requester: Requester) -> list[list[float]]:
        """
        What is known of what a requester asked for: a row a task, of the only candidate.
        """
        (measure,) = self._wanted[requester].measures
        (candidate,) = measure.candidates
        scores = self._memo.get(candidate.digest, {})
        return [
            [scores[task, draw] for draw in _draws(measure) if (task, draw) in scores]
            for task in measure.tasks
        ]

    def go_without(self, requester: Requester) -> bool:
        """
        A score that was given up is missed no more; True when nothing is.
        """
        wanted = self._wanted[requester]
        wanted.missing -= 1
        return wanted.missing == 0

    @property
    def queued(self) -> int:
        """
        How many scores that somebody waits for have not been begun.
        """
        return len(self._queue)

    def next(self) -> Item | None:
        """
        The next score that somebody waits for; it stays queued until ``started``.
        """
        return self._items[self._queue[0]] if self._queue else None

    def next_background(self) -> Item | None:
        """
        The next score that is only nice to have.
        """
        return self._items[self._background[0]] if self._background else None

    def started(self, item: Item, call: int) -> None:
        """
        Note that the item, the first of its queue, is being measured by a call.
        """
        queue = self._queue if self._queue and self._queue[0] == item.key else self._background
        queue.popleft()
        item.call = call
        item.tries += 1
        self._by_call[call] = item

    def done(self, call: int, score: float) -> list[Requester]:
        """
        Note a score; returns the requesters that miss nothing any more.
        """
        item = self._by_call.pop(call)
        self._note(item, failed=False)
        return self.settle(item, score)

    def settle(self, item: Item, score: float) -> list[Requester]:
        """
        Give an item a score; returns the requesters that miss nothing any more.
        """
        del self._items[item.key]
        self.remember(item.key, score)
        wanted = self._wanted
        return [r for r in sorted(item.waiters) if wanted[r].arrived(item.key, score)]

    def remember(self, key: Key, score: float) -> None:
        """
        Keep a score, also one that came too late for whoever asked.
        """
        digest, task, draw = key
        scores = self._memo.get(digest)
        if scores is None:
            self._forget_oldest()
            scores = self._memo[digest] = {}
        self._known += (task, draw) not in scores
        scores[task, draw] = score
        self._means.pop(digest, None)

    def _forget_oldest(self) -> None:
        if len(self._memo) < _KEPT and self._known < _KEPT_SCORES:
            return
        needed = {c.digest for w in self._wanted.values() for m in w.measures for c in m.candidates}
        for digest in list(self._memo):
            if digest not in needed:
                self._known -= len(self._memo.pop(digest))
                self._means.pop(digest, None)
                if self._known < _KEPT_SCORES:
                    return

    def waits(self, requester: Requester) -> bool:
        """
        Whether a requester misses a score.
        """
        return requester in self._wanted

    def is_cancelled(self, call: int) -> bool:
        """
        Whether a call is a measurement that was to be stopped: its failure is no news.
        """
        item = self._by_call.get(call)
        return item is not None and item.cancelled

    def wanted(self, call: int) -> bool:
        """
        Whether somebody has waited for a running measurement all the time, and still does.
        """
        item = self._by_call[call]
        return bool(item.waiters) and not item.cancelled

    def failed(
        self, call: int, *, late: bool = False, failing: bool = False, outage: bool = False
    ) -> Item | None:
        """
        Note a failure: the item is queued again, or returned when it is to be given up.

        Args:
            call: The call that failed.
            late: It was given up at its deadline and may still bring a score.
            failing: The backend is taken for down, and one call alone tries it.
            outage: It is down for rollouts too, so the failure says nothing about what is
                measured.
        """
        item = self._by_call.pop(call)
        item.call = None
        if item.cancelled:
            item.cancelled = False
            item.tries -= 1
        elif outage:
            item.spared += 1
        else:
            self._note(item, failed=True)
        if late:
            self._given_up[call] = item.key
        if not item.waiters:
            self.let_go(item)
            return None
        if item.tries >= MOST_TRIES or self._hopeless(item):
            return item
        if failing and item.key[0] in self._memo:
            self._queue.append(item.key)  # another one may show that only this task is broken
        else:
            self._queue.appendleft(item.key)  # whoever waits is told soon, one way or the other
        return None

    def let_go(self, item: Item) -> None:
        """
        Give an item up.
        """
        del self._items[item.key]

    def _note(self, item: Item, *, failed: bool) -> None:
        self._recent.append((*item.key[:2], failed))

    def _hopeless(self, item: Item) -> bool:
        """
        Whether an item has failed more often than is put down to chance, by how many others fail.

        Others are measurements of other tasks, since the task may be what fails.  An artifact that has
        not been scored on any task may itself be what fails: there all its failures count, whatever
        their tasks, and others are those of other artifacts.  Failures of what was never scored say
        nothing of the backend.
        """
        failures = item.tries - item.spared
        if failures < MAX_TRIES:
            return False
        digest, task, _ = item.key
        scored = digest in self._memo
        others = [
            failed
            for of, on, failed in self._recent
            if of in self._memo and not (scored and on == task)
        ]
        if not scored:
            failures = sum(of == digest for of, _, _ in self._recent)
        return failures >= _bearable(others)

    def late(self, call: int, score: float) -> None:
        """
        Remember the score of a call that was given up, unless it is known or wanted again.
        """
        key = self._given_up.pop(call, None)
        if key is not None and key not in self._items and self.score(key) is None:
            self.remember(key, score)

    def late_failure(self, call: int) -> None:
        """
        A call that was given up will not bring a score any more.
        """
        self._given_up.pop(call, None)

    def drop(self, requester: Requester, kept: str = "") -> list[int]:
        """
        Forget a requester; returns the running calls that nobody waits for any more, but for those
        that measure the artifact whose digest is ``kept``.
        """
        wanted = self._wanted.pop(requester, None)
        if wanted is None or not wanted.missing:  # what misses nothing waits for no item
            return []
        moot: list[int] = []
        for item in [i for i in self._items.values() if requester in i.waiters]:
            item.waiters.discard(requester)
            if item.waiters:
                continue
            if item.call is None:
                self._unqueue(item)
            elif item.key[0] != kept:
                item.cancelled = True
                moot.append(item.call)
        return sorted(moot)

    def _unqueue(self, item: Item) -> None:
        del self._items[item.key]
        for queue in (self._queue, self._background):
            if item.key in queue:
                queue.remove(item.key)

    def abandon(self) -> None:
        """
        Forget everything that is wanted, queued or running; keep what is known.
        """
        self._wanted.clear()
        self._items.clear()
        self._by_call.clear()
        self._queue.clear()
        self._background.clear()

    def mean(self, artifact: Artifact, tasks: Sequence[str]) -> float | None:
        """
        The mean over tasks of the gate's draws; None when a task has no score yet.
        """
        scores = self._memo.get(artifact.digest)
        if scores is None:
            return None
        found = self._means.get(artifact.digest)
        if found is None or found[0] is not tasks:
            found = self._means[artifact.digest] = tasks, self._mean(scores, tasks)
        return found[1]

    def _mean(self, scores: Mapping[tuple[str, int], float], tasks: Sequence[str]) -> float | None:
        total = 0.0
        for task in tasks:
            first = scores.get((task, 0))
            if first is None:
                return self._mean_of_any(scores, tasks)
            more = [first]
            while (score := scores.get((task, len(more)))) is not None:
                more.append(score)
            total += sum(more) / len(more)
        return total / len(tasks)

    def at_most(self, artifact: Artifact, tasks: Sequence[str], high: float) -> float:
        """
        The highest mean of the first draws that an artifact can have on tasks, as far as is known.
        """
        scores = self._memo.get(artifact.digest, {})
        return fsum(scores.get((task, 0), high) for task in tasks) / len(tasks)

    def _mean_of_any(
        self, scores: Mapping[tuple[str, int], float], tasks: Sequence[str]
    ) -> float | None:
        """
        The same when a task's draws do not begin at 0, as those of a head whose tests take others.
        """
        found: dict[str, list[float]] = {task: [] for task in tasks}
        for (task, draw), score in scores.items():
            if draw < FINAL_DRAW and task in found:
                found[task].append(score)
        if not all(found.values()):
            return None
        return sum(sum(row) / len(row) for row in found.values()) / len(tasks)

    def score(self, key: Key) -> float | None:
        """
        One known score, else None.
        """
        return self._memo.get(key[0], {}).get((key[1], key[2]))

    def validate(self) -> None:
        """
        Assert what the module promises.

        Raises:
            InvariantError: it does not hold.
        """
        missing = dict.fromkeys(self._wanted, 0)
        for item in self._items.values():
            for requester in item.waiters:
                missing[requester] += 1
        queued = [*self._queue, *self._background]
        right = (
            all(missing[r] == wanted.missing for r, wanted in self._wanted.items())
            and len(queued) == len(set(queued))
            and {k for k, i in self._items.items() if i.call is None} == set(queued)
            and all(self._items[i.key] is i for i in self._by_call.values())
            and self._means.keys() <= self._memo.keys()
        )
        if not right:
            raise InvariantError("what is wanted, queued and measured does not add up")


def _draws(measure: Measure) -> range:
    return range(measure.first, measure.first + measure.draws)


def _cycles(measure: Measure) -> Iterator[tuple[str, int]]:
    """
    Each draw of each task, whole cycles first, so that those that are cut short say most.
    """
    return ((task, draw) for draw in _draws(measure) for task in measure.tasks)


def _bearable(others: Sequence[bool]) -> int:
    """
    How many failures in a row are put down to chance.

    Args:
        others: Which of the other measurements failed.
    """
    if not any(others):
        return MAX_TRIES
    if all(others):
        return MOST_TRIES
    return max(MAX_TRIES, ceil(log(BY_CHANCE, others.count(True) / len(others))))
