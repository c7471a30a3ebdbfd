#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Changes the sources, a line at a time, and sees whether a test fails: `make mutate`.

universalmutator says what can be changed; a sample of it, drawn by a seed, is tried.  What is
changed is in a shared library, so that a mutant costs the compilation of what the line reaches and
one link; the tests' programs stay as they are.  Each runs as a whole, the quickest first, until one
fails.  The survivors are printed: what no test noticed.
"""

from __future__ import annotations

import argparse
import math
import os
import queue
import random
import shlex
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
sys.dont_write_bytecode = True

import candidates  # noqa: E402
from scarplib.build import cache  # noqa: E402
from scarplib.build.venv import MUTATE_PACKAGES, ensure_venv  # noqa: E402

LIBRARY = "libmutated.so"
# A program may take so many times the processor time that it takes unchanged; wall time says
# nothing on a busy host, and only ends what sleeps for ever.
CPU_FACTOR = 5
HANG_S = 1800


@dataclass(frozen=True)
class Tree:
    """Sources that are changed, and the programs that may notice."""

    mutated: str
    library: tuple[str, ...]  # less what has a main()
    programs: str
    cflags: tuple[str, ...]


TREES = {
    "ftl": Tree(
        "ftl/**/*.[ch]",
        ("ftl/**/*.c",),
        "tests/unit/**/*.c",
        ("-DSCARP_CHECKED", "-Iftl", "-Iftl/replay"),
    ),
    "guest": Tree(
        "guest/array/*.[ch]",
        ("guest/array/*.c", "guest/array/sim/workload.c"),
        "tests/array/test-*.c",
        ("-Iguest/array", "-Iguest/array/uring", "-Itests/array", "-Iftl"),
    ),
}
COPIED = ("ftl", "guest/array", "tests/unit", "tests/array", "tests/qtest", "devices")


def options(what: str, *libraries: str) -> list[str]:
    command = ["pkg-config", what, *libraries]
    return shlex.split(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


class Build:
    """A tree, unchanged: its objects and library, and its programs in the order of their times."""

    def __init__(self, tree: Tree, folder: Path, longest_s: float, jobs: int) -> None:
        self.folder, self.source = folder, folder / "tree"
        packages = ("glib-2.0", "zlib", "libzstd")
        # A line that an assertion names is no result.
        self.cflags = ["-std=gnu11", "-w", "-O2", "-fPIC", "-fno-semantic-interposition"]
        self.cflags += ["-D__LINE__=0", "-Wno-builtin-macro-redefined"]
        self.cflags += [*tree.cflags, *options("--cflags", *packages)]
        self.libs = [*options("--libs", *packages), "-lm"]
        shutil.rmtree(folder, ignore_errors=True)
        for part in COPIED:
            shutil.copytree(ROOT / part, self.source / part)
        found = {path for part in tree.library for path in self.source.glob(part)}
        self.sources = sorted(
            path.relative_to(self.source).as_posix()
            for path in found
            if not path.name.endswith("main.c")
        )
        self.objects, self.programs = folder / "obj", folder / "bin"
        self.objects.mkdir()
        self.programs.mkdir()
        print(f"{len(self.sources)} sources and their tests, unchanged …", flush=True)
        with ThreadPoolExecutor(jobs) as pool:
            made = list(pool.map(self.base_object, self.sources))
            if not all(made) or not self.link(folder, {}):
                raise SystemExit("the unchanged sources do not compile")
            tests = sorted(self.source.glob(tree.programs))
            times = dict(zip(tests, pool.map(self.program, tests), strict=True))
        self.tests = {
            self.programs / path.stem: cpu_s
            for path, cpu_s in sorted(times.items(), key=lambda item: item[1])
            if cpu_s <= longest_s
        }
        total_s = sum(self.tests.values())
        print(f"{len(self.tests)} of {len(tests)} programs, {total_s:.0f} s together", flush=True)

    def object_of(self, source: str, folder: Path) -> Path:
        return folder / f"{source.replace('/', '_')}.o"

    def base_object(self, source: str) -> bool:
        return self.compile(self.source, source, self.objects)

    def compile(self, tree: Path, source: str, to: Path) -> bool:
        command = ["cc", *self.cflags, "-MMD", "-c", "-o", str(self.object_of(source, to)), source]
        return not subprocess.run(command, cwd=tree, capture_output=True, check=False).returncode

    def link(self, folder: Path, instead: dict[str, Path]) -> bool:
        """The library in this folder, with other objects in place of some sources'."""
        parts = [instead.get(x, self.object_of(x, self.objects)) for x in self.sources]
        command = ["cc", "-shared", f"-Wl,-soname,{LIBRARY}", "-o", str(folder / LIBRARY)]
        command += [*map(str, parts), *self.libs]
        return not subprocess.run(command, capture_output=True, check=False).returncode

    def program(self, path: Path) -> float:
        """Links a program of tests; the processor time that it takes unchanged."""
        to = self.programs / path.stem
        command = ["cc", *self.cflags, "-o", str(to), str(path), str(self.folder / LIBRARY)]
        subprocess.run([*command, *self.libs], cwd=self.source, check=True)
        wrong, cpu_s = self.run(to, self.folder, math.inf)
        if wrong:
            raise SystemExit(f"{path.name} {wrong}, unchanged")
        return cpu_s

    def run(self, program: Path, library: Path, cpu_s: float) -> tuple[str, float]:
        """What goes wrong with the library in this folder, or empty; its processor time."""
        bound = "unlimited" if cpu_s == math.inf else str(math.ceil(cpu_s))
        child = subprocess.Popen(
            ["sh", "-c", f'ulimit -c 0; ulimit -S -t {bound}; exec "$0" -q', str(program)],
            cwd=library,
            env={
                **os.environ,
                "LD_LIBRARY_PATH": str(library),
                "G_TEST_SRCDIR": str(self.source / "tests/qtest"),
                # What is not initialised is seen.
                "MALLOC_PERTURB_": "165",
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        timer = threading.Timer(HANG_S, child.kill)
        timer.start()
        _, status, usage = os.wait4(child.pid, 0)
        timer.cancel()
        child.returncode = os.waitstatus_to_exitcode(status)
        wrong = f"ends with {child.returncode}" if child.returncode else ""
        return wrong, usage.ru_utime + usage.ru_stime

    def depends(self, path: str) -> list[str]:
        """The sources that are, or include, this file."""
        return [
            source
            for source in self.sources
            if path in self.object_of(source, self.objects).with_suffix(".d").read_text().split()
        ]


class Worker:
    """Tries mutants, one after the other, in a copy of the tree."""

    def __init__(self, build: Build, number: int) -> None:
        self.build, self.folder = build, build.folder / f"worker-{number}"
        self.tree = self.folder / "tree"
        shutil.copytree(build.source, self.tree)

    def attempt(self, mutant: candidates.Mutant) -> str | None:
        """Who noticed; empty: nobody; None: it does not compile, or its object code is the same."""
        path = self.tree / mutant.path
        text = path.read_text()
        lines = text.splitlines(keepends=True)
        lines[mutant.line - 1] = mutant.text
        path.write_text("".join(lines))
        try:
            return self.judged(mutant)
        finally:
            path.write_text(text)

    def judged(self, mutant: candidates.Mutant) -> str | None:
        build, changed = self.build, dict[str, Path]()
        for source in build.depends(mutant.path):
            if not build.compile(self.tree, source, self.folder):
                return None
            made = build.object_of(source, self.folder)
            if made.read_bytes() != build.object_of(source, build.objects).read_bytes():
                changed[source] = made
        if not changed or not build.link(self.folder, changed):
            return None
        for program, cpu_s in build.tests.items():
            wrong, _ = build.run(program, self.folder, max(1, CPU_FACTOR * cpu_s))
            if wrong:
                return f"{program.name} {wrong}"
        return ""


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--only", metavar="PATTERN", default="ftl/*", help="of such paths: 'ftl/gc/*' (ftl/*)"
    )
    parser.add_argument("--sample", type=int, metavar="N", default=20, help="so many mutants (20)")
    parser.add_argument("--seed", type=int, default=1, help="of the sample (1)")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="at once (2)")
    parser.add_argument(
        "--longest",
        type=float,
        default=20,
        metavar="SECONDS",
        help="programs that take more processor time are left out (20)",
    )
    given = parser.parse_args()
    if given.only.split("/")[0] not in TREES:
        parser.error(f"--only={given.only}: paths below ftl/ or guest/array/")
    if min(given.sample, given.jobs, given.longest) <= 0:
        parser.error("--sample, --jobs and --longest must be above 0")
    return given


def mutate(given: argparse.Namespace) -> None:
    tree = TREES[given.only.split("/")[0]]
    build = Build(tree, ROOT / "build" / "mutate", given.longest, given.jobs)
    drawn = candidates.of_tree(build.source, (tree.mutated,), given.only)
    if not drawn:
        raise SystemExit(f"--only={given.only}: nothing there can be changed")
    random.Random(given.seed).shuffle(drawn)
    workers: queue.Queue[Worker] = queue.Queue()
    for number in range(given.jobs):
        workers.put(Worker(build, number))
    noticed, began = 0, time.monotonic()
    survived: list[candidates.Mutant] = []
    running: dict[Future[str | None], candidates.Mutant] = {}

    def attempt(mutant: candidates.Mutant) -> str | None:
        worker = workers.get()
        try:
            return worker.attempt(mutant)
        finally:
            workers.put(worker)

    with ThreadPoolExecutor(given.jobs) as pool:
        waiting = iter(drawn)
        while True:
            while noticed + len(survived) + len(running) < given.sample:
                if len(running) == given.jobs or not (mutant := next(waiting, None)):
                    break
                running[pool.submit(attempt, mutant)] = mutant
            if not running:
                break
            for done in wait(running, return_when=FIRST_COMPLETED).done:
                mutant, by = running.pop(done), done.result()
                if by is None:
                    continue
                noticed += bool(by)
                survived += [] if by else [mutant]
                said = f"noticed: {by}" if by else "survived"
                where = f"{mutant.path}:{mutant.line}"
                print(f"{time.monotonic() - began:6.0f} s  {where}  {said}", flush=True)
    for mutant in sorted(survived, key=lambda each: (each.path, each.line)):
        print(f"\nsurvived: {mutant}")
    print(f"\n{noticed} of {noticed + len(survived)} noticed (seed {given.seed})")


def main() -> int:
    given = parse()
    try:
        import universalmutator  # type: ignore[import-not-found] # noqa: F401
    except ImportError:
        python = str(ensure_venv(MUTATE_PACKAGES))
        os.execv(python, [python, *sys.argv])
    with cache.locked(f"mutate-{ROOT.name}"):
        mutate(given)
    return 0


if __name__ == "__main__":
    sys.exit(main())
