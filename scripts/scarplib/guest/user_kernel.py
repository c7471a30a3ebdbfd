# SPDX-License-Identifier: GPL-2.0-or-later
"""A kernel of the user's: is it one that QEMU can boot, and which modules does it come with?"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from scarplib.errors import UserError
from scarplib.guest.image import GuestImage, modules_below

# What the guest cannot do without, and when it is missing there is nobody to say so.
BUILT_IN = (
    "BLK_DEV_INITRD, DEVTMPFS, PROC_FS, SYSFS, TMPFS, SERIAL_8250_CONSOLE, PCI, BINFMT_ELF and "
    "BINFMT_SCRIPT"
)
# Modules that may be needed before the drive is there, and those for a root of packages.
EARLY = ("nvme",)
# Where x86's boot protocol has what: the sector's mark, "HdrS", the version's text.
_MARK, _MAGIC, _VERSION_AT = 0x1FE, 0x202, 0x20E


@dataclass(frozen=True)
class UserKernel:
    """A bzImage, what it says its version is, and a folder with its modules if it has one."""

    path: Path
    version: str
    modules: Path | None = None

    def image(self, base: GuestImage) -> GuestImage:
        """The guest with this kernel in place of its own."""
        named = {"kernel_package": f"{self.path.name} {self.version}"}
        return replace(base, kernel=self.path, versions={**base.versions, **named})

    def content(self, wanted: Sequence[str]) -> dict[str, Path | bytes]:
        """For GuestRun.files: what of these is a module; all else must be built in."""
        found: dict[str, Path | bytes] = {}
        if not self.modules:
            return found
        for number, name in enumerate((*EARLY, *wanted)):
            for order, (module, data) in enumerate(modules_below(self.modules, name)):
                _check_version(self, module, data)
                found[f"/modules/early/{number:02d}-{order:02d}-{module}.ko"] = data
        return found


def stuck(console: str) -> str:
    """What to look for when a guest's first line is not on its console; nothing if it is."""
    if re.search(r"^scarp: ", console, re.MULTILINE):
        return ""
    return f"\n--kernel: it did not start the guest's init; it needs built in: {BUILT_IN}"


def _check_version(kernel: UserKernel, module: str, data: bytes) -> None:
    made_for = re.search(rb"\0vermagic=(\S+)", data)
    text = made_for[1].decode(errors="replace") if made_for else "?"
    if text != kernel.version:
        raise UserError(
            f"--modules: {module} is a module of {text}, and --kernel is {kernel.version}"
        )


def read(path: Path, modules: Path | None = None) -> UserKernel:
    """A bzImage by its boot header, or a UserError that says what it is not."""
    if modules and not modules.is_dir():
        raise UserError(f"--modules: {modules}: no such folder")
    try:
        with path.open("rb") as stream:
            head = stream.read(0x10000)
    except OSError as error:
        raise UserError(f"--kernel: {path}: {error.strerror}") from error
    good = len(head) > 0x250 and head[_MARK : _MARK + 2] == b"\x55\xaa"
    if not good or head[_MAGIC : _MAGIC + 4] != b"HdrS":
        raise UserError(
            f"--kernel: {path}: no bzImage (x86's boot header has no 'HdrS'); "
            "a kernel's build leaves one in arch/x86/boot/bzImage"
        )
    begin = struct.unpack_from("<H", head, _VERSION_AT)[0] + 0x200
    text = head[begin : head.find(b"\0", begin)].decode(errors="replace").split()
    if modules and not any(modules.glob("**/*.ko*")):
        raise UserError(f"--modules: {modules}: no .ko file in it")
    version = text[0] if text else "?"
    # A folder such as /lib/modules has those of several kernels.
    inside = modules.rglob("*") if modules else ()
    own = next((p for p in inside if p.name == version and p.is_dir()), None)
    return UserKernel(path, version, own or modules)
