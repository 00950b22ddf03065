"""
What an evolution strategy costs beside its noise: ask and tell against the generator's own speed.

    python benchmarks/es.py --check

A generation is asked and told: every half of every pair is written out, and the centre is moved by Adam.
The limits are measured in turn with it, in the same process: drawing that noise and doing nothing else, and
copying arrays that fit no cache.  Noise that is only read is held against copying what must be moved, which
is 16 bytes a number and pair: it is read, two halves are written, and it is read again.
"""

from __future__ import annotations

import argparse
from statistics import median
from time import process_time

from harness.fresh import call
from harness.tables import Table, add_common, end, mid

DRAWN = {"stored": 0.90, "drawn again": 0.45}
READ = {"table32-v1/24": 0.5, "sign32-v1": 0.5}
BYTES = 16
"""Bytes that must be moved for each number of a pair whose noise costs nothing to make."""


def timed(work):
    began = process_time()
    work()
    return process_time() - began


def generation(strategy, out):
    """
    Ask for all pairs and tell them something.
    """

    def work():
        for pair in range(strategy.population):
            strategy.ask(pair, out)
        strategy.tell([(float(i % 7), float(i % 5)) for i in range(strategy.population)])

    return work


def drawing(dim, pairs):
    """
    The noise of a generation, into an array of its size.
    """
    import numpy as np

    out = np.zeros((pairs, dim), dtype=np.float32)
    generator = np.random.Generator(np.random.Philox(7))
    return lambda: generator.standard_normal(dtype=np.float32, out=out)


def copying(size):
    """
    One array of so many bytes onto another; those that are read and those that are written both count.
    """
    import numpy as np

    one = np.ones(size // 4, dtype=np.float32)
    other = np.ones_like(one)
    return lambda: np.copyto(other, one)


def measured(noise, store, dim, pairs, times, megabytes):
    """
    Seconds of a generation and of its limit, in turn, and the share of the limit that was reached.
    """
    import numpy as np

    from headway_es import Strategy

    theta = np.zeros(dim, dtype=np.float32)
    made = {"population": pairs, "noise": noise, "store": store, "seed": 7}
    strategy = Strategy(theta=theta, **made)
    work = generation(strategy, (np.empty_like(theta), np.empty_like(theta)))
    drawn = noise.startswith("zig")
    limit = drawing(dim, pairs) if drawn else copying(megabytes * 2**20)
    work(), limit()  # pages are touched and tables are made once
    rows = [(timed(limit), timed(work)) for _ in range(times)]
    bound = 1.0 if drawn else BYTES * dim * pairs / (2 * megabytes * 2**20)
    shares = [bound * floor / took for floor, took in rows]
    speed = dim * pairs / median(took for _, took in rows) / 1e9
    return {"share": median(shares), "speed": speed, "rows": rows}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--dim", type=int, default=1_000_000, help="parameters")
    parser.add_argument("--pairs", type=int, default=64, help="mirrored pairs in a generation")
    parser.add_argument("--megabytes", type=int, default=256, help="size of what is copied")
    parser.add_argument("--times", type=int, default=5, help="generations measured in a process")
    add_common(parser)
    return parser.parse_args()


def main():
    asked = arguments()
    table = Table(noise="13s", how="11s", share="5.2f", at_least="8.2f", speed="6.3f", unit="14s")
    results = []
    cases = [("zig32-v1", how, how == "stored", least) for how, least in DRAWN.items()]
    cases += [(noise, "read", False, least) for noise, least in READ.items()]
    for noise, how, store, least in cases:
        names = ("dim", "pairs", "times", "megabytes")
        sizes = {name: getattr(asked, name) for name in names}
        runs = [call("es:measured", noise=noise, store=store, **sizes) for _ in range(asked.repeat)]
        results += [{"noise": noise, "how": how, **one} for one in runs]
        share = mid(runs, "share")
        table.row(
            noise=noise,
            how=how,
            share=share,
            at_least=least,
            speed=mid(runs, "speed"),
            unit="G numbers/s",
            missed=[f"{share:.2f} < {least}"] if share < least else [],
        )
    end(asked, table, results)


if __name__ == "__main__":
    main()
