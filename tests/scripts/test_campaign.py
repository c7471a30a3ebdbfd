# SPDX-License-Identifier: GPL-2.0-or-later
"""tests/hunt/campaign.py: parts of a long hunt, where the next one begins, what is a proof."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "hunt"))

import campaign
from scarplib.build import present

SAID = """# mark buffer_full (no room): 0 in 0 scenarios
# mark drained_again (twice): 12 in 3 scenarios
# 1 of 2 marks were met
# 40 commands and 90 moments a scenario; 3.0 scenarios a second, 1.5 in a second of a core
9 passed, 1 failed
"""


PART = campaign.Part("checked", "e", "c", 1, 1, 0, 7, 2, frozenset())


def part(first: int, count: int, **other: Any) -> campaign.Part:
    return replace(PART, first=first, count=count, **other)


def proves(*parts: campaign.Part, goal: int = 20) -> tuple[bool, str]:
    with contextlib.redirect_stdout(io.StringIO()) as said:
        return campaign.tell(parts, "checked", goal), said.getvalue()


class Test(unittest.TestCase):
    def test_what_the_hunt_said(self) -> None:
        made = campaign.part_of(SAID, "checked", "e", "c", 5)
        self.assertEqual((made.first, made.count, made.failed), (5, 10, 1))
        self.assertEqual((made.commands, made.core_s), (400, 7))
        self.assertEqual(made.unmet, {"buffer_full"})
        with self.assertRaisesRegex(ValueError, "did not come to its end"):
            campaign.part_of("# mark buffer_full", "checked", "e", "c", 5)

    def test_a_line_is_read_as_it_was_written(self) -> None:
        for made in (part(1, 2), part(1, 2, unmet=frozenset(("b", "a")))):
            self.assertEqual(campaign.read(f"# comment\n{made.text()}\n"), [made])

    def test_no_scenario_is_drawn_again(self) -> None:
        self.assertEqual(campaign.next_of([], "checked"), campaign.FIRST["checked"])
        others = [part(1, 10, engine="old"), part(11, 5), part(100, 9, build="release")]
        self.assertEqual(campaign.next_of(others, "checked"), 16)

    def test_a_change_of_the_replayer_leaves_its_lines(self) -> None:
        ftl = campaign.ROOT / "ftl"
        names = {str(f.relative_to(ftl)) for f in present.engine_files(ftl)}
        rule = "sources:; @echo $(SOURCES)"
        made = subprocess.run(
            ["make", "-s", "-f", "tests/hunt/hunt.mk", "--eval", rule, "sources"],
            cwd=campaign.ROOT, capture_output=True, text=True, check=True,
        ).stdout.split()  # fmt: skip
        self.assertLessEqual({f[4:] for f in made if f.startswith("ftl/")}, names)
        self.assertNotIn("replay/main.c", names)

    def test_what_the_users_make_was_told_is_not_for_the_tests_objects(self) -> None:
        """-w would put words between names that a script reads, -i pass over errors."""
        command = ["sh", "tests/hunt/make.sh", "-f", "tests/unit/unit.mk", "list"]
        said = subprocess.run(
            command, cwd=campaign.ROOT, capture_output=True, text=True, check=True,
            env={**os.environ, "MAKEFLAGS": "wi", "MAKELEVEL": "1"},
        ).stdout.splitlines()  # fmt: skip
        self.assertIn(str(campaign.ROOT / "build/hunt/unit/test-edges"), said)
        self.assertEqual({Path(line).parent.name for line in said}, {"unit"})

    def test_what_has_gone_is_noticed(self) -> None:
        """A list of sources is written when it changes, and then alone."""
        with tempfile.TemporaryDirectory() as folder:
            rules = Path(folder) / "makefile"
            rules.write_text(
                f"include {campaign.ROOT}/tests/hunt/engine.mk\n"
                "$(OUT)/made: $(call listed,$(OUT)/names,$(N))\n\tcp $< $@; echo made\n"
            )
            words = ["make", "-s", "-f", str(rules), f"OUT={folder}/out", f"{folder}/out/made"]
            environment = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")}
            said: list[str] = []
            for names in ("a b", "a b", "a"):
                if said:
                    # Older than whatever is written now, however coarse the clock of files.
                    for path in Path(folder, "out").iterdir():
                        os.utime(path, (1, 1))
                done = subprocess.run(
                    [*words, f"N={names}"], capture_output=True, text=True, check=True,
                    env=environment,
                )  # fmt: skip
                said.append(done.stdout)
            self.assertEqual(said, ["made\n", "", "made\n"])

    def test_a_proof_has_enough_without_a_failure(self) -> None:
        self.assertTrue(proves(part(1, 10), part(11, 10))[0])
        self.assertFalse(proves(part(1, 10), part(11, 9))[0])
        self.assertFalse(proves(part(1, 10), part(11, 10, failed=1))[0])
        self.assertFalse(proves(goal=1)[0])

    def test_a_mark_counts_as_unmet_if_no_part_met_it(self) -> None:
        first = part(1, 10, unmet=frozenset(("a", "b")))
        self.assertTrue(proves(first, part(11, 10))[0])
        proven, said = proves(first, part(11, 10, unmet=frozenset(("b",))))
        self.assertFalse(proven)
        self.assertIn("# mark b was never met", said)


if __name__ == "__main__":
    unittest.main()
