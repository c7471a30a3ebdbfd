# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp run`: one guest for each scheme from the same aged state, table, picture, page."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from scarplib.build.qemu import QemuBuild, ensure_qemu
from scarplib.device_logs.log_file import LogError
from scarplib.drive import age, image_file, start
from scarplib.drive.check import check_drive
from scarplib.drive.controller import WHOLE, HostView
from scarplib.drive.size import logical_bytes
from scarplib.drive.switch import Switch
from scarplib.errors import UserError
from scarplib.guest import fio_job, user_guest, user_kernel, vm
from scarplib.guest.file_system import check_room
from scarplib.guest.image import GuestImage, ensure_image, fio_on_host
from scarplib.guest.job import Job, check_job_file, progress_file, run_job
from scarplib.guest.progress import expected_commands
from scarplib.guest.realtime import VIRTUAL, Clock, RealTime
from scarplib.guest.user_guest import Prepared, User
from scarplib.guest.user_task import UserTask
from scarplib.results import (
    best,
    file_system,
    guest_drive_join,
    instant,
    lateness,
    ran,
    room_left,
    summary,
    table,
    truth,
)
from scarplib.results.summary import said_params
from scarplib.runs import forks, manifest
from scarplib.runs.at_once import run_guests
from scarplib.runs.folder import draw, new_folder, point_latest
from scarplib.runs.parts import Parts
from scarplib.scheme_text import folder_name


@dataclass(frozen=True)
class Settings:
    """What to compare; with an `image`, `age` does nothing and `device` may be None."""

    # None: a script of the user's runs in its place.
    job: Path | None
    device: Path | None
    schemes: Sequence[str]
    age: int
    seed: int
    smp: int
    clock: Clock = VIRTUAL
    overrides: str | None = None
    view: HostView = WHOLE
    image: Path | None = None
    overwrite: int | None = None
    # Guests at once; 0: as many as there are cores.
    parallel: int = 0
    out: Path | None = None
    cpu_limit: float = 240
    kind: str = "run"
    # What of the guest is the user's own, if anything is.
    user: User | None = None
    # The instant until which all columns are the first scheme; None: they never are.
    at: str | None = None

    def work(self) -> str:
        """The name of what runs in the guest."""
        path = self.job or (self.user and self.user.script)
        assert path
        return path.name

    def work_in_words(self) -> str:
        """Also where it runs."""
        systems = [fs.name for fs in self.user.file_systems] if self.user else []
        return f"{self.work()}{' in ' if systems else ''}{', '.join(systems)}"


@dataclass
class Outcome:
    """Schemes that finished, in the order asked for, and what became of the others."""

    folder: Path
    schemes: dict[str, dict[str, Any]]
    failures: dict[str, str]
    interrupted: bool
    # Empty when none finished.
    manifest: dict[str, Any]
    # An input that is another one now than when the first guest began, in one sentence.
    changed: str = ""
    # What the numbers cannot show, a sentence each.
    notes: list[str] = field(default_factory=list)


def prepare() -> tuple[QemuBuild, GuestImage]:
    """Everything that a guest needs; built at most once."""
    qemu = ensure_qemu()
    return qemu, ensure_image()


@dataclass(frozen=True)
class Column:
    """A guest of a comparison: its scheme, and what it does that is the user's own."""

    scheme: str
    image: GuestImage
    task: UserTask | None = None


def columns(settings: Settings, prepared: Prepared | None, image: GuestImage) -> dict[str, Column]:
    """By name: the schemes; with several file systems or kernels, each of these under each."""
    if not prepared:
        return {scheme: Column(scheme, image) for scheme in settings.schemes}
    return {
        f"{name}-{scheme}" if name else scheme: Column(scheme, guest.image, guest.task)
        for name, guest in prepared.guests.items()
        for scheme in settings.schemes
    }


def aged(settings: Settings, folder: Path, name: str = "drive", seed: int | None = None) -> Path:
    """The state that every scheme starts from, in the folder of the results."""
    assert settings.device
    path = folder / f"{name}.img"
    words = age.command(
        settings.device,
        path,
        settings.age,
        settings.seed if seed is None else seed,
        settings.overwrite,
        overrides=settings.overrides,
    )
    age.make(words)
    return path


def _check(settings: Settings, qemu: QemuBuild) -> None:
    """What the engine has to say about the drive under each scheme, before anything boots."""
    stem = settings.schemes[0]
    for scheme in settings.schemes:
        forks_off = settings.at and scheme != stem
        check_drive(
            qemu,
            settings.device,
            stem if forks_off else scheme,
            settings.age,
            settings.overrides,
            settings.seed,
            settings.image,
            settings.view,
            # When is not known yet; whether it can is.
            Switch(0, scheme) if forks_off else None,
        )


def _start(settings: Settings, state: Path, folder: Path) -> list[list[str]]:
    """What a replay of a guest's log has to be told, as drive/start.py reads it."""
    words = [["image", start.said(state, folder)], ["seed", str(settings.seed)]]
    if settings.device:
        words.append(["description", start.said(settings.device, folder)])
    if settings.overrides:
        words += [["override", part] for part in settings.overrides.split(",")]
    return words


def compare_drive(
    numbers: dict[str, Any], folder: Path, begun: start.Start, span: tuple[int, int]
) -> None:
    """Beside what the guest was given of a drive, what the model wanted: into its numbers."""
    try:
        numbers["truth"] = truth.compare(folder, begun, *span)
    except (LogError, UserError) as error:
        print(f"  not replayed on virtual time: {error}", file=sys.stderr)


def compare_clocks(written: dict[str, Any], folder: Path) -> None:
    """The same of each column."""
    for name, scheme in written["schemes"].items():
        if begun := start.of_run(written, folder, name):
            span = scheme["begin_ns"], scheme["end_ns"]
            compare_drive(scheme, folder / folder_name(name), begun, span)


def _save(written: dict[str, Any], folder: Path) -> None:
    (folder / "summary.json").write_text(json.dumps(written, indent=1) + "\n")


@dataclass(frozen=True)
class _Ready:
    """What the guests of a comparison need: checked and made before the first of them boots."""

    qemu: QemuBuild
    # The first guest's, of which the manifest speaks.
    image: GuestImage
    prepared: Prepared | None
    real: RealTime | None
    folder: Path
    state: Path
    # By the columns' names, both.
    columns: dict[str, Column]
    jobs: dict[str, Job]
    # Commands that the job will send, if that can be told.
    expected: int | None
    # By their names in the manifest: each guest reads them when it begins.
    inputs: dict[str, Path]
    hashes: dict[str, str]


def _check_files(settings: Settings) -> fio_job.FioJob | None:
    """The job, if there is one; what can be said before anything is fetched is said."""
    job: fio_job.FioJob | None = None
    if settings.job:
        in_files = bool(settings.user and settings.user.file_systems)
        job = check_job_file(settings.job, settings.view, in_files)
    for option, path in (("--device", settings.device), ("--image", settings.image)):
        if path and not path.is_file():
            raise UserError(f"{option}: {path}: no such file")
    if settings.image:
        image_file.read(settings.image)
    if settings.user:
        settings.user.check()
    return job


def _what_boots(settings: Settings) -> tuple[QemuBuild, GuestImage, Prepared | None]:
    if not settings.user:
        return (*prepare(), None)
    prepared = user_guest.prepare(settings.user, settings.job)
    return ensure_qemu(), next(iter(prepared.guests.values())).image, prepared


def _say_begin(settings: Settings, real: RealTime | None) -> None:
    full = f"from {settings.image.name}" if settings.image else f"{settings.age / 10:g} % full"
    print(f"Running {settings.work()} on {_label(settings)}, {full}:")
    if real:
        print(f"  on {real.text()}")


def _label(settings: Settings) -> str:
    return (settings.device or settings.image or Path()).name


def _jobs(
    settings: Settings, chosen: dict[str, Column], folder: Path, state: Path, real: RealTime | None
) -> dict[str, Job]:
    return {
        name: Job(
            fio_job=settings.job,
            device=settings.device,
            scheme=column.scheme,
            out=folder / folder_name(name),
            image=state,
            seed=settings.seed,
            overrides=settings.overrides,
            view=settings.view,
            smp=settings.smp,
            cpu_shift=settings.clock.cpu_shift,
            realtime=real,
            cpu_limit=settings.cpu_limit,
            user=column.task,
        )
        for name, column in chosen.items()
    }


def _make_ready(settings: Settings) -> _Ready:
    job = _check_files(settings)
    qemu, image, prepared = _what_boots(settings)
    if job:
        fio_job.check_parsed(fio_on_host(), job)
    if len(settings.view.sizes) > 1:
        total = logical_bytes(settings.device, settings.overrides, settings.image)
        settings = replace(settings, view=settings.view.shared(total))
    _check(settings, qemu)
    real = settings.clock.real(qemu, ensure_image)
    folder = new_folder(settings.kind, settings.out)
    _say_begin(settings, real)
    state = settings.image or aged(settings, folder)
    if settings.user and settings.user.file_systems:
        names = [fs.name for fs in settings.user.file_systems]
        try:
            check_room(names, settings.view.first_bytes(image_file.read(state).host_bytes))
        except UserError:
            # The folder is as it was: the next try, with the same --out, finds it empty.
            if state.parent == folder:
                state.unlink()
            raise
    chosen = columns(settings, prepared, image)
    jobs = _jobs(settings, chosen, folder, state, real)
    # Of a job in a file system the drive counts that one's own commands, too: no share is known.
    in_files = bool(settings.user and settings.user.file_systems)
    expected = expected_commands(job.text) if job and not in_files else None
    files = _inputs(settings, state, prepared)
    hashes = manifest.hashes(files)
    return _Ready(qemu, image, prepared, real, folder, state, chosen, jobs, expected, files, hashes)


@dataclass
class Made:
    """What became of the guests so far, by their columns' names."""

    schemes: dict[str, dict[str, Any]] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    forks: dict[str, forks.Fork] = field(default_factory=dict)
    interrupted: bool = False


def _boot(
    settings: Settings, ready: _Ready, names: Sequence[str]
) -> tuple[dict[str, vm.GuestResult], dict[str, str], bool]:
    """As run_guests(); a kernel of the user's that got stuck is told of where it failed."""
    jobs = {name: ready.jobs[name] for name in names}
    results, failures, interrupted = run_guests(
        {
            name: partial(run_job, ready.qemu, ready.columns[name].image, job)
            for name, job in jobs.items()
        },
        {name: progress_file(job) for name, job in jobs.items()},
        # On the host's clock guests that run at once would make each other late.
        settings.parallel or int(bool(ready.real)),
        ready.expected,
        "real" if ready.real else "virtual",
    )
    kernels = settings.user.kernels if settings.user else ()
    for name in failures:
        console = ready.jobs[name].out / "console.log"
        if ready.columns[name].image.kernel in kernels and console.is_file():
            failures[name] += user_kernel.stuck(console.read_text(errors="replace"))
    return results, failures, interrupted


def _run(settings: Settings, ready: _Ready, parts: Parts, made: Made, names: Sequence[str]) -> None:
    """Run the guests of these columns, and read what they left."""
    results, failures, made.interrupted = _boot(settings, ready, names)
    parts.end_guests((result.boot_seconds, result.wall_seconds) for result in results.values())
    made.failures |= failures
    for name, result in results.items():
        try:
            if fork := made.forks.get(name):
                forks.check(fork, ready.jobs[fork.stem].out, ready.jobs[name].out)
            made.schemes[name] = _load(ready, name, result)
        except LogError as error:
            made.failures[name] = f"results of '{name}': {error}"
        except UserError as error:
            made.failures[name] = str(error)


def run_forks(settings: Settings, ready: _Ready, parts: Parts, made: Made, at: str) -> None:
    """The stems' guests, which say when the job runs, then those that fork from them."""
    stems: dict[str, dict[str, Job]] = {}
    for name, job in ready.jobs.items():
        # A stem for each file system and kernel: columns that differ in the scheme alone.
        stem = name.removesuffix(job.scheme) + settings.schemes[0]
        stems.setdefault(stem, {})[name] = job
    _run(settings, ready, parts, made, list(stems))
    for stem, jobs in stems.items():
        if stem in made.schemes:
            found, changed = forks.forked_jobs(at, stem, jobs, made.schemes[stem])
            made.forks |= found
            ready.jobs.update(changed)
        elif not made.interrupted:
            made.failures |= {
                name: f"guest '{name}': not begun, as '{stem}', its stem, did not finish"
                for name in jobs
                if name != stem
            }
    if made.forks and not made.interrupted:
        _run(settings, ready, parts, made, list(made.forks))


def _load(ready: _Ready, name: str, result: vm.GuestResult) -> dict[str, Any]:
    """What one guest left, as its column of summary.json."""
    job = ready.jobs[name]
    loaded = summary.load_scheme(job.out, name)
    found = said_params(loaded.summary, job.switch.scheme if job.switch else job.scheme)
    if loaded.block:
        guest_drive_join.write(loaded.block, job.out)
    if (task := job.user) and task.file_system:
        unit_bytes = image_file.read(ready.state).unit_bytes
        found["file_system"] = file_system.figures(
            task.file_system.name, found, job.out, unit_bytes
        )
    found["wall_s"] = round(result.wall_seconds, 3)
    found["boot_s"] = round(result.boot_seconds, 3)
    progress_file(job).unlink(missing_ok=True)
    return found


def _inputs(settings: Settings, state: Path, prepared: Prepared | None) -> dict[str, Path]:
    files = {"image": state}
    if settings.job:
        files |= fio_job.read(settings.job).inputs()
    if settings.device:
        files["device"] = settings.device
    return files | (prepared.inputs if prepared else {})


def _manifest(settings: Settings, ready: _Ready, schemes: list[str]) -> dict[str, Any]:
    said = {
        "schemes": schemes,
        **({"at": settings.at} if settings.at else {}),
        **(ready.prepared.settings if ready.prepared else {}),
        "age": settings.age,
        "overwrite": settings.overwrite,
        "seed": settings.seed,
        "smp": settings.smp,
        "cpu_shift": settings.clock.cpu_shift,
        **({"realtime": ready.real.settings()} if ready.real else {}),
        "overrides": settings.overrides,
        **settings.view.settings(),
    }
    return manifest.manifest(
        ready.qemu, ready.image, manifest.Inputs(ready.inputs, said, ready.hashes)
    )


def _write(
    settings: Settings, ready: _Ready, outcome: Outcome, forked: dict[str, forks.Fork]
) -> None:
    """summary.json."""
    folder = outcome.folder
    written = {
        "schema": summary.SCHEMA,
        "job": settings.work(),
        "device": _label(settings),
        "schemes": outcome.schemes,
        "failed": sorted(outcome.failures),
        **({"changed": outcome.changed} if outcome.changed else {}),
        "start": _start(settings, ready.state, folder),
        **forks.again(settings, ready.state, folder),
        # A column's name may say more than its scheme and parameters, such as its file system.
        # With an instant it is the scheme that a column begins with.
        "columns": {name: ready.jobs[name].scheme for name in outcome.schemes},
        "ran": ran.words(
            ready.state,
            settings.device,
            filter(None, (settings.overrides or "").split(",")),
            [job.scheme for name, job in ready.jobs.items() if name in outcome.schemes],
            settings.work_in_words(),
            ready.jobs[next(iter(outcome.schemes))].out / "fio.json",
        ),
        **instant.said(
            settings.at, {n: f.said() for n, f in forked.items() if n in outcome.schemes}
        ),
        "manifest": outcome.manifest,
    }
    if said := room_left.no_collection(written, folder):
        outcome.notes.append(said)
        written["notes"] = outcome.notes
    _save(written, folder)
    ran.keep_command(folder)
    if ready.real:
        # What was measured is kept, whatever becomes of this.
        compare_clocks(written, folder)
        _save(written, folder)


def compare(settings: Settings, parts: Parts | None = None) -> Outcome:
    """A guest for each scheme from one state of the drive; summary.json of those that finished."""
    parts = parts or Parts()
    ready = _make_ready(settings)
    parts.end("before the guests")
    made = Made()
    if settings.at:
        run_forks(settings, ready, parts, made, settings.at)
    else:
        _run(settings, ready, parts, made, list(ready.jobs))
    # In the order asked for, whichever was run first.
    schemes = {name: made.schemes[name] for name in ready.jobs if name in made.schemes}
    point_latest(ready.folder)
    changed = manifest.changed(ready.inputs, ready.hashes)
    outcome = Outcome(ready.folder, schemes, made.failures, made.interrupted, {}, changed)
    if schemes:
        outcome.manifest = _manifest(settings, ready, list(schemes))
        _write(settings, ready, outcome, made.forks)
    return outcome


def run(settings: Settings, times: bool = False) -> int:
    """`scarp run` and `compare`: the guests, the table, the report; the exit status.  With `times`
    also what its parts took."""
    started = time.monotonic()
    parts = Parts()
    outcome = compare(settings, parts)
    if outcome.schemes:
        found = file_system.matrix(outcome.schemes)
        # A column for each file system under each scheme is wider than a terminal.
        print(table.columns(*found) if found else table.table_text(outcome.schemes))
        for doubt in lateness.doubts(outcome.schemes):
            print(f"\n{doubt}")
        for note in [*outcome.notes, *summary.ramp_notes(outcome.schemes)]:
            print(f"\n{note}")
        if said := best.words(outcome.schemes):
            print("\n" + "\n".join(said))
        parts.end("logs, table, summary.json")
        if any(any(scheme["device"].values()) for scheme in outcome.schemes.values()):
            draw(outcome.folder)
            parts.end("report")
        else:
            print("\nNo I/O reached the drive in the measured time: there is no report to draw.")
    if times:
        print(f"\n{parts.text()}")
    report_end(outcome, time.monotonic() - started)
    return 130 if outcome.interrupted else 0


def report_end(outcome: Outcome, seconds: float) -> None:
    """Say where the results are; raise if some are missing for another reason than Ctrl-C."""
    folder = outcome.folder
    shown = folder.relative_to(Path.cwd()) if folder.is_relative_to(Path.cwd()) else folder
    if outcome.schemes:
        print(f"\nResults: {shown}/  (report.html, summary.json, a folder for each column)")
        print(f"Took {seconds:.0f} s in all.")
    if outcome.interrupted:
        kept = f"finished: {', '.join(outcome.schemes) or 'none'}"
        print(f"scarp: interrupted; {kept}", file=sys.stderr)
    elif outcome.failures or outcome.changed:
        said = [*outcome.failures.values(), *filter(None, [outcome.changed])]
        raise UserError("\n".join([*said, f"What was written is in {folder}"]))
