# SPDX-License-Identifier: GPL-2.0-or-later
"""Which lines of the engine each test reaches, by gcov: no test notices what it does not reach.

The tests' programs are those of the quick build; they load an engine that counts.  What a test
reaches is kept, with the program and the engine that it was found with.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from builders import builder
from candidates import Mutant
from engine import Base, files_hash, inputs_of, tree_files
from running import TOO_LONG, Test, run_test
from trees import COUNTING

# The line of a label is reached by the value that it had.
LABEL = re.compile(r"\b(case|default|switch)\b")

Lines = dict[str, int]  # of each file, a bit for a line


def _gcov(folder: Path, files: list[Path]) -> Iterator[tuple[str, dict[str, Any]]]:
    """What gcov says of each source file in them, and in which of them."""
    if not files:
        return  # killed before it could write
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
        # Tests read descriptions, too.
        inputs = [
            part for part in inputs_of(base.what) if not part.startswith(("tests", "scripts"))
        ]
        if base.what.name == "ftl":
            inputs.append("tests/qtest/*.ini")
        sources = files_hash(tree_files(base.tree, tuple(inputs)), base.tree)
        own = hashlib.sha256(f"{COUNTING} {base.key[-4:]}".encode()).hexdigest()[:4]
        self.folder = cache / f"{base.what.name}-{sources}-{own}-{COUNTING.name}"
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
        base = self.base
        print(f"{base.what.name}, counting what is reached …", flush=True)
        made = builder(base.what, base.tree, COUNTING, base.qemu)
        failed = ""
        for source in base.units:
            failed = failed or made.compile(source, self._object(source))
        flush = self.folder / "flush.o"
        source = str(Path(__file__).parent / "flush.c")
        subprocess.run(["cc", "-O1", "-fPIC", "-c", "-o", str(flush), source], check=True)
        if base.library_sources:
            objects = [self._object(source) for source in base.library_sources]
            failed = failed or made.link_library([*objects, flush], self.library)
        for program in base.programs.values():
            if not set(program.sources) & set(base.units):
                continue
            objects = [
                self._object(source) if source in base.units else base.object_of(source)
                for source in program.sources
            ]
            to = self.folder / program.name
            failed = failed or made.link_program(program, objects, base.linked(self.library), to)
        if failed:
            raise SystemExit(f"{base.what.name} that counts: {failed}")
        return self._facts()

    def _object(self, source: str) -> Path:
        return self.objects / self.base.object_of(source).name

    def _gcov(self, folder: Path, files: list[Path]) -> Iterator[tuple[str, dict[str, Any]]]:
        """What gcov says of each file of the tree in them, and in which of them."""
        for name, entry in _gcov(folder, files):
            path = Path(os.path.normpath(entry["file"]))
            if path.is_relative_to(self.base.tree):
                path = path.relative_to(self.base.tree)
            if not path.is_absolute():
                yield name, {**entry, "file": path.as_posix()}

    def _facts(self) -> dict[str, Any]:
        """Of each file the lines and functions that have code, and the objects that have them."""
        lines: Lines = {}
        functions: dict[str, list[tuple[int, int]]] = {}
        objects_of: dict[str, Lines] = {}
        for name, entry in self._gcov(self.objects, sorted(self.objects.glob("*.gcno"))):
            path = entry["file"]
            spans = functions.setdefault(path, [])
            spans.extend((f["start_line"], f["end_line"]) for f in entry["functions"])
            its_lines = objects_of.setdefault(path, {})
            _add(its_lines, name, (part["line_number"] for part in entry["lines"]))
            lines[path] = lines.get(path, 0) | its_lines.get(name, 0)
        return {"lines": lines, "functions": functions, "objects": objects_of}

    def find(self, longest_s: float, jobs: int) -> list[Test]:
        """The tests that take no more, the quickest first; runs each that is not known yet once."""
        programs = {
            name: hashlib.sha256(
                b"".join(self.base.object_of(s).read_bytes() for s in program.sources)
            ).hexdigest()
            for name, program in self.base.programs.items()
        }
        wanted = {
            f"{programs[program.name][:16]} {name}": Test(
                program.name, program.kind, name, longest_s
            )
            for program, name in self.base.named()
        }
        known: dict[str, dict[str, Any]] = {}
        for line in self.known.read_text().splitlines() if self.known.is_file() else []:
            entry = json.loads(line)
            known[entry["id"]] = entry
        # A time below 0 says: not within so much.
        unknown = {
            name: test
            for name, test in wanted.items()
            if name not in known or -longest_s < known[name]["cpu_s"] <= 0
        }
        if unknown:
            print(f"time and lines of {len(unknown)} tests …", flush=True)
        with ProcessPoolExecutor(jobs) as pool, self.known.open("a") as stream:
            for name, entry in zip(unknown, pool.map(self._run, unknown.values()), strict=True):
                if entry["wrong"]:
                    print(f"{unknown[name].name} {entry['wrong']}, unchanged", flush=True)
                    if not self.base.what.doubted:
                        raise SystemExit("there is nothing to be seen by tests that fail before")
                    continue
                known[name] = entry
                stream.write(json.dumps({"id": name, **entry}) + "\n")
                stream.flush()
        tests: list[Test] = []
        for name, test in wanted.items():
            entry = known.get(name, {"cpu_s": 0})
            if 0 < entry["cpu_s"] <= longest_s:
                tests.append(replace(test, cpu_s=entry["cpu_s"]))
                lines = {path: int(bits, 16) for path, bits in entry["lines"].items()}
                self.of[test.program, test.name] = lines
        return sorted(tests, key=lambda test: test.cpu_s)

    def _run(self, test: Test) -> dict[str, Any]:
        base = self.base
        counts = Path(tempfile.mkdtemp(dir=self.folder))
        try:
            for notes in self.objects.glob("*.gcno"):
                (counts / notes.name).hardlink_to(notes)
            os.environ["GCOV_PREFIX"] = str(counts)
            os.environ["GCOV_PREFIX_STRIP"] = str(len(self.objects.parts) - 1)
            os.environ["SCARP_TERMINATE"] = "1"
            program = self.folder / test.program
            if not program.is_file():
                program = base.program(test.program)
            libraries = base.libraries(self.library)
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            wrong, _ = run_test(test, program, libraries, base.tree, test.cpu_s, COUNTING)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            if wrong == TOO_LONG or (wrong and used >= test.cpu_s):
                return {"cpu_s": -test.cpu_s, "wrong": "", "lines": {}}
            lines: Lines = {}
            for _, entry in self._gcov(counts, sorted(counts.glob("*.gcda"))):
                reached = (part["line_number"] for part in entry["lines"] if part["count"])
                _add(lines, entry["file"], reached)
            text = {path: f"{bits:x}" for path, bits in lines.items()}
            return {"cpu_s": max(round(used, 4), 0.0001), "wrong": wrong, "lines": text}
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
        """The units that have code of the line, or may have."""
        wanted, base = self._wanted(mutant), self.base
        of = self.objects_of.get(mutant.path, {})
        reached = set(base.reached_by(mutant.path))
        return [
            source
            for source in base.units
            if source in reached and (not wanted or of.get(base.object_of(source).stem, 0) & wanted)
        ]

    def _reaches(self, test: Test, mutant: Mutant, wanted: int) -> bool:
        of = self.of[test.program, test.name]
        return (
            not wanted
            or not of  # it was not seen
            or self._includes(test.program, mutant.path)
            or bool(of.get(mutant.path, 0) & wanted)
        )

    def _includes(self, program: str, path: str) -> bool:
        base = self.base
        return any(
            path in base.includes[source]
            for source in base.programs[program].sources
            if source in base.test_sources
        )

    def by(self, tests: list[Test], mutant: Mutant) -> list[Test]:
        """Those of the tests that can notice, in the same order; last, those that just may."""
        wanted = self._wanted(mutant)
        reach = [test for test in tests if self._reaches(test, mutant, wanted)]
        may = [test for test in tests if test.program in self.base.what.killed]
        return [*reach, *(test for test in may if test not in reach)]
