# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs of the engine's sources that need no QEMU, and the engine's object: one compiler call
each, the same flags for all."""

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
# What makes of many sources one object, which a shared library can have, too.
_OBJECT = ("-fPIC", "-fno-semantic-interposition", "-r", "-flinker-output=nolto-rel")


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
    sources: Sequence[Path],
    libraries: tuple[str, ...],
    folders: Sequence[Path] = (),
    key: Callable[[], str] | None = None,
    objects: Sequence[Path] = (),
) -> None:
    """A program of these sources and objects, on the engine's headers and those of other folders.

    It appears whole or not at all.  `key` says what its sources' key is: the program appears only
    if that is still its folder's name.
    """
    words = [f"-I{engine}", *(f"-I{folder}" for folder in folders)]
    words += ["-D_GNU_SOURCE"] if folders else []
    words += [*flags("--cflags", libraries), *_code(sources), *map(str, objects)]
    _make(program, [*words, *flags("--libs", libraries)], key)


def compile_object(
    whole: Path,
    engine: Path,
    sources: Sequence[Path],
    libraries: tuple[str, ...],
    key: Callable[[], str],
) -> None:
    """One object of all the sources, as compile_program() makes a program."""
    words = [*_OBJECT, f"-I{engine}", *flags("--cflags", libraries), *_code(sources)]
    _make(whole, words, key)


def _code(sources: Sequence[Path]) -> list[str]:
    return [str(path) for path in sources if path.suffix == ".c"]


def _make(made: Path, words: list[str], key: Callable[[], str] | None) -> None:
    made.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=made.parent) as work:
        fresh = Path(work) / made.name
        compiler(made.name, ["cc", *CFLAGS, "-o", str(fresh), *words])
        if key:
            check_unchanged(made.name, made.parent.name, key())
        shutil.move(fresh, made)
