# SPDX-License-Identifier: GPL-2.0-or-later
"""Verdicts of slow checks: a file is read again only once what its verdict depends on differs."""

from __future__ import annotations

import hashlib
import os
import pickle
from collections.abc import Iterable
from pathlib import Path
from typing import Any


class Remembered:
    """A check's folder in the cache, of all checkouts: a record for each file and its flags."""

    def __init__(
        self, folder: Path, root: Path, files: Iterable[str], around: Iterable[bytes]
    ) -> None:
        """`files`, below `root`, are all that the check may read; `around` is what every verdict
        depends on beside them."""
        self._folder, self._root = folder, str(root)
        self._around = hashlib.sha256(b"\0".join(around)).digest()
        # Taken before the check reads the files: a later change is never taken for what it read.
        self._now = {name: hashlib.sha256((root / name).read_bytes()).digest() for name in files}
        folder.mkdir(parents=True, exist_ok=True)

    def _path(self, file: str, flags: Iterable[str]) -> Path:
        whole = "\0".join([file, *flags]).replace(self._root, "")
        return self._folder / hashlib.sha256(whole.encode()).hexdigest()[:32]

    def get(self, file: str, flags: Iterable[str] = ()) -> Any:
        """The verdict that is still so, or None."""
        try:
            record = self._path(file, flags).read_bytes()
            # Another program's verdict may be of a type that is no more.
            if record[:32] != self._around:
                return None
            digests, verdict = pickle.loads(record[32:])
        except (OSError, EOFError, pickle.UnpicklingError):
            return None
        return verdict if digests.items() <= self._now.items() else None

    def put(self, file: str, flags: Iterable[str], read: Iterable[str], verdict: object) -> None:
        """Records the verdict on a file, for which the files of `read` were read."""
        digests = {name: self._now.get(name) for name in read}
        if None in digests.values():
            return
        path = self._path(file, flags)
        # Another process may read the record meanwhile, or write it.
        fresh = path.with_suffix(f".{os.getpid()}")
        fresh.write_bytes(self._around + pickle.dumps((digests, verdict)))
        fresh.rename(path)
