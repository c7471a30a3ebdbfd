# SPDX-License-Identifier: GPL-2.0-or-later
"""`make install` and `make uninstall`.

Everything that `scarp` reads lies in share/scarp as it does in a checkout, so that one
`scarplib.paths` finds it in both.  share/scarp/installed.json lists what was written, which is
what goes again.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from scarplib import command_tree
from scarplib.build import array, cuts, replayer
from scarplib.build.library import HEADER, ensure_libscarp
from scarplib.completion.words import script
from scarplib.errors import UserError
from scarplib.paths import MANIFEST, ROOT
from scarplib.release import manual
from scarplib.version import abi, version

_SHARE = "share/scarp"
# Folders of the checkout that `scarp` works with, and single files.
FOLDERS = (
    "devices", "examples", "experiments", "fio-jobs", "ftl", "guest", "hw", "qemu-patches",
    "scripts",
)  # fmt: skip
_FILES = ("docs/reference.md", "LICENSE", "CHANGELOG.md")
_BINDING = "bindings/python/scarp.py"
_NOT_OURS = ("__pycache__", ".mypy_cache", ".ruff_cache")

_PKG_CONFIG = """\
prefix=${{pcfiledir}}/../..
includedir=${{prefix}}/include
libdir=${{prefix}}/lib
pythondir=${{prefix}}/share/scarp/python
devicesdir=${{prefix}}/share/scarp/devices
abi={abi}

Name: scarp
Description: A discrete-event model of an NVMe SSD's flash, and of its garbage collection
Version: {version}
Requires: glib-2.0
Cflags: -I${{includedir}}
Libs: -L${{libdir}} -lscarp
"""


@dataclass
class Tree:
    """What goes below the prefix, by its path there: files, what is written, links."""

    files: dict[str, Path] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    programs: set[str] = field(default_factory=set)

    def paths(self) -> list[str]:
        """All of it."""
        return sorted([*self.files, *self.texts, *self.links])


def _ours() -> Iterator[Path]:
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.is_file() and not any(part in _NOT_OURS for part in path.parts):
                yield path
    for name in _FILES:
        yield ROOT / name


def _zsh() -> str:
    """A file that is loaded when it is first asked must end with the answer."""
    return script("zsh").replace("\ncompdef _scarp scarp\n", '\n_scarp "$@"\n')


def tree(commands: command_tree.Tree) -> Tree:
    """Builds what has to be built; `commands` are those of the manual."""
    plan = Tree()
    for path in _ours():
        plan.files[f"{_SHARE}/{path.relative_to(ROOT)}"] = path
    library = ensure_libscarp()
    plan.files |= {
        "bin/scarp-replay": replayer.ensure_replay(),
        "bin/scarp-array": array.ensure_simulator(),
        # The report asks it, and its reader may have no compiler.
        "bin/scarp-why": cuts.ensure_why(),
        "include/scarp.h": HEADER,
        "lib/libscarp.a": library.static,
        f"lib/{library.shared.name}": library.shared,
        f"{_SHARE}/python/scarp.py": ROOT / _BINDING,
    }
    plan.programs = {"bin/scarp-replay", "bin/scarp-array", "bin/scarp-why"}
    plan.programs.add(f"lib/{library.shared.name}")
    plan.links = {
        "bin/scarp": f"../{_SHARE}/scripts/scarp",
        f"lib/{library.soname}": library.shared.name,
        "lib/libscarp.so": library.soname,
    }
    plan.texts = {
        "lib/pkgconfig/scarp.pc": _PKG_CONFIG.format(abi=abi(), version=version()),
        "share/bash-completion/completions/scarp": script("bash"),
        "share/zsh/site-functions/_scarp": _zsh(),
    }
    plan.texts |= {f"share/man/man1/{name}": text for name, text in manual.pages(commands).items()}
    return plan


def _keys(plan: Tree) -> dict[str, str]:
    """Of what the programs were made: `scarp` takes them while its sources are these."""
    programs = [plan.files[name] for name in plan.programs if name.startswith("bin/")]
    return {program.name: replayer.key_of(program) for program in sorted(programs)}


def _folders(place: Path, paths: list[str]) -> list[Path]:
    """Those that are not there yet, outer ones first."""
    missing = set()
    for path in paths:
        folder = (place / path).parent
        while not folder.is_dir():
            missing.add(folder)
            folder = folder.parent
    return sorted(missing)


def _copy(source: Path, target: Path, program: bool) -> None:
    # Beside it and renamed: a program that runs, or a library in use, keeps the old file.
    with tempfile.TemporaryDirectory(dir=target.parent) as work:
        fresh = Path(work) / target.name
        shutil.copyfile(source, fresh)
        if program:
            subprocess.run(["strip", "--strip-unneeded", str(fresh)], check=True)
        fresh.chmod(0o755 if source.stat().st_mode & 0o100 else 0o644)
        fresh.replace(target)


def _put(target: Path, text: str) -> None:
    with tempfile.TemporaryDirectory(dir=target.parent) as work:
        fresh = Path(work) / target.name
        fresh.write_text(text)
        fresh.chmod(0o644)
        fresh.replace(target)


def _write(place: Path, plan: Tree) -> None:
    for name, source in plan.files.items():
        _copy(source, place / name, name in plan.programs)
    for name, text in plan.texts.items():
        _put(place / name, text)
    for name, leads in plan.links.items():
        (place / name).unlink(missing_ok=True)
        (place / name).symlink_to(leads)


def _record(place: Path, paths: list[str], programs: dict[str, str], made: list[Path]) -> None:
    content = {
        "version": version(),
        "programs": programs,
        "files": sorted({*paths, f"{_SHARE}/{MANIFEST.name}"}),
        "folders": sorted({os.path.relpath(folder, place) for folder in made}),
    }
    _put(place / _SHARE / MANIFEST.name, json.dumps(content, indent=1) + "\n")


def _recorded(place: Path) -> dict[str, list[str]]:
    manifest = place / _SHARE / MANIFEST.name
    try:
        found: dict[str, list[str]] = json.loads(manifest.read_text())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise UserError(f"{manifest}: not what `make install` wrote: {error}") from error
    return found


def _remove(place: Path, recorded: dict[str, list[str]], kept: set[str]) -> None:
    for name in recorded["files"]:
        if name not in kept:
            (place / name).unlink(missing_ok=True)
    # What Python keeps beside what it has loaded is nobody's.
    for folder in (place / _SHARE).rglob("__pycache__"):
        shutil.rmtree(folder)
    folders = [Path(os.path.normpath(place / name)) for name in recorded["folders"]]
    for folder in sorted(folders, key=lambda x: len(x.parts), reverse=True):
        # What somebody else has put there stays.
        with contextlib.suppress(OSError):
            folder.rmdir()


def install(place: Path, commands: command_tree.Tree) -> int:
    """All of it below `place`; of an older version's files, those that are no more go."""
    plan = tree(commands)
    old = _recorded(place)
    try:
        made = _folders(place, plan.paths())
        for folder in made:
            folder.mkdir(parents=True, exist_ok=True)
            if folder.is_relative_to(place):
                # For all users, as the files are, whatever the umask of who installs.
                folder.chmod(0o755)
        made += [place / name for name in old.get("folders", [])]
        # What an interruption leaves is known, and trusted by nobody: the next one replaces it.
        _record(place, [*plan.paths(), *old.get("files", [])], {}, made)
        _write(place, plan)
        if old:
            gone = {"files": old["files"], "folders": []}
            _remove(place, gone, {*plan.paths(), f"{_SHARE}/{MANIFEST.name}"})
        _record(place, plan.paths(), _keys(plan), made)
    except OSError as error:
        raise UserError(f"install: {error.filename}: {error.strerror}") from error
    print(f"scarp {version()}: {len(plan.paths())} files below {place}")
    return 0


def uninstall(place: Path) -> int:
    """What install() wrote there, and the folders that it made, unless they are in use."""
    recorded = _recorded(place)
    if not recorded:
        raise UserError(f"uninstall: {place / _SHARE}: nothing was installed there")
    try:
        _remove(place, recorded, set())
    except OSError as error:
        raise UserError(f"uninstall: {error.filename}: {error.strerror}") from error
    print(f"scarp: nothing of it is left below {place}")
    return 0
