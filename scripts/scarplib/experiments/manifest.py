# SPDX-License-Identifier: GPL-2.0-or-later
"""What made a result: equal manifests promise equal bytes, on any host."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scarplib.build.cache import tree_hash
from scarplib.build.qemu import QemuBuild
from scarplib.guest import block_trace, file_system, job, script, user_packages, user_task, vm
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


def file_hash(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def manifest(qemu: QemuBuild, image: GuestImage, inputs: Inputs) -> dict[str, Any]:
    """All that decides the bytes of a run, as hashes and values for JSON."""
    return {
        "scarp": version(),
        "qemu": {
            "version": qemu.version,
            "series": qemu.series_hash,
            "engine": qemu.engine_hash,
            "firmware": tree_hash(p for p in qemu.firmware_dir.iterdir() if p.is_file()),
        },
        "machine": {
            "cpu": vm.CPU_MODEL,
            "kernel_arguments": vm.KERNEL_ARGUMENTS,
            "memory_mib": vm.GuestRun.memory_mib,
            "boot_shift": vm.GuestRun.boot_shift,
            "scripts": tree_hash(_SCRIPTS),
        },
        "guest": {
            "kernel": file_hash(image.kernel),
            "initramfs": file_hash(image.initramfs),
            **image.versions,
        },
        "inputs": {name: file_hash(path) for name, path in sorted(inputs.files.items())},
        "settings": inputs.settings,
    }
