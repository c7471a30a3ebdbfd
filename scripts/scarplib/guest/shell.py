# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp shell`: the guest at a prompt, with a file system on the drive if asked."""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from scarplib.build.qemu import ensure_qemu
from scarplib.build.venv import ensure_venv
from scarplib.drive import controller
from scarplib.drive.check import check_drive
from scarplib.drive.options import view_of
from scarplib.drive.size import logical_bytes
from scarplib.errors import UserError
from scarplib.guest import user_guest, vm
from scarplib.guest.image import ensure_image
from scarplib.guest.job import START, environment, set_speed, start_text
from scarplib.guest.realtime import Clock, on_clock
from scarplib.guest.script import SCRIPT
from scarplib.guest.user_guest import User
from scarplib.guest.user_packages import enter
from scarplib.guest.user_task import UserTask

# The guest's console: a prompt on /dev/console would have no job control.
_TTY = "/dev/ttyS0"
_NAMES = ("stty", "resize", "reset", "clear", "less", "more", "top")
# sun_path's, with the zero at its end.
_PATH_BYTES = 108


@dataclass(frozen=True)
class Terminal:
    """What the guest must be told of the user's terminal; a serial line does not."""

    kind: str = ""
    rows: int = 0
    columns: int = 0

    def lines(self) -> list[str]:
        """The guest's, before the prompt."""
        found = [f"export TERM={self.kind}"] if self.kind else []
        if self.rows and self.columns:
            found.append(f"stty rows {self.rows} cols {self.columns} <{_TTY}")
        return found


def of_user() -> Terminal:
    """The terminal that this runs on; nothing is known of a pipe."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return Terminal()
    size = os.get_terminal_size(sys.stdout.fileno())
    kind = os.environ.get("TERM", "")
    return Terminal(kind if re.fullmatch(r"[\w.+-]+", kind) else "", size.lines, size.columns)


def task_text(
    task: UserTask,
    cpu_shift: int | None,
    terminal: Terminal,
    view: controller.HostView = controller.WHOLE,
) -> str:
    """Make, mount and hand over; the prompt's end is the guest's end."""
    # What only a prompt needs; a link that is there already is no error.
    lines = [f"for name in {' '.join(_NAMES)}; do ln -s busybox /bin/$name 2>/dev/null; done"]
    lines += [set_speed(cpu_shift) + " || exit 1", "set -e", *environment(view=view), *task.setup()]
    if task.file_system:
        name = task.file_system.name
        lines.append(f'echo "{name} on $SCARP_DEV, mounted on $SCARP_DIR"')
        lines.append("cd $SCARP_DIR")
    else:
        lines.append('echo "the drive is $SCARP_DEV"')
    if task.script:
        lines.append(f'echo "the script is {SCRIPT}, its files are in $SCARP_FILES"')
    shell = "sh -i"
    if task.packages:
        # Into the same folder of the other root.
        shell = f"{enter()}/bin/sh -c 'cd $SCARP_DIR && exec bash -i'"
    lines += [
        "set +e",
        *terminal.lines(),
        'echo "exit ends the guest"',
        f"setsid -c {shell} <{_TTY} >{_TTY} 2>&1",
    ]
    if task.file_system:
        lines += ["cd /", *task.unmount()]
    # The last command at the prompt is not the guest's own status.
    lines.append("exit 0")
    return "\n".join(lines) + "\n"


def qmp_arguments(path: Path | None) -> list[str]:
    """QEMU's, for a socket at which others can talk to it while it runs."""
    if not path:
        return []
    path = path.resolve()
    if len(str(path).encode()) >= _PATH_BYTES:
        raise UserError(f"--qmp: {path}: a socket's path has at most {_PATH_BYTES - 1} bytes")
    if not path.parent.is_dir():
        raise UserError(f"--qmp: {path.parent}: no such folder")
    if path.exists() and not path.is_socket():
        raise UserError(f"--qmp: {path}: there is a file already, which is no socket")
    # In QEMU's options two commas mean one.
    name = str(path).replace(",", ",,")
    return ["-qmp", f"unix:{name},server=on,wait=off"]


def shell(arguments: argparse.Namespace, user: User | None, clock: Clock) -> int:
    """Boot and hand over the terminal until the guest ends."""
    if user and len(user.kernels) > 1:
        raise UserError("--kernel: a prompt is of one guest")
    view = view_of(arguments)
    qmp = qmp_arguments(arguments.qmp)
    if qmp:
        # `scarp cut` runs in it: it must not have to wait for packages while the guest runs.
        ensure_venv()
    (guest,) = user_guest.prepare(user or User()).guests.values()
    task = guest.task
    qemu = ensure_qemu()
    if len(view.sizes) > 1:
        view = view.shared(logical_bytes(arguments.device, arguments.set))
    check_drive(
        qemu,
        arguments.device,
        arguments.scheme,
        arguments.age,
        arguments.set,
        arguments.seed,
        view=view,
    )
    real = clock.real(qemu, ensure_image)
    if real:
        print(f"on {real.text()}")
    drive = vm.FlashDrive(
        description=arguments.device,
        scheme=arguments.scheme,
        overrides=arguments.set,
        view=view,
        age=arguments.age,
        seed=arguments.seed,
    )
    # A new file system on an aged drive writes over whatever the ageing left.
    with tempfile.TemporaryDirectory(prefix="scarp-shell-") as folder:
        return vm.interactive(
            vm.GuestRun(
                qemu=qemu,
                image=guest.image,
                drives=[on_clock(real, drive)],
                task=task_text(task, clock.cpu_shift, of_user(), view),
                files={**task.content(), START: start_text(bool(real)).encode()},
                accel=real.accel if real else None,
                idle_poll=bool(real and real.idle == "poll"),
                memory_mib=task.memory_mib,
                kernel_args=task.kernel_args,
                smp=arguments.smp,
                out=Path(folder),
                extra_args=qmp,
            )
        )
