"""
What the arithmetic of a step sees of a card.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import attrs

from headway.contracts import Card
from headway.errors import ContractError, shown
from headway_es._kernels import Array
from headway_es._shaping import Fitness

ThetaAt: TypeAlias = Callable[[int], Array | None]
"""The centre at a version; None when it is not known any more."""


@attrs.frozen(kw_only=True)
class Evidence:
    """
    One pair, or one single sample, that has been evaluated.

    Args:
        job: The number of the job that its noise is keyed by.
        fitness: Raw, higher is better: ``(f_plus, f_minus)`` or ``(f,)``.
        sigma: The size of its perturbation.
        base: The version of the centre that was perturbed.
        lag: How many versions the centre has moved since.
        task: The id of the task that it was evaluated on.
        batch: The number of the batch that the job was begun for.
        episodes: How many episodes that took.
    """

    job: int
    fitness: Fitness
    sigma: float
    base: int
    lag: int = 0
    task: str = ""
    batch: int = 0
    episodes: int = 1

    @property
    def mean(self) -> float:
        """
        The mean of its fitness.
        """
        return math.fsum(self.fitness) / len(self.fitness)


def evidence_of(card: Card, version: int) -> Evidence:
    """
    What a card of a group of one says, at a version of the head.

    Raises:
        ContractError: its payload or output is none of an evolution strategy.
    """
    (member,) = card.members
    try:
        payload: Mapping[str, Any] = member.payload
        job, sigma, batch = payload["job"], payload["sigma"], payload["batch"]
        output: Mapping[str, Any] = member.output
        names = ("f_plus", "f_minus") if "f_minus" in output else ("f_plus",)
        fitness = tuple(float(output[name]) for name in names)
        episodes = int(output.get("n_episodes", 1))
    except (TypeError, KeyError, ValueError, AttributeError) as error:
        told = "its rollout must be one of ESDomain's, with f_plus and f_minus in the output"
        raise ContractError(f"card {card.number} holds {shown(member.output)}: {told}") from error
    return Evidence(
        job=job,
        fitness=fitness,
        sigma=sigma,
        base=member.base,
        lag=version - member.base,
        task=card.task,
        batch=batch,
        episodes=episodes,
    )


def in_order(cards: Iterable[Evidence]) -> list[Evidence]:
    """
    By the number of the job, which is the order that counts; the order of arrival never does.
    """
    return sorted(cards, key=lambda card: card.job)


def check_alike(cards: Sequence[Evidence]) -> None:
    """
    Refuse pairs and single samples in one batch.

    Raises:
        ContractError: there are both.
    """
    if len({len(card.fitness) for card in cards}) > 1:
        raise ContractError(
            "pairs and single samples are in one batch; give mirrored the same throughout"
        )
