# SPDX-License-Identifier: GPL-2.0-or-later
"""MQSim as a drive to be probed, without MQSim: traces, its log, and a program that answers."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import unittest
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BENCH = ROOT / "tests" / "bench"
sys.path[:0] = [str(ROOT / "scripts"), str(BENCH)]

import mqsim  # noqa: E402
import mqsim_drive  # noqa: E402
import probed_peer  # noqa: E402
from scarplib.errors import UserError  # noqa: E402
from scarplib.own_drive.plan import FLUSH, READ, TRIM, WRITE, Row, Step  # noqa: E402

DRIVE = mqsim.Drive(probed_peer.DESCRIPTION, mqsim_drive.OVERRIDES)
# It serves so many at once, each in 1,000 ns, and loses every so-manieth write; it logs as MQSim.
FAKE = """#!{python}
import sys
import xml.etree.ElementTree as ET
if len(sys.argv) != 5:
    print("MQSim - a fake")
    sys.exit(1)
at_once = int(ET.parse("ssd.xml").getroot().find(".//Queue_Fetch_Size").text)
writes = 0
slots = [0] * at_once
lines = []
for line in open("load.trace"):
    at, _, sector, sectors, kind = map(int, line.split())
    writes += kind == 0
    slot = min(range(at_once), key=slots.__getitem__)
    begin = max(at, slots[slot])
    if kind == 0 and {lose} and writes % {lose} == 0:
        slots[slot] = 1 << 62
        continue
    end = slots[slot] = begin + 1_000_000
    if end < 1 << 60:
        lines.append((end, (end - at) // 1000 % (1 << 32)))
with open("load.IO_Flow.No_0.log", "w") as log:
    print("SimulationTime(us)\\tReponseTime(us)\\tEndToEndDelay(us)", file=log)
    for end, delay in sorted(lines):
        print(end // 1000, 0, delay, sep="\\t", file=log)
"""


def step(name: str, rows: list[Row], depth: int | None = None, each: bool = False) -> Step:
    def given() -> Iterator[Row]:
        yield from rows

    return Step(name, given, depth=depth, each=each)


class TraceTest(unittest.TestCase):
    """What MQSim is given."""

    def test_each_request_has_a_time_of_its_own(self) -> None:
        trace = mqsim_drive.Trace()
        rows: list[Row] = [(0, WRITE, 4096, 8192), (0, FLUSH, 0, 0), (0, READ, 0, 512)]
        self.assertEqual(trace.add(rows, 100), [0, -1, 1])
        self.assertEqual(trace.text(), "100000 0 8 16 0\n102000 0 0 1 1\n")

    def test_what_came_before_is_written_slowly(self) -> None:
        rows: list[Row] = [(0, WRITE, 0, 4096), (0, READ, 0, 4096), (0, WRITE, 0, 131072)]
        self.assertEqual(
            mqsim_drive.slowly(rows),
            [(0, WRITE, 0, 4096), (mqsim_drive.SLOW_SMALL_NS, WRITE, 0, 131072)],
        )

    def test_the_drive_is_a_thousand_times_slower(self) -> None:
        tree = mqsim_drive.configuration(DRIVE, 7)
        for name, value in (
            ("Page_Read_Latency_LSB", "60000000"),
            ("Channel_Transfer_Rate", "1"),
            ("PCIe_Lane_Bandwidth", "0.001"),
            ("Queue_Fetch_Size", "7"),
            ("GC_Exec_Threshold", "0.1"),
        ):
            self.assertEqual(tree.findtext(f".//{name}"), value)

    def test_a_drive_that_it_cannot_be(self) -> None:
        for key in ("timing.channel_mts=800", "geometry.blocks_per_plane=4"):
            with self.assertRaises(UserError):
                mqsim_drive.check(
                    mqsim.Drive(probed_peer.DESCRIPTION, ",".join((mqsim_drive.OVERRIDES, key)))
                )


class LogTest(unittest.TestCase):
    """What MQSim says."""

    def test_a_request_is_known_by_when_it_came(self) -> None:
        log = "head\n30\t0\t18\n40\t0\t30\n"
        self.assertEqual(mqsim_drive.completions(log, [10, 12, 14]), [40, 30, None])

    def test_a_long_wait_has_lost_its_upper_bits(self) -> None:
        done = (1 << 32) + 50
        log = f"head\n{done}\t0\t40\n"
        self.assertEqual(mqsim_drive.completions(log, [10]), [done])

    def test_what_is_none(self) -> None:
        for log in ("head\n30 20\n", "head\n30 0 x\n", "head\n30 0 15\n"):
            with self.assertRaises(UserError):
                mqsim_drive.completions(log, [10])


class ProbeTest(unittest.TestCase):
    """Steps, on a program in MQSim's place."""

    def setUp(self) -> None:
        # pylint: disable-next=consider-using-with
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def prober(self, lose: int) -> mqsim_drive.Prober:
        program = self.folder / "MQSim"
        program.write_text(FAKE.format(python=sys.executable, lose=lose))
        program.chmod(0o755)
        return mqsim_drive.Prober(mqsim_drive.Run(program, DRIVE, self.folder), base_ns=300)

    def test_so_many_at_once(self) -> None:
        load = step("load", [(0, READ, i * 4096, 4096) for i in range(8)], 2, each=True)
        found = self.prober(0).closed([], load)
        assert found and found.reads
        self.assertEqual(found.reads.n, 8)
        # The first two came a moment apart, and the second of them came after the step's begin.
        self.assertTrue(all(abs(one - 1000) <= 2 for one in found.each), found.each)

    def test_lost_requests_no_longer_hold_places(self) -> None:
        before = step("before", [(0, WRITE, i * 4096, 4096) for i in range(5)], 4)
        load = step("load", [(0, READ, i * 4096, 4096) for i in range(8)], 1)
        prober = self.prober(5)
        found = prober.closed([before], load)
        assert found and found.reads
        self.assertEqual((found.reads.n, prober.lost["load"]), (8, 0))

    def test_a_step_that_the_device_does_not_survive(self) -> None:
        load = step("load", [(0, WRITE, i * 4096, 4096) for i in range(8)], 2)
        prober = self.prober(3)
        self.assertIsNone(prober.closed([], load))
        self.assertGreaterEqual(prober.lost["load"], 2)

    def test_timed_ones(self) -> None:
        rows: list[Row] = [(0, TRIM, 0, 1 << 20), (0, WRITE, 0, 4096), (50_000, FLUSH, 0, 0)]
        found = self.prober(0).timed([step("load", rows, each=True)])["load"]
        self.assertEqual(found.each, [300, 1000, 300])

    def test_a_timed_one_may_not_lack_what_is_needed(self) -> None:
        rows: list[Row] = [(i * 50_000, WRITE, 0, 4096) for i in range(4)]
        with self.assertRaises(UserError):
            self.prober(3).timed([step("load", rows, each=True)])
        found = self.prober(3).timed([step("load", rows)])["load"]
        assert found.writes
        self.assertEqual(found.writes.n, 3)

    def test_one_that_fails(self) -> None:
        run = mqsim_drive.Run(Path("/bin/false"), DRIVE, self.folder)
        with self.assertRaises(UserError):
            run(mqsim_drive.Trace(), 1)

    def test_a_program_that_is_none(self) -> None:
        done = subprocess.run(
            [sys.executable, str(BENCH / "mqsim_drive.py"), "/bin/true"],
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(done.returncode, 1)
        self.assertIn("is not MQSim", done.stderr)


if __name__ == "__main__":
    unittest.main()
