# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp COMMAND`: which function does it."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from scarplib import arguments
from scarplib.errors import UserError, of_system
from scarplib.guest.layouts import USUAL
from scarplib.paths import FIO_JOBS, INSTALLED, SCRIPTS, UNLOCKED

if TYPE_CHECKING:
    from scarplib.experiments.run import Settings
    from scarplib.guest.realtime import Clock
    from scarplib.guest.user_guest import User

# Each function imports what it needs itself: `--help` and wrong arguments need none of it.

# So long an interrupted program may take to end by itself, before it is interrupted from here.
ENDS_S = 10


def main(argv: list[str] | None = None) -> int:
    """The exit status; errors of the user's are one line."""
    try:
        given = list(sys.argv[1:] if argv is None else argv)
        # Whatever the command: who builds something reads it, programs that are started, too.
        while "--unlocked" in given:
            given.remove("--unlocked")
            os.environ[UNLOCKED] = "1"
        # Their options are the programs' own, which this parser must not read.
        if given[:1] == ["replay"]:
            return _replay(given[1:])
        if given[:1] == ["array"]:
            return _array(given[1:])
        if given[:1] == ["sweep"]:
            return _sweep(given[1:])
        if given[:1] == ["probe"]:
            return _probe(given[1:])
        if given[:1] == ["fit"]:
            return _fit(given[1:])
        if given[:2] == ["completion", "words"]:
            return _complete(given[2:])
        options = arguments.parser().parse_args(given)
        if INSTALLED and options.command.startswith(arguments.OF_A_CHECKOUT):
            raise UserError(f"{options.command}: needs a checkout; this scarp is installed")
        return COMMANDS.get(options.command, _develop)(options)
    except UserError as error:
        print(f"scarp: error: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        # Whoever reads has had enough: scripts/scarp ends in silence.
        raise
    except OSError as error:
        # A full disk, a folder that may not be written: nobody can say that in advance.
        print(f"scarp: error: {of_system(error)}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("scarp: interrupted", file=sys.stderr)
        return 130


def _replay(given: list[str]) -> int:
    from scarplib.experiments import replay

    return replay.main(given)


def _array(given: list[str]) -> int:
    from scarplib.experiments import array

    return array.main(given)


def _sweep(given: list[str]) -> int:
    from scarplib.build.venv import REPRODUCE_PACKAGES, ensure_venv
    from scarplib.reproduce import sweep

    if given[:1] == ["--cell"]:
        # As Snakemake starts it: FILE N.
        return sweep.run_cell(Path(given[1]), int(given[2]), compared)
    wanted, options = sweep.parse(given)
    asked = None if wanted.replay else compared(wanted.rest)
    if asked and asked.clock.cpu_shift is None and options.cores != 1:
        raise UserError(
            "--clock realtime: needs --cores 1: cells that run at once make each other late"
        )
    command = [str(ensure_venv(REPRODUCE_PACKAGES)), "-B", "-m", "scarplib.reproduce.sweep"]
    command.append(sweep.program(asked))
    environment = {**os.environ, "PYTHONPATH": str(SCRIPTS)}
    return _status([*command, *given], environment)


def _status(words: list[str], environment: dict[str, str]) -> int:
    """A program's exit status.  When interrupted it has time to take its files away."""
    with subprocess.Popen(words, env=environment) as child:
        try:
            return child.wait()
        except KeyboardInterrupt:
            # A terminal interrupts both.  If it goes on, only this process was interrupted.
            try:
                return child.wait(ENDS_S)
            except subprocess.TimeoutExpired:
                child.send_signal(signal.SIGINT)
                return child.wait()


def _probe(given: list[str]) -> int:
    from scarplib.own_drive import command

    return command.probe_main(given)


def _fit(given: list[str]) -> int:
    from scarplib.build.venv import FIT_PACKAGES, ensure_venv
    from scarplib.own_drive import command
    from scarplib.own_drive.fit_options import fit_options

    # What is wrong, and --help, before SciPy is there; and what needs none.
    options = fit_options(given)
    if options.check or options.beside:
        return command.fit_main(given)
    words = [str(ensure_venv(FIT_PACKAGES)), "-B", "-m", "scarplib.own_drive.command", *given]
    environment = {**os.environ, "PYTHONPATH": str(SCRIPTS)}
    return _status(words, environment)


def _list(options: argparse.Namespace) -> int:
    """`schemes`, `devices`, `keys`."""
    from scarplib.drive import choices

    if options.command == "schemes":
        print(choices.schemes_text(options.name, options.json))
    elif options.command == "keys":
        print(choices.keys_text(options.part, options.json))
    else:
        print(choices.drives_text(options.part, options.json))
    return 0


def _convert(options: argparse.Namespace) -> int:
    from scarplib.experiments import foreign_traces

    return foreign_traces.convert(options.trace, options.out)


def _complete(words: list[str]) -> int:
    from scarplib import completion

    print("\n".join(completion.words(words)))
    return 0


def _completion(options: argparse.Namespace) -> int:
    from scarplib import completion

    print(completion.script(options.shell), end="")
    return 0


def _user(options: argparse.Namespace, file_systems: list[str]) -> User | None:
    """What of the guest is the user's own; None if nothing is."""
    from scarplib.guest.file_system import chosen
    from scarplib.guest.user_guest import User

    for name, needed in (("mount_options", "--fs"), ("trim", "--fs")):
        if getattr(options, name) and not file_systems:
            raise UserError(f"--{name.replace('_', '-')}: needs {needed}")
    if options.packages and not options.script and options.command != "shell":
        raise UserError("--packages: needs --script: a fio job has no use for them")
    user = User(
        script=options.script,
        files=tuple(options.file),
        packages=tuple(options.packages),
        kernels=tuple(None if name == "debian" else Path(name) for name in options.kernel),
        modules=options.modules,
        memory_mib=options.memory,
        file_systems=tuple(chosen(file_systems, options.mount_options, options.trim)),
        trace=getattr(options, "trace", None) is not None,
    )
    user.check()
    return None if user == User() else user


def _job(options: argparse.Namespace, several: int | None) -> Path | None:
    """The fio job; None if a script runs."""
    given: Path | None = options.job
    if options.script:
        if given:
            raise UserError("--script: excludes --job: the guest runs one of them")
        return None
    if given:
        return given
    if options.fs:
        return FIO_JOBS / "database.fio"
    default: Path | None = options.default_job
    return default or FIO_JOBS / ("drives.fio" if several else "demo.fio")


def _clock(options: argparse.Namespace) -> Clock:
    """Which clock a run is on, and how fast its CPU then is."""
    from scarplib.guest import realtime
    from scarplib.guest.realtime import Clock

    if options.clock == "virtual":
        for name in ("accel", "lateness_bound", "cpus", "priority", "idle"):
            if getattr(options, name) not in (None, ()):
                raise UserError(f"--{name.replace('_', '-')}: needs --clock realtime")
        return Clock(cpu_shift=-2 if options.cpu_shift is None else options.cpu_shift)
    if options.cpu_shift is not None:
        raise UserError("--cpu-shift: excludes --clock realtime: a CPU is as fast as it is")
    if getattr(options, "trace", None):
        raise UserError("--trace: excludes --clock realtime: guest and drive have no common clock")
    drives, guests = getattr(options, "drives", None) or 1, getattr(options, "jobs", 0)
    realtime.check_cores(options.cpus, drives)
    if options.cpus and guests > 1:
        raise UserError("--jobs: excludes --cpus: guests at once would share those cores")
    guests = max(guests, 1)
    priority, idle = options.priority, options.idle
    if priority is None:
        priority = realtime.usual_priority(drives * guests)
    elif priority and not realtime.allows_priority(priority):
        raise UserError(f"--priority: this host refuses {priority} (see 'ulimit -r'); 0 is none")
    return Clock(
        cpu_shift=None,
        accel=options.accel or "auto",
        bound_us=options.lateness_bound or realtime.BOUND_US,
        cpus=options.cpus,
        priority=priority,
        idle=idle or realtime.usual_idle(drives * guests, options.smp * guests),
    )


def _settings(options: argparse.Namespace) -> Settings:
    """What `run` and `compare` are told; what can be said of it before a boot is said here."""
    from scarplib.experiments import run

    if options.image and options.overwrite is not None:
        raise UserError("--overwrite: excludes --image, which has been aged")
    if options.image and options.age != arguments.AGE:
        raise UserError("--age: excludes --image, which has been aged")
    arguments.check_overwrite(options)
    several = getattr(options, "drives", None)
    if several and options.image:
        raise UserError("--drives: excludes --image, which is of one drive")
    if several and options.handles:
        raise UserError("--handles: excludes --drives, each of which has one")
    if several and options.times:
        raise UserError("--times: excludes --drives")
    if not several:
        for name in ("over", "keys", "depth", "requests"):
            if getattr(options, name, None) is not None:
                raise UserError(f"--{name}: needs --drives")
    clock = _clock(options)
    job = _job(options, several)
    user = _user(options, options.fs)
    if several and user:
        raise UserError("--drives: excludes what is of one drive's guest, such as --fs or --script")
    return run.Settings(
        job=job,
        device=options.device or (None if options.image else options.default_device),
        schemes=options.schemes or (["baseline"] if several else ["baseline", "ideal"]),
        age=options.age,
        seed=options.seed,
        smp=options.smp,
        clock=clock,
        overrides=options.set,
        handles=options.handles,
        image=options.image,
        overwrite=options.overwrite,
        parallel=options.jobs,
        out=options.out,
        cpu_limit=options.cpu_limit or (3600 if clock.idle == "poll" else 600),
        kind=options.command,
        user=user,
    )


def compared(words: Sequence[str]) -> Settings:
    """What `scarp compare` would do if it was told so."""
    return _settings(arguments.parser().parse_args(["compare", *words]))


def _run(options: argparse.Namespace) -> int:
    """`run` and `compare`."""
    from scarplib.experiments import run

    if options.command == "compare" and options.paper:
        from scarplib.experiments import compare_papers

        return compare_papers.papers(options.paper, options.jobs)
    settings = _settings(options)
    several = getattr(options, "drives", None)
    if not several:
        return run.run(settings, options.times)
    from scarplib.experiments import run_drives

    given = {name: getattr(options, name) for name in ("keys", "depth", "requests")}
    given = {name: value for name, value in given.items() if value is not None}
    layouts = options.over or list(USUAL)
    return run_drives.main(settings, run_drives.Over(options.drives, layouts, **given))


def _shell(options: argparse.Namespace) -> int:
    from scarplib.guest import shell

    user = _user(options, [options.mkfs] if options.mkfs else [])
    return shell.shell(options, user, _clock(options))


def _powercut(options: argparse.Namespace) -> int:
    from scarplib.powercut import command

    command.check_read(options, arguments.parser().parse_args(["powercut"]))
    arguments.check_overwrite(options)
    if options.ready:
        return command.main_ready(options)
    if options.lies:
        return command.main_lies(options)
    command.complete(options)
    if options.recording:
        return command.main(options, None, None)
    user = _user(options, [options.fs] if options.fs else [])
    return command.main(options, user, _job(options, None))


def _cut(options: argparse.Namespace) -> int:
    from scarplib.guest import power

    print(power.cut(options.socket, options.drive))
    return 0


def _age(options: argparse.Namespace) -> int:
    from scarplib.drive import age

    return age.age(options)


def _rows(options: argparse.Namespace) -> int:
    from scarplib.device_logs import as_csv
    from scarplib.results import in_words

    if options.words:
        return in_words.main(options.log, options.out, options.slowest)
    return as_csv.main(options.log, options.out, options.slowest)


def _timeline(options: argparse.Namespace) -> int:
    from scarplib.drive import timeline

    return timeline.timeline(options)


def _determinism(options: argparse.Namespace) -> int:
    from scarplib.experiments import determinism

    return determinism.main(options.n, negative=not options.skip_negative)


def _reproduce(options: argparse.Namespace) -> int:
    from scarplib.build.venv import REPRODUCE_PACKAGES, ensure_venv

    if options.paper == "fit":
        return _blind(options)
    # Snakemake, and numpy: the system's Python need not have them.
    command = [str(ensure_venv(REPRODUCE_PACKAGES)), "-B", "-m", "scarplib.reproduce"]
    how = "quick" if options.quick else "estimate" if options.estimate else ""
    command += [options.paper, str(options.cores), how, options.traces]
    environment = {**os.environ, "PYTHONPATH": str(SCRIPTS)}
    return _status(command, environment)


def _blind(options: argparse.Namespace) -> int:
    """`reproduce fit`: no paper's, but the trial of issue 28."""
    if options.traces:
        raise UserError("--traces: not with fit, whose drives and loads are drawn")
    count, minutes, largest, guests = (3, 1, 400, 0) if options.quick else (30, 10, 2048, 5)
    if options.estimate:
        print(
            f"fit: {count} drives, each {minutes} minutes of processor time and a little more, of "
            f"{guests} that a guest probes a few minutes more"
        )
        return 0
    words = ["--blind", str(count), "--minutes", str(minutes), "--mib", str(largest)]
    words += ["--guests", str(guests)]
    if not options.quick:
        # Those before were looked at when the search was made.
        words += ["--first", "31"]
    out = "blind-quick.json" if options.quick else "blind.json"
    return _fit([*words, "--cores", str(options.cores), "-o", out])


def _bench(options: argparse.Namespace) -> int:
    from scarplib.dev import bench_engine

    return bench_engine.main(options.rounds, options.only)


def _bench_array(_: argparse.Namespace) -> int:
    from scarplib.dev import bench_array

    return bench_array.main()


def _bench_guest(options: argparse.Namespace) -> int:
    from scarplib.dev import bench_guest

    return bench_guest.main(options.rounds)


def _bench_realtime(options: argparse.Namespace) -> int:
    from scarplib.dev import bench_realtime, bench_realtime_guest

    if options.guest:
        return bench_realtime_guest.main(options.rounds, options.seconds)
    return bench_realtime.main(options.rounds, options.seconds)


def _doctor(_: argparse.Namespace) -> int:
    from scarplib.dev import doctor

    return doctor.main()


def _manifest(options: argparse.Namespace) -> int:
    from scarplib.experiments import manifest

    return manifest.main(options.built)


def _update_locks(_: argparse.Namespace) -> int:
    from scarplib.dev import update_locks

    return update_locks.main()


def _develop(options: argparse.Namespace) -> int:
    """`setup`, `lint`, `test` and each suite alone."""
    from scarplib.dev import suites

    return suites.main(options.command, getattr(options, "only", []))


COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "run": _run,
    "compare": _run,
    "powercut": _powercut,
    "shell": _shell,
    "cut": _cut,
    "age": _age,
    "rows": _rows,
    "timeline": _timeline,
    "schemes": _list,
    "devices": _list,
    "keys": _list,
    "convert": _convert,
    "completion": _completion,
    "determinism": _determinism,
    "reproduce": _reproduce,
    "bench": _bench,
    "bench-array": _bench_array,
    "bench-guest": _bench_guest,
    "bench-realtime": _bench_realtime,
    "doctor": _doctor,
    "manifest": _manifest,
    "update-locks": _update_locks,
}
