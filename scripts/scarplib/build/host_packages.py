# SPDX-License-Identifier: GPL-2.0-or-later
"""Build packages of the machine: installed as root, named to everyone else."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time

from scarplib.build.cache import locked, step
from scarplib.errors import UserError

BUILD_PACKAGES = (
    "gcc",
    "libc6-dev",
    "make",
    "patch",
    "ninja-build",
    "pkg-config",
    "python3-venv",
    "libglib2.0-dev",
    "zlib1g-dev",
    "libzstd-dev",
    "libaio-dev",
    "liburing-dev",
    "libattr1-dev",
    "xz-utils",
    # Elsewhere than on Debian, to verify what comes from it.
    "debian-archive-keyring",
    "perl",
)
# What counts branches and fuzzes with clang: its runtime is a package of its own.
CLANG_PACKAGES = ("clang", "llvm", "libclang-rt-dev")


# Seconds to wait for another apt or dpkg, and between two tries.
LOCK_WAIT_S = 600
RETRY_S = 5.0
# apt itself waits for dpkg's lock, if told to; for those of its lists and archives it does not.
_LOCKED = re.compile(r"[Cc]ould not get lock|lock was locked by another process")


def _missing(packages: tuple[str, ...]) -> list[str]:
    missing = []
    for package in packages:
        done = subprocess.run(
            ["dpkg-query", "-W", "-f", "${db:Status-Abbrev}", package],
            capture_output=True,
            text=True,
            check=False,
        )
        # pkg-config is a name that pkgconf provides on newer releases.
        if not done.stdout.startswith("ii"):
            missing.append(package)
    return missing


def _apt_get(*arguments: str) -> None:
    """apt-get as nobody watches it; waits for whoever else is installing something."""
    command = ["apt-get", "-o", f"DPkg::Lock::Timeout={LOCK_WAIT_S}", *arguments]
    # Messages in English: they are read here.
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"}
    deadline = time.monotonic() + LOCK_WAIT_S
    said = False
    while True:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if not done.returncode:
            return
        if not _LOCKED.search(done.stderr) or time.monotonic() > deadline:
            lines = [x for x in done.stderr.splitlines() if re.match(r"E: |dpkg: error", x)]
            reason = "; ".join(lines) or done.stderr.strip()[-300:]
            raise UserError(f"'{' '.join(command)}' failed: {reason}")
        if not said:
            print("waiting for another apt or dpkg to finish", file=sys.stderr, flush=True)
            said = True
        time.sleep(RETRY_S)


def ensure_packages(packages: tuple[str, ...] = BUILD_PACKAGES) -> None:
    """Install what is missing; without the right to, say the command that does."""
    if not _missing(packages):
        return
    with locked("host-packages"):
        # Another scarp may have installed them meanwhile.
        missing = _missing(packages)
        if not missing:
            return
        install = ("install", "-y", "--no-install-recommends", *missing)
        if os.geteuid() != 0:
            raise UserError(
                "build packages are missing; run: sudo apt-get update && "
                f"sudo apt-get {' '.join(install)}"
            )
        with step(f"installing {' '.join(missing)}"):
            _apt_get("update", "-qq")
            _apt_get(*install)
