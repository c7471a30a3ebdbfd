#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The lint of names in comments and pages: what is nowhere is found, and nothing else."""

from __future__ import annotations

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

from scarplib.dev.names import unknown

CLEAN = {
    "ftl/core/description.c": 'KEY("ftl", unit_bytes, 0, 1, NULL),\nKEY("gc", free_blocks, 0, 1,',
    "ftl/core/ops.h": "/* core/core.c: scarp_now() */\nint scarp_now(ScarpDrive *drive);\n",
    "ftl/core/core.c": '/* ftl.unit_bytes, gc.free_blocks */\n#include "out.h"\n',
    "docs/page.md": "`ftl/core/*.c`: `scarp_now()`, `scarp_…`, `ScarpDrive`; `gc.c`, `out.h`.\n",
}


class Names(unittest.TestCase):
    def found(self, name: str, text: str) -> list[str]:
        return [what for file, _, what in unknown({**CLEAN, name: text}) if file == name]

    def test_clean(self) -> None:
        self.assertEqual(unknown({**CLEAN, "ftl/gc/gc.c": "int gc_of(void);\n"}), [])

    def test_function(self) -> None:
        text = "/*\n * Asks scarp_then(), gc_now() and scarp_now(). */\nint gc_of(void);\n"
        self.assertEqual(self.found("ftl/gc/gc.c", text), ["gc_now", "scarp_then"])
        self.assertEqual(unknown({**CLEAN, "ftl/gc/gc.c": text})[-1][1], 2)

    def test_type(self) -> None:
        self.assertEqual(self.found("ftl/gc/gc.c", "// ScarpDrive, ScarpGone\n"), ["ScarpGone"])

    def test_file(self) -> None:
        text = "/* core/core.c, core/gone.c, gc.c, core/*.h, gc/*.h */\n"
        self.assertEqual(self.found("ftl/gc/gc.c", text), ["core/gone.c", "gc/*.h"])

    def test_key(self) -> None:
        text = "/* ftl.unit_bytes, ftl.unit_byte, ftl.gone, gc.h */\n#include <gc.h>\n"
        self.assertEqual(self.found("ftl/gc/gc.c", text), ["ftl.gone"])

    def test_page(self) -> None:
        text = "`ftl/core/gone.c` and `gone_too()`; ftl/gone.c is no code.\n"
        self.assertEqual(self.found("docs/other.md", text), ["ftl/core/gone.c", "gone_too"])
        self.assertEqual(self.found("docs/notes/2026-11-past.md", text), [])

    def test_page_that_shows_code(self) -> None:
        text = "`my_choose()`:\n```c\nstatic int my_choose(void);\n```\n`my_other()`\n"
        self.assertEqual(self.found("docs/other.md", text), ["my_other"])


if __name__ == "__main__":
    unittest.main()
