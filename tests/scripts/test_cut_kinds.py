# SPDX-License-Identifier: GPL-2.0-or-later
"""tests/hunt/cut_kinds.py: what it takes from an earlier hunt, and what it does not take."""

from __future__ import annotations

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "hunt"))

import cut_kinds

SAID = """# cuts: page pgc copyback PLP scan: 12
# cuts: fast gftl in-plane off records: 500
8 passed, 1 failed
"""


class Test(unittest.TestCase):
    def begun(self, text: str) -> cut_kinds.Campaign:
        campaign = cut_kinds.Campaign(1)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "said.txt")
            path.write_text(text)
            campaign.begin(path)
        return campaign

    def test_its_cuts_count_and_so_do_its_failures(self) -> None:
        campaign = self.begun(SAID)
        self.assertEqual((campaign.scenarios, campaign.failed), (9, 1))
        self.assertEqual(campaign.cuts["page pgc copyback PLP scan"], 12)
        self.assertEqual(campaign.drives["page pgc copyback PLP scan"], ("page", "pgc", "copyback"))

    def test_what_is_not_whole_or_has_no_cuts_is_refused(self) -> None:
        for text in ("", SAID.replace("8 passed, 1 failed\n", ""), "9 passed, 0 failed\n"):
            with self.assertRaisesRegex(ValueError, "not what"):
                self.begun(text)

    def test_a_file_that_is_not_there_is_refused_by_its_name(self) -> None:
        with self.assertRaisesRegex(ValueError, "none.txt: No such file"):
            cut_kinds.Campaign(1).begin(Path("none.txt"))


if __name__ == "__main__":
    unittest.main()
