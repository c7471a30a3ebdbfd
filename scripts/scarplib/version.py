# SPDX-License-Identifier: GPL-2.0-or-later
"""The version of all of Scarp, which ftl/scarp.h says once."""

from __future__ import annotations

import functools
import re

from scarplib.paths import ENGINE


@functools.cache
def version() -> str:
    """Three numbers, such as 0.9.0."""
    found = re.search(
        r'^#define SCARP_VERSION "(\d+\.\d+\.\d+)"$', (ENGINE / "scarp.h").read_text(), re.MULTILINE
    )
    if not found:
        raise LookupError(f"{ENGINE / 'scarp.h'}: no SCARP_VERSION")
    return found[1]
