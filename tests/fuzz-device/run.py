#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""QEMU's generic fuzzer on the drive, in four configurations, and on stock nvme of the same build.

It writes bytes to the registers of the controller and to the memory that it reads, and lets time
pass.  libFuzzer keeps what reaches new code in --out, and the next run goes on with that.  With
--pack, as few inputs as reach the same are kept in corpus/ beside this file: every run, of any
machine, begins with those of all machines.  With --drawn N, N sequences of commands that mean
something are tried before (drawn.py), and those that reach something new are left in --out.  At
the end: the rate, when the last new edge was found in all that libFuzzer guides itself by (QEMU's
hw/ and net/) and in the device alone, and how much of each source file was reached.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "tests/qtest"), str(HERE)]

import drawn  # noqa: E402
import seeds  # noqa: E402
from patience import Patience, processor_s  # noqa: E402
from scarplib.build.host_packages import (  # noqa: E402
    BUILD_PACKAGES,
    CLANG_PACKAGES,
    ensure_packages,
)
from scarplib.build.qemu import ensure_qemu  # noqa: E402

DESCRIPTION = ROOT / "tests" / "qtest" / "tiny.ini"
FLASH = f"-device nvme-flash,id=f0,description={DESCRIPTION}"
SUBSYSTEM = "-device nvme-subsys,id=s0"
CONTROLLER = "-device nvme,id=n0,serial=s,subsys=s0"
NAMESPACE = "-device nvme-ns,bus=n0,flash=f0"
# Where the fuzzer runs, which is gone afterwards.
LOGS = "cmd-log=cmd,gc-log=gc,progress=progress"
LATE = "clock=realtime,lateness-log=late"
STREAMS = "overrides=ftl.streams=4;ftl.over_provisioning_permille=500"
# Of random writes in zones.  Without a block size QEMU divides by 0 at its start.
WINDOWS = "logical_block_size=512,zoned.zrwas=32K,zoned.zrwafg=4K,zoned.numzrwa=2"
STOCK, FUNCTIONS = "stock", "functions"
CONFIGURATIONS = {
    "virtual": [f"{FLASH},{LOGS}", SUBSYSTEM, CONTROLLER, f"{NAMESPACE},size=2M", NAMESPACE],
    "realtime": [f"{FLASH},{LOGS},{LATE}", SUBSYSTEM, f"{CONTROLLER},ioeventfd=on", NAMESPACE],
    "zones": [
        FLASH,
        SUBSYSTEM,
        "-object memory-backend-ram,id=p0,size=64K",
        f"{CONTROLLER},cmb_size_mb=1,legacy-cmb=on,pmrdev=p0",
        f"{NAMESPACE},zoned=on,zoned.zone_size=256K,zoned.max_open=3,zoned.max_active=4,{WINDOWS}",
    ],
    FUNCTIONS: [
        f"{FLASH},{STREAMS}",
        f"{SUBSYSTEM},fdp=on,fdp.nruh=4",
        f"{CONTROLLER},sriov_max_vfs=2,sriov_vq_flexible=4,sriov_vi_flexible=2,max_ioqpairs=6,"
        "msix_qsize=5,"
        f"addr={seeds.SLOT}",
        f"{NAMESPACE},fdp.ruhs=0-3",
    ],
    STOCK: [
        "-blockdev driver=null-co,node-name=d0,size=8388608,read-zeroes=on",
        SUBSYSTEM,
        CONTROLLER,
        "-device nvme-ns,bus=n0,drive=d0",
    ],
}
# Of a machine with functions that are not there yet: the host bridge, and regions by their names.
REGIONS = "mch pcie-mmcfg* nvme?0? msix-*"
# A QEMU that sleeps for so long hangs: an input lets no time pass but by steps of the clock.
ASLEEP_S = 60
# So does one that is busy for so long, and libFuzzer has nothing to say of it.
BUSY_S = 3600
LOOK_S = 0.5
PROFILE = "profile.raw"
# libFuzzer's: a place that is new, before the execution that reached it; at the end, functions.
LINE = re.compile(r"#(\d+)\s+(\w+)\s+cov: (\d+)")
PLACE = re.compile(r"\tNEW_PC: \S+ in \S+ (\S+?)(:\d+)?(:\d+)?$")
FUNCTION = re.compile(r"(?:UN)?COVERED_FUNC: hits: \d+ edges: (\d+)/(\d+) \S+ (\S+?)(:\d+)?$")
# llvm-cov's: a file; a function, its regions, and those that were missed.
FILE, COUNTS = re.compile(r"File '(\S+)':$"), re.compile(r"(?:\S+:)?(\w+) +(\d+) +(\d+) ")
# Of a merge that met a crash: it goes on after that.
CRASHED = "MERGE-OUTER: attempt 2"


@dataclass
class Found:
    """What libFuzzer's log says."""

    executions: int = 0
    edges: int = 0
    last_new: int = 0  # the execution that reached an edge for the last time
    late: int = 0  # edges that the last tenth of them found
    device_edges: int = 0
    device_all: int = 0
    device_last_new: int = 0
    device_late: int = 0
    device_late_in: tuple[str, ...] = ()  # files and lines


def is_ours(path: str) -> bool:
    return "/hw/nvme/" in path and "/scarp/ftl/" not in path and path.endswith(".c")


def found(log: str) -> Found:
    """Of the device: what has a place in its sources."""
    edges: list[tuple[int, int]] = []
    places: list[tuple[int, str]] = []
    waiting: list[str] = []
    result = Found()
    for line in log.splitlines():
        if place := PLACE.match(line):
            if is_ours(place[1]):
                waiting.append(f"{Path(place[1]).name}{place[2] or ''}")
        elif said := LINE.match(line):
            edges.append((int(said[1]), int(said[3])))
            places += [(int(said[1]), name) for name in waiting]
            waiting = []
        elif (function := FUNCTION.match(line)) and is_ours(function[3]):
            result.device_edges += int(function[1])
            result.device_all += int(function[2])
    if edges:
        result.executions = max(n for n, _ in edges)
        result.edges = max(cov for _, cov in edges)
        result.last_new = min(n for n, cov in edges if cov == result.edges)
        early = 0.9 * result.executions
        result.late = result.edges - max((cov for n, cov in edges if n <= early), default=0)
        result.device_last_new = max((n for n, _ in places), default=0)
        late = [name for n, name in places if n > early]
        result.device_late, result.device_late_in = len(late), tuple(sorted(set(late)))
    return result


@dataclass
class Result:
    name: str
    found: Found
    seconds: float
    status: int
    profile: Path
    log: Path

    def text(self) -> str:
        of = self.found
        rate = of.executions / max(self.seconds, 1)
        said = (
            f"{self.name}: {of.executions:,} executions in {self.seconds:.0f} s, {rate:.0f} a "
            f"second; {of.edges:,} edges, the last new one at execution {of.last_new:,}, {of.late} "
            f"of them in the last tenth; of the device {of.device_edges:,} of {of.device_all:,}, "
            f"the last new one at {of.device_last_new:,}, {of.device_late} in the last tenth"
        )
        if of.device_late:
            said += f" ({', '.join(of.device_late_in)})"
        return said if not self.status else f"{said}; ENDED WITH {self.status}, {self.log}"


def family(pid: int) -> list[int]:
    """A process and those that it has started: libFuzzer merges in a child of a shell."""
    pids = [pid]
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in children.read_text().split():
                pids += family(int(child))
    return pids


def watched(process: subprocess.Popen[bytes], log: Path) -> int:
    """Its exit status.  One that hangs is ended, and libFuzzer keeps the input.

    libFuzzer's own alarm comes to nothing: QEMU's main thread blocks it, others are not asked.
    """

    def patience(seconds: float) -> Patience:
        """With the one that works: those before it wait for it."""
        return Patience(family(process.pid)[-1], seconds)

    size, used = -1, -1.0
    asleep = busy = patience(0)
    while True:
        try:
            return process.wait(LOOK_S)
        except subprocess.TimeoutExpired:
            pass
        if log.stat().st_size != size:
            size, busy = log.stat().st_size, patience(BUSY_S)
        now = sum(map(processor_s, family(process.pid)))
        if now != used:
            used, asleep = now, patience(ASLEEP_S)
        elif not asleep.spend(LOOK_S):
            break
        if not busy.spend(LOOK_S):
            break
    for pid in reversed(family(process.pid)):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGABRT)
    return process.wait()


def run(binary: Path, name: str, options: list[str], log: Path, profile: Path) -> int:
    """libFuzzer's exit status on that machine, in a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory() as folder, log.open("wb") as stream:
        bios = Path(folder) / "bios.bin"
        bios.write_bytes(bytes(128 << 10))  # never executed
        machine = f"-machine q35 -nodefaults -bios {bios} -global apic-common.vapic=off"
        devices = " ".join(CONFIGURATIONS[name]).replace(";", "\\;")
        environment = {
            **os.environ,
            "QEMU_FUZZ_ARGS": f"{machine} {devices}",
            "QEMU_FUZZ_OBJECTS": REGIONS if name == FUNCTIONS else "nvme*",
            # QEMU leaves its machine to the end of its process.
            "ASAN_OPTIONS": "detect_leaks=0",
            "LLVM_PROFILE_FILE": str(profile),
        }
        command = [str(binary), "--fuzz-target=generic-fuzz", *options]
        with subprocess.Popen(
            command, env=environment, stdout=stream, stderr=stream, cwd=folder
        ) as process:
            return watched(process, log)


def kept(name: str) -> Path:
    return HERE / "corpus" / f"{name}.tar.gz"


def take(binary: Path, name: str, count: int, seed: int, out: Path) -> int:
    """Draw sequences, and leave those that reach something new in the corpus; the exit status."""
    with tempfile.TemporaryDirectory() as folder:
        drawn.lay(Path(folder), name == FUNCTIONS, count, seed)
        options = ["-merge=1", f"-artifact_prefix={out}/", str(out / "corpus"), folder]
        log = out / "drawn-log"
        status = run(binary, name, options, log, Path(os.devnull))
        return status or int(CRASHED in log.read_text(errors="replace"))


def lay(name: str, corpus: Path) -> None:
    """What a run begins with, beside what the last one left there."""
    corpus.mkdir(parents=True, exist_ok=True)
    seeds.lay(corpus, name == FUNCTIONS)
    # What reached something on one machine may on another one: most of its commands are the same.
    for machine in CONFIGURATIONS:
        if kept(machine).is_file():
            subprocess.run(["tar", "-xzf", str(kept(machine)), "-C", str(corpus)], check=True)


def fuzz(binary: Path, name: str, args: argparse.Namespace) -> Result:
    out = args.out / name
    corpus, log, profile = out / "corpus", out / "log", out / PROFILE
    lay(name, corpus)
    if args.drawn and (status := take(binary, name, args.drawn, args.seed, out)):
        return Result(name, Found(), 0, status, profile, out / "drawn-log")
    options = [
        f"-runs={args.runs if args.runs else -1}",
        f"-max_total_time={args.seconds}",
        "-print_final_stats=1",
        "-print_pcs=1",
        "-print_coverage=1",
        f"-artifact_prefix={out}/",
        f"-seed={args.seed}",
        str(corpus),
    ]
    began = time.monotonic()
    status = run(binary, name, options, log, profile)
    seconds = time.monotonic() - began
    return Result(name, found(log.read_text(errors="replace")), seconds, status, profile, log)


def pack(binary: Path, name: str, out: Path) -> int:
    """Keep as few inputs as reach every edge that the corpus reaches; libFuzzer's exit status."""
    with tempfile.TemporaryDirectory() as folder:
        options = ["-set_cover_merge=1", "-use_counters=0", folder, str(out / name / "corpus")]
        log = out / name / "merge-log"
        if status := run(binary, name, options, log, Path(os.devnull)):
            print(f"{name}: its inputs were not packed, {log}", file=sys.stderr)
            return status
        kept(name).parent.mkdir(exist_ok=True)
        order = ["--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner"]
        command = ["tar", "-I", "gzip -9n", "-C", folder, *order, "-cf", str(kept(name)), "."]
        subprocess.run(command, check=True)
    return 0


def tool(name: str) -> str:
    """One of LLVM's, of the clang that compiled."""
    said = subprocess.run(
        ["clang", f"-print-prog-name={name}"], capture_output=True, text=True, check=True
    )
    return said.stdout.strip()


def profiled(result: Result) -> Path:
    """What a run's profile says, as llvm-cov reads it."""
    data = result.profile.with_suffix(".data")
    merge = [tool("llvm-profdata"), "merge", "-sparse", "-o", str(data), str(result.profile)]
    subprocess.run(merge, check=True)
    return data


def exported(binary: Path, data: Path) -> dict[str, float]:
    """The share of lines that was reached of each source file of the device, in percent.

    Without functions, which would take gigabytes for all of QEMU's.
    """
    command = [tool("llvm-cov"), "export", "-summary-only", f"-instr-profile={data}", str(binary)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    files = json.loads(text)["data"][0]["files"]
    return {
        os.path.normpath(each["filename"]): each["summary"]["lines"]["percent"]
        for each in files
        if is_ours(each["filename"])
    }


def functions(report: str) -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
    """Those that ran, and those that did not, each with its file."""
    ran: set[tuple[str, str]] = set()
    did_not: set[tuple[str, str]] = set()
    name = ""
    for line in report.splitlines():
        if file := FILE.match(line):
            name = file[1].partition("/hw/nvme/")[2]
        elif (said := COUNTS.match(line)) and said[1] != "TOTAL":
            (did_not if said[2] == said[3] else ran).add((name, said[1]))
    return ran, did_not


def reported(binary: Path, data: Path, files: list[str]) -> str:
    """Of these source files; libFuzzer's list lacks functions that are compiled into others."""
    if not files:
        return ""
    # The profile knows a file by a path through the build's folder, which is the same file.
    same = f"{os.path.commonpath(files)}/" if len(files) > 1 else files[0]
    command = [tool("llvm-cov"), "report", "-show-functions", f"-path-equivalence={same},{same}"]
    command += [f"-instr-profile={data}", str(binary), *files]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def coverage(binary: Path, results: list[Result]) -> None:
    """A table of files and configurations; then what no configuration with a flash has run."""
    lines: dict[str, dict[str, str]] = {}
    reached: set[tuple[str, str]] = set()
    missed: set[tuple[str, str]] = set()
    for result in results:
        if not result.profile.is_file() or not result.profile.stat().st_size:
            print(f"# {result.name}: it left no profile")
            continue
        data = profiled(result)
        files = exported(binary, data)
        for path, percent in files.items():
            name = path.partition("/hw/nvme/")[2]
            lines.setdefault(name, {})[result.name] = f"{percent:.0f} %"
        if result.name != STOCK:
            ran, did_not = functions(reported(binary, data, sorted(files)))
            reached |= ran
            missed |= did_not
    names = [result.name for result in results]
    print("\n| lines reached | " + " | ".join(names) + " |")
    print("|---" * (len(names) + 1) + "|")
    for file, said in sorted(lines.items()):
        print(f"| {file} | " + " | ".join(said.get(name, "") for name in names) + " |")
    missing: dict[str, list[str]] = {}
    for file, function in sorted(missed - reached):
        missing.setdefault(file, []).append(function)
    print("\nnever run with a flash, neither by an input nor by QEMU's start:")
    for file, names in missing.items():
        print(f"  {file}: {', '.join(names)}")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help=f"of {', '.join(CONFIGURATIONS)} (all)")
    parser.add_argument("--seconds", type=int, help="for each (60, or with --runs no end)")
    parser.add_argument("--runs", type=int, default=0, help="at most so many executions of each")
    parser.add_argument("--seed", type=int, default=1, help="libFuzzer's, and the draw's")
    parser.add_argument("--drawn", type=int, default=0, help="begin with so many drawn sequences")
    parser.add_argument("--binary", type=Path, help="a fuzzer that is built; default: build it")
    parser.add_argument(
        "--pack", action="store_true", help="keep what was found: every run begins with that"
    )
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "fuzz-device")
    args = parser.parse_args()
    for name in args.names:
        if name not in CONFIGURATIONS:
            parser.error(f"'{name}' is not known; there are {', '.join(CONFIGURATIONS)}")
    if args.seconds is None:
        args.seconds = 0 if args.runs else 60
    args.out = args.out.resolve()
    ensure_packages((*BUILD_PACKAGES, *CLANG_PACKAGES))
    binary = (args.binary or ensure_qemu("fuzz").binary).resolve()
    results = []
    for name in args.names or CONFIGURATIONS:
        results.append(fuzz(binary, name, args))
        print(results[-1].text(), flush=True)
    coverage(binary, results)
    bad = [each.name for each in results if each.status or not each.found.executions]
    if args.pack:
        good = [each.name for each in results if each.name not in bad]
        bad += [name for name in good if pack(binary, name, args.out)]
    print(f"\n{len(results) - len(bad)} passed, {len(bad)} failed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
