# SPDX-License-Identifier: GPL-2.0-or-later
"""A suite's source from Debian's source package, for whoever has a network and no checkout."""

from __future__ import annotations

import shutil
import tarfile
import tempfile
from pathlib import Path

from scarplib.build.cache import cache_dir, locked
from scarplib.build.tarball import careful
from scarplib.guest.image import ensure_image
from scarplib.guest.programs import fio_tarball

# Given in place of a folder.
WORD = "debian"


def fio() -> Path:
    """The scripts of the very version that runs in the guest."""
    version = ensure_image(tests=True).versions["fio_version"]
    folder = cache_dir() / f"fio-tests-{version}"
    with locked("fio-tests"):
        if folder.is_dir():
            return folder
        fresh = folder.with_name(f"{folder.name}.new")
        shutil.rmtree(fresh, ignore_errors=True)
        with (
            tempfile.TemporaryDirectory() as work,
            tarfile.open(fio_tarball(version, Path(work))) as tar,
        ):
            for member in careful(tar):
                name = member.name.partition("/")[2]
                if member.isfile() and name.startswith("t/") and name.endswith(".py"):
                    member.name = name
                    tar.extract(member, fresh)
        fresh.rename(folder)
    return folder
