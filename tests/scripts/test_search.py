# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp search`: goals, the walk among schemes, and that it goes on where it was interrupted."""

from __future__ import annotations

import contextlib
import io
import json
import signal
import subprocess
import sys
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts")]

from scarplib import cli, scheme_text  # noqa: E402
from scarplib.drive import choices  # noqa: E402
from scarplib.drive.choices import Parameter, Scheme  # noqa: E402
from scarplib.errors import UserError  # noqa: E402
from scarplib.search import goal, search  # noqa: E402
from scarplib.search.walk import Walk, joined, moved  # noqa: E402


def parameter(name: str, default: int, low: int = 0, high: int = 1 << 20) -> Parameter:
    return Parameter(name, default, low, high, "units", "")


SCHEMES = {
    each.name: each
    for each in (
        Scheme("baseline", "", ""),
        Scheme("ideal", "pacing", ""),
        Scheme("soft", "pacing", "", parameters=[parameter("floor", 2)]),
        Scheme("hard", "pacing", ""),
        Scheme("picks", "victim", "", parameters=[parameter("d", 10, 1, 1024)]),
        Scheme("needs-parity", "victim", ""),
        Scheme("both", "", "", chooses={"victim": "picks", "merging": "row"}),
        Scheme("row", "merging", ""),
    )
}


def planted(scheme: str) -> float | None:
    """Best is picks+soft with d=80 and floor=1, where picks by itself is worse than baseline."""
    if scheme in ("needs-parity", "row"):
        return None
    chosen = scheme_text.split(scheme)
    value, given = 100.0, dict(chosen.parameters)
    parts = chosen.name.split("+")
    if "soft" in parts:
        value -= 20 - 3 * abs(int(given.get("floor", 2)) - 1)
    if "picks" in parts:
        value += abs(int(given.get("d", 10)) - 80) - 40
    value += 5 * ("hard" in parts) + 9 * ("both" in parts) - 99 * ("ideal" in parts)
    return value


class Goals(unittest.TestCase):
    COLUMN: ClassVar[dict[str, Any]] = {
        "write_amplification": 2.5,
        "fio": {
            "read": {"p99.9_ns": 5000, "mean_ns": 70.5, "iops": 30.0},
            "sync": {"max_ns": 9},
            "write": None,
        },
        "device": {"read": {"p99.9_ns": 1}},
    }

    def test_what_it_is_of_a_column(self) -> None:
        for text, value, said in (
            ("p99.9 of reads", 5000.0, "5.00 µs"),
            ("mean of the reads", 70.5, "0.07 µs"),
            ("max of fsyncs", 9.0, "0.01 µs"),
            ("p50 of writes", None, "–"),
            ("Write Amplification", 2.5, "2.500"),
            ("iops", -30.0, "30"),
        ):
            wanted = goal.parse(text)
            self.assertEqual(wanted.value(self.COLUMN), value, text)
            self.assertEqual(wanted.said(value), said, text)

    def test_refused_in_a_line(self) -> None:
        for text in ("", "p98 of reads", "p99.9 of trims", "p99.9", "reads"):
            with self.assertRaisesRegex(UserError, r"^--goal: .*p99\.9.* of reads, writes, fsync"):
                goal.parse(text)


class Walks(unittest.TestCase):
    def walked(self, tries: int = 200, first: tuple[str, ...] = ()) -> tuple[Walk, list[str]]:
        asked: list[str] = []

        def ask(scheme: str) -> float | None:
            asked.append(scheme)
            return planted(scheme)

        walk = Walk(ask, SCHEMES, tries)
        walk.run(list(first))
        return walk, asked

    def test_a_planted_best_is_found(self) -> None:
        walk, asked = self.walked()
        self.assertEqual(walk.ranked()[0], ("picks+soft:d=80:floor=1", 40.0))
        # No scheme is asked twice, and the bound not at all.
        self.assertEqual(len(asked), len(set(asked)))
        self.assertNotIn("ideal", "".join(asked))
        # The drive refuses these, and they are joined with nothing.
        for name in ("needs-parity", "row"):
            self.assertEqual([x for x in asked if name in x], [name])

    def test_as_many_as_are_allowed(self) -> None:
        walk, asked = self.walked(tries=5)
        self.assertEqual((len(asked), len(walk.found), asked[0]), (5, 5, "baseline"))

    def test_those_that_are_named(self) -> None:
        _, asked = self.walked(first=("hard", "soft:floor=4"))
        self.assertEqual(asked[:3], ["baseline", "hard", "soft:floor=4"])
        self.assertFalse([x for x in asked if "picks" in x])

    def test_moves(self) -> None:
        self.assertEqual(moved("a:d=10", parameter("d", 10, 1, 15)), ["a:d=2", "a:d=5", "a:d=15"])
        self.assertEqual(
            moved("a:e=1", parameter("d", 0)), ["a:e=1:d=1", "a:e=1:d=8", "a:e=1:d=64"]
        )
        # The default is not said.
        self.assertEqual(moved("a:d=1", parameter("d", 0, 0, 1)), ["a"])
        self.assertEqual(joined("a:x=1", "b:y=2"), "a+b:x=1:y=2")


class Command(unittest.TestCase):
    """On the real replayer, with a drive of some MiB."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = Path(folder.name) / "out"
        # Whoever runs the suite in the background has SIGINT ignored.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)

    def scarp(self, *words: str, wanted: str = "write amplification") -> tuple[int, str, str]:
        out, err = io.StringIO(), io.StringIO()
        keys = "geometry.blocks_per_plane=48,geometry.pages_per_block=16"
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = cli.run(
                ["search", "--goal", wanted, "-d", "demo", "--set", keys, "--tries", "14",
                 "--schemes", "fifo,d-choices,pgc", "--out", str(self.out), *words,
                 "-m", "closed", "-q", "8", "gen:uniform,requests=2000"]
            )  # fmt: skip
        return status, out.getvalue(), err.getvalue()

    def wanted(self) -> search.Wanted:
        return search.Wanted(
            goal=goal.parse("p99 of reads"), device=ROOT / "devices" / "demo.ini", overrides=(),
            age=900, seed=1, first=(), tries=2, best=1, guest="",
            rest=("-m", "closed", "gen:uniform,requests=9"), out=self.out,
        )  # fmt: skip

    def ranking(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads((self.out / search.RESULT).read_text())["ranking"]
        return found

    def test_a_replayer_that_dies_is_no_interruption(self) -> None:
        ended = mock.Mock(returncode=-signal.SIGSEGV, stderr="", stdout="")
        with (
            mock.patch.object(search, "begin", lambda wanted, _: wanted.out.mkdir()),
            mock.patch.object(subprocess, "run", return_value=ended),
            mock.patch.object(choices, "listed", return_value=([], [])),
            mock.patch.object(choices, "schemes", return_value=()),
            self.assertRaisesRegex(UserError, "'baseline': the replayer was ended by a signal"),
        ):
            search.main(self.wanted())

    def test_a_folder_that_cannot_be_made(self) -> None:
        refused = PermissionError(13, "Permission denied", str(self.out))
        with (
            mock.patch.object(search, "key_of", return_value=""),
            mock.patch.object(Path, "mkdir", side_effect=refused),
            self.assertRaisesRegex(UserError, f"^--out: {self.out}: Permission denied$"),
        ):
            search.begin(self.wanted(), Path("none"))

    def test_each_search_has_its_folder_unless_one_is_named(self) -> None:
        places: list[Path] = []

        def begin(wanted: search.Wanted, _: Path) -> None:
            places.append(wanted.out)
            raise UserError("enough")

        first = self.wanted()
        for wanted in (first, replace(first, named=False), replace(first, named=False, age=7)):
            with (
                mock.patch.object(search, "begin", begin),
                self.assertRaisesRegex(UserError, "enough"),
            ):
                search.main(wanted)
        self.assertEqual(places[0], self.out)
        self.assertEqual([path.parent for path in places[1:]], [self.out] * 2)
        self.assertNotEqual(places[1], places[2])

    def test_the_same_after_an_interruption(self) -> None:
        status, said, _ = self.scarp()
        self.assertEqual(status, 0)
        self.assertIn("Best by write amplification: ", said)
        whole, tried = self.ranking(), (self.out / search.TRIED).read_text()
        self.assertEqual([row["rank"] for row in whole], list(range(1, len(whole) + 1)))
        # Greedy takes the fewest valid units: no other choice of d is better than many choices.
        self.assertLess(whole[0]["replayer"], whole[-1]["replayer"])
        for path in self.out.iterdir():
            path.unlink()
        replay, count = search.Replays.replay, 0

        def interrupted(self: search.Replays, scheme: str) -> dict[str, Any]:
            nonlocal count
            count += 1
            if count == 5:
                raise KeyboardInterrupt
            return replay(self, scheme)

        with mock.patch.object(search.Replays, "replay", interrupted):
            status, _, err = self.scarp()
        self.assertEqual(status, 130)
        self.assertIn("interrupted; 4 schemes are kept, and the same command goes on", err)
        self.assertFalse((self.out / search.RESULT).exists())
        # A line that was being written is none.
        with (self.out / search.TRIED).open("a") as stream:
            stream.write('{"scheme": "pg')
        status, said, _ = self.scarp()
        self.assertIn(f"{len(whole) - 4} replayed now, {len(whole)} in all", said)
        self.assertEqual((status, self.ranking()), (0, whole))
        self.assertEqual((self.out / search.TRIED).read_text(), tried)

    def test_the_guest_decides_and_runs_once(self) -> None:
        ran: list[list[str]] = []

        def compare(words: list[str], check: bool) -> mock.Mock:
            ran.append(words)
            folder = Path(words[words.index("--out") + 1])
            folder.mkdir()
            names = words[words.index("--schemes") + 1].split(",")
            # The replayer's last is the guest's best.
            columns = {n: {"write_amplification": 9.0 - i} for i, n in enumerate(names)}
            (folder / "summary.json").write_text(json.dumps({"schemes": columns}))
            return mock.Mock(returncode=0)

        real = subprocess.run

        def run(words: list[str], **more: Any) -> Any:
            return compare(words, **more) if "compare" in words else real(words, **more)

        with mock.patch.object(subprocess, "run", run):
            for _ in range(2):
                status, said, _ = self.scarp("--best", "2", "--guest", "--job short")
                self.assertEqual(status, 0)
        self.assertEqual(len(ran), 1)
        chosen = ran[0][ran[0].index("--schemes") + 1].split(",")
        self.assertEqual(len(set(chosen)), 3)
        self.assertIn("baseline", chosen)
        self.assertEqual(ran[0][-4:-2], ["--job", "short"])
        self.assertEqual([row["scheme"] for row in self.ranking()[:3]], chosen[::-1])
        self.assertIn(f"Best by write amplification: {chosen[-1]}, 7.000, ", said)

    def test_refused_in_a_line(self) -> None:
        for words, said in (
            (("--json", "x"), "--json: the search says that"),
            (("--guest", "--age 5000"), "--age"),
            (("--schemes", "nothing-such"), "'nothing-such' is no scheme"),
        ):
            with self.assertRaisesRegex(UserError, said):
                self.scarp(*words)
        with self.assertRaisesRegex(UserError, "there is no p99 of fsync to be seen"):
            self.scarp(wanted="p99 of fsync")
        # The folder is of the other goal now.
        with self.assertRaisesRegex(UserError, "is of another search"):
            self.scarp()


if __name__ == "__main__":
    unittest.main()
