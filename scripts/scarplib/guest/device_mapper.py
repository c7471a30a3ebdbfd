# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel's other way to stripe over drives, dm-stripe, and the program that asks it to."""

from __future__ import annotations

import re
from pathlib import Path

from scarplib.guest.image import call, ensure_modules, ensure_sysroot, loader

PACKAGES = ("dmsetup",)
_PROGRAM = "usr/sbin/dmsetup"
_LOADER = "ld-linux-x86-64.so.2"
_FOLDER = "/scarp/dm"


def ensure_dmsetup() -> dict[str, Path]:
    """For GuestRun.files: the module, and Debian's dmsetup with all that it loads."""
    root, _ = ensure_sysroot(PACKAGES, "dmsetup", whole=True)
    text = call([*loader(root), "--list", str(root / _PROGRAM)])
    paths = [root / _PROGRAM, root / "usr/lib64" / _LOADER]
    paths += [Path(path) for path in re.findall(rf"=> ({re.escape(str(root))}/\S+)", text)]
    found = {f"dm/{path.name}": path.resolve() for path in paths}
    return {**found, **ensure_modules("dm_mod")}


def stripe_lines(drives: int) -> list[str]:
    """The guest's lines that make a device of $stripe bytes a stripe; no label is written."""
    run = f"{_FOLDER}/{_LOADER} --library-path {_FOLDER} {_FOLDER}/dmsetup"
    parts = " ".join(f"$SCARP_DEV{drive} 0" for drive in range(drives))
    return [
        "for module in /scarp/modules/dm_mod/*.ko; do insmod $module; done",
        "chunk=$(( stripe / 512 ))",
        # dm-stripe takes whole stripes only.
        "sectors=$(cat /sys/class/block/${SCARP_DEV0#/dev/}/size)",
        f"sectors=$(( sectors / chunk * chunk * {drives} ))",
        # Nobody but the kernel makes device nodes here.
        f'{run} create scarp --noudevrules --noudevsync --table "0 $sectors striped {drives} '
        f'$chunk {parts}" >/tmp/dm 2>&1 || {{ cat /tmp/dm; exit 1; }}',
        "export SCARP_DEV=/dev/dm-0",
    ]
