# SPDX-License-Identifier: GPL-2.0-or-later
"""scarp-replay: the engine alone, built once for each state of its sources."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

from scarplib.build.cache import cache_dir, locked, step, tree_hash
from scarplib.build.compile import RECIPE, compile_program
from scarplib.build.engine_sources import engine_sources
from scarplib.build.host_packages import ensure_packages
from scarplib.paths import ENGINE, INSTALLED, MANIFEST, PROGRAMS

PACKAGES = ("gcc", "libc6-dev", "pkg-config", "libglib2.0-dev", "zlib1g-dev", "libzstd-dev")
LIBRARIES = ("glib-2.0", "zlib", "libzstd")


def sources() -> list[Path]:
    """Every file that decides what the program does, but how it is compiled."""
    return sorted([*engine_sources(ENGINE), *(ENGINE / "replay").glob("*.[ch]")])


def program_key(files: list[Path]) -> str:
    """Of what a program is made of."""
    return tree_hash([*files, RECIPE])[:20]


def built_program(folder: str, name: str, files: list[Path]) -> Path:
    """Where a program of these sources is, if it has been built."""
    key = program_key(files)
    # Made of these very sources; a scheme of the user's own makes them others.
    installed = PROGRAMS / name
    same = INSTALLED and json.loads(MANIFEST.read_text())["programs"].get(name) == key
    if same and installed.is_file():
        return installed
    return cache_dir() / folder / key / name


def key_of(program: Path) -> str:
    """Of what a program of built_program() was made: what its results are kept under."""
    if INSTALLED and program.parent == PROGRAMS:
        key: str = json.loads(MANIFEST.read_text())["programs"][program.name]
        return key
    return program.parent.name


def ensure_program(
    folder: str, name: str, files: list[Path], engine: Callable[[], Path] | None = None
) -> Path:
    """A program of these sources on the engine's headers, from the cache or built into it.

    `engine` makes the engine's object (engine_object.ensure_engine): the program is linked of that
    one, and the engine's sources among `files` only decide its key.
    """
    binary = built_program(folder, name, files)
    if binary.is_file():
        return binary
    ensure_packages(PACKAGES)
    with locked(folder), step(f"building {name}"):
        if not binary.is_file():
            objects = [engine()] if engine else []
            compiled = {*files} - {*engine_sources(ENGINE)} if engine else files
            compile_program(
                binary, ENGINE, sorted(compiled), LIBRARIES,
                key=lambda: program_key(files), objects=objects,
            )  # fmt: skip
    return binary


def ensure_replay() -> Path:
    """scarp-replay."""
    return ensure_program("replay", "scarp-replay", sources())


def built_replay() -> Path:
    """Where scarp-replay is, if it has been built."""
    return built_program("replay", "scarp-replay", sources())


def scheme_names(program: Path | None = None) -> list[str]:
    """Every scheme and choice that the engine (or another replayer's) knows, in its own order."""
    listed = _listed(program or ensure_replay()).split("\n\n")[0]
    return re.findall(r"^([a-z0-9-]+): ", listed, re.MULTILINE)


def mapping_names() -> list[str]:
    """What ftl.mapping may be."""
    return re.findall(r"^ftl.mapping=(\w+): ", _listed(ensure_replay()), re.MULTILINE)


def _listed(program: Path) -> str:
    return subprocess.run([program, "--list"], capture_output=True, text=True, check=True).stdout
