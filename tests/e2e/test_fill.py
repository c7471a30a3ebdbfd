# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp fill` on drives with an SLC cache, and what folds cost with each scheme.

With SCARP_TEST_ALL=1 in the environment (`make test-e2e-long`) the drives of docs/results/slc.md
have their full size; otherwise they are cut down to a die and small blocks.
"""

from __future__ import annotations

import configparser
import json
import os
import subprocess
import unittest
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scarplib.build.replayer import ensure_replay

ROOT = Path(__file__).resolve().parents[2]
DEVICES = ROOT / "devices"
GB, S = 10**9, 10**9

# One die of like-sn580.ini, with blocks a 28th as large, whose erases take a 28th of the time.
SMALL = {
    "geometry.channels": 1,
    "geometry.chips_per_channel": 1,
    "geometry.dies_per_chip": 1,
    "geometry.pages_per_block": 48,
    "timing.erase_ns": 180000,
    "timing.slc_erase_ns": 180000,
    "controller.buffer_bytes": 1048576,
    "slc.fold_idle_us": 1000000,
}
PLANES, BLOCKS, RESERVED, SLC_PAGES, PAGE = 4, 780, 4 + 1 + 2, 16, 16384
# A command and a page on the channel: 200 ns, and 1,200 MB/s.
BUS_NS = 200 + PAGE / 1.2
SLC_READ_NS, SLC_PROGRAM_NS, PROGRAM_NS = 30000, 200000, 720000


def filled(device: str, *words: str, keys: dict[str, int] | None = None) -> dict[str, Any]:
    command = [str(ROOT / "scripts" / "scarp"), "fill", device, "--json", *words]
    for key, value in (keys or {}).items():
        command += ["--set", f"{key}={value}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


class Small(unittest.TestCase):
    def near(self, found: float, expected: float, within: float) -> None:
        self.assertAlmostEqual(found, expected, delta=expected * within)

    def test_levels(self) -> None:
        """Two rates, the cliff and the mean, computed by hand from the keys."""
        found = filled("like-sn580", "--window", "200", keys=SMALL)
        size = found["filled"]["logical_bytes"]
        fast = PLANES * PAGE / (SLC_PROGRAM_NS + PLANES * BUS_NS) * S
        # Behind the cache each page of the host comes with half a page that is folded, and folds of
        # a die go one plane after the other.
        fold_ns = SLC_READ_NS + PROGRAM_NS + 2 * BUS_NS
        slow = PLANES * PAGE / (PROGRAM_NS + PLANES * BUS_NS + PLANES / 2 * fold_ns) * S
        cliff = (BLOCKS - RESERVED) * SLC_PAGES * PAGE * PLANES
        first, last = found["levels"][0], found["levels"][-1]
        self.near(first["bytes_per_s"], fast, 0.02)
        self.near(last["bytes_per_s"], slow, 0.05)
        self.assertAlmostEqual(first["to_bytes"], cliff, delta=size * 0.02)
        self.assertAlmostEqual(last["from_bytes"], cliff, delta=size * 0.02)
        mean = size / (cliff / fast + (size - cliff) / slow)
        self.near(found["mean_bytes_per_s"], mean, 0.05)
        self.assertEqual(found["filled"]["pauses"], [])

    def test_pause(self) -> None:
        """A minute folds all: the cache is then a third of what is free, to a block of a plane."""
        found = filled("like-sn580", "--pause", "60@1500MB", keys=SMALL)["filled"]
        self.assertEqual(found["pauses"], [{"at_bytes": 1500 * 10**6, "ns": 60 * S}])
        plane_pages = -(-1500 * 10**6 // 2**20) * 2**20 // PAGE // PLANES
        used = -(-plane_pages // (3 * SLC_PAGES))
        blocks = BLOCKS - RESERVED + BLOCKS - used - RESERVED
        self.assertAlmostEqual(
            found["stats"]["slc_page_programs"],
            blocks * SLC_PAGES * PLANES,
            delta=SLC_PAGES * PLANES,
        )

    def test_pause_beyond(self) -> None:
        """One line that names the option and the last byte that is allowed; nothing is printed."""
        command = [str(ROOT / "scripts" / "scarp"), "fill", "demo", "--json", "--pause", "60@1TB"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        said = r"scarp: error: --pause=60@1000000000000: is beyond .*; must be below \d+\n"
        self.assertRegex(done.stderr, rf"\A{said}\Z")

    def test_overwrite(self) -> None:
        found = filled("like-sn580", "--overwrite", keys=SMALL)["filled"]
        self.assertEqual(found["passes"], 2)
        self.assertEqual(found["written_bytes"], 2 * found["logical_bytes"])
        self.assertEqual(sum(found["windows"]), found["written_bytes"])

    def test_schemes(self) -> None:
        """Reads while dynamic blocks are folded: each scheme another tail; ideal waits for none."""
        tails, waits, folds = {}, {}, {}
        for scheme in ("baseline", "pgc", "ideal"):
            command = [str(ensure_replay()), "--quiet", "-d", str(DEVICES / "like-sn580.ini")]
            command += ["-s", scheme, "--age", "400", "--age-overwrite", "0", "--seed", "1"]
            for key, value in (SMALL | FOLDING).items():
                command += ["-o", f"{key}={value}"]
            command += ["--job=1:20000000=gen:sequential,size=131072,requests=3000,write=1000"]
            command += ["--job=1:4096000=gen:uniform,write=0,requests=20000,footprint=300"]
            done = subprocess.run([*command, "-j", "-"], capture_output=True, text=True, check=True)
            stats = json.loads(done.stdout)["stats"]
            self.assertGreater(stats["folded_units"], 1000)
            tails[scheme] = stats["read_latency"]["p99_9_ns"]
            waits[scheme] = sum(
                stats[f"cause_{cause}_ns"]
                for cause in (*FOLDS, "die_gc_read", "die_gc_program", "die_erase", "no_space")
            )
            folds[scheme] = sum(stats[f"cause_{cause}_ns"] for cause in FOLDS)
        self.assertEqual(waits["ideal"], 0)
        self.assertGreater(folds["pgc"], 0)
        self.assertGreater(folds["baseline"], folds["pgc"])
        self.assertGreater(waits["baseline"], waits["pgc"])
        self.assertGreater(tails["pgc"], 2 * tails["ideal"])
        self.assertGreater(tails["baseline"], 2 * tails["pgc"])
        # A read behind one program of the host, at most.
        self.assertLess(tails["ideal"], PROGRAM_NS + SLC_PROGRAM_NS)


FOLDS = ("die_fold_read", "die_fold_program")
# Four dies of one plane, with fewer blocks, whose erases take as long as those of large ones.
FOLDING = {
    "geometry.channels": 2,
    "geometry.dies_per_chip": 2,
    "geometry.planes_per_die": 1,
    "geometry.blocks_per_plane": 128,
    "nand.multiplane": 0,
    "timing.erase_ns": 5000000,
    "timing.slc_erase_ns": 5000000,
    "ftl.over_provisioning_permille": 150,
    "slc.fold_idle_us": 0,
}


@dataclass
class Review:
    """GB and GB/s; and how the drive is cut down: to one of so many dies, with smaller blocks."""

    levels: tuple[float, ...]
    cliffs: tuple[float, ...]
    mean: float | None
    dies: int
    pages_per_block: int
    smaller: int
    link_mbs: int | None = None


# As docs/results/slc.md has them.
REVIEWS = {
    "like-sn580": Review((4.0, 0.45), (341,), 0.596, 16, 168, 8),
    "like-fx900": Review((4.5, 2.0, 0.5), (280, 500), 0.83, 16, 132, 8),
    "like-fx700": Review((3.5, 0.13), (460,), 0.168, 16, 256, 8),
    "like-870-qvo": Review((0.53, 0.16), (78,), None, 16, 184, 8, 33),
    "like-970-evo-plus": Review((3.3, 1.7), (42,), None, 32, 276, 4),
}


def cut_down(device: str, review: Review) -> dict[str, int]:
    """A die alone, and blocks that are smaller; erases take a smaller time, too."""
    file = configparser.ConfigParser()
    file.read(DEVICES / f"{device}.ini")
    keys = {
        "geometry.channels": 1,
        "geometry.chips_per_channel": 1,
        "geometry.dies_per_chip": 1,
        "geometry.pages_per_block": review.pages_per_block,
        "controller.buffer_bytes": 1048576,
    }
    for key in ("erase_ns", "slc_erase_ns"):
        keys[f"timing.{key}"] = int(file["timing"][key]) // review.smaller
    if review.link_mbs is not None:
        keys["controller.link_mbs"] = review.link_mbs
    return keys


class Reviews(unittest.TestCase):
    """Levels within 10 % of the review's, cliffs within 5 % of the drive, the mean within 15 %.

    Each drive is cut down to a die and to smaller blocks, a 128th of the whole; with
    SCARP_TEST_ALL=1 it has its full size.
    """

    def check(self, device: str) -> None:
        review = REVIEWS[device]
        whole = bool(os.environ.get("SCARP_TEST_ALL"))
        keys = None if whole else cut_down(device, review)
        dies, smaller = (1, 1) if whole else (review.dies, review.smaller)
        found = filled(device, *(() if whole else ("--window", "500")), keys=keys)
        size = found["filled"]["logical_bytes"] * dies * smaller / GB
        # A level of so few parts (replays/levels.py) is one in which a cliff lies.
        levels = [
            (each["to_bytes"] * dies * smaller / GB, each["bytes_per_s"] * dies / GB)
            for each in found["levels"]
            if (each["to_bytes"] - each["from_bytes"]) * dies * smaller / GB > size / 60
        ]
        self.assertEqual(len(levels), len(review.levels), levels)
        for (_, rate), expected in zip(levels, review.levels, strict=True):
            self.assertAlmostEqual(rate, expected, delta=expected / 10)
        for (place, _), cliff in zip(levels, review.cliffs, strict=False):
            self.assertAlmostEqual(place, cliff, delta=size / 20)
        if review.mean is not None:
            mean = found["mean_bytes_per_s"] * dies / GB
            self.assertAlmostEqual(mean, review.mean, delta=review.mean * 0.15)

    def test_sn580(self) -> None:
        self.check("like-sn580")

    def test_fx900(self) -> None:
        self.check("like-fx900")

    def test_fx700(self) -> None:
        self.check("like-fx700")

    def test_870_qvo(self) -> None:
        self.check("like-870-qvo")

    def test_970_evo_plus(self) -> None:
        self.check("like-970-evo-plus")


if __name__ == "__main__":
    unittest.main()
