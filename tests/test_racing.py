"""
Steps that race: several open at once, each a transaction on the head and the memory.
"""

from __future__ import annotations
