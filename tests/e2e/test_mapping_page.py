# SPDX-License-Identifier: GPL-2.0-or-later
"""docs/add-a-mapping.md: exactly the code on that page builds, is listed and keeps the laws."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "add-a-mapping.md"


class MappingPage(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.ftl = Path(holder.name) / "ftl"
        self.program = Path(holder.name) / "scarp-replay"
        shutil.copytree(ROOT / "ftl", self.ftl)

    def insert(self, file: str, before: str, text: str) -> None:
        source = (self.ftl / file).read_text()
        self.assertEqual(source.count(before), 1, (file, before))
        (self.ftl / file).write_text(source.replace(before, text + before))

    def build(self) -> None:
        flags = subprocess.run(
            ["pkg-config", "--cflags", "--libs", "glib-2.0", "zlib", "libzstd"],
            capture_output=True, text=True, check=True,
        ).stdout.split()  # fmt: skip
        done = subprocess.run(
            ["cc", "-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-DSCARP_CHECKED",
             f"-I{self.ftl}", "-o", str(self.program),
             *(str(path) for path in sorted(self.ftl.rglob("*.c"))
               if path.parent.name != "cuts"), *flags],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)

    def run_it(self, mapping: str, scheme: str, *words: str) -> dict[str, int]:
        done = subprocess.run(
            [self.program, "--quiet", "-d", ROOT / "tests" / "qtest" / "tiny.ini",
             "-o", f"ftl.mapping={mapping}", "-o", "ftl.over_provisioning_permille=400",
             "--age", "900", "-s", scheme, "-m", "closed", "-q", "8", *words,
             "gen:mixed,requests=3000"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        stats: dict[str, int] = json.loads(done.stdout)["stats"]
        self.assertEqual(stats["cmds_accepted"], stats["cmds_completed"])
        self.assertEqual(stats["oob_mismatches"], 0)
        self.assertGreater(stats["full_merges"], 0)
        return stats

    def test_the_page_builds_and_runs(self) -> None:
        code, kind, name, declaration, entry = re.findall(
            r"```c\n(.*?)```", PAGE.read_text(), re.DOTALL
        )
        (self.ftl / "map" / "fifo.c").write_text(code)
        self.insert("core/description.h", "    MAPPING__COUNT\n", kind)
        self.insert("core/description_check.c", "};\n\nstatic bool check_list", name)
        self.insert("map/internal.h", "#endif /* SCARP_MAP_INTERNAL_H */", declaration + "\n")
        self.insert("map/mapping.c", "};\n\nstatic const char *name_of", entry)
        self.build()
        listed = subprocess.run(
            [self.program, "--list"], capture_output=True, text=True, check=True
        ).stdout
        self.assertIn("ftl.mapping=fifo: ", listed)
        for scheme in ("baseline", "pgc"):
            fifo, block = self.run_it("fifo", scheme), self.run_it("block", scheme)
            # Other log blocks go first: the page's mapping is not `block` by another name.
            self.assertNotEqual(fifo["gc_page_programs"], block["gc_page_programs"])
        ready = self.program.with_name("ready.json")
        cuts = ("-o", "nand.power_cuts=1", "-o", "ftl.recovery=1", f"--power-cut={ready}")
        self.run_it("fifo", "baseline", *cuts)
        self.assertGreater(json.loads(ready.read_text())["page_reads"], 0)


if __name__ == "__main__":
    unittest.main()
