# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp sweep`: one comparison on many drives and seeds; what was run before is kept.

A cell is a drive and a seed under all schemes: one `scarp compare`, or one `scarp replay`.
Snakemake runs the cells, by the file that `make reproduce` runs its cells by.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from scarplib.errors import Parser, UserError, integer
from scarplib.paths import OUT, ROOT, SCRIPTS

_SETTINGS = "sweep.json"
# What a sweep says to each cell itself.
_OWN = ("--out", "--jobs", "--seed", "--device", "--image", "--paper", "-d", "-i")


@dataclass(frozen=True)
class Sweep:
    """What is swept; `rest`: for each cell, options of `scarp compare` or of `scarp replay`."""

    devices: tuple[str, ...]
    seeds: tuple[int, ...]
    rest: tuple[str, ...]
    # Of `scarp replay`; empty: guests.
    replay: str
    # Where relative names of files begin.
    folder: str


@dataclass(frozen=True)
class Cell:
    """Its drive and seed, and the file that its results end in."""

    device: str
    seed: int
    path: Path


def _seeds(text: str) -> tuple[int, ...]:
    """1-10,20: each once."""
    found: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"(\d{1,18})(?:-(\d{1,18}))?", part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if first > last or last - first > 9999:
            raise UserError(f"--seeds: '{part}' is not a seed, or FIRST-LAST of at most 10000")
        found += range(first, last + 1)
    if len(found) != len(set(found)):
        raise UserError(f"--seeds: '{text}' names one twice")
    return tuple(found)


def _devices(text: str) -> tuple[str, ...]:
    names = tuple(text.split(","))
    stems = [Path(name).stem for name in names]
    for name, stem in zip(names, stems, strict=True):
        if not Path(name).is_file():
            raise UserError(f"--devices: {name}: no such file")
        if stems.count(stem) > 1:
            raise UserError(f"--devices: two of them are named {stem}")
    return names


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="scarp sweep",
        allow_abbrev=False,
        description="One comparison on many drives and seeds, with one report. All other options "
        "are those of `scarp compare`; with --replay, those of `scarp replay`.",
    )
    parser.add_argument(
        "--devices", type=_devices, required=True, metavar="A,B,…", help="descriptions of drives"
    )
    parser.add_argument("--seeds", type=_seeds, required=True, metavar="1-10,…")
    parser.add_argument(
        "--replay", default="", metavar="TRACE|gen:…", help="on the replayer, without a guest"
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=OUT / "sweep",
        metavar="DIR",
        help="results; what is there already is not run again (default: out/sweep)",
    )
    parser.add_argument(
        "--cores", type=integer("--cores", 0, 4096), default=0, help="cells at once; 0: all cores"
    )
    parser.add_argument(
        "--snakemake",
        default="",
        metavar="'OPTIONS'",
        help="for Snakemake, such as '--executor slurm --jobs 100' or '--profile NAME'",
    )
    return parser


def parse(given: list[str]) -> tuple[Sweep, argparse.Namespace]:
    """The command line; what can be said of it before anything is built is said here."""
    options, rest = _parser().parse_known_args(given)
    for word in rest:
        if word.split("=")[0] in _OWN:
            raise UserError(f"{word.split('=')[0]}: a sweep gives it to each cell itself")
    if options.replay and not any(word.split("=")[0] == "--schemes" for word in rest):
        raise UserError("--replay: needs --schemes")
    try:
        shlex.split(options.snakemake)
    except ValueError as error:
        raise UserError(f"--snakemake: {error}") from error
    sweep = Sweep(options.devices, options.seeds, tuple(rest), options.replay, str(Path.cwd()))
    return sweep, options


def _content(sweep: Sweep, name: str) -> str:
    """A file's, if it is one: a job that has changed gives other results."""
    path = Path(sweep.folder) / name
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


def cells(sweep: Sweep, program: str, out: Path) -> list[Cell]:
    """All of them; results of another program or of other settings lie elsewhere."""
    found = []
    words = [sweep.replay, *sweep.rest]
    shared = [program, *words, *(_content(sweep, word) for word in words)]
    for device in sweep.devices:
        text = "\n".join([*shared, device, _content(sweep, device)])
        key = hashlib.sha256(text.encode()).hexdigest()[:12]
        folder = out / f"{Path(device).stem}-{key}"
        found += [Cell(device, seed, folder / f"{seed}.json") for seed in sweep.seeds]
    return found


def command(sweep: Sweep, cell: Cell, out: Path) -> list[str]:
    """The `scarp` command of a cell."""
    words = [sys.executable, "-B", str(SCRIPTS / "scarp")]
    if sweep.replay:
        words += ["replay", "--description", cell.device, "--age-seed", str(cell.seed)]
    else:
        words += ["compare", "--device", cell.device, "--jobs", "1"]
    words += ["--seed", str(cell.seed), "--out", str(out), *sweep.rest]
    return [*words, sweep.replay] if sweep.replay else words


def program(sweep: Sweep) -> str:
    """What the results depend on besides the settings; built if it is not there."""
    if sweep.replay:
        from scarplib.build.replayer import ensure_replay

        return ensure_replay().parent.name
    from scarplib.build.qemu import ensure_qemu

    qemu = ensure_qemu()
    return f"{qemu.version} {qemu.series_hash} {qemu.engine_hash}"


def write(sweep: Sweep, found: list[Cell], out: Path) -> Path:
    """What Snakemake's jobs read, perhaps on another machine."""
    listed = [{"device": c.device, "seed": c.seed, "path": str(c.path)} for c in found]
    path = out / _SETTINGS
    out.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"sweep": asdict(sweep), "cells": listed}, indent=1) + "\n")
    return path


def read(path: Path) -> tuple[Sweep, list[Cell]]:
    """What write() has written."""
    data = json.loads(path.read_text())
    of = data["sweep"]
    of = {**of, **{name: tuple(of[name]) for name in ("devices", "seeds", "rest")}}
    listed = [Cell(c["device"], c["seed"], Path(c["path"])) for c in data["cells"]]
    return Sweep(**of), listed


def jobs(path: Path) -> dict[str, tuple[str, ...]]:
    """For the Snakefile: each result, and the arguments of what makes it."""
    _, listed = read(path)
    return {
        str(cell.path.relative_to(path.parent)): (str(path), str(number))
        for number, cell in enumerate(listed)
    }


def run_cell(path: Path, number: int) -> int:
    """One cell; of its folder only the summary is kept, as the folder can be had again."""
    sweep, listed = read(path)
    cell = listed[number]
    folder = cell.path.with_suffix(".run")
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    log = cell.path.with_suffix(".log")
    with log.open("wb") as stream:
        done = subprocess.run(
            command(sweep, cell, folder),
            cwd=sweep.folder,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            check=False,
        )
    if done.returncode:
        said = log.read_text(errors="replace").strip().splitlines() or ["it said nothing"]
        reason = next((x for x in reversed(said) if x.startswith("scarp: error")), said[-1])
        print(f"error: {cell.device}, seed {cell.seed}: {reason} (all of it: {log})")
        return 1
    # A name appears only with the whole result behind it.
    (folder / "summary.json").rename(cell.path)
    shutil.rmtree(folder)
    log.unlink()
    return 0


def _snakemake(path: Path, options: argparse.Namespace, log: Path) -> int:
    command = [
        *(sys.executable, "-m", "snakemake", "-s", str(ROOT / "experiments" / "Snakefile")),
        *("--cores", str(options.cores or os.cpu_count() or 1), "--quiet", "progress"),
        *("--keep-going", "--nolock", "--rerun-triggers", "mtime"),
        *("--config", f"sweep={path}"),
        *shlex.split(options.snakemake),
    ]
    with log.open("wb") as stream:
        return subprocess.run(
            command, stdout=stream, stderr=subprocess.STDOUT, check=False, cwd=path.parent
        ).returncode


def sweep(given: list[str]) -> int:
    """Run what is missing, and write the report of what is there."""
    from scarplib.reproduce import sweep_page
    from scarplib.reproduce.command import bar

    wanted, options = parse(given)
    out = options.out.resolve()
    listed = cells(wanted, program(wanted), out)
    path = write(wanted, listed, out)
    log = out / "snakemake.log"
    ended = threading.Event()
    progress = threading.Thread(target=bar, args=([cell.path for cell in listed], ended))
    progress.start()
    try:
        status = _snakemake(path, options, log)
    finally:
        ended.set()
        progress.join()
    missing = [cell for cell in listed if not cell.path.exists()]
    there: dict[str, dict[int, dict[str, Any]]] = {}
    for cell in listed:
        if cell.path.exists():
            there.setdefault(cell.device, {})[cell.seed] = json.loads(cell.path.read_text())
    if there:
        print(sweep_page.write(out, there))
        print(f"\nResults: {out}/  (report.html, sweep.csv, a folder for each drive)")
    if status or missing:
        lines = log.read_text(errors="replace").splitlines()
        reason = [x for x in lines if x.startswith("error:")][:3] or lines[-3:]
        raise UserError(
            f"{len(missing)} of {len(listed)} cells failed ({log}); the same command goes on from "
            "here:\n  " + "\n  ".join(reason)
        )
    return 0


def main(given: list[str]) -> int:
    """As the command starts it, and as Snakemake does: --cell FILE NUMBER."""
    if given[:1] == ["--cell"]:
        return run_cell(Path(given[1]), int(given[2]))
    try:
        return sweep(given)
    except UserError as error:
        print(f"scarp: error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        # Who started this says so.
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
