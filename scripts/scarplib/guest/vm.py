# SPDX-License-Identifier: GPL-2.0-or-later
"""One guest from power-on to its end: command line, watch over it, results."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import struct
import subprocess
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from scarplib import scheme_text
from scarplib.build.qemu import QemuBuild
from scarplib.drive import controller
from scarplib.drive.switch import Switch
from scarplib.errors import UserError, printable_lines
from scarplib.guest import shipped
from scarplib.guest.cpio import Cpio
from scarplib.guest.host_load import HostLoad
from scarplib.guest.image import GuestImage

# A fixed model: the host's CPU must not show in the guest's code paths.
# The level makes the CPU tell its clock rates: a kernel that measures them loses seconds.
CPU_MODEL = "Haswell-v4,min-level=0x16"
# Time that a booting kernel would spend in busy waits and probing is cut away.
KERNEL_ARGUMENTS = (
    "console=ttyS0 quiet init_on_alloc=0 reboot=t panic=-1 nokaslr tsc=reliable no_timer_check "
    "random.trust_cpu=on cryptomgr.notests mitigations=off "
    "8250.nr_uarts=1 noresume audit=0 nmi_watchdog=0 nosoftlockup"
)
# In place of the kernel's list of sleep states: a guest that sleeps on virtual time never wakes,
# as nothing runs that its clock could follow.
_NO_SLEEP = b"none: on virtual time a guest that sleeps would not wake\n"
PROC = Path("/proc")
RESULT_BYTES = 1 << 28
_RESULT_HEADER = struct.Struct("<8sQ")
_PANIC = re.compile(rb"Kernel panic - not syncing|BUG: unable to handle|Oops: ")
_END = re.compile(rb"^scarp: end (.*?)\r?$", re.MULTILINE)
_CONSOLE_TAIL = 4000
# What programs steer a terminal with: colours and the cursor, its title and links; a line's end.
_STEERS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\r")
# A guest that waits for ever wants hardly any processor time: less than so much in so long.
_WAITS_CPU_S = 60
_WAITS_WALL_S = 1200
# Processor time for the rest of a kernel's report, after which it ends QEMU by itself (panic=-1).
_REPORT_CPU_S = 5


def option(value: object) -> str:
    """A value as QEMU's option strings have it: two commas mean one."""
    return str(value).replace(",", ",,")


@dataclass
class FlashDrive:
    """A flash device and what a host sees of it; paths are the host's."""

    # Without one it is the image's own.
    description: Path | None
    # With its parameters, as --schemes takes it.
    scheme: str = "baseline"
    overrides: str | None = None
    # Either may say how the drive begins: aged by the device itself, or loaded.
    age: int = 0
    image: Path | None = None
    seed: int = 1
    cmd_log: Path | None = None
    gc_log: Path | None = None
    # What the host writes, byte by byte: with a cmd_log, on the virtual clock.
    data_log: Path | None = None
    # Each change of its scheme, and each power cut.
    change_log: Path | None = None
    # On the virtual clock.
    switch: Switch | None = None
    progress: Path | None = None
    virtual_queues: bool = True
    view: controller.HostView = controller.WHOLE
    clock: str | None = None
    # With clock=realtime: a row for each completion, and what is too late.
    lateness_log: Path | None = None
    lateness_bound_us: int | None = None
    # The host's core for its thread.
    cpu: int | None = None
    # Its thread's real-time priority, where the host allows one; 0: none.
    priority: int = 0

    def arguments(self, number: int) -> list[str]:
        """The flash device, a controller with the serial number scarp<n>, its namespaces."""
        chosen = scheme_text.split(self.scheme)
        options: dict[str, object] = {
            "id": f"f{number}",
            "description": self.description.resolve() if self.description else None,
            "image": self.image.resolve() if self.image else None,
            "scheme": chosen.name,
            "seed": self.seed,
            "age": None if self.image else self.age,
            "params": chosen.params(";") or None,
            "overrides": self.overrides.replace(",", ";") if self.overrides else None,
            "cmd-log": self.cmd_log,
            "gc-log": self.gc_log,
            "data-log": self.data_log,
            "change-log": self.change_log,
            "progress": self.progress,
            "clock": self.clock,
            "lateness-log": self.lateness_log,
            "lateness-bound-ns": self.lateness_bound_us and self.lateness_bound_us * 1000,
            "cpu": self.cpu,
            "priority": self.priority or None,
            "x-virtual-queues": None if self.virtual_queues else "off",
            **(self.switch.options() if self.switch else {}),
        }
        text = "".join(
            f",{key}={option(value)}" for key, value in options.items() if value is not None
        )
        flash = ["-device", f"nvme-flash{text}"]
        return flash + controller.arguments(number, self.view)


@dataclass
class GuestRun:
    """One guest: what boots, with which drives, what it runs (`task`), and its limits."""

    qemu: QemuBuild
    image: GuestImage
    drives: list[FlashDrive]
    task: str
    out: Path
    # By their names below /scarp, or from / on.
    files: Mapping[str, Path | bytes] = field(default_factory=dict)
    smp: int = 1
    memory_mib: int = 384
    # Behind those that every guest's kernel has.
    kernel_args: str = ""
    boot_shift: int = 1
    # Without: the guest sees the host's time, and nothing is repeatable.
    icount: bool = True
    # "kvm", or "tcg" with a thread for each virtual CPU: on the host's time, too.
    accel: str | None = None
    # With it: virtual CPUs that have nothing to do poll, and need not be woken.
    idle_poll: bool = False
    # Where the host's load is written, if anywhere.
    load: Path | None = None
    # Seconds of QEMU's processor time: on a busy host a guest is late, but it does not hang.
    cpu_limit: float = 240
    # A guest that prints without end must not fill the host's disk before its other limit.
    console_limit: int = 16 << 20
    extra_args: list[str] = field(default_factory=list)
    # Set by another thread to end the guest at once.
    stop: threading.Event | None = None


@dataclass
class GuestResult:
    """How it ended; `results` is the folder of what the guest left, if it ended well."""

    # "ok", "panic", "hang", "task failed", "qemu died", "stopped"
    reason: str
    results: Path | None
    console_tail: str
    wall_seconds: float
    boot_seconds: float


def _task_cpio(run: GuestRun, interactive: bool) -> bytes:
    cpio = Cpio()
    cpio.file("scarp/task", run.task.encode(), 0o755)
    for name, content in sorted(run.files.items()):
        data = content if isinstance(content, bytes) else content.read_bytes()
        cpio.file(name[1:] if name.startswith("/") else f"scarp/{name}", data, 0o755)
    if interactive:
        cpio.file("scarp/interactive", b"")
    if run.icount and not run.accel:
        cpio.file("scarp/no-sleep", _NO_SLEEP)
    return cpio.data()


def archive(run: GuestRun) -> bytes:
    """What the guest unpacks: the image's archive, and the run's own files."""
    return run.image.initramfs.read_bytes() + _task_cpio(run, False)


def _accelerator(accel: str | None) -> list[str]:
    if accel == "kvm":
        return ["-accel", "kvm", "-cpu", "host"]
    thread = "multi" if accel else "single"
    return ["-accel", f"tcg,thread={thread}", "-cpu", CPU_MODEL]


def command_line(run: GuestRun, initrd: Path, console: str) -> list[str]:
    """QEMU's; the same for equal runs but for paths."""
    arguments = [str(run.qemu.binary), "-L", str(run.qemu.firmware_dir)]
    if run.icount and not run.accel:
        arguments += ["-icount", f"shift={run.boot_shift},sleep=off"]
    arguments += ["-rtc", "base=2024-01-01T00:00:00,clock=vm", "-seed", "1"]
    arguments += [*_accelerator(run.accel), "-smp", str(run.smp)]
    arguments += ["-m", str(run.memory_mib), "-machine", "q35,sata=off,smbus=off,hpet=off"]
    arguments += ["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"]
    arguments += ["-kernel", str(run.image.kernel), "-initrd", str(initrd)]
    words = [KERNEL_ARGUMENTS, "idle=poll" if run.idle_poll else "", run.kernel_args]
    arguments += ["-append", " ".join(filter(None, words)), "-serial", console]
    for number, drive in enumerate(run.drives):
        arguments += drive.arguments(number)
    return arguments + run.extra_args


def unpack_results(shared: Path, folder: Path) -> str | None:
    """The guest's tar; says what is wrong with it, if anything."""
    with shared.open("rb") as stream:
        magic, length = _RESULT_HEADER.unpack(stream.read(_RESULT_HEADER.size))
        if magic != b"SCARPTAR":
            return "the guest shipped no results"
        # The guest says how long it is, too.
        if length > RESULT_BYTES - _RESULT_HEADER.size:
            return f"the guest says that it shipped {length} bytes: at most {RESULT_BYTES} can be"
        data = stream.read(length)
    return shipped.unpack(data, folder)


def results_arguments(shared: Path) -> list[str]:
    """QEMU's, for the file that the guest ships its results into."""
    backend = f"memory-backend-file,id=results,share=on,size={RESULT_BYTES}"
    return [
        *("-object", f"{backend},mem-path={option(shared)}"),
        *("-device", "ivshmem-plain,memdev=results"),
    ]


def terminal_arguments(log: Path) -> list[str]:
    """QEMU's, for a console on this terminal: as mon:stdio, with a copy in log."""
    return [
        *("-chardev", f"stdio,id=console,mux=on,signal=off,logfile={option(log)}"),
        *("-mon", "chardev=console"),
    ]


def readable(said: bytes) -> str:
    """For the user's terminal, which nothing of a guest's may steer."""
    return printable_lines(_STEERS.sub("", said.decode(errors="replace")))


class Console:
    """A console's file as it grows; each look reads only what is new."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = 0
        self.panic = False
        self.ready = False
        self._last = b""

    def look(self) -> None:
        with self.path.open("rb") as stream:
            stream.seek(self.size)
            new = stream.read()
        self.size += len(new)
        # What is sought may have come in two parts.
        text = self._last + new
        self.panic = self.panic or bool(_PANIC.search(text))
        self.ready = self.ready or b"scarp: ready" in text
        self._last = text[-100:]

    def end(self) -> str | None:
        """What the guest's init said last: "status N", or what kept it from that."""
        ended = _END.findall(self.path.read_bytes())
        return readable(ended[-1]).strip() if ended else None

    def tail(self) -> str:
        with self.path.open("rb") as stream:
            stream.seek(max(0, self.path.stat().st_size - _CONSOLE_TAIL))
            return readable(stream.read())


def tied(command: list[str]) -> list[str]:
    """The command, to be killed with us: a guest that nobody waits for runs on for ever."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "KILL", *command] if setpriv else command


def cpu_seconds(pid: int) -> float:
    """The processor time that all threads of a process have used so far."""
    # The name in parentheses may itself hold any character.
    fields = (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def wanted_seconds(pid: int) -> float:
    """The processor time that its threads have used, and that they have stood in line for: a busy
    host gives a guest little of what it wants, and that guest does not wait."""
    total = 0
    for path in (PROC / str(pid) / "task").glob("*/schedstat"):
        # A thread may have ended; and a kernel need not count.
        with contextlib.suppress(OSError, ValueError):
            used, in_line, _ = path.read_text().split()
            total += int(used) + int(in_line)
    return max(total / 1e9, cpu_seconds(pid))


def watch(process: subprocess.Popen[bytes], console: Console, run: GuestRun) -> tuple[str, float]:
    """Wait for QEMU's end; why it was cut short, if it was, and the seconds it took to boot."""
    began = time.monotonic()
    boot = 0.0
    limit = run.cpu_limit
    # When it was last asked what it had wanted, if that was enough, and what it was.
    seen, seen_wanted = 0.0, 0.0
    load = HostLoad(run.load) if run.load else None
    while True:
        running = process.poll() is None
        console.look()
        seconds = time.monotonic() - began
        if not boot and console.ready:
            boot = seconds
        if not running:
            if load:
                load.close()
            return "panic" if console.panic else "", boot
        used = cpu_seconds(process.pid)
        if load:
            load.sample(used)
        if seconds - seen > _WAITS_WALL_S:
            wanted = wanted_seconds(process.pid)
            if wanted >= seen_wanted + _WAITS_CPU_S:
                seen, seen_wanted = seconds, wanted
        if console.panic:
            limit = min(limit, used + _REPORT_CPU_S)
        cut = ""
        if console.size > run.console_limit:
            cut = "console"
        elif used > limit:
            cut = "spins"
        elif seconds - seen > _WAITS_WALL_S:
            cut = "waits"
        elif run.stop and run.stop.is_set():
            cut = "stopped"
        if cut:
            return "panic" if console.panic else cut, boot
        time.sleep(0.05)


def _exit_text(status: int) -> str:
    if status == -signal.SIGBUS:
        # What the guest ships is written into a file that is mapped, and had no more room.
        return "qemu was killed by SIGBUS, as it is where the disk of the results is full"
    if status < 0:
        return f"qemu was killed by {signal.Signals(-status).name}"
    return f"qemu ended with status {status}"


def run_guest(run: GuestRun) -> GuestResult:
    """Boot, wait for the end within the limits, unpack the results into out/results."""
    run.out.mkdir(parents=True, exist_ok=True)
    out = run.out.resolve()
    initrd, shared = out / "initrd.tmp", out / "results.tmp"
    console = Console(out / "console.log")
    console.path.write_bytes(b"")
    command = command_line(run, initrd, f"file:{console.path}")
    command += results_arguments(shared)
    try:
        initrd.write_bytes(archive(run))
        with shared.open("wb") as stream:
            stream.truncate(RESULT_BYTES)
        began = time.monotonic()
        with (out / "qemu.log").open("wb") as errors:
            # A group of its own: a terminal's Ctrl-C is for us, who know what it means.
            process = subprocess.Popen(
                tied(command),
                stdin=subprocess.DEVNULL,
                stdout=errors,
                stderr=subprocess.STDOUT,
                process_group=0,
            )
            try:
                cut, boot = watch(process, console, run)
            finally:
                if process.poll() is None:
                    process.kill()
                process.wait()
        wall = time.monotonic() - began
        return _result(run, console, shared, process.returncode, cut, wall, boot)
    finally:
        initrd.unlink(missing_ok=True)
        shared.unlink(missing_ok=True)


def _result(
    run: GuestRun,
    console: Console,
    shared: Path,
    status: int,
    cut: str,
    wall: float,
    boot: float,
) -> GuestResult:
    tail = console.tail()
    end = console.end()
    results: Path | None = None
    if cut in ("panic", "stopped"):
        reason = cut
    elif cut == "spins":
        reason = "hang"
        tail += f"\nstopped after {run.cpu_limit:.0f} s of processor time"
        tail += " (its idle CPUs polled: it may have waited)" if run.idle_poll else ""
    elif cut == "waits":
        reason = "hang"
        tail += f"\nstopped: it waits, for {_WAITS_WALL_S // 60} minutes now"
    elif cut == "console":
        reason = "task failed"
        tail += f"\nstopped: more than {run.console_limit >> 10} KiB on the console"
    elif status:
        reason = "qemu died"
        errors = readable((run.out / "qemu.log").read_bytes()[-1500:])
        tail += f"\n{_exit_text(status)}:\n{errors}"
    elif end is None:
        reason = "qemu died"
        tail += "\nqemu ended, the guest's task had not"
    elif end != "status 0":
        reason = "task failed"
        if end.startswith("status "):
            # What it had written says why.
            unpack_results(shared, run.out / "results")
    elif problem := unpack_results(shared, run.out / "results"):
        reason = "task failed"
        tail += f"\n{problem}"
    else:
        reason, results = "ok", run.out.resolve() / "results"
    return GuestResult(reason, results, tail, wall, boot)


def interactive(run: GuestRun) -> int:
    """The same guest with its console on this terminal."""
    initrd = run.out / "initrd.tmp"
    console = Console(run.out / "console.log")
    console.path.write_bytes(b"")
    initrd.write_bytes(run.image.initramfs.read_bytes() + _task_cpio(run, True))
    command = command_line(run, initrd, "chardev:console")
    # From the copy the guest's end is known.
    command += terminal_arguments(console.path)
    status = subprocess.run(tied(command), check=False).returncode
    console.look()
    if status:
        raise UserError(_exit_text(status))
    if console.panic:
        raise UserError("the guest's kernel panicked; its report is above")
    # Without an end it was left by the monitor's own key, which is no error.
    end = console.end()
    if end not in (None, "status 0"):
        raise UserError(f"the guest ended early ({end}); its console is above")
    return 0
