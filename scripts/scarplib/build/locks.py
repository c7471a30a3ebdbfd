# SPDX-License-Identifier: GPL-2.0-or-later
"""Which version and checksum of everything that is fetched: the lock files in scripts/locks.

`make update-locks` writes them.  What is gone from this machine's mirror stops a build in one line;
SCARP_UNLOCKED=1 (`--unlocked`) takes what the mirror has in its place, and says what that was.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
import sys
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scarplib.build.cache import cache_dir, locked
from scarplib.errors import UserError
from scarplib.paths import SCRIPTS, UNLOCKED

FOLDER = SCRIPTS / "locks"
DEBIAN = FOLDER / "debian.toml"
# More than so many names make no line that anybody reads.
_NAMED = 6


@dataclass(frozen=True)
class Source:
    """A source package: its version, and the SHA-256 of the files that are used."""

    version: str
    files: Mapping[str, str]


@dataclass(frozen=True)
class DebianLock:
    """`packages`: name to version and SHA-256; `sets`: what apt made of some names."""

    sources: Mapping[str, Source] = field(default_factory=dict)
    packages: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    sets: Mapping[tuple[str, ...], tuple[str, ...]] = field(default_factory=dict)

    def closure(self, names: Sequence[str]) -> list[str] | None:
        """name=version of these packages and all that they need; None if they are not locked."""
        found = self.sets.get(tuple(sorted(names)))
        return None if found is None else [f"{name}={self.packages[name][0]}" for name in found]

    def sha256(self, package: str) -> str | None:
        """Of the .deb of a name=version, if it is this version that is locked."""
        name, version = package.split("=", 1)
        known = self.packages.get(name)
        return known[1] if known and known[0] == version else None


def parse(text: str) -> DebianLock:
    """A lock file's text."""
    data: dict[str, Any] = tomllib.loads(text)
    return DebianLock(
        {name: Source(x["version"], x["files"]) for name, x in data["sources"].items()},
        {name: (x[0], x[1]) for name, x in data["packages"].items()},
        {tuple(x["wanted"]): tuple(x["packages"]) for x in data["set"]},
    )


@functools.cache
def debian() -> DebianLock:
    """What is taken from Debian."""
    return parse(DEBIAN.read_text())


def unlocked() -> bool:
    """Whether the mirror's version will do where a locked one is gone."""
    return os.environ.get(UNLOCKED, "") not in ("", "0")


def file_sha256(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def check(path: Path, what: str, wanted: str) -> None:
    """A file that is not the locked one is removed, and nothing of it is used."""
    found = file_sha256(path)
    if found != wanted:
        path.unlink()
        raise UserError(
            f"{what}: its SHA-256 is {found}, and the lock says {wanted}; what was fetched is "
            "removed, and --unlocked takes no such file either"
        )


def _stem(name: str) -> str:
    """A kernel's packages have its version in their names."""
    return re.sub(r"\d+", "#", name)


def differences(wanted: Sequence[str], taken: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Of two lists of name=version: what of the first the second does not have, and has instead."""
    have = dict(x.split("=", 1) for x in taken)
    lock = dict(x.split("=", 1) for x in wanted)
    new = {_stem(name): f"{name} {have[name]}" for name in have if name not in lock}
    found = {}
    for name, version in lock.items():
        if name in have and have[name] != version:
            found[name] = (version, have[name])
        elif name not in have:
            found[name] = (version, new.pop(_stem(name), "nothing"))
    return found | {text.split()[0]: ("nothing", text.split()[1]) for text in new.values()}


def _listed(texts: Iterable[str]) -> str:
    texts = list(texts)
    more = len(texts) - _NAMED
    return ", ".join(texts[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def gone(packages: Mapping[str, tuple[str, str]], where: str) -> UserError:
    """The one line: name to the locked version, and to what the mirror has now."""
    locked_ones = _listed(f"{name} {old}" for name, (old, _) in packages.items())
    # A package of another name says its name.
    others = _listed(new if " " in new else f"{n} {new}" for n, (_, new) in packages.items())
    return UserError(
        f"gone from this machine's {where}: {locked_ones}; --unlocked ({UNLOCKED}=1) would take "
        f"{others}"
    )


# ---- what was taken in place of what is locked ---------------------------------------------------


def _record() -> Path:
    return cache_dir() / "not-as-locked.json"


def key() -> str:
    """A hash of all lock files: which locks a record is of."""
    texts = [path.read_bytes() for path in sorted(FOLDER.iterdir()) if path.is_file()]
    return hashlib.sha256(b"".join(texts)).hexdigest()


def taken() -> dict[str, tuple[str, str]]:
    """What this cache has that is not locked: name to the locked version, and to the one taken."""
    try:
        data = json.loads(_record().read_text())
    except (OSError, ValueError):
        return {}
    return {name: (x[0], x[1]) for name, x in data["taken"].items()} if data["key"] == key() else {}


def take(packages: Mapping[str, tuple[str, str]]) -> None:
    """Say that these differ from the lock, once, and keep it for the end of `make test`."""
    with locked("not-as-locked"):
        known = taken()
        for name, (old, new) in packages.items():
            if known.get(name) != (old, new):
                print(f"not as locked: {name} {old} is gone, taken: {new}", file=sys.stderr)
        if not packages.keys() <= known.keys():
            _record().write_text(json.dumps({"key": key(), "taken": known | dict(packages)}))


def report() -> list[str]:
    """A line for each input of this cache that is not the locked one; or that there is none."""
    lines = [f"not as locked: {n}: {old} is gone, taken: {new}" for n, (old, new) in
             sorted(taken().items())]  # fmt: skip
    return lines or ["inputs: all as locked"]
