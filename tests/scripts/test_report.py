# SPDX-License-Identifier: GPL-2.0-or-later
"""Logs, numbers, table and report, on synthetic files with known answers."""

from __future__ import annotations

import json
import re
import struct
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(Path(__file__).parent)]

import synthetic  # noqa: E402
from scarplib.device_logs import command_log, engine_tables, gc_log, log_page  # noqa: E402
from scarplib.device_logs.log_file import LogError  # noqa: E402
from scarplib.results import best, causes, fio, percentiles, summary  # noqa: E402
from scarplib.results.table import mapping_rows, operation_rows, table_text  # noqa: E402
from scarplib.results.units import human_ns  # noqa: E402


class Folder(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)


class Layout(unittest.TestCase):
    """The names' order, in the engine's tables and here, is that of its public header."""

    def setUp(self) -> None:
        self.header = (ROOT / "ftl" / "scarp.h").read_text()

    def test_causes(self) -> None:
        line = r"^    SCARP_CAUSE_(?!_)(\w+)(?: = SCARP_CAUSE__COUNT)?,"
        names = re.findall(line, self.header, re.MULTILINE)
        self.assertEqual([name.lower() for name in names], list(command_log.ALL_CAUSES))
        self.assertIn("SCARP_CAUSE_DIE_FOLD_READ = SCARP_CAUSE__COUNT,", self.header)
        self.assertEqual(command_log.ALL_CAUSES[len(command_log.CAUSES)], "die_fold_read")

    def test_stats(self) -> None:
        body = self.header[: self.header.index("} ScarpStats;")]
        body = body[body.rindex("typedef struct {") :]
        before, after = body.split("uint64_t cause_ns[SCARP_CAUSE__COUNT];")
        names = re.compile(r"uint64_t (\w+);")
        causes = [f"cause_{name}_ns" for name in engine_tables.causes()]
        wanted = [*names.findall(before), *causes, *names.findall(after)]
        self.assertEqual(wanted, list(engine_tables.statistics()))

    def test_ops(self) -> None:
        names = re.findall(r"SCARP_OP_(?!_COUNT)(\w+),", self.header)
        self.assertEqual([name.lower() for name in names], list(command_log.OPS))


class Logs(Folder):
    def test_only_the_window_counts(self) -> None:
        synthetic.write_scheme(self.folder, "baseline", count=50)
        everything = command_log.read_commands(self.folder / "cmd.bin")
        window = command_log.read_commands(self.folder / "cmd.bin", synthetic.BEGIN_NS)
        self.assertEqual((len(everything), len(window)), (51, 50))
        unseen = command_log.read_commands(self.folder / "cmd.bin", unseen=True)
        self.assertEqual((len(unseen), unseen.status[-1]), (52, 0))

    def test_causes_must_add_up(self) -> None:
        synthetic.write_scheme(self.folder, "baseline", count=3)
        path = self.folder / "cmd.bin"
        data = bytearray(path.read_bytes())
        data[-1] ^= 1
        path.write_bytes(data)
        with self.assertRaisesRegex(LogError, "row 4: causes add up"):
            command_log.read_commands(path, unseen=True)

    def test_damage_is_named(self) -> None:
        synthetic.write_scheme(self.folder, "baseline", count=3)
        path = self.folder / "cmd.bin"
        data = path.read_bytes()
        for damaged, message in (
            (data[:-5], "no whole number"),
            (b"X" + data[1:], "begins with"),
            (data[:7], "too few"),
            (data[:16] + struct.pack("<Q", 1) + data[24:], "layout version 1"),
            (data[:12] + struct.pack("<I", 3) + data[16:], "3 causes"),
        ):
            path.write_bytes(damaged)
            with self.subTest(message), self.assertRaisesRegex(LogError, message):
                command_log.read_commands(path)
        with self.assertRaisesRegex(LogError, "No such file"):
            gc_log.read_gc_runs(self.folder / "absent")

    def test_gc_window_keeps_overlaps(self) -> None:
        rows = [(10, 20, 0, 0, 1, 5), (30, 40, 1, 1, 2, 6), (50, 60, 2, 2, 3, 7)]
        path = self.folder / "gc.bin"
        head = struct.pack("<8sII16x", b"SCARPGC1", 32, 0)
        path.write_bytes(head + b"".join(struct.pack("<qqIIII", *row) for row in reversed(rows)))
        self.assertEqual([run.moved for run in gc_log.read_gc_runs(path, 20, 49)], [5, 6])


class Numbers(Folder):
    def test_a_percentile_of_few_is_their_greatest(self) -> None:
        for percent in percentiles.PERCENTILES:
            for count in (1, 2, 50, 99, 100, 101, 150, 999, 1000, 1001, 9999, 10000, 10001):
                values = list(range(count))
                greatest = percentiles.percentile(values, percent) == count - 1
                with self.subTest(f"p{percent} of {count}"):
                    self.assertEqual(percentiles.has(percent, count), not greatest)
        found = {f"p{percent}_ns": 2000 for percent in percentiles.PERCENTILES}
        operations = {"commit": {"count": 150, "mean_ns": 1000, "max_ns": 3000, **found}}
        rows = dict(operation_rows([{"fio": {}, "script": {"operations": operations}}]))
        for label, cell in (("p50", "2.00 µs"), ("p99", "2.00 µs"), ("p99.9", "–"),
                            ("p99.99", "–"), ("max", "3.00 µs")):  # fmt: skip
            self.assertEqual(rows[f"  {label}"], [cell], label)
        # Of one the median is itself.
        operations["commit"]["count"] = 1
        rows = dict(operation_rows([{"fio": {}, "script": {"operations": operations}}]))
        self.assertEqual((rows["  p50"], rows["  p99"]), (["2.00 µs"], ["–"]))

    def test_percentile_is_nearest_rank(self) -> None:
        values = list(range(1, 10_001))
        for percent, expected in (("50", 5000), ("99", 9900), ("99.9", 9990), ("99.99", 9999)):
            self.assertEqual(percentiles.percentile(values, percent), expected)
        self.assertEqual(percentiles.percentile([7], "99.99"), 7)

    def test_scheme(self) -> None:
        synthetic.write_scheme(self.folder, "baseline")
        data = summary.load_scheme(self.folder, "baseline")
        result = data.summary
        for direction, op in (("read", 0), ("write", 1)):
            latencies = sorted(data.commands.latencies(op))
            seen, device = result["fio"][direction], result["device"][direction]
            self.assertEqual(seen["count"], len(latencies))
            self.assertEqual(device["max_ns"], latencies[-1])
            # The synthetic guest adds nothing to the device's latency.
            for key in ("p50_ns", "p99_ns", "p99.9_ns", "p99.99_ns", "max_ns"):
                self.assertEqual(seen[key], device[key])
        first, last = min(data.commands.submit), max(data.commands.complete)
        self.assertEqual((result["begin_ns"], result["end_ns"]), (first, last))
        self.assertEqual(result["virtual_ns"], last - first)
        writes, moved = result["stats"]["writes"], result["gc_units_moved"]
        self.assertGreater(moved, 0)
        self.assertEqual(result["write_amplification"], (writes + moved) / writes)

    def test_tail_is_explained_exactly(self) -> None:
        synthetic.write_scheme(self.folder, "baseline")
        data = summary.load_scheme(self.folder, "baseline")
        tail = data.summary["tail_causes"]["read"]
        latencies = sorted(data.commands.latencies(0), reverse=True)
        self.assertEqual(tail["count"], len(latencies) // 1000)
        self.assertEqual(sum(tail["cause_ns"].values()), sum(latencies[: tail["count"]]))
        gc_share = tail["cause_ns"]["die_gc_program"] + tail["cause_ns"]["die_erase"]
        self.assertGreater(gc_share / sum(tail["cause_ns"].values()), 0.9)

    def test_untrustworthy_runs_have_no_summary(self) -> None:
        good = {"cmds_accepted": 5, "cmds_completed": 5}
        for change, message in (
            ({"cmds_completed": 4}, "1 commands were accepted but not completed"),
            ({"oob_mismatches": 2}, "2 reads met a foreign"),
        ):
            synthetic.write_scheme(self.folder, "baseline", count=20)
            end = synthetic.stats_page("baseline", 10**12, {**good, **change})
            (self.folder / "stats-end.bin").write_bytes(end)
            with self.subTest(message), self.assertRaisesRegex(LogError, message):
                summary.load_scheme(self.folder, "baseline")

    def test_fio_failures(self) -> None:
        path = self.folder / "fio.json"
        for text, message in (
            ("", "not fio's JSON"),
            ('{"jobs": []}', "no job"),
            ('{"jobs": [{"jobname": "a", "error": 28}]}', "job 'a' failed with error 28"),
        ):
            path.write_text(text)
            with self.subTest(text), self.assertRaisesRegex(LogError, message):
                fio.load_fio(path)

    def test_jobs_merge(self) -> None:
        def job(values: list[int]) -> dict[str, Any]:
            return {"read": synthetic.fio_part(values, 2.0), "write": {"total_ios": 0}}

        merged = synthetic.fio_figures("read", job([10] * 98), job([50, 70]))
        assert merged is not None
        self.assertEqual((merged["count"], merged["iops"]), (100, 50.0))
        self.assertEqual((merged["p50_ns"], merged["p99_ns"], merged["max_ns"]), (10, 50, 70))
        self.assertEqual(merged["mean_ns"], 11)
        self.assertIsNone(synthetic.fio_figures("write", job([10])))

    def test_mean_and_percentiles_are_of_one_latency(self) -> None:
        # As fio has it by itself: a histogram from the issue on, and of the whole only a mean.
        part: dict[str, Any] = {
            "total_ios": 4,
            "lat_ns": {"N": 4, "mean": 900.0, "max": 1200},
            "clat_ns": {"N": 4, "mean": 85.0, "max": 100, "bins": {"80": 3, "100": 1}},
        }
        found = synthetic.fio_figures("read", {"read": part}) or {}
        self.assertEqual(
            [found[k] for k in ("mean_ns", "p50_ns", "p99.99_ns", "max_ns")], [85, 80, 100, 100]
        )
        # As `lat_percentiles=1` has it.
        part["lat_ns"] = {**part["lat_ns"], "bins": {"800": 3, "1200": 1}}
        found = synthetic.fio_figures("read", {"read": part}) or {}
        self.assertEqual(
            [found[k] for k in ("mean_ns", "p50_ns", "p99.99_ns", "max_ns")], [900, 800, 1200, 1200]
        )
        del part["lat_ns"], part["clat_ns"]["bins"]
        found = synthetic.fio_figures("read", {"read": part}) or {}
        self.assertEqual((found["mean_ns"], "p50_ns" in found), (85, False))

    def test_human(self) -> None:
        for value, text in (
            (1234, "1.23 µs"),
            (80_830, "80.8 µs"),
            (999_999, "1.00 ms"),
            (123_400_000, "123 ms"),
            (2_500_000_000, "2.50 s"),
            (None, "–"),
        ):
            self.assertEqual(human_ns(value), text)


class Report(Folder):
    def write_run(self) -> dict[str, Any]:
        schemes = {}
        for name, gc in (("baseline", True), ("ideal", False)):
            synthetic.write_scheme(self.folder / name, name, gc=gc)
            loaded = summary.load_scheme(self.folder / name, name).summary
            schemes[name] = {**loaded, "wall_s": 12.3}
        result = {
            "schema": summary.SCHEMA,
            "job": "mixed.fio",
            "device": "demo.ini",
            "schemes": schemes,
            "manifest": {"qemu": "abc"},
        }
        (self.folder / "summary.json").write_text(json.dumps(result))
        return result

    def test_table(self) -> None:
        schemes = self.write_run()["schemes"]
        text = table_text(schemes)
        lines = text.splitlines()
        self.assertEqual(lines[0].split(), ["baseline", "ideal"])
        labels = [line.split("  ")[1] if line.startswith("  ") else line for line in lines[1:]]
        for wanted in ("IOPS", "mean", "p50", "p99", "p99.9", "p99.99", "max"):
            self.assertEqual(labels.count(wanted), 2, f"{wanted} for reads and for writes")
        for wanted in ("GC runs", "pages moved", "write amplification", "virtual"):
            self.assertEqual(labels.count(wanted), 1)
        self.assertIn(f"{schemes['baseline']['gc_runs']}", text)
        # Columns line up: every line with cells ends where the head does.
        ends = {len(line) for line in lines if re.search(r"\S {2,}\S", line) or line == lines[0]}
        self.assertEqual(len(ends), 1, text)

    def test_mappings_say_what_they_did(self) -> None:
        page: dict[str, int] = {"full_merges": 0, "map_hits": 0, "map_misses": 0}
        self.assertEqual(mapping_rows([page, {}]), [])
        fast = {"switch_merges": 0, "partial_merges": 2, "full_merges": 1234}
        self.assertEqual(
            mapping_rows([fast, page]),
            [("  switch merges", ["0", "0"]), ("  partial merges", ["2", "0"]),
             ("  full merges", ["1,234", "0"])],
        )  # fmt: skip
        demand = {"map_hits": 1, "map_misses": 7}
        self.assertEqual(
            mapping_rows([demand, page]), [("  mapping entries in RAM", ["12.5 %", "–"])]
        )

    def test_what_merges_is_not_called_gc(self) -> None:
        schemes = self.write_run()["schemes"]
        self.assertIn("  die: GC program", table_text(schemes))
        schemes["ideal"]["stats"]["partial_merges"] = 1
        text = table_text(schemes)
        self.assertIn("  die: merge program", text)
        self.assertNotIn("die: GC", text)
        tail = schemes["baseline"]["tail_causes"]["read"]
        self.assertIn("% die: merge program", causes.tail_text(tail, merging=True))
        self.assertIn("% die: GC program", causes.tail_text(tail))

    def test_write_amplification_counts_every_move(self) -> None:
        stats = dict.fromkeys(log_page.fields(), 0)
        self.assertIsNone(summary.write_amplification(stats))
        stats["host_written_units"] = 100
        self.assertEqual(summary.write_amplification(stats), 1)
        own = ("gc_moved_units", "premigrated_units", "padded_units", "parity_page_programs")
        for number, name in enumerate(own, 1):
            stats[name] = 10 * number
        self.assertEqual(summary.write_amplification(stats), 2)

    def test_cliff(self) -> None:
        schemes = self.write_run()["schemes"]
        found = re.fullmatch(
            r"The reads' 99.9th percentile: baseline is ([\d.]+) times ideal.",
            best.cliff(schemes) or "",
        )
        assert found
        self.assertGreater(float(found[1]), 5)

    def test_pictures_and_page(self) -> None:
        try:
            from scarplib.results import report
        except ImportError as error:
            self.skipTest(f"runs in the cache's venv: {error}")
        self.write_run()
        report.write_report(self.folder)
        for name in ("tail.png", "tail-read.png", "latency.png", "cdf.png", "causes.png"):
            self.assertEqual((self.folder / name).read_bytes()[:8], b"\x89PNG\r\n\x1a\n")
        text = (self.folder / "report.html").read_text()
        self.assertEqual(text.count("data:image/png;base64,"), 4)
        # Each scheme's tail in words, and the words that they use.
        self.assertRegex(text, r"<b>baseline</b>: its slowest 0.1 % of reads .* die: GC program")
        self.assertRegex(text, r"<b>ideal</b>: its slowest 0.1 % of reads .* on average")
        self.assertIn("<dt>die: GC program</dt>", text)
        headings = re.findall("<h2>(.*?)</h2>", text)
        self.assertEqual(headings[1:3], ["In numbers", "Latency over time"])
        self.assertNotRegex(text, r"https?://|src=\"(?!data:)", "must open without a network")
        self.assertIn("&#34;qemu&#34;: &#34;abc&#34;", text)

    def test_percentiles_of_the_picture(self) -> None:
        try:
            from scarplib.results.pictures import tail
        except ImportError as error:
            self.skipTest(f"runs in the cache's venv: {error}")
        ordered = list(range(1, 10_001))
        xs, ys = tail.percentile_curve(ordered)
        self.assertEqual((xs[0], xs[-1], ys[0], ys[-1]), (0, 4, 1, 10_000))
        for x, y in zip(xs, ys, strict=True):
            self.assertAlmostEqual(y / 10_000, 1 - 10**-x, delta=2e-4)
        self.assertEqual(tail.percentile_curve([7])[1][-1], 7)

    def test_every_cause_is_explained_and_coloured(self) -> None:
        self.assertEqual(set(causes.CAUSE_LABELS), set(command_log.ALL_CAUSES))
        self.assertEqual(set(causes.CAUSE_SENTENCES), set(command_log.ALL_CAUSES))
        for words in (*causes.labels(True).values(), *causes.sentences(True).values()):
            self.assertNotRegex(words, r"\bGC\b|garbage")
        self.assertEqual(list(causes.labels(True)), list(causes.labels(False)))
        try:
            from scarplib.results.pictures import style
        except ImportError as error:
            self.skipTest(f"runs in the cache's venv: {error}")
        self.assertEqual(set(style.CAUSE_COLOURS), set(command_log.ALL_CAUSES))

    def test_gc_spans(self) -> None:
        try:
            from scarplib.results.pictures import latency_over_time
        except ImportError as error:
            self.skipTest(f"runs in the cache's venv: {error}")
        self.assertEqual(latency_over_time.merge_spans([(5, 7), (0, 2), (3, 4)], 1), [(0, 7)])
        self.assertEqual(latency_over_time.merge_spans([(5, 7), (0, 2)], 1), [(0, 2), (5, 7)])
        synthetic.write_scheme(self.folder / "b", "b")
        times, counts = latency_over_time.gc_steps(summary.load_scheme(self.folder / "b", "b"))
        self.assertEqual(times, sorted(times))
        self.assertEqual((counts[0], counts[-1]), (0, 0))
        self.assertGreater(max(counts), 0)


if __name__ == "__main__":
    unittest.main()
