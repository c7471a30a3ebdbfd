# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the checkout is, or what of it is installed, and folders that several modules need."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "scripts"
ENGINE = ROOT / "ftl"
DEVICES = ROOT / "devices"
FIO_JOBS = ROOT / "fio-jobs"
# In the environment: what is gone from the mirror is replaced by what it has (build/locks.py).
UNLOCKED = "SCARP_UNLOCKED"
# What `make install` wrote; nothing else is written to a tree that has it.
MANIFEST = ROOT / "installed.json"
INSTALLED = MANIFEST.is_file()
# Where it put the programs: ROOT is PREFIX/share/scarp then.
PROGRAMS = ROOT.parent.parent / "bin"
# What runs and tests leave behind.  Programs that are started elsewhere keep to it.
OUT = ROOT / "out"
if INSTALLED:
    OUT = Path(os.environ.setdefault("SCARP_OUT_FOLDER", str(Path.cwd() / "out")))
# The committed pages of results.
RESULTS = OUT / "results" if INSTALLED else ROOT / "docs" / "results"
