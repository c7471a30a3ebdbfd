# SPDX-License-Identifier: GPL-2.0-or-later
"""What the build notices, without a build."""

from __future__ import annotations

import contextlib
import fcntl
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import tomllib
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

from scarplib.build import (
    array,
    cache,
    compile,
    cuts,
    engine_object,
    host_packages,
    library,
    qemu,
    replayer,
    requests,
)
from scarplib.build.engine_sources import engine_sources
from scarplib.dev import bench_engine, bench_realtime, upstream_tests
from scarplib.errors import UserError
from scarplib.guest import image, programs
from scarplib.guest.image import GuestImage
from scarplib.paths import ENGINE, ROOT
from scarplib.reproduce import replays, stale
from scarplib.runs import manifest
from scarplib.sweep import sweep
from scarplib.version import version

LONG_AGO = 1_000_000_000


class Synchronise(unittest.TestCase):
    """The checkout's files in QEMU's tree, where Meson lists them when it configures."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name) / "checkout"
        self.source = Path(folder.name) / "src"
        self.target = self.source / "hw" / "nvme" / "scarp"
        for name in ("hw/meson.build", "hw/a.c", "ftl/a.c", "ftl/gc/b.c", "ftl/a.h"):
            self.put(name, name)
        patch = mock.patch.object(qemu, "ROOT", self.root)
        patch.start()
        self.addCleanup(patch.stop)
        self.lists_anew()

    def put(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def lists_anew(self) -> bool:
        """Synchronise; would ninja configure again?"""
        listing = self.target / "hw" / "meson.build"
        if listing.exists():
            os.utime(listing, (LONG_AGO, LONG_AGO))
        qemu.synchronise(self.source)
        return listing.stat().st_mtime > LONG_AGO

    def test_nothing_changed(self) -> None:
        before = (self.target / "ftl" / "a.c").stat().st_mtime_ns
        self.assertFalse(self.lists_anew())
        self.assertEqual((self.target / "ftl" / "a.c").stat().st_mtime_ns, before)

    def test_changed(self) -> None:
        self.put("ftl/gc/b.c", "other")
        self.assertFalse(self.lists_anew())
        self.assertEqual((self.target / "ftl" / "gc" / "b.c").read_text(), "other")

    def test_added(self) -> None:
        self.put("ftl/map/new.c", "new")
        self.assertTrue(self.lists_anew())
        self.assertEqual((self.target / "ftl" / "map" / "new.c").read_text(), "new")
        self.assertFalse(self.lists_anew())

    def test_removed(self) -> None:
        (self.root / "ftl" / "gc" / "b.c").unlink()
        self.assertTrue(self.lists_anew())
        self.assertFalse((self.target / "ftl" / "gc" / "b.c").exists())

    def test_what_is_there_then_has_its_hash(self) -> None:
        said = qemu.synchronise(self.source)
        self.assertEqual(said, qemu.engine_hash())
        self.put("ftl/a.c", "other")
        self.assertNotEqual(qemu.engine_hash(), said)
        self.assertEqual(qemu.synchronise(self.source), qemu.engine_hash())

    def test_a_device_that_is_saved_meanwhile_has_no_others_name(self) -> None:
        patches = self.root / "qemu-patches"
        patches.mkdir()
        (patches / "series").touch()
        (self.source / "VERSION").write_text("10.0.8")
        cached = self.source.parent / "cache"
        made = mock.patch.object(
            qemu, "ensure_packages", lambda: self.put("ftl/a.c", "saved while packages came")
        )
        with (
            mock.patch.dict(os.environ, {"XDG_CACHE_HOME": str(cached)}),
            mock.patch.object(qemu, "PATCHES", patches),
            mock.patch.object(qemu, "ensure_source", lambda: self.source),
            mock.patch.object(qemu, "ensure_firmware"),
            mock.patch.object(qemu, "_configure"),
            mock.patch.object(qemu, "_ninja", self.built),
            contextlib.redirect_stderr(io.StringIO()),
        ):
            with made, self.assertRaisesRegex(UserError, "^QEMU: .*changed"):
                qemu.ensure_qemu()
            self.assertEqual(list(cached.rglob("qemu-system*")), [])
            with mock.patch.object(qemu, "ensure_packages"):
                binary = qemu.ensure_qemu().binary
            self.assertEqual(binary.read_text(), "saved while packages came")

    def built(self, build: Path, program: str) -> None:
        build.mkdir(exist_ok=True)
        shutil.copyfile(self.target / "ftl" / "a.c", build / program)

    def test_interrupted(self) -> None:
        self.put("ftl/new.c", "new")
        with (
            mock.patch.object(Path, "write_bytes", side_effect=KeyboardInterrupt),
            self.assertRaises(KeyboardInterrupt),
        ):
            self.lists_anew()
        self.assertTrue(self.lists_anew())


class Engine(unittest.TestCase):
    """Which engine a program is of, and that it is."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.source = self.folder / "a.c"
        self.source.write_text("one")
        environment = {"XDG_CACHE_HOME": str(self.folder)}
        patches: tuple[contextlib.AbstractContextManager[Any], ...] = (
            mock.patch.dict(os.environ, environment),
            mock.patch.object(replayer, "sources", lambda: [self.source]),
            mock.patch.object(replayer, "ensure_packages"),
            mock.patch.object(compile, "flags", lambda *_: []),
            mock.patch.object(compile, "compiler", self.compiled),
            contextlib.redirect_stderr(io.StringIO()),
        )
        for patch in patches:
            patch.__enter__()
            self.addCleanup(patch.__exit__, None, None, None)
        replays.replay.cache_clear()
        self.addCleanup(replays.replay.cache_clear)

    def compiled(self, _: str, command: list[str]) -> None:
        Path(command[command.index("-o") + 1]).write_text(self.source.read_text())

    def test_a_source_that_is_saved_meanwhile(self) -> None:
        with (
            mock.patch.object(
                replayer, "ensure_packages", lambda _: self.source.write_text("another")
            ),
            self.assertRaisesRegex(UserError, "^scarp-replay: .* changed while it was built"),
        ):
            replayer.ensure_replay()
        self.source.write_text("one")
        self.assertFalse(replayer.built_replay().exists())
        self.assertEqual(replayer.ensure_replay().read_text(), "one")
        self.assertEqual([p.name for p in replayer.built_replay().parent.iterdir()],
                         ["scarp-replay"])  # fmt: skip

    def test_one_object_for_several_programs(self) -> None:
        """The engine takes a minute of a core: it is compiled once, and they are linked of it."""
        commands: list[list[str]] = []

        def compiled(_: str, command: list[str]) -> None:
            commands.append(command)
            Path(command[command.index("-o") + 1]).touch()

        code = {str(path) for path in engine_sources(ENGINE) if path.suffix == ".c"}
        with (
            mock.patch.object(compile, "compiler", compiled),
            mock.patch.object(engine_object, "ensure_packages"),
        ):
            whole = str(engine_object.ensure_engine())
            for make in (cuts.ensure_cuts, cuts.ensure_why, array.ensure_simulator):
                self.assertTrue(make().is_file())
        self.assertEqual(len(commands), 4)
        self.assertLessEqual(code, {*commands[0]})
        for command in commands[1:]:
            self.assertTrue(code.isdisjoint(command))
            self.assertEqual(command.count(whole), 1)

    def test_programs_of_other_sources(self) -> None:
        """Each takes its sources' key before it is built, and looks again afterwards."""
        saved = mock.Mock(side_effect=lambda *_: self.source.write_text("another"))
        versions = (self.folder, ["gcc=1"])
        guest = mock.Mock(versions={"fio_version": "1"})
        for module, where, make in (
            (requests, {"SOURCE": self.source}, requests.ensure_requests),
            (bench_engine, {"sources": lambda: [self.source]}, bench_engine.ensure_program),
            (bench_realtime, {"_sources": lambda: [self.source]}, bench_realtime.ensure_program),
            (programs, {"_sources": lambda: [self.source]},
             lambda: programs.ensure_programs(guest)),
            (programs, {}, lambda: programs.ensure_program(self.source)),
        ):  # fmt: skip
            self.source.write_text("one")
            with contextlib.ExitStack() as stack:
                change = stack.enter_context
                for name, value in where.items():
                    change(mock.patch.object(module, name, value))
                change(mock.patch.object(compile, "compiler", saved))
                change(mock.patch.object(bench_realtime, "ensure_engine", Path))
                if module is programs:
                    change(mock.patch.object(module, "ensure_sysroot", lambda *_: versions))
                    change(mock.patch.object(module, "_compiler", lambda *_: "cc"))
                    change(mock.patch.object(module, "_run", saved))
                else:
                    change(mock.patch.object(module, "ensure_packages"))
                with self.subTest(module.__name__), self.assertRaisesRegex(UserError, "changed"):
                    make()
        self.assertEqual(saved.call_count, 5)
        made = [p for p in (self.folder / "scarp").iterdir() if p.suffix not in (".lock", ".new")]
        self.assertEqual(sorted(p.name for p in made), ["bench", "requests"])
        self.assertEqual([p for folder in made for p in folder.rglob("*") if p.is_file()], [])

    def test_the_guests_image(self) -> None:
        """It is whole when its manifest is there: not if a source changed meanwhile."""
        for name in ("ship.c", "init"):
            (self.folder / name).write_text("one")
        root = self.folder / "root"
        for name in ("boot/vmlinuz-6", "usr/bin/fio"):
            (root / name).parent.mkdir(parents=True)
            (root / name).write_text("")
        changes = [True, False]

        def compiled(*_: object) -> None:
            if changes.pop(0):
                (self.folder / "ship.c").write_text("another")

        with (
            mock.patch.object(image, "GUEST", self.folder),
            mock.patch.object(image, "_sysroot", lambda *_: (root, ["linux-image-6=1", "fio=2"])),
            mock.patch.object(image, "_initramfs", lambda *_: b""),
            mock.patch.object(image, "_compile", compiled),
        ):
            with self.assertRaisesRegex(UserError, "^the guest's image: .* changed while"):
                image.ensure_image()
            self.assertEqual(list(self.folder.rglob("manifest.json")), [])
            self.assertEqual(image.ensure_image().versions["fio_version"], "2")

    def test_the_library(self) -> None:
        def build(folder: Path, _: str) -> None:
            self.source.write_text("another")
            (folder / f"libscarp.so.{version()}").write_text(self.source.read_text())

        def made() -> Path:
            with (
                mock.patch.object(library, "sources", lambda: [self.source]),
                mock.patch.object(library, "ensure_packages"),
                mock.patch.object(library, "_build", build),
            ):
                return library.ensure_libscarp().shared

        with self.assertRaisesRegex(UserError, "^libscarp: .* changed while it was built"):
            made()
        self.assertEqual(list(self.folder.rglob("libscarp.so*")), [])
        self.assertEqual(made().read_text(), "another")

    def seen(self) -> set[str]:
        """Each name for the engine that results are kept under."""
        replays.replay.cache_clear()
        digits = {replays.program(), stale.here("hios")}
        self.assertEqual(digits, {sweep.program(None)[: stale.DIGITS]})
        return digits

    def test_an_installed_one_has_the_name_that_the_checkouts_has(self) -> None:
        names = []
        for text in ("one", "two"):
            self.source.write_text(text)
            names.append(self.seen())
            key = replayer.program_key(replayer.sources())
            self.assertEqual(names[-1], {key[: stale.DIGITS]})
            manifest = self.folder / "installed.json"
            manifest.write_text(json.dumps({"programs": {"scarp-replay": key}}))
            programs = self.folder / "bin"
            programs.mkdir(exist_ok=True)
            (programs / "scarp-replay").touch()
            with (
                mock.patch.object(replayer, "INSTALLED", True),
                mock.patch.object(replayer, "MANIFEST", manifest),
                mock.patch.object(replayer, "PROGRAMS", programs),
            ):
                self.assertEqual(replayer.ensure_replay(), programs / "scarp-replay")
                self.assertEqual(self.seen(), names[-1])
        self.assertNotEqual(*names)


class Manifest(unittest.TestCase):
    """Whatever decides a run's bytes must show in its manifest."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "firmware").mkdir()
        for name in ("kernel", "initramfs", "job.fio", "demo.ini", "firmware/bios.bin"):
            (self.folder / name).write_text(name)

    def made(self, seed: int = 1, engine: str = "e", series: str = "s") -> dict[str, Any]:
        build = qemu.QemuBuild(
            binary=self.folder / "qemu",
            firmware_dir=self.folder / "firmware",
            version="10.0.0",
            series_hash=series,
            engine_hash=engine,
            build_dir=self.folder,
        )
        image = GuestImage(self.folder / "kernel", self.folder / "initramfs", {"fio": "f"})
        files = {"job": self.folder / "job.fio", "device": self.folder / "demo.ini"}
        return manifest.manifest(build, image, manifest.Inputs(files, {"seed": seed}))

    def test_equal(self) -> None:
        self.assertEqual(self.made(), self.made())

    def test_each_input_shows(self) -> None:
        first = self.made()
        others = [self.made(seed=2), self.made(engine="x"), self.made(series="x")]
        for name in ("kernel", "initramfs", "job.fio", "demo.ini", "firmware/bios.bin"):
            (self.folder / name).write_text("other")
            others.append(self.made())
            (self.folder / name).write_text(name)
        with mock.patch("scarplib.guest.vm.CPU_MODEL", "other"):
            others.append(self.made())
        for other in others:
            self.assertNotEqual(first, other)
        self.assertEqual(first, self.made())


class Upstream(unittest.TestCase):
    def test_names_in_both_listings(self) -> None:
        names = ["/x86_64/pc/pci-bus/nvme/nvme-tests/reg-read", "/x86_64/pc/pci-bus/nvme/nop"]
        plain = "\n".join(["/x86_64/pc/e1000/nop", *names, ""])
        tap = "\n".join(
            ["TAP version 14", "1..91", "# Start of nvme tests", "# /x86_64/pc/e1000/nop"]
            + [f"# {name}" for name in names]
        )
        self.assertEqual(upstream_tests.nvme_tests(plain), names)
        self.assertEqual(upstream_tests.nvme_tests(tap), names)


class HostPackages(unittest.TestCase):
    """Installing while somebody else does: an apt-get and a dpkg-query of the test's own."""

    LISTS = "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 7 (apt-get)"
    DPKG = (
        "dpkg: error: dpkg frontend lock was locked by another process with pid 7\n"
        "E: Sub-process /usr/bin/dpkg returned an error code (2)"
    )

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        path = f"{self.folder}:{os.environ['PATH']}"
        for patch in (
            mock.patch.dict(os.environ, {"PATH": path, "XDG_CACHE_HOME": str(self.folder)}),
            mock.patch.object(host_packages, "RETRY_S", 0.0),
            mock.patch.object(os, "geteuid", lambda: 0),
        ):
            patch.start()
            self.addCleanup(patch.stop)
        self.program("dpkg-query", "test -e installed && echo ii || exit 1")

    def program(self, name: str, body: str) -> None:
        path = self.folder / name
        path.write_text(f"#!/bin/sh\ncd '{self.folder}'\n{body}\n")
        path.chmod(0o755)

    def apt_get(self, *troubles: str) -> None:
        """An apt-get that notes its arguments and first meets each of these troubles."""
        for number, text in enumerate(troubles):
            (self.folder / f"trouble-{number}").write_text(text)
        self.program(
            "apt-get",
            'echo "$*" >>calls\n'
            "for t in trouble-*; do test -e $t && { cat $t >&2; rm $t; exit 100; }; done\n"
            'case "$*" in *install*) touch installed;; esac',
        )

    def install(self) -> list[str]:
        with contextlib.redirect_stderr(io.StringIO()):
            host_packages.ensure_packages(("gcc",))
        calls = self.folder / "calls"
        return calls.read_text().splitlines() if calls.exists() else []

    def test_apt_waits_for_dpkgs_lock_itself(self) -> None:
        self.apt_get()
        calls = self.install()
        self.assertEqual(len(calls), 2)
        for call in calls:
            self.assertRegex(call, r"^-o DPkg::Lock::Timeout=[1-9]\d+ (update|install) ")

    def test_we_wait_for_the_locks_that_apt_does_not_wait_for(self) -> None:
        self.apt_get(self.LISTS, self.LISTS, self.DPKG)
        self.assertEqual(len(self.install()), 5)
        self.assertTrue((self.folder / "installed").exists())

    def test_not_for_ever(self) -> None:
        self.apt_get(*[self.LISTS] * 3)
        with (
            mock.patch.object(host_packages, "LOCK_WAIT_S", -1),
            self.assertRaisesRegex(UserError, "held by process 7"),
        ):
            self.install()

    def test_other_troubles_are_said_at_once(self) -> None:
        self.apt_get("W: noise\nE: Unable to locate package gcc\n" + "x" * 1000)
        with self.assertRaisesRegex(UserError, "failed: E: Unable to locate package gcc$"):
            self.install()

    def test_what_is_there_is_not_installed_again(self) -> None:
        self.apt_get()
        (self.folder / "installed").touch()
        self.assertEqual(self.install(), [])


class EngineSources(unittest.TestCase):
    def test_all_but_the_programs_beside_it(self) -> None:
        """What Meson is told, by the script that it calls."""
        script = ROOT / "hw" / "list-engine-sources.py"
        done = subprocess.run(
            [sys.executable, script, ROOT / "ftl"], capture_output=True, text=True, check=True
        )
        listed = done.stdout.split()
        wanted = [
            f"../{path.relative_to(ROOT)}"
            for path in sorted((ROOT / "ftl").rglob("*.c"))
            if path.parent.name not in ("replay", "rerun", "cuts", "why")
        ]
        self.assertEqual(listed, wanted)

    def test_the_device_is_made_of_the_same(self) -> None:
        """No change of a program beside the engine builds QEMU again."""
        beside = [ROOT / "ftl" / name for name in tomllib.loads(
            (ROOT / "ftl" / "rooms.toml").read_text())["beside"]]  # fmt: skip
        device = {path for path, _ in qemu.device_sources()}
        self.assertTrue(device.isdisjoint(x for folder in beside for x in folder.rglob("*")))
        self.assertIn(ROOT / "ftl" / "timeline" / "timeline.c", device)
        self.assertIn(ROOT / "hw" / "nvme-flash.c", device)

    def test_each_program_beside_the_engine_has_its_own(self) -> None:
        own = {
            name: {x.parent.name for x in files} & {"replay", "rerun", "cuts", "why"}
            for name, files in (
                ("replay", replayer.sources()),
                ("cuts", cuts.cuts_sources()),
                ("why", cuts.why_sources()),
                ("library", library.sources()),
            )
        }
        shared = {"replay", "rerun"}
        self.assertEqual(
            own,
            {
                "replay": {"replay"},
                "cuts": {*shared, "cuts"},
                "why": {*shared, "why"},
                "library": set(),
            },
        )


class Locked(unittest.TestCase):
    def test_who_waits_says_so_beside_what_is_asked_for(self) -> None:
        # `scarp manifest --built` and others print JSON: nothing else may be there.
        out, said = io.StringIO(), io.StringIO()
        with (
            tempfile.TemporaryDirectory() as folder,
            mock.patch.dict(os.environ, {"XDG_CACHE_HOME": folder}),
            (cache.cache_dir() / "guest.lock").open("w") as other,
        ):
            fcntl.flock(other, fcntl.LOCK_EX)
            release = threading.Timer(0.2, fcntl.flock, (other, fcntl.LOCK_UN))
            release.start()
            with (
                contextlib.redirect_stdout(out),
                contextlib.redirect_stderr(said),
                cache.locked("guest"),
            ):
                pass
            release.join()
        self.assertEqual(out.getvalue(), "")
        self.assertIn("waiting for another scarp", said.getvalue())


class Guest(unittest.TestCase):
    def test_a_full_disk_leaves_no_image_that_cannot_be_read(self) -> None:
        def full(path: Path, _: str) -> int:
            path.touch()
            raise OSError(28, "No space left on device", str(path))

        with tempfile.TemporaryDirectory() as name:
            root = Path(name)
            for file in ("boot/vmlinuz-6", "usr/bin/fio"):
                (root / file).parent.mkdir(parents=True, exist_ok=True)
                (root / file).write_text(file)
            with (
                mock.patch.dict(os.environ, {"XDG_CACHE_HOME": name}),
                mock.patch.object(
                    image, "_sysroot", lambda *_: (root, ["linux-image-6.1=1", "fio=3"])
                ),
                mock.patch.object(image, "_compile"),
                mock.patch.object(image, "_initramfs", lambda *_: b"archive"),
            ):
                with mock.patch.object(Path, "write_text", full), self.assertRaises(OSError):
                    image.ensure_image()
                made = image.ensure_image()
            self.assertEqual(made.versions["fio_version"], "3")


class Unpack(unittest.TestCase):
    def test_not_an_archive(self) -> None:
        with (
            tempfile.TemporaryDirectory() as folder,
            self.assertRaisesRegex(UserError, "'tar .*' failed: "),
        ):
            cache.unpack_tar(b"no archive at all" * 100, Path(folder))


if __name__ == "__main__":
    unittest.main()
