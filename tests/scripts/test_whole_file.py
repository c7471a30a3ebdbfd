# SPDX-License-Identifier: GPL-2.0-or-later
"""Files that commands write where the user says: nothing that was there is lost."""

from __future__ import annotations

import errno
import json
import os
import struct
import sys
import tempfile
import unittest
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(Path(__file__).parent)]

import synthetic  # noqa: E402
from refused import Refused  # noqa: E402
from scarplib import cli, whole_file  # noqa: E402
from scarplib.device_logs import as_csv, command_log  # noqa: E402
from scarplib.errors import UserError  # noqa: E402
from scarplib.replays import foreign_traces  # noqa: E402

# Two reads in a binary trace of vscsiStats.
_READS = b"".join(struct.pack("<IIIHHQQ", 1, 4096, 1, 40, 256, 0, at) for at in (5, 6))


class Written(Refused):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)
        self.mine = self.folder / "mine.csv"
        self.mine.write_text("mine\n")
        self.run_folder = self.folder / "run"
        synthetic.write_scheme(self.run_folder / "baseline", "baseline")
        self.log = self.run_folder / "baseline" / "cmd.bin"

    def names(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir())


class ReadOnly(Written):
    def test_the_option_and_the_file_are_named(self) -> None:
        """Not the scratch file, which such a file system refuses to unlink, too."""
        refused = OSError(errno.EROFS, os.strerror(errno.EROFS), "scratch")
        with (
            mock.patch.object(Path, "open", side_effect=refused),
            mock.patch.object(Path, "unlink", side_effect=refused),
            self.assertRaisesRegex(UserError, f"^-o {self.mine}: Read-only file system$"),
            whole_file.writing("-o", self.mine),
        ):
            pass


class Rows(Written):
    def test_a_log_that_is_none_leaves_what_was_there(self) -> None:
        for log in (self.folder / "none.bin", ROOT / "README.md"):
            self.error("rows", str(log), "-o", str(self.mine))
            self.assertEqual(self.mine.read_text(), "mine\n")
        self.error("rows", str(self.folder / "none.bin"), "-o", str(self.folder / "new.csv"))
        self.assertEqual(self.names(), ["mine.csv", "run"])

    def test_a_log_that_is_damaged_further_on(self) -> None:
        data = bytearray(self.log.read_bytes())
        # The last row's last cause: the sum is another.
        data[-8] ^= 1
        self.log.write_bytes(data)
        self.assertIn("causes add up", self.error("rows", str(self.log), "-o", str(self.mine)))
        self.assertEqual((self.mine.read_text(), self.names()), ("mine\n", ["mine.csv", "run"]))

    def test_the_log_itself(self) -> None:
        before = self.log.read_bytes()
        link = self.folder / "link"
        link.symlink_to(self.log)
        for out in (self.log, link):
            self.assertIn("is read", self.error("rows", str(self.log), "-o", str(out)))
            self.assertEqual(self.log.read_bytes(), before)

    def test_an_interrupt(self) -> None:
        def write(_: Path, out: Any, __: int) -> None:
            out.write("half")
            raise KeyboardInterrupt

        with mock.patch.object(as_csv, "write", write):
            self.error("rows", str(self.log), "-o", str(self.mine))
        self.assertEqual((self.mine.read_text(), self.names()), ("mine\n", ["mine.csv", "run"]))

    def test_written(self) -> None:
        self.mine.chmod(0o600)
        link = self.folder / "link.csv"
        link.symlink_to(self.mine.name)
        self.assertEqual(cli.main(["rows", str(self.log), "-o", str(link)]), 0)
        self.assertTrue(link.is_symlink())
        self.assertTrue(self.mine.read_text().startswith("submit_ns,"))
        self.assertEqual(self.mine.stat().st_mode & 0o777, 0o600)
        # What is no regular file is written to, and not replaced.
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        with whole_file.writing("-o", pipe) as stream:
            stream.write("through")
        self.assertEqual(os.read(reader, 100), b"through")
        line = self.error("rows", str(self.log), "-o", "/dev/full")
        self.assertIn("-o /dev/full: No space left on device", line)
        line = self.error("rows", str(self.log), "-o", str(self.folder / "no" / "x"))
        self.assertIn("No such file or directory", line)


class Convert(Written):
    def setUp(self) -> None:
        super().setUp()
        self.trace = self.folder / "trace.csv"
        self.trace.write_bytes(_READS)

    def test_where_no_file_can_be(self) -> None:
        out = self.folder / "no" / "x.csv"
        line = self.error("convert", str(self.trace), "-o", str(out))
        self.assertIn(f"--out {out}: No such file or directory", line)

    def test_an_interrupt(self) -> None:
        def rows(*_: object) -> Iterator[tuple[int, str, int, int, int]]:
            yield 1, "Read", 0, 0, 4096
            raise KeyboardInterrupt

        with mock.patch.object(foreign_traces, "_of_vscsi", rows):
            self.error("convert", str(self.trace), "-o", str(self.folder / "x.csv"))
        self.assertEqual(self.names(), ["mine.csv", "run", "trace.csv"])

    def test_a_packed_trace_that_is_damaged(self) -> None:
        self.trace.write_bytes(b"\x1f\x8b\x08\0\0\0\0\0\0\x03" + b"\xff" * 100)
        line = self.error("convert", str(self.trace), "-o", str(self.folder / "x.csv"))
        self.assertIn(str(self.trace), line)


class Inputs(Written):
    def test_a_description_is_not_the_image(self) -> None:
        path = self.folder / "drive.ini"
        path.write_text("[geometry]\n")
        self.assertIn("-o", self.error("age", str(path), "-o", str(path)))
        self.assertEqual(path.read_text(), "[geometry]\n")

    def test_what_an_array_reads_is_not_its_result(self) -> None:
        path, link = self.folder / "drive.ini", self.folder / "link"
        path.write_text("[geometry]\n")
        link.symlink_to(path)
        for words in (("-d", str(path)), ("--replay", str(path))):
            line = self.error("array", *words, "--json", str(link))
            self.assertIn(f"--json {link}: is {path}, which is read", line)
            self.assertEqual(path.read_text(), "[geometry]\n")
        line = self.error("array", "-m", "cached", "--record", str(path), "-j", str(link))
        self.assertIn("is also --record", line)
        self.assertEqual(path.read_text(), "[geometry]\n")

    def test_a_runs_files_are_not_the_timeline(self) -> None:
        image = self.run_folder / "drive.img"
        image.write_bytes(synthetic.image())
        summary = self.run_folder / "summary.json"
        summary.write_text(
            json.dumps({"schemes": {"baseline": {}}, "start": [["image", "run:drive.img"]]})
        )
        for path in (self.log, summary, image):
            before = path.read_bytes()
            words = ("--around", "1", "-o", str(path))
            self.assertIn("is read", self.error("timeline", str(self.log.parent), *words))
            self.assertEqual(path.read_bytes(), before)

    def test_a_moment_behind_the_runs_end(self) -> None:
        image = self.run_folder / "drive.img"
        image.write_bytes(synthetic.image())
        (self.run_folder / "summary.json").write_text(
            json.dumps({"schemes": {"baseline": {}}, "start": [["image", "run:drive.img"]]})
        )
        last_ns = command_log.read_commands(self.log, unseen=True).complete[-1]
        words = ("--around", "99s", "-o", str(self.folder / "x"))
        line = self.error("timeline", str(self.log.parent), *words)
        self.assertIn("--around", line)
        self.assertTrue(line.endswith(f"the run's last command completed at {last_ns}"), line)
        self.assertFalse((self.folder / "x").exists())

    def test_a_summary_that_is_none(self) -> None:
        for text in ("[1]", '{"schemes": {"baseline": 1}, "start": [["image"]]}', "[" * 100000):
            (self.run_folder / "summary.json").write_text(text)
            words = ("--around", "1", "-o", str(self.folder / "x"))
            self.assertIn("damaged", self.error("timeline", str(self.log.parent), *words))


if __name__ == "__main__":
    unittest.main()
