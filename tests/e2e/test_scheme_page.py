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
        code, declaration, entry = self.blocks()
        self.assertLess(code.count("\n"), 100)
        with tempfile.TemporaryDirectory() as folder:
            ftl = Path(folder) / "ftl"
            shutil.copytree(ROOT / "ftl", ftl)
            (ftl / "gc" / "victim_windowed.c").write_text(code)
            policy, scheme = ftl / "policy.h", ftl / "flow" / "scheme.c"
            text = policy.read_text()
            policy.write_text(
                text.replace("/* flow/scheme.c */", declaration + "\n/* flow/scheme.c */")
            )
            mark = "    &scarp_victim_greedy.policy,\n"
            self.assertIn(mark, scheme.read_text())
            scheme.write_text(scheme.read_text().replace(mark, mark + entry))
            flags = subprocess.run(
                ["pkg-config", "--cflags", "--libs", "glib-2.0", "zlib", "libzstd"],
                capture_output=True,
                text=True,
                check=True,
            ).stdout.split()
            program = Path(folder) / "scarp-replay"
            sources = [str(path) for path in sorted(ftl.rglob("*.c"))]
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
            done = subprocess.run(
                [
                    program,
                    "--quiet",
                    "-d",
                    ROOT / "tests" / "qtest" / "tiny.ini",
                    "--age",
                    "900",
                    "-s",
                    "windowed-greedy+pgc",
                    "--params",
                    "window=8",
                    "-m",
                    "closed",
                    "-q",
                    "8",
                    "gen:mixed,requests=3000",
                ],
                capture_output=True,
                text=True,
                check=False,
            )
            self.assertEqual(done.returncode, 0, done.stderr)
            stats = json.loads(done.stdout)["stats"]
            self.assertEqual(stats["scheme"], "windowed-greedy+pgc")
            self.assertGreater(stats["gc_runs"], 0)
            self.assertEqual(stats["cmds_accepted"], stats["cmds_completed"])


if __name__ == "__main__":
    unittest.main()
