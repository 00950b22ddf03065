"""
What every text of a strategy must be.
"""

from __future__ import annotations


def check_unicode(text: str, what: str) -> str:
    """
    Refuse a text with half of a surrogate pair, which no file and no digest can hold.

    A model's broken output, read with ``errors="surrogateescape"`` or from JSON, may have one.

    Raises:
        ValueError: it has one.
    """
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError as error:
        message = (
            f"{what} is no valid Unicode: half of a surrogate pair at {error.start}; decode it "
            "with errors='replace'"
        )
        raise ValueError(message) from None
    return text
