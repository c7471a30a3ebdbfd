# SPDX-License-Identifier: GPL-2.0-or-later
"""A recorded run in its folder: enough to tell it to its drives again, and to cut their power."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from scarplib.errors import UserError, printable
from scarplib.guest.file_system import FILE_SYSTEMS
from scarplib.powercut.layout import OVER

FILE = "recording.json"
# Of a command's results.
FOLDER = "recording"
SCHEMA = "scarp-recording-1"


_OR_NONE = (str, type(None))
# What is what in the file: JSON may have anything there.
_KINDS: dict[str, type | tuple[type, ...]] = {
    "scheme": str,
    "description": _OR_NONE,
    "overrides": _OR_NONE,
    "begin_ns": int,
    "end_ns": int,
    "work": str,
    "job": _OR_NONE,
    "guest": dict,
    "manifest": dict,
}
_DRIVE = {"image": str, "cmd_log": str, "data_log": str, "seed": int}
_GUEST = {
    "file_systems": list,
    "packages": list,
    "kernel": _OR_NONE,
    "modules": _OR_NONE,
    "memory_mib": (int, type(None)),
    "over": _OR_NONE,
}


def _need(found: Mapping[str, Any], kinds: Mapping[str, Any], where: str) -> None:
    for name, kind in kinds.items():
        if name not in found or not isinstance(found[name], kind):
            raise ValueError(f"{where}{name}: is missing, or of another kind")


@dataclass(frozen=True)
class Drive:
    """One of its drives; files by their names in the folder."""

    image: str
    cmd_log: str
    data_log: str
    seed: int


@dataclass(frozen=True)
class Recording:
    """`begin_ns` to `end_ns`: when the workload ran, after what prepared it."""

    folder: Path
    drives: tuple[Drive, ...]
    scheme: str
    # The description, in the folder; keys that were changed.
    description: str | None
    overrides: str | None
    begin_ns: int
    end_ns: int
    # What ran, for people; fio's job, in the folder.
    work: str
    job: str | None
    # What a guest for checks must be like: options of `scarp powercut`, as strings.
    guest: dict[str, Any]
    manifest: dict[str, Any]

    def check(self) -> None:
        """ValueError: it reads as one, and was not written by write()."""
        _need(vars(self), _KINDS, "")
        _need(self.guest, _GUEST, "guest: ")
        files = [name for name in (self.description, self.job) if name is not None]
        for drive in self.drives:
            _need(vars(drive), _DRIVE, "drives: ")
            files += [drive.image, drive.cmd_log, drive.data_log]
        for name in files:
            # Links are followed.
            if self.path(name).resolve().parent != self.folder.resolve():
                raise ValueError(f"'{name}' is no file of its folder")
        if not all(isinstance(name, str) for name in self.guest["packages"]):
            raise ValueError("guest: packages: a name is no text")
        for name, options in self.guest["file_systems"]:
            if name not in FILE_SYSTEMS or not isinstance(options, str):
                raise ValueError(f"guest: file_systems: '{name}' is none that is known")
        if self.guest["over"] not in (None, *OVER):
            raise ValueError(f"guest: over: '{self.guest['over']}' is none that is known")

    def path(self, name: str) -> Path:
        """Of one of its files."""
        return self.folder / name

    @property
    def file_system(self) -> str | None:
        """Its name, if there was one."""
        names = self.guest["file_systems"]
        return names[0][0] if names else None

    def changed(self, overrides: str) -> Recording:
        """The same run on drives with more keys changed; it must be the same to the nanosecond."""
        both = ",".join(filter(None, (self.overrides, overrides)))
        return replace(self, overrides=both)

    def write(self) -> None:
        """Last of all: a folder without it is of no whole run."""
        found = asdict(self)
        del found["folder"]
        text = json.dumps({"schema": SCHEMA, **found}, indent=1) + "\n"
        (self.folder / FILE).write_text(text)


def read(folder: Path) -> Recording:
    """One that was made before; or the folder of results that it is in."""
    if (folder / FOLDER / FILE).is_file():
        folder = folder / FOLDER
    path = folder / FILE
    try:
        found = json.loads(path.read_text())
        if found.pop("schema") != SCHEMA:
            raise UserError(f"--from: {path}: another version: record it again")
        found["drives"] = tuple(Drive(**drive) for drive in found["drives"])
        made = Recording(folder=folder, **found)
        made.check()
        return made
    except OSError as error:
        raise UserError(f"--from: {path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError, RuntimeError) as error:
        raise UserError(f"--from: {path}: damaged: {printable(str(error))}") from error
