# SPDX-License-Identifier: GPL-2.0-or-later
"""Flexible data placement: handles are streams of the flash, and its statistics are the flash's."""

from __future__ import annotations

import random
import re
import struct
import subprocess
from dataclasses import dataclass

import timeline
from fixture import DESCRIPTION, KIB, MIB, DriveTest, controller, flash, namespace
from logs import HEADER, read_commands
from machine import Machine, start_fails
from nvme import PAGE, Admin, Controller, Namespace, Op, Queue, Status
from scarplib.build import replayer

UNIT = 4 * KIB
# tiny.ini: 4 planes of 64 blocks of 16 pages.
BLOCK = 16 * UNIT
PLANES = 4
GROUP = 1  # the endurance group that hw/nvme has: its log pages' specific identifier
FDP_CONFIGURATIONS, FDP_STATISTICS = 0x20, 0x22
IO_MANAGEMENT_RECEIVE, IO_MANAGEMENT_SEND = 0x12, 0x1D
RESET_STATISTICS = (2,)
DATA_PLACEMENT = 2
STREAMS_DIRECTIVE = 1


@dataclass(frozen=True)
class Media:
    """The FDP statistics log page."""

    host: int
    written: int
    erased: int


def subsystem(more: str = ",fdp=on,fdp.nruh=4", name: str = "s0") -> list[str]:
    return ["-device", f"nvme-subsys,id={name}{more}"]


def in_subsystem(index: int = 0, name: str = "s0") -> list[str]:
    device = f"nvme,id=nvme{index},serial=scarp{index},addr={4 + index},subsys={name}"
    return ["-device", device]


def streams(count: int) -> str:
    keys = (f"ftl.streams={count}", "ftl.over_provisioning_permille=500")
    # Half of the drive does where streams need less room of their own, and is faster to fill.
    return ",overrides=" + ";".join([*keys, *(["geometry.blocks_per_plane=32"] * (count < 4))])


class Placed(Namespace):
    """A namespace whose writes carry a directive."""

    def place(self, opcode: int, offset: int, size: int, pid: int, dtype: int, prp: int = 0) -> int:
        slba, high, count = self._cdw(offset, size)
        cdw = (slba, high, count | dtype << 20, pid << 16)
        return self.queue.wait(self.queue.submit(opcode, self.nsid, (prp, 0), cdw)).status

    def put(self, offset: int, pid: int, dtype: int = DATA_PLACEMENT) -> None:
        """Write a unit with a placement identifier; data without end would fill guest memory."""
        if not hasattr(self, "source"):
            self.source = self.buffer(UNIT)[0]
        status = self.place(Op.WRITE, offset, UNIT, pid, dtype, self.source)
        assert status == 0, hex(status)


class FdpDrive(DriveTest):
    """Drives with reclaim unit handles."""

    def started(self, *groups: list[str]) -> tuple[Machine, Controller, Queue]:
        machine = self.machine(*groups)
        ctrl = Controller(machine)
        return machine, ctrl, ctrl.create_queue()

    def one(
        self, ruhs: str = "0-3", count: int = 4, scheme: str = "baseline", more: str = ""
    ) -> tuple[Machine, Controller, Placed]:
        machine, ctrl, queue = self.started(
            subsystem(f",fdp=on,fdp.nruh={count}"),
            flash(scheme=scheme, more=streams(count) + more),
            in_subsystem(),
            namespace(more=f",fdp.ruhs={ruhs.replace(',', ';')}"),
        )
        return machine, ctrl, Placed(queue)

    def media(self, ctrl: Controller) -> Media:
        buffer = ctrl.machine.alloc(PAGE)
        ctrl.check(Admin.GET_LOG, data=buffer, cdw=(15 << 16 | FDP_STATISTICS, GROUP << 16))
        raw = ctrl.machine.read(buffer, 64)
        low_high = struct.unpack_from("<6Q", raw)
        self.assertEqual(low_high[1::2], (0, 0, 0))
        return Media(*low_high[0::2])

    def logged(self, machine: Machine) -> list[tuple[int, int]]:
        """Offset and stream of each write, in the order of submission."""
        rows = [row for row in self.finish(machine) if row.op == 1]
        return [(row.offset, row.stream) for row in sorted(rows, key=lambda row: row.seq)]


class Fdp(FdpDrive):
    def test_directive_reaches_the_flash(self) -> None:
        """A placement handle is an index of the namespace's list of reclaim unit handles."""
        machine, _, ns = self.one(ruhs="2,0,3")
        for index, (pid, dtype) in enumerate(
            [
                *((pid, DATA_PLACEMENT) for pid in range(3)),
                # None, such as the namespace has not got, and another directive: handle 0.
                (1, 0),
                (3, DATA_PLACEMENT),
                (0xFFFF, DATA_PLACEMENT),
                (1, STREAMS_DIRECTIVE),
            ]
        ):
            ns.put(index * UNIT, pid, dtype)
        self.assertEqual([stream for _, stream in self.logged(machine)], [2, 0, 3, 2, 2, 2, 2])

    def test_without_fdp_there_is_one_stream(self) -> None:
        machine, _, queue = self.started(flash(more=streams(4)), controller(), namespace())
        ns = Placed(queue)
        for pid in range(4):
            ns.put(pid * UNIT, pid)
        self.assertEqual([stream for _, stream in self.logged(machine)], [0] * 4)

    def test_zeroes_and_copies(self) -> None:
        machine, _, ns = self.one()
        ns.put(0, 1)
        self.assertEqual(ns.place(Op.WRITE_ZEROES, 512, 512, 2, DATA_PLACEMENT), 0)
        source = machine.alloc(PAGE)
        machine.write(source, struct.pack("<QQHHIIIHH", 0, 0, UNIT // 512 - 1, *[0] * 6))
        cdw = (256, 0, DATA_PLACEMENT << 20, 3 << 16)
        self.assertEqual(ns.queue.wait(ns.queue.submit(Op.COPY, 1, (source, 0), cdw)).status, 0)
        rows = {(row.op, row.offset): row.stream for row in self.finish(machine) if row.op}
        self.assertEqual(sorted(rows.values()), [1, 2, 3], rows)

    def test_handles_have_blocks_of_their_own(self) -> None:
        self.blocks_of_handles("")

    def test_handles_have_reclaim_units_of_their_own(self) -> None:
        self.blocks_of_handles(f";ftl.reclaim_planes={PLANES};ftl.isolated_streams=2")

    def blocks_of_handles(self, keys: str) -> None:
        """No block has what two handles wrote; a handle's pages are in all planes."""
        machine, _, ns = self.one(more=keys + ",trace={dir}/trace")
        pick = random.Random(1)
        for unit in range(400):
            ns.put(unit * UNIT, pick.randrange(4))
        stream_at = dict(self.logged(machine))
        slices, _ = timeline.read(machine.dir / "trace")
        commands = {s.flows[0]: s for s in slices if s.track == "commands"}
        streams_of: dict[tuple[str, int], set[int]] = {}
        for piece in slices:
            if piece.category == "flash" and piece.flows:
                block = (piece.track, piece.args["block"])
                if piece.track.startswith("plane"):
                    writers = {commands[flow].args["offset_bytes"] for flow in piece.flows}
                    streams_of.setdefault(block, set()).update(stream_at[at] for at in writers)
        self.assertGreaterEqual(len(streams_of), 4 * PLANES)
        self.assertEqual({len(found) for found in streams_of.values()}, {1}, streams_of)

    def churn(self, hot_pid: int, keys: str = "") -> Media:
        """Overwrite a tenth of the drive nine times of ten; what that alone has cost."""
        machine, ctrl, ns = self.one(ruhs="0-1", count=2, more=keys)
        units = machine.stats()["logical_bytes"] // UNIT
        pick = random.Random(2)
        for unit in range(units):
            ns.put(unit * UNIT, hot_pid if unit < units // 10 else 0)
        before = self.media(ctrl)
        # Collections have nothing to do yet.
        self.assertEqual((before.written, before.erased), (before.host, 0))
        for _ in range(units):
            hot = pick.random() < 0.9
            unit = pick.randrange(units // 10) if hot else pick.randrange(units // 10, units)
            ns.put(unit * UNIT, hot_pid if hot else 0)
        after, stats = self.media(ctrl), machine.stats()
        self.assertEqual(after.host, stats["write_bytes"])
        programs = stats["host_page_programs"] + stats["gc_page_programs"]
        self.assertEqual(after.written, programs * UNIT)
        self.assertEqual(after.erased, stats["erases"] * BLOCK)
        self.assertGreater(after.erased, 0)
        self.finish(machine)
        return Media(after.host - before.host, after.written - before.written, after.erased)

    def test_a_handle_for_what_is_hot_saves_copies(self) -> None:
        """Media bytes written include what collections copy: fewer when hot data is apart."""
        for keys in ("", f";ftl.reclaim_planes={PLANES}"):
            with self.subTest(keys):
                mixed, apart = (self.churn(pid, keys) for pid in (0, 1))
                self.assertEqual(mixed.host, apart.host)
                self.assertGreater(apart.written, apart.host)
                self.assertLess(apart.written - apart.host, 0.8 * (mixed.written - mixed.host))
                if keys:
                    # Whole units are erased: a few copies fewer may need as many.
                    self.assertLessEqual(apart.erased, mixed.erased)
                else:
                    self.assertLess(apart.erased, mixed.erased)

    def test_counters_begin_at_zero_and_are_not_reset(self) -> None:
        machine, ctrl, ns = self.one(more=",age=900")
        self.assertEqual(self.media(ctrl), Media(0, 0, 0))
        for unit in range(300):
            ns.put(unit * UNIT, 0)
        before = self.media(ctrl)
        self.assertGreater(min(before.host, before.written, before.erased), 0)
        ctrl.check(Admin.FLASH, cdw=RESET_STATISTICS)
        self.assertEqual(machine.stats()["write_bytes"], 0)
        self.assertEqual(self.media(ctrl), before)
        ns.put(0, 0)
        self.assertEqual(self.media(ctrl).host, before.host + UNIT)
        self.finish(machine)

    def test_namespaces_share_the_handles_of_one_flash(self) -> None:
        machine, ctrl, queue = self.started(
            subsystem(),
            flash(more=streams(4)),
            in_subsystem(),
            namespace(more=f",nsid=1,size={2 * MIB},fdp.ruhs=0-2"),
            namespace(more=",nsid=2,fdp.ruhs=2;3"),
        )
        first, second = Placed(queue, 1), Placed(queue, 2)
        first.put(0, 2)
        second.put(0, 0)
        second.put(UNIT, 1)
        self.assertEqual(self.media(ctrl).host, 3 * UNIT)
        self.assertEqual([stream for _, stream in self.logged(machine)], [2, 2, 3])

    def test_what_a_host_is_told(self) -> None:
        """The reclaim unit is a block in each plane; one that was filled gives way to the next."""
        machine, ctrl, ns = self.one()
        buffer = machine.alloc(PAGE)
        ctrl.check(Admin.GET_LOG, data=buffer, cdw=(127 << 16 | FDP_CONFIGURATIONS, GROUP << 16))
        groups, handles = struct.unpack_from("<IH", machine.read(buffer + 16 + 4, 6))
        size = struct.unpack_from("<Q", machine.read(buffer + 16 + 16, 8))[0]
        self.assertEqual((groups, handles, size), (1, 4, BLOCK * PLANES))
        left = BLOCK * PLANES // 512
        for count in range(BLOCK * PLANES // UNIT + 1):
            receive = ns.queue.submit(IO_MANAGEMENT_RECEIVE, 1, (buffer, 0), (1, PAGE // 4 - 1))
            self.assertEqual(ns.queue.wait(receive).status, 0)
            descriptors = struct.iter_unpack("<HHIQ16x", machine.read(buffer + 16, 4 * 32))
            available = [(pid, ruhid, media) for pid, ruhid, _, media in descriptors]
            written = count * UNIT // 512 % left
            want = [left, left - written, left, left]
            self.assertEqual(available, [(pid, pid, want[pid]) for pid in range(4)])
            ns.put(count * UNIT, 1)
        # None was left half full.
        ctrl.check(Admin.GET_LOG, data=buffer, cdw=(15 << 16 | 1 << 8 | 0x23, GROUP << 16))
        self.assertEqual(struct.unpack_from("<I", machine.read(buffer, 4))[0], 0)
        self.finish(machine)

    def test_what_is_left_after_a_format(self) -> None:
        """In blocks of the format that there is now, whatever was written in the former one."""
        machine, ctrl, ns = self.one()

        def left() -> int:
            buffer = machine.alloc(PAGE)
            receive = ns.queue.submit(IO_MANAGEMENT_RECEIVE, 1, (buffer, 0), (1, PAGE // 4 - 1))
            self.assertEqual(ns.queue.wait(receive).status, 0)
            return int(struct.unpack_from("<Q", machine.read(buffer + 16 + 8, 8))[0])

        ns.put(0, 0)
        unit = BLOCK * PLANES
        self.assertEqual(left(), (unit - UNIT) // 512)
        ctrl.check(Admin.FORMAT, 1, cdw=(1,))
        ns.block = 4 * KIB
        self.assertEqual(left(), (unit - UNIT) // (4 * KIB))
        for count in range(2, unit // UNIT + 2):
            ns.put(count * UNIT % unit, 0)
            self.assertEqual(left(), (unit - count * UNIT % unit) // (4 * KIB))
        self.finish(machine)

    def test_no_update_of_a_handle(self) -> None:
        machine, _, ns = self.one()
        pids = machine.alloc(PAGE)
        cid = ns.queue.submit(IO_MANAGEMENT_SEND, 1, (pids, 0), (1,))
        self.assertEqual(ns.queue.wait(cid).status, Status.INVALID_FIELD)
        self.finish(machine)

    def test_the_log_s_streams_are_replayed(self) -> None:
        """Collections, and so every latency, depend on what lies together."""
        machine, _, ns = self.one(count=2, ruhs="0-1")
        units = machine.stats()["logical_bytes"] // UNIT
        pick = random.Random(3)
        for _ in range(2 * units):
            unit = pick.randrange(units)
            ns.put(unit * UNIT, unit // PLANES % 2)
        self.assertGreater(machine.stats()["gc_runs"], 0)
        commands = self.finish(machine)
        keys = streams(2).removeprefix(",overrides=").replace(";", ",")
        rows = bytearray((machine.dir / "f0.cmd").read_bytes())
        again, result = machine.dir / "again.cmd", machine.dir / "result.json"
        for name, streamed in (("recorded", True), ("without streams", False)):
            log = machine.dir / name
            log.write_bytes(rows)
            options = ["-o", keys, "--quiet", "--json", str(result), "--cmd-log", str(again)]
            command = [str(replayer.ensure_replay()), "-d", str(DESCRIPTION), *options, str(log)]
            subprocess.run(command, check=True)
            ends = [row.complete_ns for row in read_commands(again)]
            self.assertEqual(ends == [row.complete_ns for row in commands], streamed, name)
            row_bytes = struct.unpack_from("<I", rows, 8)[0]
            for at in range(HEADER.size, len(rows), row_bytes):
                rows[at + 30 : at + 32] = bytes(2)

    def test_realtime(self) -> None:
        """The engine's thread is asked between its events."""
        _, ctrl, _ = self.one(more=",clock=realtime")
        self.assertEqual(self.media(ctrl), Media(0, 0, 0))

    def test_elsewhere_a_full_unit_is_not_written_twice(self) -> None:
        """On a block backend the accounts are hw/nvme's own."""
        _, ctrl, queue = self.started(
            subsystem(",fdp=on,fdp.nruh=2,fdp.runs=64K"),
            ["-blockdev", "null-co,node-name=n0,size=1048576"],
            in_subsystem(),
            ["-device", "nvme-ns,bus=nvme0,drive=n0,fdp.ruhs=0-1"],
        )
        ns = Placed(queue)
        for unit in range(33):
            ns.put(unit * UNIT, 1)
        self.assertEqual(self.media(ctrl), Media(33 * UNIT, 33 * UNIT, 0))

    def refuse(self, *groups: list[str], words: tuple[str, ...]) -> None:
        text = start_fails(self.qemu, [arg.replace("{dir}", "/tmp") for g in groups for arg in g])
        self.assertEqual(len(text.splitlines()), 1, text)
        for word in words:
            self.assertRegex(text, re.compile(word))

    def test_refused(self) -> None:
        drive = [*flash(more=streams(4)), *in_subsystem(), *namespace()]
        few = [*flash(more=streams(2)), *in_subsystem(), *namespace()]
        self.refuse(subsystem(), few, words=(r"fdp\.nruh: 4", r"ftl\.streams is 2", "1 to 2"))
        groups = subsystem(",fdp=on,fdp.nruh=2,fdp.nrg=2")
        self.refuse(groups, drive, words=(r"fdp\.nrg: 2", "allowed is 1"))
        size = subsystem(",fdp=on,fdp.nruh=4,fdp.runs=1M")
        self.refuse(size, drive, words=(r"fdp\.runs: 1048576", f"{BLOCK * PLANES}", "left out"))

    def test_one_flash_for_one_subsystem(self) -> None:
        more = ",nsid=1,size=1M"
        start = [*subsystem(), *flash(more=streams(4)), *in_subsystem()]
        drive = ["-blockdev", "null-co,node-name=n0,size=1048576"]
        block = ["-device", "nvme-ns,bus=nvme0,drive=n0,nsid=2"]
        self.refuse(start, drive, namespace(more=more), block, words=("flash.*missing", "fdp=on"))
        self.refuse(start, drive, block, namespace(more=more), words=("namespace 2", "fdp=on"))
        self.refuse(
            start,
            flash("f1", more=streams(4)),
            namespace(more=more),
            namespace("f1", more=",nsid=2"),
            words=("namespace 1", "fdp=on"),
        )
        self.refuse(
            start,
            namespace(more=more),
            controller(1),
            namespace(bus=1),
            words=("another subsystem", "fdp=on"),
        )
