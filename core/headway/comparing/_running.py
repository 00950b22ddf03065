"""
Makes the runs of a plan, one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import attrs

from headway._prepare import Prepared, prepare
from headway.comparing._heads import Heads, scorer
from headway.comparing._plan import Arm, Plan
from headway.comparing._trial import Trial, best_of, failed_trial, one_line, trial_of
from headway.contracts import Domain, Observer
from headway.drivers import Interrupt
from headway.options import RunOptions
from headway.registry import Registry
from headway.result import Result
from headway.run import finish


def _as_they_are(options: RunOptions) -> RunOptions:
    return options


@attrs.frozen(kw_only=True)
class Runner:
    """
    Makes runs of one domain.

    Args:
        make: Makes the domain; called for every run, so that none sees what another left behind.
        registry: Where names are looked up.
        name: The name that ``registry`` made the domain for, when it did.
        observers: Told every notice of every run.
        with_parts: Puts parts in the place of options that say where they are written; called for
            every run, too.
    """

    make: Callable[[], Domain]
    registry: Registry
    name: str | None = None
    observers: tuple[Observer | str, ...] = ()
    with_parts: Callable[[RunOptions], RunOptions] = _as_they_are

    def check(self, plan: Plan) -> tuple[str, ...]:
        """
        Look up and check what every arm needs, and run nothing.

        Returns:
            What is worth saying about the arms before they run, each sentence once.

        Raises:
            UsageError: an option, a name or the domain's tasks can't be used.
            PluginError: a plug-in that was asked for can't be loaded.
        """
        notes: dict[str, list[str]] = {}
        for arm in plan.arms:
            prepared = self._prepared(arm.runs(plan.seeds[0])[0])
            prepared.engine.bench.close()
            for note in prepared.engine.opening.notes:
                notes.setdefault(note, []).append(arm.label)
        return tuple(f"{'; '.join(labels)}: {note}" for note, labels in notes.items())

    def trials(
        self,
        plan: Plan,
        interrupt: Interrupt | None = None,
        begin: Callable[[Arm, int], None] | None = None,
    ) -> Iterator[Trial]:
        """
        Run all arms with the first seed, then with the next one; ends early when interrupted.

        A run that fails or raises is a trial that says so.

        Args:
            plan: What to run.
            interrupt: Ends the run that is going on, and begins no further one.
            begin: Told the arm and the seed of each trial before it begins.

        Raises:
            KeyboardInterrupt: an interrupt was asked for the second time.
        """
        interrupt = interrupt or Interrupt()
        for seed in plan.seeds:
            for arm in plan.arms:
                if interrupt.number is not None:
                    return
                if begin is not None:
                    begin(arm, seed)
                yield self.trial(arm, seed, interrupt)

    def trial(self, arm: Arm, seed: int, interrupt: Interrupt) -> Trial:
        """
        Run one arm with one seed.

        Args:
            arm: Which one.
            seed: Its seed.
            interrupt: Ends it early.
        """
        parts: list[Trial] = []
        for options in arm.runs(seed):
            try:
                part = self._part(arm, seed, options, interrupt)
            except (Exception, SystemExit) as error:  # noqa: BLE001 - a run that raises is a row too
                part = failed_trial(arm.label, seed, error)
            parts.append(part)
            if part.status != "done":
                break
        return best_of(parts)

    def _part(self, arm: Arm, seed: int, options: RunOptions, interrupt: Interrupt) -> Trial:
        prepared = self._prepared(options)
        heads = Heads.of(prepared) if arm.scored else None
        one = Interrupt()  # an interrupt that is over asks nobody any more
        one.begin()
        with interrupt.asking(lambda: one.request(interrupt.number or 0)):
            result = finish(prepared, one)
        trial = trial_of(arm.label, seed, result)
        if heads is None or trial.status != "done":
            return trial
        return self._scored(trial, heads, result, options)

    def _scored(self, trial: Trial, heads: Heads, result: Result, options: RunOptions) -> Trial:
        try:
            prepared = self._prepared(options)
            try:
                return _with_scores(trial, heads, result, prepared)
            finally:
                prepared.engine.bench.close()
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the run itself is paid for already
            return attrs.evolve(trial, error=one_line(type(error).__name__, error))

    def _prepared(self, options: RunOptions) -> Prepared:
        return prepare(
            self.make(),
            self.with_parts(options),
            registry=self.registry,
            observers=self.observers,
            domain_name=self.name,
        )


def _with_scores(trial: Trial, heads: Heads, result: Result, prepared: Prepared) -> Trial:
    """
    The trial with every head's score, and with the final scores that did not fit its budget.
    """
    config = prepared.engine.machine.config
    held_out = scorer(prepared, config.held_out)
    test = trial.test_reward
    if test is None and config.test:
        test = scorer(prepared, config.test)(heads.last)
    return attrs.evolve(
        trial,
        reward=trial.reward if trial.source == "fresh" else held_out(heads.last),
        source="fresh",
        test_reward=test,
        curve=heads.curve(result, held_out),
        scored=True,
    )
