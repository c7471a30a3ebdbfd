# SPDX-License-Identifier: GPL-2.0-or-later
"""The version of all of Scarp, which ftl/scarp.h says once."""

from __future__ import annotations

import functools
import re

from scarplib.paths import ENGINE


@functools.cache
def _defined(name: str, pattern: str) -> str:
    header = ENGINE / "scarp.h"
    found = re.search(f"^#define {name} {pattern}$", header.read_text(), re.MULTILINE)
    if not found:
        raise LookupError(f"{header}: no {name}")
    return found[1]


def version() -> str:
    """Three numbers, such as 1.0.0."""
    return _defined("SCARP_VERSION", r'"(\d+\.\d+\.\d+)"')


def abi() -> str:
    """Of the library: programs that were built with another one cannot use it."""
    return _defined("SCARP_ABI", r"(\d+)")
