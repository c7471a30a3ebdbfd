# SPDX-License-Identifier: GPL-2.0-or-later
"""One run of the workload in the guest, recorded: commands, the bytes they wrote, and the image."""

from __future__ import annotations

import re
import shutil
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from scarplib.build.qemu import ensure_qemu
from scarplib.device_logs import log_page
from scarplib.device_logs.log_file import LogError
from scarplib.drive import age, image_file
from scarplib.drive.check import check_drive
from scarplib.errors import UserError
from scarplib.guest import fio_job, user_guest, vm
from scarplib.guest.file_system import FileSystem, check_room
from scarplib.guest.job import (
    FIO,
    MARK_BEGIN,
    MARK_END,
    START,
    check_job_file,
    environment,
    get_stats,
    keep_results,
    set_speed,
    start_text,
)
from scarplib.guest.progress import Watcher
from scarplib.guest.user_guest import Guest, User
from scarplib.guest.user_task import UserTask
from scarplib.powercut.layout import Over
from scarplib.powercut.recording import Drive, Recording
from scarplib.runs import manifest

# What every mount and fsync of a small drive needs is far less.
DATA_MIB = 1024


@dataclass(frozen=True)
class Wanted:
    """What is recorded on which drives."""

    device: Path
    job: Path | None
    user: User
    scheme: str = "baseline"
    overrides: str | None = None
    age: int = 900
    overwrite: int | None = None
    seed: int = 1
    smp: int = 1
    cpu_shift: int = -2
    cpu_limit: float = 600
    # At most so much may be written to all drives together.
    data_mib: int = DATA_MIB
    over: Over = field(default_factory=Over)
    # What the guest gets besides, for GuestRun.files.
    files: dict[str, Path | bytes] = field(default_factory=dict)

    def work(self) -> str:
        """What runs, for people."""
        path = self.job or self.user.script
        assert path
        return path.name


def guest_words(user: User, over: Over) -> dict[str, Any]:
    """What of the user's guest its checks need, too."""
    kernel = user.kernels[0] if user.kernels else None
    return {
        "file_systems": [[fs.name, fs.options] for fs in user.file_systems],
        "packages": list(user.packages),
        "kernel": str(kernel.resolve()) if kernel else None,
        "modules": str(user.modules.resolve()) if user.modules else None,
        "memory_mib": user.memory_mib,
        "over": over.name,
    }


def guest_user(words: dict[str, Any], over: Over, packages: Sequence[str]) -> User:
    """The other way round; with more packages."""
    kernel, modules = words["kernel"], words["modules"]
    return User(
        packages=tuple(dict.fromkeys([*words["packages"], *packages])),
        kernels=(Path(kernel),) if kernel else (),
        modules=Path(modules) if modules else None,
        memory_mib=words["memory_mib"],
        file_systems=tuple(
            over.file_system(FileSystem(name, options)) for name, options in words["file_systems"]
        ),
    )


def _can_fail(device: Path, overrides: str | None) -> bool:
    """Whether the drive's power can; all else of its description is the engine's to judge."""
    section, value = "", "0"
    for raw in device.read_text(errors="replace").splitlines():
        line = raw.split("#", 1)[0].strip()
        if line.startswith("["):
            section = line
        elif section == "[nand]" and re.match(r"power_cuts\s*=", line):
            value = line.partition("=")[2].strip()
    for part in (overrides or "").split(","):
        name, _, new = part.partition("=")
        value = new if name == "nand.power_cuts" else value
    return value != "0"


def check_device(device: Path) -> None:
    """UserError if there is no such description."""
    if not device.is_file():
        raise UserError(f"--device: {device}: no such file")


def check(wanted: Wanted) -> None:
    """What can be said before anything is built."""
    check_device(wanted.device)
    if not _can_fail(wanted.device, wanted.overrides):
        raise UserError(
            "nand.power_cuts=0: must be 1, in a drive whose power fails (--set nand.power_cuts=1, "
            "and ftl.recovery 1 or 2)"
        )
    if wanted.job:
        check_job_file(wanted.job, file_system=bool(wanted.user.file_systems))
    if len(wanted.user.file_systems) > 1 or len(wanted.user.kernels) > 1:
        raise UserError("--fs, --kernel: a recording is of one guest: name one of each")
    wanted.user.check()


def task_text(wanted: Wanted, task: UserTask, start: image_file.DriveImage) -> str:
    """What the guest runs."""
    layout = wanted.over.layout
    fio = f'{FIO} || {{ head -n 1 /results/fio.json; echo "scarp-error: fio failed"; exit 1; }}'
    lines = ["set -e", *environment(start=start), *layout.prepare(), *layout.make()]
    lines += [*task.setup(), set_speed(wanted.cpu_shift)]
    lines += [*task.lay_out(), f"sh /scarp/{START}", f"echo '{MARK_BEGIN}'"]
    lines += [*(task.run() or [fio]), f"echo '{MARK_END}'", get_stats("stats-done")]
    lines += [*task.end(), *layout.take_down(), get_stats("stats-end")]
    return "\n".join(lines) + "\n"


class Bound:
    """Ends a guest whose drives have written too much."""

    def __init__(self, logs: Sequence[Path], mib: int) -> None:
        self.stop = threading.Event()
        self.reached = False
        self._logs, self._bytes = logs, mib << 20
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _look(self) -> None:
        self.reached = self._bytes < sum(log.stat().st_size for log in self._logs if log.is_file())

    def _watch(self) -> None:
        while not self._done.wait(0.5):
            self._look()
            if self.reached:
                self.stop.set()
                return

    def end(self) -> None:
        self._done.set()
        self._thread.join()
        # The guest may have ended before anybody looked.
        self._look()


def _drive(wanted: Wanted, folder: Path, number: int) -> Drive:
    """Aged, in the folder."""
    drive = Drive(f"drive{number}.img", f"cmd{number}.bin", f"data{number}.bin",
                  wanted.seed + number)  # fmt: skip
    words = age.command(
        wanted.device,
        folder / drive.image,
        wanted.age,
        drive.seed,
        wanted.overwrite,
        overrides=wanted.overrides,
    )
    age.make(words)
    return drive


def _boot(wanted: Wanted, guest: Guest, drives: Sequence[Drive], folder: Path) -> vm.GuestResult:
    start = image_file.read(folder / drives[0].image)
    bound = Bound([folder / drive.data_log for drive in drives], wanted.data_mib)
    flashes = [
        vm.FlashDrive(
            description=wanted.device,
            scheme=wanted.scheme,
            overrides=wanted.overrides,
            image=folder / drive.image,
            seed=drive.seed,
            cmd_log=folder / drive.cmd_log,
            data_log=folder / drive.data_log,
            progress=folder / f"progress{number}.bin",
        )
        for number, drive in enumerate(drives)
    ]
    files: dict[str, Path | bytes] = fio_job.read(wanted.job).content() if wanted.job else {}
    files |= {**guest.task.content(), **wanted.files, START: start_text().encode()}
    files |= wanted.over.layout.files(guest.image)
    run = vm.GuestRun(
        qemu=ensure_qemu(),
        image=guest.image,
        drives=flashes,
        task=task_text(wanted, guest.task, start),
        files=files,
        memory_mib=guest.task.memory_mib,
        smp=wanted.smp,
        cpu_limit=wanted.cpu_limit,
        out=folder,
        stop=bound.stop,
    )
    try:
        with Watcher({"recording": folder / "progress0.bin"}, None):
            result = vm.run_guest(run)
    finally:
        bound.end()
        for path in folder.glob("progress*.bin"):
            path.unlink()
    if bound.reached:
        raise UserError(
            f"--most-data: the workload wrote more than {wanted.data_mib} MiB, and each byte is "
            "kept: a shorter one, or a larger number"
        )
    return result


def ran(folder: Path) -> tuple[int, int]:
    """When the workload began and ended; a script may have removed what says so."""
    try:
        begin, end = (log_page.read(folder / f"stats-{name}.bin") for name in ("begin", "done"))
    except LogError as error:
        raise UserError(f"the workload: {error}") from error
    return begin.now_ns, end.now_ns


def record(wanted: Wanted, folder: Path) -> Recording:
    """Into the folder, which is empty."""
    spread = tuple(wanted.over.file_system(fs) for fs in wanted.user.file_systems)
    prepared = user_guest.prepare(replace(wanted.user, file_systems=spread), wanted.job)
    (guest,) = prepared.guests.values()
    qemu = ensure_qemu()
    check_drive(qemu, wanted.device, wanted.scheme, wanted.age, wanted.overrides, wanted.seed)
    description = folder / "drive.ini"
    shutil.copyfile(wanted.device, description)
    if wanted.job:
        shutil.copyfile(wanted.job, folder / "job.fio")
    made = tuple(_drive(wanted, folder, number) for number in range(wanted.over.drives))
    names = [fs.name for fs in wanted.user.file_systems]
    check_room(names, image_file.read(folder / made[0].image).host_bytes)
    print(f"Recording {wanted.work()} on {wanted.device.name}:", file=sys.stderr)
    result = _boot(wanted, guest, made, folder)
    keep_results(result, folder)
    if result.reason != "ok":
        tail = "\n".join(f"    {line}" for line in result.console_tail.splitlines()[-25:])
        why = user_guest.said(result.console_tail) or result.reason
        raise UserError(f"the workload: {why}; the guest's console ended with:\n{tail}")
    begin_ns, end_ns = ran(folder)
    inputs = {"device": description, **prepared.inputs}
    inputs |= {"job": wanted.job} if wanted.job else {}
    said = {
        **prepared.settings,
        "scheme": wanted.scheme,
        "age": wanted.age,
        "overwrite": wanted.overwrite,
        "seed": wanted.seed,
        "smp": wanted.smp,
        "cpu_shift": wanted.cpu_shift,
        "overrides": wanted.overrides,
    }
    recording = Recording(
        folder=folder,
        drives=made,
        scheme=wanted.scheme,
        description=description.name,
        overrides=wanted.overrides,
        begin_ns=begin_ns,
        end_ns=end_ns,
        work=wanted.work(),
        job="job.fio" if wanted.job else None,
        guest=guest_words(wanted.user, wanted.over),
        manifest=manifest.manifest(qemu, guest.image, manifest.Inputs(inputs, said)),
    )
    recording.write()
    return recording
