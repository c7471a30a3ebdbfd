# SPDX-License-Identifier: GPL-2.0-or-later
"""What the build notices, without a build."""

from __future__ import annotations

import os
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from scarplib.build import cache
from scarplib.build import qemu as qemu_build
from scarplib.errors import UserError
from scarplib.experiments import manifest
from scarplib.guest.image import GuestImage

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
        patch = mock.patch.object(qemu_build, "ROOT", self.root)
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
        qemu_build._synchronise(self.source)
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

    def test_interrupted(self) -> None:
        self.put("ftl/new.c", "new")
        with (
            mock.patch.object(Path, "write_bytes", side_effect=KeyboardInterrupt),
            self.assertRaises(KeyboardInterrupt),
        ):
            self.lists_anew()
        self.assertTrue(self.lists_anew())


class Manifest(unittest.TestCase):
    """Whatever decides a run's bytes must show in its manifest."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "firmware").mkdir()
        for name in ("kernel", "initramfs", "job.fio", "demo.ini", "firmware/bios.bin"):
            (self.folder / name).write_text(name)

    def made(self, seed: int = 1, engine: str = "e", series: str = "s") -> dict:
        qemu = qemu_build.QemuBuild(
            binary=self.folder / "qemu",
            firmware_dir=self.folder / "firmware",
            version="10.0.0",
            series_hash=series,
            engine_hash=engine,
            build_dir=self.folder,
        )
        image = GuestImage(self.folder / "kernel", self.folder / "initramfs", {"fio": "f"})
        files = {"job": self.folder / "job.fio", "device": self.folder / "demo.ini"}
        return manifest.manifest(qemu, image, manifest.Inputs(files, {"seed": seed}))

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
        self.assertEqual(qemu_build.nvme_tests(plain), names)
        self.assertEqual(qemu_build.nvme_tests(tap), names)


class Unpack(unittest.TestCase):
    def test_not_an_archive(self) -> None:
        with (
            tempfile.TemporaryDirectory() as folder,
            self.assertRaisesRegex(UserError, "'tar .*' failed: "),
        ):
            cache.unpack_tar(b"no archive at all" * 100, Path(folder))


if __name__ == "__main__":
    unittest.main()
