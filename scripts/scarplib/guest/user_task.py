# SPDX-License-Identifier: GPL-2.0-or-later
"""What the guest runs where something of it is the user's own: lines around the measured work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from scarplib.guest import block_trace, fio_job, script, user_packages
from scarplib.guest.file_system import FileSystem
from scarplib.guest.script import Script

MOUNT = "/mnt"
_WORK = "/tmp/work"
# Here the initramfs's own programs are, too, when the root is that of packages.
PATH = (
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/bin:/scarp/bin:"
    f"{user_packages.APPLETS}:/base/bin"
)
_FAIL = '{{ echo "scarp-error: {text}"; exit 1; }}'
# Bytes that all processes have handed to write() so far, those that have ended included.
_WRITTEN = (
    "cat /proc/[0-9]*/io 2>/dev/null | "
    'awk \'$1 == "wchar:" {{ n += $2 }} END {{ printf "%.0f\\n", n }}\' >/results/{name}'
)
BEGIN_WRITTEN = _WRITTEN.format(name="written-begin")
_END_WRITTEN = _WRITTEN.format(name="written-end")


@dataclass(frozen=True)
class UserTask:
    """A script in place of the fio job, a file system on the drive, packages: each may be absent.

    `files`: for GuestRun.files, what packages and a kernel bring.  `trace`: the block layer's
    requests are recorded.
    """

    script: Script | None = None
    file_system: FileSystem | None = None
    packages: bool = False
    files: Mapping[str, Path | bytes] = field(default_factory=dict)
    memory_mib: int = 384
    kernel_args: str = ""
    fio_job: Path | None = None
    trace: bool = False

    def content(self) -> dict[str, Path | bytes]:
        """For GuestRun.files."""
        found = dict(self.files)
        if self.script:
            found |= self.script.content()
        if self.file_system and self.fio_job:
            found["lay-out.fio"] = (
                b"[global]\ncreate_only=1\n" + fio_job.read(self.fio_job).text.encode()
            )
        return found

    def setup(self) -> list[str]:
        """Before the start mark, at the speed of the boot."""
        lines = [f"export PATH={PATH}", *script.environment()]
        # One that is there already is no error; what is missing shows when it is used.
        lines.append(
            "for module in /scarp/modules/*/*.ko; do insmod $module 2>/dev/null || :; done"
        )
        if self.packages:
            lines += user_packages.mount_lines()
        folder = MOUNT if self.file_system else _WORK
        if self.file_system:
            name = self.file_system.name
            no_make = _FAIL.format(text=f"mkfs of {name} failed (its message is above)")
            no_mount = _FAIL.format(
                text=f"{name} could not be mounted (its mount options, or a kernel without it?)"
            )
            lines.append(f"{self.file_system.make('$SCARP_DEV')} || {no_make}")
            lines.append(f"{self.file_system.mount('$SCARP_DEV', MOUNT)} || {no_mount}")
        else:
            lines.append(f"mkdir -p {folder}")
        lines.append(f"export SCARP_DIR={folder}")
        if self.packages:
            root = user_packages.ROOT
            if not self.file_system:
                lines.append(f"chmod 1777 {folder}")
            lines.append(f"mkdir -p {root}{folder} && mount -o bind {folder} {root}{folder}")
        if self.trace:
            lines += block_trace.prepare(["", user_packages.ROOT] if self.packages else [""])
        return lines

    def lay_out(self) -> list[str]:
        """A fio job's files, which else would be written within the measured time."""
        if not (self.file_system and self.fio_job):
            return []
        return ["fio /scarp/lay-out.fio >/tmp/lay-out 2>&1 || { cat /tmp/lay-out; exit 1; }"]

    def run(self) -> list[str]:
        """The script, if there is one."""
        if not self.script:
            return []
        return script.start(self.script.path, user_packages.enter() if self.packages else "")

    def end(self) -> list[str]:
        """After the work: what is still to be written is."""
        return [_END_WRITTEN, "sync", *(self.unmount() if self.file_system else [])]

    def unmount(self) -> list[str]:
        """In the root of the packages and outside."""
        busy = _FAIL.format(text=f"{MOUNT} is still in use when the work has ended")
        folders = [f"{user_packages.ROOT}{MOUNT}"] if self.packages else []
        return [f"umount {folder} || {busy}" for folder in (*folders, MOUNT)]
