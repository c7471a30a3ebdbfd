#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""SSDsim, built by the user, as a drive that nobody has described: `scarp probe`'s plan.

    python3 tests/bench/ssdsim_drive.py …/ssd -o probe.json --set geometry.channels=8

SSDsim's trace says when each request comes, not how many there are at once, and its own limit of
the queue lets time run backwards.  So its trace is made while it reads it (ssdsim_feed.c).  With
that all steps are one run, one after the other, as on a device.

docs/beside-simulators.md says what became of it, and what has no place in SSDsim.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "scripts"), str(HERE)]

import probed_peer  # noqa: E402
from mqsim import Drive  # noqa: E402
from scarplib.errors import UserError  # noqa: E402
from scarplib.own_drive import probe_file  # noqa: E402
from scarplib.own_drive.plan import (  # noqa: E402
    FLUSH,
    GAP_NS,
    READ,
    SIZES,
    WRITE,
    Row,
    Step,
)

# The drive.  As of MQSim, but for pages of 4 KiB: without a write buffer SSDsim reads whole pages.
OVERRIDES = (
    "geometry.channels=4,geometry.chips_per_channel=2,geometry.dies_per_chip=1,"
    "geometry.planes_per_die=1,geometry.blocks_per_plane=160,geometry.pages_per_block=64,"
    "geometry.page_bytes=4096,timing.read_ns=60000,timing.program_ns=700000,"
    "timing.erase_ns=3000000,timing.channel_mts=500,"
    "ftl.over_provisioning_permille=667"
)
# Free blocks of a plane below which it collects.
GC_BLOCKS = 16
# Between steps.
STEP_GAP_NS = 10 * GAP_NS
FEED = HERE / "ssdsim_feed.c"
TRACE, LOG = "feed.ascii", "ex.out"
_LINE = re.compile(r"\s*(-?\d+) +(-?\d+) +(-?\d+) +(-?\d+) +(-?\d+) +(-?\d+) +(-?\d+)\s*")
# What is no part of our description: the interface's small times, as SSDsim's own example has them.
_SMALL = (
    "t_DBSY=50 t_CLS=12 t_CLH=5 t_CS=20 t_CH=5 t_WP=12 t_ALS=12 t_ALH=5 t_DS=12 t_DH=5 t_WH=10 "
    "t_ADL=70 t_AR=10 t_CLR=10 t_RR=20 t_RP=12 t_WB=100 t_REA=30 t_CEA=45 t_RHZ=100 t_CHZ=30 "
    "t_RHOH=15 t_RLOH=5 t_COH=15 t_REH=10 t_IR=0 t_RHW=100 t_WHR=60 t_RST=5000"
)


def parameters(drive: Drive) -> str:
    """SSDsim's file of them."""
    number = drive.number
    channels, chips = number("geometry.channels"), number("geometry.chips_per_channel")
    reserve = number("ftl.over_provisioning_permille")
    cycle = 1000 // number("timing.channel_mts")
    free = GC_BLOCKS / number("geometry.blocks_per_plane")
    lines: list[tuple[str, object]] = [
        ("dram capacity", 0),
        *((f"chip number[{i}]", chips) for i in range(channels)),
        ("channel number", channels),
        ("chip number", channels * chips),
        ("die number", number("geometry.dies_per_chip")),
        ("plane number", number("geometry.planes_per_die")),
        ("block number", number("geometry.blocks_per_plane")),
        ("page number", number("geometry.pages_per_block")),
        ("subpage page", number("geometry.page_bytes") // 512),
        ("page capacity", number("geometry.page_bytes")),
        ("subpage capacity", 512),
        ("t_PROG", number("timing.program_ns")),
        ("t_BERS", number("timing.erase_ns")),
        ("t_R", number("timing.read_ns")),
        ("t_WC", cycle),
        ("t_RC", cycle),
        *((name, value) for name, _, value in (one.partition("=") for one in _SMALL.split())),
        ("erase limit", 100000),
        ("address mapping", 1),
        ("wear leveling", 1),
        ("gc", 1),
        ("overprovide", f"{reserve / (1000 + reserve):.6f}"),
        ("gc threshold", f"{free:.6f}"),
        ("buffer management", 0),
        ("scheduling algorithm", 1),
        ("gc hard threshold", f"{free:.6f}"),
        # With a static one it collects only while its channel has nothing to do, and drops writes.
        ("allocation", 0),
        ("static_allocation", 1),
        ("dynamic_allocation", 0),
        ("advanced command", 0),
        ("advanced command priority", 0),
        ("greed CB command", 0),
        ("greed MPW command", 0),
        ("aged", 0),
        ("aged ratio", 0),
        # Requests are held back before they come, if at all.
        ("queue_length", 1 << 20),
    ]
    return "".join(f"{name} = {value};\n" for name, value in lines)


def check(drive: Drive) -> None:
    """What SSDsim, or this, cannot do."""
    if drive.number("geometry.page_bytes") % 4096 or drive.number("geometry.page_bytes") > 16384:
        raise UserError("geometry.page_bytes: must be 4096, 8192, 12288 or 16384: SSDsim's bits")
    if 1000 % drive.number("timing.channel_mts"):
        raise UserError("timing.channel_mts: a byte must take whole nanoseconds: SSDsim's clock")
    probed_peer.check_size(drive)


def identify(text: str) -> Path:
    """The program that PEER names, or one line that says what is wrong with it."""
    program = Path(text).absolute()
    hint = "name the program that 'make' builds in SSDsim's sources"
    if not program.is_file() or not os.access(program, os.X_OK):
        raise UserError(f"PEER: '{text}' is not an executable file; {hint}")
    # It says nothing of itself, and is known by what it asks for.
    if b"input trace file name" not in program.read_bytes():
        raise UserError(f"PEER: '{text}' is not SSDsim; {hint}")
    return program


def feed(steps: Sequence[tuple[int, Sequence[Row]]]) -> str:
    """What ssdsim_feed reads."""
    lines = []
    for depth, rows in steps:
        lines.append(f"S {depth} {STEP_GAP_NS}\n")
        for at, kind, offset, size in rows:
            lines.append(f"Q {at} {offset // 512} {size // 512} {1 if kind == READ else 0}\n")
    return "".join(lines)


def completions(log: str, rows: Sequence[Row]) -> list[tuple[int, int]]:
    """When each request came, and when it was done.

    Requests came in their order.  Of those that came at once each is known by what it asks for.
    """
    lines = []
    for line in log.splitlines():
        if found := _LINE.fullmatch(line):
            at, sector, sectors, kind, _, done, _ = map(int, found.groups())
            lines.append((at, (sector, sectors, kind), done))
    if len(lines) != len(rows):
        raise UserError(f"SSDsim's log has {len(lines)} requests in place of {len(rows)}")
    lines.sort(key=lambda line: line[0])
    waiting: dict[tuple[int, int, int], list[int]] = {}
    result: list[tuple[int, int]] = []
    for i, (at, _, _) in enumerate(lines):
        if not i or at != lines[i - 1][0]:
            waiting.clear()
            j = i
            while j < len(lines) and lines[j][0] == at:
                waiting.setdefault(lines[j][1], []).append(lines[j][2])
                j += 1
        _, want, offset, size = rows[i]
        times = waiting.get((offset // 512, size // 512, 1 if want == READ else 0))
        if not times:
            raise UserError(f"SSDsim's log: request {i} did not come in its turn")
        result.append((at, times.pop(0)))
    return result


@dataclass
class Run:
    """The program, its drive, and where it runs."""

    program: Path
    drive: Drive
    folder: Path

    def __call__(self, steps: Sequence[tuple[int, Sequence[Row]]]) -> list[list[tuple[int, int]]]:
        """When each request of each step came, and was done."""
        library = self.folder / "feed.so"
        if not library.exists():
            command = ["cc", "-O2", "-shared", "-fPIC", "-o", str(library), str(FEED), "-ldl"]
            subprocess.run(command, check=True)
        (self.folder / "page.parameters").write_text(parameters(self.drive))
        (self.folder / "feed").write_text(feed(steps))
        (self.folder / TRACE).write_text("")
        log = self.folder / LOG
        log.unlink(missing_ok=True)
        done = subprocess.run(
            [self.program],
            cwd=self.folder,
            env={**os.environ, "LD_PRELOAD": str(library), "SSDSIM_FEED": "feed"},
            input=f"{TRACE}\n".encode(),
            capture_output=True,
            check=False,
        )
        # Its exit status is 1 when all went well.
        if done.returncode not in (0, 1) or not log.is_file():
            said = (done.stderr or done.stdout).decode(errors="replace").strip().splitlines()
            last = said[-1].strip() if said else "it said nothing"
            raise UserError(f"SSDsim failed (exit status {done.returncode}): {last}")
        if b"there is no free page" in done.stdout:
            raise UserError("SSDsim ran out of free pages, and dropped writes")
        every = [row for _, rows in steps for row in rows]
        found = completions(log.read_text(errors="replace"), every)
        result, at = [], 0
        for _, rows in steps:
            result.append(found[at : at + len(rows)])
            at += len(rows)
        return result


def requests(rows: Sequence[Row], closed: bool, page: int) -> list[tuple[int, Row]]:
    """What SSDsim is given for these, and which of them each is for.

    A write is done there when the chip has it, and there is no flush.  In its place is a read of
    the page that the step wrote last: it waits until that is programmed.
    """
    found, last = [], None
    for i, row in enumerate(rows):
        at, kind, offset, size = row
        if kind == WRITE:
            last = (offset + size - 1) // page * page
        if kind in (READ, WRITE):
            found.append((i, row))
        elif kind == FLUSH and last is not None and not closed:
            found.append((i, (at, READ, last, page)))
    return found


@dataclass
class Prober:
    """The plan on SSDsim."""

    run: Run
    base_ns: int = 0
    lost: dict[str, int] = field(default_factory=dict)
    # What a read of a page takes, alone.
    read_ns: int = 0

    def measure(
        self, before: Sequence[Step], steps: Sequence[Step]
    ) -> dict[str, probe_file.Result]:
        """These, after those, in one run."""
        page = self.run.drive.number("geometry.page_bytes")
        every = []
        for step in (*before, *steps):
            rows = list(step.rows())
            every.append((step, rows, requests(rows, bool(step.depth), page)))
        times = self.run([(step.depth or 0, [row for _, row in own]) for step, _, own in every])
        found = {}
        for (step, rows, own), seen in list(zip(every, times, strict=True))[len(before) :]:
            if not step.prepares:
                found[step.name] = self._result(step, rows, [i for i, _ in own], seen)
        return found

    def _result(
        self,
        step: Step,
        rows: Sequence[Row],
        places: Sequence[int],
        times: Sequence[tuple[int, int]],
    ) -> probe_file.Result:
        seen = dict(zip(places, times, strict=True))
        begin = times[0][0] - rows[places[0]][0]
        kept, submit, complete = [], array("q"), array("q")
        for i, row in enumerate(rows):
            if i not in seen and step.depth:
                continue
            came = begin + row[0]
            done = came + self.base_ns
            if i in seen:
                came, done = seen[i]
                if row[1] == FLUSH:
                    done = max(came + self.base_ns, done - self.read_ns)
            kept.append(row)
            submit.append(came)
            complete.append(done)
        return probe_file.result(
            kept, submit, complete, each=step.each, closed=step.depth is not None
        )

    def without_flash(self, fill: Step, trimmed: Step) -> list[int]:
        """Nothing of SSDsim but its flash takes time: the least that there is."""
        del fill
        place = next(row[2] for row in trimmed.rows())
        page = self.run.drive.number("geometry.page_bytes")
        rows: list[Row] = [(0, WRITE, place, page), (GAP_NS, READ, place, page)]
        ((_, (came, done)),) = self.run([(0, rows)])
        self.read_ns = done - came
        return [1] * len(SIZES)


def prober_of(program: Path, drive: Drive, folder: Path) -> Prober:
    """SSDsim with this drive, in this folder."""
    check(drive)
    return Prober(Run(program, drive, folder))


def main() -> int:
    """One probe."""
    return probed_peer.run("SSDsim", OVERRIDES, identify, prober_of)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except UserError as error:
        sys.exit(f"ssdsim_drive.py: error: {error}")
