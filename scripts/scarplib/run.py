# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp run`: one guest for each scheme from the same aged state, table, picture, page."""

from __future__ import annotations

import datetime
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import cache, guest_image, manifest, qemu_build, summary, vm
from .devlogs import LogError
from .errors import UserError
from .guestjob import Job, check_job_file, progress_file, run_job
from .progress import Watcher, expected_commands

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "out"


@dataclass(frozen=True)
class Settings:
    job: Path
    device: Path
    schemes: Sequence[str]
    age: int
    seed: int
    smp: int
    cpu_shift: int
    overrides: str | None = None
    out: Path | None = None
    wall_limit: float = 240


def new_folder(kind: str, wanted: Path | None) -> Path:
    """A fresh folder for results; out/latest points to the newest unnamed one."""
    if wanted:
        if wanted.exists() and any(wanted.iterdir()):
            raise UserError(f"--out: {wanted} is not empty")
        wanted.mkdir(parents=True, exist_ok=True)
        return wanted.resolve()
    OUT.mkdir(exist_ok=True)
    stamp = datetime.datetime.now().strftime("%Y%m%d-%H%M%S")
    for suffix in ("", *(f"-{n}" for n in range(2, 100))):
        folder = OUT / f"{stamp}-{kind}{suffix}"
        try:
            folder.mkdir()
        except FileExistsError:
            continue
        return folder
    raise UserError(f"--out: too many folders named {stamp}-{kind} in {OUT}")


def point_latest(folder: Path) -> None:
    if folder.parent != OUT:
        return
    # Renamed into place: two runs at once must not see a missing link.
    temporary = OUT / f".latest-{os.getpid()}"
    temporary.unlink(missing_ok=True)
    temporary.symlink_to(folder.name)
    temporary.replace(OUT / "latest")


def check_drive(
    qemu: qemu_build.QemuBuild,
    device: Path,
    scheme: str,
    age: int = 0,
    overrides: str | None = None,
    seed: int = 1,
) -> None:
    """Let the engine itself judge description, scheme and overrides, without a machine."""
    if not device.is_file():
        raise UserError(f"--device: {device}: no such file")
    options = {
        "id": "f0",
        "description": str(device.resolve()).replace(",", ",,"),
        "scheme": scheme.replace(",", ",,"),
        "seed": str(seed),
        "age": str(age),
    }
    if overrides:
        options["overrides"] = overrides.replace(",", ";")
    command = [str(qemu.binary), "-L", str(qemu.firmware_dir), "-machine", "none", "-nodefaults"]
    command += ["-display", "none", "-monitor", "stdio", "-S", "-device"]
    command.append("nvme-flash," + ",".join(f"{k}={v}" for k, v in options.items()))
    done = subprocess.run(command, input="quit\n", capture_output=True, text=True, check=False)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        text = lines[0] if lines else f"exit status {done.returncode}"
        # "qemu-system-x86_64: -device nvme-flash,…: reason": the reason is for the user.
        text = text.split(command[-1] + ": ", 1)[-1].removeprefix(f"{qemu.binary.name}: ")
        raise UserError(text)


def prepare() -> tuple[qemu_build.QemuBuild, guest_image.GuestImage]:
    """Everything that a guest needs; built at most once."""
    qemu = qemu_build.ensure_qemu()
    return qemu, guest_image.ensure_image()


def guest_failure(name: str, result: vm.GuestResult) -> str | None:
    if result.reason == "ok":
        return None
    tail = "\n".join(f"    {line}" for line in result.console_tail.splitlines()[-25:])
    return f"guest '{name}': {result.reason}; its console ended with:\n{tail}"


def run(settings: Settings) -> int:
    started = time.monotonic()
    job_text = check_job_file(settings.job)
    if not settings.device.is_file():
        raise UserError(f"--device: {settings.device}: no such file")
    qemu, image = prepare()
    for scheme in settings.schemes:
        check_drive(qemu, settings.device, scheme, settings.age, settings.overrides, settings.seed)
    folder = new_folder("run", settings.out)
    jobs = {
        scheme: Job(
            fio_job=settings.job,
            device=settings.device,
            scheme=scheme,
            out=folder / scheme,
            age=settings.age,
            seed=settings.seed,
            overrides=settings.overrides,
            smp=settings.smp,
            cpu_shift=settings.cpu_shift,
            wall_limit=settings.wall_limit,
        )
        for scheme in settings.schemes
    }
    print(f"Running {settings.job.name} on {settings.device.name}, {settings.age / 10:g} % full:")
    files = {name: progress_file(job) for name, job in jobs.items()}
    with (
        Watcher(files, expected_commands(job_text)),
        ThreadPoolExecutor(max(1, min(len(jobs), os.cpu_count() or 1))) as pool,
    ):
        results = dict(
            zip(jobs, pool.map(lambda job: run_job(qemu, image, job), jobs.values()), strict=True)
        )
    point_latest(folder)
    failures = [text for name, r in results.items() if (text := guest_failure(name, r))]
    if failures:
        raise UserError("\n".join([*failures, f"What was written is in {folder}"]))
    schemes: dict[str, dict[str, Any]] = {}
    for name, result in results.items():
        try:
            schemes[name] = summary.load_scheme(folder / name, name).summary
        except LogError as error:
            raise UserError(f"results of '{name}': {error}") from error
        schemes[name]["wall_s"] = round(result.wall_seconds, 3)
        schemes[name]["boot_s"] = round(result.boot_seconds, 3)
        progress_file(jobs[name]).unlink(missing_ok=True)
    inputs = manifest.Inputs(
        {"job": settings.job, "device": settings.device},
        {
            "schemes": list(settings.schemes),
            "age": settings.age,
            "seed": settings.seed,
            "smp": settings.smp,
            "cpu_shift": settings.cpu_shift,
            "overrides": settings.overrides,
        },
    )
    result = {
        "schema": summary.SCHEMA,
        "job": settings.job.name,
        "device": settings.device.name,
        "schemes": schemes,
        "manifest": manifest.manifest(qemu, image, inputs),
    }
    (folder / "summary.json").write_text(json.dumps(result, indent=1) + "\n")
    print(summary.table_text(schemes))
    if cliff := summary.cliff(schemes):
        print(f"\nThe reads' 99.9th percentile: {cliff[0]} is {cliff[2]:.1f} times {cliff[1]}.")
    draw(folder)
    shown = folder.relative_to(Path.cwd()) if folder.is_relative_to(Path.cwd()) else folder
    print(f"\nResults: {shown}/  (report.html, summary.json, a folder per scheme)")
    print(f"Took {time.monotonic() - started:.0f} s in all.")
    return 0


def draw(folder: Path) -> None:
    """The report, by the venv's Python, which has matplotlib."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "scripts")}
    done = subprocess.run(
        [cache.ensure_venv(), "-m", "scarplib.report", folder],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        print(done.stderr, file=sys.stderr)
        raise UserError(
            f"the report could not be drawn (above); the numbers are in {folder / 'summary.json'}"
        )
