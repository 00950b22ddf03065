"""
``headway run``: improve a domain's artifact, and leave the result as files.

Standard output holds the report, or with ``--json`` one object and nothing else; everything that is
said on the way goes to standard error.
"""

from __future__ import annotations

import argparse
from typing import Any

from headway.cli._arguments import add_shared
from headway.cli._flags import add_flags
from headway.cli._settings import gather
from headway.cli._study import carry_out, make_study
from headway.errors import UsageError

_EXAMPLE = """\
Example:
  headway run inflect --mode sync --workers 8 --max-rollouts 400 --seed 1 --run-dir first

  headway resume first                                   goes on when it was interrupted
  headway run inflect --set latency=lognormal:0.05,1     an option of the domain
  headway run inflect --help                             all of them
  headway run inflect --driver simulated --durations rollout=lognormal:1,1
  headway run inflect --config study.toml --json
  headway run study.py:program --set held_out_frac=0.3   a domain that a file makes

Exit codes: 0 done, 1 the run failed, 2 bad input, 130 after Ctrl-C, 141 when nobody reads the
output to its end, 143 after SIGTERM.
"""


def add_parser(subparsers: Any) -> None:
    """
    Add the command's parser to what argparse's ``add_subparsers`` gave; that has no public type.
    """
    parser = subparsers.add_parser(
        "run",
        help="improve a domain's artifact",
        usage="headway run DOMAIN [option ...]",  # forty options would bury what matters
        description="Improve a domain's artifact, and leave the result as files.",
        epilog=_EXAMPLE,
        add_help=False,
    )
    add_shared(parser, folder="DOMAIN-SEED-N", told="what happens")
    about = (
        "a folder that keeps all of the run, so that it survives a crash and can be gone on with"
    )
    parser.add_argument("--run-dir", metavar="DIR", help=about)
    add_flags(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """
    Run the domain.

    Returns:
        The exit code.
    """
    if args.out is not None and args.run_dir is not None:
        told = "A run directory holds the files of the run too: give one of the two."
        raise UsageError(f"--out {args.out} and --run-dir {args.run_dir}: {told}")
    return carry_out(
        lambda: make_study(gather(args), out=args.out, run_dir=args.run_dir), as_json=args.json
    )
