# SPDX-License-Identifier: GPL-2.0-or-later
"""docs/add-a-scheme.md, add-a-mapping.md, first-hour.patch: their code keeps the laws."""

from __future__ import annotations

import json
import subprocess
import unittest
from pathlib import Path

import changed_engine

ROOT = Path(__file__).resolve().parents[2]
TINY = ROOT / "tests" / "qtest" / "tiny.ini"


class Pages(unittest.TestCase):
    program: Path

    @classmethod
    def setUpClass(cls) -> None:
        cls.program = changed_engine.program()

    def replayed(self, scheme: str, *words: str) -> dict[str, int]:
        done = subprocess.run(
            [self.program, "--quiet", "-d", TINY, "--age", "900", "-s", scheme, *words,
             "-m", "closed", "-q", "8", "gen:mixed,requests=1000"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        stats: dict[str, int] = json.loads(done.stdout)["stats"]
        self.assertEqual(stats["cmds_accepted"], stats["cmds_completed"])
        return stats

    def listed(self) -> str:
        command = [str(self.program), "--list"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    def run_scheme(self, scheme: str, params: str) -> dict[str, int]:
        stats = self.replayed(scheme, "--params", params)
        self.assertEqual(stats["scheme"], scheme)
        self.assertGreater(stats["gc_runs"], 0)
        return stats

    def test_schemes(self) -> None:
        self.assertIn("windowed-greedy", self.listed())
        self.assertIn("gather", self.listed())
        self.run_scheme("windowed-greedy+pgc", "window=8")
        few = self.run_scheme("gather", "gather=2,gather_us=5000")
        many = self.run_scheme("gather", "gather=64,gather_us=5000")
        # Fewer than 64 ever wait: all of them wait for the timer.
        self.assertGreater(many["cause_host_queue_ns"], few["cause_host_queue_ns"] + 1000 * 1000000)

    def test_first_hour(self) -> None:
        self.assertIn("aged: ", self.listed())
        stats = self.replayed("aged+pgc")
        self.assertEqual(stats["scheme"], "aged+pgc")
        self.assertGreater(stats["gc_runs"], 0)

    def run_mapping(self, mapping: str, scheme: str, *words: str) -> dict[str, int]:
        keys = (f"ftl.mapping={mapping}", "ftl.over_provisioning_permille=400")
        options = [word for key in keys for word in ("-o", key)]
        stats = self.replayed(scheme, *options, *words)
        self.assertEqual(stats["oob_mismatches"], 0)
        self.assertGreater(stats["full_merges"], 0)
        return stats

    def test_mapping(self) -> None:
        self.assertIn("ftl.mapping=fifo: ", self.listed())
        for scheme in ("baseline", "pgc"):
            fifo, block = self.run_mapping("fifo", scheme), self.run_mapping("block", scheme)
            # Other log blocks go first: the page's mapping is not `block` by another name.
            self.assertNotEqual(fifo["gc_page_programs"], block["gc_page_programs"])
        ready = self.program.with_name("ready.json")
        cuts = ("-o", "nand.power_cuts=1", "-o", "ftl.recovery=1", f"--power-cut={ready}")
        self.run_mapping("fifo", "baseline", *cuts)
        self.assertGreater(json.loads(ready.read_text())["page_reads"], 0)

    def test_mapping_without_recovery(self) -> None:
        self.run_mapping("bare", "baseline")
        command = [str(self.program), "-d", str(TINY)]
        command += ["-o", "ftl.mapping=bare", "-o", "nand.power_cuts=1"]
        command += ["-o", "ftl.over_provisioning_permille=400", "-o", "ftl.recovery=1", "gen:mixed"]
        refused = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("ftl.mapping=bare: does not recover from power cuts", refused.stderr)
        self.assertEqual(refused.stderr.count("\n"), 1, refused.stderr)


if __name__ == "__main__":
    unittest.main()
