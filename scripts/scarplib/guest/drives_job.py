# SPDX-License-Identifier: GPL-2.0-or-later
"""One fio job in one guest over several drives: how they are laid out, and what the guest runs."""

from __future__ import annotations

import re
import shlex
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from scarplib.build.qemu import QemuBuild
from scarplib.device_logs import changes
from scarplib.drive import image_file
from scarplib.errors import UserError
from scarplib.guest import device_mapper, fio_job, vm
from scarplib.guest.image import GuestImage, ensure_modules
from scarplib.guest.job import MARK_BEGIN, MARK_END, get_stats, keep_results, reset_stats, set_speed
from scarplib.guest.layouts import ARRAYS, DEVICES
from scarplib.guest.programs import ensure_programs
from scarplib.guest.realtime import RealTime, on_clock

# The most that the array's striping unit is, and md's, where drives are of other sizes.
STRIPE_BYTES = 65536
# Before the array's data: its label.
_LABEL_BYTES = 1 << 20


@dataclass(frozen=True)
class DrivesJob:
    """What to run on which drives; everything but `out` and `cpu_limit` decides the bytes."""

    fio_job: Path
    layout: str
    device: Path | None
    scheme: str
    out: Path
    # One for each drive, which begins from it.
    images: tuple[Path, ...]
    seed: int = 1
    overrides: str | None = None
    # Of the array: KEY=VALUE,…
    keys: str | None = None
    # For a drive; a layout that is one device has as many times more.
    depth: int = 32
    requests: int = 20_000
    smp: int = 1
    # None: its own, on the host's clock.
    cpu_shift: int | None = -2
    realtime: RealTime | None = None
    cpu_limit: float = 600
    extra_args: tuple[str, ...] = ()

    def folder(self, drive: int) -> Path:
        """What a drive leaves, as a run on one drive does."""
        return self.out / f"drive{drive}"


def fio_text(text: str, layout: str, drives: int, keys: str | None) -> str:
    """The user's job for a layout: the same requests, sent another way."""
    if layout == "engine":
        engine = "ioengine=external:/scarp/array-fio.so\ndrives=${SCARP_DRIVES}"
        engine += f"\nkeys={keys}" if keys else ""
        if not re.search(r"^ioengine\s*=", text, re.MULTILINE):
            raise UserError("--job: no 'ioengine=', which the array takes the place of")
        text = re.sub(r"^ioengine\s*=.*$", engine, text, flags=re.MULTILINE)
    if layout in ("md", "dm", *DEVICES):
        return text
    # A name in [global] and one in the section would be two files.
    text = re.sub(r"^filename\s*=.*\n", "", text, flags=re.MULTILINE)
    if layout != "independent":
        return text
    # Each section again for each drive, all in one fio: they begin together.
    head, *sections = re.split(r"^(?=\[)", text, flags=re.MULTILINE)
    out = [head]
    for section in sections:
        name, body = section.split("]", 1)
        if name == "[global":
            out.append(section)
            continue
        for drive in range(drives):
            out.append(f"{name}-{drive}]\nfilename=${{SCARP_DEV{drive}}}{body.rstrip()}\n\n")
    return "".join(out)


def stripe_lines() -> list[str]:
    """The striping unit that divides what a drive has for data."""
    return [
        f"stripe={STRIPE_BYTES}",
        f"data=$(( $(cat /sys/class/block/${{SCARP_DEV0#/dev/}}/size) * 512 - {_LABEL_BYTES} ))",
        "while [ $(( data % stripe )) != 0 ]; do stripe=$(( stripe / 2 )); done",
    ]


def _md(drives: int) -> list[str]:
    """The kernel's RAID-0, by sysfs: no label, so that all begin at the drives' first byte."""
    lines = [
        "for module in /scarp/modules/raid0/*.ko; do insmod $module; done",
        "echo md_scarp >/sys/module/md_mod/parameters/new_array",
        "md=/sys/block/md_scarp/md",
        f"echo {drives} >$md/raid_disks",
        "echo $stripe >$md/chunk_size",
    ]
    for drive in range(drives):
        lines += [
            f"name=${{SCARP_DEV{drive}#/dev/}}",
            "cat /sys/class/block/$name/dev >$md/new_dev",
            f"echo {drive} >$md/dev-$name/slot",
            "echo $(( $(cat /sys/class/block/$name/size) / 2 )) >$md/dev-$name/size",
        ]
    lines += ["echo raid0 >$md/level", "echo active >$md/array_state"]
    # The kernel looks for partitions when it is first opened: not in the job's time.
    lines += ["dd if=/dev/md_scarp of=/dev/null bs=4k count=1 iflag=direct 2>/dev/null"]
    return [*lines, "export SCARP_DEV=/dev/md_scarp"]


def array_names(drives: int) -> str:
    """The array's drives, as its programs are told."""
    return " ".join(f"$SCARP_DEV{drive}" for drive in range(drives))


def array_format(drives: int) -> str:
    """The guest's command that labels the drives, behind stripe_lines()."""
    return f"/scarp/array-format --keys=stripe_bytes=$stripe {array_names(drives)}"


def array_server(drives: int, keys: Sequence[str]) -> list[str]:
    """The guest's lines that start the array as a block device, $SCARP_DEV from then on."""
    return [
        f"/scarp/array-ublk --keys={shlex.quote(','.join(keys))} {array_names(drives)} "
        ">/tmp/ready &",
        "server=$!",
        "while [ ! -s /tmp/ready ]; do kill -0 $server; usleep 10000; done",
        "export SCARP_DEV=$(cat /tmp/ready)",
    ]


# The driver that the server needs.
UBLK_MODULES = "for module in /scarp/modules/ublk_drv/*.ko; do insmod $module; done"


def _array(job: DrivesJob) -> list[str]:
    """The array on all drives: a block device, or what fio's engine needs to know."""
    drives = len(job.images)
    lines = [array_format(drives)]
    if job.layout == "engine":
        # The library that the engine was linked with.
        lines.append("export LD_LIBRARY_PATH=/scarp")
        return [*lines, f"export SCARP_DRIVES={array_names(drives).replace(' ', ':')}"]
    keys = [f"flusher={int(job.layout == 'flusher')}", *([job.keys] if job.keys else [])]
    return [*lines, UBLK_MODULES, *array_server(drives, keys)]


def addressed_bytes(layout: str, drives: int, used: int) -> int:
    """What a job may address: of each drive what ageing has written, in whole stripes."""
    if layout == "independent":
        return used
    own = used - (_LABEL_BYTES if layout in ARRAYS else 0)
    return own // STRIPE_BYTES * STRIPE_BYTES * drives


def task_text(job: DrivesJob, start: image_file.DriveImage) -> str:
    """The guest's script."""
    drives = len(job.images)
    times = 1 if job.layout == "independent" else drives
    values = {
        "RESULTS": "/results",
        "UNIT": start.unit_bytes,
        "AGED": addressed_bytes(job.layout, drives, start.used_bytes),
        "DEPTH": job.depth * times,
        "IOS": job.requests * times,
    }
    lines = ["set -e", *(f"export SCARP_{name}={value}" for name, value in values.items())]
    lines.append(set_speed(job.cpu_shift))
    lines += stripe_lines()
    lines += _md(drives) if job.layout == "md" else []
    lines += device_mapper.stripe_lines(drives) if job.layout == "dm" else []
    lines += _array(job) if job.layout in ARRAYS else []
    controls = [f"$SCARP_CTRL{drive}" for drive in range(drives)]
    lines += [reset_stats(control) for control in controls]
    real = bool(job.realtime)
    lines += [get_stats(f"stats-begin-{n}", control, real) for n, control in enumerate(controls)]
    lines += [
        f"echo '{MARK_BEGIN}'",
        "fio --output-format=json+ --output=/results/fio.json --eta=never /scarp/job.fio",
        f"echo '{MARK_END}'",
        "sync",
    ]
    # Its end is that all is on the drives; fio's engine ends so by itself.
    lines += ["kill -TERM $server", "wait $server"] if job.layout in DEVICES else []
    lines += [get_stats(f"stats-end-{n}", control, real) for n, control in enumerate(controls)]
    return "\n".join(lines) + "\n"


def _drives(job: DrivesJob) -> list[vm.FlashDrive]:
    drives = []
    for number, image in enumerate(job.images):
        folder = job.folder(number)
        folder.mkdir(parents=True, exist_ok=True)
        drive = vm.FlashDrive(
            description=job.device,
            scheme=job.scheme,
            overrides=job.overrides,
            image=image,
            # Of different seeds, so that their collections are not in step.
            seed=job.seed + number,
            cmd_log=folder / "cmd.bin",
            gc_log=folder / "gc.bin",
            change_log=folder / changes.NAME,
            progress=folder / "progress.bin",
        )
        drives.append(on_clock(job.realtime, drive, number, folder))
    return drives


def prepare(image: GuestImage, layouts: list[str]) -> dict[str, dict[str, Path]]:
    """What each layout adds to the guest; built before any guest boots."""
    files: dict[str, dict[str, Path]] = {name: {} for name in layouts}
    for name in layouts:
        if name == "md":
            files[name] = ensure_modules("raid0")
        elif name == "dm":
            files[name] = device_mapper.ensure_dmsetup()
        elif name in DEVICES:
            files[name] = {**ensure_programs(image), **ensure_modules("ublk_drv")}
        elif name == "engine":
            files[name] = ensure_programs(image, fio_engine=True)
    return files


def run_drives_job(
    qemu: QemuBuild,
    image: GuestImage,
    files: dict[str, Path],
    job: DrivesJob,
    stop: threading.Event | None = None,
) -> vm.GuestResult:
    """Boot, run, collect: fio's files end in job.out, each drive's in a folder of its own."""
    job.out.mkdir(parents=True, exist_ok=True)
    ran = fio_job.read(job.fio_job)
    text = job.out / "job.fio"
    text.write_text(fio_text(ran.text, job.layout, len(job.images), job.keys))
    start = image_file.read(job.images[0])
    result = vm.run_guest(
        vm.GuestRun(
            qemu=qemu,
            image=image,
            drives=_drives(job),
            task=task_text(job, start),
            files={**ran.files, "job.fio": text, **files},
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
    if result.reason == "ok":
        for number in range(len(job.images)):
            for name in ("stats-begin", "stats-end"):
                source = job.out / f"{name}-{number}.bin"
                source.rename(job.folder(number) / f"{name}.bin")
    return result
