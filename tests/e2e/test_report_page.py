# SPDX-License-Identifier: GPL-2.0-or-later
"""The report's interactive part: how it is reduced and packed, and how it behaves in a browser."""

from __future__ import annotations

import base64
import sys
import tempfile
import unittest
import zlib
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(Path(__file__).parent), str(ROOT / "tests" / "scripts")]

import devtools  # noqa: E402
import many_commands  # noqa: E402
import numpy as np  # noqa: E402
from scarplib.build.browser import ensure_browser  # noqa: E402
from scarplib.device_logs.command_log import CAUSES  # noqa: E402
from scarplib.results import report, summary  # noqa: E402
from scarplib.results.interactive import bins, columns, instants, section, served  # noqa: E402
from scarplib.results.percentiles import percentile  # noqa: E402

COMMANDS = {"baseline": 800_000, "ideal": 200_000}
LARGEST_PAGE = 30_000_000


class Packed(unittest.TestCase):
    def unpacked(self, text: str, place: list[Any]) -> list[int]:
        """As data.js does it."""
        code, rising, length, offset = place
        data = zlib.decompress(base64.b64decode(text))
        size = np.dtype(code).itemsize
        planes = np.frombuffer(data, np.uint8, length * size, offset).reshape(size, length)
        values = np.ascontiguousarray(planes.T).view(f"<{code}").reshape(-1)
        return [int(x) for x in (np.cumsum(values) if rising else values)]

    def test_every_width(self) -> None:
        pack = columns.Packer()
        wanted = [[0, 255], [256, 0, 65535], [65536, 2**32 - 1], [2**32, 2**53 - 1, 7], []]
        places = [pack.add(np.array(values, np.int64)) for values in wanted]
        rising = pack.add(np.array([10, 10, 2**40, 2**40 + 3]), rising=True)
        text = pack.text()
        self.assertEqual([place[0] for place in places], ["u1", "u2", "u4", "f8", "u1"])
        self.assertEqual([self.unpacked(text, place) for place in places], wanted)
        self.assertEqual(self.unpacked(text, rising), [10, 10, 2**40, 2**40 + 3])
        for bad in ([-1], [2**53]):
            with self.assertRaisesRegex(ValueError, "allowed are 0 to"):
                pack.add(np.array(bad))


class Reduced(unittest.TestCase):
    def test_bins_are_nearest_rank(self) -> None:
        rng = np.random.default_rng(3)
        times, latencies = np.sort(rng.integers(0, 10_000, 3000)), rng.integers(1, 10**6, 3000)
        made = bins.bins(times, latencies, 16, 10_000)
        self.assertEqual(int(made.count.sum()), 3000)
        for i, number in enumerate(made.number):
            mine = sorted(int(x) for x in latencies[times // made.width_ns == number])
            found = [int(x[i]) for x in (made.lowest, made.p50, made.p99, made.highest)]
            ranks = [percentile(mine, "50"), percentile(mine, "99")]
            self.assertEqual(found, [mine[0], *ranks, mine[-1]])
        empty = bins.bins(times[:0], latencies[:0], 16, 10_000)
        self.assertEqual(len(empty.number), 0)

    def test_what_is_kept(self) -> None:
        rng = np.random.default_rng(4)
        ops, latencies = rng.integers(0, 2, 10_000), rng.integers(1, 10**9, 10_000)
        self.assertEqual(len(bins.kept(ops, latencies, 10_000)), 10_000)
        chosen = bins.kept(ops, latencies, 1000)
        self.assertTrue(900 <= len(chosen) <= 1000, len(chosen))
        self.assertEqual(len(set(chosen.tolist())), len(chosen))
        for op in (0, 1):
            mine = np.flatnonzero(ops == op)
            slowest = mine[np.argsort(-latencies[mine])][: int(0.7 * 1000 * len(mine) / 10_000)]
            self.assertLessEqual(set(slowest.tolist()), set(chosen.tolist()))
            # And some of the fast ones.
            fast = latencies[chosen[ops[chosen] == op]] < np.median(latencies[mine])
            self.assertGreater(int(fast.sum()), 50)


class Strips(unittest.TestCase):
    def test_columns(self) -> None:
        """Each column has what took most of its time; idle ones have nothing."""
        n = instants.COLUMNS
        span = n * 1000
        found = instants.strip(
            [[0, 10_000, "gc_read"], [10_000, 600, "erase"], [10_600, 400, "host_read"],
             [20_000, 300, "gc_read"], [span - 1500, 9_000, "gc_program"]],
            span,
        )  # fmt: skip
        gc_read, erase, program = (
            instants.WORKS.index(x) for x in ("gc_read", "erase", "gc_program")
        )
        self.assertEqual(found, [[0, 10, gc_read], [10, 11, erase], [n - 2, n, program]])

    def test_lines_of_a_run(self) -> None:
        folder = ROOT / "out" / "some"
        result = {
            "again": [["image", "run:drive.img"], ["job", "scarp:fio-jobs/demo.fio"],
                      ["cpu-shift", "-1"]],
            "schemes": {"baseline": {}, "pgc": {}}, "columns": {"pgc": "baseline"},
            "forks": {"pgc": {"stem": "baseline", "scheme": "pgc", "at_ns": 5}},
        }  # fmt: skip
        self.assertEqual(
            instants.compare_words(result, folder),
            "scripts/scarp compare --image out/some/drive.img --job fio-jobs/demo.fio "
            "--cpu-shift=-1",
        )
        self.assertEqual(instants.schemes_of(result, "baseline"), ["baseline", "pgc"])
        self.assertEqual(instants.schemes_of(result, "pgc"), [])
        self.assertIsNone(instants.compare_words({"schemes": {}}, folder))


class InBrowser(unittest.TestCase):
    """A page of a million commands; what cannot be had, such as the browser, fails."""

    folder: ClassVar[Path]
    file: ClassVar[Path]
    schemes: ClassVar[list[summary.SchemeData]]
    page: ClassVar[devtools.Page]

    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cls.schemes = []
        for name, count in COMMANDS.items():
            many_commands.write(cls.folder / name, name, count, slow=name == "baseline")
            cls.schemes.append(summary.load_scheme(cls.folder / name, name))
        where = {data.name: served.find(data, None) for data in cls.schemes}
        known = dict.fromkeys(COMMANDS, True)
        result = {
            "schemes": {data.name: data.summary for data in cls.schemes},
            "job": "many.fio",
            "device": "none.ini",
        }
        asked = {"baseline": section.Repeatable(cls.answer(), ("baseline", "pgc"))}
        interactive = partial(
            section.section,
            cls.schemes,
            where,
            known,
            repeatable=asked,
            again="scripts/scarp compare --image d.img --job short.fio",
        )
        html = report.page(result, [(section.HEADING, "", b"")], interactive)
        cls.file = cls.folder / "report.html"
        cls.file.write_text(html)
        cls.page = devtools.Page(ensure_browser(), cls.folder)
        cls.addClassCleanup(cls.page.close)
        cls.page.open(cls.file)
        cls.page.wait("!!window.scarpReport")
        cls.page.value("document.getElementById('scarp').scrollIntoView()")

    @classmethod
    def answer(cls) -> dict[str, Any]:
        """What scarp-why might say of the slowest command, its die's work in the fact and under
        one scheme."""
        commands = cls.schemes[0].commands
        i = max(range(len(commands)), key=lambda i: commands.complete[i] - commands.submit[i])
        at_ns, end_ns = commands.submit[i] - 1001, commands.complete[i]

        def side(latency: int, exact: bool, slices: list[list[Any]]) -> dict[str, Any]:
            return {
                "commands": [{"latency_ns": latency, "waited_ns": 5000, "exact": exact}],
                "window": {"fact_ns": 10**9, "branch_ns": 10**9 - 7_000_000, "waited_ns": 9000},
                "strip": {"die": 3, "until_ns": end_ns, "slices": slices},
            }

        half = (end_ns - at_ns) // 2
        fact = side(end_ns - commands.submit[i], True, [[0, half, "gc_program"]])
        branch = side(123_000, False, [[0, half // 2, "host_read"], [half, half, "erase"]])
        return {
            "episodes": [
                {
                    "at_ns": at_ns,
                    "until_ns": at_ns + 10**8,
                    "commands": [{"order": commands.order[i]}],
                    "control": fact,
                    "branches": [{"kind": "under", "text": "pgc", "verdict": "moved", **branch}],
                }
            ]
        }

    def tearDown(self) -> None:
        self.assertEqual(self.page.complaints, [])

    def test_complaints_are_noticed(self) -> None:
        """Every test here ends with none: errors in the console, and what nobody catches."""
        for script, words in (
            ("console.error('so much')", "so much"),
            ("console.assert(false, 'not so')", "not so"),
            ("setTimeout(() => { throw new Error('too late') }, 0)", "too late"),
            ("void Promise.reject(new Error('broken'))", "broken"),
            ("document.body.append(Object.assign(new Image(), {src: 'none.png'}))", "none.png"),
        ):
            with self.subTest(words), self.assertRaisesRegex(RuntimeError, words):
                self.page.value(f"(() => {{ {script} }})()")
                self.page.wait("false")
            self.page.complaints.clear()

    def text(self, element: str) -> str:
        return str(self.page.value(f"document.getElementById('scarp-{element}').innerText"))

    def settle(self) -> None:
        """Until a change of the view has been drawn."""
        self.page.value("scarpReport.plot.update()")
        self.page.value("new Promise(done => requestAnimationFrame(() => setTimeout(done, 50)))")

    def place(self, chosen: str) -> tuple[float, float]:
        """Where a drawn point is in the window; `chosen`: which, as a script's condition."""
        found = self.page.value(f"""(() => {{
            const plot = scarpReport.plot;
            const point = plot.points.find((p) => {{
                const scheme = plot.data.schemes[p.row];
                const [px, py] = plot.pixel(p);
                const nearest = plot.nearest(px, py);
                return ({chosen}) && nearest === p; }});
            const corner = plot.view.el.getBoundingClientRect();
            const [x, y] = plot.pixel(point);
            return [corner.left + x, corner.top + y]; }})()""")
        return found[0], found[1]

    def view(self, start: float, end: float) -> None:
        self.page.value(f"scarpReport.plot.look({start}, {end})")
        self.settle()

    def test_size(self) -> None:
        self.assertLess(self.file.stat().st_size, LARGEST_PAGE)
        for begins in ("http://", "https://"):
            # The library's own text names addresses, but is packed: nothing else may.
            self.assertNotIn(f'src="{begins}', self.file.read_text())

    def test_zoomed_out(self) -> None:
        self.view(0, self.page.value("scarpReport.plot.span"))
        status = self.text("status")
        self.assertRegex(status, r"kept one by one: [\d,]+ of 1,000,000")
        counted = self.page.value("""scarpReport.data.schemes.map((s) =>
            Object.values(s.levels).flatMap(([level]) => [...level.count])
                .reduce((sum, n) => sum + n, 0))""")
        self.assertEqual(counted, list(COMMANDS.values()))
        # Every slow command is a point, and the columns go up to the slowest.
        slow = self.page.value("scarpReport.plot.points.filter((p) => p.y > 4e7).length")
        self.assertEqual(slow, len(range(500, COMMANDS["baseline"], many_commands.SLOW_EACH)))
        highest = self.page.value("Math.max(...scarpReport.plot.layers[0].bins.data.highest)")
        self.assertEqual(highest, max(self.schemes[0].commands.latencies(1)))
        # What keeps it quick: little is drawn, however much there is.
        drawn = self.page.value("""({ points: scarpReport.plot.points.length, bins:
            scarpReport.plot.layers.map((layer) => layer.bins.data.highest.length) })""")
        self.assertLessEqual(drawn["points"], 8000)
        for bins_drawn in drawn["bins"]:
            self.assertLessEqual(bins_drawn, 2 * 513)  # Reads and writes.

    def test_click(self) -> None:
        self.view(0.2, 0.4)
        x, y = self.place("p.row === 0 && p.y > 4e7")
        self.page.mouse("mouseMoved", x, y)
        self.assertIn("baseline: ", self.text("tip"))
        self.assertIn("mostly die: GC program", self.text("tip"))
        self.page.click(x, y)
        details = self.text("details")
        row = self.page.value("scarpReport.chosen.i")
        time = self.page.value(f"scarpReport.data.schemes[0].commands.time[{row}]")
        commands = self.schemes[0].commands
        i = list(commands.submit).index(int(time) + self.schemes[0].begin_ns)
        latency = commands.complete[i] - commands.submit[i]
        die = commands.order[i] % many_commands.DIES
        for wanted in (
            f"{commands.submit[i]} ns of the drive's clock",
            f"after {latency} ns",
            f"{commands.offset[i] // 512} (of 512 bytes)",
            "4096 bytes",
            f"die {die}, plane {die}, block {commands.order[i] % 64}",
            f"of block {commands.order[i] % 64} in plane {die}: 40 units moved",
            f"scripts/scarp timeline {self.folder}/baseline --around {commands.submit[i]} --for",
        ):
            self.assertIn(wanted, details)
        bar = self.page.value("""[...document.querySelectorAll('#scarp-details .causes div')]
            .map((part) => [part.dataset.cause, Number(part.dataset.ns),
                            part.getBoundingClientRect().width])""")
        named = {
            name: column[i]
            for name, column in zip(CAUSES, commands.causes, strict=True)
            if column[i]
        }
        self.assertEqual({name: ns for name, ns, _ in bar}, named)
        widest = max(bar, key=lambda part: part[2])
        self.assertEqual(widest[0], "die_gc_program")
        self.assertEqual(self.page.value("scarpReport.plot.behind.data.left.length"), 1)

    def test_zoom_and_toggles(self) -> None:
        """The wheel over the plot shows less time, and more of it; boxes hide a scheme, a kind."""
        self.view(0, 1)
        x, y = self.place("p.row === 0 && p.x > 0.4 && p.x < 0.6")
        self.page.mouse("mouseMoved", x, y)
        self.page.mouse("mouseWheel", x, y, deltaX=0, deltaY=-300)
        self.page.wait("scarpReport.plot.xRange.end - scarpReport.plot.xRange.start < 0.9")
        self.view(0.1, 0.12)
        shown = "[...new Set(scarpReport.plot.points.map((p) => p.row))].sort()"
        self.assertEqual(self.page.value(shown), [0, 1])
        box = "document.querySelectorAll('#scarp-{} input')[{}]"
        click = (
            "(() => {{ const b = {}.getBoundingClientRect(); return [b.left + 5, b.top + 5] }})()"
        )
        for place, wanted in ((("schemes", 1), [0]), (("schemes", 1), [0, 1])):
            self.page.click(*self.page.value(click.format(box.format(*place))))
            self.assertEqual(self.page.value(shown), wanted)
        self.page.click(*self.page.value(click.format(box.format("ops", 1))))
        kinds = "[...new Set(scarpReport.plot.points.map((p) => " \
                "scarpReport.data.schemes[p.row].commands.op[p.i]))]"  # fmt: skip
        self.assertEqual(self.page.value(kinds), [0])
        self.page.click(*self.page.value(click.format(box.format("ops", 1))))

    def test_slowest(self) -> None:
        self.page.value("document.getElementById('scarp-slowest').click()")
        self.settle()
        commands = self.schemes[0].commands
        slowest = max(map(int.__sub__, commands.complete, commands.submit))
        self.assertIn(f"after {slowest} ns", self.text("details"))
        self.assertLess(self.page.value("scarpReport.plot.xRange.end"), 100)
        self.assertGreater(self.page.value("scarpReport.plot.points.length"), 0)

    def test_what_it_would_have_cost(self) -> None:
        """Below the causes of one that was asked for: other schemes, and what its die did."""
        self.page.value("document.getElementById('scarp-slowest').click()")
        self.settle()
        details = self.text("details")
        for wanted in ("What it would have cost", "under pgc", "123 µs ~, held 5 µs", "moved",
                       "−7 ms", "What die 3 did"):  # fmt: skip
            self.assertIn(wanted, details)
        strips = self.page.value("""[...document.querySelectorAll('#scarp-details .strip')]
            .map((line) => [line.innerText.trim(), [...line.querySelectorAll('i')].map((part) =>
                [Number(part.dataset.work), part.getBoundingClientRect().width])])""")
        (fact, worked), (branch, others) = strips
        self.assertEqual((fact, branch), ("in fact", "under pgc"))
        self.assertEqual([work for work, _ in worked], [instants.WORKS.index("gc_program")])
        found = [work for work, _ in others]
        self.assertEqual(found, [instants.WORKS.index(x) for x in ("host_read", "erase")])
        # Half of the time, and a quarter.
        self.assertAlmostEqual(worked[0][1] / others[0][1], 2, delta=0.1)
        # It stands below the causes, and above where the command went.
        order = self.page.value("""[...document.getElementById('scarp-details').children]
            .map((part) => part.className)""")
        self.assertEqual(order[:5], ["", "causes", "legend", "why", "facts"])
        self.assertNotIn("scripts/scarp why", details)
        commands = self.schemes[0].commands
        i = max(range(len(commands)), key=lambda i: commands.complete[i] - commands.submit[i])
        # Its collection began a microsecond before it came.
        again = "scripts/scarp compare --image d.img --job short.fio --schemes baseline,pgc"
        self.assertIn(f"{again} --at {commands.submit[i] - 1001}ns", details)

    def test_others_have_lines_to_copy(self) -> None:
        self.view(0.2, 0.4)
        self.page.click(*self.place("p.row === 0 && p.y < 1e6"))
        details = self.text("details")
        row = self.page.value("scarpReport.chosen.i")
        order = self.page.value(f"scarpReport.data.schemes[0].commands.order[{row}]")
        self.assertIn(f"scripts/scarp why {self.folder}/baseline --command {order}", details)
        submit = self.page.value(f"scarpReport.data.schemes[0].commands.time[{row}]")
        moment = int(submit) + self.schemes[0].begin_ns - 1
        self.assertIn(f"--schemes baseline,pgc --at {moment}ns", details)
        # A column that cannot be repeated has none.
        found = "scarpReport.plot.points.find((p) => p.row === 1)"
        self.page.value(f"scarpReport.choose({found})")
        details = self.text("details")
        self.assertIn("of ideal", details)
        self.assertNotIn("scarp why", details)

    def test_copy(self) -> None:
        self.page.value("document.getElementById('scarp-slowest').click()")
        self.page.call("Browser.grantPermissions", permissions=["clipboardReadWrite"])
        self.page.value("document.querySelector('#scarp-details button').click()")
        self.page.wait("document.querySelector('#scarp-details button').textContent !== 'copy'")


if __name__ == "__main__":
    unittest.main()
