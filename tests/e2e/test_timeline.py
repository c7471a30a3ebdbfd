# SPDX-License-Identifier: GPL-2.0-or-later
"""scarp-replay --trace: what the timeline shows is what the statistics and the rows say."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import unittest
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "tests")]

import timeline  # noqa: E402
from scarplib.build import replayer  # noqa: E402
from scarplib.device_logs import command_log  # noqa: E402

DRIVE = ROOT / "tests" / "qtest" / "tiny.ini"
EVERYTHING = (
    "nand.cache=1,nand.multiplane=1,nand.suspend_program=1,nand.suspend_erase=1,"
    "ftl.unit_bytes=1024,controller.buffer_bytes=65536,geometry.planes_per_die=2"
)
READ_NS, PROGRAM_NS, ERASE_NS = 75_000, 750_000, 3_800_000


class Timeline(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.program = replayer.ensure_replay()

    def run_replay(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [str(self.program), "--quiet", "-d", str(DRIVE), "--age", "900", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def traced(
        self, *arguments: str
    ) -> tuple[list[timeline.Slice], dict[str, str], dict[str, Any], command_log.Commands]:
        path, rows = self.folder / "trace", self.folder / "rows"
        done = self.run_replay("--trace", str(path), "--cmd-log", str(rows), *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        slices, parents = timeline.read(path)
        return slices, parents, json.loads(done.stdout)["stats"], command_log.read_commands(rows)

    def check_commands(self, slices: list[timeline.Slice], rows: command_log.Commands) -> None:
        shown = [s for s in slices if s.track == "commands"]
        self.assertEqual(
            sorted(
                (s.begin_ns, s.end_ns, s.args["offset_bytes"], s.args["length_bytes"])
                for s in shown
            ),
            sorted(zip(rows.submit, rows.complete, rows.offset, rows.length, strict=True)),
        )
        for s in shown:
            causes = {name: s.args.get(f"{name}_ns", 0) for name in command_log.CAUSES}
            self.assertEqual(sum(causes.values()), s.ns, s)
        # As many tracks as were in flight at once, and no more.
        edges = sorted([(s.begin_ns, 1) for s in shown] + [(s.end_ns, -1) for s in shown])
        depth = deepest = 0
        for _, change in edges:
            depth += change
            deepest = max(deepest, depth)
        self.assertEqual(len({s.uuid for s in shown}), deepest)

    def check_flows(self, slices: list[timeline.Slice]) -> None:
        commands = {flow: s for s in slices if s.track == "commands" for flow in s.flows}
        served: dict[int, list[timeline.Slice]] = {}
        for s in slices:
            self.assertEqual(bool(s.flows), s.category in ("host", "flash"), s)
            if s.category == "flash":
                for flow in s.flows:
                    self.assertLessEqual(commands[flow].begin_ns, s.begin_ns)
                    served.setdefault(flow, []).append(s)
        for flow, command in commands.items():
            if command.name == "read" and command.args.get("array_ns"):
                ends = [s.end_ns for s in served[flow] if s.track.startswith("channel")]
                self.assertLessEqual(max(ends), command.end_ns)
                self.assertIn("host read", {s.name for s in served[flow]})

    def count(self, slices: list[timeline.Slice], track: str) -> Counter[str]:
        return Counter(
            s.name for s in slices if s.track.startswith(track) and not s.track.endswith("GC")
        )

    def test_everything_counted_is_shown(self) -> None:
        for scheme in ("baseline", "pgc", "pregc", "ideal"):
            with self.subTest(scheme):
                slices, parents, stats, rows = self.traced(
                    "-s", scheme, "-m", "closed", "-q", "8", "gen:mixed,requests=700"
                )
                self.assertGreater(stats["gc_runs"], 10)
                self.check_commands(slices, rows)
                self.check_flows(slices)
                array, bus = self.count(slices, "plane"), self.count(slices, "channel")
                self.assertEqual(array["host read"], stats["host_page_reads"])
                self.assertEqual(array["host program"], stats["host_page_programs"])
                self.assertEqual(bus["host read"], 2 * stats["host_page_reads"])
                self.assertEqual(bus["host program"], stats["host_page_programs"])
                if scheme == "ideal":
                    self.assertFalse([name for name in array + bus if "GC" in name])
                else:
                    self.assertEqual(array["GC program"], stats["gc_page_programs"])
                    self.assertEqual(array["GC erase"], stats["erases"])
                    self.assertEqual(bus["GC erase"], stats["erases"])
                runs = [s for s in slices if s.name == "GC"]
                self.assertEqual(len(runs), stats["gc_runs"])
                if scheme == "baseline":
                    self.assertEqual(sum(s.ns for s in runs), stats["gc_busy_ns"])
                times = {"read": READ_NS, "program": PROGRAM_NS, "erase": ERASE_NS}
                for s in slices:
                    if s.track.startswith("plane") and not s.track.endswith("GC"):
                        self.assertEqual(s.ns, times[s.name.split()[1]], s)
                self.assertEqual(parents["plane 0"], parents["plane 0 GC"])
                self.assertEqual(parents["channel 0"], "channels")

    def test_merges(self) -> None:
        for mapping, scheme in (("block", "baseline"), ("superblock", "pgc"), ("fast", "baseline")):
            with self.subTest(mapping):
                options = ("-o", f"ftl.mapping={mapping}", "-s", scheme, "-m", "closed", "-q", "8")
                slices, parents, stats, rows = self.traced(*options, "gen:mixed,requests=250")
                self.check_commands(slices, rows)
                self.check_flows(slices)
                runs = [s for s in slices if s.track.endswith("GC")]
                shown = Counter(s.name for s in runs)
                for kind in ("switch", "partial", "full"):
                    self.assertEqual(shown[f"{kind} merge"], stats[f"{kind}_merges"], kind)
                self.assertGreater(stats["partial_merges"] + stats["full_merges"], 50)
                # Nothing else is collected, and each shows what it copied.
                self.assertEqual(len(runs), stats["gc_runs"])
                self.assertNotIn("GC", shown)
                moved = sum(s.args["moved_units"] for s in runs)
                self.assertEqual(moved, stats["gc_moved_units"])
                self.assertEqual(parents["plane 0"], parents["plane 0 GC"])
                array = self.count(slices, "plane")
                self.assertEqual(array["GC program"], stats["gc_page_programs"])
                self.assertEqual(array["GC read"], stats["gc_page_reads"])

    def test_parity(self) -> None:
        parity = ("-o", "ftl.parity_width=4", "-o", "ftl.parity_stripes=8")
        slices, _, stats, rows = self.traced(
            *("-s", "ttflash", *parity, "-m", "closed", "-q", "8", "gen:mixed,requests=700")
        )
        self.check_commands(slices, rows)
        self.check_flows(slices)
        array = self.count(slices, "plane")
        self.assertGreater(stats["reconstructed_reads"], 0)
        self.assertEqual(array["parity program"], stats["parity_page_programs"])
        self.assertEqual(array["parity read"], stats["parity_page_reads"])
        for_host = stats["host_page_reads"] + stats["reconstruction_page_reads"]
        self.assertEqual(array["host read"], for_host)

    def test_suspended_cached_and_multiplane(self) -> None:
        slices, _, stats, rows = self.traced(
            "-s", "gc-vic", "-o", EVERYTHING, "-m", "closed", "-q", "16", "gen:mixed,requests=700"
        )
        self.check_commands(slices, rows)
        self.check_flows(slices)
        self.assertGreater(stats["suspends"], 0)
        self.assertGreater(stats["multiplane_groups"], 0)
        pieces = self.count(slices, "plane")
        bus = self.count(slices, "channel")
        self.assertEqual(bus["host read"], 2 * stats["host_page_reads"])
        self.assertEqual(bus["GC program"], stats["gc_page_programs"])
        # A suspension makes one array time two.
        whole = stats["host_page_programs"] + stats["gc_page_programs"] + stats["erases"]
        shown = pieces["host program"] + pieces["GC program"] + pieces["GC erase"]
        self.assertGreater(shown, whole)
        ns = sum(s.ns for s in slices if s.track.startswith("plane") and s.name == "GC erase")
        self.assertEqual(ns, ERASE_NS * stats["erases"])

    def test_window(self) -> None:
        every, *_ = self.traced("-m", "closed", "-q", "4", "gen:mixed,requests=1000")
        begin, end = 20_000_000, 60_000_000
        part, *_ = self.traced(
            "--trace-from",
            "20000",
            "--trace-for",
            "40000",
            "-m",
            "closed",
            "-q",
            "4",
            "gen:mixed,requests=1000",
        )

        def key(s: timeline.Slice) -> tuple[object, ...]:
            return s.track, s.begin_ns, s.end_ns, s.name, tuple(s.flows)

        wanted = sorted(key(s) for s in every if begin <= s.begin_ns < end)
        self.assertEqual(sorted(map(key, part)), wanted)
        self.assertGreater(len(wanted), 50)
        self.assertLess(len(wanted), len(every) / 2)

    def test_bad_options(self) -> None:
        for arguments, *words in (
            (("--trace-from", "5"), "--trace"),
            (("--trace-for", "-1"), "--trace-for", "from 0"),
            (("--trace", "/nonexistent/t"), "--trace", "/nonexistent/t"),
            (("--trace", "/dev/full"), "--trace", "/dev/full"),
        ):
            with self.subTest(arguments):
                done = self.run_replay(*arguments, "gen:mixed,requests=500")
                self.assertEqual(done.returncode, 1)
                self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
                for word in words:
                    self.assertIn(word, done.stderr)


if __name__ == "__main__":
    unittest.main()
