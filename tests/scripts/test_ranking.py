# SPDX-License-Identifier: GPL-2.0-or-later
"""`make ranking`: the words of a row, and what is read of a run of MQSim."""

from __future__ import annotations

import sys
import tempfile
import unittest
import xml.etree.ElementTree as ET
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "tests" / "bench")]

import mqsim  # noqa: E402
import peer  # noqa: E402
import ranking  # noqa: E402
from scarplib.dev import bench_engine  # noqa: E402
from scarplib.errors import UserError  # noqa: E402

# In MQSim's place: what it prints and writes of a load of which it lost eight requests, whose mean
# response time says 3,200 requests a second.
LOSES = """#!{python}
print("30% progress", "95% progress", sep="\\n", flush=True)
print("total requests generated: {generated} total requests serviced: {served}")
open("load_scenario_1.xml", "w").write(
    "<R><Host.IO_Flow><Device_Response_Time>10000</Device_Response_Time>"
    "<IOPS>2500.0</IOPS></Host.IO_Flow><SSD.FTL Total_GC_Executions='0'/></R>")
"""
UP, DOWN, MIXED = [1.1, 1.2], [0.9, 0.8], [0.9, 1.1]


class Verdicts(unittest.TestCase):
    def test_two_simulators_with_an_order(self) -> None:
        self.assertEqual(ranking.verdict(UP, UP), "agree")
        self.assertEqual(ranking.verdict(DOWN, DOWN), "agree")
        self.assertEqual(ranking.verdict(UP, DOWN), "differ")

    def test_seeds_that_say_different_things_are_no_order(self) -> None:
        self.assertEqual(ranking.verdict(MIXED, MIXED), "agree: neither has an order")
        self.assertEqual(ranking.verdict(MIXED, UP), "differ: Scarp alone has an order")
        self.assertEqual(ranking.verdict(UP, MIXED), "differ: MQSim alone has an order")

    def test_a_seed_without_a_rate_of_mqsim(self) -> None:
        left = ranking.ratios([2.0, None, 3.0], [1.0, 1.0, None])
        self.assertEqual(left, [2.0])
        self.assertRegex(ranking.verdict(left, [1.1, 1.1, 1.1]), "^not comparable: with 2 of ")


class MqsimRuns(unittest.TestCase):
    LOG = "SimulationTime(us)\tReponseTime(us)\tEndToEndDelay(us)\n7\t5\t5\n2000000\t5\t5\n"

    def said(self, served: int) -> str:
        return f"Flow 0 - total requests generated: 15000 total requests serviced:{served}\n"

    def test_requests_served_in_simulated_time(self) -> None:
        found = ranking.served(self.said(ranking.REQUESTS - 3), self.LOG)
        assert found
        self.assertEqual(found.lost(), 3)
        self.assertEqual(found.rate(), (ranking.REQUESTS - 3) / 2)

    def test_a_run_that_says_nothing(self) -> None:
        for log in ("", self.LOG.splitlines()[0], self.LOG + "cut of", self.LOG + "0\t5\t5"):
            self.assertIsNone(ranking.served(self.said(9), log))
        self.assertIsNone(ranking.served("nothing", self.LOG))

    def test_a_key_that_mqsim_has_not(self) -> None:
        with self.assertRaisesRegex(UserError, "MQSim's configuration has no Seeds"):
            ranking.with_keys(ET.Element("Seed"), {"Seeds": 1})


class Bench(unittest.TestCase):
    def test_a_rate_is_of_requests_served(self) -> None:
        load = next(one for one in mqsim.LOADS if one.name == "random-read")
        served = load.requests - 8
        with tempfile.TemporaryDirectory() as name:
            program = Path(name) / "mqsim"
            program.write_text(
                LOSES.format(python=sys.executable, generated=load.requests, served=served)
            )
            program.chmod(0o755)
            drive = mqsim.Drive(bench_engine.DRIVE, peer.OVERRIDES)
            sample = mqsim.run(program, drive, load, Path(name))
        self.assertAlmostEqual(sample.iops, 2500 * served / load.requests)

    def test_instructions_that_were_not_counted(self) -> None:
        self.assertEqual(bench_engine.collected("==7== Collected : 1234"), 1234)
        with self.assertRaisesRegex(UserError, "callgrind counted nothing"):
            bench_engine.collected("==7== Collected : 0")


if __name__ == "__main__":
    unittest.main()
