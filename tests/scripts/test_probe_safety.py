# SPDX-License-Identifier: GPL-2.0-or-later
"""What `scarp probe` may not do to the host, on loop devices and files that are made here."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(Path(__file__).parent)]

from scarplib.errors import UserError  # noqa: E402
from scarplib.own_drive import safety  # noqa: E402
from scarplib.own_drive.plan import MIB  # noqa: E402


class Scratch(unittest.TestCase):
    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def image(self, name: str, mib: int = 64) -> Path:
        path = self.folder / name
        with path.open("wb") as stream:
            stream.truncate(mib * MIB)
        return path

    def loop(self, image: Path, *options: str) -> Path:
        """A loop device on a file of this folder; skips where there is none."""
        program = shutil.which("losetup", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
        if os.getuid() != 0 or not program:
            self.skipTest("loop devices need root and losetup")
        done = subprocess.run(
            [program, "--find", "--show", *options, str(image)],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            self.skipTest(f"no loop device: {done.stderr.strip()}")
        device = Path(done.stdout.strip())
        self.addCleanup(subprocess.run, [program, "--detach", str(device)], check=True)
        return device

    def node(self, name: str, device: Path) -> Path:
        """Another node of a device."""
        path = self.folder / "nodes" / name
        path.parent.mkdir(exist_ok=True)
        os.mknod(path, stat.S_IFBLK | 0o600, device.stat().st_rdev)
        return path


class WhichDevice(Scratch):
    """A node's name is anybody's choice; its numbers are the kernel's."""

    def test_is_told_by_numbers_and_not_by_a_name(self) -> None:
        one, other = self.loop(self.image("a.img")), self.loop(self.image("b.img", 32))
        wrong = self.node(other.name, one)
        with self.assertRaisesRegex(UserError, "'b.img' is not the serial number"):
            safety.target(wrong, "b.img")
        found = safety.target(wrong, "a.img")
        self.assertEqual((found.name, found.bytes), (one.name, 64 * MIB))

    def test_swap_under_another_name(self) -> None:
        device = self.loop(self.image("a.img"))
        node = self.node("a b", device)
        proc = self.folder / "proc"
        proc.mkdir()
        name = str(node).replace(" ", "\\040")
        (proc / "swaps").write_text(f"Filename Type Size Used Priority\n{name} partition 8 0 -2\n")
        with self.assertRaisesRegex(UserError, "is swap space"):
            safety.target(device, "a.img", safety.Machine(proc=proc))
