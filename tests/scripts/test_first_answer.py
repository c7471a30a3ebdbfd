# SPDX-License-Identifier: GPL-2.0-or-later
"""A program built of objects, for a first answer: what is compiled again, and that it is right."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from scarplib.build import first_answer, replayer
from scarplib.errors import UserError

_SOURCES = {
    "main.c": '#include "gc/gc.h"\n#include "common.h"\n#include <stdio.h>\n'
    'int main(void) { printf("%d %d\\n", gc(), COMMON); return 0; }\n',
    "gc/gc.c": '#include "gc/gc.h"\n#include "common.h"\nint gc(void) { return 10 + COMMON; }\n',
    "gc/gc.h": "int gc(void);\n",
    "map/map.c": "int map(void);\nint map(void) { return 1; }\n",
    "common.h": "#define COMMON 1\n",
}


class FirstAnswer(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.engine = self.folder / "ftl"
        for name, text in _SOURCES.items():
            self.put(name, text)
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        # ccache does not see a new header that hides another.
        environment = {"XDG_CACHE_HOME": str(self.folder), "CCACHE_DISABLE": "1", "LC_ALL": "C"}
        stack.enter_context(mock.patch.dict(os.environ, environment))
        stack.enter_context(contextlib.redirect_stderr(io.StringIO()))

    def put(self, name: str, text: str) -> None:
        path = self.engine / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def files(self) -> list[Path]:
        return sorted(self.engine.rglob("*.[ch]"))

    def made(self) -> Path:
        return first_answer.first_program("tiny", "tiny", self.files(), self.engine)

    def objects(self) -> dict[str, int]:
        """By name, when it was compiled."""
        found = (self.folder / "scarp" / "tiny-objects" / "objects").rglob("*.o")
        return {path.name: path.stat().st_mtime_ns for path in found}

    def answer(self) -> tuple[str, set[str]]:
        """The program says this, and these objects were compiled for it."""
        before = self.objects() if (self.folder / "scarp").is_dir() else {}
        said = subprocess.run([self.made()], capture_output=True, text=True, check=True).stdout
        after = self.objects()
        return said.strip(), {name for name in after if after[name] != before.get(name)}

    def test_one_file_changes(self) -> None:
        self.assertEqual(self.answer(), ("11 1", {"main.c.o", "gc.c.o", "map.c.o"}))
        self.put("gc/gc.c", _SOURCES["gc/gc.c"].replace("10", "20"))
        self.assertEqual(self.answer(), ("21 1", {"gc.c.o"}))
        self.assertEqual(self.answer(), ("21 1", set()))

    def test_a_header_changes(self) -> None:
        self.answer()
        self.put("common.h", "#define COMMON 2\n")
        self.assertEqual(self.answer(), ("12 2", {"main.c.o", "gc.c.o"}))

    def test_a_file_that_is_put_back_is_older_than_its_object(self) -> None:
        self.answer()
        self.put("gc/gc.c", _SOURCES["gc/gc.c"].replace("10", "20"))
        self.answer()
        self.put("gc/gc.c", _SOURCES["gc/gc.c"].replace("10", "30"))
        os.utime(self.engine / "gc" / "gc.c", (1, 1))
        self.assertEqual(self.answer(), ("31 1", {"gc.c.o"}))

    def test_a_header_comes_that_hides_another(self) -> None:
        self.answer()
        self.put("gc/common.h", "#define COMMON 5\n")
        said, _ = self.answer()
        self.assertEqual(said, "15 1")
        (self.engine / "gc" / "common.h").unlink()
        # That program is there still: its sources are those of before.
        self.assertEqual(self.answer(), ("11 1", set()))

    def test_files_come_and_go(self) -> None:
        self.answer()
        self.put("gc/more.c", "int more(void);\nint more(void) { return 7; }\n")
        call = _SOURCES["gc/gc.c"].replace("int gc", "int more(void);\nint gc", 1)
        self.put("gc/gc.c", call.replace("10", "more()"))
        self.assertEqual(self.answer(), ("8 1", {"gc.c.o", "more.c.o"}))
        (self.engine / "gc" / "more.c").unlink()
        with self.assertRaisesRegex(UserError, "^tiny does not build:\n(?s:.*)undefined reference"):
            self.made()

    def test_another_compiler(self) -> None:
        self.answer()
        self.put("gc/gc.c", _SOURCES["gc/gc.c"].replace("10", "20"))
        with mock.patch.object(first_answer, "LIBRARIES", ("glib-2.0", "gthread-2.0")):
            self.assertEqual(self.answer(), ("21 1", {"main.c.o", "gc.c.o", "map.c.o"}))

    def test_what_does_not_compile(self) -> None:
        self.put("gc/gc.c", "int gc(void) { return x; }\n")
        with self.assertRaises(UserError) as raised:
            self.made()
        lines = str(raised.exception).splitlines()
        self.assertEqual(lines[0], "tiny does not build:")
        self.assertIn("ftl/gc/gc.c", lines[1])
        self.assertIn("'x' undeclared", str(raised.exception))
        self.assertNotIn("ninja", str(raised.exception))
        self.put("gc/gc.c", _SOURCES["gc/gc.c"])
        self.assertEqual(self.answer()[0], "11 1")

    def test_the_one_with_lto_is_taken_where_it_is(self) -> None:
        self.put("gc/gc.c", _SOURCES["gc/gc.c"])
        whole = replayer.built_program("tiny", "tiny", self.files())
        whole.parent.mkdir(parents=True)
        whole.touch()
        self.assertEqual(self.made(), whole)

    def test_a_source_that_is_saved_meanwhile(self) -> None:
        def change(*_: object) -> None:
            self.put("common.h", "#define COMMON 3\n")

        with (
            mock.patch.object(first_answer, "ensure_packages", change),
            self.assertRaisesRegex(UserError, "^tiny: a source changed while it was built"),
        ):
            self.made()
        self.assertEqual(self.answer()[0], "13 3")


if __name__ == "__main__":
    unittest.main()
