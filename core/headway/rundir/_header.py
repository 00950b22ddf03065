"""
What a run directory says about its run: with what it was begun, and so with what it goes on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from headway.contracts import Json
from headway.errors import LedgerCorrupt, OtherRunError, RunDirectoryError
from headway.journal import Blueprint

LONGEST_WAIT = 10_000
"""Events after which a step is held back until there can be a checkpoint."""

FORMAT = 2
"""The number of the format in which header and journal are written; lower ones can be read."""


def running_version() -> str:
    """
    The version of Headway that runs.
    """
    from importlib.metadata import version

    return version("headway")


@attrs.frozen(kw_only=True)
class Plan:
    """
    With what a run is begun, or gone on with.

    Args:
        name: The domain's own name.
        options: The options of the run, as JSON values; a part by its name.
        choices: The effective plug-ins by kind, with distribution and version.
        tasks: The digest of the tasks.
        initial: The digest of the initial state.
        blueprint: What the machine is built from.
        notes: What was said before it started.
    """

    name: str
    options: Mapping[str, Json]
    choices: Mapping[str, str]
    tasks: str
    initial: str
    blueprint: Blueprint
    notes: tuple[str, ...]


@attrs.frozen(kw_only=True)
class Header:
    """
    The plan that a run was begun with.

    Args:
        run: Tells the run from every other one.
        plan: The plan.
        headway: The version of Headway that began it.
        pure: Whether the domain says that its calls may be made again at no cost.
    """

    run: str
    plan: Plan
    headway: str = attrs.field(factory=running_version)
    pure: bool = False

    @classmethod
    def new(cls, plan: Plan, *, pure: bool) -> Header:
        """
        The header of a run that is just being begun; its machine is told the run's name.
        """
        from uuid import uuid4  # costs, as the import below, and most runs have no directory

        run = uuid4().hex
        config = attrs.evolve(plan.blueprint.config, run=run, checkpoint_every=LONGEST_WAIT)
        blueprint = attrs.evolve(plan.blueprint, config=config)
        return cls(run=run, plan=attrs.evolve(plan, blueprint=blueprint), pure=pure)

    def check(self, path: str, plan: Plan) -> tuple[str, ...]:
        """
        See that a run may be gone on with under a plan.

        Args:
            path: The run directory.
            plan: The plan.

        Returns:
            What is to be told: parts that have another version by now.

        Raises:
            OtherRunError: an option or the domain is another one, or the aggregator or the policy
                declares something else; the first is named.
            RunDirectoryError: the tasks or the initial state are.
        """
        mine, declared = self.plan, plan.blueprint.declared
        for what, began, now in (
            ("domain", mine.name, plan.name),
            *((k, v, plan.options.get(k)) for k, v in mine.options.items()),
            *((k, v, declared.get(k)) for k, v in mine.blueprint.declared.items()),
        ):
            if began != now:
                raise OtherRunError(path, what, began, now)
        for what in ("tasks", "initial"):
            if getattr(mine, what) != getattr(plan, what):
                named = "other tasks" if what == "tasks" else "another initial state"
                raise RunDirectoryError(path, f"its run was begun with {named}.", _REMEDY)
        changed = [
            kind for kind, choice in mine.choices.items() if plan.choices.get(kind) != choice
        ]
        told = (f"{mine.choices[kind]}, now {plan.choices.get(kind)}" for kind in changed)
        return tuple(
            f"the run was begun with the {k} {t}" for k, t in zip(changed, told, strict=True)
        )

    def to_json(self) -> dict[str, Json]:
        """
        The header as JSON.
        """
        plan = attrs.asdict(self.plan, recurse=False)
        plan |= {"blueprint": self.plan.blueprint.to_json(), "notes": list(self.plan.notes)}
        plan |= {"options": dict(self.plan.options), "choices": dict(self.plan.choices)}
        held = {"run": self.run, "headway": self.headway, "pure": self.pure}
        return {"format": FORMAT, **held, "plan": plan}

    @classmethod
    def from_json(cls, path: str, written: Any) -> Header:
        """
        The header that ``to_json`` gave.

        Raises:
            RunDirectoryError: a newer Headway wrote it.
            LedgerCorrupt: nobody can have written it.
        """
        form = written.get("format")
        if isinstance(form, int) and form > FORMAT:
            raise RunDirectoryError(
                path,
                f"Headway {written.get('headway')} wrote it, in format {form}; "
                f"this is {running_version()}, which reads format {FORMAT}.",
                "Upgrade Headway: python -m pip install --upgrade headway.",
            )
        try:
            plan = dict(written["plan"])
            blueprint = Blueprint.from_json(plan["blueprint"])
            plan |= {"blueprint": blueprint, "notes": tuple(plan["notes"])}
            held = {name: written[name] for name in ("run", "headway", "pure")}
            return cls(plan=Plan(**plan), **held)
        except (TypeError, KeyError, ValueError, AttributeError) as error:
            raise LedgerCorrupt(path, "the header of its run", repr(error)) from error


_REMEDY = "Give what it was begun with to go on, or another run directory to begin anew."
