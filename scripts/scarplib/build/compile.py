# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs of the engine's sources that need no QEMU: one compiler call, the same flags for all."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from scarplib.build.cache import check_unchanged
from scarplib.errors import UserError

# What a program depends on besides its sources.
RECIPE = Path(__file__)
# What whole-program optimisation brings: docs/performance.md.
# Functions begin at lines of the cache: else where they happen to lie costs up to 5 %.
CFLAGS = (
    "-std=gnu11", "-O3", "-flto=auto", "-falign-functions=64", "-g", "-Wall", "-Wextra",
)  # fmt: skip


def flags(what: str, libraries: tuple[str, ...]) -> list[str]:
    """Of pkg-config, for these libraries."""
    command = ["pkg-config", what, *libraries]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise UserError(f"'{' '.join(command)}' failed: {done.stderr.strip()}")
    return shlex.split(done.stdout)


def compiler(what: str, command: list[str]) -> None:
    """One call of a compiler; the user gets what it says if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise UserError(f"{what} does not build:\n{done.stderr.strip()[-2000:]}")


def compile_program(
    program: Path,
    engine: Path,
    sources: list[Path],
    libraries: tuple[str, ...],
    folders: Sequence[Path] = (),
    key: Callable[[], str] | None = None,
) -> None:
    """A program of these sources on the engine's headers and those of other folders.

    It appears whole or not at all.  `key` says what its sources' key is: the program appears only
    if that is still its folder's name.
    """
    program.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=program.parent) as work:
        made = Path(work) / program.name
        command = ["cc", *CFLAGS, f"-I{engine}", *(f"-I{folder}" for folder in folders)]
        command += ["-D_GNU_SOURCE"] if folders else []
        command += [*flags("--cflags", libraries), "-o", str(made)]
        command += [str(path) for path in sources if path.suffix == ".c"]
        compiler(program.name, [*command, *flags("--libs", libraries)])
        if key:
            check_unchanged(program.name, program.parent.name, key())
        shutil.move(made, program)
