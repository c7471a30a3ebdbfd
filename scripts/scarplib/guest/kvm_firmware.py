# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether KVM runs at least the machine's firmware, where it boots no Linux guest."""

from __future__ import annotations

import selectors
import subprocess
import time

from scarplib.build.qemu import QemuBuild
from scarplib.guest import until_boot

# SeaBIOS says so after it has found the processors and devices, with interrupts on.
READY = b"All threads complete."
_DEBUG_PORT = 0x402
_LIMIT_S = 20.0
_READ_BYTES = 65536


def command(qemu: QemuBuild) -> list[str]:
    """QEMU with nothing but its firmware, which writes to standard output."""
    return [
        str(qemu.binary), "-L", str(qemu.firmware_dir), "-accel", "kvm",
        "-nodefaults", "-no-user-config", "-display", "none",
        "-machine", "q35,sata=off,smbus=off,hpet=off", "-m", "64",
        "-chardev", "stdio,id=said",
        "-device", f"isa-debugcon,iobase={_DEBUG_PORT:#x},chardev=said",
    ]  # fmt: skip


def says_ready(arguments: list[str], limit_s: float = _LIMIT_S) -> bool:
    """True when the program writes READY in time; it is killed then, and else at the limit."""
    until = time.monotonic() + limit_s
    said = b""
    with (
        subprocess.Popen(
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
        ) as process,
        selectors.DefaultSelector() as selector,
    ):
        assert process.stdout
        selector.register(process.stdout, selectors.EVENT_READ)
        while READY not in said and selector.select(max(0.0, until - time.monotonic())):
            more = process.stdout.read(_READ_BYTES)
            if not more:
                break
            said += more
        process.kill()
    return READY in said


def runs(qemu: QemuBuild) -> bool:
    """True when this machine's KVM runs QEMU's firmware to where it would boot.

    A yes holds until the machine boots again.
    """

    def ask() -> tuple[str, bool]:
        ready = says_ready(command(qemu))
        return ("yes" if ready else "no"), ready

    return until_boot.answer("kvm-firmware", qemu, ask) == "yes"
