# SPDX-License-Identifier: GPL-2.0-or-later
"""A program of the engine for whoever has just changed it: built of objects, without LTO.

It answers with the same bytes as the one with LTO (tests/e2e/test_equal_answers.py), only slower.
After a change of one file that file alone is compiled, and what includes it if it is a header.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from scarplib.build.cache import cache_dir, check_unchanged, locked, step
from scarplib.build.compile import CFLAGS, flags
from scarplib.build.host_packages import ensure_packages
from scarplib.build.replayer import (
    LIBRARIES,
    PACKAGES,
    built_program,
    program_key,
    sources,
)
from scarplib.errors import UserError
from scarplib.paths import ENGINE

_PACKAGES = (*PACKAGES, "ninja-build")
_FLAGS = tuple(flag for flag in CFLAGS if not flag.startswith("-flto"))
_RULES = """ninja_required_version = 1.5
rule compile
  command = cc {flags} -Iftl -MD -MF $out.d -c $in -o $out
  depfile = $out.d
  deps = gcc
  description = $in
rule link
  command = cc {flags} -o $out $in {libraries}
  description = $out
"""


def _ninja_file(name: str, code: list[Path], more: tuple[str, ...]) -> str:
    objects = {f"ftl/{path.as_posix()}": f"objects/{path.as_posix()}.o" for path in code}
    lines = [f"build {made}: compile {source}" for source, made in objects.items()]
    lines.append(f"build {name}: link {' '.join(objects.values())}")
    compile_flags = " ".join((*_FLAGS, *more, *flags("--cflags", LIBRARIES)))
    rules = _RULES.format(flags=compile_flags, libraries=" ".join(flags("--libs", LIBRARIES)))
    return rules + "\n".join(lines) + "\n"


def _surroundings(files: list[Path]) -> str:
    """What decides about every object, and what ninja does not see.

    A package of another version brings headers with older times than the objects.  A new header
    may hide one of the same name in another folder.
    """
    asked = (["cc", "--version"], ["pkg-config", "--modversion", *LIBRARIES])
    said = [
        subprocess.run(command, capture_output=True, text=True, check=False).stdout
        for command in asked
    ]
    headers = [path.as_posix() for path in files if path.suffix == ".h"]
    return "\n".join([*said, *headers])


def _synchronise(engine: Path, mirror: Path, files: list[Path]) -> None:
    """Copy only what differs in its bytes: times of the user's own files may go back."""
    for path in mirror.rglob("*.[ch]"):
        if path.relative_to(mirror) not in files:
            path.unlink()
    for path in files:
        data, copy = (engine / path).read_bytes(), mirror / path
        if not copy.is_file():
            copy.parent.mkdir(parents=True, exist_ok=True)
        elif copy.read_bytes() == data:
            continue
        copy.write_bytes(data)


def build(
    work: Path, name: str, engine: Path, found: list[Path], more: tuple[str, ...] = ()
) -> Path:
    """The program, in the folder of its objects, which the caller has locked.

    `more` flags of the compiler follow the usual ones.
    """
    files = [path.relative_to(engine) for path in found]
    around, listing = _surroundings(files), work / "build.ninja"
    noted = work / "surroundings"
    if not noted.is_file() or noted.read_text() != around:
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        noted.write_text(around)
    _synchronise(engine, work / "ftl", files)
    listing.write_text(_ninja_file(name, [x for x in files if x.suffix == ".c"], more))
    done = subprocess.run(
        ["ninja", "-C", str(work), name], capture_output=True, text=True, check=False
    )
    if done.returncode:
        # What the compiler says, without ninja's own lines and the compiler's command.
        said = re.sub(r"^(ninja: .*|\[\d+/\d+\] .*|FAILED: .*\n.*)\n", "", done.stdout, flags=re.M)
        raise UserError(f"{name} does not build:\n{(said + done.stderr).strip()[-2000:]}")
    return work / name


def first_program(folder: str, name: str, found: list[Path], engine: Path = ENGINE) -> Path:
    """The program of these sources that is there the soonest.

    folder, name, found: as of ensure_program(); all sources are below `engine`.  The one with LTO
    if it has been built; else one of objects, which are kept from one call to the next.
    """
    whole = built_program(folder, name, found)
    key = program_key(found)
    first = cache_dir() / f"{folder}-first" / key / name
    if whole.is_file() or first.is_file():
        return whole if whole.is_file() else first
    ensure_packages(_PACKAGES)
    with locked(f"{folder}-first"), step(f"building {name} for a first answer"):
        if not first.is_file():
            made = build(cache_dir() / f"{folder}-objects", name, engine, found)
            check_unchanged(name, key, program_key(found))
            first.parent.mkdir(parents=True, exist_ok=True)
            fresh = first.with_suffix(".new")
            shutil.copy(made, fresh)
            fresh.rename(first)
    return first


def first_replay() -> Path:
    """scarp-replay, for commands that somebody waits for; ensure_replay() is for long work."""
    return first_program("replay", "scarp-replay", sources())
