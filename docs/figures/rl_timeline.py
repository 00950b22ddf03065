"""
Makes the timeline of docs/explanation/how-old-data-may-be.md: python docs/figures/rl_timeline.py

Some seconds, on real threads; no two machines draw quite the same.
"""

from __future__ import annotations

from pathlib import Path

from headway_envs import Slow
from headway_envs.miniterm import MiniTerm, TaskBatch, warm_start
from headway_rl import AsyncTrainer, Network, NumpyTrainer, Schedule

tasks, held_out = TaskBatch.draw(0, 0, 64), TaskBatch.draw(0, 1, 8)
trainer = AsyncTrainer(
    environment=lambda: Slow(MiniTerm(), "lognormal:0.3,1"),
    trainer=NumpyTrainer(network=Network(features=27, hidden=32, actions=12), theta=warm_start()),
    rows=[tasks.task(number) for number in range(len(tasks))],
    held_out=[held_out.task(number) for number in range(len(held_out))],
    groups_per_step=4,
    group_size=4,
    max_staleness=2,
    schedule=Schedule(concurrency=32),
)
trainer.run(updates=12, seed=3, final_draws=1, timeline=Path(__file__).parent / "rl-timeline.png")
