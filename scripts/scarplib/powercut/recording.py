# SPDX-License-Identifier: GPL-2.0-or-later
"""A recorded run in its folder: enough to tell it to its drives again, and to cut their power."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from scarplib.errors import UserError, printable

FILE = "recording.json"
# Of a command's results.
FOLDER = "recording"
SCHEMA = "scarp-recording-1"


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
        """ValueError or KeyError: it is none of ours, though it reads as one."""
        files = [self.description, self.job]
        files += [name for drive in self.drives for name in (drive.image, drive.cmd_log)]
        files += [drive.data_log for drive in self.drives]
        for name in filter(None, files):
            if name != Path(name).name:
                raise ValueError(f"'{name}' is in another folder")
        for key in ("file_systems", "packages", "kernel", "modules", "memory_mib", "over"):
            _ = self.guest[key]
        for name, options in self.guest["file_systems"]:
            if not (isinstance(name, str) and isinstance(options, str)):
                raise ValueError("a file system without name and options")

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
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UserError(f"--from: {path}: damaged: {printable(str(error))}") from error
