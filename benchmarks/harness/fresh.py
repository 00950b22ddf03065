"""
Calls a function in a fresh process, so that no measurement inherits another one's memory or threads.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from importlib import import_module
from pathlib import Path

BENCHMARKS = Path(__file__).parent.parent


def call(target, python=sys.executable, **arguments):
    """
    What ``target`` returns for the arguments; all of it travels as JSON.

    Args:
        target: ``module:function``, found from the folder of the benchmarks.
        python: The interpreter; another one than this does not get this one's search path.

    Raises:
        RuntimeError: the process failed; the message ends with its errors.
    """
    path = [str(BENCHMARKS)]
    if python == sys.executable:
        path += filter(None, [os.environ.get("PYTHONPATH")])
    done = subprocess.run(
        [python, "-m", "harness.fresh"],
        input=json.dumps({"target": target, "arguments": arguments}),
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{target} failed with {arguments}:\n{done.stderr[-4000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def main():
    asked = json.loads(sys.stdin.read())
    module, name = asked["target"].split(":")
    # What a run says before it starts is no news to a benchmark.
    warnings.simplefilter("ignore", RuntimeWarning)
    found = getattr(import_module(module), name)(**asked["arguments"])
    print()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
