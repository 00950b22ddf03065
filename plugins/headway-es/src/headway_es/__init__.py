"""
Evolution strategies with bounded staleness for Headway.
"""

from headway_es._arrays import decoded, encoded, state_of, theta_of
from headway_es._asktell import AskTell, Cma, Driven, Nevergrad
from headway_es._corrections import Decay, Importance, LagRate, Recentre
from headway_es._delay import Delay
from headway_es._diagnostics import Report, StepReport, report_of
from headway_es._domain import ESDomain
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
