# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp array`: the SSD array on simulated drives, its modes side by side."""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from scarplib import whole_file
from scarplib.build.array import ARRAY, ensure_simulator
from scarplib.errors import UserError
from scarplib.paths import ROOT
from scarplib.replays.command import OF_MODES
from scarplib.results.table import columns
from scarplib.results.units import human_ns

SCHEMA = "scarp-arrays-1"
# What an array is compared with: its drives without it, and itself without its flusher.
_MODES = "independent,striped,cached,flusher"
_ALL_MODES = (*_MODES.split(","), "coordinated")
_DRIVE = ARRAY / "sim" / "safs.ini"
# Of --help, behind what the program prints.
NOTES = f"""
This command adds to the program's options:
  -m, --mode=A,B,...        several modes, a column each ({_MODES}; also
                            coordinated); --record is of one mode, --replay of none
  -j, --json=FILE           the results, too; - for the standard output, without the table
  -d, --description=FILE    may be left out ({_DRIVE.relative_to(ROOT)})
"""


def _check(options: argparse.Namespace) -> None:
    """What can be said before the first mode runs, which may take long."""
    options.modes = (_MODES if options.mode is None else options.mode).split(",")
    for mode in options.modes:
        if mode not in _ALL_MODES:
            raise UserError(f"--mode={mode}: allowed: {', '.join(_ALL_MODES)}")
        if options.modes.count(mode) > 1:
            raise UserError(f"--mode: '{mode}' is named twice")
    if options.record and len(options.modes) > 1:
        raise UserError("--record: of one --mode")
    if options.json not in (None, "-"):
        _check_json(options)


def _check_json(options: Any) -> None:
    """Before what takes long: it can be written, and nothing else is lost by that."""
    out = Path(options.json)
    read = [Path(path) for path in (options.description, options.replay) if path]
    whole_file.check("--json", out, *read)
    if options.record and out.resolve() == Path(options.record).resolve():
        raise UserError(f"--json {out}: is also --record; name another file")
    try:
        with out.open("a"):
            pass
    except OSError as error:
        raise UserError(f"--json: {out}: {error.strerror}") from error


def _value(options: Any, name: str) -> str | None:
    value: str | None = getattr(options, name.removeprefix("--").replace("-", "_"))
    return value


def _of_mode(options: Any, mode: str) -> list[str]:
    """An option that none of the modes has goes to all of them: the program refuses it."""
    words = []
    for name, has in OF_MODES.items():
        value = _value(options, name)
        if value is not None and (mode in has or not set(has) & set(options.modes)):
            words += [name, value]
    return words


def _drives(options: Any, images: str | None) -> list[str]:
    words = ["-d", options.description, *(["--fresh"] if options.fresh else [])]
    return [*words, "--images", images] if images else words


def _program(words: list[str]) -> str:
    """What scarp-array prints; its one line of an error is the user's."""
    command = [str(ensure_simulator()), *words]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        text = done.stderr.strip() or f"ended with status {done.returncode}"
        raise UserError(text.removeprefix("scarp-array: "))
    return done.stdout


def _latency_rows(runs: list[dict[str, Any]], key: str, name: str) -> list[tuple[str, list[str]]]:
    of = [run[key] for run in runs]
    if not any(latency["n"] for latency in of):
        return []
    rows: list[tuple[str, list[str]]] = [(name, [])]
    for label in ("mean", "p50", "p99", "p99_9", "max"):
        cells = [human_ns(x[f"{label}_ns"]) if x["n"] else "–" for x in of]
        rows.append((f"  {label.replace('_', '.')}", cells))
    return rows


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "–"


def _array_rows(runs: list[dict[str, Any]]) -> list[tuple[str, list[str]]]:
    of = [run["array"] for run in runs]
    if not any(array["hits"] + array["misses"] for array in of):
        return []

    def dropped(array: dict[str, int]) -> int:
        return sum(array[f"discarded_{why}"] for why in ("evicted", "cleaned", "score"))

    return [
        ("array", []),
        ("  cache hits", [_share(a["hits"], a["hits"] + a["misses"]) for a in of]),
        ("  pages written", [f"{a['written']:,}" if a["written"] else "–" for a in of]),
        ("  by the flusher", [_share(a["written_low"], a["written"]) for a in of]),
        ("  flush requests dropped", [_share(dropped(a), a["flush_requests"]) for a in of]),
    ]


def _drive_rows(runs: list[dict[str, Any]]) -> list[tuple[str, list[str]]]:
    """Of all drives: the least and the most."""

    def between(values: list[float], digits: int) -> str:
        low, high = f"{min(values):,.{digits}f}", f"{max(values):,.{digits}f}"
        return low if low == high else f"{low} to {high}"

    drives = [run["per_drive"] for run in runs]
    return [
        ("drives", []),
        ("  writes", [between([d["writes"] for d in x], 0) for x in drives]),
        ("  collections", [between([d["gc_runs"] for d in x], 0) for x in drives]),
        (
            "  write amplification",
            [between([d["write_amplification_milli"] / 1000 for d in x], 2) for x in drives],
        ),
    ]


def table_text(runs: list[dict[str, Any]]) -> str:
    """A column for each run."""
    rows: list[tuple[str, list[str]]] = [
        ("requests/s", [f"{run['iops']:,}" for run in runs]),
        ("  a drive", [f"{run['iops_per_drive']:,}" for run in runs]),
    ]
    for key, name in (("read", "reads"), ("write", "writes"), ("barrier", "barriers")):
        rows += _latency_rows(runs, f"{key}_latency", name)
    rows += _array_rows(runs) + _drive_rows(runs)
    rows.append(("virtual time", [human_ns(run["ns"]) for run in runs]))
    return columns([run["mode"] for run in runs], rows)


def main(options: argparse.Namespace) -> int:
    """Run each mode from the same aged drives; the table, and JSON where asked.

    options: as replays/command.py reads them.
    """
    rest: list[str] = options.rest
    options.description = str(options.description or _DRIVE)
    _check(options)
    if options.help:
        print(_program([*rest, "--help"]) + NOTES, end="")
        return 0
    if options.list or options.version:
        print(_program([*rest, "--list" if options.list else "--version"]), end="")
        return 0
    if options.replay:
        if options.record or options.mode is not None:
            raise UserError(f"--{'record' if options.record else 'mode'}: excludes --replay")
        for name in OF_MODES:
            if _value(options, name) is not None:
                raise UserError(f"{name}: excludes --replay")
        words = [*_drives(options, options.images), "--replay", options.replay]
        words += ["--json", options.json] if options.json not in (None, "-") else []
        print(_program([*words, *rest]), end="")
        return 0
    rest += ["--record", options.record] if options.record else []
    runs = []
    with tempfile.TemporaryDirectory(prefix="scarp-array-") as folder:
        # So that each mode begins with the same drives, aged once.
        images = options.images or (None if options.fresh else folder)
        words = [*_drives(options, images), *rest]
        for mode in options.modes:
            runs.append(json.loads(_program([*words, *_of_mode(options, mode), "-m", mode])))
    text = json.dumps({"schema": SCHEMA, "runs": runs}, indent=1) + "\n"
    if options.json == "-":
        print(text, end="")
        return 0
    print(table_text(runs))
    if options.json:
        with whole_file.writing("--json", Path(options.json)) as stream:
            stream.write(text)
    return 0
