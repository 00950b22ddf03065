"""
Everything that a machine is built from, as values: with it and a journal, a run is rebuilt without
any plug-in.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import attrs

from headway.backpressure import Backpressure
from headway.codec import decode, encode
from headway.contracts import Json
from headway.gate import Barrier, Gate, LagGate, Reservations
from headway.machine import Lookups, Machine, MachineConfig

GATES: Mapping[str, type[Barrier | LagGate | Reservations]] = {
    "barrier": Barrier,
    "lag": LagGate,
    "reservations": Reservations,
}
"""The gates by name."""

_DECLARED: Mapping[str, str] = {
    "groups_per_step": "batch",
    "batch": "batch",
    "updates_per_step": "updates_per_step",
    "early": "gathers",
    "rule": "rule",
    "window": "window",
}
"""What plug-ins declare, under the names of theirs, by the options of gates that keep it."""


@attrs.frozen(kw_only=True)
class Blueprint:
    """
    What a machine is built from.

    Args:
        config: Its options.
        gate: The name of its gate, one of ``GATES``.
        gate_options: What the gate is made with.
        alpha: The largest eta that the staleness policy tolerates.
        stall_patience: See ``Backpressure``.
        carry_limit: See ``Backpressure``.
        names: The plug-ins' names, by where their faults are seen.
    """

    config: MachineConfig
    gate: str
    gate_options: Mapping[str, Any]
    alpha: int
    stall_patience: int
    carry_limit: int
    names: Mapping[str, str]

    def machine(self, lookups: Lookups) -> Machine:
        """
        A new machine.

        Args:
            lookups: Its look-ups.
        """
        return Machine(
            self.config,
            gate=self.new_gate(),
            alpha=self.alpha,
            backpressure=Backpressure(
                stall_patience=self.stall_patience, carry_limit=self.carry_limit
            ),
            lookups=lookups,
            names=self.names,
        )

    def new_gate(self) -> Gate:
        """
        A new gate.
        """
        return GATES[self.gate](**self.gate_options)

    @property
    def declared(self) -> dict[str, Json]:
        """
        What the aggregator and the staleness policy declare of themselves, as far as it counts here.
        """
        config, gate = self.config, self.gate_options
        return {
            "learns_from": config.learns_from,
            **{name: gate[option] for option, name in _DECLARED.items() if option in gate},
            "group_size": config.group_size,
            "max_steps": config.max_steps,
        }

    def to_json(self) -> dict[str, Json]:
        """
        The blueprint as JSON, every option spelled out.
        """
        held = attrs.asdict(self, recurse=False)
        options = {
            f.name: encode(getattr(self.config, f.name)) for f in attrs.fields(MachineConfig)
        }
        # JSON knows no infinities; a limit and a reward may be without bound.
        options |= {name: repr(value) for name, value in options.items() if value == math.inf}
        options |= {"reward_range": [repr(bound) for bound in self.config.reward_range]}
        options |= {"solved": repr(self.config.solved)}
        return {**held, "config": options, "gate_options": dict(self.gate_options)}

    @classmethod
    def from_json(cls, written: Mapping[str, Json]) -> Blueprint:
        """
        The blueprint that ``to_json`` gave.

        Raises:
            KeyError: an option is missing.
            TypeError: an option is unknown to this version.
        """
        held: dict[str, Any] = dict(written)
        options = {name: decode(value) for name, value in held.pop("config").items()}
        options |= {name: math.inf for name, value in options.items() if value == repr(math.inf)}
        low, high = options["reward_range"]
        options |= {"reward_range": (float(low), float(high)), "solved": float(options["solved"])}
        return cls(config=MachineConfig(**options), **held)
