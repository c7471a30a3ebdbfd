# SPDX-License-Identifier: GPL-2.0-or-later
"""A recording of the guest's block layer, written by hand, beside a command log."""

from __future__ import annotations

import csv
import sys
import tempfile
import unittest
from array import array
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(Path(__file__).parent)]

from scarplib.device_logs.command_log import CAUSES, OPS, Commands  # noqa: E402
from scarplib.device_logs.log_file import LogError  # noqa: E402
from scarplib.guest import block_trace as guest  # noqa: E402
from scarplib.guest.job import start_text, user_text  # noqa: E402
from scarplib.guest.user_task import UserTask  # noqa: E402
from scarplib.results import block_trace, guest_drive_join  # noqa: E402
from scarplib.results.guest_drive_join import Waits, join, shares  # noqa: E402

# An fsync of 1000 ns: data, then the journal's record behind a flush; beside it another's read,
# and a write of three bios, of which the last is split.
RECORDING = """# tracer: nop
#
           db-7    [000] ...1.  1000: sys_fsync(fd: 3)
           db-7    [000] .....  1010: block_bio_queue: 259,0 WS 8 + 8 [db]
           db-7    [000] .....  1020: block_rq_issue: 259,0 WS 4096 () 8 + 8 be,0,4 [db]
   my reader-8    [000] .....  1030: block_bio_queue: 259,0 RA 64 + 8 [my reader]
   my reader-8    [000] .....  1040: block_rq_issue: 259,0 RA 4096 () 64 + 8 be,0,4 [my reader]
       <idle>-0    [000] d.h1.  1500: block_rq_complete: 259,0 WS () 8 + 8 be,0,4 [0]
 jbd2/nvme0n1-8-5    [000] .....  1520: block_bio_queue: 259,0 FWFSM 16 + 2 [jbd2/nvme0n1-8]
  kworker/0:1H-4    [000] .....  1530: block_rq_issue: 259,0 FF 0 () 0 + 0 none,0,0 [kworker/0:1H]
       <idle>-0    [000] d.h1.  1600: block_rq_complete: 259,0 FF () 18446744073709551615 + 0 be [0]
  kworker/0:1H-4    [000] .....  1610: block_rq_issue: 259,0 WFSM 1024 () 16 + 2 be [kworker/0:1H]
       <idle>-0    [000] d.h1.  1950: block_rq_complete: 259,0 RA () 64 + 8 be,0,4 [0]
       <idle>-0    [000] d.h1.  1960: block_rq_complete: 259,0 WFSM () 16 + 2 be,0,4 [0]
           db-7    [000] ...1.  2000: sys_fsync -> 0x0
           nvme-9    [000] .....  2100: block_rq_issue: 259,0 N 4 () 0 + 0 none [nvme]
           db-7    [000] .....  3000: block_bio_queue: 259,0 W 100 + 4 [db]
           db-7    [000] .....  3001: block_bio_queue: 259,0 W 104 + 8 [db]
           db-7    [000] .....  3002: block_rq_issue: 259,0 W 4096 () 100 + 8 be,0,4 [db]
           db-7    [000] .....  3003: block_rq_issue: 259,0 W 2048 () 108 + 4 be,0,4 [db]
       <idle>-0    [000] d.h1.  3500: block_rq_complete: 259,0 W () 108 + 4 be,0,4 [0]
       <idle>-0    [000] d.h1.  3600: block_rq_complete: 259,0 W () 100 + 8 be,0,4 [0]
"""
# Submit, complete, operation, first sector, sectors; and what it waited for, besides "array".
LOG: tuple[tuple[int, int, str, int, int, dict[str, int]], ...] = (
    (1025, 1495, "write", 8, 8, {"die_gc_program": 400}),
    (1045, 1945, "read", 64, 8, {}),
    (1535, 1590, "flush", 0, 0, {"controller": 5}),
    (1615, 1955, "write", 16, 2, {}),
    (3004, 3490, "write", 108, 4, {}),
    (3005, 3590, "write", 100, 8, {}),
    # The same place once more, by nobody who was recorded.
    (9000, 9100, "write", 8, 8, {}),
)


Rows = Iterable[tuple[int, int, str, int, int, dict[str, int]]]


def commands(log: Rows = LOG) -> Commands:
    found = Commands(causes=[array("q") for _ in CAUSES])
    for submit, complete, op, sector, sectors, waited in log:
        found.submit.append(submit)
        found.complete.append(complete)
        found.op.append(OPS.index(op))
        found.offset.append(sector * 512)
        found.length.append(sectors * 512)
        causes = {**waited, "array": complete - submit - sum(waited.values())}
        for name, column in zip(CAUSES, found.causes, strict=True):
            column.append(causes.get(name, 0))
    return found


class BlockTrace(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)

    def read(self, text: str = RECORDING, lost: str = "dropped events: 0\n") -> block_trace.Trace:
        (self.folder / guest.FILE).write_text(text)
        (self.folder / guest.LOST).write_text(lost)
        found = block_trace.read(self.folder)
        assert found
        return found

    def test_requests_and_calls(self) -> None:
        trace = self.read()
        told = [(r.op, r.sector, r.sectors, r.queue, r.issue, r.complete) for r in trace.requests]
        self.assertEqual(
            told,
            [
                ("W", 8, 8, 1010, 1020, 1500),
                ("F", 0, 0, 1520, 1530, 1600),
                ("R", 64, 8, 1030, 1040, 1950),
                ("W", 16, 2, 1520, 1610, 1960),
                ("W", 108, 4, 3001, 3003, 3500),
                ("W", 100, 8, 3000, 3002, 3600),
            ],
        )
        # Whose it is was said when it was queued, not when a worker gave it to the driver.
        self.assertEqual(trace.requests[3].thread, "jbd2/nvme0n1-8")
        self.assertEqual(trace.requests[2].thread, "my reader")
        (call,) = trace.calls
        self.assertEqual((call.begin, call.end, call.name, call.pid), (1000, 2000, "fsync", 7))
        self.assertEqual(self.read(lost="dropped events: 3\ndropped events: 4\n").lost, 7)

    def test_kernels_before_6_12_say_no_priority(self) -> None:
        self.assertEqual(self.read(RECORDING.replace(" be,0,4", "")), self.read())

    def test_a_folder_without_one(self) -> None:
        self.assertIsNone(block_trace.read(self.folder))

    def test_a_line_that_is_none(self) -> None:
        with self.assertRaisesRegex(LogError, "line 1: 'no event'"):
            self.read("no event\n")

    def test_a_request_that_took_no_time(self) -> None:
        """Steps back through it would never get before it."""
        text = RECORDING.replace(" 1500: block_rq_complete", " 1020: block_rq_complete")
        self.assertNotEqual(text, RECORDING)
        with self.assertRaisesRegex(LogError, r"line \d+: a request at sector 8 ended at 1020 ns"):
            self.read(text)

    def test_a_discard_of_several_ranges(self) -> None:
        trace = self.read("""# tracer: nop
           db-7    [000] .....  1010: block_bio_queue: 259,0 DS 5 + 27 [db]
           db-7    [000] .....  1020: block_rq_issue: 259,0 DS 13824 () 5 + 27 be,0,4 [db]
       <idle>-0    [000] d.h1.  1500: block_rq_complete: 259,0 DS () 5 + 27 be,0,4 [0]
""")
        log = [
            (1025, 1035, "deallocate", 5, 3, {"controller": 4}),
            (1035, 1055, "deallocate", 8, 16, {"controller": 6}),
            (1055, 1065, "deallocate", 24, 8, {}),
        ]
        joined = join(trace, commands(log))
        (request,) = joined.trace.requests
        self.assertEqual((request.ranges, request.command), ([0, 1], 2))
        self.assertEqual((joined.behind_ns, joined.before_ns), (5, 435))
        self.assertEqual(
            shares(joined, request), {"block": 10, "driver": 440, "controller": 10, "array": 30}
        )
        # With a hole, or one that is too long, they are somebody else's.
        for wrong in (log[:1] + log[2:], [*log[:2], (1055, 1065, "deallocate", 24, 9, {})]):
            with self.assertRaisesRegex(LogError, "1 of 1 requests"):
                join(self.read_again(trace), commands(wrong))

    @staticmethod
    def read_again(trace: block_trace.Trace) -> block_trace.Trace:
        """The same, whose requests have no command yet."""
        requests = [replace(r, command=None, ranges=[]) for r in trace.requests]
        return replace(trace, requests=requests)

    def test_each_request_has_its_command(self) -> None:
        joined = join(self.read(), commands())
        self.assertEqual([r.command for r in joined.trace.requests], [0, 2, 1, 3, 4, 5])
        self.assertEqual((joined.unmatched, joined.behind_ns, joined.before_ns), (0, 1, 5))
        first = shares(joined, joined.trace.requests[0])
        self.assertEqual(first, {"block": 10, "driver": 10, "die_gc_program": 400, "array": 70})
        for request in joined.trace.requests:
            total = sum(shares(joined, request).values())
            self.assertEqual(total, request.complete - request.queue)

    def test_a_job_that_passes_the_block_layer_by(self) -> None:
        found = guest_drive_join.summary(join(block_trace.Trace(), commands()))
        self.assertEqual((found["requests"], found["clock_behind_ns"]), (0, None))
        self.assertEqual(guest_drive_join.rows([{"block": found}]), [])

    def test_another_clock(self) -> None:
        later = commands()
        later.submit = array("q", (x + 5000 for x in later.submit))
        later.complete = array("q", (x + 5000 for x in later.complete))
        with self.assertRaisesRegex(LogError, "clocks are not the same"):
            join(self.read(), later)

    def test_what_a_call_stood_behind(self) -> None:
        joined = join(self.read(), commands())
        waits = Waits(joined)
        (call,) = joined.trace.calls
        steps = [(s.begin, s.end, s.where, s.request and s.request.op) for s in waits.steps(call)]
        # The other's read ended within the call, but nothing waited for it.
        self.assertEqual(
            steps,
            [
                (1000, 1010, "guest", None),
                (1010, 1020, "block", "W"),
                (1020, 1500, "drive", "W"),
                (1500, 1520, "guest", None),
                (1520, 1530, "block", "F"),
                (1530, 1600, "drive", "F"),
                (1600, 1610, "guest", None),
                (1610, 1960, "drive", "W"),
                (1960, 2000, "guest", None),
            ],
        )
        found = waits.call_shares(call)
        self.assertEqual(sum(found.values()), 1000)
        self.assertEqual(found["die_gc_program"], 400)
        self.assertEqual(found["guest"], 80)

    def test_a_request_that_was_on_its_way_counts_in_part(self) -> None:
        joined = join(self.read(), commands())
        call = block_trace.Call(1260, 1500, "fsync", 7, "db")
        found = Waits(joined).call_shares(call)
        # Half of its 480 ns, and so half of each cause.
        self.assertEqual(found, {"driver": 5, "die_gc_program": 200, "array": 35})

    def test_what_another_caller_wrote_fills_what_else_is_unknown(self) -> None:
        trace = self.read()
        # A second caller, whose write the first one's journal waits for.
        other = block_trace.Request(1_000_000, 1_000_010, 2_000_000, "W", "WS", 1, 1, 9, "two")
        trace.requests.append(other)
        trace.calls.append(block_trace.Call(999_000, 2_000_500, "fsync", 9, "two"))
        call = block_trace.Call(1_500_000, 2_000_100, "fsync", 7, "db")
        steps = Waits(join(trace, commands())).steps(call)
        self.assertEqual([s.where for s in steps], ["drive", "guest"])

    def test_files_and_rows(self) -> None:
        joined = join(self.read(), commands())
        guest_drive_join.write(joined, self.folder)
        with (self.folder / guest_drive_join.CSV).open(newline="") as stream:
            rows = list(csv.DictReader(stream))
        self.assertEqual(len(rows), 6)
        self.assertEqual(rows[0]["die_gc_program_ns"], "400")
        text = (self.folder / guest_drive_join.TEXT).read_text()
        self.assertIn("fsync of db (7) at 1,000 ns: 1.00 µs: 46 % own array time", text)
        self.assertIn("write 4 KiB at 4 KiB (WS, db): 83 % die: GC program", text)
        found = guest_drive_join.rows([{"block": guest_drive_join.summary(joined)}, {}])
        means = [cells for label, cells in found if label == "  mean of them"]
        # Of the calls, and of the requests.
        self.assertEqual(means, [["1.00 µs", "–"], ["0.92 µs", "–"]])
        self.assertIn(("  die: GC program", ["40 %", "–"]), found)
        self.assertEqual(guest_drive_join.rows([{}]), [])


class Guest(unittest.TestCase):
    def test_a_plain_run_has_nothing_of_it(self) -> None:
        self.assertNotIn("tracefs", user_text(-2, UserTask()))

    def test_the_recording_is_of_what_is_measured(self) -> None:
        text = user_text(-2, UserTask(trace=True, packages=True))
        # A script sets the mark in the root of the packages.
        for root in ("", "/root"):
            self.assertIn(f"mount -t tracefs tracefs {root}{guest.TRACING}", text)
        self.assertLess(text.index("tracing_on"), text.index("scarp-start"))
        self.assertLess(text.index("stats-done"), text.index(guest.FILE))
        self.assertIn("tracing_on", start_text())


if __name__ == "__main__":
    unittest.main()
