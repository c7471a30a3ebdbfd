# SPDX-License-Identifier: GPL-2.0-or-later
"""fio fills a drive with an SLC cache through ext4, beyond the cache's end.

The guest and the drive must tell the same rates, second by second; the slowest commands must have
stood behind folds; and a second boot must leave the same bytes.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from scarplib.device_logs.command_log import WRITE, Commands, read_commands
from scarplib.guest import vm
from scarplib.results.causes import tail_causes

if TYPE_CHECKING:
    Run = Callable[..., vm.GuestResult]
Outcome = tuple[bool, str]

HERE = Path(__file__).resolve().parent
DEVICE = HERE.parents[1] / "devices" / "demo.ini"
BLOCK, FILE = 16 << 10, 44 << 20
S = 10**9
# 55 MiB for the host, in eight planes of 96 blocks.  An SLC block has eight pages, so the empty
# cache takes 22 MiB.
CACHED = (
    "geometry.blocks_per_plane=96,geometry.pages_per_block=24,ftl.over_provisioning_permille=300,"
    "nand.cell_bits=3,timing.program_ns=4000000,timing.slc_read_ns=30000,"
    "timing.slc_program_ns=2000000,timing.slc_erase_ns=4000000,slc.dynamic=1"
)
# No commit of the journal comes while fio runs: fio hears late of writes that end while it waits
# for a commit, and late by as much as the drive takes for it.
# fio's log has a line for each of its writes: when it ended (ms from fio's start), its rate, its
# direction and its bytes.
TASK = f"""set -e
mkfs.ext4 -q -F -b 4096 -m 0 -E nodiscard $SCARP_DEV
mount -t ext4 -o noinit_itable,commit=60 $SCARP_DEV /mnt
fio --name=fill --directory=/mnt --size={FILE} --bs={BLOCK} --rw=write --direct=1 --thread \\
    --ioengine=io_uring --iodepth=16 --write_bw_log=/results/fill --eta=never >/results/fio
umount /mnt
"""
# What the slowest writes may have stood behind.
BEHIND = ("die_fold_read", "die_fold_program", "no_space")


def _fio_seconds(log: Path) -> Counter[int]:
    """Bytes that fio wrote in each second."""
    found: Counter[int] = Counter()
    for line in log.read_text().splitlines():
        ended_ms, _, _, size = [int(word) for word in line.split(",")[:4]]
        found[ended_ms // 1000] += size
    return found


def _of_fio(commands: Commands) -> list[int]:
    """The writes that fio made: ext4 splits and joins none, and makes none as long itself."""
    found = [i for i in commands.indices(WRITE) if commands.length[i] == BLOCK]
    return found if len(found) * BLOCK == FILE else []


def _drive_seconds(commands: Commands, chosen: list[int]) -> Counter[int]:
    """The same from the drive's log, from the first of these writes on."""
    begin = min(commands.submit[i] for i in chosen)
    found: Counter[int] = Counter()
    for i in chosen:
        found[(commands.complete[i] - begin) // S] += commands.length[i]
    return found


def _digests(out: Path, log: Path) -> dict[str, str]:
    files = {"cmd.bin": log}
    files |= {path.name: path for path in (out / "results").rglob("*") if path.is_file()}
    return {
        name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in sorted(files.items())
    }


def _judged(log: Path, bandwidths: Path) -> Outcome:
    commands = read_commands(log)
    chosen = _of_fio(commands)
    if not chosen:
        return False, f"# the drive's log has not {FILE // BLOCK} writes of {BLOCK} bytes\n"
    fio, drive = _fio_seconds(bandwidths), _drive_seconds(commands, chosen)
    # The last second is no whole one.
    whole = range(max(drive))
    text = "".join(f"# second {k}: fio {fio[k]} bytes, drive {drive[k]}\n" for k in whole)
    good = len(whole) >= 5 and all(abs(fio[k] - drive[k]) <= 0.05 * drive[k] for k in whole)
    # The cliff is among them.
    good = good and max(drive[k] for k in whole) > 2 * min(drive[k] for k in whole)
    picked = set(chosen)
    tail = tail_causes(commands.select([i in picked for i in range(len(commands))]), WRITE)
    causes = tail["cause_ns"] if tail else {}
    behind = sum(causes.get(name, 0) for name in BEHIND)
    good = good and bool(causes) and max(causes, key=lambda name: causes[name]) in BEHIND
    good = good and 2 * behind > sum(causes.values())
    return good, f"{text}# the slowest 0.1 %: {causes}\n"


def test(run: Run) -> Outcome:
    """Two boots, one after the other."""
    found: list[dict[str, str]] = []
    text, good = "", True
    for number in (1, 2):
        name = f"slc-fill-{number}"
        out = HERE.parents[1] / "out" / "test-guest" / name
        log = out.with_suffix(".cmd")
        log.parent.mkdir(parents=True, exist_ok=True)
        drive = vm.FlashDrive(description=DEVICE, overrides=CACHED, cmd_log=log)
        result = run(name, TASK, drives=[drive])
        if result.reason != "ok" or not result.results:
            lines = result.console_tail.splitlines()[-25:]
            return False, f"# {result.reason}\n" + "".join(f"# {line}\n" for line in lines)
        if number == 1:
            good, text = _judged(log, result.results / "fill_bw.1.log")
        found.append(_digests(out, log))
    differ = [name for name, digest in found[0].items() if found[1].get(name) != digest]
    same = not differ and found[0].keys() == found[1].keys()
    return good and same, f"{text}# {len(found[0])} files; these differ: {differ or 'none'}\n"
