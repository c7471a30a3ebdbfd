# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp sweep`: what may be said, which cells there are, and the report over the seeds."""

from __future__ import annotations

import contextlib
import fcntl
import io
import os
import re
import signal
import sys
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(Path(__file__).parent)]

from refused import Refused  # noqa: E402
from scarplib.errors import UserError  # noqa: E402
from scarplib.runs.command import compared  # noqa: E402
from scarplib.sweep import cells, page, progress, sweep  # noqa: E402
from scarplib.sweep.sweep import Sweep  # noqa: E402
from typed import swept, typed  # noqa: E402

DEMO, SMALL = (str(ROOT / "devices" / f"{name}.ini") for name in ("demo", "hpdc18-small"))
GOOD = ("--devices", DEMO, "--seeds", "1-2")
REPLAYED = (*GOOD, "--replay", "gen:zipf", "--schemes", "baseline")


class Folder(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)

    def sweep(self, *words: str) -> int:
        return sweep.run(swept(*words), "", typed("sweep", *words))

    def of(self, *arguments: str) -> Sweep:
        return swept(*GOOD, *arguments)


class Arguments(Refused):
    def test_one_line_before_anything_is_built(self) -> None:
        for arguments, *words in (
            ((), "--devices"),
            (("--devices", DEMO), "--seeds"),
            (("--devices", "none.ini", "--seeds", "1"), "--devices", "no such file"),
            (("--devices", f"{DEMO},{DEMO}", "--seeds", "1"), "two of them are named demo"),
            (("--devices", DEMO, "--seeds", "3-1"), "--seeds", "'3-1'"),
            (("--devices", DEMO, "--seeds", "1,1"), "--seeds", "twice"),
            ((*GOOD, "--seed", "1"), "--seed", "itself"),
            ((*GOOD, "--out=x", "--jobs=2"), "--jobs", "itself"),
            ((*GOOD, "--nonsense"), "--nonsense"),
            # An option has one name: a part of it would be another way around the sweep's own.
            ((*GOOD, "--dev", "x.ini"), "--dev"),
            ((*GOOD, "--see", "3"), "--see"),
            ((*REPLAYED, "--description", "x.ini"), "--description", "itself"),
            ((*REPLAYED, "--age-seed=7"), "--age-seed", "itself"),
            ((*REPLAYED, "-dx.ini"), "-d", "itself"),
            ((*REPLAYED, "-ix.img"), "-i", "itself"),
            ((*GOOD, "--clock", "realtime"), "--clock realtime", "--cores 1"),
            ((*GOOD, "--clock", "realtime", "--cores", "2"), "--clock realtime", "--cores 1"),
            ((*GOOD, "--clock", "realtime", "--cores=1", "--trace", "blk"), "--trace", "clock"),
            ((*GOOD, "--accel", "tcg"), "--accel", "realtime"),
            ((*GOOD, "--fs", "ntfs"), "--fs", "ntfs"),
            ((*GOOD, "--replay", "gen:zipf"), "--replay", "--schemes"),
            (
                (*GOOD, "--replay", "none.csv", "--schemes", "baseline"),
                *("--replay", "none.csv: no such file"),
            ),
            ((*GOOD, "--snakemake", "'"), "--snakemake"),
        ):
            with self.subTest(arguments):
                line = self.error("sweep", *arguments)
                for word in words:
                    self.assertIn(word, line)

    def test_seeds(self) -> None:
        found = swept("--devices", DEMO, "--seeds", "7,1-3")
        self.assertEqual(found.seeds, (7, 1, 2, 3))


class Cells(Folder):
    def paths(self, of: Sweep, program: str = "p") -> list[Path]:
        return [cell.path for cell in sweep.cells(of, program, self.folder)]

    def test_what_other_settings_gave_is_not_taken_for_these(self) -> None:
        usual = self.paths(self.of())
        self.assertEqual(len(usual), 2)
        more = swept("--devices", f"{SMALL},{DEMO}", "--seeds", "1-3")
        # More seeds and drives leave the others where they are.
        self.assertLess(set(usual), set(self.paths(more)))
        self.assertFalse(set(usual) & set(self.paths(self.of("--age", "800"))))
        self.assertFalse(set(usual) & set(self.paths(self.of(), "q")))
        job = self.folder / "job.fio"
        job.write_text("[a]\n")
        before = self.paths(self.of("--job", str(job)))
        joined = self.paths(self.of(f"--job={job}"))
        job.write_text("[b]\n")
        self.assertFalse(set(before) & set(self.paths(self.of("--job", str(job)))))
        self.assertFalse(set(joined) & set(self.paths(self.of(f"--job={job}"))))

    def test_a_value_that_no_file_can_be_named(self) -> None:
        self.paths(self.of("--set", ",".join(["gc.trigger_free_blocks=4"] * 50)))
        self.paths(self.of("--job", str(self.folder)))

    def test_what_decides_a_guests_bytes(self) -> None:
        """The default job, too, and what the guest boots; a job that is of no use is refused."""
        job = self.folder / "job.fio"
        guest = SimpleNamespace(**{x: self.folder / x for x in ("kernel", "initramfs")})
        guest.versions = {}
        firmware = self.folder / "firmware"
        firmware.mkdir()
        qemu = SimpleNamespace(version="", series_hash="", engine_hash="", firmware_dir=firmware)
        for path in (job, guest.kernel, guest.initramfs):
            path.write_text("filename=${SCARP_DEV}\n")
        with (
            mock.patch("scarplib.build.qemu.ensure_qemu", lambda: qemu),
            mock.patch("scarplib.guest.image.ensure_image", lambda: guest),
            mock.patch("scarplib.runs.command.job_of", lambda *_: job),
        ):
            asked = compared(self.of().rest)
            seen = {sweep.program(asked)}
            for path in (job, guest.kernel, guest.initramfs):
                path.write_text("filename=${SCARP_DEV}\n\n")
                seen.add(sweep.program(asked))
            self.assertEqual(len(seen), 4)
            job.write_text("[a]\n")
            with self.assertRaisesRegex(UserError, "SCARP_DEV"):
                sweep.program(asked)

    def test_commands(self) -> None:
        of = self.of("--schemes", "a,b", "--age", "800")
        cell = sweep.cells(of, "p", self.folder)[1]
        words = sweep.command(of, cell, Path("out"))
        self.assertEqual(words[3:6], ["compare", "--device", DEMO])
        self.assertEqual(words[-6:], ["--out", "out", "--schemes", "a,b", "--age", "800"])
        of = self.of("--replay", "gen:zipf", "--schemes", "a,b")
        words = sweep.command(of, cell, Path("out"))
        self.assertEqual(words[3:5], ["replay", "--description"])
        self.assertEqual(words[-1], "gen:zipf")
        for name in ("--seed", "--age-seed"):
            self.assertEqual(words[words.index(name) + 1], "2")

    def test_what_a_job_reads_is_what_was_asked_for(self) -> None:
        of = self.of("--schemes", "a,b")
        listed = sweep.cells(of, "p", self.folder)
        path = sweep.write(of, listed, self.folder)
        self.assertEqual(sweep.read(path), (of, listed))
        self.assertEqual(
            {str(self.folder / name): words for name, words in sweep.jobs(path).items()},
            {str(cell.path): (str(path), str(n)) for n, cell in enumerate(listed)},
        )

    def test_a_cell_is_there_with_its_whole_result_or_not_at_all(self) -> None:
        of = self.of()
        cell, other = sweep.cells(of, "p", self.folder)
        path = sweep.write(of, [cell, other], self.folder)
        # What a run that was killed has left.
        cell.path.with_suffix(".run").mkdir(parents=True)
        (cell.path.with_suffix(".run") / "rest").touch()
        good = "import pathlib; p = pathlib.Path('{}')\np.mkdir()\n(p / 'summary.json').touch()\n"
        bad = "import sys; print('scarp: error: it is full'); print('more'); sys.exit(1)"

        def program(text: str) -> Any:
            file = self.folder / "program.py"
            file.write_text(text)
            return mock.patch.object(sweep, "command", lambda *_: [sys.executable, str(file)])

        unchanged = mock.patch.object(sweep, "program", lambda _: "p")
        unchanged.start()
        self.addCleanup(unchanged.stop)
        with program(good.format(cell.path.with_suffix(".run"))):
            self.assertEqual(sweep.run_cell(path, 0), 0)
        self.assertEqual([p.name for p in cell.path.parent.iterdir()], ["1.json"])
        with program(bad), mock.patch("builtins.print") as said:
            self.assertEqual(sweep.run_cell(path, 1), 1)
        self.assertIn("seed 2: scarp: error: it is full", said.call_args[0][0])
        self.assertFalse(other.path.exists())

    def test_a_cell_is_of_the_program_and_the_files_of_the_sweeps_start(self) -> None:
        device = self.folder / "d.ini"
        device.write_text("[a]\n")
        given = ["--devices", str(device), "--seeds", "1", *REPLAYED[len(GOOD) :]]
        of = swept(*given)
        out = self.folder / "out"
        (cell,) = sweep.cells(of, "first", out)
        path = sweep.write(of, [cell], out)
        folder = cell.path.with_suffix(".run")
        file = self.folder / "program.py"
        good = f"import pathlib; p = pathlib.Path({str(folder)!r})\np.mkdir()\n"
        good += "(p / 'summary.json').touch()\n"
        edits = f"{good}pathlib.Path({str(device)!r}).write_text('[b]')\n"

        def run(program: str, text: str) -> str:
            device.write_text("[a]\n")
            file.write_text(text)
            with (
                mock.patch.object(sweep, "program", lambda _: program),
                mock.patch.object(sweep, "command", lambda *_: [sys.executable, str(file)]),
                mock.patch("builtins.print") as said,
            ):
                self.assertEqual(sweep.run_cell(path, 0), 0 if text == good else 1)
            return str(said.call_args[0][0]) if said.call_args else ""

        for program, text in (("second", edits), ("first", edits)):
            self.assertRegex(run(program, text), "^error: .*d.ini, seed 1: .* changed since")
            self.assertFalse(cell.path.exists())
        run("first", good)
        self.assertTrue(cell.path.exists())


class Snakemake(Folder):
    """Its program is another, which does what a test wants."""

    def run_it(self, text: str, *names: str) -> str:
        program = self.folder / "program"
        program.write_text(f"#!/bin/sh\n{text}\n")
        program.chmod(0o755)
        with mock.patch.object(sys, "executable", str(program)):
            return cells.run_missing(
                Path("Snakefile"),
                [self.folder / name for name in names],
                self.folder / "work",
                1,
                ["a=b"],
                ["--more"],
            )

    def test_what_is_said_of_its_end(self) -> None:
        self.assertEqual(self.run_it("touch ../a; echo $* $OMP_NUM_THREADS", "a"), "")
        said = (self.folder / "work" / "snakemake.log").read_text()
        self.assertRegex(said, r"-m snakemake .* --cores 1 .* --config a=b --more 1\n")
        said = self.run_it("echo error: no room; echo Error in rule; exit 1", "a", "b")
        self.assertRegex(said, r"^1 of 2 cells failed \(.*snakemake.log\).*:\n  error: no room$")
        said = self.run_it("echo what; exit 1", "a")
        self.assertRegex(said, r"^Snakemake failed .*:\n  what$")

    def test_an_interrupt_says_how_it_goes_on(self) -> None:
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        said = io.StringIO()
        with contextlib.redirect_stderr(said), self.assertRaises(KeyboardInterrupt):
            self.run_it("touch ../a; kill -INT $PPID; sleep 60", "a", "b")
        self.assertIn("1 of 2 cells are done; the same command goes on", said.getvalue())

    def test_one_sweep_at_a_time_in_a_folder(self) -> None:
        cache = self.folder / "scarp"
        taken: list[Path] = []

        def run(*_: object) -> int:
            for lock in set(cache.glob("sweep-*.lock")) - set(taken):
                with lock.open() as stream, self.assertRaises(BlockingIOError):
                    fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                taken.append(lock)
            return 0

        with (
            mock.patch.dict(os.environ, {"XDG_CACHE_HOME": str(self.folder)}),
            mock.patch.object(sweep, "_run", run),
        ):
            for name in ("a", "b"):
                self.sweep(*GOOD, "--out", str(self.folder / name))
        # Each folder has its own.
        self.assertEqual(len(taken), 2)


class Progress(Folder):
    """Counted in guests or replays: a cell may have many."""

    def test_how_many_a_cell_has(self) -> None:
        for words, unit, total in (
            (("--schemes", "baseline,pgc,ideal"), "guests", 6),
            (("--schemes", "baseline,pgc", "--fs", "ext4,xfs,btrfs"), "guests", 12),
            (("--replay", "gen:zipf", "--schemes", "baseline,pgc"), "replays", 4),
        ):
            with self.subTest(words):
                of = self.of(*words)
                found = sweep.amount(of, sweep.cells(of, "p", self.folder))
                self.assertEqual((found.unit, found.total), (unit, total))

    def test_guests_of_a_cell_that_runs_count(self) -> None:
        found = progress.Amount([self.folder / f"{seed}.json" for seed in (1, 2)], "guests", 4)
        self.assertEqual(progress.line(found, 0, 10), f"[{'':20}] 0 of 8 guests")
        for name in ("baseline", "pgc"):
            (self.folder / "1.run" / name).mkdir(parents=True)
        self.assertEqual(found.done(), 0)
        for name in ("stats-end.bin", "fio.json"):
            (self.folder / "1.run" / "baseline" / name).touch()
        # One guest of eight in 100 s.
        line = progress.line(found, 0, 100)
        self.assertEqual(line, f"[{'==':20}] 1 of 8 guests, 12 min left")
        (self.folder / "1.json").touch()
        self.assertEqual(found.done(), 4)
        # Those of an earlier call took none of this one's time.
        self.assertNotIn("left", progress.line(found, 4, 100))
        (self.folder / "2.run" / "pgc").mkdir(parents=True)
        (self.folder / "2.run" / "pgc" / "replay.json").touch()
        self.assertIn(" 5 of 8 guests, 30 s left", progress.line(found, 4, 10))
        for name in ("a", "b", "c"):
            (self.folder / "2.run" / name).mkdir()
            (self.folder / "2.run" / name / "replay.json").touch()
        line = progress.line(found, 4, 99)
        self.assertTrue(line.endswith("8 of 8 guests, the last results are being written"), line)
        (self.folder / "2.json").touch()
        self.assertEqual(progress.line(found, 4, 99), f"[{'=' * 20}] 8 of 8 guests")

    def test_the_first_line_does_not_wait_for_a_minute(self) -> None:
        stop = mock.Mock(wait=mock.Mock(side_effect=[False, False, True]))
        with (
            mock.patch("scarplib.sweep.progress.threading.Event", return_value=stop),
            mock.patch("scarplib.sweep.progress.threading.Thread") as thread,
            progress.shown(progress.Amount([self.folder / "1.json"])),
            contextlib.redirect_stderr(io.StringIO()) as said,
        ):
            # Here, and not in a thread of its own.
            thread.call_args[1]["target"](*thread.call_args[1]["args"])
        self.assertEqual(said.getvalue(), f"[{'':20}] 0 of 1 cells\n")

    def test_a_shorter_line_leaves_nothing_of_the_one_before(self) -> None:
        stop = mock.Mock(wait=mock.Mock(side_effect=[False, False, True]))
        with (
            mock.patch("scarplib.sweep.progress.threading.Event", return_value=stop),
            mock.patch("scarplib.sweep.progress.threading.Thread") as thread,
            mock.patch("scarplib.sweep.progress.line", side_effect=["a long line", "short"]),
            progress.shown(progress.Amount([])),
            contextlib.redirect_stderr(io.StringIO()) as said,
        ):
            said.isatty = lambda: True  # type: ignore[method-assign]
            thread.call_args[1]["target"](*thread.call_args[1]["args"])
        self.assertEqual(said.getvalue(), "\ra long line\rshort      \n")

    def test_what_an_interrupted_run_has_left_does_not_count(self) -> None:
        out = self.folder / "out"
        words = (*GOOD, "--replay", "gen:zipf", "--schemes", "baseline,pgc", "--out", str(out))
        listed = sweep.cells(swept(*words), "", out)
        left = listed[0].path.with_suffix(".run") / "pgc"
        left.mkdir(parents=True)
        (left / "replay.json").touch()
        (out / "sweep.json").touch()
        self.assertEqual(sweep.amount(swept(*words), listed).done(), 1)
        with (
            mock.patch.object(sweep, "run_missing", return_value="enough") as run,
            self.assertRaisesRegex(UserError, "enough"),
        ):
            self.sweep(*words)
        self.assertEqual(run.call_args[0][-1].done(), 0)

    def test_the_time_left(self) -> None:
        said = [progress.time_left(seconds) for seconds in (3.2, 89, 91, 5300, 9000)]
        self.assertEqual(said, ["3 s left", "89 s left", "2 min left", "88 min left", "2.5 h left"])


class Out(Folder):
    """What is in the folder of the results, and what its name may be."""

    def test_another_commands_report_stays(self) -> None:
        (self.folder / "report.html").write_text("another's")
        with self.assertRaisesRegex(UserError, "neither empty nor a sweep's"):
            self.sweep(*REPLAYED, "--out", str(self.folder))
        self.assertEqual((self.folder / "report.html").read_text(), "another's")
        with self.assertRaisesRegex(UserError, "is a file"):
            sweep.check_out(self.folder / "report.html")
        # A sweep goes on in its own; a new one begins in an empty folder, or in none.
        (self.folder / "sweep.json").touch()
        (self.folder / "empty").mkdir()
        for folder in (self.folder, self.folder / "empty", self.folder / "none"):
            sweep.check_out(folder)

    def test_a_folder_that_cannot_be_made(self) -> None:
        out = self.folder / "none"
        refused = PermissionError(13, "Permission denied", str(out))
        with (
            mock.patch.object(Path, "mkdir", side_effect=refused),
            self.assertRaisesRegex(UserError, f"^--out: {out}: Permission denied$"),
        ):
            sweep.write(self.of(), [], out)

    def test_a_name_that_snakemake_would_read_otherwise(self) -> None:
        for name in ("a: b", "a #1", "a\nb", "a:"):
            with self.assertRaisesRegex(UserError, "--out"):
                sweep.check_out(self.folder / name)
        sweep.check_out(self.folder / 'a, b\'s "ü"')
        device = self.folder / "{x}.ini"
        device.touch()
        (cell,) = sweep.cells(swept("--devices", str(device), "--seeds", "1"), "", self.folder)
        self.assertNotIn("{", str(cell.path))

    def test_what_snakemake_makes_by_itself(self) -> None:
        """Of the file that it is given the first rule: no rule of an included file is that."""
        for folder in ("experiments", "scripts/scarplib/sweep"):
            text = (ROOT / folder / "Snakefile").read_text()
            self.assertEqual(re.findall(r"(?m)^rule (\w+):", text), ["all"])

    def test_a_checkout_whose_name_has_a_space(self) -> None:
        text = (ROOT / "scripts" / "scarplib" / "sweep" / "cells.smk").read_text()
        (command,) = [line for line in text.splitlines() if "{python" in line]
        self.assertEqual(re.findall(r"\{(?:scripts|python)(.*?)\}", command), [":q", ":q"])


class Page(Folder):
    def seeds(self) -> dict[int, dict[str, Any]]:
        def scheme(p50: int) -> dict[str, Any]:
            read = {"mean_ns": p50, "p50_ns": p50, "p99_ns": 2 * p50}
            part = {"device": {"read": read, "write": None}, "gc_runs": 3}
            return {**part, "write_amplification": 2}

        return {
            seed: {
                "job": "j",
                "schemes": {"slow": scheme(2000 * seed), "fast": scheme(1000 * seed)},
            }
            for seed in (1, 2, 3)
        }

    def test_an_interval_that_says_nothing_is_not_printed(self) -> None:
        seeds = self.seeds()
        for seed, p50 in ((1, 1900), (2, 2000), (3, 2100)):
            seeds[seed]["schemes"]["slow"]["device"]["read"]["p50_ns"] = p50
        for seed, p50 in ((1, 2000), (2, 30_000), (3, 2000)):
            seeds[seed]["schemes"]["fast"]["device"]["read"]["p50_ns"] = p50
        found = page.rows(seeds)
        at = next(i for i, row in enumerate(found) if row[0] == "  p50")
        # 4.303 standard errors of 100 ns, of three values.
        self.assertEqual(found[at][1], ["2.00 µs ± 0.25 µs", "2.00 µs to 30.0 µs"])
        self.assertEqual(found[at + 1], ("    against slow", ["", "-5 to +1400 %"]))

    def test_means_and_paired_changes(self) -> None:
        found = page.rows(self.seeds())
        at = next(i for i, row in enumerate(found) if row[0] == "  p50")
        # Seeds 1 to 3: an interval of 4.303 standard errors would begin below nothing.
        self.assertEqual(found[at][1], ["2.00 µs to 6.00 µs", "1.00 µs to 3.00 µs"])
        # The seeds differ much, but each is half of what it is compared with.
        self.assertEqual(found[at + 1], ("    against slow", ["", "-50.0 % ± 0.0"]))
        one = page.rows({1: self.seeds()[1]})
        self.assertIn(("  p50", ["2.00 µs", "1.00 µs"]), one)

    def test_a_seed_without_a_scheme(self) -> None:
        seeds = self.seeds()
        del seeds[1]["schemes"]["fast"]
        found = dict(page.rows(seeds))
        self.assertEqual(found["  write amplification"], ["2.000 ± 0.000", "2.000 ± 0.000"])

    def test_files(self) -> None:
        text = page.write(self.folder, {DEMO: self.seeds()})
        self.assertIn("demo.ini: 3 seeds", text)
        rows = (self.folder / "sweep.csv").read_text().splitlines()
        self.assertIn(f"{DEMO},2,fast,reads,p50,2000", rows)
        report = (self.folder / "report.html").read_text()
        self.assertIn("data:image/png", report)
        self.assertIn("-50.0 % ± 0.0", report)


if __name__ == "__main__":
    unittest.main()
