# SPDX-License-Identifier: GPL-2.0-or-later
"""How a source of a tree is compiled, and how its programs are linked."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Protocol

from trees import Build, Program, Tree


class Builder(Protocol):
    """Compiles and links in one copy of the tree; empty, or what the compiler says."""

    def compile(self, source: str, to: Path, *more: str) -> str: ...

    def link_library(self, objects: list[Path], to: Path) -> str: ...

    def link_program(
        self, program: Program, objects: list[Path], libraries: list[Path], to: Path
    ) -> str: ...

    def signature(self) -> str:
        """Of all that an object depends on, besides its source and the tree's headers."""
        ...


def _pkg_config(what: str, libraries: tuple[str, ...]) -> list[str]:
    command = ["pkg-config", what, *libraries]
    return shlex.split(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def _run(command: list[str], cwd: Path) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    return (done.stderr or "failed") if done.returncode else ""


class Plain:
    """As the tests' own scripts do it, but for the flags of the build."""

    COMMON = ("-std=gnu11", "-w", "-fPIC", "-fno-semantic-interposition")

    def __init__(self, tree: Tree, folder: Path, build: Build) -> None:
        self.folder = folder
        self.cflags = [
            *self.COMMON,
            *tree.cflags,
            *build.flags,
            *_pkg_config("--cflags", tree.libraries),
        ]
        self.libs = [*build.runtime, *_pkg_config("--libs", tree.libraries), "-lm"]

    def compile(self, source: str, to: Path, *more: str) -> str:
        return _run(["cc", *self.cflags, *more, "-c", "-o", str(to), source], self.folder)

    def link_library(self, objects: list[Path], to: Path) -> str:
        command = ["cc", "-shared", f"-Wl,-soname,{to.name}", "-o", str(to)]
        return _run([*command, *map(str, objects), *self.libs], self.folder)

    def link_program(
        self, program: Program, objects: list[Path], libraries: list[Path], to: Path
    ) -> str:
        # backtrace() of the hunt finds functions by their places in a program.
        parts = [*map(str, objects), *map(str, libraries), *program.libraries]
        return _run(["cc", "-o", str(to), *parts, *self.libs], self.folder)

    def signature(self) -> str:
        return " ".join(self.cflags)


class Device:
    """As QEMU's own build does it, but that the engine is not optimised again for each mutant.

    QEMU's build folder is shared by all checkouts, so a copy of it is taken: of links, as ninja's
    compilers replace files, and write into none.

    Programs that need no QEMU are built as those of other trees.
    """

    # The device includes QEMU's nvme.h as its place in QEMU's tree has it.
    PLACE = "hw/nvme/scarp"
    BINARY = "qemu-system-x86_64"

    def __init__(self, tree: Tree, folder: Path, build: Build, qemu: Path) -> None:
        self.tree, self.folder, self.build, self.qemu = tree, folder, build, qemu
        self.plain = Plain(tree, folder, build)
        facts = json.loads((qemu / "scarp-commands.json").read_text())
        self.commands: dict[str, list[str]] = facts["compile"]
        self.link: list[str] = facts["link"]
        nvme = folder.parent
        for header in (qemu / "nvme").glob("*.h"):
            shutil.copy2(header, nvme)

    def compile(self, source: str, to: Path, *more: str) -> str:
        if source not in self.commands:
            return self.plain.compile(source, to, *more)
        path = self.folder / source
        command = [
            *self.commands[source],
            "-w",
            *self.build.flags,
            f"-ffile-prefix-map={self.folder}/=",
            *more,
        ]
        return _run([*command, "-c", "-o", str(to), str(path)], self.qemu / "build")

    def link_library(self, objects: list[Path], to: Path) -> str:
        return ""

    def link_program(
        self, program: Program, objects: list[Path], libraries: list[Path], to: Path
    ) -> str:
        if program.kind != "qtest":
            return self.plain.link_program(program, objects, libraries, to)
        own = iter(objects)
        command = [next(own) if part == "OBJECT" else part for part in self.link]
        # Without debugging information, a link takes a second.
        more = ["-fno-lto", "-Wl,-S", *self.build.runtime]
        return _run([*map(str, command), *more, "-o", str(to)], self.qemu / "build")

    def signature(self) -> str:
        return f"{self.qemu} {self.plain.signature()}"


def _stripped(command: list[str]) -> list[str]:
    """Without what is written, and where."""
    kept: list[str] = []
    parts = iter(command)
    for part in parts:
        if part in ("-o", "-MF", "-MQ", "-c"):
            next(parts)
        elif part not in ("-MD", "-g") and not part.startswith("-flto"):
            kept.append(part)
    return kept


def copy_of_qemu(root: Path, to: Path) -> Path:
    """QEMU as the cached build has it, with the checkout's device; below `to`, made once."""
    from scarplib.build import cache, qemu

    made = qemu.ensure_qemu()
    build = made.build_dir
    copy = to / f"qemu-{made.series_hash[:8]}-{made.engine_hash[:8]}"
    if (copy / "scarp-commands.json").is_file():
        os.utime(copy)
        return copy
    shutil.rmtree(copy, ignore_errors=True)
    source = build.parent / "src"
    qemu.compile_targets(build, Device.BINARY)
    with cache.locked(source.parent.name):
        place = source / Device.PLACE
        for _, relative in qemu.device_sources():
            if (place / relative).read_bytes() != (root / relative).read_bytes():
                raise SystemExit("another checkout was built in QEMU's folder: again, please")
        shutil.copytree(build, copy / "build", symlinks=True, copy_function=_link)
    (copy / "nvme").mkdir()
    for header in (source / "hw" / "nvme").glob("*.h"):
        shutil.copy2(header, copy / "nvme")
    listed = subprocess.run(
        ["ninja", "-t", "commands", Device.BINARY],
        cwd=build,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    compiled: dict[str, list[str]] = {}
    objects: dict[str, str] = {}
    for line in listed:
        words = shlex.split(line)
        path = Path(words[words.index("-c") + 1]) if "-c" in words else Path()
        if str(path.parent).endswith(f"{Device.PLACE}/hw"):
            name = f"hw/{path.name}"
            compiled[name] = _stripped(words)
            objects[words[words.index("-o") + 1]] = name
    last = _stripped(shlex.split(listed[-1]))
    order = [objects[part] for part in last if part in objects]
    if order != sorted(compiled):
        raise SystemExit("QEMU's build does not link the device as it did")
    link = ["OBJECT" if part in objects else part for part in last]
    facts = {"compile": compiled, "link": link}
    (copy / "scarp-commands.json").write_text(json.dumps(facts))
    return copy


def _link(source: str, to: str) -> None:
    if not source.endswith(Device.BINARY):
        os.link(source, to)


def builder(tree: Tree, folder: Path, build: Build, qemu: Path | None) -> Builder:
    return Device(tree, folder, build, qemu) if qemu else Plain(tree, folder, build)
