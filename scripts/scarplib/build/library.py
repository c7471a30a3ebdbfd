# SPDX-License-Identifier: GPL-2.0-or-later
"""The engine as a library: libscarp, shared and static, with nothing visible but ftl/scarp.h."""

from __future__ import annotations

import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from scarplib.build.cache import cache_dir, check_unchanged, locked, step, tree_hash
from scarplib.build.compile import RECIPE, compiler, flags
from scarplib.build.engine_object import ensure_engine
from scarplib.build.engine_sources import engine_sources
from scarplib.build.host_packages import ensure_packages
from scarplib.build.replayer import PACKAGES
from scarplib.paths import ENGINE
from scarplib.version import abi, version

HEADER = ENGINE / "scarp.h"
_LIBRARIES = ("glib-2.0",)


@dataclass(frozen=True)
class Library:
    """`shared` has its whole version as its name, `soname` is what programs ask for."""

    shared: Path
    static: Path
    soname: str


def sources() -> list[Path]:
    """The engine without the programs beside it."""
    return engine_sources(ENGINE)


def public_functions() -> list[str]:
    """What the header declares."""
    text = re.sub(r"/\*.*?\*/", "", HEADER.read_text(), flags=re.DOTALL)
    text = re.sub(r"^#.*$", "", text, flags=re.MULTILINE)
    return sorted(set(re.findall(r"\b(scarp_\w+)\(", text)))


def _build(folder: Path, soname: str) -> None:
    """The engine's object, in which all names but the header's become local."""
    whole, names = folder / "scarp.o", folder / "public"
    names.write_text("".join(f"{name}\n" for name in public_functions()))
    keep = f"--keep-global-symbols={names}"
    compiler("libscarp", ["objcopy", "-g", keep, str(ensure_engine()), str(whole)])
    compiler("libscarp", ["ar", "rcsD", str(folder / "libscarp.a"), str(whole)])
    compiler(
        "libscarp",
        ["cc", "-shared", f"-Wl,-soname,{soname}", "-Wl,-Bsymbolic-functions", "-Wl,-z,defs",
         "-o", str(folder / f"libscarp.so.{version()}"), str(whole),
         *flags("--libs", _LIBRARIES)],
    )  # fmt: skip
    names.unlink()
    whole.unlink()


def _key() -> str:
    return tree_hash([*sources(), RECIPE, Path(__file__)])[:20]


def ensure_libscarp() -> Library:
    """From the cache, or built into it."""
    key = _key()
    folder, soname = cache_dir() / "library" / key, f"libscarp.so.{abi()}"
    found = Library(folder / f"libscarp.so.{version()}", folder / "libscarp.a", soname)
    if found.shared.is_file():
        return found
    ensure_packages(PACKAGES)
    with locked("library"), step("building libscarp"):
        if not found.shared.is_file():
            folder.parent.mkdir(exist_ok=True)
            with tempfile.TemporaryDirectory(dir=folder.parent) as name:
                work = Path(name) / "made"
                work.mkdir()
                _build(work, soname)
                check_unchanged("libscarp", key, _key())
                shutil.rmtree(folder, ignore_errors=True)
                work.rename(folder)
    return found
