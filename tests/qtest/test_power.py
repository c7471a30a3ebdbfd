# SPDX-License-Identifier: GPL-2.0-or-later
"""The power of a drive fails: what its hosts see then, and what is left of their data."""

from __future__ import annotations

import random
import struct
import tempfile
from pathlib import Path

from fixture import ALL, DESCRIPTION, KIB, MIB, DriveTest, controller, flash, namespace, pattern
from machine import Machine, start_fails
from nvme import FUA, Admin, Controller, Namespace, Op, Status
from scarplib.errors import UserError
from scarplib.guest import power, shell
from test_realtime import HostController

CUTS = "nand.power_cuts=1;ftl.recovery=2"
BUFFER = f"{CUTS};controller.buffer_bytes=1048576"
# With collections of its own after the last command.
COLLECTS = f"{BUFFER};gc.background_free_blocks=20"
PLP = f"{BUFFER};controller.plp_bytes=1048576"
VOLATILE_WRITE_CACHE, TEMPERATURE, ASYNC_CONFIG = 0x06, 0x04, 0x0B
GET_FEATURES, ASYNC_EVENT = 0x0A, 0x0C
CUT_POWER = 3
FORMAT_IN_PROGRESS = 0x084
SMART_LOG, CHANGED_NAMESPACES = 2, 4
ATTACHMENT, ATTACH, DETACH = 0x15, 0, 1
CONTROLLERS = 0x13  # Identify: those of the subsystem
READY, FATAL, SHST_MASK, SHST_DONE, SHST_BUSY = 1, 2, 0xC, 0x8, 0x4
CAP, CC, CSTS, AQA, ASQ, CRTO = 0x00, 0x14, 0x1C, 0x24, 0x28, 0x68
SHN_NORMAL, SHN_ABRUPT = 0x00464061, 0x00468061
CMBMSC, PMRCTL = 0x50, 0xE04
# CMBLOC, CMBSZ, CMBMSC, CMBSTS, PMRCAP, PMRCTL, PMRSTS
MEMORY_REGISTERS = (0x38, 0x3C, CMBMSC, 0x54, 0x58, 0xE00, PMRCTL, 0xE08)
READY_UNIT_NS = 500_000_000
DEMAND = f"{BUFFER};ftl.mapping=demand;ftl.map_cache_bytes=4096"
CHECKPOINTS = f"{DEMAND};ftl.checkpoint_pages=64;ftl.recovery=1"
STATUS_LINE = "the power of such a drive cannot fail"
UNIT = 4 * KIB


def overrides(keys: str) -> str:
    return f",overrides={keys}"


class Registers:
    """What a host can see of a controller without a command."""

    def __init__(self, ctrl: Controller) -> None:
        read, bar = ctrl.machine.readl, ctrl.bar
        self.cap = read(bar + CAP) | read(bar + CAP + 4) << 32
        self.cc, self.csts, self.crto = read(bar + CC), read(bar + CSTS), read(bar + CRTO)
        self.queues = read(bar + AQA), read(bar + ASQ)


class Power(DriveTest):
    """Drives whose power may fail."""

    def powered(
        self, keys: str = BUFFER, more: str = "", more_ns: str = ""
    ) -> tuple[Machine, Controller, Namespace]:
        return self.drive(more=overrides(keys) + more, more_ns=more_ns)

    @staticmethod
    def cut(machine: Machine, name: str = "f0") -> None:
        machine.qmp("qom-set", path=f"/machine/peripheral/{name}", property="power", value="cut")

    @staticmethod
    def power(machine: Machine, name: str = "f0") -> object:
        return machine.qmp("qom-get", path=f"/machine/peripheral/{name}", property="power")

    @staticmethod
    def csts(ctrl: Controller) -> int:
        return ctrl.machine.readl(ctrl.bar + CSTS)

    def start(self, ctrl: Controller) -> int:
        ctrl.ask_enable()
        return ctrl.wait_ready()

    def restart(self, ctrl: Controller) -> Namespace:
        self.start(ctrl)
        return Namespace(ctrl.create_queue())

    def smart(self, ctrl: Controller) -> tuple[int, int]:
        """Power cycles and unsafe shutdowns."""
        status, page = ctrl.get_log(SMART_LOG, 512)
        self.assertEqual(status, 0)
        return int.from_bytes(page[112:128], "little"), int.from_bytes(page[144:160], "little")


class Cut(Power):
    def test_what_the_host_sees(self) -> None:
        machine, ctrl, ns = self.powered()
        _, prp = ns.buffer(UNIT)
        done = ns.start(Op.WRITE, 0, UNIT, prp)
        ns.queue.wait(done)
        queue, posted = ns.queue, ns.queue.posted()
        cids = [ns.start(Op.WRITE, MIB + at * UNIT, UNIT, prp, FUA) for at in range(40)]
        machine.step(1_000_000)
        early = set(queue.posted())
        self.assertLess(len(early), 41)
        before = Registers(ctrl)
        self.cut(machine)
        after = Registers(ctrl)
        self.assertEqual(self.power(machine), "recovers")
        self.assertEqual((after.cc, after.csts, after.queues), (0, FATAL, (0, 0)))
        self.assertEqual(after.cap, before.cap)
        machine.step(100_000_000)
        # What was posted is there, and nothing more comes.
        self.assertEqual(set(queue.posted()), early)
        self.assertIn(done, posted)
        self.assertEqual(machine.stats()["cut_cmds"], len(cids) + 1 - len(early))
        self.assertEqual(self.power(machine), "on")
        # Neither do queues that are gone, nor doorbells of a controller that is off.
        queue.ring()
        machine.step(1_000_000)
        self.assertEqual(set(queue.posted()), early)
        ns = self.restart(ctrl)
        self.assertEqual(self.csts(ctrl), READY)
        self.assertEqual(len(ns.read(0, UNIT)), UNIT)
        self.finish(machine)

    def test_what_was_promised(self) -> None:
        """Flushed data and FUA are there; what was not is as before, or as it was written."""
        machine, ctrl, ns = self.powered()
        for at in range(64):
            ns.write(at * UNIT, pattern(at, UNIT))
        self.assertEqual(ns.flush(), 0)
        for at in range(8):
            ns.write(at * UNIT, pattern(100 + at, UNIT), FUA)
        for at in range(8, 32):
            ns.write(at * UNIT, pattern(200 + at, UNIT))
        self.cut(machine)
        ns = self.restart(ctrl)
        for at in range(8):
            self.assertEqual(ns.read(at * UNIT, UNIT), pattern(100 + at, UNIT), at)
        lost = 0
        for at in range(8, 32):
            data = ns.read(at * UNIT, UNIT)
            self.assertIn(data, (pattern(at, UNIT), pattern(200 + at, UNIT)), at)
            lost += data == pattern(at, UNIT)
        self.assertGreater(lost, 0)
        for at in range(32, 64):
            self.assertEqual(ns.read(at * UNIT, UNIT), pattern(at, UNIT), at)
        self.finish(machine)

    def test_by_a_vendor_command(self) -> None:
        machine, ctrl, ns = self.powered()
        ns.write(0, pattern(1, UNIT), FUA)
        admin = ctrl.admin
        cid = admin.submit(Admin.FLASH, cdw=(CUT_POWER,))
        machine.step(1_000_000)
        self.assertIsNone(admin.done(cid))
        self.assertEqual(Registers(ctrl).csts, FATAL)
        self.assertEqual(machine.stats()["power_cuts"], 1)
        ns = self.restart(ctrl)
        self.assertIsNone(admin.done(cid))
        self.assertEqual(ns.read(0, UNIT), pattern(1, UNIT))
        self.finish(machine)

    def test_at_the_same_instant(self) -> None:
        """A vendor command behind others in one doorbell: what came with it is under way."""
        machine, ctrl, ns = self.powered(CUTS)
        _, prp = ns.buffer(UNIT)
        for at in range(16):
            ns.start(Op.WRITE, at * UNIT, UNIT, prp, ring=False)
        ns.queue.ring()
        ctrl.admin.submit(Admin.FLASH, cdw=(CUT_POWER,))
        machine.step(10_000)
        self.assertEqual(self.csts(ctrl), FATAL)
        ns = self.restart(ctrl)
        self.assertEqual(ns.read(0, UNIT), bytes(UNIT))
        self.finish(machine)

    def test_in_a_while(self) -> None:
        """A vendor command that ends, for a cut at an exact time, also after another one."""
        machine, ctrl, _ = self.powered()
        ctrl.check(Admin.FLASH, cdw=(CUT_POWER, 50_000))
        asked_ns = machine.step(1)
        self.cut(machine)
        self.start(ctrl)
        while self.csts(ctrl) & READY:
            now_ns = machine.step_to_next()
        self.assertEqual(machine.stats()["power_cuts"], 2)
        self.assertTrue(49_000_000 < now_ns - asked_ns <= 50_000_000)
        self.restart(ctrl)
        self.finish(machine)

    def test_refused(self) -> None:
        """By a drive whose power cannot fail, and of another word; it goes on as before."""
        machine, ctrl, ns = self.drive()
        path = {"path": "/machine/peripheral/f0", "property": "power"}
        with self.assertRaisesRegex(AssertionError, f"power: nand.power_cuts=0: {STATUS_LINE}"):
            self.cut(machine)
        with self.assertRaisesRegex(AssertionError, "power: 'off' is not known; allowed is 'cut'"):
            machine.qmp("qom-set", value="off", **path)
        self.assertEqual(
            ctrl.command(Admin.FLASH, cdw=(CUT_POWER,)).status & 0x7FF, Status.INVALID_FIELD
        )
        self.assertEqual(machine.qmp("qom-get", **path), "on")
        ns.write(0, pattern(1, UNIT))
        self.assertEqual(ns.read(0, UNIT), pattern(1, UNIT))
        self.finish(machine)

    def test_by_the_command(self) -> None:
        """`scarp cut`, as somebody who has another connection to QMP."""
        with tempfile.TemporaryDirectory(prefix="scarp-qtest-") as folder:
            path = Path(folder) / "qmp"
            machine = self.machine(
                flash(more=overrides(BUFFER)), controller(), namespace(), shell.qmp_arguments(path)
            )
            ns = Namespace(Controller(machine).create_queue())
            _, prp = ns.buffer(UNIT)
            for at in range(3):
                ns.start(Op.WRITE, at * UNIT, UNIT, prp, FUA)
            machine.step(500_000)
            said = power.cut(path, "f0")
            self.assertRegex(said, r"^f0: cut number 1: 3 commands under way, [0-3] pages torn$")
            with self.assertRaisesRegex(UserError, "no device with the id 'f1'"):
                power.cut(path, "f1")
            self.finish(machine)

    def test_cancelled_before(self) -> None:
        """Commands that were aborted, and those that wait for them, go with the power."""
        machine, ctrl, ns = self.powered(CUTS)
        _, prp = ns.buffer(128 * KIB)
        first = [ns.start(Op.WRITE, at * 128 * KIB, 128 * KIB, prp) for at in range(8)]
        machine.step(60_000)
        for cid in first:
            ctrl.check(Admin.ABORT, cdw=(cid << 16 | ns.queue.qid,))
        for at in range(8):
            ns.start(Op.READ, at * 128 * KIB, 128 * KIB, prp)
        machine.step(1000)
        self.cut(machine)
        ns = self.restart(ctrl)
        ns.write(0, pattern(1, 128 * KIB))
        self.assertEqual(ns.read(0, 128 * KIB), pattern(1, 128 * KIB))
        self.finish(machine)

    def test_more_than_a_ring(self) -> None:
        """Commands that have not reached the engine yet."""
        machine, ctrl, ns = self.powered(CUTS)
        queues = [ns.queue, *(ctrl.create_queue() for _ in range(5))]
        _, prp = ns.buffer(UNIT)
        for queue in queues:
            each = Namespace(queue)
            for at in range(250):
                each.start(Op.WRITE, at * UNIT, UNIT, prp, ring=False)
            queue.ring()
        self.cut(machine)
        ns = self.restart(ctrl)
        self.assertEqual(ns.read(0, UNIT), bytes(UNIT))
        self.finish(machine)

    def test_features(self) -> None:
        machine, ctrl, _ = self.powered()
        features = {VOLATILE_WRITE_CACHE: 0, TEMPERATURE: 300, ASYNC_CONFIG: 0x1F}

        def get(feature: int) -> int:
            return ctrl.command(GET_FEATURES, cdw=(feature,)).result

        defaults = {feature: get(feature) for feature in features}
        for feature, value in features.items():
            ctrl.check(Admin.SET_FEATURES, cdw=(feature, value))
            self.assertEqual(get(feature), value)
        event = ctrl.admin.submit(ASYNC_EVENT)
        # A reset changes none of them.
        ctrl.disable()
        ctrl.enable()
        self.assertEqual({feature: get(feature) for feature in features}, features)
        self.cut(machine)
        self.start(ctrl)
        self.assertEqual({feature: get(feature) for feature in features}, defaults)
        self.assertIsNone(ctrl.admin.done(event))
        self.finish(machine)

    def test_list_of_changed_namespaces(self) -> None:
        """A host that begins anew looks at all of them."""
        machine, ctrl, _ = self.powered()
        controllers = machine.alloc(UNIT)
        machine.write(controllers, struct.pack("<HH", 1, 0))
        for how in (DETACH, ATTACH):
            ctrl.check(ATTACHMENT, 1, controllers, (how,))
            # It would be there, and is cleared when it is read.
            self.assertEqual(ctrl.get_log(CHANGED_NAMESPACES, 4), (0, struct.pack("<I", 1)))
        ctrl.check(ATTACHMENT, 1, controllers, (DETACH,))
        self.cut(machine)
        self.start(ctrl)
        self.assertEqual(ctrl.get_log(CHANGED_NAMESPACES, 4), (0, bytes(4)))
        self.finish(machine)

    def test_memory_of_the_controller(self) -> None:
        """Its buffer's contents and registers go with the power; what is persistent stays."""
        for legacy in ("off", "on"):
            with self.subTest(legacy=legacy):
                self.memory_of_the_controller(legacy)

    def memory_of_the_controller(self, legacy: str) -> None:
        more = f"cmb_size_mb=1,legacy-cmb={legacy},pmrdev=m0"
        machine = self.machine(
            ["-object", "memory-backend-ram,id=m0,size=64K"],
            flash(more=overrides(BUFFER)),
            ["-device", f"nvme,id=nvme0,serial=scarp0,addr=4,{more}"],
            namespace(),
        )
        ctrl = Controller(machine)
        regions = ((2, ctrl.bar + 8 * MIB), (4, ctrl.bar + 16 * MIB))
        for number, address in regions:
            ctrl.place(4, number, address)

        def registers() -> list[int]:
            return [machine.readl(ctrl.bar + at) for at in MEMORY_REGISTERS]

        def use() -> list[bytes]:
            machine.writel(ctrl.bar + CMBMSC, 3)
            machine.writel(ctrl.bar + PMRCTL, 1)
            return [machine.read(address, 16) for _, address in regions]

        before = registers()
        use()
        for number, address in regions:
            machine.write(address, pattern(number, 16))
        self.assertNotEqual(registers(), before)
        self.cut(machine)
        self.assertEqual(registers(), before)
        self.assertEqual(use(), [bytes(16), pattern(4, 16)])
        self.restart(ctrl)
        self.finish(machine)

    def test_warning_of_little_spare(self) -> None:
        """A host that has lost its power, too, asks anew, and is told anew."""
        worn = ",age=900,age-overwrite=8000"
        machine, ctrl, _ = self.powered(f"{CUTS};nand.endurance_erases=6", more=worn)
        for _ in range(2):
            ctrl.check(Admin.SET_FEATURES, cdw=(ASYNC_CONFIG, 1))
            event = ctrl.admin.submit(ASYNC_EVENT)
            # The next command looks.
            Namespace(ctrl.create_queue()).flush()
            self.assertEqual(ctrl.admin.wait(event).result, SMART_LOG << 16 | 2 << 8 | 1)
            self.cut(machine)
            self.start(ctrl)
        self.finish(machine)

    def test_write_cache_that_is_off_from_the_beginning(self) -> None:
        machine, ctrl, _ = self.powered(more_ns=",write-cache=off")
        self.cut(machine)
        self.start(ctrl)
        self.assertEqual(ctrl.command(GET_FEATURES, cdw=(VOLATILE_WRITE_CACHE,)).result, 0)
        self.finish(machine)

    def test_interrupt_by_pin(self) -> None:
        """The pin of a controller without power is not asserted, nor later without a reason."""
        machine, ctrl, _ = self.powered()

        def pin() -> bool:
            machine.outl(0xCF8, 0x80000000 | 4 << 11 | 0x04)
            return bool(machine.inl(0xCFC) >> 19 & 1)

        cids = [ctrl.admin.submit(GET_FEATURES, cdw=(TEMPERATURE,)) for _ in range(2)]
        machine.step(1_000_000)
        self.assertTrue(pin())
        self.cut(machine)
        self.assertFalse(pin())
        self.start(ctrl)
        cids = [ctrl.admin.submit(GET_FEATURES, cdw=(TEMPERATURE,)) for _ in range(2)]
        machine.step(1_000_000)
        self.assertTrue(pin())
        for cid in cids:
            ctrl.admin.wait(cid)
        self.assertFalse(pin())
        self.finish(machine)

    def test_again_before_the_host_has_looked(self) -> None:
        """It must still see that its queues are gone."""
        machine, ctrl, _ = self.powered()
        for _ in range(3):
            self.cut(machine)
            self.assertEqual(self.csts(ctrl), FATAL)
            machine.step(1_000_000_000)
        self.restart(ctrl)
        self.finish(machine)

    def test_off(self) -> None:
        """A controller that is not enabled has nothing to tell, and one that is shut down."""
        machine, ctrl, _ = self.powered()
        ctrl.disable()
        self.cut(machine)
        self.assertEqual(self.csts(ctrl), 0)
        self.start(ctrl)
        ctrl.shutdown()
        self.cut(machine)
        self.assertEqual(self.csts(ctrl), 0)
        self.start(ctrl)
        self.finish(machine)

    def test_many(self) -> None:
        """Many times in a row, at any moment, while it recovers too: promises hold."""
        turns = 20 if ALL else 8
        draw = random.Random(29)
        machine, ctrl, ns = self.powered()
        places = 96
        # What each place may contain: the last that is durable, and all that came after.
        may = [{bytes(UNIT)} for _ in range(places)]
        tag = 0
        for turn in range(turns):
            addr, prp = ns.buffer(UNIT)
            for _ in range(draw.randrange(40)):
                tag += 1
                at, data = draw.randrange(places), pattern(tag, UNIT)
                kind = draw.randrange(8)
                if kind == 0:
                    self.assertEqual(ns.flush(), 0)
                    may = [{ns.read(place * UNIT, UNIT)} for place in range(places)]
                elif kind == 1:
                    ns.write(at * UNIT, data, FUA)
                    may[at] = {data}
                else:
                    machine.write(addr, data)
                    ns.start(Op.WRITE, at * UNIT, UNIT, prp)
                    machine.step(draw.randrange(200_000))
                    may[at].add(data)
                    # The buffer's data is taken when the queue is read.
            if draw.randrange(2):
                self.cut(machine)
            else:
                ctrl.admin.submit(Admin.FLASH, cdw=(CUT_POWER,))
            machine.step(draw.randrange(3_000_000))
            if draw.randrange(2):
                self.cut(machine)
                machine.step(draw.randrange(3_000_000))
            ctrl.ask_enable()
            if draw.randrange(2):
                machine.step(draw.randrange(1_000_000))
                self.cut(machine)
            ctrl.wait_ready()
            ns = Namespace(ctrl.create_queue())
            for place in range(places):
                data = ns.read(place * UNIT, UNIT)
                self.assertIn(data, may[place], (turn, place))
                may[place] = {data}
        self.assertGreaterEqual(machine.stats()["power_cuts"], turns)
        self.finish(machine)


class Ready(Power):
    def test_when_it_has_recovered(self) -> None:
        """CSTS.RDY comes at the end of the engine's recovery, and within what CAP and CRTO say."""
        for keys in (BUFFER, CUTS, PLP, CHECKPOINTS):
            with self.subTest(keys):
                self.ready_when_recovered(keys)

    def ready_when_recovered(self, keys: str) -> None:
        machine, ctrl, ns = self.powered(keys)
        for at in range(0, 8 * MIB, 128 * KIB):
            ns.write(at, pattern(at, 128 * KIB))
        self.cut(machine)
        said = Registers(ctrl)
        ctrl.ask_enable()
        self.assertEqual(self.csts(ctrl), 0)
        # Doorbells that come too early find no queue.
        cid = ctrl.admin.submit(Admin.IDENTIFY, prp=(machine.alloc(4 * KIB), 0), cdw=(1,))
        waited = ctrl.wait_ready()
        self.assertEqual(waited, machine.stats()["recovery_ns"])
        self.assertGreater(waited, 1_000_000)
        units = said.crto & 0xFFFF
        self.assertLessEqual(waited, units * READY_UNIT_NS)
        self.assertEqual(said.cap >> 24 & 0xFF, min(units, 0xFF))
        self.assertEqual(said.cap >> 59 & 3, 1)  # CRWMS
        self.assertIsNone(ctrl.admin.done(cid))
        ctrl.admin.ring()
        self.assertEqual(ctrl.admin.wait(cid).status, 0)
        self.finish(machine)

    def test_of_a_drive_whose_power_cannot_fail(self) -> None:
        machine, ctrl, _ = self.drive()
        said = Registers(ctrl)
        self.assertEqual((said.cap >> 24 & 0xFF, said.cap >> 59, said.crto), (15, 0, 0))
        self.finish(machine)

    def test_a_large_drive(self) -> None:
        """What CAP.TO has no room for, CRTO says."""
        machine, ctrl, _ = self.powered(f"{CUTS};timing.read_ns=100000000")
        said = Registers(ctrl)
        self.assertEqual(said.cap >> 24 & 0xFF, 0xFF)
        self.assertGreater(said.crto, 0xFF)
        self.finish(machine)

    def test_cut_while_the_host_waits(self) -> None:
        machine, ctrl, ns = self.powered()
        for at in range(0, 4 * MIB, 128 * KIB):
            ns.write(at, pattern(at, 128 * KIB))
        self.cut(machine)
        ctrl.ask_enable()
        machine.step(500_000)
        before = Registers(ctrl)
        self.cut(machine)
        after = Registers(ctrl)
        self.assertEqual((after.cc, after.csts, after.queues), (before.cc, 0, before.queues))
        ctrl.wait_ready()
        ns = Namespace(ctrl.create_queue())
        self.assertEqual(ns.write(0, pattern(1, UNIT)).status, 0)
        self.assertEqual(machine.stats()["power_cuts"], 2)
        self.finish(machine)

    def test_host_that_thinks_better_of_it(self) -> None:
        """A controller that is disabled again before it is ready does not become it."""
        machine, ctrl, _ = self.powered()
        self.cut(machine)
        ctrl.ask_enable()
        machine.step(1000)
        ctrl.disable()
        machine.step(1_000_000_000)
        self.assertEqual((self.csts(ctrl), self.power(machine)), (0, "on"))
        self.restart(ctrl)
        self.finish(machine)

    def test_bad_queues(self) -> None:
        """What is wrong with its queues is said when it would be ready."""
        machine, ctrl, _ = self.powered()
        self.cut(machine)
        machine.writel(ctrl.bar + CC, 0x00460061)
        self.assertEqual(self.csts(ctrl), 0)
        machine.step(1_000_000_000)
        self.assertEqual(self.csts(ctrl), FATAL)
        ctrl.disable()
        self.restart(ctrl)
        self.finish(machine)


class Several(Power):
    def test_two_controllers(self) -> None:
        """Both lose their power, whoever's namespace it is."""
        machine = self.machine(
            ["-device", "nvme-subsys,id=s0"],
            flash(more=overrides(BUFFER)),
            *(["-device", f"nvme,id=nvme{n},serial=same,subsys=s0,addr={4 + n}"] for n in range(2)),
            namespace(more=",nsid=1,shared=on,size=1048576"),
            namespace(more=",nsid=2,shared=off"),
        )
        ctrls = [Controller(machine, 4 + n) for n in range(2)]
        first, second = (Namespace(ctrl.create_queue()) for ctrl in ctrls)
        first.write(0, pattern(1, UNIT), FUA)
        _, prp = second.buffer(UNIT)
        cid = second.start(Op.WRITE, UNIT, UNIT, prp, FUA)
        self.cut(machine)
        self.assertEqual([self.csts(ctrl) for ctrl in ctrls], [FATAL, FATAL])
        machine.step(100_000_000)
        self.assertNotIn(cid, second.queue.posted())
        for ctrl in ctrls:
            ns = self.restart(ctrl)
            self.assertEqual(ns.read(0, UNIT), pattern(1, UNIT))
        self.assertEqual([self.smart(ctrl) for ctrl in ctrls], [(2, 1), (2, 1)])
        self.finish(machine)

    def test_two_flashes(self) -> None:
        """Of one controller: the other flash keeps what it has, and gets ready at once."""
        machine = self.machine(
            flash(more=overrides(BUFFER)),
            flash("f1", more=overrides(BUFFER)),
            controller(),
            namespace(more=",nsid=1"),
            namespace("f1", more=",nsid=2"),
        )
        ctrl = Controller(machine)
        queue = ctrl.create_queue()
        for nsid in (1, 2):
            Namespace(queue, nsid).write(0, pattern(nsid, UNIT))
        self.cut(machine)
        self.assertEqual([self.power(machine, name) for name in ("f0", "f1")], ["recovers", "on"])
        self.start(ctrl)
        queue = ctrl.create_queue()
        self.assertEqual(Namespace(queue, 2).read(0, UNIT), pattern(2, UNIT))
        self.assertIn(Namespace(queue, 1).read(0, UNIT), (bytes(UNIT), pattern(1, UNIT)))
        self.assertEqual(machine.stats("f1")["power_cuts"], 0)
        self.finish(machine)

    def test_beside_a_block_backend(self) -> None:
        """Its controller loses its power, too; its cache is then as it was in the beginning."""
        for mode, said in (("writethrough", 0), ("writeback", 1)):
            with self.subTest(mode):
                backend = f"if=none,id=d0,driver=null-co,size=1M,cache={mode}"
                machine = self.machine(
                    flash(more=overrides(BUFFER)),
                    controller(),
                    ["-drive", backend, "-device", "nvme-ns,bus=nvme0,nsid=1,drive=d0"],
                    namespace(more=",nsid=2,write-cache=off"),
                )
                ctrl = Controller(machine)
                for turn in range(2):
                    found = ctrl.command(GET_FEATURES, cdw=(VOLATILE_WRITE_CACHE,)).result
                    self.assertEqual(found, said, turn)
                    self.cut(machine)
                    self.start(ctrl)
                self.finish(machine)

    def test_two_drives(self) -> None:
        """Another drive does not notice."""
        machine = self.machine(
            flash(more=overrides(BUFFER)),
            flash("f1", more=overrides(BUFFER)),
            controller(0),
            controller(1),
            namespace("f0", 0),
            namespace("f1", 1),
        )
        first, second = (Controller(machine, 4 + n) for n in range(2))
        ns = Namespace(second.create_queue())
        ns.write(0, pattern(1, UNIT))
        self.cut(machine)
        self.assertEqual(ns.read(0, UNIT), pattern(1, UNIT))
        self.assertEqual((self.csts(first), self.csts(second)), (FATAL, READY))
        self.finish(machine)

    def test_format_under_way(self) -> None:
        machine, ctrl, ns = self.powered()
        ns.write(0, pattern(1, 128 * KIB))
        ns.flush()
        ctrl.admin.submit(Admin.FORMAT, 1)
        machine.step(1000)
        self.cut(machine)
        ns = self.restart(ctrl)
        # As after a reset, it has to be formatted anew.
        self.assertEqual(ns.simple(Op.VERIFY, 0, UNIT), FORMAT_IN_PROGRESS)
        ctrl.check(Admin.FORMAT, 1)
        self.assertEqual(ns.read(0, UNIT), bytes(UNIT))
        self.finish(machine)

    def test_timeline(self) -> None:
        """What records the drive goes on with the one that comes up."""
        machine, ctrl, ns = self.powered(more=",trace={dir}/trace")
        ns.write(0, pattern(1, UNIT))
        self.cut(machine)
        ns = self.restart(ctrl)
        ns.write(0, pattern(2, UNIT), FUA)
        commands = self.finish(machine)
        self.assertEqual(len(commands), 2)
        self.assertGreater((machine.dir / "trace").stat().st_size, 0)


class Promises(Power):
    """What Identify says."""

    def test_write_cache(self) -> None:
        for keys, present in ((BUFFER, True), (CUTS, False), (PLP, False)):
            with self.subTest(keys):
                machine, ctrl, ns = self.powered(keys)
                self.assertEqual(ctrl.identify(1)[525], 7 if present else 6)
                status = ctrl.command(GET_FEATURES, cdw=(VOLATILE_WRITE_CACHE,)).status
                self.assertEqual(status, Status.OK if present else Status.INVALID_FIELD)
                off = ctrl.command(Admin.SET_FEATURES, cdw=(VOLATILE_WRITE_CACHE, 0)).status
                self.assertEqual(off, Status.OK if present else Status.INVALID_FIELD)
                # Where there is none, or it is off, what has completed lasts.
                for at in range(32):
                    ns.write(at * UNIT, pattern(at, UNIT))
                self.cut(machine)
                ns = self.restart(ctrl)
                for at in range(32):
                    self.assertEqual(ns.read(at * UNIT, UNIT), pattern(at, UNIT))
                self.assertEqual(ctrl.identify(1)[525], 7 if present else 6)
                self.finish(machine)

    def test_of_other_drives(self) -> None:
        """A cache is said to be there, as of any drive of QEMU's."""
        for keys in ("nand.power_cuts=0", "controller.buffer_bytes=1048576"):
            machine, ctrl, _ = self.drive(more=overrides(keys))
            self.assertEqual(ctrl.identify(1)[525], 7)
            self.assertEqual(ctrl.identify(0, 1)[33], 9)
            self.finish(machine)

    def test_atomic_writes(self) -> None:
        """NAWUN, NAWUPF, NABSN, NABO, NABSPF: what is inside a unit; AWUN, AWUPF: a block."""
        packed = f"{CUTS};geometry.page_bytes=16384;ftl.unit_bytes="
        for block, unit, said in (
            (512, 4096, (7, 7, 7, 0, 7)),
            (4096, 4096, (0, 0, 0, 0, 0)),
            (4096, 16384, (3, 3, 3, 0, 3)),
            (512, 512, (0, 0, 0, 0, 0)),
        ):
            with self.subTest(block=block, unit=unit):
                machine, ctrl, _ = self.powered(
                    f"{packed}{unit}",
                    more_ns=f",logical_block_size={block},physical_block_size={block}",
                )
                page = ctrl.identify(0, 1)
                at = (34, 36, 40, 42, 44)  # but NACWU, at 38
                found = tuple(int.from_bytes(page[x : x + 2], "little") for x in at)
                self.assertEqual(found, said)
                self.assertEqual(bool(page[24] & 2), said[0] > 0)  # NSABP
                self.assertEqual(ctrl.identify(1)[526:530], bytes(4))
                self.finish(machine)

    def test_formats(self) -> None:
        """Only logical blocks that a cut cannot tear."""
        packed = f"{CUTS};geometry.page_bytes=4096;ftl.unit_bytes="
        for unit, formats in ((4096, [9, 12]), (2048, [9])):
            machine, ctrl, _ = self.powered(f"{packed}{unit}")
            page = ctrl.identify(0, 1)
            found = [page[128 + 4 * index + 2] for index in range(page[25] + 1)]
            self.assertEqual(found, formats)
            status = ctrl.command(Admin.FORMAT, 1, cdw=(1,)).status
            self.assertEqual(status == 0, len(formats) > 1)
            self.finish(machine)

    def test_deallocation(self) -> None:
        """With ftl.recovery=1 it changes nothing, and Identify promises nothing of it."""
        for recovery, said in ((1, 0), (2, 9)):
            with self.subTest(recovery):
                keys = f"nand.power_cuts=1;ftl.recovery={recovery};controller.buffer_bytes=65536"
                machine, ctrl, ns = self.powered(keys)
                self.assertEqual(ctrl.identify(0, 1)[33], said)
                old, zeroes = pattern(1, UNIT), bytes(UNIT)
                ns.write(0, old)
                ns.write(UNIT, old)
                self.assertEqual(ns.deallocate([(0, UNIT)]), 0)
                self.assertEqual(ns.simple(Op.WRITE_ZEROES, UNIT, UNIT), 0)
                ns.flush()
                now = old if recovery == 1 else zeroes
                self.assertEqual((ns.read(0, UNIT), ns.read(UNIT, UNIT)), (now, zeroes))
                self.cut(machine)
                ns = self.restart(ctrl)
                self.assertEqual((ns.read(0, UNIT), ns.read(UNIT, UNIT)), (now, zeroes))
                self.finish(machine)


class Shutdown(Power):
    def unsafe_and_clean(self, keys: str, shut_down: bool) -> tuple[int, tuple[int, int]]:
        """How long a start takes after writes and a cut, and what SMART says then."""
        machine, ctrl, ns = self.powered(keys)
        for at in range(0, 8 * MIB, 128 * KIB):
            ns.write(at, pattern(at, 128 * KIB))
        if shut_down:
            ctrl.shutdown()
        self.cut(machine)
        waited = self.start(ctrl)
        ns = Namespace(ctrl.create_queue())
        if shut_down:
            for at in range(0, 8 * MIB, 128 * KIB):
                self.assertEqual(ns.read(at, 128 * KIB), pattern(at, 128 * KIB))
        counts = self.smart(ctrl)
        self.finish(machine)
        return waited, counts

    def test_a_clean_start_is_faster(self) -> None:
        for keys in (BUFFER, CUTS, DEMAND):
            with self.subTest(keys):
                unsafe, counted = self.unsafe_and_clean(keys, shut_down=False)
                self.assertEqual(counted, (2, 1))
                clean, counted = self.unsafe_and_clean(keys, shut_down=True)
                self.assertEqual(counted, (2, 0))
                self.assertLess(clean * 10, unsafe)

    def test_of_a_drive_whose_power_cannot_fail(self) -> None:
        machine, ctrl, _ = self.drive()
        self.assertEqual(self.smart(ctrl), (0, 0))
        self.finish(machine)

    def test_what_counts_as_unsafe(self) -> None:
        machine, ctrl, ns = self.powered()
        self.assertEqual(self.smart(ctrl), (1, 0))
        for name, counted in (
            ("nothing", (2, 1)),
            ("abrupt", (3, 2)),
            ("normal", (4, 2)),
            ("normal, but started again", (5, 3)),
            ("normal, and reset", (6, 3)),
            ("normal, but not complete", (7, 4)),
            ("normal, but taken back", (8, 5)),
            ("while it recovers", (10, 7)),
        ):
            with self.subTest(name):
                ns.write(0, pattern(counted[0], UNIT))
                if name == "abrupt":
                    machine.writel(ctrl.bar + CC, SHN_ABRUPT)
                    ctrl.wait_for_shutdown()
                elif name.startswith("normal"):
                    ctrl.notify_shutdown()
                    if name != "normal, but not complete":
                        ctrl.wait_for_shutdown()
                if name in ("normal, and reset", "normal, but started again"):
                    ctrl.disable()
                if name == "normal, but started again":
                    ctrl.enable()
                elif name == "normal, but taken back":
                    machine.writel(ctrl.bar + CC, SHN_NORMAL & ~0xC000)
                    ns.write(0, pattern(0, UNIT))
                elif name == "while it recovers":
                    self.cut(machine)
                self.cut(machine)
                ns = self.restart(ctrl)
                self.assertEqual(self.smart(ctrl), counted)
        # It is of the drive's life: a reset changes nothing.
        ctrl.disable()
        ctrl.enable()
        self.assertEqual(self.smart(ctrl), (10, 7))
        self.finish(machine)

    def test_rest(self) -> None:
        """It is complete when collections have ended, too: by then a cut finds all in place."""
        keys = f"{BUFFER};gc.background_free_blocks=20"
        machine, ctrl, ns = self.powered(keys, more=",age=900")
        _, prp = ns.buffer(128 * KIB)
        for at in range(64):
            ns.queue.wait_coarsely([ns.start(Op.WRITE, at * 128 * KIB, 128 * KIB, prp)])
        ctrl.shutdown()
        before = machine.stats()
        machine.step(1_000_000_000)
        after = machine.stats()
        self.assertEqual(before["gc_page_programs"], after["gc_page_programs"])
        self.assertGreater(before["gc_runs"], 0)
        self.cut(machine)
        self.restart(ctrl)
        self.assertEqual(self.smart(ctrl), (2, 0))
        self.finish(machine)

    def subsystem(self, keys: str = BUFFER, more: str = "") -> tuple[Machine, list[Controller]]:
        machine = self.machine(
            ["-device", "nvme-subsys,id=s0"],
            flash(more=overrides(keys) + more),
            *(["-device", f"nvme,id=nvme{n},serial=same,subsys=s0,addr={4 + n}"] for n in range(2)),
            namespace(),
        )
        return machine, [Controller(machine, 4 + n) for n in range(2)]

    def test_of_one_of_two(self) -> None:
        """The first to go only flushes: the other one's host goes on."""
        machine, (first, second) = self.subsystem()
        ns = Namespace(second.create_queue())
        _, prp = ns.buffer(128 * KIB)
        cids = [ns.start(Op.WRITE, at * 128 * KIB, 128 * KIB, prp) for at in range(40)]
        first.shutdown()
        self.assertEqual(machine.stats()["flushes"], 1)
        for cid in cids:
            ns.queue.wait(cid)
        second.shutdown()
        self.cut(machine)
        self.start(first)
        self.assertEqual(self.smart(first), (2, 0))
        self.finish(machine)

    def test_another_starts_meanwhile(self) -> None:
        """The shutdown is over when the drive is not to come to rest any more."""
        machine, (first, second) = self.subsystem()
        ns = Namespace(first.create_queue())
        second.disable()
        _, prp = ns.buffer(128 * KIB)
        for at in range(40):
            ns.queue.wait_coarsely([ns.start(Op.WRITE, at * 128 * KIB, 128 * KIB, prp)])
        first.notify_shutdown()
        machine.step(1000)
        self.assertEqual(self.csts(first) & SHST_MASK, SHST_BUSY)
        second.enable()
        ns = Namespace(second.create_queue())
        first.wait_for_shutdown()
        ns.write(0, pattern(1, UNIT))
        self.cut(machine)
        self.start(first)
        self.assertEqual(self.smart(first), (2, 1))
        self.finish(machine)

    def write_much(self, ctrl: Controller) -> None:
        """So much that collections go on for some time when all has been flushed."""
        ns = Namespace(ctrl.create_queue())
        _, prp = ns.buffer(128 * KIB)
        for at in range(64):
            ns.queue.wait_coarsely([ns.start(Op.WRITE, at * 128 * KIB, 128 * KIB, prp)])

    def test_another_does_not_wait_any_more(self) -> None:
        """Two wait for the drive to rest; what becomes of one does not keep the other waiting."""
        for how, rests in (("reset", True), ("taken back", False)):
            with self.subTest(how):
                machine, (first, second) = self.subsystem(COLLECTS, ",age=900")
                self.write_much(first)
                first.notify_shutdown()
                second.notify_shutdown()
                # All is flushed by then, and collections go on.
                machine.step(200_000_000)
                for ctrl in (first, second):
                    self.assertEqual(self.csts(ctrl) & SHST_MASK, SHST_BUSY)
                if how == "reset":
                    second.disable()
                else:
                    machine.writel(second.bar + CC, SHN_NORMAL & ~0xC000)
                first.wait_for_shutdown()
                self.cut(machine)
                self.start(first)
                self.assertEqual(self.smart(first), (2, 0 if rests else 1))
                self.finish(machine)

    def test_of_another_subsystem(self) -> None:
        """One waits for the drive to rest; what another subsystem's does is told to it, too."""
        for how in ("starts", "reset", "taken back"):
            with self.subTest(how):
                machine = self.machine(
                    flash(more=overrides(COLLECTS) + ",age=900"),
                    *(controller(bus) for bus in range(2)),
                    *(
                        namespace(bus=bus, more=f",nsid=1,size={n * MIB}")
                        for bus, n in ((0, 8), (1, 2))
                    ),
                )
                first, second = (Controller(machine, 4 + bus) for bus in range(2))
                if how == "starts":
                    second.disable()
                self.write_much(first)
                first.notify_shutdown()
                if how != "starts":
                    second.notify_shutdown()
                machine.step(200_000_000)
                self.assertEqual(self.csts(first) & SHST_MASK, SHST_BUSY)
                if how == "starts":
                    second.enable()
                elif how == "reset":
                    second.disable()
                else:
                    machine.writel(second.bar + CC, SHN_NORMAL & ~0xC000)
                first.wait_for_shutdown()
                self.cut(machine)
                self.start(first)
                self.assertEqual(self.smart(first), (2, 0 if how == "reset" else 1))
                self.finish(machine)

    def shut_down(self, at_rest: int = 0, told: int = 0) -> list[int]:
        """When something happened; a write comes between those times, if they are known."""
        machine, ctrl, ns = self.powered(DEMAND)
        for at in range(64):
            ns.write(at * UNIT, pattern(at, UNIT))
        _, prp = ns.buffer(UNIT)
        ctrl.notify_shutdown()
        times = [machine.step(1)]
        cid = None
        while self.csts(ctrl) & SHST_MASK != SHST_DONE:
            if times[-1] == at_rest:
                machine.step((told - at_rest) // 2)
                cid = ns.start(Op.WRITE, MIB, UNIT, prp, FUA)
            times.append(machine.step_to_next())
        if told:
            # The drive has come to rest again, after it.
            assert cid
            self.assertIsNotNone(ns.queue.done(cid))
        self.finish(machine)
        return times

    def test_a_late_write(self) -> None:
        """No shutdown is complete with a write in flight that came when the drive was at rest."""
        *_, at_rest, told = self.shut_down()
        self.assertGreater(told - at_rest, 100_000)
        self.shut_down(at_rest, told)

    def test_while_it_recovers(self) -> None:
        machine, ctrl, ns = self.powered()
        ns.write(0, pattern(1, UNIT), FUA)
        self.cut(machine)
        ctrl.ask_enable()
        ctrl.notify_shutdown()
        machine.step(1000)
        self.assertEqual(self.csts(ctrl) & (SHST_MASK | READY), SHST_BUSY)
        ctrl.wait_for_shutdown()
        self.assertTrue(self.csts(ctrl) & READY)
        self.cut(machine)
        ns = self.restart(ctrl)
        self.assertEqual(self.smart(ctrl), (3, 1))
        self.assertEqual(ns.read(0, UNIT), pattern(1, UNIT))
        self.finish(machine)

    def test_cut_while_it_recovers(self) -> None:
        """The shutdown will never be complete, and a controller that waits to start says so."""
        machine, ctrl, _ = self.powered()
        self.cut(machine)
        ctrl.ask_enable()
        ctrl.notify_shutdown()
        self.cut(machine)
        self.assertEqual(self.csts(ctrl), FATAL)
        machine.step(1_000_000_000)
        self.assertEqual(self.csts(ctrl), FATAL)
        self.restart(ctrl)
        self.finish(machine)


class Refused(Power):
    """What could not keep its promises after a cut, in one line that names the key."""

    def refuse(self, *words: str, keys: str = CUTS, ctrl: str = "", more_ns: str = "") -> None:
        device = f"nvme-flash,id=f0,description={DESCRIPTION}{overrides(keys)}"
        nvme = f"nvme,id=nvme0,serial=scarp0{ctrl}"
        text = start_fails(
            self.qemu, ["-device", device, "-device", nvme, *namespace(more=more_ns)]
        )
        self.assertEqual(len(text.splitlines()), 1, text)
        for word in words:
            self.assertIn(word, text)

    def test_blocks_larger_than_a_unit(self) -> None:
        self.refuse(
            "logical_block_size: 4096", "2048 bytes (ftl.unit_bytes)", "nand.power_cuts=1",
            keys=f"{CUTS};ftl.unit_bytes=2048",
            more_ns=",logical_block_size=4096,physical_block_size=4096",
        )  # fmt: skip

    def test_zones(self) -> None:
        self.refuse("zoned: not supported with nand.power_cuts=1", more_ns=",zoned=on")

    def test_larger_atomic_writes(self) -> None:
        words = "atomic.awupf: must be 0", "nand.power_cuts"
        self.refuse(*words, ctrl=",atomic.awun=15,atomic.awupf=7")
        # Of a controller that comes later, too.
        device = f"nvme-flash,id=f0,description={DESCRIPTION}{overrides(CUTS)}"
        nvme = "nvme,subsys=s0,serial=same"
        text = start_fails(
            self.qemu,
            [
                *("-device", "nvme-subsys,id=s0", "-device", device),
                *("-device", f"{nvme},id=nvme0", *namespace()),
                *("-device", f"{nvme},id=nvme1,atomic.awun=15,atomic.awupf=7"),
            ],
        )
        self.assertEqual(len(text.splitlines()), 1, text)
        for word in words:
            self.assertIn(word, text)

    def test_larger_atomic_writes_while_it_runs(self) -> None:
        """A controller that is refused then leaves nothing of itself in its subsystem."""
        nvme = "nvme,subsys=s0,serial=same"
        machine = self.machine(
            ["-device", "nvme-subsys,id=s0"],
            flash(more=overrides(CUTS)),
            ["-device", "pcie-root-port,id=port0,chassis=1,addr=5"],
            ["-device", f"{nvme},id=nvme0,addr=4"],
            namespace(),
        )
        ctrl = Controller(machine)
        before = ctrl.identify(CONTROLLERS)
        with self.assertRaisesRegex(AssertionError, "atomic.awupf: must be 0"):
            machine.qmp(
                "device_add",
                driver="nvme",
                id="nvme1",
                bus="port0",
                subsys="s0",
                serial="same",
                **{"atomic.awun": 15, "atomic.awupf": 7},
            )
        self.assertEqual(ctrl.identify(CONTROLLERS), before)
        self.cut(machine)
        self.restart(ctrl)
        self.finish(machine)

    def test_what_takes_too_long(self) -> None:
        self.refuse(
            "geometry.blocks_per_plane", "geometry.pages_per_block", "timing",
            "nand.power_cuts=1", "allowed are 32767 s",
            keys=f"{CUTS};timing.read_ns=1000000000;geometry.blocks_per_plane=4096",
        )  # fmt: skip


class OnTheHostsClock(Power):
    """The same, where the engine has a thread of its own."""

    def ready(self, ctrl: Controller) -> None:
        ctrl.machine.wait_until(lambda: bool(self.csts(ctrl) & READY), "the controller is ready")

    def started(self, keys: str) -> tuple[Machine, Controller, Namespace]:
        machine = self.drive_machine(more=f"{overrides(keys)},clock=realtime")
        ctrl = HostController(machine)
        return machine, ctrl, Namespace(ctrl.create_queue())

    def test_cut(self) -> None:
        machine, ctrl, ns = self.started(BUFFER)
        cuts = 0
        for turn in range(10):
            ns.write(0, pattern(turn, UNIT), FUA)
            ns.write(UNIT, pattern(turn, UNIT))
            _, prp = ns.buffer(128 * KIB)
            for at in range(8):
                ns.start(Op.WRITE, (1 + at) * 128 * KIB, 128 * KIB, prp)
            if turn % 2:
                ctrl.admin.submit(Admin.FLASH, cdw=(CUT_POWER,))
                while machine.stats()["power_cuts"] == cuts:
                    machine.step(1000)  # its own timer
            else:
                self.cut(machine)
            self.assertTrue(self.csts(ctrl) & FATAL)
            ctrl.ask_enable()
            if turn % 3 == 0:
                self.cut(machine)
                if self.csts(ctrl) & FATAL:
                    # It was ready already.
                    ctrl.ask_enable()
            cuts = machine.stats()["power_cuts"]
            self.ready(ctrl)
            ns = Namespace(ctrl.create_queue())
            self.assertEqual(ns.read(0, UNIT), pattern(turn, UNIT))
            self.assertIn(
                ns.read(UNIT, UNIT), [bytes(UNIT), *(pattern(t, UNIT) for t in range(turn + 1))]
            )
        self.assertEqual(cuts, 14)
        self.finish(machine)

    def test_paused(self) -> None:
        """A drive that stands still with its guest recovers when that goes on."""
        machine, ctrl, ns = self.started(CUTS)
        ns.write(0, pattern(1, UNIT))
        machine.qmp("stop")
        self.cut(machine)
        ctrl.ask_enable()
        self.assertEqual(self.power(machine), "recovers")
        machine.qmp("cont")
        self.ready(ctrl)
        ns = Namespace(ctrl.create_queue())
        self.assertEqual(ns.read(0, UNIT), pattern(1, UNIT))
        self.finish(machine)

    def test_shutdown(self) -> None:
        machine, ctrl, ns = self.started(BUFFER)
        for at in range(8):
            ns.write(at * UNIT, pattern(at, UNIT))
        ctrl.notify_shutdown()

        def done() -> bool:
            machine.step(1_000_000)
            return self.csts(ctrl) & SHST_MASK == SHST_DONE

        machine.wait_until(done, "the shutdown's end")
        self.cut(machine)
        ctrl.ask_enable()
        self.ready(ctrl)
        ns = Namespace(ctrl.create_queue())
        self.assertEqual(ns.read(0, 8 * UNIT), b"".join(pattern(at, UNIT) for at in range(8)))
        self.assertEqual(self.smart(ctrl), (2, 0))
        self.finish(machine)
