# SPDX-License-Identifier: GPL-2.0-or-later
"""The trees of sources that are mutated: what is built of each, and which tests it has."""

from __future__ import annotations

import math
import resource
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Build:
    name: str
    flags: tuple[str, ...]
    memory_bytes: int
    slower: float  # than where lines are counted, at most
    longest_s: float  # tests that take more CPU time there are left out
    runtime: tuple[str, ...] = ()  # flags that the linker needs, too


# A line that an assertion names is no result.
_NO_LINES = ("-O2", "-D__LINE__=0", "-Wno-builtin-macro-redefined")
_SANITIZERS = ("-fsanitize=address,undefined",)
QUICK = Build("quick", _NO_LINES, 16 << 30, 1, math.inf)
SANITIZED = Build(
    "sanitized",
    ("-O1", *_SANITIZERS, "-fno-sanitize-recover=all"),
    resource.RLIM_INFINITY,  # the address space is full of shadows
    3,
    1.5,
    _SANITIZERS,
)
# Lines are told apart before functions are put into others.  Some tests have threads.
COUNTING = Build(
    "counting",
    ("-O1", "-fno-early-inlining", "-fprofile-update=atomic", "--coverage"),
    16 << 30,
    1,
    math.inf,
    ("--coverage",),
)


@dataclass(frozen=True)
class Program:
    """Its sources are linked with the tree's library; its kind says how its tests are run."""

    name: str
    sources: tuple[str, ...]
    kind: str = "glib"  # or hunt, simulator, qtest
    libraries: tuple[str, ...] = ()


@dataclass(frozen=True)
class Tree:
    """Sources, as patterns of paths, and programs with tests.

    What is mutated is in a shared library, so that most programs stay as they are.  Sources that
    a program has to itself may be mutated as well: it is linked anew.
    """

    name: str
    mutated: tuple[str, ...]  # .c and .h
    library: tuple[str, ...]  # what is mutated and linked into the library
    without: tuple[str, ...]  # and not into it
    fixed: tuple[str, ...]  # a second library, which stays as it is
    programs: tuple[Program, ...]  # one for each source that a pattern of its sources matches
    inputs: tuple[str, ...]  # what tests read, besides what is compiled
    cflags: tuple[str, ...]
    libraries: tuple[str, ...]  # by pkg-config
    builds: tuple[Build, ...] = (QUICK, SANITIZED)
    # Programs that are killed in the middle: what they reached is not known for certain, so that
    # those of their tests that do not seem to reach a line are run all the same, last.
    killed: tuple[str, ...] = ()
    # Tests that take more CPU time, where lines are counted, are left out.
    longest_s: float = 20
    # A test that reads the host's clock may fail on a busy host: it must fail twice, and then
    # pass unchanged.
    doubted: bool = False

    def sources(self, root: Path, *patterns: str) -> list[str]:
        paths = {path for pattern in patterns for path in root.glob(pattern)}
        found = {path.relative_to(root).as_posix() for path in paths if path.is_file()}
        return sorted(found)

    def library_sources(self, root: Path) -> list[str]:
        without = self.sources(root, *self.without)
        return [path for path in self.sources(root, *self.library) if path not in without]

    def programs_in(self, root: Path) -> list[Program]:
        found: list[Program] = []
        for program in self.programs:
            if program.name:
                sources = self.sources(root, *program.sources)
                found.append(Program(program.name, tuple(sources), program.kind, program.libraries))
            else:
                found += [
                    Program(Path(source).stem, (source,), program.kind, program.libraries)
                    for source in self.sources(root, *program.sources)
                ]
        return found

    def mutable(self, root: Path, path: str) -> bool:
        return path in self.sources(root, *self.mutated)


FTL = Tree(
    name="ftl",
    mutated=("ftl/**/*.[ch]",),
    library=("ftl/**/*.c",),
    without=("ftl/replay/main.c", "ftl/replay/cuts-main.c"),
    fixed=(),
    programs=(
        Program("", ("tests/unit/**/*.c",)),
        # The scenarios that failed once, with every law after every event.
        Program("hunt", ("tests/hunt/*.c",), "hunt"),
    ),
    inputs=("tests/unit", "tests/hunt", "tests/qtest/*.ini", "devices"),
    cflags=("-DSCARP_CHECKED", "-Iftl", "-Iftl/replay"),
    libraries=("glib-2.0", "zlib", "libzstd"),
)

ARRAY = Tree(
    name="array",
    mutated=("guest/array/**/*.[ch]",),
    library=("guest/array/*.c", "guest/array/sim/workload.c"),
    without=(),
    fixed=(
        "ftl/[!r]*/**/*.c",
        "ftl/recovery/*.c",
        "ftl/redundancy/*.c",
        "ftl/replay/options.c",
    ),
    programs=(
        Program("", ("tests/array/test-*.c",)),
        Program(
            "uring",
            (
                "tests/array/uring/test-uring.c",
                "guest/array/uring/[!f]*.c",
            ),
            libraries=("-luring", "-lpthread"),
        ),
        Program(
            "uring-keep",
            (
                "tests/array/uring/test-keep.c",
                "guest/array/uring/[!f]*.c",
            ),
            libraries=("-luring", "-lpthread"),
        ),
        Program(
            "uring-drives",
            (
                "tests/array/uring/test-drives.c",
                "guest/array/uring/[!f]*.c",
            ),
            libraries=("-luring", "-lpthread"),
        ),
        Program("scarp-array", ("guest/array/sim/[!w]*.c",), "simulator"),
    ),
    inputs=("guest/array", "tests/array", "ftl"),
    cflags=("-Iguest/array", "-Iguest/array/uring", "-Itests/array", "-Iftl"),
    libraries=("glib-2.0", "zlib", "libzstd"),
    killed=("uring", "uring-keep"),
)

# In the cached QEMU: builders.py compiles and links as its own build does.
DEVICE = Tree(
    name="hw",
    mutated=("hw/*.[ch]",),
    library=(),
    without=(),
    fixed=(),
    programs=(
        # Without QEMU: they include the source that they test.
        Program("", ("tests/hw/*.c",)),
        Program("qemu-system-x86_64", ("hw/*.c",), "qtest"),
    ),
    inputs=(
        "hw",
        "ftl",
        "tests/hw",
        "tests/bench/shim",
        "tests/qtest",
        "tests/*.py",
        "scripts/scarplib",
        "devices",
    ),
    cflags=("-D_GNU_SOURCE", "-Ihw", "-Itests/bench/shim"),
    libraries=("glib-2.0",),
    builds=(QUICK,),
    longest_s=5,
    doubted=True,
)

TREES = {tree.name: tree for tree in (FTL, ARRAY, DEVICE)}
