# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp run --drives N`: a guest for each layout of the same N drives, side by side."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from scarplib.device_logs.log_file import LogError
from scarplib.drive.check import check_drive
from scarplib.drive.start import Start
from scarplib.errors import UserError
from scarplib.guest.drives_job import DrivesJob, prepare, run_drives_job
from scarplib.guest.fio_job import check_parsed
from scarplib.guest.image import ensure_image, fio_on_host
from scarplib.guest.job import check_job_file
from scarplib.guest.realtime import RealTime
from scarplib.results import drives
from scarplib.results.summary import ramp_notes, said_params
from scarplib.runs import at_once, manifest, run
from scarplib.runs import folder as folders
from scarplib.scheme_text import folder_name


@dataclass(frozen=True)
class Over:
    """What a run over several drives adds to one on a drive."""

    drives: int
    layouts: list[str]
    keys: str | None = None
    depth: int = 32
    requests: int = 20_000


def _images(settings: run.Settings, folder: Path, count: int) -> tuple[Path, ...]:
    """Each drive's state: alike, but aged with another seed."""
    made = []
    for number in range(count):
        made.append(run.aged(settings, folder, f"drive{number}", settings.seed + number))
    return tuple(made)


def jobs_of(
    settings: run.Settings,
    over: Over,
    folder: Path,
    images: tuple[Path, ...],
    real: RealTime | None = None,
) -> dict[str, DrivesJob]:
    """By the columns' names: each layout, under each scheme if there are several."""
    assert settings.job
    jobs = {}
    for scheme in settings.schemes:
        for layout in over.layouts:
            name = layout if len(settings.schemes) == 1 else f"{layout}-{scheme}"
            jobs[name] = DrivesJob(
                fio_job=settings.job,
                layout=layout,
                device=settings.device,
                scheme=scheme,
                out=folder / folder_name(name),
                images=images,
                seed=settings.seed,
                overrides=settings.overrides,
                keys=over.keys,
                depth=over.depth,
                requests=over.requests,
                smp=settings.smp,
                cpu_shift=settings.clock.cpu_shift,
                realtime=real,
                cpu_limit=settings.cpu_limit,
            )
    return jobs


def _load(
    jobs: dict[str, DrivesJob], results: dict[str, Any], failures: dict[str, str]
) -> dict[str, dict[str, Any]]:
    layouts: dict[str, dict[str, Any]] = {}
    for name, job in jobs.items():
        if name not in results:
            continue
        try:
            data = drives.load_layout(job.out, name, job.layout, len(job.images))
        except LogError as error:
            failures[name] = f"results of '{name}': {error}"
            continue
        layouts[name] = {"layout": job.layout, **said_params(data.summary, job.scheme)}
        for number in range(len(job.images)):
            (job.folder(number) / "progress.bin").unlink(missing_ok=True)
    return layouts


def _compare_clocks(
    layouts: dict[str, dict[str, Any]], jobs: dict[str, DrivesJob], settings: run.Settings
) -> None:
    """Beside what each drive gave, what its model wanted: into the drive's numbers."""
    for name, layout in layouts.items():
        job = jobs[name]
        for number, drive in enumerate(layout["drives"]):
            words = [("image", str(job.images[number])), ("seed", str(job.seed + number))]
            words += [("description", str(job.device))]
            if settings.overrides:
                words += [("override", part) for part in settings.overrides.split(",")]
            begun = Start(job.scheme, tuple(words))
            span = drive.pop("begin_ns"), drive.pop("end_ns")
            run.compare_drive(drive, job.folder(number), begun, span)


def _write(made: run.Outcome, settings: run.Settings, over: Over) -> None:
    assert settings.device and settings.job
    written = {
        "schema": drives.SCHEMA,
        "job": settings.job.name,
        "device": settings.device.name,
        "drives": over.drives,
        "layouts": made.schemes,
        "failed": sorted(made.failures),
        **({"changed": made.changed} if made.changed else {}),
        "manifest": made.manifest,
    }
    (made.folder / "summary.json").write_text(json.dumps(written, indent=1) + "\n")


def compare(settings: run.Settings, over: Over) -> run.Outcome:
    """A guest for each layout from one state of the drives; summary.json of those that finished."""
    assert settings.job
    job = check_job_file(settings.job)
    if not settings.device or not settings.device.is_file():
        raise UserError(f"--device: {settings.device}: no such file")
    if not settings.age:
        raise UserError("--age=0: a run over several drives begins with aged ones: 1 to 1000")
    qemu, image = run.prepare()
    check_parsed(fio_on_host(), job)
    files = prepare(image, over.layouts)
    for scheme in settings.schemes:
        check_drive(qemu, settings.device, scheme, settings.age, settings.overrides, settings.seed)
    real = settings.clock.real(qemu, ensure_image)
    folder = folders.new_folder(settings.kind, settings.out)
    full = f"{settings.age / 10:g} % full"
    print(f"Running {settings.job.name} on {over.drives} of {settings.device.name}, {full}:")
    if real:
        print(f"  on {real.text()}")
    images = _images(settings, folder, over.drives)
    jobs = jobs_of(settings, over, folder, images, real)
    inputs = {**job.inputs(), "device": settings.device}
    inputs |= {f"image{n}": path for n, path in enumerate(images)}
    inputs |= {path.name: path for added in files.values() for path in added.values()}
    hashes = manifest.hashes(inputs)
    results, failures, interrupted = at_once.run_guests(
        {
            name: partial(run_drives_job, qemu, image, files[job.layout], job)
            for name, job in jobs.items()
        },
        {name: job.folder(0) / "progress.bin" for name, job in jobs.items()},
        # On the host's clock guests that run at once would make each other late.
        settings.parallel or int(bool(real)),
        None,
        "real" if real else "virtual",
    )
    layouts = _load(jobs, results, failures)
    if real:
        _compare_clocks(layouts, jobs, settings)
    folders.point_latest(folder)
    made = manifest.manifest(
        qemu,
        image,
        manifest.Inputs(
            inputs,
            {
                "layouts": list(layouts),
                "drives": over.drives,
                "keys": over.keys,
                "depth": over.depth,
                "requests": over.requests,
                "schemes": list(settings.schemes),
                "age": settings.age,
                "overwrite": settings.overwrite,
                "seed": settings.seed,
                "smp": settings.smp,
                "cpu_shift": settings.clock.cpu_shift,
                **({"realtime": real.settings()} if real else {}),
                "overrides": settings.overrides,
            },
            hashes,
        ),
    )
    changed = manifest.changed(inputs, hashes)
    outcome = run.Outcome(folder, layouts, failures, interrupted, made, changed)
    if layouts:
        _write(outcome, settings, over)
    return outcome


def main(settings: run.Settings, over: Over) -> int:
    """The guests, the table, the report; the exit status."""
    began = time.monotonic()
    outcome = compare(settings, over)
    if outcome.schemes:
        print(drives.table_text(outcome.schemes))
        for doubt in [*drives.doubts(outcome.schemes), *ramp_notes(outcome.schemes)]:
            print(f"\n{doubt}")
        folders.draw(outcome.folder, "scarplib.results.drives_report")
    run.report_end(outcome, time.monotonic() - began)
    return 130 if outcome.interrupted else 0
