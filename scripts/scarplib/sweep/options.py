# SPDX-License-Identifier: GPL-2.0-or-later
"""What `scarp sweep` may be told besides what it hands on."""

from __future__ import annotations

import re
from pathlib import Path

from scarplib.errors import UserError
from scarplib.option_types import Parser, add_cores, own_file
from scarplib.paths import DEVICES, OUT


def _seeds(text: str) -> tuple[int, ...]:
    """1-10,20: each once."""
    found: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"(\d{1,18})(?:-(\d{1,18}))?", part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if first > last or last - first > 9999:
            raise UserError(f"--seeds: '{part}' is not a seed, or FIRST-LAST of at most 10000")
        found += range(first, last + 1)
    if len(found) != len(set(found)):
        raise UserError(f"--seeds: '{text}' names one twice")
    return tuple(found)


def _devices(text: str) -> tuple[str, ...]:
    own = own_file("--devices", DEVICES)
    names = tuple(str(own(name)) for name in text.split(","))
    stems = [Path(name).stem for name in names]
    for name, stem in zip(names, stems, strict=True):
        if not Path(name).is_file():
            raise UserError(f"--devices: {name}: no such file")
        if stems.count(stem) > 1:
            raise UserError(f"--devices: two of them are named {stem}")
    return names


def add_sweep(parser: Parser) -> None:
    """The command's own options."""
    parser.add_argument(
        "--devices", type=_devices, required=True, metavar="A,B,…", help="descriptions of drives"
    )
    parser.add_argument("--seeds", type=_seeds, required=True, metavar="1-10,…")
    parser.add_argument(
        "--replay", default="", metavar="TRACE|gen:…", help="on the replayer, without a guest"
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=OUT / "sweep",
        metavar="DIR",
        help="results; what is there already is not run again (default: out/sweep)",
    )
    add_cores(parser)
    parser.add_argument(
        "--snakemake",
        default="",
        metavar="'OPTIONS'",
        help="for Snakemake, such as '--executor slurm --jobs 100' or '--profile NAME'",
    )
