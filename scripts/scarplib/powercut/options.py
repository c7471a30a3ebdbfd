# SPDX-License-Identifier: GPL-2.0-or-later
"""What `scarp powercut` may be told."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from scarplib.drive.options import add_overwrite, add_scheme
from scarplib.errors import UserError
from scarplib.guest.file_system import FILE_SYSTEMS
from scarplib.guest.options import add_cpu_limit, add_job, add_machine, add_user
from scarplib.option_types import MIBS, SECONDS, add_json, add_out, integer
from scarplib.powercut.layout import OVER

_CUT = r"[1-9]\d*"
_ONE = rf"{_CUT}(\+{_CUT})?"
_SOME = rf"({_CUT}-{_CUT}|{_ONE})"


def _cut(text: str) -> str:
    if not re.fullmatch(_ONE, text):
        raise UserError(f"--cut: '{text}' is not a number, or N+M as a report has it")
    return text


def _cuts(text: str) -> str:
    if not re.fullmatch(rf"\d+|{_SOME}(,{_SOME})*", text):
        raise UserError(f"--cuts: '{text}' is not a number of cuts, nor A-B,… as cuts are numbered")
    if text.isdecimal() and not int(text):
        raise UserError("--cuts: 0: nothing would be tried, and nothing found wrong; 1 or more")
    return text


def add_powercut(parser: argparse.ArgumentParser) -> None:
    """The command's own options."""
    parser.add_argument(
        "--from",
        dest="recording",
        type=Path,
        metavar="DIR",
        help="the recording in an earlier run's results, in place of a new one",
    )
    add_job(parser)
    parser.add_argument(
        "--fs", choices=FILE_SYSTEMS, help="the workload runs in this file system on the drive"
    )
    parser.add_argument(
        "--drives",
        type=integer("--drives", 1, 24),
        default=1,
        metavar="N",
        help="with --over: on so many drives, whose power fails at the same instant",
    )
    parser.add_argument(
        "--over",
        choices=OVER,
        help="what makes one of them: the array of docs/array.md, or btrfs, which mirrors",
    )
    parser.add_argument(
        "--check",
        action="append",
        default=[],
        metavar="NAME|FILE",
        help="fio, fs or sqlite, each with a workload of its own; or a script of yours, run in "
        "a guest on what the drive contains. May be given several times; NVMe's contract is always "
        "checked",
    )
    parser.add_argument(
        "--check-limit",
        type=integer("--check-limit", 1, 86400, SECONDS),
        default=60,
        metavar="S",
        help="a check that takes longer is stopped, and has failed (default: 60)",
    )
    parser.add_argument(
        "--cuts",
        type=_cuts,
        metavar="N|A-B,…",
        help="so many cuts, of each kind of moment one first (default: 200); or these alone",
    )
    parser.add_argument(
        "--cut", type=_cut, metavar="N", help="this one alone, as a report has its number"
    )
    parser.add_argument(
        "--twice",
        action="store_true",
        help="after each cut also another one, at some moment of its recovery",
    )
    parser.add_argument(
        "--sample-seed",
        type=integer("--sample-seed", 0, 2**61 - 1),
        default=1,
        metavar="N",
        help="which cuts are chosen (default: 1)",
    )
    parser.add_argument(
        "--jobs",
        type=integer("--jobs", 1, 4096),
        default=1,
        metavar="N",
        help="cuts at once (default: 1)",
    )
    add_scheme(parser)
    add_overwrite(parser)
    parser.add_argument(
        "--most-data",
        type=integer("--most-data", 1, 1 << 20, MIBS),
        default=1024,
        metavar="MIB",
        help="a workload that writes more is refused, as each byte is kept (default: 1024)",
    )
    parser.add_argument(
        "--lies",
        action="store_true",
        help="in place of all that: which check sees which lie of a drive's",
    )
    parser.add_argument(
        "--ready",
        action="store_true",
        help="in place of all that: time until ready, by the drive's size and by checkpoints",
    )
    add_json(parser)
    add_out(parser)
    add_cpu_limit(parser, 600, "600")
    add_user(parser)
    add_machine(parser, "power-cut")
