"""
The scores that a run reports: of the first head, of the head as it moves, and of the last one.

Final scoring is inside the budget: its calls, and with them their tokens and cost, are reserved before
anything starts, and its time is kept back from ``max_seconds``: by the durations of the
measurements so far, or of the rollouts while none has ended.
"""

from __future__ import annotations

from math import ceil
from typing import Literal

import attrs

from headway.contracts import Fault, Measure, Snapshot
from headway.machine._intervals import Interval, interval
from headway.machine._measuring import FINAL_DRAW, Item, Requester
from headway.machine._state import State

BASELINE: Requester = ("baseline", 0)
FINAL: Requester = ("final", 0)
TEST: Requester = ("test", 0)

_LAST = 5.0
"""How many means the last final score is waited for at most."""


@attrs.frozen(kw_only=True)
class Score:
    """
    A reported score.

    Args:
        mean: The mean over tasks and draws.
        draws: Draws of each task; 0 when the source is ``gate``.
        source: ``fresh`` draws, or the ``gate``'s last measurement.
        scores: Every draw, in the order (task, draw); empty when the source is ``gate``.
        interval: The 95 % interval of the expected reward; it is about further draws on these tasks,
            not about other tasks.  Of zero width when rewards are taken as deterministic; None when
            the source is ``gate``, and with one draw a task of noisy rewards.
    """

    mean: float
    draws: int
    source: Literal["fresh", "gate"]
    scores: tuple[float, ...] = ()
    interval: Interval | None = None


@attrs.define(eq=False)
class Scoring:
    """
    What is reported, and what has been put aside to measure it.
    """

    state: State
    baseline: Score | None = attrs.field(default=None, init=False)
    final: Score | None = attrs.field(default=None, init=False)
    test: Score | None = attrs.field(default=None, init=False)
    over: bool = attrs.field(default=False, init=False)
    short: bool = attrs.field(default=False, init=False)
    """Whether it was clear from the start that the budget pays no final scoring."""
    _first: Snapshot | None = attrs.field(default=None, init=False)
    _baseline_reserve: int = attrs.field(default=0, init=False)
    _final_reserve: int = attrs.field(default=0, init=False)
    _followed: int = attrs.field(default=-1, init=False)
    _known: int = attrs.field(default=-1, init=False)
    _reached: bool = attrs.field(default=False, init=False)
    _began: dict[int, float] = attrs.field(factory=dict[int, float], init=False)
    _seconds: float = attrs.field(default=0.0, init=False)
    _timed: int = attrs.field(default=0, init=False)
    _longest: float = attrs.field(default=0.0, init=False)
    _deepened: bool = attrs.field(default=False, init=False)
    _cycle: int = attrs.field(init=False)
    """How many measurements one draw of each held-out and test task is."""

    def __attrs_post_init__(self) -> None:
        self._cycle = len(self.state.config.held_out) + len(self.state.config.test)

    @property
    def final_calls(self) -> int:
        """
        How many measurements final scoring takes at most.
        """
        return len(self._final_draws) * self._cycle

    @property
    def _final_draws(self) -> range:
        """
        What the final score is made of: fresh draws, but for rewards that are declared deterministic.

        Of rewards that are only taken as deterministic one fresh draw is made, which tells whether
        they are.
        """
        if self.state.determinism == "declared":
            return range(1)
        draws = 1 if self.state.deterministic else self.state.config.final_draws
        return range(FINAL_DRAW, FINAL_DRAW + draws)

    @property
    def put_aside(self) -> int:
        """
        Calls that are reserved for the baseline and the final scores.
        """
        return self._baseline_reserve + self._final_reserve

    def begin(self) -> None:
        """
        Put aside what is needed, and ask for the first head's scores.
        """
        state = self.state
        self._first = state.head
        draws = state.config.baseline_draws
        wanted = draws * len(state.config.held_out)
        if not state.budget.reserve(wanted):
            state.stop(state.budget.lacking(wanted))
            return
        self._baseline_reserve = wanted
        if state.budget.reserve(self.final_calls):
            self._final_reserve = self.final_calls
        else:
            self.short = True
        measure = Measure((state.head,), state.config.held_out, draws)
        state.measuring.want(BASELINE, measure, background=True)

    def pays(self, item: Item) -> bool:
        """
        Whether this measurement's call has been put aside already.
        """
        if BASELINE not in item.waiters or item.tries or not self._baseline_reserve:
            return False
        self._baseline_reserve -= 1
        return True

    def began(self, call: int) -> None:
        """
        A measurement began.
        """
        self._began[call] = self.state.now

    def ended(self, call: int, *, scored: bool) -> None:
        """
        A measurement ended; only those that gave a score count.
        """
        seconds = self.state.now - self._began.pop(call)
        if scored:
            self._seconds += seconds
            self._longest = max(self._longest, seconds)
            self._timed += 1

    def put_aside_more(self) -> None:
        """
        Put aside what final scoring takes now that rewards turned out to be noisy, by whole draws and
        as far as the budget goes.
        """
        while self._final_reserve < self.final_calls and self.state.budget.reserve(self._cycle):
            self._final_reserve += self._cycle

    def follow_head(self) -> None:
        """
        Ask, in the background, for the scores of a head that the target is held against.

        A head is followed to the end, also when it moves meanwhile: else a head that moves faster
        than it can be scored would never be held against the target.
        """
        state = self.state
        target, version = state.config.target_reward, state.head.version
        if target is None or self._known == version:
            return
        reward = state.head_reward()
        if reward is not None:
            self._known = version
            self._reached |= reward >= target
        elif self._hopeless(target):
            self._known = version
        elif self._followed != version and not state.measuring.waits(("head", self._followed)):
            self._followed = version
            measure = Measure((state.head,), state.config.held_out)
            state.measuring.want(("head", version), measure, background=True)

    def _hopeless(self, target: float) -> bool:
        """
        Whether the head can't be at the target, whatever its missing scores are.
        """
        config, measuring = self.state.config, self.state.measuring
        high = config.reward_range[1]
        return measuring.at_most(self.state.head.artifact, config.held_out, high) < target

    def holds_back(self) -> bool:
        """
        Whether the next round waits for a score: what decides in a synchronous run reads no time.

        It waits for the head's score when there is a target; for the baseline when that tells whether
        rewards are noisy, or what calls cost.
        """
        state = self.state
        if not (state.gate.ordered and state.running):
            return False
        if self.following:
            return True
        tells = state.config.deterministic is None or state.budget.metered
        return bool(tells) and state.measuring.waits(BASELINE)

    @property
    def following(self) -> bool:
        """
        Whether scores of a head are waited for, to hold it against the target.
        """
        return self.state.measuring.waits(("head", self._followed))

    @property
    def target_reached(self) -> bool:
        """
        Whether a head's held-out reward is known to be at the target.
        """
        return self._reached

    def measured(self, requester: Requester) -> None:
        """
        All scores of one kind are known.
        """
        if requester in (FINAL, TEST):
            self._settle(requester)
            self._close()
            return
        ((scores,),) = self.state.measuring.take(requester)
        if requester == BASELINE:
            self.state.agreed()
            self.baseline = self._score(scores, len(self.state.config.held_out))
            self._release_baseline()
            self._put_aside_less()
        else:
            target = self.state.config.target_reward
            self._reached |= target is not None and sum(scores) / len(scores) >= target

    def _settle(self, requester: Requester) -> None:
        """
        Score the last head by what is known of it: as many draws as every task has, if any.
        """
        rows = self.state.measuring.known(requester)
        self.state.forget(requester)
        draws = min(map(len, rows))
        if not draws:
            return
        score = self._score(tuple(x for row in rows for x in row[:draws]), len(rows))
        if requester == FINAL:
            self.final = score
        else:
            self.test = score

    def settle_baseline(self) -> None:
        """
        Score the first head by the draws that every task has, where the run ended before the others:
        a second draw only tells whether rewards are noisy.
        """
        if not self.state.measuring.waits(BASELINE):
            return
        rows = self.state.measuring.known(BASELINE)
        self.state.forget(BASELINE)
        draws = min(map(len, rows))
        if draws:
            scores = tuple(x for row in rows for x in row[:draws])
            self.baseline = self._score(scores, len(rows))

    def _score(self, scores: tuple[float, ...], tasks: int) -> Score:
        mean, draws = sum(scores) / len(scores), len(scores) // tasks
        rows = [scores[n : n + draws] for n in range(0, len(scores), draws)]
        certain = self.state.determinism == "declared"
        bounds = self.state.config.reward_range
        return Score(
            mean=mean,
            draws=draws,
            source="fresh",
            scores=scores,
            interval=(mean, mean) if certain else interval(rows, bounds),
        )

    def _put_aside_less(self) -> None:
        """
        Let go of what final scoring does not take, now that rewards are known not to be noisy.
        """
        spare = self._final_reserve - self.final_calls
        if self._final_reserve and spare > 0:
            self.state.budget.release(spare)
            self._final_reserve -= spare

    def _close(self) -> None:
        measuring = self.state.measuring
        if self.state.phase != "scoring" or measuring.waits(FINAL) or measuring.waits(TEST):
            return
        short = self.final is not None and self.final.draws < len(self._final_draws)
        if short and not self._deepened:
            self._deepened = True
            self._draw()
        else:
            self.forgo()

    def unmeasured(self, requester: Requester, fault: Fault) -> None:
        """
        A score of one kind can't be had.
        """
        if requester in (FINAL, TEST):
            if self.state.measuring.go_without(requester):
                self.measured(requester)
            return
        self.state.forget(requester)
        if requester == BASELINE:
            self._release_baseline()
            self.state.stop("error", fault)

    def finish(self) -> None:
        """
        Take the final scores, if their calls were put aside.
        """
        self.settle_baseline()
        self._release_baseline()
        reserved = bool(self._final_reserve)
        self.state.budget.release(self._final_reserve)
        self._final_reserve = 0
        if not reserved or self.time_is_up():
            self.forgo()
        else:
            self._draw()

    def _draw(self) -> None:
        """
        Ask for the final scores, with as many draws as can be paid.
        """
        state = self.state
        draws = self._final_draws
        while draws and not state.budget.affords(self._missing(draws)):
            draws = draws[:-1]
        if not draws:
            self.forgo()
            return
        wanted = {FINAL: state.config.held_out, TEST: state.config.test}
        asked = {
            requester: Measure((state.head,), tasks, len(draws), draws.start)
            for requester, tasks in wanted.items()
            if tasks
        }
        ready = [r for r, measure in asked.items() if state.measuring.want(r, measure)]
        for requester in ready:
            self._settle(requester)
        if ready:
            self._close()

    def _missing(self, draws: range) -> int:
        """
        How many scores of the last head on these draws are not known yet.
        """
        state, digest = self.state, self.state.head.digest
        tasks = (*state.config.held_out, *state.config.test)
        keys = ((digest, task, draw) for task in tasks for draw in draws)
        return sum(state.measuring.score(key) is None for key in keys)

    def forgo(self) -> None:
        """
        Report what is known by now, or else what the gate measured last, instead of what can't be
        measured any more.
        """
        self._release_baseline()
        if self.state.phase != "scoring" or self.over:
            return
        for requester in (FINAL, TEST):
            if self.state.measuring.waits(requester):
                self._settle(requester)
        reward = self.state.head_reward()
        if self.final is None and reward is not None:
            self.final = Score(mean=reward, draws=0, source="gate")
        self.over = True

    def _release_baseline(self) -> None:
        self.state.budget.release(self._baseline_reserve)
        self._baseline_reserve = 0

    @property
    def kept_back(self) -> float:
        """
        Seconds kept back from ``max_seconds`` for final scoring.
        """
        rounds = ceil(self.final_calls / self.state.config.slots)
        if not self._timed:
            return self.state.tally.mean_seconds("rollout", self.state.now) * rounds
        mean = self._seconds / self._timed
        # The last of many that run at once takes longer than the mean.
        return mean * (rounds - 1) + min(self._longest, _LAST * mean)

    def next_deadline(self) -> float | None:
        """
        When the run's time is up next.
        """
        state = self.state
        if state.phase == "halting":
            return self._grace_ends
        limit = state.config.max_seconds
        if limit is None or state.phase == "finished":
            return None
        return limit if state.phase == "scoring" else self._search_ends(limit)

    def _search_ends(self, limit: float) -> float:
        return max(limit - self.kept_back, limit / 2)

    def time_is_up(self) -> bool:
        """
        Whether the search, or final scoring, must end now.
        """
        limit = self.state.config.max_seconds
        if limit is None:
            return False
        if self.state.phase in ("running", "draining"):
            return self.state.now >= self._search_ends(limit)
        return self.state.now >= limit

    def overtime(self) -> bool:
        """
        Whether even a commit on its way is not waited for any more.
        """
        return self.state.now >= self._grace_ends

    @property
    def _grace_ends(self) -> float:
        limit = self.state.config.max_seconds
        stopped = self.state.halted_at if limit is None else min(self.state.halted_at, limit)
        return stopped + self.state.config.shutdown_grace
