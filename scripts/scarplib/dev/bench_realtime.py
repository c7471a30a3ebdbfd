# SPDX-License-Identifier: GPL-2.0-or-later
"""`make bench-realtime`: the engine's thread and its rings against the host's clock.

A test client takes the place of QEMU and the guest: two threads, on two cores if there are two.
What another machine on the same host took away is printed with each figure.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scarplib.build.cache import cache_dir, locked, step, tree_hash
from scarplib.build.compile import RECIPE, compile_program
from scarplib.build.engine_object import ensure_engine
from scarplib.build.engine_sources import engine_sources
from scarplib.build.host_packages import ensure_packages
from scarplib.dev.bench_engine import DRIVE
from scarplib.errors import UserError
from scarplib.guest.host_load import HostLoad, host_ticks
from scarplib.guest.vm import cpu_seconds
from scarplib.paths import ROOT
from scarplib.results.units import human_ns

SHIM = ROOT / "tests" / "bench" / "shim"
# A drive that takes no time: the model must not be what limits the rate.
QUICK = (
    "timing.read_ns=0,timing.program_ns=0,timing.erase_ns=0,timing.command_ns=0,"
    "timing.channel_mts=100000,controller.firmware_ns=0,controller.link_mbs=1000000"
)
# What the device polls for at most with priority.
SPIN_NS = 200_000
# Files of measure()'s folder.
LATENESS, HOST = "lateness.csv", "load.csv"
# Between two looks at the host: each takes a core for a moment, which the test wants for itself.
_LOAD_S = 0.5


@dataclass(frozen=True)
class Load:
    """A test; a rate of 0 keeps 128 commands in flight."""

    name: str
    operation: str
    rate: int
    # Of the capacity: what has data, and is read and written.
    used_permille: int = 1000
    # Goals on two idle cores; 0: none.
    per_second: float = 0
    p50_ns: int = 0
    p99_ns: int = 0


LOADS = (
    Load("random reads, 128 in flight", "reads", 0, per_second=1e6),
    # As `make bench` has it.
    Load("random writes in GC, 90 % of the drive, 128 in flight", "writes", 0, 900, 0.5e6),
    Load("random writes in GC, the whole drive, 128 in flight", "writes", 0),
    Load("200,000 random reads per second", "reads", 200_000, p50_ns=3_000, p99_ns=20_000),
)


def _sources() -> list[Path]:
    own = [ROOT / "hw" / name for name in ("flash-port.c", "flash-rt-thread.c")]
    return [*own, ROOT / "tests" / "bench" / "bench-realtime.c"]


def _key() -> str:
    headers = [*(ROOT / "hw").glob("flash-*.h"), *SHIM.rglob("*.h")]
    return tree_hash([*_sources(), *engine_sources(ROOT / "ftl"), *headers, RECIPE])[:20]


def ensure_program() -> Path:
    """The program, from the cache or built into it."""
    ensure_packages()
    program = cache_dir() / "bench" / _key() / "bench-realtime"
    with locked("bench"):
        if not program.is_file():
            with step("bench-realtime"):
                compile_program(
                    program, ROOT / "ftl", _sources(), ("glib-2.0",), (SHIM, ROOT / "hw"), _key,
                    [ensure_engine()],
                )  # fmt: skip
    return program


def _output(command: list[str], load: HostLoad | None) -> str:
    """What it prints; meanwhile the host's load is written, if that is wanted."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        while True:
            if load:
                load.sample(cpu_seconds(process.pid))
            try:
                out, error = process.communicate(timeout=_LOAD_S if load else None)
                break
            except subprocess.TimeoutExpired:
                pass
    if load:
        load.close()
    if process.returncode:
        raise UserError(error.decode(errors="replace").strip())
    return out.decode()


def measure(
    program: Path, load: Load, seconds: int, over_time: Path | None = None
) -> dict[str, Any]:
    """One round; the share of the machine's time that was stolen meanwhile, in addition.

    over_time: a folder for lateness and the host's load in the course of it.
    """
    command = [str(program), str(DRIVE), QUICK, load.operation, str(load.used_permille)]
    command += [str(load.rate), str(SPIN_NS), str(seconds)]
    host = None
    if over_time:
        command.append(str(over_time / LATENESS))
        host = HostLoad(over_time / HOST, every_ns=0)
    before = host_ticks()
    found: dict[str, Any] = json.loads(_output(command, host))
    after = host_ticks()
    found["stolen_share"] = (after.stolen - before.stolen) / max(after.all - before.all, 1)
    return found


def line(result: dict[str, Any]) -> str:
    """One round for people."""
    late = ", ".join(
        f"{name} {human_ns(result[f'late_{name}_ns'])}" for name in ("p50", "p99", "p99_9", "max")
    ).replace("p99_9", "p99.9")
    # On a busy host this is nearer to what an idle one does.
    of_cpu = result["per_second"] / max(result["thread_cpu_share"], 1e-4)
    # What collections moved, beside what was written; reads cause none.
    moved = result["gc_moved_units"] / max(result["completed"], 1)
    gc = f", {moved:.1f} units moved for each" if moved else ""
    return (
        f"{result['per_second']:11,.0f} /s{gc} ({of_cpu:,.0f} per second of the thread's processor "
        f"time)  late: {late};  thread "
        f"{100 * result['thread_cpu_share']:.0f} % of a core, behind "
        f"{100 * result['behind_share']:.1f} %, {'with' if result['priority'] else 'without'} "
        f"priority, stolen {100 * result['stolen_share']:.1f} %"
    )


def _goals(load: Load, rounds: list[dict[str, Any]]) -> list[str]:
    found = []
    for key, goal in (("late_p50_ns", load.p50_ns), ("late_p99_ns", load.p99_ns)):
        if goal:
            median = statistics.median(r[key] for r in rounds)
            verdict = "met" if median <= goal else "missed"
            name = key.split("_")[1]
            found.append(f"{name} {human_ns(median)}, wanted {human_ns(goal)}: {verdict}")
    if load.per_second:
        median = statistics.median(r["per_second"] for r in rounds)
        verdict = "met" if median >= load.per_second else "missed"
        found.append(f"{median:,.0f} /s, wanted {load.per_second:,.0f}: {verdict}")
    return found


def main(rounds: int, seconds: int) -> int:
    """Print each round, and the medians beside the goals."""
    program = ensure_program()
    load = os.getloadavg()[0]
    if load > 0.5 or (os.cpu_count() or 1) < 2:
        print(f"note: {os.cpu_count()} cores, load {load:.1f}: the figures are of a busy host")
    for each in LOADS:
        print(each.name)
        results = []
        for _ in range(rounds):
            results.append(measure(program, each, seconds))
            print(f"  {line(results[-1])}", flush=True)
        if goals := _goals(each, results):
            print(f"  median: {'; '.join(goals)}")
    return 0
