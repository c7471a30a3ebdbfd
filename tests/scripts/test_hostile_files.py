# SPDX-License-Identifier: GPL-2.0-or-later
"""Files that a guest wrote, not as fio, the kernel or the drive do: one line says what is wrong.

tests/fuzz/scripts.py looks for more of these.
"""

from __future__ import annotations

import json
import sys
import tempfile
import unittest
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(Path(__file__).parent)]

import synthetic  # noqa: E402
from refused import Refused  # noqa: E402
from scarplib.device_logs import log_page  # noqa: E402
from scarplib.device_logs.log_file import LogError  # noqa: E402
from scarplib.drive import start  # noqa: E402
from scarplib.errors import UserError, of_system  # noqa: E402
from scarplib.guest import block_trace as guest_trace  # noqa: E402
from scarplib.own_drive import fio_json  # noqa: E402
from scarplib.powercut import record  # noqa: E402
from scarplib.results import (  # noqa: E402
    block_trace,
    drives,
    file_system,
    fio,
    fio_figures,
    replayed,
    script,
    table,
)

DEEP = "[" * 100_000
HUGE = "9" * 5000
LATENCIES: dict[str, Any] = {"N": 2, "mean": 4.5, "max": 6, "bins": {"3": 1, "6": 1}}


def job(**parts: Any) -> dict[str, Any]:
    return {"jobs": [{"jobname": "a", "error": 0, **parts}]}


def read(**parts: Any) -> dict[str, Any]:
    return job(read={"total_ios": 2, "iops": 1.5, "lat_ns": {**LATENCIES, **parts}})


class HostileFiles(Refused):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)

    def refuse(self, reader: Callable[[], object], words: str) -> None:
        with self.assertRaisesRegex(LogError, words) as caught:
            reader()
        self.assertTrue(str(caught.exception).isprintable(), repr(str(caught.exception)))

    def file(self, name: str, text: str | bytes) -> Path:
        path = self.folder / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def test_fio(self) -> None:
        for text, words in (
            ("3", "no job"),
            ("[]", "no job"),
            ('{"jobs": {"a": 1}}', "no job"),
            (f'{{"jobs": {DEEP}', "not fio's JSON"),
            (f'{{"jobs": {HUGE}}}', "not fio's JSON"),
            ('{"jobs": [3]}', r"jobs\[0\]\. an object"),
            (json.dumps(job(read=3)), r"jobs\[0\]\.read: an object"),
            (json.dumps(job(read={"lat_ns": []})), r"read\.lat_ns: an object"),
            (json.dumps(job(read={"total_ios": "4"})), r"read\.total_ios: a number"),
            (json.dumps(job(read={"total_ios": True})), r"read\.total_ios: a number"),
            (json.dumps(read(mean=-1)), r"lat_ns\.mean: a number"),
            (json.dumps(read(mean=float("nan"))), r"lat_ns\.mean: a number"),
            (json.dumps(read(max=float("inf"))), r"lat_ns\.max: a number"),
            (json.dumps(read(max=10**400)), r"lat_ns\.max: a number"),
            (json.dumps(read(bins=[])), r"lat_ns\.bins: an object"),
            (json.dumps(read(bins={"x": 1})), "bins: nanoseconds"),
            (json.dumps(read(bins={HUGE: 1})), "bins: nanoseconds"),
            (json.dumps(read(bins={"3": "1"})), "bins: 3: a count"),
            (json.dumps(job(error="so\nso")), "failed with error so.so"),
        ):
            with self.subTest(text[:60]):
                path = self.file("fio.json", text)
                self.refuse(partial(fio.load_fio, path), words)

    def test_fio_without_latencies(self) -> None:
        """It may be told to keep none; and a name may have any bytes."""
        text = json.dumps(job(read={"total_ios": 2, "iops": 1.5})).replace('"a"', '"a\xff"')
        found = fio.load_fio(self.file("fio.json", text.encode("latin-1")))
        part = fio_figures.figures(found.jobs, "read")
        assert part
        self.assertEqual((part["count"], part["mean_ns"], part["max_ns"]), (2, 0, 0))

    def test_words_of_fios_own_file(self) -> None:
        """A job's name, and what it was told to do: a line that steers no terminal."""
        did = {"total_ios": 5, "iops": 3.5, "bw": 14}
        for foreign in ("r\nd", "a\x1b[2Jb", "a\u2028b"):
            with self.subTest(foreign):
                for options in ({"rw": foreign}, {"fsync": foreign}):
                    one = {"jobname": foreign, "job options": options, "read": did}
                    path = self.file("of-fio.json", json.dumps({"jobs": [one]}))
                    with self.assertRaisesRegex(UserError, "job '.*': ") as caught:
                        fio_json.rows(path)
                    self.assertTrue(str(caught.exception).isprintable())
                ran: dict[str, Any] = {"jobname": foreign, "groupid": foreign, "job options": {}}
                ran |= {"read": did, "write": {"total_ios": 0}}
                (row,) = fio_json.rows(self.file("of-fio.json", json.dumps({"jobs": [ran]})))
                self.assertTrue(row.file.isprintable(), repr(row.file))

    def test_an_error_steers_no_terminal(self) -> None:
        shown = "a\N{REPLACEMENT CHARACTER}[2J:\n        b"
        self.assertEqual(str(UserError("a\x1b[2J:\n\tb")), shown)
        told = of_system(OSError(2, "No such file or directory", "a\x1b[2J\nb"))
        self.assertEqual(told, "a\ufffd[2J\ufffdb: No such file or directory")

    def test_a_summarys_operations_steer_no_terminal(self) -> None:
        shown = table.columns(["x"], [("a\x1b[2J\nb (the script's)", ["3"])])
        self.assertEqual(shown.split("\n")[1:], ["a\ufffd[2J\ufffdb (the script's)  3"])

    def test_a_summarys_start_writes_nothing(self) -> None:
        of = {"schemes": {"x": {}}, "start": [["seed", "1"]]}
        begun = start.of_run(of, self.folder, "x")
        assert begun
        self.assertEqual(begun.words()[-2:], ["--seed", "1"])
        (self.folder / "x").mkdir()
        self.file("x/cmd.bin", b"")
        for wrong in (["save", "/tmp/anything"], ["a\n\x1b[2J", "b"], ["seed", 1], [3], 3):
            with self.subTest(wrong):
                self.file("summary.json", json.dumps(of | {"start": [["seed", "1"], wrong]}))
                asked = ["timeline", str(self.folder / "x"), "--around", "1", "-o", "out.json"]
                said = self.error(*asked)
                self.assertIn("summary.json: damaged: ", said)
                self.assertTrue(said.isprintable(), said)

    def test_page(self) -> None:
        """A scheme's name may have any bytes, and is in lines of text."""
        page = bytearray(synthetic.stats_page("x", 5, {}))
        at = page.index(b"x\0")
        page[at : at + 4] = b"a\nb\xff"
        scheme = log_page.read(self.file("page", bytes(page))).scheme
        self.assertEqual(scheme, "a\ufffdb\ufffd")

    def test_recording(self) -> None:
        line = "db-7 [000] ... 5: block_rq_issue: 259,0 W 8 () 8 + 8 [db]"
        for text, lost, words in (
            (line.replace("db-7", f"db-{HUGE}"), "", "line 1: .* no event"),
            (line.replace(" 5:", f" {HUGE}:"), "", "line 1: .* no event"),
            (line.replace("8 + 8", f"8 + {HUGE}"), "", "line 1: .* no event"),
            (line, "cpu0: many", "line 1: .* number"),
            (line, f"cpu0: {HUGE}", "line 1: .* number"),
            (line, b"cpu0: \xff", "line 1: .* number"),
        ):
            with self.subTest(f"{text[:40]} {lost[:20]!r}"):
                self.file(guest_trace.FILE, text)
                self.file(guest_trace.LOST, lost)
                self.refuse(lambda: block_trace.read(self.folder), words)

    def test_latencies(self) -> None:
        for text in (f"read {HUGE}", "read 4 12345678", "read", "a\x1b]0;b\x07 5"):
            path = self.file("latencies", f"write 3\n{text}\n")
            self.refuse(partial(script.operations, path), "line 2: ")

    def test_what_a_script_wrote(self) -> None:
        """What is no count of bytes is unknown, as is one that was removed."""
        for begin, end, wanted in (
            ("5\n", "12\n", 7),
            ("5", "9" * 400, None),
            ("5", HUGE, None),
            ("12", "5", None),
            ("-5", "5", None),
            ("", "5", None),
        ):
            with self.subTest(f"{begin} {end[:9]}"):
                self.file("written-begin", begin)
                self.file("written-end", end)
                self.assertEqual(script.written_bytes(self.folder), wanted)
                stats = {"write_bytes": 9, "deallocates": 0, "deallocated_units": 0}
                of = {"script": {}, "stats": stats}
                found = file_system.figures("ext4", of, self.folder, 4096)
                file_system.rows([{"file_system": found}])

    def test_when_a_recorded_workload_ran(self) -> None:
        self.file("stats-begin.bin", synthetic.stats_page("x", 5, {}))
        for page, words in ((None, "stats-done.bin: No such file"), (b"5", "stats-done.bin: 1 b")):
            if page:
                self.file("stats-done.bin", page)
            with self.assertRaisesRegex(UserError, f"^the workload: .*{words}"):
                record.ran(self.folder)
        self.file("stats-done.bin", synthetic.stats_page("x", 9, {}))
        self.assertEqual(record.ran(self.folder), (5, 9))

    def test_requests(self) -> None:
        for text in (b"3", b"3, x, 0", b"\xff, 4, 0", f"3, {HUGE}, 0".encode()):
            self.file("lat_lat.1.log", b"3, 4000, 0, 4096, 0\n" + text + b"\n")
            self.refuse(lambda: drives.requests(self.folder), "line 2: .* none of fio's")

    def test_replay(self) -> None:
        synthetic.write_scheme(self.folder, "baseline", count=3)
        for text in ("3", "{}", '{"stats": 3}', DEEP, '{"stats": {}, "measured": "3"}'):
            self.file("replay.json", text)
            self.refuse(lambda: replayed.load(self.folder, "x"), "replay.json: ")


if __name__ == "__main__":
    unittest.main()
