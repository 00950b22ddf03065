"""
English inflection, learned as a library of suffix rules.
"""

from headway_domains.inflect._domain import Inflect
from headway_domains.inflect._rules import inflect
from headway_domains.inflect._skills import read_skills

__all__ = ["Inflect", "inflect", "read_skills"]
