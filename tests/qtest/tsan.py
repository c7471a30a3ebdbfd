#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The tests of the engine's thread, in a QEMU built with thread sanitizer.

Without a guest: data, garbage collection, lateness; resets, aborts, stops, controllers unplugged
and ends with commands in flight; power cuts.  With --guest also a guest on the host's clock: fio
with verification, and the controller reset under it; that takes some minutes.  A report that
tsan.supp does not name makes QEMU end with status 66, which every test refuses; so does what ends
the sanitizer itself.  What TCG compiles is not watched: it reaches the guest's memory and its vCPU,
nothing of ours.

Not a part of `make test`: it builds a second QEMU.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "scripts"))

from scarplib.build.qemu import ensure_qemu  # noqa: E402

GUEST_LOG = ROOT / "out" / "test-guest" / "realtime" / "qemu.log"
OPTIONS = f"exitcode=66 history_size=7 suppressions='{HERE / 'tsan.supp'}'"


def run(command: list[str], options: str = "") -> bool:
    # The sanitizer's shadow memory does not fit every random layout of addresses.
    setarch = shutil.which("setarch")
    command = [*([setarch, "-R"] if setarch else []), sys.executable, *command]
    # GLib's slabs go from thread to thread by locks that the sanitizer does not see.
    slices = {"G_SLICE": "always-malloc"}
    environment = {**os.environ, **slices, "TSAN_OPTIONS": f"{OPTIONS} {options}"}
    return subprocess.run(command, env=environment, check=False).returncode == 0


def guest() -> bool:
    GUEST_LOG.unlink(missing_ok=True)
    command = [str(HERE.parent / "guest" / "run.py"), "--variant", "tsan", "--patience", "4"]
    # TCG locks every page that a DMA reaches, more at once than the search for deadlocks bears:
    # it gives up, and QEMU ends as if the guest had been reset.
    good = run([*command, "without icount"], "detect_deadlocks=0 print_suppressions=1")
    log = GUEST_LOG.read_text(errors="replace") if GUEST_LOG.is_file() else ""
    for line in log.splitlines():
        if line.startswith(("SUMMARY: ", "ThreadSanitizer: CHECK", "FATAL: ")):
            print(f"# {line}")
    # There always are some: without them nobody watched.
    matched = log.partition("ThreadSanitizer: Matched ")[2].splitlines()
    for line in matched[1:]:
        print(f"# suppressed: {line.strip()}")
    return good and len(matched) > 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--guest", action="store_true", help="a guest, too")
    parser.add_argument("only", nargs="*", help="qtests whose name contains one of these")
    arguments = parser.parse_args()
    qemu = ensure_qemu("tsan")
    chosen = arguments.only or ["realtime", "lateness", "interruptions", "HostsClock"]
    command = [str(HERE / "run.py"), "--qemu", str(qemu.binary), *chosen]
    good = run(command)
    if arguments.guest:
        good = guest() and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
