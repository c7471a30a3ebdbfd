# SPDX-License-Identifier: GPL-2.0-or-later
"""`make bench`: the engine's speed and memory on one core, beside a calibration loop."""

from __future__ import annotations

import re
import shlex
import statistics
import subprocess
from dataclasses import dataclass
from pathlib import Path

from . import host
from .cache import cache_dir, locked, step, tree_hash
from .errors import UserError
from .replay import CFLAGS

ROOT = Path(__file__).resolve().parents[2]
DRIVE = ROOT / "devices" / "bench-16g.ini"
# What the issue that asked for this must see, on an idle core of a development machine.
GOALS = {
    "sequential-write": (5e6, 0.0),
    "random-write-gc": (1e6, 6e6),
    "random-read": (4e6, 0.0),
}
# The same work per die and plane, on more of them; 1 GiB to 1 TiB.
SCALES = (
    (
        "1 die, 1 GiB",
        "geometry.channels=1,geometry.chips_per_channel=1,"
        "geometry.planes_per_die=1,geometry.blocks_per_plane=1024",
    ),
    ("32 dies, 16 GiB", ""),
    (
        "1,024 dies, 64 GiB",
        "geometry.channels=32,geometry.chips_per_channel=32,"
        "geometry.planes_per_die=1,geometry.blocks_per_plane=64,ftl.over_provisioning_permille=200",
    ),
)


@dataclass
class Sample:
    requests: float
    transactions: float
    calibration: float
    age_s: float
    peak_mib: float


def ensure_program() -> Path:
    host.ensure_packages()
    sources = sorted(path for path in (ROOT / "ftl").rglob("*.c") if "replay" not in path.parts)
    sources.append(ROOT / "tests" / "bench" / "bench-engine.c")
    key = tree_hash([*sources, *(ROOT / "ftl").rglob("*.h")])[:20]
    program = cache_dir() / "bench" / key / "bench-engine"
    with locked("bench"):
        if not program.is_file():
            program.parent.mkdir(parents=True, exist_ok=True)
            flags = subprocess.run(
                ["pkg-config", "--cflags", "--libs", "glib-2.0"],
                capture_output=True, text=True, check=True,
            ).stdout  # fmt: skip
            command = ["cc", *CFLAGS, f"-I{ROOT / 'ftl'}", "-o", str(program)]
            with step("bench-engine"):
                done = subprocess.run(
                    [*command, *map(str, sources), *shlex.split(flags)],
                    capture_output=True, text=True, check=False,
                )  # fmt: skip
            if done.returncode:
                raise UserError(f"bench-engine does not build:\n{done.stderr[-2000:]}")
    return program


def measure(load: str, overrides: str = "", device: Path = DRIVE) -> Sample:
    done = subprocess.run(
        [str(ensure_program()), str(device), "baseline", overrides, load],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise UserError(done.stderr.strip())

    def value(pattern: str) -> float:
        found = re.search(pattern + r" ([\d.]+)", done.stdout)
        return float(found[1]) if found else 0.0

    return Sample(
        value("requests/s"), value("transactions/s"), value("loads/s"), value("age seconds"),
        value("peak MiB"),
    )  # fmt: skip


def main(rounds: int) -> int:
    print(f"{'load':<20}{'requests/s':>12}{'transactions/s':>16}{'per calibration':>17}  goal")
    age: list[float] = []
    peak = 0.0
    for load, (requests, transactions) in GOALS.items():
        samples = [measure(load) for _ in range(rounds)]
        rate = statistics.median(s.requests for s in samples)
        flash = statistics.median(s.transactions for s in samples)
        relative = statistics.median(s.requests / s.calibration for s in samples)
        goal = f"{requests / 1e6:g} M" + (f", {transactions / 1e6:g} M" if transactions else "")
        share = min(rate / requests, flash / transactions if transactions else rate / requests)
        print(
            f"{load:<20}{rate:>12,.0f}{flash:>16,.0f}{relative:>17.3f}  {goal} ({share:.0%})",
            flush=True,
        )
        age += [s.age_s for s in samples if s.age_s]
        peak = max(peak, *(s.peak_mib for s in samples))
    calibration = statistics.median(s.calibration for s in samples)
    print(f"calibration: {calibration / 1e6:.1f} M dependent loads/s")
    print(f"age 16 GiB to steady state: {statistics.median(age):.2f} s (goal 1)")
    print(f"peak memory, 16 GiB: {peak:.0f} MiB (goal 64)")
    big = measure("sequential-write", "ftl.unit_bytes=4096", ROOT / "devices" / "hpdc18.ini")
    print(f"peak memory, 1 TiB, 4 KiB units: {big.peak_mib:,.0f} MiB = "
          f"{big.peak_mib / (1 << 20):.4%} of raw (goal 0.25 %)")  # fmt: skip
    for name, overrides in SCALES:
        samples = [measure("random-write-gc", overrides) for _ in range(rounds)]
        ns = statistics.median(1e9 / s.transactions for s in samples)
        print(f"{name}: {ns:.0f} ns per flash transaction", flush=True)
    return 0
