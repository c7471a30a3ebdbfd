# SPDX-License-Identifier: GPL-2.0-or-later
"""The file from which others read how far a drive has come, while QEMU runs."""

from __future__ import annotations

import signal
import subprocess
import tempfile
from pathlib import Path

from fixture import DESCRIPTION, KIB, DriveTest
from patience import Patience

FILE_BYTES = 24
PATIENCE_S = 30
WITHOUT_INPUT = ["sh", "-c", 'exec "$@" <&-', "sh"]


class Progress(DriveTest):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="scarp-qtest-")
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "progress"
        self.bios = Path(folder.name) / "bios.bin"
        # Without other logs, which would be opened first.
        drive = f"nvme-flash,id=f0,description={DESCRIPTION},progress={self.path}"
        self.drive_alone = ["-device", drive]

    def test_nothing_of_a_run_before_is_left(self) -> None:
        """Whoever looks at once must not take that run's end for this one's beginning."""
        self.path.write_bytes(b"\xff" * 4 * KIB)
        machine = self.machine(self.drive_alone)
        self.assertEqual(self.path.read_bytes(), bytes(FILE_BYTES))
        self.assertEqual((machine.quit(), machine.stderr()), (0, ""))

    def test_without_standard_input(self) -> None:
        """A service may be started so.  The file then has number 0, as good as any other.

        No monitor is there, nor qtest's socket: they would have that number.
        """
        self.bios.write_bytes(bytes(128 << 10))
        args = [*WITHOUT_INPUT, str(self.qemu), "-machine", "q35,accel=qtest", "-nodefaults"]
        args += ["-no-user-config", "-display", "none", "-bios", str(self.bios)]
        args += ["-global", "apic-common.vapic=off", *self.drive_alone]
        process = subprocess.Popen(args, stderr=subprocess.PIPE, text=True)
        try:
            for _ in Patience(process.pid, PATIENCE_S).looks():
                if process.poll() is not None or self.has_started(process.pid):
                    break
        finally:
            process.terminate()
            _, said = process.communicate()
        self.assertEqual(process.returncode, 0, said)
        self.assertEqual(self.path.stat().st_size, FILE_BYTES)

    @staticmethod
    def has_started(pid: int) -> bool:
        """QEMU ends in order when it is told to, which it sees to after it has made its devices."""
        text = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
        (caught,) = (line for line in text.splitlines() if line.startswith("SigCgt:"))
        return bool(int(caught.split()[1], 16) >> signal.SIGTERM - 1 & 1)
