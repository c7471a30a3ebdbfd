# SPDX-License-Identifier: GPL-2.0-or-later
"""`make bench-realtime ARGS=--guest` on synthetic logs, and the self-test of `scarp doctor`."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import re
import subprocess
import sys
import time
import unittest
from pathlib import Path
from typing import Any, cast
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(Path(__file__).parent)]

import synthetic  # noqa: E402
from scarplib.dev import bench_engine, bench_realtime, bench_realtime_guest, doctor  # noqa: E402
from scarplib.device_logs import command_log  # noqa: E402
from scarplib.device_logs.log_file import HEADER, LogError  # noqa: E402
from scarplib.errors import UserError  # noqa: E402
from scarplib.experiments import folder as folders  # noqa: E402
from scarplib.guest import host_load, realtime  # noqa: E402
from scarplib.results.pictures.self_test import figure_self_test  # noqa: E402
from test_realtime import Folder  # noqa: E402


class GuestBesideStock(Folder):
    """`make bench-realtime ARGS=--guest` without a guest."""

    def given(self, name: str, latencies: list[int]) -> None:
        job = {"jobname": "randread", "error": 0, "read": synthetic.fio_part(latencies, 1.0)}
        (self.folder / f"{name}.json").write_text(json.dumps({"jobs": [job]}))

    def setUp(self) -> None:
        """Two rounds of two reads, and what is not theirs: a read before, and a write between."""
        super().setUp()
        commands = [(50, 0, 9_000_000, 0)]
        for number in (1, 2):
            begin = number * 10**9
            for name, now in (("begin", begin), ("end", begin + 10**6)):
                page = synthetic.stats_page("baseline", now, {})
                (self.folder / f"{name}-{number}.bin").write_bytes(page)
            commands += [
                (begin, 0, 80_000, 3_000 * number),
                (begin + 300_000, 1, 700_000, 100_000),
                (begin + 10**6, 0, 100_000, 5_000 * number),
                (begin + 10**6 + 1, 1, 700_000, 100_000),
            ]
            self.given(f"flash-{number}", [200_000 + 10_000 * number, 220_000])
            self.given(f"stock-{number}", [130_000])
        layout = command_log.LAYOUT
        rows = [synthetic.command(at, op, {"array": wanted}) for at, op, wanted, _ in commands]
        head = HEADER.pack(layout.magic, layout.row.size, layout.causes, layout.version)
        (self.folder / "cmd.bin").write_bytes(head + b"".join(rows))
        self.write_lateness(
            [
                (at - 500, at - 500 + wanted + late, at, at + wanted, number, op)
                for number, (at, op, wanted, late) in enumerate(commands)
            ]
        )

    def test_each_round_has_its_own_reads(self) -> None:
        found = bench_realtime_guest.read_rounds(self.folder, self.folder, 2)
        self.assertEqual(
            found,
            [
                (2, 215_000, 90_000, 125_000, 4_000, 130_000, -5_000),
                (2, 220_000, 90_000, 130_000, 8_000, 130_000, 0),
            ],
        )
        last = bench_realtime_guest.table(found).splitlines()[-1]
        self.assertEqual(last.split()[1:], ["217.5", "90.0", "127.5", "6.0", "130.0", "-2.5"])

    def test_other_reads_than_fios_are_an_error(self) -> None:
        self.given("flash-2", [200_000] * 3)
        with self.assertRaisesRegex(LogError, "cmd.bin: 2 reads, but fio made 3"):
            bench_realtime_guest.read_rounds(self.folder, self.folder, 2)

    def test_one_drive_after_the_other(self) -> None:
        text = bench_realtime_guest.task_text(2, 7)
        devices = re.findall(r"SCARP_DEV=(\S+) fio .*/(\w+)-(\d)\.json", text)
        each = [("$SCARP_DEV0", "flash"), ("$SCARP_DEV1", "stock")]
        self.assertEqual(devices, [(*who, str(n)) for n in range(3) for who in each])
        self.assertIn("export SCARP_SECONDS=7\n", text)


def round_of(late_ns: int, moved: int) -> dict[str, Any]:
    """What is said of ten commands."""
    lateness_ns = {f"late_{name}_ns": late_ns for name in ("p50", "p99", "p99_9", "max")}
    shares = {f"{name}_share": 0.5 for name in ("thread_cpu", "behind", "stolen")}
    return {
        "per_second": 1.0,
        "completed": 10,
        "gc_moved_units": moved,
        "priority": 1,
        **lateness_ns,
        **shares,
    }


class Line(unittest.TestCase):
    def test_what_collections_moved(self) -> None:
        self.assertIn(
            " 1 /s, 2.7 units moved for each (2 per", bench_realtime.line(round_of(5, 27))
        )
        self.assertNotIn("moved", bench_realtime.line(round_of(5, 0)))


class Priority(unittest.TestCase):
    def policies(self, rate: int, spin_ns: int, seconds: int, enough: set[int]) -> set[int]:
        """Of the drive's thread with so many reads a second, until these have been seen."""
        program = bench_realtime.ensure_program()
        words = [program, bench_engine.DRIVE, bench_realtime.QUICK, "reads", "1000"]
        found: set[int] = set()
        with subprocess.Popen(
            [*map(str, words), str(rate), str(spin_ns), str(seconds)], stdout=subprocess.DEVNULL
        ) as process:
            while found != enough and process.poll() is None:
                for thread in Path(f"/proc/{process.pid}/task").glob("*"):
                    with contextlib.suppress(OSError):
                        if (thread / "comm").read_text() == "nvme-flash\n":
                            found.add(os.sched_getscheduler(int(thread.name)))
                time.sleep(0.01)
            process.kill()
        return found

    def test_not_for_a_thread_that_never_sleeps(self) -> None:
        """The kernel would stop it for 50 ms of each second."""
        if not realtime.allows_priority(1) or len(os.sched_getaffinity(0)) < 2:
            self.skipTest("this host gives no priority")
        both = {os.SCHED_FIFO, os.SCHED_OTHER}
        self.assertEqual(self.policies(1000, 10**9, 300, both), both)
        self.assertEqual(self.policies(10, 0, 2, both), {os.SCHED_FIFO})


class SelfTest(Folder):
    """`scarp doctor`, whatever this host's lateness is."""

    def doctor(self, p99_ns: int) -> tuple[int, str]:
        """Its status, and what it says of a test of this 99th percentile."""

        def measure(*arguments: Any) -> dict[str, Any]:
            folder = arguments[-1]
            (folder / "lateness.csv").write_text(
                "host_ns,completions,late_p50_ns,late_max_ns\n5000000000,9,1000,7000\n"
                "7000000000,9,0,9000\n"
            )
            (folder / "load.csv").write_text(f"{host_load.HEAD}\n6000000000,900,10,400\n")
            return round_of(p99_ns, moved=0)

        with (
            mock.patch.object(doctor, "CHECKS", {"cores": doctor.cores}),
            mock.patch.object(folders, "OUT", self.folder),
            mock.patch.object(bench_realtime, "ensure_program"),
            mock.patch.object(bench_realtime, "measure", measure),
            contextlib.redirect_stdout(io.StringIO()) as said,
        ):
            return doctor.main(), said.getvalue()

    def test_it_ends_with_a_picture(self) -> None:
        mine = self.folder / "doctor" / "mine"
        mine.parent.mkdir()
        mine.touch()
        status, said = self.doctor(20_000)
        self.assertEqual(status, 0)
        self.assertTrue(mine.exists())
        (picture,) = self.folder.glob("*-doctor/lateness.png")
        self.assertIn(f"load: {picture}\ngood", said)
        self.assertEqual(picture.read_bytes()[1:4], b"PNG")
        above, below = figure_self_test(picture.parent).axes
        greatest, median, *_ = above.lines
        self.assertEqual(list(cast(Any, greatest.get_xdata())), [0, 2])
        self.assertEqual(list(cast(Any, greatest.get_ydata())), [7000, 9000])
        self.assertEqual(list(cast(Any, median.get_ydata())), [1000, 100])
        busy = below.lines[0]
        self.assertEqual(list(cast(Any, busy.get_xdata())), [1])
        self.assertEqual(list(cast(Any, busy.get_ydata())), [90])

    def test_too_late(self) -> None:
        status, said = self.doctor(20_001)
        self.assertEqual(status, 1)
        self.assertIn("doubtful", said)

    def test_every_completion_is_in_the_course(self) -> None:
        load = bench_realtime.Load("few reads", "reads", 5_000)
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        found = bench_realtime.measure(bench_realtime.ensure_program(), load, 1, self.folder)
        after = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        with (self.folder / "lateness.csv").open() as stream:
            rows = [{k: int(cell) for k, cell in row.items()} for row in csv.DictReader(stream)]
        self.assertGreater(found["completed"], 0)
        self.assertEqual(sum(row["completions"] for row in rows), found["completed"])
        self.assertEqual(max(row["late_max_ns"] for row in rows), found["late_max_ns"])
        for row in rows:
            self.assertLessEqual(row["late_p50_ns"], row["late_max_ns"])
        times = [row["host_ns"] for row in rows]
        self.assertEqual(times, sorted(set(times)))
        self.assertTrue(before < times[0] and times[-1] < after)
        self.assertTrue((self.folder / "load.csv").read_text().startswith(host_load.HEAD))

    def test_the_course_needs_a_rate(self) -> None:
        load = bench_realtime.Load("reads", "reads", 0)
        with self.assertRaisesRegex(UserError, "lateness.csv': needs a RATE"):
            bench_realtime.measure(bench_realtime.ensure_program(), load, 1, self.folder)


if __name__ == "__main__":
    unittest.main()
