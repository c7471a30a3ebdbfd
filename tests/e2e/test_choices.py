# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp schemes`, `devices`, `keys`: tables of what the engine has, and the same as JSON."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import unittest
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from scarplib.build import replayer  # noqa: E402


def scarp(*words: str, status: int = 0) -> str:
    done = subprocess.run(
        [ROOT / "scripts/scarp", *words], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == status, done.stderr
    return done.stderr if status else done.stdout


def found(*words: str) -> list[dict[str, Any]]:
    return list(json.loads(scarp(*words, "--json")))


class Choices(unittest.TestCase):
    def test_schemes(self) -> None:
        """Every choice that a drive takes, and no other."""
        self.assertEqual([each["name"] for each in found("schemes")], replayer.scheme_names())
        table = scarp("schemes")
        for each in found("schemes"):
            self.assertRegex(
                table, rf"(?m)^{each['name']} +{re.escape(each['axis'] or '(several)')} "
            )
            self.assertTrue(each["help"] and (each["source"] or not each["axis"]), each)
        refused = subprocess.run(
            [replayer.ensure_replay(), "-d", "devices/demo.ini", "-s", "none", "gen:zipf"],
            cwd=ROOT, capture_output=True, text=True, check=False,
        ).stderr  # fmt: skip
        self.assertEqual(
            refused.strip().split("'+': ")[1].split(", "),
            [each["name"] for each in found("schemes")],
        )

    def test_one_scheme(self) -> None:
        (hios,) = found("schemes", "hios-1")
        self.assertEqual(hios["axis"], "host queue")
        self.assertIn(
            {"name": "deadline_us", "default": 30000, "low": 1, "high": 10**9, "unit": "us",
             "help": "from a command's arrival, if it names none"}, hios["parameters"],
        )  # fmt: skip
        self.assertIn("static", hios["needs"][0])
        joined = found("schemes", "gc-vic+pgc")
        self.assertEqual([each["name"] for each in joined], ["gc-vic", "pgc"])
        said = scarp("schemes", "gc-vic+pgc")
        self.assertEqual(said, scarp("schemes", "gc-vic") + scarp("schemes", "pgc"))
        self.assertIn("'none' is no scheme; there are baseline, ",
                      scarp("schemes", "pgc+none", status=1))  # fmt: skip
        (parity,) = found("schemes", "ttflash")
        self.assertEqual(parity["chooses"]["relocation placement"], "copyback")
        (source,) = found("schemes", "rotating")
        self.assertEqual(source["source"], "TTFlash (FAST 2017), rotating GC")
        self.assertIn("margin_us=1000 (0 to 1000000000 us)", scarp("schemes", "hios-1"))
        self.assertIn("there are baseline, ", scarp("schemes", "nosuch", status=1))

    def test_keys(self) -> None:
        """In the order of the engine's table, each with its meaning."""
        keys = found("keys")
        source = (ROOT / "ftl/core/description.c").read_text()
        pattern = r'^    (?:KEY|LIST|CHOICE|SLC|SLC_CHOICE|HEAT)\("(\w+)", (\w+),'
        listed = re.findall(pattern, source, re.MULTILINE)
        names = [f"{group}.{name}" for group, name in listed]
        self.assertEqual([each["name"] for each in keys], [*names, "ftl.allocation"])
        for each in keys:
            self.assertGreater(len(each["meaning"]), 3, each)
        (mapping,) = found("keys", "ftl.mapping")
        self.assertEqual(mapping["default"], "page")
        self.assertEqual(mapping["allowed"], "page, demand, block, superblock or fast")
        self.assertIsNone(found("keys", "geometry.channels")[0]["default"])
        table = scarp("keys", "gc.")
        self.assertRegex(table, r"(?m)^gc.trigger_free_blocks +\(needed\) +1 to 1048576 +a plane ")
        self.assertNotIn("ftl.", table)
        self.assertIn("'nosuch'", scarp("keys", "nosuch", status=1))

    def test_devices(self) -> None:
        drives = {each["file"]: each for each in found("devices")}
        self.assertEqual(sorted(drives), sorted(x.name for x in (ROOT / "devices").glob("*.ini")))
        self.assertEqual(drives["demo.ini"]["raw_bytes"], 576 << 20)
        self.assertEqual(drives["demo.ini"]["dies"], 8)
        self.assertEqual(drives["hpdc18.ini"]["raw_bytes"], 1 << 40)
        self.assertRegex(scarp("devices"), r"(?m)^devices/qlc.ini +96 GiB .* 4 +QLC")

    def test_some_drives_in_full(self) -> None:
        (drive,) = found("devices", "hios-slc")
        said = scarp("devices", "hios-slc")
        self.assertEqual(len(said.splitlines()), 2)
        self.assertTrue(said.rstrip().endswith(f" {drive['what']}"), said)
        self.assertEqual(
            [each["file"] for each in found("devices", "hpdc18")],
            ["hpdc18-small.ini", "hpdc18.ini"],
        )
        self.assertIn("no drive has 'none' in", scarp("devices", "none", status=1))

    def test_replays_help_and_a_list_of_schemes(self) -> None:
        said = scarp("replay", "--help")
        said_of = ("--schemes", "--out", "--backlog", "--set", "--device", "scarp replay [OPTION")
        for option in said_of:
            self.assertIn(option, said)
        words = ("replay", "-d", "devices/demo.ini", "-s", "pgc,ideal", "gen:zipf")
        self.assertEqual(
            scarp(*words, status=1),
            "scarp: error: --scheme: 'pgc,ideal' is not one scheme; several are: "
            "--schemes pgc,ideal\n",
        )


if __name__ == "__main__":
    unittest.main()
