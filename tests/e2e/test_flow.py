# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp run` and the determinism test around guests that are only pretended."""

from __future__ import annotations

import contextlib
import io
import json
import shutil
import sys
import tempfile
import types
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(Path(__file__).parent)]

import synthetic  # noqa: E402
from scarplib import cli, determinism, guestjob, run  # noqa: E402
from scarplib.errors import UserError  # noqa: E402


class Flow(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)
        self.out = self.folder / "out"
        for name in ("kernel", "initramfs", "drive.ini"):
            (self.folder / name).write_text(name)
        qemu = types.SimpleNamespace(
            version="10.0.x", series_hash="5e", engine_hash="e9", firmware_dir=self.folder
        )
        image = types.SimpleNamespace(
            kernel=self.folder / "kernel",
            initramfs=self.folder / "initramfs",
            versions={"fio": "3"},
        )
        self.guests: list = []
        self.result: dict = {"reason": "ok"}
        self.patch(run, "prepare", lambda: (qemu, image))
        self.patch(run, "check_drive", lambda *_: None)
        self.patch(run, "draw", lambda _: None)
        self.patch(run, "run_job", self.guest)

    def patch(self, module: object, name: str, value: object) -> None:
        patcher = mock.patch.object(module, name, value)
        patcher.start()
        self.addCleanup(patcher.stop)

    def guest(self, _qemu: object, _image: object, job: guestjob.Job) -> object:
        self.guests.append(job)
        synthetic.write_scheme(job.out, job.scheme, gc=job.scheme != "ideal")
        fields = {"console_tail": "last words", "wall_seconds": 20.5, "boot_seconds": 5.0}
        return types.SimpleNamespace(**{**fields, **self.result})

    def scarp(self, *arguments: str) -> tuple[int, str, str]:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = cli.main(
                [
                    "run",
                    *("--device", str(self.folder / "drive.ini")),
                    *("--out", str(self.out)),
                    *arguments,
                ]
            )
        return status, out.getvalue(), err.getvalue()

    def test_run(self) -> None:
        status, out, err = self.scarp("--seed", "7", "--age", "800", "--smp", "2")
        self.assertEqual(status, 0, err)
        self.assertIn("p99.99", out)
        self.assertIn("report.html", out)
        self.assertEqual([job.scheme for job in self.guests], ["baseline", "ideal"])
        for job in self.guests:
            self.assertEqual((job.seed, job.age, job.smp, job.cpu_shift), (7, 800, 2, -2))
        result = json.loads((self.out / "summary.json").read_text())
        self.assertEqual(list(result["schemes"]), ["baseline", "ideal"])
        self.assertEqual(result["schemes"]["ideal"]["wall_s"], 20.5)
        made = result["manifest"]
        expected = {"version": "10.0.x", "series": "5e", "engine": "e9"}
        self.assertLessEqual(expected.items(), made["qemu"].items())
        self.assertEqual(made["settings"]["cpu_shift"], -2)
        self.assertEqual(len(made["guest"]["kernel"]), 64)
        self.assertNotEqual(made["inputs"]["device"], made["inputs"]["job"])

    def test_guest_failure_is_an_error_with_the_consoles_end(self) -> None:
        self.result = {"reason": "panic"}
        status, _, err = self.scarp()
        self.assertEqual(status, 1)
        self.assertIn("guest 'baseline': panic", err)
        self.assertIn("last words", err)
        self.assertFalse((self.out / "summary.json").exists())

    def test_inputs_are_checked_before_anything_boots(self) -> None:
        (self.folder / "bad.fio").write_text("[x]\nfilename=/dev/sda\n")
        for arguments, word in (
            (("--job", str(self.folder / "none.fio")), "--job"),
            (("--job", str(self.folder / "bad.fio")), "SCARP_DEV"),
            (("--device", str(self.folder / "none.ini")), "--device"),
        ):
            with self.subTest(arguments):
                status, _, err = self.scarp(*arguments)
                self.assertEqual((status, len(err.splitlines())), (1, 1))
                self.assertIn(word, err)
        self.out.mkdir(exist_ok=True)
        (self.out / "mine").touch()
        status, _, err = self.scarp()
        self.assertEqual(status, 1)
        self.assertIn("--out", err)
        self.assertEqual(self.guests, [])


class Determinism(unittest.TestCase):
    def test_plan(self) -> None:
        points = determinism.plan(12)
        for smp in (1, 4):
            same = [p for p in points if p.smp == smp]
            self.assertEqual((len(same), sum(p.busy for p in same)), (6, 3))
        self.assertEqual(len({p.name for p in points}), 12)

    def test_one_byte_is_found(self) -> None:
        with tempfile.TemporaryDirectory() as text:
            folder = Path(text)
            synthetic.write_scheme(folder / "a", "baseline", count=10)
            (folder / "a" / "lat_lat.1.log").write_text("1, 2, 0\n")
            for name in ("b", "c"):
                shutil.copytree(folder / "a", folder / name)
            (folder / "c" / "console.log").write_text("the host's")
            (folder / "b" / "lat_lat.1.log").write_text("1, 3, 0\n")
            found = {n: determinism.compared_files(folder / n) for n in "abc"}
            self.assertEqual(determinism.differing(found), (2, "b differs from a in lat_lat.1.log"))
            self.assertEqual(determinism.differing({n: found[n] for n in "ac"}), (1, ""))
            (folder / "a" / "cmd.bin").unlink()
            with self.assertRaisesRegex(UserError, "cmd.bin"):
                determinism.compared_files(folder / "a")

    def test_too_few_files_are_no_success(self) -> None:
        with tempfile.TemporaryDirectory() as text:
            synthetic.write_scheme(Path(text), "baseline", count=10)
            with self.assertRaisesRegex(UserError, "no latency log"):
                determinism.compared_files(Path(text))


class Task(unittest.TestCase):
    def test_speed_first_then_statistics_then_fio(self) -> None:
        text = guestjob.task_text(-2, 900)
        order = ["0xfffffffe", "--cdw10=2", "stats-begin", "\nfio ", "stats-end"]
        places = [text.index(word) for word in order]
        self.assertEqual(places, sorted(places))
        self.assertNotIn("nvme", guestjob.task_text(-2, flash=False))


if __name__ == "__main__":
    unittest.main()
