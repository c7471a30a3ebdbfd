# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp run` and the determinism test around guests that are only pretended."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import shutil
import signal
import sys
import tempfile
import threading
import types
import unittest
from collections.abc import Callable
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(Path(__file__).parent)]

import synthetic  # noqa: E402
from scarplib import cli  # noqa: E402
from scarplib.drive import image_file, start  # noqa: E402
from scarplib.drive.controller import HostView  # noqa: E402
from scarplib.errors import UserError  # noqa: E402
from scarplib.guest.job import Job, task_text  # noqa: E402
from scarplib.runs import at_once, determinism, manifest, run  # noqa: E402
from scarplib.runs import folder as folders  # noqa: E402


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
        self.guests: list[Job] = []
        self.result: dict[str, str] = {"reason": "ok"}
        # Guests that end in their own way: by scheme, how (given the event that stops all).
        self.ends: dict[str, Callable[[threading.Event], str]] = {}
        self.checked: list[str] = []
        self.aged: list[tuple[int, int | None]] = []
        self.patch(run, "prepare", lambda: (qemu, image))
        self.patch(run, "check_drive", lambda *arguments: self.checked.append(arguments[2]))
        self.patch(run, "aged", self.ager)
        self.patch(run, "draw", lambda _: None)
        self.patch(run, "run_job", self.guest)

    def patch(self, module: object, name: str, value: object) -> None:
        patcher = mock.patch.object(module, name, value)
        patcher.start()
        self.addCleanup(patcher.stop)

    def ager(self, settings: run.Settings, folder: Path) -> Path:
        self.aged.append((settings.age, settings.overwrite))
        (folder / "drive.img").write_bytes(synthetic.image())
        return folder / "drive.img"

    def guest(self, _qemu: object, _image: object, job: Job, stop: threading.Event) -> object:
        self.guests.append(job)
        fields = {"console_tail": "last words", "wall_seconds": 20.5, "boot_seconds": 5.0}
        result = types.SimpleNamespace(**{**fields, **self.result})
        if job.scheme in self.ends:
            result.reason = self.ends[job.scheme](stop)
        if result.reason == "ok":
            synthetic.write_scheme(job.out, job.scheme, gc=job.scheme != "ideal")
        return result

    def scarp(self, *arguments: str, command: str = "run") -> tuple[int, str, str]:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = cli.main(
                [
                    command,
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
            self.assertEqual((job.seed, job.smp, job.cpu_shift), (7, 2, -2))
            self.assertEqual(job.image, self.out / "drive.img")
        self.assertEqual(self.aged, [(800, None)])
        result = json.loads((self.out / "summary.json").read_text())
        self.assertEqual(list(result["schemes"]), ["baseline", "ideal"])
        self.assertEqual(result["schemes"]["ideal"]["wall_s"], 20.5)
        made = result["manifest"]
        expected = {"version": "10.0.x", "series": "5e", "engine": "e9"}
        self.assertLessEqual(expected.items(), made["qemu"].items())
        self.assertEqual(made["settings"]["cpu_shift"], -2)
        self.assertEqual(len(made["guest"]["kernel"]), 64)
        self.assertNotEqual(made["inputs"]["device"], made["inputs"]["job"])

    def test_one_scheme_with_other_parameters_is_another_column(self) -> None:
        names = ["d-choices:d=2", "d-choices:d=10"]
        self.ends["d-choices:d=99"] = lambda _: "panic"
        status, out, err = self.scarp("--schemes", ",".join([*names, "d-choices:d=99"]))
        self.assertEqual(status, 1)
        self.assertIn("guest 'd-choices:d=99': panic", err)
        self.assertEqual(self.checked[:2], names)
        self.assertRegex(out, r"d-choices:d=2 +d-choices:d=10\n")
        folders = [self.out / "d-choices-d=2", self.out / "d-choices-d=10"]
        self.assertEqual([job.out for job in self.guests[:2]], folders)
        result = json.loads((self.out / "summary.json").read_text())
        self.assertEqual(list(result["schemes"]), names)
        self.assertEqual([s["params"] for s in result["schemes"].values()], ["d=2", "d=10"])
        self.assertEqual(result["columns"], {name: name for name in names})
        self.assertEqual(result["manifest"]["settings"]["schemes"], names)
        begun = start.of_run(result, self.out, names[1])
        assert begun
        self.assertEqual(begun.words()[:4], ["--scheme", "d-choices", "--params", "d=10"])

    def test_guest_failure_is_an_error_with_the_consoles_end(self) -> None:
        self.result = {"reason": "panic"}
        status, _, err = self.scarp()
        self.assertEqual(status, 1)
        self.assertIn("guest 'baseline': panic", err)
        self.assertIn("last words", err)
        self.assertFalse((self.out / "summary.json").exists())

    def test_the_rest_is_reported_beside_a_guest_that_failed(self) -> None:
        self.ends["pgc"] = lambda _: "panic"
        status, out, err = self.scarp("--schemes", "baseline,pgc,ideal", command="compare")
        self.assertEqual(status, 1)
        self.assertIn("guest 'pgc': panic", err)
        self.assertNotIn("guest 'ideal'", err)
        self.assertIn("baseline     ideal", out)
        self.assertIn("report.html", out)
        result = json.loads((self.out / "summary.json").read_text())
        self.assertEqual(
            (list(result["schemes"]), result["failed"]), (["baseline", "ideal"], ["pgc"])
        )

    def test_a_job_that_changes_before_the_last_guest_begins(self) -> None:
        job = self.folder / "my.fio"
        job.write_text("[a]\nfilename=${SCARP_DEV}\n")
        before = hashlib.sha256(job.read_bytes()).hexdigest()

        def edited(_: threading.Event) -> str:
            job.write_text("[b]\nfilename=${SCARP_DEV}\n")
            return "ok"

        self.ends["baseline"] = edited
        status, out, err = self.scarp("--job", str(job), "--jobs", "1")
        self.assertEqual(status, 1)
        self.assertIn(f"changed while the guests ran: job ({job})", err)
        # What there is can be looked at, and says so, too.
        self.assertIn("p99.9", out)
        result = json.loads((self.out / "summary.json").read_text())
        self.assertIn("job", result["changed"])
        self.assertEqual(result["manifest"]["inputs"]["job"], before)
        from scarplib.results import report

        said = report.page(result, [], lambda shown: shown)
        self.assertIn("changed while the guests ran", said)
        job.unlink()
        self.assertIn(str(job), manifest.changed({"job": job}, {"job": before}))

    def test_an_interrupt_stops_the_guests_and_keeps_what_finished(self) -> None:
        def interrupted(stop: threading.Event) -> str:
            signal.raise_signal(signal.SIGINT)
            return "stopped" if stop.wait(300) else "hang"

        # Whoever runs the suite in the background has SIGINT ignored.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        self.ends["pgc"] = interrupted
        status, out, err = self.scarp(
            *("--schemes", "baseline,pgc,ideal", "--jobs", "1"), command="compare"
        )
        self.assertEqual(status, 130)
        self.assertEqual([job.scheme for job in self.guests], ["baseline", "pgc"])
        self.assertIn("interrupted; finished: baseline", err)
        self.assertIn("report.html", out)
        self.assertEqual(
            list(json.loads((self.out / "summary.json").read_text())["schemes"]), ["baseline"]
        )

    def test_all_schemes_start_from_one_image(self) -> None:
        path = self.folder / "aged.img"
        path.write_bytes(synthetic.image())
        status, out, err = self.scarp("--image", str(path), command="compare")
        self.assertEqual(status, 0, err)
        self.assertEqual({job.image for job in self.guests}, {path})
        self.assertEqual(len(self.guests), 5)
        self.assertEqual(self.checked, ["baseline", "pgc", "gc-par", "gc-vic", "ideal"])
        self.assertEqual(self.aged, [])
        self.assertIn("slowest 0.1 % of reads: their time", out)
        self.assertRegex(out, "die: GC program +[1-9][0-9] %")

    def test_a_scheme_of_another_layout_boots_nothing(self) -> None:
        def refuse(_qemu: object, _device: object, scheme: str, *_: object) -> None:
            if scheme == "ideal":
                raise UserError("scheme=ideal: needs another layout")

        self.patch(run, "check_drive", refuse)
        status, _, err = self.scarp()
        self.assertEqual((status, err), (1, "scarp: error: scheme=ideal: needs another layout\n"))
        self.assertEqual((self.guests, self.aged, self.out.exists()), ([], [], False))

    def test_images_that_are_none(self) -> None:
        whole = synthetic.image()
        for data, word in (
            (b"", "not a drive image"),
            (b"x" * 100, "not a drive image"),
            (whole[:8] + b"\x09" + whole[9:], "version 9"),
            (whole[:50], "damaged"),
            (whole[:-1], "damaged"),
            (whole.replace(b"ftl.unit_bytes", b"ftl.unit_bites"), "damaged"),
        ):
            with self.subTest(word):
                path = self.folder / "bad.img"
                path.write_bytes(data)
                status, _, err = self.scarp("--image", str(path), command="compare")
                self.assertEqual((status, len(err.splitlines())), (1, 1))
                self.assertIn(word, err)
        self.assertEqual(self.guests, [])

    def test_inputs_are_checked_before_anything_boots(self) -> None:
        (self.folder / "bad.fio").write_text("[x]\nfilename=/dev/sda\n")
        for arguments, word in (
            (("--job", str(self.folder / "none.fio")), "--job"),
            (("--job", str(self.folder / "bad.fio")), "SCARP_DEV"),
            (("--device", str(self.folder / "none.ini")), "--device"),
            (("--image", str(self.folder / "none.img")), "--image"),
            (("--image", str(self.folder / "kernel"), "--overwrite", "0"), "--overwrite"),
            (("--jobs", "-1"), "--jobs"),
            (("--schemes", "pgc,pgc"), "twice"),
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

    def ended(self, *, good: bool) -> set[str]:
        """What `out` holds after a campaign, beside a folder of the user's."""
        with tempfile.TemporaryDirectory() as text:
            (Path(text) / "determinism").mkdir()
            (Path(text) / "determinism" / "mine").write_text("kept")

            def files(out: Path) -> dict[str, str]:
                out.mkdir()
                return {"a": "equal" if good and "halves" not in out.name else out.name}

            with (
                mock.patch.object(folders, "OUT", Path(text)),
                mock.patch.object(run, "prepare", lambda: (None, None)),
                mock.patch.object(determinism, "run_job"),
                mock.patch.object(at_once, "guest_failure", lambda *_: None),
                mock.patch.object(determinism, "compared_files", files),
                contextlib.redirect_stdout(io.StringIO()),
            ):
                self.assertEqual(determinism.main(4), 0 if good else 1)
            return {path.relative_to(text).as_posix() for path in Path(text).glob("*/*")}

    def test_a_folder_of_the_same_name_stays(self) -> None:
        self.assertEqual(self.ended(good=True), {"determinism/mine"})

    def test_what_differs_is_kept(self) -> None:
        left = self.ended(good=False)
        self.assertIn("determinism/mine", left)
        self.assertEqual(len(left), 1 + 4 + determinism.NEGATIVE_RUNS)


class Task(unittest.TestCase):
    def test_speed_first_then_statistics_then_fio(self) -> None:
        text = task_text(-2, 900)
        order = ["0xfffffffe", "--cdw10=2", "stats-begin", "\nfio ", "stats-end"]
        places = [text.index(word) for word in order]
        self.assertEqual(places, sorted(places))
        self.assertNotIn("nvme", task_text(-2, flash=False))
        # A guest without handles gets the task that it always got.
        self.assertNotIn("SCARP_NG", text)
        self.assertIn("export SCARP_NG=/dev/ng", task_text(-2, 900, view=HostView(handles=2)))

    def test_the_jobs_range_is_what_the_image_holds(self) -> None:
        text = task_text(-2, start=image_file.DriveImage(16384, 5 * 16384))
        self.assertIn("\nexport SCARP_UNIT=16384\nexport SCARP_AGED=81920\n", text)
        text = task_text(-2, start=image_file.DriveImage(16384, 0))
        self.assertIn(" * 1000 / 1000 * ", text)


if __name__ == "__main__":
    unittest.main()
