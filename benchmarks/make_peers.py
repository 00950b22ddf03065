"""
Makes the environments of what Headway is compared with.

    python benchmarks/make_peers.py
    python benchmarks/make_peers.py --es

Without a folder it makes ``benchmarks/.venv``, where ``overlap.py`` looks for engines, or, with ``--es``,
``benchmarks/.venv-es``, where ``es.py`` looks for evolution strategies.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import venv
from pathlib import Path

from harness.peers import FOLDER, FOLDER_ES, interpreter


def make(folder, peers):
    """
    Make the environment; what went wrong, or None.
    """
    try:
        venv.create(folder, with_pip=True, clear=(folder / "pyvenv.cfg").exists())
    except (OSError, subprocess.CalledProcessError) as error:
        return f"{folder} could not be made: {error}"
    command = [interpreter(folder), "-m", "pip", "install", "--quiet", "-r", peers]
    if subprocess.run(command, check=False).returncode:
        return f"the peers of {peers.name} could not be installed into {folder}; see above"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--es", action="store_true", help="evolution strategies instead of engines")
    asked = parser.parse_args()
    name, usual = ("peers-es.txt", FOLDER_ES) if asked.es else ("peers.txt", FOLDER)
    folder = usual if asked.folder is None else asked.folder
    problem = make(folder, Path(__file__).with_name(name))
    if problem is not None:
        sys.exit(f"make_peers: {problem}")
    print(f"The peers are in {folder}.")


if __name__ == "__main__":
    main()
