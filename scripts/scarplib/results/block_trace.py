# SPDX-License-Identifier: GPL-2.0-or-later
"""What `--trace blk` recorded in the guest: the block layer's requests, and the calls that wait."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from scarplib.device_logs.log_file import LogError
from scarplib.guest.block_trace import FILE, LOST

SECTOR = 512
# Reads, writes, discards, flushes; what is passed through (N) is no request of the block layer's.
OPERATIONS = "RWDF"
_LINE = re.compile(r"\s*(.+)-(\d{1,10})\s+\[\d+\]\s+\S+\s+(\d{1,20}): (\w+)(.*)")
# Device, flags, bytes of a request that is issued, its command, sector, sectors.
_BLOCK = re.compile(r": \d+,\d+ (\w+)(?: \d+)?(?: \(.*?\))? (\d{1,20}) \+ (\d{1,10})(?!\d)")
_FLUSH_SECTOR = 0


@dataclass
class Request:
    """What the block layer gave to the driver; times are ns of the guest's clock.

    `flags`: as the kernel prints them.  `op`: R, W, D (discard), F (flush).  `thread` queued the
    first of its bios, and `queue` is when.
    """

    queue: int
    issue: int
    complete: int
    op: str
    flags: str
    sector: int
    sectors: int
    pid: int
    thread: str
    # Its row of the command log, once it is found: of a deallocation's ranges, the last one's.
    command: int | None = None
    # The rows of the ranges before.
    ranges: list[int] = field(default_factory=list)


@dataclass
class Call:
    """A system call that waits until data is durable."""

    begin: int
    end: int
    name: str
    pid: int
    thread: str


@dataclass
class Trace:
    """In the order of completion, and of the calls' ends; `lost`: events without room."""

    requests: list[Request] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    lost: int = 0


@dataclass
class _Bio:
    time: int
    pid: int
    thread: str


def operation(flags: str) -> tuple[str, bool]:
    """R, W, D, F or another, and whether a flush goes before it, of flags such as FWFS."""
    before = len(flags) > 1 and flags[0] == "F"
    return flags[before], before


class _Reader:
    def __init__(self) -> None:
        self.trace = Trace()
        # Queued, by operation: of each bio its sector, sectors, and who.
        self.queued: dict[str, dict[int, tuple[int, _Bio]]] = defaultdict(dict)
        self.flushes: list[_Bio] = []
        self.issued: dict[tuple[str, int, int], list[Request]] = defaultdict(list)
        self.calling: dict[int, Call] = {}

    def line(self, text: str) -> bool:
        """Take one line in; whether it is one of the recording's."""
        match = _LINE.fullmatch(text)
        if not match:
            return False
        thread, pid, time, event, rest = match.groups()
        if event.startswith("sys_"):
            self._call(thread.strip(), int(pid), int(time), event[4:], rest)
            return True
        block = _BLOCK.match(rest)
        if not block:
            return False
        flags, sector, sectors = block[1], int(block[2]), int(block[3])
        op, before = operation(flags)
        if op not in OPERATIONS:
            return True
        if op == "F":
            sector, sectors = _FLUSH_SECTOR, 0
        who = _Bio(int(time), int(pid), thread.strip())
        if event == "block_bio_queue":
            if sectors:
                self.queued[op][sector] = (sectors, who)
            if before or op == "F" or not sectors:
                self.flushes.append(who)
        elif event == "block_rq_issue":
            self._issue(who, op, flags, sector, sectors)
        elif event == "block_rq_complete":
            self._complete(int(time), op, sector, sectors)
        return True

    def _call(self, thread: str, pid: int, time: int, name: str, rest: str) -> None:
        if rest.startswith("("):
            self.calling[pid] = Call(time, 0, name, pid, thread)
        elif call := self.calling.pop(pid, None):
            call.end = time
            self.trace.calls.append(call)

    def _issue(self, who: _Bio, op: str, flags: str, sector: int, sectors: int) -> None:
        if op == "F":
            bios, self.flushes = self.flushes, []
        else:
            queued, bios, at = self.queued[op], [], sector
            # A request is of bios that lie one behind the other.
            while at < sector + sectors and at in queued:
                length, bio = queued.pop(at)
                bios.append(bio)
                at += length
                if at > sector + sectors:
                    # Split: the rest of the bio is another request's.
                    queued[sector + sectors] = (at - sector - sectors, bio)
        first = min(bios, key=lambda bio: bio.time, default=who)
        request = Request(
            first.time, who.time, 0, op, flags, sector, sectors, first.pid, first.thread
        )
        self.issued[op, sector, sectors].append(request)

    def _complete(self, time: int, op: str, sector: int, sectors: int) -> None:
        if waiting := self.issued[op, sector, sectors]:
            request = waiting.pop(0)
            if time <= request.issue:
                raise LogError(
                    f"a request at sector {sector} ended at {time} ns, not after its issue"
                )
            request.complete = time
            self.trace.requests.append(request)


def read(folder: Path) -> Trace | None:
    """The recording of a guest; None if there is none."""
    path = folder / FILE
    if not path.is_file():
        return None
    reader = _Reader()
    for number, text in enumerate(path.read_text(errors="replace").splitlines(), 1):
        if not text or text.startswith("#"):
            continue
        try:
            known = reader.line(text)
        except LogError as error:
            raise LogError(f"{path}: line {number}: {error}") from error
        if not known:
            raise LogError(f"{path}: line {number}: '{text.strip()[:60]}' is no event of ftrace's")
    reader.trace.lost = _lost(folder / LOST)
    return reader.trace


def _lost(path: Path) -> int:
    """Lines end in the events that a processor's buffer had no room for."""
    total = 0
    text = path.read_text(errors="replace") if path.is_file() else ""
    for number, line in enumerate(text.splitlines(), 1):
        match = re.fullmatch(r"\s*(\d{1,20})\s*", line.rpartition(":")[2])
        if not match:
            raise LogError(f"{path}: line {number}: '{line[:60]}' does not end in a number")
        total += int(match[1])
    return total
