# SPDX-License-Identifier: GPL-2.0-or-later
"""Columns of whole numbers in a page: narrow, by byte planes, deflated, base64.

The browser has an inflater of its own (DecompressionStream); page.js undoes the rest.
"""

from __future__ import annotations

import base64
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

Column = NDArray[Any]
# JavaScript's numbers are exact up to here.
EXACT = 2**53
_TYPES = (("u1", 2**8), ("u2", 2**16), ("u4", 2**32), ("f8", EXACT))


class Packer:
    """Collects columns; each is said in the page as [type, is it differences, length, offset]."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def add(self, values: Column, rising: bool = False) -> list[Any]:
        """Where the column will be.  Of numbers that never fall, differences are kept."""
        numbers = np.asarray(values, dtype=np.int64)
        if rising and len(numbers):
            numbers = np.diff(numbers, prepend=0)
        low, high = (int(numbers.min()), int(numbers.max())) if len(numbers) else (0, 0)
        if low < 0 or high >= EXACT:
            raise ValueError(f"a column from {low} to {high}: allowed are 0 to 2^53")
        code = next(code for code, limit in _TYPES if high < limit)
        data = numbers.astype(f"<{code}")
        # All first bytes, then all second ones: neighbours are alike, and deflate finds it.
        planes = data.view(np.uint8).reshape(-1, data.itemsize).T
        place = [code, int(rising), len(data), self._size]
        self._parts.append(planes.tobytes())
        self._size += planes.size
        return place

    def text(self) -> str:
        """All of them."""
        return base64.b64encode(zlib.compress(b"".join(self._parts), 6)).decode()
