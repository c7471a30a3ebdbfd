# SPDX-License-Identifier: GPL-2.0-or-later
"""The one folder outside the checkout: where it is, its locks, hashes of what goes in."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from scarplib.errors import UserError


def cache_dir() -> Path:
    """$XDG_CACHE_HOME/scarp, made if it is missing."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(base) / "scarp"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@contextlib.contextmanager
def locked(name: str) -> Iterator[None]:
    """One process at a time builds one thing; a killed holder leaves no lock behind."""
    path = cache_dir() / f"{name}.lock"
    with path.open("w") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"waiting for another scarp to finish with '{name}'", file=sys.stderr, flush=True)
            fcntl.flock(stream, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def step(name: str) -> Iterator[None]:
    """Says what a long step is, and how long it took."""
    print(f"{name} …", file=sys.stderr, flush=True)
    began = time.monotonic()
    yield
    print(f"{name}: done in {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)


def tree_hash(paths: Iterable[Path]) -> str:
    """A hash of files' names (not where they lie) and contents."""
    total = hashlib.sha256()
    for path in sorted(paths, key=lambda p: p.as_posix()):
        total.update(path.name.encode() + b"\0")
        total.update(hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()


def check_unchanged(what: str, key: str, now: str) -> None:
    """Raises UserError if the sources have another key now than when their build began.

    It is asked before what was built appears under that key.
    """
    if key != now:
        raise UserError(
            f"{what}: a source changed while it was built; the same command builds it of what is "
            "there now"
        )


def unpack_tar(archive: Path | bytes, folder: Path) -> None:
    """Unpack below folder and nowhere else, as this user.

    By tar(1): Debian 12's Python is from before tarfile's extraction filters.
    """
    source, data = ("-", archive) if isinstance(archive, bytes) else (str(archive), None)
    command = ["tar", "-x", "-f", source, "-C", str(folder), "--no-same-owner"]
    done = subprocess.run(command, input=data, capture_output=True, check=False)
    if done.returncode:
        detail = done.stderr.decode(errors="replace").strip().splitlines()
        raise UserError(f"'{' '.join(command)}' failed: {detail[0] if detail else 'no message'}")
