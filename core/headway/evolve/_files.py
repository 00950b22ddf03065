"""
Values that a text on the command line names by their file.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from headway.errors import OptionError


def read_value(option: str, path: Path) -> Any:
    """
    What a file holds: JSON, one JSON value a line in ``.jsonl``, and else a text.

    Args:
        option: The option that the path was given as.
        path: The file.

    Raises:
        OptionError: the file cannot be read, or its content not understood.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        remedy = f"{error.strerror}: give a file that can be read."
        raise OptionError(option, str(path), remedy) from None
    except UnicodeDecodeError:
        raise OptionError(option, str(path), "This is no UTF-8 text.") from None
    try:
        if path.suffix == ".jsonl":
            return [json.loads(line) for line in text.splitlines() if line.strip()]
        return json.loads(text) if path.suffix == ".json" else text
    except ValueError as error:
        raise OptionError(option, str(path), f"This is no JSON: {error}.") from None
