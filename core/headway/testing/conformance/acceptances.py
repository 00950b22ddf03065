"""
What every acceptance rule must do, as tests that its author runs.

::

    from headway.testing.conformance import AcceptanceContract

    class TestSignTest(AcceptanceContract):
        level = 0.05

        @pytest.fixture
        def make(self):
            return SignTest
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from math import fsum, sqrt
from typing import Any, ClassVar, TypeAlias

import pytest

from headway.contracts import Acceptance, Trial, TrialTerms
from headway.errors import shown
from headway.keyed import keyed_rng
from headway.testing._toy import ToyDomain
from headway.testing.conformance._asking import asked
from headway.testing.conformance._common import Contract, Make, insist
from headway.testing.conformance._runs import DRIVEN, check_decision, faults, toy_run

VERDICTS = ("accept", "reject", "undecided")
TASKS = 20

Law: TypeAlias = Callable[[random.Random], float]
"""Draws one difference of candidate and head."""


def _coins(rng: random.Random) -> float:
    return float(rng.random() < 0.5) - float(rng.random() < 0.5)


def _skewed(rng: random.Random) -> float:
    return -0.95 if rng.random() < 0.05 else 0.05


def _nearly_equal(rng: random.Random) -> float:
    return rng.choice((-1.0, 1.0)) if rng.random() < 0.1 else 0.0


def _better(rng: random.Random) -> float:
    return 0.6 + 0.4 * rng.random()


def _worse(rng: random.Random) -> float:
    return -0.3 - 0.4 * rng.random()


NULLS: Mapping[str, Law] = {"coins": _coins, "skewed": _skewed, "nearly equal": _nearly_equal}
"""Differences of candidates that are no better than the head: their mean is 0."""


def terms(**more: Any) -> TrialTerms:
    """
    What a usual trial of noisy rewards is about.
    """
    usual: dict[str, Any] = {"tasks": TASKS, "deterministic": False, "step": 1}
    return TrialTerms(**(usual | more))


def _cycles(law: Law, rng: random.Random, count: int, tasks: int = TASKS) -> list[list[float]]:
    return [[law(rng) for _ in range(tasks)] for _ in range(count)]


def _added(trial: Any, cycles: Sequence[Sequence[float]]) -> str:
    """
    The verdict in the end; as a step does, it stops once something is known.
    """
    verdict = str(trial.verdict)
    for differences in cycles[: trial.cycles]:
        if verdict != "undecided":
            break
        verdict = trial.add(differences)
        insist(
            verdict in VERDICTS and verdict == trial.verdict,
            f"add gave {shown(verdict)}, and verdict is {shown(trial.verdict)}",
            do="return from add what verdict says then: 'accept', 'reject' or 'undecided'",
        )
    return verdict


class AcceptanceContract(Contract):
    """
    Tests for any acceptance rule.

    Attributes:
        level: The probability that it promises not to pass: that a run accepts anything useless.
        runs: In how many runs of ``steps`` steps that is tried, for each kind of noise.
        steps: How many useless candidates each of these runs tries.
    """

    level: ClassVar[float] = 0.05
    runs: ClassVar[int] = 150
    steps: ClassVar[int] = 6

    def test_it_is_an_acceptance_rule(self, make: Make) -> None:
        """
        An object that has ``trial``, which gives trials.
        """
        made = make()
        insist(
            isinstance(made, Acceptance) and not isinstance(made, type),
            f"make() gave {shown(made)}, which is no acceptance rule",
            do="give an object with a method trial(self, terms)",
        )
        trial = made.trial(terms())
        lacking = [name for name in vars(Trial) if name[0] != "_" and not hasattr(trial, name)]
        insist(
            not lacking,
            f"trial gave {shown(trial)}, which lacks {lacking}",
            do="give an object with opening, cycles, seen, mean, verdict and add(differences)",
        )

    @pytest.mark.parametrize("deterministic", [True, False])
    def test_a_trial_begins_with_nothing(self, make: Make, deterministic: bool) -> None:
        """
        Whatever it is about: few tasks or many, the first step or a late one, all of a step or a part.
        """
        rule = make()
        for tasks in (1, 2, 20, 500):
            for step, part, removal in ((1, 1.0, False), (1000, 0.01, False), (3, 0.5, True)):
                about = {"tasks": tasks, "step": step, "part": part, "removal": removal}
                do = "make a trial for any number of tasks from 1 on, any step and any part of one"
                trial = asked(rule.trial, terms(deterministic=deterministic, **about), do=do)
                state = (trial.seen, trial.mean, trial.verdict)
                insist(
                    state == (0, 0.0, "undecided"),
                    f"a new trial of {about} has (seen, mean, verdict) = {state}",
                    do="begin every trial with (0, 0.0, 'undecided'), and none with what another has seen",
                )
                insist(
                    1 <= trial.opening <= trial.cycles,
                    f"a trial of {about} opens with {trial.opening} of {trial.cycles} cycles",
                    do="let opening be at least 1 and at most cycles",
                )

    def test_without_noise_a_gain_counts(self, make: Make) -> None:
        """
        A candidate that is better on every task is accepted, one that is worse never, and a tie only
        where a part is taken out.
        """
        cases = (
            (0.5, False, {"accept"}),
            (-0.5, False, {"reject"}),
            (-0.5, True, {"reject"}),
            (0.0, False, {"reject", "undecided"}),
            (0.0, True, {"accept"}),
        )
        for gain, removal, expected in cases:
            trial = make().trial(terms(deterministic=True, removal=removal))
            found = _added(trial, [[gain] * TASKS] * trial.cycles)
            insist(
                found in expected,
                f"with rewards that are deterministic, a difference of {gain} on every task and removal ="
                f" {removal} it came to {found!r} instead of {' or '.join(sorted(expected))}",
                do="where terms.deterministic is True decide by the mean: above 0 accept, and with"
                " terms.removal at 0 too",
            )

    def test_what_it_is_told_is_enough(self, make: Make) -> None:
        """
        A trial that has ``told`` takes the answer of a comparison for its own.
        """
        for better, expected in ((True, "accept"), (False, "reject")):
            trial: Any = make().trial(terms(deterministic=True))
            if not hasattr(trial, "told"):
                pytest.skip("its trials have no told, so candidates are measured in full")
            verdict = trial.told(better)
            insist(
                verdict == trial.verdict == expected,
                f"told({better}) gave {verdict!r}, and verdict is {trial.verdict!r}",
                do="let told(True) accept and told(False) reject",
            )

    def test_it_counts_what_it_is_given(self, make: Make) -> None:
        """
        Each cycle once, with the mean of all differences so far.
        """
        trial, rng, given = make().trial(terms()), keyed_rng("trial", "counts"), list[float]()
        for number, differences in enumerate(_cycles(_nearly_equal, rng, trial.cycles), 1):
            if trial.verdict != "undecided":
                break
            trial.add(differences)
            given += differences
            found = (trial.seen, round(trial.mean, 9) + 0.0)
            right = (number, round(fsum(given) / len(given), 9) + 0.0)
            insist(
                found == right,
                f"after {number} cycles (seen, mean) is {found} instead of {right}",
                do="count a cycle for each add, and let mean be that of all differences so far",
            )

    def test_a_verdict_stands(self, make: Make) -> None:
        """
        It is the same however often one looks.
        """
        for law in (_better, _worse):
            trial, rng = make().trial(terms()), keyed_rng("trial", "stands")
            for differences in _cycles(law, rng, trial.cycles):
                trial.add(differences)
                if trial.verdict != "undecided":
                    break
            looks = {str(trial.verdict) for _ in range(5)}
            insist(
                len(looks) == 1,
                f"the verdict was {sorted(looks)} at several looks",
                do="change nothing where the verdict is only looked at",
            )

    def test_equal_trials_end_alike(self, make: Make) -> None:
        """
        Of one rule and of two made alike, also when they are told their cycles by turns.
        """
        used = make()
        for name, law in NULLS.items():
            cycles = _cycles(law, keyed_rng("trial", "equal", name), 30)
            one, other = used.trial(terms()), make().trial(terms())
            third = used.trial(terms())
            shift = [[d + 0.05 for d in differences] for differences in cycles]
            for differences, moved in zip(cycles, shift, strict=True):
                for trial, told in ((one, differences), (third, moved), (other, differences)):
                    if trial.verdict == "undecided" and trial.seen < trial.cycles:
                        trial.add([max(-1.0, min(1.0, d)) for d in told])
            states = [(t.verdict, t.seen, t.mean) for t in (one, other)]
            insist(
                states[0] == states[1],
                f"equal differences ({name}) gave {states}",
                do="keep what a trial has seen in the trial itself, and draw nothing",
            )

    @pytest.mark.parametrize("null", NULLS)
    def test_it_rarely_accepts_what_is_useless(self, make: Make, null: str) -> None:
        """
        Of seeded runs, each with a number of candidates that are no better than the head, at most a
        share ``level`` accepts one, give or take what chance explains (three standard deviations).
        """
        rule, wrong = make(), 0
        for run in range(self.runs):
            rng = keyed_rng("null", null, run)
            trials = (rule.trial(terms(step=step)) for step in range(1, self.steps + 1))
            wrong += any(_added(t, _cycles(NULLS[null], rng, t.cycles)) == "accept" for t in trials)
        spread = sqrt(self.runs * self.level * (1 - self.level))
        most = self.runs * self.level + 3 * spread
        insist(
            wrong <= most,
            f"{wrong} of {self.runs} runs accepted a candidate that is no better ({null}); a level of"
            f" {self.level} allows {most:.0f}",
            do="account for looking after every cycle and in every step: use a test that may be looked at"
            " at any time (headway.statistics.PairedTest), and spend the level over the steps"
            " (share_of_level); or state the level it has",
        )

    def test_it_finds_what_helps_a_lot(self, make: Make) -> None:
        """
        Of 20 candidates that are much better on every task all are accepted, in the first step.
        """
        rng = keyed_rng("trial", "helps")
        found = [
            _added(t, _cycles(_better, rng, t.cycles))
            for t in (make().trial(terms()) for _ in range(20))
        ]
        insist(
            found.count("accept") == 20,
            f"{found.count('accept')} of 20 candidates were accepted that are better by 0.6 to 1.0 on"
            f" each of {TASKS} tasks, in all cycles that a trial may have",
            do="let cycles be enough for such a gain to be shown, or lower what must be shown",
        )

    @pytest.mark.parametrize("removal", [False, True])
    def test_it_never_accepts_what_hurts_a_lot(self, make: Make, removal: bool) -> None:
        """
        Neither as a change nor as the removal of a part.
        """
        rng = keyed_rng("trial", "hurts")
        found = [
            _added(t, _cycles(_worse, rng, t.cycles))
            for t in (make().trial(terms(removal=removal)) for _ in range(20))
        ]
        insist(
            "accept" not in found,
            f"{found.count('accept')} of 20 candidates were accepted that are worse by 0.3 to 0.7 on each"
            f" of {TASKS} tasks, with removal = {removal}",
            do="accept only where the mean difference is shown to be above 0, and for a removal not much"
            " below it",
        )

    @pytest.mark.parametrize(("mode", "driver"), DRIVEN)
    def test_runs_end_well_with_it(self, make: Make, mode: str, driver: str) -> None:
        """
        In both modes, on real clocks and on a virtual one, and nothing is at fault.
        """
        check_decision("acceptance", make(), mode, driver)

    def test_equal_noisy_runs_come_out_equal(self, make: Make) -> None:
        """
        Simulated runs of one seed with noisy rewards, the last with a rule that was used before.
        """
        used, digests = make(), list[str]()
        for rule in (used, make(), used):
            domain = ToyDomain(n_keys=4, n_tasks=20, noise=0.1)
            result = toy_run("async", "simulated", domain=domain, acceptance=rule)
            digests.append(result.digest)
            insist(
                not faults(result),
                f"a run with noisy rewards had faults: {faults(result)}",
                do="mend the first one: 'aggregator' means that the trial raised",
            )
        insist(
            len(set(digests)) == 1,
            f"three simulated runs of one seed had the digests {digests}",
            do="keep nothing in the rule, only in its trials, and draw nothing",
        )
