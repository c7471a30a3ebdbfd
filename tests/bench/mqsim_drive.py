#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""MQSim, built by the user, as a drive that nobody has described: measured by `scarp probe`'s plan.

    python3 tests/bench/mqsim_drive.py …/MQSim -o probe.json --set geometry.channels=8

MQSim keeps no state between runs and its traces say when a request comes, not how many there are
at once.  So each closed step is a run of its own: all writes before it, slowly, and then the step,
at once, behind a device that takes so many requests at a time.  What is written is the same.

Its log has a line for each completion if its period is 0: the time, and how long ago the request
came, in whole microseconds.  The drive is therefore a thousand times slower than it is said to
be, and a microsecond of the log is a nanosecond here.  A request is recognised by when it came.

docs/beside-simulators.md says what became of it, and what has no place in MQSim: flushes and
deallocations.
"""

from __future__ import annotations

import subprocess
import sys
import xml.etree.ElementTree as ET
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "scripts"), str(HERE)]

import mqsim  # noqa: E402
import probed_peer  # noqa: E402
from scarplib.errors import UserError  # noqa: E402
from scarplib.own_drive import probe_file  # noqa: E402
from scarplib.own_drive.plan import (  # noqa: E402
    FLUSH,
    GAP_NS,
    KIB,
    READ,
    SIZES,
    TRIM,
    WRITE,
    Row,
    Step,
)

# The drive.  Much to spare, because MQSim loses requests to pages that a collection is moving, and
# keeps ten blocks of a plane for itself.
OVERRIDES = (
    "geometry.channels=4,geometry.chips_per_channel=2,geometry.dies_per_chip=1,"
    "geometry.planes_per_die=1,geometry.blocks_per_plane=160,geometry.pages_per_block=64,"
    "geometry.page_bytes=8192,timing.read_ns=60000,timing.program_ns=700000,"
    "timing.erase_ns=3000000,timing.channel_mts=1000,controller.link_mbs=4000,"
    "ftl.over_provisioning_permille=667"
)
GC_BLOCKS = 16
# MQSim's nanoseconds in one of ours.
SCALE = 1000
# Requests that come at once are this far apart, so that each can be told from the next.
APART_NS = 2
# Of what is only to be written: a request of up to 128 KiB, one of up to 16 KiB.
SLOW_NS, SLOW_SMALL_NS = 10_000_000, 2_000_000
PLENTY = 4096
_TIMES = (
    "Page_Read_Latency_LSB",
    "Page_Read_Latency_CSB",
    "Page_Read_Latency_MSB",
    "Page_Program_Latency_LSB",
    "Page_Program_Latency_CSB",
    "Page_Program_Latency_MSB",
    "Block_Erase_Latency",
    "Data_Cache_DRAM_tRCD",
    "Data_Cache_DRAM_tCL",
    "Data_Cache_DRAM_tRP",
)
_NO_LOAD = mqsim.Load("probe", 0, 0, "RANDOM_UNIFORM", 0, False)


def configuration(drive: mqsim.Drive, at_once: int) -> ET.Element:
    """Of the drive, slowed; its device takes so many requests at a time."""
    tree = mqsim.configuration(drive, _NO_LOAD)
    values = {
        "PCIe_Lane_Bandwidth": drive.number("controller.link_mbs") / 4000 / SCALE,
        "Enable_ResponseTime_Logging": "true",
        "ResponseTime_Logging_Period_Length": 0,
        "IO_Queue_Depth": 65535,
        "Queue_Fetch_Size": at_once,
        "Data_Cache_DRAM_Data_Rate": 1,
        "GC_Exec_Threshold": GC_BLOCKS / drive.number("geometry.blocks_per_plane"),
        "Channel_Transfer_Rate": drive.number("timing.channel_mts") // SCALE,
    }
    for element in tree.iter():
        if element.tag in values:
            element.text = str(values[element.tag])
        elif element.tag in _TIMES:
            element.text = str(int(element.text or "") * SCALE)
    return tree


def workload(drive: mqsim.Drive, trace: str, caching: str) -> ET.Element:
    """One flow: this trace, once."""

    def all_of(name: str) -> str:
        return ",".join(map(str, range(drive.number(f"geometry.{name}"))))

    flow = {
        "Priority_Class": "HIGH",
        "Device_Level_Data_Caching_Mode": caching,
        "Channel_IDs": all_of("channels"),
        "Chip_IDs": all_of("chips_per_channel"),
        "Die_IDs": all_of("dies_per_chip"),
        "Plane_IDs": all_of("planes_per_die"),
        "Initial_Occupancy_Percentage": 0,
        "File_Path": trace,
        "Percentage_To_Be_Executed": 100,
        "Relay_Count": 1,
        "Time_Unit": "NANOSECOND",
    }
    root = ET.Element("MQSim_IO_Scenarios")
    one = ET.SubElement(ET.SubElement(root, "IO_Scenario"), "IO_Flow_Parameter_Set_Trace_Based")
    for key, value in flow.items():
        ET.SubElement(one, key).text = str(value)
    return root


def check(drive: mqsim.Drive) -> None:
    """What MQSim, or its log, cannot do."""
    if drive.number("timing.channel_mts") % SCALE:
        raise UserError(f"timing.channel_mts: must be a multiple of {SCALE}: MQSim's clock of it")
    probed_peer.check_size(drive)


@dataclass
class Trace:
    """Requests for one run, each at a time of its own."""

    rows: list[tuple[int, str, int, int]] = field(default_factory=list)
    end: int = 0

    def add(self, rows: Sequence[Row], at: int) -> list[int]:
        """These, from then on; where each is in the trace, -1 for what MQSim has no word for."""
        places = []
        for when, kind, offset, size in rows:
            if kind in (FLUSH, TRIM):
                places.append(-1)
                continue
            self.end = max(self.end + APART_NS, at + when)
            places.append(len(self.rows))
            self.rows.append((self.end, kind, offset, size))
        return places

    def text(self) -> str:
        """As MQSim reads it."""
        return "".join(
            f"{at * SCALE} 0 {offset // 512} {size // 512} {1 if kind == READ else 0}\n"
            for at, kind, offset, size in self.rows
        )


def completions(log: str, came: Sequence[int]) -> list[int | None]:
    """When each request was done, of a log with a line for each; None: never.

    The log has the time and for how long, in whole units, and the latter in 32 bits.  Requests come
    at whole units, so that the difference is exact.
    """
    waiting = {at: place for place, at in enumerate(came)}
    found: list[int | None] = [None] * len(came)
    for number, line in enumerate(log.splitlines()[1:], 2):
        words = line.split()
        if len(words) != 3 or not all(word.isdigit() for word in words):
            raise UserError(f"MQSim's log, line {number}: '{line}' is no completion")
        done, delay = int(words[0]), int(words[2])
        at = done - delay
        while at >= 0:
            place = waiting.pop(at, None)
            if place is not None:
                found[place] = done
                break
            at -= 1 << 32
        else:
            raise UserError(f"MQSim's log, line {number}: no request came {delay} ns before")
    return found


@dataclass
class Run:
    """The program, its drive, and where it runs."""

    program: Path
    drive: mqsim.Drive
    folder: Path

    def __call__(self, trace: Trace, at_once: int, caching: str = "TURNED_OFF") -> list[int | None]:
        """When each request was done."""
        trees = (
            ("ssd", configuration(self.drive, at_once)),
            ("load", workload(self.drive, "load.trace", caching)),
        )
        for name, tree in trees:
            path = self.folder / f"{name}.xml"
            ET.ElementTree(tree).write(path, "us-ascii", xml_declaration=True)
        (self.folder / "load.trace").write_text(trace.text())
        log = self.folder / "load.IO_Flow.No_0.log"
        log.unlink(missing_ok=True)
        done = subprocess.run(
            [self.program, "-i", "ssd.xml", "-w", "load.xml"],
            cwd=self.folder,
            stdin=subprocess.DEVNULL,  # at its end it waits for a key
            capture_output=True,
            check=False,
        )
        if done.returncode or not log.is_file():
            said = (done.stdout + done.stderr).decode(errors="replace").strip().splitlines()
            last = said[-1].strip() if said else "it said nothing"
            raise UserError(f"MQSim failed (exit status {done.returncode}): {last}")
        return completions(log.read_text(), [row[0] for row in trace.rows])


def slowly(rows: Sequence[Row]) -> list[Row]:
    """The writes of a closed step, far apart."""
    found: list[Row] = []
    at = 0
    for _, kind, offset, size in rows:
        if kind == WRITE:
            found.append((at, kind, offset, size))
            at += SLOW_SMALL_NS if size <= 16 * KIB else SLOW_NS
    return found


def history(steps: Sequence[Step]) -> tuple[Trace, dict[str, tuple[int, list[int]]]]:
    """What these steps write; of each timed one its begin, and where its requests are."""
    trace = Trace()
    # What the log says of the first is not to be relied on.
    trace.add([(GAP_NS, READ, 0, 4096)], 0)
    places = {}
    for step in steps:
        rows = list(step.rows())
        if step.depth:
            trace.add(slowly(rows), trace.end + 10 * GAP_NS)
        else:
            begin = trace.end + 10 * GAP_NS
            places[step.name] = begin, trace.add(rows, begin)
    return trace, places


@dataclass
class Prober:
    """The plan on MQSim: what was lost on the way is counted, by step."""

    run: Run
    base_ns: int = 0
    lost: dict[str, int] = field(default_factory=dict)

    def closed(self, before: Sequence[Step], step: Step) -> probe_file.Result | None:
        """So many at once; None: the device lost so many requests that it no longer served."""
        assert step.depth
        rows = list(step.rows())
        requests = [row for row in rows if row[1] not in (FLUSH, TRIM)]
        lost = 0
        for _ in range(4):
            trace, _ = history(before)
            first = len(trace.rows)
            # Lost requests hold their places for ever.
            trace.add([(0, *row[1:]) for row in requests], trace.end + 20 * GAP_NS)
            done = self.run(trace, step.depth + lost)
            found = sum(one is None for one in done[:first])
            if found == lost:
                break
            lost = found
        else:
            raise UserError(f"{step.name}: MQSim loses another number of requests each time")
        mine, begin = done[first:], trace.rows[first][0]
        self.lost[step.name] = sum(one is None for one in mine)
        if self.lost[step.name] >= step.depth:
            return None
        order = sorted(one for one in mine if one is not None)
        kept, submit, complete = [], array("q"), array("q")
        for i, (row, one) in enumerate(zip(requests, mine, strict=True)):
            if one is not None:
                kept.append(row)
                submit.append(begin if i < step.depth else order[i - step.depth])
                complete.append(one)
        return probe_file.result(kept, submit, complete, each=step.each, closed=True)

    def timed(self, steps: Sequence[Step]) -> dict[str, probe_file.Result]:
        """All timed ones of these, in one run."""
        trace, where = history(steps)
        done = self.run(trace, PLENTY)
        found = {}
        for step in steps:
            if step.depth:
                continue
            rows = list(step.rows())
            kept, submit, complete = [], array("q"), array("q")
            begin, places = where[step.name]
            for row, place in zip(rows, places, strict=True):
                one = done[place] if place >= 0 else None
                if place >= 0 and one is None:
                    self.lost[step.name] = self.lost.get(step.name, 0) + 1
                    continue
                at = trace.rows[place][0] if place >= 0 else begin + row[0]
                kept.append(row)
                submit.append(at)
                complete.append(at + self.base_ns if one is None else one)
            if step.each and len(kept) < len(rows):
                raise UserError(f"{step.name}: MQSim lost requests that are needed")
            found[step.name] = probe_file.result(
                kept, submit, complete, each=step.each, closed=False
            )
        return found

    def measure(
        self, before: Sequence[Step], steps: Sequence[Step]
    ) -> dict[str, probe_file.Result]:
        """These, after those: all timed ones at once, and each closed one alone."""
        found = self.timed([*before, *steps])
        for number, step in enumerate(steps):
            print(step.name, file=sys.stderr, flush=True)
            if step.depth and not step.prepares:
                one = self.closed([*before, *steps[:number]], step)
                if one is not None:
                    found[step.name] = one
        return found

    def without_flash(self, fill: Step, trimmed: Step) -> list[int]:
        """Of reads by size that its cache serves: it has no deallocation."""
        trace, _ = history([fill])
        place = next(row[2] for row in trimmed.rows())
        rows = [(i * GAP_NS, READ, place, SIZES[-1]) for i in range(2)]
        rows += [((2 + i) * GAP_NS, READ, place, size) for i, size in enumerate(SIZES)]
        places = trace.add(rows, trace.end + 10 * GAP_NS)[2:]
        done = self.run(trace, PLENTY, "READ_CACHE")
        times = []
        for at in places:
            one = done[at]
            if one is None:
                raise UserError("MQSim lost a read that its cache has")
            times.append(one - trace.rows[at][0])
        return times


def prober_of(program: Path, drive: mqsim.Drive, folder: Path) -> Prober:
    """MQSim with this drive, in this folder."""
    check(drive)
    return Prober(Run(program, drive, folder))


def main() -> int:
    """One probe."""
    return probed_peer.run("MQSim", OVERRIDES, mqsim.identify, prober_of)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except UserError as error:
        sys.exit(f"mqsim_drive.py: error: {error}")
