# SPDX-License-Identifier: GPL-2.0-or-later
"""How schemes are drawn: each in one way, and no two of an experiment in the same."""

from __future__ import annotations

import re
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts")]

from scarplib.reproduce import figures, spec  # noqa: E402
from scarplib.results.pictures import schemes  # noqa: E402

# Settings that are swept, and never drawn beside each other as schemes.
SWEPT = re.compile(r"[TLPdq]\d+|iterations=.*")
# In a table alone.
NOT_DRAWN = ("beside",)


class Looks(unittest.TestCase):
    def test_no_two_of_an_experiment_look_alike(self) -> None:
        for name in filter(spec.exists, spec.PAPERS):
            for e in spec.load(name).experiments.values():
                if e.name in NOT_DRAWN:
                    continue
                labels = [s.label for s in e.schemes if not SWEPT.fullmatch(s.label)]
                looks = {schemes.look(label) for label in labels}
                self.assertEqual(len(looks), len(labels), (name, e.name, labels))

    def test_of_a_paper_no_two_have_one_colour(self) -> None:
        for drawn in (
            ("baseline", "gc-par", "gc-vic", "ideal"),
            ("baseline", "gc-z", "paragc"),
            ("baseline", "gftl", "pregc", "pregc+gftl"),
            ("noop", "anticipatory", "deadline", "flash-aware", "hios-1", "hios-2", "ideal"),
        ):
            self.assertEqual(len(set(map(schemes.scheme_colour, drawn))), len(drawn), drawn)

    def test_a_name_that_is_not_listed_always_looks_the_same(self) -> None:
        self.assertEqual(schemes.look("my-own"), schemes.look("my-own"))

    def test_what_is_no_scheme_has_a_colour_of_its_own_in_a_picture(self) -> None:
        names = [f"workload-{i}" for i in range(6)]
        drawn = schemes.looks(names)
        self.assertEqual(len({drawn[n].colour for n in names}), len(names))
        # Schemes keep theirs, whatever is drawn beside them.
        beside = schemes.looks(["pregc", "baseline", "gc-par, read"])
        self.assertEqual(beside, {n: schemes.look(n) for n in beside})

    def test_kinds_of_a_scheme_have_its_colour(self) -> None:
        kinds = [schemes.look(f"gc-par, {kind}") for kind in ("read", "write", "io")]
        self.assertEqual({k.colour for k in kinds}, {schemes.scheme_colour("gc-par")})
        self.assertEqual(len({k.hatch for k in kinds}), 3)

    def test_a_crowd_of_points_still_gets_its_picture(self) -> None:
        crowd = {f"a-name-that-is-long-{i}": (1000 * 1.05**i, 1.0) for i in range(60)}
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "front.svg")
            figures.front(path, crowd, [], "x", "y")
            text = path.read_text(encoding="utf-8")
        for name in crowd:
            self.assertIn(f">{name}<", text)


if __name__ == "__main__":
    unittest.main()
