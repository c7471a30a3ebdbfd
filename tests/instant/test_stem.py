# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp compare --at`: until the instant a guest is the one without it, byte for byte."""

from __future__ import annotations

import contextlib
import io
import json
import shutil
import unittest
from pathlib import Path

import guests
from guests import ALL, ROOT, Stem
from scarplib import cli
from scarplib.device_logs import changes, command_log, gc_log, log_file
from scarplib.drive.switch import Switch
from scarplib.errors import UserError
from scarplib.guest.file_system import FileSystem
from scarplib.guest.user_guest import User
from scarplib.results import instant
from scarplib.runs import run

# What the guest and the drive wrote.
EQUAL = ("cmd.bin", "gc.bin", "fio.json")


class Equal(unittest.TestCase):
    def same(self, one: Path, other: Path) -> None:
        for name in EQUAL:
            self.assertEqual((one / name).read_bytes(), (other / name).read_bytes(), name)

    def compared(self, name: str, plain: Stem, **options: object) -> None:
        """The stem of a comparison with an instant is the run without one."""
        asked = guests.settings(
            guests.fresh(f"{name}-at"), "short.fio",
            **{"schemes": ["baseline", "pgc", "gftl:gftl_floor=2"], **options, "at": "start+0.2"},
        )  # fmt: skip
        outcome = run.compare(asked)
        self.assertEqual((outcome.failures, list(outcome.schemes)), ({}, list(asked.schemes)))
        assert asked.out
        self.same(plain.folder, asked.out / "baseline")
        summary = json.loads((asked.out / "summary.json").read_text())
        self.assertEqual(set(summary["columns"].values()), {"baseline"})
        for column in asked.schemes[1:]:
            fork = summary["forks"][column]
            self.assertEqual((fork["stem"], fork["scheme"]), ("baseline", column))
            self.assertEqual(fork["at_ns"], outcome.schemes["baseline"]["begin_ns"] + 200_000_000)
            folder = asked.out / column.replace(":", "-")
            (change,) = changes.read(folder / changes.NAME)
            self.assertEqual((change.time_ns, change.scheme), (fork["at_ns"], column.split(":")[0]))
            self.assertNotEqual(guests.rows(folder), guests.rows(plain.folder))

    if ALL:

        def test_one_cpu(self) -> None:
            self.compared("smp1", Stem.short())

        def test_four_cpus(self) -> None:
            plain = Stem.boot("smp4-plain", "short.fio", smp=4)
            self.compared("smp4", plain, smp=4)

        def test_a_file_system(self) -> None:
            user = User(file_systems=(FileSystem("ext4", ""),))
            plain = guests.settings(guests.fresh("ext4-plain"), "build.fio", user=user)
            at = guests.settings(
                guests.fresh("ext4-at"), "build.fio",
                user=user, schemes=["baseline", "pgc"], at="start",
            )  # fmt: skip
            for asked in (plain, at):
                self.assertEqual(run.compare(asked).failures, {})
            assert plain.out and at.out
            self.same(plain.out / "baseline", at.out / "baseline")


class Moments(unittest.TestCase):
    """A timer that switches to what runs already must leave no trace, whenever it fires."""

    stem: Stem

    @classmethod
    def setUpClass(cls) -> None:
        cls.stem = Stem.short()

    def moments(self) -> list[int]:
        rows = guests.rows(self.stem.folder)
        ends = {row[1] for row in rows}
        # One nanosecond with several events: a command ends, and a collection begins.
        runs = gc_log.read_gc_runs(self.stem.folder / "gc.bin")
        several = sorted(ends & {run.begin for run in runs})
        self.assertTrue(several)
        found = [several[len(several) // 2], rows[len(rows) // 3][0], 0]
        found += [self.stem.column["begin_ns"], max(ends)]
        return [*found, *(self.stem.moment(share) for share in (0.11, 0.3, 0.52, 0.77, 0.95))]

    if ALL:

        def test_ten_moments(self) -> None:
            switches = [Switch(at_ns, "baseline") for at_ns in self.moments()]
            self.assertEqual(len(set(switches)), 10)
            for switch, folder in self.stem.fork(switches):
                with self.subTest(switch):
                    for name in EQUAL:
                        one, other = self.stem.folder / name, folder / name
                        self.assertEqual(one.read_bytes(), other.read_bytes(), name)
                    # It was there: a log of changes says so.
                    self.assertEqual(len(changes.read(folder / changes.NAME)), 1)

    def test_a_switch(self) -> None:
        """Rows that ended before it are the stem's, and a spoiled one is named."""
        for switch, folder in self.stem.fork([Switch(self.stem.moment(0.4), "pgc")]):
            instant.check_equal(self.stem.folder, folder, switch.at_ns)
            differs = guests.first_difference(guests.rows(self.stem.folder), guests.rows(folder))
            self.assertIsNotNone(differs)
            assert differs
            self.assertGreaterEqual(differs, switch.at_ns)
            spoiled = folder.with_name("spoiled")
            shutil.copytree(folder, spoiled)
            data = bytearray((spoiled / "cmd.bin").read_bytes())
            data[log_file.HEADER.size + 20 * command_log.LAYOUT.row.size + 16] ^= 1
            (spoiled / "cmd.bin").write_bytes(data)
            with self.assertRaisesRegex(UserError, "row 20 of .*cmd.bin"):
                instant.check_equal(self.stem.folder, spoiled, switch.at_ns)


class Refused(unittest.TestCase):
    def refused(self, *words: str) -> str:
        said = io.StringIO()
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
            status = cli.main(["compare", "--device", "devices/demo.ini", "--job", "short", *words])
        lines = [line for line in said.getvalue().splitlines() if line.startswith("scarp: error")]
        self.assertEqual((status, len(lines)), (1, 1), said.getvalue())
        return lines[0]

    def test_before_a_boot(self) -> None:
        two = ("--schemes", "baseline,pgc")
        for words, says in (
            ((*two, "--at", "soon"), "--at: 'soon' is no time"),
            ((*two, "--at", "-5ns"), "--at"),
            ((*two, "--at", "start", "--clock", "realtime"), "excludes --clock realtime"),
            ((*two, "--at", "start", "--paper", "hpdc18"), "excludes --paper"),
            (("--schemes", "baseline", "--at", "start"), "needs two schemes or more"),
            (("--schemes", "baseline,dynamic", "--at", "start"), "keeps its kind of write"),
            (("--schemes", "baseline,pgc:floor=1", "--at", "start"), "has no parameter 'floor'"),
            ((*two, "--at", "99999999999999999999ns"), "--at"),
        ):
            with self.subTest(words):
                self.assertIn(says, self.refused(*words))
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            status = cli.main(["run", "--drives", "2", "--at", "start"])
        self.assertEqual(status, 1)
        self.assertIn("--at: excludes --drives", said.getvalue())

    if ALL:

        def test_after_the_job(self) -> None:
            """Only the stem has booted by then."""
            out = guests.fresh("after")
            words = ("--schemes", "baseline,pgc", "--at", "start+3000", "--out", str(out))
            self.assertIn("and the job ends at", self.refused(*words))
            self.assertFalse((out / "pgc").exists())


if __name__ == "__main__":
    raise SystemExit(f"run {ROOT}/tests/instant/run.py")
