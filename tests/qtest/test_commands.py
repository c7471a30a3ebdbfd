# SPDX-License-Identifier: GPL-2.0-or-later
"""Every command that moves or forgets data does so, and is counted."""

from __future__ import annotations

import struct

from fixture import KIB, MIB, DriveTest, controller, flash, namespace, pattern
from logs import parse_stats_page
from nvme import FUA, Admin, Controller, Namespace, Op, Status
from scarplib.device_logs import log_page
from scarplib.version import version
from test_realtime import HostController

HOST_BEHAVIOR = 0x16
# Copies may have ranges of descriptor format 2, which name a namespace.
COPY_FORMAT_2 = 1 << 2
# Of zones: no resources for a window of random writes; a write behind the zone's pointer.
NO_WINDOW, ZONE_INVALID_WRITE = 0x1B7, 0x1BC


class Commands(DriveTest):
    def test_write_and_read(self) -> None:
        machine, _, ns = self.drive()
        sizes = [512, 4 * KIB, 12 * KIB, 64 * KIB, 128 * KIB]
        for index, size in enumerate(sizes):
            self.assertEqual(ns.write(index * 256 * KIB, pattern(index, size)).status, 0)
        for index, size in enumerate(sizes):
            self.assertEqual(ns.read(index * 256 * KIB, size), pattern(index, size))
        commands = self.finish(machine)
        self.assertEqual([command.length for command in commands], sizes * 2)
        self.assertEqual([command.op for command in commands], [1] * 5 + [0] * 5)

    def test_partial_units(self) -> None:
        machine, _, ns = self.drive()
        image = bytearray(pattern(1, 64 * KIB))
        ns.write(0, bytes(image))
        for index, (offset, size) in enumerate(
            [(512, 512), (3584, 1024), (20 * KIB + 512, 9 * KIB), (63 * KIB + 512, 512)]
        ):
            data = pattern(100 + index, size)
            self.assertEqual(ns.write(offset, data).status, 0)
            image[offset : offset + size] = data
        self.assertEqual(ns.read(0, 64 * KIB), bytes(image))
        self.finish(machine)

    def test_never_written_reads_zeroes(self) -> None:
        machine, _, ns = self.drive()
        self.assertEqual(ns.read(0, 16 * KIB), bytes(16 * KIB))
        self.finish(machine)

    def test_flush_and_fua(self) -> None:
        machine, _, ns = self.drive()
        self.assertEqual(ns.write(0, pattern(1, 4 * KIB)).status, 0)
        self.assertEqual(ns.flush(), 0)
        self.assertEqual(ns.write(0, pattern(2, 4 * KIB), FUA).status, 0)
        self.assertEqual(ns.read(0, 4 * KIB), pattern(2, 4 * KIB))
        ns.nsid = 0xFFFFFFFF
        self.assertEqual(ns.flush(), 0)
        self.finish(machine)

    def test_write_zeroes(self) -> None:
        machine, _, ns = self.drive()
        ns.write(0, pattern(1, 64 * KIB))
        self.assertEqual(ns.simple(Op.WRITE_ZEROES, 8 * KIB, 16 * KIB), 0)
        self.assertEqual(ns.simple(Op.WRITE_ZEROES, 40 * KIB + 512, 512), 0)
        image = bytearray(pattern(1, 64 * KIB))
        image[8 * KIB : 24 * KIB] = bytes(16 * KIB)
        image[40 * KIB + 512 : 41 * KIB] = bytes(512)
        self.assertEqual(ns.read(0, 64 * KIB), bytes(image))
        self.finish(machine)

    def test_deallocate(self) -> None:
        machine, _, ns = self.drive()
        ns.write(0, pattern(1, 128 * KIB))
        self.assertEqual(ns.deallocate([(0, 16 * KIB), (64 * KIB, 32 * KIB)]), 0)
        image = bytearray(pattern(1, 128 * KIB))
        image[0 : 16 * KIB] = bytes(16 * KIB)
        image[64 * KIB : 96 * KIB] = bytes(32 * KIB)
        self.assertEqual(ns.read(0, 128 * KIB), bytes(image))
        units = 48 * KIB // (4 * KIB)
        self.assertEqual(machine.stats()["deallocated_units"], units)
        self.finish(machine)

    def test_compare_and_verify(self) -> None:
        machine, _, ns = self.drive()
        ns.write(0, pattern(1, 8 * KIB))
        self.assertEqual(ns.compare(0, pattern(1, 8 * KIB)), 0)
        self.assertEqual(ns.compare(0, pattern(2, 8 * KIB)), Status.COMPARE_FAILURE)
        self.assertEqual(ns.simple(Op.VERIFY, 0, 8 * KIB), 0)
        self.finish(machine)

    def test_copy(self) -> None:
        machine, _, ns = self.drive()
        ns.write(0, pattern(1, 32 * KIB))
        self.assertEqual(ns.copy(4 * KIB, 256 * KIB, 16 * KIB), 0)
        self.assertEqual(ns.read(256 * KIB, 16 * KIB), pattern(1, 32 * KIB)[4 * KIB : 20 * KIB])
        self.finish(machine)

    def test_copy_from_several_namespaces(self) -> None:
        """Each range is of the namespace that it names, the copy's own one, too."""
        machine = self.machine(
            flash(), controller(), namespace(more=f",nsid=1,size={4 * MIB}"), namespace()
        )
        ctrl = Controller(machine)
        queue = ctrl.create_queue()
        spaces = [Namespace(queue, nsid) for nsid in (1, 2)]
        behavior, ranges = machine.alloc(4 * KIB), machine.alloc(4 * KIB)
        machine.write(behavior, struct.pack("<IH", 0, COPY_FORMAT_2).ljust(512, b"\0"))
        ctrl.check(Admin.SET_FEATURES, data=behavior, cdw=(HOST_BEHAVIOR,))
        for ns in spaces:
            self.assertEqual(ns.write(0, pattern(ns.nsid, 64 * KIB)).status, 0)
        for nsids in ((1, 2), (2, 1), (2, 1, 2, 1)):
            with self.subTest(nsids=nsids):
                wanted = b""
                for at, nsid in enumerate(nsids):
                    first = at * 16 * KIB
                    entry = struct.pack("<IIQH", nsid, 0, first // 512, 4 * KIB // 512 - 1)
                    machine.write(ranges + at * 32, entry.ljust(32, b"\0"))
                    wanted += pattern(nsid, 64 * KIB)[first : first + 4 * KIB]
                cdw = (MIB // 512, 0, 2 << 8 | len(nsids) - 1)
                done = queue.wait(queue.submit(Op.COPY, 1, (ranges, 0), cdw))
                self.assertEqual(done.status, 0)
                self.assertEqual(spaces[0].read(MIB, len(wanted)), wanted)
        self.finish(machine)

    def test_verify_is_one_read_of_the_drive(self) -> None:
        """There is no metadata behind the data, at the drive's end, to be read, too."""
        machine, _, ns = self.drive()
        ns.write(8 * KIB, pattern(1, 8 * KIB))
        self.assertEqual(ns.simple(Op.VERIFY, 8 * KIB, 8 * KIB), 0)
        rows = [(row.op, row.offset, row.length) for row in self.finish(machine)]
        self.assertEqual(rows, [(1, 8 * KIB, 8 * KIB), (0, 8 * KIB, 8 * KIB)])

    def test_reading_deallocated_blocks_can_be_an_error(self) -> None:
        machine, ctrl, ns = self.drive()
        ctrl.check(Admin.SET_FEATURES, 1, cdw=(0x05, 1 << 16))  # error recovery: DULBE
        ns.write(0, pattern(1, 8 * KIB))
        ns.deallocate([(4 * KIB, 4 * KIB)])
        self.assertEqual(ns.simple(Op.VERIFY, 0, 4 * KIB), 0)
        self.assertEqual(ns.simple(Op.VERIFY, 4 * KIB, 4 * KIB), Status.DULBE)
        self.assertEqual(ns.simple(Op.VERIFY, 0, 8 * KIB), Status.DULBE)
        self.finish(machine)

    def test_format_to_4k_blocks(self) -> None:
        machine, ctrl, ns = self.drive()
        ns.write(0, pattern(1, 8 * KIB))
        ctrl.check(Admin.FORMAT, 1, cdw=(1,))
        ns.block = 4 * KIB
        self.assertEqual(ns.read(0, 8 * KIB), bytes(8 * KIB))
        self.assertEqual(ns.write(4 * KIB, pattern(2, 4 * KIB)).status, 0)
        self.assertEqual(ns.read(0, 8 * KIB), bytes(4 * KIB) + pattern(2, 4 * KIB))
        self.assertNotEqual(ctrl.command(Admin.FORMAT, 1, cdw=(2,)).status, 0)
        self.finish(machine)

    def test_queues_served_by_bottom_halves(self) -> None:
        machine, _, ns = self.drive(more=",x-virtual-queues=off")
        for index in range(32):
            self.assertEqual(ns.write(index * 4 * KIB, pattern(index, 4 * KIB)).status, 0)
        self.assertEqual(ns.read(31 * 4 * KIB, 4 * KIB), pattern(31, 4 * KIB))
        self.finish(machine)

    def test_zoned_namespace(self) -> None:
        machine = self.machine(
            flash(), controller(), namespace(more=",zoned=on,zoned.zone_size=1M")
        )
        ns = Namespace(Controller(machine).create_queue())
        for index in range(2):
            addr, prp = ns.buffer(16 * KIB)
            machine.write(addr, pattern(index, 16 * KIB))
            done = ns.queue.wait(ns.start(Op.ZONE_APPEND, 0, 16 * KIB, prp))
            self.assertEqual((done.status, done.result), (0, index * 32))
        self.assertEqual(ns.read(16 * KIB, 16 * KIB), pattern(1, 16 * KIB))
        cid = ns.queue.submit(Op.ZONE_SEND, 1, cdw=(0, 0, 0, 4))  # reset
        self.assertEqual(ns.queue.wait(cid).status, 0)
        self.assertEqual(ns.read(0, 32 * KIB), bytes(32 * KIB))
        self.finish(machine)

    def test_a_zones_window_of_random_writes(self) -> None:
        """ZRWA: blocks in it are written in any order and again, those behind it no more."""
        window = ",logical_block_size=512,zoned.zrwas=32K,zoned.zrwafg=4K,zoned.numzrwa=1"
        zones = ",zoned=on,zoned.zone_size=1M,zoned.max_active=2"
        machine, _, ns = self.drive(more_ns=f"{zones}{window}")

        def send(zone: int, action: int) -> int:
            block = zone * MIB // 512
            cid = ns.queue.submit(Op.ZONE_SEND, 1, cdw=(block, 0, 0, action))
            return ns.queue.wait(cid).status

        opened, closed, finished, flushed, with_window = 3, 1, 2, 0x11, 1 << 9
        self.assertEqual(send(0, opened | with_window), 0)
        self.assertEqual(send(1, opened | with_window), NO_WINDOW)
        for tag, offset in enumerate((16 * KIB, 0, 28 * KIB, 16 * KIB)):
            self.assertEqual(ns.write(offset, pattern(tag, 4 * KIB)).status, 0)
        wanted = {0: 1, 16: 3, 28: 2}
        for at in range(0, 32, 4):
            data = pattern(wanted[at], 4 * KIB) if at in wanted else bytes(4 * KIB)
            self.assertEqual(ns.read(at * KIB, 4 * KIB), data)
        self.assertEqual(ns.write(64 * KIB, pattern(4, 4 * KIB)).status, ZONE_INVALID_WRITE)
        # 4 KiB beyond the window: it moves on by as much.
        self.assertEqual(ns.write(32 * KIB, pattern(5, 4 * KIB)).status, 0)
        self.assertEqual(ns.write(0, pattern(6, 4 * KIB)).status, ZONE_INVALID_WRITE)
        self.assertEqual(ns.write(4 * KIB, pattern(7, 4 * KIB)).status, 0)
        cid = ns.queue.submit(Op.ZONE_SEND, 1, cdw=(16 * KIB // 512 - 1, 0, 0, flushed))
        self.assertEqual(ns.queue.wait(cid).status, 0)
        self.assertEqual(ns.write(4 * KIB, pattern(8, 4 * KIB)).status, ZONE_INVALID_WRITE)
        self.assertEqual(ns.read(4 * KIB, 4 * KIB), pattern(7, 4 * KIB))
        # Only a zone that is full gives its window back.
        self.assertEqual((send(0, closed), send(1, opened | with_window)), (0, NO_WINDOW))
        self.assertEqual((send(0, finished), send(1, opened | with_window)), (0, 0))
        self.finish(machine)

    def test_zone_of_more_than_a_command(self) -> None:
        """Its reset goes to the drive in pieces: a row of the log has 32 bits for the length."""
        large = ",overrides=geometry.blocks_per_plane=8192;geometry.pages_per_block=64"
        machine, _, ns = self.drive(more=large, more_ns=",zoned=on,zoned.zone_size=5G")
        ns.write(0, pattern(1, 16 * KIB))
        cid = ns.queue.submit(Op.ZONE_SEND, 1, cdw=(0, 0, 0, 4))  # reset
        self.assertEqual(ns.queue.wait(cid).status, 0)
        self.assertEqual(ns.read(0, 16 * KIB), bytes(16 * KIB))
        zeroed = [(c.offset, c.length) for c in self.finish(machine)[1:-1]]
        gib = 1 << 30
        self.assertEqual(zeroed, [(0, 2 * gib), (2 * gib, 2 * gib), (4 * gib, gib)])


class Statistics(DriveTest):
    def test_log_page(self) -> None:
        machine, ctrl, ns = self.drive()
        for index in range(10):
            ns.write(index * 4 * KIB, pattern(index, 4 * KIB))
        status, data = ctrl.get_log(log_page.LOG_ID, log_page.size())
        self.assertEqual(status, 0)
        page = parse_stats_page(data)
        self.assertEqual((page.version, page.scheme), (1, "baseline"))
        self.assertEqual(page.engine, version())
        self.assertEqual(page.fields[:4], (10, 10, 0, 10))
        self.assertGreater(page.now_ns, 0)
        stats = machine.stats()
        self.assertEqual(stats["cmds_accepted"], stats["cmds_completed"])
        self.assertEqual(stats["write_bytes"], 40 * KIB)
        self.finish(machine)

    def test_firmware_revision_is_the_engines_version(self) -> None:
        machine, ctrl, _ = self.drive()
        self.assertEqual(ctrl.identify(1)[64:72], version().ljust(8).encode())
        self.finish(machine)

    def test_latencies_of_the_log_page(self) -> None:
        machine, ctrl, ns = self.drive(more=",age=900")
        for index in range(200):
            ns.write(index * 7919 % 2000 * 4 * KIB, pattern(index, 4 * KIB))
            ns.read(index * 31 % 2000 * 4 * KIB, 4 * KIB)
        names = log_page.fields()
        status, data = ctrl.get_log(log_page.LOG_ID, log_page.size())
        self.assertEqual(status, 0)
        fields = dict(zip(names, parse_stats_page(data).fields, strict=True))
        stats = machine.stats()
        commands = self.finish(machine)
        for op, name in enumerate(("read", "write")):
            ordered = sorted(c.latency_ns for c in commands if c.op == op)
            self.assertEqual(fields[f"{name}_latency_n"], len(ordered))
            latency = stats[f"{name}_latency"]
            self.assertEqual(latency["max_ns"], ordered[-1])
            self.assertAlmostEqual(latency["p90_ns"], ordered[179], delta=ordered[179] / 128)
            for point in ("p50", "p99_99"):
                self.assertEqual(fields[f"{name}_latency_{point}_ns"], latency[f"{point}_ns"])
            tail = latency["slowest_1_percent"]
            self.assertEqual(fields[f"{name}_slowest_1_percent_n"], tail["n"])
            self.assertEqual(tail["n"], 2)
            self.assertAlmostEqual(
                sum(tail["cause_ns"].values()), sum(ordered[-2:]), delta=sum(ordered[-2:]) / 16
            )
            for cause, value in tail["cause_ns"].items():
                self.assertEqual(fields[f"{name}_slowest_1_percent_{cause}_ns"], value)

    def test_unknown_log_page(self) -> None:
        machine, ctrl, _ = self.drive()
        ours = (log_page.LOG_ID, 0xCB)
        for lid in range(0xC0, 0x100):
            status, _ = ctrl.get_log(lid, 512)
            with self.subTest(lid=lid):
                self.assertEqual(status, 0 if lid in ours else Status.INVALID_FIELD)
        self.finish(machine)

    def test_reset_of_the_statistics(self) -> None:
        machine, ctrl, ns = self.drive()
        ns.write(0, pattern(1, 4 * KIB))
        ctrl.check(Admin.FLASH, cdw=(2,))
        self.assertEqual(machine.stats()["writes"], 0)
        self.assertEqual(ctrl.command(Admin.FLASH, cdw=(3,)).status, Status.INVALID_FIELD)
        # the CPU speed is a matter of icount, which this machine has not
        self.assertEqual(ctrl.command(Admin.FLASH, cdw=(1, 0)).status, Status.INVALID_FIELD)
        self.finish(machine)

    def test_cpu_speed_is_the_virtual_queues(self) -> None:
        """Other queues are served in a thread that must not touch the vCPU's instructions."""
        icount = ["-machine", "accel=tcg", "-icount", "shift=1,sleep=off", "-S"]
        drive = flash(more=",x-virtual-queues=off")
        machine = self.machine(icount, drive, controller(), namespace())
        ctrl = HostController(machine)
        self.assertEqual(ctrl.command(Admin.FLASH, cdw=(1, 0)).status, Status.INVALID_FIELD)
        self.finish(machine)

    def test_controller_without_flash_is_as_before(self) -> None:
        machine = self.machine(
            ["-blockdev", "null-co,node-name=n0,size=1048576,read-zeroes=on"],
            controller(),
            ["-device", "nvme-ns,bus=nvme0,drive=n0"],
        )
        ctrl = Controller(machine)
        self.assertEqual(ctrl.command(Admin.FLASH, cdw=(2,)).status, Status.INVALID_OPCODE)
        self.assertNotEqual(ctrl.get_log(0xCA, 512)[0], 0)
        ns = Namespace(ctrl.create_queue())
        self.assertEqual(ns.write(0, pattern(1, 4 * KIB)).status, 0)
        self.assertEqual(ns.read(0, 4 * KIB), bytes(4 * KIB))
        self.assertEqual((machine.quit(), machine.stderr()), (0, ""))
