# SPDX-License-Identifier: GPL-2.0-or-later
"""Lint reads a file again only once it has changed: by checkpatch, and for the engine's rooms."""

from __future__ import annotations

import contextlib
import io
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts")]

from scarplib.dev import lint  # noqa: E402

# It refuses files that say "bad", has trouble with those that say "odd", changes those that say
# "late" as it reads them, and is killed at those that say "kill".
CHECKPATCH = """#!/bin/sh
for word; do case $word in -*) ;; *)
    echo "$word" >>asked
    grep -q kill "$word" && kill -KILL $$
    grep -q odd "$word" && echo "odd" >&2
    grep -q late "$word" && echo changed >"$word"
    grep -q bad "$word" && echo "$word:1: ERROR: bad" && exit 1
esac; done; :
"""


class Checkpatch(unittest.TestCase):
    def setUp(self) -> None:
        self.root = Path(self.enterContext(tempfile.TemporaryDirectory()))
        (self.root / "scripts").mkdir()
        self.program = self.root / "scripts" / "checkpatch.pl"
        self.program.write_text(CHECKPATCH)
        self.program.chmod(0o755)
        self.enterContext(mock.patch.object(lint, "ROOT", self.root))
        self.enterContext(mock.patch.object(lint, "ensure_source", return_value=self.root))
        self.enterContext(mock.patch.object(lint, "cache_dir", return_value=self.root))
        self.write(a="", b="")
        self.enterContext(mock.patch.object(lint, "_c_files", return_value=["a", "b"]))

    def write(self, **files: str) -> None:
        for name, text in files.items():
            (self.root / name).write_text(text)

    def check(self, found: int, *asked: str) -> None:
        self.write(asked="")
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(lint.checkpatch_of_c(), found)
        self.assertEqual(sorted((self.root / "asked").read_text().split()), [*asked])

    def test_asked_once(self) -> None:
        self.check(0, "a", "b")
        self.check(0)
        self.write(a="other")
        self.check(0, "a")
        self.assertEqual(len([*(self.root / "checkpatch").iterdir()]), 2)

    def test_refused_again(self) -> None:
        self.write(b="bad")
        self.check(1, "a", "b")
        self.check(1, "b")
        self.write(b="")
        self.check(0, "b")
        self.check(0)

    def test_its_own_trouble(self) -> None:
        self.write(b="odd")
        self.check(1, "a", "b")
        self.check(1, "b")

    def test_killed(self) -> None:
        self.write(b="kill")
        self.check(1, "a", "b")
        self.check(1, "b")

    def test_changed_meanwhile(self) -> None:
        self.write(b="late")
        self.check(0, "a", "b")
        self.check(0, "b")
        self.check(0)

    def test_another_checkpatch(self) -> None:
        self.check(0, "a", "b")
        self.program.write_text(f"{CHECKPATCH}# newer\n")
        self.check(0, "a", "b")


class Rooms(unittest.TestCase):
    def test_read_again_once_an_include_has_changed(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            root, cache = Path(name) / "tree", Path(name) / "cache"
            shutil.copytree(ROOT / "ftl", root / "ftl")
            command = [sys.executable, str(ROOT / "tests/rooms/rooms.py"), "--root", str(root)]
            command += ["--cache", str(cache), "--jobs", "1", "turns"]

            def said() -> tuple[int, str]:
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                self.assertEqual(done.stderr, "")
                return done.returncode, done.stdout

            first = said()
            kept = {path: path.stat().st_mtime_ns for path in cache.iterdir()}
            self.assertEqual((first[0], len(kept) > 1), (0, True), first)
            self.assertEqual(said(), first)
            self.assertEqual({x: x.stat().st_mtime_ns for x in cache.iterdir()}, kept)
            header = root / "ftl" / "turns" / "state.h"
            header.write_text(header.read_text().replace("int64_t", "int63_t"))
            status, text = said()
            self.assertEqual(status, 1)
            self.assertRegex(text, r"ftl/turns/state\.h:\d+: .*int63_t")


if __name__ == "__main__":
    unittest.main()
