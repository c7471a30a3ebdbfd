# SPDX-License-Identifier: GPL-2.0-or-later
"""A suite's source from Debian's source package, for whoever has a network and no checkout."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from scarplib.build.cache import cache_dir, locked, unpack_tar
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
        with tempfile.TemporaryDirectory() as work:
            tree = Path(work) / "tree"
            tree.mkdir()
            unpack_tar(fio_tarball(version, Path(work)), tree)
            (top,) = tree.iterdir()
            for script in (top / "t").rglob("*.py"):
                copy = fresh / script.relative_to(top)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(script, copy)
        fresh.rename(folder)
    return folder
