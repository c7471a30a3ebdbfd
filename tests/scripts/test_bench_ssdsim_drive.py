# SPDX-License-Identifier: GPL-2.0-or-later
"""SSDsim as a drive to be probed, without SSDsim: its log, and a program that reads as it does."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import unittest
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BENCH = ROOT / "tests" / "bench"
sys.path[:0] = [str(ROOT / "scripts"), str(BENCH)]

import probed_peer  # noqa: E402
import ssdsim_drive  # noqa: E402
from mqsim import Drive  # noqa: E402
from scarplib.errors import UserError  # noqa: E402
from scarplib.own_drive.plan import FLUSH, READ, TRIM, WRITE, Row, Step  # noqa: E402

DRIVE = Drive(probed_peer.DESCRIPTION, ssdsim_drive.OVERRIDES)
# One server: 1,000 ns for a read and 100 for a write, after which it is busy for 2,000 more.  It
# reads a line, goes back while something is done before that line's time, and looks one line ahead.
FAKE = r"""
#include <stdio.h>
#include <string.h>
struct { long long at, end; int lsn, size, kind; } queue[4096];
int main(void)
{
    char name[64], line[200];
    int first = 0, last = 0;
    long long at, idle = 0;

    printf("input trace file name:");
    if (scanf("%63s", name) != 1) {
        return 2;
    }
    FILE *trace = fopen(name, "r"), *log = fopen("ex.out", "w");
    if (trace == NULL || fgets(line, sizeof line, trace) != NULL) {
        return 2;
    }
    fclose(trace);
    trace = fopen(name, "r");
    fprintf(log, "parameter file: none\n");
    for (;;) {
        long here = ftell(trace);
        int lsn, size, kind, device;

        if (fgets(line, sizeof line, trace) == NULL) {
            break;
        }
        sscanf(line, "%lld %d %d %d %d", &at, &device, &lsn, &size, &kind);
        if (first < last && queue[first].end < at) {
            long long end = queue[first].end;
            fseek(trace, here, SEEK_SET);
            fprintf(log, "%16lld %10d %6d %2d %16lld %16lld %10lld\n", queue[first].at,
                    queue[first].lsn, queue[first].size, queue[first].kind, end, end, end);
            fflush(log);
            first++;
            continue;
        }
        queue[last].at = at;
        queue[last].lsn = lsn;
        queue[last].size = size;
        queue[last].kind = kind;
        idle = (at > idle ? at : idle) + (kind ? 1000 : 100);
        queue[last++].end = idle;
        idle += kind ? 0 : 2000;
        here = ftell(trace);
        if (fgets(line, sizeof line, trace) != NULL) {
            fseek(trace, here, SEEK_SET);
        }
    }
    fclose(log);
    return 1;
}
"""


def step(name: str, rows: list[Row], depth: int | None = None, prepares: bool = False) -> Step:
    def given() -> Iterator[Row]:
        yield from rows

    return Step(name, given, depth=depth, each=True, prepares=prepares)


class FilesTest(unittest.TestCase):
    """What SSDsim is given, and says."""

    def test_parameters(self) -> None:
        lines = ssdsim_drive.parameters(DRIVE).splitlines()
        for line in (
            "chip number[3] = 2;",
            "chip number = 8;",
            "subpage page = 8;",
            "t_RC = 2;",
            "overprovide = 0.400120;",
            "gc hard threshold = 0.100000;",
        ):
            self.assertIn(line, lines)
        self.assertNotIn("chip number[4] = 2;", lines)

    def test_a_drive_that_it_cannot_be(self) -> None:
        for key in (
            "timing.channel_mts=800",
            "geometry.page_bytes=32768",
            "geometry.blocks_per_plane=4",
        ):
            chosen = ",".join((ssdsim_drive.OVERRIDES, key))
            with self.assertRaises(UserError):
                ssdsim_drive.check(Drive(probed_peer.DESCRIPTION, chosen))

    def test_requests_of_one_time_are_told_apart(self) -> None:
        rows: list[Row] = [(0, READ, 0, 4096), (0, WRITE, 4096, 4096), (0, READ, 0, 4096)]
        log = "head\n5 8 8 0 5 9 4\n5 0 8 1 5 7 2\n 6 0 8 1 6 8 2\n"
        self.assertEqual(ssdsim_drive.completions(log, rows), [(5, 7), (5, 9), (6, 8)])

    def test_a_log_of_other_requests(self) -> None:
        rows: list[Row] = [(0, READ, 0, 4096)]
        for log in ("", "5 0 8 0 5 9 4\n", "5 8 8 1 5 9 4\n"):
            with self.assertRaises(UserError):
                ssdsim_drive.completions(log, rows)

    def test_what_stands_for_a_flush(self) -> None:
        rows: list[Row] = [(0, FLUSH, 0, 0), (1, TRIM, 0, 4096), (2, WRITE, 8192, 8192)]
        rows.append((3, FLUSH, 0, 0))
        read: Row = (3, READ, 12288, 4096)
        self.assertEqual(ssdsim_drive.requests(rows, False, 4096), [(2, rows[2]), (3, read)])
        self.assertEqual(ssdsim_drive.requests(rows, True, 4096), [(2, rows[2])])


class ProbeTest(unittest.TestCase):
    """Steps, on a program in SSDsim's place."""

    folder: Path
    program: Path

    @classmethod
    def setUpClass(cls) -> None:
        # pylint: disable-next=consider-using-with
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cls.program = cls.folder / "ssd"
        source = cls.folder / "fake.c"
        source.write_text(FAKE)
        subprocess.run(["cc", "-w", "-o", str(cls.program), str(source)], check=True)

    def prober(self) -> ssdsim_drive.Prober:
        run = ssdsim_drive.Run(self.program, DRIVE, self.folder)
        return ssdsim_drive.Prober(run, base_ns=1, read_ns=1000)

    def test_so_many_at_once(self) -> None:
        rows: list[Row] = [(0, READ, i * 4096, 4096) for i in range(8)]
        for depth in (1, 2, 4, 100):
            found = self.prober().measure([], [step("load", rows, depth)])["load"]
            # Of the first each waits for those before it, then all wait for as many.
            wanted = [1000 * min(i + 1, depth) for i in range(8)]
            self.assertEqual(found.each, wanted)
            self.assertAlmostEqual(found.per_s, 1e6)

    def test_each_at_its_time(self) -> None:
        rows: list[Row] = [(0, TRIM, 0, 4096), (500, READ, 0, 4096), (700, READ, 4096, 4096)]
        found = self.prober().measure([], [step("load", rows)])["load"]
        self.assertEqual(found.each, [1, 1000, 1800])

    def test_a_flush_waits_until_it_is_programmed(self) -> None:
        rows: list[Row] = [(0, FLUSH, 0, 0), (50, WRITE, 0, 4096), (550, FLUSH, 0, 0)]
        rows.append((90_000, FLUSH, 0, 0))
        found = self.prober().measure([], [step("load", rows)])["load"]
        self.assertEqual(found.each, [1, 100, 1600, 1])

    def test_steps_follow_one_another(self) -> None:
        many: list[Row] = [(0, READ, i * 4096, 4096) for i in range(4)]
        steps = [step("one", many, 2, prepares=True), step("two", many), step("three", many, 1)]
        found = self.prober().measure([step("none", many, 3)], steps)
        self.assertEqual(list(found), ["two", "three"])
        self.assertEqual(found["two"].each, [1000, 2000, 3000, 4000])
        self.assertEqual(found["three"].each, [1000] * 4)

    def test_what_takes_no_flash(self) -> None:
        prober = self.prober()
        prober.read_ns = 0
        one = step("trimmed", [(0, TRIM, 0, 4096)])
        self.assertEqual(prober.without_flash(one, one), [1] * 9)
        self.assertEqual(prober.read_ns, 1000)

    def test_one_that_fails(self) -> None:
        run = ssdsim_drive.Run(Path("/bin/false"), DRIVE, self.folder)
        with self.assertRaises(UserError):
            run([(1, [(0, READ, 0, 4096)])])

    def test_one_that_drops_writes(self) -> None:
        program = self.folder / "full"
        program.write_text(
            "#!/bin/sh\ntouch ex.out\necho ERROR :there is no free page in it\nexit 1\n"
        )
        program.chmod(0o755)
        run = ssdsim_drive.Run(program, DRIVE, self.folder)
        with self.assertRaisesRegex(UserError, "dropped writes"):
            run([])

    def test_a_program_that_is_none(self) -> None:
        done = subprocess.run(
            [sys.executable, str(BENCH / "ssdsim_drive.py"), "/bin/true"],
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(done.returncode, 1)
        self.assertIn("is not SSDsim", done.stderr)


if __name__ == "__main__":
    unittest.main()
