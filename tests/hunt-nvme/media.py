# SPDX-License-Identifier: GPL-2.0-or-later
"""Commands about the media: a self-test beside all else, what is allocated, a Sanitize."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from model import UNIT, Wrong
from nvme import PAGE, Admin, Op, Status

if TYPE_CHECKING:
    from sequence import Hunt

ALL = 0xFFFFFFFF
SHORT, EXTENDED, ABORT = 1, 2, 0xF
ALLOCATED = 0x02
BLOCK_ERASE, OVERWRITE, NO_DEALLOCATE = 2, 3, 1 << 9
SANITIZE_LOG, DONE, RUNS = 0x81, 1, 2
MOST_LOOKS = 100_000


def media(hunt: Hunt) -> None:
    """One of them."""
    hunt.pick.choices((self_test, allocated, sanitize), (6, 6, 1))[0](hunt)


def self_test(hunt: Hunt) -> None:
    """It runs on beside what follows, whatever that is."""
    pick = hunt.pick
    code = pick.choice((SHORT, SHORT, EXTENDED, ABORT, 0, 3))
    nsid = pick.choice((0, 1, ALL, 200, 257))
    status = hunt.any_controller().command(Admin.SELF_TEST, nsid, cdw=(code,)).status
    wanted = {Status.OK, Status.SELF_TEST_IN_PROGRESS, Status.FORMAT_IN_PROGRESS}
    if code in (0, 3):
        wanted = {Status.INVALID_FIELD}
    elif code == ABORT:
        wanted = {Status.OK}
    elif nsid > 256 and nsid != ALL:
        wanted = {Status.INVALID_NSID, Status.SELF_TEST_IN_PROGRESS}
    elif nsid == 200:
        wanted = {Status.INVALID_FIELD, Status.SELF_TEST_IN_PROGRESS}
    if status not in wanted:
        raise Wrong(f"self-test {code} of {nsid}: status {status:#x}")


def allocated(hunt: Hunt) -> None:
    """Ranges ascend inside of what was asked for, and a unit that must hold data is in one."""
    pick = hunt.pick
    ns = pick.randrange(hunt.setup.namespaces)
    model, block = hunt.models[ns], hunt.block[ns]
    per_unit = UNIT // block
    first = pick.randrange(len(model.may_be))
    count = pick.randint(1, 64)
    wanted = Status.OK if first + count <= len(model.may_be) else Status.LBA_RANGE
    hunt.machine.write(hunt.scratch, bytes(PAGE))
    lba, blocks = first * per_unit, count * per_unit
    # What is in flight may change a unit at any time.
    busy = [not model.is_free(unit, 1, True) for unit in range(len(model.may_be))]
    cdw = (lba, 0, 1023, ALLOCATED << 24 | blocks)
    done = hunt.any_controller().command(Admin.LBA_STATUS, ns + 1, hunt.scratch, cdw)
    if done.status != wanted:
        raise Wrong(f"LBA status: status {done.status:#x}, wanted {wanted:#x}")
    if done.status:
        return
    page = hunt.machine.read(hunt.scratch, PAGE)
    found, condition = struct.unpack_from("<IB", page)
    if condition != 2:
        raise Wrong(f"LBA status: condition {condition}")
    at, held = lba, set()
    for row in range(found):
        begin, length = struct.unpack_from("<QI", page, 8 + 16 * row)
        if begin < at or not length or begin + length > lba + blocks:
            raise Wrong(f"LBA status: {length} blocks at {begin} of {blocks} at {lba}")
        at = begin + length
        held |= set(range(begin // per_unit, -(-at // per_unit)))
    for unit in range(first, first + count):
        if 0 not in model.may_be[unit] and not busy[unit] and unit not in held:
            raise Wrong(f"LBA status: unit {unit} holds data, and is not allocated")


def sanitize(hunt: Hunt) -> None:
    """Once nothing is in flight: afterwards all is zeroes."""
    if hunt.setup.zoned:
        return
    for pending in list(hunt.pending):
        hunt.wait(pending)
    ctrl = hunt.any_controller()
    action = hunt.pick.choice((BLOCK_ERASE, BLOCK_ERASE, OVERWRITE, BLOCK_ERASE | NO_DEALLOCATE))
    status = ctrl.command(Admin.SANITIZE, cdw=(action,)).status
    wanted = Status.OK if action == BLOCK_ERASE else Status.INVALID_FIELD
    if status != wanted:
        raise Wrong(f"sanitize {action:#x}: status {status:#x}, wanted {wanted:#x}")
    if status:
        return
    queue = hunt.any_queue()
    read = queue.wait(queue.submit(Op.READ, 1, (hunt.page, 0))).status
    allowed = {Status.SANITIZE_IN_PROGRESS}
    written = sum(counts.written[1] for counts in hunt.smart)
    if written == hunt.sanitized:
        # There may be nothing to erase, and then the Sanitize is over before the read comes.
        allowed.add(Status.OK)
    state = RUNS
    for _ in range(MOST_LOOKS):
        status, page = ctrl.get_log(SANITIZE_LOG, 32)
        (state,) = struct.unpack_from("<H", page, 2)
        if status or state & 7 != RUNS:
            break
        hunt.machine.step(200_000)
    if status or state & 7 != DONE:
        raise Wrong(f"sanitize: status {status:#x}, state {state:#x}")
    if read not in allowed:
        raise Wrong(f"a read beside a sanitize: status {read:#x}")
    hunt.sanitized = written
    for model in hunt.models:
        model.done(0, [{0}] * len(model.may_be))
