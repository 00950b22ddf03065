"""
Evolution strategies with bounded staleness for Headway.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headway_es._arrays import decoded, encoded, state_of, theta_of
    from headway_es._asktell import AskTell, Cma, Driven, Nevergrad
    from headway_es._corrections import Decay, Importance, LagRate, Recentre
    from headway_es._delay import Delay
    from headway_es._diagnostics import Report, StepReport, report_of
    from headway_es._domain import ESDomain
    from headway_es._fates import Fate, Fates
    from headway_es._noise import perturbation
    from headway_es._objectives import Objective
    from headway_es._optimizer import ES
    from headway_es._optimizers import SGD, Adam, Momentum, Optimizer
    from headway_es._schedules import schedule
    from headway_es._strategy import Strategy

__all__ = [
    "ES",
    "SGD",
    "Adam",
    "AskTell",
    "Cma",
    "Decay",
    "Delay",
    "Driven",
    "ESDomain",
    "Fate",
    "Fates",
    "Importance",
    "LagRate",
    "Momentum",
    "Nevergrad",
    "Objective",
    "Optimizer",
    "Recentre",
    "Report",
    "StepReport",
    "Strategy",
    "decoded",
    "encoded",
    "perturbation",
    "report_of",
    "schedule",
    "state_of",
    "theta_of",
]

_WHERE = {
    "_arrays": ("decoded", "encoded", "state_of", "theta_of"),
    "_asktell": ("AskTell", "Cma", "Driven", "Nevergrad"),
    "_corrections": ("Decay", "Importance", "LagRate", "Recentre"),
    "_delay": ("Delay",),
    "_diagnostics": ("Report", "StepReport", "report_of"),
    "_domain": ("ESDomain",),
    "_fates": ("Fate", "Fates"),
    "_noise": ("perturbation",),
    "_objectives": ("Objective",),
    "_optimizer": ("ES",),
    "_optimizers": ("SGD", "Adam", "Momentum", "Optimizer"),
    "_schedules": ("schedule",),
    "_strategy": ("Strategy",),
}


def __getattr__(name: str) -> Any:
    # Whoever looks for plug-ins imports this package, and most of them want neither it nor numpy.
    for module, names in _WHERE.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
