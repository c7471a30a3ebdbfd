# SPDX-License-Identifier: GPL-2.0-or-later
"""Links of README.md, the pages beside it and docs/ lead to files and headings that exist."""

from __future__ import annotations

import re
import unittest
from pathlib import Path

from documents import pages_of

ROOT = Path(__file__).resolve().parents[2]


def anchors(text: str) -> set[str]:
    """Headings as they are named in addresses."""
    found = re.findall(r"^#+ +(.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found}


def wrong_links(page: Path) -> list[str]:
    wrong = []
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        name, _, anchor = link.partition("#")
        if re.match(r"[a-z]+:", name):
            continue
        target = page.parent / name if name else page
        if not target.exists():
            wrong.append(f"{page.relative_to(ROOT)}: {link}: no such file")
        elif anchor and anchor not in anchors(target.read_text(encoding="utf-8")):
            wrong.append(f"{page.relative_to(ROOT)}: {link}: no such heading")
    return wrong


class Links(unittest.TestCase):
    def test_headings_as_addresses(self) -> None:
        self.assertEqual(
            anchors("# A b\n\n## The papers' own pairs\n"), {"a-b", "the-papers-own-pairs"}
        )

    def test_all(self) -> None:
        wrong = [wrong for page in pages_of(ROOT) for wrong in wrong_links(page)]
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main()
