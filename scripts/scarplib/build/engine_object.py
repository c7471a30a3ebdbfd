# SPDX-License-Identifier: GPL-2.0-or-later
"""The engine as one object, optimised as a whole: the library and most programs are linked of it.

scarp-replay and bench-engine, whose speed is what they are for, are optimised together with it.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from scarplib.build.cache import cache_dir, check_unchanged, locked, step, tree_hash
from scarplib.build.compile import CFLAGS, RECIPE, compiler, flags
from scarplib.build.engine_sources import engine_sources
from scarplib.build.host_packages import ensure_packages
from scarplib.build.replayer import LIBRARIES, PACKAGES, built_program, program_key
from scarplib.paths import ENGINE

# Of many sources one object, which a shared library can have, too.
_OBJECT = ("-fPIC", "-fno-semantic-interposition", "-r", "-flinker-output=nolto-rel")
_LIBRARIES = ("glib-2.0",)


def _make(
    made: Path, words: Sequence[str], sources: Sequence[Path], key: Callable[[], str]
) -> None:
    """`made` appears whole or not at all, and only if `key` says what its folder's name is."""
    made.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=made.parent) as work:
        fresh = Path(work) / made.name
        code = [str(path) for path in sources if path.suffix == ".c"]
        command = ["cc", *CFLAGS, f"-I{ENGINE}", "-o", str(fresh), *code, *words]
        compiler(made.name, command)
        check_unchanged(made.name, made.parent.name, key())
        shutil.move(fresh, made)


def _key() -> str:
    return tree_hash([*engine_sources(ENGINE), RECIPE, Path(__file__)])[:20]


def ensure_engine() -> Path:
    """The object, from the cache or built into it; all names of the engine are visible in it."""
    whole = cache_dir() / "engine" / _key() / "scarp.o"
    if whole.is_file():
        return whole
    ensure_packages(PACKAGES)
    with locked("engine"), step("building the engine"):
        if not whole.is_file():
            words = (*_OBJECT, *flags("--cflags", _LIBRARIES))
            _make(whole, words, engine_sources(ENGINE), _key)
    return whole


def link(
    program: Path,
    own: Sequence[Path],
    libraries: tuple[str, ...],
    key: Callable[[], str],
    folders: Sequence[Path] = (),
) -> None:
    """A program of its own sources and the engine's object; more headers are in `folders`."""
    words = [f"-I{folder}" for folder in folders] + (["-D_GNU_SOURCE"] if folders else [])
    words += [*flags("--cflags", libraries), str(ensure_engine()), *flags("--libs", libraries)]
    _make(program, words, own, key)


def ensure_linked(folder: str, name: str, files: list[Path]) -> Path:
    """As replayer.ensure_program(), but that the engine's sources are not compiled again."""
    binary = built_program(folder, name, files)
    if binary.is_file():
        return binary
    ensure_packages(PACKAGES)
    with locked(folder), step(f"building {name}"):
        if not binary.is_file():
            engine = {*engine_sources(ENGINE)}
            own = [path for path in files if path not in engine]
            link(binary, own, LIBRARIES, lambda: program_key(files))
    return binary
