# SPDX-License-Identifier: GPL-2.0-or-later
"""What `scarp replay` says of traces: tables of one's own, odd times, formats that it has not."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from scarplib.build import replayer  # noqa: E402

DRIVE = ROOT / "tests" / "qtest" / "tiny.ini"
BLKPARSE = "8,16 3 {} {} 3645 D R {} + 8 [a]\n"


class Traces(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.trace = Path(folder.name) / "trace"
        replayer.ensure_replay()

    def replay(self, text: str, *words: str) -> subprocess.CompletedProcess[str]:
        self.trace.write_text(text)
        command = [str(ROOT / "scripts" / "scarp"), "replay", "-d", str(DRIVE), "--json", "-"]
        return subprocess.run(
            [*command, *words, str(self.trace)], capture_output=True, text=True, check=False
        )

    def test_own_columns(self) -> None:
        text = "at|what|where\n" + "".join(
            f"{i}.5|{'GET' if i % 2 else 'PUT'}|{i}\n" for i in range(9)
        )
        spec = "csv:time=1:us,op=2,offset=3:4096,length=3,read=GET,write=PUT,header=1,separator=bar"
        done = self.replay(text, "--format", spec)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        result = json.loads(done.stdout)
        self.assertEqual((result["reads"], result["writes"]), (4, 5))
        self.assertEqual(result["trace"]["format"], "csv")
        self.assertEqual(result["trace"]["span_ns"], 8000)
        done = self.replay(text, "--format", spec.replace("PUT", "SET"))
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn(f"{self.trace}:2: '0.5|PUT|0' is not a line of csv (column 2, op: 'PUT')",
                      done.stderr)  # fmt: skip

    def test_an_absolute_time_among_relative_ones(self) -> None:
        times = ["0.1", "0.2", "1300000000.0", "0.3", "0.2", "0.1"]
        text = "".join(BLKPARSE.format(i, at, i * 8) for i, at in enumerate(times))
        done = self.replay(text)
        self.assertEqual(done.returncode, 0, done.stderr)
        ahead, back, total = done.stderr.splitlines()
        self.assertIn(f"{self.trace}:3: time jumps ahead by 15046 days", ahead)
        self.assertIn(f"{self.trace}:4: time goes back by 1299999999.700000 s", back)
        self.assertIn("goes back 3 times, and jumps ahead by more than a day 1 times", total)

    def test_no_format(self) -> None:
        done = self.replay("what,is,this\n" * 9)
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (1, 1))
        listed = subprocess.run(
            [str(replayer.ensure_replay()), "--list"], capture_output=True, text=True, check=True
        ).stdout.split("\n\n")[-1]
        for line in listed.splitlines():
            self.assertIn(line.split(":")[0], done.stderr)
        self.assertIn("csv:time=1,op=2,offset=3,length=4", done.stderr)


if __name__ == "__main__":
    unittest.main()
