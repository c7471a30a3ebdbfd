# SPDX-License-Identifier: GPL-2.0-or-later
"""A drive of one's own: the plan, what is read off, what a probe refuses, the tables of others."""

from __future__ import annotations

import argparse
import contextlib
import gzip
import io
import json
import math
import os
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(Path(__file__).parent)]

from refused import Refused  # noqa: E402
from scarplib.build import replayer  # noqa: E402
from scarplib.device_logs.command_log import read_commands  # noqa: E402
from scarplib.errors import UserError  # noqa: E402
from scarplib.own_drive import (  # noqa: E402
    bench,
    blind,
    blocks,
    by_steps,
    cited,
    features,
    figures,
    fio_json,
    fit,
    model,
    on_drive,
    on_replayer,
    probe_file,
    safety,
)
from scarplib.own_drive.plan import MIB, TRIM, Known, Plan  # noqa: E402
from typed import fit as run_fit  # noqa: E402
from typed import probe as run_probe  # noqa: E402

SMALL = """
[geometry]
channels=2
chips_per_channel=2
dies_per_chip=1
planes_per_die=1
blocks_per_plane=32
pages_per_block=64
page_bytes=8192
[nand]
cell_bits=2
[timing]
read_ns=40000;60000
program_ns=300000;700000
erase_ns=3000000
channel_mts=400
[controller]
firmware_ns=7000
link_mbs=3200
buffer_bytes=1048576
[ftl]
unit_bytes=4096
over_provisioning_permille=400
[gc]
trigger_free_blocks=3
"""


class Scratch(unittest.TestCase):
    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)


class ThePlan(unittest.TestCase):
    def test_is_the_same_each_time_and_stays_on_the_drive(self) -> None:
        plan = Plan(64 * MIB, seed=3)
        steps = [*plan.first(), *plan.second(Known(8192, 32768)), *plan.held_out()]
        self.assertEqual(len({step.name for step in steps}), len(steps))
        for step in steps:
            rows = list(step.rows())
            self.assertEqual(rows, list(step.rows()), step.name)
            self.assertEqual(rows, sorted(rows, key=lambda row: row[0]), step.name)
            for at, _, offset, size in rows:
                self.assertTrue(0 <= offset <= offset + size <= plan.span, step.name)
                self.assertEqual((at > 0) and step.depth is not None, False, step.name)

    def test_another_seed_is_another_plan(self) -> None:
        one, other = (Plan(64 * MIB, seed).held_out()[0] for seed in (1, 2))
        self.assertNotEqual(list(one.rows()), list(other.rows()))

    def test_too_small(self) -> None:
        with self.assertRaisesRegex(UserError, "a plan needs 32 MiB"):
            Plan(MIB)


class ADescription(Scratch):
    """What the replayer's own probe shows of a description is what it says."""

    def probe(self, text: str = SMALL) -> probe_file.Probe:
        path = self.folder / "drive.ini"
        path.write_text(text)
        drive = on_replayer.Replayed(replayer.ensure_replay(), path, self.folder)
        plan = Plan(drive.logical_bytes() // MIB * MIB)
        return on_replayer.probe(drive, plan)

    def test_of_a_device_a_whole_one_ends_with_what_it_shows(self) -> None:
        out, said = self.folder / "probe.json", io.StringIO()
        found = self.probe()
        for left_out, ends in (([], "dies that work at once"), (["spaced"], "")):
            found.left_out = left_out
            found.write(out)
            with (
                mock.patch.object(on_drive, "main", lambda _: 0),
                contextlib.redirect_stdout(said),
            ):
                words = ["disk.img", "--destroy", "disk.img", "-o", str(out)]
                self.assertEqual(run_probe(*words), 0)
            self.assertIn(ends, said.getvalue())
            self.assertEqual(bool(said.getvalue()), bool(ends))
            said.seek(0)
            said.truncate()

    def test_is_read_off(self) -> None:
        found = self.probe()
        seen = features.read_off(found)
        self.assertEqual((seen.page, seen.unit, seen.dies, seen.channels), (8192, 4096, 4, 2))
        self.assertEqual(seen.stripe, 4 * 8192)
        # The command cycles come with the array's times.
        self.assertEqual(seen.reads_ns, [40200, 60200])
        self.assertEqual(seen.programs_ns, [300200, 700200])
        self.assertEqual(round(seen.base_ns), 7000)
        keys = model.from_features(seen).keys
        self.assertEqual(keys["timing.read_ns"].value, "40000;60000")
        self.assertEqual(keys["timing.channel_mts"].value, "400")
        self.assertEqual(keys["controller.link_mbs"].value, "3200")
        self.assertTrue(seen.flush_waits)
        self.assertFalse(seen.suspends)
        self.assertTrue(seen.reads_first)
        self.assertIsNone(seen.map_cached)
        self.assertAlmostEqual(seen.buffer / MIB, 1, delta=0.2)
        path = self.folder / "probe.json"
        found.write(path)
        self.assertEqual(probe_file.load(path), found)
        # The same description has the same probe.
        compared = figures.compare(found, self.probe())
        self.assertTrue(compared)
        self.assertEqual({one.difference for one in compared}, {0.0})

    def test_of_another_kind(self) -> None:
        text = SMALL.replace("cell_bits=2", "cell_bits=2\nsuspend_program=1")
        text = text.replace("unit_bytes=4096", "unit_bytes=8192\nmapping=demand\n"
                            "map_cache_bytes=32768")  # fmt: skip
        text = text.replace("buffer_bytes=1048576", "buffer_bytes=0")
        seen = features.read_off(self.probe(text))
        self.assertEqual((seen.page, seen.unit, seen.dies, seen.channels), (8192, 8192, 4, 2))
        self.assertTrue(seen.suspends)
        self.assertEqual(seen.suspend_ns, 20000)
        self.assertEqual(seen.buffer, 0)
        # 4096 entries of 8 KiB.
        self.assertAlmostEqual((seen.map_cached or 0) / (32 * MIB), 1, delta=0.15)

    def test_a_schemes_parameters(self) -> None:
        path = self.folder / "drive.ini"
        path.write_text(SMALL)
        replay = replayer.ensure_replay()
        table = [cited.Row("x", "held", "randwrite", 4096, 1, 1, 0, 1, 4, 1, {"p50": 1})]
        for scheme, said in (
            ("d-choices:d=0", "d=0: must be a whole number from 1"),
            ("d-choices:c=2", "no parameter 'c'; allowed are d"),
        ):
            drive = on_replayer.Replayed(replay, path, self.folder, scheme=scheme)
            with self.assertRaisesRegex(UserError, said):
                drive.logical_bytes()
            with self.assertRaisesRegex(UserError, said):
                cited.Runner(replay, path, self.folder, scheme).run(table)
        drive = on_replayer.Replayed(replay, path, self.folder, scheme="d-choices:d=2")
        self.assertGreater(drive.logical_bytes(), 0)

    def test_one_that_is_none(self) -> None:
        with self.assertRaisesRegex(UserError, "page_bytes"):
            self.probe(SMALL.replace("page_bytes=8192", "page_bytes=8191"))


class AModel(unittest.TestCase):
    def test_sizes_are_round(self) -> None:
        self.assertEqual(by_steps.roundest(4177920, 4194304), 4 * MIB)
        self.assertEqual(by_steps.roundest(3145729, 3211264), 3211264)
        self.assertEqual(by_steps.roundest(3000000, 3300000), 3 * MIB)
        self.assertEqual(by_steps.roundest(5, 5), 5)

    def keys(self) -> model.Model:
        found = model.Model()
        for name in ("channels", "chips_per_channel", "dies_per_chip", "planes_per_die"):
            found.set(f"geometry.{name}", 2, model.READ)
        found.set("geometry.page_bytes", 4096, model.READ)
        found.set("gc.trigger_free_blocks", 3, model.OPEN)
        return found

    def test_blocks_have_the_spare_that_was_asked(self) -> None:
        found = self.keys()
        for pages, spare in ((64, 0.1), (256, 0.3), (100, 0.07)):
            keys = model.blocks(found, 256 * MIB, pages, spare)
            whole = found.with_values(keys)
            values = {name: key.value for name, key in whole.keys.items()}
            self.assertAlmostEqual(model.spare_of(values), spare, delta=pages / 4096)
            raw = int(values["geometry.blocks_per_plane"]) * pages
            logical = raw * 1000 // (1000 + int(values["ftl.over_provisioning_permille"]))
            self.assertGreaterEqual(logical * 16 * 4096, 256 * MIB)

    def test_a_drawn_one_agrees_with_itself(self) -> None:
        for seed in range(20):
            drawn = blind.properties(blind.draw(seed))
            self.assertEqual(set(drawn), set(blind.PROPERTIES))
            self.assertTrue(all(blind.agree(name, drawn[name], drawn[name]) for name in drawn))
            self.assertFalse(blind.agree("page", 4096, 8192))
        self.assertTrue(blind.agree("spare", 20.0, 20.9))
        self.assertFalse(blind.agree("spare", 20.0, 21.1))

    def test_some_of_the_trials_are_in_guests(self) -> None:
        thirty = range(1, 31)
        self.assertEqual(blind.in_guests(thirty, 5), {6, 12, 18, 24, 30})
        for guests in (0, 1, 7, 30):
            self.assertEqual(len(blind.in_guests(thirty, guests)), guests)
        with self.assertRaisesRegex(UserError, "--guests: 3 of 2"):
            run_fit("--blind", "2", "--guests", "3")


class WhatWasTried(Scratch):
    """The file that an interrupted search goes on from."""

    def score(self, bytes_of_drive: int = 64 * MIB) -> list[float]:
        """Of one candidate that has no replayer to be tried with."""
        program, memory = self.folder / "replay", self.folder / "x.tried.jsonl"
        program.write_text("#!/bin/false\n")
        program.chmod(0o755)
        probe = probe_file.Probe({"bytes": bytes_of_drive}, 64 * MIB, 1, Known(4096, 16384))
        found = []
        with tempfile.TemporaryDirectory() as scratch:
            measured_with = bench.Bench(probe, program, Path(scratch))
            base = model.Model()
            for name in ("channels", "chips_per_channel", "dies_per_chip"):
                base.set(f"geometry.{name}", 2, model.READ)
            base.set("geometry.page_bytes", 4096, model.READ)
            base.set("gc.trigger_free_blocks", 3, model.OPEN)
            search = blocks.Search(measured_with, base, fit.Search(memory=memory))
            found = [one for tried in search.tried.values() for one in tried.values()]
            search.ends = math.inf
            search.score(bench.Point(96, 0.1, 3_000_000, 1))
        return found

    def test_is_taken_for_its_own_drive_alone(self) -> None:
        self.assertEqual(self.score(64 * MIB), [])
        self.assertEqual(self.score(64 * MIB), [blocks.WORST])
        # A candidate's keys are the same for both drives.
        self.assertEqual(self.score(64 * MIB - 4096), [])

    def test_is_taken_for_its_own_scripts_alone(self) -> None:
        self.score()
        with mock.patch.object(blocks, "program", lambda: "another"):
            self.assertEqual(self.score(), [])
        self.assertEqual(self.score(), [blocks.WORST])

    def test_a_torn_line_is_left_out(self) -> None:
        self.score(64 * MIB)
        memory = self.folder / "x.tried.jsonl"
        whole = memory.read_text()
        memory.write_text(whole + whole.strip()[:50])
        self.assertEqual(self.score(64 * MIB), [blocks.WORST])
        memory.write_text(whole.strip()[:50])
        self.assertEqual(self.score(64 * MIB), [])
        self.assertEqual(self.score(64 * MIB), [blocks.WORST])

    def test_what_is_no_text_or_no_number_is_left_out(self) -> None:
        self.score()
        memory = self.folder / "x.tried.jsonl"
        deep = 100_000 * b"["
        large = memory.read_bytes().strip().replace(b"1000.0", b"1" + 400 * b"0")
        memory.write_bytes(b"\xff\n" + deep + b"\n" + large + b"\n" + memory.read_bytes())
        self.assertEqual(self.score(), [blocks.WORST])

    def test_one_that_cannot_be_written_is_named(self) -> None:
        memory = self.folder / "x.tried.jsonl"
        memory.mkdir()
        with self.assertRaisesRegex(UserError, f"^--out: {memory}: Is a directory$"):
            self.score()


class AProbesFile(Scratch, Refused):
    def test_what_is_none(self) -> None:
        path = self.folder / "x.json"
        for text, said in (("{", "is no JSON"), ("{}", "is no probe"),
                           ('{"schema": "scarp-probe-1"}', "is no whole probe")):  # fmt: skip
            path.write_text(text)
            with self.assertRaisesRegex(UserError, said):
                probe_file.load(path)
        with self.assertRaisesRegex(UserError, "No such file"):
            probe_file.load(self.folder / "none.json")

    def test_one_that_had_no_time_for_all_of_it(self) -> None:
        found = probe_file.Probe({"bytes": 64 * MIB}, 64 * MIB, 1, Known(4096, 16384))
        for name in ("read-size", "read-single", "read-pair", "trimmed", "burst"):
            rows = [(0, "R", 0, 4096)]
            found.results[name] = probe_file.result(rows, [0], [1], each=True, closed=False)
        with self.assertRaisesRegex(UserError, "lacks footprint-1, .*, write-size, .*goes on"):
            fit.fit(found, Path("/bin/false"), fit.Search())

    def test_where_nothing_can_be_written_is_said_first(self) -> None:
        words = ["no.json", "-o", str(self.folder / "x.ini")]
        for arguments, said in (
            (["-o", "/no/such/folder/x.ini"], "--out: '/no/such/folder' is no folder"),
            (["--json", "/no/such/folder/x"], "--json: '/no/such/folder' is no folder"),
            (["--json", str(self.folder)], "is a folder, not a file"),
        ):
            with self.assertRaisesRegex(UserError, said):
                run_fit(*words, *arguments)
        said = self.error("probe", "devices/demo.ini", "-o", str(self.folder))
        self.assertIn("is a folder, not a file", said)

    def test_arguments(self) -> None:
        said = self.error("probe", "devices/demo.ini", "--destroy", "x")
        self.assertIn("--destroy", said)
        said = self.error("probe", "devices/demo.ini", "-o", "/no/such/folder/x.json")
        self.assertIn("is no folder", said)
        self.assertIn("--scheme", self.error("probe", "/dev/null", "--scheme", "pgc"))
        for words in (("probe", "devices/demo.ini"), ("fit", "a.ini", "--check", "x.json")):
            said = self.error(*words, "--scheme", "d-choices:d")
            self.assertIn("--scheme: 'd-choices:d': 'd' is not KEY=VALUE", said)
        said = self.error("fit", "a.ini", "--beside", "x", "--steady", "--age", "0")
        self.assertIn("--steady: nothing of an empty drive", said)
        self.assertIn("--mib", self.error("probe", "devices/demo.ini", "--mib", "31"))
        said = self.error("probe", "devices/demo.ini", "--mib", "1000000")
        self.assertRegex(said, r"--mib: 1000000 of a drive of (\d+) MiB: at most \1$")
        self.assertIn("--minutes", self.error("fit", "x.json", "--minutes", "0"))


class Refuses(Scratch):
    """A device that somebody may be using; the kernel's folders are made here."""

    def machine(self, **files: str) -> tuple[Path, safety.Machine]:
        folder = self.folder / "sys" / "class" / "block" / "nvme9n1"
        usual = {"dev": "259:9", "size": "4194304", "ro": "0", "device/serial": "S123"}
        for name, text in {**usual, **{k.replace("__", "/"): v for k, v in files.items()}}.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text + "\n")
        proc = self.folder / "proc"
        (proc / "self").mkdir(parents=True, exist_ok=True)
        (proc / "self" / "mountinfo").write_text("22 1 8:1 / /home rw - ext4 /dev/sda1 rw\n")
        (proc / "swaps").write_text("Filename Type Size\n")
        return folder, safety.Machine(self.folder / "sys", proc)

    def refused(self, said: str, **files: str) -> None:
        folder, machine = self.machine(**files)
        with self.assertRaisesRegex(UserError, said):
            safety.of_folder(Path("/dev/nvme9n1"), folder, machine)

    def test_one_that_nobody_uses(self) -> None:
        folder, machine = self.machine(device__hwmon1__temp1_input="41850")
        found = safety.of_folder(Path("/dev/nvme9n1"), folder, machine)
        self.assertEqual((found.serial, found.bytes), ("S123", 2 << 30))
        self.assertEqual(found.temperature, 41.85)

    def test_a_partition(self) -> None:
        self.refused("is a partition", partition="1")

    def test_partitions(self) -> None:
        self.refused("has partitions: nvme9n1p2", nvme9n1p2__partition="2")

    def test_read_only(self) -> None:
        self.refused("read-only", ro="1")

    def test_held(self) -> None:
        folder, machine = self.machine()
        (folder / "holders" / "dm-0").mkdir(parents=True)
        with self.assertRaisesRegex(UserError, "in use by dm-0"):
            safety.of_folder(Path("/dev/nvme9n1"), folder, machine)

    def test_behind_a_loop_device_that_says_only_a_path(self) -> None:
        """It has no node here, as in a container; a path may be another root's."""
        node = next((one for one in sorted(Path("/dev").iterdir()) if one.is_block_device()), None)
        if not node:
            self.skipTest("this machine has no block device")
        number = safety.numbers_of(node.stat().st_rdev)
        folder, machine = self.machine(dev=number)
        loop = self.folder / "sys" / "block" / "loop9" / "loop" / "backing_file"
        loop.parent.mkdir(parents=True)
        link, other = self.folder / "by-id", self.folder / "disk.img"
        link.symlink_to(node)
        other.touch()
        for text, said in (
            (str(node), "in use by loop9"),
            (str(link), "in use by loop9"),
            (f"{node} (deleted)", r"cannot be told .* loop9 .* '.* \(deleted\)'"),
            ("/no/such/node", "cannot be told .* loop9 .* '/no/such/node'"),
        ):
            loop.write_text(f"{text}\n")
            with self.assertRaisesRegex(UserError, said):
                safety.of_folder(Path("/dev/nvme9n1"), folder, machine)
        loop.write_text(f"{other}\n")
        safety.of_folder(Path("/dev/nvme9n1"), folder, machine)

    def test_mounted(self) -> None:
        folder, machine = self.machine()
        mounts = machine.proc / "self" / "mountinfo"
        mounts.write_text(mounts.read_text() + "23 1 259:9 / /data rw - xfs /dev/nvme9n1 rw\n")
        with self.assertRaisesRegex(UserError, "mounted at /data"):
            safety.of_folder(Path("/dev/nvme9n1"), folder, machine)

    def test_swap(self) -> None:
        folder, machine = self.machine()
        (machine.proc / "swaps").write_text("Filename Type Size\n/dev/nvme9n1 partition 8\n")
        with self.assertRaisesRegex(UserError, "swap"):
            safety.of_folder(Path("/dev/nvme9n1"), folder, machine)

    def test_a_loop_devices_name_is_its_files(self) -> None:
        folder, machine = self.machine(loop__backing_file="/tmp/some.img")
        (folder / "device" / "serial").unlink()
        self.assertEqual(safety.of_folder(Path("/dev/x"), folder, machine).serial, "some.img")

    def test_signatures_and_serials(self) -> None:
        path = self.folder / "disk.img"
        path.write_bytes(bytes(1 << 20))

        def none(_: Path) -> list[str]:
            return []

        with self.assertRaisesRegex(UserError, "signatures of ext4"):
            safety.target(path, "disk.img", signatures=lambda _: ["ext4"])
        with self.assertRaisesRegex(UserError, "its data would be lost"):
            safety.target(path, None, signatures=none)
        with self.assertRaisesRegex(UserError, "'other' is not the serial number"):
            safety.target(path, "other", signatures=none)
        found = safety.target(path, "disk.img", signatures=none)
        self.addCleanup(os.close, found.fd)
        self.assertEqual(found.bytes, 1 << 20)
        with self.assertRaisesRegex(UserError, "neither"):
            safety.target(Path("/dev/null"), "null", signatures=none)
        with self.assertRaisesRegex(UserError, "No such file"):
            safety.target(self.folder / "none", "none", signatures=none)

    def test_a_real_signature_is_found(self) -> None:
        path = self.folder / "disk.img"
        data = bytearray(1 << 20)
        # The magic number of an MBR, and a partition in it.
        data[0x1BE:0x1CE] = struct.pack("<B3sB3sII", 0, b"", 0x83, b"", 8, 1024)
        data[510:512] = b"\x55\xaa"
        path.write_bytes(data)
        with self.assertRaisesRegex(UserError, "signatures of dos"):
            safety.target(path, "disk.img")


class OnADrive(Scratch):
    """A file in place of a device, and a program that answers at once."""

    def program(self) -> Path:
        path = self.folder / "requests"
        path.write_text(
            f"#!{sys.executable}\nimport struct, sys\n"
            "rows = sys.stdin.buffer.read()\nout = sys.stdout.buffer\n"
            "for i, (at, _, _) in enumerate(struct.iter_unpack('<qqq', rows)):\n"
            "    out.write(struct.pack('<qq', at + i, at + i + 70000))\n"
        )
        path.chmod(0o755)
        return path

    def test_goes_on_where_it_was_and_leaves_out(self) -> None:
        path = self.folder / "x"
        path.touch()
        with path.open() as held:
            self.goes_on(safety.Target(path, "x", 64 * MIB, "x", None, fd=held.fileno()))

    def goes_on(self, target: safety.Target) -> None:
        found = probe_file.Probe({"bytes": 64 * MIB}, 32 * MIB, 1)
        kept: list[int] = []
        said: list[str] = []
        drive = on_drive.OnDrive(self.program(), target, 0)
        on_drive.probe(drive, found, held_out=False, keep=lambda _: None, say=said.append)
        self.assertEqual(found.results, {})
        self.assertIn("fill", found.left_out)
        drive.ends = time.monotonic() + 3600
        found.known = Known(4096, 16384)
        on_drive.probe(drive, found, held_out=False, say=said.append,
                       keep=lambda one: kept.append(len(one.results)))  # fmt: skip
        self.assertEqual(found.left_out, [])
        self.assertEqual(kept, sorted(kept))
        before = drive.written
        self.assertGreater(before, 64 * MIB)
        on_drive.probe(drive, found, held_out=False, keep=lambda _: None, say=said.append)
        self.assertEqual(drive.written, before)
        self.assertTrue(any("going on" in one for one in said))

    def test_another_version_does_not_go_on(self) -> None:
        path, out = self.folder / "disk.img", self.folder / "probe.json"
        with path.open("wb") as stream:
            stream.truncate(64 * MIB)
        options = argparse.Namespace(
            drive=path, destroy="disk.img", mib=32, seed=1, minutes=1e-9, held_out=False, out=out
        )

        def go_on() -> None:
            quiet = io.StringIO()
            with contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet):
                on_drive.main(options)

        try:
            os.close(os.open(path, os.O_RDWR | os.O_DIRECT))
        except OSError:
            self.skipTest("the folder's file system knows no O_DIRECT")
        go_on()
        go_on()
        for other in ("of before", None):
            found = json.loads(out.read_text())
            found["source"].pop("measured_by")
            if other:
                found["source"]["measured_by"] = other
            out.write_text(json.dumps(found))
            before = out.read_bytes()
            with self.assertRaisesRegex(UserError, "another version of scarp probe"):
                go_on()
            self.assertEqual(out.read_bytes(), before)
            found["source"]["measured_by"] = on_drive.measured_by()
            out.write_text(json.dumps(found))

    def test_rows_are_packed(self) -> None:
        packed = on_drive.packed([(5, TRIM, 4096, 512)]).tobytes()
        self.assertEqual(struct.unpack("<qQII", packed), (5, 4096, 512, 2))

    def test_the_real_program_on_a_file(self) -> None:
        from scarplib.build.requests import ensure_requests

        path = self.folder / "file.img"
        path.write_bytes(bytes(1 << 20))
        rows = [(0, "W", 4096 * i, 4096) for i in range(100)]
        rows += [(0, "F", 0, 0), (0, "R", 8192, 8192), (0, "T", 0, 4096)]
        try:
            file = os.open(path, os.O_RDWR | os.O_DIRECT)
        except OSError:
            self.skipTest("the folder's file system knows no O_DIRECT")
        self.addCleanup(os.close, file)
        counter = os.memfd_create("counter")
        self.addCleanup(os.close, counter)
        os.ftruncate(counter, 8)
        for depth in (0, 1, 16):
            words = (ensure_requests(), file, depth, os.getpid(), counter)
            done = subprocess.run(
                [str(word) for word in words], pass_fds=(file, counter),
                input=on_drive.packed(rows), capture_output=True, check=False,
            )  # fmt: skip
            if b"Operation not permitted" in done.stderr or b"not implemented" in done.stderr:
                self.skipTest("this machine has no io_uring")
            self.assertEqual(done.returncode, 0, done.stderr)
            times = list(struct.iter_unpack("<qq", done.stdout))
            self.assertEqual(len(times), len(rows))
            self.assertTrue(all(0 < begin <= end for begin, end in times))
        self.assertEqual(struct.unpack("=q", os.pread(counter, 8, 0)), (3 * 100 * 4096,))
        self.assertEqual(path.read_bytes()[:4096], bytes(4096))
        self.assertNotEqual(path.read_bytes()[4096:8192], bytes(4096))


class Kept(cited.Runner):
    """A runner that keeps where its requests went."""

    offsets: Sequence[int] = ()

    def _seen(self, log: Path) -> cited.Seen:
        self.offsets = read_commands(log).offset
        return super()._seen(log)

    def size(self) -> int:
        return self._size()


class OthersMeasurements(Scratch):
    def test_the_table_that_is_here(self) -> None:
        table = cited.rows(ROOT / "experiments" / "drives" / "nvme-a.csv")
        # At most half of the rows were looked at by a fit.
        self.assertLess(sum(row.use == "fit" for row in table), len(table) / 2)
        self.assertEqual(len(cited.runs(table)["custom/zns-a/long3/nvme_1_750.json"]), 2)

    def test_what_is_no_table(self) -> None:
        path = self.folder / "x.csv"
        path.write_text("file,use\na,b\n")
        with self.assertRaisesRegex(UserError, "row 1 has no column 'rw'; needed: file, use, "):
            cited.rows(path)
        path.write_bytes(gzip.compress(b"file,use\na,b\n"))
        with self.assertRaisesRegex(UserError, r"x\.csv: is no text; a compressed table must be"):
            cited.rows(path)

    def test_a_table_that_nothing_was_fitted_to(self) -> None:
        path = self.folder / "x.csv"
        names = [name for name in cited.COLUMNS if name != "use"]
        values = ["a", "randread", "4k", "8", "", "", "100", "400", "", "70000", "", "90000"]
        path.write_text(f"{','.join(names)}\n{','.join(values)}\n")
        (row,) = cited.rows(path)
        self.assertEqual((row.use, row.bs, row.depth, row.jobs, row.rate), ("held", 4096, 8, 1, 0))
        self.assertEqual(row.points, {"p50": 70000, "p99": 90000})
        for at, text in ((0, "a\x1b[2J"), (1, "rand\x1b[2Jread"), (5, "9\x1b[2J")):
            wrong = [*values[:at], text, *values[at + 1 :]]
            path.write_text(f"{','.join(names)}\n{','.join(wrong)}\n")
            if at == 0:
                self.assertEqual([row.file for row in cited.rows(path)], ["a\ufffd[2J"])
                continue
            with self.assertRaisesRegex(UserError, "row 1: ") as caught:
                cited.rows(path)
            self.assertTrue(str(caught.exception).isprintable())

    def test_fios_json(self) -> None:
        path = self.folder / "fio.json"
        points = {"50.000000": 70000, "90.000000": 80000, "99.000000": 90000}
        done = {
            "total_ios": 9,
            "iops": 5.5,
            "bw": 22,
            "clat_ns": {"mean": 7.5, "percentile": points},
        }
        options = {"ioengine": "io_uring", "iodepth": "4", "rate": "1m,2m"}
        none = {"total_ios": 0}
        jobs = [{"job options": {**options, "rw": "randread"}, "read": done, "write": none},
                {"job options": {**options, "rw": "randwrite"}, "read": none,
                 "write": {**done, "lat_ns": {"mean": 8.5}}}]  # fmt: skip
        path.write_text(json.dumps({"global options": {"bs": "8k,64KiB"}, "jobs": jobs}))
        read, write = fio_json.rows(path)
        self.assertEqual((read.rw, read.bs, read.depth, read.rate), ("randread", 8192, 4, MIB))
        self.assertEqual((write.rw, write.bs, write.rate), ("randwrite", 65536, 2 * MIB))
        self.assertEqual((read.mean, read.points["p99"]), (7.5, 90000))
        path.write_text('{"jobs": [{}]}')
        with self.assertRaisesRegex(UserError, "no job in it has read or written anything"):
            fio_json.rows(path)

    def test_beside_a_small_drive(self) -> None:
        drive = self.folder / "drive.ini"
        drive.write_text(SMALL)
        runner = cited.Runner(replayer.ensure_replay(), drive, self.folder)
        table = [
            cited.Row("x", "held", rw, 4096, 1, 1, 0, 1, 4, 1, {"p50": 1, "p99": 1})
            for rw in ("randread", "read", "randwrite", "write")
        ]
        for row in table:
            seen = runner.run([row])
            found = {one.name: one for one in cited.compare([row], seen)}
            median = next(one.model for name, one in found.items() if name.endswith("p50"))
            # A read of flash; a write into the buffer, or one that waits for room there.
            self.assertGreater(median, 50000 if "read" in row.rw else 7000)
            self.assertFalse(found["rate"].held)

    def test_beside_a_used_drive(self) -> None:
        """What fio measured where collections were due is met from such a drive alone."""
        drive, fio = self.folder / "drive.ini", self.folder / "fio.out"
        # With little to spare, so that collections cost something.
        drive.write_text(SMALL.replace("permille=400", "permille=250"))
        table = [cited.Row("x", "held", "randwrite", 4096, 16, 1, 0, 1, 4, 1, {"p50": 1})]
        rates = []
        for begin in (cited.Begin(), cited.Begin(900), cited.Begin(900, True, 2)):
            runner = cited.Runner(replayer.ensure_replay(), drive, self.folder, begin=begin)
            rates.append(runner.run(table).kib_per_s["write"])
        new, filled, steady = rates
        # By more than what a rate may be off: else it would not matter.
        wide = 1 + figures.WIDE["rate"]
        self.assertGreater(new, wide * steady)
        self.assertGreater(filled, wide * steady)
        # The drive itself, as fio would have written it down: in a file of any name.
        done = {"total_ios": 2000, "iops": steady / 4, "bw": steady}
        job = {"jobname": "steady-overwrites-of-all-of-it",
               "job options": {"rw": "randwrite", "bs": "4k", "iodepth": "16",
                               "ioengine": "io_uring"},
               "read": {"total_ios": 0}, "write": done}  # fmt: skip
        fio.write_text(json.dumps({"jobs": [job]}))
        for more, well, says in (
            ([], 0, "each run: 0.4 s on a drive that is full where something is read, else empty"),
            (["--age", "900", "--steady", "--seconds", "2"], 1,
             "each run: 2 s on a drive that is 90 % full, overwritten at random, there alone"),
        ):  # fmt: skip
            out, err = io.StringIO(), io.StringIO()
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                self.assertEqual(run_fit(str(drive), "--beside", str(fio), *more), 0)
            self.assertIn(says, err.getvalue())
            self.assertIn(f"rate: {well} of 1 within 10 %", out.getvalue())

    def test_loads_go_where_data_is(self) -> None:
        """A read of what was never written needs no flash, and is not what fio's `size` reads."""
        drive = self.folder / "drive.ini"
        drive.write_text(SMALL)
        row = cited.Row("x", "held", "randread", 4096, 1, 1, 0, 1, 4, 1, {"p50": 1})
        mixed = [replace(row, mixed=300), replace(row, rw="randwrite", mixed=300)]
        for table, begin in (([row], cited.Begin(300)), (mixed, cited.Begin(300, True, 1))):
            runner = Kept(replayer.ensure_replay(), drive, self.folder, begin=begin)
            runner.run(table)
            seen = runner.offsets
            self.assertGreater(len(seen), 100)
            # Up to the last whole MiB of it.
            end = runner.size() * 300 // 1000
            self.assertLess(max(seen), end)
            self.assertGreater(max(seen), end - MIB - 65536)

    def test_names_of_steps_do_not_run_into_figures(self) -> None:
        figure = figures.Figure("randwrite of mix 128k x 128", "rate", 1e6, 2e6)
        head, row = figures.table([figure]).splitlines()
        self.assertRegex(row, r"^randwrite of mix 128k x 128  rate ")
        self.assertEqual(row.index("rate"), head.index("figure"))

    def test_jobs_beside_each_other(self) -> None:
        path, log = self.folder / "drive.ini", self.folder / "out.json"
        path.write_text(SMALL)
        words = ["--job", "4:8000000=gen:uniform,size=65536,requests=1000000", "--job",
                 "1=gen:uniform,write=0,requests=1000000", "--runtime", "500000"]  # fmt: skip
        command = [str(replayer.ensure_replay()), "-d", str(path), "--age", "800"]
        subprocess.run([*command, *words, "--json", str(log)], check=True)
        found = json.loads(log.read_text())
        self.assertEqual(found["mode"], "jobs")
        # The rate of the writers, half a second long.
        self.assertAlmostEqual(found["write_bytes"] / 4e6, 1, delta=0.1)
        self.assertGreater(found["reads"], 1000)
        for wrong, said in (
            (["--job", "0=gen:zipf"], "DEPTH"),
            (["--job", "4:0=gen:zipf"], "DEPTH"),
            (["--job", "4"], "DEPTH"),
            (["--job", "4=gen:zipf", "gen:zipf"], "a workload beside it"),
            (["--job", "4=gen:zipf", "--mode", "open"], "--mode"),
        ):
            done = subprocess.run([*command, *wrong], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn(said, done.stderr)
