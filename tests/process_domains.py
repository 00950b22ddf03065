"""
Domains whose rollouts do what only a process of their own survives; importable there.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from headway.contracts import charge
from headway.testing import ToyDomain


class Wicked(ToyDomain):
    """
    One ticket hangs, with a process that it started, and another one crashes its process.
    """

    def __init__(self, folder, hangs=-1, crashes=-1):
        super().__init__(n_keys=6)
        self.folder, self.hangs, self.crashes = str(folder), hangs, crashes

    def rollout(self, state, task, *, rng, ticket):
        charge(tokens=2)
        if ticket is not None and ticket.number == self.hangs:
            child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
            Path(self.folder, f"{os.getpid()} {child.pid}").touch()
            time.sleep(600)
        if ticket is not None and ticket.number == self.crashes:
            os.kill(os.getpid(), signal.SIGSEGV)
        return super().rollout(state, task, rng=rng)

    def started(self):
        """
        The processes of the tickets that hung.
        """
        return [int(number) for file in Path(self.folder).iterdir() for number in file.name.split()]
