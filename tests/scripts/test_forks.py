# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp compare --at` without guests: which boot when, what is refused, and the picture."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(Path(__file__).parent)]

import numpy as np  # noqa: E402
import synthetic  # noqa: E402
from scarplib.device_logs import changes  # noqa: E402
from scarplib.drive.branches import Question  # noqa: E402
from scarplib.drive.switch import Switch  # noqa: E402
from scarplib.errors import UserError  # noqa: E402
from scarplib.guest.job import Job  # noqa: E402
from scarplib.guest.vm import FlashDrive, GuestResult  # noqa: E402
from scarplib.results import instant, summary  # noqa: E402
from scarplib.results.pictures import fork as picture  # noqa: E402
from scarplib.runs import forks, run  # noqa: E402
from scarplib.runs.parts import Parts  # noqa: E402


class Boots(unittest.TestCase):
    """The order of the guests, which are only pretended: each leaves the same logs."""

    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)
        self.booted: list[list[str]] = []
        self.ready: Any = None
        self.failing: set[str] = set()
        self.switches = True
        for name, value in (("_boot", self.boot), ("progress_file", lambda job: job.out / "none")):
            patcher = mock.patch.object(run, name, value)
            patcher.start()
            self.addCleanup(patcher.stop)

    def boot(self, settings: run.Settings, ready: Any, names: list[str]) -> Any:
        self.booted.append(list(names))
        results, failures = {}, {}
        for name in names:
            job = ready.jobs[name]
            if name in self.failing:
                failures[name] = f"guest '{name}': panic"
                continue
            synthetic.write_scheme(job.out, "baseline", count=500)
            if job.switch and self.switches:
                change = changes.Change(job.switch.at_ns, None, "scheme", job.switch.scheme)
                changes.write(job.out / changes.NAME, [change])
            results[name] = GuestResult("ok", None, "", 1.0, 0.5)
        return results, failures, False

    def run_forks(self, names: dict[str, str], at: str) -> Any:
        """The columns, by name with the scheme of each."""
        schemes = list(dict.fromkeys(names.values()))
        settings: Any = mock.Mock(schemes=schemes, at=at)
        jobs = {
            name: Job(fio_job=None, device=None, scheme=scheme, out=self.folder / name)
            for name, scheme in names.items()
        }
        self.ready = mock.Mock(jobs=jobs)
        made = run.Made()
        run.run_forks(settings, self.ready, Parts(), made, at)
        return made

    def test_the_stem_first_and_the_others_begin_as_it(self) -> None:
        ran = self.run_forks(
            {"baseline": "baseline", "pgc": "pgc", "ideal": "ideal"}, "start+0.001"
        )
        self.assertEqual(self.booted, [["baseline"], ["pgc", "ideal"]])
        self.assertEqual(ran.failures, {})
        at_ns = ran.schemes["baseline"]["begin_ns"] + 1_000_000
        for name in ("pgc", "ideal"):
            job = self.ready.jobs[name]
            self.assertEqual((job.scheme, job.switch), ("baseline", Switch(at_ns, name)))
            said = {"stem": "baseline", "scheme": name, "at_ns": at_ns}
            self.assertEqual(ran.forks[name].said(), said)
        self.assertIsNone(self.ready.jobs["baseline"].switch)

    def test_a_stem_for_each_file_system(self) -> None:
        names = {f"{fs}-{s}": s for fs in ("ext4", "xfs") for s in ("baseline", "gc-vic+pgc")}
        ran = self.run_forks(names, "start")
        self.assertEqual(self.booted[0], ["ext4-baseline", "xfs-baseline"])
        self.assertEqual({f.stem for f in ran.forks.values()}, set(self.booted[0]))
        self.assertEqual(ran.forks["xfs-gc-vic+pgc"].stem, "xfs-baseline")

    def test_after_the_job(self) -> None:
        with self.assertRaisesRegex(UserError, "and the job ends at"):
            self.run_forks({"baseline": "baseline", "pgc": "pgc"}, "start+9000")
        self.assertEqual(self.booted, [["baseline"]])

    def test_a_stem_that_fails(self) -> None:
        self.failing = {"baseline"}
        ran = self.run_forks({"baseline": "baseline", "pgc": "pgc"}, "start")
        self.assertEqual(self.booted, [["baseline"]])
        self.assertIn("its stem, did not finish", ran.failures["pgc"])

    def test_a_drive_that_did_not_switch(self) -> None:
        self.switches = False
        ran = self.run_forks({"baseline": "baseline", "pgc": "pgc"}, "start")
        self.assertIn("ended before", ran.failures["pgc"])
        self.assertNotIn("pgc", ran.schemes)

    def test_a_switch_of_the_guests_own_is_not_the_one(self) -> None:
        fork = forks.Fork("baseline", "pgc:pgc_floor=2", 70)
        with tempfile.TemporaryDirectory() as scratch:
            column = Path(scratch)
            for time_ns, scheme, fits in (
                (70, "pgc", True),
                (71, "pgc", False),
                (70, "gftl", False),
            ):
                changes.write(column / changes.NAME, [changes.Change(time_ns, 5, "scheme", scheme)])
                with (
                    mock.patch.object(instant, "check_equal"),
                    contextlib.nullcontext() if fits else self.assertRaises(UserError),
                ):
                    forks.check(fork, column, column)

    def test_the_device_is_told(self) -> None:
        drive = FlashDrive(Path("d.ini"), switch=Switch(7, "gftl:gftl_floor=2:x=3"))
        self.assertIn(
            "switch-at-ns=7,switch-to=gftl:gftl_floor=2;x=3", " ".join(drive.arguments(0))
        )


class Others(unittest.TestCase):
    def test_schemes_of_the_other_columns(self) -> None:
        """Each scheme once, of a forked column the one from then on, and never its own."""
        forks = {"pgc": {"stem": "baseline", "scheme": "pgc", "at_ns": 1}}
        for result, folder, wanted in (
            ({"schemes": ["baseline", "pgc"], "columns": dict.fromkeys(("baseline", "pgc"),
              "baseline"), "forks": forks}, "baseline", ["pgc"]),
            ({"schemes": ["baseline", "pgc"], "columns": dict.fromkeys(("baseline", "pgc"),
              "baseline"), "forks": forks}, "pgc", ["baseline"]),
            ({"schemes": ["ext4-baseline", "xfs-baseline", "xfs-pgc"],
              "columns": {"ext4-baseline": "baseline", "xfs-baseline": "baseline",
                          "xfs-pgc": "pgc"}}, "ext4-baseline", ["pgc"]),
        ):  # fmt: skip
            with tempfile.TemporaryDirectory() as top:
                schemes: dict[str, Any] = {name: {} for name in result["schemes"]}
                text = json.dumps({**result, "schemes": schemes})
                (Path(top) / "summary.json").write_text(text)
                question = Question(Path(top) / folder)
                self.assertEqual(question.others(), wanted)


class Picture(unittest.TestCase):
    def data(self, name: str, shift: int) -> summary.SchemeData:
        with tempfile.TemporaryDirectory() as top:
            synthetic.write_scheme(Path(top) / name, name, count=2000)
            found = summary.load_scheme(Path(top) / name, name)
        complete = np.frombuffer(found.commands.complete, np.int64).copy()
        late = complete >= self.at_ns if shift else complete < 0
        complete[late] += shift
        found.commands.complete = type(found.commands.complete)("q", complete.tobytes())
        return dataclasses.replace(found, name=name)

    def setUp(self) -> None:
        self.at_ns = 0
        stem = self.data("baseline", 0)
        self.at_ns = (stem.begin_ns + stem.end_ns) // 2
        self.stem, self.other = stem, self.data("pgc", 10_000_000)

    def test_what_is_drawn(self) -> None:
        commands = self.stem.commands
        moments = np.linspace(self.stem.begin_ns - 5, self.stem.end_ns + 5, 40).astype(np.int64)
        for moment, age in zip(moments, picture.oldest(self.stem, moments), strict=True):
            under_way = [
                int(moment) - commands.submit[i]
                for i in range(len(commands))
                if commands.submit[i] <= moment < commands.complete[i]
            ]
            self.assertEqual(age, max(under_way, default=0))
        moments = np.array([self.at_ns - 1, self.at_ns + 5 * 10**7])
        found = picture.ahead(self.other, self.stem, moments)
        self.assertEqual(found[0], 0)
        self.assertLess(found[1], 0)

    def test_one_line_until_the_instant(self) -> None:
        forks = {"pgc": {"stem": "baseline", "scheme": "pgc", "at_ns": self.at_ns}}
        figure = picture.figure_fork([self.stem, self.other], forks)
        assert figure
        at_s = (self.at_ns - self.stem.begin_ns) / 1e9
        for axes in figure.axes:
            stem, branch = axes.get_lines()[:2]
            first = [float(np.min(np.asarray(line.get_xdata()))) for line in (stem, branch)]
            self.assertLess(first[0], at_s)
            self.assertGreaterEqual(first[1], at_s)
        self.assertIsNone(picture.figure_fork([self.stem, self.other], {}))

    def test_times(self) -> None:
        for text in ("start", "start+1.5", "0ns", "start+0"):
            self.assertEqual(instant.check(text), text)
        for text in ("soon", "start+", "start-1", "5", "5 ns", "-5ns", "start+1e3", ""):
            with self.assertRaisesRegex(UserError, "is no time"):
                instant.check(text)
        with self.assertRaisesRegex(UserError, "past 18 years"):
            instant.check("9999999999999999999ns")


if __name__ == "__main__":
    unittest.main()
