# SPDX-License-Identifier: GPL-2.0-or-later
"""Commands that a drive has to refuse, or to survive."""

from __future__ import annotations

import random
import struct
from typing import TYPE_CHECKING

import logpages
import prp
import sgl
from doorbells import BAD, ShadowController, ShadowQueue
from model import UNIT, Wrong
from nvme import PAGE, Admin, Op
from pci import FUNCTION_RESET, Function
from setup import NS_BYTES, SLOT

if TYPE_CHECKING:
    from sequence import Hunt

# What Set Features may have: none of them changes what commands end with, or what a read sees.
FEATURES = (1, 2, 4, 6, 7, 8, 9, 0x0A, 0x0B, 0x0E, 0x11, 0x1D, 0x1E, 0x7F, 0xC0)
GET_FEATURES = 0x0A
# Directive Receive, Get LBA Status, Compare and others that only read.
HARMLESS_ADMIN = (Admin.IDENTIFY, Admin.GET_LOG, GET_FEATURES, 0x1A, 0x86, 0x18, 0x82)
HARMLESS = (Op.READ, Op.COMPARE, Op.VERIFY, Op.FLUSH, 0x12, 0x7A, 0x0E)
TIMESTAMP = 0x0E
INTERRUPT = 2
HOSTILE_UNIT = NS_BYTES // UNIT - 1  # no part of the model
# Each is refused so, whatever else is in flight: opcode, NSID, command words, status.
BAD_IO: tuple[tuple[str, int, int, tuple[int, ...], int], ...] = (
    ("opcode", 0x7F, 1, (), 0x001),
    ("opcode of another command set", 0x0D, 1, (), 0x001),
    ("namespace", Op.READ, 9, (0, 0, 0), 0x002),
    ("namespace 0", Op.READ, 0, (0, 0, 0), 0x00B),
    ("all namespaces", Op.READ, 0xFFFFFFFF, (0, 0, 0), 0x00B),
    ("beyond the end", Op.READ, 1, (NS_BYTES // 512 - 1, 0, 7), 0x080),
    ("far beyond the end", Op.READ, 1, (0xFFFFFFFF, 0xFFFFFFFF, 0), 0x080),
    ("zeroes beyond the end", Op.WRITE_ZEROES, 1, (NS_BYTES // 512, 0, 0), 0x080),
    ("comparison beyond the end", Op.COMPARE, 1, (NS_BYTES // 512, 0, 0), 0x080),
    ("verification beyond the end", Op.VERIFY, 1, (NS_BYTES // 512, 0, 0), 0x080),
    ("too long", Op.READ, 1, (0, 0, 0xFFF), 0x002),
    ("copy without ranges", Op.COPY, 1, (0, 0, 0x0F00), 0x002),
    ("append where there are no zones", Op.ZONE_APPEND, 1, (0, 0, 0), 0x001),
)
BAD_ADMIN: tuple[tuple[str, int, int, tuple[int, ...], int], ...] = (
    ("opcode", 0x7E, 0, (), 0x001),
    ("queue deleted twice", Admin.DELETE_SQ, 0, (60,), 0x101),
    ("admin queue deleted", Admin.DELETE_SQ, 0, (0,), 0x101),
    ("completion queue that is not", Admin.DELETE_CQ, 0, (60,), 0x100),  # as stock does
    ("completion queue in use", Admin.DELETE_CQ, 0, (1,), 0x10C),
    ("queue that there is", Admin.CREATE_CQ, 0, (7 << 16 | 1, 1), 0x101),
    ("queue of no number", Admin.CREATE_SQ, 0, (7 << 16, 1 << 16 | 1), 0x101),
    ("queue of no completion queue", Admin.CREATE_SQ, 0, (7 << 16 | 60, 59 << 16 | 1), 0x100),
    ("FDP events of all", Admin.SET_FEATURES, 0xFFFFFFFF, (0x1E, 1 << 16), 0x002),
    ("log page", Admin.GET_LOG, 0xFFFFFFFF, (0x3F << 16 | 0xCC,), 0x002),
    ("identify", Admin.IDENTIFY, 0, (0xEE,), 0x002),
    ("control of the flash", Admin.FLASH, 0, (9,), 0x002),
    ("format", Admin.FORMAT, 1, (0x7,), 0x10A),
    ("format with protection", Admin.FORMAT, 1, (1 << 5,), 0x10A),
)


def bad(hunt: Hunt) -> None:
    index, ctrl = hunt.controller_and_number()
    if hunt.pick.random() < 0.5:
        name, opcode, nsid, cdw, wanted = hunt.pick.choice(BAD_ADMIN)
        status = ctrl.command(opcode, nsid, hunt.page, cdw).status
    else:
        name, opcode, nsid, cdw, wanted = hunt.pick.choice(BAD_IO)
        flags = hunt.pick.choice((0, 0, 0, 1, 2, 3))
        if flags and nsid == 1:
            # Fused operations: Identify says that there are none.
            name, wanted = f"{name}, fused", 0x002
        queue = hunt.pick.choice(hunt.queues[index])
        status = queue.wait(queue.submit(opcode, nsid, (hunt.page, 0), cdw, flags=flags)).status
    if status != wanted:
        raise Wrong(f"bad {name}: status {status:#x}, wanted {wanted:#x}")


def read(hunt: Hunt, size: int, where: tuple[int, int], flags: int = 0) -> int:
    """The status of a read at the beginning of the first namespace."""
    queue = hunt.any_queue()
    hunt.smart[0].may_read(size)
    cid = queue.submit(Op.READ, 1, where, (0, 0, size // hunt.block[0] - 1), flags=flags)
    status = queue.wait(cid).status
    if not status:
        hunt.smart[0].has_read(size)
    return status


def bad_sgl(hunt: Hunt) -> None:
    name, where, wanted = sgl.bad(hunt.machine, hunt.pick, hunt.page, hunt.scratch, UNIT)
    if (status := read(hunt, UNIT, where, sgl.FLAG)) != wanted:
        raise Wrong(f"SGL {name}: status {status:#x}, wanted {wanted:#x}")


def bad_prp(hunt: Hunt) -> None:
    bar = hunt.any_controller().bar
    if hunt.pick.random() < 0.3:
        # What they end with, and what is where they lead, is the host's own fault.
        _, size, where = prp.odd(hunt.machine, hunt.pick, hunt.page, hunt.scratch, bar)
        hunt.strays += 1
        read(hunt, size, where)
        return
    # The registers of the controller itself: others' are a matter between peers.
    index, ctrl = hunt.controller_and_number()
    name, size, where, wanted = prp.bad(hunt.machine, hunt.pick, hunt.page, hunt.scratch, ctrl.bar)
    queue = hunt.pick.choice(hunt.queues[index])
    cid = queue.submit(Op.READ, 1, where, (0, 0, size // hunt.block[0] - 1))
    hunt.smart[0].may_read(size)
    if (status := queue.wait(cid).status) not in wanted:
        raise Wrong(f"PRP {name}: status {status:#x}, wanted {wanted[0]:#x}")


def feature(hunt: Hunt) -> None:
    """Any namespace, any select, any value: it ends, and QEMU stays up."""
    pick, ctrl = hunt.pick, hunt.any_controller()
    nsid = pick.choice((0, 1, 2, 9, 0xFFFFFFFE, 0xFFFFFFFF))
    value = pick.choice((0, 1, 0xFF, 1 << 16, pick.randrange(1 << 32)))
    if pick.random() < 0.5:
        fid = pick.choice((*FEATURES, 0x05, pick.randrange(256)))
        ctrl.command(GET_FEATURES, nsid, hunt.page, (pick.randrange(8) << 8 | fid, value))
    else:
        hunt.machine.write(hunt.page, bytes(PAGE))
        fid = pick.choice(FEATURES) | pick.choice((0, 0, 1 << 31))
        ctrl.command(Admin.SET_FEATURES, nsid, hunt.page, (fid, value))


def doorbells(hunt: Hunt) -> None:
    """In memory they are out of range for a while; those of no queue may be anything."""
    index, ctrl = hunt.controller_and_number()
    if not isinstance(ctrl, ShadowController):
        return
    hunt.machine.writel(ctrl.shadow + 60 * 8, hunt.pick.randrange(1 << 32))
    queue = hunt.pick.choice(hunt.queues[index])
    assert isinstance(queue, ShadowQueue)
    queue.mislead(hunt.pick.choice(BAD), hunt.pick.choice(BAD))
    # Drawn apart: what seeds gave before this was drawn, they give still.
    if random.Random(f"{hunt.seed} {hunt.ran[-1]} again").random() < 0.3:
        told_again(hunt, index, ctrl)


def told_again(hunt: Hunt, index: int, ctrl: ShadowController) -> None:
    """Where they are in memory."""
    # The controller writes the tails that it knows: it has to know all of them.
    for pending in [each for each in hunt.pending if each.queue in hunt.queues[index]]:
        hunt.wait(pending)
    ctrl.configure()


def tell_again(hunt: Hunt) -> None:
    index, ctrl = hunt.controller_and_number()
    if isinstance(ctrl, ShadowController):
        told_again(hunt, index, ctrl)


def garbage(hunt: Hunt) -> None:
    """A command that changes nothing, and of which all else is drawn: it ends."""
    pick, ctrl = hunt.pick, hunt.any_controller()
    word = [0, 1, 2, 0xFF, 0x100, 0xFFFF, 1 << 16, 0x7FFFFFFF, 0xFFFFFFFF]
    cdw = tuple(pick.choice((*word, pick.randrange(1 << 32))) for _ in range(6))
    nsid = pick.choice((0, 1, 2, 3, 9, 0xFFFFFFFE, 0xFFFFFFFF, pick.randrange(1 << 32)))
    drawn = pick.randrange(6), pick.randrange(6)

    def place(number: int, bar: int) -> int:
        return (hunt.scratch, hunt.scratch + 4, hunt.page, bar, bar + PAGE, prp.NOWHERE)[number]

    if drawn[1] < 3:
        # As a list it leads to where it is itself.
        hunt.machine.write(hunt.page, struct.pack("<512Q", *[hunt.page] * 512))
        hunt.machine.write(hunt.scratch, struct.pack("<512Q", *[hunt.page] * 512))
    hunt.strays += 1
    if pick.random() < 0.5:
        opcode = pick.choice((*HARMLESS_ADMIN, pick.randrange(0x82, 0xC0)))
        own = place(drawn[0], ctrl.bar), place(drawn[1], ctrl.bar)
        ctrl.admin.wait(ctrl.admin.submit(opcode, nsid, own, cdw))
        return
    for counts in hunt.smart:
        # It may be one that reads, of as much as one may.
        counts.may_read(logpages.MOST_BYTES)
    queue = hunt.any_queue()
    # The registers are its own controller's: what is read into another's may reset that one.
    bar = queue.ctrl.bar
    where = place(drawn[0], bar), place(drawn[1], bar)
    opcode = pick.choice((*HARMLESS, pick.randrange(0x20, 0x79)))
    flags = pick.choice((0, 0, sgl.FLAG, pick.randrange(256)))
    if flags & 0xC0:
        # A descriptor of any kind, which does not lead beyond the scratch pages.
        where = sgl.entry(pick.choice((hunt.scratch, bar)), pick.choice((0, 16, 17, PAGE)),
                          pick.randrange(16))  # fmt: skip
    queue.wait(queue.submit(opcode, nsid, where, cdw, flags=flags))


def turned_on_itself(hunt: Hunt) -> None:
    """The drive's own accesses to memory would reset its function; they do not."""
    if hunt.setup.place == "removable":
        return
    index = hunt.pick.choice([i for i, each in enumerate(hunt.ctrls) if each])
    if hunt.setup.place == "functions" and index:
        target = Function(hunt.machine, SLOT, function=index).device_control()
    else:
        target = Function(hunt.machine, SLOT + index).device_control()
    hunt.pick.choice((by_data, by_feature, by_interrupt))(hunt, index, target)


def by_data(hunt: Hunt, index: int, target: int) -> None:
    size = hunt.block[0]
    queue = hunt.pick.choice(hunt.queues[index])
    at = HOSTILE_UNIT * UNIT // size
    hunt.machine.write(hunt.scratch, struct.pack("<I", FUNCTION_RESET).ljust(size, b"\0"))
    hunt.smart[0].may_write(size)
    cid = queue.submit(Op.WRITE, 1, (hunt.scratch, 0), (at, 0, 0))
    if status := queue.wait(cid).status:
        raise Wrong(f"write of a register's content: status {status:#x}")
    hunt.smart[0].has_written(size)
    # The register alone, and the rest elsewhere.
    entries = [sgl.entry(target, 4, sgl.DATA), sgl.entry(hunt.scratch, size - 4, sgl.DATA)]
    where = sgl.listed(hunt.machine, hunt.page, entries)
    hunt.smart[0].may_read(size)
    # Others are in flight, whose end is after it.
    for _ in range(hunt.pick.randint(0, 3)):
        hunt.start()
    queue.wait(queue.submit(Op.READ, 1, where, (at, 0, 0), flags=sgl.FLAG))


def by_feature(hunt: Hunt, index: int, target: int) -> None:
    ctrl = hunt.ctrls[index]
    assert ctrl
    hunt.machine.write(hunt.page, struct.pack("<Q", FUNCTION_RESET))
    ctrl.command(Admin.SET_FEATURES, 0, hunt.page, (TIMESTAMP,))
    ctrl.command(GET_FEATURES, 0, target, (TIMESTAMP,))


def by_interrupt(hunt: Hunt, index: int, target: int) -> None:
    """A queue whose interrupts are written to the register."""
    ctrl = hunt.ctrls[index]
    if hunt.setup.place == "functions" or not ctrl:
        return
    function = Function(hunt.machine, SLOT + index)
    vector = hunt.pick.choice((1, 40))  # the second one is none of the pins
    function.set_vector(ctrl.bar, vector, target, FUNCTION_RESET)
    queue = ctrl.queue_class(ctrl, len(ctrl.queues) + 1)
    if shadow := getattr(ctrl, "shadow", 0):
        hunt.machine.write(shadow + queue.qid * 8, bytes(8))
    size = 255 << 16 | queue.qid
    ctrl.check(Admin.CREATE_CQ, data=queue.cq_addr, cdw=(size, vector << 16 | INTERRUPT | 1))
    ctrl.check(Admin.CREATE_SQ, data=queue.sq_addr, cdw=(size, queue.qid << 16 | 1))
    for _ in range(hunt.pick.randint(1, 4)):
        hunt.smart[0].may_read(hunt.block[0])
        queue.wait(queue.submit(Op.READ, 1, (hunt.scratch, 0), (0, 0, 0)))
        hunt.smart[0].has_read(hunt.block[0])
    if hunt.pick.random() < 0.5:
        function.disable_msix()
        hunt.smart[0].may_read(hunt.block[0])
        queue.wait(queue.submit(Op.READ, 1, (hunt.scratch, 0), (0, 0, 0)))
        hunt.smart[0].has_read(hunt.block[0])
    ctrl.check(Admin.DELETE_SQ, cdw=(queue.qid,))
    ctrl.check(Admin.DELETE_CQ, cdw=(queue.qid,))
    function.disable_msix()
