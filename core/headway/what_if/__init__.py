"""
What a recorded run would have been with other options.
"""

from headway.what_if._asking import Answer, Figures, what_if

__all__ = ["Answer", "Figures", "what_if"]
