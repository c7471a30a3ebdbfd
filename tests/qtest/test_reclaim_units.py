# SPDX-License-Identifier: GPL-2.0-or-later
"""Reclaim units of several planes, as a host with FDP sees and updates them."""

from __future__ import annotations

import random
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path

from fixture import DESCRIPTION, KIB, flash, namespace
from machine import Machine
from nvme import PAGE, Admin, Controller, Namespace, Op, Queue, Status
from scarplib.build import replayer
from scarplib.device_logs import changes
from test_fdp import (
    BLOCK,
    DATA_PLACEMENT,
    FDP_CONFIGURATIONS,
    GROUP,
    IO_MANAGEMENT_RECEIVE,
    IO_MANAGEMENT_SEND,
    PLANES,
    UNIT,
    FdpDrive,
    Placed,
    in_subsystem,
    streams,
    subsystem,
)

SECTOR = 512
RECLAIM_UNIT = BLOCK * PLANES
FDP_EVENTS = 0x23
HOST_EVENTS = 1 << 8
FDP_EVENTS_FEATURE = 0x1E
UPDATED, POWER_CUT, INVALID_IDENTIFIER = 0, 2, 3
PLACEMENT_VALID, NSID_VALID, LOCATION_VALID = 1, 2, 4
KEYS = f"ftl.reclaim_planes={PLANES};ftl.isolated_streams=1"


@dataclass(frozen=True)
class Event:
    kind: int
    flags: int
    pid: int
    nsid: int
    handle: int


class Units(FdpDrive):
    """A drive of four handles; the last is persistently isolated."""

    def drive_in_units(self, more: str = "") -> tuple[Machine, Controller, Placed]:
        return self.one(more=f";{KEYS}{more}")

    def left(self, ns: Namespace) -> list[int]:
        """Bytes that each handle's reclaim unit has left (RUAMW)."""
        machine = ns.queue.ctrl.machine
        buffer = machine.alloc(PAGE)
        receive = ns.queue.submit(IO_MANAGEMENT_RECEIVE, ns.nsid, (buffer, 0), (1, PAGE // 4 - 1))
        self.assertEqual(ns.queue.wait(receive).status, 0)
        found = list(struct.iter_unpack("<HHIQ16x", machine.read(buffer + 16, 4 * 32)))
        self.assertEqual([(pid, handle) for pid, handle, *_ in found], [(i, i) for i in range(4)])
        return [media * SECTOR for *_, media in found]

    def update(self, ns: Namespace, *pids: int) -> int:
        machine = ns.queue.ctrl.machine
        buffer = machine.alloc(PAGE)
        machine.write(buffer, struct.pack(f"<{len(pids)}H", *pids))
        cdw = (1 | len(pids) - 1 << 16,)
        return ns.queue.wait(ns.queue.submit(IO_MANAGEMENT_SEND, ns.nsid, (buffer, 0), cdw)).status

    def ask_for(self, ctrl: Controller, handle: int, *kinds: int, enable: int = 1) -> None:
        """Set Features: FDP Events, of a placement handle."""
        buffer = ctrl.machine.alloc(PAGE)
        ctrl.machine.write(buffer, bytes(kinds))
        cdw = (FDP_EVENTS_FEATURE, handle | len(kinds) << 16, enable)
        ctrl.check(Admin.SET_FEATURES, 1, buffer, cdw)

    def events(self, ctrl: Controller) -> list[Event]:
        """The host's events, whose timestamps do not go back."""
        buffer = ctrl.machine.alloc(PAGE)
        cdw = (PAGE // 4 - 1 << 16 | HOST_EVENTS | FDP_EVENTS, GROUP << 16)
        ctrl.check(Admin.GET_LOG, data=buffer, cdw=cdw)
        raw = ctrl.machine.read(buffer, PAGE)
        count = struct.unpack_from("<I", raw)[0]
        rows = struct.iter_unpack("<BBHQI16xHB29x", raw[64 : 64 + count * 64])
        found = [(Event(row[0], row[1], row[2], row[4], row[6]), row[3]) for row in rows]
        stamps = [stamp & (1 << 48) - 1 for _, stamp in found]
        self.assertEqual(stamps, sorted(stamps))
        return [event for event, _ in found]

    def counted(self, machine: Machine) -> tuple[int, int]:
        stats = machine.stats()
        return stats["closed_reclaim_units"], stats["unwritten_pages"]


class Left(Units):
    def test_what_is_left_is_the_flash_s(self) -> None:
        machine, _, ns = self.drive_in_units()
        want = [RECLAIM_UNIT] * 4
        for count in range(RECLAIM_UNIT // UNIT + 3):
            pid = count % 3 and 1
            self.assertEqual(self.left(ns), want, count)
            ns.put(count * UNIT, pid)
            want[pid] = want[pid] - UNIT or RECLAIM_UNIT
        self.finish(machine)

    def test_what_waits_in_the_buffer_counts(self) -> None:
        """A KiB of a page of 4 KiB waits for company; an update writes it alone."""
        machine, _, ns = self.drive_in_units(";ftl.unit_bytes=1024;controller.buffer_bytes=65536")
        source = ns.buffer(KIB)[0]
        self.assertEqual(ns.place(Op.WRITE, 0, KIB, 2, DATA_PLACEMENT, source), 0)
        self.assertEqual(self.left(ns)[2], RECLAIM_UNIT - KIB)
        self.assertEqual(machine.stats()["host_page_programs"], 0)
        self.assertEqual(self.update(ns, 2), 0)
        self.assertEqual(self.left(ns)[2], RECLAIM_UNIT)
        self.assertEqual(ns.flush(), 0)
        stats = machine.stats()
        self.assertEqual((stats["host_page_programs"], stats["padded_units"]), (1, 3))
        self.assertEqual(self.counted(machine), (1, RECLAIM_UNIT // UNIT - 1))
        self.finish(machine)


class Update(Units):
    def test_update(self) -> None:
        """It closes what has been written to, is counted, and is no media write."""
        machine, ctrl, ns = self.drive_in_units()
        for at in range(5):
            ns.put(at * UNIT, 1)
        self.assertEqual(ns.flush(), 0)
        before = self.media(ctrl)
        self.assertEqual(self.update(ns, 1), 0)
        self.assertEqual(self.left(ns), [RECLAIM_UNIT] * 4)
        self.assertEqual(self.counted(machine), (1, RECLAIM_UNIT // UNIT - 5))
        # An empty one is what the handle would get.
        self.assertEqual(self.update(ns, 1), 0)
        self.assertEqual(self.counted(machine)[0], 1)
        self.assertEqual(self.media(ctrl), before)
        self.assertEqual(before.written, before.host)
        self.finish(machine)

    def test_all_handles_at_once(self) -> None:
        machine, _, ns = self.drive_in_units()
        for at in range(8):
            ns.put(at * UNIT, at % 4)
        self.assertEqual(self.update(ns, 0, 1, 2, 3), 0)
        self.assertEqual(self.left(ns), [RECLAIM_UNIT] * 4)
        self.assertEqual(self.counted(machine), (4, 4 * (RECLAIM_UNIT // UNIT - 2)))
        self.finish(machine)

    def test_an_identifier_that_is_none_changes_nothing(self) -> None:
        machine, _, ns = self.drive_in_units()
        ns.put(0, 1)
        self.assertEqual(self.update(ns, 1, 4), Status.INVALID_FIELD)
        self.assertEqual(self.update(ns, 0, 1, 2, 3, 0), Status.INVALID_FIELD)
        self.assertEqual(self.left(ns)[1], RECLAIM_UNIT - UNIT)
        self.finish(machine)

    def test_updates_are_replayed(self) -> None:
        """Updates are in the log of changes: with it the replay has the device's times."""
        machine, _, ns = self.drive_in_units(",change-log={dir}/f0.changes")
        units = machine.stats()["logical_bytes"] // UNIT
        pick = random.Random(4)
        for count in range(units * 3 // 2):
            ns.put(pick.randrange(units) * UNIT, pick.randrange(4))
            if count % 50 == 49:
                self.assertEqual(self.update(ns, pick.randrange(4)), 0)
        self.assertGreater(machine.stats()["gc_runs"], 0)
        closed = self.counted(machine)[0]
        self.finish(machine)
        log = machine.dir / "f0.changes"
        found = changes.read(log)
        self.assertEqual([each.change for each in found], ["close_units"] * closed)
        keys = (
            streams(4).removeprefix(",overrides=").replace(";", ",") + "," + KEYS.replace(";", ",")
        )
        words: list[str | Path] = [
            replayer.ensure_replay(),
            "-d",
            DESCRIPTION,
            "-o",
            keys,
            "--quiet",
            "--exact",
        ]
        for use in (True, False):
            command = [*words, machine.dir / "f0.cmd"]
            command += ["--changes", log] if use else []
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0 if use else 1, done.stderr)

    def test_realtime(self) -> None:
        """The engine's thread is asked between its events."""
        machine, _, ns = self.drive_in_units(",clock=realtime")
        ns.put(0, 1)
        self.assertEqual(self.left(ns)[1], RECLAIM_UNIT - UNIT)
        self.assertEqual(self.update(ns, 1), 0)
        self.assertEqual(self.left(ns)[1], RECLAIM_UNIT)
        self.finish(machine)


class Events(Units):
    def test_update(self) -> None:
        """Of a handle that the host has asked for, whose unit was neither full nor empty."""
        machine, ctrl, ns = self.drive_in_units()
        self.ask_for(ctrl, 1, UPDATED)
        for pid in (1, 2):
            ns.put(pid * UNIT, pid)
            self.assertEqual(self.update(ns, pid), 0)
        self.assertEqual(self.update(ns, 1), 0)
        flags = PLACEMENT_VALID | NSID_VALID | LOCATION_VALID
        self.assertEqual(self.events(ctrl), [Event(UPDATED, flags, 1, 1, 1)])
        self.ask_for(ctrl, 1, UPDATED, enable=0)
        ns.put(0, 1)
        self.assertEqual(self.update(ns, 1), 0)
        self.assertEqual(len(self.events(ctrl)), 1)
        self.finish(machine)

    def test_invalid_identifier(self) -> None:
        machine, ctrl, ns = self.drive_in_units()
        ns.put(0, 9)
        self.ask_for(ctrl, 0, INVALID_IDENTIFIER)
        ns.put(UNIT, 9)
        ns.put(UNIT, 3)
        ns.put(UNIT, 9, 0)
        found = self.events(ctrl)
        self.assertEqual(found, [Event(INVALID_IDENTIFIER, PLACEMENT_VALID | NSID_VALID, 9, 1, 0)])
        self.finish(machine)

    def test_power_cut(self) -> None:
        """It closes open units; one that is empty has nothing to close."""
        machine, ctrl, ns = self.drive_in_units(";nand.power_cuts=1;ftl.recovery=2")
        self.ask_for(ctrl, 2, POWER_CUT)
        ns.put(0, 1)
        for cut in range(2):
            if cut:
                ns.put(UNIT, 2)
                self.assertEqual(ns.flush(), 0)
                self.assertEqual(self.left(ns)[2], RECLAIM_UNIT - UNIT)
            path = {"path": "/machine/peripheral/f0", "property": "power"}
            machine.qmp("qom-set", **path, value="cut")
            ctrl.ask_enable()
            ctrl.wait_ready()
            ns = Placed(ctrl.create_queue())
            self.assertEqual([event.kind for event in self.events(ctrl)], [POWER_CUT] * cut)
        self.assertEqual(self.left(ns), [RECLAIM_UNIT] * 4)
        self.finish(machine)


class Told(Units):
    def test_isolated_handles(self) -> None:
        """The log of configurations tells initially (1) from persistently (2) isolated handles."""
        machine, ctrl, _ = self.drive_in_units()
        buffer = machine.alloc(PAGE)
        ctrl.check(Admin.GET_LOG, data=buffer, cdw=(127 << 16 | FDP_CONFIGURATIONS, GROUP << 16))
        kinds = [machine.read(buffer + 16 + 64 + 4 * i, 1)[0] for i in range(4)]
        self.assertEqual(kinds, [1, 1, 1, 2])
        self.finish(machine)

    def test_a_handle_of_another_namespace(self) -> None:
        """A placement handle is an index of the namespace's list."""
        machine, _, queue = self.shared()
        first, second = Placed(queue, 1), Placed(queue, 2)
        first.put(0, 2)
        second.put(0, 0)
        self.assertEqual(self.update(second, 0), 0)
        self.assertEqual(self.counted(machine), (1, RECLAIM_UNIT // UNIT - 2))
        self.finish(machine)

    def shared(self) -> tuple[Machine, Controller, Queue]:
        return self.started(
            subsystem(),
            flash(more=f"{streams(4)};{KEYS}"),
            in_subsystem(),
            namespace(more=",nsid=1,size=2M,fdp.ruhs=0-2"),
            namespace(more=",nsid=2,fdp.ruhs=2;3"),
        )
