# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp sweep`: one comparison on many drives and seeds; what was run before is kept.

A cell is a drive and a seed under all schemes: one `scarp compare`, or one `scarp replay`.
Snakemake runs the cells, as the Snakefile beside this file says.
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
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scarplib.build.cache import locked
from scarplib.errors import UserError, of_system
from scarplib.paths import SCRIPTS
from scarplib.replays import replay
from scarplib.replays.command import read_replay
from scarplib.runs.command import compared
from scarplib.sweep.cells import run_missing
from scarplib.sweep.progress import Amount

if TYPE_CHECKING:
    from scarplib.runs.run import Settings

_SETTINGS = "sweep.json"
_SNAKEFILE = SCRIPTS / "scarplib" / "sweep" / "Snakefile"
# Options that the sweep itself gives to each cell.
_OWN = (
    *("--out", "--jobs", "--seed", "--age-seed", "--device", "--description", "--image"),
    *("--paper", "-d", "-i"),
)


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


def wanted(options: argparse.Namespace) -> Sweep:
    """What is to be swept; what can be said of it before anything is built is said here."""
    rest: list[str] = options.rest
    for word in rest:
        name = word[:2] if re.match("-[di]", word) else word.split("=")[0]
        if name in _OWN:
            raise UserError(f"{name}: a sweep gives it to each cell itself")
    # Of guests that is looked at with all else that `scarp compare` is told.
    if options.replay:
        if not read_replay(rest).schemes:
            raise UserError("--replay: needs --schemes")
        if not options.replay.startswith("gen:") and not Path(options.replay).is_file():
            raise UserError(f"--replay: {options.replay}: no such file, nor gen:NAME")
    try:
        shlex.split(options.snakemake)
    except ValueError as error:
        raise UserError(f"--snakemake: {error}") from error
    return Sweep(options.devices, options.seeds, tuple(rest), options.replay, str(Path.cwd()))


def _content(sweep: Sweep, word: str) -> str:
    """Of the file that is meant, if one is: a trace that has changed gives other results."""
    name = word.partition("=")[2] if word.startswith("--") and "=" in word else word
    path = Path(sweep.folder) / name
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
    except OSError:
        # Such as a word that is longer than a file's name can be.
        return ""


def cells(sweep: Sweep, program: str, out: Path) -> list[Cell]:
    """All of them; results of another program or of other settings lie elsewhere."""
    found = []
    words = [sweep.replay, *sweep.rest]
    shared = [program, *words, *(_content(sweep, word) for word in words)]
    for device in sweep.devices:
        text = "\n".join([*shared, device, _content(sweep, device)])
        key = hashlib.sha256(text.encode()).hexdigest()[:12]
        # Braces would be Snakemake's.
        folder = out / f"{re.sub('[{}]', '_', Path(device).stem)}-{key}"
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


def program(asked: Settings | None) -> str:
    """What the results depend on besides the drive and the words; built if it is not there.

    asked: what `scarp compare` makes of the words; None with --replay.
    """
    if not asked:
        from scarplib.build.replayer import ensure_replay, key_of

        return key_of(ensure_replay())
    from scarplib.build.qemu import ensure_qemu
    from scarplib.guest import user_guest
    from scarplib.guest.image import ensure_image
    from scarplib.guest.job import check_job_file
    from scarplib.runs import manifest

    files: dict[str, Path] = {}
    if asked.job:
        in_files = bool(asked.user and asked.user.file_systems)
        files |= check_job_file(asked.job, asked.view, in_files).inputs()
    if asked.user:
        prepared = user_guest.prepare(asked.user, asked.job)
        image = next(iter(prepared.guests.values())).image
        inputs = manifest.Inputs(files | prepared.inputs, prepared.settings)
    else:
        image, inputs = ensure_image(), manifest.Inputs(files, {})
    made = json.dumps(manifest.manifest(ensure_qemu(), image, inputs), sort_keys=True)
    return hashlib.sha256(made.encode()).hexdigest()


def check_replays(sweep: Sweep) -> None:
    """What no cell could replay is said once, before any of them is aged."""
    options = read_replay([*sweep.rest, sweep.replay])
    refused = []
    for device in sweep.devices:
        try:
            replay.check_compared(options, device)
        except UserError as error:
            refused.append(error)
    if len(refused) == len(sweep.devices):
        raise refused[0]


def check_out(out: Path) -> None:
    """What another command has left there would be replaced: both write a report.html."""
    try:
        theirs = out.exists() and not (out / _SETTINGS).is_file() and any(out.iterdir())
    except NotADirectoryError as error:
        raise UserError(f"--out: {out}: is a file") from error
    if theirs:
        raise UserError(f"--out: {out}: is neither empty nor a sweep's")
    # Snakemake reads it as YAML, and hands it on to its jobs as it has read it.
    if re.search(r":\s|\s#|\n|:$", str(out)):
        raise UserError(f"--out: {str(out)!r}: ': ' and ' #' cannot be in it, nor a line's end")


def write(sweep: Sweep, found: list[Cell], out: Path) -> Path:
    """What Snakemake's jobs read, perhaps on another machine."""
    listed = [{"device": c.device, "seed": c.seed, "path": str(c.path)} for c in found]
    path = out / _SETTINGS
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"--out: {of_system(error)}") from error
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


def _check_names(sweep: Sweep, cell: Cell, out: Path) -> None:
    """The cell's name must say what is run: other sources or files would be run by now."""
    asked = None if sweep.replay else compared(sweep.rest)
    if cell not in cells(sweep, program(asked), out):
        raise UserError("the program, or a file that is used, has changed since the sweep began")


def _make(sweep: Sweep, cell: Cell, out: Path) -> None:
    """Only its summary is kept: running the cell again gives the same folder."""
    _check_names(sweep, cell, out)
    folder = cell.path.with_suffix(".run")
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    log = cell.path.with_suffix(".log")
    with log.open("wb") as stream:
        done = subprocess.run(
            command(sweep, cell, folder),
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            check=False,
        )
    if done.returncode:
        said = log.read_text(errors="replace").strip().splitlines() or ["it said nothing"]
        reason = next((x for x in reversed(said) if x.startswith("scarp: error")), said[-1])
        raise UserError(f"{reason} (all of it: {log})")
    _check_names(sweep, cell, out)
    # A name appears only with the whole result behind it.
    (folder / "summary.json").rename(cell.path)
    shutil.rmtree(folder)
    log.unlink()


def run_cell(path: Path, number: int) -> int:
    """One cell; the exit status."""
    sweep, listed = read(path)
    cell = listed[number]
    # Where the user was: names of files may be relative.
    os.chdir(sweep.folder)
    try:
        _make(sweep, cell, path.parent)
    except UserError as error:
        print(f"error: {cell.device}, seed {cell.seed}: {error}")
        return 1
    return 0


def run(wanted: Sweep, program_key: str, options: argparse.Namespace) -> int:
    """Run what is missing, and write the report of what is there.

    program_key: what program() has answered.
    """
    out = options.out.resolve()
    check_out(out)
    listed = cells(wanted, program_key, out)
    # Two at once would give each other's cells to their Snakemakes.
    with locked(f"sweep-{hashlib.sha256(str(out).encode()).hexdigest()[:12]}"):
        return _run(wanted, listed, options)


def amount(wanted: Sweep, listed: list[Cell]) -> Amount:
    """What its cells have to do: guests, or replays."""
    paths = [cell.path for cell in listed]
    if not wanted.replay:
        asked = compared(wanted.rest)
        kinds = max(len(asked.user.file_systems), len(asked.user.kernels), 1) if asked.user else 1
        return Amount(paths, "guests", len(asked.schemes) * kinds)
    return Amount(paths, "replays", len(read_replay(wanted.rest).schemes))


def _run(wanted: Sweep, listed: list[Cell], options: argparse.Namespace) -> int:
    # Where its packages are.
    from scarplib.sweep import page

    out = options.out.resolve()
    path = write(wanted, listed, out)
    for cell in listed:
        # Of a run that was interrupted: it begins anew, and its columns do not count as done.
        shutil.rmtree(cell.path.with_suffix(".run"), ignore_errors=True)
    failed = run_missing(
        _SNAKEFILE,
        [cell.path for cell in listed],
        out,
        options.cores,
        [f"sweep={path}"],
        shlex.split(options.snakemake),
        amount(wanted, listed),
    )
    there: dict[str, dict[int, dict[str, Any]]] = {}
    for cell in listed:
        if cell.path.exists():
            there.setdefault(cell.device, {})[cell.seed] = json.loads(cell.path.read_text())
    if there:
        print(page.write(out, there))
        print(f"\nResults: {out}/  (report.html, sweep.csv, a folder for each drive)")
    if failed:
        raise UserError(failed)
    return 0
