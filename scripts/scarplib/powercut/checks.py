# SPDX-License-Identifier: GPL-2.0-or-later
"""The checks of what drives contain after power cuts: which there are, and what the guest runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from scarplib.errors import UserError
from scarplib.guest.programs import ensure_program
from scarplib.guest.script import interpreter
from scarplib.paths import FIO_JOBS, ROOT

_GUEST = ROOT / "guest" / "powercut"
_EXAMPLES = ROOT / "guest" / "examples"

# What says after unmounting that a file system is sound.
_FSCK = {
    "ext4": "fsck.ext4 -f -n $SCARP_DEV",
    "xfs": "xfs_repair -n $SCARP_DEV",
    "btrfs": "btrfs check --readonly $SCARP_DEV",
    "f2fs": "fsck.f2fs -f --dry-run $SCARP_DEV",
}


@dataclass(frozen=True)
class Check:
    """`script`: what runs while the file system is mounted, if there is one; `after`: then.

    With `workload` or `job` it has a workload of its own, which `packages` are for.
    """

    name: str
    script: Path | None = None
    after: bytes | None = None
    workload: Path | None = None
    job: Path | None = None
    packages: tuple[str, ...] = ()
    in_file_system: bool = False
    # How it is told.
    title: str = ""

    def files(self) -> dict[str, Path | bytes]:
        """For GuestRun.files."""
        found: dict[str, Path | bytes] = {}
        if self.script:
            text = self.script.read_bytes()
            # As a shell takes it that is given such a file.
            plain = not text.startswith((b"#!", b"\x7fELF"))
            found[f"checks/{self.name}"] = b"#!/bin/sh\n" + text if plain else text
        if self.after:
            found[f"checks/{self.name}.after"] = self.after
        return found


def _of_file_system(name: str) -> Check:
    text = f"#!/bin/sh\necho '{_FSCK[name]}'\n{_FSCK[name]}\n"
    return Check(
        "fs",
        _GUEST / "check-files.sh",
        text.encode(),
        workload=_EXAMPLES / "powercut-files.sh",
        in_file_system=True,
        title=f"{name}: mount, promised files, fsck",
    )


_SQLITE = Check(
    "sqlite",
    _GUEST / "check-sqlite.sh",
    workload=_EXAMPLES / "powercut-sqlite.sh",
    packages=("sqlite3",),
    in_file_system=True,
    title="SQLite: integrity, committed rows",
)
_FIO = Check(
    "fio",
    _GUEST / "check-fio.sh",
    job=FIO_JOBS / "power-cut.fio",
    title="fio --verify: what was flushed, and FUA",
)
NAMES = ("fio", "fs", "sqlite")


def _users(path: Path, packages: bool) -> Check:
    if not path.is_file():
        raise UserError(f"--check: {path}: no such file, nor one of {', '.join(NAMES)}")
    text = path.read_bytes()
    if not text.strip():
        raise UserError(f"--check: {path}: empty")
    wanted = interpreter(text)
    if not packages and wanted not in ("", "/bin/sh", "/bin/busybox"):
        raise UserError(
            f"--check: {path}: '#!{wanted}': the guest has /bin/sh; other interpreters come with "
            "--packages"
        )
    return Check("script", path, title=path.name)


def chosen(names: Sequence[str], file_system: str | None, packages: bool) -> list[Check]:
    """By their names, or paths of the user's own; what is wrong with one is said here."""
    found = []
    for name in names:
        if name == "fs":
            found.append(_of_file_system(file_system or "ext4"))
        elif name in ("sqlite", "fio"):
            found.append({"sqlite": _SQLITE, "fio": _FIO}[name])
        else:
            found.append(_users(Path(name), packages))
    for check in found:
        if sum(other.name == check.name for other in found) > 1:
            raise UserError(f"--check: {check.name}: named twice")
        if file_system and check.name == "fio":
            raise UserError("--check: fio: excludes --fs: it verifies the whole drive's blocks")
    return found


def programs() -> dict[str, Path]:
    """What a workload and its checks find in their PATH."""
    files = ("promise.c", "files-work.c", "files-check.c")
    made = ensure_program(_GUEST / "scarp-files.c", *(_GUEST / name for name in files))
    made |= ensure_program(_GUEST / "scarp-promise.c", _GUEST / "promise.c")
    return {f"bin/{name}": path for name, path in made.items()}
