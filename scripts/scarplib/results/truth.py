# SPDX-License-Identifier: GPL-2.0-or-later
"""What the guest was given on the host's clock, beside what the model wanted.

The commands of a run are replayed on virtual time, each at the moment at which its doorbell was
seen.  The replay's latencies are those of a host that is never late.  Two things differ: the
guest's commands came to the engine later, and their completions were posted later.
"""

from __future__ import annotations

import bisect
import struct
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scarplib.build.first_answer import first_replay
from scarplib.device_logs import command_log
from scarplib.device_logs.command_log import ORDER_SEQ, READ, WRITE
from scarplib.device_logs.lateness_log import Completion, completions
from scarplib.device_logs.log_file import HEADER, LogError, rows
from scarplib.drive.start import Start
from scarplib.guest.host_load import stretches
from scarplib.results.percentiles import percentile

_POINTS = ("50", "99", "99.9")
_SUBMIT, _ORDER = 0, 8


def _arrivals(log: Path, late: dict[int, Completion], target: Path) -> list[Completion | None]:
    """Write the log with each command's arrival for its submission; its commands, in that order.

    A command without a completion, such as one in flight at the end, keeps its time.
    """
    found = []
    layout = command_log.layout(log)
    for row in rows(log, layout):
        completion = late.get(row[_ORDER] & ORDER_SEQ)
        at = completion.arrived if completion else row[_SUBMIT]
        found.append((at, row[_ORDER] & ORDER_SEQ, row, completion))
    found.sort(key=lambda each: each[:2])
    with target.open("wb") as stream:
        stream.write(HEADER.pack(layout.magic, layout.row.size, layout.causes, layout.version))
        for number, (at, _, row, _) in enumerate(found):
            changed = list(row)
            changed[_SUBMIT] = at
            changed[_ORDER] = row[_ORDER] & ~ORDER_SEQ | number
            stream.write(layout.row.pack(*changed))
    return [completion for *_, completion in found]


def _wanted(log: Path) -> list[int]:
    """Latencies of a replay's log, in the order of submission."""
    found = [
        (row[_SUBMIT], row[_ORDER] & ORDER_SEQ, row[1] - row[0])
        for row in rows(log, command_log.layout(log))
    ]
    return [latency for *_, latency in sorted(found)]


def _figures(ordered: Sequence[int]) -> dict[str, int]:
    return {f"p{point}_ns": percentile(ordered, point) for point in _POINTS}


def distance(given: Sequence[int], wanted: Sequence[int]) -> int:
    """Mean difference of equally ranked values: how far one would be moved to be the other."""
    pairs = zip(sorted(given), sorted(wanted), strict=True)
    return sum(abs(a - b) for a, b in pairs) // len(given)


class _IdleHost:
    """When the host had nothing else to do, as load.csv has it."""

    def __init__(self, path: Path) -> None:
        self.ends: list[int] = []
        self.begin = 0
        # How many of the stretches up to this one were not idle.
        self.busy = [0]
        for each in stretches(path) if path.is_file() else ():
            self.begin = self.begin or each.begin_ns
            self.ends.append(each.end_ns)
            self.busy.append(self.busy[-1] + (not each.idle))

    def during(self, c: Completion) -> bool:
        """From its doorbell until it was posted."""
        first = bisect.bisect_left(self.ends, c.host - (c.posted - c.arrived))
        last = bisect.bisect_left(self.ends, c.host)
        if last == len(self.ends) or c.host - (c.posted - c.arrived) < self.begin:
            return False
        return self.busy[last + 1] == self.busy[first]


def _both(pairs: Sequence[tuple[int, int]]) -> dict[str, Any]:
    given, model = [a for a, _ in pairs], [b for _, b in pairs]
    each = sorted(abs(a - b) for a, b in pairs)
    return {
        "count": len(pairs),
        "given": _figures(sorted(given)),
        "wanted": _figures(sorted(model)),
        "distance_ns": distance(given, model),
        "each": {f"p{p}_ns": percentile(each, p) for p in ("50", "90", "99")},
    }


def compare(folder: Path, start: Start, begin_ns: int, end_ns: int) -> dict[str, Any]:
    """By operation, of the commands that arrived in that time; raises LogError."""
    late = {c.seq & ORDER_SEQ: c for c in completions(folder / "late.bin")}
    with tempfile.TemporaryDirectory(prefix="scarp-truth-") as scratch:
        arrivals, again = Path(scratch) / "arrivals.bin", Path(scratch) / "again.bin"
        try:
            order = _arrivals(folder / "cmd.bin", late, arrivals)
        except struct.error as error:
            raise LogError(f"{folder / 'cmd.bin'}: {error}") from error
        command = [str(first_replay()), "--quiet", *start.words(), "--json", "/dev/null"]
        command += ["--cmd-log", str(again), str(arrivals)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise LogError(f"{folder}: the replay failed: {done.stderr.strip()}")
        wanted = _wanted(again)
    if len(wanted) != len(order):
        raise LogError(f"{folder}: {len(order)} commands, of which {len(wanted)} were replayed")
    found: dict[str, Any] = {}
    host = _IdleHost(folder / "load.csv")
    for name, op in (("read", READ), ("write", WRITE)):
        chosen = [
            (c, latency)
            for c, latency in zip(order, wanted, strict=True)
            if c and not c.part and c.op == op and begin_ns <= c.arrived <= end_ns
        ]
        if not chosen:
            continue
        found[name] = _both([(c.posted - c.arrived, latency) for c, latency in chosen])
        idle = [(c.posted - c.arrived, latency) for c, latency in chosen if host.during(c)]
        if idle:
            found[name]["idle_host"] = _both(idle)
    return found
