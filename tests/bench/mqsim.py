# SPDX-License-Identifier: GPL-2.0-or-later
"""MQSim, built by the user, as a program to be timed: its configuration, one run, what it did.

Its configuration is made from one of our drive descriptions, so that both simulate one drive.
docs/performance.md says what cannot be made equal.
"""

from __future__ import annotations

import configparser
import ctypes
import os
import re
import subprocess
import time
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from scarplib.errors import UserError

# Shares of the requests, in %, that MQSim's own lines of progress mark.  What comes before the
# first is start, preconditioning and warm-up; after the last a run may have lost requests.
FIRST, LAST = 30, 95
QUEUE_DEPTH = 32
UTILISATION = 90  # % of the logical pages that are mapped, and that requests go to
# MQSim fills the drive to half of this many free blocks a plane, keeps three of them for itself,
# and serves no write with fewer than ten left: with less it ends having served nothing.
GC_BLOCKS = 32
# A request whose page a collection is moving is never completed in MQSim: so many of the queue's
# 32 may be lost before a run no longer has the queue depth that is asked for.
LOST = QUEUE_DEPTH // 2


@dataclass(frozen=True)
class Load:
    name: str  # as bench-engine names it
    goal: float  # how many times MQSim's CPU time per request is to be Scarp's
    requests: int  # of MQSim
    addresses: str
    read_percentage: int
    # MQSim takes a page that is read without having been written as written: only writes that
    # are to meet collections need a drive that was filled before.
    precondition: bool


LOADS = (
    Load("sequential-write", 12, 1_000_000, "STREAMING", 0, False),
    Load("random-write-gc", 50, 100_000, "RANDOM_UNIFORM", 0, True),
    Load("random-read", 25, 600_000, "RANDOM_UNIFORM", 100, False),
)


@dataclass(frozen=True)
class Sample:
    ns_per_request: float  # CPU time
    write_amplification: float
    iops: float  # requests served in a second of simulated time


class Drive:
    """A drive description with overrides, read as far as MQSim has a place for it."""

    def __init__(self, path: Path, overrides: str) -> None:
        parser = configparser.ConfigParser()
        parser.read_string(path.read_text())
        self._values = {
            f"{s}.{key}": text for s in parser.sections() for key, text in parser[s].items()
        }
        for item in filter(None, overrides.split(",")):
            key, _, text = item.partition("=")
            self._values[key] = text

    def number(self, key: str) -> int:
        return int(self._values[key])

    def text(self, key: str) -> str:
        return self._values[key]


def identify(text: str) -> Path:
    """The program that PEER names, or one line that says what is wrong with it."""
    program = Path(text).absolute()
    hint = "name the program that 'make' builds in MQSim's sources"
    if not program.is_file() or not os.access(program, os.X_OK):
        raise UserError(f"PEER: '{text}' is not an executable file; {hint}")
    try:
        # Without arguments it says what it is.
        said = subprocess.run(
            [program], stdin=subprocess.DEVNULL, capture_output=True, timeout=600, check=False
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        said = b""
    if b"MQSim" not in said:
        raise UserError(f"PEER: '{text}' is not MQSim; {hint}")
    return program


def _element(name: str, values: Mapping[str, object], *inner: ET.Element) -> ET.Element:
    element = ET.Element(name)
    for key, value in values.items():
        ET.SubElement(element, key).text = str(value)
    element.extend(inner)
    return element


def _count(number: int) -> str:
    return ",".join(map(str, range(number)))


def configuration(drive: Drive, load: Load) -> ET.Element:
    reserve = drive.number("ftl.over_provisioning_permille")
    blocks = drive.number("geometry.blocks_per_plane")
    latency = {
        f"Page_{kind}_Latency_{bit}": drive.number(key)
        for kind, key in (("Read", "timing.read_ns"), ("Program", "timing.program_ns"))
        for bit in ("LSB", "CSB", "MSB")
    }
    host = {
        "PCIe_Lane_Bandwidth": drive.number("controller.link_mbs") / 4000,
        "PCIe_Lane_Count": 4,
        "SATA_Processing_Delay": 400000,
        "Enable_ResponseTime_Logging": "false",
        "ResponseTime_Logging_Period_Length": 1000000,
    }
    device = {
        "Seed": 1,
        "Enabled_Preconditioning": "true" if load.precondition else "false",
        "Memory_Type": "FLASH",
        "HostInterface_Type": "NVME",
        "IO_Queue_Depth": drive.number("controller.slots"),
        "Queue_Fetch_Size": drive.number("controller.slots"),
        "Caching_Mechanism": "ADVANCED",  # switched off below, by flow
        "Data_Cache_Sharing_Mode": "SHARED",
        "Data_Cache_Capacity": 1 << 20,
        "Data_Cache_DRAM_Row_Size": 8192,
        "Data_Cache_DRAM_Data_Rate": 800,
        "Data_Cache_DRAM_Data_Busrt_Size": 4,  # spelt so
        "Data_Cache_DRAM_tRCD": 13,
        "Data_Cache_DRAM_tCL": 13,
        "Data_Cache_DRAM_tRP": 13,
        "Address_Mapping": "PAGE_LEVEL",
        "Ideal_Mapping_Table": "true",  # all of it in RAM, as ours
        "CMT_Capacity": 1 << 26,
        "CMT_Sharing_Mode": "SHARED",
        "Plane_Allocation_Scheme": drive.text("ftl.allocation").upper(),
        "Transaction_Scheduling_Policy": "PRIORITY_OUT_OF_ORDER",
        # Ours is a share of the logical pages, MQSim's of all.
        "Overprovisioning_Ratio": reserve / (1000 + reserve),
        "GC_Exec_Threshold": GC_BLOCKS / blocks,
        "GC_Block_Selection_Policy": "GREEDY",
        "Use_Copyback_for_GC": "false",
        "Preemptible_GC_Enabled": "false",
        "GC_Hard_Threshold": 1 / blocks,
        "Dynamic_Wearleveling_Enabled": "false",
        "Static_Wearleveling_Enabled": "false",
        "Static_Wearleveling_Threshold": 1000000,
        "Preferred_suspend_erase_time_for_read": 0,
        "Preferred_suspend_erase_time_for_write": 0,
        "Preferred_suspend_write_time_for_read": 0,
        "Flash_Channel_Count": drive.number("geometry.channels"),
        "Flash_Channel_Width": 1,
        "Channel_Transfer_Rate": drive.number("timing.channel_mts"),
        "Chip_No_Per_Channel": drive.number("geometry.chips_per_channel"),
        "Flash_Comm_Protocol": "NVDDR2",
    }
    flash = {
        "Flash_Technology": "SLC",
        "CMD_Suspension_Support": "NONE",
        **latency,
        "Block_Erase_Latency": drive.number("timing.erase_ns"),
        "Block_PE_Cycles_Limit": 1000000,
        "Suspend_Erase_Time": 0,
        "Suspend_Program_Time": 0,
        "Die_No_Per_Chip": drive.number("geometry.dies_per_chip"),
        "Plane_No_Per_Die": drive.number("geometry.planes_per_die"),
        "Block_No_Per_Plane": blocks,
        "Page_No_Per_Block": drive.number("geometry.pages_per_block"),
        "Page_Capacity": drive.number("geometry.page_bytes"),
        "Page_Metadat_Capacity": drive.number("geometry.page_bytes") // 8,  # spelt so
    }
    return _element(
        "Execution_Parameter_Set", {},
        _element("Host_Parameter_Set", host),
        _element("Device_Parameter_Set", device, _element("Flash_Parameter_Set", flash)),
    )  # fmt: skip


def workload(drive: Drive, load: Load) -> ET.Element:
    sectors = drive.number("geometry.page_bytes") // 512
    flow = {
        "Priority_Class": "HIGH",
        "Device_Level_Data_Caching_Mode": "TURNED_OFF",
        "Channel_IDs": _count(drive.number("geometry.channels")),
        "Chip_IDs": _count(drive.number("geometry.chips_per_channel")),
        "Die_IDs": _count(drive.number("geometry.dies_per_chip")),
        "Plane_IDs": _count(drive.number("geometry.planes_per_die")),
        "Initial_Occupancy_Percentage": UTILISATION,
        "Working_Set_Percentage": UTILISATION,
        "Synthetic_Generator_Type": "QUEUE_DEPTH",
        "Read_Percentage": load.read_percentage,
        "Address_Distribution": load.addresses,
        "Percentage_of_Hot_Region": 0,
        "Generated_Aligned_Addresses": "true",
        "Address_Alignment_Unit": sectors,
        "Request_Size_Distribution": "FIXED",
        "Average_Request_Size": sectors,
        "Variance_Request_Size": 0,
        "Seed": 1,
        "Average_No_of_Reqs_in_Queue": QUEUE_DEPTH,
        "Intensity": 32768,
        "Stop_Time": 0,
        "Total_Requests_To_Generate": load.requests,
    }
    scenario = _element("IO_Scenario", {}, _element("IO_Flow_Parameter_Set_Synthetic", flow))
    return _element("MQSim_IO_Scenarios", {}, scenario)


def _cpu_clock(pid: int) -> int:
    """The clock of another process's CPU time, for time.clock_gettime_ns()."""
    clock = ctypes.c_int()
    if error := ctypes.CDLL(None).clock_getcpuclockid(pid, ctypes.byref(clock)):
        raise OSError(error, os.strerror(error))
    return clock.value


def _attend(command: list[str], folder: Path) -> tuple[int, str, dict[int, int]]:
    """Exit status, output, and the CPU time in ns at each line of progress."""
    marks: dict[int, int] = {}
    lines = []
    with subprocess.Popen(
        command, cwd=folder, text=True, errors="replace",
        stdin=subprocess.DEVNULL,  # at its end it waits for a key
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    ) as process:  # fmt: skip
        assert process.stdout
        clock = _cpu_clock(process.pid)
        for line in process.stdout:
            if found := re.search(r"(\d+)% progress", line):
                marks.setdefault(int(found[1]), time.clock_gettime_ns(clock))
            else:
                lines.append(line)
    return process.returncode, "".join(lines), marks


def _number(where: dict[str, str], key: str) -> float:
    try:
        return float(where[key])
    except (KeyError, ValueError) as error:
        raise UserError(f"MQSim's results lack a number for {key}") from error


def _results(path: Path) -> tuple[dict[str, str], dict[str, str]]:
    """What it says of the flow and of the FTL."""
    try:
        root = ET.parse(path).getroot()
    except (OSError, ET.ParseError) as error:
        raise UserError(f"MQSim left no results that can be read: {error}") from error
    flow = next((e for e in root.iter() if e.tag.endswith(".IO_Flow")), ET.Element("none"))
    ftl = next((e for e in root.iter() if e.tag.endswith(".FTL")), ET.Element("none"))
    return {child.tag: (child.text or "").strip() for child in flow}, dict(ftl.attrib)


def run(program: Path, drive: Drive, load: Load, folder: Path, *under: str) -> Sample:
    """One run in this folder.  Success is not believed: it must have served what was asked."""
    for name, tree in (("ssd", configuration(drive, load)), ("load", workload(drive, load))):
        ET.ElementTree(tree).write(folder / f"{name}.xml", "us-ascii", xml_declaration=True)
    status, said, marks = _attend([*under, str(program), "-i", "ssd.xml", "-w", "load.xml"], folder)
    if status:
        last = said.strip().splitlines()[-1:] or ["it said nothing"]
        raise UserError(f"MQSim failed in {load.name} (exit status {status}): {last[0]}")
    served = re.search(r"generated: *(\d+) +total requests serviced: *(\d+)", said)
    generated, completed = (int(served[1]), int(served[2])) if served else (0, 0)
    if completed < load.requests - LOST or generated != load.requests:
        raise UserError(
            f"MQSim served {completed:,} of {load.requests:,} requests in {load.name}, "
            f"and only {LOST} may be lost"
        )
    if FIRST not in marks or LAST not in marks:
        raise UserError(f"MQSim told no progress of {FIRST} and {LAST} % in {load.name}")
    flow, ftl = _results(folder / "load_scenario_1.xml")
    collections = _number(ftl, "Total_GC_Executions")
    moved = collections * _number(ftl, "Average_Page_Movement_For_GC") if collections else 0.0
    freed = collections * drive.number("geometry.pages_per_block") - moved
    # Free blocks that the drive began with may serve a few of the writes.
    if load.precondition and freed < 0.8 * completed:
        raise UserError(f"MQSim collected too little in {load.name}: {freed:,.0f} pages freed")
    if not load.precondition and collections:
        raise UserError(f"MQSim collected in {load.name}, which is to be without GC")
    return Sample(
        (marks[LAST] - marks[FIRST]) * 100 / (load.requests * (LAST - FIRST)),
        0.0 if load.read_percentage else (completed + moved) / completed,
        # Its own figure is of the requests that it generated, also of those that it lost.
        _number(flow, "IOPS") * completed / generated,
    )
