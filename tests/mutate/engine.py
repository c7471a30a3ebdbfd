# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds the engine and its unit tests once, then again and again with one line changed.

The engine is a shared library, so that a mutant costs the compilation of what the line reaches
and one link; the tests stay as they are, but for those that include a changed header.

There are two builds: a quick one, whose object code also tells whether a mutant changes anything,
and one with sanitizers, as tests/unit/run.sh has it, for what the quick one does not notice.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import resource
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from candidates import Mutant

LIBRARIES = ["glib-2.0", "zlib", "libzstd"]


@dataclass(frozen=True)
class Build:
    name: str
    flags: tuple[str, ...]
    memory_bytes: int
    slower: float  # than the quick build, at most
    longest_s: float  # tests that take more CPU time of the quick build are left out


QUICK = Build(
    "quick",
    # A line that an assertion names is no result.
    ("-O2", "-D__LINE__=0", "-Wno-builtin-macro-redefined"),
    8 << 30,
    1,
    math.inf,
)
SANITIZED = Build(
    "sanitized",
    ("-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"),
    resource.RLIM_INFINITY,  # the address space is full of shadows
    6,
    0.7,
)
COMMON = ["-std=gnu11", "-w", "-fPIC", "-fno-semantic-interposition", "-DSCARP_CHECKED"]
INCLUDES = ["-Iftl", "-Iftl/replay"]
# What the tests read, besides what is compiled.
TREE = ("ftl", "tests/unit", "tests/qtest/*.ini", "devices")
# A test may take so many times the CPU time that it takes unchanged, and a second in any case;
# on a busy host it takes more time, but no more CPU time.
CPU_FACTOR, CPU_LEAST_S = 10, 1
FILE_BYTES = 1 << 30
TOO_LONG = "takes too long"
KEPT_S = 3 * 24 * 3600


@dataclass(frozen=True)
class Test:
    program: str
    name: str
    cpu_s: float  # unchanged, in the quick build


@dataclass(frozen=True)
class Verdict:
    """invalid: does not compile; equal: the same object code; stuck: waits, and no test says so."""

    verdict: str  # invalid, equal, noticed, survived, stuck
    by: str = ""  # the test that noticed
    how: str = ""
    code: str = ""  # a hash of the object code: the same as another mutant's?


def _pkg_config(what: str) -> list[str]:
    command = ["pkg-config", what, *LIBRARIES]
    return shlex.split(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def files_hash(paths: list[Path], root: Path) -> str:
    total = hashlib.sha256()
    for path in sorted(paths):
        total.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return total.hexdigest()[:16]


def tree_files(root: Path, parts: tuple[str, ...] = TREE) -> list[Path]:
    found = [path for part in parts for path in root.glob(part)]
    inner = [path for folder in found if folder.is_dir() for path in folder.rglob("*")]
    return [path for path in [*found, *inner] if path.is_file()]


class Builder:
    """Compiles and links in one copy of the tree."""

    def __init__(self, tree: Path, build: Build) -> None:
        self.tree = tree
        self.cflags = [*COMMON, *build.flags, *INCLUDES, *_pkg_config("--cflags")]
        runtime = [flag for flag in build.flags if "sanitize=" in flag or "coverage" in flag]
        self.libs = [*runtime, *_pkg_config("--libs"), "-lm"]

    def _cc(self, *arguments: str | Path) -> str:
        """Empty, or what the compiler says."""
        command = ["cc", *map(str, arguments)]
        done = subprocess.run(command, cwd=self.tree, capture_output=True, text=True, check=False)
        return (done.stderr or "failed") if done.returncode else ""

    def compile(self, source: str, to: Path, *more: str) -> str:
        return self._cc(*self.cflags, *more, "-c", "-o", to, source)

    def link_library(self, objects: list[Path], to: Path) -> str:
        return self._cc("-shared", f"-Wl,-soname,{to.name}", "-o", to, *objects, *self.libs)

    def link_test(self, object_: Path, library: Path, to: Path) -> str:
        return self._cc("-o", to, object_, library, *self.libs)


def _environment(library: Path, tree: Path) -> dict[str, str]:
    return {
        **os.environ,
        "G_TEST_SRCDIR": str(tree / "tests/qtest"),
        "LD_LIBRARY_PATH": str(library.parent),
        "MALLOC_PERTURB_": "165",  # what is not initialised is seen
    }


def run_test(
    program: Path, name: str, library: Path, tree: Path, cpu_s: float, build: Build
) -> tuple[str, bool]:
    """What went wrong, or empty; and whether it waited without end, which is nobody's fault."""

    def limits() -> None:
        # Of CPU time; it goes on through exec, and ends the test by SIGPROF.
        signal.setitimer(signal.ITIMER_PROF, cpu_s)
        resource.setrlimit(resource.RLIMIT_AS, (build.memory_bytes, build.memory_bytes))
        resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_BYTES, FILE_BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.nice(5)

    scratch = Path(tempfile.mkdtemp(dir=library.parent))
    child = subprocess.Popen(
        [program, "-q", "-p", name],
        env={**_environment(library, tree), "TMPDIR": str(scratch)},
        cwd=scratch,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=limits,
    )
    try:
        status = child.wait(600 + 100 * cpu_s)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
        return "waits", True
    finally:
        shutil.rmtree(scratch)
    if status == -signal.SIGPROF:
        return TOO_LONG, False
    if status < 0 and status != -signal.SIGABRT:
        return signal.Signals(-status).name, False
    return ("fails" if status else ""), False


class Base:
    """The unchanged engine and tests, built once for a state of the tree."""

    def __init__(self, root: Path, cache: Path, build: Build) -> None:
        self.build = build
        own = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:4]
        self.key = f"{files_hash(tree_files(root), root)}-{own}"
        self.folder = cache / f"{self.key}-{build.name}"
        self.objects = cache / "objects"
        self.tree = self.folder / "tree"
        self.library = self.folder / "libengine.so"
        mark = self.folder / "includes.json"
        if not mark.is_file():
            shutil.rmtree(self.folder, ignore_errors=True)
            self._copy(root, self.tree)
            mark.write_text(json.dumps(self._build()))
        self.includes: dict[str, list[str]] = json.loads(mark.read_text())

    @staticmethod
    def _copy(root: Path, to: Path) -> None:
        for path in tree_files(root):
            copy = to / path.relative_to(root)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, copy)

    def object_of(self, source: str) -> Path:
        return self.folder / "obj" / (source.replace("/", "_") + ".o")

    def program_of(self, source: str) -> Path:
        return self.folder / "bin" / Path(source).stem

    def sources(self, part: str) -> list[str]:
        paths = (path.relative_to(self.tree).as_posix() for path in self.tree.glob(part))
        return sorted(path for path in paths if path != "ftl/replay/main.c")

    @property
    def engine(self) -> list[str]:
        return self.sources("ftl/**/*.c")

    def reached_by(self, path: str) -> list[str]:
        return [source for source, parts in self.includes.items() if path in parts]

    def _build(self) -> dict[str, list[str]]:
        print(f"the engine and its tests, unchanged ({self.build.name}) …", flush=True)
        builder = Builder(self.tree, self.build)
        for name in ("obj", "bin"):
            (self.folder / name).mkdir()
        self.objects.mkdir(exist_ok=True)
        headers = {
            part: files_hash([*self.tree.glob(f"{part}/**/*.h")], self.tree)
            for part in ("ftl", "tests")
        }

        def make(source: str) -> tuple[str, list[str]]:
            """An object that was made before of the same text is taken again."""
            text = (self.tree / source).read_text()
            used = headers["ftl"] + (headers["tests"] if source.startswith("tests") else "")
            key = hashlib.sha256(f"{builder.cflags} {source} {used} {text}".encode()).hexdigest()
            kept = self.objects / f"{key}.o"
            if not kept.is_file():
                new = self.object_of(source)
                failed = builder.compile(source, new, "-MMD", "-MF", f"{kept}.d")
                if failed:
                    raise SystemExit(f"{source} does not compile: {failed}")
                new.rename(kept)
            self.object_of(source).hardlink_to(kept)
            parts = Path(f"{kept}.d").read_text().replace("\\\n", " ").split()[1:]
            return source, [os.path.normpath(part) for part in parts]

        tests = self.sources("tests/unit/**/*.c")
        with ThreadPoolExecutor(2) as pool:
            includes = dict(pool.map(make, [*self.engine, *tests]))
        failed = builder.link_library([self.object_of(s) for s in self.engine], self.library)
        for test in tests:
            to = self.program_of(test)
            failed = failed or builder.link_test(self.object_of(test), self.library, to)
        if failed:
            raise SystemExit(f"linking failed: {failed}")
        if not run_test(
            self.program_of(tests[0]), "/", self.tree / "none", self.tree, 60, self.build
        )[0]:
            raise SystemExit("the tests do not load the engine that they are given")
        return includes

    def timed(self, known: Path, quick_s: float) -> list[Test]:
        """The tests that take no more, the quickest first.

        Of a program and an engine that were timed before, only those are tried that took more.
        """
        times: dict[str, dict[str, float]] = {}
        used: dict[str, dict[str, float]] = {}
        old = json.loads(known.read_text()) if known.is_file() else {}
        library = self.library.read_bytes()
        for source in self.sources("tests/unit/**/*.c"):
            code = hashlib.sha256(library + self.object_of(source).read_bytes()).hexdigest()
            times[source] = used[code] = old.get(code, {})
            listing = subprocess.run(
                [self.program_of(source), "-l"],
                env=_environment(self.library, self.tree),
                capture_output=True,
                text=True,
                check=True,
            )
            for name in (name for name in listing.stdout.splitlines() if name.startswith("/")):
                times[source].setdefault(name, 0.0)
        # A time below 0 says: not within so much.
        wanted = [
            (source, name, quick_s)
            for source, tests in times.items()
            for name, cpu_s in tests.items()
            if cpu_s <= 0 and -cpu_s < quick_s
        ]
        with ProcessPoolExecutor(2) as pool:
            found = list(pool.map(self._time, wanted))
        wrong = ""
        for (source, name, _), (cpu_s, what) in zip(wanted, found, strict=True):
            times[source][name] = cpu_s
            if what:
                wrong += f"; {name} {what}"
                del times[source][name]
        known.write_text(json.dumps(used))
        if wrong:
            raise SystemExit(f"before anything is changed{wrong}")
        tests = [
            Test(source, name, cpu_s)
            for source, tests in times.items()
            for name, cpu_s in tests.items()
            if 0 < cpu_s <= quick_s
        ]
        return sorted(tests, key=lambda test: test.cpu_s)

    def _time(self, test: tuple[str, str, float]) -> tuple[float, str]:
        source, name, quick_s = test
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        program = self.program_of(source)
        wrong, _ = run_test(program, name, self.library, self.tree, quick_s, self.build)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if wrong == TOO_LONG:
            return -quick_s, ""
        cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return max(round(cpu_s, 4), 0.0001), wrong


class Worker:
    """Tries mutants, one after the other, in a tree of its own."""

    def __init__(self, base: Base) -> None:
        self.base = base
        self.folder = base.folder / f"worker-{os.getpid()}"
        self.tree = self.folder / "tree"
        shutil.copytree(base.tree, self.tree)
        self.builder = Builder(self.tree, base.build)
        self.library = self.folder / base.library.name

    def _build(self, sources: list[str]) -> Verdict:
        """The engine, of which these change; "survived" says that there is something to test."""
        base, code = self.base, hashlib.sha256()
        objects = {source: base.object_of(source) for source in base.engine}
        for source in sources:
            to = self.folder / objects[source].name
            if self.builder.compile(source, to):
                return Verdict("invalid")
            if to.read_bytes() != objects[source].read_bytes():
                objects[source] = to
                code.update(source.encode() + to.read_bytes())
        if all(to == base.object_of(source) for source, to in objects.items()):
            return Verdict("equal")
        failed = self.builder.link_library(list(objects.values()), self.library)
        return Verdict("invalid" if failed else "survived", code=code.hexdigest()[:16])

    def _program(self, source: str) -> Path | None:
        """Of a test that includes what has changed; None if it does not compile."""
        to = self.folder / self.base.object_of(source).name
        program = self.folder / self.base.program_of(source).name
        failed = self.builder.compile(source, to)
        return None if failed or self.builder.link_test(to, self.library, program) else program

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
                changed = mutant.path in base.includes[test.program]
                programs[test.program] = (
                    self._program(test.program) if changed else base.program_of(test.program)
                )
            program = programs[test.program]
            if not program:
                return Verdict("invalid")
            cpu_s = max(CPU_LEAST_S, CPU_FACTOR * base.build.slower * test.cpu_s)
            wrong, waits = run_test(program, test.name, self.library, base.tree, cpu_s, base.build)
            if waits:
                waited = test.name
            elif wrong:
                return Verdict("noticed", test.name, wrong, built.code)
        many = f"{len(tests)} tests reach it"
        return Verdict("stuck" if waited else "survived", waited, many, built.code)


_workers: list[Worker] = []  # of this process of the pool, one for each build


def start_worker(bases: list[Base]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _workers.extend(Worker(base) for base in bases)


def attempt(mutant: Mutant, sources: list[str], tests: list[Test]) -> Verdict:
    """With the sources that it changes and the tests that can notice, the quickest first."""
    first = _workers[0].attempt(mutant, sources, tests)
    for worker in _workers[1:]:
        if first.verdict != "survived":
            break
        more = worker.attempt(mutant, sources, tests)
        if more.verdict in ("noticed", "stuck"):
            return replace(more, how=f"{more.how} ({worker.base.build.name})", code=first.code)
    return first


def forget_old(cache: Path, bases: list[Base]) -> None:
    """Trees of workers that have ended, and builds that nobody has asked for of late."""
    for base in bases:
        os.utime(base.folder)
        for folder in base.folder.glob("worker-*"):
            shutil.rmtree(folder, ignore_errors=True)
    objects = bases[0].objects
    for folder in (path for path in cache.iterdir() if path.is_dir() and path != objects):
        if time.time() - folder.stat().st_mtime > KEPT_S:
            shutil.rmtree(folder, ignore_errors=True)
    for path in objects.glob("*.o"):
        if path.stat().st_nlink == 1:  # no build that is kept has it
            path.unlink()
            Path(f"{path}.d").unlink()
