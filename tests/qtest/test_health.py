# SPDX-License-Identifier: GPL-2.0-or-later
"""What the drive says of its shape (Identify) and of its health (SMART, error log)."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from fixture import KIB, MIB, DriveTest, controller, flash, namespace, pattern
from machine import Machine
from nvme import PAGE, Admin, Controller, Namespace, Op

ERROR_LOG, SMART_LOG = 1, 2
SPARE_WARNING, TEMPERATURE_WARNING = 1 << 0, 1 << 1
MINUTE_NS = 60 * 10**9
TEMPERATURE_THRESHOLD, ASYNC_CONFIG = 0x04, 0x0B
GET_FEATURES, EVENT, ATTACHMENT = 0x0A, 0x0C, 0x15
CHANGED_LOG, NAMESPACE_CHANGED = 0x04, 1 << 8
TOO_WARM = SMART_LOG << 16 | 1 << 8 | 1  # an event: SMART, a temperature threshold


HEAT = "heat.capacity_mj=50;heat.loss_ms=100000;heat.program_nj=1000000000"


@dataclass
class Smart:
    warnings: int
    spare: int
    threshold: int
    used: int
    units_read: int
    units_written: int
    reads: int
    writes: int
    busy_minutes: int
    media_errors: int
    log_entries: int


def smart(ctrl: Controller, nsid: int = 0xFFFFFFFF) -> Smart:
    status, page = ctrl.get_log(SMART_LOG, 512, nsid)
    assert status == 0, status
    warnings, _, spare, threshold, used = struct.unpack_from("<BHBBB", page)
    # Of 128 bits each; nothing here comes near 64.
    counts = [int.from_bytes(page[at : at + 16], "little") for at in range(32, 192, 16)]
    read, written, reads, writes, busy, _, _, _, errors, entries = counts
    return Smart(
        warnings, spare, threshold, used, read, written, reads, writes, busy, errors, entries
    )


def warmth(ctrl: Controller) -> tuple[int, ...]:
    """Warnings, kelvins, minutes above two thresholds, transitions, and seconds throttled."""
    status, page = ctrl.get_log(SMART_LOG, 512, 0xFFFFFFFF)
    assert status == 0, status
    return (*struct.unpack_from("<BH", page), *struct.unpack_from("<II16xIIII", page, 192))


class Health(DriveTest):
    def test_new(self) -> None:
        machine, ctrl, ns = self.drive(more=",overrides=nand.endurance_erases=20")
        said = smart(ctrl)
        self.assertEqual((said.warnings, said.spare, said.threshold, said.used), (0, 100, 10, 0))
        for index in range(3):
            ns.write(index * 128 * KIB, pattern(index, 128 * KIB))
        for _ in range(5):
            ns.read(0, 128 * KIB)
        # In thousands of 512 bytes, rounded up: 3 × 256, and 5 × 256.
        said = smart(ctrl, 1)
        self.assertEqual((said.units_written, said.units_read), (1, 2))
        self.assertEqual((said.writes, said.reads), (3, 5))
        self.assertEqual((said.media_errors, said.log_entries), (0, 0))
        # The host's counts are of its whole life, whoever resets our statistics.
        ctrl.check(Admin.FLASH, cdw=(2,))
        self.assertEqual(smart(ctrl, 1).writes, 3)
        status, page = ctrl.get_log(ERROR_LOG, 64 * 64)
        self.assertEqual((status, page), (0, bytes(64 * 64)))
        self.assertEqual(ctrl.identify(1)[262], 63)  # ELPE: 64 entries
        self.finish(machine)

    def test_aged(self) -> None:
        """Overwritten eight times: worn; and when blocks go bad, the spare shrinks."""
        age = ",age=900,age-overwrite=8000,overrides=nand.endurance_erases="
        machine, ctrl, _ = self.drive(more=f"{age}100")
        said = smart(ctrl)
        self.assertEqual((said.warnings, said.spare), (0, 100))
        self.assertTrue(8 <= said.used <= 30, said)
        self.finish(machine)

        machine, ctrl, _ = self.drive(more=f"{age}6")
        said = smart(ctrl)
        self.assertGreater(machine.stats()["bad_blocks"], 0)
        self.assertTrue(said.spare < 10, said)
        self.assertEqual(said.warnings, SPARE_WARNING)
        self.assertGreater(said.used, 100)
        self.finish(machine)

    def test_the_worst_of_two(self) -> None:
        worn = ",age=900,age-overwrite=8000,overrides=nand.endurance_erases=6"
        machine = self.machine(
            flash("f0"), flash("f1", more=worn), controller(), namespace("f0"), namespace("f1")
        )
        ctrl = Controller(machine)
        fresh, old, both = (smart(ctrl, nsid) for nsid in (1, 2, 0xFFFFFFFF))
        self.assertEqual((fresh.warnings, fresh.spare, fresh.used), (0, 100, 0))
        self.assertLess(old.spare, 10)
        self.assertEqual(
            (both.warnings, both.spare, both.used), (SPARE_WARNING, old.spare, old.used)
        )
        self.finish(machine, "f1")

    def test_warned(self) -> None:
        """A host that has asked is told once, when the spare falls below its threshold."""
        more = ",age=900,age-overwrite=0,overrides=nand.endurance_erases=4"
        machine, ctrl, ns = self.drive(more=more)
        self.assertEqual(smart(ctrl).warnings, 0)
        ctrl.check(Admin.SET_FEATURES, cdw=(ASYNC_CONFIG, SPARE_WARNING))
        event = ctrl.admin.submit(0x0C)
        data = pattern(1, 64 * KIB)
        span = machine.stats()["logical_bytes"] * 9 // 10 // len(data)
        told = None
        for index in range(40 * span):
            ns.write(index * 7919 % span * len(data), data)
            told = ctrl.admin.done(event)
            if told:
                break
        assert told, "no event, whatever was written"
        # Of type SMART; which: spare below the threshold; where: the log page.
        self.assertEqual(told.result, SMART_LOG << 16 | 2 << 8 | 1)
        said = smart(ctrl)
        self.assertEqual((said.warnings, said.threshold), (SPARE_WARNING, 10))
        self.assertLess(said.spare, 10)
        event = ctrl.admin.submit(0x0C)
        for index in range(span):
            ns.write(index * len(data), data)
        self.assertIsNone(ctrl.admin.done(event))
        self.finish(machine)

    def test_warned_of_two_hosts(self) -> None:
        """Who asks later than the other is told when it has asked, and each once."""
        worn = ",age=900,age-overwrite=8000,overrides=nand.endurance_erases=6"
        machine = self.machine(
            flash(more=worn),
            *(controller(bus) for bus in range(2)),
            *(namespace(bus=bus, more=f",nsid=1,size={MIB}") for bus in range(2)),
        )
        hosts = [Controller(machine, 4 + bus) for bus in range(2)]
        spaces = [Namespace(host.create_queue()) for host in hosts]
        for asks in hosts:
            asks.check(Admin.SET_FEATURES, cdw=(ASYNC_CONFIG, SPARE_WARNING))
            events = [host.admin.submit(0x0C) for host in hosts]
            for ns in spaces:
                ns.flush()
            for host, event in zip(hosts, events, strict=True):
                told = host.admin.done(event)
                wanted = SMART_LOG << 16 | 2 << 8 | 1 if host is asks else None
                self.assertEqual(told.result if told else None, wanted)
        self.finish(machine)

    def test_busy_time(self) -> None:
        """Minutes with a command in the drive: as long as it takes, not as time goes by."""
        machine, ctrl, ns = self.drive(more=",overrides=timing.read_ns=1000000000")
        ns.write(0, pattern(1, 4 * KIB))
        machine.step(10 * MINUTE_NS)
        self.assertEqual(smart(ctrl).busy_minutes, 0)
        for _ in range(125):
            ns.read(0, 4 * KIB)
        self.assertEqual(smart(ctrl).busy_minutes, 2)
        self.finish(machine)

    def test_heat(self) -> None:
        """One program warms the drive from 25 to 45 °C; it cools by a thousandth in 100 ms."""
        keys = (
            "capacity_mj=50",
            "loss_ms=100000",
            "program_nj=1000000000",
            "light_celsius=34",
            "heavy_celsius=42",
        )
        more = ",overrides=" + ",,".join(f"heat.{key}" for key in keys)
        machine, ctrl, ns = self.drive(more=more)
        self.assertEqual(struct.unpack_from("<HH", ctrl.identify(1), 266), (307, 315))
        self.assertEqual(warmth(ctrl), (0, 298, 0, 0, 0, 0, 0, 0))
        ctrl.check(Admin.SET_FEATURES, cdw=(TEMPERATURE_THRESHOLD, 310))
        ctrl.check(Admin.SET_FEATURES, cdw=(ASYNC_CONFIG, TEMPERATURE_WARNING))
        for time in (1, 2):
            event = ctrl.admin.submit(0x0C)
            self.assertIsNone(ctrl.admin.done(event))
            ns.write(0, pattern(1, 4 * KIB))
            told = ctrl.admin.done(event)
            assert told, "no event, as warm as the drive is"
            # Of type SMART; which: a temperature threshold; where: the log page.
            self.assertEqual(told.result, SMART_LOG << 16 | 1 << 8 | 1)
            warnings, kelvin, *_, light, heavy, _, _ = warmth(ctrl)
            self.assertEqual((warnings, kelvin), (TEMPERATURE_WARNING, 318))
            self.assertEqual((light, heavy), (time, time))
            # Light from 51 s on to 161 s; above 42 °C for 16 s, and above 34 °C for 80 s.
            machine.step(30 * MINUTE_NS)
            self.assertEqual(
                warmth(ctrl),
                (0, 298, time * 636 // 600, 0, time, time, time * 10986 // 100, time * 51),
            )
        self.finish(machine)

    def warm(self, *args: list[str], keys: str = "") -> Machine:
        """A program warms the flash by 20 °C, to 45 °C; half an hour later it is as before."""
        heat = f"{HEAT};{keys}" if keys else HEAT
        return self.machine(flash(more=f",overrides={heat}"), *args)

    def threshold(self, ctrl: Controller, kelvin: int) -> None:
        ctrl.check(Admin.SET_FEATURES, cdw=(TEMPERATURE_THRESHOLD, kelvin))

    def test_default_threshold(self) -> None:
        """It is the warning temperature of Identify, until the host sets another."""
        machine = self.warm(controller(), namespace(), keys="heat.light_celsius=34")
        ctrl = Controller(machine)
        self.assertEqual(struct.unpack_from("<HH", ctrl.identify(1), 266), (307, 0))
        for select in (0, 1):
            done = ctrl.command(GET_FEATURES, cdw=(select << 8 | TEMPERATURE_THRESHOLD,))
            self.assertEqual(done.result, 307)
        ctrl.check(Admin.SET_FEATURES, cdw=(ASYNC_CONFIG, TEMPERATURE_WARNING))
        event = ctrl.admin.submit(EVENT)
        Namespace(ctrl.create_queue()).write(0, pattern(1, 4 * KIB))
        told = ctrl.admin.done(event)
        self.assertEqual(told.result if told else None, TOO_WARM)
        self.threshold(ctrl, 310)
        ctrl.disable()
        ctrl.enable()
        for select, kelvin in ((0, 310), (1, 307)):
            done = ctrl.command(GET_FEATURES, cdw=(select << 8 | TEMPERATURE_THRESHOLD,))
            self.assertEqual(done.result, kelvin)
        self.finish(machine)

    def test_threshold_of_each_host(self) -> None:
        """The temperature belongs to the subsystem, a threshold to a controller."""
        subsystem = ["-device", "nvme-subsys,id=s0"]
        nvme = "nvme,serial=same,subsys=s0"
        machine = self.machine(
            subsystem,
            flash(more=f",overrides={HEAT};heat.light_celsius=34;heat.heavy_celsius=42"),
            ["-device", f"{nvme},id=nvme0,addr=4"],
            namespace(more=",shared=on"),
            # This one comes after the namespace, and says the same.
            ["-device", f"{nvme},id=nvme1,addr=5"],
        )
        hosts = [Controller(machine, slot) for slot in (4, 5)]
        events = []
        for host, kelvin in zip(hosts, (310, 330), strict=True):
            self.assertEqual(struct.unpack_from("<HH", host.identify(1), 266), (307, 315))
            self.threshold(host, kelvin)
            host.check(Admin.SET_FEATURES, cdw=(ASYNC_CONFIG, TEMPERATURE_WARNING))
            events.append(host.admin.submit(EVENT))
        Namespace(hosts[0].create_queue()).write(0, pattern(1, 4 * KIB))
        told = [host.admin.done(event) for host, event in zip(hosts, events, strict=True)]
        self.assertEqual([done.result if done else None for done in told], [TOO_WARM, None])
        self.assertEqual(
            [warmth(host)[:2] for host in hosts], [(TEMPERATURE_WARNING, 318), (0, 318)]
        )
        self.finish(machine)

    def test_new_threshold_beside_the_present_temperature(self) -> None:
        """No command came while the drive cooled: a threshold that it is below is no event."""
        machine = self.warm(controller(), namespace())
        ctrl = Controller(machine)
        Namespace(ctrl.create_queue()).write(0, pattern(1, 4 * KIB))
        ctrl.check(Admin.SET_FEATURES, cdw=(ASYNC_CONFIG, TEMPERATURE_WARNING))
        event = ctrl.admin.submit(EVENT)
        machine.step(30 * MINUTE_NS)
        self.threshold(ctrl, 310)
        self.assertIsNone(ctrl.admin.done(event))
        self.threshold(ctrl, 298)
        told = ctrl.admin.done(event)
        self.assertEqual(told.result if told else None, TOO_WARM)
        self.finish(machine)

    def test_freezing(self) -> None:
        """0 °C is a temperature."""
        machine = self.warm(controller(), namespace(), keys="heat.ambient_celsius=0")
        ctrl = Controller(machine)
        self.assertEqual(warmth(ctrl)[1], 273)
        Namespace(ctrl.create_queue()).write(0, pattern(1, 4 * KIB))
        self.assertEqual(warmth(ctrl)[1], 293)
        machine.step(30 * MINUTE_NS)
        self.assertEqual(warmth(ctrl)[1], 273)
        self.finish(machine)

    def test_format_of_a_cool_flash(self) -> None:
        """The controller is as warm as its other flash before and after, and no event comes."""
        cool = flash("f1", more=f",overrides={HEAT}")
        machine = self.warm(cool, controller(), namespace("f0"), namespace("f1"))
        ctrl = Controller(machine)
        self.threshold(ctrl, 310)
        Namespace(ctrl.create_queue()).write(0, pattern(1, 4 * KIB))
        ctrl.check(Admin.SET_FEATURES, cdw=(ASYNC_CONFIG, TEMPERATURE_WARNING))
        event = ctrl.admin.submit(EVENT)
        ctrl.check(Admin.FORMAT, 2)
        self.assertEqual(warmth(ctrl)[:2], (TEMPERATURE_WARNING, 318))
        self.assertIsNone(ctrl.admin.done(event))
        self.finish(machine)

    def test_equal_events_leave_room(self) -> None:
        """However often a threshold is met, another type of event has its place in the queue."""
        machine, ctrl, _ = self.drive()
        mask = TEMPERATURE_WARNING | NAMESPACE_CHANGED
        ctrl.check(Admin.SET_FEATURES, cdw=(ASYNC_CONFIG, mask))
        listed = machine.alloc(PAGE)
        machine.write(
            listed, struct.pack("<HH", 1, struct.unpack_from("<H", ctrl.identify(1), 78)[0])
        )
        for waits in (False, True):
            # With an event that was told, its type is masked until the log page is read.
            events = [ctrl.admin.submit(EVENT)] if waits else []
            for _ in range(70):
                self.threshold(ctrl, 0x100)
            for detach in (1, 0):
                ctrl.check(ATTACHMENT, 1, listed, (detach,))
            events += [ctrl.admin.submit(EVENT) for _ in range(2 - len(events))]
            told = [ctrl.admin.done(event) for event in events]
            self.assertEqual(
                {done.result for done in told if done}, {TOO_WARM, CHANGED_LOG << 16 | 2}
            )
            ctrl.get_log(SMART_LOG, 512)
            ctrl.get_log(CHANGED_LOG, PAGE)
        self.finish(machine)

    def test_no_heat(self) -> None:
        """Without the group, the temperature is always that of QEMU's other drives."""
        machine, ctrl, ns = self.drive()
        ns.write(0, pattern(1, 4 * KIB))
        self.assertEqual(warmth(ctrl), (0, 0x143, 0, 0, 0, 0, 0, 0))
        self.finish(machine)


@dataclass
class Shape:
    features: int
    formats: int
    metadata: int
    protection: int
    atomic: tuple[int, ...]  # NAWUN, NAWUPF, NABSN, NABSPF, blocks from 0 on
    write: tuple[int, int, int]  # NPWG, NPWA, NOWS, ditto
    deallocate: tuple[int, int]  # NPDG, NPDA, ditto


def shape(ctrl: Controller) -> Shape:
    page = ctrl.identify(0, 1)
    nawun, nawupf, _, nabsn, _, nabspf = struct.unpack_from("<6H", page, 34)
    npwg, npwa, npdg, npda, nows = struct.unpack_from("<5H", page, 64)
    return Shape(
        page[24],
        page[25] + 1,
        page[27],
        page[28],
        (nawun, nawupf, nabsn, nabspf),
        (npwg, npwa, nows),
        (npdg, npda),
    )


class Identify(DriveTest):
    def test_firmware_of_all_controllers(self) -> None:
        """It is the engine also in one that comes after the namespace."""
        nvme = "nvme,serial=same,subsys=s0"
        machine = self.machine(
            ["-device", "nvme-subsys,id=s0"],
            flash(),
            ["-device", f"{nvme},id=nvme0,addr=4"],
            namespace(),
            ["-device", f"{nvme},id=nvme1,addr=5"],
        )
        said = [Controller(machine, slot).identify(1)[64:72] for slot in (4, 5)]
        version = machine.stats()["scarp_version"].ljust(8).encode()
        self.assertEqual(said, [version, version])
        self.finish(machine)

    def shaped(self, more: str = "", more_ns: str = "") -> tuple[Machine, Controller, Shape]:
        machine, ctrl, _ = self.drive(more=more, more_ns=more_ns)
        return machine, ctrl, shape(ctrl)

    def test_unit_of_eight_sectors(self) -> None:
        machine, ctrl, said = self.shaped()
        self.assertEqual(said.features >> 4 & 3, 3)  # OPTPERF: the fields below are valid
        self.assertEqual((said.write, said.deallocate), ((7, 7, 0), (7, 7)))
        self.assertEqual((said.features >> 1 & 1, said.atomic), (1, (7, 7, 7, 7)))
        self.assertEqual((said.formats, said.metadata, said.protection), (2, 0, 0))
        # In blocks of 4 KiB a unit is one of them: nothing has to be said.
        ctrl.check(Admin.FORMAT, 1, cdw=(1,))
        said = shape(ctrl)
        self.assertEqual((said.write, said.deallocate), ((0, 0, 0), (0, 0)))
        self.assertEqual((said.features >> 1 & 1, said.atomic), (0, (0, 0, 0, 0)))
        self.finish(machine)

    def test_program_of_two_pages_of_four_units(self) -> None:
        keys = (
            "geometry.page_bytes=16384;ftl.unit_bytes=4096;controller.buffer_bytes=131072;"
            "geometry.planes_per_die=2;nand.multiplane=1"
        )
        machine, _, said = self.shaped(f",overrides={keys}")
        self.assertEqual((said.write, said.deallocate), ((7, 7, 63), (7, 7)))
        self.finish(machine)
        blocks = ",logical_block_size=4096,physical_block_size=4096"
        machine, _, said = self.shaped(f",overrides={keys}", blocks)
        self.assertEqual((said.write, said.deallocate), ((0, 0, 7), (0, 0)))
        self.assertEqual(said.features >> 1 & 1, 0)
        self.finish(machine)

    def test_a_smaller_write_reads_first(self) -> None:
        """What the fields are there for: a write of what they ask for reads nothing."""
        machine, ctrl, ns = self.drive()
        unit = (shape(ctrl).write[0] + 1) * ns.block
        ns.write(0, pattern(1, PAGE))
        ns.write(0, pattern(2, unit))
        self.assertEqual(machine.stats()["rmw_reads"], 0)
        ns.write(0, pattern(3, unit // 2))
        self.assertEqual(machine.stats()["rmw_reads"], 1)
        self.finish(machine)


class ErrorLog(DriveTest):
    def test_lost_data_has_an_entry(self) -> None:
        """Of a block backend, as the flash loses none: its second 4 KiB cannot be read."""
        machine = self.machine(
            [
                "-blockdev",
                '{"driver": "blkdebug", "node-name": "n0", "image": {"driver": "null-co", '
                '"size": 1048576, "read-zeroes": true}, "inject-error": [{"event": "none", '
                '"iotype": "read", "errno": 5, "sector": 8}]}',
            ],
            controller(),
            ["-device", "nvme-ns,bus=nvme0,drive=n0"],
        )
        ctrl = Controller(machine)
        ns = Namespace(ctrl.create_queue())
        _, prp = ns.buffer(4 * KIB)
        lost = []
        for index in range(70):
            self.assertEqual(ns.queue.wait(ns.start(Op.READ, 0, 4 * KIB, prp)).status, 0)
            done = ns.queue.wait(ns.start(Op.READ, 4 * KIB, 4 * KIB, prp))
            self.assertEqual(done.status, 0x281)  # unrecovered read error
            lost.append((index + 1, 1, done.cid, 0x281 << 1, 0xFFFF, 8, 1))
        # Neither a comparison that fails nor a bad field is an error of the media.
        self.assertNotEqual(ns.compare(0, pattern(1, 4 * KIB)), 0)
        said = smart(ctrl)
        self.assertEqual((said.media_errors, said.log_entries), (70, 70))
        status, page = ctrl.get_log(ERROR_LOG, 64 * 64)
        self.assertEqual(status, 0)
        entries = [struct.unpack_from("<QHHHHQI", page, at) for at in range(0, len(page), 64)]
        self.assertEqual(entries, lost[:-65:-1])
        self.assertEqual(machine.quit(), 0)
        self.assertIn("aio failed", machine.stderr())
