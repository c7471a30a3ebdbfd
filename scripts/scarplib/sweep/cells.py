# SPDX-License-Identifier: GPL-2.0-or-later
"""Cells of a sweep or of a paper's experiments: Snakemake runs those that are missing."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from scarplib.sweep.progress import Amount, shown


def run_missing(
    rules: Path,
    paths: list[Path],
    folder: Path,
    cores: int,
    config: Sequence[str],
    more: Sequence[str] = (),
    amount: Amount | None = None,
) -> str:
    """Run what is missing of these cells by a Snakefile; what failed, or an empty text.

    Snakemake works in the folder, and what it says is there.  amount: what is counted meanwhile,
    if that is not the cells.
    """
    amount = amount or Amount(paths)
    log = folder / "snakemake.log"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with log.open("wb") as stream, shown(amount):
            # A cell's file is whole if it is there, also where a killed Snakemake took no note.
            status = subprocess.run(
                [sys.executable, "-m", "snakemake", "-s", str(rules),
                 "--cores", str(cores or os.cpu_count() or 1), "--quiet", "progress",
                 "--keep-going", "--nolock", "--rerun-triggers", "mtime", "--ignore-incomplete",
                 "--config", *config, *more],
                stdout=stream, stderr=subprocess.STDOUT, check=False, cwd=folder,
                env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
            ).returncode  # fmt: skip
    except KeyboardInterrupt:
        # A cell that was under way begins anew.
        done = sum(path.exists() for path in paths)
        print(
            f"\n{done} of {len(paths)} cells are done; the same command goes on from here",
            file=sys.stderr,
        )
        raise
    missing = sum(not path.exists() for path in paths)
    if not status and not missing:
        return ""
    lines = log.read_text(errors="replace").splitlines()
    reason = [line for line in lines if line.startswith("error:")]
    reason = reason or [line for line in lines if "error" in line.lower()]
    what = f"{missing} of {len(paths)} cells failed" if missing else "Snakemake failed"
    return f"{what} ({log}); the same command goes on from here:\n  " + "\n  ".join(
        reason[:3] or lines[-3:]
    )
