# SPDX-License-Identifier: GPL-2.0-or-later
"""Build packages of the machine: installed as root, named to everyone else."""

from __future__ import annotations

import os
import subprocess

from scarplib.build.cache import step
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


def ensure_packages(packages: tuple[str, ...] = BUILD_PACKAGES) -> None:
    missing = _missing(packages)
    if not missing:
        return
    command = ["apt-get", "install", "-y", "--no-install-recommends", *missing]
    if os.geteuid() != 0:
        raise UserError(
            f"build packages are missing; run: sudo apt-get update && sudo {' '.join(command)}"
        )
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    with step(f"installing {' '.join(missing)}"):
        for part in (["apt-get", "update", "-qq"], command):
            done = subprocess.run(
                part, env=environment, capture_output=True, text=True, check=False
            )
            if done.returncode:
                raise UserError(f"'{' '.join(part)}' failed: {done.stderr.strip()[-300:]}")
