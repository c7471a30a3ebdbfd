# SPDX-License-Identifier: GPL-2.0-or-later
"""A zoned namespace: what each zone holds, how far it is written, and what may be done with it.

Which of the open zones the drive closes to open another is its own choice: it is asked.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from model import UNIT, Wrong, content, number_of
from nvme import Op
from setup import ACTIVE_ZONES, OPEN_ZONES, ZONE_BYTES, ZONES

if TYPE_CHECKING:
    from sequence import Hunt

SECTORS = UNIT // 512
UNITS = ZONE_BYTES // UNIT
RECEIVE = 0x7A
CLOSE, FINISH, OPEN, RESET, OFFLINE = 1, 2, 3, 4, 5
EMPTY, IMPLICIT, EXPLICIT, CLOSED, FULL = 1, 2, 3, 4, 14
INVALID_FIELD, RANGE = 0x002, 0x080
BOUNDARY, IS_FULL, INVALID_WRITE, MANY_ACTIVE, MANY_OPEN, TRANSITION = (
    0x1B8,
    0x1B9,
    0x1BC,
    0x1BD,
    0x1BE,
    0x1BF,
)


@dataclass
class Zone:
    written: int = 0  # units
    full: bool = False
    numbers: list[int] = field(default_factory=lambda: [0] * UNITS)


class Zones:
    def __init__(self) -> None:
        self.zones = [Zone() for _ in range(ZONES)]

    def states(self, hunt: Hunt) -> list[int]:
        """As the drive says; what it says is checked."""
        queue = hunt.any_queue()
        size = 64 + 64 * ZONES
        cdw = (0, 0, size // 4 - 1, 0)
        cid = queue.submit(RECEIVE, hunt.setup.nsid_zoned, (hunt.scratch, 0), cdw)
        if status := queue.wait(cid).status:
            raise Wrong(f"report of zones: status {status:#x}")
        page = hunt.machine.read(hunt.scratch, size)
        if struct.unpack_from("<Q", page)[0] != ZONES:
            raise Wrong(f"report of zones: {page[:8].hex()}")
        states = []
        for index, zone in enumerate(self.zones):
            at = 64 + 64 * index
            kind, state = page[at], page[at + 1] >> 4
            capacity, start, pointer = struct.unpack_from("<3Q", page, at + 8)
            if (kind, capacity, start) != (2, UNITS * SECTORS, index * UNITS * SECTORS):
                raise Wrong(f"zone {index}: {kind}, {capacity}, {start}")
            if (state == FULL) != zone.full:
                raise Wrong(f"zone {index}: state {state}, {zone.written} units are written")
            if state != FULL and pointer != start + zone.written * SECTORS:
                raise Wrong(f"zone {index}: at {pointer - start}, not {zone.written * SECTORS}")
            if state == EMPTY and zone.written:
                raise Wrong(f"zone {index} is empty, and {zone.written} units are written")
            states.append(state)
        opened = sum(state in (IMPLICIT, EXPLICIT) for state in states)
        active = opened + states.count(CLOSED)
        if opened > OPEN_ZONES or active > ACTIVE_ZONES:
            raise Wrong(f"{opened} zones are open, and {active} active")
        return states

    def may_open(self, states: list[int], index: int, explicitly: bool = False) -> int:
        """The status of what opens a zone."""
        state = states[index]
        if state == FULL:
            return TRANSITION if explicitly else IS_FULL
        if state in (IMPLICIT, EXPLICIT):
            return 0
        active = sum(each in (IMPLICIT, EXPLICIT, CLOSED) for each in states)
        if state == EMPTY and active == ACTIVE_ZONES:
            return MANY_ACTIVE
        # One that was opened by a write gives way.
        return MANY_OPEN if states.count(EXPLICIT) == OPEN_ZONES else 0


def zone(hunt: Hunt) -> None:
    """A command for one, and its end."""
    if hunt.zones and hunt.idle:
        kind = hunt.pick.choices((write, read, send), (6, 4, 4))[0]
        kind(hunt, hunt.zones, hunt.pick.randrange(ZONES))


def write(hunt: Hunt, zones: Zones, index: int) -> None:
    pick, zone = hunt.pick, zones.zones[index]
    count = pick.choice((1, 2, 4, 16, 32))
    append = pick.random() < 0.5
    astray = not append and pick.random() < 0.15
    states = zones.states(hunt)
    if zone.full:
        wanted = IS_FULL
    elif zone.written + count > UNITS:
        wanted = RANGE if index == ZONES - 1 and not append else BOUNDARY
    elif astray:
        wanted = INVALID_WRITE
    else:
        wanted = zones.may_open(states, index)
    start = index * UNITS * SECTORS
    at = start if append else start + (zone.written + astray) * SECTORS
    if zone.full and not append:
        at = start
    if astray and wanted in (BOUNDARY, RANGE):
        return
    numbers = hunt.numbers(count)
    buffer = hunt.idle[-1]
    where, flags, addr = hunt.pointer(buffer, count)
    hunt.machine.write(addr, b"".join(content(number) for number in numbers))
    queue = hunt.any_queue(buffer)
    opcode = Op.ZONE_APPEND if append else Op.WRITE
    cdw = (at & 0xFFFFFFFF, 0, count * SECTORS - 1)
    counts = hunt.smart[hunt.setup.namespaces]
    counts.may_write(count * UNIT)
    done = queue.wait(queue.submit(opcode, hunt.setup.nsid_zoned, where, cdw, flags=flags))
    if done.status != wanted:
        raise Wrong(
            f"zone {index}, {'append' if append else 'write'} of {count} units at {zone.written}: "
            f"status {done.status:#x}, wanted {wanted:#x}; states {states}"
        )
    if wanted:
        return
    counts.has_written(count * UNIT)
    if append and done.result != start + zone.written * SECTORS:
        raise Wrong(f"zone {index}: appended at {done.result - start}")
    zone.numbers[zone.written : zone.written + count] = numbers
    zone.written += count
    zone.full = zone.written == UNITS


def read(hunt: Hunt, zones: Zones, index: int) -> None:
    """Within a zone; what is not written is zeroes.  Across two, it is refused."""
    at = hunt.pick.randrange(UNITS)
    count = hunt.pick.choice((1, 4, 32))
    buffer = hunt.idle[-1]
    where, flags, addr = hunt.pointer(buffer, count)
    hunt.machine.write(addr, b"\xee" * (count * UNIT))
    queue = hunt.any_queue(buffer)
    cdw = ((index * UNITS + at) * SECTORS, 0, count * SECTORS - 1)
    hunt.smart[hunt.setup.namespaces].may_read(count * UNIT)
    status = queue.wait(
        queue.submit(Op.READ, hunt.setup.nsid_zoned, where, cdw, flags=flags)
    ).status
    across = at + count > UNITS
    wanted = 0 if not across else RANGE if index == ZONES - 1 else BOUNDARY
    if status != wanted:
        raise Wrong(
            f"zone {index}, read of {count} at {at}: status {status:#x}, wanted {wanted:#x}"
        )
    if status:
        return
    hunt.smart[hunt.setup.namespaces].has_read(count * UNIT)
    data = hunt.machine.read(addr, count * UNIT)
    for unit in range(count):
        number = number_of(data[unit * UNIT : (unit + 1) * UNIT])
        if number != zones.zones[index].numbers[at + unit]:
            raise Wrong(
                f"zone {index}, unit {at + unit} is {number}, not "
                f"{zones.zones[index].numbers[at + unit]}"
            )


def send(hunt: Hunt, zones: Zones, index: int) -> None:
    """Management of one zone."""
    states = zones.states(hunt)
    action = hunt.pick.choice((CLOSE, FINISH, OPEN, RESET, RESET, 0, 7))
    astray = hunt.pick.random() < 0.1
    state = states[index]
    if action in (0, 7) or astray:
        wanted = INVALID_FIELD
    elif action == OPEN:
        wanted = zones.may_open(states, index, True)
    elif action == CLOSE:
        wanted = 0 if state in (IMPLICIT, EXPLICIT, CLOSED) else TRANSITION
    else:
        wanted = 0
    queue = hunt.any_queue()
    cdw = (index * UNITS * SECTORS + astray, 0, 0, action)
    status = queue.wait(queue.submit(Op.ZONE_SEND, hunt.setup.nsid_zoned, cdw=cdw)).status
    if status != wanted:
        raise Wrong(
            f"zone {index}, action {action}: status {status:#x}, wanted {wanted:#x}; "
            f"states {states}"
        )
    zone = zones.zones[index]
    if status:
        return
    if action == RESET:
        zones.zones[index] = Zone()
    elif action == FINISH:
        zone.full = True
