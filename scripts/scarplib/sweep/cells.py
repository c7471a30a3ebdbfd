# SPDX-License-Identifier: GPL-2.0-or-later
"""Cells of a sweep or of a paper's experiments: Snakemake runs those that are missing."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path


def _bar(cells: list[Path], ended: threading.Event) -> None:
    """One line on a terminal; elsewhere a line a minute."""
    begun, last = time.monotonic(), 0.0
    before = sum(path.exists() for path in cells)
    while not ended.wait(0.5):
        done = sum(path.exists() for path in cells)
        spent = time.monotonic() - begun
        left = spent / (done - before) * (len(cells) - done) if done > before else 0
        text = (
            f"[{'=' * (20 * done // len(cells)):20}] {done} of {len(cells)} cells"
            f"{f', {left:.0f} s left' if left else ''}"
        )
        if sys.stderr.isatty():
            print(f"\r{text}   ", end="", file=sys.stderr, flush=True)
        elif spent - last >= 60:
            last = spent
            print(text, file=sys.stderr, flush=True)
    if sys.stderr.isatty():
        print(file=sys.stderr)


def run_missing(
    rules: Path,
    paths: list[Path],
    folder: Path,
    cores: int,
    config: Sequence[str],
    more: Sequence[str] = (),
) -> str:
    """Run what is missing of these cells by a Snakefile; what failed, or an empty text.

    Snakemake works in the folder, and what it says is there.
    """
    ended = threading.Event()
    progress = threading.Thread(target=_bar, args=(paths, ended))
    progress.start()
    log = folder / "snakemake.log"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with log.open("wb") as stream:
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
        done = sum(path.exists() for path in paths)
        print(
            f"\n{done} of {len(paths)} cells are done; the same command goes on from here",
            file=sys.stderr,
        )
        raise
    finally:
        ended.set()
        progress.join()
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
