# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp compare --paper`: the page and its pictures, from runs that are only pretended."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import re
import shutil
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(Path(__file__).parent)]

import synthetic  # noqa: E402
from scarplib import cli  # noqa: E402
from scarplib.errors import UserError  # noqa: E402
from scarplib.guest.job import check_job_file  # noqa: E402
from scarplib.results import summary  # noqa: E402
from scarplib.results.fio_figures import share_later  # noqa: E402
from scarplib.runs import compare_papers, run  # noqa: E402
from scarplib.runs import folder as folders  # noqa: E402

MADE = {
    "qemu": {"version": "10.0.x"},
    "guest": {"kernel_package": "linux-image 6.12", "fio_version": "3.39"},
}


class Pairs(unittest.TestCase):
    def test_what_they_name_is_there(self) -> None:
        keys = [pairs.key for pairs in compare_papers.PAIRS]
        self.assertEqual(len(keys), len(set(keys)))
        papers = {pairs.paper for pairs in compare_papers.PAIRS}
        self.assertEqual(papers, {"hpdc18", "paragc", "pregc", "hios"})
        for pairs in compare_papers.PAIRS:
            self.assertTrue((ROOT / "devices" / pairs.device).is_file(), pairs.device)
            check_job_file(ROOT / "fio-jobs" / pairs.job)
            self.assertEqual((pairs.schemes[0], pairs.schemes[-1]), ("baseline", "ideal"))
            self.assertLessEqual(set(pairs.order), set(pairs.schemes))


class Page(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)
        self.ran: list[run.Settings] = []
        self.failing: set[str] = set()
        for module, name, value in (
            (run, "compare", self.compare),
            (folders, "draw", lambda folder: (folder / "tail-read.png").write_bytes(b"PNG")),
        ):
            patcher = mock.patch.object(module, name, value)
            patcher.start()
            self.addCleanup(patcher.stop)

    def compare(self, settings: run.Settings) -> run.Outcome:
        self.ran.append(settings)
        schemes, failures = {}, {}
        folder = self.folder / settings.kind
        for name in settings.schemes:
            if name in self.failing:
                failures[name] = f"guest '{name}': panic"
                continue
            synthetic.write_scheme(folder / name, name, count=1500, gc=name != "ideal")
            schemes[name] = summary.load_scheme(folder / name, name).summary
        return run.Outcome(folder, schemes, failures, False, MADE)

    def papers(self, wanted: str) -> str:
        with contextlib.redirect_stdout(io.StringIO()):
            compare_papers.papers(wanted, 1, self.folder / "results")
        return (self.folder / "results" / compare_papers.PAGE).read_text()

    def test_all(self) -> None:
        text = self.papers("all")
        titles = re.findall(r"^## (.*)", text, re.MULTILINE)
        self.assertEqual(titles, [pairs.title for pairs in compare_papers.PAIRS])
        for picture in re.findall(r"\]\((.*?\.png)\)", text):
            self.assertTrue((self.folder / "results" / picture).is_file(), picture)
        rows = re.findall(r"^\| `(\S+)` \|", text, re.MULTILINE)
        self.assertEqual(rows, [name for pairs in compare_papers.PAIRS for name in pairs.schemes])
        for row in re.findall(r"^\|.*", text, re.MULTILINE):
            self.assertEqual(row.count("|"), 11, row)
        self.assertRegex(text, r"`baseline` .* % die: GC program")
        # They only pretend to be different.
        self.assertIn("`gc-vic` took the same course as `baseline`", text)
        self.assertNotIn("`ideal` took the same course", text)

    def test_same_results_same_text(self) -> None:
        first = self.papers("all")
        self.assertEqual(first, self.papers("all"))

    def test_a_section_is_replaced_in_its_place(self) -> None:
        whole = self.papers("all")
        page = self.folder / "results" / compare_papers.PAGE
        page.write_text(whole.replace("1.000", "9.999").replace(" % full", " % FULL"))
        text = self.papers("paragc")
        self.assertEqual(len(self.ran), len(compare_papers.PAIRS) + 1)
        parts = re.split(r"^(?=## )", text, flags=re.MULTILINE)
        originals = re.split(r"^(?=## )", whole, flags=re.MULTILINE)
        self.assertEqual(len(parts), len(originals))
        self.assertEqual(
            [" % full" in part for part in parts[1:]], [False, True, False, False, False]
        )
        self.assertEqual(parts[2], originals[2])

    def test_a_failed_guest_keeps_the_section_and_the_others_go_on(self) -> None:
        before = self.papers("all")
        shutil.rmtree(self.folder / "compare-paragc")
        self.failing = {"paragc"}
        self.ran.clear()
        with self.assertRaisesRegex(UserError, "guest 'paragc': panic"):
            self.papers("all")
        self.assertEqual(len(self.ran), len(compare_papers.PAIRS))
        self.assertEqual((self.folder / "results" / compare_papers.PAGE).read_text(), before)

    def test_settings(self) -> None:
        self.papers("pregc")
        self.assertEqual({settings.age for settings in self.ran}, {525})
        jobs = {settings.job for settings in self.ran}
        self.assertEqual({job.name for job in jobs if job}, {"bursty.fio"})
        self.assertIn("pregc+gftl", self.ran[0].schemes)

    def test_share_beyond_a_target(self) -> None:
        text = self.papers("hios")
        said = re.findall(r"^Longer than 30.0 ms, by fio's histogram: (.*)", text, re.MULTILINE)
        self.assertEqual(len(said), 1)
        names = re.findall(r"`(\S+)` \d+\.\d\d % of reads, \d+\.\d\d % of writes", said[0])
        self.assertEqual(tuple(names), compare_papers.PAIRS[-1].schemes)
        bins = {"29000000": 6, "30000000": 1, "30000001": 2, "90000000": 1}
        part = {"total_ios": 10, "lat_ns": {"bins": bins}}
        fio = synthetic.fio_run({"read": part}, {"read": part})
        self.assertEqual(share_later(fio, "read", 30_000_000), 0.3)
        self.assertIsNone(share_later(fio, "write", 30_000_000))

    def test_paper_unknown(self) -> None:
        err = io.StringIO()
        with contextlib.redirect_stderr(err):
            status = cli.main(["compare", "--paper", "safs"])
        self.assertEqual((status, len(err.getvalue().splitlines())), (1, 1))
        self.assertIn("--paper", err.getvalue())

    def test_no_writes(self) -> None:
        """A job of one direction has no figures of the other."""
        folder = self.folder / "one"
        synthetic.write_scheme(folder / "baseline", "baseline", count=800)
        scheme = summary.load_scheme(folder / "baseline", "baseline").summary
        scheme["fio"]["write"] = None
        pairs = dataclasses.replace(compare_papers.PAIRS[0], schemes=("baseline",))
        text = compare_papers.section(pairs, {"baseline": scheme}, MADE)
        self.assertIn(", –", text)

    def test_the_papers_order(self) -> None:
        pairs = dataclasses.replace(compare_papers.PAIRS[1], order=("paragc", "gc-z", "baseline"))
        schemes = {
            name: {"fio": {"read": {"mean_ns": mean, "p99_ns": p99, "p99.9_ns": 7}}}
            for name, mean, p99 in (("baseline", 30, 3), ("gc-z", 20, 1), ("paragc", 10, 2))
        }
        text = compare_papers.order_text(pairs, schemes)
        self.assertIn("best first: `paragc`, `gc-z`, `baseline`.", text)
        self.assertIn(
            "mean: the same; p99: **`gc-z`, `paragc`, `baseline`**; p99.9: the same", text
        )


if __name__ == "__main__":
    unittest.main()
