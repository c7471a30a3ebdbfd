# SPDX-License-Identifier: GPL-2.0-or-later
"""A run's files without a run: what a guest and the device would have left.

The latencies come from a toy drive, enough to give the report a cliff to draw.
"""

from __future__ import annotations

import json
import random
import struct
import tempfile
from pathlib import Path
from typing import Any

from scarplib.device_logs import log_page
from scarplib.device_logs.command_log import CAUSES
from scarplib.results import fio
from scarplib.results.fio_figures import figures

BEGIN_NS = 5_000_000_000
READ_NS, WRITE_NS, GC_NS = 80_000, 700_000, 9_000_000
EVENTS_FIRST = 1 << 30
UNSEEN = 0x80


def command(submit: int, op: int, causes: dict[str, int], status: int = 0) -> bytes:
    """A row of the command log."""
    total = sum(causes.values())
    values = [causes.get(name, 0) for name in CAUSES]
    return struct.pack(
        f"<qqQIBBHIIq{len(CAUSES)}q",
        *(submit, submit + total, 4096, 4096, op, status, 0, 1, EVENTS_FIRST, 0, *values),
    )


def stats_page(scheme: str, now_ns: int, values: dict[str, int]) -> bytes:
    names = log_page.fields()
    head = struct.pack("<8sIIQQ32s", b"SCARPST1", 1, len(names), now_ns, 0, scheme.encode())
    return head + struct.pack(f"<{len(names)}Q", *(values.get(name, 0) for name in names))


def fio_run(*jobs: dict[str, Any]) -> fio.FioRun:
    """What is loaded of fio's JSON with these jobs."""
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "fio.json"
        path.write_text(json.dumps({"jobs": list(jobs)}))
        return fio.load_fio(path)


def fio_figures(direction: str, *jobs: dict[str, Any]) -> dict[str, Any] | None:
    """One direction of these jobs of fio's JSON, as a summary has it."""
    return figures(fio_run(*jobs).jobs, direction)


def fio_part(latencies: list[int], seconds: float) -> dict[str, Any]:
    bins: dict[str, int] = {}
    for value in latencies:
        bins[str(value)] = bins.get(str(value), 0) + 1
    n = len(latencies)
    stats = {"min": 0, "max": max(latencies), "mean": sum(latencies) / n, "N": n, "bins": bins}
    return {"total_ios": n, "iops": n / seconds, "lat_ns": stats, "clat_ns": {"N": 0}}


def write_scheme(folder: Path, scheme: str, count: int = 4000, gc: bool = True) -> None:
    """One guest's folder; with gc, some commands wait for a collecting die."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = random.Random(7)
    now, rows, runs = BEGIN_NS, [], []
    latencies: dict[int, list[int]] = {0: [], 1: []}
    # Boot-time reads that no table may count.
    rows.append(command(1000, 0, {"array": 123}))
    busy: dict[int, int] = {}
    for _ in range(count):
        now += rng.randrange(20_000, 120_000)
        op = int(rng.random() > 0.7)
        die = rng.randrange(8)
        if rng.random() < 0.004:
            length = GC_NS if gc else 0
            runs.append((now, now + length, die, die, rng.randrange(64), 40))
            busy[die] = now + length
        wait = max(0, busy.get(die, 0) - now)
        causes = {"controller": 2_000, "transfer": 25_000, "link": 500}
        causes["array"] = (WRITE_NS if op else READ_NS) + rng.randrange(5000)
        if wait:
            causes["die_gc_program"] = wait * 3 // 4
            causes["die_erase"] = wait - wait * 3 // 4
        elif rng.random() < 0.2:
            causes["die_host_program"] = rng.randrange(WRITE_NS)
        rows.append(command(now, op, causes))
        latencies[op].append(sum(causes.values()))
    end = now + 50_000_000
    # In flight when the guest ended: for a replay, not for the report.
    rows.append(command(end - 1, 1, {"array": 123_456_789}, UNSEEN))
    head = struct.pack("<8sIIQ8x", b"SCARPCM1", len(rows[0]), len(CAUSES), 3)
    (folder / "cmd.bin").write_bytes(head + b"".join(rows))
    head = struct.pack("<8sII16x", b"SCARPGC1", 32, 0)
    body = b"".join(struct.pack("<qqIIII", *run) for run in runs)
    (folder / "gc.bin").write_bytes(head + body)
    values = {
        "cmds_accepted": count,
        "cmds_completed": count,
        "reads": len(latencies[0]),
        "writes": len(latencies[1]),
        "host_written_units": len(latencies[1]),
        "host_page_programs": len(latencies[1]),
        "gc_runs": len(runs),
        "gc_moved_units": 40 * len(runs),
        "gc_page_programs": 40 * len(runs),
    }
    (folder / "stats-begin.bin").write_bytes(stats_page(scheme, BEGIN_NS, {}))
    (folder / "stats-end.bin").write_bytes(stats_page(scheme, end, values))
    seconds = (end - BEGIN_NS) / 1e9
    job = {
        "jobname": "mixed",
        "error": 0,
        "job options": {"direct": "1"},
        "read": fio_part(latencies[0], seconds),
        "write": fio_part(latencies[1], seconds),
    }
    (folder / "fio.json").write_text("fio: a note before the JSON\n" + json.dumps({"jobs": [job]}))


def image() -> bytes:
    """Of a drive image only what the scripts read: seven units, three of them used."""
    layout = b"geometry.channels=1\nftl.unit_bytes=4096\n"
    p2l = struct.pack("<7I", 0, 2, *([2**32 - 1] * 4), 1)
    sections = ((b"layout", layout), (b"state", b"?" * 9), (b"p2l", p2l))
    table = b"".join(struct.pack("<8sQ16x", name, len(data)) for name, data in sections)
    body = table + b"".join(data for _, data in sections)
    return struct.pack("<8sIIQ16x", b"SCARPIMG", 1, len(sections), 40 + len(body)) + body
