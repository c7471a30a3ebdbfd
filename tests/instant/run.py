# SPDX-License-Identifier: GPL-2.0-or-later
"""This folder's unittests as TAP."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "scripts"), str(HERE.parent), str(HERE)]
sys.dont_write_bytecode = True

from unittest_tap import run  # noqa: E402

if __name__ == "__main__":
    sys.exit(run(HERE))
