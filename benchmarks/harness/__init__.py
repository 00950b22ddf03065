"""
What the benchmarks share: workloads, floors, engines, fresh processes and tables.

Everything but ``rules`` and ``engines.headway`` needs the standard library only, so that a peer's
environment can run it.
"""
