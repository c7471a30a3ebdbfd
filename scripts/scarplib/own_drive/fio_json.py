# SPDX-License-Identifier: GPL-2.0-or-later
"""fio's own results (--output-format=json) as rows of a table of measurements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from scarplib.device_logs.log_file import LogError
from scarplib.errors import UserError, printable
from scarplib.own_drive.cited import LOADS, Row
from scarplib.own_drive.fio_options import ignored
from scarplib.own_drive.plan import KIB, MIB
from scarplib.results.fio import FioRun, Job, Part, load_fio

_SUFFIXES = {"k": KIB, "m": MIB, "g": 1024 * MIB}
_POINTS = {"p50": "50.000000", "p90": "90.000000", "p99": "99.000000"}
_MIXED = ("rw", "readwrite", "randrw")
# These wait for each request, whatever `iodepth` says; psync is what fio takes by itself.
_SYNCHRONOUS = ("sync", "psync", "vsync", "pvsync", "pvsync2", "mmap")
# Jobs that are alike have percentiles that differ by no more; of others none can be told of all.
ALIKE = 0.05


def size(text: str) -> int:
    """fio's 4k, 1m, 512, 64KiB; 0 for nothing."""
    text = text.strip().lower().removesuffix("ib").removesuffix("b")
    if not text:
        return 0
    scale = _SUFFIXES.get(text[-1], 1)
    return int(text[:-1] if scale > 1 else text) * scale


def _of_direction(text: str, write: bool) -> str:
    """Of READ,WRITE,TRIM; one value is for all."""
    parts = text.split(",")
    return parts[1] if write and len(parts) > 1 else parts[0]


def _points(part: Part) -> dict[str, float]:
    points = part.latencies.points
    return {short: points[key] for short, key in _POINTS.items() if key in points}


@dataclass(frozen=True)
class _Job:
    """A job's entries: one, or one for each of `numjobs` processes that fio kept apart."""

    name: str
    group: str
    options: dict[str, str]
    entries: list[Job]

    def _number(self, key: str, usual: int) -> int:
        return int(self.options.get(key, usual))

    @property
    def jobs(self) -> int:
        """How many at once."""
        found = self._number("numjobs", 1)
        if len(self.entries) not in (1, found):
            raise UserError(
                f"job '{self.name}' has {len(self.entries)} entries, and numjobs={found}"
            )
        return found

    @property
    def depth(self) -> int:
        """Requests at once of each."""
        waits = self.options.get("ioengine", "psync") in _SYNCHRONOUS
        return 1 if waits else self._number("iodepth", 1)

    def check(self) -> None:
        """What the rows below would not say."""
        load = self.options.get("rw", "read")
        if load not in LOADS:
            raise UserError(f"job '{self.name}': rw={load}: must be one of {', '.join(LOADS)}")
        if found := ignored(self.options):
            raise UserError(
                f"job '{self.name}': {', '.join(found)}: a description is not asked for such a load"
            )

    def rate(self, write: bool, bs: int) -> int:
        """Bytes a second of each, as fio limits them; 0: no limit."""
        bytes_per_s = size(_of_direction(self.options.get("rate", ""), write))
        per_s = size(_of_direction(self.options.get("rate_iops", ""), write))
        return bytes_per_s or per_s * bs

    def _alike(self, found: Sequence[dict[str, float]]) -> dict[str, float]:
        points = {}
        for name in _POINTS:
            values = [one[name] for one in found if name in one]
            if len(values) == len(found) and max(values) <= (1 + ALIKE) * min(values):
                points[name] = float(median(values))
        return points

    def row(self, kind: str, file: str, mixed: int) -> Row:
        """Of one direction: rates add up, and percentiles are those of each if they are alike."""
        write = kind == "write"
        done = [job.parts[kind] for job in self.entries if kind in job.parts]
        count = sum(part.ios for part in done)
        order = "rand" if self.options.get("rw", "").startswith("rand") else ""
        bs = size(_of_direction(self.options.get("bs", "4k"), write))
        return Row(
            file=file,
            use="held",
            rw=f"{order}{kind}",
            bs=bs,
            depth=self.depth,
            jobs=self.jobs,
            rate=self.rate(write, bs),
            iops=sum(part.iops for part in done),
            kib_per_s=sum(part.kib_per_s for part in done),
            mean=sum(part.latencies.mean * (part.ios / count) for part in done),
            points=self._alike([_points(part) for part in done]),
            mixed=mixed,
            n=count,
        )

    def rows(self, file: str) -> list[Row]:
        """One for each direction in which it did anything."""
        self.check()
        counts = {
            kind: sum(job.parts[kind].ios for job in self.entries if kind in job.parts)
            for kind in ("read", "write")
        }
        mixed = 0
        if all(counts.values()):
            mixed = max(1, min(999, round(1000 * counts["write"] / sum(counts.values()))))
        found = [self.row(kind, file, mixed) for kind, count in counts.items() if count]
        if mixed and (found[0].bs != found[1].bs or found[0].rate or found[1].rate):
            raise UserError(
                f"job '{self.name}': reads and writes of one job: needs one `bs` for both, and no "
                "`rate`"
            )
        return found


def _jobs(run: FioRun) -> list[_Job]:
    """Entries of the same name and group are one job."""
    found: dict[tuple[str, str], _Job] = {}
    for job in run.jobs:
        new = _Job(job.name, job.group, job.options, [])
        found.setdefault((job.name, job.group), new).entries.append(job)
    return list(found.values())


def rows(path: Path) -> list[Row]:
    """A row for each job and direction in which it did anything; each group of jobs is a run.

    fio begins a group where a job waits for those before it (`stonewall`).
    """
    try:
        return _rows(load_fio(path), path.name)
    except LogError as error:
        raise UserError(str(error)) from error
    except UserError as error:
        raise UserError(f"{path}: {printable(str(error))}") from error
    except (ValueError, LookupError, ArithmeticError) as error:
        # The repr of one that text has may have all of the file.
        why = printable(f"{type(error).__name__}: {error}")
        raise UserError(f"{path}: is no JSON of fio's: {why}") from error


def _rows(run: FioRun, file: str) -> list[Row]:
    found: list[Row] = []
    taken: dict[tuple[str, str], str] = {}
    for job in _jobs(run):
        own = job.rows(f"{file}, group {job.group}")
        for row in own:
            kind = "writes" if "write" in row.rw else "reads"
            other = taken.setdefault((job.group, kind), job.name)
            if other != job.name:
                raise UserError(
                    f"jobs '{other}' and '{job.name}' ran at once, and both have {kind}: only "
                    "one job of a kind is told from others; `stonewall` lets them take turns"
                )
        found += own
    if not found:
        raise UserError("no job in it has read or written anything")
    return found
