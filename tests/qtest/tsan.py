#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The tests of the engine's thread, in a QEMU built with thread sanitizer.

A report that tsan.supp does not name makes QEMU end with status 66, which every test refuses.
Not a part of `make test`: it builds a second QEMU.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "scripts"))

from scarplib import qemu_build  # noqa: E402


def main() -> int:
    qemu = qemu_build.ensure_qemu("tsan")
    options = f"suppressions={HERE / 'tsan.supp'} exitcode=66 history_size=4"
    # The sanitizer's shadow memory does not fit every random layout of addresses.
    command = ["setarch", "-R", sys.executable, str(HERE / "run.py")]
    return subprocess.run(
        [*command, "--qemu", str(qemu.binary), *(sys.argv[1:] or ["realtime"])],
        env={**os.environ, "TSAN_OPTIONS": options},
        check=False,
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
