#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The tests of QEMU's translation blocks as TAP."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "tests"), str(HERE)]

import test_blocks  # noqa: E402
from scarplib.build.qemu import ensure_firmware, ensure_qemu  # noqa: E402
from unittest_tap import run  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--qemu", type=Path, help="a QEMU binary; default: this checkout's")
    parser.add_argument("only", nargs="*", help="tests: test_blocks.Debugger, …")
    args = parser.parse_args()
    test_blocks.Blocks.qemu = (args.qemu or ensure_qemu().binary).resolve()
    test_blocks.Blocks.firmware = ensure_firmware()
    sys.argv[1:] = args.only
    return run(HERE)


if __name__ == "__main__":
    sys.exit(main())
