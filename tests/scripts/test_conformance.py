# SPDX-License-Identifier: GPL-2.0-or-later
"""Verdicts of other people's suites: what counts as worse, and what is asked for."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "tests" / "conformance")]

import suites  # noqa: E402
import verdicts  # noqa: E402
from scarplib.errors import UserError  # noqa: E402

NAMES = ["s/1", "s/2", "s/3", "s/4"]
STOCK = """\
[    9.1] nvme nvme0: resconformance: pass s/1\r
conformance: fail s/2 output
conformance: skip s/3 needs two CPUs
conformance: pass s/4
"""


class Verdicts(unittest.TestCase):
    def read(self, console: str, ending: str = "ok") -> dict[str, verdicts.Verdict]:
        return verdicts.parse(console, NAMES, ending)

    def test_each_has_one(self) -> None:
        found = self.read(STOCK)
        self.assertEqual(list(found), NAMES)
        self.assertEqual([v.outcome for v in found.values()], ["pass", "fail", "skip", "pass"])
        self.assertEqual(found["s/3"].why, "needs two CPUs")
        self.assertEqual(verdicts.counts(found), "3 ran: 2 passed, 1 failed; 1 skipped; 0 absent")

    def test_a_guest_that_ends_early_leaves_tests_absent(self) -> None:
        found = self.read("conformance: pass s/1\nconformance: begin s/2\n", "hang")
        self.assertEqual([v.outcome for v in found.values()], ["pass", *["absent"] * 3])
        self.assertIn("before its end: hang", found["s/2"].why)
        self.assertIn("before any word of it: hang", found["s/3"].why)
        self.assertEqual(verdicts.counts(found), "1 ran: 1 passed, 0 failed; 0 skipped; 3 absent")

    def test_only_what_passes_on_stock_can_be_worse(self) -> None:
        stock = self.read(STOCK)
        for other in ("fail s/4 output", "skip s/4 no discard", "begin s/4"):
            scarp = self.read(f"conformance: pass s/1\nconformance: {other}\n")
            self.assertEqual(verdicts.regressions(stock, scarp), ["s/4"], other)
        better = self.read("".join(f"conformance: pass {name}\n" for name in NAMES))
        self.assertEqual(verdicts.regressions(stock, better), [])
        self.assertEqual(verdicts.regressions(better, stock), ["s/2", "s/3"])

    def test_the_table_has_both_and_says_why(self) -> None:
        scarp = self.read("conformance: pass s/1\nconformance: fail s/4 verify\n")
        lines = verdicts.table(self.read(STOCK), scarp)
        self.assertEqual(lines[0].split(), ["test", "stock", "Scarp"])
        self.assertEqual(lines[1].split(), ["s/1", "pass", "pass"])
        self.assertEqual(lines[4], "s/4  pass    fail    REGRESSION  (verify)")
        self.assertIn("(output | the guest ended before any word of it: ok)", lines[2])


CHECK = """\
FSTYP         -- ext4
PLATFORM      -- Linux/x86_64

generic/001        6s
generic/002        [not run] This test requires dm log-writes support
generic/003        [failed, exit status 1]- output mismatch (see /r/generic/003.out.bad)
    --- tests/generic/003.out
generic/004 5s ...  7s
generic/005        _check_generic_filesystem: filesystem on /dev/nvme0n2 is inconsistent

generic/0066       8s
Ran: generic/001 generic/002 generic/003 generic/004 generic/005
Failures: generic/003 generic/004 generic/005
Failed 3 of 5 tests
"""


class Readers(unittest.TestCase):
    """The guest's part of reading: shell functions, here with `say` to the standard output."""

    def read(self, call: str, text: str, **environment: str) -> list[str]:
        parts = ROOT / "tests" / "conformance" / "read.sh"
        done = subprocess.run(
            ["bash", "-c", f'say() {{ echo "$*"; }}; . {parts}; {call}'],
            input=text,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(done.stderr, "")
        return done.stdout.splitlines()

    def test_xfstests(self) -> None:
        names = " ".join(f"generic/00{n}" for n in range(1, 7))
        said = self.read(f"read_check xfstests/ext4 {names}", CHECK)
        self.assertEqual(
            [line.replace("xfstests/ext4/generic/", "") for line in said],
            [
                "pass 001",
                "skip 002 This test requires dm log-writes support",
                "fail 003 [failed, exit status 1]- output mismatch (see /r/generic/003.out.bad)",
                "pass 004",
                "fail 005 _check_generic_filesystem: filesystem on /dev/nvme0n2 is inconsistent",
                # Its own line was clean, and what the suite found after it was not.
                "fail 004 in the suite's summary",
                "absent 006 the suite ended: Failed 3 of 5 tests",
            ],
        )
        found = verdicts.parse(
            "".join(f"conformance: {line}\n" for line in said),
            [f"xfstests/ext4/{name}" for name in names.split()],
            "ok",
        )
        self.assertEqual(verdicts.counts(found), "4 ran: 1 passed, 3 failed; 1 skipped; 1 absent")

    def test_what_took_too_long_is_absent(self) -> None:
        with tempfile.TemporaryDirectory() as late:
            (Path(late) / "ext4" / "generic").mkdir(parents=True)
            (Path(late) / "ext4" / "generic" / "003").touch()
            names = "generic/003 generic/004 generic/005"
            said = self.read(
                f"read_check xfstests/ext4 {names}", CHECK, SCARP_LATE=late, SCARP_LIMIT="600"
            )
        self.assertEqual(
            [line.replace("xfstests/ext4/generic/", "").split(":")[0] for line in said],
            [
                "absent 003 ended after 600 s",
                "pass 004",
                "fail 005 _check_generic_filesystem",
                "fail 004 in the suite's summary",
            ],
        )

    def test_a_suite_that_cannot_begin(self) -> None:
        said = self.read("read_check x generic/001", "check: failed to mkfs $TEST_DEV\n")
        self.assertEqual(
            said, ["absent x/generic/001 the suite ended: check: failed to mkfs $TEST_DEV"]
        )

    def test_tap(self) -> None:
        for text, status, wanted in (
            ("1..2\nok 1 - a\nok 2 - b\n", 0, "pass l/t"),
            ("1..2\nok 1 - a\n", 0, "fail l/t 1 of 2 results"),
            (
                "1..1\nok 1 - a\nio: could not delete\n",
                1,
                "fail l/t status 1: io: could not delete",
            ),
            ("1..2\nnot ok 1 - a\nok 2 - b\n", 1, "fail l/t not ok 1 - a"),
            ("1..0 # skip no test device\n", 0, "skip l/t no test device"),
            ("", 139, "fail l/t status 139:"),
            ("", 0, "fail l/t 0 of ? results"),
        ):
            said = self.read(f"read_tap l/t {status}", text)
            self.assertEqual([line.strip() for line in said], [wanted], text)


class DeviceMapperLinks(unittest.TestCase):
    """As udev makes them: the guest's functions, on folders like /dev/mapper and /sys/block."""

    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / "dev" / "mapper").mkdir(parents=True)
        self.node("control")

    def node(self, name: str) -> None:
        """What libdevmapper leaves in /dev/mapper."""
        (self.folder / "dev" / "mapper" / name).touch()

    def device(self, number: int, name: str) -> None:
        (self.folder / "block" / f"dm-{number}" / "dm").mkdir(parents=True, exist_ok=True)
        (self.folder / "block" / f"dm-{number}" / "dm" / "name").write_text(f"{name}\n")
        (self.folder / "dev" / f"dm-{number}").touch()

    def links(self) -> dict[str, str]:
        """After both functions; whatever is no link is a node."""
        parts = ROOT / "tests" / "conformance" / "dmsetup.sh"
        calls = "drop_old_links dev/mapper block; make_links dev/mapper block"
        done = subprocess.run(
            ["bash", "-c", f". {parts}; {calls}"],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=True,
        )
        self.assertEqual(done.stdout + done.stderr, "")
        found = sorted((self.folder / "dev" / "mapper").iterdir())
        return {p.name: str(p.readlink()) if p.is_symlink() else "a node" for p in found}

    def test_a_node_becomes_a_link(self) -> None:
        self.assertEqual(self.links(), {"control": "a node"})
        for number, name in ((0, "flakey-test.034"), (10, "log writes")):
            self.device(number, name)
            self.node(name)
        wanted = {
            "control": "a node",
            "flakey-test.034": "../dm-0",
            "log writes": "../dm-10",
        }
        self.assertEqual(self.links(), wanted)
        self.assertEqual(self.links(), wanted)

    def test_a_device_without_a_node_has_no_link(self) -> None:
        self.device(0, "no-table")
        self.assertEqual(self.links(), {"control": "a node"})

    def test_a_link_goes_with_its_device(self) -> None:
        self.device(0, "first")
        self.node("first")
        self.assertEqual(self.links()["first"], "../dm-0")
        # Removed by the kernel, later than dmsetup was told to; another one has its number.
        self.device(0, "second")
        self.node("second")
        self.assertEqual(self.links(), {"control": "a node", "second": "../dm-0"})
        shutil.rmtree(self.folder / "block" / "dm-0")
        self.assertEqual(self.links(), {"control": "a node"})


class Sources(unittest.TestCase):
    def test_nothing_given_says_what_is_needed(self) -> None:
        done = self.run_suite()
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        for suite in suites.SUITES:
            self.assertIn(f"  {suite.variable}=", done.stderr)

    def run_suite(self, *options: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, str(ROOT / "tests" / "conformance" / "run.py"), *options],
            capture_output=True,
            text=True,
            check=False,
        )

    def test_no_test_is_left(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            source, out = Path(folder) / "fio", Path(folder) / "results" / "here"
            (source / "t").mkdir(parents=True)
            (source / "t" / "other.py").touch()
            of = ("--fio", str(source), "--out", str(out))
            for options, said in (
                (of, "fio: no test was found, of those that run without --long"),
                ((*of, "--long"), "fio: no test was found\n"),
                ((*of, "--long", "--only", "a", "--only", "b"), "no test's name contains a or b\n"),
                ((*of, "--group", "a"), "no test was found, of those in group a\n"),
            ):
                done = self.run_suite(*options)
                self.assertEqual((done.returncode, done.stderr), (1, ""))
                self.assertIn(said, done.stdout)
                self.assertEqual((out / "summary.json").read_text(), "{}\n")

    def test_only_runs_no_other_script(self) -> None:
        plan = suites.Plan(
            ["fio/nvmept/1", "fio/nvmept_trim/1", "b/block/003"],
            ["nvmept", "nvmept_trim", "block/003"],
        )
        for wanted, tests in (
            ([], plan.tests),
            (["nvmept_trim"], ["nvmept_trim"]),
            (["nvmept/"], ["nvmept"]),
            (["block"], ["block/003"]),
            (["nvmept_trim", "003"], ["nvmept_trim", "block/003"]),
            (["none"], []),
        ):
            self.assertEqual(plan.only(wanted).tests, tests)

    def test_what_has_a_verdict_is_not_run_again(self) -> None:
        plan = suites.Plan(
            ["fio/nvmept/1", "fio/nvmept/2", "b/block/003", "b/block/005"],
            ["nvmept", "block/003", "block/005"],
        )
        for done, tests in (
            (set(), plan.tests),
            ({"b/block/003"}, ["nvmept", "block/005"]),
            ({"fio/nvmept/1"}, plan.tests),
            (set(plan.names), []),
        ):
            self.assertEqual(plan.without(done).tests, tests)
        parts = plan.parts(2)
        self.assertEqual([part.tests for part in parts], [plan.tests[:2], plan.tests[2:]])
        self.assertEqual([len(part.names) for part in parts], [3, 1])
        self.assertEqual(plan.parts(0), [plan])
        self.assertEqual(suites.Plan([], []).parts(0), [])

    def test_verdicts_are_kept(self) -> None:
        found = verdicts.parse("conformance: pass s/1\nconformance: skip s/3 why\n", NAMES, "hang")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "stock.json"
            self.assertEqual(verdicts.kept(path, "a"), {})
            verdicts.keep(path, "a", found)
            self.assertEqual(set(verdicts.kept(path, "a")), {"s/1", "s/3"})
            self.assertEqual(verdicts.kept(path, "a")["s/3"], found["s/3"])
            # Of another drive, or cut off.
            self.assertEqual(verdicts.kept(path, "b"), {})
            path.write_text(path.read_text()[:20])
            self.assertEqual(verdicts.kept(path, "a"), {})

    def test_a_source_without_git_has_its_folders_name(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "fio-3.39"
            (source / ".git").mkdir(parents=True)
            program = "import sys, pathlib, run; print(run.revision(pathlib.Path(sys.argv[1])))"
            for path in (folder, os.environ["PATH"]):
                done = subprocess.run(
                    [sys.executable, "-c", program, str(source)],
                    env={"PATH": path, "PYTHONPATH": str(ROOT / "tests" / "conformance")},
                    capture_output=True,
                    text=True,
                    check=False,
                )
                self.assertEqual((done.stdout, done.stderr), ("fio-3.39\n", ""))

    def test_a_folder_that_is_something_else(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            for suite in suites.SUITES:
                with self.assertRaisesRegex(UserError, f"^{suite.variable}=.*: no "):
                    suites.check(suite, Path(folder))
                with self.assertRaisesRegex(UserError, "no such folder"):
                    suites.check(suite, Path(folder) / "missing")

    def test_tests_are_found_in_the_source(self) -> None:
        fio, blktests = suites.SUITES[:2]
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder)
            for name in ("t", "tests/block", "tests/nvme", "tests/zbd"):
                (source / name).mkdir(parents=True)
            (source / "t" / "nvmept.py").write_text('{ "test_id": 7, }\n{ "test_id": 12 }\n')
            for name, text in (
                ("block/003", "test_device() {\n"),
                ("block/004", "test() {\n"),
                ("nvme/034", "test_device() {\n"),
                ("zbd/001", "test_device() {\n"),
            ):
                (source / "tests" / name).write_text(text)
            found = fio.plan(source, False)
            self.assertEqual(found.names, ["fio/nvmept/7", "fio/nvmept/12"])
            self.assertEqual(blktests.plan(source, False).tests, ["block/003"])
            self.assertEqual(blktests.plan(source, True).tests, ["block/003", "nvme/034"])

    def test_xfstests_are_planned_for_each_file_system(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            generic = Path(folder) / "tests" / "generic"
            generic.mkdir(parents=True)
            for number in ("001", "455", "475", "482"):
                (generic / number).touch()
            plan = next(s for s in suites.SUITES if s.name == "xfstests").plan
            tests = plan(Path(folder), False).tests
            self.assertEqual(
                tests,
                [f"{fs}/generic/{n}" for fs in ("ext4", "xfs") for n in ("455", "482", "001")],
            )
            self.assertIn("xfs/generic/475", plan(Path(folder), True).tests)

    def test_groups_are_the_suites_own(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            generic = Path(folder) / "tests" / "generic"
            generic.mkdir(parents=True)
            for number in ("042", "457", "482"):
                (generic / number).touch()
            (generic / "group.list").write_text(
                "# group\n\n042 shutdown rw\n457 auto replay\n482 replayed\n990 shutdown\n"
            )
            of = next(s for s in suites.SUITES if s.name == "xfstests").plan_groups
            for groups, numbers in (
                (["shutdown"], ["042"]),
                (["replay", "shutdown"], ["042", "457"]),
                (["none"], []),
            ):
                self.assertEqual(
                    of(Path(folder), groups).tests,
                    [f"{fs}/generic/{n}" for fs in ("ext4", "xfs") for n in numbers],
                )
            self.assertEqual(suites.SUITES[0].plan_groups(Path(folder), ["shutdown"]).tests, [])

    def test_libvfn_is_what_was_built(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            built = Path(folder) / "build" / "tests" / "device"
            (built / "io.p").mkdir(parents=True)
            (built / "io").touch()
            plan = next(s for s in suites.SUITES if s.name == "libvfn").plan(Path(folder), False)
            self.assertEqual((plan.names, plan.tests), (["libvfn/io"], ["io"]))
