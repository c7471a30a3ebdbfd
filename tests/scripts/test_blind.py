# SPDX-License-Identifier: GPL-2.0-or-later
"""The file of the blind trial: which of its trials count, and that it stays whole."""

from __future__ import annotations

import contextlib
import io
import json
import sys
import tempfile
import unittest
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(Path(__file__).parent)]

from scarplib.build import present  # noqa: E402
from scarplib.errors import UserError  # noqa: E402
from scarplib.own_drive import bench, blind, fit, fitting, outputs  # noqa: E402
from scarplib.own_drive.plan import MIB  # noqa: E402
from typed import fit as run_fit  # noqa: E402


class Trials(unittest.TestCase):
    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.out = Path(scratch.name) / "blind.json"
        # Each trial that is done, and not taken from the file: its seed, and if in a guest.
        self.done: list[tuple[int, bool]] = []

    def trial(
        self, seed: int, _replay: Path, _search: fit.Search, _most: int, guest: bool
    ) -> blind.Trial:
        self.done.append((seed, guest))
        drawn = dict.fromkeys(blind.PROPERTIES, 1.0)
        return blind.Trial(seed, drawn, drawn, list(blind.PROPERTIES), guest=guest)

    def run_trials(
        self, seeds: Sequence[int], *, mib: int = 400, guests: int = 0, **search: Any
    ) -> list[blind.Trial]:
        with mock.patch.object(blind, "trial", self.trial):
            return blind.trials(
                list(seeds),
                Path("/bin/false"),
                fit.Search(**search),
                self.out,
                mib * MIB,
                lambda _: None,
                guests,
            )


class TheThirty(unittest.TestCase):
    """What docs/your-drive.md says of those that were run."""

    def test_the_table_is_the_files(self) -> None:
        page = (ROOT / "docs" / "your-drive.md").read_text()
        done = blind._load(ROOT / "experiments" / "drives" / "blind-ed64f772.json")  # noqa: SLF001
        self.assertEqual([one.seed for one in done], list(range(31, 61)))
        for name, guest in (("the replayer", False), ("a guest's block device", True)):
            some = [one for one in done if one.guest == guest]
            figures = [one["held"] for trial in some for one in trial.figures]
            cells = (
                name,
                len(some),
                f"**{sum(one.good for one in some)}**",
                sum(len(one.held) >= blind.ENOUGH for one in some),
                sum(len(one.held) == len(blind.PROPERTIES) for one in some),
                f"{sum(figures)} of {len(figures)}",
            )
            self.assertIn(f"| {' | '.join(map(str, cells))} |", page)
        good = [one for one in done if one.good]
        exact = [one for one in good if all(x["difference"] == 0 for x in one.figures)]
        self.assertIn(f"**{len(good)} of the thirty are good", page)
        self.assertIn(f"Of the {len(good)} that are good {len(exact)} are the drive itself", page)
        # What the drawn description itself has.
        itself = sorted(one.drawn_held or 0 for one in done if one.guest)
        self.assertIn(f"has {', '.join(map(str, itself[:-1]))} and {itself[-1]} of the 16", page)
        # Behind a kernel again.
        again = sorted(sum(x["held"] for x in one.in_guest) for one in done if one.guest)
        said = (
            f"have {', '.join(map(str, again[:-1]))} and {again[-1]} of the figures that the guest"
        )
        self.assertIn(said, page)


class WhatCounts(Trials):
    def test_the_same_is_done_once(self) -> None:
        self.run_trials([1, 2])
        found = self.run_trials([1, 2, 3])
        self.assertEqual(self.done, [(1, False), (2, False), (3, False)])
        self.assertEqual([one.seed for one in found], [1, 2, 3])
        # How many candidates are tried at once says nothing of them.
        self.run_trials([1, 2, 3], cores=7)
        self.assertEqual(len(self.done), 3)

    def test_of_another_search_or_drive_is_done_again(self) -> None:
        self.run_trials([1])
        for asked in ({"mib": 500}, {"seconds": 60}, {"seed": 2}, {"guests": 1}):
            before = len(self.done)
            for _ in range(2):
                self.run_trials([1], **asked)
            self.assertEqual(len(self.done), before + 1, asked)

    def test_of_another_program_is_done_again(self) -> None:
        """Of the engine; in a guest, of the device, which is made of more; of what fits."""
        for what, guests in (("engine_hash", 0), ("device_hash", 1)):
            self.run_trials([1], guests=guests)
            before = len(self.done)
            with mock.patch.object(present, what, lambda: "another"):
                self.run_trials([1], guests=guests)
            self.assertEqual(len(self.done), before + 1, what)
            self.run_trials([1], guests=guests)
            self.assertEqual(len(self.done), before + 1, what)
        before = len(self.done)
        with mock.patch.object(bench, "program", lambda: "another"):
            self.run_trials([1])
        self.assertEqual(len(self.done), before + 1)

    def test_only_what_was_asked_for_counts(self) -> None:
        self.run_trials(range(1, 5))
        found = self.run_trials([1, 2])
        self.assertEqual([one.seed for one in found], [1, 2])
        self.assertIn(f"2 of 2 have {blind.ENOUGH}", blind.summary(found))
        # Which took hours, and may be asked for again.
        self.assertEqual(len(json.loads(self.out.read_text())["trials"]), 4)

    def test_one_that_does_not_say_of_what_it_is_is_kept(self) -> None:
        """As they were written at first."""
        self.run_trials([1])
        whole = json.loads(self.out.read_text())
        del whole["trials"][0]["of"]
        self.out.write_text(json.dumps(whole, indent=1))
        self.assertEqual(len(self.run_trials([1])), 1)
        self.assertEqual(len(self.done), 2)
        self.assertEqual(len(json.loads(self.out.read_text())["trials"]), 2)


class TheFile(Trials):
    def test_is_never_there_by_half(self) -> None:
        self.run_trials([1])
        before, other = self.out.read_text(), self.out.with_name("other")
        other.hardlink_to(self.out)
        self.run_trials([1, 2])
        # Not written over, but replaced.
        self.assertEqual(other.read_text(), before)
        self.assertTrue(self.out.read_text().startswith(outputs.BLIND))
        names = sorted(path.name for path in self.out.parent.iterdir())
        self.assertEqual(names, ["blind.json", "other"])

    def test_a_damaged_one_is_said_and_stays(self) -> None:
        self.run_trials([1])
        whole = self.out.read_text()
        for text in (
            whole[:-50],
            outputs.BLIND + "}",
            outputs.BLIND + ',\n "trials": [1]}',
            outputs.BLIND + ',\n "trials": 1}',
            whole.replace('"tried"', '"tired"'),
            whole.replace('"seed": 1', '"seed": []', 1),
            whole.replace('"figures": []', '"figures": [1]'),
            whole.replace('"held": [', '"held": 5, "figures": [', 1),
            outputs.BLIND + ',\n "trials": ' + 100_000 * "[",
        ):
            self.out.write_text(text)
            with (
                self.assertRaises(UserError) as caught,
                mock.patch.object(blind, "trial", self.trial),
                mock.patch.object(fitting, "ensure_replay", lambda: Path("/bin/false")),
                contextlib.redirect_stdout(io.StringIO()),
            ):
                run_fit("--blind", "1", "-o", str(self.out))
            said = str(caught.exception)
            self.assertRegex(
                said, f"^--out: '{self.out}' is no whole file of trials.*another file$"
            )
            self.assertEqual(said.count("\n"), 0)
            self.assertEqual(self.out.read_text(), text)
