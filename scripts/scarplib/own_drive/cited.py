# SPDX-License-Identifier: GPL-2.0-or-later
"""Measurements of others, as a table of fio's runs, beside a description that runs the same jobs.

A real drive has too many blocks for a fit: the description is of one with so many times fewer, and
as the runs are so many times shorter, what they write is the same share of the drive.
"""

from __future__ import annotations

import csv
import itertools
import json
import math
import random
import subprocess
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from scarplib import scheme_text
from scarplib.device_logs import command_log, log_file
from scarplib.errors import UserError, printable
from scarplib.own_drive.figures import ENOUGH, Figure
from scarplib.own_drive.plan import KIB, MIB
from scarplib.own_drive.probe_file import Latencies

GIB = 1024 * MIB
# `use` may be missing: nothing was fitted to such a table.
# What fio was told to do; the rest of its kinds is trims.
LOADS = ("read", "write", "randread", "randwrite", "rw", "readwrite", "randrw")
COLUMNS = (
    "file",
    "use",
    "rw",
    "bs",
    "iodepth",
    "numjobs",
    "rate_mb",
    "iops",
    "bw_kib",
    "mean_ns",
    "p50_ns",
    "p90_ns",
    "p99_ns",
)
READERS_GIB, WRITERS_GIB = 93, 466
SECONDS = 1200
# Of a run of any other table, and of fio's JSON, on the drive's clock.
SHORT_SECONDS = 0.4
WINDOWS = 120
RAMP_NS = 200_000_000
# More than a description does: so much is written down for it to do.
BYTES_PER_S, MIXED_BYTES_PER_S = 1.5e9, 4e9


@dataclass(frozen=True)
class Row:
    """One job, or several that are alike, of a run."""

    file: str
    use: str
    rw: str
    bs: int
    depth: int
    jobs: int
    # Bytes a second of each job; 0: no limit.
    rate: int
    iops: float
    kib_per_s: float
    mean: float
    points: dict[str, float]
    # Permille of writes in a loop that has both kinds, of which this is one; 0: it has one kind.
    mixed: int = 0
    # How many latencies the points are of; None: nobody says.
    n: int | None = None

    def __post_init__(self) -> None:
        if self.rw not in LOADS:
            raise UserError(f"rw={self.rw}: must be one of {', '.join(LOADS)}")
        for name, value, most in (
            ("bs", self.bs, 1 << 40),
            ("iodepth", self.depth, 65536),
            ("numjobs", self.jobs, 4096),
        ):
            if not 1 <= value <= most:
                raise UserError(f"{name}={value}: must be 1 to {most}")
        of_points = ((f"{name}_ns", value) for name, value in self.points.items())
        for key, seen in (
            ("iops", self.iops),
            ("bw_kib", self.kib_per_s),
            ("mean_ns", self.mean),
            *of_points,
        ):
            if not 0 <= seen < math.inf:
                raise UserError(f"{key}={seen}: must be a number, and 0 or more")

    @property
    def name(self) -> str:
        """Short, for a table."""
        if "long3" in self.file:
            run = Path(self.file).stem.removeprefix("nvme_").replace("_", " beside ")
            return f"{'read' if 'read' in self.rw else 'write'} {run}"
        mix = " of mix" if self.mixed else ""
        return f"{self.rw}{mix} {_size_text(self.bs)} x {self.depth}"


def _size_text(size: int) -> str:
    """As fio takes it: 512, 1536, 4k."""
    return f"{size}" if size % KIB else f"{size // KIB}k"


def _bytes(text: str) -> int:
    scale = {"k": KIB, "m": MIB}.get(text[-1:], 1)
    return int(text.rstrip("km")) * scale


def rows(path: Path) -> list[Row]:
    """Of a table with COLUMNS."""
    try:
        lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: is no text; a compressed table must be unpacked") from error
    try:
        table = list(csv.DictReader(lines))
    except csv.Error as error:
        raise UserError(f"{path}: is no table: {error}") from error
    found = []
    for number, one in enumerate(table, 1):
        missing = [name for name in COLUMNS if one.get(name) is None and name != "use"]
        if missing:
            needed = ", ".join(COLUMNS)
            raise UserError(f"{path}: row {number} has no column '{missing[0]}'; needed: {needed}")
        try:
            points = {
                name: float(one[f"{name}_ns"])
                for name in ("p50", "p90", "p99")
                if one[f"{name}_ns"]
            }
            found.append(
                Row(
                    printable(one["file"]),
                    one.get("use") or "held",
                    one["rw"],
                    _bytes(one["bs"]),
                    int(one["iodepth"]),
                    int(one["numjobs"] or 1),
                    int(one["rate_mb"] or 0) * MIB,
                    float(one["iops"]),
                    float(one["bw_kib"]),
                    float(one["mean_ns"] or 0),
                    points,
                )
            )
        except (ValueError, UserError) as error:
            raise UserError(f"{path}: row {number}: {printable(str(error))}") from error
    return found


def runs(table: list[Row]) -> dict[str, list[Row]]:
    """Rows by the run that they are of."""
    found: dict[str, list[Row]] = {}
    for row in table:
        found.setdefault(row.file, []).append(row)
    return found


@dataclass
class Seen:
    """What a run showed: latencies of reads and of writes, and their rates over time."""

    latencies: dict[str, Latencies] = field(default_factory=dict)
    kib_per_s: dict[str, float] = field(default_factory=dict)
    windows: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class Begin:
    """How each run begins, and how long it is; by itself on a new drive, and short.

    `age`: how much of the drive is filled, in thousandths, and where the loads go; None: all of it
    if something is read, else nothing.  `steady`: it is overwritten as ageing does by default.
    """

    age: int | None = None
    steady: bool = False
    seconds: int | None = None

    def words(self) -> str:
        """For whoever reads the figures."""
        fill = "full where something is read, else empty"
        if self.age is not None:
            fill = f"{self.age / 10:g} % full"
        elif self.steady:
            fill = "full"
        then = "overwritten at random" if self.steady else "nothing of it overwritten"
        where = ", there alone" if self.age else ""
        took = self.seconds or SHORT_SECONDS
        return f"each run: {took} s on a drive that is {fill}, {then}{where}"


@dataclass
class Runner:
    """Runs on a description, which has `scale` times fewer blocks than the drive."""

    replay: Path
    description: Path
    folder: Path
    scheme: str = "baseline"
    scale: int = 128
    options: tuple[str, ...] = ()
    begin: Begin = Begin()

    def _drive(self) -> list[str]:
        words = [str(self.replay), "--quiet", *scheme_text.split(self.scheme).words()]
        words += ["--description", str(self.description)]
        return words + [word for one in self.options for word in ("--override", one)]

    def _do(self, words: list[str]) -> None:
        done = subprocess.run([*self._drive(), *words], capture_output=True, text=True, check=False)
        if done.returncode:
            raise UserError(done.stderr.strip().removeprefix("scarp-replay: "))

    def _writes(self, name: str, row: Row, begin: int, end: int, count: int) -> Path:
        """As fio's randwrite: each place once, then each once more; or one after the other.

        Of a loop with both kinds each place is read or written.
        """
        path = self.folder / f"{name}.csv"
        places = list(range(begin, end - row.bs + 1, row.bs))
        if not places:
            raise UserError(
                f"{row.name}: {row.bs} bytes at once are more than the {end - begin} that the "
                "description has for this job"
            )
        draw, kinds = random.Random(name), random.Random(f"{name} kinds")
        # Of what goes in order each kind goes its own way.
        following = {kind: itertools.cycle(places) for kind in "RW"}
        with path.open("w") as stream:
            while count > 0:
                if row.rw.startswith("rand"):
                    draw.shuffle(places)
                for place in places[:count]:
                    kind = "R" if row.mixed and kinds.randrange(1000) >= row.mixed else "W"
                    where = place if row.rw.startswith("rand") else next(following[kind])
                    stream.write(f"0,{kind},{where},{row.bs}\n")
                count -= len(places)
        return path

    def run(self, table: list[Row]) -> Seen:
        """All rows of one run."""
        beside = any("long3" in row.file for row in table)
        log, words = self.folder / "cmd.bin", list[str]()
        reads = READERS_GIB * GIB // self.scale
        seconds = SECONDS / self.scale
        if not beside or not any("write" in row.rw for row in table):
            seconds = SHORT_SECONDS
        seconds = self.begin.seconds or seconds
        age = self.begin.age
        if age is None:
            read = beside or any("read" in row.rw for row in table)
            age = 1000 if read or self.begin.steady else 0
        if age:
            words += ["--age", str(age)]
            words += [] if self.begin.steady else ["--age-overwrite", "0"]
        number = itertools.count()
        for row in table:
            if row.mixed and "write" in row.rw:
                # The loop of the reads has these.
                continue
            if "read" in row.rw and not row.mixed:
                share = min(1000, reads * 1000 // self._size()) if beside else age or 1000
                kind = "uniform" if row.rw == "randread" else "sequential"
                load = f"gen:{kind},write=0,read_size={row.bs},align={row.bs}"
                rate = f":{row.rate}" if row.rate else ""
                job = f"{row.depth}{rate}={load},footprint={share},requests=100000000"
                for i in range(row.jobs):
                    # Each job reads places of its own; what goes in order has no choice.
                    words += ["--job", f"{job},seed={100 + i}" if i else job]
                continue
            # Where the data is, as fio's `size` says it: what was never written is read at once.
            filled = self._size() * (age or 1000) // 1000
            part = WRITERS_GIB * GIB // self.scale // row.jobs if beside else filled
            start = reads if beside else 0
            for i in range(row.jobs):
                begin = start + i * part // MIB * MIB
                most = MIXED_BYTES_PER_S if row.mixed else BYTES_PER_S
                count = int(most * seconds / row.jobs / row.bs) + 1
                name = f"job-{next(number)}"
                path = self._writes(name, row, begin, begin + part // MIB * MIB, count)
                rate = f":{row.rate}" if row.rate else ""
                words += ["--job", f"{row.depth}{rate}={path}"]
        words += [
            "--runtime",
            str(round(seconds * 1e6)),
            "--cmd-log",
            str(log),
            "--format",
            "csv:time=1:ns,op=2,offset=3,length=4",
            "--json",
            "/dev/null",
        ]
        self._do(words)
        seen = self._seen(log)
        log.unlink()
        return seen

    def _size(self) -> int:
        if not hasattr(self, "_bytes"):
            path = self.folder / "size.json"
            self._do(["--json", str(path), "--requests", "1", "gen:uniform,requests=1"])
            self._bytes: int = json.loads(path.read_text())["stats"]["logical_bytes"]
        return self._bytes

    def _seen(self, log: Path) -> Seen:
        done: dict[str, list[tuple[int, int, int]]] = {"read": [], "write": []}
        for submit, complete, size, op in _commands(log):
            done["write" if op == command_log.WRITE else "read"].append(
                (complete, complete - submit, size)
            )
        if not any(done.values()):
            return Seen()
        begin = min(one[0] - one[1] for kind in done.values() for one in kind)
        if "write" in done and done["read"] and done["write"]:
            # Until the writers' queues are full; a moment of a long run, much of a short one.
            later = begin + RAMP_NS
            done = {
                kind: [one for one in found if one[0] - one[1] >= later]
                for kind, found in done.items()
            }
            begin = later
        if not any(done.values()):
            return Seen()
        end = max(one[0] for kind in done.values() for one in kind)
        seen = Seen()
        for kind, found in done.items():
            if found:
                seen.latencies[kind] = Latencies.of([one[1] for one in found])
                total = sum(one[2] for one in found)
                seen.kib_per_s[kind] = total / KIB / ((end - begin) / 1e9)
        width = (end - begin) // WINDOWS + 1
        windows = [0] * WINDOWS
        for at, _, size in done["write"]:
            windows[min(WINDOWS - 1, (at - begin) // width)] += size
        seen.windows = [one / KIB / (width / 1e9) for one in windows]
        return seen


def _commands(path: Path) -> Iterator[tuple[int, int, int, int]]:
    """Submission, completion, bytes and operation of each command."""
    size, at, place = command_log.layout(path).row.size, {}, 0
    for name, code in command_log.LAYOUT.columns:
        at[name] = place
        place += array(code).itemsize
    for chunk in log_file.chunks(path, command_log.layout(path)):
        quads, words = array("q", chunk), array("I", chunk)
        yield from zip(
            quads[at["submit"] // 8 :: size // 8],
            quads[at["complete"] // 8 :: size // 8],
            words[at["length"] // 4 :: size // 4],
            chunk[at["op"] :: size],
            strict=True,
        )


def compare(table: list[Row], seen: Seen) -> list[Figure]:
    """Each row's figures, the drive's beside the description's."""
    found = []
    for row in table:
        kind = "write" if "write" in row.rw else "read"
        if kind not in seen.latencies:
            raise UserError(f"{row.name}: the description ended none of these {kind}s in its time")
        one, rate = seen.latencies[kind], seen.kib_per_s[kind] * KIB
        found.append(Figure(row.name, "rate", row.kib_per_s * KIB, rate, wide=True))
        few = min(one.n, one.n if row.n is None else row.n) < ENOUGH
        for point, value in row.points.items():
            # A point of so few is its slowest.
            if not few or point in ("p50", "p90"):
                figure = Figure(row.name, f"{kind}s {point}", value, one.points[point], wide=True)
                found.append(figure)
    return found
