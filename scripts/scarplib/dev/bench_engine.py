# SPDX-License-Identifier: GPL-2.0-or-later
"""`make bench`: the engine's speed and memory on one core, beside a calibration loop.

Rates are of CPU time: a busy machine shows in them by its caches and clock alone.
"""

from __future__ import annotations

import re
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from scarplib.build.cache import cache_dir, locked, step, tree_hash
from scarplib.build.compile import RECIPE, compile_program
from scarplib.build.engine_sources import engine_sources
from scarplib.build.host_packages import ensure_packages
from scarplib.build.replayer import ensure_replay, mapping_names
from scarplib.errors import UserError
from scarplib.paths import ROOT

DRIVE = ROOT / "devices" / "bench-16g.ini"
# What the issue that asked for this must see, on an idle core of a development machine.
GOALS = {
    "sequential-write": (5e6, 0.0),
    "random-write-gc": (1e6, 6e6),
    "random-read": (4e6, 0.0),
}
# The same work per die and plane, on more of them, and on more of their blocks.
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
    (
        "1 die, 1 TiB",
        "geometry.channels=1,geometry.chips_per_channel=1,"
        "geometry.planes_per_die=1,geometry.blocks_per_plane=1048576",
    ),
    (
        "1,024 dies, 1 TiB",
        "geometry.channels=32,geometry.chips_per_channel=32,"
        "geometry.planes_per_die=1,geometry.blocks_per_plane=1024",
    ),
)

# 1 TiB raw.
TERABYTE = ROOT / "devices" / "hpdc18.ini"
# Room for a hundredth of its 233 million entries, 8 bytes each.
TERABYTE_CACHE = 18_700_000
# Schemes are compared on a quarter of the drive, which ages in a quarter of the time.
SMALL = "geometry.blocks_per_plane=64,ftl.over_provisioning_permille=150"
SCHEME_REQUESTS = 300_000
# With this mapping a random write costs a merge, which is hundreds of flash commands.
MERGING = "random-write-gc"
MERGED_REQUESTS = {"block": 20_000}


@dataclass
class Sample:
    """One run of a load: per second of CPU time, seconds of ageing, MiB at the most, and the bytes
    that a controller would need for its mapping."""

    requests: float
    transactions: float
    calibration: float
    age_s: float
    peak_mib: float
    map_ram: float


def sources(root: Path = ROOT) -> list[Path]:
    """The engine of the checkout at `root`, and at the end the program that measures it."""
    engine = [path for path in engine_sources(root / "ftl") if path.suffix == ".c"]
    return [*engine, root / "tests" / "bench" / "bench-engine.c"]


def _key() -> str:
    return tree_hash([*sources(), *(ROOT / "ftl").rglob("*.h"), RECIPE])[:20]


def ensure_program() -> Path:
    """The program, from the cache or built into it."""
    ensure_packages()
    program = cache_dir() / "bench" / _key() / "bench-engine"
    with locked("bench"):
        if not program.is_file():
            with step("bench-engine"):
                compile_program(program, ROOT / "ftl", sources(), ("glib-2.0",), key=_key)
    return program


def run_bench(*args: str, under: tuple[str, ...] = (), program: Path | None = None) -> str:
    """What the program says (of `program`, or this checkout's); `under` is a tool that runs it."""
    command = [*under, str(program or ensure_program()), *args]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise UserError(done.stderr.strip())
    return done.stdout + (done.stderr if under else "")


def value(output: str, pattern: str) -> float:
    """The number after the pattern, or 0."""
    found = re.search(pattern + r" ([\d.,]+)", output)
    return float(found[1].replace(",", "")) if found else 0.0


def measure(
    load: str,
    overrides: str = "",
    device: Path = DRIVE,
    scheme: str = "baseline",
    requests: int | None = None,
    image: Path | None = None,
) -> Sample:
    """One run in a process of its own; without `requests` as many as the load says."""
    count = [] if requests is None else [str(requests)]
    out = run_bench(str(device), scheme, overrides, load, *count, *([str(image)] if image else []))
    return Sample(
        value(out, "requests/s"), value(out, "transactions/s"), value(out, "loads/s"),
        value(out, "age seconds"), value(out, "peak MiB"), value(out, "mapping RAM bytes"),
    )  # fmt: skip


# The compiler may add a suffix to the function's name, such as ".lto_priv.0".
CALLGRIND = (
    "valgrind", "--tool=callgrind", "--toggle-collect=measured_run*",
    "--callgrind-out-file=/dev/null",
)  # fmt: skip


def collected(text: str) -> float:
    """Instructions that callgrind counted within measured_run()."""
    count = value(text, "Collected :")
    if not count:
        raise UserError("callgrind counted nothing: bench-engine has no function measured_run()")
    return count


def instructions(load: str) -> str:
    """Per flash transaction, as callgrind counts them: the same on any machine, busy or not."""
    if not shutil.which("valgrind"):
        return "not available"
    out = run_bench(
        str(DRIVE), "baseline",
        "geometry.blocks_per_plane=64,ftl.over_provisioning_permille=150", load, "50000",
        under=CALLGRIND,
    )  # fmt: skip
    return f"{collected(out) / max(1.0, value(out, 'transactions')):,.0f}"


def verdict(what: str, reached: float, goal: float, less_is_better: bool = False) -> None:
    """Print whether a goal is met, and the share of it that was reached."""
    ratio = goal / reached if less_is_better else reached / goal
    word = "met" if ratio >= 1 else "missed"
    print(f"  {what}: {word}, {ratio:.0%} of the goal", flush=True)


def names() -> list[str]:
    """What a drive may be asked for: the named schemes, then every policy."""
    return re.findall(r"^([a-z0-9-]+): ", run_bench("list"), re.MULTILINE)


def start_s(rounds: int) -> float:
    """From the replayer's start to the end of one request, on an aged drive in a file."""
    with tempfile.TemporaryDirectory() as folder:
        image = str(Path(folder) / "drive")
        program = [str(ensure_replay()), "--quiet", "--json", "/dev/null"]
        subprocess.run([*program, "-d", str(DRIVE), "--age", "900", "--save", image], check=True)
        took = []
        for _ in range(rounds):
            began = time.monotonic()
            subprocess.run([*program, "-i", image, "-n", "1", "gen:uniform"], check=True)
            took.append(time.monotonic() - began)
    return statistics.median(took)


def growth(rounds: int) -> None:
    """
    Nanoseconds per transaction from the smallest drive to the largest, each in every round, so
    that what else the machine does meets all alike.  Each is aged once, the largest for minutes.
    """
    costs: dict[str, list[float]] = {name: [] for name, _ in SCALES}
    with tempfile.TemporaryDirectory(dir=cache_dir()) as folder:
        for i in range(rounds + 1):
            for n, (name, overrides) in enumerate(SCALES):
                sample = measure(
                    "random-write-gc", overrides, requests=2_000_000, image=Path(folder) / str(n)
                )
                # The first begins with other contents of memory: it only makes the image.
                if i:
                    costs[name].append(1e9 / sample.transactions)
    base = costs[SCALES[0][0]]
    for name, ns in costs.items():
        print(f"{name}: {statistics.median(ns):.0f} ns per flash transaction", flush=True)
        if "1,024" in name or "1 TiB" in name:
            ratio = statistics.median(own / least for own, least in zip(ns, base, strict=True))
            verdict(f"{ratio:.2f} times as much, of 2", ratio, 2, less_is_better=True)


def beside(
    what: str,
    columns: dict[str, tuple[str, str]],
    load: str,
    rounds: int,
    fewer: Mapping[str, int] | None = None,
) -> None:
    """
    CPU time per flash transaction beside baseline's, of each (scheme, keys of the drive): one
    whose collections move more, or whose write amplification is higher, is not slow by that.  In
    turns, so that what the machine does meanwhile is the same for both.  `fewer`: with less
    requests than the others.
    """
    print(f"{what:<16}{'ns/transaction':>15}{'ratio':>7}{'  per request':>14}   ({load}; goal 2.0)")
    for name, (scheme, keys) in columns.items():
        pairs = []
        requests = (fewer or {}).get(name, SCHEME_REQUESTS)
        try:
            for _ in range(rounds):
                base = measure(load, SMALL, requests=SCHEME_REQUESTS)
                own = measure(load, f"{SMALL},{keys}".rstrip(","), scheme=scheme,
                              requests=requests)  # fmt: skip
                pairs.append((base, own))
        except UserError as error:
            print(f"{name:<16}not on this drive: {error}")
            continue
        ns = statistics.median(1e9 / own.transactions for _, own in pairs)
        ratio = statistics.median(b.transactions / own.transactions for b, own in pairs)
        each = statistics.median(b.requests / own.requests for b, own in pairs)
        mark = "" if ratio <= 2 else "  missed"
        print(f"{name:<16}{ns:>15.0f}{ratio:>7.2f}{each:>14.2f}{mark}", flush=True)


def loads(rounds: int) -> None:
    """The three loads beside their goals, ageing, start and memory."""
    print(
        f"{'load':<20}{'requests/s':>12}{'transactions/s':>16}{'per calibration':>17}"
        f"{'instructions':>14}"
    )
    age: list[float] = []
    peak = 0.0
    for load, (requests, transactions) in GOALS.items():
        samples = [measure(load) for _ in range(rounds)]
        rate = statistics.median(s.requests for s in samples)
        flash = statistics.median(s.transactions for s in samples)
        relative = statistics.median(s.requests / s.calibration for s in samples)
        print(
            f"{load:<20}{rate:>12,.0f}{flash:>16,.0f}{relative:>17.3f}{instructions(load):>14}",
            flush=True,
        )
        verdict(f"{requests / 1e6:g} M requests/s", rate, requests)
        if transactions:
            verdict(f"{transactions / 1e6:g} M transactions/s", flash, transactions)
        age += [s.age_s for s in samples if s.age_s]
        peak = max(peak, *(s.peak_mib for s in samples))
    calibration = statistics.median(s.calibration for s in samples)
    print(f"calibration: {calibration / 1e6:.1f} M dependent loads/s; rates are of CPU time")
    print(f"age 16 GiB to steady state: {statistics.median(age):.2f} s")
    verdict("1 s", statistics.median(age), 1, less_is_better=True)
    start = start_s(rounds)
    print(f"start from an image of it: {start:.2f} s")
    verdict("1 s", start, 1, less_is_better=True)
    print(f"peak memory, 16 GiB: {peak:.0f} MiB")
    verdict("64 MiB", peak, 64, less_is_better=True)
    memory("page")


def memory(mapping: str) -> float:
    """Of a drive of 1 TiB: the host's, with its goal; returns what its controller would need."""
    # Ageing writes to tables that are there before it: it takes minutes and hardly any memory.
    sample = measure("sequential-write", f"ftl.unit_bytes=4096,ftl.mapping={mapping}", TERABYTE)
    share = sample.peak_mib / (1 << 20)
    print(f"peak memory, 1 TiB, 4 KiB units, {mapping}: {sample.peak_mib:,.0f} MiB = {share:.4%}")
    verdict("0.25 % of raw", share, 0.0025, less_is_better=True)
    return sample.map_ram


def schemes(rounds: int) -> None:
    """Every scheme and policy beside baseline."""
    beside("scheme", {name: (name, "") for name in names()}, "random-write-gc", rounds)


def mappings(rounds: int) -> None:
    """Every mapping beside page, in time and in memory."""
    mapped = {name: ("baseline", f"ftl.mapping={name}") for name in mapping_names()}
    for load in GOALS:
        beside("mapping", mapped, load, rounds, MERGED_REQUESTS if load == MERGING else None)
    ram = memory(f"demand,ftl.map_cache_bytes={TERABYTE_CACHE}")
    print(f"RAM of a controller with it: {ram / 1e6:.1f} MB = {ram / (1 << 40):.4%}")
    verdict("0.02 % of raw", ram / (1 << 40), 0.0002, less_is_better=True)


PARTS = {"loads": loads, "growth": growth, "schemes": schemes, "mappings": mappings}


def main(rounds: int, only: str = "") -> int:
    """Print every figure beside its goal, or those of one part; tests judge, this does not."""
    for name, part in PARTS.items():
        if only in ("", name):
            part(rounds)
    return 0
