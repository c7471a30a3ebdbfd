# SPDX-License-Identifier: GPL-2.0-or-later
"""What one fio run said of itself, out of its JSON: groups, their jobs, what each did and when.

fio has written it in a guest or on a machine of the user's, and it may be anybody's: what is used
of it is checked when it is loaded.  fio's stat.c says what its fields mean; where the names below
are fio's, they mean the same.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scarplib.device_logs.log_file import LogError
from scarplib.errors import printable

# What fio counts apart; "mixed" is all of a job's reads, writes and trims (unified_rw_reporting).
DIRECTIONS = ("read", "write", "trim", "sync", "mixed")
# What it takes down of each latency; it keeps percentiles of one of them unless it is told more.
_KINDS = ("lat_ns", "clat_ns")
_MOST = 1 << 63
# Numbers that a direction has and that are used.
_NUMBERS = ("total_ios", "io_bytes", "iops", "bw", "runtime")


@dataclass(frozen=True)
class Latencies:
    """Of one population (ns); `bins`: how many of each value, with json+; `points`: fio's own
    percentiles, by fio's text such as "99.000000"."""

    mean: float = 0.0
    maximum: float = 0.0
    bins: dict[int, int] = field(default_factory=dict)
    points: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Part:
    """What a job did in one direction; `runtime_ms`: for how long, without its ramp."""

    ios: int
    bytes: int
    iops: float
    kib_per_s: float
    runtime_ms: int
    latencies: Latencies


@dataclass(frozen=True)
class Job:
    """An entry of fio's list: a job, one of its `numjobs` clones, or with group_reporting a group.

    `options`: the job's own over those of [global].  `start_ms`: when it began to count, behind
    its ramp, on the clock of the machine that fio ran on; None: fio is too old to say.
    """

    name: str
    group: str
    options: dict[str, str]
    parts: dict[str, Part]
    start_ms: int | None

    @property
    def span(self) -> tuple[int, int] | None:
        """From when to when it counted (ms), if fio says so."""
        if self.start_ms is None:
            return None
        runtime = max((part.runtime_ms for part in self.parts.values()), default=0)
        return self.start_ms, self.start_ms + max(1, runtime)

    @property
    def ramp(self) -> bool:
        """Whether it did I/O before it began to count."""
        return bool(re.search(r"[1-9]", self.options.get("ramp_time", "")))

    @property
    def cached(self) -> bool:
        """Whether its reads and writes go through the page cache; not, if no option is known."""
        if not self.options or self.options.get("ioengine") == "io_uring_cmd" or self._on("atomic"):
            return False
        if "buffered" in self.options and "direct" not in self.options:
            return self._on("buffered")
        return not self._on("direct")

    def _on(self, option: str) -> bool:
        # An option without a value is 1.
        return option in self.options and self.options[option].strip() not in ("0", "false")


@dataclass(frozen=True)
class Unit:
    """Jobs that fio's own grouping has as one, and that ran together: their rates add up."""

    name: str
    jobs: tuple[Job, ...]


@dataclass(frozen=True)
class FioRun:
    """All of it, in fio's order."""

    jobs: tuple[Job, ...]

    @property
    def together(self) -> bool:
        """Whether there was a moment at which all of them ran: only then is there a total."""
        return _together(self.jobs)

    def units(self) -> tuple[Unit, ...]:
        """The groups (group_reporting, stonewall, new_group, numjobs); of a group whose jobs took
        turns each job is a unit."""
        groups: dict[str, list[Job]] = {}
        for job in self.jobs:
            groups.setdefault(job.group, []).append(job)
        found: list[Unit] = []
        for jobs in groups.values():
            if _together(jobs):
                found.append(Unit(_label(jobs), tuple(jobs)))
            else:
                found += by_name(jobs)
        return tuple(_told_apart(found))

    def jobs_apart(self) -> tuple[Unit, ...]:
        """Each job that fio reported by itself."""
        return tuple(_told_apart(tuple(by_name(self.jobs))))

    def ramp(self) -> bool:
        """Whether a job has one."""
        return any(job.ramp for job in self.jobs)


def _together(jobs: Sequence[Job]) -> bool:
    spans = [job.span for job in jobs]
    known = [span for span in spans if span]
    if len(known) == len(spans):
        return max(s[0] for s in known) < min(s[1] for s in known)
    # fio is too old to say: jobs of one group begin together, and a stonewall waits.
    return not any("stonewall" in job.options for job in jobs[1:]) or len(_groups(jobs)) == 1


def _groups(jobs: Iterable[Job]) -> set[str]:
    return {job.group for job in jobs}


def by_name(jobs: Iterable[Job]) -> Iterator[Unit]:
    """Clones of a job are one, as its name says."""
    named: dict[tuple[str, str], list[Job]] = {}
    for job in jobs:
        named.setdefault((job.group, job.name), []).append(job)
    for (_, name), clones in named.items():
        yield Unit(name, tuple(clones))


def _label(jobs: Sequence[Job]) -> str:
    names = list(dict.fromkeys(job.name for job in jobs))
    more = f" and {len(names) - 2} more" if len(names) > 2 else ""
    return " + ".join(names[:2]) + more


def _told_apart(units: Sequence[Unit]) -> Iterator[Unit]:
    """Groups may have jobs of the same name; the second is `name (2)`."""
    times: dict[str, int] = {}
    for unit in units:
        times[unit.name] = times.get(unit.name, 0) + 1
        again = times[unit.name]
        yield Unit(f"{unit.name} ({again})", unit.jobs) if again > 1 else unit


# ---- loading -------------------------------------------------------------------------------------


def _object(parent: dict[str, Any], key: str, where: str) -> dict[str, Any]:
    found = parent.get(key, {})
    if not isinstance(found, dict):
        raise LogError(f"{where}{key}: an object is expected")
    return found


def _number(part: dict[str, Any], key: str, where: str) -> Any:
    value = part.get(key, 0)
    good = isinstance(value, int | float) and not isinstance(value, bool)
    if not good or not 0 <= value < _MOST:
        raise LogError(f"{where}{key}: a number from 0 on is expected")
    return value


def _bins(latencies: dict[str, Any], maximum: float, where: str) -> dict[int, int]:
    """A bin's value is its middle: the last one's may be above the greatest latency, which is as
    much as any of its latencies can be."""
    found: dict[int, int] = {}
    for text, count in _object(latencies, "bins", where).items():
        if not (text.isascii() and text.isdigit() and len(text) < 20):
            raise LogError(f"{where}bins: nanoseconds are expected, not {text[:40]!r}")
        if type(count) is not int or not 0 <= count < _MOST:
            raise LogError(f"{where}bins: {text}: a count is expected")
        value = min(int(text), int(maximum)) if maximum else int(text)
        found[value] = found.get(value, 0) + count
    return found


def _points(latencies: dict[str, Any], maximum: float, where: str) -> dict[str, float]:
    listed = _object(latencies, "percentile", where)
    found = {text: float(_number(listed, text, f"{where}percentile.")) for text in listed}
    return {text: min(value, maximum) if maximum else value for text, value in found.items()}


def _latencies(part: dict[str, Any], where: str) -> tuple[Latencies, int]:
    """Of one kind, and how many they are: a job may have percentiles of the other one only, as fio
    has by itself, and a mean of the time from handing an I/O over says nothing of percentiles from
    its issue on."""
    kinds = {}
    for kind in _KINDS:
        of, inside = _object(part, kind, where), f"{where}{kind}."
        maximum = _number(of, "max", inside)
        read = Latencies(
            float(_number(of, "mean", inside)),
            maximum,
            _bins(of, maximum, inside),
            _points(of, maximum, inside),
        )
        kinds[kind] = read, int(_number(of, "N", inside))
    for read, count in kinds.values():
        if read.bins or read.points:
            return read, count
    whole, count = kinds["lat_ns"]
    return (whole, count) if count or whole.mean else kinds["clat_ns"]


def _part(job: dict[str, Any], direction: str, where: str) -> Part | None:
    """None: it did nothing of that kind."""
    of, inside = _object(job, direction, where), f"{where}{direction}."
    numbers = {key: _number(of, key, inside) for key in _NUMBERS}
    latencies, count = _latencies(of, inside)
    # What was made durable ("sync") has a latency for each fsync, but none for an fdatasync.
    ios = count if direction == "sync" else int(numbers["total_ios"])
    if not ios:
        return None
    return Part(
        ios=ios,
        bytes=int(numbers["io_bytes"]),
        iops=float(numbers["iops"]),
        kib_per_s=float(numbers["bw"]),
        runtime_ms=int(numbers["runtime"]),
        latencies=latencies,
    )


def _options(listed: dict[str, Any]) -> dict[str, str]:
    return {name: value if isinstance(value, str) else str(value) for name, value in listed.items()}


def _job(entry: Any, number: int, shared: dict[str, str], path: Path) -> Job:
    where = f"{path}: jobs[{number}]."
    if not isinstance(entry, dict):
        raise LogError(f"{where} an object is expected")
    name = printable(str(entry.get("jobname", number + 1)))
    if error := entry.get("error") or entry.get("first_error"):
        raise LogError(f"{path}: job '{name}' failed with error {printable(str(error))[:40]}")
    parts = {x: part for x in DIRECTIONS if (part := _part(entry, x, where))}
    start = _number(entry, "job_start", where) if "job_start" in entry else None
    return Job(
        name=name,
        group=printable(str(entry.get("groupid", f"of job {number + 1}")))[:40],
        options={**shared, **_options(_object(entry, "job options", where))},
        parts=parts,
        start_ms=None if start is None else int(start),
    )


def _document(text: str) -> dict[str, Any] | None:
    """fio's object, behind lines of its own and before others; of several, which --status-interval
    prints, the last."""
    decoder = json.JSONDecoder()
    found: dict[str, Any] | None = None
    end = 0
    for match in re.finditer(r"^[ \t]*\{", text, re.MULTILINE):
        if match.start() < end:
            continue
        try:
            read, end = decoder.raw_decode(text, match.end() - 1)
        except ValueError:
            continue
        if isinstance(read, dict) and "jobs" in read:
            found = read
    return found


def is_fios(text: str) -> bool:
    """Whether this is fio's JSON, perhaps with lines before it; it need not be whole."""
    return re.search(r"^[ \t]*\{", text, re.MULTILINE) is not None


def load_fio(path: Path) -> FioRun:
    """LogError: it is none, or a job in it failed."""
    try:
        text = path.read_text(errors="replace")
    except OSError as error:
        raise LogError(f"{path}: {error.strerror}") from error
    try:
        document = _document(text)
    except RecursionError as error:
        raise LogError(f"{path}: not fio's JSON: {error}") from error
    if document is None:
        raise LogError(f"{path}: not fio's JSON: no job in it")
    entries = document["jobs"]
    if not entries or not isinstance(entries, list):
        raise LogError(f"{path}: no job in fio's result")
    shared = _options(_object(document, "global options", f"{path}: "))
    return FioRun(tuple(_job(one, number, shared, path) for number, one in enumerate(entries)))
