# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs on the host's clock: options, lateness in numbers and pictures, both clocks compared."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(Path(__file__).parent)]

import synthetic  # noqa: E402
from refused import Refused  # noqa: E402
from scarplib.build import replayer  # noqa: E402
from scarplib.device_logs import command_log, engine_tables, lateness_log, log_page  # noqa: E402
from scarplib.device_logs.log_file import HEADER, LogError, rows  # noqa: E402
from scarplib.drive.image_file import DriveImage  # noqa: E402
from scarplib.drive.start import Start  # noqa: E402
from scarplib.errors import UserError  # noqa: E402
from scarplib.guest import drives_job, host_load, realtime, vm  # noqa: E402
from scarplib.results import drives, drives_report, lateness, summary, truth  # noqa: E402
from scarplib.results.pictures.lateness import figure_lateness  # noqa: E402
from scarplib.results.table import table_text  # noqa: E402
from scarplib.runs import run  # noqa: E402
from scarplib.runs.command import compared  # noqa: E402

DRIVE = ROOT / "tests" / "qtest" / "tiny.ini"
LATE_NS = 5_000
# The host's clock at the drive's zero.
HOST_NS = 10**12
VALUES = {
    "realtime_bound_ns": 20_000,
    "realtime_elapsed_ns": 1_000_000,
    "realtime_thread_cpu_ns": 250_000,
    "realtime_polled_ns": 100_000,
    "realtime_behind_ns": 30_000,
    "realtime_priority": 2,
    "realtime_lost_polls": 0,
    **{f"read_late_{p}_ns": n for p, n in (("p50", 3_000), ("p99", 12_000), ("max", 90_000))},
    "read_late_n": 50,
    "all_late_n": 50,
    "all_late_p99_ns": 12_000,
}


class Folder(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)

    def write_lateness(self, points: Sequence[tuple[int, ...]]) -> None:
        """(arrived, posted, submit, complete, seq, op)"""
        layout = lateness_log.LAYOUT
        with (self.folder / "late.bin").open("wb") as stream:
            stream.write(HEADER.pack(layout.magic, layout.row.size, 0, layout.version))
            for arrived, posted, submit, complete, seq, op in points:
                host = posted + HOST_NS
                stream.write(
                    layout.row.pack(arrived, posted, submit, complete, host, seq, op, 0, 0)
                )


def cli_settings(*words: str) -> Any:
    """What `scarp compare` would do with these options."""
    return compared(words)


class Options(Refused, Folder):
    def test_what_makes_no_sense_is_refused(self) -> None:
        real = ("--clock", "realtime")
        self.assertIn("--clock realtime", self.error("run", "--accel", "kvm"))
        self.assertIn("--clock realtime", self.error("compare", "--lateness-bound", "5"))
        self.assertIn("--clock realtime", self.error("shell", "--accel", "tcg"))
        self.assertIn("--cpu-shift", self.error("run", *real, "--cpu-shift", "-2"))
        self.assertIn("--trace", self.error("run", *real, "--trace", "blk"))
        self.assertIn("from 1 to", self.error("run", *real, "--lateness-bound", "0"))
        self.assertIn("virtual", self.error("run", "--clock", "cpu"))

    def test_cores(self) -> None:
        real = ("--clock", "realtime")
        cores = sorted(os.sched_getaffinity(0))
        missing = max(cores) + 1
        self.assertIn("--cpus: needs --clock realtime", self.error("run", "--cpus", "0"))
        said = self.error("run", *real, "--cpus", str(missing))
        self.assertIn(f"--cpus: this host has no core {missing} for us; it has {cores[0]}", said)
        self.assertIn("named twice", self.error("shell", *real, "--cpus", "0,0"))
        self.assertIn("--cpus: 'a'", self.error("compare", *real, "--cpus", "a"))
        one = str(cores[0])
        two = self.error("run", *real, "--cpus", one, "--drives", "2")
        self.assertIn("--cpus: 1 cores for 2 drives", two)
        jobs = self.error("compare", *real, "--cpus", one, "--jobs", "2")
        self.assertIn("--jobs: excludes --cpus", jobs)

    def test_each_drive_has_its_core(self) -> None:
        real = realtime.RealTime("tcg", 9, cpus=(3, 1))
        drives = [
            realtime.on_clock(real, vm.FlashDrive(description=DRIVE), number, self.folder)
            for number in range(2)
        ]
        for drive, core in zip(drives, (3, 1), strict=True):
            text = drive.arguments(0)[1]
            self.assertIn(f"clock=realtime,lateness-log={self.folder}/late.bin", text)
            self.assertIn(f"lateness-bound-ns=9000,cpu={core}", text)
        self.assertEqual(real.settings()["cpus"], [3, 1])
        plain = vm.FlashDrive(description=DRIVE)
        self.assertIs(realtime.on_clock(None, plain), plain)
        self.assertNotIn("cpu=", plain.arguments(0)[1])

    def test_a_core_for_each(self) -> None:
        """Priority only if a core is left, polling only if there is a core for everybody."""
        for name in ("--priority", "--idle"):
            value = "poll" if name == "--idle" else "1"
            said = self.error("compare", name, value)
            self.assertIn(f"{name}: needs --clock realtime", said)
        self.assertIn("--priority: needs --clock realtime", self.error("run", "--priority", "0"))
        self.assertIn("from 0 to 99", self.error("run", "--clock", "realtime", "--priority", "100"))
        self.assertIn("spin", self.error("run", "--clock", "realtime", "--idle", "spin"))
        with mock.patch.object(realtime, "allows_priority", return_value=False):
            with self.assertRaisesRegex(UserError, "--priority: this host refuses 5"):
                cli_settings("--clock", "realtime", "--priority", "5")
            cli_settings("--clock", "realtime")
        with mock.patch("os.sched_getaffinity", return_value={0, 1}):
            self.assertEqual([realtime.usual_priority(n) for n in (1, 2, 3)], [1, 0, 0])
            of = [realtime.usual_idle(*n) for n in ((1, 1), (2, 1), (1, 2))]
            self.assertEqual(of, ["poll", "halt", "halt"])
            said = cli_settings("--clock", "realtime")
            self.assertEqual((said.clock.priority, said.clock.idle), (1, "poll"))
            self.assertEqual(said.cpu_limit, 3600)
            said = cli_settings("--clock", "realtime", "--smp", "2", "--cpu-limit", "99")
            self.assertEqual((said.clock.priority, said.clock.idle), (1, "halt"))
            self.assertEqual(said.cpu_limit, 99)
            said = cli_settings("--clock", "realtime", "--jobs", "2")
            self.assertEqual((said.clock.priority, said.clock.idle), (0, "halt"))
            said = cli_settings("--clock", "realtime", "--priority", "0", "--idle", "halt")
            self.assertEqual((said.clock.priority, said.clock.idle), (0, "halt"))
        self.assertEqual((cli_settings().clock.idle, cli_settings().cpu_limit), ("halt", 600))
        nothing: Any = None
        real = realtime.Clock(None, "tcg", priority=7, idle="poll").real(nothing, nothing)
        assert real
        self.assertEqual((real.settings()["priority"], real.settings()["idle"]), (7, "poll"))
        drive = realtime.on_clock(real, vm.FlashDrive(description=DRIVE))
        self.assertIn(",priority=7", drive.arguments(0)[1])

    def test_idle_guests(self) -> None:
        nothing: Any = SimpleNamespace(binary="qemu", firmware_dir="f", kernel="k")
        for polls in (False, True):
            guest = vm.GuestRun(nothing, nothing, [], "", self.folder, idle_poll=polls)
            words = vm.command_line(guest, self.folder, "null")
            said = words[words.index("-append") + 1]
            self.assertEqual(said.endswith(" idle=poll"), polls)

    def test_accelerator(self) -> None:
        """KVM where a guest boots on it; else TCG with the reason, or an error if it was asked."""
        nothing: Any = SimpleNamespace()
        for why, accel, wanted in (
            ("", "auto", ("kvm", "")),
            ("", "kvm", ("kvm", "")),
            ("no /dev/kvm", "auto", ("tcg", "no /dev/kvm")),
            ("no /dev/kvm", "tcg", ("tcg", "")),
        ):
            with mock.patch.object(realtime, "kvm_trouble", return_value=why):
                real = realtime.Clock(None, accel, 33).real(nothing, nothing)
                assert real
                self.assertEqual((real.accel, real.why, real.bound_us), (*wanted, 33))
        with (
            mock.patch.object(realtime, "kvm_trouble", return_value="no /dev/kvm"),
            self.assertRaisesRegex(UserError, "--accel kvm: no /dev/kvm"),
        ):
            realtime.Clock(None, "kvm").real(nothing, nothing)
        self.assertIsNone(realtime.VIRTUAL.real(nothing, nothing))

    def test_what_a_busy_host_did_not_answer_is_asked_again(self) -> None:
        qemu: Any = SimpleNamespace(version="v", series_hash="s")
        ends = [SimpleNamespace(reason=x, console_tail="") for x in ("stopped", "qemu died")]
        with (
            tempfile.NamedTemporaryFile() as kvm,
            tempfile.TemporaryDirectory() as cache,
            mock.patch.object(realtime, "_KVM", Path(kvm.name)),
            mock.patch.dict(os.environ, {"XDG_CACHE_HOME": cache}),
            mock.patch.object(vm, "run_guest", side_effect=ends) as guests,
        ):
            said = [realtime.kvm_trouble(qemu, cast(Any, SimpleNamespace)) for _ in range(3)]
        self.assertIn("within 30 s", said[0])
        self.assertEqual(said[1:], ["a guest on KVM: qemu died"] * 2)
        self.assertEqual(guests.call_count, 2)

    def test_a_guest_that_kvm_gives_up_is_a_certain_answer_at_once(self) -> None:
        words = "KVM internal error. Suberror: 1"

        def gives_up(run: vm.GuestRun) -> Any:
            (run.out / "qemu.log").write_text(f"{words}\nextra data\n")
            assert run.stop and run.stop.wait(300)
            return SimpleNamespace(reason="stopped", console_tail="")

        qemu: Any = SimpleNamespace(version="v", series_hash="s")
        with (
            tempfile.NamedTemporaryFile() as kvm,
            tempfile.TemporaryDirectory() as cache,
            mock.patch.object(realtime, "_KVM", Path(kvm.name)),
            mock.patch.dict(os.environ, {"XDG_CACHE_HOME": cache}),
            mock.patch.object(vm, "run_guest", side_effect=gives_up) as guests,
        ):
            said = [realtime.kvm_trouble(qemu, cast(Any, SimpleNamespace)) for _ in range(2)]
        self.assertEqual(said, [f"a guest on KVM: {words}"] * 2)
        self.assertEqual(guests.call_count, 1)

    def test_command_line(self) -> None:
        qemu = SimpleNamespace(binary=Path("qemu"), firmware_dir=Path("firmware"))
        image = SimpleNamespace(kernel=Path("kernel"))
        lines = {}
        for accel in (None, "tcg", "kvm"):
            drive = vm.FlashDrive(
                description=DRIVE,
                clock="realtime" if accel else None,
                lateness_bound_us=7 if accel else None,
            )
            run = vm.GuestRun(
                cast(Any, qemu), cast(Any, image), [drive], "true", Path(), accel=accel
            )
            lines[accel] = " ".join(vm.command_line(run, Path("initrd"), "null"))
        self.assertIn("-icount", lines[None])
        self.assertNotIn("lateness", lines[None])
        for accel, wanted in (("tcg", "-accel tcg,thread=multi"), ("kvm", "-accel kvm -cpu host")):
            self.assertNotIn("-icount", lines[accel])
            self.assertIn(wanted, lines[accel])
            self.assertIn("clock=realtime,lateness-bound-ns=7000", lines[accel])


class Numbers(Folder):
    def page(self, values: dict[str, int]) -> log_page.StatsPage:
        """As the device writes it: its own numbers behind the engine's."""
        data = bytearray(synthetic.stats_page("baseline", 77, {"reads": 5}))
        names = engine_tables.realtime_statistics()
        struct.pack_into("<I", data, 12, len(log_page.fields()) + len(names))
        data += struct.pack(f"<{len(names)}Q", *(values.get(name, 0) for name in names))
        (self.folder / "page").write_bytes(data)
        return log_page.read(self.folder / "page")

    def test_log_page(self) -> None:
        page = self.page(VALUES)
        self.assertEqual((page.now_ns, page.values["reads"]), (77, 5))
        self.assertEqual({k: page.realtime[k] for k in VALUES}, VALUES)
        (self.folder / "page").write_bytes(synthetic.stats_page("baseline", 77, {"reads": 5}))
        self.assertEqual(log_page.read(self.folder / "page").realtime, {})
        self.assertEqual(lateness.of_page({}), {})

    def test_the_hosts_load(self) -> None:
        path = self.folder / "load.csv"
        load = host_load.HostLoad(path, every_ns=0)
        hz = os.sysconf("SC_CLK_TCK")
        ticks = [host_load.HostTicks(0, 0, 0), host_load.HostTicks(hz // 2, hz // 10, hz)]
        with mock.patch.object(host_load, "host_ticks", side_effect=ticks):
            load.sample(1.0)
            load.sample(1.4)
        load.close()
        head, line = path.read_text().splitlines()
        self.assertEqual(head, host_load.HEAD)
        self.assertEqual(line.split(",")[1:], ["500", "100", "400"])
        seen = host_load.host_ticks()
        self.assertLessEqual(seen.busy + seen.stolen, seen.all)

    def test_whose_time(self) -> None:
        late = {"lateness": lateness.of_page(self.page(VALUES).realtime)}
        self.assertEqual(lateness.clock([{}, late]), "real")
        self.assertEqual(lateness.clock([{}, {}]), "virtual")

    def test_doubtful(self) -> None:
        good = lateness.of_page(self.page(VALUES).realtime)
        self.assertEqual((good["doubtful"], good["behind_share"]), (False, 0.03))
        self.assertEqual(good["read"]["p99_ns"], 12_000)
        bad = lateness.of_page(self.page({**VALUES, "all_late_p99_ns": 21_000}).realtime)
        self.assertTrue(bad["doubtful"])
        (said,) = lateness.doubts({"a": {"lateness": good}, "b": {"lateness": bad}, "c": {}})
        self.assertRegex(said, r"^b is doubtful: .* 21.0 µs, allowed are 20.0 µs; .* 3.0 %")

    def test_table_and_picture(self) -> None:
        synthetic.write_scheme(self.folder, "baseline", count=200)
        page = self.page(VALUES)
        (self.folder / "page").replace(self.folder / "stats-end.bin")
        begin, end = synthetic.BEGIN_NS, synthetic.BEGIN_NS + 10**9
        data = bytearray((self.folder / "stats-end.bin").read_bytes())
        struct.pack_into("<Q", data, 16, end)
        (self.folder / "stats-end.bin").write_bytes(data)
        self.write_lateness(
            [
                (at, at + 90_000, at + 4_000, at + 84_000, n, n % 3)
                for n, at in enumerate(range(begin + 10**6, begin + 10**6 + 50))
            ]
        )
        found = summary.load_scheme(self.folder, "baseline")
        late = found.summary["lateness"]
        self.assertEqual({**late, **lateness.of_page(page.realtime)}, late)
        self.assertEqual(late["before_engine"], {"p50_ns": 4_000, "p99_ns": 4_000})
        self.assertEqual(late["behind_model"], {"p50_ns": 6_000, "p99_ns": 6_000})
        found.summary["truth"] = {
            "read": {
                "given": {f"p{p}_ns": 90_000 for p in ("50", "99", "99.9")},
                "wanted": {f"p{p}_ns": 81_000 for p in ("50", "99", "99.9")},
                "distance_ns": 9_100,
                "each": {"p50_ns": 400, "p90_ns": 7_000},
                "count": 50,
                "idle_host": {
                    "count": 20,
                    "given": {"p50_ns": 83_000},
                    "wanted": {"p50_ns": 80_000},
                },
            }
        }
        text = table_text({"baseline": found.summary})
        for wanted in (
            r"lateness of reads\n.*p50 +3.00 µs\n +p99 +12.0 µs",
            r"of it before the engine: p50, p99 +4.00 µs, 4.00 µs",
            r"of it after the model: p50, p99 +6.00 µs, 6.00 µs",
            r"behind +3.0 %\n +real-time priority +2\n +verdict +good",
            r"given, and wanted.*\n +p50 +90.0 µs, 81.0 µs",
            r"distance of both +9.10 µs\n +difference of each .*: p50, p90 +0.40 µs, 7.00 µs",
            r"p50 while the host was idle +83.0 µs, 80.0 µs \(40 % of them\)",
            r"  real +0\.",
        ):
            self.assertRegex(text, wanted)
        self.assertNotIn("virtual  ", text)
        self.assertIsNone(figure_lateness([]))
        (self.folder / "load.csv").write_text(
            f"host_ns,busy_permille,stolen_permille,qemu_permille\n{begin + 10**12},900,10,400\n"
        )
        figure = figure_lateness([found])
        assert figure
        self.assertEqual(len(figure.axes), 2)
        self.assertIn("(good)", figure.axes[0].get_title(loc="left") + figure.axes[0].get_title())


class SeveralDrives(Folder):
    """Each on a thread of its own, in one guest."""

    def late_drive(self, number: int, p99_ns: int) -> None:
        folder = self.folder / "md" / f"drive{number}"
        synthetic.write_scheme(folder, "baseline", count=200)
        at = synthetic.BEGIN_NS + 1000
        self.write_lateness([(at, at + 90_000, at, at + 80_000, n, 0) for n in range(9)])
        (self.folder / "late.bin").replace(folder / "late.bin")
        page = folder / "stats-end.bin"
        data = bytearray(page.read_bytes())
        names = engine_tables.realtime_statistics()
        values = {**VALUES, "all_late_p99_ns": p99_ns}
        struct.pack_into("<I", data, 12, len(log_page.fields()) + len(names))
        data += struct.pack(f"<{len(names)}Q", *(values.get(name, 0) for name in names))
        page.write_bytes(data)

    def test_lateness_of_each(self) -> None:
        self.late_drive(0, 12_000)
        self.late_drive(1, 21_000)
        layout = self.folder / "md"
        (layout / "drive0" / "fio.json").rename(layout / "fio.json")
        found = drives.load_layout(layout, "md", "md", 2)
        layouts = {"md": {"layout": "md", **found.summary}}
        of = found.summary["drives"]
        self.assertEqual([d["lateness"]["doubtful"] for d in of], [False, True])
        of[1]["truth"] = {"read": {"distance_ns": 9_100}}
        text = drives.table_text(layouts)
        self.assertRegex(text, r"lateness: .*\n  drive 0 .*12.0 µs, .*\n  drive 1 .*21.0 µs")
        self.assertRegex(text, r"reads' distance .*\n  drive 0 +–\n  drive 1 +9.10 µs")
        self.assertRegex(text, r"real time +[0-9.]+ s")
        (doubt,) = drives.doubts(layouts)
        self.assertRegex(doubt, "^md, drive 1 is doubtful: ")
        written = {"job": "j", "device": "d", "drives": 2, "layouts": layouts}
        (self.folder / "summary.json").write_text(json.dumps(written))
        drives_report.write_report(self.folder)
        page = (self.folder / "report.html").read_text()
        self.assertIn("How late the host was: md", page)
        self.assertIn("in real time", page)
        self.assertIn("md, drive 1 is doubtful", page)

    def test_the_guest_asks_for_the_whole_page(self) -> None:
        images = (Path("a.img"), Path("b.img"))
        jobs = [
            drives_job.DrivesJob(
                Path("j.fio"), "md", None, "baseline", Path("out"), images, realtime=real
            )
            for real in (None, realtime.RealTime("tcg"))
        ]
        asked = [
            re.findall(r"--log-len=(\d+)", drives_job.task_text(job, DriveImage(4096, 8 << 20)))
            for job in jobs
        ]
        self.assertEqual([len(sizes) for sizes in asked], [4, 4])
        more = 8 * len(engine_tables.realtime_statistics())
        self.assertEqual([int(b) - int(a) for a, b in zip(*asked, strict=True)], 4 * [more])


class Truth(Folder):
    """A log of a replay is taken for that of a guest whose completions were late."""

    def setUp(self) -> None:
        super().setUp()
        log = self.folder / "cmd.bin"
        command = [str(replayer.ensure_replay()), "--quiet", "--json", "/dev/null"]
        command += [
            "-d",
            str(DRIVE),
            "--age",
            "900",
            "--cmd-log",
            str(log),
            "-m",
            "closed",
            "-q",
            "8",
        ]
        subprocess.run([*command, "gen:mixed,requests=1500"], check=True, capture_output=True)
        self.start = Start("baseline", (("description", str(DRIVE)), ("age", "900")))
        self.rows = [
            row
            for row in rows(log, command_log.LAYOUT)
            if row[4] in (command_log.READ, command_log.WRITE)
        ]

    def compare(self, early_ns: int) -> dict[str, Any]:
        """Doorbells so much before the engine took the commands, completions LATE_NS late."""
        self.write_lateness(
            [
                (
                    r[0] - early_ns,
                    r[1] - early_ns + LATE_NS,
                    r[0],
                    r[1],
                    r[8] & command_log.ORDER_SEQ,
                    r[4],
                )
                for r in self.rows
            ]
        )
        return truth.compare(self.folder, self.start, 0, 2**62)

    def check(self, found: dict[str, Any]) -> None:
        for name, op in (("read", 0), ("write", 1)):
            part = found[name]
            self.assertEqual(part["count"], sum(row[4] == op for row in self.rows))
            self.assertEqual(part["distance_ns"], LATE_NS)
            self.assertEqual(set(part["each"].values()), {LATE_NS})
            for point, value in part["wanted"].items():
                self.assertEqual(part["given"][point], value + LATE_NS)
            self.assertGreater(part["wanted"]["p50_ns"], 5_000)

    def test_only_the_ends_were_late(self) -> None:
        self.check(self.compare(0))

    def test_while_the_host_was_idle(self) -> None:
        """Only commands that began and ended in stretches in which nobody else had work."""
        ordered = sorted(row[0] + HOST_NS for row in self.rows)
        first, middle, end = ordered[0], ordered[len(ordered) // 2], 2 * ordered[-1]
        for before, after, wanted in (
            ("300,0,250", "300,0,249", lambda begin, posted: posted + HOST_NS <= middle),
            ("300,25,300", "300,0,300", lambda begin, posted: begin + HOST_NS > middle),
            ("300,0,300", "900,0,900", lambda begin, posted: True),
        ):
            (self.folder / "load.csv").write_text(
                f"{host_load.HEAD}\n{first - 1},900,9,0\n{middle},{before}\n{end},{after}\n"
            )
            found = self.compare(0)
            for name, op in (("read", 0), ("write", 1)):
                chosen = sorted(
                    r[1] - r[0] for r in self.rows if r[4] == op and wanted(r[0], r[1] + LATE_NS)
                )
                idle = found[name]["idle_host"]
                self.assertEqual(idle["count"], len(chosen))
                self.assertEqual(idle["wanted"]["p50_ns"], chosen[(len(chosen) - 1) // 2])
                self.assertEqual(idle["given"]["p50_ns"], idle["wanted"]["p50_ns"] + LATE_NS)
                self.assertEqual(found[name]["count"], sum(r[4] == op for r in self.rows))
        (self.folder / "load.csv").write_text(f"{host_load.HEAD}\n{end},1,1,1\n")
        self.assertNotIn("idle_host", self.compare(0)["read"])

    def test_order_of_arrival_counts(self) -> None:
        """Doorbells in another order than the engine's: the model would have done otherwise."""
        first = min(row[0] for row in self.rows)
        span = max(row[0] for row in self.rows) - first
        self.write_lateness(
            [
                (first, r[1] + LATE_NS, r[0], r[1], r[8] & command_log.ORDER_SEQ, r[4])
                for r in self.rows
            ]
        )
        found = truth.compare(self.folder, self.start, 0, 2**62)
        # All at once: the last of them waits for all others.
        self.assertGreater(found["write"]["wanted"]["p99.9_ns"], span // 2)

    def test_distance(self) -> None:
        self.assertEqual(truth.distance([1, 9, 5], [2, 2, 2]), (1 + 3 + 7) // 3)
        self.assertEqual(truth.distance([4, 1], [1, 4]), 0)

    def test_what_cannot_be_replayed_is_left_out(self) -> None:
        written = {"schemes": {"a": {"begin_ns": 0, "end_ns": 1}}}
        for error in (LogError("no log"), UserError("no replayer")):
            with (
                mock.patch("scarplib.drive.start.of_run", return_value=self.start),
                mock.patch.object(truth, "compare", side_effect=error),
                contextlib.redirect_stderr(io.StringIO()) as said,
            ):
                run.compare_clocks(written, self.folder)
            self.assertIn(str(error), said.getvalue())
            self.assertEqual(list(written["schemes"]["a"]), ["begin_ns", "end_ns"])

    def test_nothing_to_compare(self) -> None:
        self.write_lateness([])
        self.assertEqual(json.dumps(truth.compare(self.folder, self.start, 0, 2**62)), "{}")


if __name__ == "__main__":
    unittest.main()
