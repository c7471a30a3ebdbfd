# SPDX-License-Identifier: GPL-2.0-or-later
"""What is counted as agreement of two probes, and what odd probes and tables are answered with."""

from __future__ import annotations

import json
import sys
import tempfile
import unittest
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(Path(__file__).parent)]

from scarplib.build import replayer  # noqa: E402
from scarplib.errors import UserError  # noqa: E402
from scarplib.own_drive import (  # noqa: E402
    bench,
    blocks,
    choices,
    cited,
    features,
    figures,
    fio_json,
    fit,
    model,
    on_replayer,
    probe_file,
)
from scarplib.own_drive.plan import KIB, MIB, PAIRS, READ, TRIM, WRITE, Known, Plan, Step  # noqa: E402

# Nanoseconds: of a drive in these tests, and of a model on which nothing has an effect.
TAKES = {READ: 70_000, WRITE: 700_000, TRIM: 5_000}


def seen(step: Step, takes: dict[str, int]) -> probe_file.Result:
    """A step on a drive whose requests take so long each, whatever else there is to do."""
    rows = list(step.rows())
    submit, complete = list[int](), list[int]()
    for at, kind, _, _ in rows:
        if step.depth is not None and len(submit) >= step.depth:
            at = complete[-step.depth]
        submit.append(at)
        complete.append(at + takes.get(kind, 0))
    closed = step.depth is not None
    return probe_file.result(rows, submit, complete, each=step.each, closed=closed)


class EveryPlan(unittest.TestCase):
    """Of pages, stripes and spans as drives have them."""

    SPANS = tuple(size * MIB for size in (32, 33, 40, 48, 64, 96, 100, 128, 129, 256, 1024, 2048))
    PAGES = tuple(KIB << i for i in range(2, 8))
    STRIPES = (*(KIB << i for i in range(5, 13)), 96 * KIB, 640 * KIB, 3 * MIB)

    def check(self, step: Step, plan: Plan) -> None:
        for _, kind, offset, size in step.rows():
            if not 0 <= offset <= offset + size <= plan.span:
                self.fail(f"{step.name} of {plan.span >> 20} MiB: {kind} at {offset} + {size}")

    def test_stays_on_the_drive(self) -> None:
        for span in self.SPANS:
            plan = Plan(span)
            usual = plan.second(Known(4096, 32768))
            for step in (*plan.first(), *usual, *plan.held_out()):
                self.check(step, plan)
            for page in self.PAGES:
                for stripe in self.STRIPES:
                    for step in plan.second(Known(page, stripe)):
                        if step.name in ("write-size", "write-flush", "behind"):
                            self.check(step, plan)

    def test_reads_behind_programs_are_where_they_were(self) -> None:
        # Probes that are there stay comparable: only what lay outside has moved, by whole stripes
        # and into the half that nothing writes to.
        moved = 0
        for span in self.SPANS:
            for stripe in self.STRIPES:
                steps = Plan(span).second(Known(4096, stripe))
                rows = [one for step in steps if step.name == "behind" for one in step.rows()]
                far = span // 2 // stripe * stripe
                for i in range(16):
                    once = far + i * stripe
                    for row in (rows[6 * i], rows[6 * i + 5]):
                        self.assertEqual(row[1], READ)
                        if once + 4096 <= span:
                            self.assertEqual(row[2], once)
                        else:
                            moved += 1
                            self.assertEqual((row[2] - far) % stripe, 0)
                            self.assertGreaterEqual(row[2], far)
        self.assertGreater(moved, 0)


class WhatIsCounted(unittest.TestCase):
    def compared(self, takes: dict[str, int]) -> dict[Step, list[figures.Figure]]:
        """Of each step of a plan: a drive beside a model whose requests take so long."""
        plan = Plan(32 * MIB)
        steps = [*plan.first(), *plan.second(Known(8192, 32768)), *plan.held_out()]
        found = {}
        for step in steps:
            if not step.prepares:
                drive, other = (
                    probe_file.Probe({}, plan.span, 1, None, {step.name: seen(step, one)})
                    for one in (TAKES, takes)
                )
                found[step] = figures.compare(drive, other)
        return found

    def test_a_rate_that_is_the_plans_own_is_none(self) -> None:
        for step, found in self.compared(TAKES).items():
            rates = [one for one in found if one.name == "rate"]
            self.assertEqual(len(rates), int(step.depth is not None), step.name)

    def test_a_model_without_effect_agrees_in_nothing(self) -> None:
        # Ten times as fast, and ten times as slow: nothing that is judged may agree.
        for factor in (0.1, 10):
            takes = {kind: int(factor * ns) for kind, ns in TAKES.items()}
            for step, found in self.compared(takes).items():
                judged = [one for one in found if one.bound is not None]
                self.assertTrue(judged, step.name)
                held = [one.name for one in judged if one.held]
                self.assertEqual(held, [], step.name)


class OddProbes(unittest.TestCase):
    """Of drives that answer in ways that no description does."""

    def setUp(self) -> None:
        self.plan = Plan(32 * MIB)
        self.probe = probe_file.Probe({"bytes": 32 * MIB}, 32 * MIB, 1)
        for step in self.plan.first():
            self.put(step)

    def put(self, step: Step) -> None:
        if not step.prepares:
            self.probe.results[step.name] = seen(step, TAKES)

    def second(self) -> probe_file.Probe:
        """A whole probe, as `scarp probe` goes on after the first part."""
        self.probe.known = features.known(self.probe)
        for step in self.plan.second(self.probe.known):
            self.put(step)
        return self.probe

    def fit_says(self, said: str) -> None:
        with self.assertRaisesRegex(UserError, said) as error:
            fit.fit(self.probe, Path("/bin/false"), fit.Search())
        self.assertNotIn("\n", str(error.exception))

    def scatter(self, name: str, start: int) -> None:
        """Each latency is 5 % longer than the one before."""
        each = self.probe.results[name].each
        each[start::3] = [round(700_000 * 1.05**i) for i in range(len(each[start::3]))]

    def test_no_two_addresses_meet_and_none_waits(self) -> None:
        # A drive on which each read takes as long, whatever else there is: a file in RAM.
        whole = self.second()
        self.assertEqual(whole.known, Known(4096, 4 * MIB))
        found = features.read_off(whole)
        self.assertEqual((found.meets, found.dies, found.channels), (False, PAIRS, 1))
        self.fit_says("no two addresses of this probe meet on a die")

    def test_some_wait_for_a_channel_but_none_for_a_die(self) -> None:
        each = self.probe.results["read-pair"].each
        each[7::8] = [takes + 10_000 for takes in each[7::8]]
        found = features.known(self.probe)
        self.assertEqual(found, Known(4096, 4 * MIB))

    def test_programs_that_all_differ(self) -> None:
        self.pairs_meet()
        self.second()
        self.scatter("write-flush", 1)
        found = features.read_off(self.probe)
        self.assertEqual(found.scattered, ["programs"])
        self.assertEqual(len(found.programs_ns), 1)
        key = model.from_features(found).keys["timing.program_ns"]
        self.assertIn("no two are the same", key.note)

    def test_reads_that_all_differ(self) -> None:
        self.pairs_meet()
        self.second()
        each = self.probe.results["read-single"].each
        each[:] = [round(70_000 * 1.03 ** (i % (PAIRS + 1))) for i in range(len(each))]
        self.assertEqual(features.read_off(self.probe).scattered, ["reads"])

    def pairs_meet(self) -> None:
        """Every fourth on the die of the first."""
        each = self.probe.results["read-pair"].each
        each[7::8] = [2 * takes for takes in each[7::8]]

    def test_a_few_pairs_that_a_kernel_disturbed(self) -> None:
        """Two that meet do not seem to; two seem to that do not, one of them before all others."""
        self.pairs_meet()
        whole = self.second()
        right = features.read_off(whole)
        self.assertEqual((right.dies, right.stripe), (4, 16384))
        each = self.probe.results["read-pair"].each
        for pair, by in ((1, 2.0), (700, 2.0), (127, 0.5), (1023, 0.5)):
            each[2 * pair + 1] = round(by * each[2 * pair + 1])
        found = features.read_off(whole)
        # How many channels there are is compared with candidates later.
        self.assertEqual((found.dies, found.stripe), (4, 16384))

    def test_one_with_too_few_latencies(self) -> None:
        self.pairs_meet()
        self.second()
        for name, result in self.probe.results.items():
            if result.each:
                kept, result.each = result.each, result.each[:3]
                self.fit_says(f"{name} has 3 latencies of {len(kept)}")
                result.each = kept
        self.probe.results["overwrite"].parts = []
        self.fit_says("overwrite has no rates of its parts")

    def test_one_of_too_little(self) -> None:
        self.probe.span = MIB
        self.fit_says("a plan needs 32 MiB")

    def test_a_stripe_that_is_none(self) -> None:
        for known in (Known(4096, 0), Known(0, 4 * MIB + 1), Known(8 * MIB, 4096)):
            with self.assertRaisesRegex(UserError, "must be at most 131072, and from 1 to 4194304"):
                self.plan.second(known)

    def test_what_takes_no_time(self) -> None:
        self.pairs_meet()
        whole = self.second()
        nothing = probe_file.Probe({}, whole.span, 1, whole.known)
        takes = dict.fromkeys(TAKES, 0)
        for step in (*self.plan.second(whole.known or Known(0, 0)),):
            if step.name in (*bench.SEEN, "behind"):
                nothing.results[step.name] = seen(step, takes)
        self.assertGreater(bench.misfit(whole, nothing), 0)
        self.assertGreater(features.unlike_behind(whole, nothing), 0)


POINTS = {"50.000000": 70_000, "90.000000": 80_000, "99.000000": 90_000}
NONE = {"total_ios": 0}


def done(ios: int = 5000, slower: float = 1.0) -> dict[str, Any]:
    """fio's account of one direction."""
    points = {name: int(slower * ns) for name, ns in POINTS.items()}
    return {
        "total_ios": ios,
        "iops": ios / 10,
        "bw": ios * 4 / 10,
        "clat_ns": {"mean": 70_000 * slower, "percentile": points},
    }


class FiosJson(unittest.TestCase):
    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.path = Path(scratch.name) / "fio.json"

    def rows(self, *jobs: dict[str, Any], **options: str) -> list[cited.Row]:
        given = {"ioengine": "io_uring", "iodepth": "4", "bs": "4k", "rw": "randread", **options}
        whole = {"global options": given, "jobs": list(jobs)}
        self.path.write_text(json.dumps(whole))
        return fio_json.rows(self.path)

    def job(self, *, name: str = "a", group: int = 0, read: Any = NONE, write: Any = NONE,
            **options: str) -> dict[str, Any]:  # fmt: skip
        return {"jobname": name, "groupid": group, "job options": options, "read": read,
                "write": write}  # fmt: skip

    def refused(self, said: str, *jobs: dict[str, Any], **options: str) -> None:
        with self.assertRaisesRegex(UserError, said) as seen:
            self.rows(*(jobs or (self.job(read=done()),)), **options)
        self.assertNotIn("\n", str(seen.exception))

    def test_processes_that_fio_kept_apart_are_one_job(self) -> None:
        jobs = [self.job(read=done(slower=slower)) for slower in (1, 1.01, 1.02, 1.04)]
        (row,) = self.rows(*jobs, numjobs="4")
        # The model runs all four, so all four are what it is beside.
        self.assertEqual((row.jobs, row.iops, row.kib_per_s, row.n), (4, 2000, 8000, 20000))
        self.assertAlmostEqual(row.points["p99"], 91_350, delta=1)
        # Four that are not alike have no percentile of all.
        (row,) = self.rows(*jobs[:3], self.job(read=done(slower=3)), numjobs="4")
        self.assertEqual(row.points, {})
        self.assertEqual(row.iops, 2000)
        # With group_reporting there is one entry, which is of all.
        (row,) = self.rows(jobs[0], numjobs="4", group_reporting="1")
        self.assertEqual((row.jobs, row.iops, row.points["p99"]), (4, 500, 90_000))
        self.refused("'a' has 3 entries, and numjobs=4", *jobs[:3], numjobs="4")

    def test_jobs_at_once(self) -> None:
        reader = self.job(name="a", read=done())
        writer = self.job(name="b", write=done(), rw="randwrite")
        self.assertEqual(len(cited.runs(self.rows(reader, writer))), 1)
        later = self.job(name="c", group=1, read=done())
        self.assertEqual(len(cited.runs(self.rows(reader, later))), 2)
        other = self.job(name="b", read=done())
        self.refused("jobs 'a' and 'b' ran at once, and both have reads", reader, other)

    def test_rates_are_honoured(self) -> None:
        (row,) = self.rows(self.job(read=done()), rate_iops="1000,500", bs="8k")
        self.assertEqual(row.rate, 1000 * 8 * KIB)
        (row,) = self.rows(self.job(write=done()), rate_iops="1000,500", rw="randwrite")
        self.assertEqual(row.rate, 500 * 4 * KIB)

    def test_one_loop_with_both_kinds(self) -> None:
        job = self.job(read=done(7000), write=done(3000))
        read, write = self.rows(job, rw="randrw", rwmixread="70")
        self.assertEqual((read.mixed, write.mixed, read.rw), (300, 300, "randread"))
        for options in ({"bs": "4k,8k"}, {"rate": "1m"}, {"rate_iops": "50"}):
            self.refused("reads and writes of one job", job, rw="randrw", **options)

    def test_what_is_refused(self) -> None:
        self.refused("bs=0: must be 1", bs="0")
        self.refused("bs=0: must be 1", self.job(write=done()), rw="randwrite", bs="4k,0")
        self.refused("iodepth=0: must be 1", iodepth="0")
        self.refused("numjobs=0: must be 1", numjobs="0")
        self.refused("rw=randtrim: must be one of", rw="randtrim")
        for name in ("bssplit", "thinktime", "fsync"):
            self.refused(f"{name}=4k/50: a description is not asked", **{name: "4k/50"})
        said = "random_distribution=zipf:1.2: a description is not asked"
        self.refused(said, random_distribution="zipf:1.2")
        self.assertEqual(self.rows(self.job(read=done()), fsync="0")[0].depth, 4)

    def test_what_is_deep_or_large_is_one_line(self) -> None:
        path = Path(self.enterContext(tempfile.TemporaryDirectory())) / "fio.json"
        done = '{"total_ios": %s, "iops": %s, "bw": 1}'
        job = '{"jobs": [{"job options": {"rw": "read"}, "read": %s, "write": {"total_ios": 0}}]}'
        large = str(10**400)
        for text in (
            '{"jobs": ' + 100_000 * "[",
            job % (done % (1, large)),
            job % (done % (1, "1e999")),
            job % (done % (1, "NaN")),
            job % (done % (1, "-1")),
            job % (done % ("1e999", 1)),
            job % (done % (1, "9" * 5000)),
            "\xff",
        ):
            path.write_text(text, encoding="latin-1")
            with self.assertRaises(UserError) as caught:
                fio_json.rows(path)
            said = str(caught.exception)
            self.assertTrue(said.startswith(f"{path}: "), said)
            self.assertLess(len(said), 300)
            self.assertNotIn("\n", said)

    def test_an_engine_that_waits_has_a_depth_of_one(self) -> None:
        self.assertEqual(self.rows(self.job(read=done()), ioengine="psync")[0].depth, 1)


DRIVE = """
[geometry]
channels=2
chips_per_channel=2
dies_per_chip=1
planes_per_die=1
blocks_per_plane=32
pages_per_block=64
page_bytes=8192
[timing]
read_ns=50000
program_ns=500000
erase_ns=3000000
channel_mts=400
[controller]
firmware_ns=7000
link_mbs=3200
[ftl]
unit_bytes=4096
over_provisioning_permille=400
[gc]
trigger_free_blocks=3
"""


def row(rw: str, bs: int = 4096, depth: int = 1, mixed: int = 0, n: int | None = None) -> cited.Row:
    """Of a table."""
    return cited.Row("x", "held", rw, bs, depth, 1, 0, 1, 4, 1, {"p50": 1, "p99": 1}, mixed, n)


class BesideADrive(unittest.TestCase):
    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        (self.folder / "drive.ini").write_text(DRIVE)
        self.runner = cited.Runner(
            replayer.ensure_replay(), self.folder / "drive.ini", self.folder
        )  # fmt: skip

    def test_requests_larger_than_the_drive(self) -> None:
        for rw in ("randwrite", "write", "randread", "read"):
            with self.assertRaisesRegex(UserError, "bytes at once|must be") as seen:
                self.runner.run([row(rw, bs=1 << 30)])
            self.assertNotIn("\n", str(seen.exception), rw)

    def test_a_table_with_a_block_of_nothing(self) -> None:
        path = self.folder / "x.csv"
        for bs, depth, said in (("0", 1, "row 1: bs=0"), ("-4k", 1, "row 1: bs=-4096"),
                                ("4k", 0, "row 1: iodepth=0")):  # fmt: skip
            values = f"x,held,randwrite,{bs},{depth},1,,1,4,1,1,1,1"
            path.write_text(",".join(cited.COLUMNS) + "\n" + values + "\n")
            with self.assertRaisesRegex(UserError, said):
                cited.rows(path)

    def test_a_table_that_is_deep_or_large_is_one_line(self) -> None:
        path = Path(self.enterContext(tempfile.TemporaryDirectory())) / "x.csv"
        names = ",".join(cited.COLUMNS)
        for text in (
            f"{names}\n{'a' * (1 << 18)},held,read,4k,1,1,,1,4,,,,\n",
            f"{'a' * (1 << 18)}\nx\n",
            f"{names}\na,held,read,4k,1,1,,1e999,4,,,,\n",
            f"{names}\na,held,read,4k,1,1,,nan,4,,,,\n",
            f"{names}\na,held,read,4k,1,1,,1,-4,,,,\n",
            f"{names}\na,held,read,4k,1,1,,1,4,,1e999,,\n",
            f"{names}\na,held,read,{'9' * 5000},1,1,,1,4,,,,\n",
        ):
            path.write_text(text)
            with self.assertRaises(UserError) as caught:
                cited.rows(path)
            said = str(caught.exception)
            self.assertTrue(said.startswith(f"{path}: "), said)
            self.assertLess(len(said), 300)
            self.assertNotIn("\n", said)

    def test_a_tail_of_few(self) -> None:
        def judged(one: cited.Row, n: int) -> set[str]:
            latencies = probe_file.Latencies.of([70_000] * n)
            seen = cited.Seen({"read": latencies}, {"read": 4.0})
            return {figure.name for figure in cited.compare([one], seen)}

        all_of_it = {"rate", "reads p50", "reads p99"}
        self.assertEqual(judged(row("randread"), 1000), all_of_it)
        self.assertEqual(judged(row("randread", n=1000), 1000), all_of_it)
        # Neither the drive's nor the description's.
        self.assertEqual(judged(row("randread", n=999), 5000), all_of_it - {"reads p99"})
        self.assertEqual(judged(row("randread"), 999), all_of_it - {"reads p99"})

    def test_one_loop_has_one_depth(self) -> None:
        # Its reads wait for its writes' places; two loops would keep eight of each under way.
        table = [row("randread", depth=8, mixed=300), row("randwrite", depth=8, mixed=300)]
        seen = self.runner.run(table)
        n = {kind: one.n for kind, one in seen.latencies.items()}
        self.assertAlmostEqual(n["write"] / (n["read"] + n["write"]), 0.3, delta=0.03)
        under_way = sum(one.mean * one.n for one in seen.latencies.values()) / 200e6
        self.assertLess(under_way, 10)
        names = {one.name for one in cited.compare(table, seen)}
        self.assertLessEqual({"rate", "reads p50", "writes p50"}, names)

    def test_places_of_one_loop(self) -> None:
        mixed = row("randread", bs=MIB, mixed=500)
        lines = self.runner._writes("x", mixed, 0, 64 * MIB, 64).read_text().split()  # noqa: SLF001
        places = Counter(line.split(",")[2] for line in lines)
        self.assertEqual((len(places), set(places.values())), (64, {1}))
        self.assertEqual({line.split(",")[1] for line in lines}, {"R", "W"})
        # Of what goes in order each kind goes its own way.
        lines = self.runner._writes(  # noqa: SLF001
            "x", row("read", bs=MIB, mixed=500), 0, 64 * MIB, 64
        ).read_text().split()  # fmt: skip
        for kind in "RW":
            found = [int(line.split(",")[2]) for line in lines if f",{kind}," in line]
            self.assertEqual(found, [i * MIB for i in range(len(found))])

    def test_readers_read_different_places(self) -> None:
        one = cited.Row("x", "held", "randread", 4096, 1, 4, 0, 1, 4, 1, {})
        words: list[str] = []
        self.runner._do = words.extend  # type: ignore[assignment, method-assign]  # noqa: SLF001
        self.runner._bytes = 64 * MIB  # noqa: SLF001
        self.runner._seen = lambda log: cited.Seen()  # type: ignore[method-assign]  # noqa: SLF001
        (self.folder / "cmd.bin").touch()
        self.runner.run([one])
        loads = [words[i + 1] for i, word in enumerate(words) if word == "--job"]
        self.assertEqual(len(set(loads)), 4)

    def test_nothing_was_done(self) -> None:
        with self.assertRaisesRegex(UserError, "ended none of these writes"):
            cited.compare([row("randwrite")], cited.Seen())


class AnAllocation(unittest.TestCase):
    """Whether writes wait for their die, or go round one that collects."""

    def fitted(self, allocation: str, before: str = "", active: int = 1) -> model.Key:
        """What is chosen for a drive whose blocks are known, whatever was thought before."""
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            path = folder / "drive.ini"
            text = DRIVE.replace("[ftl]", f"[ftl]\nallocation={allocation}")
            path.write_text(text.replace("[gc]", f"[gc]\nseparate_active_block={active}"))
            program = replayer.ensure_replay()
            drive = on_replayer.Replayed(program, path, folder)
            size = drive.logical_bytes() // MIB * MIB
            probe = on_replayer.probe(drive, Plan(size), size=size)
            base = model.from_features(features.read_off(probe))
            if before:
                base.set(choices.ALLOCATION, before, model.FITTED)
            point = bench.Point(64, 0.25, 3_000_000, 1)
            asked = (choices.ALLOCATION,) if before else ()
            choices.choose(bench.Bench(probe, program, folder), base, point, asked)
            if not before:
                self.assertEqual(base.keys[choices.ACTIVE].value, str(active))
            return base.keys["ftl.allocation"]

    def test_that_goes_round_collections(self) -> None:
        key = self.fitted("dynamic")
        self.assertEqual((key.value, key.how), ("dynamic", model.FITTED))
        self.assertIn("go round a die that collects", key.note)

    def test_whose_collections_come_one_by_one(self) -> None:
        self.assertEqual(self.fitted("cwdp", active=0).value, "cwdp")

    def test_what_was_thought_is_looked_at_again(self) -> None:
        self.assertEqual(self.fitted("dynamic", before="cwdp").value, "dynamic")
        self.assertEqual(self.fitted("cwdp", before="dynamic").value, "cwdp")

    def test_that_does_not(self) -> None:
        key = self.fitted("cwdp")
        self.assertEqual((key.value, key.how), ("cwdp", model.FITTED))
        self.assertIn("wait for their die", key.note)

    def test_is_dynamic_only_if_that_is_clear(self) -> None:
        def choose(static: float, dynamic: float, neither: float = 0) -> tuple[str, bool]:
            found: dict[choices.Values, bench.Unlike] = {
                (value,): {("mixed", "reads"): one, ("spaced", "writes"): neither}
                for value, one in (("cwdp", static), ("dynamic", dynamic))
            }
            values, shows = choices.chosen([choices.ALLOCATION], found)
            return str(values[0]), choices.ALLOCATION in shows

        self.assertEqual(choose(10, 1), ("dynamic", True))
        self.assertEqual(choose(1, 10), ("cwdp", True))
        # Next to nothing, either way.
        self.assertEqual(choose(0.5, 0.3), ("cwdp", False))
        self.assertEqual(choose(0.3, 0.5), ("cwdp", False))
        # What neither meets says nothing: of SSDsim it was 208 of 270.
        self.assertEqual(choose(4, 1, 200), ("dynamic", True))
        # Nor does how far off it is what is off by more than ten times.
        self.assertEqual(choose(90, 6), ("cwdp", False))
        mixed: dict[choices.Values, bench.Unlike] = {
            ("cwdp",): {("mixed", "reads"): 0.0, ("steady", "rate"): 5.0},
            ("dynamic",): {("mixed", "reads"): 4.0, ("steady", "rate"): 0.0},
        }
        self.assertEqual(choices.chosen([choices.ALLOCATION], mixed), (("cwdp",), set()))
        self.assertEqual(
            choices.chosen([choices.ALLOCATION], {("dynamic",): {}}), (("dynamic",), set())
        )

    def test_the_best_of_each_is_compared(self) -> None:
        name = ("mixed", "reads")
        found: dict[choices.Values, bench.Unlike] = {
            (1, "cwdp"): {name: 9.0},
            (0, "cwdp"): {name: 1.0},
            (1, "dynamic"): {name: 0.9},
            (0, "dynamic"): {name: 3.0},
        }
        names = ["controller.reads_first", choices.ALLOCATION]
        self.assertEqual(choices.chosen(names, found), ((0, "cwdp"), set()))

    def test_two_that_are_not_usual(self) -> None:
        def choose(*misfits: float) -> tuple[choices.Values, set[str]]:
            each = (("cwdp", 1), ("cwdp", 0), ("dynamic", 1), ("dynamic", 0))
            pairs = zip(each, misfits, strict=True)
            found: dict[choices.Values, bench.Unlike] = {
                values: {("mixed", "reads"): misfit} for values, misfit in pairs
            }
            return choices.chosen([choices.ALLOCATION, choices.ACTIVE], found)

        both = {choices.ALLOCATION, choices.ACTIVE}
        self.assertEqual(choose(5, 3, 3, 0), (("dynamic", 0), both))
        self.assertEqual(choose(0, 3, 3, 5), (("cwdp", 1), both))
        # What the other explains by itself is not taken besides.
        self.assertEqual(choose(5, 0.1, 5, 0), (("cwdp", 0), {choices.ACTIVE}))
        self.assertEqual(choose(5, 5, 0.1, 0), (("dynamic", 1), {choices.ALLOCATION}))
        self.assertEqual(choose(0.2, 0.1, 0.1, 0), (("cwdp", 1), set()))

    def searches(self, *picked: str, wider: int = 0) -> int:
        """How often all is looked at, if these allocations are chosen one after the other.

        So often a rounder erase's time is found where nothing changes any more.
        """
        found = list(picked)
        point = bench.Point(64, 0.25, 3_000_000, 1)
        base = model.Model()
        for name in ("channels", "chips_per_channel", "dies_per_chip", "planes_per_die"):
            base.set(f"geometry.{name}", 2, model.READ)
        base.set("geometry.page_bytes", 4096, model.READ)
        base.set("gc.trigger_free_blocks", 3, model.OPEN)
        base.set(choices.ALLOCATION, "cwdp", model.OPEN)
        near = 2 * fit.EXACT

        def choose(*_: Any, **__: Any) -> None:
            base.set(choices.ALLOCATION, found.pop(0), model.FITTED)

        search = mock.Mock(tried={}, points={}, ends=0.0)
        search.over.return_value = False
        search.rough.return_value = [point]
        search.score.return_value = 0.0
        others = [replace(point, erase_ns=i) for i in range(wider)]
        search.wider.side_effect = lambda one: others.pop() if others else one
        search.exact.return_value = search.polish.return_value = (point, near)
        # A probe of before what is overwritten was kept request by request.
        before = {bench.OVERWRITE: probe_file.Result(1.0, 1.0)}
        measured_with = mock.Mock(probe=mock.Mock(source={"bytes": 64 * MIB}, results=before))
        with (
            mock.patch.object(blocks, "Search", return_value=search),
            mock.patch.object(fit, "_variants", return_value=(point, near)),
            mock.patch.object(features, "exactly", return_value=False),
            mock.patch.object(choices, "choose", choose),
        ):
            model_of, _, _ = fit._search(  # noqa: SLF001
                measured_with, base, fit.Search(), mock.Mock(buffer=0), [2]
            )
        self.assertEqual(found, [])
        self.assertEqual(model_of.keys[choices.ALLOCATION].value, picked[-1])
        count: int = search.polish.call_count
        return count

    def test_the_search_goes_on_only_with_another_one(self) -> None:
        self.assertEqual(self.searches("cwdp", "cwdp"), 1)
        self.assertEqual(self.searches("cwdp", "cwdp", "cwdp", "cwdp", wider=1), 3)
        self.assertEqual(self.searches("cwdp", "dynamic", "dynamic"), 2)
        self.assertEqual(self.searches("cwdp", "dynamic", "cwdp", "cwdp"), 3)

    def test_one_die_has_none(self) -> None:
        base = model.Model()
        for name in ("channels", "chips_per_channel", "dies_per_chip"):
            base.set(f"geometry.{name}", 1, model.READ)
        self.assertEqual(list(choices.alternatives(base)), [choices.ACTIVE])
        base.set("geometry.channels", 2, model.READ)
        both = [choices.ACTIVE, choices.ALLOCATION]
        self.assertEqual(list(choices.alternatives(base)), both)


if __name__ == "__main__":
    unittest.main()
