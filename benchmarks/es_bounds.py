"""
What the schedules of an evolution strategy promise: how old a card may be, how old cards are without a bound,
and how much faster a bound may make a run.

    python benchmarks/es_bounds.py --check

Time is virtual.  ``gate`` is a bare loop around the gate, ``run`` a whole run; in either, the rule is compared
with the one that it stands for: a step is made only if each card that it leaves can still be used in time.
"""

from __future__ import annotations

import argparse
import warnings
from heapq import heappop, heappush
from itertools import pairwise
from random import Random
from statistics import fmean

from harness.tables import Table, add_common, end

LAWS = ("constant:1", "lognormal:1,1", "lognormal:1,1.5", "pareto:1,1.5", "pareto:1,2.5")
BOUNDS = (1, 2, 4)
COHORT = 32
UNBOUND = 1000
"""A bound that is none."""

SLACK = 1.05
"""By so much a figure that is about something may exceed it."""

LEAST_TAKEN = {"lognormal:1,1": 0.80, "pareto:1,2.5": 0.88}
"""The share that ``wait-1`` takes of what a quarter as many workers as pairs can do, by law."""


class Rule:
    """
    The rule as it is written down: with version v, N cards a step and the bound K, at most N * (b + K - v)
    of the cards that a step leaves may be of base b or older.
    """

    def __init__(self, pairs, bound):
        self.pairs, self.bound, self.bases, self.ready = pairs, bound, {}, set()

    def admits(self):
        return len(self.bases) < (self.bound + 1) * self.pairs

    def begin(self, job, version):
        self.bases[job] = version

    def end(self, job):
        self.ready.add(job)

    def batch(self, version):
        if len(self.ready) < self.pairs:
            return ()
        batch = sorted(self.ready)[: self.pairs]
        left = sorted(base for job, base in self.bases.items() if job not in batch)
        feasible = all(
            at <= self.pairs * (base + self.bound - version) for at, base in enumerate(left, 1)
        )
        return tuple(batch) if feasible else ()

    def used(self, batch):
        for job in batch:
            del self.bases[job]
            self.ready.remove(job)


class Gate:
    """
    The same by the gate ``Reservations`` with S = A = K.
    """

    def __init__(self, pairs, bound, rule="wait"):
        from headway import GateView, Reservations

        self.view, self.version = GateView, 0
        self.gate = Reservations(
            groups_per_step=pairs, max_staleness=bound, admit_ahead=bound, rule=rule
        )

    def admits(self):
        return self.gate.admit(self.view(head=self.version))

    def begin(self, job, version):
        assert job == self.gate.reserve(version)

    def end(self, job):
        self.gate.complete(job)

    def batch(self, version):
        return tuple(self.gate.batch()) if self.gate.take(self.view(head=version)) else ()

    def used(self, batch):
        self.gate.trained(batch)
        self.version += 1


def looped(rule, *, workers, updates, law, seed):
    """
    The trace of a bare loop: per update the sorted (job, base) of what it used.
    """
    rng, running, bases, trace, now, begun = Random(seed), [], {}, [], 0.0, 0
    while len(trace) < updates:
        while len(running) < workers and rule.admits():
            rule.begin(begun, len(trace))
            bases[begun] = len(trace)
            heappush(running, (now + law.draw(rng.random()), begun))
            begun += 1
        now, job = heappop(running)
        rule.end(job)
        while running and running[0][0] == now:
            rule.end(heappop(running)[1])
        while len(trace) < updates and (batch := rule.batch(len(trace))):
            rule.used(batch)
            trace.append(tuple((job, bases[job]) for job in sorted(batch)))
    return trace


def violations(trace, bound):
    """
    Cards that are too old, and jobs that are used twice.
    """
    jobs = sorted(job for batch in trace for job, _ in batch)
    old = sum(at - base > bound for at, batch in enumerate(trace) for _, base in batch)
    return old + sum(one == other for one, other in pairwise(jobs))


def drawn(seed):
    """
    A small case: half of them have more workers than pairs, up to eight times as many.
    """
    from headway.durations import parse_law

    rng = Random(f"bounds {seed}")
    pairs, bound = rng.randrange(1, 9), rng.randrange(1, 6)
    workers = rng.randrange(1, pairs + 1) if seed % 2 else rng.randrange(pairs + 1, 8 * pairs + 2)
    return pairs, bound, {"workers": workers, "law": parse_law(rng.choice(LAWS)), "seed": seed}


def gates(count, updates):
    """
    Violations and differences from the rule in so many bare loops.
    """
    broken = differ = wide = 0
    for seed in range(count):
        pairs, bound, case = drawn(seed)
        found = looped(Gate(pairs, bound), updates=updates, **case)
        broken += violations(found, bound)
        differ += found != looped(Rule(pairs, bound), updates=updates, **case)
        wide += case["workers"] > pairs
    return {"runs": count, "wide": wide, "violations": broken, "differ": differ}


class Traced:
    """
    An observer that keeps what each update used.
    """

    def __init__(self):
        self.trace = []

    def __call__(self, notice):
        ages = getattr(notice, "groups", None)
        if ages is not None:
            at = len(self.trace)
            self.trace.append(tuple(sorted((job, at - age) for job, age in ages.items())))


def ran(options, *, pairs, workers, law, updates, seed):
    """
    Virtual seconds, trace, and report of a whole run.
    """
    from headway import run
    from headway.durations import parse_law
    from headway_es import ES, ESDomain, report_of

    traced = Traced()
    result = run(
        ESDomain(dim=2),
        aggregator=ES(population=pairs, history=0),
        updates=updates,
        seed=seed,
        n_workers=workers,
        driver="simulated",
        durations={"rollout": parse_law(str(law))},
        observers=[traced],
        stall_alarm=1e9,
        **options,
    )
    report = report_of(result.memory)
    return {
        "seconds": result.wallclock,
        "trace": traced.trace,
        "mean_lag": report.mean_lag,
        "dropped": result.stale_discarded,
    }


def named(bound):
    from headway_es import schedule

    return schedule(f"wait-{bound}")


def reservations(bound):
    return {"mode": "async", "policy": "wait", "max_staleness": bound, "admit_ahead": bound}


def unbounded():
    return {"mode": "async", "policy": "soft", "max_staleness": UNBOUND, "admit_ahead": UNBOUND}


def runs(count, updates):
    """
    The same of so many whole runs, the other being a run by the gate's own options.
    """
    broken = differ = wide = 0
    for seed in range(count):
        pairs, bound, case = drawn(seed)
        found, other = (
            ran(options(bound), pairs=pairs, updates=updates, **case)
            for options in (named, reservations)
        )
        broken += violations(found["trace"], bound) + found["dropped"]
        differ += found["trace"] != other["trace"]
        wide += case["workers"] > pairs
    return {"runs": count, "wide": wide, "violations": broken, "differ": differ}


def mean_lag(trace):
    return fmean(at - base for at, batch in enumerate(trace) for _, base in batch)


def lags(cards):
    """
    The mean lag without a bound, over (W - 1) / N.

    A bare loop dispatches after the step.  In a whole run a worker that is free goes on at once, so that
    who completes a batch begins the next job on the version before: its lag is W / N.
    """
    from headway.durations import parse_law

    for law in LAWS[1:]:
        for workers, pairs in ((32, 8), (20, 4), (9, 8)):
            case = {"workers": workers, "updates": 10 * cards // pairs, "seed": 1}
            trace = looped(Gate(pairs, UNBOUND, "none"), law=parse_law(law), **case)
            yield f"gate W={workers} N={pairs} {law}", mean_lag(trace) / ((workers - 1) / pairs)
        for workers, pairs in ((32, 8), (64, 16)):
            case = {"pairs": pairs, "workers": workers, "law": law, "updates": cards // pairs}
            found = ran(unbounded(), seed=1, **case)["mean_lag"]
            yield f"run W={workers} N={pairs} {law}", found / ((workers - 1) / pairs)


def faster(options, than, repeat, **case):
    """
    How many times faster, on the mean over seeds.
    """
    return fmean(
        ran(than, seed=s, **case)["seconds"] / ran(options, seed=s, **case)["seconds"]
        for s in range(repeat)
    )


def speeds(repeat, updates):
    """
    The speed of wait-K with enough workers, and the most that it may be about.
    """
    from headway_es import schedule

    for law in ("lognormal:1,1", "lognormal:1,1.5", "pareto:1,1.5"):
        for bound in BOUNDS:
            case = {"pairs": 8, "workers": 8 * (bound + 1), "law": law, "updates": updates}
            found = faster(named(bound), schedule("sync"), repeat, **case)
            yield f"wait-{bound} {law}", found, bound + 1


def shares(repeat, updates):
    """
    The share of the speed without a bound that wait-1 takes with few workers, and the least.
    """
    for law, least in LEAST_TAKEN.items():
        case = {"pairs": COHORT, "workers": COHORT // 4, "law": law, "updates": updates}
        yield f"wait-1 {law}", faster(named(1), unbounded(), repeat, **case), least


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0].replace("\n", " "))
    parser.add_argument("--gates", type=int, default=10_000, help="bare loops around the gate")
    parser.add_argument("--runs", type=int, default=300, help="whole runs by each of two names")
    parser.add_argument("--updates", type=int, default=12, help="updates of each of these")
    parser.add_argument("--cards", type=int, default=6400, help="cards of a run without a bound")
    parser.add_argument("--long", type=int, default=300, help="updates of a run whose speed counts")
    add_common(parser, repeat=5)
    return parser.parse_args()


def main():
    asked, results = arguments(), []
    warnings.simplefilter("ignore", RuntimeWarning)
    table = Table(what="12s", case="30s", found="8.3f", limit="7.2f", runs="6d", wide="5d")

    def row(what, case, found, limit, missed, runs=None, wide=None):
        results.append({"what": what, "case": case, "found": found, "limit": limit})
        told = [f"{what} {found:g}"] if missed else []
        table.row(what=what, case=case, found=found, limit=limit, runs=runs, wide=wide, missed=told)

    for case, found in (
        ("gate", gates(asked.gates, asked.updates)),
        ("run", runs(asked.runs, asked.updates)),
    ):
        size = {"runs": found["runs"], "wide": found["wide"]}
        for what in ("violations", "differ"):
            row(what, case, found[what], 0, found[what] > 0, **size)
    for case, found in lags(asked.cards):
        row("mean lag", case, found, 1, abs(found - 1) > SLACK - 1)
    for case, found, most in speeds(asked.repeat, asked.long):
        row("speed", case, found, most, found > most * SLACK)
    for case, found, least in shares(asked.repeat, asked.long):
        row("share taken", case, found, least, found < least)
    end(asked, table, results)


if __name__ == "__main__":
    main()
