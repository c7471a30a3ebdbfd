# SPDX-License-Identifier: GPL-2.0-or-later
"""libscarp: what is visible in it, that its ABI is the recorded one, and the Python binding."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from types import ModuleType
from typing import Any

import abi
from scarplib.build import library
from scarplib.paths import DEVICES, ROOT
from scarplib.version import abi as abi_number
from scarplib.version import version

TINY = ROOT / "tests" / "qtest" / "tiny.ini"


def binding() -> ModuleType:
    """`import scarp`, on the library of this checkout."""
    os.environ["SCARP_LIBRARY"] = str(library.ensure_libscarp().shared)
    sys.path.insert(0, str(ROOT / "bindings" / "python"))
    import scarp  # type: ignore[import-not-found, unused-ignore]

    module: ModuleType = scarp
    return module


class Interface(unittest.TestCase):
    def said(self, *command: str) -> str:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    def test_only_the_header_is_visible(self) -> None:
        made = library.ensure_libscarp()
        functions = [x.split()[1].rstrip(":") for x in abi.interface() if x[:8] == "function"]
        self.assertEqual(functions, library.public_functions())
        for words in (("nm", "-D", str(made.shared)), ("nm", "-g", str(made.static))):
            lines = self.said(*words, "--defined-only").splitlines()
            names = [x.split()[2] for x in lines if len(x.split()) == 3]
            self.assertEqual(sorted(names), functions, words)

    def test_soname(self) -> None:
        said = self.said("readelf", "-d", str(library.ensure_libscarp().shared))
        self.assertIn(f"[libscarp.so.{abi_number()}]", said)

    def test_abi_is_the_recorded_one(self) -> None:
        todo = abi.judge(abi.RECORD.read_text().splitlines(), abi.interface())
        self.assertEqual(todo, "", todo)

    def changed(self, old: str, new: str) -> str:
        text = abi.HEADER.read_text()
        self.assertEqual(text.count(old), 1, old)
        with tempfile.TemporaryDirectory() as folder:
            header = Path(folder) / "scarp.h"
            header.write_text(text.replace(old, new))
            return abi.judge(abi.RECORD.read_text().splitlines(), abi.interface(header))

    def test_changes_are_noticed(self) -> None:
        more = "void scarp_drive_free(ScarpDrive *drive);\n"
        for old, new, word in (
            (more, more + "void scarp_more(void);\n", "grew"),
            (more, "int scarp_drive_free(ScarpDrive *drive);\n", "Raise SCARP_ABI"),
            (more, "", "Raise SCARP_ABI"),
            ("    uint16_t stream; ", "    uint32_t stream; ", "Raise SCARP_ABI"),
            ("    uint64_t aggregated_writes; ", "    uint64_t x, aggregated_writes; ",
             "Raise SCARP_ABI"),
            ("    SCARP_OP_WRITE_ZEROES,", "    SCARP_OP_X, SCARP_OP_WRITE_ZEROES,",
             "Raise SCARP_ABI"),
            ("#define SCARP_LATENCY_TAIL_COUNT 3", "#define SCARP_LATENCY_TAIL_COUNT 4",
             "Raise SCARP_ABI"),
            (f"#define SCARP_ABI {abi_number()}", "#define SCARP_ABI 99", "went from"),
        ):  # fmt: skip
            with self.subTest(new):
                self.assertIn(word, self.changed(old, new))

    def test_words_and_the_version_are_free(self) -> None:
        self.assertEqual(self.changed(f'"{version()}"', '"9.9.9"'), "")
        self.assertEqual(self.changed("/* as small as possible */", "/* small */"), "")


class Page(unittest.TestCase):
    def test_the_page_shows_the_examples(self) -> None:
        page = (ROOT / "docs" / "library.md").read_text()
        (code,) = re.findall(r"^```c\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
        self.assertEqual(code, (ROOT / "examples" / "tail.c").read_text())
        (part,) = re.findall(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
        self.assertIn(part, (ROOT / "examples" / "sweep.py").read_text())


class Binding(unittest.TestCase):
    scarp: Any

    @classmethod
    def setUpClass(cls) -> None:
        cls.scarp = binding()

    def test_structures_are_the_headers(self) -> None:
        lines = set(abi.interface())
        self.assertEqual(self.scarp.ABI, int(abi_number()))
        for name in ("Cmd", "Config", "Age", "Tail"):
            mirror = getattr(self.scarp, f"{name}Struct")
            self.assertIn(f"struct Scarp{name}: {ctypes.sizeof(mirror)} bytes", lines)
            wanted = {
                (x.split(": ")[1], int(x.rsplit(" ", 1)[1]))
                for x in lines
                if x.startswith(f"struct Scarp{name}: ") and " at " in x
            }
            found = {(x[0], getattr(mirror, x[0]).offset) for x in mirror._fields_}
            self.assertEqual(found, wanted, name)
        for op in self.scarp.Op:
            self.assertIn(f"enum ScarpOp: SCARP_OP_{op.name} = {op.value}", lines)
        self.assertIn(f"enum ScarpCause: SCARP_CAUSE__COUNT = {len(self.scarp.causes())}", lines)
        self.assertEqual(self.scarp.version(), version())

    def test_load(self) -> None:
        with self.scarp.Drive(TINY, "pgc", seed=3) as drive:
            drive.age(900)
            load = self.scarp.uniform(drive, 2000, read_permille=500, seed=2)
            done = list(drive.closed_loop(load, depth=8))
            stats = drive.stats()
            tail = drive.tail(self.scarp.Op.READ, 100_000)
            drive.drain()
            drive.check()
        self.assertEqual((len(done), stats["cmds_completed"]), (2000, 2000))
        self.assertEqual(stats["scheme"], "pgc")
        for command in done:
            self.assertEqual(sum(command.cause_ns), command.latency_ns)
        reads = sum(x.request.op == self.scarp.Op.READ for x in done)
        self.assertEqual((stats["reads"], tail.n), (reads, -(-reads // 10)))
        self.assertEqual(list(tail.cause_ns), self.scarp.causes())
        ends = [x.complete_ns for x in done]
        self.assertEqual(ends, sorted(ends))

    def test_a_drive_by_its_name(self) -> None:
        """As the commands take it; a file of the user's own goes first."""
        with self.scarp.Drive("demo") as named, self.scarp.Drive(DEVICES / "demo.ini") as drive:
            self.assertEqual(named.logical_bytes, drive.logical_bytes)
            own = drive.logical_bytes
        before = Path.cwd()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                Path("demo").write_bytes(TINY.read_bytes())
                with self.scarp.Drive("demo") as drive:
                    self.assertNotEqual(drive.logical_bytes, own)
            finally:
                os.chdir(before)

    def test_the_same_load_is_the_same(self) -> None:
        def run() -> list[tuple[int, int]]:
            with self.scarp.Drive(TINY) as drive:
                drive.age(900)
                load = self.scarp.uniform(drive, 500)
                return [(x.submit_ns, x.complete_ns) for x in drive.closed_loop(load, 4)]

        self.assertEqual(run(), run())

    def test_data_and_images(self) -> None:
        request, op = self.scarp.Request, self.scarp.Op
        with tempfile.TemporaryDirectory() as folder:
            image = Path(folder) / "image"
            with self.scarp.Drive(TINY, store_data=True) as drive:
                list(drive.closed_loop([request(op.WRITE, 4096, 512, b"x" * 512)]))
                drive.drain()
                drive.save(image)
            with self.scarp.Drive(image=image, store_data=True) as drive:
                (read,) = drive.closed_loop([request(op.READ, 4096, 1024)])
        self.assertEqual(read.data, b"x" * 512 + bytes(512))

    def test_what_is_refused(self) -> None:
        request, op, error = self.scarp.Request, self.scarp.Op, self.scarp.Error
        for words, named, said in (
            (("nowhere.ini",), {}, "nowhere.ini"),
            ((TINY, "basline"), {}, "basline"),
            ((TINY,), {"overrides": {"gc.nothing": 1}}, "gc.nothing"),
        ):
            with self.assertRaisesRegex(error, said):
                self.scarp.Drive(*words, **named)
        drive = self.scarp.Drive(TINY)
        for wrong, at_ns, said in (
            (request(op.READ, drive.logical_bytes, 4096), None, "the drive has"),
            (request(op.READ, -512, 512), None, "the drive has"),
            (request(op.READ, 1, 512), None, "multiples of 512"),
            (request(op.WRITE, 0, 512, b"x"), None, "data: has 1 bytes"),
            (request(op.READ, 0, 512), -1, "at_ns=-1"),
        ):
            with self.assertRaisesRegex(error, said):
                drive.submit(wrong, at_ns)
        with self.assertRaisesRegex(error, "must be at most"):
            drive.run(self.scarp.TIME_NEVER_NS)
        # With a command under way.
        drive.submit(request(op.READ, 0, 4096))
        drive.close()
        drive.close()
        with self.assertRaisesRegex(error, "closed"):
            drive.age()

    def test_example(self) -> None:
        path = {"PYTHONPATH": str(ROOT / "bindings" / "python")}
        done = subprocess.run(
            [sys.executable, str(ROOT / "examples" / "sweep.py"), str(DEVICES / "demo.ini")],
            capture_output=True, text=True, check=False, env={**os.environ, **path},
        )  # fmt: skip
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        rows = [line.split() for line in done.stdout.splitlines()[1:]]
        self.assertEqual([row[2] for row in rows[:3]], ["baseline", "pgc", "ideal"])


if __name__ == "__main__":
    unittest.main()
