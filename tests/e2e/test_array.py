# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp array`: its table, its JSON, and what it refuses."""

from __future__ import annotations

import json
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import Any

from scarplib.build.array import ensure_simulator
from scarplib.paths import ROOT
from scarplib.version import version

DRIVE = ROOT / "tests" / "array" / "small.ini"
SMALL = ("-d", str(DRIVE), "-n", "2", "-r", "2000", "--warmup", "500", "-k", "cache_bytes=1048576")


def _run(*options: str) -> subprocess.CompletedProcess[str]:
    command = [str(ROOT / "scripts" / "scarp"), "array", *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def _cells(table: str, label: str) -> list[str]:
    line = next(x for x in table.splitlines() if x.strip().startswith(label))
    return line.strip().removeprefix(label).split()


class Array(unittest.TestCase):
    def test_the_table_is_of_the_json(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "runs.json"
            done = _run(*SMALL, "--json", str(path))
            self.assertEqual(done.returncode, 0, done.stderr)
            runs: list[dict[str, Any]] = json.loads(path.read_text())["runs"]
        modes = [run["mode"] for run in runs]
        self.assertEqual(modes, ["independent", "striped", "cached", "flusher"])
        self.assertEqual(done.stdout.split("\n", 1)[0].split(), modes)
        self.assertEqual(_cells(done.stdout, "requests/s"), [f"{run['iops']:,}" for run in runs])
        # Without a cache there is nothing to say of one.
        self.assertEqual(_cells(done.stdout, "pages written")[:2], ["–", "–"])
        self.assertEqual(
            _cells(done.stdout, "pages written")[2:],
            [f"{run['array']['written']:,}" for run in runs[2:]],
        )

    def test_a_mode_alone_is_the_same_run(self) -> None:
        done = _run(*SMALL, "--mode=flusher,cached", "--json=-")
        alone = _run(*SMALL, "-m", "cached", "-j", "-")
        both, one = (json.loads(x.stdout)["runs"] for x in (done, alone))
        self.assertEqual([run["mode"] for run in both], ["flusher", "cached"])
        self.assertEqual(both[1], one[0])

    def test_refused_in_one_line(self) -> None:
        for options, line in (
            (("--speed=2",), "Unknown option --speed"),
            (("--mode=flusher,raid",), "--mode=raid: allowed: independent, striped, cached,"),
            (("--mode=cached,cached",), "--mode: 'cached' is named twice"),
            (("-n", "0"), "--drives=0: must be from 1 to 256"),
            (("-d", "nowhere.ini"), "nowhere.ini"),
            (("-k", "slot=1"), "--keys: slot: no such key; allowed: page_bytes,"),
            (("--json=/nowhere/x",), "--json: /nowhere/x: No such file or directory"),
            (("extra",), "extra: no such argument"),
        ):
            done = _run(*options)
            self.assertEqual(done.returncode, 1, options)
            self.assertEqual(done.stdout, "", options)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
            self.assertIn(line, done.stderr)

    def test_what_a_foreign_file_says_steers_no_terminal(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "foreign"
            for text in (
                b"[geometry]\nchan\x1b[2Jnels=1\n",
                b"[geometry]\nchannels=\xff\xe2\x80\xa81\n",
            ):
                path.write_bytes(text)
                for words in (("-d", str(path)), ("-d", str(DRIVE), "--replay", str(path))):
                    program = [str(ensure_simulator()), *words]
                    alone = subprocess.run(
                        program, capture_output=True, text=True, errors="surrogateescape"
                    )
                    for done in (_run(*words), alone):
                        self.assertEqual((done.returncode, done.stdout), (1, ""))
                        said = done.stderr.removesuffix("\n")
                        self.assertTrue(said.isprintable(), repr(said))

    def test_each_option_does_something(self) -> None:
        """In the modes that have it; where none of them does, it is refused."""
        plain = _run(*SMALL, "-m", "striped,cached", "-j", "-")
        slots = _run(*SMALL, "-m", "striped,cached", "-j", "-", "--drive-slots", "1")
        before, after = (json.loads(x.stdout)["runs"] for x in (plain, slots))
        self.assertNotEqual(before[0], after[0])
        self.assertEqual(before[1], after[1])
        with tempfile.TemporaryDirectory() as folder:
            record, images = Path(folder) / "record", Path(folder) / "images"
            images.mkdir()
            _run(*SMALL, "-m", "cached", "--record", str(record))
            done = _run("-d", str(DRIVE), "--replay", str(record), "--images", str(images))
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(len(list(images.iterdir())), 2)
            for options, line in (
                (("--turn-us", "50"), "--turn-us: needs --mode=coordinated"),
                (("--fresh", "--images", folder), "--images: excludes --fresh"),
                (("--replay", str(record), "--turn-us", "50"), "--turn-us: excludes --replay"),
            ):
                done = _run("-d", str(DRIVE), *options)
                self.assertEqual(done.returncode, 1, options)
                self.assertIn(line, done.stderr)

    def test_version(self) -> None:
        self.assertEqual(_run("--version").stdout, f"scarp-array {version()}\n")
        runs = json.loads(_run(*SMALL, "-m", "independent", "-j", "-").stdout)["runs"]
        self.assertEqual([run["scarp_version"] for run in runs], [version()])

    def test_help_and_list_need_no_drive(self) -> None:
        self.assertIn("--read-permille", _run("--help").stdout)
        self.assertIn("stale_score", _run("--list").stdout)
