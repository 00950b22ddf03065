"""
What the gate of groups must decide, found by trying everything; and a world that plays with it, with
books of its own.

Nothing in here uses the gate's formulas: whether groups can be trained in time is searched for, and
what is outstanding is kept as a plain dictionary.
"""

from __future__ import annotations

import json
from functools import lru_cache
from itertools import combinations
from random import Random

import attrs

from headway import GateView, Reservations


def blocking(gate, version):
    """
    The group that the next step waits for although enough others are ready, if any.
    """
    standing = gate.standing(version)
    return standing.blocking if standing.waits_for == "bound" else None


# ------------------------------------------------------------------------------------- single states


@attrs.frozen(kw_only=True)
class Case:
    """
    A state before a step: the stamps of the outstanding groups, oldest first, and which are ready.
    """

    size: int
    staleness: int
    updates: int
    version: int
    stamps: tuple[int, ...]
    ready: tuple[int, ...]

    @property
    def deadlines(self):
        """
        The last version at which a step may begin that has the group.
        """
        return tuple(stamp + self.staleness - self.updates + 1 for stamp in self.stamps)


def random_case(rng, late=0.1):
    """
    A small state: nine in ten are such that all groups can be trained in time if all get ready.
    """
    anything = rng.random() < late
    while True:
        case = drawn_case(rng, anything)
        if anything or in_time(case.deadlines, case.version, case.size, case.updates):
            return case


def drawn_case(rng, late):
    size, updates = rng.choice([1, 2, 2, 3]), rng.choice([1, 1, 1, 2, 3])
    staleness = rng.randint(updates - 1, updates + 2)
    ahead = (staleness - updates + 1) // updates
    version = rng.randint(staleness + 1, 20)
    oldest = version - staleness - late
    most = (1 + ahead) * size
    count = max(rng.randint(0, most), rng.randint(0, most))
    stamps = tuple(sorted(rng.randint(oldest, version) for _ in range(count)))
    share = rng.choice([0.5, 0.7, 0.9, 1.0])
    return Case(
        size=size,
        staleness=staleness,
        updates=updates,
        version=version,
        stamps=stamps,
        ready=tuple(n for n in range(count) if rng.random() < share),
    )


@lru_cache(maxsize=200_000)
def in_time(deadlines, version, size, updates):
    """
    Whether steps at ``version``, ``version + updates``, ... can train all of them, each before its
    deadline has passed, if all are ready by then.
    """
    if not deadlines:
        return True
    if deadlines[0] < version:
        return False
    return any(
        in_time(without(deadlines, chosen), version + updates, size, updates)
        for chosen in set(combinations(range(len(deadlines)), min(size, len(deadlines))))
        if all(deadlines[n] >= version for n in chosen)
    )


def without(items, chosen):
    """
    What is left.
    """
    return tuple(item for n, item in enumerate(items) if n not in chosen)


def holds(case, chosen):
    """
    Whether a step may train exactly these, whatever is still to come.
    """
    if any(case.deadlines[n] < case.version for n in chosen):
        return False
    rest = without(case.deadlines, chosen)
    return in_time(rest, case.version + case.updates, case.size, case.updates)


def selections(case):
    """
    Every batch of ready groups that leaves the others a way to be in time.
    """
    return [chosen for chosen in combinations(case.ready, case.size) if holds(case, chosen)]


def joining(case, assigned):
    """
    Every ready group that may join these in the open batch: with some others, ready or not, the
    batch leaves all others a way to be in time.
    """
    others = [n for n in range(len(case.stamps)) if n not in assigned]
    more = min(case.size - len(assigned), len(others))
    ways = [fill for fill in combinations(others, more) if holds(case, (*assigned, *fill))]
    return sorted({n for fill in ways for n in fill if n in case.ready})


def fewest_lost(case):
    """
    How many groups must go at least so that the others can be trained in time.
    """
    everyone = range(len(case.stamps))
    for count in everyone:
        for gone in combinations(everyone, count):
            if in_time(without(case.deadlines, gone), case.version, case.size, case.updates):
                return count
    return len(case.stamps)


def gate_of(case, **options):
    """
    A gate that has seen this state come about, and the view to ask it with.
    """
    gate = Reservations(
        groups_per_step=case.size,
        max_staleness=case.staleness,
        admit_ahead=case.staleness,
        updates_per_step=case.updates,
        **options,
    )
    for stamp in case.stamps:
        gate.reserve(stamp)
    for group in case.ready:
        gate.complete(group)
    return gate, GateView(head=case.version)


def state_differs(case):
    """
    Whether the gate decides otherwise than trying everything says, or takes what it should not.
    """
    gate, view = gate_of(case)
    found = selections(case)
    if gate.take(view) != bool(found):
        return True
    return bool(found) and gate.batch() not in found


def early_differs(case):
    """
    The same where groups join the batch one by one; what is complete at once must be what a whole
    batch would be.
    """
    gate, view = gate_of(case, early=True)
    assigned: tuple[int, ...] = ()
    may = joining(case, ())
    if gate.take(view) != bool(may):
        return True
    if may:
        gate.batch()
        for group in gate.in_training:  # the oldest first, as the gate does
            if group not in joining(case, assigned):
                return True
            assigned += (group,)
    if len(assigned) < case.size and joining(case, assigned):
        return True
    return gate.full != bool(selections(case))


# ---------------------------------------------------------------------------------------- whole runs


@attrs.define(eq=False)
class World:
    """
    Draws what happens to a gate from a seed, keeps its own books, and notes what goes wrong.

    Args:
        gate: The gate.
        seed: What happens.
        hung: The chance that a group never ends by itself.
        dropping: How often a group is dropped, for each time one ends.
        decide: Whether a step may begin, beside what the gate says.
        crashing: How often the gate is lost and made from its memory, for each other event.
        jumping: How often somebody else moves the head, while no step is open.
    """

    gate: Reservations
    seed: int
    hung: float = 0.0
    dropping: float = 0.1
    decide: object = None
    crashing: float = 0.0
    jumping: float = 0.0
    rng: Random = attrs.field(init=False)
    head: int = 0
    stamps: dict = attrs.field(factory=dict)
    """By number, of all that are outstanding."""
    state: dict = attrs.field(factory=dict)
    """``hung``, ``running``, ``ready`` or ``training``, by number."""
    trained: list = attrs.field(factory=list)
    """Number, stamp and the versions at which the step began and ended."""
    began: int | None = None
    dropped: int = 0
    batches: list = attrs.field(factory=list)
    log: list = attrs.field(factory=list)
    draining: bool = False
    waits: bool = False
    """Whether the open batch has been asked for more in vain since the last event."""

    def __attrs_post_init__(self):
        self.rng = Random(self.seed)

    @property
    def view(self):
        return GateView(head=self.head, draining=self.draining, sweeping=self.began is not None)

    def those(self, state):
        return [number for number, now in self.state.items() if now == state]

    # what may happen ------------------------------------------------------------------------

    def enabled(self):
        """
        Each event that may happen now, with its weight.
        """
        running, events = self.those("running"), []
        if self.gate.admit(self.view):
            events.append((self.admit, 3))
        if running:
            events.append((self.complete, 2))
        if self.stamps:
            events.append((self.drop, 2 * self.dropping))
        if self.began is None:
            if self.may_begin():
                events.append((self.begin, 2))
        elif self.gate.full:
            events.append((self.commit, 2))
        elif not self.waits:
            events.append((self.gather, 3))
        if self.began is not None:
            events.append((self.give_up, 0.2))
        if self.began is None:
            events.append((self.jump, self.jumping))
        events.append((self.crash, self.crashing))
        return [(event, weight) for event, weight in events if weight]

    def happen(self):
        """
        One event; False when nothing can happen any more.
        """
        enabled, idle = self.enabled(), (self.drop, self.crash, self.give_up, self.jump)
        if all(event in idle for event, _ in enabled):
            return False
        events, weights = zip(*enabled, strict=True)
        event = self.rng.choices(events, weights)[0]
        self.waits = self.waits and event == self.crash
        event()
        return True

    def may_begin(self):
        return self.gate.take(self.view) and (self.decide is None or self.decide(self))

    def admit(self):
        number = self.gate.reserve(self.head)
        assert number not in self.stamps
        self.stamps[number] = self.head
        self.state[number] = "hung" if self.rng.random() < self.hung else "running"
        self.log.append(("admit", number))

    def complete(self):
        number = self.rng.choice(self.those("running"))
        self.gate.complete(number)
        self.state[number] = "ready"
        self.log.append(("complete", number))

    def drop(self):
        self.let_go(self.rng.choice(list(self.stamps)))

    def let_go(self, number):
        self.gate.drop(number)
        del self.stamps[number], self.state[number]
        self.dropped += 1
        self.log.append(("drop", number))

    def begin(self):
        assert self.gate.take(self.view)
        groups = self.gate.batch()
        assert groups
        self.began = self.head
        self.join(groups)

    def join(self, groups):
        for number in groups:
            assert "ready" == self.state[number]
            self.state[number] = "training"
        self.log.append(("batch", groups))

    def gather(self):
        more = self.gate.gather(self.view)
        if more:
            self.join(more)
        self.waits = more is None

    def commit(self):
        """
        Up to as many updates as may be; the last of them consumes the batch.
        """
        moved = self.rng.choice([0, self.gate.updates_per_step, self.gate.updates_per_step])
        for _ in range(max(0, moved - 1)):
            self.head += 1
            self.gate.trained(())
            self.check()
        batch = tuple(sorted(self.those("training")))
        self.gate.trained(batch)
        self.gate.returned()
        self.head += moved > 0
        self.batches.append(batch)
        ended = self.began + max(0, moved - 1)
        for number in batch:
            self.trained.append((number, self.stamps.pop(number), self.began, ended))
            del self.state[number]
        self.began = None
        self.log.append(("commit", batch, moved))

    def give_up(self):
        self.gate.returned()
        for number in self.those("training"):
            self.state[number] = "ready"
        self.began = None
        self.log.append(("give up",))

    def jump(self):
        """
        What can't be trained in time any more is dropped.
        """
        self.head += self.rng.randint(1, 3)
        for number in self.gate.lost(self.head):
            self.let_go(number)

    def crash(self):
        """
        The gate's memory, as text, in a new gate.
        """
        memory = json.loads(json.dumps(self.gate.memory))
        self.gate = attrs.evolve(self.gate)
        self.gate.memory = memory
        assert memory == self.gate.memory

    # what must hold ---------------------------------------------------------------------------

    @property
    def ages(self):
        """
        How old, in versions, each trained group was at its last update.
        """
        return [ended - stamp for _, stamp, _, ended in self.trained]

    def check(self):
        """
        What must hold after every event, counted from these books.
        """
        gate = self.gate
        assert tuple(sorted(self.stamps)) == gate.outstanding
        assert tuple(sorted(self.those("ready"))) == gate.ready
        assert tuple(sorted(self.those("training"))) == gate.in_training
        assert all(stamp == gate.stamp(number) for number, stamp in self.stamps.items())
        assert len(self.stamps) <= gate.capacity
        standing = gate.standing(self.head)
        assert standing.admitted == len(self.stamps) + len(self.trained) + self.dropped
        assert (len(self.trained), self.dropped) == (standing.trained, standing.dropped)
        if gate.groups is not None:
            assert len(self.trained) + len(self.stamps) <= gate.groups
        if gate.rule == "wait" and self.decide is None:
            self.check_deadlines()

    def check_deadlines(self):
        """
        Feasible, by the definition: the i-th oldest has a place among the batches that can begin
        from the one that is next, or is under way, to its deadline.
        """
        gate = self.gate
        version = self.head if self.began is None else self.began
        u = gate.updates_per_step
        for index, number in enumerate(sorted(self.stamps), 1):
            deadline = self.stamps[number] + gate.max_staleness - (u - 1)
            batches = len(range(version, deadline + 1, u))
            assert index <= batches * gate.groups_per_step
        assert gate.within_bound(self.view)

    def play(self, events):
        """
        So many events, or until nothing can happen.
        """
        for _ in range(events):
            if not self.happen():
                break
            self.check()
        return self

    def finish(self):
        """
        Admit nothing more, and play to the end.
        """
        self.draining, self.waits = True, False
        while self.happen():
            self.check()
        return self


def random_gate(rng, **options):
    """
    A small gate of any kind.
    """
    updates = options.pop("updates_per_step", rng.choice([1, 1, 1, 2]))
    staleness = options.pop("max_staleness", rng.randint(updates - 1, updates + 3))
    oversample = rng.choice([1.0, 1.0, 1.25, 1.5]) if staleness else 1.0
    given = {
        "groups_per_step": rng.randint(1, 4),
        "max_staleness": staleness,
        "admit_ahead": rng.randint(0, staleness + 1),
        "oversample_factor": oversample,
        "batch_order": rng.choice(["completion", "completion", "admission"]),
        "updates_per_step": updates,
        "early": rng.random() < 0.3,
        "groups": rng.choice([None, None, rng.randint(1, 30)]),
    }
    return Reservations(**given | options)


def due_now(world):
    """
    The weaker rule: a step waits only for groups that are due at the head's version.
    """
    due = world.head - world.gate.max_staleness
    running = world.those("running") + world.those("hung")
    return all(world.stamps[number] > due for number in running)


def breaks_bound(seed, decide, batches, events=150):
    """
    Whether a random run with so many batches of look-ahead trains a group too late, or can't train
    one in time any more.
    """
    rng = Random(seed)
    gate = Reservations(
        groups_per_step=rng.randint(1, 4),
        max_staleness=batches,
        admit_ahead=batches,
        rule="none" if decide else "wait",
    )
    world = World(gate, seed, decide=decide, dropping=0.0)
    for _ in range(events):
        if not world.happen():
            break
        late = world.head - world.gate.max_staleness
        if any(stamp < late for stamp in world.stamps.values()):
            return True
    return any(age > batches for age in world.ages)
