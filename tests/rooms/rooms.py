#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The lint of the engine's rooms: who may name whose members, call and include whom.

ftl/rooms.toml says which rooms there are, and docs/architecture.md why.
"""

from __future__ import annotations

import argparse
import functools
import importlib.metadata
import multiprocessing
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import includes
import judge
from table import NAME, Table, TableError, load

try:
    import source
except ImportError:
    sys.exit("rooms.py: needs PyPI's libclang, which `make lint` installs in a venv of its own")

TOP = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TOP / "scripts")]

from scarplib.dev.remembered import Remembered  # noqa: E402

# What files may include that are read.
HEADERS_IN = ("ftl", "guest", "hw", "tests")

Job = tuple[Table, str, list[str], bool]


@functools.cache
def _run(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise TableError(f"parse.packages: {command[0]}: {error.strerror}") from None
    if done.returncode:
        raise TableError(f"parse.packages: '{' '.join(command)}' fails: {done.stderr.strip()}")
    return done.stdout.strip()


def _flags(table: Table) -> list[str]:
    """As the engine is built, with the compiler's own headers, which libclang lacks."""
    flags = [*table.flags, "-ferror-limit=3"]
    flags += [f"-I{table.root / folder}" for folder in table.include]
    flags += ["-isystem", _run("cc", "-print-file-name=include")]
    if table.packages:
        # As the system's, so that what they declare is passed over soon.
        for flag in _run("pkg-config", "--cflags", *table.packages).split():
            flags += ["-isystem", flag[2:]] if flag.startswith("-I") else [flag]
    return flags


def _starts_with_include(text: str) -> bool:
    """Not so, what it defines first may change the headers that are precompiled."""
    first = re.search(r"^[ \t]*#[ \t]*(\w+)", includes.uncomment(text), re.MULTILINE)
    return bool(first and first[1] == "include")


def _jobs(table: Table, files: list[str], scratch: Path) -> list[Job]:
    """Each file on its own, and once more for each switch of the preprocessor that it has.

    Headers see nothing but what they include.  Sources, which the compiler judges anyway, see
    the precompiled headers from the start.
    """
    flags = _flags(table)
    precompiled: list[str] = []
    if table.precompiled:
        header, out = scratch / "precompiled.h", scratch / "precompiled.pch"
        header.write_text("".join(f"#include <{name}>\n" for name in table.precompiled))
        if not source.precompile(header, flags, out):
            raise TableError(f"parse.precompiled: {', '.join(table.precompiled)} do not compile")
        precompiled = ["-include-pch", str(out)]
    jobs: list[Job] = []
    for file in files:
        in_tests = table.in_tests(file)
        if not file.endswith(".c") and (in_tests or not file.endswith(".h")):
            continue
        text = (table.root / file).read_text(encoding="utf-8", errors="replace")
        own = flags
        if file.endswith(".c") and _starts_with_include(text):
            own = [*own, *precompiled]
        if in_tests:
            own = [*own, *table.test_flags]
            own += [f"-I{table.root / folder}" for folder in table.test_include]
        jobs.append((table, file, own, in_tests))
        for switch in table.switches:
            if switch in text:
                jobs.append((table, file, [*own, f"-D{switch}"], in_tests))
    # The largest first, so that no core waits for the other at the end.
    return sorted(jobs, key=lambda job: -(table.root / job[1]).stat().st_size)


def _read(job: Job) -> tuple[Job, source.Facts]:
    return job, source.read(*job)


def _read_all(jobs: list[Job], processes: int) -> Iterator[tuple[Job, source.Facts]]:
    if processes == 1 or not jobs:
        yield from map(_read, jobs)
    else:
        with multiprocessing.Pool(processes) as pool:
            yield from pool.imap_unordered(_read, jobs)


def _remembered(table: Table, cache: Path) -> Remembered:
    own = [*Path(__file__).parent.glob("*.py"), table.root / NAME]
    files = includes.sources(table, HEADERS_IN)
    # A header that appears may come before another of its name.
    headers = [file for file in files if not file.endswith(".c")]
    versions = [_run("pkg-config", "--modversion", package) for package in table.packages]
    versions += [importlib.metadata.version("libclang")]
    around = [*(path.read_bytes() for path in sorted(own)), "\n".join(headers + versions).encode()]
    return Remembered(cache, table.root, files, around)


def _facts(table: Table, jobs: list[Job], processes: int, cache: Path | None) -> source.Facts:
    """Of all jobs: from the cache, or read by so many processes."""
    facts, left = source.Facts(), jobs
    known = _remembered(table, cache) if cache else None
    if known:
        left = []
        for job in jobs:
            found = known.get(job[1], _asked(job))
            if found:
                facts.add(found)
            else:
                left.append(job)
    for job, some in _read_all(left, processes):
        facts.add(some)
        # Those of a file that does not compile are no facts.
        if known and not some.errors:
            known.put(job[1], _asked(job), some.files, some)
    return facts


def _asked(job: Job) -> list[str]:
    """Its flags, but for where the precompiled headers happen to lie."""
    return [flag for flag in job[2] if not flag.endswith(".pch")]


def _layout(table: Table, files: list[str]) -> list[judge.Found]:
    """Folders and files that the table does not know, and the reverse."""
    found: list[judge.Found] = []
    for file in files:
        parts = file.split("/")
        if parts[0] != "ftl" or table.room_of(file):
            continue
        if len(parts) > 2:
            found.append((file, 1, "", f"lies in ftl/{parts[1]}, which is no room of {NAME}"))
        elif not file.endswith(".h"):
            found.append((file, 1, "", "belongs to no room; only headers may"))
    for name, room in table.rooms.items():
        if not any(table.room_of(file) == name for file in files):
            found.append((NAME, 1, "", f"room {name} has no file"))
        for file in room.files:
            if file not in files:
                found.append((NAME, 1, "", f"rooms.{name}.files: there is no {file}"))
    if table.test_inside and table.test_inside not in files:
        found.append((NAME, 1, "", f"tests.inside: there is no {table.test_inside}"))
    return found


def _open(table: Table, facts: source.Facts) -> list[judge.Found]:
    """Records that the table opens, but that nobody outside needs."""
    used = {
        (table.room_of(member.home), record)
        for member in facts.members
        for record in member.records
        if table.room_of(member.file) != table.room_of(member.home)
    }
    return [
        (NAME, 1, record, f"rooms.{name}.{kind}: nobody outside names a member of {record}")
        for name, room in table.rooms.items()
        for kind, records in (("open", room.open), ("values", room.values))
        for record in records
        if (name, record) not in used
    ]


def _kept(table: Table, facts: source.Facts) -> list[judge.Found]:
    """What is kept for a room that does not read it."""
    used = {
        (table.room_of(member.file), f"{member.records[0]}.{member.name}")
        for member in facts.members
    }
    return [
        (NAME, 1, member, f"rooms.{name}.kept: room {reader} does not name {member}")
        for name in table.rooms
        for member, reader in table.kept(name).items()
        if (reader, member) not in used
    ]


def _exempt(table: Table, found: list[judge.Found]) -> tuple[list[judge.Found], list[judge.Found]]:
    """What no [[except]] takes out, and a line for each of those that takes nothing out."""
    kept, used = [], set()
    for file, line, name, text in found:
        for exemption in table.exempt:
            if name and (exemption.file, exemption.name) == (file, name):
                used.add(exemption)
                break
        else:
            kept.append((file, line, name, text))
    unused = [
        (NAME, 1, "", f"except: {each.file} does not need '{each.name}'")
        for each in table.exempt
        if each not in used
    ]
    return kept, unused


def lint(
    root: Path,
    warn: bool,
    processes: int,
    only: list[str] | None = None,
    cache: Path | None = None,
) -> tuple[list[judge.Found], int]:
    """What is refused, and how many files were read.

    Only some rooms: what is written in their files, without the checks that need all of them.
    """
    table = load(root)
    for name in only or ():
        if name not in table.rooms:
            raise TableError(f"there is no room {name}; rooms: {', '.join(table.rooms)}")
    files = includes.sources(table, ("ftl", *table.test_folders))
    read = [file for file in files if not only or table.room_of(file) in only]
    with tempfile.TemporaryDirectory(prefix="scarp-rooms-") as scratch:
        facts = _facts(table, _jobs(table, read, Path(scratch)), processes, cache)
    beyond = [] if only else includes.sources(table, table.outside)
    followed = includes.read(table, [*files, *beyond])
    found = [*includes.judge(table, followed)]
    found += judge.judge(table, facts, files, includes.with_public(table, followed), warn)
    if only:
        found = [each for each in _exempt(table, found)[0] if each[0] in read]
    else:
        found += _layout(table, files)
        found += _open(table, facts)
        found += _kept(table, facts)
        found, unused = _exempt(table, found)
        found += unused
    return sorted(set(found)), len(read) + len(beyond)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--root", type=Path, default=TOP, help="the tree; default: this one")
    parser.add_argument("--warn", action="store_true", help="also name ops that none uses")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--cache", type=Path, help="a folder that keeps what files say")
    parser.add_argument("rooms", nargs="*", help="only what these rooms' files say")
    given = parser.parse_args(arguments)
    try:
        found, n_files = lint(
            given.root.resolve(), given.warn, given.jobs, given.rooms, given.cache
        )
    except TableError as error:
        print(f"{NAME}: {error}")
        return 2
    bad = 0
    for file, line, _name, text in found:
        print(f"{file}:{line}: {text}")
        bad += not text.startswith("warning: ")
    print(f"rooms: {bad} refused in {n_files} files" if bad else f"rooms: {n_files} files, clean")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
