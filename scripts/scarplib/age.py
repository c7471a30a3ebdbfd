# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp age`: an aged drive in a file that runs and replays start from."""

from __future__ import annotations

import argparse
import subprocess
from pathlib import Path

from .errors import UserError


def age(arguments: argparse.Namespace) -> int:
    description: Path = arguments.description
    if not description.is_file():
        raise UserError(f"{description}: no such drive description")
    if not arguments.output.parent.is_dir():
        raise UserError(f"-o {arguments.output}: there is no folder {arguments.output.parent}")
    from . import replay

    command = [str(replay.ensure_replay()), "--description", str(description)]
    command += ["--scheme", arguments.scheme, "--seed", str(arguments.seed)]
    command += ["--age", str(arguments.fill), "--age-seed", str(arguments.seed)]
    command += ["--age-pattern", arguments.pattern]
    if arguments.overwrite is not None:
        command += ["--age-overwrite", str(arguments.overwrite)]
    for override in filter(None, (arguments.set or "").split(",")):
        command += ["--override", override]
    done = subprocess.run([*command, "--save", str(arguments.output)], check=False)
    if done.returncode:
        return done.returncode
    print(f"{arguments.output}: {arguments.output.stat().st_size / 2**20:.1f} MiB")
    return 0
