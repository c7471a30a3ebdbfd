# SPDX-License-Identifier: GPL-2.0-or-later
"""docs/reference.md says what the program says; docs/laws.md names tests that exist."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import unittest
from pathlib import Path
from typing import ClassVar

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts")]

from scarplib.build import replayer  # noqa: E402


def number(text: str) -> int:
    """A C constant: 4096, 1u << 20, SCARP_MAX_STREAMS."""
    text = text.strip()
    if text.startswith("SCARP_MAX_"):
        header = (ROOT / "ftl/core/description.h").read_text()
        found = re.search(rf"#define {text} (\d+)", header)
        assert found
        return int(found[1])
    base, _, shift = text.partition("<<")
    return int(base.strip().rstrip("ul")) << int(shift or 0)


def rows(part: str) -> list[list[str]]:
    text = (ROOT / "docs/reference.md").read_text().split(f"## {part}")[1].split("\n## ")[0]
    return [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in text.splitlines()
        if line.startswith("| `")
    ]


class Reference(unittest.TestCase):
    def test_keys(self) -> None:
        """Each key of ftl/core/description.c, in its order, with its range and its default."""
        source = (ROOT / "ftl/core/description.c").read_text()
        listed = re.findall(
            r'^    (?:KEY|LIST|SLC|HEAT)\("(\w+)", (\w+), ([^,]+), ([^,]+), ([^)]+)\),',
            source,
            re.MULTILINE,
        )
        choices = re.findall(r'^    (?:SLC_)?CHOICE\("(\w+)", (\w+), ', source, re.MULTILINE)
        words = {"`ftl.allocation`", *(f"`{group}.{name}`" for group, name in choices)}
        self.assertGreater(len(listed), 40)
        expected = [
            [f"`{group}.{name}`", f"{number(low)} to {number(high)}",
             "–" if default == "NULL" else default.strip('"')]
            for group, name, low, high, default in listed
        ]  # fmt: skip
        documented = rows("Keys of a description")
        self.assertEqual([row[:3] for row in documented if row[0] not in words], expected)
        self.assertEqual(len(documented), len(expected) + len(words))
        for row in documented:
            self.assertGreater(len(row[3]), 3, row)

    def test_statistics(self) -> None:
        """Each field, in order, with its unit: by the table, and by what the replayer prints."""
        fields = re.findall(
            r'^    \{ "(\w+)", "(\w+)",\s', (ROOT / "ftl/stat/stats.c").read_text(), re.MULTILINE
        )
        documented = rows("Statistics")
        self.assertEqual([tuple(row[:2]) for row in documented], [(f"`{n}`", u) for n, u in fields])
        for row in documented:
            self.assertGreater(len(row[2]), 3, row)
        done = subprocess.run(
            [replayer.ensure_replay(), "--quiet", "-d", ROOT / "tests/qtest/tiny.ini",
             "gen:uniform,requests=10"],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        for name, _ in fields:
            self.assertIn(f'"{name}":', done.stdout)

    def test_properties(self) -> None:
        """Each property of QEMU's device, in its order."""
        source = (ROOT / "hw/nvme-flash.c").read_text()
        named = re.findall(r'^    DEFINE_PROP_\w+\("([\w-]+)",', source, re.MULTILINE)
        self.assertGreater(len(named), 20)
        documented = rows("Properties of QEMU's device")
        self.assertEqual([row[0] for row in documented], [f"`{name}`" for name in named])
        for name in re.findall(r'object_class_property_add_str\(oc, "([\w-]+)"', source):
            self.assertIn(f"`{name}`", (ROOT / "docs/reference.md").read_text())

    def test_schemes(self) -> None:
        """docs/schemes.md knows every choice that the program lists."""
        done = subprocess.run(
            [replayer.ensure_replay(), "--list"], capture_output=True, text=True, check=True
        )
        names = re.findall(r"^([a-z][\w-]*):", done.stdout.split("\n\n")[0], re.MULTILINE)
        self.assertGreater(len(names), 20)
        text = (ROOT / "docs/schemes.md").read_text()
        mappings = re.findall(r"^ftl.mapping=(\w+):", done.stdout, re.MULTILINE)
        self.assertIn("page", mappings)
        for name in names + mappings:
            self.assertIn(f"`{name}`", text)


class Laws(unittest.TestCase):
    def test_files_and_their_tests(self) -> None:
        """The names of unit tests are held against the programs' own lists (tests/unit/run.sh)."""
        text = (ROOT / "docs/laws.md").read_text()
        files = re.findall(r"`((?:tests|docs|devices|scripts|ftl)/[\w./-]+)`(?: (test_\w+))?", text)
        self.assertGreater(len(files), 15)
        for file, test in files:
            self.assertTrue((ROOT / file).exists(), file)
            if test:
                self.assertIn(f"def {test}(", (ROOT / file).read_text())


class Architecture(unittest.TestCase):
    """docs/architecture.md names every room, and no file that is not there."""

    text = (ROOT / "docs/architecture.md").read_text()

    def test_rooms(self) -> None:
        table = tomllib.loads((ROOT / "ftl/rooms.toml").read_text())
        rooms = {*table["order"], *table["beside"]}
        folders = {path.name for path in (ROOT / "ftl").iterdir() if path.is_dir()}
        self.assertEqual(rooms, folders)
        for room in rooms - {*table["beside"]}:
            row = next(x for x in self.text.splitlines() if re.match(rf"\| .*`{room}`", x))
            for named in re.findall(r"`(\w+/[\w./]+)`", row):
                self.assertTrue((ROOT / "ftl" / named).is_file(), named)
        picture = (ROOT / "docs/pictures/rooms.svg").read_text()
        for room in rooms:
            self.assertRegex(picture, rf">(ftl/)?{room}\b")

    def test_files(self) -> None:
        named = re.findall(
            r"`((?:ftl|hw|scripts|tests|docs|guest|experiments)/[\w./*-]*)`", self.text
        )
        self.assertGreater(len(named), 20)
        for name in named:
            self.assertTrue(list(ROOT.glob(name.rstrip("/"))), name)


class Turns(unittest.TestCase):
    """docs/model.md has the table of ftl/turns/turns.c, line by line."""

    EACH: ClassVar[dict[str, str]] = {
        "EACH_ONCE": "", "EACH_DIE_PLANE": " for each plane of the die",
        "EACH_PLANE": " for each plane of the drive", "EACH_ENTRY": " for each entry of the cache",
    }  # fmt: skip

    def test_table(self) -> None:
        source = re.sub(r'"\s*"', "", (ROOT / "ftl/turns/turns.c").read_text())
        row = (
            r'\[PASS_\w+\] = \{\s*"(.*?)",\s*"(.*?)",\s*"(.*?)",'
            r"\s*PER_\w+, (\d+), (EACH_\w+),"
        )
        rows = []
        for passer, waiter, owed, most, each in re.findall(row, source):
            often = f"{int(most):,}" if int(most) else "`controller.reads_first_limit`"
            rows.append(f"| {waiter} | {passer} | {often}{self.EACH[each]} | {owed} |")
        self.assertEqual(len(rows), source.count("    [PASS_"))
        self.assertIn("\n".join(rows), (ROOT / "docs/model.md").read_text())


if __name__ == "__main__":
    unittest.main()
