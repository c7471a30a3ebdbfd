# SPDX-License-Identifier: GPL-2.0-or-later
"""Namespace Management: a host deletes and creates namespaces, and attaches them."""

from __future__ import annotations

import random
import struct
from typing import NamedTuple

from fixture import ALL as ALL_TESTS
from fixture import KIB, MIB, DriveTest, controller, flash, namespace, pattern
from machine import Machine
from nvme import PAGE, SECTOR, Admin, Controller, Namespace, Op, Status
from test_sanitize import cut

CREATE, DELETE = 0, 1
ATTACHMENT, ATTACH, DETACH = 0x15, 0, 1
EVENT, EVENT_CONFIG, CHANGED_LOG = 0x0C, 0x0B, 0x04
SMART_LOG, SELF_TEST_LOG, EVENTS_LOG = 0x02, 0x06, 0x0D
ALL = 0xFFFFFFFF
COMMON, ACTIVE, ALLOCATED, ALLOCATED_ONE, ATTACHED_TO, CONTROLLERS = 0, 2, 0x10, 0x11, 0x12, 0x13
UNIT = 4 * KIB
CUTS = ",overrides=nand.power_cuts=1;ftl.recovery=2"


class Capacity(NamedTuple):
    total: int
    unallocated: int


def capacity(ctrl: Controller) -> Capacity:
    page = ctrl.identify(1)
    return Capacity(*(int.from_bytes(page[at : at + 16], "little") for at in (280, 296)))


def listed(ctrl: Controller, cns: int) -> list[int]:
    return [nsid for (nsid,) in struct.iter_unpack("<I", ctrl.identify(cns)) if nsid]


def attached_to(ctrl: Controller, nsid: int) -> list[int]:
    count, *ids = struct.unpack("<2048H", ctrl.identify(ATTACHED_TO, nsid))
    return ids[:count]


def create(
    ctrl: Controller,
    blocks: int,
    used: int | None = None,
    form: int = 0,
    shared: int = 0,
    csi: int = 0,
    more: dict[int, int] | None = None,
) -> tuple[int, int]:
    """The status and the number of a namespace of so many blocks."""
    page = bytearray(PAGE)
    struct.pack_into("<QQ", page, 0, blocks, blocks if used is None else used)
    page[26], page[30] = form, shared
    for at, byte in (more or {}).items():
        page[at] = byte
    data = ctrl.machine.alloc(PAGE)
    ctrl.machine.write(data, bytes(page))
    done = ctrl.command(Admin.NAMESPACE, 0, data, (CREATE, csi << 24))
    return done.status, done.result


def delete(ctrl: Controller, nsid: int) -> int:
    return ctrl.command(Admin.NAMESPACE, nsid, cdw=(DELETE,)).status


def attach(ctrl: Controller, nsid: int, how: int = ATTACH, cntlid: int | None = None) -> int:
    (own,) = struct.unpack_from("<H", ctrl.identify(1), 78)
    data = ctrl.machine.alloc(PAGE)
    ctrl.machine.write(data, struct.pack("<HH", 1, own if cntlid is None else cntlid))
    return ctrl.command(ATTACHMENT, nsid, data, (how,)).status


class Namespaces(DriveTest):
    def one_drive(self, more: str = "") -> tuple[Machine, Controller]:
        """Two namespaces, of 1 MiB and of 2 MiB, and room behind them."""
        machine = self.machine(
            flash(more=more),
            controller(),
            namespace(more=f",size={MIB},shared=off"),
            namespace(more=f",size={2 * MIB}"),
        )
        return machine, Controller(machine)

    def assert_empty(self, ns: Namespace, size: int) -> None:
        for offset in range(0, size, 64 * KIB):
            self.assertEqual(ns.read(offset, 64 * KIB), bytes(64 * KIB))

    def test_capacity(self) -> None:
        """The bytes that a namespace has are whole units of the drive, and of no other."""
        machine, ctrl = self.one_drive()
        total, left = capacity(ctrl)
        self.assertEqual(total - left, 3 * MIB)
        self.assertEqual(create(ctrl, 3), (Status.OK, 3))
        self.assertEqual(capacity(ctrl), (total, left - UNIT))
        said = ctrl.identify(ALLOCATED_ONE, 3)
        self.assertEqual(struct.unpack_from("<QQ", said), (3, 3))
        self.assertEqual(int.from_bytes(said[48:64], "little"), UNIT)
        self.assertEqual(delete(ctrl, 1), Status.OK)
        self.assertEqual(capacity(ctrl), (total, left - UNIT + MIB))
        # Free, but in two pieces.
        blocks = (left - UNIT + MIB) // SECTOR
        self.assertEqual(create(ctrl, blocks)[0], Status.INSUFFICIENT_CAPACITY)
        self.assertEqual(create(ctrl, (left - UNIT) // SECTOR), (Status.OK, 1))
        self.assertEqual(create(ctrl, MIB // SECTOR), (Status.OK, 4))
        self.assertEqual(capacity(ctrl), (total, 0))
        self.assertEqual(create(ctrl, 1)[0], Status.INSUFFICIENT_CAPACITY)
        self.finish(machine)

    def test_all_numbers(self) -> None:
        """A subsystem has the numbers 1 to 256, and gives a free one again."""
        machine, ctrl = self.one_drive()
        for nsid in range(3, 257):
            self.assertEqual(create(ctrl, 1), (Status.OK, nsid))
        before = capacity(ctrl)
        self.assertEqual(create(ctrl, 1)[0], Status.NSID_UNAVAILABLE)
        self.assertEqual((capacity(ctrl), listed(ctrl, ALLOCATED)), (before, [*range(1, 257)]))
        self.assertEqual(delete(ctrl, 256), Status.OK)
        self.assertEqual(create(ctrl, 1), (Status.OK, 256))
        self.assertEqual(delete(ctrl, ALL), Status.OK)
        self.assertEqual(listed(ctrl, ALLOCATED), [])
        self.assertEqual(*capacity(ctrl))
        self.finish(machine)

    def test_deleted_and_created(self) -> None:
        """Nothing of a deleted namespace is left for the one that gets its bytes."""
        machine, ctrl = self.one_drive()
        queue = ctrl.create_queue()
        first, second = Namespace(queue, 1), Namespace(queue, 2)
        for at in range(0, MIB, 64 * KIB):
            first.write(at, pattern(1, 64 * KIB))
        second.write(0, pattern(2, 64 * KIB))
        self.assertEqual(delete(ctrl, 1), Status.OK)
        self.assertEqual((listed(ctrl, ACTIVE), listed(ctrl, ALLOCATED)), ([2], [2]))
        self.assertEqual(first.simple(Op.FLUSH, 0, SECTOR), Status.INVALID_FIELD)
        self.assertEqual(delete(ctrl, 1), Status.INVALID_FIELD)
        self.assertEqual(create(ctrl, MIB // 4096, form=1), (Status.OK, 1))
        self.assertEqual((listed(ctrl, ACTIVE), listed(ctrl, ALLOCATED)), ([2], [1, 2]))
        self.assertEqual(attached_to(ctrl, 1), [])
        self.assertEqual(first.simple(Op.FLUSH, 0, SECTOR), Status.INVALID_FIELD)
        self.assertEqual(attach(ctrl, 1), Status.OK)
        self.assertEqual(listed(ctrl, ACTIVE), [1, 2])
        new = Namespace(queue, 1, 4096)
        self.assert_empty(new, MIB)
        new.write(0, pattern(3, 64 * KIB))
        self.assertEqual(new.read(0, 64 * KIB), pattern(3, 64 * KIB))
        self.assertEqual(second.read(0, 64 * KIB), pattern(2, 64 * KIB))
        self.finish(machine)

    def test_all_are_deleted(self) -> None:
        """The drive stays, and can be divided anew; its numbers go on."""
        machine, ctrl = self.one_drive()
        queue = ctrl.create_queue()
        for nsid in (1, 2):
            Namespace(queue, nsid).write(0, pattern(nsid, 64 * KIB))
        before = ctrl.get_log(SMART_LOG, 512)[1][32:96]
        self.assertEqual(int.from_bytes(before[48:64], "little"), 2)
        self.assertEqual(delete(ctrl, ALL), Status.OK)
        self.assertEqual((listed(ctrl, ACTIVE), listed(ctrl, ALLOCATED)), ([], []))
        total, left = capacity(ctrl)
        self.assertEqual(total, left)
        page = ctrl.get_log(SMART_LOG, 512)[1]
        self.assertEqual((page[3], page[32:96]), (100, before))
        # A start finds no namespace, and the drive all the same.
        ctrl.disable()
        ctrl.enable()
        self.assertEqual(capacity(ctrl), (total, left))
        self.assertEqual(create(ctrl, total // SECTOR, shared=1), (Status.OK, 1))
        self.assertEqual(attach(ctrl, 1), Status.OK)
        ns = Namespace(ctrl.create_queue())
        self.assert_empty(ns, 3 * MIB)
        self.assertEqual(ns.write(total - UNIT, pattern(4, UNIT)).status, Status.OK)
        self.assertEqual(ns.read(total - UNIT, UNIT), pattern(4, UNIT))
        ctrl.shutdown()
        self.finish(machine)

    def test_commands_in_flight(self) -> None:
        """Commands in flight end before the namespace goes; new ones are refused at once."""
        machine, ctrl = self.one_drive(",overrides=timing.read_ns=2000000")
        ns = Namespace(ctrl.create_queue())
        ns.write(0, pattern(1, 64 * KIB))
        ns.flush()
        addr, prp = ns.buffer(64 * KIB)
        before = ns.start(Op.READ, 0, 64 * KIB, prp)
        machine.step(1)
        gone = ctrl.admin.submit(Admin.NAMESPACE, 1, cdw=(DELETE,))
        machine.step(1)
        self.assertEqual(ns.simple(Op.READ, 0, SECTOR), Status.INVALID_FIELD)
        self.assertEqual(attach(ctrl, 1), Status.INVALID_FIELD)
        self.assertIsNone(ctrl.admin.done(gone))
        self.assertEqual(delete(ctrl, 1), Status.FORMAT_IN_PROGRESS)
        self.assertEqual(ns.queue.wait(before).status, Status.OK)
        self.assertEqual(machine.read(addr, 64 * KIB), pattern(1, 64 * KIB))
        self.assertEqual(ctrl.admin.wait(gone).status, Status.OK)
        self.assertEqual(listed(ctrl, ALLOCATED), [2])
        self.finish(machine)

    def test_aborted(self) -> None:
        """The namespace stays, and is attached nowhere."""
        machine, ctrl = self.one_drive(",overrides=timing.read_ns=2000000")
        ns = Namespace(ctrl.create_queue())
        ns.write(0, pattern(1, 4 * KIB))
        ns.flush()
        _, prp = ns.buffer(4 * KIB)
        before = ns.start(Op.READ, 0, 4 * KIB, prp)
        machine.step(1)
        gone = ctrl.admin.submit(Admin.NAMESPACE, 1, cdw=(DELETE,))
        ctrl.admin.submit(Admin.ABORT, cdw=(gone << 16,))
        self.assertEqual(ctrl.admin.wait(gone).status, Status.ABORT_REQUESTED)
        self.assertEqual(ns.queue.wait(before).status, Status.OK)
        self.assertEqual((listed(ctrl, ACTIVE), listed(ctrl, ALLOCATED)), ([2], [1, 2]))
        self.assertEqual(attach(ctrl, 1), Status.OK)
        self.assertEqual(ns.read(0, 4 * KIB), pattern(1, 4 * KIB))
        self.assertEqual(delete(ctrl, 1), Status.OK)
        self.finish(machine)

    def test_reset_of_the_controller(self) -> None:
        """A reset ends a deletion; what a host has attached and detached stays so."""
        machine, ctrl = self.one_drive()
        self.assertEqual(create(ctrl, 8), (Status.OK, 3))
        self.assertEqual(attach(ctrl, 3), Status.OK)
        self.assertEqual(attach(ctrl, 2, DETACH), Status.OK)
        ctrl.disable()
        ctrl.enable()
        self.assertEqual((listed(ctrl, ACTIVE), listed(ctrl, ALLOCATED)), ([1, 3], [1, 2, 3]))
        self.assertEqual(attach(ctrl, 2, DETACH), Status.NOT_ATTACHED)
        ns = Namespace(ctrl.create_queue())
        for at in range(0, MIB, 64 * KIB):
            ns.write(at, pattern(1, 64 * KIB))
        ctrl.admin.submit(Admin.NAMESPACE, 1, cdw=(DELETE,))
        machine.step(1)
        ctrl.disable()
        ctrl.enable()
        self.assertEqual((listed(ctrl, ACTIVE), listed(ctrl, ALLOCATED)), ([3], [1, 2, 3]))
        self.assertEqual(delete(ctrl, ALL), Status.OK)
        self.assertEqual(capacity(ctrl).total, capacity(ctrl).unallocated)
        self.finish(machine)

    def test_interrupted_at_any_moment(self) -> None:
        """After an Abort, a reset or a power cut the namespace is detached, or gone."""
        machine, ctrl = self.one_drive(CUTS)
        draw = random.Random(5)
        gone, turns = 0, 36 if ALL_TESTS else 12
        for turn in range(turns):
            queue = ctrl.create_queue()
            first, second = Namespace(queue, 1), Namespace(queue, 2)
            first.write(0, pattern(turn, 64 * KIB))
            _, prp = first.buffer(64 * KIB)
            for _ in range(draw.randrange(4)):
                for ns in (first, second):
                    ns.start(draw.choice((Op.READ, Op.WRITE)), 0, 64 * KIB, prp)
            queue.submit(Op.FLUSH, ALL)
            nsid = draw.choice((1, 1, ALL))
            cid = ctrl.admin.submit(Admin.NAMESPACE, nsid, cdw=(DELETE,))
            machine.step(draw.choice((1, 1000, 100_000, 3_000_000, 10_000_000, 30_000_000)))
            if turn % 3 == 0:
                ctrl.admin.submit(Admin.ABORT, cdw=(cid << 16,))
                self.assertIn(ctrl.admin.wait(cid).status, (Status.OK, Status.ABORT_REQUESTED))
                ctrl.disable()
                ctrl.enable()
            elif turn % 3 == 1:
                ctrl.disable()
                ctrl.enable()
            else:
                cut(machine, ctrl)
            there = listed(ctrl, ALLOCATED)
            gone += 1 not in there
            self.assertLessEqual(set(there), {1, 2})
            self.assertEqual(set(listed(ctrl, ACTIVE)) & {1}, set())
            self.assertEqual(delete(ctrl, ALL), Status.OK)
            self.assertEqual(*capacity(ctrl))
            for size in (MIB, 2 * MIB):
                status, made = create(ctrl, size // SECTOR, shared=1)
                self.assertEqual(status, Status.OK)
                self.assertEqual(attach(ctrl, made), Status.OK)
            self.assert_empty(Namespace(ctrl.create_queue()), 64 * KIB)
            ctrl.queues.pop()
            ctrl.disable()
            ctrl.enable()
        self.assertIn(gone, range(1, turns))
        self.finish(machine)

    def test_power_cut_without_a_namespace(self) -> None:
        machine, ctrl = self.one_drive(CUTS)
        self.assertEqual(delete(ctrl, ALL), Status.OK)
        cut(machine, ctrl)
        self.assertEqual(create(ctrl, MIB // SECTOR), (Status.OK, 1))
        self.assertEqual(attach(ctrl, 1), Status.OK)
        self.assert_empty(Namespace(ctrl.create_queue()), MIB)
        ctrl.shutdown()
        self.finish(machine)

    def test_many_divisions(self) -> None:
        """Whatever is deleted and created: ranges do not overlap, and nothing is lost or left."""
        machine, ctrl = self.one_drive(",overrides=controller.buffer_bytes=131072")
        queue, draw = ctrl.create_queue(), random.Random(7)
        self.assertEqual(delete(ctrl, ALL), Status.OK)
        left = capacity(ctrl).unallocated
        held: dict[int, tuple[Namespace, int]] = {}
        written: dict[tuple[int, int], bytes] = {}
        for step in range(120):
            kind = draw.choice(("create", "create", "delete", "write", "write", "write"))
            if kind == "create":
                form = draw.randrange(2)
                block = (512, 4096)[form]
                blocks = draw.randint(1, 2 * MIB // block)
                size = -(-blocks * block // UNIT) * UNIT
                status, nsid = create(ctrl, blocks, form=form)
                if size > left:
                    self.assertEqual(status, Status.INSUFFICIENT_CAPACITY)
                elif not status:
                    self.assertEqual(nsid, min(set(range(1, 257)) - held.keys()))
                    self.assertEqual(attach(ctrl, nsid), Status.OK)
                    held[nsid] = Namespace(queue, nsid, block), blocks * block
                    left -= size
            elif held:
                nsid = draw.choice(sorted(held))
                ns, size = held[nsid]
                if kind == "delete":
                    self.assertEqual(delete(ctrl, nsid), Status.OK)
                    del held[nsid]
                    written = {at: data for at, data in written.items() if at[0] != nsid}
                    left += -(-size // UNIT) * UNIT
                else:
                    at = draw.choice(
                        (0, size - ns.block, draw.randrange(size) // ns.block * ns.block)
                    )
                    written[nsid, at] = pattern(1000 + step, ns.block)
                    ns.write(at, written[nsid, at])
            self.assertEqual(capacity(ctrl).unallocated, left)
        self.assertGreater(len(held), 2)
        self.assertEqual(listed(ctrl, ACTIVE), sorted(held))
        for nsid, (ns, size) in held.items():
            pieces = range(0, size, 64 * KIB)
            data = b"".join(ns.read(at, min(64 * KIB, size - at)) for at in pieces)
            wanted = bytearray(size)
            for (each, at), block_data in written.items():
                if each == nsid:
                    wanted[at : at + ns.block] = block_data
            self.assertEqual(data, bytes(wanted))
        self.finish(machine)

    def two_controllers(self, more: str = "") -> Machine:
        return self.machine(
            ["-device", "nvme-subsys,id=s0"],
            flash(more=more),
            *(["-device", f"nvme,id=nvme{n},serial=same,subsys=s0,addr={4 + n}"] for n in (0, 1)),
            namespace(more=f",size={MIB}"),
        )

    def test_start_during_a_deletion(self) -> None:
        """A controller that starts meanwhile does not get the namespace, even if it stays."""
        for aborted in (False, True):
            machine = self.two_controllers(",overrides=timing.read_ns=2000000")
            first = Controller(machine, 4)
            ns = Namespace(first.create_queue())
            ns.write(0, pattern(1, 4 * KIB))
            ns.flush()
            _, prp = ns.buffer(4 * KIB)
            before = ns.start(Op.READ, 0, 4 * KIB, prp)
            machine.step(1)
            gone = first.admin.submit(Admin.NAMESPACE, 1, cdw=(DELETE,))
            machine.step(1)
            second = Controller(machine, 5)
            self.assertIsNone(first.admin.done(gone))
            if aborted:
                first.admin.submit(Admin.ABORT, cdw=(gone << 16,))
            status = Status.ABORT_REQUESTED if aborted else Status.OK
            self.assertEqual(first.admin.wait(gone).status, status)
            self.assertEqual(ns.queue.wait(before).status, Status.OK)
            for _ in range(2):
                self.assertEqual(listed(second, ACTIVE), [])
                second.disable()
                second.enable()
            self.assertEqual(listed(second, ALLOCATED), [1] if aborted else [])
            other = Namespace(second.create_queue())
            self.assertEqual(other.simple(Op.READ, 0, SECTOR), Status.INVALID_FIELD)
            if aborted:
                self.assertEqual(attach(second, 1), Status.OK)
                self.assertEqual(other.read(0, 4 * KIB), pattern(1, 4 * KIB))
            self.finish(machine)

    def test_format_to_larger_blocks(self) -> None:
        """A namespace without a whole block of 4 KiB keeps its blocks."""
        machine, ctrl = self.one_drive()
        for nsid, blocks, wanted in ((3, 7, (Status.INVALID_FORMAT, 7)), (4, 15, (Status.OK, 1))):
            self.assertEqual(create(ctrl, blocks), (Status.OK, nsid))
            self.assertEqual(attach(ctrl, nsid), Status.OK)
            status = ctrl.command(Admin.FORMAT, nsid, cdw=(1,)).status
            (size,) = struct.unpack_from("<Q", ctrl.identify(COMMON, nsid))
            self.assertEqual((status, size), wanted)
        self.finish(machine)

    def test_two_controllers(self) -> None:
        """Each controller that had the namespace is told, and its log says which one that is."""
        machine = self.two_controllers()
        hosts = [Controller(machine, slot) for slot in (4, 5)]
        self.assertEqual(attached_to(hosts[0], 1), [0, 1])
        events = []
        for host in hosts:
            host.check(Admin.SET_FEATURES, cdw=(EVENT_CONFIG, 1 << 8))
            events.append(host.admin.submit(EVENT))
        self.assertEqual(delete(hosts[0], 1), Status.OK)
        for host, event in zip(hosts, events, strict=True):
            told = host.admin.done(event)
            self.assertEqual(told.result if told else None, CHANGED_LOG << 16 | 2)
            self.assertEqual(struct.unpack_from("<2I", host.get_log(CHANGED_LOG, PAGE)[1]), (1, 0))
            self.assertEqual(listed(host, ALLOCATED), [])
        for shared, second in ((0, Status.NAMESPACE_IS_PRIVATE), (1, Status.OK)):
            self.assertEqual(create(hosts[1], 8, shared=shared), (Status.OK, 1 + shared))
            self.assertEqual(attach(hosts[1], 1 + shared), Status.OK)
            self.assertEqual(attach(hosts[0], 1 + shared), second)
        self.assertEqual([listed(host, ACTIVE) for host in hosts], [[2], [1, 2]])
        self.finish(machine)

    def test_what_is_refused(self) -> None:
        machine, ctrl = self.one_drive()
        before = capacity(ctrl)
        common = ctrl.identify(COMMON, ALL)
        self.assertEqual((common[25], common[27:31]), (1, b"\0\0\0\1"))
        self.assertEqual([common[128 + 4 * form + 2] for form in (0, 1)], [9, 12])
        for wanted, asked in (
            (Status.INVALID_FIELD, {"blocks": 0}),
            (Status.INVALID_FIELD, {"blocks": 8, "used": 9}),
            (Status.THIN_NOT_SUPPORTED, {"blocks": 8, "used": 7}),
            (Status.INVALID_FORMAT, {"blocks": 8, "form": 2}),
            (Status.INVALID_FORMAT, {"blocks": 8, "form": 0x10}),
            (Status.INVALID_FORMAT, {"blocks": 8, "more": {29: 1}}),
            (Status.INVALID_FIELD, {"blocks": 8, "shared": 2}),
            (Status.INVALID_FIELD, {"blocks": 8, "more": {92: 1}}),
            (Status.INVALID_FIELD, {"blocks": 8, "more": {100: 1}}),
            (Status.INVALID_FIELD, {"blocks": 8, "more": {102: 2}}),
            (Status.COMMAND_SET_NOT_SUPPORTED, {"blocks": 8, "csi": 2}),
            (Status.INSUFFICIENT_CAPACITY, {"blocks": before.total // SECTOR}),
            (Status.INSUFFICIENT_CAPACITY, {"blocks": (1 << 64) - 1}),
        ):
            with self.subTest(asked):
                self.assertEqual(create(ctrl, **asked)[0], wanted)
        self.assertEqual(delete(ctrl, 9), Status.INVALID_FIELD)
        for nsid in (0, 257):
            self.assertEqual(delete(ctrl, nsid), Status.INVALID_NSID)
        self.assertEqual(ctrl.command(Admin.NAMESPACE, 1, cdw=(2,)).status, Status.INVALID_FIELD)
        self.assertEqual((capacity(ctrl), listed(ctrl, ALLOCATED)), (before, [1, 2]))
        self.finish(machine)

    def test_where_it_is_not_served(self) -> None:
        """Two flashes are no one drive; a namespace with FDP needs placement handles."""
        fdp = ["-device", "nvme-subsys,id=subsys0,fdp=on,fdp.nruh=2"]
        ctrl_in_it = ["-device", "nvme,id=nvme0,serial=s0,addr=4.0,subsys=subsys0"]
        streams = flash(more=",overrides=ftl.streams=2")
        for groups in (
            (flash(), flash("f1"), controller(), namespace(), namespace("f1")),
            (fdp, streams, ctrl_in_it, namespace(more=",fdp.ruhs=0-1")),
        ):
            machine = self.machine(*groups)
            ctrl = Controller(machine)
            page = ctrl.identify(1)
            self.assertFalse(page[256] & 1 << 3)
            self.assertEqual(capacity(ctrl), (0, 0))
            self.assertEqual(delete(ctrl, 1), Status.INVALID_OPCODE)
            self.finish(machine)

    def test_self_test_and_events(self) -> None:
        """A test of the namespace ends; the persistent log has the deletion and the creation."""
        machine, ctrl = self.one_drive()
        ctrl.check(Admin.SELF_TEST, 1, cdw=(2,))
        self.assertEqual(delete(ctrl, 1), Status.OK)
        self.assertEqual(ctrl.get_log(SELF_TEST_LOG, 564)[1][4], 2 << 4 | 3)
        self.assertEqual(create(ctrl, 16, form=1, shared=1), (Status.OK, 1))
        data = machine.alloc(PAGE)
        ctrl.check(Admin.GET_LOG, ALL, data, (1023 << 16 | 1 << 8 | EVENTS_LOG,))
        log = machine.read(data, PAGE)
        at, found = 512, []
        for _ in range(2):
            kind, size = log[at], struct.unpack_from("<H", log, at + 22)[0]
            self.assertEqual((kind, size), (6, 48))
            found.append(struct.unpack_from("<I4xQ8xQBBB9xI", log, at + 24))
            at += 24 + size
        self.assertEqual(found, [(CREATE, 16, 16, 1, 0, 1, 1), (DELETE, 0, 0, 0, 0, 0, 1)])
        self.finish(machine)
