# SPDX-License-Identifier: GPL-2.0-or-later
"""Virtual functions: each is given queues, goes online, and may go at any moment."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from model import Wrong
from nvme import PAGE, Admin, Controller
from pci import FUNCTION_RESET, Function
from setup import FUNCTIONS, SLOT
from test_functions import (
    ASSIGN,
    BAR,
    CONTROL,
    ENABLE,
    INTERRUPTS,
    MEMORY,
    NUMBER,
    OFFLINE,
    ONLINE,
    QUEUES,
    SECONDARY,
    SRIOV,
    VF_BARS,
    VIRTUALISATION,
)

if TYPE_CHECKING:
    from sequence import Hunt

VF_QUEUES, VF_INTERRUPTS = 2, 1
ALLOCATE = 1  # to the primary one
INVALID_FIELD, INVALID_OPCODE = 0x002, 0x001
CONTROLLER, STATE, NUMBER_OF, RESOURCE = 0x11F, 0x120, 0x121, 0x122


def manage(hunt: Hunt, action: int, number: int, kind: int = 0, of: int = 0) -> int:
    ctrl = hunt.ctrls[0]
    assert ctrl
    cdw = (number << 16 | kind << 8 | action, of)
    return ctrl.command(VIRTUALISATION, cdw=cdw).status


def managed(hunt: Hunt, action: int, number: int, kind: int = 0, of: int = 0) -> None:
    if status := manage(hunt, action, number, kind, of):
        raise Wrong(f"virtualisation {action} of {number}: status {status:#x}")


def enable(hunt: Hunt) -> None:
    """All of them are there; none is online."""
    function = Function(hunt.machine, SLOT)
    at = function.extended(SRIOV)
    if function.read(at + CONTROL) & ENABLE:
        return
    function.write(at + NUMBER, FUNCTIONS)
    function.write(at + BAR, 0xFFFFFFFF)
    hunt.function_bytes = -(function.read(at + BAR) & ~0xF) & 0xFFFFFFFF
    function.write(at + BAR, VF_BARS)
    function.write(at + BAR + 4, 0)
    function.write(at + CONTROL, ENABLE | MEMORY)


def made(hunt: Hunt, number: int, on: bool = True) -> Controller:
    """The driver of a virtual function; the first one has number 1."""
    function = Function(hunt.machine, SLOT, function=number)
    base = VF_BARS + (number - 1) * hunt.function_bytes
    kind = hunt.kind

    class Virtual(kind):  # type: ignore[misc, valid-type]
        """Its registers are where the physical function's capability says."""

        def _config_write(self, slot: int, offset: int, value: int) -> None:
            if offset == 0x04:
                function.write(offset, value)
            self.bar = base

    return Virtual(hunt.machine, SLOT, enable=on)


def online(hunt: Hunt, number: int) -> None:
    enable(hunt)
    managed(hunt, ASSIGN, number, QUEUES, VF_QUEUES)
    managed(hunt, ASSIGN, number, INTERRUPTS, VF_INTERRUPTS)
    managed(hunt, ONLINE, number)
    hunt.ctrls[number] = made(hunt, number)
    hunt.renew(number)


def check_list(hunt: Hunt) -> None:
    """The list of secondary controllers says which are online."""
    ctrl = hunt.ctrls[0]
    assert ctrl
    ctrl.check(Admin.IDENTIFY, data=hunt.page, cdw=(SECONDARY,))
    page = hunt.machine.read(hunt.page, PAGE)
    if page[0] != FUNCTIONS:
        raise Wrong(f"secondary controllers: {page[0]}")
    for entry in (page[32 * number : 32 * number + 32] for number in range(1, FUNCTIONS + 1)):
        number, said = struct.unpack_from("<H", entry, 8)[0], entry[4]
        if said != bool(hunt.ctrls[number]):
            raise Wrong(f"function {number}: its state is said to be {said}")


def gone(hunt: Hunt, number: int) -> None:
    """What was in flight is lost; the function may come again."""
    hunt.lose(number)
    hunt.ctrls[number] = None
    hunt.queues[number] = []


def function(hunt: Hunt) -> None:
    """One that is there goes, in one of several ways; one that is not, comes."""
    number = hunt.pick.randint(1, FUNCTIONS)
    ctrl = hunt.ctrls[number]
    if not ctrl:
        online(hunt, number)
        return
    how = hunt.pick.choice(("offline", "reset", "all"))
    if how == "offline":
        managed(hunt, OFFLINE, number)
        if not hunt.machine.readl(ctrl.bar + 0x1C) & 2:
            raise Wrong(f"function {number} is offline, and has not failed")
        gone(hunt, number)
    elif how == "reset":
        target = Function(hunt.machine, SLOT, function=number)
        at = target.device_control() - target.config
        target.write(at, target.read(at) | FUNCTION_RESET)
        hunt.lose(number)
        hunt.ctrls[number] = made(hunt, number)
        hunt.renew(number)
    else:
        physical = Function(hunt.machine, SLOT)
        physical.write(physical.extended(SRIOV) + CONTROL, 0)
        for each in range(1, FUNCTIONS + 1):
            gone(hunt, each)
            managed(hunt, OFFLINE, each)


def refused(hunt: Hunt) -> None:
    """Management that cannot be done."""
    pick = hunt.pick
    number = pick.randint(1, FUNCTIONS)
    kinds = [
        ("of no such resource", (ASSIGN, number, pick.randint(2, 7), 1), RESOURCE),
        (
            "of no such action",
            (pick.choice((0, 2, 3, 6, 10, 15)), number, QUEUES, 1),
            INVALID_FIELD,
        ),
        ("of no such controller", (pick.choice((ASSIGN, ONLINE, OFFLINE)), 77, 0, 1), CONTROLLER),
        ("of another as the primary", (ALLOCATE, number, 0, 1), CONTROLLER),
        ("of more than there is", (ALLOCATE, 0, QUEUES, 5), NUMBER_OF),
    ]
    if hunt.ctrls[number]:
        kinds.append(("of one that is online", (ASSIGN, number, QUEUES, 1), STATE))
    else:
        kinds.append(("of more than it may have", (ASSIGN, number, QUEUES, 99), NUMBER_OF))
        kinds.append(("of one without queues", (ONLINE, number, QUEUES, 0), STATE))
    name, words, wanted = pick.choice(kinds)
    if (status := manage(hunt, *words)) != wanted:
        raise Wrong(f"virtualisation {name}: status {status:#x}, wanted {wanted:#x}")
