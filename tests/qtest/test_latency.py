# SPDX-License-Identifier: GPL-2.0-or-later
"""Completions come at their nanosecond, and waiting is charged to what was waited for."""

from __future__ import annotations

import configparser
from collections.abc import Callable

from fixture import DESCRIPTION, KIB, DriveTest, pattern
from logs import Command
from nvme import FUA, Namespace, Op

# The order of ScarpCause in ftl/scarp.h
CAUSES = (
    "controller",
    "link",
    "host_queue",
    "buffer_full",
    "order",
    "die_host_read",
    "die_host_program",
    "die_gc_read",
    "die_gc_program",
    "die_erase",
    "die_gc_held",
    "no_space",
    "channel",
    "array",
    "transfer",
    "rmw",
    "mapping",
    "suspended",
    "die_suspend",
)
OWN_WORK = {"controller", "link", "array", "transfer"}
LONG_NS = 100_000_000


def causes(command: Command) -> dict[str, int]:
    """The causes that took time."""
    return {name: ns for name, ns in zip(CAUSES, command.causes, strict=True) if ns}


class Model:
    """Idle latencies as docs/model.md states them, from the drive's description."""

    def __init__(self) -> None:
        file = configparser.ConfigParser()
        file.read(DESCRIPTION)
        value = {
            key: int(text)
            for group in file.values()
            for key, text in group.items()
            if text.isdigit()
        }
        self.firmware = value["firmware_ns"]
        self.command = value["command_ns"]
        self.t_r, self.t_prog = value["read_ns"], value["program_ns"]
        self.channel_mts, self.link_mbs = value["channel_mts"], value["link_mbs"]

    def channel(self, size: int) -> int:
        return -(-size * 1000 // self.channel_mts)

    def link(self, size: int) -> int:
        return -(-size * 1000 // self.link_mbs)

    def read(self, size: int, pages: int = 1) -> int:
        """Pages of one command lie on different channels."""
        page = size // pages
        return self.firmware + self.command + self.t_r + self.channel(page) + self.link(size)

    def write(self, size: int) -> int:
        return self.firmware + self.link(size) + self.command + self.channel(size) + self.t_prog


Start = Callable[[Namespace, tuple[int, int]], int]


class Latency(DriveTest):
    def prepared(self) -> tuple[Namespace, tuple[int, int]]:
        """A drive at rest with some data on flash."""
        machine, _, ns = self.drive()
        for index in range(32):
            ns.write(index * 4 * KIB, pattern(index, 4 * KIB))
        ns.flush()
        machine.step(LONG_NS)
        return ns, ns.buffer(8 * KIB)[1]

    def run_alone(self, start: Start) -> Command:
        ns, prp = self.prepared()
        ns.queue.wait(start(ns, prp))
        return self.finish(ns.machine)[-1]

    def test_completion_at_its_nanosecond(self) -> None:
        model = Model()
        page = 4 * KIB
        cases: dict[str, tuple[int, Start]] = {
            "read": (model.read(page), lambda ns, prp: ns.start(Op.READ, 0, page, prp)),
            "large read": (
                model.read(2 * page, 2),
                lambda ns, prp: ns.start(Op.READ, 0, 2 * page, prp),
            ),
            "never written": (
                model.firmware + model.link(page),
                lambda ns, prp: ns.start(Op.READ, 1024 * KIB, page, prp),
            ),
            "write": (model.write(page), lambda ns, prp: ns.start(Op.WRITE, 0, page, prp)),
            "write through": (
                model.write(page),
                lambda ns, prp: ns.start(Op.WRITE, 0, page, prp, FUA),
            ),
            "write zeroes": (model.firmware, lambda ns, prp: ns.start(Op.WRITE_ZEROES, 0, page)),
        }
        for name, (expected_ns, start) in cases.items():
            with self.subTest(name):
                ns, prp = self.prepared()
                cid = start(ns, prp)
                ns.machine.step(expected_ns - 1)
                self.assertIsNone(ns.queue.done(cid))
                ns.machine.step(1)
                self.assertIsNotNone(ns.queue.done(cid))
                self.assertEqual(self.finish(ns.machine)[-1].latency_ns, expected_ns)

    def test_an_idle_drive_does_only_its_own_work(self) -> None:
        read = self.run_alone(lambda ns, prp: ns.start(Op.READ, 0, 4 * KIB, prp))
        self.assertLessEqual(set(causes(read)), OWN_WORK)
        self.assertGreater(causes(read)["array"], 0)

    def test_never_written_costs_no_flash(self) -> None:
        read = self.run_alone(lambda ns, prp: ns.start(Op.READ, 1024 * KIB, 4 * KIB, prp))
        self.assertLessEqual(set(causes(read)), {"controller", "link"})

    def test_two_reads_of_one_die(self) -> None:
        alone = self.run_alone(lambda ns, prp: ns.start(Op.READ, 0, 4 * KIB, prp))
        ns, prp = self.prepared()
        cids = [ns.start(Op.READ, 0, 4 * KIB, prp, ring=False) for _ in range(2)]
        ns.queue.ring()
        for cid in cids:
            ns.queue.wait(cid)
        first, second = self.finish(ns.machine)[-2:]
        self.assertEqual(first.latency_ns, alone.latency_ns)
        self.assertGreater(causes(second).get("die_host_read", 0), 0)
        self.assertGreaterEqual(second.latency_ns, first.latency_ns + causes(first)["array"])

    def test_a_read_behind_a_program(self) -> None:
        ns, prp = self.prepared()
        # Other pages than the read's, which would be served from the write's data.
        write = ns.start(Op.WRITE, 1024 * KIB, 128 * KIB, self.pages(ns, 128 * KIB), FUA)
        ns.machine.step(60_000)  # after firmware and the link's 41 us: dies program
        read = ns.start(Op.READ, 0, 4 * KIB, prp)
        for cid in [write, read]:
            ns.queue.wait(cid)
        waited = [
            causes(command).get("die_host_program", 0)
            for command in self.finish(ns.machine)
            if command.op == 0
        ]
        self.assertGreater(max(waited), 0)

    @staticmethod
    def pages(ns: Namespace, size: int) -> tuple[int, int]:
        addr, prp = ns.buffer(size)
        ns.machine.write(addr, pattern(9, size))
        return prp
