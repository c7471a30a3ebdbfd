# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp run --drives`: one job sent in several ways, its results, and what is refused."""

from __future__ import annotations

import contextlib
import io
import json
import tempfile
import unittest
from pathlib import Path
from typing import Any

import synthetic
from scarplib import cli
from scarplib.device_logs.log_file import LogError
from scarplib.drive.image_file import DriveImage
from scarplib.errors import UserError
from scarplib.guest import drives_job
from scarplib.paths import FIO_JOBS
from scarplib.results import drives

JOB = (FIO_JOBS / "drives.fio").read_text()


def _job(layout: str, **options: Any) -> drives_job.DrivesJob:
    images = tuple(Path(f"drive{n}.img") for n in range(3))
    return drives_job.DrivesJob(
        FIO_JOBS / "drives.fio", layout, None, "baseline", Path("out"), images, **options
    )


class Jobs(unittest.TestCase):
    def test_independent_drives_have_a_section_each(self) -> None:
        text = drives_job.fio_text(JOB, "independent", 3, None)
        self.assertEqual(text.count("rw=randrw"), 3)
        for drive in range(3):
            self.assertIn(f"[mixed-{drive}]\nfilename=${{SCARP_DEV{drive}}}\n", text)
        # One in [global] would be a second file of each.
        self.assertEqual(text.count("filename="), 3)

    def test_one_device_is_the_job_as_it_is(self) -> None:
        for layout in ("md", "dm", "cached", "flusher"):
            self.assertEqual(drives_job.fio_text(JOB, layout, 3, None), JOB)

    def test_the_engine_takes_the_place_of_files(self) -> None:
        text = drives_job.fio_text(JOB, "engine", 3, "slots=16")
        self.assertIn("ioengine=external:/scarp/array-fio.so\ndrives=${SCARP_DRIVES}\n", text)
        self.assertIn("keys=slots=16\n", text)
        self.assertNotIn("filename=", text)
        with self.assertRaisesRegex(UserError, "no 'ioengine='"):
            drives_job.fio_text("[a]\nfilename=x\n", "engine", 3, None)

    def test_what_is_addressed_is_what_was_aged(self) -> None:
        used = (8 << 20) + 4096
        self.assertEqual(drives_job.addressed_bytes("independent", 3, used), used)
        self.assertEqual(drives_job.addressed_bytes("md", 3, used), 3 * (8 << 20))
        # The label is before the array's data.
        self.assertEqual(drives_job.addressed_bytes("flusher", 3, used), 3 * (7 << 20))

    def test_the_array_ends_before_drives_are_asked(self) -> None:
        text = drives_job.task_text(_job("flusher", keys="slots=16"), DriveImage(4096, 8 << 20))
        self.assertIn("array-ublk --keys=flusher=1,slots=16 $SCARP_DEV0 $SCARP_DEV1", text)
        self.assertLess(text.index("fio --output"), text.index("wait $server"))
        self.assertLess(text.index("wait $server"), text.index("stats-end-0"))
        self.assertIn("export SCARP_DEPTH=96\n", text)
        alone = drives_job.task_text(_job("independent"), DriveImage(4096, 8 << 20))
        self.assertIn("export SCARP_DEPTH=32\n", alone)
        self.assertNotIn("array", alone)

    def test_both_of_the_kernels_ways_have_the_same_stripes(self) -> None:
        for layout, line in (
            ("md", "echo $stripe >$md/chunk_size"),
            ("dm", "chunk=$(( stripe / 512 ))"),
        ):
            text = drives_job.task_text(_job(layout), DriveImage(4096, 8 << 20))
            self.assertLess(text.index("stripe=65536\n"), text.index(line))
        self.assertIn('striped 3 $chunk $SCARP_DEV0 0 $SCARP_DEV1 0 $SCARP_DEV2 0"', text)
        self.assertIn("export SCARP_DEV=/dev/dm-0\n", text)

    def test_the_look_for_partitions_is_not_in_the_jobs_time(self) -> None:
        text = drives_job.task_text(_job("md"), DriveImage(4096, 8 << 20))
        self.assertLess(text.index("dd if=/dev/md_scarp"), text.index("stats-begin-0"))


class Results(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)
        for number in range(2):
            synthetic.write_scheme(self.folder / f"drive{number}", "baseline", count=500)
        (self.folder / "drive0" / "fio.json").rename(self.folder / "fio.json")
        (self.folder / "lat_lat.1.log").write_text("7, 5000, 0, 4096, 0, 0\n3, 9, 1, 4096, 0, 0\n")

    def test_a_layout_has_what_each_drive_did(self) -> None:
        data = drives.load_layout(self.folder, "md", "md", 2)
        self.assertEqual(data.requests, [(3_000_000, 9, 1), (7_000_000, 5000, 0)])
        layouts = {"md": json.loads(json.dumps(data.summary))}
        rows = dict(drives.table_rows(layouts))
        self.assertEqual(len(layouts["md"]["drives"]), 2)
        self.assertIn("reads, as fio saw them", rows)
        text = drives.table_text(layouts)
        self.assertEqual(text.count("drive 1"), 3)

    def test_a_drive_that_cannot_be_trusted_is_an_error(self) -> None:
        (self.folder / "drive1" / "cmd.bin").unlink()
        with self.assertRaises((LogError, OSError)):
            drives.load_layout(self.folder, "md", "md", 2)


class Arguments(unittest.TestCase):
    def test_refused_in_one_line(self) -> None:
        for words, line in (
            (("--over", "md"), "--over: needs --drives"),
            (("--keys", "slots=1"), "--keys: needs --drives"),
            (("--drives", "0"), "--drives: '0' is not a whole number from 1 to 24"),
            (("--drives", "2", "--over", "raid"), "--over: 'raid': allowed: independent, md, dm,"),
            (("--drives", "2", "--over", "md,md"), "--over: 'md' is named twice"),
            (("--drives", "2", "--image", "x"), "--drives: excludes --image"),
            (("--drives", "2", "--age", "0"), "--age=0: a run over several drives"),
        ):
            errors = io.StringIO()
            with contextlib.redirect_stderr(errors):
                self.assertEqual(cli.main(["run", *words]), 1)
            self.assertEqual(errors.getvalue().count("\n"), 1)
            self.assertIn(line, errors.getvalue())


if __name__ == "__main__":
    unittest.main()
