# SPDX-License-Identifier: GPL-2.0-or-later
"""The guest's requests beside the drive's command log, on the one virtual clock.

For a call such as fsync: which requests it stood behind, one after the other, and what each of them
waited for, in the guest and in the drive.
"""

from __future__ import annotations

import bisect
import csv
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scarplib.device_logs.command_log import ALL_CAUSES, OPS, Commands
from scarplib.device_logs.log_file import LogError
from scarplib.results.block_trace import SECTOR, Call, Request, Trace
from scarplib.results.causes import CAUSE_LABELS, SMALL_SHARE, tail_shares
from scarplib.results.units import human_ns

# Of the calls, and of the requests, in thousandths.
CALLS_PERMILLE, REQUESTS_PERMILLE = 10, 1
# What passes outside of the drive.
GUEST = {
    "guest": "guest: no request of its own",
    "block": "guest: in the block layer",
    "driver": "guest: driver and interrupt",
}
LABELS = {**GUEST, **CAUSE_LABELS}
_OP = {"R": "read", "W": "write", "D": "deallocate", "F": "flush"}
# In blk.txt: calls, and which of their steps are long enough to be told, in thousandths of a call.
_SHOWN = 10
_TOLD_PERMILLE = 5
CSV, TEXT = "requests.csv", "blk.txt"

# Between a request's end and what its waiter does then, at most (ns).
_NEAR_NS = 200_000

# Nanoseconds by cause, zeroes left out.
Shares = dict[str, int]


@dataclass
class Step:
    """A part of the time that a call took; without a request nothing of it was in flight."""

    begin: int
    end: int
    # "guest", "block": before the driver had the request; "drive": until it had completed.
    where: str
    request: Request | None = None


@dataclass
class Joined:
    """A recording whose requests know their commands."""

    trace: Trace
    commands: Commands
    # The least time from a request's issue to its command's submission, and from the command's
    # end to the request's (ns); None: no request has a command.
    behind_ns: int | None
    before_ns: int | None

    @property
    def unmatched(self) -> int:
        """Requests without a command."""
        return sum(request.command is None for request in self.trace.requests)


def _found(
    commands: Commands, at: dict[tuple[str, int], list[int]], taken: set[int], request: Request
) -> list[int]:
    """The rows that make up a request, or none.

    A deallocation may have several ranges, of which the block layer's event says only where the
    first begins and how long all are: the kernel cuts a discard where the drive's granularity
    begins, and merges the parts again.
    """
    first, length = request.sector * SECTOR, request.sectors * SECTOR
    found: list[int] = []
    done = 0
    while not found or done < length:
        rows = at[_OP[request.op], first + done]
        earliest = commands.submit[found[-1]] if found else request.issue
        for row in rows[bisect.bisect_left(rows, earliest, key=lambda r: commands.submit[r]) :]:
            if commands.submit[row] > request.complete:
                return []
            size = 0 if request.op == "F" else commands.length[row]
            fits = size <= length - done if request.op == "D" else size == length
            free = row not in taken and row not in found
            if fits and free and commands.complete[row] <= request.complete:
                found.append(row)
                done += size
                break
        else:
            return []
    return found


def join(trace: Trace, commands: Commands) -> Joined:
    """Find each request's command: the same place, submitted after the driver had it and before
    the kernel saw its end.  Both clocks are the machine's virtual time."""
    at: dict[tuple[str, int], list[int]] = defaultdict(list)
    for row, code in enumerate(commands.op):
        op = OPS[code]
        offset = 0 if op == "flush" else commands.offset[row]
        at["write" if op == "write_zeroes" else op, offset].append(row)
    for rows in at.values():
        rows.sort(key=lambda row: (commands.submit[row], row))
    behind: list[int] = []
    before: list[int] = []
    taken: set[int] = set()
    for request in sorted(trace.requests, key=lambda r: r.issue):
        rows = _found(commands, at, taken, request)
        if rows:
            taken.update(rows)
            *request.ranges, request.command = rows
            behind.append(commands.submit[rows[0]] - request.issue)
            before.append(request.complete - commands.complete[rows[-1]])
    joined = Joined(trace, commands, min(behind, default=None), min(before, default=None))
    if 2 * joined.unmatched > len(trace.requests):
        raise LogError(
            f"--trace blk: {joined.unmatched} of {len(trace.requests)} requests of the guest are "
            "not in the drive's command log: their clocks are not the same"
        )
    return joined


def shares(joined: Joined, request: Request) -> Shares:
    """Where a request's time went, from its first bio to its end; they add up to it."""
    found = {"block": request.issue - request.queue, **drive_shares(joined, request)}
    return {name: ns for name, ns in found.items() if ns}


def drive_shares(joined: Joined, request: Request) -> Shares:
    """From its issue to its end: the driver, and the causes of its command."""
    whole, row = request.complete - request.issue, request.command
    if row is None:
        return {"driver": whole}
    commands, rows = joined.commands, [*request.ranges, row]
    causes = {
        name: sum(column[row] for row in rows) for name, column in commands.by_cause().items()
    }
    driver = whole - sum(commands.complete[row] - commands.submit[row] for row in rows)
    return {name: ns for name, ns in {"driver": driver, **causes}.items() if ns}


def _before(joined: Joined, flush: Request) -> Request | None:
    """The write that a flush waited for in the drive: of those on their way, what ended last."""
    commands, row = joined.commands, flush.command
    if row is None:
        return None
    found = [
        r
        for r in joined.trace.requests
        if r.op == "W"
        and r.command is not None
        and commands.submit[r.command] <= commands.submit[row]
        and commands.submit[row] < commands.complete[r.command] <= commands.complete[row]
    ]
    return max(found, key=lambda r: commands.complete[r.command or 0], default=None)


class Waits:
    """Finds what calls stood behind."""

    def __init__(self, joined: Joined) -> None:
        self.joined = joined
        self._ends = [request.complete for request in joined.trace.requests]
        self._callers = {call.pid for call in joined.trace.calls}

    def _last_before(self, call: Call, after: int, until: int) -> Request | None:
        """The request that ended last in (after, until], and that the call may have waited for.

        Other threads' reads are none.  What other callers wrote is one, as a journal may be common
        to both, unless a nearer one ended hardly earlier: the call's own, or the kernel's threads'.
        """
        others = self._callers - {call.pid}
        foreign: Request | None = None
        at = bisect.bisect_right(self._ends, until)
        while at and self._ends[at - 1] > after:
            at -= 1
            request = self.joined.trace.requests[at]
            if foreign and foreign.complete - request.complete > _NEAR_NS:
                break
            if request.pid == call.pid or (request.op != "R" and request.pid not in others):
                return request
            if request.op != "R" and not foreign:
                foreign = request
        return foreign

    def steps(self, call: Call) -> list[Step]:
        """Backwards from its end: what ended last, what that had waited for, and so on."""
        found: list[Step] = []
        now = call.end

        def step(begin: int, where: str, request: Request | None = None) -> None:
            nonlocal now
            begin = max(begin, call.begin)
            if begin < now:
                found.append(Step(begin, now, where, request))
                now = begin

        while now > call.begin:
            request = self._last_before(call, call.begin, now)
            if not request:
                break
            step(request.complete, "guest")
            step(request.issue, "drive", request)
            # One that ended while this waited, such as the flush before it, is why it waited.
            if not self._last_before(call, max(request.queue, call.begin), now):
                step(request.queue, "block", request)
        step(call.begin, "guest")
        return found[::-1]

    def call_shares(self, call: Call) -> Shares:
        """Where a call's time went; they add up to it."""
        total: Shares = defaultdict(int)
        for step in self.steps(call):
            span = step.end - step.begin
            if not step.request or step.where != "drive":
                total[step.where] += span
                continue
            # The causes have no order in time: of a request that was on its way before the call,
            # each counts in proportion.
            whole = step.request.complete - step.request.issue
            left = span
            for name, ns in drive_shares(self.joined, step.request).items():
                part = ns * span // whole
                total[name] += part
                left -= part
            total["driver"] += left
        return {name: ns for name, ns in total.items() if ns}


def slowest_calls(calls: Iterable[Call], most: int) -> list[Call]:
    """The slowest first."""
    return sorted(calls, key=lambda call: (call.begin - call.end, call.begin))[:most]


def _tail(latencies: Sequence[int], found: Sequence[Shares]) -> dict[str, Any]:
    causes: Shares = defaultdict(int)
    for each in found:
        for name, ns in each.items():
            causes[name] += ns
    ordered = {name: causes[name] for name in LABELS if causes[name]}
    return {
        "count": len(latencies),
        "mean_ns": sum(latencies) // len(latencies),
        "cause_ns": ordered,
    }


def summary(joined: Joined) -> dict[str, Any]:
    """The recording's part of a summary."""
    trace = joined.trace
    out: dict[str, Any] = {
        "requests": len(trace.requests),
        "without_command": joined.unmatched,
        "lost_events": trace.lost,
        "clock_behind_ns": joined.behind_ns,
        "clock_before_ns": joined.before_ns,
        "calls": len(trace.calls),
        "call_tail": None,
        "request_tail": None,
    }
    if trace.calls:
        waits = Waits(joined)
        chosen = slowest_calls(trace.calls, max(1, len(trace.calls) * CALLS_PERMILLE // 1000))
        out["call_tail"] = _tail(
            [c.end - c.begin for c in chosen], [waits.call_shares(c) for c in chosen]
        )
    if trace.requests:
        most = max(1, len(trace.requests) * REQUESTS_PERMILLE // 1000)
        slow = sorted(trace.requests, key=lambda r: (r.queue - r.complete, r.queue))[:most]
        out["request_tail"] = _tail(
            [r.complete - r.queue for r in slow], [shares(joined, r) for r in slow]
        )
    return out


def words(found: Shares, most: int = 3) -> str:
    """The greatest of them: "85 % die: GC program, 9 % guest: in the block layer"."""
    total = sum(found.values()) or 1
    named = sorted(found.items(), key=lambda item: -item[1])[:most]
    parts = [(100 * ns / total, LABELS[name]) for name, ns in named]
    return ", ".join(f"{share:.0f} % {label}" for share, label in parts if share >= 1)


def place(request: Request) -> str:
    """What a request is, in words."""
    if request.op == "F":
        return "flush"
    kib = request.sectors * SECTOR / 1024
    return f"{_OP[request.op]} {kib:g} KiB at {request.sector * SECTOR / 1024:,.0f} KiB"


def call_text(waits: Waits, call: Call) -> list[str]:
    """A call and its steps, a line each."""
    lines = [
        f"{call.name} of {call.thread} ({call.pid}) at {call.begin:,} ns: "
        f"{human_ns(call.end - call.begin)}: {words(waits.call_shares(call))}"
    ]
    for step in waits.steps(call):
        span = step.end - step.begin
        short = span * 1000 < (call.end - call.begin) * _TOLD_PERMILLE
        if short and step.where != "drive":
            continue
        head = f"  at {human_ns(step.begin - call.begin):>8} for {human_ns(span):>8}  "
        if not step.request:
            lines.append(f"{head}{GUEST['guest']}")
            continue
        what = f"{place(step.request)} ({step.request.flags}, {step.request.thread})"
        why = GUEST["block"] if step.where == "block" else ""
        if step.where == "drive":
            why = words(drive_shares(waits.joined, step.request))
            if step.request.op == "F" and (write := _before(waits.joined, step.request)):
                found = words(drive_shares(waits.joined, write))
                why += f" (behind {place(write)}, {write.thread}: {found})"
        lines.append(f"{head}{what}: {why}")
    return lines


def rows(summaries: Sequence[dict[str, Any]]) -> list[tuple[str, list[str]]]:
    """The table's rows; none where no guest was recorded."""
    found = [summary.get("block") or {} for summary in summaries]
    out: list[tuple[str, list[str]]] = []
    for key, label in (
        ("call_tail", f"slowest {CALLS_PERMILLE / 10:g} % of calls such as fsync: their time"),
        (
            "request_tail",
            f"slowest {REQUESTS_PERMILLE / 10:g} % of the guest's requests: their time",
        ),
    ):
        tails = [each.get(key) for each in found]
        if not any(tails):
            continue
        out.append((label, []))
        out.append(("  mean of them", [human_ns(t["mean_ns"]) if t else "–" for t in tails]))
        of = [tail_shares(tail) for tail in tails]
        named = [name for name in LABELS if any(s.get(name, 0) >= SMALL_SHARE for s in of)]
        for name in named:
            out.append((f"  {LABELS[name]}", [f"{s.get(name, 0):.0f} %" if s else "–" for s in of]))
        rest = [100 - sum(s.get(name, 0) for name in named) if s else None for s in of]
        out.append(("  anything else", ["–" if r is None else f"{abs(r):.0f} %" for r in rest]))
    if any(each.get("lost_events") for each in found):
        out.append(("events that the recording had no room for", []))
        out.append(("  events", [f"{each.get('lost_events', 0):,}" for each in found]))
    return out


def write(joined: Joined, folder: Path) -> None:
    """What a recording leaves in the guest's folder, for people and for programs."""
    write_text(joined, folder / TEXT)
    write_csv(joined, folder / CSV)


def write_text(joined: Joined, path: Path) -> None:
    """The slowest calls, each with what it stood behind."""
    waits = Waits(joined)
    shown = slowest_calls(joined.trace.calls, _SHOWN)
    lines = [line for call in shown for line in call_text(waits, call)]
    path.write_text("\n".join(lines or ["No call such as fsync was made."]) + "\n")


def write_csv(joined: Joined, path: Path) -> None:
    """A row for each request: when, what, whose, and where its time went."""
    fixed = ["queue_ns", "issue_ns", "complete_ns", "op", "flags", "sector", "sectors"]
    with path.open("w", newline="") as stream:
        rows = csv.writer(stream, lineterminator="\n")
        lacking = set(ALL_CAUSES) - set(joined.commands.by_cause()) | {"guest"}
        names = [name for name in LABELS if name not in lacking]
        rows.writerow([*fixed, "pid", "thread", *(f"{name}_ns" for name in names)])
        for r in joined.trace.requests:
            found = shares(joined, r)
            head = [r.queue, r.issue, r.complete, _OP[r.op], r.flags, r.sector, r.sectors]
            rest = [found.get(name, 0) for name in names]
            rows.writerow([*head, r.pid, r.thread, *rest])
