# SPDX-License-Identifier: GPL-2.0-or-later
"""Headless Chromium in the cache, for the tests of pages: Debian's, without installing it.

It brings its own C library, which the host's may be older than, and is told where that is.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from scarplib.build import locks
from scarplib.build.cache import cache_dir, locked, step
from scarplib.build.private_apt import RELEASE, Apt
from scarplib.errors import UserError

PACKAGES = ("chromium-headless-shell", "fonts-dejavu-core", "patchelf")
# For graphics cards, which a headless browser does not look for; half of all the bytes.
_UNUSED = ("libllvm", "libz3-", "mesa-libgallium", "libgl1-mesa-dri", "libsensors", "x11-utils",
           "xdg-utils", "fonts-dejavu-mono", "systemd", "sysvinit-utils", "debconf")  # fmt: skip
_LIBRARIES = "usr/lib/x86_64-linux-gnu"
_LOADER = f"{_LIBRARIES}/ld-linux-x86-64.so.2"
_PROGRAM = "usr/lib/chromium/chromium-headless-shell"


@dataclass(frozen=True)
class Browser:
    """The program, and the environment that it needs in addition."""

    program: Path
    environment: dict[str, str]


def ensure_browser() -> Browser:
    """Fetched and verified once; a UserError says why there is none."""
    made_of = [Path(__file__).read_bytes(), repr(locks.debian().closure(PACKAGES)).encode()]
    key = hashlib.sha256(b"".join(made_of)).hexdigest()[:12]
    folder = cache_dir() / f"browser-{key}"
    if not folder.is_dir():
        with locked("browser"):
            if not folder.is_dir():
                _make(folder)
    libraries = [folder / _LIBRARIES / name for name in ("", "nss", "pulseaudio")]
    return Browser(
        folder / _PROGRAM,
        {
            "LD_LIBRARY_PATH": ":".join(map(str, libraries)),
            "FONTCONFIG_SYSROOT": str(folder),
        },
    )


def _make(folder: Path) -> None:
    scratch = folder.with_suffix(".new")
    shutil.rmtree(scratch, ignore_errors=True)
    apt = Apt()
    wanted = apt.closure(PACKAGES)
    found = apt.fetch([name for name in wanted if not name.startswith(_UNUSED)])
    with step(f"unpacking {RELEASE}'s headless Chromium"):
        for path in found.values():
            _run("dpkg-deb", "-x", str(path), str(scratch))
        # Loaded by the host's C library it would miss functions: it shall load its own.
        loader, program = scratch / _LOADER, scratch / _PROGRAM
        patchelf = [str(loader), "--library-path", str(scratch / _LIBRARIES)]
        patchelf += [str(scratch / "usr/bin/patchelf"), "--set-interpreter"]
        _run(*patchelf, str(folder / _LOADER), str(program))
    scratch.rename(folder)


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise UserError(f"'{' '.join(command[:3])} …' failed: {done.stderr.strip()[-300:]}")
