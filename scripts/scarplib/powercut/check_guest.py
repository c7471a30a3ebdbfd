# SPDX-License-Identifier: GPL-2.0-or-later
"""A guest that stays up and checks the contents of drives, one after the other.

Its drives are stock nvme on files that the host overwrites between two checks: then nothing of the
guest's has them open.  guest/powercut/session.sh is its other end.
"""

from __future__ import annotations

import contextlib
import os
import re
import selectors
import shlex
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from scarplib.build.qemu import QemuBuild
from scarplib.errors import UserError
from scarplib.guest import user_packages, vm
from scarplib.guest.user_guest import Guest
from scarplib.guest.user_task import MOUNT, PATH
from scarplib.paths import ROOT
from scarplib.powercut.checks import Check
from scarplib.powercut.layout import Layout

# The control drive, as session.sh has it: settings, promises, output.
_SETTINGS_BYTES = 4096
OUTPUT_AT = 8 << 20
_CONTROL_BYTES = 16 << 20
_MOST_PROMISES = OUTPUT_AT - _SETTINGS_BYTES
_READY = b"scarp-check: ready"
# Against hanging alone: a busy machine must not reach it.
_BOOT_S = 1800
# What a guest may be late beyond the limits of its own checks.
_LATE_S = 600
# NAME=ok,NAME=failed,… BYTES [again]
_WORD = rb"\w+=(?:ok|failed|refused|stopped)"
_ANSWER = re.compile(rb"(%b(?:,%b)*) (\d{1,8})( again)?" % (_WORD, _WORD))
_PANIC = re.compile(rb"Kernel panic - not syncing|BUG: unable to handle|Oops: ")


@dataclass(frozen=True)
class Verdict:
    """By the checks' names: ok, failed, refused (it could not be mounted), stopped, crashed."""

    of: dict[str, str]
    output: str


@dataclass(frozen=True)
class What:
    """What is to be checked: how the drives make up a file system, by which checks."""

    layout: Layout
    checks: tuple[Check, ...]
    drive_bytes: tuple[int, ...]
    # Seconds for each check.
    limit: int = 60
    # For GuestRun.files.
    files: Mapping[str, Path | bytes] = field(default_factory=dict)


def functions(guest: Guest, what: What) -> str:
    """What session.sh includes: bring_up, take_down, end_after, give_up, in_root."""
    task = guest.task
    mount = ":"
    if task.file_system:
        mount = f"{task.file_system.mount('$SCARP_DEV', MOUNT)} || return 1"
    unmount = f"umount {MOUNT}" if task.file_system else ":"
    bind = unbind = ":"
    root = user_packages.ROOT
    if task.packages and task.file_system:
        bind, unbind = f"mount -o bind {MOUNT} {root}{MOUNT} || return 1", f"umount {root}{MOUNT}"
    enter = user_packages.enter() if task.packages else ""
    found = {
        "in_root": [f'{enter}"$@"'],
        "bring_up": [*what.layout.bring_up(), mount, bind],
        "take_down": [f"{unbind} && {unmount}"],
        "end_after": what.layout.take_down() or [":"],
        "give_up": [f"umount {root}{MOUNT} {MOUNT} 2>/dev/null", "end_after"],
    }
    return "".join(
        f"{name}() {{\n" + "".join(f"    {line}\n" for line in lines) + "}\n"
        for name, lines in found.items()
    )


def task_text(guest: Guest, what: What, drives: int) -> str:
    """Once: modules, packages; then session.sh for ever."""
    # The file system is mounted for each check anew, and never made.
    bare = replace(guest.task, file_system=None, script=None)
    names = " ".join(f"$SCARP_DEV{number}" for number in range(drives))
    folder = MOUNT if guest.task.file_system else "/tmp/work"
    exports = {
        "SCARP_CHECK_CONTROL": f"$SCARP_DEV{drives}",
        "SCARP_CHECK_DRIVES": names,
        "SCARP_DIR": folder,
    }
    lines = ["set -e", f"export PATH={PATH}", *what.layout.prepare(), *bare.setup()]
    lines += [f'export {name}="{value}"' for name, value in exports.items()]
    lines += [f"export SCARP_CHECKS={shlex.quote(' '.join(c.name for c in what.checks))}"]
    if guest.task.packages:
        # The checks' own folder, where both roots have it.
        lines += [f"mkdir -p /tmp/check {user_packages.ROOT}/tmp/check"]
        lines += [f"mount -o bind /tmp/check {user_packages.ROOT}/tmp/check"]
        lines += [f"mkdir -p {user_packages.ROOT}{MOUNT}"]
    lines += ["set +e", "busybox stty -F /dev/ttyS0 raw -echo 2>/dev/null"]
    lines += ["exec sh /scarp/check-session </dev/ttyS0 >/dev/ttyS0"]
    return "\n".join(lines) + "\n"


def _copy_sparse(source: Path, target: Path) -> None:
    """The bytes of one file into another that is as large and stays where it is."""
    size = source.stat().st_size
    with source.open("rb") as read, target.open("r+b") as write:
        write.truncate(0)
        write.truncate(size)
        at = 0
        while at < size:
            try:
                at = os.lseek(read.fileno(), at, os.SEEK_DATA)
            except OSError:
                return
            end = os.lseek(read.fileno(), at, os.SEEK_HOLE)
            while at < end:
                done = os.copy_file_range(
                    read.fileno(), write.fileno(), min(end - at, 1 << 24), at, at
                )
                at += done


class CheckGuest:
    """Booted when it is first asked, and again when it has become of no use."""

    def __init__(
        self, qemu: QemuBuild, guest: Guest, what: What, folder: Path, accel: str = "tcg"
    ) -> None:
        self.qemu, self.guest, self.what, self.folder = qemu, guest, what, folder
        self.accel = accel
        self.boots = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._said, self._ended = b"", False
        self._console = folder / "console.log"
        self.drives = [folder / f"scratch{n}.raw" for n in range(len(what.drive_bytes))]
        self.control = folder / "control.raw"

    def _drive_words(self) -> list[str]:
        words = []
        for number, path in enumerate([*self.drives, self.control]):
            words += [
                "-drive",
                f"if=none,id=d{number},format=raw,cache=unsafe,file={vm.option(path)}",
                "-device",
                f"nvme,serial=scarp{number},drive=d{number}",
            ]
        return words

    def _command(self, initrd: Path) -> list[str]:
        run = vm.GuestRun(
            qemu=self.qemu,
            image=self.guest.image,
            drives=[],
            task=task_text(self.guest, self.what, len(self.drives)),
            out=self.folder,
            files={
                **self.guest.task.content(),
                "check-session": ROOT / "guest" / "powercut" / "session.sh",
                "check-functions": functions(self.guest, self.what).encode(),
                **{k: v for check in self.what.checks for k, v in check.files().items()},
                **self.what.layout.files(self.guest.image),
                **self.what.files,
            },
            memory_mib=self.guest.task.memory_mib,
            accel=self.accel,
            icount=False,
        )
        initrd.write_bytes(vm.archive(run))
        console = ["-chardev", "stdio,id=console,signal=off"]
        return vm.command_line(run, initrd, "chardev:console") + console + self._drive_words()

    def _boot(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        sizes = [*self.what.drive_bytes, _CONTROL_BYTES]
        for path, size in zip([*self.drives, self.control], sizes, strict=True):
            with path.open("wb") as stream:
                stream.truncate(size)
        initrd = self.folder / "initrd.tmp"
        with (self.folder / "qemu.log").open("wb") as errors:
            self._process = subprocess.Popen(
                vm.tied(self._command(initrd)),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                process_group=0,
            )
        self._said, self._ended = b"", False
        self.boots += 1
        if self._until(_READY, _BOOT_S) is None:
            tail = vm.readable(self._said)[-1500:]
            errors_text = vm.readable((self.folder / "qemu.log").read_bytes())[-500:]
            self.close()
            raise UserError(f"the guest for the checks did not start:\n{tail}{errors_text}")
        initrd.unlink()

    def _until(self, wanted: bytes, seconds: float) -> bytes | None:
        """The rest of the line that begins so; None: it did not come."""
        assert self._process and self._process.stdout
        stream = self._process.stdout
        end = time.monotonic() + seconds
        with selectors.DefaultSelector() as selector, self._console.open("ab") as console:
            selector.register(stream, selectors.EVENT_READ)
            while True:
                if match := re.search(re.escape(wanted) + rb"([^\r\n]*)[\r\n]", self._said):
                    self._said = self._said[match.end() :]
                    return match[1]
                left = end - time.monotonic()
                if left <= 0 or _PANIC.search(self._said):
                    return None
                if not selector.select(left):
                    continue
                new = os.read(stream.fileno(), 65536)
                if not new:
                    self._ended = True
                    return None
                console.write(new)
                self._said += new

    def _send(self, number: int, settings: dict[str, str], promises: bytes) -> None:
        text = "".join(f"export {name}={shlex.quote(v)}\n" for name, v in settings.items())
        text += "export SCARP_PROMISES=/tmp/check/promises\n"
        if len(text) > _SETTINGS_BYTES or len(promises) > _MOST_PROMISES:
            raise UserError(
                f"--check: {len(promises)} bytes of promises: at most {_MOST_PROMISES} can be told"
            )
        with self.control.open("r+b") as control:
            control.write(text.encode().ljust(_SETTINGS_BYTES, b"\0") + promises)
        assert self._process and self._process.stdin
        self._process.stdin.write(f"{number} {len(promises)} {self.what.limit}\n".encode())
        self._process.stdin.flush()

    def output(self, size: int) -> str:
        """What the checks printed, which steers no terminal."""
        with self.control.open("rb") as control:
            control.seek(OUTPUT_AT)
            return vm.readable(control.read(size))

    def check(
        self, number: int, contents: Sequence[Path], settings: dict[str, str], promises: str
    ) -> Verdict:
        """What is in these files, one for each drive; they stay as they are."""
        if not self._process:
            self._boot()
        for source, target in zip(contents, self.drives, strict=True):
            _copy_sparse(source, target)
        answer = None
        with contextlib.suppress(BrokenPipeError):
            self._send(number, settings, promises.encode())
            # Before and after unmounting each check may take as long as it may.
            seconds = 2 * len(self.what.checks) * self.what.limit + _LATE_S
            answer = self._until(f"scarp-check: {number} ".encode(), seconds)
        names = [check.name for check in self.what.checks]
        if answer is None:
            text = vm.readable(self._said)[-4000:]
            crashed = self._ended or bool(_PANIC.search(self._said))
            self.close()
            word = "crashed" if crashed else "stopped"
            return Verdict(dict.fromkeys(names, word), f"the guest {word}:\n{text}")
        match = _ANSWER.fullmatch(answer.strip())
        said = dict(each.split("=") for each in match[1].decode().split(",")) if match else {}
        if not match or sorted(said) != sorted(names):
            # Something else wrote to the console, too.
            self.close()
            return Verdict(dict.fromkeys(names, "stopped"), f"the guest answered {answer[:200]!a}")
        verdict = Verdict(said, self.output(int(match[2])))
        if match[3]:
            self.close()
        return verdict

    def close(self) -> None:
        """Its end; what it had is of nobody's use."""
        if self._process:
            self._process.kill()
            self._process.wait()
            for stream in (self._process.stdin, self._process.stdout):
                if stream:
                    with contextlib.suppress(BrokenPipeError):
                        stream.close()
            self._process = None

    def end(self) -> None:
        """And nothing of it is left but its console."""
        self.close()
        for path in (*self.drives, self.control, self.folder / "initrd.tmp"):
            path.unlink(missing_ok=True)
        if self._console.is_file() and not self._console.stat().st_size:
            shutil.rmtree(self.folder, ignore_errors=True)
