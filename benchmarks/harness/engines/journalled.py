"""
Headway in a run directory, which is a fresh one each time.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace

from harness.engines import headway


def search(case, waits, search):
    with tempfile.TemporaryDirectory() as folder:
        options = {**case.options, "run_dir": folder}
        return headway.search(replace(case, options=options), waits, search)
