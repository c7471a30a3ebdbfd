# SPDX-License-Identifier: GPL-2.0-or-later
"""`make against`: what it calls different, and how it reads QEMU's build and perf's counts."""

from __future__ import annotations

import json
import os
import struct
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "tests" / "bench")]

import against  # noqa: E402
import engines  # noqa: E402
import outputs  # noqa: E402
import speed  # noqa: E402
from scarplib.drive import image_file  # noqa: E402

CASE = against.Case("baseline", "demo", ("gen:uniform",))
# A replayer that leaves what the real one leaves.
REPLAYER = """#!/bin/sh
{before}
for file in commands collections drive; do
    echo "$file" >"$file"
done
echo '{{"stats": {{"reads": 7}}, "wall_s": '$$'}}' >json
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
        self.assertEqual(self.verdict({}, {}), against.Verdict([], False, True, []))

    def test_each_file_counts(self) -> None:
        for name in ("json", "commands", "collections", "drive"):
            with self.subTest(name):
                verdict = self.verdict({}, {"after": f"echo more >>{name}"})
                self.assertEqual(
                    {what.split(":")[0] for what in verdict.differ},
                    {name, f"{name} (from the image)"} if name != "json" else {name},
                )

    def test_refusals(self) -> None:
        refusal = {"before": "echo no >&2; exit 1"}
        self.assertEqual(self.verdict(refusal, refusal), against.Verdict([], True, None, []))
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


def drive(**section: bytes) -> bytes:
    """A saved drive of these sections; their digests are not looked at."""
    size = image_file.HEAD.size + len(section) * image_file.SECTION.size
    size += sum(map(len, section.values()))
    head = image_file.HEAD.pack(b"SCARPIMG", 1, len(section), size, bytes(16))
    rows = [
        image_file.SECTION.pack(name.encode(), len(data), bytes(16))
        for name, data in section.items()
    ]
    return b"".join([head, *rows, *section.values()])


def policy(name: str, *parameters: int, state: bytes = b"") -> bytes:
    head = struct.pack("<32sI", name.encode(), len(parameters))
    return head + struct.pack(f"<{len(parameters)}QI", *parameters, len(state)) + state


def scheme(*policies: bytes) -> bytes:
    return struct.pack("<I", len(policies)) + b"".join(policies)


class ByBasesKeys(unittest.TestCase):
    """What BASE knew must be there; what it did not know is no difference."""

    def differ(self, name: str, base: bytes, now: bytes) -> tuple[list[str], list[str]]:
        found = outputs.compare({name: base}, {name: now})
        return found.unexpected, found.known

    def json(self, base: str, now: str) -> list[str]:
        return self.differ("json", base.encode(), now.encode())[0]

    def test_statistics(self) -> None:
        stats = {"erases": 3, "tail": [{"n": 4}]}
        base = {"reads": 1, "wall_s": 2, "stats": stats}
        text = json.dumps(base)
        more = json.dumps({**base, "stats": {**stats, "merges": 0}, "wall_s": 9, "x": 1})
        self.assertEqual(self.json(text, more), [])
        self.assertEqual(self.json(more, text), ["json: stats.merges is gone", "json: x is gone"])
        self.assertEqual(self.json(text, text.replace("3", "5")), ["json: stats.erases"])
        # Each engine says which one it is.
        ours, theirs = ({"stats": {"scarp_version": x, "erases": 3}} for x in ("1.0.0", "1.1.0"))
        self.assertEqual(self.json(json.dumps(ours), json.dumps(theirs)), [])
        # In a list there are no keys to go by.
        self.assertEqual(self.json(text, text.replace('"n"', '"m"')), ["json: stats.tail"])
        self.assertEqual(self.json('{"x": 1.0}', '{"x": 1.00}'), ["json: x"])
        self.assertEqual(self.json('{"x": 1}', ""), ["json: not JSON"])

    def test_a_file_that_only_one_has(self) -> None:
        self.assertEqual(outputs.compare({"a": b""}, {"b": b""}).unexpected, ["a", "b"])

    def test_sections_of_a_drive(self) -> None:
        old = {"layout": b"a.b=1\n", "describe": b"[ftl]\nstreams=1\n", "state": b"blocks"}
        new = {**old, "describe": b"[ftl]\nmapping=page\n[gc]\nx=1\n[ftl]\nstreams=1\n",
               "layout": b"a.b=1\na.c=2\n", "more": b"?"}  # fmt: skip
        self.assertEqual(self.differ("drive", drive(**old), drive(**new)), ([], []))
        written = [drive(**old, writer=text) for text in (b"scarp 1.0.0", b"scarp 1.1.0")]
        self.assertEqual(self.differ("drive", *written), ([], []))
        for name, value, said in (
            ("layout", b"a.b=2\n", "drive: layout: a.b"),
            ("describe", b"[gc]\nstreams=1\n", "drive: describe: ftl.streams is gone"),
            ("state", b"Blocks", "drive: state"),
        ):
            with self.subTest(name):
                changed = drive(**{**new, name: value})
                self.assertEqual(self.differ("drive", drive(**old), changed), ([said], []))
        without = drive(**{name: new[name] for name in ("layout", "describe")})
        self.assertEqual(self.differ("drive", drive(**old), without)[0], ["drive: state is gone"])
        for damaged in (b"drive", b"SCARPIMG", drive(**new)[:-1]):
            self.assertEqual(self.differ("drive", drive(**old), damaged)[0], ["drive"])

    def scheme(self, there: bytes, here: bytes, queue: int = 32) -> tuple[list[str], list[str]]:
        described = f"[controller]\nqueue={queue}\n".encode()
        return self.differ(
            "drive", drive(scheme=there), drive(describe=described, scheme=here)
        )  # fmt: skip

    def test_policies(self) -> None:
        greedy, fifo = policy("greedy", 1, state=b"x"), policy("fifo")
        self.assertEqual(self.scheme(scheme(greedy), scheme(greedy, fifo)), ([], []))
        for other in (fifo, policy("greedy", 2, state=b"x"), policy("greedy", 1, state=b"y")):
            self.assertEqual(
                self.scheme(scheme(greedy), scheme(other)), (["drive: scheme: greedy"], [])
            )
        self.assertEqual(
            self.scheme(scheme(greedy, fifo), scheme(greedy))[0],
            ["drive: scheme: fewer policies"],
        )

    def test_a_parameter_that_became_a_key(self) -> None:
        there = scheme(policy("deadline", 1, 2, 3, 4, 32, state=b"x"))
        here = policy("deadline", 1, 2, 3, 4, state=b"x")
        known = ["deadline: a parameter is the key controller.queue now"]
        self.assertEqual(self.scheme(there, scheme(here)), ([], known))
        # Not with another value, nor beside anything else.
        wrong: tuple[list[str], list[str]] = (["drive: scheme: deadline"], [])
        self.assertEqual(self.scheme(there, scheme(here), queue=31), wrong)
        for other in (policy("deadline", 1, 2, 3, 5, state=b"x"), policy("deadline", 1, 2, 3, 4)):
            self.assertEqual(self.scheme(there, scheme(other)), wrong)


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
