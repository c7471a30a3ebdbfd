# SPDX-License-Identifier: GPL-2.0-or-later
"""`--check fio`: how many of a job's writes are durable at a moment, as the drive has said.

fio knows what its writes contain from the job alone, and in which order they were.  So it can
verify the first so many of a section's.
"""

from __future__ import annotations

import bisect
import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from scarplib.device_logs.command_log import OPS, Commands, read_commands
from scarplib.device_logs.log_file import LogError
from scarplib.errors import UserError
from scarplib.results.fio import load_fio

_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_NEEDED = ("offset", "size", "verify")


def _bytes(text: str, where: str) -> int:
    match = re.fullmatch(r"(\d+)([kmg]?)(?:i?b)?", text.strip().lower())
    if not match:
        raise UserError(f"--check fio: {where}='{text}': must be a number of bytes, such as 4m")
    return int(match[1]) * _UNITS[match[2]]


def verifying(job: str) -> bytes:
    """The job, but that it verifies whatever it says of that."""
    lines = [x for x in job.splitlines() if not re.match(r"\s*do_verify\s*=", x)]
    return ("\n".join(lines) + "\n").encode()


@dataclass(frozen=True)
class Section:
    """A part of the drive that one section of the job writes, each block once."""

    name: str
    offset: int
    size: int


def sections(job: str) -> list[Section]:
    """What a job must be like for this check is said here."""
    found: dict[str, dict[str, str]] = {}
    common: dict[str, str] = {}
    now = common
    for raw in job.splitlines():
        line = raw.split(";", 1)[0].split("#", 1)[0].strip()
        if match := re.fullmatch(r"\[(.+)\]", line):
            now = common if match[1] == "global" else found.setdefault(match[1], {})
        elif line:
            key, _, value = line.partition("=")
            now[key.strip()] = value.strip()
    made = []
    for name, own in found.items():
        keys = {**common, **own}
        for key in _NEEDED:
            if key not in keys:
                raise UserError(f"--check fio: [{name}]: no '{key}=': it must say {_NEEDED}")
        for key in ("numjobs", "iodepth"):
            if keys.get(key, "1") != "1":
                raise UserError(f"--check fio: [{name}]: {key}={keys[key]}: must be 1")
        if "norandommap" in keys or "loops" in keys or "time_based" in keys:
            raise UserError(f"--check fio: [{name}]: each block must be written once")
        made.append(Section(name, _bytes(keys["offset"], "offset"), _bytes(keys["size"], "size")))
    made.sort(key=lambda section: section.offset)
    for one, other in pairwise(made):
        if one.offset + one.size > other.offset:
            raise UserError(f"--check fio: [{one.name}] and [{other.name}] overlap")
    return made


class Durable:
    """Of each section of a recorded job."""

    def __init__(self, job: str, log: Path, begin_ns: int, volatile: bool) -> None:
        commands = read_commands(log, unseen=True)
        rows = sorted(range(len(commands)), key=lambda r: (commands.submit[r], commands.order[r]))
        self._when = {
            section.name: _durable_from(commands, rows, section, begin_ns, volatile)
            for section in sections(job)
        }

    def counts(self) -> dict[str, int]:
        """Writes of each section."""
        return {name: len(times) for name, times in self._when.items()}

    def text(self, at_ns: int) -> str:
        """For check-fio.sh: SECTION=BLOCKS, of those that are durable if power fails then."""
        return " ".join(
            f"{name}={bisect.bisect_left(times, at_ns)}" for name, times in self._when.items()
        )


def _durable_from(
    commands: Commands, rows: list[int], section: Section, begin_ns: int, volatile: bool
) -> list[int]:
    """From when on the first, the second, … write of a section and all before it are durable."""
    flushes = [
        (commands.submit[row], commands.complete[row])
        for row in rows
        if OPS[commands.op[row]] == "flush"
    ]
    found: list[int] = []
    latest = 0
    for row in rows:
        at = commands.offset[row]
        inside = section.offset <= at < section.offset + section.size
        if OPS[commands.op[row]] != "write" or not inside or commands.submit[row] < begin_ns:
            continue
        done = commands.complete[row]
        if volatile and not commands.fua[row]:
            later = [end for begin, end in flushes if begin > done]
            done = min(later, default=2**63)
        latest = max(latest, done)
        found.append(latest)
    return found


def check_counts(durable: Durable, fio: Path) -> None:
    """Each of fio's writes must be one command of the drive's."""
    try:
        found = load_fio(fio)
    except LogError as error:
        raise UserError(f"--check fio: {error}") from error
    wrote = {job.name: job.parts["write"].ios for job in found.jobs if "write" in job.parts}
    for name, count in durable.counts().items():
        seen = wrote.get(name, 0)
        if seen != count:
            raise UserError(
                f"--check fio: [{name}]: {seen} writes of fio's are {count} commands of "
                "the drive's: each must be one (direct=1, blocks that the kernel does not split)"
            )
