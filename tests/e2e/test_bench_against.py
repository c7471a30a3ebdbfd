# SPDX-License-Identifier: GPL-2.0-or-later
"""`make against`: what it calls different, and how it reads QEMU's build and perf's counts."""

from __future__ import annotations

import os
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "tests" / "bench")]

import against  # noqa: E402
import engines  # noqa: E402
import speed  # noqa: E402

CASE = against.Case("baseline", "demo", ("gen:uniform",))
# A replayer that leaves what the real one leaves.
REPLAYER = """#!/bin/sh
{before}
for file in json commands collections drive; do
    echo "$file" >"$file"
done
echo '{{"wall_s": '$$'}}' >>json
{after}
"""


class Compared(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)

    def engine(self, name: str, before: str = "", after: str = "") -> engines.Engine:
        program = self.folder / name
        program.write_text(REPLAYER.format(before=before, after=after))
        program.chmod(0o755)
        return engines.Engine(name, program, {})

    def verdict(self, there: dict[str, str], here: dict[str, str]) -> against.Verdict:
        return against.compare(self.engine("there", **there), self.engine("here", **here), CASE)

    def test_equal(self) -> None:
        self.assertEqual(self.verdict({}, {}), against.Verdict([], False, True))

    def test_each_file_counts(self) -> None:
        for name in ("json", "commands", "collections", "drive"):
            with self.subTest(name):
                verdict = self.verdict({}, {"after": f"echo more >>{name}"})
                self.assertIn(name, verdict.differ)

    def test_refusals(self) -> None:
        refusal = {"before": "echo no >&2; exit 1"}
        self.assertEqual(self.verdict(refusal, refusal), against.Verdict([], True, None))
        other = {"before": "echo never >&2; exit 1"}
        self.assertEqual(self.verdict(refusal, other).differ, ["words"])
        self.assertIn("status", self.verdict({}, refusal).differ)

    def test_an_image_that_does_not_load_or_goes_on_otherwise(self) -> None:
        refuse = {"before": 'if [ "$1" = -i ]; then echo foreign >&2; exit 1; fi'}
        verdict = self.verdict({}, refuse)
        self.assertFalse(verdict.from_image)
        self.assertIn("status (from the image)", verdict.differ)
        otherwise = {"after": 'if [ "$1" = -i ]; then echo later >>commands; fi'}
        verdict = self.verdict({}, otherwise)
        self.assertEqual(
            (verdict.differ, verdict.from_image), (["commands (from the image)"], False)
        )
        # Both refuse: equal, and yet no image that loads.
        self.assertFalse(self.verdict(refuse, refuse).from_image)

    def test_the_image_is_the_other_engines(self) -> None:
        # Each tells what it started from; only the other commit's drive holds this line.
        tell = 'if [ "$1" = -i ]; then grep -q theirs start || echo foreign >>commands; fi'
        verdict = self.verdict({"after": f"echo theirs >>drive; {tell}"}, {"after": tell})
        self.assertNotIn("commands (from the image)", verdict.differ)


class Library(unittest.TestCase):
    def test_words_of_all_files_with_folders_of_the_root(self) -> None:
        command = (
            "cc -m64 -I../src/hw/nvme/scarp/ftl -I/usr/include/glib-2.0 -O2 -MD -MQ a.o -MF a.o.d "
            "-o a.o -c ../src/hw/nvme/scarp/ftl/a.c"
        )
        kept = engines.common(command.split())
        words = engines.LibraryWords(Path("/q/build"), Path("/q/src/hw/nvme/scarp"), kept)
        self.assertEqual(
            words.of(Path("/base")),
            ["cc", "-m64", "-I/base/ftl", "-I/usr/include/glib-2.0", "-O2"],
        )


class Counts(unittest.TestCase):
    def test_perf(self) -> None:
        self.assertEqual(speed.perf_count("12345,,instructions:u,9,100.00,,\n"), 12345)
        self.assertIsNone(speed.perf_count("<not supported>,,instructions:u,0,100.00,,\n"))

    def test_what_counts(self) -> None:
        with tempfile.TemporaryDirectory() as name, mock.patch.dict(os.environ, {"PATH": name}):
            self.assertEqual(speed.counter(), "")
            for program, text in (
                ("valgrind", ""),
                ("perf", "echo '<not supported>,,instructions:u,0,100.00,,' >&2"),
            ):
                (Path(name) / program).write_text(f"#!/bin/sh\n{text}\n")
                (Path(name) / program).chmod(0o755)
                self.assertEqual(speed.counter(), "callgrind")
            (Path(name) / "perf").write_text("#!/bin/sh\necho '7,,instructions:u,9,100.00,,' >&2\n")
            self.assertEqual(speed.counter(), "perf")

    def test_perf_counts_the_difference_of_two_lengths(self) -> None:
        # 1,000 for the start, 30 for a request of three transactions.
        program = """#!/bin/sh
echo "$1 requests/s 1 transactions/s 1 transactions $((3 * $5))"
"""
        perf = """#!/bin/sh
while [ "$1" != -e ]; do shift; done
shift 2
"$@"
echo "$((1000 + 30 * $6)),,instructions:u,9,100.00,," >&2
"""
        load = speed.Load("sequential-write", "", 100)
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for file, text in (("bench", program), ("perf", perf)):
                (folder / file).write_text(text)
                (folder / file).chmod(0o755)
            path = f"{name}:{os.environ['PATH']}"
            with mock.patch.dict(os.environ, {"PATH": path}):
                counted = speed.instructions("perf", folder / "bench", load, folder / "none")
        self.assertEqual(counted, 10)
