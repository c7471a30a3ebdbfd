# SPDX-License-Identifier: GPL-2.0-or-later
"""What a release says of itself: licence, patches; versions agree."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path
from unittest import mock

from scarplib.command_tree import Tree
from scarplib.paths import ROOT
from scarplib.release import install
from scarplib.version import version


class Files(unittest.TestCase):
    def test_licence(self) -> None:
        self.assertIn("GNU GENERAL PUBLIC LICENSE", (ROOT / "LICENSE").read_text())
        self.assertEqual(
            (ROOT / "LICENSES" / "GPL-2.0-or-later.txt").resolve(), (ROOT / "LICENSE").resolve()
        )

    def test_each_patch_says_why(self) -> None:
        text = (ROOT / "qemu-patches" / "README.md").read_text()
        rows = re.findall(r"^\| (\d{4}) \| \S.* \| .*(?:QEMU|ours) \|$", text, re.MULTILINE)
        series = (ROOT / "qemu-patches" / "series").read_text().split()
        self.assertEqual(rows, [name[:4] for name in series])


class Versions(unittest.TestCase):
    def test_citation_is_the_newest_of_the_changes(self) -> None:
        changes = (ROOT / "CHANGELOG.md").read_text()
        newest = re.search(r"^## (\d+\.\d+\.\d+)\b", changes, re.MULTILINE)
        cited = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
        assert newest and cited
        self.assertEqual(newest[1], cited[1])
        self.assertEqual(newest[1], version())


class Installed(unittest.TestCase):
    def setUp(self) -> None:
        self.plan = install.Tree(
            files={"share/scarp/a/b.ini": ROOT / "devices" / "demo.ini"},
            texts={"lib/pkgconfig/scarp.pc": "text"},
            links={"bin/scarp": "../share/scarp/a/b.ini"},
        )

    def test_what_was_interrupted_can_be_undone(self) -> None:
        old = replace(self.plan, texts={"share/man/old.1": "of the version before"})
        for before in (None, old):
            with (
                tempfile.TemporaryDirectory() as name,
                mock.patch.object(install, "tree", mock.Mock(return_value=before)),
                contextlib.redirect_stdout(io.StringIO()),
            ):
                place = Path(name) / "prefix"
                if before:
                    install.install(place, Tree())
                with (
                    mock.patch.object(install, "tree", lambda _: self.plan),
                    mock.patch.object(install, "_put", self.interrupt),
                    self.assertRaises(KeyboardInterrupt),
                ):
                    install.install(place, Tree())
                self.assertTrue((place / "bin").is_dir())
                recorded = json.loads((place / "share/scarp/installed.json").read_text())
                # Its programs may be of either version.
                self.assertEqual(recorded["programs"], {})
                self.assertEqual(install.uninstall(place), 0)
                self.assertEqual([x for x in place.rglob("*") if not x.is_dir()], [])

    def interrupt(self, target: Path, text: str) -> None:
        if target.name == "scarp.pc":
            raise KeyboardInterrupt
        target.write_text(text)

    def test_what_a_program_was_made_of_and_not_what_there_is_by_then(self) -> None:
        program = Path("cache", "replay", "key", "scarp-replay")
        files = {"bin/scarp-replay": program, **self.plan.files}
        plan = replace(self.plan, files=files, programs={"bin/scarp-replay"})
        with (
            tempfile.TemporaryDirectory() as folder,
            mock.patch.object(install, "tree", lambda _: plan),
            mock.patch.object(install, "_copy"),
            contextlib.redirect_stdout(io.StringIO()),
        ):
            install.install(Path(folder), Tree())
            recorded = json.loads((Path(folder) / "share/scarp/installed.json").read_text())
        self.assertEqual(recorded["programs"], {"scarp-replay": "key"})

    def test_for_all_users_whatever_the_umask(self) -> None:
        before = os.umask(0o077)
        self.addCleanup(os.umask, before)
        with (
            tempfile.TemporaryDirectory() as name,
            mock.patch.object(install, "tree", lambda _: self.plan),
            contextlib.redirect_stdout(io.StringIO()),
        ):
            place = Path(name) / "prefix"
            self.assertEqual(install.install(place, Tree()), 0)
            for path in (place, *place.rglob("*")):
                wanted = 0o755 if path.is_dir() else 0o644
                self.assertEqual(path.stat().st_mode & 0o777, wanted, path)


if __name__ == "__main__":
    unittest.main()
