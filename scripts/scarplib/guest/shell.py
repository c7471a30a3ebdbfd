# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp shell`: the guest at a prompt, with a file system on the drive if asked."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from scarplib.build.qemu import ensure_qemu
from scarplib.drive.check import check_drive
from scarplib.guest import vm
from scarplib.guest.image import ensure_image
from scarplib.guest.job import set_speed

# What each maker needs to take the whole drive without a question.
_MKFS = {
    "ext4": "mkfs.ext4 -q -F",
    "xfs": "mkfs.xfs -q -f",
    "btrfs": "mkfs.btrfs -q -f",
    "f2fs": "mkfs.f2fs -q -f",
}


def task_text(file_system: str | None, cpu_shift: int) -> str:
    """Make, mount and hand over; the prompt's end is the guest's end."""
    lines = [set_speed(cpu_shift) + " || exit 1"]
    if file_system:
        lines += [
            "set -e",
            "mkdir -p /mnt",
            f"{_MKFS[file_system]} $SCARP_DEV",
            f"mount -t {file_system} $SCARP_DEV /mnt",
            f'echo "{file_system} on $SCARP_DEV, mounted on /mnt"',
            "cd /mnt",
            "set +e",
        ]
    else:
        lines.append('echo "the drive is $SCARP_DEV"')
    lines += ['echo "exit ends the guest"', "setsid -c sh -i </dev/console >/dev/console 2>&1"]
    if file_system:
        lines += ["cd /", "umount /mnt"]
    # The last command at the prompt is not the guest's own status.
    lines.append("exit 0")
    return "\n".join(lines) + "\n"


def shell(arguments: argparse.Namespace) -> int:
    """Boot and hand over the terminal until the guest ends."""
    qemu = ensure_qemu()
    # f2fs is in Debian's full kernel only.
    image = ensure_image(file_system=arguments.mkfs)
    check_drive(
        qemu,
        arguments.device,
        arguments.scheme,
        arguments.age,
        arguments.set,
        arguments.seed,
        handles=arguments.handles,
    )
    # A new file system on an aged drive writes over whatever the ageing left.
    with tempfile.TemporaryDirectory(prefix="scarp-shell-") as folder:
        return vm.interactive(
            vm.GuestRun(
                qemu=qemu,
                image=image,
                drives=[
                    vm.FlashDrive(
                        description=arguments.device,
                        scheme=arguments.scheme,
                        overrides=arguments.set,
                        handles=arguments.handles,
                        age=arguments.age,
                        seed=arguments.seed,
                    )
                ],
                task=task_text(arguments.mkfs, arguments.cpu_shift),
                smp=arguments.smp,
                out=Path(folder),
            )
        )
