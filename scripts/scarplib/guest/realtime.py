# SPDX-License-Identifier: GPL-2.0-or-later
"""A guest on the host's clock: on KVM where a guest of ours runs on it, else on TCG."""

from __future__ import annotations

import os
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from scarplib.build.qemu import QemuBuild
from scarplib.errors import UserError
from scarplib.guest import until_boot, vm
from scarplib.guest.image import GuestImage
from scarplib.paths import DEVICES

ACCELERATORS = ("auto", "kvm", "tcg")
IDLES = ("poll", "halt")
# Lateness whose 99th percentile is above so many microseconds makes a run doubtful.
BOUND_US = 20
# A guest that boots at all on KVM has done so long before.
_PROBE_S = 30.0
_KVM = Path("/dev/kvm")
# QEMU's words when KVM cannot go on; how often the probe looks for them.
_KVM_GIVES_UP = "KVM internal error"
_LOOK_S = 0.1


@dataclass(frozen=True)
class RealTime:
    """How the guests of a run see the host's time."""

    # "kvm" or "tcg".
    accel: str
    bound_us: int = BOUND_US
    # Why it is not KVM, if that was wanted.
    why: str = ""
    # Of the host, for each drive's thread; none: any.
    cpus: tuple[int, ...] = ()
    # Of the drives' threads, where the host allows it; 0: none.
    priority: int = 0
    # What virtual CPUs do that have nothing to do: "poll" or "halt".
    idle: str = "halt"

    def text(self) -> str:
        """For people."""
        name = "KVM" if self.accel == "kvm" else "TCG, a thread for each virtual CPU"
        return f"the host's clock, on {name}{f' ({self.why})' if self.why else ''}"

    def settings(self) -> dict[str, Any]:
        """For the manifest: such results depend on the host."""
        return {
            "accel": self.accel,
            "lateness_bound_us": self.bound_us,
            "cpus": list(self.cpus),
            "priority": self.priority,
            "idle": self.idle,
            "host": host(),
        }


@dataclass(frozen=True)
class Clock:
    """What the user asks for: virtual time at a CPU speed, or the host's with an accelerator."""

    # None: real time.
    cpu_shift: int | None = -2
    accel: str = "auto"
    bound_us: int = BOUND_US
    cpus: tuple[int, ...] = ()
    priority: int = 0
    idle: str = "halt"

    def real(self, qemu: QemuBuild, image: Callable[[], GuestImage]) -> RealTime | None:
        """None on virtual time; a UserError if there is no such accelerator."""
        if self.cpu_shift is not None:
            return None
        if self.accel == "tcg":
            return RealTime("tcg", self.bound_us, "", self.cpus, self.priority, self.idle)
        why = kvm_trouble(qemu, image)
        if why and self.accel == "kvm":
            raise UserError(f"--accel kvm: {why}")
        accel = "tcg" if why else "kvm"
        return RealTime(accel, self.bound_us, why, self.cpus, self.priority, self.idle)


VIRTUAL = Clock()


def on_clock(
    real: RealTime | None, drive: vm.FlashDrive, number: int = 0, folder: Path | None = None
) -> vm.FlashDrive:
    """The drive on the run's clock, if that is the host's; its lateness is logged in the folder."""
    if not real:
        return drive
    return replace(
        drive,
        clock="realtime",
        lateness_log=folder / "late.bin" if folder else None,
        lateness_bound_us=real.bound_us,
        cpu=real.cpus[number] if real.cpus else None,
        priority=real.priority,
    )


def allows_priority(priority: int) -> bool:
    """Whether this host lets programs of ours have that real-time priority."""
    wanted = (os.SCHED_FIFO, os.sched_param(priority))
    try:
        child = os.posix_spawnp("true", ["true"], os.environ, scheduler=wanted)
    except PermissionError:
        return False
    os.waitpid(child, 0)
    return True


def usual_priority(drives: int) -> int:
    """Of the threads of so many drives at once: a core is left for those without priority."""
    return 1 if drives < len(os.sched_getaffinity(0)) else 0


def usual_idle(drives: int, virtual_cpus: int) -> str:
    """Polling takes a core for each: an idle CPU that halts has to be woken for every interrupt."""
    return "poll" if drives + virtual_cpus <= len(os.sched_getaffinity(0)) else "halt"


def check_cores(cores: tuple[int, ...], drives: int) -> None:
    """One for each drive, and each is there."""
    usable = sorted(os.sched_getaffinity(0))
    for core in cores:
        if core not in usable:
            listed = ", ".join(map(str, usable))
            raise UserError(f"--cpus: this host has no core {core} for us; it has {listed}")
    if cores and len(cores) != drives:
        raise UserError(f"--cpus: {len(cores)} cores for {drives} drives: each takes one")


def host() -> dict[str, Any]:
    """What of this machine decides how late a completion is."""
    model = [
        line.partition(":")[2].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    ]
    return {"cpu": model[0] if model else "unknown", "cores": os.cpu_count() or 1}


def _internal_error(log: Path) -> str:
    """QEMU's own words when KVM gives a guest up; empty: it has not, or not yet."""
    try:
        lines = log.read_text(errors="replace").splitlines()
    except OSError:
        return ""
    return next((line.strip() for line in lines if _KVM_GIVES_UP in line), "")


def _stop_when_given_up(log: Path, stop: threading.Event, ended: threading.Event) -> None:
    """Stops the guest when KVM has given it up, or after the probe's limit.

    QEMU itself stays then, with a machine that stands still.
    """
    until = time.monotonic() + _PROBE_S
    while not ended.wait(_LOOK_S):
        if _internal_error(log) or time.monotonic() > until:
            stop.set()
            return


def _boots(qemu: QemuBuild, image: GuestImage) -> tuple[str, bool]:
    """Boot a guest on KVM; why it does not work, or an empty text, and whether that is certain."""
    stop, ended = threading.Event(), threading.Event()
    with tempfile.TemporaryDirectory(prefix="scarp-kvm-") as folder:
        log = Path(folder) / "qemu.log"
        watcher = threading.Thread(target=_stop_when_given_up, args=(log, stop, ended))
        watcher.start()
        try:
            result = vm.run_guest(
                vm.GuestRun(
                    qemu=qemu,
                    image=image,
                    drives=[vm.FlashDrive(description=DEVICES / "demo.ini", clock="realtime")],
                    task="true\n",
                    out=Path(folder),
                    accel="kvm",
                    stop=stop,
                )
            )
        finally:
            ended.set()
            watcher.join()
        given_up = _internal_error(log)
    if result.reason == "ok":
        return "", True
    if given_up:
        return f"a guest on KVM: {given_up}", True
    if result.reason == "stopped":
        # Perhaps only because the host was busy.
        return f"a guest on KVM did not boot within {_PROBE_S:.0f} s", False
    lines = [line.strip() for line in result.console_tail.splitlines() if line.strip()]
    said = next((line for line in reversed(lines) if "qemu" in line or "KVM" in line), "")
    return f"a guest on KVM: {result.reason}{f': {said}' if said else ''}", True


def kvm_usable() -> bool:
    """True when programs of ours may open /dev/kvm."""
    return os.access(_KVM, os.R_OK | os.W_OK)


def kvm_trouble(qemu: QemuBuild, image: Callable[[], GuestImage]) -> str:
    """Why this machine's KVM is of no use, or an empty text.

    A certain answer holds until the host boots again.
    """
    if not _KVM.exists():
        return "no /dev/kvm"
    if not kvm_usable():
        return "no permission for /dev/kvm"
    return until_boot.answer("kvm-probe", qemu, lambda: _boots(qemu, image()))
