# SPDX-License-Identifier: GPL-2.0-or-later
"""What a probe found, in a file: scarp-probe-1."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from scarplib.errors import UserError
from scarplib.own_drive.plan import READ, WRITE, Known

SCHEMA = "scarp-probe-1"
POINTS = (50, 90, 99, 99.9)
# A step's rate is kept for so many parts of it.
PARTS = 40


def percentile(values: Sequence[int], point: float) -> int:
    """By nearest rank, of sorted values."""
    rank = max(1, -(-len(values) * int(point * 10) // 1000))
    return values[rank - 1]


@dataclass
class Latencies:
    """Of the reads or writes of a step, in nanoseconds."""

    n: int
    mean: float
    points: dict[str, int]

    @classmethod
    def of(cls, values: Sequence[int]) -> Latencies:
        """Of these, which need not be sorted."""
        found = sorted(values)
        points = {f"p{point:g}": percentile(found, point) for point in POINTS}
        return cls(len(found), sum(found) / len(found), points)


@dataclass
class Result:
    """Of one step."""

    bytes_per_s: float
    per_s: float
    reads: Latencies | None = None
    writes: Latencies | None = None
    # Bytes a second in each of PARTS equal parts of the requests; of closed steps.
    parts: list[float] = field(default_factory=list)
    # Each latency, in the order of submission; of steps that keep them.
    each: list[int] = field(default_factory=list)


@dataclass
class Probe:
    """A drive, as it was seen."""

    source: dict[str, Any]
    span: int
    seed: int
    known: Known | None = None
    results: dict[str, Result] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)

    def write(self, path: Path) -> None:
        """As JSON; in one piece, so that a reader never finds half a file."""
        whole = {"schema": SCHEMA, **asdict(self)}
        # Nobody's file, whatever lies there.
        scratch = path.with_name(f".{path.name}.{os.getpid()}.new")
        try:
            with scratch.open("x") as stream:
                stream.write(json.dumps(whole) + "\n")
            scratch.replace(path)
        except OSError as error:
            if not isinstance(error, FileExistsError):
                scratch.unlink(missing_ok=True)
            raise UserError(f"{path}: cannot be written: {error.strerror}") from error


def _result(found: dict[str, Any]) -> Result:
    for name in ("reads", "writes"):
        if found[name]:
            found[name] = Latencies(**found[name])
    return Result(**found)


def load(path: Path) -> Probe:
    """What write() wrote."""
    try:
        found = json.loads(path.read_text())
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise UserError(f"{path}: is no JSON: {error}") from error
    schema = found.pop("schema", None) if isinstance(found, dict) else None
    if schema != SCHEMA:
        raise UserError(f"{path}: is no probe: its schema is {schema!r}, not '{SCHEMA}'")
    try:
        found["known"] = Known(**found["known"]) if found["known"] else None
        found["results"] = {name: _result(one) for name, one in found["results"].items()}
        return Probe(**found)
    except (KeyError, TypeError) as error:
        raise UserError(f"{path}: is no whole probe: {error}") from error


def result(
    rows: Sequence[tuple[int, str, int, int]],
    submit: Sequence[int],
    complete: Sequence[int],
    *,
    each: bool,
    closed: bool,
) -> Result:
    """Of a step's requests, in their order, and the times of each."""
    begin, end = min(submit), max(complete)
    seconds = max(end - begin, 1) / 1e9
    latency = [done - sent for sent, done in zip(submit, complete, strict=True)]
    kinds: dict[str, list[int]] = {READ: [], WRITE: []}
    for row, value in zip(rows, latency, strict=True):
        if row[1] in kinds:
            kinds[row[1]].append(value)
    parts = []
    if closed and len(rows) >= PARTS:
        done = sorted(zip(complete, (row[3] for row in rows), strict=True))
        last = begin
        for i in range(PARTS):
            part = done[len(done) * i // PARTS : len(done) * (i + 1) // PARTS]
            parts.append(sum(n for _, n in part) * 1e9 / max(part[-1][0] - last, 1))
            last = part[-1][0]
    return Result(
        bytes_per_s=sum(row[3] for row in rows) / seconds,
        per_s=len(rows) / seconds,
        reads=Latencies.of(kinds[READ]) if kinds[READ] else None,
        writes=Latencies.of(kinds[WRITE]) if kinds[WRITE] else None,
        parts=parts,
        each=latency if each else [],
    )
