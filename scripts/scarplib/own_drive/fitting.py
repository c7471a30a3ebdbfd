# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp fit`: a description made of a probe, or one compared with what was measured."""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from scarplib import whole_file
from scarplib.build.replayer import ensure_replay
from scarplib.errors import UserError
from scarplib.own_drive import cited, figures, fio_json, on_replayer
from scarplib.own_drive.outputs import BLIND, COMPARED, FIT, FITTED, check_ours, check_out, say
from scarplib.own_drive.plan import MIB, Plan
from scarplib.own_drive.probe_file import load
from scarplib.results.fio import is_fios


def main(options: argparse.Namespace) -> int:
    """`scarp fit`; the exit status.  A fit needs SciPy, a comparison does not."""
    if options.check or options.beside:
        return _compare(options)
    out = options.out or Path("blind.json" if options.blind else "mydrive.ini")
    inputs = [options.input] if options.input else []
    check_out("--out", out, *inputs)
    check_ours("--out", out, BLIND if options.blind else FITTED)
    memory = out.with_suffix(".tried.jsonl")
    if not options.blind:
        check_out("--out", memory, *inputs, out)
    if options.json:
        check_out("--json", options.json, *inputs, out, memory)
        check_ours("--json", options.json, FIT, COMPARED)
    # What needs SciPy.
    from scarplib.own_drive import blind, fit

    cores = options.cores or os.cpu_count() or 1
    search = fit.Search(options.seed, cores, 60 * options.minutes, None, say)
    if options.blind:
        done = blind.trials(
            list(range(options.first, options.first + options.blind)),
            ensure_replay(),
            search,
            out,
            options.mib * MIB,
            print,
            options.guests,
        )
        print(blind.summary(done))
        return 0
    probe = load(options.input)
    search.memory = memory
    try:
        found = fit.fit(probe, ensure_replay(), search)
    except KeyboardInterrupt:
        if memory.exists():
            say(f"{memory}: what was tried; the same command goes on with it")
        raise
    head = f"{FITTED[2:]} {options.input.name} by `scarp fit`; docs/your-drive.md."
    with whole_file.writing("--out", out) as stream:
        stream.write(found.model.text(head))
    if options.json:
        _write_json(options.json, found.json())
    print(_keys_text(found))
    print()
    _print(found.figures)
    print(f"\n{out}: {found.tried} candidate{'' if found.tried == 1 else 's'} tried")
    if not fit.of_all(probe):
        part, whole = probe.span // MIB, probe.source["bytes"] // MIB
        print(
            f"{options.input.name} is of {part} of {whole} MiB: "
            "how the drive collects does not show, and blocks, spare and erases do not follow"
        )
    judged = [one for one in found.figures if one.bound is not None]
    held = sum(one.held for one in judged)
    if 2 * held < len(judged):
        print(
            f"this is not like the drive: {held} of {len(judged)} figures are within their bounds"
        )
    return 0


def _write_json(path: Path, found: dict[str, Any]) -> None:
    with whole_file.writing("--json", path) as stream:
        stream.write(json.dumps(found, indent=1) + "\n")


def _compare(options: argparse.Namespace) -> int:
    """--check and --beside."""
    if options.json:
        check_out("--json", options.json, options.input, options.check or options.beside)
        check_ours("--json", options.json, FIT, COMPARED)
    compared = _check(options) if options.check else _beside(options)
    if options.json:
        found = {"schema": "scarp-compared-1", "figures": figures.for_programs(compared)}
        _write_json(options.json, found)
    _print(compared, wide=options.beside is not None)
    return 0


def _keys_text(found: object) -> str:
    from scarplib.own_drive.fit import Fit

    assert isinstance(found, Fit)
    lines = [f"{'key':32}{'value':>22}  how"]
    for name, key in found.model.keys.items():
        how = key.how
        if key.interval:
            how += f", {key.interval[0]:,.0f} to {key.interval[1]:,.0f}"
        if key.note:
            how += f": {key.note}"
        lines.append(f"{name:32}{key.value:>22}  {how}")
    return "\n".join(lines)


def _check(options: argparse.Namespace) -> list[figures.Figure]:
    description, other, scheme = options.input, options.check, options.scheme
    probe = load(other)
    if _is_json(description):
        raise UserError(f"{description}: is JSON; --check takes a description (….ini) and a probe")
    with tempfile.TemporaryDirectory(prefix="scarp-check-") as scratch:
        drive = on_replayer.Replayed(ensure_replay(), description, Path(scratch), scheme=scheme)
        size = drive.logical_bytes()
        if size < probe.span:
            raise UserError(f"{description}: has {size} bytes; {other} is of {probe.span}")
        held_out = any(name.startswith("held-") for name in probe.results)
        found = on_replayer.probe(
            drive,
            Plan(probe.span, probe.seed),
            known=probe.known,
            size=size,
            held_out=held_out,
            say=say,
        )
    return figures.compare(probe, found)


def _print(compared: list[figures.Figure], wide: bool = False) -> None:
    print(figures.table(compared))
    print()
    print(figures.verdict(compared, wide))


def _is_fios(table: Path) -> bool:
    """JSON, by its name or by how it begins, perhaps behind lines of fio's; the rest is a table."""
    if table.suffix == ".json" or _is_json(table):
        return True
    try:
        return table.is_file() and is_fios(table.read_text(errors="replace"))
    except OSError as error:
        raise UserError(f"{table}: {error.strerror}") from error


def _is_json(table: Path) -> bool:
    try:
        with table.open("rb") as stream:
            return stream.read(64).lstrip().startswith(b"{")
    except OSError as error:
        raise UserError(f"{table}: {error.strerror}") from error


def _beside(options: argparse.Namespace) -> list[figures.Figure]:
    compared: list[figures.Figure] = []
    table: Path = options.beside
    measured = fio_json.rows(table) if _is_fios(table) else cited.rows(table)
    begin = cited.Begin(options.age, bool(options.steady), options.seconds)
    if not any("long3" in row.file for row in measured):
        say(begin.words())
    with tempfile.TemporaryDirectory(prefix="scarp-beside-") as scratch:
        runner = cited.Runner(
            ensure_replay(),
            options.input,
            Path(scratch),
            options.scheme,
            begin=begin,
        )
        for name, rows in cited.runs(measured).items():
            wanted = [row for row in rows if options.rows in ("all", row.use)]
            if wanted:
                say(name)
                compared += cited.compare(wanted, runner.run(rows))
    return compared
