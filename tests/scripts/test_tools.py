# SPDX-License-Identifier: GPL-2.0-or-later
"""Counting of results, arguments and progress: what no guest is needed for."""

from __future__ import annotations

import contextlib
import io
import os
import struct
import subprocess
import sys
import tarfile
import tempfile
import unittest
from collections.abc import Sequence
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(Path(__file__).parent)]

from refused import Refused  # noqa: E402
from scarplib import cli  # noqa: E402
from scarplib.build import kselftest, locks  # noqa: E402
from scarplib.dev import suites, tap  # noqa: E402
from scarplib.drive import choices  # noqa: E402
from scarplib.errors import UserError  # noqa: E402
from scarplib.guest import progress  # noqa: E402


class Tap(unittest.TestCase):
    def check(self, text: str, status: int, passed: int, failed: int) -> tap.Count:
        count = tap.count(text, status, "suite")
        self.assertEqual((count.passed, count.failed), (passed, failed), count.failures)
        return count

    def test_flat(self) -> None:
        self.check("TAP version 13\n1..2\nok 1 a\nnot ok 2 b\n", 1, 1, 1)
        self.check("ok 1 a\nok 2 - b # SKIP no tool\n1..2\n", 0, 1, 0)

    def test_glib_subtests_count_once(self) -> None:
        text = "1..1\n# Subtest: x\n    ok 1 /x/a\n    ok 2 /x/b\n    1..2\nok 1 x\n"
        self.check(text, 0, 2, 0)

    def test_failed_child_counts_once(self) -> None:
        text = "    1..2\n    ok 1 a\n    not ok 2 b\nnot ok 1 parent\n"
        self.assertEqual(self.check(text, 1, 1, 1).failures, ["suite: b"])

    def test_parent_that_fails_alone(self) -> None:
        self.check("    ok 1 a\nnot ok 1 parent\n", 1, 1, 1)

    def test_silence_and_crashes_fail(self) -> None:
        self.check("", 0, 0, 1)
        self.check("hello\n", 139, 0, 1)
        self.check("1..1\nok 1 a\n", 1, 1, 1)
        self.check("1..3\nok 1 a\nok 2 b\n", 0, 2, 1)
        self.check("    1..3\n    ok 1 a\nok 1 parent\n", 0, 1, 1)
        self.check("ok 1 a\nBail out! no disk\n", 0, 1, 1)

    def test_slowest(self) -> None:
        """Parts of lines arrive when they do; a parent took no time beside its children."""
        watch = tap.Stopwatch("suite", 10)
        watch.see("TAP version 13\n1..2\n    ok 1 a\n    o", 13)
        watch.see("k 2 b\nok 1 - parent\n", 20)
        watch.see("not ok 2 - c\n", 24)
        self.assertEqual([name for _, name in watch.times],
                         ["suite: a", "suite: b", "suite: parent", "suite: c"])  # fmt: skip
        self.assertEqual(tap.slowest([watch], 2), ["     7 s  suite: b", "     4 s  suite: c"])

    def test_times_of_suites(self) -> None:
        """What takes the processor longest comes first."""
        said = suites.times(70.4, {"lint": (30.0, 29.6), "guest": (40.2, 81.0)})
        self.assertEqual(
            said, "70 s in all; of each suite, with its processor time: guest 40 (81), lint 30 (30)"
        )

    def test_what_is_said_beside_a_failure(self) -> None:
        """The end of a run says why each test failed; a suite without a bad line, how it ended."""
        text = "ok 1 a\n# why\nnot ok 2 - b\n# after\nok 3 c\nlast\n"
        self.assertEqual(tap.around(text, "suite: b", 1), ["# why", "not ok 2 - b", "# after"])
        self.assertEqual(tap.around(text, "suite: exit status 3", 1), ["ok 3 c", "last"])
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "suite.log").write_text(text)
            count = tap.count(text, 1, "suite")
            said = suites.failures_again(Path(folder), {"suite": count, "good": tap.Count(3)})
            self.assertEqual(said[0], "FAILED suite: b")
            self.assertIn("  | # why", said)
            count.failures = [f"suite: {n}" for n in range(suites.FAILURES_AGAIN + 2)]
            said = suites.failures_again(Path(folder), {"suite": count})
            self.assertEqual(said[-1], "FAILED suite: 2 more")

    def test_skips(self) -> None:
        """A suite that skips everything fails, and so does a skip that is on no list."""
        self.check("ok 1 a # SKIP no tool\n1..1\n", 0, 0, 1)
        allowed = [tap.MaySkip("suite", "b*", "no *", "")]
        for text, failed in (
            ("b1 # SKIP no tool", 0),
            ("b1 # skip no tool", 0),
            ("c # SKIP no tool", 1),
            ("b1 # SKIP broken", 1),
            ("b1 # SKIP", 1),
        ):
            count = self.check(f"ok 1 a\nok 2 - {text}\n1..2\n", 0, 1, 0)
            tap.judge_skips(count, allowed)
            self.assertEqual((count.failed, count.skipped), (failed, 1 - failed), text)
            count = tap.count(f"ok 1 a\nok 2 - {text}\n1..2\n", 0, "other")
            tap.judge_skips(count, allowed)
            self.assertEqual(count.failed, 1)

    def test_the_list_of_skips(self) -> None:
        """Each entry says why, and is of a suite that there is."""
        entries = tap.may_skip(ROOT / "tests" / "skips.toml")
        text = (ROOT / "scripts" / "scarplib" / "dev" / "suites.py").read_text()
        for entry in entries:
            self.assertIn(f'Suite("{entry.suite}"', text)
            self.assertGreater(len(entry.why), 20)


class Arguments(Refused):
    def test_one_line_that_names_the_key_and_what_is_allowed(self) -> None:
        for arguments, *words in (
            (("run", "--age", "1001"), "--age", "1001", "0 to 1000"),
            (("run", "--age", "much"), "--age", "much", "0 to 1000"),
            (("run", "--cpu-shift", "11"), "--cpu-shift", "-4 to 10"),
            (("run", "--smp", "0"), "--smp", "1 to 64"),
            (("run", "--seed", "-1"), "--seed"),
            (("run", "--schemes", "baseline,,ideal"), "--schemes", "''"),
            (("run", "--schemes", "ideal,ideal"), "--schemes", "twice"),
            (("run", "--set", "gc=4"), "--set", "group.key=value"),
            (("run", "--what"), "--what"),
            (("run", "--handles", "-1"), "--handles"),
            (("run", "--namespaces", "0"), "--namespaces", "1 to 64"),
            (("run", "--block-bytes", "8192"), "--block-bytes", "8192", "512", "4096"),
            (("shell", "--block-bytes", "4095"), "--block-bytes", "4095"),
            (("run", "--zoned", "3"), "--zoned", "3 MiB", "power of two"),
            (("run", "--zoned", "0"), "--zoned", "1 to"),
            (("run", "--zoned", "--fs", "ext4"), "--fs", "--zoned"),
            (("shell", "--zoned", "--mkfs", "ext4"), "--mkfs", "--zoned"),
            (("run", "--trace", "blk", "--namespaces", "2"), "--trace", "--namespaces"),
            (("run", "--drives", "2", "--zoned"), "--drives", "--zoned"),
            (("run", "--kernel-args", "a\nb"), "--kernel-args", "printable ASCII"),
            (("run", "--kernel-args", "quiet -- sh"), "--kernel-args", "without '--'"),
            (("shell", "--kernel-args", "nvme.poll_queues=2"), "poll_queues=2", "--smp is 1"),
            (("powercut", "--zoned"), "--zoned", "whose power fails"),
            (
                ("run", "--job", str(ROOT / "fio-jobs" / "placement.fio")),
                "${SCARP_NG}",
                "--handles",
            ),
            (("shell", "--mkfs", "ntfs"), "--mkfs", "ntfs", "ext4"),
            (("dance",), "dance", "run"),
            # Half of them are of one virtual CPU, and one result alone proves nothing.
            (("determinism", "-n", "3"), "-n", "4 to"),
            # A drive that is not aged would be measured as if it was.
            (
                ("replay", "-d", "x.ini", "--age-overwrite", "5", "gen:zipf"),
                "--age-overwrite",
                "--age,",
            ),
            (
                ("replay", "-d", "x.ini", "--age=0", "--age-pattern=random"),
                "--age-pattern",
                "--age,",
            ),
            (("replay", "-i", "x", "--age-overwrite", "5", "gen:zipf"), "--image"),
            (("replay", "-i", "x", "--schemes", "a,b", "--age-seed", "5"), "--age-seed", "--image"),
            (("compare", "--image", "x", "--age", "500"), "--age", "--image"),
            (("run", "--age=0", "--overwrite", "5"), "--overwrite: needs --age", "1 to 1000"),
            (("powercut", "--check=fs", "--age=0", "--overwrite=5"), "--overwrite: needs --age"),
            (("reproduce", "fit", "--traces", "x", "--estimate"), "--traces", "fit"),
        ):
            with self.subTest(arguments):
                line = self.error(*arguments)
                self.assertTrue(line.startswith("scarp: error: "), line)
                for word in words:
                    self.assertIn(word, line)


class Ends(Refused):
    """What nobody can say in advance: a full disk, a folder that may not be written, a locale."""

    SCARP = ROOT / "scripts" / "scarp"

    def test_what_the_system_refuses_is_one_line(self) -> None:
        for error, said in (
            (OSError(28, "No space left on device"), "No space left on device"),
            (PermissionError(13, "Permission denied", "/root/x"), "/root/x: Permission denied"),
        ):
            with mock.patch.object(choices, "drives_text", mock.Mock(side_effect=error)):
                self.assertEqual(self.error("devices"), f"scarp: error: {said}")

    def test_a_full_disk_behind_the_output(self) -> None:
        # What is printed is written at once, or at the end.
        for environment in ({}, {"PYTHONUNBUFFERED": "1"}):
            with Path("/dev/full").open("w") as full:
                done = subprocess.run(
                    [self.SCARP, "completion", "bash"], stdout=full, stderr=subprocess.PIPE,
                    env={**os.environ, **environment}, text=True, check=False,
                )  # fmt: skip
            self.assertEqual(done.returncode, 1)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
            self.assertIn("No space left on device", done.stderr)

    def test_another_locale(self) -> None:
        # Which locales a machine has is its own; this is what one without UTF-8 makes of Python.
        plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
        for python in ([], [sys.executable, "-E"]):
            done = subprocess.run(
                [*python, self.SCARP, "devices"], capture_output=True,
                env={**os.environ, **plain}, check=False,
            )  # fmt: skip
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            self.assertIn("…", done.stdout.decode())


class Suites(unittest.TestCase):
    def test_only_some_of_the_devices_tests(self) -> None:
        with mock.patch("scarplib.dev.suites.main", return_value=0) as main:
            self.assertEqual(cli.main(["test-qtest", "interruptions"]), 0)
            self.assertEqual(cli.main(["test-laws"]), 0)
        said = [call.args for call in main.call_args_list]
        self.assertEqual(said, [("test-qtest", ["interruptions"]), ("test-laws", [])])


class Kselftest(unittest.TestCase):
    """A package with a tarball in it, as Debian's linux-source."""

    GOOD = (
        "scripts/subarch.include",
        "scripts/Makefile.compiler",
        "tools/scripts/Makefile.arch",
        "tools/testing/selftests/Makefile",
        "tools/testing/selftests/lib.mk",
        "tools/testing/selftests/run.sh",
        "tools/testing/selftests/kselftest.h",
        "tools/testing/selftests/kselftest/runner.sh",
    )
    OTHER = (
        "scripts/other",
        "tools/scripts/below/it",
        "tools/testing/selftests/ublk/test.sh",
        "tools/testing/selftests/kselftest/below/it",
    )

    def package(self, folder: Path, names: Sequence[str]) -> Path:
        tree = folder / "tree"
        source = tree / "usr" / "src" / "linux-source-6.1.tar.xz"
        source.parent.mkdir(parents=True)
        with tarfile.open(source, "w:xz") as archive:
            for name in names:
                archive.addfile(tarfile.TarInfo(f"linux-source-6.1/{name}"))
        (tree / "DEBIAN").mkdir()
        fields = ("Package: p", "Version: 1", "Architecture: all", "Maintainer: m")
        (tree / "DEBIAN" / "control").write_text("\n".join([*fields, "Description: d", ""]))
        command = ["dpkg-deb", "--root-owner-group", "-Znone", "-b", str(tree)]
        subprocess.run([*command, str(folder / "p.deb")], check=True, capture_output=True)
        return folder / "p.deb"

    def test_what_is_taken(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            package = self.package(folder, (*self.GOOD, *self.OTHER))
            out = folder / "out"
            out.mkdir()
            kselftest.extract(package, out)
            found = {str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()}
            self.assertEqual(found, set(self.GOOD))

    def test_each_version_has_a_folder(self) -> None:
        fetched: list[str] = []

        def fetch(names: list[str]) -> dict[str, Path]:
            fetched.extend(names)
            package = cache / "p.deb"
            package.touch()
            return {names[0]: package}

        def extract(_: Path, folder: Path) -> None:
            helpers = folder / kselftest.SELFTESTS / "kselftest" / "ktap_helpers.sh"
            helpers.parent.mkdir(parents=True)
            helpers.touch()

        def of(lock: str, today: str = "") -> str:
            """The version that is found, as the lock or, without that one, the mirror has it."""
            name = "linux-source-6.12"
            packages = {name: (lock, ""), "linux-source": (lock, "")}
            made = locks.DebianLock({}, packages, {kselftest.PACKAGES: tuple(packages)})
            mirror = mock.Mock(fetch=fetch)
            mirror.closure = lambda _: [f"linux-source={lock}", f"{name}={today or lock}"]
            with (
                mock.patch.object(locks, "debian", lambda: made),
                mock.patch.object(kselftest, "Apt", lambda: mirror),
                mock.patch.object(kselftest, "extract", extract),
                mock.patch.dict(os.environ, {"XDG_CACHE_HOME": str(cache)}),
                contextlib.redirect_stderr(io.StringIO()),
            ):
                return (kselftest.ensure_kselftest() / "VERSION").read_text().strip()

        with tempfile.TemporaryDirectory() as name:
            cache = Path(name)
            for lock, today in (("6.12.1-1", ""), ("6.12.2-1", ""), ("6.12.3-1", "6.12.4-1")):
                for _ in range(2):
                    self.assertEqual(of(lock, today), f"linux-source-6.12={today or lock}")
            self.assertEqual(of("6.12.1-1"), "linux-source-6.12=6.12.1-1")
        self.assertEqual(len(fetched), 3)

    def test_a_package_that_is_cut_off_or_another(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            package = self.package(folder, self.GOOD[1:])
            with self.assertRaisesRegex(UserError, "p.deb: its kernel source could not"):
                kselftest.extract(package, folder)
            package.write_bytes(package.read_bytes()[:-600])
            with self.assertRaisesRegex(UserError, "p.deb: its kernel source could not"):
                kselftest.extract(package, folder)


class Progress(unittest.TestCase):
    def test_expected(self) -> None:
        demo = (ROOT / "fio-jobs" / "demo.fio").read_text()
        self.assertEqual(progress.expected_commands(demo), 90_000)
        short = (ROOT / "fio-jobs" / "short.fio").read_text()
        self.assertEqual(progress.expected_commands(short), 3000)
        self.assertEqual(
            progress.expected_commands("[global]\nnumber_ios=5\n[a]\n[b]\nnumber_ios=7 ; x\n"), 12
        )
        self.assertIsNone(progress.expected_commands("[a]\nruntime=5\n"))

    def test_line(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "p"
            path.write_bytes(struct.pack("<3Q", 2_500_000_000, 45_000, 12) + bytes(40))
            watcher = progress.Watcher({"a": path, "b": Path(folder) / "none"}, 90_000)
            self.assertEqual(
                watcher.line(3),
                "     3 s  a: 2.5 s virtual, 45,000 I/Os (50 %), 12 GCs | b: starting",
            )

    def test_booting_is_said_until_there_is_more_than_the_kernels_look_for_partitions(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "p"
            watcher = progress.Watcher({"a": path}, None)
            for commands, said in (
                (0, "booting"),
                (4, "booting"),
                (500, "500 I/Os, 3 GCs"),
                # The start mark, behind which nobody boots.
                (0, "0 I/Os, 3 GCs"),
                (2, "2 I/Os, 3 GCs"),
            ):
                path.write_bytes(struct.pack("<3Q", 10**9, commands, 3))
                self.assertEqual(watcher.line(1), f"     1 s  a: 1.0 s virtual, {said}")


if __name__ == "__main__":
    unittest.main()
