# SPDX-License-Identifier: GPL-2.0-or-later
"""Which lines of the engine each test reaches, by gcov: no test notices what it does not reach.

The tests' programs are those of the quick build; they load an engine that counts.  What a test
reaches is kept, with the program and the engine that it was found with.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from candidates import Mutant
from engine import Base, Build, Builder, Test, files_hash, run_test, tree_files

COUNTING = Build(
    "counting",
    # Lines are told apart before functions are put into others.
    ("-O1", "-fno-early-inlining", "--coverage"),
    8 << 30,
    10,
    math.inf,
)
# The line of a label is reached by the value that it had.
LABEL = re.compile(r"\b(case|default|switch)\b")

Lines = dict[str, int]  # of each file, a bit for a line


def _gcov(folder: Path, files: list[Path]) -> Iterator[tuple[str, dict[str, Any]]]:
    """What gcov says of each source file in them, and in which of them."""
    command = ["gcov", "--json-format", "--stdout", *map(str, files)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    for line in done.stdout.splitlines():
        if line.startswith("{"):
            said = json.loads(line)
            yield from ((Path(said["data_file"]).stem, entry) for entry in said["files"])


def _add(lines: Lines, path: str, numbers: Iterator[int]) -> None:
    for number in numbers:
        lines[path] = lines.get(path, 0) | 1 << number


class Reach:
    def __init__(self, base: Base, cache: Path) -> None:
        self.base = base
        inputs = ("ftl", "tests/qtest/*.ini", "devices")  # tests read descriptions, too
        sources = files_hash(tree_files(base.tree, inputs), base.tree)
        own = hashlib.sha256(str(COUNTING).encode()).hexdigest()[:4]
        self.folder = cache / f"{sources}-{own}-{COUNTING.name}"
        self.objects = self.folder / "obj"
        self.library = self.folder / base.library.name
        self.known = self.folder / "reached.jsonl"
        mark = self.folder / "lines.json"
        if not mark.is_file():
            shutil.rmtree(self.folder, ignore_errors=True)
            self.objects.mkdir(parents=True)
            mark.write_text(json.dumps(self._build()))
        os.utime(self.folder)
        facts = json.loads(mark.read_text())
        self.lines: Lines = facts["lines"]  # those that have code
        self.functions: dict[str, list[tuple[int, int]]] = facts["functions"]  # first and last line
        self.objects_of: dict[str, dict[str, int]] = facts["objects"]  # and their lines of a file
        self.of: dict[tuple[str, str], Lines] = {}  # program and test

    def _build(self) -> dict[str, Any]:
        print("the engine, counting what is reached …", flush=True)
        builder, base = Builder(self.base.tree, COUNTING), self.base
        objects = [self.objects / base.object_of(source).name for source in base.engine]
        failed = ""
        for source, to in zip(base.engine, objects, strict=True):
            failed = failed or builder.compile(source, to)
        failed = failed or builder.link_library(objects, self.library)
        if failed:
            raise SystemExit(f"the engine that counts: {failed}")
        return self._facts()

    def _facts(self) -> dict[str, Any]:
        """Of each file the lines and functions that have code, and the objects that have them."""
        lines: Lines = {}
        functions: dict[str, list[tuple[int, int]]] = {}
        objects_of: dict[str, Lines] = {}
        for name, entry in _gcov(self.objects, sorted(self.objects.glob("*.gcno"))):
            path = entry["file"]
            spans = functions.setdefault(path, [])
            spans.extend((f["start_line"], f["end_line"]) for f in entry["functions"])
            its_lines = objects_of.setdefault(path, {})
            _add(its_lines, name, (part["line_number"] for part in entry["lines"]))
            lines[path] = lines.get(path, 0) | its_lines.get(name, 0)
        return {"lines": lines, "functions": functions, "objects": objects_of}

    def find(self, tests: list[Test], jobs: int) -> None:
        """Runs the tests that are not known yet, once each."""
        programs = {
            test.program: hashlib.sha256(self.base.object_of(test.program).read_bytes()).hexdigest()
            for test in tests
        }
        names = {f"{programs[test.program][:16]} {test.name}": test for test in tests}
        for line in self.known.read_text().splitlines() if self.known.is_file() else []:
            entry = json.loads(line)
            test = names.pop(entry["id"], None)
            if test:
                self.of[test.program, test.name] = {
                    p: int(b, 16) for p, b in entry["lines"].items()
                }
        if names:
            print(f"the lines that {len(names)} tests reach …", flush=True)
        with ProcessPoolExecutor(jobs) as pool, self.known.open("a") as stream:
            for name, lines in zip(names, pool.map(self._run, names.values()), strict=True):
                test = names[name]
                self.of[test.program, test.name] = lines
                entry = {"id": name, "lines": {path: f"{bits:x}" for path, bits in lines.items()}}
                stream.write(json.dumps(entry) + "\n")
                stream.flush()

    def _run(self, test: Test) -> Lines:
        counts = Path(tempfile.mkdtemp(dir=self.folder))
        try:
            for notes in self.objects.glob("*.gcno"):
                (counts / notes.name).hardlink_to(notes)
            os.environ["GCOV_PREFIX"] = str(counts)
            os.environ["GCOV_PREFIX_STRIP"] = str(len(self.objects.parts) - 1)
            program = self.base.program_of(test.program)
            cpu_s = 10 + COUNTING.slower * test.cpu_s
            wrong, _ = run_test(program, test.name, self.library, self.base.tree, cpu_s, COUNTING)
            if wrong:
                raise SystemExit(f"{test.name} {wrong} where lines are counted")
            lines: Lines = {}
            for _, entry in _gcov(counts, sorted(counts.glob("*.gcda"))):
                reached = (part["line_number"] for part in entry["lines"] if part["count"])
                _add(lines, entry["file"], reached)
            return lines
        finally:
            shutil.rmtree(counts)

    def _wanted(self, mutant: Mutant) -> int:
        """The lines of which a test must reach one: the line, or its function; 0 if any may do."""
        there = self.lines.get(mutant.path, 0)
        if there >> mutant.line & 1 and not LABEL.search(mutant.old):
            return 1 << mutant.line
        for first, last in self.functions.get(mutant.path, []):
            if first <= mutant.line <= last:
                return there & ((1 << last + 1) - (1 << first))
        return 0

    def sources(self, mutant: Mutant) -> list[str]:
        """Those of the engine that have code of the line, or may have."""
        wanted, base = self._wanted(mutant), self.base
        of = self.objects_of.get(mutant.path, {})
        reached = set(base.reached_by(mutant.path))
        return [
            source
            for source in base.engine
            if source in reached and (not wanted or of.get(base.object_of(source).stem, 0) & wanted)
        ]

    def by(self, tests: list[Test], mutant: Mutant) -> list[Test]:
        """Those of the tests that can notice, in the same order."""
        wanted = self._wanted(mutant)
        return [
            test
            for test in tests
            if not wanted
            or not self.of[test.program, test.name]  # a child did all of it, and aborted
            or mutant.path in self.base.includes[test.program]
            or self.of[test.program, test.name].get(mutant.path, 0) & wanted
        ]
