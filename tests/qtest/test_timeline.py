# SPDX-License-Identifier: GPL-2.0-or-later
"""The device's property trace: a timeline of the same commands as the command log's."""

from __future__ import annotations

from pathlib import Path

import timeline
from fixture import KIB, DriveTest
from logs import read_gc_runs
from nvme import Op

TRACE = ",age=900,trace={dir}/trace"


class Timeline(DriveTest):
    def traced(self, more: str) -> tuple[list[timeline.Slice], Path]:
        machine, _, ns = self.drive(more=more)
        _, prp = ns.buffer(16 * KIB)
        for number in range(300):
            cids = [
                ns.start(Op.WRITE, (number * 7919 + i * 13) % 2000 * 4 * KIB, 4 * KIB, prp)
                for i in range(4)
            ]
            cids.append(ns.start(Op.READ, number * 5 * 4 * KIB, 4 * KIB, prp))
            for cid in cids:
                ns.queue.wait(cid)
        self.commands = self.finish(machine)
        slices, _ = timeline.read(machine.dir / "trace")
        return slices, machine.dir

    def test_same_as_the_logs(self) -> None:
        slices, folder = self.traced(TRACE)
        shown = [s for s in slices if s.track == "commands"]
        self.assertEqual(
            sorted((s.begin_ns, s.end_ns, s.args["offset_bytes"]) for s in shown),
            sorted((c.submit_ns, c.complete_ns, c.offset) for c in self.commands),
        )
        runs = read_gc_runs(folder / "f0.gc")
        self.assertGreater(len(runs), 0)
        # What runs on when the guest is gone is not in the log.
        last_ns = max(run.end_ns for run in runs)
        self.assertEqual(
            sorted(
                (s.begin_ns, s.end_ns, s.args["moved_units"])
                for s in slices
                if s.track.endswith("GC") and s.end_ns <= last_ns
            ),
            sorted((run.begin_ns, run.end_ns, run.moved_units) for run in runs),
        )
        flows = {flow for s in shown for flow in s.flows}
        served = {flow for s in slices if s.category == "flash" for flow in s.flows}
        self.assertTrue(served and served <= flows)

    def test_window(self) -> None:
        slices, _ = self.traced(TRACE + ",trace-from-ns=50000000,trace-for-ns=30000000")
        self.assertTrue(slices)
        self.assertTrue(all(50_000_000 <= s.begin_ns < 80_000_000 for s in slices))
