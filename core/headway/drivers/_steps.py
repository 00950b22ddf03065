"""
Runs the aggregator's steps: generators that ask for things and are resumed with the answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cache, partial
from typing import Any, TypeVar

import attrs

from headway.contracts import (
    KEEP,
    Aggregator,
    Artifact,
    Carry,
    Commit,
    Compare,
    Consume,
    Domain,
    Fault,
    Gather,
    Json,
    Measure,
    MeasureAll,
    Promote,
    Removal,
    Request,
    Step,
    StepContext,
    Train,
)
from headway.contracts._memories import memory_copy
from headway.drivers._copies import copied, json_copy
from headway.errors import ContractError
from headway.keyed import keyed_rng
from headway.machine import (
    MachineConfig,
    Raised,
    Resume,
    Returned,
    StepStart,
    Yielded,
)

T = TypeVar("T")


@attrs.define(eq=False)
class StepHost:
    """
    The open steps of one run; used from one thread at a time.

    Args:
        aggregator: Whose steps they are.
        domain: What applies diffs.
        config: The machine's options.
        blast_radius: How much a bad commit would damage, from 0 to 1.
    """

    aggregator: Aggregator
    domain: Domain
    config: MachineConfig
    blast_radius: float = 0.2
    _open: dict[int, Step] = attrs.field(factory=dict[int, Step], init=False)
    _of_domain: BaseException | None = attrs.field(default=None, init=False)

    def resume(self, instruction: Resume, now: Callable[[], float]) -> Yielded | Returned | Raised:
        """
        Hand a step its answer and report what it does next.

        Args:
            instruction: Which step, and its answer.
            now: The clock that the report is dated by.
        """
        step, n = instruction.step, instruction.n + 1
        began = now()
        try:
            request = _settled(self._advance(instruction))
        except StopIteration as stop:
            del self._open[step]
            memory: Json = stop.value
            ended = now()
            return Returned(ended, step, n, memory, ended - began)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - contained
            self.abort(step)
            ended = now()
            where = "domain" if error is self._of_domain else "aggregator"
            return Raised(ended, step, n, Fault.of(where, error), ended - began)
        ended = now()
        return Yielded(ended, step, n, request, ended - began)

    def _advance(self, instruction: Resume) -> Any:
        if instruction.n:
            return self._open[instruction.step].send(_own(instruction.value))
        start: StepStart = instruction.value
        context = self.context(instruction.step, start)
        generator = self.aggregator.step(start.cards, context)
        if not hasattr(generator, "send"):
            message = f"step returned {generator!r}; it must be a generator, with a yield in it"
            raise TypeError(message)
        self._open[instruction.step] = _with_plain_memory(generator)
        return next(self._open[instruction.step])

    def context(self, step: int, start: StepStart) -> StepContext:
        """
        What a step is told.
        """
        return StepContext(
            head=start.head,
            memory=copied(start.memory),
            held_out=self.config.held_out,
            deterministic=start.deterministic,
            quiet=start.quiet,
            # Made when it is asked for first: most steps draw nothing.
            rng=cache(partial(keyed_rng, self.config.seed, "step", step)),
            step=step,
            combine=self.combine,
            oracle=self.config.oracle,
            blast_radius=self.blast_radius,
            reward_range=self.domain.reward_range,
            stable=start.stable,
            removals=partial(self.removals, start.head.artifact),
            describe=self.describe,
        )

    def combine(self, artifact: Artifact, *diffs: Json) -> Artifact:
        """
        An artifact with diffs applied one after the other.
        """
        value = artifact.value
        for diff in diffs:
            value = self._ask(self.domain.apply, value, diff)
        return Artifact(value)

    def describe(self, artifact: Artifact) -> Mapping[str, float]:
        """
        What kind of solution the domain says that an artifact is.
        """
        return self._ask(self._described, artifact.value)

    def _described(self, value: Json) -> Mapping[str, float]:
        found = self.domain.describe(value)
        for name, number in found.items():
            if not 0 <= number <= 1:
                message = f"describe() says {name}={number!r}; it must say numbers from 0 to 1"
                raise ContractError(message)
        return found

    def _ask(self, method: Callable[..., T], *arguments: Json) -> T:
        try:
            return method(*arguments)
        except (Exception, SystemExit) as error:
            self._of_domain = error  # else it would be taken for the aggregator's
            raise

    def removals(self, artifact: Artifact) -> tuple[Removal, ...]:
        """
        What the domain would take out of an artifact, asked only when a step wants to know.
        """
        keys = self.domain.keys
        diffs = self.domain.removals(artifact.value)
        return tuple(Removal(diff=diff, keys=tuple(keys(diff))) for diff in diffs)

    def abort(self, step: int) -> None:
        """
        Close a step, if it is still open.
        """
        generator = self._open.pop(step, None)
        if generator is not None:
            with suppress(Exception):  # nobody listens to a closed step, whatever it says
                generator.close()


def _own(answer: Any) -> Any:
    """
    An answer that the step may change; the cards that it is given are the machine's own.
    """
    return copied(answer) if type(answer) in (dict, list) else answer


def _with_plain_memory(step: Step) -> Step:
    """
    The same step, whose returned memory is a copy made of JSON values.
    """
    return memory_copy((yield from step))


def _candidates(request: Measure | MeasureAll | Compare) -> Iterator[Artifact]:
    if isinstance(request, Compare):
        yield request.reference
    for part in request.measures if isinstance(request, MeasureAll) else (request,):
        yield from part.candidates


def _settled(request: Any) -> Request:
    """
    A request whose content has been looked at, so that nothing in it can fail later.

    Raises:
        ContractError: it is no request.
        TypeError: a candidate or a payload is not made of JSON types, or the memory of them and of
            artifacts.
        ValueError: a candidate, a payload or the memory holds NaN or an infinity.
    """
    if isinstance(request, Measure | MeasureAll | Compare):
        digests = [candidate.digest for candidate in _candidates(request)]
        assert all(digests)
        return request
    if isinstance(request, Commit):
        digest = request.candidate.digest
        assert digest
        kept = request.memory is KEEP
        return request if kept else attrs.evolve(request, memory=memory_copy(request.memory))
    if isinstance(request, Train):
        return attrs.evolve(request, payload=json_copy(request.payload))
    if isinstance(request, Consume | Carry | Promote | Gather):
        return request
    message = f"a step yielded {request!r}, which is no request"
    raise ContractError(message)
