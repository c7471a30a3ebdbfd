# SPDX-License-Identifier: GPL-2.0-or-later
"""`--at`: an instant from which each column but the first has another scheme.

Until then all columns are the first one, the stem, so what ended before it must be equal bytes.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from scarplib.device_logs import changes, command_log, gc_log
from scarplib.device_logs.log_file import Layout, LogError, chunks
from scarplib.errors import UserError
from scarplib.scheme_text import split

_AT = re.compile(r"start(?:\+(\d+(?:\.\d{1,9})?))?|(\d+)ns")
_SECOND = 10**9
# The drive's clock ends in 18 years.
_LAST_NS = 18 * 365 * 86_400 * _SECOND


def _after(text: str) -> tuple[int, bool]:
    """The ns of a time whose form is right; whether they count from the job's begin."""
    match = _AT.fullmatch(text)
    assert match
    if match[2]:
        return int(match[2]), False
    whole, _, part = (match[1] or "0").partition(".")
    return int(whole) * _SECOND + int(part.ljust(9, "0") or 0), True


def check(text: str) -> str:
    """A parser for argparse: its form alone; when the job ran is not known yet."""
    if not _AT.fullmatch(text):
        raise UserError(
            f"--at: '{text}' is no time: start (the job's begin), start+SECONDS, or Nns of the "
            "drive's clock"
        )
    if _after(text)[0] > _LAST_NS:
        raise UserError(f"--at: '{text}' is past 18 years, where the drive's clock ends")
    return text


def at_ns(text: str, begin_ns: int, end_ns: int) -> int:
    """On the drive's clock, of a job that ran from begin_ns to end_ns."""
    found, from_begin = _after(text)
    found += begin_ns if from_begin else 0
    if found > end_ns:
        raise UserError(
            f"--at: {text} is {found} ns of the drive's clock, and the job ends at {end_ns} ns"
        )
    return found


def said(at: str | None, forks: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """For a summary.json: each forked column's stem, its scheme from then on, and when that is."""
    return {"at": at, "forks": forks} if at else {}


def write_change(folder: Path, time_ns: int, scheme: str) -> None:
    """The log of the change that the column in this folder is to make."""
    chosen = split(scheme)
    change = changes.Change(time_ns, None, "scheme", chosen.name, chosen.params(";"))
    changes.write(folder / changes.NAME, [change])


def _ended_before(path: Path, layout: Layout, time_ns: int) -> Iterator[bytes]:
    """Rows as they are stored; both logs have the end in their second column."""
    size = layout.row.size
    for chunk in chunks(path, layout):
        for at in range(0, len(chunk), size):
            row = chunk[at : at + size]
            if int.from_bytes(row[8:16], "little") < time_ns:
                yield row


def check_equal(stem: Path, column: Path, time_ns: int) -> None:
    """Raise with the first row that ended before the instant and is not the stem's."""
    commands = command_log.layout(stem / "cmd.bin")
    for name, layout in (("cmd.bin", commands), ("gc.bin", gc_log.LAYOUT)):
        try:
            rows = itertools.zip_longest(
                _ended_before(stem / name, layout, time_ns),
                _ended_before(column / name, layout, time_ns),
            )
            for number, (wanted, found) in enumerate(rows):
                if wanted != found:
                    has = "none" if not found else str(layout.row.unpack(found)[:2])
                    stems = "none" if not wanted else str(layout.row.unpack(wanted)[:2])
                    raise UserError(
                        f"--at: row {number} of {column / name} begins with {has}, and that of the "
                        f"stem, {stem / name}, with {stems}: it ended before {time_ns} ns, the "
                        "instant, until which both are one run"
                    )
        except LogError as error:
            raise UserError(str(error)) from error
