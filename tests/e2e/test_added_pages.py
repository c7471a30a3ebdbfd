# SPDX-License-Identifier: GPL-2.0-or-later
"""docs/add-a-scheme.md, add-a-mapping.md, first-hour.patch: their code builds and keeps the laws.

All are applied to one copy of the engine, which is built once.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TINY = ROOT / "tests" / "qtest" / "tiny.ini"


def blocks(page: str) -> list[str]:
    return re.findall(r"```c\n(.*?)```", (ROOT / "docs" / page).read_text(), re.DOTALL)


def insert(path: Path, before: str, text: str) -> None:
    source = path.read_text()
    assert source.count(before) == 1, (path, before)
    path.write_text(source.replace(before, text + before))


def add_scheme(ftl: Path, parts: list[str], file: str, like: str) -> None:
    """Does what the page says: a file, a declaration, and a line of the list."""
    code, declaration, entry = parts
    assert code.count("\n") < 100, file
    (ftl / file).write_text(code)
    insert(ftl / "policies.h", "#endif /* SCARP_POLICIES_H */", f"{declaration}\n")
    scheme = ftl / "drive" / "scheme.c"
    mark = f"    &scarp_{like}.policy,\n"
    assert mark in scheme.read_text(), mark
    scheme.write_text(scheme.read_text().replace(mark, mark + entry))


def add_mapping(ftl: Path) -> None:
    """The page's `fifo`, and `bare`: the same without what recovers from a power cut."""

    def bare(text: str) -> str:
        return text.replace("fifo", "bare").replace("FIFO", "BARE")

    code, kind, name, declaration, entry = blocks("add-a-mapping.md")
    ops = re.findall(r"^const ScarpMappingOps .*?^};\n", code, re.DOTALL | re.MULTILINE)[-1]
    cut = re.sub(r"^ *\.(recover|mend\w*) = .*\n", "", ops, flags=re.MULTILINE)
    assert len(cut.splitlines()) == len(ops.splitlines()) - 4, ops
    (ftl / "map" / "fifo.c").write_text(f"{code}\n{bare(cut)}")
    for file, before, text in (
        ("core/description.h", "    MAPPING__COUNT\n", kind),
        ("core/description_check.c", "};\n\nstatic bool check_list", name),
        ("map/internal.h", "#endif /* SCARP_MAP_INTERNAL_H */", declaration + "\n"),
        ("map/mapping.c", "};\n\nstatic const char *name_of", entry),
    ):
        insert(ftl / file, before, text + bare(text))


def build(ftl: Path, program: Path) -> None:
    flags = subprocess.run(
        ["pkg-config", "--cflags", "--libs", "glib-2.0", "zlib", "libzstd"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    found = sorted(ftl.rglob("*.c"))
    sources = [str(path) for path in found if path.parent.name not in ("cuts", "why")]
    command = ["cc", "-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-DSCARP_CHECKED"]
    command += [f"-I{ftl}", "-o", str(program), *sources, *flags]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


class Pages(unittest.TestCase):
    program: Path

    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        ftl = Path(folder.name) / "ftl"
        shutil.copytree(ROOT / "ftl", ftl)
        victim, host_queue = blocks("add-a-scheme.md")[:3], blocks("add-a-scheme.md")[3:]
        add_scheme(ftl, victim, "gc/victim_windowed.c", "victim_greedy")
        add_scheme(ftl, host_queue, "hil/policy_gather.c", "hil_noop")
        add_mapping(ftl)
        change = str(ROOT / "docs" / "first-hour.patch")
        patch = ["patch", "-p1", "-s", "-d", folder.name, "-i", change]
        subprocess.run(patch, check=True)
        cls.program = Path(folder.name) / "scarp-replay"
        build(ftl, cls.program)

    def replayed(self, scheme: str, *words: str) -> dict[str, int]:
        done = subprocess.run(
            [self.program, "--quiet", "-d", TINY, "--age", "900", "-s", scheme, *words,
             "-m", "closed", "-q", "8", "gen:mixed,requests=3000"],
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
