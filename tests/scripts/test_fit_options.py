# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp fit`: no option is ignored, and what cannot be written is said in a line."""

from __future__ import annotations

import contextlib
import io
import json
import math
import os
import resource
import sys
import tempfile
import unittest
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(Path(__file__).parent)]

from scarplib import cli  # noqa: E402
from scarplib.build import venv  # noqa: E402
from scarplib.errors import UserError  # noqa: E402
from scarplib.own_drive import cited, figures, fit, fitting, model, on_replayer, outputs, probe_file  # noqa: E402
from scarplib.own_drive.options import TAKES  # noqa: E402
from scarplib.own_drive.plan import MIB  # noqa: E402
from typed import fit as run_fit  # noqa: E402
from typed import fit_options  # noqa: E402

# Of each option a value that is none of its usual ones, and one that is.
VALUES = {
    "out": ("x.ini", "mydrive.ini"),
    "json": ("x.json",),
    "minutes": ("3", "10"),
    "seed": ("3", "1"),
    "cores": ("3", "0"),
    "scheme": ("pgc", "baseline"),
    "rows": ("fit", "all"),
    "age": ("3", "0"),
    "steady": ("",),
    "seconds": ("3",),
    "mib": ("300", "2048"),
    "guests": ("1", "0"),
    "first": ("31", "1"),
}
WAYS = {
    "": ("out", "json", "minutes", "seed", "cores"),
    "--check": ("json", "scheme"),
    "--beside": ("json", "scheme", "rows", "age", "steady", "seconds"),
    "--blind": ("out", "minutes", "seed", "cores", "mib", "guests", "first"),
}


class Scratch(unittest.TestCase):
    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def refused(self, said: str, *words: str | Path) -> None:
        with self.assertRaisesRegex(UserError, said):
            run_fit(*map(str, words))


class NoneIsIgnored(Scratch):
    def words(self, way: str) -> list[str]:
        if way == "--blind":
            return [way, "2"]
        return ["no.ini", *([way, "no.json"] if way else [])]

    def test_each_is_of_a_way_or_refused(self) -> None:
        self.assertEqual(set(VALUES), {name for names in TAKES.values() for name in names})
        for way, takes in WAYS.items():
            for name, values in VALUES.items():
                for value in values:
                    words = [*self.words(way), f"--{name}", *([value] if value else [])]
                    if name in takes:
                        fit_options(*words)
                        continue
                    why = f"does nothing with {way}" if way else "needs --"
                    with self.assertRaisesRegex(UserError, f"^--{name}: {why}"):
                        fit_options(*words)

    def test_ways_exclude_each_other(self) -> None:
        self.refused("^--beside: excludes --check$", "a.ini", "--check", "p", "--beside", "t")
        self.refused("^--blind: excludes --check$", "--blind", "2", "--check", "p.json")
        self.refused("^--blind: excludes --beside$", "a.json", "--blind", "2", "--beside", "t.csv")
        self.refused("^FILE: needed", "--check", "p.json")
        self.refused("^FILE: needed", "a.json", "--blind", "2")

    def test_is_said_before_scipy_is_there(self) -> None:
        err = io.StringIO()
        with (
            mock.patch.object(venv, "ensure_venv", side_effect=AssertionError),
            contextlib.redirect_stderr(err),
        ):
            self.assertEqual(cli.main(["fit", "p.json", "--rows", "held"]), 1)
        self.assertEqual(err.getvalue(), "scarp: error: --rows: needs --beside\n")

    def test_usual_values(self) -> None:
        found = fit_options("p.json")
        self.assertEqual((found.minutes, found.seed, found.cores), (10, 1, 0))
        found = fit_options("p.json", "--seed", "0")
        self.assertEqual(found.seed, 0)
        found = fit_options("--blind", "3")
        self.assertEqual((found.mib, found.guests, found.first), (2048, 0, 1))
        found = fit_options("a.ini", "--beside", "t.csv")
        self.assertEqual((found.rows, found.scheme), ("all", "baseline"))


class FiguresForPrograms(Scratch):
    """--json of --check and --beside."""

    FIGURES = (
        figures.Figure("steady", "rate", 100.0, 104.0),
        figures.Figure("steady", "reads p50", 0.0, 5.0),
    )

    def fit(self, *words: str) -> None:
        """With these as all that is compared."""
        table = self.folder / "table.csv"
        table.write_text(",".join(cited.COLUMNS) + "\na,held,read,4k,1,1,,1,4,,7,,\n")
        probe = self.folder / "probe.json"
        probe_file.Probe({"bytes": 32 * MIB}, 32 * MIB, 1).write(probe)
        with (
            mock.patch.object(fitting, "ensure_replay", lambda: Path("/bin/false")),
            mock.patch.object(on_replayer.Replayed, "logical_bytes", lambda _: 32 * MIB),
            mock.patch.object(on_replayer, "probe", lambda *_, **__: probe_file.load(probe)),
            mock.patch.object(figures, "compare", lambda *_: list(self.FIGURES)),
            mock.patch.object(cited.Runner, "run", lambda *_: cited.Seen()),
            mock.patch.object(cited, "compare", lambda *_: list(self.FIGURES)),
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(io.StringIO()),
        ):
            run_fit(*words)

    def test_of_a_probe_in_place_of_a_description_are_none(self) -> None:
        probe = self.folder / "probe.json"
        probe.write_text("{}")
        with self.assertRaisesRegex(UserError, "probe.json: is JSON; --check takes a description"):
            self.fit(str(probe), "--check", str(probe))

    def test_are_written(self) -> None:
        drive, out = str(self.folder / "drive.ini"), self.folder / "figures.json"
        Path(drive).touch()
        for way, other in (("--check", "probe.json"), ("--beside", "table.csv")):
            out.unlink(missing_ok=True)
            # Twice: what it wrote itself it writes anew.
            for _ in range(2):
                self.fit(drive, way, str(self.folder / other), "--json", str(out))
            found = json.loads(out.read_text(), parse_constant=self.fail)
            self.assertEqual(found["schema"], "scarp-compared-1")
            one, other_one = found["figures"]
            self.assertEqual((one["step"], one["drive"], one["model"]), ("steady", 100, 104))
            self.assertAlmostEqual(one["difference"], 0.04)
            self.assertEqual(self.FIGURES[1].difference, math.inf)
            self.assertIsNone(other_one["difference"])
            self.assertEqual((one["bound"], one["held"]), (self.FIGURES[0].bound, True))

    def test_replace_no_other_file(self) -> None:
        mine, probe = self.folder / "mine.json", self.folder / "probe.json"
        mine.write_text('{"mine": 1}')
        for way in ("--check", "--beside"):
            for out, said in (
                (mine, "exists, and is not of this command"),
                (probe, "is another file of this command"),
                (self.folder / "no" / "x.json", "is no folder"),
            ):
                self.refused(f"^--json: .*{said}", "no.ini", way, str(probe), "--json", str(out))
        self.assertEqual(mine.read_text(), '{"mine": 1}')


class NowhereToWrite(Scratch):
    """A folder that may not be written, a full disk: one line, and no half of a file."""

    def setUp(self) -> None:
        super().setUp()
        self.probe = self.folder / "probe.json"
        probe_file.Probe({"bytes": 32 * MIB}, 32 * MIB, 1).write(self.probe)

    def test_is_said_before_the_work(self) -> None:
        # Not even root can write there.
        for words in (
            ["-o", "/proc/self/x.ini"],
            ["-o", str(self.folder / "x.ini"), "--json", "/proc/self/x.json"],
        ):
            self.refused("^--.*: '/proc/self' cannot be written to: ", self.probe, *words)
        names = sorted(path.name for path in self.folder.iterdir())
        self.assertEqual(names, ["probe.json"])

    def test_a_full_disk_leaves_what_was_there(self) -> None:
        out, keys = self.folder / "x.ini", self.folder / "x.json"
        found = model.Model()
        for i in range(500):
            found.set(f"geometry.key{i}", i, model.READ)
        done = fit.Fit(found, probe_file.Probe({}, 0, 0))
        for path, begins in ((out, outputs.FITTED), (keys, outputs.FIT)):
            path.write_text(begins)
        for room, left in ((1000, out), (10_000, keys)):
            before = left.read_text()
            with (
                mock.patch.object(fit, "fit", lambda *_: done),
                mock.patch.object(fitting, "ensure_replay", lambda: Path("/bin/false")),
                contextlib.redirect_stdout(io.StringIO()),
                self.room(room),
            ):
                self.refused(
                    f"^--.* {left}: File too large$", self.probe, "-o", out, "--json", keys
                )
            self.assertEqual(left.read_text(), before)

    @contextlib.contextmanager
    def room(self, size: int) -> Iterator[None]:
        """No file may be larger."""
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)


class AnInterruptedOne(Scratch):
    """`scarp fit` goes on where SciPy is, as the same process."""

    def test_is_the_same_process(self) -> None:
        """Whoever waits for it, or interrupts it, has to do with no other."""
        with (
            mock.patch.object(venv, "ensure_venv", lambda _: Path("/elsewhere/bin/python")),
            mock.patch.object(os, "execv", side_effect=KeyboardInterrupt) as became,
            mock.patch("scarplib.own_drive.probe_file.load"),
            contextlib.redirect_stderr(io.StringIO()),
        ):
            self.assertEqual(cli.main(["--unlocked", "fit", "p.json", "--seed", "3"]), 130)
        python, words = became.call_args[0]
        self.assertEqual(python, Path("/elsewhere/bin/python"))
        self.assertEqual(words[3:], ["fit", "p.json", "--seed", "3"])

    def test_is_there_already(self) -> None:
        here = Path(sys.prefix) / "bin" / "python"
        with (
            mock.patch.object(venv, "ensure_venv", lambda _: here),
            mock.patch.object(os, "execv", self.fail),
        ):
            venv.go_on_with(venv.FIT_PACKAGES, ["fit"])

    def test_says_that_the_same_command_goes_on(self) -> None:
        out = self.folder / "x.ini"

        def begun(*_: object) -> None:
            out.with_suffix(".tried.jsonl").write_text("{}\n")
            raise KeyboardInterrupt

        said = io.StringIO()
        with (
            mock.patch.object(fit, "fit", begun),
            mock.patch.object(fitting, "ensure_replay", lambda: Path("/bin/false")),
            contextlib.redirect_stderr(said),
            self.assertRaises(KeyboardInterrupt),
        ):
            probe = self.folder / "probe.json"
            probe_file.Probe({"bytes": 32 * MIB}, 32 * MIB, 1).write(probe)
            run_fit(str(probe), "-o", str(out))
        self.assertRegex(said.getvalue(), r"x\.tried\.jsonl: .*the same command goes on with it")
