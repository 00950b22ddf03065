"""
Steps taken by hand: what a run gave its steps, and a desk that answers what they ask for.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from copy import deepcopy
from typing import Any, TypeAlias, cast

import attrs

from headway.contracts import (
    KEEP,
    Artifact,
    Card,
    Carry,
    Commit,
    Compare,
    Consume,
    Gather,
    Json,
    Measure,
    MeasureAll,
    Promote,
    Selector,
    Snapshot,
    Step,
    StepContext,
    Ticket,
    Train,
    Work,
    canonical_json,
)
from headway.contracts._memories import memory_text
from headway.errors import shown
from headway.machine import (
    Done,
    Event,
    Failed,
    Instruction,
    MeasureCall,
    Resume,
    StepStart,
    TrainCall,
)
from headway.testing._comparing import compared
from headway.testing._must import AuditError
from headway.testing._rehearsal import Rehearsal, Stage
from headway.testing.conformance._aggregator_groups import Nature, insist_payload_alone
from headway.testing.conformance._common import Make, insist

Around: TypeAlias = Callable[[], AbstractContextManager[None]]
"""What is entered whenever the plug-in's own code runs."""

MANY = 10_000
"""Requests that no step needs."""

_NO_REQUEST = (
    "yield one of Measure, MeasureAll, Compare, Train, Commit, Consume, Carry, Promote and Gather"
    " of headway.contracts"
)
_NOT_HELD = (
    "commit, consume or carry each card of the sweep at most once, and none that this step was not"
    " given: keep no card beyond its step"
)
_NO_END = (
    "let every step end: it gets one sweep's cards, and further cards get further steps; what Gather"
    " answers last is ()"
)
_NOT_GATHERED = (
    "have the whole batch first: while more := (yield Gather()): held += more; each answer but () is"
    " some further groups"
)
_NO_GENERATOR = "write step as a generator: a plain function, with a yield in it"


@attrs.frozen(kw_only=True)
class Case:
    """
    What a step was given in a run.

    Args:
        step: Its number.
        start: What it began with.
        nature: What its aggregator says of itself.
        gathered: The groups that it was given later, as they came.
    """

    step: int
    start: StepStart
    nature: Nature
    gathered: tuple[tuple[Card, ...], ...] = ()

    @property
    def cards(self) -> tuple[Card, ...]:
        """
        All that it was given.
        """
        return sum(self.gathered, tuple(self.start.cards))

    def with_cards(self, *cards: Card, gathered: Sequence[Sequence[Card]] = ()) -> Case:
        """
        The same with other cards.
        """
        parts = tuple(tuple(part) for part in gathered)
        return attrs.evolve(self, start=attrs.evolve(self.start, cards=cards), gathered=parts)

    @property
    def quiet(self) -> Case:
        """
        The same where nothing else can happen any more.
        """
        return attrs.evolve(self, start=attrs.evolve(self.start, quiet=True))


@attrs.frozen(kw_only=True)
class Selection:
    """
    What ``select`` was given in a run.
    """

    ticket: Ticket
    head: Snapshot
    memory: Json
    state: Any

    def ask(self, part: Selector) -> Work:
        """
        Ask again, with equal arguments.
        """
        rng = random.Random(0)  # noqa: S311 - it continues the run's own
        rng.setstate(self.state)
        return part.select(self.ticket, self.head, self.memory, rng)

    @property
    def spelled(self) -> str:
        """
        The arguments, to be compared with what they are later.
        """
        return memory_text([self.head.artifact.value, self.memory])


class StandIn:
    """
    Stands in for an aggregator: asks ``inner`` for one whenever it is called.

    Args:
        inner: Gives the aggregator that is to answer.
    """

    def __init__(self, inner: Callable[[], Any]) -> None:
        self.inner = inner
        self.selections: list[Selection] = []
        like = inner()
        self.batch: int = like.batch
        vars(self).update(attrs.asdict(Nature.of(like)))
        self.max_steps: int = getattr(like, "max_steps", 1)
        if isinstance(like, Selector):
            self.select = self._select

    def step(self, cards: Sequence[Card], context: StepContext) -> Step:
        """
        What the inner one does.
        """
        step: Step = self.inner().step(cards, context)
        return step

    def _select(self, ticket: Ticket, head: Snapshot, memory: Json, rng: random.Random) -> Work:
        asked = Selection(
            ticket=ticket, head=deepcopy(head), memory=deepcopy(memory), state=rng.getstate()
        )
        self.selections.append(asked)
        work: Work = self.inner().select(ticket, head, memory, rng)
        return work


@attrs.frozen(kw_only=True)
class Corpus:
    """
    What runs without faults gave an aggregator.

    Args:
        cases: What steps were given.
        selections: What ``select`` was given.
        stage: A run that is not started, whose domain answers by hand.
    """

    cases: tuple[Case, ...]
    selections: tuple[Selection, ...]
    stage: Stage

    @classmethod
    def of(cls, rehearsals: Sequence[Rehearsal], make: Make) -> Corpus:
        """
        What was given in these.
        """
        cases: list[Case] = []
        stand_in, nature = StandIn(make), Nature.of(make())

        def note(event: Event, out: list[Instruction]) -> None:
            del event
            # Copies, since what a step changes would be seen as changed already.
            for resumed in (instruction for instruction in out if isinstance(instruction, Resume)):
                value = deepcopy(resumed.value)
                if resumed.n == 0:
                    cases.append(Case(step=resumed.step, start=value, nature=nature))
                elif _are_cards(value):
                    cases[-1] = attrs.evolve(cases[-1], gathered=(*cases[-1].gathered, value))

        for rehearsal in rehearsals:
            run = attrs.evolve(rehearsal, aggregator=lambda: stand_in)
            try:
                run.simulate(note, audited=False)
            except AuditError as error:
                insist(False, f"in a run with it, {error}", do=_NO_END)
        for selection in stand_in.selections if nature.groups else ():
            insist_payload_alone(selection.ask(make()))  # else no rollout begins, and no step
        insist(
            cases,
            "no step began in the runs that the test was to look at",
            do="give a domain on which rollouts lead to proposals, or a smaller batch",
        )
        return cls(
            cases=tuple(cases),
            selections=tuple(stand_in.selections),
            stage=Stage.of(rehearsals[0], "simulated"),
        )

    def context(self, case: Case) -> StepContext:
        """
        A context as the run made it.
        """
        return self.stage.engine.steps.context(case.step, case.start)

    def walk(
        self,
        part: Any,
        case: Case,
        *,
        context: StepContext | None = None,
        around: Around = nullcontext,
    ) -> Trace:
        """
        Take a step to its end; all that it asks for is answered as if nothing went wrong.

        Raises:
            AssertionError: it asks for something that no step may ask for.
        """
        desk = Desk(self.stage, case, context or self.context(case), around)
        return desk.walk(part)

    def abandon(self, part: Any, case: Case, after: int) -> bool:
        """
        Take a step up to a request and abandon it there; False when it asks for less.

        Raises:
            AssertionError: it does not let itself be abandoned.
        """
        desk = Desk(self.stage, case, self.context(case), nullcontext)
        return desk.abandon(part, after)


@attrs.frozen(kw_only=True)
class Trace:
    """
    What a step did, from its start to its end.

    Args:
        requests: What it asked for, in order.
        decided: What it decided of which card.
        memory: What it left in memory; ``KEEP`` where it left that alone.
    """

    requests: tuple[str, ...]
    decided: dict[int, str]
    memory: Json


@attrs.define(eq=False)
class Desk:
    """
    Answers the requests of one step.
    """

    stage: Stage
    case: Case
    context: StepContext
    around: Around
    head: Snapshot = attrs.field(init=False)
    held: dict[int, Card] = attrs.field(init=False)
    complete: bool = attrs.field(init=False)
    parts: list[tuple[Card, ...]] = attrs.field(init=False)
    moves: int = attrs.field(default=0, init=False)
    decided: dict[int, str] = attrs.field(factory=dict[int, str], init=False)
    memory: Json = attrs.field(default=KEEP, init=False)
    trainings: int = attrs.field(default=0, init=False)

    def __attrs_post_init__(self) -> None:
        self.head, self.parts = self.context.head, list(self.case.gathered)
        self.held = {card.number: card for card in self.case.start.cards}
        self.complete = not self.case.nature.gathers

    def begin(self, part: Any) -> Step:
        """
        A step that has not run yet.
        """
        with self.around():
            step: Any = part.step(self.case.start.cards, self.context)
        insist(
            hasattr(step, "send"),
            f"step returned {shown(step)}, which is no generator",
            do=_NO_GENERATOR,
        )
        begun: Step = step
        return begun

    def walk(self, part: Any) -> Trace:
        """
        Answer everything.
        """
        step, requests, answer = self.begin(part), list[str](), None
        while True:
            try:
                with self.around():
                    request = step.send(answer)
            except StopIteration as end:
                if end.value is not None:
                    self.memory = end.value
                break
            requests.append(spelled(request))
            insist(
                len(requests) < MANY,
                f"a step made {MANY} requests and goes on",
                do="let it end: a step gets one sweep's cards, and further cards get further steps",
            )
            answer = self.answer(request)
        self._insist_ended(requests)
        return Trace(requests=tuple(requests), decided=self.decided, memory=self.memory)

    def abandon(self, part: Any, after: int) -> bool:
        """
        Answer so many requests, and abandon the step at the next one.
        """
        step = self.begin(part)
        try:
            request = next(step)
            for _ in range(after):
                request = step.send(self.answer(request))
        except StopIteration:
            return False
        caught = f"the step caught what closes it at its request {after + 1}, {shown(request)}"
        do = (
            "catch nothing around a yield, neither GeneratorExit nor BaseException; an abandoned step"
            " is simply closed, and another one begins with its cards"
        )
        try:
            step.throw(Abandoned())
        except Abandoned:
            return True
        except StopIteration:
            insist(False, f"{caught}, and ended", do=do)
        except Exception as error:  # noqa: BLE001 - whatever it raises instead, it caught that
            insist(False, f"{caught}, and raised {error!r}", do=do)
        insist(False, f"{caught}, and went on", do=do)
        return True

    def answer(self, request: Any) -> Any:
        """
        The answer to a request that is in order.
        """
        if isinstance(request, Measure):
            draws = range(request.first, request.first + request.draws)
            return tuple(
                tuple(self.score(one, task, draw) for task in request.tasks for draw in draws)
                for one in request.candidates
            )
        if isinstance(request, MeasureAll):
            return tuple(map(self.answer, request.measures))
        if isinstance(request, Compare):
            rows = [
                [self.score(one, task, 0) for task in request.tasks]
                for one in (request.reference, *request.candidates)
            ]
            return compared(rows)
        if isinstance(request, Commit | Gather | Train):
            return _ANSWERS[type(request)](self, request)
        if isinstance(request, Consume | Carry):
            self.decide(request.cards, getattr(request, "reason", "carried"))
            return None
        insist(
            isinstance(request, Promote),
            f"a step yielded {shown(request)}, which is no request",
            do=_NO_REQUEST,
        )
        return None

    def commit(self, request: Commit) -> Snapshot:
        """
        The head with a candidate.
        """
        self.decide(request.cards, "committed")
        if request.memory is not KEEP:
            self.memory = request.memory
        if request.candidate != self.head.artifact:
            self.head = Snapshot(self.head.version + 1, request.candidate)
            self._moved()
        return self.head

    def decide(self, numbers: Sequence[int], what: str) -> None:
        """
        Note what becomes of cards.
        """
        held, groups = self.held, self.case.nature.groups
        insist(
            not groups or what != "carried",
            f"a step carries groups over: {list(numbers)}",
            do="commit or consume them, since a group that waits gets older; keep in memory what is to"
            " be remembered of them",
        )
        insist(
            self.complete or not numbers,
            f"a step decides groups {list(numbers)} ({what}) before its batch is complete",
            do=_NOT_GATHERED,
        )
        for number in numbers:
            insist(
                number in held,
                f"a step decides card {number} ({what}), and holds only {sorted(held)}",
                do=_NOT_HELD,
            )
            insist(
                number not in self.decided or self.decided[number] == "carried",
                f"a step decides card {number} twice: {self.decided.get(number)}, then {what}",
                do=_NOT_HELD,
            )
            self.decided[number] = what

    def gather(self, request: Gather) -> tuple[Card, ...]:
        """
        Further groups of the batch; none once it is complete.
        """
        del request
        insist(
            self.case.nature.groups,
            "a step yielded Gather(), and its aggregator learns from proposals",
            do="let a step end: further cards get further steps; or learn from outcomes",
        )
        if not self.parts:
            self.complete = True
            return ()
        more = self.parts.pop(0)
        self.held |= {card.number: card for card in more}
        return more

    def _moved(self) -> None:
        self.moves += 1
        most = self.case.nature.updates_per_step
        insist(
            self.moves <= most or not self.case.nature.groups,
            f"a step moves the head {self.moves} times, and updates_per_step is {most}",
            do="commit once, or declare updates_per_step: the bound of ages counts on it",
        )

    def _insist_ended(self, requests: Sequence[str]) -> None:
        if not self.case.nature.groups:
            return
        insist(self.complete, "a step ended before its batch was complete", do=_NOT_GATHERED)
        insist(
            [request for request in requests if request != spelled(Gather())],
            "a step that has its whole batch asked for nothing",
            do="commit, or Consume(cards): the batch is complete, and waiting brings no more of it",
        )

    def train(self, request: Train) -> Json:
        """
        What the domain learns.
        """
        held = self.held
        gone = {number for number, what in self.decided.items() if what != "carried"}
        for number in request.cards:
            insist(
                number in held and number not in gone,
                f"a step trains on card {number}, and holds only {sorted({*held} - gone)}",
                do="name cards that the step was given and has not decided",
            )
        self.trainings += 1
        cards = tuple(held[number] for number in request.cards)
        call = TrainCall(
            -1,
            self.case.step,
            self.trainings,
            self.trainings - 1,
            self.head.artifact,
            cards,
            request.payload,
        )
        answer = self.stage.engine.bench.perform(call, lambda: 0.0)
        told = answer.fault.message if isinstance(answer, Failed) else ""
        insist(
            isinstance(answer, Done),
            f"a step yielded {shown(request)}, and the domain failed: {told}",
            do="give as the fixture domain one whose train does with these cards and this payload",
        )
        return answer.value  # type: ignore[union-attr] # it is done

    def score(self, artifact: Artifact, task: str, draw: int) -> float:
        """
        What the domain says.
        """
        call = MeasureCall(-1, artifact, task, draw)
        answer = self.stage.engine.bench.perform(call, lambda: 0.0)
        known = isinstance(answer, Done)
        insist(
            known,
            f"a step had {shown(artifact.value)} measured on the task {task!r}, and the domain gave"
            f" {shown(answer)}",
            do="ask for tasks of context.held_out or context.oracle, and for states that apply gives",
        )
        return answer.value  # type: ignore[union-attr, return-value] # a measurement gives a float


_ANSWERS: dict[type[Any], Callable[[Desk, Any], Any]] = {
    Commit: Desk.commit,
    Gather: Desk.gather,
    Train: Desk.train,
}


class Abandoned(GeneratorExit):
    """
    What a step is told that nobody listens to any more.
    """


def _are_cards(value: Any) -> bool:
    parts = cast("tuple[object, ...]", value) if isinstance(value, tuple) else ()
    return bool(parts) and all(isinstance(part, Card) for part in parts)


def spelled(request: object) -> str:
    """
    All of a request, to be compared with others.
    """
    if isinstance(request, Measure):
        states = [one.digest for one in request.candidates]
        return f"Measure {states} {request.tasks} {request.draws} {request.first}"
    if isinstance(request, MeasureAll):
        return f"MeasureAll {[*map(spelled, request.measures)]}"
    if isinstance(request, Compare):
        states = [one.digest for one in (request.reference, *request.candidates)]
        return f"Compare {states} {request.tasks}"
    if isinstance(request, Commit):
        memory = request.memory if request.memory is KEEP else plain(request.memory)
        return f"Commit {request.candidate.digest} {request.cards} {memory} {request.keys}"
    return repr(request)


def plain(memory: Json) -> str:
    """
    A memory's spelling.

    Raises:
        AssertionError: it is no JSON value with artifacts in it.
    """
    try:
        return memory_text(memory)
    except (TypeError, ValueError) as error:
        insist(
            False,
            f"the memory {shown(memory)} is no JSON value: {error}",
            do="keep numbers, texts, booleans, None, artifacts, lists and dicts with texts for keys;"
            " no NaN",
        )
        raise


def cards_spelled(cards: Sequence[Card]) -> str:
    """
    All that cards hold, to be compared with what they hold later.
    """
    return canonical_json([attrs.asdict(card) for card in cards])
