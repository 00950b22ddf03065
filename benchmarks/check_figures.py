"""
Holds the result of ``headway run inflect`` against what the default run must reach.

    python benchmarks/check_figures.py RESULT.json
"""

import json
import sys
from pathlib import Path

FIGURES = (
    ("baseline_reward", "at most", 0.12),
    ("final_reward", "at least", 0.92),
    ("test_reward", "at least", 0.85),
    ("wallclock", "below", 10.0),
)
HOLDS = {
    "at most": lambda value, bound: value <= bound,
    "at least": lambda value, bound: value >= bound,
    "below": lambda value, bound: value < bound,
}

result = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
missed = [name for name, rule, bound in FIGURES if not HOLDS[rule](result[name], bound)]
for name, rule, bound in FIGURES:
    print(f"{name:16} {result[name]:.4f}, {rule} {bound}{' MISSED' * (name in missed)}")
sys.exit(bool(missed))
