"""
What a card of an evolution strategy costs where noise and objective cost nothing.

Three loops make the same updates of the same sizes under ``wait-K``: ``(1 + K) N`` cards are begun and not used, and
which of them ends next is random.
"""

from __future__ import annotations

from random import Random
from statistics import median
from time import process_time


class Bare:
    """
    Counters alone: how many cards of each base are outstanding and ready, and whether a step may begin.
    """

    def __init__(self, size, staleness):
        self.size, self.staleness = size, staleness
        self.outstanding, self.ready = {}, {}

    def run(self, updates, pick):
        running, begun, waiting = [], 0, 0
        for version in range(updates):
            while begun < (1 + self.staleness) * self.size:
                running.append(version)
                self.outstanding[version] = self.outstanding.get(version, 0) + 1
                begun += 1
            while waiting < self.size or not self.legal(version):
                base = swapped(running, pick())
                self.ready[base] = self.ready.get(base, 0) + 1
                waiting += 1
            begun, waiting = begun - self.size, waiting - self.size
            self.step()

    def legal(self, version):
        left, rest = self.size, 0
        for base, count in self.outstanding.items():
            gone = min(left, self.ready.get(base, 0))
            left, rest = left - gone, rest + count - gone
            if rest > self.size * (base + self.staleness - version):
                return False
        return True

    def step(self):
        left = self.size
        for base in list(self.outstanding):
            gone = min(left, self.ready.get(base, 0))
            left -= gone
            if gone == self.outstanding[base]:
                del self.outstanding[base], self.ready[base]
            elif gone:
                self.outstanding[base] -= gone
                self.ready[base] -= gone


class Core:
    """
    Buffer, gate and merger, asked and told what the machine asks and tells them of each card.
    """

    def __init__(self, size, staleness):
        from headway import GateView, Reservations
        from headway.buffer import EvidenceBuffer
        from headway.contracts import Card, Member
        from headway.merger import Merger

        self.gate = Reservations(
            groups_per_step=size, max_staleness=staleness, admit_ahead=staleness
        )
        self.buffer = EvidenceBuffer()
        self.merger = Merger(decide=lambda eta, alpha, breaking: "accept", alpha=staleness)
        self.view, self.card, self.member = GateView, Card, Member

    def run(self, updates, pick):
        gate, running = self.gate, []
        for version in range(updates):
            while gate.has_room:
                running.append(self.begin(version))
            while not self.may_step(version):
                self.end(*swapped(running, pick()))
                gate.waits_for(version)
            self.step(version)

    def begin(self, version):
        return self.gate.reserve(version), version, None

    def end(self, number, base, payload):
        """
        A rollout has ended: its card is made and put into the buffer.
        """
        fitness = float(number)
        output = {"f_plus": fitness, "f_minus": fitness, "n_episodes": 1}
        self.gate.complete(number)
        self.buffer.put(
            self.card(
                number=number,
                tickets=(number,),
                task="train",
                base=base,
                diff=None,
                digest=f"group {number}",
                reward=fitness,
                members=(self.member(number, 0, base, payload, fitness, output),),
            )
        )

    def may_step(self, version):
        if not self.gate.ripe:
            return False
        undecided, waiting, held = self.buffer.counts()
        return self.gate.take(
            self.view(undecided=undecided, waiting=waiting, held=held, head=version)
        )

    def step(self, version):
        leased, _ = self.buffer.lease(self.gate.batch())
        cards = self.merger.sweep(leased, version).accepted
        for card in cards:
            self.buffer.update(card)
        self.use(cards, version)
        self.merger.committed(version + 1, ("theta",))
        for card in cards:
            self.buffer.settle(card.number)
            self.gate.trained((card.number,))

    def use(self, cards, version):
        """
        What the optimizer does with a batch.
        """


class Whole(Core):
    """
    The same with the optimizer ``ES``: what it gives to workers, and its steps.

    Both halves of each pair are equally fit, so every weight is 0, and ``ES`` draws no noise for such a pair; theta
    has two parameters.
    """

    def __init__(self, size, staleness):
        import numpy as np

        from headway.contracts import Artifact, Snapshot, StepContext, Ticket
        from headway_es import ES, state_of

        super().__init__(size, staleness)
        self.optimizer, self.memory = ES(population=size), None
        self.ticket, self.snapshot, self.context = Ticket, Snapshot, StepContext
        self.head = Snapshot(0, Artifact(state_of(np.zeros(2))))

    def begin(self, version):
        number = self.gate.reserve(version)
        ticket = self.ticket(number=number, base=version, worker=0, seed=7, group=number)
        return number, version, self.optimizer.select(ticket, self.head, None, None).payload

    def use(self, cards, version):
        context = self.context(
            head=self.head,
            memory=self.memory,
            held_out=("held out",),
            deterministic=True,
            quiet=False,
            rng=None,
            step=version,
            combine=None,
        )
        (commit,) = self.optimizer.step(cards, context)
        self.memory, self.head = commit.memory, self.snapshot(version + 1, commit.candidate)


LOOPS = {"bare": Bare, "core": Core, "whole": Whole}


def swapped(running, chance):
    """
    Take one out of a list whose order does not matter.
    """
    at = int(chance * len(running))
    running[at], running[-1] = running[-1], running[at]
    return running.pop()


def looped(size, staleness, updates, times):
    """
    Microseconds of CPU per card of each loop, in turn, ``times`` times over.
    """
    found = {name: [] for name in LOOPS}
    for make in LOOPS.values():  # imports are paid once
        make(size, staleness).run(2, Random(1).random)
    for seed in range(times):
        for name, make in LOOPS.items():
            loop, began = make(size, staleness), process_time()
            loop.run(updates, Random(seed).random)
            found[name].append((process_time() - began) / (size * updates) * 1e6)
    return {name: median(each) for name, each in found.items()} | {"rows": found}
