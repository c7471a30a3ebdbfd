# SPDX-License-Identifier: GPL-2.0-or-later
"""`python -m scarplib.sweep.cell FILE N`, as Snakemake starts a cell."""

from __future__ import annotations

import sys
from pathlib import Path

from scarplib.sweep.sweep import run_cell

if __name__ == "__main__":
    sys.exit(run_cell(Path(sys.argv[1]), int(sys.argv[2])))
