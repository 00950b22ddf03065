"""
The file from which a run can be begun again.
"""

import tomllib

from headway.builtins._policies import Full
from headway.options import RunOptions
from headway.rundir import Recipe


def test_a_part_that_comes_with_the_domain_is_not_written_down():
    """An object has no name; the domain brings it again when it is made with its options."""
    options = RunOptions(policy=Full(), sampler="shuffled", max_rollouts=3)
    text = Recipe(domain="toy", options=options, settings={"size": 3}).text()
    table = tomllib.loads(text)

    assert "policy" not in table
    assert ("shuffled", 3, {"size": 3}) == (
        table["sampler"],
        table["max_rollouts"],
        table["domain"],
    )
