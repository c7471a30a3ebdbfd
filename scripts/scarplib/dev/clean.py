# SPDX-License-Identifier: GPL-2.0-or-later
"""Files that a slow check had nothing to say of: it reads one again only once the file, its name
or the check itself has changed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from scarplib.build.cache import cache_dir
from scarplib.paths import ROOT

# The record begins anew beyond so many digests; each checkout of the project has some 500.
MOST = 20_000


class Clean:
    """A check's record in the cache, which all checkouts share."""

    def __init__(self, check: str, made_of: Iterable[bytes]) -> None:
        """`made_of` is all that the check's verdict depends on beside the file."""
        self._path = cache_dir() / f"clean-{check}"
        self._made_of = hashlib.sha256(b"\0".join(made_of)).digest()
        text = self._path.read_text(encoding="ascii") if self._path.exists() else ""
        self._known = set(text.split())

    def _digest(self, name: str) -> str:
        whole = hashlib.sha256(self._made_of + name.encode() + b"\0")
        whole.update((ROOT / name).read_bytes())
        return whole.hexdigest()

    def others(self, names: Sequence[str]) -> list[str]:
        """Those of the files, by their names below the checkout, that are not in the record."""
        return [name for name in names if self._digest(name) not in self._known]

    def add(self, names: Iterable[str]) -> None:
        """Records files that the check has just found clean."""
        digests = {self._digest(name) for name in names} - self._known
        how = "a" if len(self._known) + len(digests) <= MOST else "w"
        with self._path.open(how, encoding="ascii") as stream:
            stream.write("".join(f"{digest}\n" for digest in sorted(digests)))
        self._known |= digests
