# SPDX-License-Identifier: GPL-2.0-or-later
"""The guest of guest/: built, and started on one kind of TCG."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

GUEST = Path(__file__).resolve().parent / "guest"
# As guest.c numbers them.
CHECKS, CHECKS_ICOUNT, CALLS, CPUS = 1, 2, 3, 4
SCENARIO, BUDGET = 0x500, 0x508
ICOUNT = ("-accel", "tcg,thread=single", "-icount", "shift=0,sleep=off")
REAL_TIME = ("-accel", "tcg,thread=multi")
# A guest that hangs ends here; no test waits for this long.
HANG_S = 300

FLAGS = (
    "-ffreestanding", "-nostdlib", "-fno-pic", "-fno-pie", "-mcmodel=small", "-mno-red-zone",
    "-mgeneral-regs-only", "-fno-stack-protector", "-fcf-protection=none",
    "-fno-asynchronous-unwind-tables", "-O1", "-std=gnu11", "-Wall", "-Wextra",
    "-Wno-unused-parameter", "-Werror",
)  # fmt: skip


def _run(*command: str | Path) -> str:
    return subprocess.run(
        list(map(str, command)), check=True, stdout=subprocess.PIPE, text=True
    ).stdout


class Guest:
    """The firmware image, and where its symbols are."""

    def __init__(self, folder: Path) -> None:
        objects = [folder / "start.o", folder / "guest.o"]
        for source, made in zip(("start.S", "guest.c"), objects, strict=True):
            _run("cc", *FLAGS, "-c", GUEST / source, "-o", made)
        whole, self.image = folder / "guest.elf", folder / "guest.bin"
        _run("ld", "-nostdlib", "-z", "noexecstack", "--no-warn-rwx-segments",
             "-T", GUEST / "guest.ld", "-o", whole, *objects)  # fmt: skip
        _run("objcopy", "-O", "binary", whole, self.image)
        listed = re.findall(r"^([0-9a-f]+) \w (\w+)$", _run("nm", whole), re.MULTILINE)
        self.symbols = {name: int(address, 16) for address, name in listed}


class Machine:
    """How a QEMU is started with the guest as its firmware."""

    def __init__(self, qemu: Path, firmware: Path, guest: Guest) -> None:
        self.qemu, self.firmware, self.guest = qemu, firmware, guest

    def command(self, scenario: int, *options: str) -> list[str]:
        return [
            str(self.qemu), "-L", str(self.firmware), "-nodefaults", "-display", "none",
            "-machine", "pc", "-cpu", "max", "-m", "64", "-no-reboot",
            "-bios", str(self.guest.image), "-debugcon", "stdio",
            "-device", "isa-debug-exit,iobase=0x501,iosize=1",
            "-device", f"loader,addr={SCENARIO:#x},data={scenario},data-len=4",
            *options,
        ]  # fmt: skip

    def output(self, scenario: int, *options: str) -> str:
        """What the guest prints until it ends."""
        done = subprocess.run(
            self.command(scenario, *options),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=HANG_S,
            check=False,
        )
        if done.returncode not in (1, 3):
            raise AssertionError(f"QEMU ended with {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout
