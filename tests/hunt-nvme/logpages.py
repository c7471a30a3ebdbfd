# SPDX-License-Identifier: GPL-2.0-or-later
"""Log pages, read at any offset and length: what they say is checked, and what is beyond them."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import media
from model import UNIT, Wrong
from nvme import PAGE, Admin, Controller

if TYPE_CHECKING:
    from sequence import Hunt

ERRORS, SMART, FIRMWARE, CHANGED, EFFECTS, GROUP = 1, 2, 3, 4, 5, 9
SELF_TEST, LBA_STATUS, SANITIZE = 6, 0x0E, 0x81
CONFIGURATIONS, USAGE, STATISTICS, EVENTS = 0x20, 0x21, 0x22, 0x23
FLASH_STATS, FLASH_SCHEME = 0xCA, 0xCB
INVALID_FIELD, INVALID_NAMESPACE, FDP_DISABLED = 0x002, 0x00B, 0x029
ENDURANCE_GROUP = 1
FILL = 0xEE
FIRMWARE_PAGE = b"\x01" + bytes(7) + b"1.0     " + bytes(496)
# Those that do not change, from one reading to the next.
CONSTANT = (ERRORS, FIRMWARE, EFFECTS, CONFIGURATIONS, USAGE)
SIZES = {ERRORS: 4096, SMART: 512, FIRMWARE: 512, EFFECTS: 4096, GROUP: 512, STATISTICS: 64}
KNOWN = (*SIZES, CONFIGURATIONS, USAGE, EVENTS, FLASH_STATS, FLASH_SCHEME, CHANGED)
OF_MEDIA = {SELF_TEST: 564, LBA_STATUS: 16, SANITIZE: 512}
SIZES |= OF_MEDIA
MOST_BYTES = 512 << 10  # MDTS


def command(
    hunt: Hunt, ctrl: Controller, lid: int, size: int, offset: int, which: int = 0, nsid: int = 0
) -> tuple[int, bytes]:
    """The status, and a page that was full of something else before."""
    dwords = size // 4 - 1
    hunt.machine.write(hunt.scratch, bytes([FILL]) * PAGE)
    cdw = (
        (dwords & 0xFFFF) << 16 | lid,
        which << 16 | dwords >> 16,
        offset & 0xFFFFFFFF,
        offset >> 32,
    )
    done = ctrl.command(Admin.GET_LOG, nsid or 0xFFFFFFFF, hunt.scratch, cdw)
    return done.status, hunt.machine.read(hunt.scratch, PAGE)


def whole(hunt: Hunt, ctrl: Controller, lid: int, which: int) -> bytes:
    """What a constant page says, as it was read the first time."""
    key = (lid, hunt.is_virtual(ctrl))
    if key not in hunt.pages:
        status, page = command(hunt, ctrl, lid, PAGE, 0, which)
        if status:
            raise Wrong(f"log page {lid:#x}: status {status:#x}")
        if lid == CONFIGURATIONS:
            page = page[: struct.unpack_from("<I", page, 4)[0]]
            check_configurations(hunt, page)
        elif lid == USAGE:
            page = page[: 8 + 8 * hunt.setup.handles]
        if lid == FIRMWARE and page[:512] != FIRMWARE_PAGE:
            raise Wrong(f"log page of the firmware: {page[:16].hex()}")
        if lid == ERRORS and page != bytes(PAGE):
            raise Wrong("log page of errors: there were none")
        hunt.pages[key] = page[: SIZES.get(lid, len(page))]
    return hunt.pages[key]


def check_configurations(hunt: Hunt, page: bytes) -> None:
    attributes, groups, handles = page[16 + 2], *struct.unpack_from("<IH", page, 16 + 4)
    if hunt.setup.handles and (attributes >> 7, groups, handles) != (1, 1, hunt.setup.handles):
        raise Wrong(f"FDP configuration: {attributes:#x}, {groups}, {handles}")


def log_page(hunt: Hunt) -> None:
    """One that is known, or any; at an offset, and of a length."""
    pick = hunt.pick
    ctrl = hunt.any_controller()
    read(hunt, ctrl, pick.choice((*KNOWN, SMART, SMART, pick.randrange(256))))
    # Drawn last, so that older seeds keep what they have drawn before.
    if pick.random() < 0.3:
        media.media(hunt)
    if pick.random() < 0.3:
        read(hunt, hunt.any_controller(), pick.choice(tuple(OF_MEDIA)))


def read(hunt: Hunt, ctrl: Controller, lid: int) -> None:
    pick = hunt.pick
    size = 4 * pick.choice((1, 2, 128, 1024, pick.randint(1, 1024), pick.randint(1, 1 << 17)))
    size = pick.choice((size, size, size, MOST_BYTES + 4))
    offset = pick.choice(
        (0, 0, 4, 512, 508, 4096, 4 * pick.randrange(1024), pick.randrange(1 << 40))
    )
    group = lid in (GROUP, CONFIGURATIONS, USAGE, STATISTICS, EVENTS)
    which = pick.choice((ENDURANCE_GROUP, ENDURANCE_GROUP, 0, 2)) if group else 0
    nsid = pick.choice((0, 0, *range(1, hunt.setup.namespaces + 1), 9)) if lid == SMART else 0
    status, page = command(hunt, ctrl, lid, size, offset, which, nsid)
    wanted = expected(hunt, lid, size, offset, which, nsid)
    if wanted is not None and status != wanted:
        raise Wrong(
            f"log page {lid:#x} of {which}, {size} bytes at {offset}, namespace {nsid}: "
            f"status {status:#x}, wanted {wanted:#x}"
        )
    if status:
        if page != bytes([FILL]) * PAGE:
            raise Wrong(f"log page {lid:#x}: refused, and yet data came")
    else:
        check(hunt, ctrl, lid, page, size, offset, which, nsid)


def length(hunt: Hunt, lid: int) -> int | None:
    """How long a page is; None: that is not known here, or there is none."""
    if lid == CONFIGURATIONS:
        ctrl = hunt.ctrls[0]
        return len(whole(hunt, ctrl, lid, ENDURANCE_GROUP)) if ctrl else None
    return 8 + 8 * hunt.setup.handles if lid == USAGE else SIZES.get(lid)


def expected(hunt: Hunt, lid: int, size: int, offset: int, which: int, nsid: int) -> int | None:
    """The status; None: any."""
    if offset % 4 or size > MOST_BYTES:
        return INVALID_FIELD
    if lid in (GROUP, CONFIGURATIONS, USAGE, STATISTICS, EVENTS) and which != ENDURANCE_GROUP:
        return INVALID_FIELD
    if lid == STATISTICS and offset >= SIZES[lid]:
        return INVALID_FIELD
    if lid in (USAGE, STATISTICS, EVENTS) and not hunt.setup.handles:
        return FDP_DISABLED
    long = length(hunt, lid)
    if long is None:
        return None
    if offset >= long:
        return INVALID_FIELD
    return INVALID_NAMESPACE if lid == SMART and nsid == 9 else 0


def check(
    hunt: Hunt,
    ctrl: Controller,
    lid: int,
    page: bytes,
    size: int,
    offset: int,
    which: int,
    nsid: int,
) -> None:
    long = length(hunt, lid)
    if long is not None:
        here = min(size, long - offset)
        if page[here:] != bytes([FILL]) * (PAGE - here):
            raise Wrong(f"log page {lid:#x}: {here} bytes were asked for, and more came")
    if lid in CONSTANT:
        if page[:here] != whole(hunt, ctrl, lid, which)[offset : offset + here]:
            raise Wrong(f"log page {lid:#x}, {here} bytes at {offset}: not those of the page")
    elif lid == SMART:
        check_smart(hunt, page, here, offset, nsid)
    elif lid == STATISTICS and offset == 0 and here >= 16:
        low, high = struct.unpack_from("<2Q", page)
        least, most = (sum(each) for each in zip(*(s.written for s in hunt.smart), strict=True))
        if high or not least <= low <= most:
            raise Wrong(f"FDP statistics: {low} bytes of the host, allowed {least} to {most}")
    elif lid == EVENTS and offset == 0:
        # No event was asked for.
        if page[:4] != bytes(4):
            raise Wrong(f"FDP events: {page[:4].hex()}")
    elif lid == FLASH_STATS and offset == 0 and size >= 8 and page[:8] != b"SCARPST1":
        raise Wrong(f"statistics of the flash: {page[:8]!r}")


def check_smart(hunt: Hunt, page: bytes, here: int, offset: int, nsid: int) -> None:
    """Of 128 bits each: data units read and written, reads and writes."""
    counts = hunt.smart if not nsid else [hunt.smart[nsid - 1]]
    for at, name in ((32, "read"), (48, "written"), (64, "reads"), (80, "writes")):
        if not offset <= at <= offset + here - 16:
            continue
        said = int.from_bytes(page[at - offset : at - offset + 16], "little")
        least, most = (sum(each) for each in zip(*(getattr(c, name) for c in counts), strict=True))
        if name in ("read", "written"):
            least, most = (-(-each // 512 // 1000) for each in (least, most))
        if not least <= said <= most:
            raise Wrong(f"SMART, {name} of {nsid}: {said}, allowed {least} to {most}")


def update(hunt: Hunt, ns: int) -> None:
    """Close the reclaim units of some handles; with one that is none nothing is done."""
    pick, number = hunt.pick, hunt.setup.handles
    pids = [pick.choice((*range(number), pick.choice((0, 9)))) for _ in range(pick.randint(1, 6))]
    hunt.machine.write(hunt.scratch, struct.pack(f"<{len(pids)}H", *pids))
    cdw = (len(pids) - 1 << 16 | 1,)
    queue = hunt.any_queue()
    status = queue.wait(queue.submit(0x1D, ns + 1, (hunt.scratch, 0), cdw)).status
    wanted = INVALID_FIELD if len(pids) > number or max(pids) >= number else 0
    if status != wanted:
        raise Wrong(f"update of handles {pids}: status {status:#x}, wanted {wanted:#x}")


def handles(hunt: Hunt) -> None:
    """Reclaim unit handles: their status, and their update, which few flashes have."""
    ns = hunt.pick.randrange(hunt.setup.namespaces)
    queue = hunt.any_queue()
    hunt.machine.write(hunt.scratch, bytes([FILL]) * PAGE)
    number = hunt.setup.handles
    if hunt.setup.units and hunt.pick.random() < 0.6:
        update(hunt, ns)
        return
    if hunt.pick.random() < 0.4:
        hunt.machine.write(hunt.scratch, bytes(range(16)))
        what = hunt.pick.choice((1, 1, 0, 7))
        count = hunt.pick.choice((0, 1, 3, 0xFFFF))
        cid = queue.submit(0x1D, ns + 1, (hunt.scratch, 0), (count << 16 | what,))
        wanted = {0: 0, 1: INVALID_FIELD if number else FDP_DISABLED}.get(what, INVALID_FIELD)
        if (status := queue.wait(cid).status) != wanted:
            raise Wrong(f"update of handles: status {status:#x}, wanted {wanted:#x}")
        return
    size = hunt.pick.choice((4, 16, 16 + 32 * number, PAGE, 4 * hunt.pick.randint(1, 1024)))
    cid = queue.submit(0x12, ns + 1, (hunt.scratch, 0), (1, size // 4 - 1))
    wanted = 0 if number else FDP_DISABLED
    if (status := queue.wait(cid).status) != wanted:
        raise Wrong(f"status of handles: status {status:#x}, wanted {wanted:#x}")
    page = hunt.machine.read(hunt.scratch, PAGE)
    here = min(size, 16 + 32 * number) if number else 0
    if page[here:] != bytes([FILL]) * (PAGE - here):
        raise Wrong(f"status of handles: {here} bytes were asked for, and more came")
    if here >= 16 and struct.unpack_from("<H", page, 14)[0] != number:
        raise Wrong(f"status of handles: {page[:16].hex()}")
    blocks = UNIT // 512 * 16 * 4  # a block of 16 pages in each of four planes
    for index in range((here - 16) // 32 if here >= 16 else 0):
        pid, ruhid, _, left = struct.unpack_from("<HHIQ", page, 16 + 32 * index)
        if (pid, ruhid) != (index, index) or not 0 < left <= blocks:
            raise Wrong(f"status of handle {index}: {pid}, {ruhid}, {left} blocks")
