# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp doctor`: can this machine hold a drive to the host's clock?  What it has, then a test."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

from scarplib.build.qemu import ensure_qemu
from scarplib.dev import bench_realtime
from scarplib.guest import kvm_firmware
from scarplib.guest.image import ensure_image
from scarplib.guest.realtime import BOUND_US, allows_priority, kvm_trouble, kvm_usable
from scarplib.runs import folder as folders

# The test's length; a run of some seconds meets most of what a host does now and then.
_SECONDS = 20
_SYS = Path("/sys")


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return "unknown"


def clock_source() -> str:
    """What reading the clock costs: a processor's counter, or a call into the hypervisor."""
    name = _read(_SYS / "devices/system/clocksource/clocksource0/current_clocksource")
    good = name in ("tsc", "kvm-clock", "arch_sys_counter")
    return f"{name}{'' if good else ' (slow to read: expect some us more)'}"


def cores() -> str:
    """Of ours: a drive's thread polls, beside the virtual CPUs and QEMU's main loop."""
    count = len(os.sched_getaffinity(0))
    return f"{count}{'' if count >= 4 else ' (with fewer than 4 the threads wait for each other)'}"


def huge_pages() -> str:
    """The mapping table of a large drive is read at random."""
    return _read(_SYS / "kernel/mm/transparent_hugepage/enabled")


def governor() -> str:
    """A core that has slowed down is late when it is needed."""
    name = _read(_SYS / "devices/system/cpu/cpu0/cpufreq/scaling_governor")
    return name if name in ("performance", "unknown") else f"{name} ('performance' is never late)"


def priority() -> str:
    """Whether a drive's thread may go before other programs."""
    refused = "refused (see 'ulimit -r'): other programs can be in the way"
    return "allowed" if allows_priority(1) else refused


def _kvm() -> str:
    qemu = ensure_qemu()
    why = kvm_trouble(qemu, ensure_image)
    if not why:
        return "a Linux guest boots on it"
    if kvm_usable() and kvm_firmware.runs(qemu):
        return (
            "guests without an operating system alone, such as that of `make test-kvm`: Linux does "
            f"not boot ({why}), and runs are on TCG"
        )
    return f"no: {why}; runs are on TCG"


CHECKS: dict[str, Callable[[], str]] = {
    "KVM": _kvm,
    "clock source": clock_source,
    "cores": cores,
    "huge pages": huge_pages,
    "governor": governor,
    "priority": priority,
}


def main() -> int:
    """Say what was found, and how late a drive's thread is: 1 if too late to be believed."""
    for name, check in CHECKS.items():
        print(f"{name + ':':<14} {check()}", flush=True)
    load = next(each for each in bench_realtime.LOADS if each.p99_ns)
    print(f"self-test: {load.name}, for {_SECONDS} s", flush=True)
    folder = folders.new_folder("doctor", None)
    result = bench_realtime.measure(bench_realtime.ensure_program(), load, _SECONDS, folder)
    result |= {"name": load.name, "bound_ns": 1000 * BOUND_US}
    (folder / "result.json").write_text(json.dumps(result, indent=1) + "\n")
    print(f"  {bench_realtime.line(result)}", flush=True)
    folders.draw(folder, "scarplib.results.pictures.self_test", "result.json")
    shown = folder.relative_to(Path.cwd()) if folder.is_relative_to(Path.cwd()) else folder
    print(f"  lateness over time, above the host's load: {shown / 'lateness.png'}")
    good = result["late_p99_ns"] <= result["bound_ns"]
    print("good: results can be believed" if good else "doubtful: this host is too late, or busy")
    return 0 if good else 1
