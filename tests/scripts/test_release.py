# SPDX-License-Identifier: GPL-2.0-or-later
"""What a release says of itself: licence, patches; versions agree."""

from __future__ import annotations

import re
import unittest

from scarplib.paths import ROOT
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


if __name__ == "__main__":
    unittest.main()
