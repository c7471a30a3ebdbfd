# SPDX-License-Identifier: GPL-2.0-or-later
"""Peer defect 4: parameters that are parsed and never read.  Each one here must change something.

A key that is new in ftl/core/description.c needs a row below; a scheme's parameters are found by
themselves.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import unittest
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts")]

from scarplib.build import replayer  # noqa: E402

DRIVE = ROOT / "tests" / "qtest" / "tiny.ini"
WORKLOAD = "gen:mixed,requests=1500,align=512,size=6000"
SUSPEND = "nand.suspend_program=1,nand.suspend_erase=1"
LAYERS = "nand.layers=4"
CUTS = "nand.power_cuts=1,ftl.recovery=1"
BUFFER = f"{CUTS},controller.buffer_bytes=65536"

# A small cache, whose blocks are folded while writes wait.
SLC = (
    "nand.cell_bits=4,timing.slc_read_ns=30000,timing.slc_program_ns=200000,"
    "timing.slc_erase_ns=2000000,slc.static_blocks=4,slc.full=fold,slc.fold_idle_us=1000"
)
# key: another value, and what else the drive must have for it to matter
KEYS: dict[str, tuple[str, str]] = {
    "geometry.channels": ("4", ""),
    "geometry.chips_per_channel": ("2", ""),
    "geometry.dies_per_chip": ("4", ""),
    "geometry.planes_per_die": ("2", ""),
    "geometry.blocks_per_plane": ("80", ""),
    "geometry.pages_per_block": ("32", ""),
    "geometry.page_bytes": ("8192", ""),
    "timing.read_ns": ("75001", ""),
    "timing.program_ns": ("750001", ""),
    "timing.erase_ns": ("3800001", ""),
    "timing.command_ns": ("201", ""),
    "timing.channel_mts": ("401", ""),
    "timing.slc_read_ns": ("30001", SLC),
    "timing.slc_program_ns": ("200001", SLC),
    "timing.slc_erase_ns": ("2000001", SLC),
    "nand.layers": ("4", "nand.layer_fastest_permille=500"),
    "nand.layer_fastest_permille": ("500", LAYERS),
    "nand.layer_slowest_permille": ("1500", LAYERS),
    "nand.multiplane": ("1", "geometry.planes_per_die=2"),
    "nand.cache": ("1", ""),
    "nand.copyback": ("1", ""),
    "nand.suspend_program": ("1", ""),
    "nand.suspend_erase": ("1", "scheme=pgc"),
    "nand.suspend_limit": ("1", SUSPEND),
    "nand.suspend_min_ns": ("700000", SUSPEND),
    "nand.suspend_ns": ("20001", SUSPEND),
    "nand.resume_ns": ("10001", SUSPEND),
    "nand.bad_blocks_permille": ("20", ""),
    "nand.endurance_erases": ("3", ""),
    "nand.power_cuts": ("1", "ftl.recovery=1"),
    "controller.firmware_ns": ("5001", ""),
    "controller.link_mbs": ("3201", ""),
    "controller.slots": ("4", ""),
    "controller.queue": ("2", "scheme=deadline,controller.slots=4"),
    "controller.buffer_bytes": ("65536", ""),
    "controller.reads_first": ("0", ""),
    "controller.reads_first_limit": ("1", ""),
    "controller.gc_first_on_channel": ("1", ""),
    "ftl.unit_bytes": ("1024", ""),
    "ftl.over_provisioning_permille": ("400", ""),
    "ftl.allocation": ("pdwc", ""),
    "ftl.reclaim_planes": ("4", ""),
    "ftl.paired_pages": ("pad", f"{CUTS},nand.cell_bits=2,ftl.paired_pages=backup"),
    "ftl.parity_width": ("2", ""),
    "ftl.parity_stripes": ("2", "ftl.parity_width=2"),
    "ftl.mapping": ("demand", ""),
    "ftl.map_cache_bytes": ("2048", "ftl.mapping=demand"),
    "ftl.checkpoint_pages": ("40", f"{CUTS},ftl.mapping=demand"),
    "ftl.log_blocks": ("2", "ftl.mapping=block,ftl.over_provisioning_permille=400"),
    "ftl.superblock_blocks": ("2", "ftl.mapping=superblock,ftl.over_provisioning_permille=400"),
    "gc.trigger_free_blocks": ("4", ""),
    "gc.separate_active_block": ("0", ""),
    "gc.victim_candidates": ("1", ""),
    "gc.background_free_blocks": ("6", ""),
    "gc.wear_spread_erases": ("1", ""),
    "gc.after_reads": ("1", ""),
    "slc.static_blocks": ("5", SLC),
    "slc.full": ("direct", SLC),
    "lie.flush_ignored": ("1", BUFFER),
    "lie.flush_queued_only": ("1", BUFFER),
}  # fmt: skip
# Below, and in tests/unit: test-devices.c (the link), test-streams.c, test-ru.c, test-image.c
# (recovery), test-slc.c, test-heat.c, test-power-plp.c, test-power-lies.c (what only a power cut,
# or FUA, shows); in tests/qtest: test_access.py (deadlines).
ELSEWHERE = {
    "nand.cell_bits",
    "controller.pcie_generation",
    "controller.pcie_lanes",
    "controller.deadline_idle_us",
    "controller.deadline_normal_us",
    "controller.deadline_low_us",
    "controller.plp_bytes",
    "ftl.streams",
    "ftl.isolated_streams",
    "ftl.recovery",
    "slc.dynamic",
    "slc.endurance_erases",
    "slc.most_blocks",
    "slc.fold_idle_us",
    "slc.keep_blocks",
    "slc.fold_planes",
    "heat.capacity_mj",
    "heat.loss_ms",
    "heat.ambient_celsius",
    "heat.read_nj",
    "heat.program_nj",
    "heat.erase_nj",
    "heat.light_celsius",
    "heat.light_permille",
    "heat.heavy_celsius",
    "heat.heavy_permille",
    "lie.fua_ignored",
    "lie.shorn_writes",
    "lie.unserialised",
    "lie.deallocation_undone",
    "lie.no_checkpoint",
}
# What a policy is refused without.
NEEDED = {
    "read-match": ("-s", "gc-par+read-match"),
    "rotating": ("-s", "rotating", "-o", "ftl.parity_width=4"),
}
# What a parameter is asked with, where the usual load has nothing for it: writes that share a page.
ITS_OWN = {
    "aggregate": (
        ("-o", "geometry.page_bytes=16384,ftl.unit_bytes=4096"),
        "gen:sequential,write=1000,requests=1500,align=4096,size=4096",
    ),
}
# A drive where a host queue forms, and planes can run together.
CROWDED = ("-q", "64", "-o", "controller.slots=4,geometry.planes_per_die=2")


class PeerDefects(unittest.TestCase):
    def setUp(self) -> None:
        self.program = str(replayer.ensure_replay())

    def run_replay(
        self, *arguments: str, workload: str = WORKLOAD
    ) -> subprocess.CompletedProcess[str]:
        drive = (self.program, "--quiet", "-d", str(DRIVE), "--age", "900")
        command = [*drive, "-m", "closed", "-q", "16", *arguments, workload]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def outcome(self, *arguments: str, workload: str = WORKLOAD) -> dict[str, Any]:
        done = self.run_replay(*arguments, workload=workload)
        self.assertEqual(done.returncode, 0, f"{arguments}: {done.stderr}")
        out: dict[str, Any] = json.loads(done.stdout)
        del out["wall_s"]
        return out

    def test_04_every_key_of_a_description_matters(self) -> None:
        text = (ROOT / "ftl" / "core" / "description.c").read_text()
        known = {
            f"{group}.{name}"
            for group, name in re.findall(
                r'^    (?:KEY|LIST|CHOICE|SLC|SLC_CHOICE|HEAT)\("(\w+)", (\w+),', text, re.MULTILINE
            )
        } | {"ftl.allocation"}
        self.assertEqual(known, {*KEYS, *ELSEWHERE}, "a key without a row here, or the reverse")
        # One value, or one for each of cell_bits.
        two = ("-o", "timing.read_ns=75000;150000")
        self.assertIn("nand.cell_bits", self.run_replay(*two).stderr)
        self.outcome(*two, "-o", "nand.cell_bits=2")
        plain: dict[str, dict[str, Any]] = {}
        for key, (value, needs) in KEYS.items():
            with self.subTest(key):
                named = re.match(r"scheme=([\w-]+),?(.*)", needs)
                scheme = ("-s", named[1]) if named else ()
                rest = named[2] if named else needs
                base = ("-o", rest) if rest else ()
                if needs not in plain:
                    plain[needs] = self.outcome(*scheme, *base)
                other = self.outcome(*scheme, *base, "-o", f"{key}={value}")
                self.assertTrue(other != plain[needs], f"{value} changes nothing")

    def test_04_every_parameter_of_a_scheme_matters(self) -> None:
        listed = self.run_replay("--list").stdout.split("\n\n")[0]
        policy, tried = "", 0
        for line in listed.splitlines():
            if match := re.match(r"    (\w+)=(\d+) \((\d+) to (\d+) ", line):
                name, default, low, high = match[1], *map(int, match.groups()[1:])
                tried += 1
                with self.subTest(f"{policy} {name}"):
                    # The extremes of the range, and ten times more and less.
                    others = {low, min(high, 1 << 20), min(high, default * 10), default // 10, 1}
                    also, workload = ITS_OWN.get(name, ((), WORKLOAD))
                    scheme = (*NEEDED.get(policy, ("-s", policy)), *CROWDED, *also)
                    plain = self.outcome(*scheme, workload=workload)
                    different = [
                        value
                        for value in sorted(others)
                        if low <= value <= high
                        and value != default
                        and self.outcome(*scheme, "-p", f"{name}={value}", workload=workload)
                        != plain
                    ]
                    self.assertTrue(different, f"none of {sorted(others)} changes anything")
            elif not line.startswith(" "):
                policy = line.split(":")[0]
        self.assertGreater(tried, 8)

    def test_04_unknown_is_an_error(self) -> None:
        for arguments, word in (
            (("-o", "gc.treshold=4"), "gc.treshold"),
            (("-o", "gcc.trigger_free_blocks=4"), "gcc"),
            (("-p", "d=4"), "d"),  # of a scheme that is not chosen
            (("-s", "d-choices", "-p", "e=4"), "e"),
        ):
            with self.subTest(arguments):
                done = self.run_replay(*arguments)
                self.assertEqual((done.returncode, done.stdout), (1, ""))
                self.assertEqual(len(done.stderr.splitlines()), 1)
                self.assertIn(word, done.stderr)


if __name__ == "__main__":
    unittest.main()
