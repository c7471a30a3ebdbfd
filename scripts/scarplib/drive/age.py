# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp age`: an aged drive in a file that runs and replays start from."""

from __future__ import annotations

import argparse
import subprocess
from pathlib import Path

from scarplib import scheme_text, whole_file
from scarplib.errors import UserError


def command(
    description: Path,
    output: Path,
    fill: int,
    seed: int,
    overwrite: int | None = None,
    pattern: str = "random",
    scheme: str = "baseline",
    overrides: str | None = None,
    slc: str | None = None,
) -> list[str]:
    """The replayer's command line that ages a drive and saves it."""
    from scarplib.build.first_answer import first_replay

    words = [str(first_replay()), "--description", str(description)]
    words += [*scheme_text.split(scheme).words(), "--seed", str(seed)]
    words += ["--age", str(fill), "--age-seed", str(seed)]
    # Of a new drive nothing can be overwritten, in any order.
    if fill:
        words += ["--age-pattern", pattern]
        words += [] if overwrite is None else ["--age-overwrite", str(overwrite)]
        words += ["--age-slc", slc] if slc else []
    for override in filter(None, (overrides or "").split(",")):
        words += ["--override", override]
    return [*words, "--save", str(output)]


def make(words: list[str]) -> None:
    """Age as `command` says, in silence; what the engine refuses is the user's to read."""
    done = subprocess.run(
        words, capture_output=True, text=True, errors="surrogateescape", check=False
    )
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        reason = lines[-1] if lines else f"exit status {done.returncode}"
        raise UserError(f"ageing the drive: {reason.removeprefix('scarp-replay: ')}")


def age(arguments: argparse.Namespace) -> int:
    """Age as the command line says, and print the image's size."""
    description: Path = arguments.description
    if not description.is_file():
        raise UserError(f"{description}: no such drive description")
    if not arguments.output.parent.is_dir():
        raise UserError(f"-o {arguments.output}: there is no folder {arguments.output.parent}")
    whole_file.check("-o", arguments.output, description)
    words = command(
        description,
        arguments.output,
        arguments.fill,
        arguments.seed,
        arguments.overwrite,
        arguments.pattern,
        arguments.scheme,
        arguments.set,
        arguments.slc,
    )
    done = subprocess.run(words, check=False)
    if done.returncode:
        return done.returncode
    print(f"{arguments.output}: {arguments.output.stat().st_size / 2**20:.1f} MiB")
    return 0
