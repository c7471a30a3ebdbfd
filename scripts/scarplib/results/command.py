# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp rows`."""

from __future__ import annotations

import argparse
from pathlib import Path

from scarplib.command_tree import RESULTS, Tree
from scarplib.option_types import integer, one_of_each, span


def _rows(options: argparse.Namespace) -> int:
    from scarplib.device_logs import as_csv
    from scarplib.results import in_words, job_names

    log: Path = options.log
    job = job_names.of_run(log if log.is_dir() else log.parent) if not options.lines else None
    if not log.is_dir() and log.name != "cmd.bin":
        job = None
    picks = as_csv.Picks(options.slowest, tuple(options.op), options.between, options.lines, job)
    write = in_words.main if options.words else as_csv.main
    return write(options.log, options.out, picks)


def add_commands(tree: Tree) -> None:
    """To `scarp`."""
    rows = tree.add(
        "rows",
        RESULTS,
        "a command log, GC log or flash log as comma-separated values",
        _rows,
        builds=False,
    )
    rows.add_argument(
        "log",
        type=Path,
        metavar="FILE",
        help="a run's cmd.bin or gc.bin, or a scheme's folder, such as out/latest/baseline; or "
        "what --cmd-log, --gc-log or --flash-log of `scarp replay` wrote",
    )
    rows.add_argument("-o", "--out", type=Path, metavar="FILE", help="(default: standard output)")
    rows.add_argument(
        "--slowest",
        type=integer("--slowest", 1, 10**9),
        default=0,
        metavar="N",
        help="these alone, the slowest first (default: all, in the log's order)",
    )
    rows.add_argument(
        "--op",
        type=one_of_each("--op", ("read", "write", "write_zeroes", "deallocate", "flush")),
        default=[],
        metavar="NAME,…",
        help="commands of these operations alone, such as read,flush",
    )
    rows.add_argument(
        "--between",
        type=span("--between", 2**62),
        metavar="NS:NS",
        help="what came from one moment of the drive's clock to before another; one may be empty",
    )
    rows.add_argument(
        "--lines",
        type=Path,
        metavar="FILE",
        help="what --line-log of `scarp replay` wrote beside the command log: columns for the "
        "trace's line and the job (default: lines.csv beside cmd.bin)",
    )
    rows.add_argument(
        "--words",
        action="store_true",
        help="a line for people in place of columns: when it came, what it was, how long it took, "
        "and its greatest causes",
    )
