#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The tests of the engine's thread, in a QEMU built with thread sanitizer.

Without a guest: data, garbage collection, resets, aborts and ends with commands in flight.  A
report that tsan.supp does not name makes QEMU end with status 66, which every test refuses.

With --guest also a guest on the host's clock: fio with verification, and the controller reset under
it; that takes many minutes.  QEMU's own vCPU thread races with its main loop there (a guest's
memory has no locks), so only reports that name a file of ours count.  An attempt, not a gate: of
four such guests one ran to its end (no report named us), three were reset before the kernel began,
which was not looked into.

Not a part of `make test`: it builds a second QEMU.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "scripts"))

from scarplib import qemu_build  # noqa: E402


def ours(log: str) -> list[str]:
    """The sanitizer's reports that have a frame of the device or the engine."""
    reports = [part for part in log.split("=" * 18) if "WARNING: ThreadSanitizer" in part]
    return [report for report in reports if "hw/nvme/scarp/" in report]


def guest(python: list[str], binary: Path, options: str) -> int:
    command = [*python, str(HERE.parent / "guest" / "run.py"), "--qemu", str(binary)]
    status = subprocess.run(
        [*command, "--patience", "10", "without icount"],
        env={**os.environ, "TSAN_OPTIONS": f"{options} exitcode=0"},
        check=False,
    ).returncode
    log = HERE.parents[1] / "out" / "test-guest" / "realtime" / "qemu.log"
    found = ours(log.read_text(errors="replace"))
    print(f"{'not ' if found else ''}ok 1 no report of the guest's QEMU names the device: {log}")
    for line in "".join(found[:3]).splitlines():
        print(f"# {line}")
    return 1 if status or found else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--guest", action="store_true", help="a guest, too")
    parser.add_argument("only", nargs="*", help="qtests whose name contains one of these")
    arguments = parser.parse_args()
    qemu = qemu_build.ensure_qemu("tsan")
    options = f"suppressions={HERE / 'tsan.supp'} history_size=4"
    # The sanitizer's shadow memory does not fit every random layout of addresses.
    python = ["setarch", "-R", sys.executable]
    status = subprocess.run(
        [
            *python,
            str(HERE / "run.py"),
            *("--qemu", str(qemu.binary)),
            *(arguments.only or ["realtime"]),
        ],
        env={**os.environ, "TSAN_OPTIONS": f"{options} exitcode=66"},
        check=False,
    ).returncode
    if arguments.guest:
        status = guest(python, qemu.binary, options) or status
    return 1 if status else 0


if __name__ == "__main__":
    sys.exit(main())
