# SPDX-License-Identifier: GPL-2.0-or-later
"""`make ranking`: the words of a row, and the rate of MQSim's log."""

from __future__ import annotations

import sys
import tempfile
import unittest
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


class Rates(unittest.TestCase):
    def log(self, lost: int) -> list[str]:
        return [f"{n}\t5\t5" for n in range(1, ranking.REQUESTS - lost + 1)]

    def test_requests_served_in_simulated_time(self) -> None:
        # One completion each microsecond.
        self.assertEqual(ranking.served_rate(self.log(0), "x"), 1e6)
        self.assertEqual(ranking.served_rate(self.log(mqsim.LOST), "x"), 1e6)

    def test_too_many_lost(self) -> None:
        self.assertIsNone(ranking.served_rate(self.log(mqsim.LOST + 1), "x"))

    def test_a_log_that_says_nothing(self) -> None:
        for lines in ([], ["cut of"], [""]):
            with self.assertRaisesRegex(UserError, "MQSim's log of x"):
                ranking.served_rate(lines, "x")


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


class Schemes(unittest.TestCase):
    def test_mqsims_set_of_a_plane(self) -> None:
        self.assertEqual(ranking.RGA, 9)


if __name__ == "__main__":
    unittest.main()
