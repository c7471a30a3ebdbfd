# SPDX-License-Identifier: GPL-2.0-or-later
"""fio's results, whatever the job: what is read of them, and the rows that are made of it."""

from __future__ import annotations

import copy
import json
import shutil
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(Path(__file__).resolve().parent)]

import synthetic  # noqa: E402
from fio_said import SAID  # noqa: E402
from scarplib.device_logs import log_page  # noqa: E402
from scarplib.device_logs.command_log import DEALLOCATE, FLUSH  # noqa: E402
from scarplib.device_logs.log_file import LogError  # noqa: E402
from scarplib.errors import UserError  # noqa: E402
from scarplib.guest import clock, fio_job  # noqa: E402
from scarplib.own_drive import fio_json  # noqa: E402
from scarplib.results import (  # noqa: E402
    best,
    fio,
    fio_figures,
    host_rows,
    job_names,
    room_left,
    summary,
    table,
)


class Folder(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def said(self, name: str, before: str = "", behind: str = "") -> Path:
        """A file of fio's; `name` is one of SAID."""
        path = self.folder / "fio.json"
        path.write_text(before + json.dumps(SAID[name], indent=1) + behind)
        return path

    def run_of(self, name: str) -> fio.FioRun:
        return fio.load_fio(self.said(name))

    def headings(self, name: str) -> list[str]:
        """Of the table of a run that fio said this of."""
        part = fio_figures.summed_up(self.run_of(name))
        rows = host_rows.host_rows([part]) + host_rows.durable_rows([part])
        return [label for label, cells in rows if not cells]


class Groups(Folder):
    def test_jobs_that_took_turns_are_not_added_up(self) -> None:
        run = self.run_of("stonewall")
        self.assertFalse(run.together)
        self.assertEqual([unit.name for unit in run.units()], ["first", "second", "third"])
        found = fio_figures.summed_up(run)
        self.assertEqual(found["fio"], {"read": None, "write": None})
        own = [job["read"]["iops"] for job in SAID["stonewall"]["jobs"]]
        rates = [group["fio"]["read"]["iops"] for group in found["groups"]]
        self.assertEqual(rates, [round(iops, 3) for iops in own])
        self.assertEqual(
            self.headings("stonewall"), ["first: reads", "second: reads", "third: reads"]
        )

    def test_an_old_fio_says_no_times(self) -> None:
        of = copy.deepcopy(SAID["stonewall"])
        for job in of["jobs"]:
            del job["job_start"]
        (self.folder / "old.json").write_text(json.dumps(of))
        run = fio.load_fio(self.folder / "old.json")
        self.assertFalse(run.together)
        self.assertEqual(len(run.units()), 3)
        for job in of["jobs"]:
            job["groupid"] = 0
            job.pop("job options", None)
        (self.folder / "old.json").write_text(json.dumps(of))
        self.assertTrue(fio.load_fio(self.folder / "old.json").together)

    def test_groups_that_ran_together_have_a_total_and_rows_of_their_own(self) -> None:
        run = self.run_of("ramp")
        self.assertTrue(run.together)
        self.assertEqual([unit.name for unit in run.units()], ["long", "beside"])
        found = fio_figures.summed_up(run)
        own = [job["read"]["iops"] for job in SAID["ramp"]["jobs"]]
        self.assertAlmostEqual(found["fio"]["read"]["iops"], sum(own), places=2)
        self.assertEqual([group["name"] for group in found["groups"]], ["long", "beside"])

    def test_clones_are_one_row(self) -> None:
        found = fio_figures.summed_up(self.run_of("unified"))
        clones = found["groups"][-1]
        self.assertEqual((clones["name"], clones["fio"]["write"]["count"]), ("clones", 48))

    def test_jobs_of_one_group_that_took_turns(self) -> None:
        """startdelay and wait_for begin no group."""
        of = copy.deepcopy(SAID["stonewall"])
        for job in of["jobs"]:
            job["groupid"] = 0
        path = self.folder / "turns.json"
        path.write_text(json.dumps(of))
        self.assertEqual(len(fio.load_fio(path).units()), 3)

    def test_two_groups_may_have_a_job_of_one_name(self) -> None:
        of = copy.deepcopy(SAID["stonewall"])
        for job in of["jobs"]:
            job["jobname"] = "a"
        path = self.folder / "same.json"
        path.write_text(json.dumps(of))
        units = fio.load_fio(path).units()
        self.assertEqual([unit.name for unit in units], ["a", "a (2)", "a (3)"])


class Directions(Folder):
    def test_reads_and_writes_as_one_population(self) -> None:
        groups = {
            g["name"]: g["fio"] for g in fio_figures.summed_up(self.run_of("unified"))["groups"]
        }
        self.assertEqual(groups["one"]["mixed"]["count"], 16)
        self.assertIsNone(groups["one"]["read"])
        self.assertEqual(groups["both"]["mixed"]["count"], 16)
        parts = [groups["both"][of]["count"] for of in ("read", "write")]
        self.assertEqual(sum(parts), 16)
        self.assertNotIn("mixed", groups["none"])
        self.assertIn("one: reads, writes and trims as one, through the page cache",
                      self.headings("unified"))  # fmt: skip
        # What is one population has no bytes of writes by themselves.
        self.assertIsNone(fio_figures.written_bytes(self.run_of("unified")))

    def test_trims_and_fsyncs_are_rows(self) -> None:
        found = fio_figures.summed_up(self.run_of("trims"))["fio"]
        self.assertEqual(found["trim"]["count"], 8)
        self.assertIn("none: fsync", self.headings("unified"))

    def test_deallocations_and_flushes_of_the_drive_are_rows(self) -> None:
        synthetic.write_scheme(self.folder, "baseline", count=50)
        rows = [
            synthetic.command(synthetic.BEGIN_NS + at, op, {"controller": 1000})
            for at, op in enumerate((DEALLOCATE, DEALLOCATE, FLUSH), 1)
        ]
        log = self.folder / "cmd.bin"
        log.write_bytes(log.read_bytes()[:32] + b"".join(rows))
        self.said("trims")
        found = summary.load_scheme(self.folder, "baseline").summary
        self.assertEqual(found["device"]["trim"]["count"], 2)
        text = table.table_text({"baseline": found})
        for wanted in ("\ntrims", "deallocations at the drive", "slowest 0.1 % of deallocations",
                       "flushes at the drive"):  # fmt: skip
            self.assertIn(wanted, "\n" + text)

    def test_no_percentile_is_above_the_maximum(self) -> None:
        """A bin's value is its middle."""
        part = {
            "total_ios": 2,
            "lat_ns": {"N": 2, "mean": 90, "max": 101, "bins": {"80": 1, "103": 1}},
        }
        found = synthetic.fio_figures("read", {"read": part}) or {}
        self.assertEqual((found["p99.9_ns"], found["max_ns"]), (101, 101))
        for name in SAID:
            if name == "full":
                continue
            for job in self.run_of(name).jobs:
                for of in job.parts.values():
                    points = [*of.latencies.bins, *of.latencies.points.values()]
                    self.assertLessEqual(max(points, default=0), of.latencies.maximum)

    def test_what_ends_in_the_page_cache_is_called_so(self) -> None:
        for options, cached in (
            ({"direct": "1"}, False), ({"direct": "0"}, True), ({"rw": "read"}, True),
            ({"buffered": "0"}, False), ({"ioengine": "io_uring_cmd"}, False), ({}, False),
        ):  # fmt: skip
            of: dict[str, Any] = {"job options": options, "read": {"total_ios": 1}}
            found = synthetic.fio_figures("read", of) or {}
            self.assertEqual(found.get("page_cache"), "all" if cached else None, options)
        some = [{"job options": {"direct": x}, "read": {"total_ios": 1}} for x in "01"]
        part = {"fio": {"read": synthetic.fio_figures("read", *some)}}
        self.assertEqual(host_rows.label([part], "", "read"), "reads, some through the page cache")
        synthetic.write_scheme(self.folder, "baseline", count=50)
        text = (self.folder / "fio.json").read_text().replace('"direct": "1"', '"direct": "0"')
        (self.folder / "fio.json").write_text(text)
        shown = table.table_text({"x": summary.load_scheme(self.folder, "x").summary})
        self.assertIn("\nwrites, through the page cache", shown)
        self.assertIn("\nwrites at the drive", shown)


class Failures(Folder):
    def test_a_job_that_failed_is_a_failed_run(self) -> None:
        with self.assertRaisesRegex(LogError, "job 'full' failed with error 28"):
            self.run_of("full")
        with self.assertRaisesRegex(UserError, "job 'full' failed with error 28"):
            fio_json.rows(self.said("full"))

    def test_lines_around_the_json(self) -> None:
        notes = "note: {both iodepth >= 1} and\nfio: {a line\n"
        path = self.said("batch", notes, "\nfio: a line behind\n")
        self.assertEqual(len(fio.load_fio(path).jobs), 1)
        # What --status-interval prints: the last is the whole.
        two = json.dumps(SAID["trims"]) + "\n" + json.dumps(SAID["batch"]) + "\n"
        path.write_text(two)
        self.assertEqual(fio.load_fio(path).jobs[0].name, "batch")
        path = self.said("stonewall", notes)
        self.assertEqual([row.rw for row in fio_json.rows(path)], ["randread"] * 3)


class Beside(Folder):
    def test_what_the_stand_in_would_ignore_is_refused(self) -> None:
        words = "iodepth_batch=4, iodepth_batch_complete_min=4: a description is not asked"
        with self.assertRaisesRegex(UserError, words):
            fio_json.rows(self.said("batch"))
        for name, value, good in (
            ("iodepth_batch", "1", True), ("iodepth_low", "8", True), ("iodepth_low", "2", False),
            ("thinktime", "0", True), ("bssplit", "4k/50:8k/50", False), ("sync", "1", False),
            ("io_submit_mode", "offload", False), ("write_lat_log", "x", True),
            ("random_distribution", "zipf:1.1", False), ("direct", "0", False),
            ("unified_rw_reporting", "both", True), ("unified_rw_reporting", "mixed", False),
        ):  # fmt: skip
            of = copy.deepcopy(SAID["batch"])
            for gone in ("iodepth_batch", "iodepth_batch_complete_min"):
                of["global options"].pop(gone)
            of["global options"][name] = value
            path = self.folder / "x.json"
            path.write_text(json.dumps(of))
            with self.subTest(f"{name}={value}"):
                if good:
                    self.assertEqual(len(fio_json.rows(path)), 1)
                else:
                    with self.assertRaisesRegex(UserError, name):
                        fio_json.rows(path)

    def test_half_a_kilobyte_is_told(self) -> None:
        of = copy.deepcopy(SAID["stonewall"])
        of["global options"]["bs"] = "512"
        path = self.folder / "x.json"
        path.write_text(json.dumps(of))
        self.assertEqual(fio_json.rows(path)[0].name, "randread 512 x 1")


class Windows(Folder):
    """The drive's commands and fio's ramp."""

    def setUp(self) -> None:
        super().setUp()
        synthetic.write_scheme(self.folder, "baseline", count=400)
        of = copy.deepcopy(SAID["ramp"])
        self.plain = summary.load_scheme(self.folder, "baseline")
        del of["jobs"][1]
        # Half of the commands are in the ramp.
        self.middle = sorted(self.plain.commands.submit)[200]
        wall = 1_704_067_200_000_000_000
        of["jobs"][0]["job_start"] = (wall + self.middle) // 1_000_000 + 1
        (self.folder / "fio.json").write_text(json.dumps(of))
        self.wall = wall

    def told(self) -> None:
        """The guest's clock when the drive's page was read."""
        page = log_page.read(self.folder / "stats-end.bin").now_ns
        (self.folder / clock.FILE).write_text(
            f"now at {page} nsecs\n  .offset:     {self.wall} nsecs\n"
        )

    def test_the_ramp_is_cut(self) -> None:
        self.told()
        found = summary.load_scheme(self.folder, "baseline")
        self.assertGreaterEqual(min(found.commands.submit), self.middle)
        self.assertLess(len(found.commands), 200)
        self.assertGreater(len(found.commands), 150)
        self.assertEqual(found.summary["begin_ns"], min(found.commands.submit))
        self.assertEqual(found.summary["ramp"], "cut")
        self.assertIn("without fio's ramp", summary.ramp_notes({"x": found.summary})[0])
        self.assertIn("drive, with fio's ramp", table.table_text({"x": found.summary}))

    def test_it_is_said_where_it_is_not(self) -> None:
        found = summary.load_scheme(self.folder, "baseline")
        self.assertEqual(len(found.commands), 400)
        self.assertIn("are of the ramp, too", summary.ramp_notes({"x": found.summary})[0])

    def test_rows_carry_the_jobs_name(self) -> None:
        self.told()
        name = job_names.of_run(self.folder)
        assert name
        self.assertEqual(name(self.middle + 3_000_000, "read"), "long")
        self.assertEqual(name(self.middle - 3_000_000, "read"), "")
        (self.folder / clock.FILE).unlink()
        name = job_names.of_run(self.folder)
        assert name
        self.assertEqual(name(0, "write"), "long")

    def test_which_jobs_are_timed(self) -> None:
        for text, timed in (
            ("[global]\nrw=read\n[a]\n", False), ("[a]\nramp_time=3\n", True),
            ("[a]\n[b]\nstonewall\n", True), ("[a]\n; [b]\n", False), ("[a]\n[b]\n", True),
        ):  # fmt: skip
            self.assertEqual(clock.wanted(text), timed, text)
        self.assertIsNone(clock.wall_ns("now at nsecs"))


class Best(Folder):
    def test_each_kind_of_work_has_its_best(self) -> None:
        def of(read: int, write: int, sync: int) -> dict[str, Any]:
            values = {"read": read, "write": write, "sync": sync}
            return {"fio": {x: {"count": 9999, "p99.9_ns": v} for x, v in values.items()}}

        schemes = {"baseline": of(9_000_000, 5000, 800), "pgc": of(3_000_000, 6000, 800)}
        lines = best.words(schemes)
        self.assertEqual(lines[0], "The reads' 99.9th percentile: baseline is 3.0 times pgc.")
        self.assertEqual(
            lines[2:],
            ["  reads: pgc 3.00 ms, baseline 9.00 ms", "  writes: baseline 5.00 µs, pgc 6.00 µs",
             "  fsync: baseline = pgc 0.80 µs"],
        )  # fmt: skip
        # Of a job without reads the writes speak.
        for scheme in schemes.values():
            scheme["fio"]["read"] = None
        self.assertIn("The writes' 99.9th percentile: pgc is 1.2 times", best.cliff(schemes) or "")

    def test_no_collection(self) -> None:
        none = {"stats": {"gc_runs": 0, "erases": 0}}
        said = room_left.no_collection({"schemes": {"a": none, "b": none}}, self.folder) or ""
        self.assertIn("No collection ran: the schemes cannot differ.", said)
        some = {"stats": {"gc_runs": 1, "erases": 1}}
        self.assertIsNone(room_left.no_collection({"schemes": {"a": some}}, self.folder))


class Jobs(Folder):
    def job(self, text: str) -> Path:
        path = self.folder / "my.fio"
        path.write_text(text)
        return path

    def test_a_jobs_files_come_along(self) -> None:
        (self.folder / "a.log").write_text("fio version 2 iolog\n")
        (self.folder / "p").write_text("x")
        text = "[a]\nread_iolog = a.log:a.log\nverify_pattern='p'\nrw=read\n"
        found = fio_job.read(self.job(text))
        self.assertIn(
            "read_iolog = /scarp/job-files/0-a.log:/scarp/job-files/0-a.log\n", found.text
        )
        self.assertIn("verify_pattern='/scarp/job-files/1-p'\n", found.text)
        self.assertEqual(found.content()["job-files/0-a.log"], self.folder / "a.log")
        self.assertEqual(
            set(found.inputs()), {"job", "job's job-files/0-a.log", "job's job-files/1-p"}
        )
        with self.assertRaisesRegex(UserError, "read_iolog: gone: no such file"):
            fio_job.read(self.job("[a]\nread_iolog=gone\n"))
        # What an earlier job of the guest's leaves is there.
        own = "[a]\nread_iolog=${SCARP_RESULTS}/log\n"
        self.assertEqual(fio_job.read(self.job(own)).text, own)

    def test_includes(self) -> None:
        (self.folder / "b.fio").write_text("rw=read\n")
        self.assertEqual(fio_job.read(self.job("[a]\ninclude b.fio\n")).text, "[a]\nrw=read\n\n")
        with self.assertRaisesRegex(UserError, "deep"):
            fio_job.read(self.job("include my.fio\n"))

    def test_what_the_guests_fio_refuses(self) -> None:
        fio_program = self.folder / "fio"
        fio_program.write_text(
            '#!/bin/sh\ngrep -q rndread "$2" || exit 0\necho "fio: failed parsing rw=rndread" >&2\n'
            'echo "fio: job a dropped" >&2\necho "  valid values: read"\nexit 1\n'
        )
        fio_program.chmod(0o755)
        fio_job.check_parsed([str(fio_program)], fio_job.read(self.job("[a]\nrw=read\n")))
        with self.assertRaises(UserError) as caught:
            fio_job.check_parsed([str(fio_program)], fio_job.read(self.job("[a]\nrw=rndread\n")))
        self.assertTrue(str(caught.exception).endswith("take it: failed parsing rw=rndread"))


if __name__ == "__main__":
    unittest.main()
