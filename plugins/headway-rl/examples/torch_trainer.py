"""
A torch module as a trainer: the contract of ``headway_rl.Trainer`` in about a hundred lines.

    python plugins/headway-rl/examples/torch_trainer.py

It trains on MiniTerm for a few updates.  Take it as a start: any module that gives logits for a
batch of observations fits, on any device; for a language model, a segment holds many tokens, and
``_losses`` is the place that knows how they are scored.
"""

from __future__ import annotations

import io
import random
from collections.abc import Sequence

import numpy as np
import torch
from torch import nn

from headway.contracts import Json
from headway_rl import Published, Sample, WeightedGroup, WeightStore, fingerprint


class TorchPolicy:
    """
    Samples actions with a module that nobody trains.
    """

    def __init__(self, module: nn.Module, version: int) -> None:
        self.module, self.version = module, version

    @torch.no_grad()
    def sample(self, observation: Json, rng: random.Random) -> Sample:
        logs = torch.log_softmax(self.module(_rows([observation])), -1)[0].double().cpu().numpy()
        chances = np.cumsum(np.exp(logs))
        action = min(int(np.searchsorted(chances, rng.random(), side="right")), len(logs) - 1)
        return Sample(actions=(action,), logprobs=(float(logs[action]),), version=self.version)


class TorchTrainer:
    """
    Policy gradient with weighted groups over a torch module.

    Args:
        make: Makes the module; called again for each version that is sampled with.
        store: Where weights and the optimizer's state lie.
        learning_rate: Adam's.
    """

    def __init__(self, make, store: WeightStore, learning_rate: float = 1e-3) -> None:
        self.make, self.store, self.learning_rate = make, store, learning_rate
        self.module = make()
        self._last: tuple[str, dict[str, float]] | None = None
        self._policies: dict[str, nn.Module] = {}
        self._fresh()

    def _fresh(self) -> None:
        self.optimizer = torch.optim.Adam(self.module.parameters(), lr=self.learning_rate)
        self._last = None

    # ---------------------------------------------------------------- training

    def forward_backward(self, groups: Sequence[WeightedGroup], reset: bool) -> dict[str, float]:
        if reset:
            self.optimizer.zero_grad(set_to_none=True)
        loss = torch.zeros(()) + sum(map(self._losses, groups))
        if loss.requires_grad:
            loss.backward()  # adds to what is there
        return {"train/loss": float(loss.detach())}

    def _losses(self, group: WeightedGroup) -> torch.Tensor | float:
        rows = [
            (part.observation, part.actions[0], advantage)
            for trajectory, advantage in group.sequences
            for part in trajectory.segments
            if group.oldest is None or part.version >= group.oldest
        ]
        if not rows:
            return 0.0
        seen, actions, weights = zip(*rows, strict=True)
        logs = torch.log_softmax(self.module(_rows(seen)), -1)
        chosen = logs.gather(1, torch.tensor(actions)[:, None])[:, 0]
        return -(torch.tensor(weights, dtype=logs.dtype) * chosen).sum()

    def optim_step(self, step_id: str, factor: float) -> dict[str, float]:
        if self._last is not None and self._last[0] == step_id:
            return self._last[1]
        for parameter in self.module.parameters():
            if parameter.grad is not None:
                parameter.grad *= factor  # the batch's common factor, known only now
        norm = nn.utils.clip_grad_norm_(self.module.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self._last = (step_id, {"train/gradient_norm": float(norm)})
        return self._last[1]

    # ---------------------------------------------------------------- what is kept

    def publish(self) -> Published:
        arrays = _arrays(self.module)
        return Published(reference=self.store.put(arrays), fingerprint=fingerprint(arrays))

    def state_dict(self) -> Json:
        buffer = io.BytesIO()
        torch.save(self.optimizer.state_dict(), buffer)
        raw = np.frombuffer(buffer.getvalue(), np.uint8)
        return self.store.put({"optimizer": raw.astype(np.int64)})

    def load(self, published: Published, state: Json) -> None:
        self.module = self._module(published)
        self._fresh()
        if state is not None:
            raw = self.store.get(state)["optimizer"].astype(np.uint8).tobytes()
            self.optimizer.load_state_dict(torch.load(io.BytesIO(raw), weights_only=True))

    def policy(self, published: Published, version: int) -> TorchPolicy:
        module = self._policies.get(published.fingerprint)
        if module is None:
            module = self._module(published).eval()
            kept = [*self._policies.items()][-8:]  # a new dict: others read the old one
            self._policies = {**dict(kept), published.fingerprint: module}
        return TorchPolicy(module, version)

    def _module(self, published: Published) -> nn.Module:
        module = self.make()
        arrays = self.store.get(published.reference)
        if fingerprint(arrays) != published.fingerprint:
            message = "the weights have another fingerprint than was published"
            raise ValueError(message)
        module.load_state_dict({name: torch.from_numpy(a.copy()) for name, a in arrays.items()})
        return module


def _rows(observations: Sequence[Json]) -> torch.Tensor:
    return torch.tensor(np.asarray(observations), dtype=torch.float32)


def _arrays(module: nn.Module) -> dict[str, np.ndarray]:
    return {name: t.detach().cpu().numpy().copy() for name, t in module.state_dict().items()}


def network(features: int, actions: int, hidden: int = 64) -> nn.Module:
    """
    A module with the same first weights every time.
    """
    state = torch.random.get_rng_state()
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(features, hidden), nn.Tanh(), nn.Linear(hidden, actions))
    torch.random.set_rng_state(state)
    return module


def main() -> None:
    from headway_envs.miniterm import MiniTerm, TaskBatch
    from headway_rl import AsyncTrainer, MemoryStore, Schedule

    tasks, held_out = TaskBatch.draw(0, 0, 256), TaskBatch.draw(0, 1, 32)
    trainer = AsyncTrainer(
        environment=MiniTerm,
        trainer=TorchTrainer(lambda: network(27, 12), MemoryStore()),
        rows=[tasks.task(n) for n in range(len(tasks))],
        held_out=[held_out.task(n) for n in range(len(held_out))],
        schedule=Schedule(concurrency=32),
    )
    for step in trainer.steps(updates=10):
        print(step.update, f"{step.metrics['reward/mean']:.3f}")


if __name__ == "__main__":
    main()
