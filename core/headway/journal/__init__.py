"""
The journal: every event of a machine, in order, with the look-ups' answers.

From it a machine can be rebuilt without any plug-in (``replay``), and a run that ended early can be
taken up again.
"""

from headway.journal._blueprint import Blueprint
from headway.journal._file import JournalFile
from headway.journal._rows import Journal, Keeper, Row, replay

__all__ = ["Blueprint", "Journal", "JournalFile", "Keeper", "Row", "replay"]
