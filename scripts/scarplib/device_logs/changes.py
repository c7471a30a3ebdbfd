# SPDX-License-Identifier: GPL-2.0-or-later
"""The log of changes: what changed a drive from outside during a run, and when.

The writer is hw/flash-log.c; ftl/replay/changes.c reads it, too, when the run is repeated.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from scarplib.device_logs.log_file import LogError

# Its name beside a scheme's command log.
NAME = "changes.csv"
COLUMNS = ("time_ns", "next_command", "change", "scheme", "params")
SCHEME = "scheme"
POWER_CUT = "power_cut"
SANITIZE = "sanitize"


@dataclass(frozen=True)
class Change:
    """At so many ns of the drive's clock; a power cut and a Sanitize have no scheme.

    Where the host closed a handle's reclaim units, `scheme` is the handle's stream.
    """

    time_ns: int
    # Commands that were submitted before it; None: all that came by then.
    next_command: int | None
    change: str
    scheme: str = ""
    # "key=value;…"
    params: str = ""


def read(path: Path) -> list[Change]:
    """All of them, in the order of their times."""
    found: list[Change] = []
    try:
        with path.open(newline="", encoding="utf-8", errors="replace") as stream:
            rows = csv.reader(stream)
            if tuple(next(rows, ())) != COLUMNS:
                head = ",".join(COLUMNS)
                raise LogError(f"{path}: no log of changes: its head is not '{head}'")
            for at, command, change, scheme, params in rows:
                number = int(command) if command else None
                found.append(Change(int(at), number, change, scheme, params))
    except OSError as error:
        raise LogError(f"{path}: {error.strerror}") from error
    except (ValueError, csv.Error) as error:
        raise LogError(f"{path}: row {len(found) + 1}: not a change") from error
    return found


def write(path: Path, changes: Sequence[Change]) -> None:
    """As the device does."""
    with path.open("w", newline="", encoding="utf-8") as stream:
        rows = csv.writer(stream, lineterminator="\n")
        rows.writerow(COLUMNS)
        for each in changes:
            command = "" if each.next_command is None else each.next_command
            rows.writerow((each.time_ns, command, each.change, each.scheme, each.params))


def of(folder: Path) -> list[Change]:
    """Of a scheme's folder; none where nothing was recorded."""
    path = folder / NAME
    return read(path) if path.is_file() else []


def words(folder: Path) -> list[str]:
    """As scarp-replay's arguments, to repeat a scheme's command log."""
    return ["--changes", str(folder.resolve() / NAME)] if of(folder) else []


def first_end(folder: Path) -> Change | None:
    """The first power cut or Sanitize, after which nothing can be repeated, if there was one."""
    return next((each for each in of(folder) if each.change in (POWER_CUT, SANITIZE)), None)
