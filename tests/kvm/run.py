#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The tests of the bare-metal guest as TAP."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
TESTS = HERE.parent
sys.path[:0] = [str(TESTS.parent / "scripts"), str(TESTS), str(TESTS / "qtest")]
sys.path[:0] = [str(HERE), str(TESTS / "hunt-nvme")]
sys.dont_write_bytecode = True

from scarplib.build.venv import PACKAGES, go_on_with  # noqa: E402

if __name__ == "__main__":
    # QMP is a package's (scarplib.guest.qmp).
    go_on_with(PACKAGES, sys.argv[1:], Path(__file__))

import test_bare  # noqa: E402
from scarplib.build.qemu import ensure_firmware, ensure_qemu  # noqa: E402
from unittest_tap import run  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--qemu", type=Path, help="a QEMU binary; default: this checkout's")
    parser.add_argument("only", nargs="*", help="tests: test_bare.OnKvm, …")
    args = parser.parse_args()
    test_bare.OnOne.qemu = (args.qemu or ensure_qemu().binary).resolve()
    test_bare.OnOne.firmware = ensure_firmware()
    sys.argv[1:] = args.only
    return run(HERE)


if __name__ == "__main__":
    sys.exit(main())
