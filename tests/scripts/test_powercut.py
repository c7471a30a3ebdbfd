# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp powercut` without a guest and without scarp-cuts: arguments, promises, words, protocol."""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import re
import signal
import struct
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(Path(__file__).parent)]

import synthetic  # noqa: E402
from refused import Refused  # noqa: E402
from scarplib.device_logs.command_log import CAUSES  # noqa: E402
from scarplib.drive import image_file  # noqa: E402
from scarplib.errors import UserError  # noqa: E402
from scarplib.guest.file_system import FileSystem  # noqa: E402
from scarplib.guest.image import GuestImage  # noqa: E402
from scarplib.guest.user_guest import Guest  # noqa: E402
from scarplib.guest.user_task import UserTask  # noqa: E402
from scarplib.powercut import (  # noqa: E402
    check_guest,
    checks,
    cuts,
    fio_durable,
    judge,
    layout,
    lies,
    promises,
    record,
    recording,
    report,
    ways,
)
from scarplib.powercut import run as run_module  # noqa: E402
from scarplib.powercut.check_guest import CheckGuest, Verdict, What  # noqa: E402
from scarplib.powercut.cuts import Cut, Tried, Which  # noqa: E402
from scarplib.powercut.judge import Checked, Judged  # noqa: E402
from scarplib.powercut.recording import Drive, Recording  # noqa: E402
from typed import typed  # noqa: E402

IMAGE = GuestImage(Path("kernel"), Path("initramfs"), {})


class Folder(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)

    def says(self, words: str) -> Any:
        return self.assertRaisesRegex(UserError, words)


def a_recording(folder: Path, **more: Any) -> Recording:
    values: dict[str, Any] = {
        "drives": (Drive("drive0.img", "cmd0.bin", "data0.bin", 7),),
        "scheme": "baseline",
        "description": "drive.ini",
        "overrides": None,
        "begin_ns": 1000,
        "end_ns": 9000,
        "work": "work.sh",
        "job": None,
        "guest": {
            "file_systems": [["ext4", "discard"]],
            "packages": ["sqlite3"],
            "kernel": None,
            "modules": None,
            "memory_mib": None,
            "over": None,
        },
        "manifest": {},
    }
    return Recording(folder, **{**values, **more})


class Arguments(Refused):
    def asked(self, *words: str) -> argparse.Namespace:
        return typed("powercut", *words)

    def test_which_cuts(self) -> None:
        for text in ("5", "5-9", "5,7+3", "1-4,9+12,20"):
            self.assertEqual(self.asked("--cuts", text).cuts, text)
        for text in ("", "x", "5-", "0", "0-4", "5-9+2", "5+", "-1", "5,", "5..7"):
            self.assertIn("--cuts", self.error("powercut", f"--cuts={text}"))
        self.assertEqual(self.asked("--cut", "12+3").cut, "12+3")
        for text in ("0", "12-13", "1,2", "x"):
            self.assertIn("--cut", self.error("powercut", "--cut", text))
        said = self.error("powercut", "--check", "fs", "--cut", "5", "--cuts", "5")
        self.assertIn("--cut: excludes --cuts", said)

    def test_refused(self) -> None:
        for words, says in (
            ((), "--job, --script"),
            (("--check", "nothing"), "--check: nothing: no such file, nor one of fio, fs, sqlite"),
            (("--check", "fio", "--fs", "ext4"), "fio: excludes --fs"),
            (("--check", "fs", "--check", "fs"), "fs: named twice"),
            (("--check", "fs", "--drives", "2"), "--drives: needs --over"),
            (("--check", "fs", "--over", "array"), "--over: needs --drives"),
            (("--check", "fs", "--fs", "xfs", "--over", "btrfs", "--drives", "2"), "--fs btrfs"),
            (("--check", "fs", "--clock", "realtime"), "--clock"),
            (("--check", "fs", "--device", "none.ini"), "--device: none.ini"),
            (("--from", "none"), "--from"),
            (("--from", "none", "--fs", "ext4"), "--fs: excludes --from"),
            # What a recording says itself: it is of one scheme, one drive, one history.
            (("--from", "none", "--scheme", "pgc"), "--scheme: excludes --from"),
            (("--from", "none", "--seed", "2"), "--seed: excludes --from"),
            (("--from", "none", "--device", "x.ini"), "--device: excludes --from"),
            (("--from", "none", "--memory", "512"), "--memory: excludes --from"),
            (("--lies", "--fs", "xfs"), "--fs: excludes --lies"),
            (("--lies", "--job", "x.fio"), "--job: excludes --lies"),
            (("--lies", "--scheme", "pgc"), "--scheme: excludes --lies"),
            (("--lies", "--from", "x"), "--from: excludes --lies"),
            (("--lies", "--ready"), "--lies: excludes --ready"),
            (("--ready", "--seed", "2"), "--seed: excludes --ready"),
            (("--check", "fs", "--handles", "2"), "--handles"),
            (("--check", "fs", "--idle", "poll"), "--idle"),
            (("--check-limit", "0"), "--check-limit"),
            (("--lies", "--check", "README.md"), "--lies"),
            (("--ready", "--check", "fs"), "--check: excludes --ready"),
            (("--ready", "--from", "x"), "--from: excludes --ready"),
            (("--job", "README.md"), "no 'filename"),
            (("--check", "sqlite", "--mount-options", "a b"), "--mount-options"),
        ):
            nothing = mock.patch.object(checks, "programs", side_effect=AssertionError("built"))
            with self.subTest(words), nothing:
                self.assertIn(says, self.error("powercut", *words))

    def test_own_workloads(self) -> None:
        options = self.asked("--check", "sqlite")
        ways.complete(options)
        self.assertEqual((options.fs, options.packages), ("ext4", ["sqlite3"]))
        self.assertEqual(options.script.name, "powercut-sqlite.sh")
        options = self.asked("--check", "fio")
        ways.complete(options)
        self.assertEqual((options.fs, options.job.name), (None, "power-cut.fio"))
        # A workload of the user's own stays.
        options = self.asked("--check", "fs", "--script", "mine.sh", "--fs", "xfs")
        ways.complete(options)
        self.assertEqual((options.script, options.fs), (Path("mine.sh"), "xfs"))
        options = self.asked("--check", "fs", "--over", "btrfs", "--drives", "2")
        ways.complete(options)
        self.assertEqual(options.fs, "btrfs")


class Checks(Folder):
    def test_users_own(self) -> None:
        path = self.folder / "mine.py"
        path.write_text("#!/usr/bin/python3\n")
        with self.says("other interpreters come with --packages"):
            checks.chosen([str(path)], None, False)
        (check,) = checks.chosen([str(path)], None, True)
        self.assertEqual(check.files(), {"checks/script": path.read_bytes()})
        path.write_text("true\n")
        (check,) = checks.chosen([str(path)], None, False)
        self.assertEqual(check.files(), {"checks/script": b"#!/bin/sh\ntrue\n"})
        path.write_text("")
        with self.says("empty"):
            checks.chosen([str(path)], None, True)

    def test_each_file_system_has_its_fsck(self) -> None:
        for name in ("ext4", "xfs", "btrfs", "f2fs"):
            (check,) = checks.chosen(["fs"], name, False)
            text = check.files()["checks/fs.after"]
            assert isinstance(text, bytes)
            self.assertIn(b"$SCARP_DEV", text)
            self.assertTrue(text.startswith(b"#!/bin/sh\n"))


class Promised(Folder):
    def test_what_counts_at_a_moment(self) -> None:
        path = self.folder / "promises"
        path.write_text("100 a 1\n300 c\n200 b\n200 b again\n")
        found = promises.read(path)
        self.assertEqual(found.before(100), "")
        self.assertEqual(found.before(101), "100 a 1\n")
        self.assertEqual(found.before(300), "100 a 1\n200 b\n200 b again\n")
        self.assertEqual(promises.read(self.folder / "none").before(10**18), "")

    def test_only_a_newline_ends_a_line(self) -> None:
        path = self.folder / "promises"
        path.write_bytes(b"100 a\x0c1\x85 2\r\n200 b")
        self.assertEqual(promises.read(path).times, (100, 200))

    def test_odd_lines(self) -> None:
        path = self.folder / "promises"
        for text in ("12\n", "x y\n", "100 a\n\n", "9" * 5000 + " a\n", "\x85 \x0c\n", "٣ a\n"):
            path.write_text(text)
            with self.says(f"{path}:[12]: "):
                promises.read(path)


class Recordings(Folder):
    def test_there_and_back(self) -> None:
        made = a_recording(self.folder)
        made.write()
        self.assertEqual(recording.read(self.folder), made)
        results = self.folder / "results"
        (results / "recording").mkdir(parents=True)
        within = a_recording(results / "recording")
        within.write()
        self.assertEqual(recording.read(results), within)
        self.assertEqual(made.file_system, "ext4")
        changed = made.changed("lie.shorn_writes=1").changed("a.b=2")
        self.assertEqual(changed.overrides, "lie.shorn_writes=1,a.b=2")

    def test_damaged(self) -> None:
        with self.says("--from: .*No such file"):
            recording.read(self.folder)
        path = self.folder / recording.FILE
        for text in ("", "{}", '{"schema": "scarp-recording-1"}', "[1]", "1", '"a"', "[" * 100000):
            path.write_text(text)
            with self.says(f"--from: {path}: "):
                recording.read(self.folder)
        path.write_text('{"schema": "scarp-recording-0"}')
        with self.says("record it again"):
            recording.read(self.folder)

    def test_forged(self) -> None:
        """One that somebody else has written."""
        a_recording(self.folder).write()
        path = self.folder / recording.FILE
        (self.folder / "link").symlink_to("/etc/hostname")
        (self.folder / "loop").symlink_to("loop")
        whole = json.loads(path.read_text())
        guest, drive = whole["guest"], whole["drives"][0]
        wrongs: list[dict[str, Any]] = [
            *({"job": name} for name in ("../job.fio", "/etc/hostname", "..", "", "link", "a\0b")),
            *({key: 5} for key in ("scheme", "description", "overrides", "work", "job", "guest")),
            *({key: "5"} for key in ("begin_ns", "end_ns", "guest", "manifest", "drives")),
            *({"guest": {**guest, key: {}}} for key in guest),
            *({"guest": {k: v for k, v in guest.items() if k != key}} for key in guest),
            *({"guest": {**guest, "file_systems": [fs]}} for fs in (["zfs", ""], ["ext4", 3], 3)),
            *({"guest": {**guest, **more}} for more in ({"over": "x"}, {"packages": [3]})),
            *({"drives": [{**drive, key: {}}]} for key in drive),
            *({"drives": [{**drive, key: "/a"}]} for key in drive),
            {"a\nscarp: \x1b[2Jfine": 3},
        ]
        for wrong in wrongs:
            with self.subTest(wrong):
                path.write_text(json.dumps({**whole, **wrong}))
                with self.says(f"--from: {path}: damaged: ") as caught:
                    recording.read(self.folder)
                self.assertTrue(str(caught.exception).isprintable())
        # Python 3.13 no longer says that a link leads to itself.
        path.write_text(json.dumps({**whole, "job": "loop"}))
        with contextlib.suppress(UserError):
            recording.read(self.folder)

    def test_what_a_check_printed_steers_no_terminal(self) -> None:
        guest = check_guest.CheckGuest.__new__(check_guest.CheckGuest)
        guest.control = self.folder / "control"
        said = b"lost: \x1b]0;x\x07a\x9b2J\x07\r\n\tb"
        guest.control.write_bytes(bytes(check_guest.OUTPUT_AT) + said)
        self.assertEqual(guest.output(len(said)), "lost: a\ufffd2J\ufffd\n        b")

    def test_layout_with_lines_of_another_kind(self) -> None:
        """An image says of a key that it is not 0, and not what it is."""
        path = self.folder / "drive.img"
        line = b"geometry.channels=1\n"
        path.write_bytes(
            synthetic.image().replace(line, b"ftl.something, not 0".ljust(len(line) - 1) + b"\n")
        )
        self.assertEqual(image_file.read(path).unit_bytes, 4096)

    def test_too_much_is_written(self) -> None:
        log = self.folder / "data0.bin"
        bound = record.Bound([log, self.folder / "none"], 1)
        log.write_bytes(bytes(1 << 20))
        # It looks once a second.
        self.assertFalse(any(bound.stop.wait(0.6) for _ in range(2)))
        with log.open("ab") as stream:
            stream.write(b"x")
        self.assertTrue(bound.stop.wait(300))
        bound.end()
        self.assertTrue(bound.reached)

    def test_too_much_was_written_before_anybody_looked(self) -> None:
        log = self.folder / "data0.bin"
        log.write_bytes(bytes((1 << 20) + 1))
        bound = record.Bound([log], 1)
        bound.end()
        self.assertTrue(bound.reached)


JOB = textwrap.dedent("""\
    [global]
    filename=${SCARP_DEV}
    verify=crc32c   ; how
    do_verify=0
    size=8k
    [one]
    offset=0
    fsync=2
    [two]
    offset=1m
    """)


class FioDurable(Folder):
    def test_sections(self) -> None:
        found = fio_durable.sections(JOB)
        self.assertEqual([(s.name, s.offset, s.size) for s in found],
                         [("one", 0, 8192), ("two", 1 << 20, 8192)])  # fmt: skip
        self.assertNotIn(b"do_verify", fio_durable.verifying(JOB))

    def test_jobs_that_cannot_be_verified(self) -> None:
        for job, says in (
            (JOB.replace("size=8k", ""), "no 'size='"),
            (JOB.replace("verify=crc32c", "x=1").replace("do_", "no_"), "no 'verify='"),
            (JOB.replace("size=8k", "size=8x"), "size='8x'"),
            (JOB.replace("offset=1m", "offset=4k"), "overlap"),
            (JOB + "iodepth=4\n", "iodepth=4: must be 1"),
            (JOB + "numjobs=2\n", "numjobs=2: must be 1"),
            (JOB + "norandommap\n", "written once"),
        ):
            with self.subTest(says), self.says(says):
                fio_durable.sections(job)

    def log(self, rows: list[tuple[int, int, int, int, bool]]) -> Path:
        """Of (submission, completion, operation, offset, FUA)."""
        path = self.folder / "cmd.bin"
        packed = []
        for number, (submit, end, op, offset, fua) in enumerate(rows):
            causes = [end - submit, *([0] * (len(CAUSES) - 1))]
            order = number | 1 << 30 | int(fua) << 31
            values = (submit, end, offset, 4096 if op == 1 else 0, op, 0, 0, 1, order, 0, *causes)
            packed.append(struct.pack(f"<qqQIBBHIIq{len(CAUSES)}q", *values))
        head = struct.pack("<8sIIQ8x", b"SCARPCM1", len(packed[0]), len(CAUSES), 3)
        path.write_bytes(head + b"".join(packed))
        return path

    def test_what_is_durable_when(self) -> None:
        write, flush = 1, 4
        log = self.log(
            [
                (50, 60, write, 0, False),  # before the workload
                (100, 110, write, 0, False),
                (120, 130, write, 4096, False),
                (125, 400, flush, 0, False),  # too early for the second write
                (140, 500, flush, 0, False),
                (600, 700, write, 1 << 20, True),
                (800, 900, write, (1 << 20) + 4096, False),
            ]
        )
        found = fio_durable.Durable(JOB, log, 100, volatile=True)
        self.assertEqual(found.counts(), {"one": 2, "two": 2})
        for at, says in (
            (400, "one=0 two=0"),
            (401, "one=1 two=0"),
            (501, "one=2 two=0"),
            (701, "one=2 two=1"),
            (10**15, "one=2 two=1"),
        ):
            self.assertEqual(found.text(at), says)
        # Without a cache, or with one that keeps what it has.
        found = fio_durable.Durable(JOB, log, 100, volatile=False)
        self.assertEqual(found.text(131), "one=2 two=0")
        self.assertEqual(found.text(901), "one=2 two=2")
        fio = self.folder / "fio.json"
        jobs = [{"jobname": name, "write": {"total_ios": 2}} for name in ("one", "two")]
        fio.write_text(json.dumps({"jobs": jobs}))
        fio_durable.check_counts(found, fio)
        fio.write_text(json.dumps({"jobs": jobs[:1]}))
        with self.says(r"\[two\]: 0 writes of fio's are 2 commands"):
            fio_durable.check_counts(found, fio)
        for text in ("", "{}", '{"jobs": 1}', '{"jobs": [1]}', '{"jobs": [{"write": []}]}'):
            fio.write_text(text)
            with self.says(f"--check fio: {fio}: "):
                fio_durable.check_counts(found, fio)


def a_cut(number: int, contents: str = "a", **more: Any) -> Cut:
    values: dict[str, Any] = {
        "fault": None, "failed_ns": number * 10, "at_ns": number * 10, "met": "erase",
        "torn_pages": 2, "cut_commands": 1, "ready_ns": 1000 * number, "contents": (contents,),
        "stories": (None,),
    }  # fmt: skip
    return Cut(number, **{**values, **more})


class Judging(Folder):
    def test_distinct_contents_by_their_last_cut(self) -> None:
        tried = Tried(9, [], 5)
        tried.cuts = [a_cut(1), a_cut(2, "b"), a_cut(3), a_cut(4, "c", again=5), a_cut(5, "b")]
        found = judge.distinct(tried)
        self.assertEqual([(cut.name, n) for cut, n in found], [("3", 2), ("4+5", 1), ("5", 2)])

    def test_all_of_them_in_batches(self) -> None:
        tried = Tried(99, [], 70)
        tried.cuts = [a_cut(n, f"contents{n}") for n in range(1, 71)]
        kept: list[list[str]] = []
        asked: list[tuple[int, str, str]] = []

        def keep(_: Recording, found: list[Cut], folder: Path) -> None:
            kept.append([cut.name for cut in found])
            for cut in found:
                (folder / f"{cut.contents[0]}.raw").write_text(cut.contents[0])

        class Guest:
            def check(
                self, number: int, files: list[Path], settings: dict[str, str], told: str
            ) -> Verdict:
                asked.append((number, files[0].read_text(), told))
                word = "failed" if number > 65 else "ok"
                return Verdict({"fs": word}, f"output {settings['SCARP_CUT_NS']}")

        with mock.patch.object(cuts, "keep", keep):
            found = judge.judge(
                a_recording(self.folder),
                tried,
                Guest(),  # type: ignore[arg-type]
                promises.Promises((15, 695), ("15 one", "695 two")),
                lambda cut: {},
                self.folder,
            )
        self.assertEqual([len(batch) for batch in kept], [32, 32, 6])
        self.assertEqual([number for number, _, _ in asked], list(range(1, 71)))
        # Large ones one by one.
        with (self.folder / "data0.bin").open("wb") as stream:
            stream.truncate(3 << 30)
        batches = list(judge.batches(a_recording(self.folder), judge.distinct(tried)))
        self.assertEqual(len(batches), 70)
        (self.folder / "data0.bin").unlink()
        self.assertEqual([told for _, _, told in asked[:2]], ["", "15 one\n"])
        self.assertEqual(asked[-1][2], "15 one\n695 two\n")
        self.assertEqual((found.distinct, len(found.contents)), (70, 70))
        self.assertEqual(
            [found.contents[n].promised for n in (0, 1, 69)], [None, "15 one", "695 two"]
        )
        # Of the first failures the contents stay, and nothing else does.
        left = sorted(path.relative_to(self.folder).as_posix() for path in self.folder.rglob("*.*"))
        self.assertEqual(
            left,
            [
                f"failed/cut-{n}/{name}"
                for n in (66, 67, 68)
                for name in ("drive0.raw", "output.txt")
            ],
        )


class Kept(Folder):
    """What was cut, when the checks come to nothing."""

    def outcome(self, checked: BaseException) -> run_module.Outcome:
        tried = Tried(9, [], 2, cuts=[a_cut(1), a_cut(2, "b")])
        with (
            mock.patch.object(cuts, "try_cuts", lambda *_, **__: tried),
            mock.patch.object(run_module, "_checked", mock.Mock(side_effect=checked)),
        ):
            asked = run_module.Asked(Which(2), checks.chosen(["fs"], "ext4", False))
            return run_module.run(a_recording(self.folder), asked, self.folder)

    def test_an_error(self) -> None:
        with self.assertRaises(UserError):
            self.outcome(UserError("the guest for the checks did not start"))
        lines = (self.folder / "cuts.jsonl").read_text().splitlines()
        self.assertEqual([json.loads(line)["cut"] for line in lines], [1, 2])

    def test_an_interrupt_before_the_first_check(self) -> None:
        found = self.outcome(KeyboardInterrupt()).found
        self.assertEqual((found["cuts"], found["interrupted"]), (2, True))
        self.assertEqual(json.loads((self.folder / "summary.json").read_text()), found)
        self.assertEqual(len((self.folder / "cuts.jsonl").read_text().splitlines()), 2)


class Words(Folder):
    def test_report(self) -> None:
        tried = Tried(123, [{"met": "erase", "moments": 9}, {"met": "flush", "moments": 1}], 3)
        tried.cuts = [
            a_cut(1),
            a_cut(2, "b", stories=("sector 5 has",), lost_sectors=4),
            a_cut(3, "c", fault="the engine died: signal 6", ready_ns=None),
            a_cut(4, "d", lost_sectors=7),
        ]
        judged = Judged(
            [
                Checked(tried.cuts[0], 1, Verdict({"fs": "ok", "sqlite": "ok"}, "")),
                Checked(tried.cuts[1], 1, Verdict({"fs": "refused", "sqlite": "refused"}, "bad")),
                Checked(tried.cuts[3], 1, Verdict({"fs": "ok", "sqlite": "failed"},
                                                  "noise\nlost: wal.db: has 3\n"),
                        "31 wal\x1b 4"),
            ],
            3,
        )  # fmt: skip
        found = report.summary(a_recording(self.folder), tried, judged)
        self.assertEqual(
            found["violated"], {"contract": ["2", "3"], "fs": ["2"], "sqlite": ["2", "4"]}
        )
        self.assertEqual((found["kinds"], found["kinds_met"]), (2, 1))
        self.assertEqual((found["ready_median_ns"], found["ready_worst_ns"]), (2000, 4000))
        self.assertEqual((found["contents"], found["refused"], found["lost"]), (4, 1, 2))
        table = report.table(found)
        self.assertNotIn("stopped", table)
        table = report.table({**found, "stopped": 2})
        self.assertRegex(table, r"stopped: a check did not end +2\n")
        self.assertRegex(table, r"cuts that break NVMe's contract +2\n")
        self.assertRegex(table, r"contents that fail 'sqlite' +2$")
        made = a_recording(self.folder, begin_ns=15, end_ns=35)
        stories = report.stories(made, tried, judged)
        when = [story.splitlines()[0].split(";")[0].split("ns")[1] for story in stories]
        self.assertEqual(when, ["", ", after the workload had ended", ""])
        made = a_recording(self.folder, begin_ns=25, end_ns=90)
        (first, *_) = report.stories(made, tried, judged)
        self.assertIn("at 20 ns, before the workload had begun; the power failed during", first)
        self.assertEqual([story.split(",")[0] for story in stories], ["cut 2", "cut 4", "cut 3"])
        self.assertIn("broke NVMe's contract, so this may be its fault:\n  sector 5", stories[0])
        self.assertIn(
            "lost: wal.db: has 3\n  The last promise before that was 'wal\ufffd 4', at 31 ns.\n"
            "  The drive kept NVMe's contract: this is not its fault.\n"
            "  Sectors whose last completed write is gone: 7. Nothing had made it durable.",
            stories[1],
        )
        self.assertNotIn("last promise", stories[0])
        self.assertNotIn("noise", stories[1])
        self.assertIn("a fault of the drive: the engine died", stories[2])

    def test_it_ends_with_a_sentence_and_a_page(self) -> None:
        headings = {
            re.sub(r"[^a-z -]", "", line.lower().lstrip("# ")).strip().replace(" ", "-")
            for line in (ROOT / "docs" / "powercut.md").read_text().splitlines()
            if line.startswith("## ")
        }
        usual = {"cuts": 20, "contents": 9, "checked": 9, "violated": {"contract": [], "fs": []}}
        for change, words in (
            ({}, "kept NVMe's contract at all 20 cuts, and all 9 contents pass"),
            ({"checked": 4}, "the 4 of 9 contents that were checked pass"),
            (
                {"violated": {"contract": [], "a": ["1"], "b": ["1"]}},
                "1 of 9 contents fail a check",
            ),
            ({"violated": {"contract": ["3"], "a": ["3"]}}, "broke NVMe's contract at 1 of 20"),
            ({"cuts": 0}, "No cut was tried"),
        ):
            said = report.verdict({**usual, **change})
            self.assertIn(words, said)
            (part,) = re.findall(r" \(docs/powercut\.md#([a-z-]+)\)\.$", said)
            self.assertIn(part, headings)
        del usual["checked"]
        self.assertIn("no --check has asked", report.verdict(usual))

    def test_lies(self) -> None:
        cell = {"cuts": 60, "contract": 0, "contents": 50, "check": 0, "interrupted": False}
        rows = {lie.name: {"fs": {**cell, "contract": 9 if lie.key else 0}} for lie in lies.LIES}
        found = {"checks": ["fs", "fio"], "lies": rows}
        self.assertTrue(lies.as_it_should(found))
        lines = lies.text(found).splitlines()
        self.assertEqual(len(lines), len(lies.LIES) + 1)
        self.assertEqual(len({len(line) for line in lines}), 1)
        self.assertIn("9 of 60", lines[2])
        rows["none"]["fs"] = {**cell, "check": 1}
        self.assertFalse(lies.as_it_should(found))
        rows["none"]["fs"] = cell
        rows["shorn_writes"]["fs"] = cell
        self.assertFalse(lies.as_it_should(found))


class TableOfLies(Folder):
    """What is recorded, and what is told to it; no guest."""

    def table(self, interrupted_at: int | None = None) -> tuple[dict[str, Any], bool]:
        self.recorded: list[str | None] = []
        self.told: list[str | None] = []

        def recorded(wanted: record.Wanted, folder: Path) -> Recording:
            self.recorded.append(wanted.overrides)
            return a_recording(folder, overrides=wanted.overrides)

        def run(made: Recording, asked: run_module.Asked, out: Path) -> run_module.Outcome:
            if len(self.told) == interrupted_at:
                raise KeyboardInterrupt
            self.told.append(made.overrides)
            violated = {"contract": ["1"], asked.checks[0].name: ["1", "2"]}
            found = {"cuts": 9, "contents": 5, "interrupted": False, "violated": violated}
            return run_module.Outcome(found, [])

        asked = lies.Asked(ROOT / "devices/power-cut.ini", ["fs", "fio"], Which(9), 60, "a.b=1")
        with (
            mock.patch.object(record, "record", recorded),
            mock.patch.object(checks, "programs", dict),
            mock.patch.object(run_module, "run", run),
            contextlib.redirect_stderr(io.StringIO()),
        ):
            return lies.table(asked, self.folder)

    def test_one_recording_for_all_that_are_the_same_until_the_power_fails(self) -> None:
        found, interrupted = self.table()
        self.assertFalse(interrupted)
        self.assertEqual(len(self.told), 2 * len(lies.LIES))
        late = [lie for lie in lies.LIES if lie.late]
        self.assertEqual([lie.key for lie in late],
                         ["shorn_writes", "deallocation_undone", "no_checkpoint"])  # fmt: skip
        self.assertEqual(len(self.recorded), 2 * (len(lies.LIES) - len(late)))
        for lie in late:
            self.assertFalse([keys for keys in self.recorded if f"lie.{lie.key}" in str(keys)])
        self.assertEqual(len({*self.told}), len(lies.LIES))
        self.assertIn("a.b=1,lie.shorn_writes=1", self.told)
        row = found["lies"]["no_checkpoint"]["fio"]
        self.assertEqual((row["contract"], row["check"]), (1, 2))
        # Recordings are large: none stays.
        left = [path.name for path in self.folder.iterdir() if path.name.startswith("recordings")]
        self.assertEqual(left, [])

    def test_interrupted(self) -> None:
        found, interrupted = self.table(interrupted_at=3)
        self.assertTrue(interrupted)
        self.assertEqual(list(found["lies"]["flush_ignored"]), ["fs"])
        kept = json.loads((self.folder / lies.FILE).read_text())
        self.assertEqual(kept["lies"]["none"], found["lies"]["none"])
        self.assertIn("–", lies.text(found))


class Layouts(unittest.TestCase):
    def functions(self, over: layout.Over, packages: bool = False) -> str:
        system = over.file_system(FileSystem("btrfs" if over.name == "btrfs" else "ext4"))
        guest = Guest(IMAGE, UserTask(file_system=system, packages=packages))
        return check_guest.functions(guest, What(over.layout, (), (1,)))

    def test_functions(self) -> None:
        plain = self.functions(layout.over(None, 1, "ext4"))
        self.assertIn("    mount -t ext4 -o noinit_itable $SCARP_DEV /mnt || return 1\n", plain)
        self.assertIn("take_down() {\n    : && umount /mnt\n}", plain)
        packed = self.functions(layout.over(None, 1, "ext4"), packages=True)
        self.assertIn("    mount -o bind /mnt /root/mnt || return 1\n", packed)
        self.assertIn("    umount /root/mnt && umount /mnt\n", packed)
        array = self.functions(layout.over("array", 3, "ext4"))
        self.assertIn("$SCARP_DEV0 $SCARP_DEV1 $SCARP_DEV2 >/tmp/ready &\n", array)
        self.assertIn("kill -0 $server || return 1;", array)
        self.assertIn("end_after() {\n    kill -TERM $server\n    wait $server\n}", array)
        mirrored = self.functions(layout.over("btrfs", 2, "btrfs"))
        self.assertIn("device=$SCARP_DEV0,device=$SCARP_DEV1 $SCARP_DEV0 /mnt", mirrored)

    def test_every_function_is_there(self) -> None:
        """What session.sh calls."""
        text = (ROOT / "guest" / "powercut" / "session.sh").read_text()
        for name in ("in_root", "bring_up", "take_down", "end_after", "give_up"):
            self.assertIn(name, text)
            self.assertIn(f"{name}() {{\n", self.functions(layout.over(None, 1, "ext4")))


# As session.sh, but that what it says of contents is what they begin with.
FAKE = """
import os, sys, time
drive, control = sys.argv[1:3]
print("\\nboot: noise\\nscarp-check: ready", flush=True)
for line in sys.stdin:
    number, size, limit = line.split()
    with open(control, "r+b") as stream:
        settings = stream.read(4096).rstrip(b"\\0")
        promises = stream.read(int(size))
        out = settings + b"--" + promises
        stream.seek(8 << 20)
        stream.write(out)
    word = open(drive).read(16).split()[0]
    if word == "panic":
        print("[ 1.0] Kernel panic - not syncing: ext4", flush=True)
        time.sleep(60)
    if word == "dies":
        sys.exit(0)
    if word == "hangs":
        time.sleep(60)
    again = "again" if word == "stopped" else ""
    # The kernel, or whoever writes to the console.
    word = {"odd": "[ 1.0] EXT4-fs", "many": "ok,fs2=ok"}.get(word, word)
    print(f"scarp-check: {number} fs={word},script=ok {len(out)} {again}\\r", flush=True)
"""


class TheGuest(Folder):
    def setUp(self) -> None:
        super().setUp()
        program = self.folder / "fake.py"
        program.write_text(FAKE)

        def words(guest: CheckGuest, initrd: Path) -> list[str]:
            initrd.write_bytes(b"")
            return [sys.executable, str(program), str(guest.drives[0]), str(guest.control)]

        found = (checks.Check("fs"), checks.Check("script"))
        what = What(layout.Layout(), found, (1 << 20,), 5)
        task = Guest(IMAGE, UserTask())
        self.guest = CheckGuest(mock.Mock(), task, what, self.folder / "checks")
        self.enterContext(mock.patch.object(CheckGuest, "_command", words))
        self.enterContext(mock.patch.object(check_guest, "_LATE_S", -18))
        self.addCleanup(self.guest.end)

    def check(self, word: str, number: int = 7) -> Verdict:
        contents = self.folder / "contents.raw"
        with contents.open("wb") as stream:
            stream.write(f"{word} ".encode())
            stream.truncate(1 << 20)
        return self.guest.check(number, [contents], {"SCARP_CUT": "7+1"}, "100 a promise\n")

    def test_one_after_the_other(self) -> None:
        found = self.check("ok")
        self.assertEqual(found.of, {"fs": "ok", "script": "ok"})
        self.assertIn("export SCARP_CUT=7+1\n", found.output)
        self.assertTrue(found.output.endswith("--100 a promise\n"), found.output)
        # Contents are overwritten in place, holes too.
        self.assertEqual(self.check("failed", 8).of["fs"], "failed")
        self.assertEqual(self.check("refused", 9).of["fs"], "refused")
        self.assertEqual(self.guest.boots, 1)

    def test_one_that_is_of_no_use_any_more(self) -> None:
        for number, (word, says) in enumerate(
            (("stopped", "stopped"), ("panic", "crashed"), ("hangs", "stopped"), ("ok", "ok"))
        ):
            self.assertEqual(self.check(word, number).of["fs"], says)
        self.assertEqual(self.guest.boots, 4)
        console = (self.folder / "checks" / "console.log").read_text()
        self.assertIn("Kernel panic", console)

    def test_one_whose_answer_is_none(self) -> None:
        for number, word in enumerate(("odd", "many", "what")):
            found = self.check(word, number)
            self.assertEqual(found.of, {"fs": "stopped", "script": "stopped"})
            self.assertIn("the guest answered ", found.output)
        self.assertEqual(self.check("ok").of["fs"], "ok")

    def test_one_that_ends(self) -> None:
        found = self.check("dies")
        self.assertEqual(found.of, {"fs": "crashed", "script": "crashed"})
        self.assertEqual(self.check("ok").of["fs"], "ok")

    def test_nothing_is_left(self) -> None:
        self.check("ok")
        self.guest.end()
        self.assertEqual(
            sorted(path.name for path in (self.folder / "checks").iterdir()),
            ["console.log", "qemu.log"],
        )


FUNCTIONS = """
in_root() { "$@"; }
bring_up() { ! grep -q refused $SCARP_CHECK_DRIVES; }
take_down() { ! grep -q busy $SCARP_CHECK_DRIVES; }
end_after() { :; }
give_up() { :; }
"""


class TheSession(Folder):
    """guest/powercut/session.sh without a guest: its drives are files, its file system a folder."""

    def setUp(self) -> None:
        super().setUp()
        text = (ROOT / "guest/powercut/session.sh").read_text()
        text = text.replace("/scarp/", f"{self.folder}/").replace("/tmp/check", f"{self.folder}/w")
        self.write("session", text.replace("iflag=direct ", ""))
        self.write("check-functions", FUNCTIONS)
        self.write("bin/blockdev", "#!/bin/sh\n")
        self.write("bin/busybox", '#!/bin/sh\nexec "$@"\n')
        self.write("mounted/file", "")
        self.control = self.folder / "control"
        self.write("checks/one", '#!/bin/sh\ncat "$SCARP_PROMISES"; pwd; . "$SCARP_CHECK_DRIVES"\n')
        self.write("checks/one.after", '#!/bin/sh\npwd; echo "after $SCARP_CUT"; exit $AFTER\n')
        self.write("checks/two", "#!/bin/sh\n[ -e file ]\n")

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def said(self, drive: str, after: int = 0, limit_s: int = 1800) -> tuple[str, str]:
        """The line, and the output; `drive`: what it contains, which the first check runs.

        A check that ends by itself is never stopped, however busy the host.
        """
        self.write("drive", drive + "\n")
        settings = (
            f"export SCARP_CUT=5 AFTER={after}\nexport SCARP_PROMISES={self.folder}/w/promises\n"
        )
        promise = "100 a promise\n"
        self.control.write_bytes(settings.encode().ljust(4096, b"\0") + promise.encode())
        with self.control.open("r+b") as control:
            control.truncate(16 << 20)
        environment = {
            "PATH": f"{self.folder}/bin:{os.environ['PATH']}",
            "SCARP_CHECK_CONTROL": str(self.control),
            "SCARP_CHECK_DRIVES": str(self.folder / "drive"),
            "SCARP_CHECKS": "one two",
            "SCARP_DIR": str(self.folder / "mounted"),
        }
        done = subprocess.run(
            ["sh", str(self.folder / "session")],
            input=f"7 {len(promise)} {limit_s}\n",
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        self.assertEqual(done.stderr, "")
        ready, line = done.stdout.splitlines()
        self.assertEqual(ready, "scarp-check: ready")
        _, number, verdicts, size, *again = line.split()
        self.assertEqual(number, "7")
        with self.control.open("rb") as control:
            control.seek(8 << 20)
            output = control.read(int(size)).decode()
        return " ".join([verdicts, *again]), output

    def test_checks_and_what_follows(self) -> None:
        line, output = self.said("true")
        self.assertEqual(line, "one=ok,two=ok")
        self.assertEqual(
            output,
            f"--- one\n100 a promise\n{self.folder}/mounted\n--- two\n--- one.after\n/\nafter 5\n",
        )
        line, output = self.said("true", after=4)
        self.assertEqual(line, "one=failed,two=ok")
        self.assertIn("after 5\nended with status 4\n", output)
        line, output = self.said("rm file; exit 3")
        self.assertEqual(line, "one=failed,two=failed")
        self.assertNotIn("after", output)

    def test_what_cannot_be_looked_at_has_not_passed(self) -> None:
        self.assertEqual(self.said("# refused")[0], "one=refused,two=refused")
        line, output = self.said("# busy")
        self.assertEqual(line, "one=failed,two=ok again")
        self.assertIn("it could not be unmounted after the checks\n", output)

    def test_one_that_never_ends(self) -> None:
        # The second check has as long: a busy host needs some of it.
        line, output = self.said("exec sleep 1000", limit_s=10)
        self.assertEqual(line, "one=stopped,two=ok again")
        self.assertIn("stopped after 10 s\n", output)

    def test_the_watcher_of_the_time_does_not_stand_in_the_folder(self) -> None:
        """As busybox's own, which is there for a while when the check has ended."""
        pwd = f"pwd >{self.folder}/where"
        self.write("bin/busybox", f'#!/bin/sh\n{pwd}\nexec "$@"\n')
        self.said("true")
        self.assertNotIn("mounted", (self.folder / "where").read_text())


CUTS = """
import json, signal, sys, time
head = {"schema": "scarp-cuts-1", "moments": 9, "cuts": 3, "volatile": True, "drive_bytes": 4096}
print(json.dumps({**head, "kinds": []}), flush=True)
stop = []
signal.signal(signal.SIGINT, lambda *_: stop.append(1))
for number in (1, 2, 3):
    cut = {"cut": number, "fault": None, "error": sys.argv[1] or None, "contents": ["a"]}
    print(json.dumps(cut), flush=True)
    for _ in range(int(sys.argv[2])):
        time.sleep(0.01)
        if stop:
            sys.exit(130)
if sys.argv[3]:
    sys.exit("scarp-cuts: " + sys.argv[3])
"""


class TheProgram(Folder):
    def tried(self, error: str = "", waits: int = 0, says: str = "") -> Tried:
        program = self.folder / "cuts.py"
        program.write_text(CUTS)
        words = [sys.executable, str(program), error, str(waits), says]
        with mock.patch.object(cuts, "command", lambda *_: words):
            return cuts.try_cuts(a_recording(self.folder), Which())

    def test_all_that_it_says(self) -> None:
        found = self.tried()
        self.assertEqual([cut.cut for cut in found.cuts], [1, 2, 3])
        self.assertEqual((found.moments, found.asked, found.drive_bytes), (9, 3, 4096))
        self.assertFalse(found.interrupted)

    def test_errors(self) -> None:
        with self.says("^cut 9: is beyond$"):
            self.tried(says="cut 9: is beyond")
        with self.says("^cut 1: no room$"):
            self.tried(error="no room")

    def test_interrupted(self) -> None:
        """What was begun is told, and what was told is kept."""
        threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        began = time.monotonic()
        found = self.tried(waits=1000)
        self.assertLess(time.monotonic() - began, 20)
        self.assertTrue(found.interrupted)
        self.assertEqual([cut.cut for cut in found.cuts], [1])

    def test_command_line(self) -> None:
        made = a_recording(
            self.folder, overrides="a.b=1,c.d=2", scheme="pgc+d-choices:d=2:pgc_floor=3"
        )
        with mock.patch.object(cuts, "ensure_cuts", lambda: Path("scarp-cuts")):
            words = cuts.command(made, Which(named="3+4", twice=True, jobs=2), ["--contents", "x"])
        text = " ".join(words)
        self.assertIn("--scheme pgc+d-choices --params d=2,pgc_floor=3 --description", text)
        self.assertIn("--override a.b=1 --override c.d=2", text)
        self.assertIn(f"--image {self.folder}/drive0.img --seed 7", text)
        self.assertIn("--from-ns 1000 --to-ns 9000", text)
        self.assertIn("--jobs 2 --cuts 3+4 --twice --contents x", text)


if __name__ == "__main__":
    unittest.main()
