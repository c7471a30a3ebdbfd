# SPDX-License-Identifier: GPL-2.0-or-later
"""One fio job in one guest on one drive: the task that the guest runs, and its files."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from scarplib.build.qemu import QemuBuild
from scarplib.device_logs import changes, log_page
from scarplib.drive import controller, image_file
from scarplib.drive.switch import Switch
from scarplib.errors import UserError, printable
from scarplib.guest import block_trace, clock, fio_job, shipped, vm
from scarplib.guest.image import GuestImage
from scarplib.guest.realtime import RealTime, on_clock
from scarplib.guest.user_task import BEGIN_WRITTEN, UserTask

# Marks around fio on the console, which the benchmark times on the host.
MARK_BEGIN = "scarp-mark: job begins"
MARK_END = "scarp-mark: job ends"

# In the guest, below /scarp: the program that sets the start mark.
START = "bin/scarp-start"
# Vendor admin opcode 0xC0 and log page 0xCA are the flash device's (ftl/scarp.h).
FIO = "fio --output-format=json+ --output=/results/fio.json --eta=never /scarp/job.fio"

_SET_SPEED = "nvme admin-passthru $SCARP_CTRL --opcode=0xc0 --cdw10=1 --cdw11={shift:#x} >/dev/null"
_RESET_STATS = "nvme admin-passthru {control} --opcode=0xc0 --cdw10=2 >/dev/null"
_GET_STATS = (
    "nvme get-log {control} --log-id={id:#x} --log-len={size} --raw-binary >/results/{name}.bin"
)
# QEMU's main loop serves queues that are on its bottom halves.  While a busy host delays that
# loop, virtual time jumps over the minute after which the guest's driver gives a command up:
# "Interrupted system call".  With such queues the driver waits for days.
_WAIT_LONGER = (
    "for name in io_timeout admin_timeout; do\n"
    "    echo 1000000 >/sys/module/nvme_core/parameters/$name\n"
    "done\n"
    "echo 1000000000 >/sys/class/block/${SCARP_DEV#/dev/}/queue/io_timeout"
)


@dataclass(frozen=True)
class Job:
    """What to run on which drive; everything but `out` and `cpu_limit` decides the bytes."""

    # None: a script's, which `task` starts.
    fio_job: Path | None
    device: Path | None
    scheme: str
    out: Path
    # The drive begins from the image, or else as the device ages it.
    image: Path | None = None
    age: int = 900
    seed: int = 1
    overrides: str | None = None
    view: controller.HostView = controller.WHOLE
    smp: int = 1
    # None: its own, on the host's clock.
    cpu_shift: int | None = -2
    realtime: RealTime | None = None
    virtual_queues: bool = True
    cpu_limit: float = 240
    extra_args: Sequence[str] = field(default_factory=tuple)
    # What is the user's own: a script, a file system, packages, a kernel's modules.
    user: UserTask | None = None
    # Until then the drive has `scheme`.
    switch: Switch | None = None


def set_speed(cpu_shift: int | None) -> str:
    """The guest's command that switches its CPU's speed; on the host's clock there is none."""
    if cpu_shift is None:
        return "true"
    return _SET_SPEED.format(shift=cpu_shift & 0xFFFFFFFF)


def reset_stats(control: str = "$SCARP_CTRL") -> str:
    """The guest's command that makes a drive count from here."""
    return _RESET_STATS.format(control=control)


def get_stats(name: str, control: str = "$SCARP_CTRL", realtime: bool = False) -> str:
    """The guest's command that keeps a drive's log page as NAME.bin."""
    size = log_page.size(realtime)
    return _GET_STATS.format(control=control, name=name, id=log_page.LOG_ID, size=size)


def _namespaces(count: int) -> list[str]:
    """The guest's lines that name each of several; the kernel finds them one after the other."""
    if count == 1:
        return []
    names = [f"${{SCARP_DEV%1}}{number}" for number in range(1, count + 1)]
    there = " && ".join(f"[ -b {name} ]" for name in names)
    return [
        f"tries=0; until {there}; do tries=$((tries + 1)); [ $tries -le 500 ]; usleep 10000; done",
        *(f"export SCARP_NS{number}={name}" for number, name in enumerate(names, 1)),
    ]


def environment(
    age: int = 0,
    start: image_file.DriveImage | None = None,
    view: controller.HostView = controller.WHOLE,
) -> list[str]:
    """The guest's lines by which a job knows the drive; `start`, `view`: as in task_text()."""
    lines = ["export SCARP_RESULTS=/results", *_namespaces(len(view.sizes))]
    if start:
        lines.append(f"export SCARP_UNIT={start.unit_bytes}")
    if start and start.used_bytes:
        lines.append(f"export SCARP_AGED={view.first_bytes(start.used_bytes)}")
    else:
        # Whole 4 KiB blocks of what ageing wrote; of a fresh drive, everything.
        lines.append(
            "export SCARP_AGED=$(( $(cat /sys/class/block/${SCARP_DEV#/dev/}/size)"
            f" / 8 * {(not start and age) or 1000} / 1000 * 4096 ))"
        )
    if view.handles:
        lines.append("export SCARP_NG=/dev/ng${SCARP_DEV#/dev/nvme}")
    return lines


def task_text(
    cpu_shift: int | None,
    age: int = 0,
    flash: bool = True,
    start: image_file.DriveImage | None = None,
    view: controller.HostView = controller.WHOLE,
    switches_speed: bool = True,
    timed: bool = False,
) -> str:
    """The guest's script.  Without a flash device (the benchmark's stock drive): fio alone.

    `start`: the image that the drive begins from; otherwise it is `age` thousandths full.
    `view`: with handles the job may place its writes, which only commands that are passed through
    can.
    `switches_speed`: only a drive whose queues are on the virtual clock can.  `timed`: it is asked
    which part of the job ran when.
    """
    lines = ["set -e", *environment(age, start, view)]
    lines += [] if switches_speed else [_WAIT_LONGER]
    if flash:
        realtime = cpu_shift is None
        begin = get_stats("stats-begin", realtime=realtime)
        lines += [set_speed(cpu_shift)] if switches_speed else []
        lines += [reset_stats(), begin]
    lines += [f"echo '{MARK_BEGIN}'", FIO, f"echo '{MARK_END}'"]
    if flash:
        lines.append(get_stats("stats-end", realtime=realtime))
        lines += clock.lines() if timed else []
    return "\n".join(lines) + "\n"


def user_text(
    cpu_shift: int | None,
    user: UserTask,
    age: int = 0,
    start: image_file.DriveImage | None = None,
    view: controller.HostView = controller.WHOLE,
    timed: bool = False,
) -> str:
    """The guest's script where something of it is the user's own; the rest as in task_text()."""
    begin = [f"echo '{MARK_BEGIN}'"]
    lines = ["set -e", *environment(age, start, view), *user.setup()]
    lines += [set_speed(cpu_shift), *user.lay_out(), f"sh /scarp/{START}", *begin]
    failed = '{ head -n 1 /results/fio.json; echo "scarp-error: fio failed"; exit 1; }'
    lines += [
        *(user.run() or [f"{FIO} || {failed}"]),
        f"echo '{MARK_END}'",
        get_stats("stats-done", realtime=cpu_shift is None),
        *(clock.lines() if timed else []),
        *(block_trace.end() if user.trace else []),
    ]
    # The file system's last writes are its own cost; and then nothing is in flight.
    end = get_stats("stats-end", realtime=cpu_shift is None)
    return "\n".join([*lines, *user.end(), end]) + "\n"


def start_text(realtime: bool = False) -> str:
    """`scarp-start` in the guest: what was before is not measured."""
    said = "/tmp/scarp-start"
    begin = get_stats("stats-begin", realtime=realtime)
    lines = ["#!/bin/sh", "sync", f"{{ {reset_stats()} && {begin}"]
    # nvme-cli tells of its success, too: only a failure is for the script's log.
    lines += [f"}} 2>{said} || {{ cat {said} >&2; exit 1; }}", BEGIN_WRITTEN, block_trace.begin()]
    return "\n".join(lines) + "\n"


def check_job_file(
    path: Path, view: controller.HostView = controller.WHOLE, file_system: bool = False
) -> fio_job.FioJob:
    """The job; what the guest could only find out after booting is said here."""
    job = fio_job.read(path)
    text = job.text
    if "${SCARP_NG}" in text and not view.handles:
        raise UserError(f"--job: {path}: ${{SCARP_NG}} is for a drive with --handles")
    wanted = max(map(int, re.findall(r"\$\{SCARP_NS(\d+)\}", text)), default=0)
    if wanted > (len(view.sizes) if len(view.sizes) > 1 else 0):
        raise UserError(f"--job: {path}: ${{SCARP_NS{wanted}}} is for a drive with --namespaces")
    if ("${SCARP_DIR}" in text) != file_system:
        if file_system:
            raise UserError(
                f"--job: {path}: no 'directory=${{SCARP_DIR}}': it would miss the file system"
            )
        raise UserError(f"--job: {path}: ${{SCARP_DIR}} is for a drive with --fs")
    if file_system:
        return job
    if not re.search(r"\$\{SCARP_(DEV|NG|NS\d+)\}", text):
        raise UserError(f"--job: {path}: no 'filename=${{SCARP_DEV}}': it would miss the drive")
    return job


def progress_file(job: Job) -> Path:
    """What the drive keeps mapped while the guest runs: see progress.py."""
    return job.out / "progress.bin"


def run_job(
    qemu: QemuBuild, image: GuestImage, job: Job, stop: threading.Event | None = None
) -> vm.GuestResult:
    """Boot, run, collect: fio's files, cmd.bin, gc.bin and console.log end in job.out."""
    start = image_file.read(job.image) if job.image else None
    job.out.mkdir(parents=True, exist_ok=True)
    drive = vm.FlashDrive(
        description=job.device,
        scheme=job.scheme,
        overrides=job.overrides,
        view=job.view,
        age=job.age,
        image=job.image,
        seed=job.seed,
        cmd_log=job.out / "cmd.bin",
        gc_log=job.out / "gc.bin",
        change_log=job.out / changes.NAME,
        switch=job.switch,
        progress=progress_file(job),
        virtual_queues=job.virtual_queues,
    )
    drive = on_clock(job.realtime, drive, folder=job.out)
    ran = fio_job.read(job.fio_job) if job.fio_job else None
    files: dict[str, Path | bytes] = ran.content() if ran else {}
    timed = bool(ran and clock.wanted(ran.text))
    if job.user:
        task = user_text(job.cpu_shift, job.user, job.age, start, job.view, timed)
        files |= {**job.user.content(), START: start_text(bool(job.realtime)).encode()}
    else:
        task = task_text(
            job.cpu_shift,
            job.age,
            start=start,
            view=job.view,
            switches_speed=job.virtual_queues,
            timed=timed,
        )
    result = vm.run_guest(
        vm.GuestRun(
            qemu=qemu,
            image=image,
            drives=[drive],
            task=task,
            files=files,
            memory_mib=job.user.memory_mib if job.user else vm.GuestRun.memory_mib,
            kernel_args=job.user.kernel_args if job.user else "",
            smp=job.smp,
            accel=job.realtime.accel if job.realtime else None,
            idle_poll=bool(job.realtime and job.realtime.idle == "poll"),
            load=job.out / "load.csv" if job.realtime else None,
            cpu_limit=job.cpu_limit,
            out=job.out,
            extra_args=list(job.extra_args),
            stop=stop,
        )
    )
    keep_results(result, job.out)
    return result


def keep_results(result: vm.GuestResult, folder: Path) -> None:
    """Move the files that the guest left from its own folder into this one."""
    if result.reason != "ok" or not result.results:
        return
    if left := shipped.keep(result.results, folder):
        where = result.results.relative_to(folder.resolve())
        names = ", ".join(map(printable, left))
        print(f"scarp: not a job's files, left in {where}/: {names}", file=sys.stderr)
