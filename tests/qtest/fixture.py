# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests have in common: a QEMU with drives, and its orderly end."""

from __future__ import annotations

import os
import unittest
from pathlib import Path
from typing import ClassVar

from logs import Command, read_commands
from machine import Machine
from nvme import Controller, Namespace

DESCRIPTION = Path(__file__).resolve().parent / "tiny.ini"
# For schemes that need a sibling plane; as large.
TWO_PLANES = ("geometry.planes_per_die=2", "geometry.blocks_per_plane=32")
# `make test-qtest-long`
ALL = bool(os.environ.get("SCARP_TEST_ALL"))
KIB = 1 << 10
MIB = 1 << 20


def flash(
    name: str = "f0", scheme: str = "baseline", description: Path = DESCRIPTION, more: str = ""
) -> list[str]:
    """Arguments for a flash device that logs its commands."""
    return [
        "-device",
        f"nvme-flash,id={name},description={description},scheme={scheme},"
        f"cmd-log={{dir}}/{name}.cmd,gc-log={{dir}}/{name}.gc{more}",
    ]


def controller(index: int = 0) -> list[str]:
    return ["-device", f"nvme,id=nvme{index},serial=scarp{index},addr={4 + index}"]


def namespace(name: str = "f0", bus: int = 0, more: str = "") -> list[str]:
    return ["-device", f"nvme-ns,bus=nvme{bus},flash={name}{more}"]


class DriveTest(unittest.TestCase):
    """A test on machines that must end with every law kept."""

    qemu: ClassVar[Path]

    def machine(self, *groups: list[str]) -> Machine:
        machine = Machine(self.qemu, [arg for group in groups for arg in group])
        self.addCleanup(machine.close)
        return machine

    def drive_machine(self, more: str = "", scheme: str = "baseline", more_ns: str = "") -> Machine:
        return self.machine(flash(scheme=scheme, more=more), controller(), namespace(more=more_ns))

    def drive(
        self, more: str = "", scheme: str = "baseline", more_ns: str = ""
    ) -> tuple[Machine, Controller, Namespace]:
        """One flash, one controller, one namespace, one queue."""
        machine = self.drive_machine(more, scheme, more_ns)
        ctrl = Controller(machine)
        return machine, ctrl, Namespace(ctrl.create_queue())

    def finish(self, machine: Machine, name: str = "f0") -> list[Command]:
        """End QEMU; it must be content.  Returns what the drive did."""
        status = machine.quit()
        self.assertEqual((status, machine.stderr()), (0, ""))
        commands = read_commands(machine.dir / f"{name}.cmd")
        for command in commands:
            self.assertEqual(sum(command.causes), command.latency_ns, command)
            self.assertTrue(all(cause >= 0 for cause in command.causes), command)
        return commands


def pattern(tag: int, size: int) -> bytes:
    """Data that no other tag and no other place has."""
    words = (tag.to_bytes(8, "little") + at.to_bytes(8, "little") for at in range(0, size, 16))
    return b"".join(words)[:size]
