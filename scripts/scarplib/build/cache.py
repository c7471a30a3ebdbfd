# SPDX-License-Identifier: GPL-2.0-or-later
"""The one folder outside the checkout: where it is, locks, hashes, the venv."""

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

# What the scripts need beyond the standard library.
VENV_PACKAGES = ("matplotlib", "qemu.qmp", "ruff")
# What `make reproduce` needs besides: a venv of its own, as nothing else waits for it.
REPRODUCE_PACKAGES = ("matplotlib", "snakemake")


def cache_dir() -> Path:
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
            print(f"waiting for another scarp to finish with '{name}'", flush=True)
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


def ensure_venv(name: str = "venv", packages: tuple[str, ...] = VENV_PACKAGES) -> Path:
    """Python with matplotlib and the other packages, made once."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    folder = cache_dir() / f"{name}-{version}"
    python = folder / "bin" / "python"
    mark = folder / ".complete"
    wanted = " ".join(packages)
    if mark.is_file() and mark.read_text() == wanted:
        return python
    with locked(name):
        if mark.is_file() and mark.read_text() == wanted:
            return python
        with step(f"Python packages: {wanted}"):
            commands = (
                [sys.executable, "-m", "venv", "--clear", str(folder)],
                [str(python), "-m", "pip", "install", "--quiet", *packages],
            )
            for command in commands:
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                if done.returncode:
                    detail = (done.stderr or done.stdout).strip().splitlines()
                    raise UserError(
                        f"'{' '.join(command)}' failed: {detail[-1] if detail else 'no message'}"
                    )
        mark.write_text(wanted)
    return python
