# SPDX-License-Identifier: GPL-2.0-or-later
"""Tarballs whose members stay in the folder that they are unpacked to, if Python can see to it."""

from __future__ import annotations

import tarfile


def careful(archive: tarfile.TarFile) -> tarfile.TarFile:
    """The same archive; Python refuses what leaves the folder.

    Debian 12's Python 3.11.2 does not know the argument `filter`, which came with 3.11.4, and
    nothing of the attribute: then members are unpacked as they are named.
    """
    if hasattr(tarfile, "data_filter"):
        archive.extraction_filter = staticmethod(tarfile.data_filter)
    return archive
