"""
Runs the aggregator's steps: generators that ask for things and are resumed with the answers.
"""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import attrs

from headway.contracts import Aggregator, Artifact, Domain, Fault, Json, Request, Step, StepContext
from headway.errors import ContractError
from headway.keyed import keyed_rng
from headway.machine import (
    Event,
    MachineConfig,
    Raised,
    Resume,
    Returned,
    StepStart,
    Yielded,
)


def fault_of(where: str, error: BaseException, task: str | None = None) -> Fault:
    """
    An exception as it stands in the journal and the result.
    """
    return Fault(
        where=where,
        type=type(error).__name__,
        message=str(error) or repr(error),
        task=task,
        traceback="".join(traceback.format_exception(error)),
    )


@attrs.define(eq=False)
class StepHost:
    """
    The open steps of one run; used from one thread at a time.

    Args:
        aggregator: Whose steps they are.
        domain: What applies diffs.
        config: The machine's options.
    """

    aggregator: Aggregator
    domain: Domain
    config: MachineConfig
    _open: dict[int, Step] = attrs.field(factory=dict[int, Step], init=False)

    def resume(self, instruction: Resume, now: float) -> Event:
        """
        Hand a step its answer and report what it does next.
        """
        step, n = instruction.step, instruction.n + 1
        try:
            request = self._advance(instruction)
        except StopIteration as stop:
            self._open.pop(step, None)
            return Returned(now, step, n, stop.value)
        except Exception as error:  # noqa: BLE001 - a plug-in may raise anything; it is contained
            self._open.pop(step, None)
            return Raised(now, step, n, fault_of("aggregator", error))
        if not isinstance(request, Request):
            self.abort(step)
            message = f"a step yielded {request!r}, which is no request"
            return Raised(now, step, n, fault_of("aggregator", ContractError(message)))
        return Yielded(now, step, n, request)

    def _advance(self, instruction: Resume) -> Any:
        if instruction.n:
            return self._open[instruction.step].send(instruction.value)
        start: StepStart = instruction.value
        context = self.context(instruction.step, start)
        generator = self.aggregator.step(start.cards, context)
        if not hasattr(generator, "send"):
            message = f"step returned {generator!r}; it must be a generator, with a yield in it"
            raise TypeError(message)
        self._open[instruction.step] = generator
        return next(generator)

    def context(self, step: int, start: StepStart) -> StepContext:
        """
        What a step is told.
        """
        return StepContext(
            head=start.head,
            memory=start.memory,
            held_out=self.config.held_out,
            deterministic=self.config.deterministic,
            quiet=start.quiet,
            rng=keyed_rng(self.config.seed, "step", step),
            step=step,
            combine=self.combine,
        )

    def combine(self, artifact: Artifact, *diffs: Json) -> Artifact:
        """
        An artifact with diffs applied one after the other.
        """
        value = artifact.value
        for diff in diffs:
            value = self.domain.apply(value, diff)
        return Artifact(value)

    def abort(self, step: int) -> None:
        """
        Close a step, if it is still open.
        """
        generator = self._open.pop(step, None)
        if generator is not None:
            with suppress(Exception):  # nobody listens to a closed step, whatever it says
                generator.close()

    @property
    def open(self) -> Mapping[int, Step]:
        """
        The steps that are open.
        """
        return dict(self._open)
