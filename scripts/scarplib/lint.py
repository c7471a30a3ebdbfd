# SPDX-License-Identifier: GPL-2.0-or-later
"""`make lint`: ruff on Python, QEMU's checkpatch on our C files and patches."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from . import cache, qemu_build
from .errors import UserError

ROOT = Path(__file__).resolve().parents[2]


def _tracked(*patterns: str) -> list[str]:
    # Files not yet added are checked too: they are about to be.
    done = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise UserError(f"lint: {done.stderr.strip()}")
    return [name for name in done.stdout.splitlines() if (ROOT / name).is_file()]


def _check(command: list[str | Path]) -> int:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    # A patch that adds a file is asked about QEMU's MAINTAINERS, which is not ours to edit.
    found = [
        line
        for line in done.stdout.splitlines()
        if re.search(r": (ERROR|WARNING):", line) and "MAINTAINERS" not in line
    ]
    if done.stderr.strip():
        found.append(done.stderr.strip())
    print("".join(f"{line}\n" for line in found), end="")
    return len(found)


def main() -> int:
    python = Path(cache.ensure_venv())
    bad = 0
    files = [*_tracked("*.py"), "scripts/scarp"]
    bad += subprocess.run([python, "-m", "ruff", "check", *files], cwd=ROOT, check=False).returncode
    checkpatch = qemu_build.ensure_source() / "scripts" / "checkpatch.pl"
    common = [checkpatch, "--no-tree", "--no-signoff", "--terse", "--quiet"]
    if sources := _tracked("ftl/*.[ch]", "hw/*.[ch]", "tests/unit/*.[ch]"):
        bad += _check([*common, "-f", *sources])
    if patches := _tracked("qemu-patches/*.patch"):
        bad += _check([*common, *patches])
    print("lint: clean" if not bad else "lint: see above")
    return 1 if bad else 0
