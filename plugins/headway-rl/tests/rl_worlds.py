"""
Worlds and trainers that several tests of headway-rl share.
"""

from __future__ import annotations

from headway.contracts import Card, Member
from headway_envs import Step
from headway_rl import (
    Adam,
    AsyncTrainer,
    Network,
    NumpyTrainer,
    Published,
    Schedule,
    Segment,
    Trajectory,
)

NETWORK = Network(features=4, hidden=8, actions=4)


class Echo:
    """
    Four turns; the right action is the one that is shown, and each turn is worth a quarter.
    """

    turns = 4

    def reset(self, task, rng):
        self.rng, self.turn = rng, 0
        return self.shown()

    def shown(self):
        self.right = self.rng.randrange(4)
        return [float(n == self.right) for n in range(4)]

    def step(self, action):
        self.turn += 1
        reward = (action == self.right) / self.turns
        return Step(self.shown(), reward, self.turn == self.turns, {"turn": self.turn})


class AsyncEcho(Echo):
    async def reset(self, task, rng):
        return super().reset(task, rng)

    async def step(self, action):
        return super().step(action)


def numpy_trainer(**more):
    return NumpyTrainer(**{"network": NETWORK, "optimizer": Adam(learning_rate=0.05), **more})


def async_trainer(environment=Echo, trainer=None, **more):
    """
    A trainer of four groups of four, which says nothing.
    """
    return AsyncTrainer(
        **{
            "environment": environment,
            "trainer": trainer or numpy_trainer(),
            "rows": [0] * 16,
            "held_out": [0] * 8,
            "groups_per_step": 4,
            "group_size": 4,
            "schedule": Schedule(concurrency=8),
            "announce": None,
            **more,
        }
    )


def trajectory(reward, versions=(0,), seed=0):
    parts = tuple(
        Segment(
            version=version,
            actions=[(seed + k) % 4],
            logprobs=[-1.25],
            observation=[float(n == (seed * 7 + k) % 4) for n in range(4)],
        )
        for k, version in enumerate(versions)
    )
    return Trajectory(segments=parts, reward=reward)


def card(number, rewards, versions=(0,), head=0):
    """
    A group as a step gets it.
    """
    members = tuple(
        Member(
            ticket=10 * number + place,
            member=place,
            base=versions[0],
            payload=None,
            reward=reward,
            output=trajectory(reward, versions, seed=number + place).to_json(),
        )
        for place, reward in enumerate(rewards)
    )
    return Card(
        number=number,
        tickets=tuple(m.ticket for m in members),
        task="row-0",
        base=versions[0],
        diff=None,
        digest=f"{number:064}",
        reward=sum(rewards) / len(rewards),
        eta=head - versions[0],
        members=members,
    )


class Scribe:
    """
    A trainer that writes down what it is asked, and whose weights are the list of steps that it made.
    """

    def __init__(self):
        self.said = []
        self.made = []
        self.gradient = []
        self.fails = []  # what is to fail next, by name

    def _say(self, name, *more):
        self.said.append((name, *more))
        if self.fails and self.fails[0] == name:
            self.fails.pop(0)
            message = f"{name} failed"
            raise RuntimeError(message)

    def forward_backward(self, groups, reset):
        numbers = [group.group.number for group in groups]
        self._say("forward_backward", numbers, reset)
        self.gradient = [*([] if reset else self.gradient), *numbers]
        return {"train/loss": float(len(numbers))}

    def optim_step(self, step_id, factor):
        self._say("optim_step", step_id, factor)
        self.made = [*self.made, sorted(self.gradient)]
        self.gradient = []
        return {"train/norm": 1.0}

    def publish(self):
        self._say("publish")
        return Published(reference=list(self.made), fingerprint=str(self.made))

    def state_dict(self):
        self._say("state_dict")
        return len(self.made)

    def load(self, published, state):
        self._say("load", state)
        self.made, self.gradient = list(published.reference), []

    def policy(self, published, version):
        raise NotImplementedError


class AsyncScribe(Scribe):
    async def forward_backward(self, groups, reset):
        return super().forward_backward(groups, reset)

    async def optim_step(self, step_id, factor):
        return super().optim_step(step_id, factor)

    async def publish(self):
        return super().publish()

    async def state_dict(self):
        return super().state_dict()

    async def load(self, published, state):
        return super().load(published, state)
