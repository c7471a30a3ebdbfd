# SPDX-License-Identifier: GPL-2.0-or-later
"""docs/add-a-scheme.md: exactly the code on that page builds, is listed and keeps the laws."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "add-a-scheme.md"


class SchemePage(unittest.TestCase):
    def blocks(self) -> list[str]:
        return re.findall(r"```c\n(.*?)```", PAGE.read_text(), re.DOTALL)

    def test_the_page_builds_and_runs(self) -> None:
        victim, host_queue = self.blocks()[:3], self.blocks()[3:]
        self.assertEqual(len(host_queue), 3)
        with tempfile.TemporaryDirectory() as folder:
            ftl = Path(folder) / "ftl"
            shutil.copytree(ROOT / "ftl", ftl)
            self.add(ftl, victim, "gc/victim_windowed.c", "victim_greedy")
            self.add(ftl, host_queue, "hil/policy_gather.c", "hil_noop")
            flags = subprocess.run(
                ["pkg-config", "--cflags", "--libs", "glib-2.0", "zlib", "libzstd"],
                capture_output=True,
                text=True,
                check=True,
            ).stdout.split()
            program = Path(folder) / "scarp-replay"
            sources = [str(path) for path in sorted(ftl.rglob("*.c")) if path.parent.name != "cuts"]
            built = subprocess.run(
                [
                    "cc",
                    "-std=gnu11",
                    "-O1",
                    "-Wall",
                    "-Wextra",
                    "-Werror",
                    "-DSCARP_CHECKED",
                    f"-I{ftl}",
                    "-o",
                    str(program),
                    *sources,
                    *flags,
                ],
                capture_output=True,
                text=True,
                check=False,
            )
            self.assertEqual(built.returncode, 0, built.stderr)
            listed = subprocess.run([program, "--list"], capture_output=True, text=True, check=True)
            self.assertIn("windowed-greedy", listed.stdout)
            self.assertIn("gather", listed.stdout)
            self.run_scheme(program, "windowed-greedy+pgc", "window=8")
            few = self.run_scheme(program, "gather", "gather=2,gather_us=5000")
            many = self.run_scheme(program, "gather", "gather=64,gather_us=5000")
            # Fewer than 64 ever wait: all of them wait for the timer.
            self.assertGreater(
                many["cause_host_queue_ns"], few["cause_host_queue_ns"] + 1000 * 1000000
            )

    def add(self, ftl: Path, blocks: list[str], file: str, like: str) -> None:
        """Does what the page says: a file, a declaration, and a line of the list."""
        code, declaration, entry = blocks
        self.assertLess(code.count("\n"), 100)
        (ftl / file).write_text(code)
        policy, scheme = ftl / "policy.h", ftl / "drive" / "scheme.c"
        end = "/* drive/scheme.c */"
        policy.write_text(policy.read_text().replace(end, f"{declaration}\n{end}"))
        mark = f"    &scarp_{like}.policy,\n"
        self.assertIn(mark, scheme.read_text())
        scheme.write_text(scheme.read_text().replace(mark, mark + entry))

    def run_scheme(self, program: Path, scheme: str, params: str) -> dict[str, int]:
        done = subprocess.run(
            [program, "--quiet", "-d", ROOT / "tests" / "qtest" / "tiny.ini", "--age", "900",
             "-s", scheme, "--params", params, "-m", "closed", "-q", "8",
             "gen:mixed,requests=3000"],
            capture_output=True,
            text=True,
            check=False,
        )  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        stats: dict[str, int] = json.loads(done.stdout)["stats"]
        self.assertEqual(stats["scheme"], scheme)
        self.assertGreater(stats["gc_runs"], 0)
        self.assertEqual(stats["cmds_accepted"], stats["cmds_completed"])
        return stats


if __name__ == "__main__":
    unittest.main()
