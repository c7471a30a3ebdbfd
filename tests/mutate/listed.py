# SPDX-License-Identifier: GPL-2.0-or-later
"""The survivors that docs/mutation.md lists: those that make no difference, and the others."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from candidates import Key

LIST = Path(__file__).resolve().parents[2] / "docs" / "mutation.md"
# The heading of those that no test can notice.
EQUIVALENT = "Survivors that make no difference"
SECTION = re.compile(r"^## (?P<title>.*?)\n(?P<text>.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
ENTRY = re.compile(
    r"^### `(?P<path>[^`]+)`(?:, `(?P<function>\w+)\(\)`)?\n+```diff\n(?P<diff>.*?)^```\n"
    r"(?P<why>.*?)(?=^#|\Z)",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Listed:
    equivalent: bool
    why: str


def survivors() -> dict[Key, Listed]:
    found: dict[Key, Listed] = {}
    for section in SECTION.finditer(LIST.read_text()):
        for entry in ENTRY.finditer(section["text"]):
            lines = entry["diff"].splitlines()
            old = [" ".join(line[1:].split()) for line in lines if line.startswith("-")]
            new = [" ".join(line[1:].split()) for line in lines if line.startswith("+")]
            why = " ".join(entry["why"].split())
            if not old or len(old) != len(new) or not why:
                raise SystemExit(
                    f"docs/mutation.md: {entry['path']}: lines -old and +new in turns, and a reason"
                )
            for pair in zip(old, new, strict=True):
                key = (entry["path"], entry["function"] or "", *pair)
                found[key] = Listed(section["title"] == EQUIVALENT, why)
    return found
