# SPDX-License-Identifier: GPL-2.0-or-later
"""What was run, in words: the drive, the load, the schemes, the command."""

from __future__ import annotations

import contextlib
import io
import json
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(Path(__file__).parent)]

from scarplib.drive import age, image_file  # noqa: E402
from scarplib.results import ran, report  # noqa: E402

DEMO = ROOT / "devices" / "demo.ini"
SMALL = ["geometry.blocks_per_plane=64", "geometry.pages_per_block=16", "timing.read_ns=50000"]


class Words(unittest.TestCase):
    def test_a_drive_s_sizes_times_and_spare(self) -> None:
        named = ran.keys(
            DEMO.read_text(), ["ftl.parity_width=4", "controller.buffer_bytes=1048576"]
        )
        self.assertEqual(named["ftl.parity_width"], "4")
        said = ran.shape(named, 480 << 20)
        self.assertIn("576 MiB of flash, 480 MiB of it for the host (spare: 20 % of that)", said)
        self.assertIn("4 channels, 8 dies of 1 plane, blocks of 128 pages of 4 KiB", said)
        self.assertIn("read 75.0 µs, program 750 µs, erase 3.80 ms; write buffer of 1 MiB", said)

    def test_jobs(self) -> None:
        for options, words in (
            ({}, "reads in order, blocks of 4k, depth 1"),
            (
                {"rw": "randrw", "rwmixread": "70", "bs": "8k", "iodepth": "16", "numjobs": "2"},
                "random reads and writes, 70 % of them reads, blocks of 8k, depth 16, "
                "2 times at once",
            ),
            (
                {"readwrite": "rw", "rwmixwrite": "10", "bssplit": "4k/50", "number_ios": "9"},
                "reads and writes in order, 90 % of them reads, blocks of 4k/50, depth 1, 9 I/Os",
            ),
            (
                {"rw": "write:8", "fsync": "1", "runtime": "5s"},
                "writes in order, blocks of 4k, depth 1, an fsync after each 1, for 5s",
            ),
        ):
            self.assertEqual(ran.fio_job(options), words)

    def test_schemes_are_the_engine_s_own_words(self) -> None:
        said = ran.schemes(["baseline", "pgc+d-choices:d=5", "baseline"])
        self.assertEqual(list(said), ["baseline", "pgc+d-choices:d=5"])
        self.assertRegex(
            said["pgc+d-choices:d=5"], "^garbage collection yields.*; of d full blocks"
        )


class Run(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_an_image_says_what_it_was_made_of(self) -> None:
        image = self.folder / "drive.img"
        age.make(age.command(DEMO, image, 500, 1, overrides=",".join(SMALL)))
        self.assertIn("read_ns=50000", image_file.description(image))
        fio = self.folder / "fio.json"
        jobs = [{"jobname": "a", "job options": {"rw": "randread"}}]
        fio.write_text(
            "fio: a line before it\n" + json.dumps({"global options": {"bs": "1m"}, "jobs": jobs})
        )
        said = ran.words(image, None, (), ["baseline"], "my.fio in ext4", fio)
        self.assertRegex(said["drive"], r"^32 MiB of flash, 27\.8 MiB .*spare: 15 %.*read 50\.0 µs")
        self.assertEqual(said["load"], ["my.fio in ext4", "a: random reads, blocks of 1m, depth 1"])
        # Another description has other times.
        self.assertIn("read 75.0 µs", ran.words(image, DEMO, (), [], "x")["drive"])

    def test_what_cannot_be_said_is_left_out(self) -> None:
        with contextlib.redirect_stderr(io.StringIO()) as errors:
            said = ran.words(self.folder / "none", None, (), ["baseline"], "my.fio")
        self.assertEqual(said, {"load": ["my.fio"]})
        self.assertEqual(errors.getvalue().count("\n"), 1)

    def test_the_page_begins_with_it(self) -> None:
        with mock.patch.object(sys, "argv", ["x", "run", "--schemes", "pgc", "--out", "a b"]):
            ran.keep_command(self.folder)
        result = {
            **{"device": "demo.ini", "job": "x", "schemes": {}, "manifest": {}},
            "ran": {"drive": "1 GiB <b>", "load": ["one", "two"], "schemes": {"pgc": "yields"}},
        }
        rows = ran.rows(result, self.folder)
        self.assertEqual(
            [name for name, _ in rows], ["drive", "load", "schemes", "command", "made"]
        )
        self.assertEqual(rows[3][1], ["scarp run --schemes pgc --out 'a b'"])
        self.assertRegex(rows[4][1][0], r"^\d{4}-\d\d-\d\d .*, by Scarp \d+\.\d+\.\d+$")
        page = report.page(result, [], lambda shown: shown, rows)
        self.assertIn("<dt>drive</dt><dd>demo.ini: 1 GiB &lt;b&gt;</dd>", page)
        self.assertIn("<dt>load</dt><dd>one<br>two</dd>", page)
        # A run of an older Scarp says nothing of it.
        self.assertEqual(ran.rows({"device": "demo.ini", "job": "x"}, None), [])
        self.assertNotIn("class=ran", report.page(result, [], lambda shown: shown))


if __name__ == "__main__":
    unittest.main()
