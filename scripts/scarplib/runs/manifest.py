# SPDX-License-Identifier: GPL-2.0-or-later
"""What made a result: equal manifests promise equal bytes, on any host."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scarplib.build import locks
from scarplib.build import qemu as qemu_build
from scarplib.build.cache import tree_hash
from scarplib.build.qemu import QemuBuild
from scarplib.guest import (
    block_trace,
    file_system,
    image,
    job,
    script,
    user_packages,
    user_task,
    vm,
)
from scarplib.guest.image import GuestImage
from scarplib.version import version

# They write QEMU's command line and the script that the guest runs.
_SCRIPTS = (
    *(Path(vm.__file__), Path(job.__file__), Path(file_system.__file__), Path(script.__file__)),
    *(Path(user_packages.__file__), Path(user_task.__file__), Path(block_trace.__file__)),
)


@dataclass(frozen=True)
class Inputs:
    """What a run adds to the programs: everything else that its bytes depend on."""

    files: dict[str, Path]
    settings: dict[str, Any]
    # Of the files, as they were when the run began; of others as they are.
    hashes: Mapping[str, str] = field(default_factory=dict)


def file_hash(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def hashes(files: Mapping[str, Path]) -> dict[str, str]:
    """Of each, by its name in the manifest."""
    return {name: file_hash(path) for name, path in sorted(files.items())}


def changed(files: Mapping[str, Path], before: Mapping[str, str]) -> str:
    """Which are not what they were, in one sentence: a guest reads them when it begins."""

    def same(name: str) -> bool:
        try:
            return file_hash(files[name]) == before[name]
        except OSError:
            return False

    found = [f"{name} ({files[name]})" for name in before if not same(name)]
    if not found:
        return ""
    return f"changed while the guests ran: {', '.join(found)}: not all of them had the same"


def _machine() -> dict[str, Any]:
    return {
        "cpu": vm.CPU_MODEL,
        "kernel_arguments": vm.KERNEL_ARGUMENTS,
        "memory_mib": vm.GuestRun.memory_mib,
        "boot_shift": vm.GuestRun.boot_shift,
        "scripts": tree_hash(_SCRIPTS),
    }


def of_checkout() -> dict[str, Any]:
    """What this checkout says that a run is made of; nothing is fetched or built for it."""
    lock = locks.debian()

    def packages(names: Iterable[str]) -> dict[str, str]:
        return {name: " ".join(lock.packages[name]) for name in sorted(names)}

    return {
        "qemu": {
            "sources": dict(lock.sources["qemu"].files),
            "series": tree_hash(qemu_build.series()),
            "engine": qemu_build.engine_hash(),
            "firmware": packages(qemu_build.FIRMWARE_PACKAGES),
        },
        "machine": _machine(),
        "guest": packages({name for each in image.locked_sets() for name in _names(lock, each)}),
        "python": {path.name: file_hash(path) for path in sorted(locks.FOLDER.glob("python-*"))},
        "not_as_locked": locks.taken(),
    }


def _names(lock: locks.DebianLock, wanted: Sequence[str]) -> list[str]:
    return [package.split("=")[0] for package in image.used(lock.closure(wanted) or [])]


def of_cache() -> dict[str, Any]:
    """And what was made of it here, but for QEMU, whose program depends on the compiler."""
    firmware, guest = qemu_build.ensure_firmware(), image.ensure_image()
    return {
        "firmware": tree_hash(p for p in firmware.iterdir() if p.is_file()),
        "kernel": file_hash(guest.kernel),
        "initramfs": file_hash(guest.initramfs),
        **guest.versions,
    }


def main(built: bool) -> int:
    """`scarp manifest`: equal lines on two machines promise equal results of equal commands."""
    # First: what is fetched for it may not be as locked, which the rest says.
    made = {"built": of_cache()} if built else {}
    found = {**of_checkout(), **made}
    print(json.dumps(found, indent=1))
    return 0


def manifest(qemu: QemuBuild, guest: GuestImage, inputs: Inputs) -> dict[str, Any]:
    """All that decides the bytes of a run, as hashes and values for JSON."""
    return {
        "scarp": version(),
        "qemu": {
            "version": qemu.version,
            "series": qemu.series_hash,
            "engine": qemu.engine_hash,
            "firmware": tree_hash(p for p in qemu.firmware_dir.iterdir() if p.is_file()),
        },
        "machine": _machine(),
        "guest": {
            "kernel": file_hash(guest.kernel),
            "initramfs": file_hash(guest.initramfs),
            **guest.versions,
        },
        "inputs": {
            name: inputs.hashes.get(name) or file_hash(path)
            for name, path in sorted(inputs.files.items())
        },
        "settings": inputs.settings,
    }
