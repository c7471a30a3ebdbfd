# SPDX-License-Identifier: GPL-2.0-or-later
"""What a probe found, in a file: scarp-probe-1."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from scarplib.errors import UserError, printable
from scarplib.own_drive.plan import KEPT, MIB, READ, WRITE, Known, Plan
from scarplib.results.percentiles import percentile

SCHEMA = "scarp-probe-1"
POINTS = (50, 90, 99, 99.9)
# A step's rate is kept for so many parts of it.
PARTS = 40
# Of a plan's span, and of a file that may be one.
LEAST, MOST = 32 * MIB, 256 * MIB
# Of bytes or requests a second: nothing that is measured is slower, and 0 has no logarithm.
SLOWEST = 1e-6


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
        points = {f"p{point:g}": percentile(found, f"{point:g}") for point in POINTS}
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
    # Each latency, in the order of submission; of steps that keep them, and of their first KEPT.
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


class _NotWhole(Exception):
    """Says what a probe's file has not, or has of another kind."""


def _need(well: bool, what: str) -> None:
    if not well:
        raise _NotWhole(what)


def _number(value: Any) -> bool:
    # A truth is a number to Python; NaN and infinity are to its JSON, which has no largest.
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 2**63


def _rate(value: Any) -> bool:
    return _number(value) and value >= SLOWEST


def _whole(value: Any, least: int = 0) -> bool:
    return isinstance(value, int) and _number(value) and value >= least


def _object(value: Any, what: str) -> dict[str, Any]:
    _need(isinstance(value, dict), f"{what} is no object")
    found: dict[str, Any] = value
    return found


def _numbers(value: Any, what: str) -> list[Any]:
    _need(isinstance(value, list) and all(map(_number, value)), f"{what} is no list of numbers")
    found: list[Any] = value
    return found


def _latencies(found: Any, what: str) -> Latencies | None:
    if found is None:
        return None
    named = _object(found, what)
    _need(set(named) == {"n", "mean", "points"}, f"{what} are wrong")
    one = Latencies(**named)
    _need(_whole(one.n, 1) and _number(one.mean), f"{what} has no number and mean")
    points = _object(one.points, f"{what}: points")
    wanted = {f"p{point:g}" for point in POINTS}
    _need(wanted == set(points) and all(map(_number, points.values())), f"{what} lacks points")
    return one


def _result(found: Any, name: str) -> Result:
    one = Result(**_object(found, name))
    _need(_rate(one.bytes_per_s) and _rate(one.per_s), f"{name} has no rates")
    one.reads = _latencies(one.reads, f"{name}: reads")
    one.writes = _latencies(one.writes, f"{name}: writes")
    parts = _numbers(one.parts, f"{name}: parts")
    _need(len(parts) in (0, PARTS) and all(map(_rate, parts)), f"{name}: parts are wrong")
    each = _numbers(one.each, f"{name}: latencies")
    _need(all(_whole(value) for value in each), f"{name}: latencies are wrong")
    return one


def _check_steps(probe: Probe) -> None:
    """What is read off by its place has to be there."""
    plan = Plan(probe.span, probe.seed)
    steps = plan.first()
    if probe.known:
        steps += plan.second(probe.known)
    for step in steps:
        if not step.each or step.name not in probe.results:
            continue
        found, wanted = len(probe.results[step.name].each), step.kept()
        if step.name == "overwrite" and not found:
            # Probes of before 28 November 2026 have none of these.
            continue
        # Other programs' drives lose some of what is done as fast as it goes.
        well = found == wanted if step.depth is None else 1 <= found <= wanted
        _need(well, f"{step.name} has {found} latencies, not {wanted}")
    if behind := probe.results.get("behind"):
        _need(all(behind.each), "behind: latencies are wrong")
    if overwrite := probe.results.get("overwrite"):
        _need(bool(overwrite.parts), "overwrite has no parts")


def _known(found: Any, span: int) -> Known | None:
    if found is None:
        return None
    one = Known(**_object(found, "known"))
    # As large as a plan can have them; and the places are whole pages.
    well = all(_whole(size, 1) and size <= span // 8 for size in (one.page, one.stripe))
    _need(well, "known's page or stripe is wrong")
    return one


def load(path: Path) -> Probe:
    """What write() wrote."""
    try:
        if path.stat().st_size > MOST:
            raise UserError(f"{path}: is too large for a probe")
        found = json.loads(path.read_text())
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        made = "`scarp probe` makes one of a device or a description"
        raise UserError(f"{path}: is no JSON, so it is no probe; {made}: {error}") from error
    schema = found.pop("schema", None) if isinstance(found, dict) else None
    if schema != SCHEMA:
        raise UserError(f"{path}: is no probe: its schema is {schema!r}, not '{SCHEMA}'")
    try:
        return _checked(Probe(**found))
    except (_NotWhole, KeyError, TypeError) as error:
        raise UserError(f"{path}: is no whole probe: {printable(str(error))}") from error


def _checked(probe: Probe) -> Probe:
    """Of what JSON has; whoever reads a probe need not ask again."""
    _need(_whole(probe.span, LEAST), "its span is wrong")
    _need(_whole(probe.seed), "its seed is wrong")
    source = _object(probe.source, "source")
    _need(_whole(source.get("bytes"), 1), "source's bytes are wrong")
    for name in ("kind", "name"):
        _need(isinstance(source.get(name, ""), str), f"source's {name} is wrong")
    if source.get("kind") == "device":
        _need(_whole(source.get("written_bytes")), "source's written_bytes are wrong")
    if "begun" in source:
        begun = _object(source["begun"], "source's begun")
        well = isinstance(begun.get("step"), str) and _whole(begun.get("bytes"))
        _need(well, "source's begun is wrong")
    names = probe.left_out
    well = isinstance(names, list) and all(isinstance(name, str) for name in names)
    _need(well, "left_out is no list of names")
    probe.known = _known(probe.known, probe.span)
    results = _object(probe.results, "results")
    probe.results = {name: _result(one, name) for name, one in results.items()}
    _check_steps(probe)
    return probe


def part_ends(n: int) -> list[int]:
    """Of n requests, how many are done at the end of each part."""
    return [n * (i + 1) // PARTS for i in range(PARTS)]


def part_rates(begin: int, done: Sequence[tuple[int, int]], n: int) -> list[float]:
    """Bytes a second in each part that is whole: of n requests these are done, when and how big."""
    found, first, last = [], 0, begin
    for end in part_ends(n):
        if end > len(done):
            break
        part = done[first:end]
        found.append(sum(size for _, size in part) * 1e9 / max(part[-1][0] - last, 1))
        first, last = end, part[-1][0]
    return found


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
        parts = part_rates(begin, done, len(done))
    return Result(
        bytes_per_s=sum(row[3] for row in rows) / seconds,
        per_s=len(rows) / seconds,
        reads=Latencies.of(kinds[READ]) if kinds[READ] else None,
        writes=Latencies.of(kinds[WRITE]) if kinds[WRITE] else None,
        parts=parts,
        each=latency[:KEPT] if each else [],
    )
