# SPDX-License-Identifier: GPL-2.0-or-later
"""The user's own guest: what was asked for, checked, fetched, and made ready to boot."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
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
    # None: Debian's.
    kernels: tuple[Path | None, ...] = ()
    modules: Path | None = None
    memory_mib: int | None = None
    # Behind those of Scarp's own.
    kernel_args: str = ""
    file_systems: tuple[FileSystem, ...] = ()
    trace: bool = False

    def check(self) -> None:
        """What can be said before anything is fetched."""
        if self.modules and not any(self.kernels):
            raise UserError("--modules: needs --kernel")
        if self.files and not self.script:
            raise UserError("--file: needs --script")
        if len(self.kernels) > 1 and len(self.file_systems) > 1:
            raise UserError("--kernel: several of them exclude several file systems of --fs")
        if len(self.kernels) != len(set(self.kernels)):
            raise UserError("--kernel: one is named twice")
        for kernel in filter(None, self.kernels):
            user_kernel.read(kernel, self.modules)
        if self.script and not self.packages:
            script.check(self.script, self.files)


@dataclass(frozen=True)
class Guest:
    """What boots, and what it does; both are of the user's own."""

    image: GuestImage
    task: UserTask


@dataclass(frozen=True)
class Prepared:
    """The guests, and what the manifest has of them."""

    # By what they differ in: a kernel's version, a file system's name; "" if there is only one.
    guests: dict[str, Guest]
    inputs: dict[str, Path] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)


def _memory(user: User, more: int) -> int:
    """The archive, its files once they are unpacked, and what the kernel keeps of them."""
    trace = block_trace.MEMORY_MIB if user.trace else 0
    return user.memory_mib or vm.GuestRun.memory_mib + (3 * more >> 20) + trace


def _boots(
    user: User, kernel: Path | None, needed: Sequence[str]
) -> tuple[str, GuestImage, dict[str, Path | bytes]]:
    """A kernel's version, the image with it, and those of its modules that are needed beside it."""
    names = [fs.name for fs in user.file_systems]
    if kernel:
        own = user_kernel.read(kernel, user.modules)
        image = own.image(ensure_image(names, modules=False))
        return own.version, image, own.content([*needed, *names])
    image = ensure_image(names)
    files: dict[str, Path | bytes] = {}
    for name in needed:
        files |= ensure_modules(name, names)
    package = image.versions.get("kernel_package", "debian").split()[0]
    return package.removeprefix("linux-image-"), image, files


def _digest(modules: dict[str, Path | bytes]) -> str:
    """Of the modules that a kernel of the user's is given; their names say in which order."""
    digest = hashlib.sha256()
    for name, data in sorted(modules.items()):
        digest.update(f"{name}\0".encode())
        digest.update(data if isinstance(data, bytes) else data.read_bytes())
    return digest.hexdigest()


def prepare(user: User, fio_job: Path | None = None) -> Prepared:
    """Fetch and build what the guests need besides QEMU."""
    inputs: dict[str, Path] = {}
    packages = user_packages.ensure_packages(user.packages) if user.packages else None
    ran = None
    if user.script:
        ran = script.check(user.script, user.files, packages.folder if packages else None)
        inputs |= {"script": user.script, **{f"file {p.name}": p for p in user.files}}
    size = ran.size() if ran else 0
    if packages:
        inputs["packages"] = packages.image
        size += packages.image.stat().st_size
    memory = _memory(user, size)
    guests: dict[str, Guest] = {}
    modules: dict[str, str] = {}
    kernels = user.kernels or (None,)
    for kernel in kernels:
        version, image, files = _boots(user, kernel, user_packages.MODULES if packages else ())
        if kernel and files:
            modules[version] = _digest(files)
        if packages:
            files[user_packages.IMAGE] = packages.image
        if len(kernels) > 1:
            inputs[f"kernel {version}"] = image.kernel
            inputs[f"initramfs {version}"] = image.initramfs
        for fs in user.file_systems or (None,):
            name = version if len(kernels) > 1 else ""
            if fs and len(user.file_systems) > 1:
                name = fs.name
            if name in guests:
                raise UserError(f"--kernel: two of them are of version {version}")
            task = UserTask(
                script=ran,
                file_system=fs,
                packages=bool(packages),
                files=files,
                memory_mib=memory,
                kernel_args=user.kernel_args,
                fio_job=fio_job,
                trace=user.trace,
            )
            guests[name] = Guest(image, task)
    settings = {
        "memory_mib": memory,
        "packages": list(packages.versions) if packages else [],
        "file_systems": [f"{fs.name}:{fs.options}" for fs in user.file_systems],
        "trim": any(fs.trim for fs in user.file_systems),
        **({"kernels": list(guests)} if len(kernels) > 1 else {}),
        **({"modules": modules} if modules else {}),
        **({"trace": "blk"} if user.trace else {}),
        **({"kernel_args": user.kernel_args} if user.kernel_args else {}),
    }
    return Prepared(guests, inputs, settings)


def said(console: str) -> str | None:
    """What a guest said of its own end, in one line; None if it did not."""
    if found := re.findall(r"^scarp-error: (.+)$", console, re.MULTILINE):
        return str(found[-1])
    if re.search(r"^scarp: end no drive$", console, re.MULTILINE):
        return _NO_DRIVE
    return None
