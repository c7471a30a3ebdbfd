# SPDX-License-Identifier: GPL-2.0-or-later
"""Another scheme on the running drive: by vendor command C1h, with the reason in log page CBh."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from fixture import KIB, TWO_PLANES, DriveTest
from machine import Machine
from nvme import Admin, Controller, Op, Status
from test_gc import UNIT, Shadow

SCHEME_LOG = 0xCB
PAGE_BYTES = 4096


@dataclass
class SchemePage:
    accepted: int
    refused: int
    switched_ns: int
    scheme: str
    reason: str


def scheme_page(ctrl: Controller) -> SchemePage:
    status, data = ctrl.get_log(SCHEME_LOG, PAGE_BYTES)
    assert status == 0
    magic, version, accepted, refused, _, switched_ns, scheme, reason = struct.unpack(
        "<8s4IQ1024s3040s", data
    )
    assert (magic, version) == (b"SCARPSC1", 1)
    return SchemePage(
        accepted, refused, switched_ns, scheme.rstrip(b"\0").decode(), reason.rstrip(b"\0").decode()
    )


def set_scheme(ctrl: Controller, text: bytes | str, dwords: int | None = None) -> int:
    """Vendor command C1h; returns its status."""
    data = text.encode() if isinstance(text, str) else text
    data += bytes(-len(data) % 4)
    buffer = ctrl.machine.alloc(max(len(data), PAGE_BYTES))
    ctrl.machine.write(buffer, data.ljust(PAGE_BYTES, b"\xee"))
    count = len(data) // 4 if dwords is None else dwords
    return ctrl.command(Admin.FLASH_SCHEME, 0, buffer, (count,)).status


def running(machine: Machine) -> object:
    return machine.qmp("qom-get", path="/machine/peripheral/f0", property="running-scheme")


class Switch(DriveTest):
    def test_switch(self) -> None:
        machine, ctrl, _ = self.drive(
            scheme="pgc", more=f",params=pgc_floor=2,overrides={';'.join(TWO_PLANES)}"
        )
        page = scheme_page(ctrl)
        self.assertEqual((page.accepted, page.refused, page.switched_ns), (0, 0, 0))
        self.assertEqual((page.scheme, page.reason), ("pgc:pgc_floor=2", ""))
        for number, text in enumerate(("gc-vic+pgc", "d-choices:d=4", "gftl:gftl_floor=1\n"), 1):
            self.assertEqual(set_scheme(ctrl, text), Status.OK)
            page = scheme_page(ctrl)
            self.assertEqual((page.accepted, page.refused), (number, 0))
            self.assertEqual((page.scheme, page.reason), (text.strip(), ""))
            self.assertEqual(running(machine), text.strip())
            self.assertEqual(machine.stats()["scheme"], text.partition(":")[0])
        self.assertGreater(page.switched_ns, 0)
        # ';' where a shell or a property's list would take ','
        self.assertEqual(set_scheme(ctrl, "d-choices+pgc:d=4;pgc_floor=2"), Status.OK)
        self.finish(machine)

    def test_refused_with_the_reason_and_nothing_changed(self) -> None:
        machine, ctrl, ns = self.drive(scheme="gftl")
        number = 0
        for text, says in (
            ("nonsense", "scheme=nonsense: unknown; allowed"),
            ("gftl+pgc", "'gftl' and 'pgc' are both choices of one axis, pacing"),
            ("d-choices:d=0", "from 1 to 1024"),
            ("gftl:d=4", "has no parameter 'd'"),
            ("gftl:d", "must be key=value"),
            ("dynamic", "keeps its kind of write allocation"),
            (":d=4", "unknown"),
            ("\0\0\0\0", "unknown"),
            ("bas\x01line", "printable"),
            (b"b\xc3\xa4seline", "printable"),
        ):
            with self.subTest(text):
                number += 1
                self.assertEqual(set_scheme(ctrl, text), Status.INVALID_FIELD)
                page = scheme_page(ctrl)
                self.assertIn(says, page.reason)
                self.assertEqual((page.accepted, page.refused), (0, number))
                self.assertEqual((page.scheme, running(machine)), ("gftl", "gftl"))
        # The next that is accepted leaves no reason behind.
        self.assertEqual(set_scheme(ctrl, "pgc"), Status.OK)
        self.assertEqual(scheme_page(ctrl).reason, "")
        self.assertEqual(ns.write(0, bytes(UNIT)).status, 0)
        self.finish(machine)

    def test_length(self) -> None:
        machine, ctrl, _ = self.drive()
        for dwords in (0, 257, 1024, 0xFFFFFFFF):
            with self.subTest(dwords):
                self.assertEqual(set_scheme(ctrl, "pgc", dwords), Status.INVALID_FIELD)
                self.assertIn("from 1 to 256", scheme_page(ctrl).reason)
        self.assertEqual(scheme_page(ctrl).scheme, "baseline")
        # The whole buffer, without a zero at its end: too long a name, but in bounds.
        self.assertEqual(set_scheme(ctrl, "x" * 1024), Status.INVALID_FIELD)
        self.assertIn("unknown", scheme_page(ctrl).reason)
        # Nor one in a single dword, with something else after it.
        self.assertEqual(set_scheme(ctrl, "fifo"), Status.OK)
        # What follows a zero is not looked at.
        self.assertEqual(set_scheme(ctrl, b"pgc\0" + b"\xff" * 1020), Status.OK)
        self.assertEqual(scheme_page(ctrl).scheme, "pgc")
        self.finish(machine)

    def test_qmp_and_command_share_one_state(self) -> None:
        machine, ctrl, _ = self.drive()
        path = "/machine/peripheral/f0"
        machine.qmp("qom-set", path=path, property="running-scheme", value="pgc:pgc_floor=3")
        with self.assertRaisesRegex(AssertionError, "running-scheme: scheme=none: unknown"):
            machine.qmp("qom-set", path=path, property="running-scheme", value="none")
        with self.assertRaisesRegex(AssertionError, "at most 1024 characters"):
            machine.qmp("qom-set", path=path, property="running-scheme", value="x" * 1025)
        page = scheme_page(ctrl)
        self.assertEqual((page.accepted, page.refused, page.scheme), (1, 2, "pgc:pgc_floor=3"))
        self.assertIn("1024", page.reason)
        self.finish(machine)

    def test_reads_past_the_page_are_refused(self) -> None:
        machine, ctrl, _ = self.drive()
        buffer = machine.alloc(PAGE_BYTES)
        done = ctrl.command(Admin.GET_LOG, 0xFFFFFFFF, buffer, (SCHEME_LOG | 255 << 16, 0, 4096))
        self.assertEqual(done.status, Status.INVALID_FIELD)
        self.finish(machine)

    def test_mid_io(self) -> None:
        """With commands and collections in flight, from and to each pacing."""
        machine, ctrl, ns = self.drive(more=f",overrides={';'.join(TWO_PLANES)}")
        shadow = Shadow(machine, ns, seed=11)
        until = 2 * shadow.units
        while shadow.written_units < until:
            shadow.round(trim=False)
        _, prp = ns.buffer(4 * KIB)
        for text in ("gftl", "pgc", "gc-par", "paragc", "pregc+gftl", "ideal", "baseline"):
            cids = [ns.start(Op.READ, unit * UNIT, UNIT, prp) for unit in range(64)]
            self.assertEqual(set_scheme(ctrl, text), Status.OK)
            stats = machine.stats()
            self.assertGreater(stats["cmds_accepted"], stats["cmds_completed"], text)
            for cid in cids:
                self.assertEqual(ns.queue.wait(cid).status, 0)
            until += shadow.units // 2
            while shadow.written_units < until:
                shadow.round(trim=True)
        shadow.verify()
        stats = machine.stats()
        self.assertGreater(stats["gc_runs"], 0)
        self.assertEqual(stats["oob_mismatches"], 0)
        self.finish(machine)

    def test_idle_drive_looks_at_once(self) -> None:
        """Nothing else happens: the switch alone must wake the drive."""
        machine, ctrl, _ = self.drive(more=",age=900")
        machine.step(10**9)
        self.assertEqual(set_scheme(ctrl, "pregc:t_block=1000"), Status.OK)
        machine.step(10**9)
        self.assertGreater(machine.stats()["premigrated_units"], 0)
        self.finish(machine)

    def test_not_without_a_flash(self) -> None:
        machine = self.machine(
            ["-blockdev", "null-co,node-name=n0,size=1048576"],
            ["-device", "nvme,id=nvme0,serial=plain,addr=4,drive=n0"],
        )
        ctrl = Controller(machine)
        self.assertEqual(set_scheme(ctrl, "pgc"), Status.INVALID_OPCODE)
        self.assertEqual(ctrl.get_log(SCHEME_LOG, PAGE_BYTES)[0], Status.INVALID_FIELD)
        self.assertEqual((machine.quit(), machine.stderr()), (0, ""))


if __name__ == "__main__":
    raise SystemExit("run tests/qtest/run.py")
