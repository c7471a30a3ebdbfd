# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp powercut --ready`: how long drives take until they are ready, by size and by checkpoints.

The replayer ages a drive, its power fails, and it recovers, all in simulated time: no guest.  A
size is one of blocks: the dies stay as many, as what they do in parallel decides.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scarplib.build.replayer import ensure_replay
from scarplib.build.venv import ensure_venv
from scarplib.errors import UserError
from scarplib.paths import ROOT

SCHEMA = "scarp-ready-1"
FILE, PICTURE = "ready.json", "ready.png"

DEVICE = ROOT / "devices" / "power-cut.ini"
# 16 dies of two planes, blocks of 16 MiB: with 2,048 blocks a plane that is 1 TiB.
_DRIVE = {
    "geometry.channels": 4,
    "geometry.chips_per_channel": 4,
    "geometry.planes_per_die": 2,
    "geometry.pages_per_block": 1024,
    "nand.cell_bits": 1,
    "timing.read_ns": 60_000,
    "timing.program_ns": 700_000,
    "ftl.unit_bytes": 16384,
    "ftl.paired_pages": "none",
    "ftl.over_provisioning_permille": 400,
    "ftl.recovery": 1,
    "controller.buffer_bytes": 4 << 20,
}
_BYTES_OF_A_BLOCK_IN_EACH_PLANE = 4 * 4 * 2 * 1024 * 16384
_DEMAND = {"ftl.mapping": "demand", "ftl.map_cache_bytes": 1 << 20}
SIZES = (32, 64, 128, 256, 512, 1024, 2048)
# Checkpoints are compared on this size, in blocks of a plane.
ONE_SIZE = 64
INTERVALS = (0, 1 << 18, 1 << 16, 1 << 14, 1 << 12, 1 << 10)
# Random ones before the power fails, of a unit each.
WRITES = 200_000
# Where a drive is between two checkpoints is chance: so many more, each time.
MORE_WRITES = tuple(range(0, 100_000, 13_007))


@dataclass(frozen=True)
class Way:
    """How a drive gets ready again."""

    name: str
    keys: dict[str, Any]
    shut_down: bool = False


WAYS = (
    Way("all pages are read", {}),
    Way("a checkpoint every 262,144 pages", {**_DEMAND, "ftl.checkpoint_pages": 1 << 18}),
    # Fewer than the largest drive's mapping has pages (23,344) are refused.
    Way("a checkpoint every 32,768 pages", {**_DEMAND, "ftl.checkpoint_pages": 1 << 15}),
    Way("it was shut down", {}, True),
)


def _writes(count: int) -> list[str]:
    return ["--mode", "closed", "--depth", "32",
            f"gen:uniform,requests={count},size=16384,align=16384"]  # fmt: skip


def _replayed(keys: dict[str, Any], words: list[str]) -> dict[str, Any]:
    """Of an aged drive whose power fails: what --power-cut says, with the run's statistics."""
    with tempfile.TemporaryDirectory() as folder:
        at, run = Path(folder, "cut.json"), Path(folder, "run.json")
        command = [str(ensure_replay()), "-d", str(DEVICE), "--age", "1000", "--quiet"]
        command += ["--age-overwrite", "100", "--power-cut", str(at), "--json", str(run), *words]
        for key, value in {**_DRIVE, **keys}.items():
            command += ["--override", f"{key}={value}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise UserError(done.stderr.strip().removeprefix("scarp-replay: "))
        found: dict[str, Any] = json.loads(at.read_text())
        found["run"] = json.loads(run.read_text()) if run.exists() else None
        return found


def _of_size(asked: tuple[Way, int]) -> dict[str, Any]:
    way, blocks = asked
    found = _replayed(
        {**way.keys, "geometry.blocks_per_plane": blocks},
        [*(["--shut-down"] if way.shut_down else []), *_writes(WRITES)],
    )
    size = blocks * _BYTES_OF_A_BLOCK_IN_EACH_PLANE
    return {"way": way.name, "flash_bytes": size, "ready_ns": found["ready_ns"]}


def _of_interval(pages: int) -> dict[str, Any]:
    """What checkpoints cost, and what they give: cuts at several moments of one interval."""
    keys = {**_DEMAND, "geometry.blocks_per_plane": ONE_SIZE, "ftl.checkpoint_pages": pages}
    found = [_replayed(keys, _writes(WRITES + more)) for more in MORE_WRITES]
    run = found[-1]["run"]
    return {
        "checkpoint_pages": pages,
        "ready_ns": [one["ready_ns"] for one in found],
        "writes_per_s": run["requests_per_s"],
        "checkpoints": run["stats"]["checkpoints"],
        "map_page_programs": run["stats"]["map_page_programs"],
        "host_page_programs": run["stats"]["host_page_programs"],
    }


def measure() -> dict[str, Any]:
    """All of it, in as many processes as there are cores."""
    ensure_replay()
    with ThreadPoolExecutor(max_workers=len(os.sched_getaffinity(0))) as pool:
        sizes = pool.map(_of_size, [(way, blocks) for blocks in SIZES for way in WAYS])
        intervals = pool.map(_of_interval, INTERVALS)
        return {"schema": SCHEMA, "sizes": list(sizes), "intervals": list(intervals)}


def _seconds(ns: int) -> str:
    return f"{ns / 1e9:,.3f} s"


def text(found: dict[str, Any]) -> str:
    """Two tables."""
    lines = [f"{'flash':<12}" + "".join(f"{way.name:>34}" for way in WAYS)]
    sizes = sorted({row["flash_bytes"] for row in found["sizes"]})
    for size in sizes:
        of = {row["way"]: row["ready_ns"] for row in found["sizes"] if row["flash_bytes"] == size}
        lines.append(
            f"{size >> 30:>5,} GiB   " + "".join(f"{_seconds(of[w.name]):>34}" for w in WAYS)
        )
    lines += [
        "",
        f"{'checkpoint every':<20}{'ready, median':>15}{'worst':>12}{'writes a second':>18}"
        f"{'map pages a page written':>27}",
    ]
    for row in found["intervals"]:
        pages = row["checkpoint_pages"]
        share = row["map_page_programs"] / row["host_page_programs"]
        lines.append(
            f"{f'{pages:,} pages' if pages else 'never':<20}"
            f"{_seconds(statistics.median(row['ready_ns'])):>15}{_seconds(max(row['ready_ns'])):>12}"
            f"{row['writes_per_s']:>18,.0f}{share:>27.2f}"
        )
    return "\n".join(lines)


def draw(folder: Path) -> None:
    """The picture, by the cache's Python, which has matplotlib."""
    command = [str(ensure_venv()), "-B", "-m", "scarplib.powercut.ready_picture", str(folder)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "scripts")}
    subprocess.run(command, env=environment, check=True)
