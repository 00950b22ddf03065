"""
Rules as skill folders that people and agents can read, and back.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from headway.contracts import Json
from headway_domains.inflect._rules import FAMILIES, Rules

_PAGE = """\
---
name: {family}
description: Forms {what}. Use it when a lemma is given and this form is wanted.
---

# {title}

Read the rules from top to bottom and apply the first one whose suffix ends the word, and no other.
The rules stand in order of the suffix's length, the longest first.
`-` alone ends every word.
A word that no rule fits stays as it is.

{rules}
"""

_LINE = re.compile(r"^\d+\. `-([a-z]*)` becomes `-([a-z]*)`$", re.MULTILINE)


def skill_path(family: str) -> str:
    """
    Where the skill of a family stands, relative to the folder of the artifact.
    """
    return f"skills/{family}/SKILL.md"


def write_skills(state: Json) -> dict[str, str]:
    """
    One skill a family, also when it has no rules yet: relative path to text.
    """
    return {skill_path(family): _page(family, state[family]) for family in FAMILIES}


def read_skills(files: Mapping[str, str]) -> Json:
    """
    The state that ``write_skills`` wrote.

    Raises:
        KeyError: the skill of a family is missing.
    """
    return {family: dict(_LINE.findall(files[skill_path(family)])) for family in FAMILIES}


def _page(family: str, rules: Rules) -> str:
    ordered = sorted(rules.items(), key=lambda rule: (-len(rule[0]), rule))
    lines = [f"{i}. `-{old}` becomes `-{new}`" for i, (old, new) in enumerate(ordered, start=1)]
    return _PAGE.format(
        family=family,
        what=FAMILIES[family],
        title=family.replace("-", " ").capitalize(),
        rules="\n".join(lines) or "There are no rules yet.",
    )
