# SPDX-License-Identifier: GPL-2.0-or-later
"""The user's own guest: what was asked for, checked, fetched, and made ready to boot."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scarplib.errors import UserError
from scarplib.guest import block_trace, script, user_kernel, user_packages, vm
from scarplib.guest.file_system import FileSystem
from scarplib.guest.image import GuestImage, ensure_image, ensure_modules
from scarplib.guest.user_task import UserTask

_NO_DRIVE = (
    "the kernel found no NVMe drive: CONFIG_BLK_DEV_NVME must be built in, or its modules "
    "be in --modules"
)


@dataclass(frozen=True)
class User:
    """As on the command line; each may be absent."""

    script: Path | None = None
    files: tuple[Path, ...] = ()
    packages: tuple[str, ...] = ()
    kernel: Path | None = None
    modules: Path | None = None
    memory_mib: int | None = None
    file_systems: tuple[FileSystem, ...] = ()
    trace: bool = False

    def check(self) -> None:
        """What can be said before anything is fetched."""
        if self.modules and not self.kernel:
            raise UserError("--modules: needs --kernel")
        if self.files and not self.script:
            raise UserError("--file: needs --script")
        if self.kernel:
            user_kernel.read(self.kernel, self.modules)
        if self.script and not self.packages:
            script.check(self.script, self.files)


@dataclass(frozen=True)
class Prepared:
    """The guest's image, what each file system's guests do, and what the manifest has of it."""

    image: GuestImage
    # By the file system's name; "" where there is none.
    tasks: dict[str, UserTask]
    inputs: dict[str, Path] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)


def _memory(user: User, more: int) -> int:
    """The archive, its files once they are unpacked, and what the kernel keeps of them."""
    trace = block_trace.MEMORY_MIB if user.trace else 0
    return user.memory_mib or vm.GuestRun.memory_mib + (3 * more >> 20) + trace


def prepare(user: User, fio_job: Path | None = None) -> Prepared:
    """Fetch and build what the guest needs besides QEMU."""
    names = [fs.name for fs in user.file_systems]
    image = ensure_image(names, modules=not user.kernel)
    inputs: dict[str, Path] = {}
    files: dict[str, Path | bytes] = {}
    packages = user_packages.ensure_packages(user.packages) if user.packages else None
    ran = None
    if user.script:
        ran = script.check(user.script, user.files, packages.folder if packages else None)
        inputs |= {"script": user.script, **{f"file {p.name}": p for p in user.files}}
    needed = user_packages.MODULES if packages else ()
    if user.kernel:
        kernel = user_kernel.read(user.kernel, user.modules)
        image = kernel.image(image)
        files |= kernel.content([*needed, *names])
    else:
        for name in needed:
            files |= ensure_modules(name, names)
    size = ran.size() if ran else 0
    if packages:
        files[user_packages.IMAGE] = packages.image
        inputs["packages"] = packages.image
        size += packages.image.stat().st_size
    memory = _memory(user, size)
    tasks = {
        fs.name if fs else "": UserTask(
            script=ran,
            file_system=fs,
            packages=bool(packages),
            files=files,
            memory_mib=memory,
            fio_job=fio_job,
            trace=user.trace,
        )
        for fs in (user.file_systems or (None,))
    }
    settings = {
        "memory_mib": memory,
        "packages": list(packages.versions) if packages else [],
        "file_systems": [f"{fs.name}:{fs.options}" for fs in user.file_systems],
        "trim": any(fs.trim for fs in user.file_systems),
        **({"trace": "blk"} if user.trace else {}),
    }
    return Prepared(image, tasks, inputs, settings)


def said(console: str) -> str | None:
    """What a guest said of its own end, in one line; None if it did not."""
    if found := re.findall(r"^scarp-error: (.+)$", console, re.MULTILINE):
        return str(found[-1])
    if re.search(r"^scarp: end no drive$", console, re.MULTILINE):
        return _NO_DRIVE
    return None
