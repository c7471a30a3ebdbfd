# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel's own kselftest: its runner, helpers and makefiles, from Debian's kernel source.

They are found there and not copied into this repository.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from scarplib.build import locks
from scarplib.build.cache import cache_dir, locked, step
from scarplib.build.private_apt import Apt
from scarplib.errors import UserError

# Below the top of a kernel's source; what `make -C tools/testing/selftests` reads.
SELFTESTS = Path("tools/testing/selftests")
PACKAGES = ("linux-source",)
_WANTED = (
    *("scripts/subarch.include", "scripts/Makefile.compiler", "tools/scripts/*"),
    *(f"{SELFTESTS}/{name}" for name in ("kselftest/*", "Makefile", "*.mk", "*.sh", "*.h")),
)


def extract(package: Path, folder: Path) -> None:
    """The few files out of the tarball that is within the package, without unpacking it.

    By tar(1), as in build/cache.py.
    """
    inner = ["tar", "-x", "-J", "-f", "-", "-C", str(folder), "--no-same-owner", "--no-recursion"]
    inner += ["--strip-components=1", "--wildcards", "--no-wildcards-match-slash"]
    commands = (
        ["dpkg-deb", "--fsys-tarfile", str(package)],
        ["tar", "-x", "-O", "-f", "-", "--wildcards", "./usr/src/linux-source-*.tar.xz"],
        [*inner, *(f"*/{name}" for name in _WANTED)],
    )
    running: list[subprocess.Popen[bytes]] = []
    for command in commands:
        before = running[-1].stdout if running else None
        running.append(
            subprocess.Popen(
                command,
                stdin=before or subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        )
        if before:
            # Else who writes into it would not see that its reader has ended.
            before.close()
    running[-1].communicate()
    if any([process.wait() for process in running]):
        raise UserError(f"{package.name}: its kernel source could not be unpacked")


def _source(closure: list[str] | None) -> str:
    """NAME=VERSION of the package that has the sources, which "linux-source" depends on."""
    found = [x for x in closure or [] if re.match(r"linux-source-[\d.]+=", x)]
    if len(found) != 1:
        raise UserError(f"Debian's linux-source depends on {len(found)} sources, not one")
    return found[0]


def _folder(source: str) -> Path:
    return cache_dir() / f"kselftest-{source.split('=')[1]}"


def ensure_kselftest() -> Path:
    """A folder laid out as a kernel's source, with kselftest in it and no test."""
    with locked("kselftest"):
        # Without the mirror, if that can be.
        folder = _folder(_source(locks.debian().closure(PACKAGES)))
        if folder.is_dir():
            return folder
        apt = Apt()
        source = _source(apt.closure(PACKAGES))
        folder = _folder(source)
        if not folder.is_dir():
            _unpack(apt, source, folder)
    return folder


def _unpack(apt: Apt, source: str, folder: Path) -> None:
    (package,) = apt.fetch([source]).values()
    fresh = folder.with_name(f"{folder.name}.new")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir()
    with step("kselftest, from Debian's kernel source"):
        extract(package, fresh)
    if not (fresh / SELFTESTS / "kselftest" / "ktap_helpers.sh").is_file():
        raise UserError(f"{package.name}: no kselftest/ktap_helpers.sh in it")
    (fresh / "VERSION").write_text(f"{source}\n")
    fresh.rename(folder)
    # 150 MB that nothing reads again.
    package.unlink()
