"""
A machine that tests drive by hand: they answer its calls and speak for its steps.
"""

from __future__ import annotations

from headway import Artifact, Backpressure, LagGate, Snapshot
from headway.builtins._policies import Guarded
from headway.builtins._sampler import ShuffledEpochs
from headway.contracts import CardDecided, Fault, Outcome, Proposal, content_digest
from headway.machine import (
    Abort,
    Done,
    Failed,
    Machine,
    MachineConfig,
    Notify,
    PluginLookups,
    Raised,
    Resume,
    Returned,
    Run,
    Started,
    Stop,
    Yielded,
)

FAULT = Fault(where="test", type="Boom", message="it broke")
HEAD = Snapshot(0, Artifact({"k": 0}))


class Optimizer:
    """
    Only its batch counts: the steps are played by hand.
    """

    batch = 1


class Hand:
    """
    A machine, and all that it asked for and that was not answered yet.
    """

    def __init__(self, gate=None, lookups=None, pressure=None, **config):
        config = {"train": ("a", "b"), "held_out": ("x", "y"), "self_verify": False} | config
        self.config = MachineConfig(**{"seed": 0, "n_workers": 1, "slots": 2} | config)
        self.machine = Machine(
            self.config,
            gate=gate or LagGate(n_workers=self.config.n_workers, async_ratio=3),
            alpha=3,
            backpressure=pressure or Backpressure(),
            lookups=lookups
            or PluginLookups(
                aggregator=Optimizer(), policy=Guarded(), sampler=ShuffledEpochs(), estimator=None
            ),
        )
        self.now = 0.0
        self.runs: dict[int, Run] = {}
        self.resumed = None
        self.out: list = []
        self.notices: list = []
        self.answered: list[int] = []
        self.diffs = 0

    def feed(self, event):
        """
        Hand in an event; returns what the machine says to it.
        """
        out = self.machine.handle(event)
        self.machine.validate()
        for instruction in out:
            if isinstance(instruction, Run):
                self.runs[instruction.call.id] = instruction.call
            elif isinstance(instruction, Resume):
                self.resumed = instruction
            elif isinstance(instruction, Notify):
                self.notices.append(instruction.notice)
            elif isinstance(instruction, Abort) and self.resumed is not None:
                self.resumed = None if self.resumed.step == instruction.step else self.resumed
        self.out += out
        return out

    def calls(self, kind):
        """
        The calls of one kind that run, oldest first.
        """
        running = {call.id for call in self.machine.in_flight}
        return [
            c
            for n, c in self.runs.items()
            if c.kind == kind and (n in running or kind in ("commit", "promote"))
        ]

    def done(self, kind, value, place=0):
        """
        Answer a running call of one kind.
        """
        call = self.calls(kind)[place]
        del self.runs[call.id]
        self.answered.append(call.id)
        return self.feed(Done(self.now, call.id, value))

    def failed(self, kind, place=0, fault=FAULT):
        call = self.calls(kind)[place]
        del self.runs[call.id]
        self.answered.append(call.id)
        return self.feed(Failed(self.now, call.id, fault))

    def failed_to_measure(self, value, fault=FAULT):
        """
        The running measurement of an artifact fails.
        """
        wanted = [call.artifact.value["k"] for call in self.calls("measure")]
        return self.failed("measure", wanted.index(value), fault)

    def start(self):
        self.feed(Started(0.0, HEAD))
        return self

    def baseline(self, score=0.0):
        """
        Answer the measurements that run, until none runs.
        """
        while self.calls("measure"):
            self.done("measure", score)
        return self

    def card(self, diff=None):
        """
        Roll one ticket out, up to its card.
        """
        self.diffs += 1
        self.done("rollout", Outcome(reward=0.0))
        return self.done("propose", proposal({"k": self.diffs} if diff is None else diff))

    def says(self, request):
        """
        The step that was resumed last asks for something.
        """
        step, n = self.resumed.step, self.resumed.n + 1
        return self.feed(Yielded(self.now, step, n, request))

    def returns(self, memory=None):
        step, n = self.resumed.step, self.resumed.n + 1
        return self.feed(Returned(self.now, step, n, memory))

    def raises(self):
        step, n = self.resumed.step, self.resumed.n + 1
        return self.feed(Raised(self.now, step, n, FAULT))

    @property
    def cards(self):
        """
        The cards of the step that was begun last.
        """
        starts = [i.value for i in self.out if isinstance(i, Resume) and i.n == 0]
        return starts[-1].cards

    def finish(self, score=0.0):
        """
        Answer whatever the machine still waits for.
        """
        while self.machine.phase != "finished":
            if self.calls("measure"):
                self.done("measure", score)
            elif self.calls("rollout"):
                self.done("rollout", Outcome(reward=1.0))
            else:
                self.feed(Stop(self.now, "interrupted"))
        return self

    @property
    def decisions(self):
        """
        What became of each card, in order.
        """
        told = [n.decision for n in self.notices if isinstance(n, CardDecided)]
        return [(d.card, d.kind, d.reason) for d in told]


def proposal(diff, **more):
    return Proposal(diff=diff, digest=content_digest(diff), keys=tuple(sorted(diff)), **more)


def artifact(value):
    return Artifact({"k": value})
