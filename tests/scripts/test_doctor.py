# SPDX-License-Identifier: GPL-2.0-or-later
"""The self-test of `scarp doctor`, and the priority of the thread that it measures."""

from __future__ import annotations

import contextlib
import csv
import io
import os
import subprocess
import sys
import time
import unittest
from pathlib import Path
from typing import Any, cast
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(Path(__file__).parent)]

from scarplib.dev import bench_engine, bench_realtime, doctor  # noqa: E402
from scarplib.errors import UserError  # noqa: E402
from scarplib.guest import host_load, kvm_firmware, realtime  # noqa: E402
from scarplib.results.pictures.self_test import figure_self_test  # noqa: E402
from scarplib.runs import folder as folders  # noqa: E402
from test_realtime import Folder  # noqa: E402


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


class Kvm(unittest.TestCase):
    """What `scarp doctor` says of KVM: Linux boots, the firmware alone runs, or neither."""

    def said(self, why: str, usable: bool, runs: bool) -> str:
        with (
            mock.patch.object(doctor, "ensure_qemu"),
            mock.patch.object(doctor, "kvm_trouble", return_value=why),
            mock.patch.object(doctor, "kvm_usable", return_value=usable),
            mock.patch.object(kvm_firmware, "runs", return_value=runs),
        ):
            return doctor.CHECKS["KVM"]()

    def test_which_guests_run(self) -> None:
        self.assertEqual(self.said("", True, True), "a Linux guest boots on it")
        bare = self.said("it died", True, True)
        self.assertIn("without an operating system alone", bare)
        self.assertIn("Linux does not boot (it died)", bare)
        self.assertEqual(self.said("it died", True, False), "no: it died; runs are on TCG")
        self.assertEqual(self.said("no /dev/kvm", False, True), "no: no /dev/kvm; runs are on TCG")

    def test_firmware_that_gets_ready(self) -> None:
        ready = kvm_firmware.READY.decode()
        for script, limit_s, expected in (
            (
                f"printf 'SeaBIOS\n{ready[:5]}'; sleep 0.1; echo '{ready[5:]}'; exec sleep 600",
                60,
                True,
            ),
            ("echo SeaBIOS; exit 1", 60, False),
            ("echo SeaBIOS; exec sleep 600", 0.3, False),
        ):
            self.assertEqual(kvm_firmware.says_ready(["sh", "-c", script], limit_s), expected)


if __name__ == "__main__":
    unittest.main()
