#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The tests of the engine's thread, in a QEMU built with thread sanitizer.

Without a guest: data, garbage collection, resets, aborts and ends with commands in flight.  Then a
guest on the host's clock: fio with verification, and the controller reset under it.  A report that
tsan.supp does not name makes QEMU end with status 66, which every test refuses.  Not a part of
`make test`: it builds a second QEMU.
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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--no-guest", action="store_true", help="leave out the guest")
    parser.add_argument("only", nargs="*", help="qtests whose name contains one of these")
    arguments = parser.parse_args()
    qemu = qemu_build.ensure_qemu("tsan")
    options = f"suppressions={HERE / 'tsan.supp'} exitcode=66 history_size=4"
    # The sanitizer's shadow memory does not fit every random layout of addresses.
    python = ["setarch", "-R", sys.executable]
    commands = [
        [str(HERE / "run.py"), "--qemu", str(qemu.binary), *(arguments.only or ["realtime"])]
    ]
    if not arguments.no_guest:
        guest = [str(HERE.parent / "guest" / "run.py"), "--qemu", str(qemu.binary)]
        # A guest's code is many times slower, too.
        commands.append([*guest, "--patience", "10", "without icount"])
    environment = {**os.environ, "TSAN_OPTIONS": options}
    statuses = [
        subprocess.run([*python, *command], env=environment, check=False).returncode
        for command in commands
    ]
    return max(map(abs, statuses))


if __name__ == "__main__":
    sys.exit(main())
