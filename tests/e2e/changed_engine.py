# SPDX-License-Identifier: GPL-2.0-or-later
"""One copy of the engine with all that is added to it elsewhere, built once for this folder.

Its objects stay in the cache, so that the next run compiles only what has changed since.

It has the code of docs/add-a-scheme.md, add-a-mapping.md and first-hour.patch, and what `scarp new`
writes.
"""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from scarplib.build import first_answer
from scarplib.build.cache import cache_dir, locked
from scarplib.own_scheme import new
from scarplib.own_scheme.command import AXES

ROOT = Path(__file__).resolve().parents[2]
_FLAGS = ("-O1", "-g0", "-Werror", "-DSCARP_CHECKED")


def blocks(page: str) -> list[str]:
    return re.findall(r"```c\n(.*?)```", (ROOT / "docs" / page).read_text(), re.DOTALL)


def insert(path: Path, before: str, text: str) -> None:
    source = path.read_text()
    assert source.count(before) == 1, (path, before)
    path.write_text(source.replace(before, text + before))


def append(path: Path, array: str, text: str) -> None:
    """Puts the text at the end of the initializer of an array."""
    source = path.read_text()
    start = source.index(f" {array}[")
    end = source.index("\n};", start) + 1
    path.write_text(source[:end] + text + source[end:])


def add_scheme(ftl: Path, parts: list[str], file: str, like: str) -> None:
    """Does what the page says: a file, a declaration, and a line of the list."""
    code, declaration, entry = parts
    assert code.count("\n") < 100, file
    (ftl / file).write_text(code)
    insert(ftl / "policies.h", "#endif /* SCARP_POLICIES_H */", f"{declaration}\n")
    scheme = ftl / "drive" / "scheme.c"
    mark = f"    &scarp_{like}.policy,\n"
    assert mark in scheme.read_text(), mark
    scheme.write_text(scheme.read_text().replace(mark, mark + entry))


def add_mapping(ftl: Path) -> None:
    """The page's `fifo`, and `bare`: the same without what recovers from a power cut."""

    def bare(text: str) -> str:
        return text.replace("fifo", "bare").replace("FIFO", "BARE")

    code, kind, name, declaration, entry = blocks("add-a-mapping.md")
    ops = re.findall(r"^const ScarpMappingOps .*?^};\n", code, re.DOTALL | re.MULTILINE)[-1]
    cut = re.sub(r"^ *\.(recover|mend\w*) = .*\n", "", ops, flags=re.MULTILINE)
    assert len(cut.splitlines()) == len(ops.splitlines()) - 4, ops
    (ftl / "map" / "fifo.c").write_text(f"{code}\n{bare(cut)}")
    for file, array, text in (
        ("core/description_check.c", "scarp_mapping_names", name),
        ("map/mapping.c", "mappings", entry),
    ):
        append(ftl / file, array, text + bare(text))
    for file, before, text in (
        ("core/description.h", "    MAPPING__COUNT\n", kind),
        ("map/internal.h", "#endif /* SCARP_MAP_INTERNAL_H */", declaration + "\n"),
    ):
        insert(ftl / file, before, text + bare(text))


@functools.cache
def _copy() -> tempfile.TemporaryDirectory[str]:
    """The folder of `ftl` and of the program, which goes when Python ends."""
    folder = tempfile.TemporaryDirectory()
    ftl = Path(folder.name) / "ftl"
    shutil.copytree(ROOT / "ftl", ftl)
    change = str(ROOT / "docs" / "first-hour.patch")
    subprocess.run(["patch", "-p1", "-s", "-d", folder.name, "-i", change], check=True)
    victim, host_queue = blocks("add-a-scheme.md")[:3], blocks("add-a-scheme.md")[3:]
    add_scheme(ftl, victim, "gc/victim_windowed.c", "victim_greedy")
    add_scheme(ftl, host_queue, "hil/policy_gather.c", "hil_noop")
    add_mapping(ftl)
    for axis in AXES:
        new.write(ftl, axis, f"my-{axis}")
    return folder


def engine() -> Path:
    """Its sources."""
    return Path(_copy().name) / "ftl"


@functools.cache
def program() -> Path:
    """The replayer of it, with every table checked after each event."""
    made = engine().with_name("scarp-replay")
    found = [x for x in sorted(engine().rglob("*.[ch]")) if x.parent.name not in ("cuts", "why")]
    with locked("checked-objects"):
        work = cache_dir() / "checked-objects"
        built = first_answer.build(work, made.name, engine(), found, _FLAGS)
        shutil.copy(built, made)
    return made
