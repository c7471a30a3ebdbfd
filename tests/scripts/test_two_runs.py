# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp report A B`: two finished runs beside each other."""

from __future__ import annotations

import contextlib
import io
import json
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(Path(__file__).parent)]

import synthetic  # noqa: E402
from scarplib import cli  # noqa: E402
from scarplib.errors import UserError  # noqa: E402
from scarplib.results import beside, beside_report, summary  # noqa: E402
from scarplib.runs import two_runs  # noqa: E402

MANIFEST: dict[str, Any] = {
    "scarp": "1.1.0",
    "qemu": {"engine": "e"},
    "inputs": {"device": "d", "image": "i", "job": "j"},
    "settings": {"schemes": [], "overrides": None, "handles": 0, "smp": 1, "cpu_shift": -2},
}


class TwoRuns(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)
        self.a = self.run_of("a", ("baseline", "pgc"))
        self.b = self.run_of("b", ("baseline",), gc=False)

    def run_of(self, name: str, schemes: tuple[str, ...], gc: bool = True) -> Path:
        folder = self.folder / name
        for scheme in schemes:
            synthetic.write_scheme(folder / scheme, scheme, count=300, gc=gc)
        result = {
            "schema": summary.SCHEMA,
            "job": "demo.fio",
            "device": "demo.ini",
            "start": [["seed", "1"]],
            "schemes": {x: summary.load_scheme(folder / x, x).summary for x in schemes},
            "manifest": MANIFEST,
        }
        (folder / "summary.json").write_text(json.dumps(result))
        return folder

    def change(self, folder: Path, *path: str, to: object) -> None:
        file = folder / "summary.json"
        result = part = json.loads(file.read_text())
        for key in path[:-1]:
            part = part[key]
        part[path[-1]] = to
        file.write_text(json.dumps(result))

    def report(self, *words: str) -> str:
        said = io.StringIO()

        def draw(folder: Path, _: str) -> None:
            beside_report.write_report(folder)

        with contextlib.redirect_stdout(said), mock.patch.object(two_runs, "draw", draw):
            out = self.folder / "out"
            cli.run(["report", str(self.a), str(self.b), "--out", str(out), *words])
        return said.getvalue()

    def test_side_by_side(self) -> None:
        said = self.report()
        lines = said.splitlines()
        self.assertIn("a: a guest's run, demo.fio on demo.ini, Scarp 1.1.0", lines[0])
        self.assertEqual(lines[2], "They differ in no setting.")
        # A scheme of both stands beside itself.
        self.assertRegex(lines[3], r"^ +a: baseline +b: baseline +a: pgc$")
        whole = json.loads((self.folder / "out" / "summary.json").read_text())
        for label, where in (("a: baseline", self.a), ("b: baseline", self.b)):
            own = json.loads((where / "summary.json").read_text())["schemes"]["baseline"]
            self.assertEqual(whole["schemes"][label], own)
        sides = [beside.side(self.a, "a"), beside.side(self.b, "b")]
        labels = [label for label, _ in beside.rows(sides)]
        for label in ("  p50", "  p99", "  p99.9", "  max", "  write amplification"):
            self.assertIn(label, labels)
        # What collects is slower: the cells are those of their own columns.
        maxima = dict(beside.rows(sides))["  max"]
        self.assertEqual(maxima[0], maxima[2])
        self.assertNotEqual(maxima[0], maxima[1])
        page = (self.folder / "out" / "report.html").read_text()
        self.assertIn("a beside b", page)
        self.assertIn("data:image/png", page)

    def test_what_cannot_be_compared(self) -> None:
        for path, value, facet, said in (
            (("inputs", "device"), "other", "drive", "drives are not alike"),
            (("settings", "overrides"), "gc.trigger_free_blocks=4", "drive", "drives are not"),
            (("inputs", "image"), "other", "state", "different states"),
            (("inputs", "job"), "other", "job", "jobs are not alike"),
            (("settings", "smp"), 2, "job", "jobs are not alike"),
        ):
            with self.subTest(path):
                self.b = self.run_of("b", ("baseline",))
                self.change(self.b, "manifest", *path, to=value)
                with self.assertRaisesRegex(UserError, f"^report: .*{said}.*--differ {facet} "):
                    self.report()
                self.assertFalse((self.folder / "out").exists())

    def test_the_difference_that_is_asked_for(self) -> None:
        self.change(self.b, "manifest", "inputs", to={"device": "o", "image": "o", "job": "j"})
        self.change(self.b, "device", to="tlc.ini")
        with self.assertRaisesRegex(UserError, r"not alike \(demo.ini, tlc.ini\); --differ drive"):
            self.report()
        # Another drive is in another state.
        self.assertIn("They differ in: drive.", self.report("--differ", "drive"))

    def test_another_engine_is_what_is_looked_for(self) -> None:
        self.change(self.b, "manifest", "qemu", "engine", to="f")
        self.assertIn("They differ in: engine.", self.report())

    def test_what_is_no_run(self) -> None:
        empty = self.folder / "empty"
        empty.mkdir()
        for text, said in (
            (None, "No such file"),
            ("{", "is not what scarp writes"),
            ('{"schema": "scarp-beside-1"}', "is no result of run"),
            (json.dumps({"schema": summary.SCHEMA, "manifest": 3}), "is not what scarp writes"),
        ):
            if text is not None:
                (empty / "summary.json").write_text(text)
            with self.subTest(text), self.assertRaisesRegex(UserError, f"^report: .*{said}"):
                two_runs.main([self.a, empty], [], self.folder / "out")
        with self.assertRaisesRegex(UserError, "are one run"):
            two_runs.main([self.a, self.folder / "b" / ".." / "a"], [], self.folder / "out")

    def test_a_guest_and_a_replay(self) -> None:
        self.change(self.b, "schema", to="scarp-replays-1")
        with self.assertRaisesRegex(UserError, "is a guest's run, b is a replay"):
            self.report("--differ", "drive,state,job")


if __name__ == "__main__":
    unittest.main()
