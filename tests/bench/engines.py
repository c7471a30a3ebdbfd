# SPDX-License-Identifier: GPL-2.0-or-later
"""A checkout's or a commit's engine as programs: built as the replayer is, and as in QEMU."""

from __future__ import annotations

import json
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

from scarplib.build import qemu as qemu_build
from scarplib.build import replayer as replay
from scarplib.build.cache import unpack_tar
from scarplib.build.compile import compile_program
from scarplib.build.engine_sources import engine_sources
from scarplib.dev import bench_engine
from scarplib.errors import UserError

ROOT = Path(__file__).resolve().parents[2]
# What the compiler is told about one file alone, with the number of words that follow.
OF_ONE_FILE = {"-MD": 0, "-MQ": 1, "-MF": 1, "-o": 1, "-c": 1}
WHOLE, LIBRARY = "replayer", "QEMU"


@dataclass(frozen=True)
class Engine:
    name: str
    replayer: Path
    # bench-engine by kind of build
    bench: dict[str, Path]


def checkout(commit: str, folder: Path) -> Path:
    done = subprocess.run(
        ["git", "-C", str(ROOT), "archive", commit, "ftl"], capture_output=True, check=False
    )
    if done.returncode:
        raise UserError(f"COMMIT: {done.stderr.decode().strip().splitlines()[0]}")
    (folder / "commit").mkdir(parents=True)
    unpack_tar(done.stdout, folder / "commit")
    return folder / "commit"


def _measured(root: Path) -> list[Path]:
    """One and the same program for every engine: what is measured is the engine."""
    return [*bench_engine.sources(root)[:-1], bench_engine.sources()[-1]]


def build(name: str, root: Path, folder: Path, replayer: bool = True) -> Engine:
    """Without the kinds of bench-engine, which only timing needs."""
    engine = Engine(name, folder / name / "scarp-replay", {})
    if not replayer:
        return engine
    ftl = root / "ftl"
    # Files of cuts- are scarp-cuts', where a commit has no ftl/cuts yet.
    own = [path for path in (ftl / "replay").glob("*.c") if not path.name.startswith("cuts-")]
    sources = sorted([*(path for path in engine_sources(ftl) if path.suffix == ".c"), *own])
    compile_program(engine.replayer, root / "ftl", sources, replay.LIBRARIES)
    return engine


def build_bench(engine: Engine, root: Path, folder: Path, words: LibraryWords) -> None:
    engine.bench[WHOLE] = folder / engine.name / "bench-engine"
    compile_program(engine.bench[WHOLE], root / "ftl", _measured(root), ("glib-2.0",))
    engine.bench[LIBRARY] = folder / engine.name / "bench-library"
    words.compile_program(engine.bench[LIBRARY], root, _measured(root))


@dataclass(frozen=True)
class LibraryWords:
    """How QEMU's build compiles a file of the engine: read from what it generated, not copied."""

    folder: Path  # where the words are said
    ours: Path  # QEMU's copy of our files
    words: list[str]

    @classmethod
    def ask(cls) -> LibraryWords:
        source, build = qemu_build.ensure_configured()
        ours = source / "hw" / "nvme" / "scarp"
        for command in json.loads((build / "compile_commands.json").read_text()):
            folder = Path(command["directory"])
            if (folder / command["file"]).resolve().is_relative_to(ours / "ftl"):
                return cls(folder, ours, common(shlex.split(command["command"])))
        raise UserError("QEMU's build compiles no file of the engine")

    def of(self, root: Path) -> list[str]:
        """With that root's folders in place of those of QEMU's copy."""
        made = []
        for word in self.words:
            path = (self.folder / word[2:]).resolve()
            if word.startswith("-I") and path.is_relative_to(self.ours):
                made.append(f"-I{root / path.relative_to(self.ours)}")
            else:
                made.append(word)
        return made

    def compile_program(self, program: Path, root: Path, sources: list[Path]) -> None:
        """Object by object into an archive; the last source is the program that links it."""
        objects = program.with_suffix(".objects")
        objects.mkdir(parents=True)
        archive = objects / "libscarp.a"
        words, made = self.of(root), []
        for i, source in enumerate(sources):
            made.append(str(objects / f"{i}.o"))
            if source == sources[-1]:
                # Link-time optimisation, if the library has it, ends where the library does.
                words = [word for word in words if not word.startswith("-flto")]
            self._run([*words, "-c", str(source), "-o", made[-1]])
        self._run(["gcc-ar", "rcs", str(archive), *made[:-1]])
        libraries = subprocess.check_output(["pkg-config", "--libs", "glib-2.0"], text=True).split()
        self._run(["cc", "-pie", made[-1], str(archive), "-o", str(program), *libraries])

    def _run(self, command: list[str]) -> None:
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)
        if done.returncode:
            raise UserError(f"the engine does not build as in QEMU:\n{done.stderr.strip()[-2000:]}")


def common(command: list[str]) -> list[str]:
    """What the compiler is told about every file."""
    words = iter(command)
    kept = []
    for word in words:
        if word not in OF_ONE_FILE:
            kept.append(word)
            continue
        for _ in range(OF_ONE_FILE[word]):
            next(words)
    return kept
