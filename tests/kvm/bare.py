# SPDX-License-Identifier: GPL-2.0-or-later
"""The bare-metal guest: built, started on one accelerator, and what it says."""

from __future__ import annotations

import contextlib
import json
import os
import re
import socket
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

from fixture import DESCRIPTION
from machine import LineSocket, MachineDied, asked, connected, monitor_arguments, said
from patience import Patience
from scarplib.guest.qmp import Monitor

HERE = Path(__file__).resolve().parent
SOURCES = ("entry.S", "list.c", "load.c", "machine.c", "main.c", "nvme.c", "say.c", "tasks.c")
# No instruction that the emulator of an interpreting KVM lacks.
FLAGS = (
    "-m32", "-march=i686", "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-ffreestanding",
    "-nostdlib", "-mno-sse", "-mno-mmx", "-mno-80387", "-fno-pic", "-fno-pie",
    "-fno-stack-protector", "-fcf-protection=none",
)  # fmt: skip
ACCELERATORS = {
    "kvm": ["-accel", "kvm"],
    "tcg": ["-accel", "tcg,thread=multi"],
    "icount": ["-accel", "tcg,thread=single", "-icount", "shift=1,sleep=off"],
}
# It has no feature that any KVM lacks.
CPU = "pentium3"
RAM_MIB = 64
CONSOLE_PORT = 0xE9
# A guest that has said nothing for so long, of its own processor time, hangs.
HANG_S = 300.0
# Between two looks whether QEMU has ended.
LOOK_S = 1.0
DOORBELL = re.compile(r"pci_nvme_mmio_doorbell_[sc]q [sc]qid (\d+) ")


def build(folder: Path) -> Path:
    """The guest as a multiboot kernel."""
    objects = []
    for name in SOURCES:
        objects.append(folder / f"{name}.o")
        command = ["cc", *FLAGS, "-c", str(HERE / "guest" / name), "-o", str(objects[-1])]
        subprocess.run(command, check=True)
    guest = folder / "guest.elf"
    link = ["ld", "-m", "elf_i386", "--no-warn-rwx-segments", "-T", str(HERE / "guest/link.ld")]
    subprocess.run([*link, "-o", str(guest), *map(str, objects)], check=True)
    return guest


class Failed(AssertionError):
    """The guest found something wrong, or came to no end."""


class Bare:
    """One run of the guest; `lines` is what it said, `results` that by task."""

    def __init__(self, qemu: Path, firmware: Path, guest: Path, accelerator: str) -> None:
        self.qemu, self.firmware, self.guest = qemu, firmware, guest
        self.accelerator = accelerator
        self.lines: list[str] = []
        self.results: dict[str, dict[str, int]] = {}
        self._monitor: Monitor | None = None
        self._folder = tempfile.TemporaryDirectory(prefix="scarp-bare-")
        self.dir = Path(self._folder.name)

    def __enter__(self) -> Bare:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._folder.cleanup()

    @property
    def realtime(self) -> bool:
        return self.accelerator != "icount"

    def _arguments(
        self, tasks: str, listed: Path | None, more: str, monitor: socket.socket
    ) -> list[str]:
        clock = "realtime" if self.realtime else "virtual"
        reboot = "reset" if "again=" in tasks else "shutdown"
        events = ",ioeventfd=on" if self.realtime else ""
        arguments = [
            str(self.qemu), "-L", str(self.firmware), "-nodefaults", "-no-user-config",
            "-display", "none", "-action", f"reboot={reboot}",
            "-machine", "q35,sata=off,smbus=off,hpet=off",
            "-smp", "2", "-m", str(RAM_MIB), "-cpu", CPU, *ACCELERATORS[self.accelerator],
            "-kernel", str(self.guest), "-append", tasks,
            *monitor_arguments(monitor), "-chardev", f"socket,id=said,path={self.dir}/said",
            "-device", f"isa-debugcon,iobase={CONSOLE_PORT:#x},chardev=said",
            "-device", f"nvme-flash,id=f0,description={DESCRIPTION},scheme=baseline,clock={clock},"
            f"cmd-log={self.dir}/f0.cmd{more}",
            "-device", f"nvme,id=nvme0,serial=s,addr=4{events}",
            "-device", "nvme-ns,bus=nvme0,flash=f0,nsid=1,size=2M",
            "-trace", "pci_nvme_mmio_doorbell*", "-D", str(self.dir / "trace"),
        ]  # fmt: skip
        return [*arguments, *(["-initrd", str(listed)] if listed else [])]

    def run(
        self,
        tasks: str,
        listed: Path | None = None,
        told: Callable[[Bare, str], None] | None = None,
        more: str = "",
        core: int | None = None,
    ) -> None:
        """Run the tasks to their end, or to the guest's own; `told` sees each line as it comes.

        `more` are properties of the flash.  With a core, virtual CPUs run there alone.
        """
        said_by = LineSocket(self.dir / "said")
        ours, theirs = socket.socketpair()
        errors = self.dir / "stderr"
        with errors.open("w") as stream:
            process = subprocess.Popen(
                self._arguments(tasks, listed, more, theirs),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stream,
                text=True,
                pass_fds=[theirs.fileno()],
            )
        theirs.close()
        self._monitor = None
        try:
            self._monitor = connected(ours, process, lambda: Patience(process.pid, HANG_S))
            said_by.accept(process, HANG_S)
            if core is not None:
                for cpu in self.qmp("query-cpus-fast"):
                    os.sched_setaffinity(cpu["thread-id"], {core})
            line = ""
            while not line.startswith("reboot ") and (line := said_by.readline()) != "end":
                self._take(line)
                if told:
                    told(self, line)
            if line == "end":
                self._quit()
            self._end(process)
        except MachineDied as died:
            raise Failed(f"{died}: {said(errors.read_text())}; {self.lines}") from None
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
            said_by.close()
            if self._monitor:
                self._monitor.close()
        if process.returncode or said(errors.read_text()):
            raise Failed(f"QEMU ended with {process.returncode}: {said(errors.read_text())}")

    def _quit(self) -> None:
        self.stats = json.loads(
            self.qmp("qom-get", path="/machine/peripheral/f0", property="stats")
        )
        # It may end before it has answered.
        with contextlib.suppress(MachineDied):
            self.qmp("quit")

    def _end(self, process: subprocess.Popen[str]) -> None:
        patience = Patience(process.pid, HANG_S)
        while True:
            try:
                process.wait(LOOK_S)
                return
            except subprocess.TimeoutExpired:
                if not patience.spend(LOOK_S):
                    raise Failed("QEMU does not end") from None

    def _take(self, line: str) -> None:
        self.lines.append(line)
        name, *pairs = line.split()
        if name == "fail":
            raise Failed(f"on {self.accelerator}: {line}")
        self.results[name] = {
            key: int(value) for key, _, value in (pair.partition("=") for pair in pairs) if value
        }

    def qmp(self, execute: str, **arguments: object) -> Any:
        assert self._monitor
        return asked(self._monitor, execute, **arguments)

    def doorbells_in_qemu(self, queue: int) -> int:
        """How many writes to doorbells of the queue QEMU itself has handled."""
        text = (self.dir / "trace").read_text()
        return sum(int(number) == queue for number in DOORBELL.findall(text))


def kvm_trouble() -> str:
    """Why no guest can be started on KVM here; empty: one can."""
    if not Path("/dev/kvm").exists():
        return "no /dev/kvm"
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return "no permission for /dev/kvm"
    return ""
