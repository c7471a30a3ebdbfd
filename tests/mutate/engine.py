# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds a tree and its tests once, then again and again with one line changed.

What is mutated is a shared library, so that a mutant costs the compilation of what the line reaches
and one link; the tests stay as they are, but for those that include a changed header.

There are two builds: a quick one, whose object code also tells whether a mutant changes anything,
and one with sanitizers, as tests/unit/run.sh has it, for what the quick one does not notice.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import time
from dataclasses import dataclass, replace
from pathlib import Path

from builders import Builder, builder, copy_of_qemu
from candidates import Mutant
from running import Test, names, run_test
from trees import DEVICE, Build, Program, Tree

# A test may take so many times the CPU time that it takes unchanged where lines are counted, which
# is slower, and a second in any case; on a busy host it takes more time, but no more CPU time.
CPU_FACTOR, CPU_LEAST_S = 5, 1
KEPT_S = 3 * 24 * 3600


@dataclass(frozen=True)
class Verdict:
    """invalid: does not compile; equal: the same object code; stuck: waits, and no test says so."""

    verdict: str  # invalid, equal, noticed, survived, stuck
    by: str = ""  # the test that noticed
    how: str = ""
    code: str = ""  # a hash of the object code: the same as another mutant's?


def files_hash(paths: list[Path], root: Path) -> str:
    total = hashlib.sha256()
    for path in sorted(paths):
        total.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return total.hexdigest()[:16]


def tree_files(root: Path, parts: tuple[str, ...]) -> list[Path]:
    found = [path for part in parts for path in root.glob(part)]
    inner = [path for folder in found if folder.is_dir() for path in folder.rglob("*")]
    paths = {path for path in [*found, *inner] if path.is_file()}
    return sorted(path for path in paths if "__pycache__" not in path.parts)


def inputs_of(tree: Tree) -> tuple[str, ...]:
    """Folders and files that are copied: all that is compiled, and what the tests read."""
    return tuple(sorted({"ftl", *tree.inputs}))


class Base:
    """A tree and its tests, unchanged, built once for a state of the checkout."""

    def __init__(self, what: Tree, root: Path, cache: Path, build: Build) -> None:
        self.what, self.build = what, build
        inputs = inputs_of(what)
        here = Path(__file__).parent
        own = b"".join((here / name).read_bytes() for name in ("trees.py", "builders.py"))
        made_by = hashlib.sha256(own).hexdigest()[:4]
        self.key = f"{files_hash(tree_files(root, inputs), root)}-{made_by}"
        self.folder = cache / f"{what.name}-{self.key}-{build.name}"
        self.objects = cache / "objects"
        # The device's sources include QEMU's by their place.
        self.tree = self.folder / "nvme" / "scarp"
        self.library = self.folder / "libmutated.so"
        self.fixed = self.folder / "libfixed.so"
        self.qemu: Path | None = copy_of_qemu(root, cache) if what is DEVICE else None
        mark = self.folder / "includes.json"
        if not mark.is_file():
            shutil.rmtree(self.folder, ignore_errors=True)
            for path in tree_files(root, inputs):
                copy = self.tree / path.relative_to(root)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(path, copy)
        self.programs = {program.name: program for program in what.programs_in(self.tree)}
        mutable = set(what.sources(self.tree, *what.mutated))
        used = {source for program in self.programs.values() for source in program.sources}
        self.library_sources = what.library_sources(self.tree)
        # What is mutated and compiled, in the library or in a program.
        self.units = [*self.library_sources, *sorted(used & mutable)]
        self.test_sources = sorted(used - mutable)
        if not mark.is_file():
            mark.write_text(json.dumps(self._build()))
        self.includes: dict[str, list[str]] = json.loads(mark.read_text())

    def builder(self, tree: Path) -> Builder:
        return builder(self.what, tree, self.build, self.qemu)

    def object_of(self, source: str) -> Path:
        return self.folder / "obj" / (source.replace("/", "_") + ".o")

    def program(self, name: str) -> Path:
        return self.folder / "bin" / name

    def libraries(self, library: Path) -> list[Path]:
        """With this one, what programs are linked with."""
        return [library, self.fixed] if self.what.fixed else [library]

    def linked(self, library: Path) -> list[Path]:
        return self.libraries(library) if self.library_sources else []

    def reached_by(self, path: str) -> list[str]:
        return [source for source, parts in self.includes.items() if path in parts]

    def _build(self) -> dict[str, list[str]]:
        print(f"{self.what.name} and its tests, unchanged ({self.build.name}) …", flush=True)
        made = self.builder(self.tree)
        for name in ("obj", "bin"):
            (self.folder / name).mkdir()
        self.objects.mkdir(exist_ok=True)
        headers = files_hash([*self.tree.rglob("*.h")], self.tree)
        includes = {
            source: self._object(made, source, headers)
            for source in [*self.units, *self.test_sources]
        }
        failed = ""
        if self.library_sources:
            objects = [self.object_of(source) for source in self.library_sources]
            failed = made.link_library(objects, self.library)
        if self.what.fixed:
            fixed = self.what.sources(self.tree, *self.what.fixed)
            for source in fixed:
                self._object(made, source, headers)
            objects = [self.object_of(source) for source in fixed]
            failed = failed or made.link_library(objects, self.fixed)
        for program in self.programs.values():
            objects = [self.object_of(source) for source in program.sources]
            to = self.program(program.name)
            libraries = self.linked(self.library)
            failed = failed or made.link_program(program, objects, libraries, to)
        if failed:
            raise SystemExit(f"linking failed: {failed}")
        return includes

    def _object(self, made: Builder, source: str, headers: str) -> list[str]:
        """What it includes.  An object that was made before of the same text is taken again."""
        text = (self.tree / source).read_text()
        signed = f"{made.signature()} {source} {headers} {text}"
        key = hashlib.sha256(signed.encode()).hexdigest()
        kept = self.objects / f"{key}.o"
        if not kept.is_file():
            new = self.object_of(source)
            failed = made.compile(source, new, "-MMD", "-MF", f"{kept}.d")
            if failed:
                raise SystemExit(f"{source} does not compile: {failed}")
            new.rename(kept)
        self.object_of(source).hardlink_to(kept)
        parts = Path(f"{kept}.d").read_text().replace("\\\n", " ").split()[1:]
        found = (os.path.normpath(part) for part in parts)
        # Absolute ones are those of the tree that it was first made in.
        return [part.split("/nvme/scarp/")[-1] for part in found]

    def named(self) -> list[tuple[Program, str]]:
        """All tests."""
        libraries = self.libraries(self.library)
        return [
            (program, name)
            for program in self.programs.values()
            for name in names(program.kind, self.program(program.name), libraries, self.tree)
        ]


class Worker:
    """Tries mutants, one after the other, in a tree of its own."""

    def __init__(self, base: Base) -> None:
        self.base = base
        self.folder = base.folder / f"worker-{os.getpid()}"
        self.tree = self.folder / "nvme" / "scarp"
        shutil.copytree(base.tree, self.tree)
        self.builder = base.builder(self.tree)
        self.library = self.folder / base.library.name
        self.changed: dict[str, Path] = {}  # objects of sources

    def _build(self, sources: list[str]) -> Verdict:
        """The units that change; "survived" says that there is something to test."""
        base, code = self.base, hashlib.sha256()
        self.changed = {}
        for source in sources:
            to = self.folder / base.object_of(source).name
            if self.builder.compile(source, to):
                return Verdict("invalid")
            if to.read_bytes() != base.object_of(source).read_bytes():
                self.changed[source] = to
                code.update(source.encode() + to.read_bytes())
        if not self.changed:
            return Verdict("equal")
        failed = ""
        self.library.unlink(missing_ok=True)
        if set(self.changed) & set(base.library_sources):
            objects = [self._object(source) for source in base.library_sources]
            failed = self.builder.link_library(objects, self.library)
        elif base.library_sources:
            self.library.symlink_to(base.library)
        return Verdict("invalid" if failed else "survived", code=code.hexdigest()[:16])

    def _object(self, source: str) -> Path:
        return self.changed.get(source) or self.base.object_of(source)

    def _program(self, mutant: Mutant, program: Program) -> Path | None:
        """With what has changed of it or is included by it; None if it does not compile."""
        base = self.base
        for source in program.sources:
            if source in base.test_sources and mutant.path in base.includes[source]:
                to = self.folder / base.object_of(source).name
                if self.builder.compile(source, to):
                    return None
                self.changed[source] = to
        if not set(self.changed) & set(program.sources):
            return base.program(program.name)
        to = self.folder / program.name
        objects = [self._object(source) for source in program.sources]
        libraries = base.linked(self.library)
        return None if self.builder.link_program(program, objects, libraries, to) else to

    def attempt(self, mutant: Mutant, sources: list[str], tests: list[Test]) -> Verdict:
        path = self.tree / mutant.path
        source = path.read_text()
        lines = source.splitlines(keepends=True)
        lines[mutant.line - 1] = mutant.text
        path.write_text("".join(lines))
        try:
            built = self._build(sources)
            return self._test(mutant, built, tests) if built.verdict == "survived" else built
        finally:
            path.write_text(source)

    def _test(self, mutant: Mutant, built: Verdict, tests: list[Test]) -> Verdict:
        waited, base = "", self.base
        tests = [test for test in tests if test.cpu_s <= base.build.longest_s]
        programs: dict[str, Path | None] = {}
        for test in tests:
            if test.program not in programs:
                programs[test.program] = self._program(mutant, base.programs[test.program])
            program = programs[test.program]
            if not program:
                return Verdict("invalid")
            wrong, waits = self._run(test, program, self.library)
            if wrong and base.what.doubted:
                again, waits = self._run(test, program, self.library)
                unchanged, _ = self._run(test, base.program(test.program), base.library)
                if not again or unchanged:
                    continue
            if waits:
                waited = test.name
            elif wrong:
                return Verdict("noticed", test.name, wrong, built.code)
        many = f"{len(tests)} tests run"
        return Verdict("stuck" if waited else "survived", waited, many, built.code)

    def _run(self, test: Test, program: Path, library: Path) -> tuple[str, bool]:
        base = self.base
        cpu_s = max(CPU_LEAST_S, CPU_FACTOR * base.build.slower * test.cpu_s)
        return run_test(test, program, base.libraries(library), base.tree, cpu_s, base.build)


_workers: dict[str, list[Worker]] = {}  # of this process of the pool, one for each build


def start_worker(bases: list[Base]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for base in bases:
        _workers.setdefault(base.what.name, []).append(Worker(base))


def attempt(tree: str, mutant: Mutant, sources: list[str], tests: list[Test]) -> Verdict:
    """With the sources that it changes and the tests that can notice, the quickest first."""
    workers = _workers[tree]
    first = workers[0].attempt(mutant, sources, tests)
    for worker in workers[1:]:
        if first.verdict != "survived":
            break
        more = worker.attempt(mutant, sources, tests)
        if more.verdict in ("noticed", "stuck"):
            return replace(more, how=f"{more.how} ({worker.base.build.name})", code=first.code)
    return first


def forget_old(cache: Path, bases: list[Base]) -> None:
    """Trees of workers that have ended, and builds that nobody has asked for of late."""
    objects = bases[0].objects
    for base in bases:
        os.utime(base.folder)
        for folder in base.folder.glob("worker-*"):
            shutil.rmtree(folder, ignore_errors=True)
    for folder in (path for path in cache.iterdir() if path.is_dir() and path != objects):
        if time.time() - folder.stat().st_mtime > KEPT_S:
            shutil.rmtree(folder, ignore_errors=True)
    for path in objects.glob("*.o"):
        facts = path.stat()
        # No build that is kept has it, nor one that is being made.
        if facts.st_nlink == 1 and time.time() - facts.st_mtime > KEPT_S:
            path.unlink()
            Path(f"{path}.d").unlink(missing_ok=True)
