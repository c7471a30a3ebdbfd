# SPDX-License-Identifier: GPL-2.0-or-later
"""One guest from power-on to its end: command line, watch over it, results."""

from __future__ import annotations

import re
import struct
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from .cache import unpack_tar
from .guest_image import Cpio, GuestImage
from .qemu_build import QemuBuild

# A fixed model: the host's CPU must not show in the guest's code paths.
# The level makes the CPU tell its clock rates: a kernel that measures them loses seconds.
CPU_MODEL = "Haswell-v4,min-level=0x16"
# Time that a booting kernel would spend in busy waits and probing is cut away.
KERNEL_ARGUMENTS = (
    "console=ttyS0 quiet init_on_alloc=0 reboot=t panic=-1 nokaslr tsc=reliable no_timer_check "
    "random.trust_cpu=on cryptomgr.notests mitigations=off "
    "8250.nr_uarts=1 noresume audit=0 nmi_watchdog=0 nosoftlockup"
)
RESULT_BYTES = 1 << 28
_RESULT_HEADER = struct.Struct("<8sQ")
_PANIC = re.compile(rb"Kernel panic - not syncing|BUG: unable to handle|Oops: ")
_CONSOLE_TAIL = 4000


@dataclass
class FlashDrive:
    description: Path
    scheme: str = "baseline"
    params: str | None = None
    overrides: str | None = None
    age: int = 0
    seed: int = 1
    cmd_log: Path | None = None
    gc_log: Path | None = None
    progress: Path | None = None
    virtual_queues: bool = True
    namespaces: int = 1
    clock: str | None = None

    def arguments(self, number: int) -> list[str]:
        """The flash device, a controller with the serial number scarp<n>, its namespaces."""
        options: dict[str, object] = {
            "id": f"f{number}",
            "description": self.description.resolve(),
            "scheme": self.scheme,
            "seed": self.seed,
            "age": self.age,
            "params": self.params.replace(",", ";") if self.params else None,
            "overrides": self.overrides.replace(",", ";") if self.overrides else None,
            "cmd-log": self.cmd_log,
            "gc-log": self.gc_log,
            "progress": self.progress,
            "clock": self.clock,
            "x-virtual-queues": None if self.virtual_queues else "off",
        }
        text = "".join(
            f",{key}={str(value).replace(',', ',,')}"
            for key, value in options.items()
            if value is not None
        )
        arguments = ["-device", f"nvme-flash{text}"]
        arguments += ["-device", f"nvme,id=nvme{number},serial=scarp{number}"]
        for _ in range(self.namespaces):
            arguments += ["-device", f"nvme-ns,bus=nvme{number},flash=f{number}"]
        return arguments


@dataclass
class GuestRun:
    qemu: QemuBuild
    image: GuestImage
    drives: list[FlashDrive]
    task: str
    out: Path
    files: dict[str, Path] = field(default_factory=dict)
    smp: int = 1
    memory_mib: int = 384
    boot_shift: int = 1
    # Without: the guest sees the host's time, and nothing is repeatable.
    icount: bool = True
    wall_limit: float = 240
    extra_args: list[str] = field(default_factory=list)


@dataclass
class GuestResult:
    # "ok", "panic", "hang", "task failed", "qemu died"
    reason: str
    results: Path | None
    console_tail: str
    wall_seconds: float
    boot_seconds: float


def _task_cpio(run: GuestRun, interactive: bool) -> bytes:
    cpio = Cpio()
    cpio.file("scarp/task", run.task.encode(), 0o755)
    for name, path in sorted(run.files.items()):
        cpio.file(f"scarp/{name}", path.read_bytes(), 0o755)
    if interactive:
        cpio.file("scarp/interactive", b"")
    return cpio.data()


def command_line(run: GuestRun, initrd: Path, console: str) -> list[str]:
    arguments = [str(run.qemu.binary), "-L", str(run.qemu.firmware_dir)]
    if run.icount:
        arguments += ["-icount", f"shift={run.boot_shift},sleep=off"]
    arguments += ["-rtc", "base=2024-01-01T00:00:00,clock=vm", "-seed", "1"]
    arguments += ["-accel", "tcg,thread=single", "-cpu", CPU_MODEL, "-smp", str(run.smp)]
    arguments += ["-m", str(run.memory_mib), "-machine", "q35,sata=off,smbus=off,hpet=off"]
    arguments += ["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"]
    arguments += ["-kernel", str(run.image.kernel), "-initrd", str(initrd)]
    arguments += ["-append", KERNEL_ARGUMENTS, "-serial", console]
    for number, drive in enumerate(run.drives):
        arguments += drive.arguments(number)
    return arguments + run.extra_args


def _unpack(shared: Path, folder: Path) -> str | None:
    """The guest's tar; says what is wrong with it, if anything."""
    with shared.open("rb") as stream:
        magic, length = _RESULT_HEADER.unpack(stream.read(_RESULT_HEADER.size))
        if magic != b"SCARPTAR":
            return "the guest shipped no results"
        data = stream.read(length)
    folder.mkdir(exist_ok=True)
    unpack_tar(data, folder)
    return None


def _tail(console: Path) -> str:
    try:
        data = console.read_bytes()[-_CONSOLE_TAIL:]
    except OSError:
        return ""
    return re.sub(r"\x1b\[[0-9;]*[A-Za-z]|\r", "", data.decode(errors="replace"))


def run_guest(run: GuestRun) -> GuestResult:
    """Boot, wait for the end within wall_limit, unpack the results into out/results."""
    run.out.mkdir(parents=True, exist_ok=True)
    out = run.out.resolve()
    console, initrd, shared = out / "console.log", out / "initrd.tmp", out / "results.tmp"
    initrd.write_bytes(run.image.initramfs.read_bytes() + _task_cpio(run, False))
    with shared.open("wb") as stream:
        stream.truncate(RESULT_BYTES)
    console.write_bytes(b"")
    command = command_line(run, initrd, f"file:{console}")
    command += [
        "-object",
        f"memory-backend-file,id=results,share=on,mem-path={shared},size={RESULT_BYTES}",
        "-device",
        "ivshmem-plain,memdev=results",
    ]
    began = time.monotonic()
    boot = 0.0
    reason = ""
    with (out / "qemu.log").open("wb") as errors:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=errors, stderr=subprocess.STDOUT
        )
        try:
            while process.poll() is None:
                time.sleep(0.05)
                # A console is short: reading it whole costs less than a mistake.
                text = console.read_bytes()
                if not boot and b"scarp: ready" in text:
                    boot = time.monotonic() - began
                if _PANIC.search(text):
                    reason = "panic"
                    time.sleep(0.5)
                    break
                if time.monotonic() - began > run.wall_limit:
                    reason = "hang"
                    break
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()
    wall = time.monotonic() - began
    tail = _tail(console)
    ended = re.findall(r"^scarp: end (.*)$", tail, re.MULTILINE)
    results: Path | None = None
    if not reason:
        if process.returncode:
            reason = "qemu died"
            errors_text = (out / "qemu.log").read_text(errors="replace")
            tail += f"\nqemu ended with status {process.returncode}:\n{errors_text[-1500:]}"
        elif not ended:
            reason = "panic" if "panic" in tail else "qemu died"
        elif ended[-1].strip() == "status 0":
            problem = _unpack(shared, out / "results")
            reason, results = ("task failed", None) if problem else ("ok", out / "results")
            tail += f"\n{problem}" if problem else ""
        else:
            reason = "task failed"
    elif reason == "hang":
        tail += f"\nstopped after {run.wall_limit:.0f} s of wall time"
    initrd.unlink(missing_ok=True)
    shared.unlink(missing_ok=True)
    return GuestResult(reason, results, tail, wall, boot)


def interactive(run: GuestRun) -> int:
    """The same guest with its console on this terminal."""
    initrd = run.out / "initrd.tmp"
    initrd.write_bytes(run.image.initramfs.read_bytes() + _task_cpio(run, True))
    done = subprocess.run(command_line(run, initrd, "mon:stdio"), check=False)
    return done.returncode
