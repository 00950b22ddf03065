"""
What scores truly are: asked of the domain, beside the machine.
"""

from __future__ import annotations

import attrs

from headway.contracts import Artifact, Compare, Comparison, Json, Measure, MeasureAll, Scores
from headway.drivers import Workbench
from headway.machine import Done, MeasureCall
from headway.testing._comparing import compared
from headway.testing._must import must


@attrs.define(eq=False)
class Truths:
    """
    Holds answers to measurements and comparisons against what the domain says.

    Args:
        bench: What the run's calls are performed with.
    """

    bench: Workbench
    _known: dict[tuple[str, str, int], Json] = attrs.field(
        factory=dict[tuple[str, str, int], Json], init=False
    )

    def check_scores(self, request: Measure, scores: Scores) -> None:
        """
        Each candidate's row holds its own scores, in the order (task, draw).
        """
        draws = range(request.first, request.first + request.draws)
        must(len(scores) == len(request.candidates), "a row of scores is missing")
        for artifact, row in zip(request.candidates, scores, strict=True):
            expected = tuple(self._true(artifact, t, d) for t in request.tasks for d in draws)
            must(row == expected, f"{artifact.value} is told {row}, not {expected}")

    def check_all(self, request: MeasureAll, found: tuple[Scores, ...]) -> None:
        """
        Each measurement has its own answer.
        """
        must(len(found) == len(request.measures), "the answer to a measurement is missing")
        for measure, scores in zip(request.measures, found, strict=True):
            self.check_scores(measure, scores)

    def check_comparison(self, request: Compare, found: Comparison) -> None:
        """
        It is what all the scores come to.
        """
        artifacts = (request.reference, *request.candidates)
        rows = [[self._true(artifact, task, 0) for task in request.tasks] for artifact in artifacts]
        expected = compared(rows)
        must(found == expected, f"a comparison gives {found}, not {expected}")

    def _true(self, artifact: Artifact, task: str, draw: int) -> Json:
        key = (artifact.digest, task, draw)
        if key not in self._known:
            answer = self.bench.perform(MeasureCall(-1, artifact, task, draw), lambda: 0.0)
            assert isinstance(answer, Done), answer
            self._known[key] = answer.value
        return self._known[key]
