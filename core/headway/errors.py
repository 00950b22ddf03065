"""
Every exception that Headway raises on purpose.

::

    HeadwayError
    ├── UsageError                the caller's fault: an argument, an option, a name
    │   ├── OptionError           one option has a bad value
    │   ├── UnknownNameError      a name that no plug-in offers
    │   ├── UnsafeNameError       a path or an id that some platform or ledger would misread
    │   └── RunDirectoryError     a run directory that can't be used like that
    │       └── OtherRunError     its run was begun with something else
    ├── PluginError               a plug-in's fault
    │   ├── PluginLoadError       it could not be loaded
    │   ├── PluginConflictError   two distributions offer one name
    │   └── ContractError         it broke the contract of its kind
    ├── LedgerError               the environment's fault: what stores versions
    │   ├── LedgerClosedError
    │   ├── StorageError          a file can't be read or written: the disk is full, or read-only
    │   ├── LedgerCorrupt         what is stored is not what was written
    │   └── CheckpointError       a checkpoint can't be read; the journal still can
    ├── WorkerLostError           the environment's fault: a process ended before it had answered
    └── MachineError              Headway's own fault: please report it
        ├── IllegalEventError     an event that the machine's state does not allow
        ├── InvariantError        ``validate()`` found a broken invariant
        └── ReplayDivergence      a replay asked for something the journal does not hold

    PluginWarning                 a plug-in that nobody asked for cannot be loaded
    └── DeprecatedHookWarning     a plug-in implements a hook that will be removed
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headway._secrets import REDACTED, is_secret_name

_KILLED = -9

_LONGEST = 200
"""Characters of a value in an error."""


def suggestion(name: str, choices: Iterable[str]) -> str:
    """
    What somebody probably meant, as a sentence to put behind another one; ``""`` when unclear.

    >>> suggestion("gaurded", ("full", "guarded"))
    " Did you mean 'guarded'?"
    """
    from difflib import get_close_matches  # costs, and most runs have no error

    close = get_close_matches(name, tuple(choices), n=1)
    return f" Did you mean {close[0]!r}?" if close else ""


def shown(value: object) -> str:
    """
    A value as an error shows it: the middle of a long one is left out.

    >>> from headway.errors import shown
    >>> shown("one")
    "'one'"
    """
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - an error must be able to say what is wrong with anything
        text = f"<{type(value).__name__}>"
    if len(text) <= _LONGEST:
        return text
    kept = _LONGEST // 2
    return f"{text[:kept]} ... ({len(text) - 2 * kept} characters left out) ... {text[-kept:]}"


class HeadwayError(Exception):
    """
    The root of all of Headway's exceptions.
    """


class PluginWarning(UserWarning):
    """
    A plug-in that nobody asked for cannot be loaded; what was asked for goes on without it.
    """


class DeprecatedHookWarning(PluginWarning):
    """
    A plug-in implements a hook that will be removed; until then it works as before.

    Everybody is shown it, since whoever uses a plug-in loses it when the hook goes.
    """


class UsageError(HeadwayError):
    """
    The caller asked for something that cannot be done; the message names the remedy.
    """


class OptionError(UsageError):
    """
    One option has a value that cannot be used.

    Args:
        option: The option's name, as the user types it.
        value: The value that was given.
        remedy: What to give instead, as a full sentence.
    """

    def __init__(self, option: str, value: object, remedy: str) -> None:
        super().__init__(option, value, remedy)
        self.option = option
        self.value = value
        self.remedy = remedy

    def __str__(self) -> str:
        value = REDACTED if is_secret_name(self.option) else shown(self.value)
        return f"{self.option}={value}: {self.remedy}"


class UnknownNameError(UsageError):
    """
    No plug-in offers this name.

    Args:
        kind: The kind of part, such as ``"aggregator"``.
        name: The name that was asked for.
        known: The names that are on offer.
        remedy: What else may help, as full sentences; ``""`` when nothing is known.
    """

    def __init__(self, kind: str, name: str, known: tuple[str, ...], remedy: str = "") -> None:
        super().__init__(kind, name, known, remedy)
        self.kind = kind
        self.name = name
        self.known = known
        self.remedy = remedy

    def __str__(self) -> str:
        hint = suggestion(self.name, self.known)
        choices = ", ".join(self.known) or "none installed"
        told = f"there is no {self.kind} named {self.name!r}.{hint} Choices: {choices}."
        return f"{told} {self.remedy}".rstrip()


class UnsafeNameError(UsageError, ValueError):
    """
    A path or an id that some platform or ledger would misread.

    It is a ``ValueError`` too: a plug-in that gives such a name gave a bad value.

    Args:
        name: What was given.
        reason: What is wrong with it, as the rest of a sentence that begins with the name.
        remedy: What to give instead, as a full sentence.
    """

    def __init__(self, name: object, reason: str, remedy: str) -> None:
        super().__init__(name, reason, remedy)
        self.name = name
        self.reason = reason
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{shown(self.name)} {self.reason}. {self.remedy}"


class RunDirectoryError(UsageError):
    """
    A run directory can't be used as was asked.

    Args:
        path: The directory.
        reason: Why not, as a full sentence.
        remedy: What to do instead, as a full sentence.
    """

    def __init__(self, path: str, reason: str, remedy: str) -> None:
        super().__init__(path, reason, remedy)
        self.path = path
        self.reason = reason
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.path}: {self.reason} {self.remedy}"


class OtherRunError(RunDirectoryError):
    """
    The run of a directory was begun with something else than it is to go on with.

    Args:
        path: The directory.
        what: What is different, as the user gives it.
        began: With what the run was begun; None when it was not given.
        now: With what it is to go on.
    """

    def __init__(self, path: str, what: str, began: object, now: object) -> None:
        told = f"with {what}={shown(began)}, not {shown(now)}"
        remedy = "Give what it was begun with to go on, or another run directory to begin anew."
        super().__init__(path, f"its run was begun {told}.", remedy)
        self.what = what
        self.began = began
        self.now = now

    def __reduce__(self) -> tuple[Any, ...]:
        return (OtherRunError, (self.path, self.what, self.began, self.now))


class PluginError(HeadwayError):
    """
    A plug-in is at fault; the message names it.
    """


class PluginLoadError(PluginError):
    """
    A plug-in that was asked for could not be loaded.

    Args:
        kind: The kind of part, or ``"plug-in"`` when the whole distribution failed.
        name: The name that was asked for.
        target: What was to be imported.
        distribution: The distribution that offers it; ``""`` when the program added it itself.
        version: That distribution's version.
        cause: What went wrong, in words.
    """

    def __init__(
        self, *, kind: str, name: str, target: str, distribution: str, version: str, cause: str
    ) -> None:
        super().__init__(kind, name, target, distribution, version, cause)
        self.kind = kind
        self.name = name
        self.target = target
        self.distribution = distribution
        self.version = version
        self.cause = cause

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuild_load_error, self.args)

    def __str__(self) -> str:
        where = f" of {self.distribution} {self.version}".rstrip() if self.distribution else ""
        end = "" if self.cause.endswith("?") else "."
        cause = f"{self.cause}{end}"
        told = f"{self.kind} {self.name!r} ({self.target}){where} cannot be loaded: {cause}"
        if not self.version:  # not an installed distribution
            return told
        return f"{told} To remove it: python -m pip uninstall {self.distribution}"


def _rebuild_load_error(
    kind: str, name: str, target: str, distribution: str, version: str, cause: str
) -> PluginLoadError:
    return PluginLoadError(
        kind=kind,
        name=name,
        target=target,
        distribution=distribution,
        version=version,
        cause=cause,
    )


class PluginConflictError(PluginError):
    """
    Two distributions offer one name, and that name was asked for.
    """

    def __init__(self, kind: str, name: str, distributions: tuple[str, ...]) -> None:
        super().__init__(kind, name, distributions)
        self.kind = kind
        self.name = name
        self.distributions = distributions

    def __str__(self) -> str:
        ways = " or ".join(f"{d}:{self.name}" for d in self.distributions)
        return (
            f"{self.kind} {self.name!r} is offered by {' and '.join(self.distributions)}; "
            f"say which: {ways}"
        )


class ContractError(PluginError):
    """
    A plug-in broke the contract of its kind.
    """


class LedgerError(HeadwayError):
    """
    A ledger could not do what was asked of it.
    """


class LedgerClosedError(LedgerError):
    """
    The ledger was closed before this call.
    """


class StorageError(LedgerError):
    """
    A file can't be read or written; what was acknowledged before is still there.

    Args:
        path: The file.
        cause: What the system said, such as ``no space left on device``.
        remedy: What to do about it, as a full sentence.
    """

    def __init__(self, path: str, cause: str, remedy: str) -> None:
        super().__init__(path, cause, remedy)
        self.path = path
        self.cause = cause
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.path}: {self.cause}. {self.remedy}"


class LedgerCorrupt(LedgerError):  # noqa: N818 - the name the specification gives it
    """
    What is stored is not what was written; it is read no further, and nothing is cut off.

    Args:
        path: The file.
        place: Where in it, such as ``version 7 of dev`` or ``event 1204``.
        reason: What is wrong there.
    """

    def __init__(self, path: str, place: str, reason: str) -> None:
        super().__init__(path, place, reason)
        self.path = path
        self.place = place
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.path}: {self.place} is damaged: {self.reason}"


class CheckpointError(LedgerError):
    """
    A checkpoint can't be read; nothing is lost, since the journal holds all that led to it.

    Args:
        reason: Why not, as the rest of a sentence that begins with the checkpoint.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason

    def __str__(self) -> str:
        return f"the checkpoint can't be read: {self.reason}. Read the whole journal instead."


class WorkerLostError(HeadwayError):
    """
    The process that ran a call ended before it had answered; the call has failed, as any call may.

    Args:
        exitcode: How it ended: minus the number of a signal, or an exit status; None when that is not
            known.
    """

    def __init__(self, exitcode: int | None) -> None:
        super().__init__(exitcode)
        self.exitcode = exitcode

    def __str__(self) -> str:
        if self.exitcode is None:
            return "the process that ran it was lost, and how it ended is not known"
        if self.exitcode >= 0:
            return f"the process that ran it ended with exit status {self.exitcode}"
        signal = f"signal {-self.exitcode}"
        hint = "; the system does that when there is no memory left" * (self.exitcode == _KILLED)
        return f"the process that ran it was ended by {signal}{hint}"


class MachineError(HeadwayError):
    """
    Headway itself is at fault.
    """


class IllegalEventError(MachineError):
    """
    The machine was handed an event that its state does not allow; nothing was changed.
    """


class InvariantError(MachineError):
    """
    ``validate()`` found a broken invariant.
    """


class ReplayDivergence(MachineError):  # noqa: N818 - the name the specification gives it
    """
    A replay asked for something other than the journal holds.
    """
