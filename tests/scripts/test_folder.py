# SPDX-License-Identifier: GPL-2.0-or-later
"""The folder of a run's results: one run's alone, and out/latest leads to the newest."""

from __future__ import annotations

import contextlib
import fcntl
import io
import os
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from scarplib.errors import UserError
from scarplib.replays import replay
from scarplib.runs import folder as folders
from typed import typed


class Folders(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.top = Path(temporary.name).resolve()
        self.out = self.top / "out"
        for name, value in (("OUT", self.out), ("_LATEST", self.out / "latest")):
            patcher = mock.patch.object(folders, name, value)
            patcher.start()
            self.addCleanup(patcher.stop)

    def refused(self, wanted: Path) -> str:
        with self.assertRaises(UserError) as caught:
            folders.new_folder("run", wanted)
        return str(caught.exception)

    def test_what_cannot_be_one(self) -> None:
        (self.top / "file").write_text("mine")
        (self.top / "full").mkdir()
        (self.top / "full" / "mine").touch()
        self.assertIn("--out", self.refused(self.top / "file"))
        self.assertIn("is not empty", self.refused(self.top / "full"))
        self.assertIn("--out: /proc/none: No such file", self.refused(Path("/proc/none")))
        self.assertEqual((self.top / "file").read_text(), "mine")

    def test_of_two_runs_at_once_one_is_refused(self) -> None:
        wanted = self.top / "both"
        wanted.mkdir()
        # As another process holds it that has written nothing yet.
        other = os.open(wanted, os.O_RDONLY)
        fcntl.flock(other, fcntl.LOCK_EX)
        self.assertIn("another run is writing to it", self.refused(wanted))
        os.close(other)
        self.assertEqual(folders.new_folder("run", wanted), wanted)
        # Until this process ends.
        other = os.open(wanted, os.O_RDONLY)
        self.addCleanup(os.close, other)
        with self.assertRaises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def test_latest_is_no_name(self) -> None:
        self.out.mkdir()
        self.assertIn("newest", self.refused(self.out / "latest"))
        first = folders.new_folder("run", None)
        folders.point_latest(first)
        self.assertEqual((self.out / "latest").resolve(), first)
        self.assertIn("newest", self.refused(self.out / "latest"))

    def test_a_folder_in_its_place_loses_no_results(self) -> None:
        (self.out / "latest").mkdir(parents=True)
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            folders.point_latest(folders.new_folder("run", None))
        self.assertIn("is a folder", said.getvalue())
        self.assertEqual(len(list(self.out.iterdir())), 2)

    def test_what_is_refused_leaves_it_as_it_was(self) -> None:
        def state(_: object, folder: Path) -> Path:
            (folder / "drive.img").touch()
            return folder / "drive.img"

        wanted = self.top / "mine"
        words = ["-d", "x.ini", "--schemes", "baseline,none", "--out", str(wanted), "gen:zipf"]
        for there in (False, True):
            if there:
                wanted.mkdir()
            with (
                mock.patch.object(replay, "_state", state),
                mock.patch.object(replay, "_check", mock.Mock(side_effect=UserError("no scheme"))),
                self.assertRaisesRegex(UserError, "no scheme"),
            ):
                replay.main(typed("replay", *words))
            self.assertEqual([path.name for path in self.top.rglob("*")], ["mine"] * there)


if __name__ == "__main__":
    unittest.main()
