# SPDX-License-Identifier: GPL-2.0-or-later
"""`make bench PEER=…` without MQSim: a program in its place answers, fails, or serves nothing."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BENCH = ROOT / "tests" / "bench"
sys.path[:0] = [str(ROOT / "scripts"), str(BENCH)]

import mqsim  # noqa: E402
import peer  # noqa: E402
from scarplib.dev import bench_engine  # noqa: E402
from scarplib.errors import UserError  # noqa: E402

DRIVE = mqsim.Drive(bench_engine.DRIVE, peer.OVERRIDES)
SEQUENTIAL, COLLECTING, READING = (replace(load, requests=1000) for load in mqsim.LOADS)
# It reads the files that it is given, as MQSim does, and answers with what the test has set.
FAKE = """#!{python}
import array, fcntl, sys, termios, time
import xml.etree.ElementTree as ET
if len(sys.argv) != 5:
    print("MQSim - a fake")
    sys.exit(1)
arguments = dict(zip(sys.argv[1::2], sys.argv[2::2]))
ET.parse(arguments["-i"])
n = int(ET.parse(arguments["-w"]).getroot().find(".//Total_Requests_To_Generate").text)
lost, marks, collections, moved, status, response = {answer!r}
def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
burn(0.3)
for mark in marks:
    print(f"[==>  ] {{mark}}% progress in Host.IO_Flow.Synth.No_0", flush=True)
    # However busy the host is, its reader comes first.
    unread = array.array("i", [1])
    while unread[0]:
        time.sleep(0.02)
        fcntl.ioctl(sys.stdout, termios.FIONREAD, unread)
    time.sleep(0.02)
    burn(0.02)
print(f"Flow Host.IO_Flow.Synth.No_0 - total requests generated: {{n}} "
      f"total requests serviced:{{n - lost}}")
with open(arguments["-w"].removesuffix(".xml") + "_scenario_1.xml", "w") as stream:
    print("<MQSim_Results><Host><Host.IO_Flow>"
          f"<Device_Response_Time>{{response}}</Device_Response_Time></Host.IO_Flow></Host>"
          f'<SSDDevice.FTL Total_GC_Executions="{{collections}}" '
          f'Average_Page_Movement_For_GC="{{moved}}"/></MQSim_Results>', file=stream)
if sys.stdin.read(1):
    print("a key")
sys.exit(status)
"""
ALL = tuple(range(5, 101, 5))


class Peer(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)

    def fake(
        self,
        lost: int = 0,
        marks: tuple[int, ...] = ALL,
        collections: int = 0,
        moved: str = "-nan",
        status: int = 0,
        response: str = "100",
    ) -> Path:
        program = self.folder / "MQSim"
        answer = (lost, marks, collections, moved, status, response)
        program.write_text(FAKE.format(python=sys.executable, answer=answer))
        program.chmod(0o755)
        return program

    def run_it(self, load: mqsim.Load, program: Path) -> mqsim.Sample:
        return mqsim.run(program, DRIVE, load, self.folder)

    def refused(self, words: str, load: mqsim.Load, program: Path) -> None:
        with self.assertRaisesRegex(UserError, words):
            self.run_it(load, program)

    def test_cpu_time_between_the_marks_alone(self) -> None:
        sample = self.run_it(SEQUENTIAL, self.fake())
        # 13 of the 20 burn 20 ms each for 65 % of 1,000 requests; what is before does not count,
        # nor does sleep.
        least = 13 * 20_000_000 / 650
        self.assertGreater(sample.ns_per_request, least * 0.8)
        self.assertLess(sample.ns_per_request, least * 1.8)
        self.assertEqual((sample.write_amplification, sample.iops), (1.0, 320_000.0))

    def test_collections_and_amplification(self) -> None:
        pages = DRIVE.number("geometry.pages_per_block")
        sample = self.run_it(COLLECTING, self.fake(collections=10, moved=str(pages - 100)))
        self.assertAlmostEqual(sample.write_amplification, 1 + 10 * (pages - 100) / 1000)
        self.refused("collected too little", COLLECTING, self.fake())
        few = self.fake(collections=10, moved=str(pages - 10))
        self.refused("collected too little", COLLECTING, few)
        self.refused("without GC", SEQUENTIAL, self.fake(collections=1, moved="1"))

    def test_success_that_served_nothing_or_too_little(self) -> None:
        self.refused("served 0 of 1,000", READING, self.fake(lost=1000, marks=()))
        self.refused("served 983 of 1,000", READING, self.fake(lost=mqsim.LOST + 1))
        # Without the last line of progress, as MQSim ends when requests were lost.
        self.assertGreater(
            self.run_it(READING, self.fake(lost=mqsim.LOST, marks=ALL[:-1])).ns_per_request, 0
        )

    def test_failures(self) -> None:
        self.refused("exit status 3", READING, self.fake(status=3))
        self.refused("told no progress", READING, self.fake(marks=ALL[:10]))
        self.refused("Device_Response_Time", READING, self.fake(response="soon"))
        silent = self.folder / "silent"
        silent.write_text("#!/bin/sh\nkill -SEGV $$\n")
        silent.chmod(0o755)
        self.refused("exit status -11.*said nothing", READING, silent)

    def test_configuration_is_the_drive(self) -> None:
        tree = mqsim.configuration(DRIVE, COLLECTING)
        for name, text in (
            ("Flash_Channel_Count", "8"),
            ("Chip_No_Per_Channel", "4"),
            ("Plane_No_Per_Die", "2"),
            ("Block_No_Per_Plane", "256"),
            ("Page_Capacity", "4096"),
            ("Page_Program_Latency_LSB", "750000"),
            ("Block_Erase_Latency", "3800000"),
            ("Channel_Transfer_Rate", "1000"),
            ("Overprovisioning_Ratio", "0.2"),
            ("GC_Exec_Threshold", "0.125"),
            ("Enabled_Preconditioning", "true"),
        ):
            self.assertEqual(tree.findtext(f".//{name}"), text, name)
        flow = mqsim.workload(DRIVE, READING)
        self.assertEqual(flow.findtext(".//Average_Request_Size"), "8")
        self.assertEqual(flow.findtext(".//Channel_IDs"), "0,1,2,3,4,5,6,7")


class Named(unittest.TestCase):
    def refused(self, program: str) -> str:
        done = subprocess.run(
            [sys.executable, str(BENCH / "peer.py"), program],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertEqual(done.stdout, "")
        return done.stderr

    def test_one_line_for_what_is_not_mqsim(self) -> None:
        for program, words in (
            ("/nonexistent/MQSim", "not an executable file"),
            (str(ROOT), "not an executable file"),
            (str(ROOT / "README.md"), "not an executable file"),
            ("/bin/true", "is not MQSim"),
        ):
            with self.subTest(program):
                said = self.refused(program)
                self.assertIn(f"PEER: '{program}'", said)
                self.assertIn(words, said)

    def test_make_hands_it_over(self) -> None:
        ours = {"MAKEFLAGS", "MFLAGS", "MAKELEVEL"}
        done = subprocess.run(
            ["make", "--no-print-directory", "-n", "bench", "PEER=/some/MQSim", "ROUNDS=2"],
            # Run by `make test`, it would take that one's options and be a recursive make.
            env={k: v for k, v in os.environ.items() if k not in ours},
            cwd=ROOT, capture_output=True, text=True, check=True,
        )  # fmt: skip
        self.assertEqual(
            shlex.split(done.stdout)[-4:], ["tests/bench/peer.py", "--rounds", "2", "/some/MQSim"]
        )
