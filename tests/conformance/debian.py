# SPDX-License-Identifier: GPL-2.0-or-later
"""A suite's source from Debian's source package, for whoever has a network and no checkout."""

from __future__ import annotations

import shutil
import tarfile
import tempfile
from pathlib import Path

from scarplib.build.cache import cache_dir, locked
from scarplib.build.debian_packages import Apt
from scarplib.errors import UserError
from scarplib.guest.image import ensure_image

# Given in place of a folder.
WORD = "debian"


def fio() -> Path:
    """The scripts of the very version that runs in the guest."""
    version = ensure_image(tests=True).versions["fio_version"]
    folder = cache_dir() / f"fio-tests-{version}"
    with locked("fio-tests"):
        if folder.is_dir():
            return folder
        fresh = folder.with_suffix(".new")
        shutil.rmtree(fresh, ignore_errors=True)
        with tempfile.TemporaryDirectory() as work:
            apt = Apt()
            apt.update()
            apt.source(f"fio={version}", Path(work))
            found = sorted(Path(work).glob("fio_*.orig.tar.*z*"))
            if not found:
                raise UserError(f"the source package fio={version} has no tarball")
            with tarfile.open(found[0]) as tar:
                for member in tar:
                    name = member.name.partition("/")[2]
                    if member.isfile() and name.startswith("t/") and name.endswith(".py"):
                        member.name = name
                        tar.extract(member, fresh, filter="data")
        fresh.rename(folder)
    return folder
