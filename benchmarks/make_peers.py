"""
Makes the environment of the engines that Headway is compared with.

    python benchmarks/make_peers.py

Without a folder it makes ``benchmarks/.venv``, where ``overlap.py`` looks.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import venv
from pathlib import Path

from harness.peers import FOLDER, interpreter

PEERS = Path(__file__).parent / "peers.txt"


def make(folder):
    """
    Make the environment; what went wrong, or None.
    """
    try:
        venv.create(folder, with_pip=True, clear=(folder / "pyvenv.cfg").exists())
    except (OSError, subprocess.CalledProcessError) as error:
        return f"{folder} could not be made: {error}"
    command = [interpreter(folder), "-m", "pip", "install", "--quiet", "-r", PEERS]
    if subprocess.run(command, check=False).returncode:
        return f"the peers of {PEERS.name} could not be installed into {folder}; see above"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder", type=Path, nargs="?", default=FOLDER)
    folder = parser.parse_args().folder
    problem = make(folder)
    if problem is not None:
        sys.exit(f"make_peers: {problem}")
    print(f"The peers are in {folder}.")


if __name__ == "__main__":
    main()
