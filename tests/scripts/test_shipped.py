# SPDX-License-Identifier: GPL-2.0-or-later
"""What a guest ships: only what a job may leave, only below its folder, nothing over evidence."""

from __future__ import annotations

import contextlib
import io
import struct
import subprocess
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts")]

from scarplib.guest import clock, shipped, vm  # noqa: E402
from scarplib.guest.job import keep_results  # noqa: E402


def member(name: str, data: bytes = b"", **fields: object) -> tuple[tarfile.TarInfo, bytes]:
    """One of an archive; `fields` are TarInfo's."""
    info = tarfile.TarInfo(name)
    info.size = len(data)
    for key, value in fields.items():
        setattr(info, key, value)
    return info, data


def archive(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    """A guest's."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:", format=tarfile.GNU_FORMAT) as tar:
        for info, data in members:
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


class Shipped(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.top = Path(temporary.name)
        self.folder = self.top / "out" / "results"
        self.folder.parent.mkdir()

    def tree(self) -> dict[str, bytes]:
        """All files below the top, links too."""
        return {
            str(path.relative_to(self.top)): b"link" if path.is_symlink() else path.read_bytes()
            for path in self.top.rglob("*")
            if path.is_symlink() or path.is_file()
        }

    def refused(self, *members: tuple[tarfile.TarInfo, bytes]) -> str:
        """What is said; the good file beside it is taken, and nothing else is there."""
        before = self.tree()
        good = member("./fio.json", b"{}")
        problem = shipped.unpack(archive(good, *members), self.folder)
        self.assertEqual(self.tree(), before | {"out/results/fio.json": b"{}"})
        self.assertIsNotNone(problem)
        return problem or ""

    def test_what_a_job_leaves(self) -> None:
        data = archive(
            member("./", type=tarfile.DIRTYPE, mode=0o755),
            member("./fio.json", b"{}"),
            member("./files/deep/er", b"of the user's", mode=0o755),
            member("./" + "l" * 150 + ".log", b"a long name"),
        )
        self.assertIsNone(shipped.unpack(data, self.folder))
        self.assertEqual((self.folder / "files/deep/er").read_bytes(), b"of the user's")
        self.assertTrue((self.folder / "files/deep/er").stat().st_mode & 0o100)
        self.assertEqual((self.folder / ("l" * 150 + ".log")).read_bytes(), b"a long name")

    def test_busybox_and_gnu_archives(self) -> None:
        source = self.top / "source"
        (source / "files").mkdir(parents=True)
        (source / "files" / "a b,c").write_bytes(b"x" * 5000)
        done = subprocess.run(
            ["tar", "-c", "-C", str(source), "."], capture_output=True, check=True
        )
        self.assertIsNone(shipped.unpack(done.stdout, self.folder))
        self.assertEqual((self.folder / "files" / "a b,c").read_bytes(), b"x" * 5000)

    def test_outside_of_the_folder(self) -> None:
        (self.top / "out" / "cmd.bin").write_bytes(b"evidence")
        for name in (
            "../cmd.bin",
            "files/../../cmd.bin",
            str(self.top / "absolute"),
            "/",
            "a/../b",
        ):
            self.assertIn("only regular files", self.refused(member(name, b"forged")))

    def test_links_and_devices(self) -> None:
        outside = self.top / "outside"
        outside.mkdir()
        (outside / "kept").write_bytes(b"the host's")
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE):
            said = self.refused(member("files", type=kind, linkname=str(outside)))
            self.assertIn("'files'", said)
        # Through a link to what is behind it.
        link = member("files", type=tarfile.SYMTYPE, linkname=str(outside))
        before = self.tree()
        shipped.unpack(archive(link, member("files/kept", b"forged")), self.folder)
        self.assertEqual((outside / "kept").read_bytes(), b"the host's")
        del before["out/results/fio.json"]
        self.assertEqual(self.tree(), before | {"out/results/files/kept": b"forged"})

    def test_a_name_twice(self) -> None:
        self.refused(member("fio.json", b"another"))
        self.refused(member("fio.json/below", b"another"))
        self.refused(member("fio.json", type=tarfile.DIRTYPE))

    def test_an_earlier_runs_folder_is_made_anew(self) -> None:
        (self.folder / "old").mkdir(parents=True)
        self.assertIsNone(shipped.unpack(archive(member("fio.json", b"{}")), self.folder))
        self.assertEqual(sorted(self.tree()), ["out/results/fio.json"])
        elsewhere = self.top / "elsewhere"
        elsewhere.mkdir()
        (self.folder / "fio.json").unlink()
        self.folder.rmdir()
        self.folder.symlink_to(elsewhere)
        self.assertIsNone(shipped.unpack(archive(member("fio.json", b"{}")), self.folder))
        self.assertEqual(list(elsewhere.iterdir()), [])

    def test_torn_and_forged_archives(self) -> None:
        whole = archive(member("fio.json", b"{}" * 2000), member("stats-end.bin", b"1" * 96))
        for cut in (1, 511, 700, 2000, len(whole) // 2):
            with self.subTest(cut=cut):
                said = shipped.unpack(whole[:cut], self.folder)
                self.assertIsNotNone(said)
                self.assertLessEqual(set(self.tree()), {"out/results/fio.json"})
        self.assertIn("no archive", shipped.unpack(b"nothing of it" * 100, self.folder) or "")
        # A size below zero leads back to the header itself.
        for size in (-512, -1024):
            head = bytearray(tarfile.TarInfo("again").tobuf(tarfile.GNU_FORMAT))
            head[124:136] = b"\xff" * 4 + struct.pack(">q", size)
            head[148:156] = b" " * 8
            head[148:156] = b"%06o\0 " % sum(head)
            self.assertIsNotNone(shipped.unpack(bytes(head) * 3, self.folder))

    def test_a_length_that_the_guest_made_up(self) -> None:
        shared = self.top / "shared"
        for length in (1 << 63, (1 << 64) - 1, vm.RESULT_BYTES):
            shared.write_bytes(struct.pack("<8sQ", b"SCARPTAR", length))
            self.assertIn("bytes", vm.unpack_results(shared, self.folder) or "")

    def test_only_names_of_a_job_come_beside_the_evidence(self) -> None:
        out = self.folder.parent
        evidence = ("cmd.bin", "gc.bin", "console.log", "qemu.log", "summary.json", "requests.csv")
        for name in evidence:
            (out / name).write_bytes(b"the host's")
        names = (
            *evidence,
            "blk.txt",
            "report.html",
            "a\x1b[2J\nb",
            "fio.json/x",
            "lat_lat.1.log",
            "stats-end.bin",
            clock.FILE,
        )
        data = archive(*(member(name, b"the guest's") for name in names))
        self.assertIsNone(shipped.unpack(data, self.folder))
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            keep_results(vm.GuestResult("ok", self.folder.resolve(), "", 0, 0), out)
        self.assertTrue(said.getvalue().removesuffix("\n").isprintable(), said.getvalue())
        for name in evidence:
            self.assertEqual((out / name).read_bytes(), b"the host's", name)
            self.assertIn(name, said.getvalue())
        for name in ("blk.txt", "report.html", "fio.json"):
            self.assertFalse((out / name).exists(), name)
        for name in ("lat_lat.1.log", "stats-end.bin", clock.FILE):
            self.assertEqual((out / name).read_bytes(), b"the guest's")

    def test_a_comma_in_the_folders_name(self) -> None:
        path = Path("/tmp/a,b/results.tmp")
        said = " ".join(vm.results_arguments(path) + vm.terminal_arguments(path))
        self.assertIn("mem-path=/tmp/a,,b/results.tmp", said)
        self.assertIn("logfile=/tmp/a,,b/results.tmp", said)


if __name__ == "__main__":
    unittest.main()
