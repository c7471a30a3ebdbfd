# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp replay`: builds scarp-replay once for each state of its sources, and becomes it."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

from scarplib.build.cache import cache_dir, locked, step, tree_hash
from scarplib.build.host_packages import ensure_packages
from scarplib.errors import UserError
from scarplib.paths import ROOT

PACKAGES = ("gcc", "libc6-dev", "pkg-config", "libglib2.0-dev", "zlib1g-dev", "libzstd-dev")
LIBRARIES = ("glib-2.0", "zlib", "libzstd")
RECIPE = Path(__file__)  # the flags decide, too
# What whole-program optimisation brings: docs/performance.md.
# Functions begin at lines of the cache: else where they happen to lie costs up to 5 %.
CFLAGS = (
    "-std=gnu11", "-O3", "-flto=auto", "-falign-functions=64", "-g", "-Wall", "-Wextra",
)  # fmt: skip


def sources() -> list[Path]:
    """Every file that decides what the program does, but how it is compiled."""
    return sorted(path for path in (ROOT / "ftl").rglob("*") if path.suffix in (".c", ".h"))


def _flags(what: str, libraries: tuple[str, ...]) -> list[str]:
    command = ["pkg-config", what, *libraries]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise UserError(f"'{' '.join(command)}' failed: {done.stderr.strip()}")
    return shlex.split(done.stdout)


def compile_program(
    program: Path, engine: Path, sources: list[Path], libraries: tuple[str, ...]
) -> None:
    """A program of these sources on the engine's headers; it appears whole or not at all."""
    program.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=program.parent) as work:
        made = Path(work) / program.name
        command = ["cc", *CFLAGS, f"-I{engine}", *_flags("--cflags", libraries), "-o", str(made)]
        command += [str(path) for path in sources if path.suffix == ".c"]
        done = subprocess.run(
            [*command, *_flags("--libs", libraries)], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise UserError(f"{program.name} does not build:\n{done.stderr.strip()[-2000:]}")
        shutil.move(made, program)


def ensure_replay() -> Path:
    """The program, from the cache or built into it."""
    files = sources()
    binary = cache_dir() / "replay" / tree_hash([*files, RECIPE])[:20] / "scarp-replay"
    if binary.is_file():
        return binary
    ensure_packages(PACKAGES)
    with locked("replay"), step("building scarp-replay"):
        if not binary.is_file():
            compile_program(binary, ROOT / "ftl", files, LIBRARIES)
    return binary


def scheme_names() -> list[str]:
    """Every scheme and choice that the engine knows, in its own order."""
    done = subprocess.run([ensure_replay(), "--list"], capture_output=True, text=True, check=True)
    listed = done.stdout.split("\n\n")[0]
    return re.findall(r"^(\S+): ", listed, re.MULTILINE)


def main(arguments: list[str]) -> int:
    binary = ensure_replay()
    os.execv(binary, ["scarp-replay", *arguments])
