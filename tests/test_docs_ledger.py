"""
The ledger that a page of the documentation shows keeps what every ledger promises.
"""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parent.parent / "docs" / "howto" / "write-a-ledger.md"
FENCE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def shown() -> dict:
    """
    What the page defines, without the run that it makes.
    """
    namespace = {"__name__": __name__}
    for fence in FENCE.findall(PAGE.read_text(encoding="utf-8")):
        code = fence.partition("\ndomain = ")[0]
        exec(compile(code, PAGE.name, "exec"), namespace)
    return namespace


SHOWN = shown()
FolderLedger = SHOWN["FolderLedger"]  # where another process would find it
TestFolderLedger = SHOWN["TestFolderLedger"]
"""The class that the page tells its reader to write: pytest runs it as it runs the reader's."""
