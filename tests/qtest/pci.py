# SPDX-License-Identifier: GPL-2.0-or-later
"""PCI's configuration space in memory, where a device's own accesses reach it, too."""

from __future__ import annotations

from machine import Machine
from nvme import Controller

MMCONFIG = 0xB0000000
EXPRESS, MSIX = 0x10, 0x11  # capabilities
DEVICE_CONTROL = 8  # of PCI Express
SLOT_CONTROL = 0x18
POWER_OFF = 1 << 10 | 3 << 8 | 3 << 6  # in it, and both lamps
FUNCTION_RESET = 1 << 15
MSIX_ENABLE = 1 << 31


def enable_mmconfig(machine: Machine) -> None:
    """As firmware does on q35: PCIEXBAR of the host bridge."""
    for offset, value in ((0x64, 0), (0x60, MMCONFIG | 1)):
        machine.outl(0xCF8, 0x80000000 | offset)
        machine.outl(0xCFC, value)


class Function:
    """A PCI function; needs enable_mmconfig()."""

    def __init__(self, machine: Machine, slot: int, bus: int = 0, function: int = 0) -> None:
        self.machine = machine
        self.config = MMCONFIG + (bus << 20 | slot << 15 | function << 12)

    def read(self, offset: int) -> int:
        return self.machine.readl(self.config + offset)

    def write(self, offset: int, value: int) -> None:
        self.machine.writel(self.config + offset, value)

    def capability(self, which: int) -> int:
        """The offset of a capability."""
        at = self.read(0x34) & 0xFF
        while at:
            header = self.read(at)
            if header & 0xFF == which:
                return at
            at = header >> 8 & 0xFF
        raise AssertionError(f"no capability {which:#x}")

    def extended(self, which: int) -> int:
        """The offset of an extended capability."""
        at = 0x100
        while at:
            header = self.read(at)
            if header & 0xFFFF == which:
                return at
            at = header >> 20
        raise AssertionError(f"no extended capability {which:#x}")

    def device_control(self) -> int:
        """Its address in memory."""
        return self.config + self.capability(EXPRESS) + DEVICE_CONTROL

    def set_vector(self, bar: int, vector: int, address: int, data: int) -> None:
        """Where an interrupt goes, and what is written there; enables MSI-X."""
        at = self.capability(MSIX)
        table = bar + (self.read(at + 4) & ~7) + 16 * vector
        for offset, value in ((0, address), (4, 0), (8, data), (12, 0)):
            self.machine.writel(table + offset, value)
        self.write(at, self.read(at) | MSIX_ENABLE)

    def disable_msix(self) -> None:
        at = self.capability(MSIX)
        self.write(at, self.read(at) & ~MSIX_ENABLE)


class ControllerBehindPort(Controller):
    """In a slot of bus 1, which the root port or bridge in a slot of bus 0 leads to."""

    def __init__(self, machine: Machine, port: int, slot: int = 0) -> None:
        enable_mmconfig(machine)
        self.port = Function(machine, port)
        self.port.write(0x18, 0x00010100)  # subordinate, secondary and primary bus
        self.port.write(0x20, 0xD000D000 | 0x00F00000)  # memory from 0xD0000000 on
        self.port.write(0x04, 0x06)
        self.function = Function(machine, slot, bus=1)
        super().__init__(machine, slot=slot)

    def _config_write(self, slot: int, offset: int, value: int) -> None:
        self.function.write(offset, value)
