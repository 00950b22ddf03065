"""
Faulty staleness policies, estimators, samplers, executors and observers: the kit must find each.

Each is derived from a healthy twin, which the kit must let pass.
"""

from __future__ import annotations

import asyncio
import pickle
import random
import threading
from concurrent.futures import ProcessPoolExecutor
from typing import get_args

from headway.builtins._estimators import Linear
from headway.builtins._executor import ThreadExecutor
from headway.builtins._policies import Drop, Guarded
from headway.builtins._sampler import ShuffledEpochs, UnsolvedEpochs
from headway.contracts import HeadCommitted, Notice, RunStarted, SweepDone

# ------------------------------------------------------------------------------ staleness policies


class SaysNothing(Guarded):
    """
    Forgets to answer for what is beyond alpha.
    """

    def decide(self, eta, alpha, contract_breaking):
        return super().decide(eta, alpha, contract_breaking) if eta <= alpha else None


class CountsCalls(Guarded):
    """
    Discards every tenth card, whatever it is.
    """

    calls = 0

    def decide(self, eta, alpha, contract_breaking):
        self.calls += 1
        if self.calls % 10 == 0 and eta:
            return "discard"
        return super().decide(eta, alpha, contract_breaking)


class DividesByAlpha(Guarded):
    """
    Measures the lag in units of alpha, which may be 0.
    """

    def decide(self, eta, alpha, contract_breaking):
        return super().decide(eta, alpha, contract_breaking) if eta / alpha >= 0 else "discard"


class PrefersTheOld(Guarded):
    """
    Compares the wrong way round.
    """

    def decide(self, eta, alpha, contract_breaking):
        return super().decide(eta, alpha, contract_breaking) if eta <= 4 else "accept"


class RebasesTheFresh(Guarded):
    """
    Rebases what is not behind.
    """

    def decide(self, eta, alpha, contract_breaking):
        return super().decide(eta, alpha, contract_breaking) if eta else "rebase"


class LikesBreaking(Guarded):
    """
    Has the flag the wrong way round.
    """

    def decide(self, eta, alpha, contract_breaking):
        return super().decide(eta, alpha, not contract_breaking)


class HurriesGroups(Guarded):
    """
    Declares a rule that no gate has.
    """

    rule = "hurry"


class LooksThroughNoWindow(Guarded):
    """
    Forgets the window of its rule.
    """

    rule = "window"


class OpensTheWindow(Guarded):
    """
    Declares a window for a rule that has none.
    """

    window = 4


class SaysNothingOfGroups(Drop):
    """
    Forgets to answer for groups that are old.
    """

    def decide(self, eta, alpha, contract_breaking):
        return super().decide(eta, alpha, contract_breaking) if eta <= alpha else None


class DropsEverySecond(Drop):
    """
    Lets every second group be used that is too old.
    """

    calls = 0

    def decide(self, eta, alpha, contract_breaking):
        self.calls += eta > alpha
        return "discard" if eta > alpha and self.calls % 2 else "accept"


# -------------------------------------------------------------------------------------- estimators


class GoesBelowZero(Linear):
    """
    Follows its line to where durations are negative.
    """

    def estimate(self, cost):
        if super().estimate(cost) is None:
            return None
        slope = self._together / self._spread if self._spread > 0 else 0.0
        return self._seconds + slope * (cost - self._cost)


class QuantilesFall(Linear):
    """
    Counts ranks from above.
    """

    def quantile(self, cost, level):
        return super().quantile(cost, 1 - level)


class ForgetsTheWindow(Linear):
    """
    Puts back its sums and not what its quantiles look back on.
    """

    @property
    def memory(self):
        return [*Linear.memory.fget(self)[:-1], []]

    @memory.setter
    def memory(self, memory):
        Linear.memory.fset(self, memory)


class GuessesAtFirst(Linear):
    """
    Has a default before it has data.
    """

    def estimate(self, cost):
        return 60.0 if super().estimate(cost) is None else super().estimate(cost)


class LearnsFromQuestions(Linear):
    """
    Takes its own predictions for observations.
    """

    def estimate(self, cost):
        found = super().estimate(cost)
        if found is not None:
            self.observe(cost, found)
        return found


class SharesItsSums(Linear):
    """
    Keeps what it learns in a list that all of them have.
    """

    seen: list = []  # noqa: RUF012 - the mistake

    def __attrs_post_init__(self):
        super().__attrs_post_init__()
        for cost, seconds in self.seen:
            super().observe(cost, seconds)

    def observe(self, cost, seconds):
        self.seen.append((cost, seconds))
        super().observe(cost, seconds)


class LendsItsMemory(Linear):
    """
    Gives the list that it goes on changing.
    """

    def __attrs_post_init__(self):
        super().__attrs_post_init__()
        self.all = []

    def observe(self, cost, seconds):
        super().observe(cost, seconds)
        self.all[:] = Linear.memory.fget(self)

    @property
    def memory(self):
        return self.all

    @memory.setter
    def memory(self, memory):
        if memory:
            Linear.memory.fset(self, memory)


class NeverLearns(Linear):
    """
    Says one second, whatever happens.
    """

    def estimate(self, cost):
        return None if super().estimate(cost) is None else 1.0


# ---------------------------------------------------------------------------------------- samplers


class PicksHeldOut(ShuffledEpochs):
    """
    Makes up a task id at the end of an epoch.
    """

    def pick(self, book):
        task = super().pick(book)
        last = not book.retry and book.drawn % len(book.train) == len(book.train) - 1
        return f"held-out-{task}" if last else task


class RemembersPicks(ShuffledEpochs):
    """
    Goes on from its own count instead of the book's.
    """

    count = 0

    def pick(self, book):
        self.count += 1
        return book.train[self.count % len(book.train)]


class RollsDice(ShuffledEpochs):
    """
    Draws from Python's global random numbers.
    """

    def pick(self, book):
        return random.choice(book.train)


class SkipsRetries(ShuffledEpochs):
    """
    Looks at what is to be retried and takes it for done.
    """

    def pick(self, book):
        left = [task for task in book.train if task not in book.retry] or book.train
        return left[book.drawn % len(left)]


class LeavesOutTheLast(ShuffledEpochs):
    """
    Has one place too few.
    """

    def pick(self, book):
        if book.retry:
            return book.retry[0]
        return book.train[book.drawn % max(1, len(book.train) - 1)]


class FindsNothingLeft(UnsolvedEpochs):
    """
    Has nothing to pick when all is solved.
    """

    def pick(self, book):
        left = [task for task in book.train if task not in book.solved]
        return left[book.drawn % len(left)]


class KnowsNoSeed(ShuffledEpochs):
    """
    Has one order for every run.
    """

    def pick(self, book):
        return book.retry[0] if book.retry else book.train[book.drawn % len(book.train)]


# --------------------------------------------------------------------------------------- executors


class Swallows(ThreadExecutor):
    """
    Turns exceptions into None.
    """

    def run(self, function, /, *arguments):
        try:
            return function(*arguments)
        except Exception:  # noqa: BLE001 - the mistake
            return None


class Wraps(ThreadExecutor):
    """
    Raises one of its own instead.
    """

    def run(self, function, /, *arguments):
        try:
            return function(*arguments)
        except Exception as error:
            raise RuntimeError(f"work failed: {error}") from error


class OneAtATime(ThreadExecutor):
    """
    Holds a lock while work runs.
    """

    def __init__(self):
        self.lock = threading.Lock()

    def run(self, function, /, *arguments):
        with self.lock:
            return function(*arguments)


class TakesTwo(ThreadExecutor):
    """
    Hands on no more than two arguments.
    """

    def run(self, function, /, *arguments):
        return function(*arguments[:2])


class Copies(ThreadExecutor):
    """
    Sends arguments through a pickle, in the same process.
    """

    def run(self, function, /, *arguments):
        return function(*pickle.loads(pickle.dumps(arguments)))


class LovesTruth(ThreadExecutor):
    """
    Takes what is false for nothing.
    """

    def run(self, function, /, *arguments):
        found = function(*arguments)
        return found if any(found if isinstance(found, tuple) else [found]) else None


class ClosesOnce(ThreadExecutor):
    """
    Can be closed once.
    """

    def __init__(self):
        self.held = ["something"]

    def close(self):
        self.held.remove("something")


class OnALoop(ThreadExecutor):
    """
    Runs work as a coroutine, for which StopIteration is an end.
    """

    def run(self, function, /, *arguments):
        async def work():
            return function(*arguments)

        return asyncio.run(work())


class Hides(Exception):  # noqa: N818 - it has any name
    """
    Stands for an exception that can't be sent.
    """


def told(function, *arguments):
    """
    What a function gave, or what it raised, in a form that can be sent.
    """
    try:
        return function(*arguments), None
    except BaseException as error:  # noqa: BLE001 - it is raised where it was asked for
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:  # noqa: BLE001 - whatever keeps it from being sent
            error = Hides(f"{type(error).__name__}: {error}")
        return None, error


class Pool:
    """
    Runs work in other processes.
    """

    def __init__(self):
        self.pool = None
        self.lock = threading.Lock()

    def run(self, function, /, *arguments):
        with self.lock:
            if self.pool is None:
                self.pool = ProcessPoolExecutor(2)
        found, error = self.pool.submit(told, function, *arguments).result()
        if error is not None:
            raise error
        return found

    def close(self):
        if self.pool is not None:
            self.pool.shutdown()


class FragilePool(Pool):
    """
    Sends exceptions as they are.
    """

    def run(self, function, /, *arguments):
        with self.lock:
            if self.pool is None:
                self.pool = ProcessPoolExecutor(2)
        return self.pool.submit(function, *arguments).result()


# --------------------------------------------------------------------------------------- observers


class Watches:
    """
    Counts what it is told.
    """

    def __init__(self):
        self.told = []

    def __call__(self, notice):
        self.told.append(type(notice).__name__)


class ExpectsAReward(Watches):
    """
    Formats a reward that may be None.
    """

    def __call__(self, notice):
        if isinstance(notice, SweepDone):
            self.told.append(f"{notice.reward:.3f}")


class TidiesTheHead(Watches):
    """
    Sorts the new head in place.
    """

    def __call__(self, notice):
        if isinstance(notice, HeadCommitted):
            notice.head.artifact.value["seen"] = True


class WaitsForTheStart(Watches):
    """
    Can't be told anything before a run begins.
    """

    def __call__(self, notice):
        if isinstance(notice, RunStarted):
            self.run = notice.run
        else:
            self.told.append((self.run, notice))


class KnowsThemAll(Watches):
    """
    Has a name for every notice there is today.
    """

    NAMES = tuple(kind.__name__ for kind in get_args(Notice))

    def __call__(self, notice):
        self.told.append(self.NAMES.index(type(notice).__name__))


class Answers(Watches):
    """
    Returns what nobody looks at.
    """

    def __call__(self, notice):
        return self.told


class IsAsync(Watches):
    """
    Waits to be awaited.
    """

    async def __call__(self, notice):
        self.told.append(notice)
