"""
Optimizers that learn from outcomes: groups of rollouts under a staleness bound, whole runs.
"""

import _thread
import threading
from collections import Counter
from itertools import chain, pairwise

import attrs
import pytest

import headway
from groups import Better, Slope, options, used
from headway.builtins._memory_ledger import MemoryLedger
from headway.contracts import Artifact, CardDecided, Commit, FaultSeen, UpdateDone, Work
from headway.drivers import simulated as simulated_driver
from headway.durations import parse_law
from headway.errors import OptionError
from headway.machine._groups import Groups
from headway.testing._faults import ContendedLedger
from headway.testing._schedule import Schedule
from headway.testing._schedules import check, check_crash, check_replay, run_schedule

LAWS = {name: {"rollout": parse_law(text)} for name, text in (
    ("alike", "constant:1"), ("uneven", "lognormal:1,1"), ("heavy", "pareto:1,1.5"),
)}  # fmt: skip
DRIVERS = ("threads", "asyncio", "simulated")


def simulated(aggregator=None, domain=None, law="uneven", **more):
    aggregator = aggregator or Better()
    result = headway.run(
        domain or Slope(),
        aggregator=aggregator,
        driver="simulated",
        durations=LAWS[law],
        **options(**more),
    )
    return result, aggregator


# ------------------------------------------------------------------------------------------- modes


@pytest.mark.parametrize("gathers", [False, True])
def test_sync_is_the_same_under_every_driver(gathers):
    """Without staleness, workers, durations and the order of arrival leave no trace."""
    digests = set()
    for workers in (1, 3, 24, 100):
        for law in LAWS:
            result, _ = simulated(Better(gathers=gathers), law=law, mode="sync", n_workers=workers)
            digests.add(result.digest)
    for driver in ("threads", "asyncio", "serial"):
        aggregator = Better(gathers=gathers)
        more = options(mode="sync", driver=driver)
        digests.add(headway.run(Slope(), aggregator=aggregator, **more).digest)

    assert 1 == len(digests)
    assert {0} == {card.eta for batch in aggregator.batches for card in batch}
    assert [[*range(n, n + 4)] for n in range(0, 40, 4)] == used(aggregator)


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("staleness", [1, 2, 4])
def test_no_outcome_is_older_than_the_bound(driver, staleness):
    """Under the policy ``wait`` nothing is discarded and nothing too old."""
    aggregator = Better()
    durations = {"durations": LAWS["heavy"]} if driver == "simulated" else {}
    more = options(driver=driver, max_staleness=staleness, admit_ahead=staleness, updates=30)
    result = headway.run(Slope(), aggregator=aggregator, **more, **durations)

    assert "updates" == result.stop_reason
    assert 30 * 4 == sum(result.eta_histogram.values()) == result.decisions["committed"]
    assert staleness >= max(result.eta_histogram)
    assert sorted(range(120)) == sorted(number for batch in used(aggregator) for number in batch)


def test_the_dials():
    """``admit_ahead`` sets the mean age, ``max_staleness`` the largest."""
    ages = {}
    for staleness, ahead in ((1, 1), (2, 1), (2, 2), (4, 2), (4, 4)):
        result, _ = simulated(
            Better(batch=8, group_size=1),
            max_staleness=staleness,
            admit_ahead=ahead,
            updates=200,
            n_workers=100,
        )
        ages[staleness, ahead] = result.eta_histogram
    means = {
        dials: sum(age * n for age, n in seen.items()) / sum(seen.values())
        for dials, seen in ages.items()
    }

    assert {dials: dials[0] for dials in ages} == {dials: max(seen) for dials, seen in ages.items()}
    assert means == {dials: pytest.approx(dials[1], rel=0.05) for dials in ages}


def test_early_assignment_keeps_the_bound():
    """Steps begin with the groups that are sure to belong to their batch, and use each group once."""
    _, early = simulated(Better(gathers=True), updates=40)

    assert {4} == {sum(parts) for parts in early.parts}
    assert {1, 4} & {len(parts) for parts in early.parts} == {1, 4}
    assert max(card.eta for batch in early.batches for card in batch) <= 2
    assert {1} == {*Counter(number for batch in used(early) for number in batch).values()}


def test_pinned_to_the_stamp():
    """In the order of admission and from the stamp, the machine's speed leaves no trace either."""
    digests, ages = set(), set()
    for workers in (1, 7, 64):
        for law in LAWS:
            result, aggregator = simulated(
                law=law,
                n_workers=workers,
                max_staleness=2,
                admit_ahead=2,
                batch_order="admission",
                bases="stamp",
            )
            digests.add(result.digest)
            ages |= {card.eta for batch in aggregator.batches[2:] for card in batch}

    assert 1 == len(digests)
    assert {2} == ages
    assert [[*range(n, n + 4)] for n in range(0, 40, 4)] == used(aggregator)


def test_the_memory_of_the_stamp():
    """From the stamp, ``select`` sees the memory as it was when its group was reserved."""

    class Seeing(Better):
        def select(self, ticket, head, memory, rng):
            count = 0 if memory is None else memory["count"]
            assert count == head.version == ticket.base
            return Work(payload=rng.gauss(0, 1))

    result, _ = simulated(Seeing(), max_staleness=2, admit_ahead=2, bases="stamp", n_workers=2)

    assert "updates" == result.stop_reason


# ------------------------------------------------------------------------------------ slots and rows


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_fewer_workers_than_members(workers):
    """Members run one after the other, those of older groups first, and nothing is in the way."""
    started = []
    domain = Slope(lambda ticket: started.append((ticket.group, ticket.member)))
    result, _ = simulated(Better(batch=2, group_size=4), domain, n_workers=workers, updates=5)

    assert "updates" == result.stop_reason
    assert started == sorted(started)


def test_fewer_groups_than_a_batch():
    """The last batch has what is left, also when it is the only one."""
    result, aggregator = simulated(Better(batch=4, group_size=2), updates=None, max_rollouts=6)

    assert [[0, 1, 2]] == used(aggregator)
    assert "max_iters" == result.stop_reason


def test_rollouts_that_make_no_group():
    """What is left over of ``max_rollouts`` is not begun; too few for one group are refused."""
    result, aggregator = simulated(Better(batch=2, group_size=3), updates=None, max_rollouts=17)

    assert ([2, 2, 1], 5) == ([*map(len, used(aggregator))], len({*chain(*used(aggregator))}))
    assert 15 == result.rollouts
    with pytest.raises(OptionError, match="A group takes 3 rollouts"):
        simulated(Better(group_size=3), updates=None, max_rollouts=2)


def test_all_members_work_on_one_task():
    """A group has one task; groups take them in turn."""
    _, aggregator = simulated(Better(group_size=3))
    cards = [card for batch in aggregator.batches for card in batch]

    assert {3} == {len(card.members) for card in cards}
    assert {*Counter(card.task for card in cards).values()} == {5}


def test_oversampling_admits_within_the_bound():
    """More groups are begun than a batch needs; those left over are used later."""
    result, aggregator = simulated(
        Better(batch=8, group_size=1), max_staleness=2, oversample_factor=1.25, updates=50
    )

    assert 50 * 8 == len({number for batch in used(aggregator) for number in batch})
    assert {0, 1, 2} >= {*result.eta_histogram}


# ------------------------------------------------------------------------------------------ failures


class Failing:
    """Fails the first attempts of some members."""

    def __init__(self, attempts, members=((1, 0), (5, 1))):
        self.attempts, self.members, self.seen = attempts, members, []

    def __call__(self, ticket):
        if (ticket.group, ticket.member) in self.members:
            self.seen.append((ticket.group, ticket.attempt, ticket.number))
            if ticket.attempt < self.attempts:
                raise ConnectionError("no answer")


@pytest.mark.parametrize("driver", [*DRIVERS, "serial"])
def test_a_member_is_tried_again(driver):
    """It keeps its place and gets another try; the batch is as if nothing had been."""
    failing, aggregator = Failing(2), Better()
    more = options(driver=driver, mode="sync")
    result = headway.run(Slope(failing), aggregator=aggregator, **more)
    fresh = Better()
    headway.run(Slope(), aggregator=fresh, **more)

    assert "updates" == result.stop_reason
    assert used(fresh) == used(aggregator)
    assert 4 == sum(result.completions[kind] for kind in ("failed", "timeout"))
    assert [0, 1, 2] == [attempt for group, attempt, _ in failing.seen if group == 1]
    assert 2 == aggregator.batches[0][1].members[0].member + 2  # its place
    other = [(card.number, m.member) for batch in fresh.batches for card in batch
             for m in card.members]  # fmt: skip
    payloads = {
        (card.number, m.member): m.payload
        for found in (fresh, aggregator) for batch in found.batches
        for card in batch for m in card.members
    }  # fmt: skip
    assert {*other} == {*payloads}


def test_what_failed_draws_anew_and_the_others_the_same():
    """The random stream of a member depends on its group, its place and its attempt alone."""
    _, failed = simulated(Better(), Slope(Failing(1)), mode="sync", updates=1)
    _, fresh = simulated(Better(), mode="sync", updates=1)
    before, after = (
        {(c.number, m.member): m.payload for c in found.batches[0] for m in c.members}
        for found in (fresh, failed)
    )

    assert {(1, 0)} == {which for which in before if before[which] != after[which]}


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_a_lost_member_ends_the_run(mode):
    """Unless it is told otherwise, a run does not go on without an outcome; it says why."""
    result, _ = simulated(Better(), Slope(Failing(99)), mode=mode)

    assert "error" == result.stop_reason
    assert ("rollout", "ConnectionError") == (result.error.where, result.error.type)


def test_a_lost_group_is_dropped():
    """Told so, the run goes on with another group in its place, and the loss is counted."""
    result, aggregator = simulated(Better(), Slope(Failing(99)), lost_groups="drop", updates=10)
    numbers = {number for batch in used(aggregator) for number in batch}

    assert "updates" == result.stop_reason
    assert 40 == len(numbers)
    assert not {1, 5} & numbers


def test_a_group_shrinks():
    """With fewer members than its size, but enough of them, a group is complete."""
    result, aggregator = simulated(
        Better(group_size=3), Slope(Failing(99)), least_members=2, member_attempts=2
    )
    sizes = {c.number: [m.member for m in c.members] for b in aggregator.batches for c in b}

    assert "updates" == result.stop_reason
    assert ([1, 2], [0, 2]) == (sizes[1], sizes[5])
    assert {2, 3} == {*map(len, sizes.values())}


def test_all_members_of_all_groups_fail():
    """It ends with what the backend said, and never as the end of the data."""

    def fail(ticket):
        raise ConnectionError("gone")

    result, _ = simulated(Better(), Slope(fail), lost_groups="drop")

    assert ("error", "gone") == (result.stop_reason, result.error.message)


@pytest.mark.parametrize("driver", ["threads", "asyncio"])
def test_a_member_that_hangs(driver):
    """Its time ends; it is tried again, and its late answer is worth nothing."""
    release = threading.Event()

    def fail(ticket):
        if (ticket.group, ticket.attempt) == (2, 0):
            release.wait(30)

    aggregator = Better()
    more = options(driver=driver, rollout_timeout=2.0)
    try:
        result = headway.run(Slope(fail), aggregator=aggregator, **more)
    finally:
        release.set()

    assert "updates" == result.stop_reason
    assert 2 == result.completions["timeout"]
    assert 2 in used(aggregator)[0] + used(aggregator)[1] + used(aggregator)[2]


def test_who_is_waited_for_is_named():
    """When nothing is updated for long, the group that is waited for is told, and how old it is."""
    told = []
    slow = {"rollout": parse_law("pareto:1,1.1")}
    headway.run(
        Slope(),
        aggregator=Better(),
        driver="simulated",
        durations=slow,
        observers=[told.append],
        **options(stall_alarm=5.0, updates=40),
    )
    alarms = [n.fault for n in told if isinstance(n, FaultSeen) and n.fault.where == "gate"]

    assert alarms
    assert "Waiting" == alarms[0].type
    assert "no update for 5 s: group" in alarms[0].message
    assert "lacks" in alarms[0].message


def test_who_hangs_from_the_start_is_named():
    """The alarm needs no event: it is told though nothing ever answers."""
    release, told = threading.Event(), []

    def observe(notice):
        if isinstance(notice, FaultSeen) and notice.fault.where == "gate":
            told.append(notice.fault.message)
            release.set()

    headway.run(
        Slope(lambda ticket: release.wait(30)),
        aggregator=Better(),
        observers=[observe],
        **options(stall_alarm=0.1, updates=2),
    )

    assert "no update for 0.1" in told[0]
    assert "s: group 0" in told[0]


@pytest.mark.parametrize("policy", ["wait", "drop"])
def test_exactly_so_many_updates(policy):
    """A run of so many updates makes no further one of what is left."""

    class Picky(Better):
        def step(self, cards, context):
            yield Commit(Artifact(context.head.artifact.value + 1), cards[:2])

    result, _ = simulated(Picky(), policy=policy, law="heavy", updates=9)

    assert ("updates", 9) == (result.stop_reason, result.version)


class Rival:
    """Commits before somebody else does, once."""

    def __init__(self, at):
        self.at = at

    def __call__(self, ledger):
        return Artifact(ledger.snapshot().artifact.value + 1)


@pytest.mark.parametrize("gathers", [False, True])
def test_somebody_else_moves_the_head(gathers):
    """What can't be used in time any more is let go, counted, and replaced."""
    ledger = ContendedLedger(Artifact(0.0), seed=3, rate=0.4, rival=Rival(2))
    result, aggregator = simulated(
        Better(gathers=gathers), ledger=ledger, max_staleness=1, updates=20
    )

    assert "updates" == result.stop_reason
    assert result.commit_races > 3
    assert result.decisions.get("discarded:stale", 0) > 0
    assert max(result.committed_by_eta) <= 1
    assert 80 <= sum(map(len, used(aggregator)))


def test_a_step_that_raises():
    """Its groups are tried again; the next failure lets them go and ends the run in the end."""

    class Broken(Better):
        def step(self, cards, context):
            yield from ()
            raise ValueError("a bug")

    result, _ = simulated(Broken(), updates=3)

    assert ("error", "a bug") == (result.stop_reason, result.error.message)


REFUSED = {
    "carry": (headway.Carry, "can't be carried over"),
    "twice": (None, "more than 1 times"),
    "early": (lambda cards: Commit(Artifact(1.0), cards), "before the batch is complete"),
}


@pytest.mark.parametrize("which", REFUSED)
def test_what_a_step_may_not_ask(which):
    """It is told what it did and what to do instead."""
    request, text = REFUSED[which]

    class Wrong(Better):
        def step(self, cards, context):
            if request is None:
                yield Commit(Artifact(context.head.artifact.value + 1), cards[:1])
                yield Commit(Artifact(context.head.artifact.value + 2), cards[1:])
            else:
                yield request(cards)

    result, _ = simulated(Wrong(gathers=which == "early"), updates=3)

    assert any(text in failure.fault.message for failure in result.failures)
    assert "error" == result.stop_reason


def test_a_step_of_two_updates():
    """It may move the head twice where it says so, and the bound counts both."""

    class Twice(Better):
        def step(self, cards, context):
            value = context.head.artifact.value
            yield Commit(Artifact(value + 0.1), cards[:2])
            yield Commit(Artifact(value + 0.2), cards[2:])
            self.batches.append(cards)

    result, _ = simulated(Twice(updates_per_step=2), max_staleness=3, admit_ahead=1, updates=10)

    assert 20 == result.version
    assert 3 == max(result.eta_histogram)


def test_what_is_dropped_could_not_have_been_used_by_the_last_update_of_a_step():
    """The age that counts is that of the update which uses a group, first or last of its step."""

    class OnceOrTwice(Better):
        def step(self, cards, context):
            value = context.head.artifact.value + context.rng.randrange(2)
            yield Commit(Artifact(value), cards[2:])
            yield Commit(Artifact(value + 1), cards[:2])  # the oldest last

    told = []
    result, _ = simulated(
        OnceOrTwice(updates_per_step=2), law="heavy", policy="drop", max_staleness=3, updates=40,
        n_workers=64, observers=[told.append],
    )  # fmt: skip
    used = [age for n in told if isinstance(n, UpdateDone) for age in n.groups.values()]

    assert result.decisions["discarded:stale"] > 0
    assert 3 == max(used) == max(result.committed_by_eta)
    assert 160 == len(used) == sum(result.committed_by_eta.values())


def test_an_update_that_changes_nothing():
    """The batch counts, the version stays, and nothing gets older by it."""

    class Idle(Better):
        def step(self, cards, context):
            yield Commit(context.head, cards)

    result, _ = simulated(Idle(), updates=10)

    assert (0, {0: 40}) == (result.version, dict(result.eta_histogram))
    assert "updates" == result.stop_reason


@pytest.mark.parametrize("policy", ["drop", "soft"])
def test_policies_that_do_not_wait(policy):
    """``drop`` discards what is too old and counts it; ``soft`` uses and counts it."""
    told = []
    result, _ = simulated(
        Better(batch=8, group_size=1), law="heavy", policy=policy, max_staleness=1, updates=200,
        n_workers=64, observers=[told.append],
    )  # fmt: skip

    stale = result.decisions.get("discarded:stale", 0)
    ages = [n.eta for n in told if isinstance(n, CardDecided) and n.decision.reason == "stale"]
    assert ("updates", stale) == (result.stop_reason, sum(age > 1 for age in ages))
    assert (stale > 0, max(result.committed_by_eta) > 1) == (policy == "drop", policy == "soft")


def slow_task(monkeypatch):
    """Rollouts of one task take a hundred times as long as those of the others."""
    plain = simulated_driver.draw_seconds

    def by_task(durations, seed, call):
        slow = call.kind == "rollout" and call.task == "train-3"
        return plain(durations, seed, call) * (100 if slow else 1)

    monkeypatch.setattr(simulated_driver, "draw_seconds", by_task)


def test_a_task_that_is_never_in_time_is_told(monkeypatch):
    """How often it was begun in vain, by its id, at 8 and at 16 and no oftener; nothing is told of others."""
    slow_task(monkeypatch)
    told = []
    result, _ = simulated(
        policy="drop", max_staleness=1, updates=40, n_workers=64, observers=[told.append]
    )
    faults = [n.fault for n in told if isinstance(n, FaultSeen)]
    done = [n for n in told if isinstance(n, UpdateDone)]
    worst = max(done, key=lambda notice: notice.most_tries)

    assert [("gate", "TriedInVain", "train-3")] * 2 == [(f.where, f.type, f.task) for f in faults]
    assert ["8 groups", "16 groups"] == [f.message.partition(" in a row")[0] for f in faults]
    assert "train-3" == worst.most_tried
    assert 16 < worst.most_tries <= result.decisions["discarded:stale"]
    assert (0, None) == (done[0].most_tries, done[0].most_tried)


def test_a_task_that_is_used_again_was_not_tried_in_vain():
    """The count begins anew, so durations with a heavy tail alone tell nothing."""
    told = []
    simulated(
        law="heavy", policy="drop", max_staleness=1, updates=400, n_workers=64,
        observers=[told.append],
    )  # fmt: skip
    done = [n for n in told if isinstance(n, UpdateDone)]

    assert {0, 1, 2} <= {n.most_tries for n in done}
    assert max(n.most_tries for n in done) < 8
    assert [] == [n for n in told if isinstance(n, FaultSeen)]


# --------------------------------------------------------------------------------------- what is told


def test_each_update_is_told():
    """One notice an update: ages, what was waited for and what is outstanding."""
    told = []
    simulated(updates=12, observers=[told.append])
    updates = [notice for notice in told if isinstance(notice, UpdateDone)]
    last = updates[-1]

    assert [*range(1, 13)] == [notice.update for notice in updates]
    assert 48 == sum(len(notice.groups) for notice in updates)
    assert last.now == pytest.approx(sum(last.seconds.values()))
    assert all(earlier.now <= later.now for earlier, later in pairwise(updates))


@pytest.mark.parametrize("updates", [1, 2])
def test_what_is_outstanding_is_read_between_a_batch_and_the_next_ones(updates):
    """After the commit and before others are reserved in its place; the peak is that of the interval."""
    told = []
    simulated(
        Better(updates_per_step=updates), updates=12, max_staleness=5,
        oversample_factor=1.5, observers=[told.append],
    )  # fmt: skip
    done = [notice for notice in told if isinstance(notice, UpdateDone)]
    peaks = [min(12, 48 - 4 * used) for used in range(12)]

    assert [(peak - 4, peak) for peak in peaks] == [(n.outstanding, n.peak) for n in done]
    assert all(notice.ready <= notice.outstanding for notice in done)


def test_nothing_is_outstanding_between_two_batches_in_sync_mode():
    """Each of which is the peak of its interval, and no group blocks that is not begun."""
    told = []
    simulated(mode="sync", updates=5, observers=[told.append])
    done = [notice for notice in told if isinstance(notice, UpdateDone)]

    assert [(0, 0, 4, None)] * 5 == [(n.outstanding, n.ready, n.peak, n.blocking) for n in done]


def test_options_that_make_no_sense():
    """They are refused with what to do."""
    for more, text in (
        ({"rounds": 3, "mode": "sync"}, "give updates"),
        ({"least_members": 3}, "least_members"),
        ({"mode": "async", "max_staleness": -1}, "max_staleness"),
    ):
        with pytest.raises(OptionError, match=text):
            simulated(**more)
    with pytest.raises(OptionError, match="learns from proposals"):
        headway.run("inflect", updates=3, driver="simulated")


# ------------------------------------------------------------------------------- schedules and crashes


def group_seeds(count):
    return [seed for seed in range(40 * count) if Schedule.draw(seed).groups][:count]


@pytest.mark.parametrize("seed", group_seeds(24))
def test_random_schedules(seed):
    """Any faults and any options: every invariant holds, a crash changes nothing."""
    assert check(seed) > 0


@pytest.mark.parametrize("seed", group_seeds(2))
def test_interrupted_at_every_event(seed):
    """A run that is stopped after any event, and taken up, uses the same groups as the other."""
    schedule = attrs.evolve(Schedule.draw(seed), max_rollouts=8)
    outcome = run_schedule(schedule)
    for crash in range(1, len(outcome.journal.rows)):
        check_crash(check_replay(schedule, outcome, crash), outcome, crash)


def test_a_run_directory_goes_on(tmp_path):
    """A run that Ctrl-C ended goes on with the groups that it had."""

    class StopAfter:
        def __init__(self, count):
            self.left = count

        def __call__(self, notice):
            self.left -= isinstance(notice, UpdateDone)
            if self.left == 0:
                _thread.interrupt_main()

    whole, _ = simulated(updates=12)
    first, _ = simulated(updates=12, run_dir=tmp_path / "run", observers=[StopAfter(5)])
    second, _ = simulated(updates=12, run_dir=tmp_path / "run")

    assert "interrupted" == first.stop_reason
    assert whole.digest == second.digest


def test_snapshots_are_kept_no_longer_than_needed():
    """Pinned runs hold the snapshots of outstanding stamps alone."""
    most = []
    plain = Groups._tidy

    def tidied(self):
        plain(self)
        most.append(len(self._bases))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Groups, "_tidy", tidied)
        simulated(max_staleness=2, admit_ahead=2, bases="stamp", updates=60)

    assert most
    assert max(most) <= 4


def test_a_ledger_of_ones_own():
    """The versions of such a run are in its ledger."""
    ledger = MemoryLedger(Artifact(0.0))
    seen = []
    plain, ledger.close = ledger.close, lambda: seen.extend(ledger.log())
    simulated(ledger=ledger, updates=7)
    plain()

    assert [*range(1, 8)] == [entry.version for entry in seen]
