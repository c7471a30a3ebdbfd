# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the checkout is, and its folders that more than one module needs."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "scripts"
ENGINE = ROOT / "ftl"
DEVICES = ROOT / "devices"
FIO_JOBS = ROOT / "fio-jobs"
# In the environment: what is gone from the mirror is replaced by what it has (build/locks.py).
UNLOCKED = "SCARP_UNLOCKED"
# What runs and tests leave behind.
OUT = ROOT / "out"
# The committed pages of results.
RESULTS = ROOT / "docs" / "results"
