# SPDX-License-Identifier: GPL-2.0-or-later
"""Options of a guest and of what runs in it, as several commands have them, and what they mean."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from scarplib.drive.options import add_drive
from scarplib.errors import UserError, printable
from scarplib.guest import realtime
from scarplib.guest.file_system import chosen
from scarplib.guest.realtime import ACCELERATORS, BOUND_US, IDLES, Clock
from scarplib.guest.user_guest import User
from scarplib.option_types import MIBS, MICROSECONDS, SECONDS, integer, integers, own_file
from scarplib.paths import FIO_JOBS


def add_job(parser: argparse.ArgumentParser, usual: str = "") -> None:
    """--job; `usual` names the job that runs unless one is given."""
    default = f" (default: {usual})" if usual else ""
    parser.add_argument(
        "--job",
        type=own_file("--job", FIO_JOBS),
        metavar="FILE",
        help=f"fio job file, or the name of one of fio-jobs/{default}",
    )


def add_cpu_limit(parser: argparse.ArgumentParser, usual: int | None, default: str) -> None:
    """--cpu-limit; `default` says in words what `usual` is."""
    parser.add_argument(
        "--cpu-limit",
        type=integer("--cpu-limit", 10, 7 * 86400, SECONDS),
        default=usual,
        metavar="S",
        help=f"give up on a guest after this many seconds of processor time (default: {default})",
    )


def _packages(text: str) -> list[str]:
    from scarplib.guest.user_packages import parse_names

    return parse_names(text)


def check_queues(kernel_args: str, smp: int) -> None:
    """The driver ignores more queues of a kind than there are virtual CPUs, and says nothing."""
    for name, count in re.findall(r"\bnvme\.((?:poll|write)_queues)=(\d{1,9})\b", kernel_args):
        if int(count) > smp:
            raise UserError(
                f"--kernel-args: nvme.{name}={count}: at most one for each virtual CPU, and --smp "
                f"is {smp}"
            )


def _kernel_args(text: str) -> str:
    # The kernel cuts its command line at 2048 characters, and what is behind "--" is init's.
    words = text.split()
    if len(text) > 1024 or not text.isascii() or not text.isprintable() or "--" in words:
        raise UserError(
            f"--kernel-args: {printable(text[:80])!r}: words of printable ASCII, 1024 characters "
            "in all, without '--'"
        )
    return " ".join(words)


def add_user(parser: argparse.ArgumentParser) -> None:
    """What of the guest may be the user's own; user_of() makes of it what runs."""
    parser.add_argument(
        "--script",
        type=Path,
        metavar="FILE",
        help="a program or shell script that runs in the guest in place of the fio job",
    )
    parser.add_argument(
        "--file",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="with --script: a file that it finds in $SCARP_FILES; may be given several times",
    )
    parser.add_argument(
        "--packages",
        type=_packages,
        default=[],
        metavar="A,B,…",
        help="with --script: Debian packages that the guest has, with what they depend on",
    )
    parser.add_argument(
        "--mount-options",
        action="append",
        default=[],
        metavar="[FS:]OPTION,…",
        help="with --fs: options of mount, for all of them or for one; may be given several times",
    )
    parser.add_argument(
        "--trim",
        action="store_true",
        help="with --fs: mkfs deallocates the whole drive, so that it begins empty (default: it "
        "stays as full as ageing has left it)",
    )
    parser.add_argument(
        "--kernel",
        action="append",
        default=[],
        metavar="FILE",
        help="a bzImage that the guest boots, or 'debian' for Debian's own (default); may be given "
        "several times, and all are compared",
    )
    parser.add_argument(
        "--modules",
        type=Path,
        metavar="DIR",
        help="with --kernel: a folder with its modules, from which NVMe and file systems are "
        "taken if they are not built in",
    )
    parser.add_argument(
        "--memory",
        type=integer("--memory", 256, 1 << 20, MIBS),
        metavar="MIB",
        help="the guest's memory (default: 384 and what packages and files need)",
    )
    parser.add_argument(
        "--kernel-args",
        type=_kernel_args,
        default="",
        metavar="'WORD …'",
        help="more words for the command line of the guest's kernel, such as nvme.poll_queues=1",
    )


def add_machine(parser: argparse.ArgumentParser, device: str) -> None:
    """The drive, whose usual description is `device`, the virtual CPUs, and the clock."""
    add_drive(parser, device)
    parser.add_argument(
        "--smp", type=integer("--smp", 1, 64), default=1, metavar="N", help="virtual CPUs"
    )
    parser.add_argument(
        "--cpu-shift",
        type=integer("--cpu-shift", -4, 10),
        metavar="N",
        help="2^N ns for each guest instruction: -2 is a modern core (default: -2)",
    )
    _add_clock(parser)


def _add_clock(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--clock",
        choices=("virtual", "realtime"),
        default="virtual",
        help="the guest's and the drive's: virtual is repeatable to the byte, realtime is the "
        "host's, with the lateness of each completion measured (default: virtual)",
    )
    parser.add_argument(
        "--accel",
        choices=ACCELERATORS,
        help="with --clock realtime: what the guest runs on; auto: KVM if a guest boots on it, "
        "else TCG (default: auto)",
    )
    parser.add_argument(
        "--lateness-bound",
        type=integer("--lateness-bound", 1, 10**6, MICROSECONDS),
        metavar="US",
        help="with --clock realtime: a run is doubtful if more than a hundredth of its "
        f"completions were later than so many microseconds (default: {BOUND_US})",
    )
    parser.add_argument(
        "--cpus",
        type=integers("--cpus", 0, 1023),
        default=(),
        metavar="N,N,…",
        help="with --clock realtime: cores of the host, one for each drive, to which the threads "
        "of the drives' engines are pinned (default: they run on any)",
    )
    parser.add_argument(
        "--priority",
        type=integer("--priority", 0, 99),
        metavar="N",
        help="with --clock realtime: the real-time priority of the threads of the drives' engines, "
        "if the host lets them have one; 0: none (default: 1 if a core is left for the guest)",
    )
    parser.add_argument(
        "--idle",
        choices=IDLES,
        help="with --clock realtime: what a virtual CPU does that has nothing to do; one that "
        "halts must be woken for every interrupt (default: poll if the host has a core for each "
        "virtual CPU and each drive)",
    )


def user_of(options: argparse.Namespace, file_systems: list[str]) -> User | None:
    """What of the guest is the user's own; None if nothing is."""
    for name, needed in (("mount_options", "--fs"), ("trim", "--fs")):
        if getattr(options, name) and not file_systems:
            raise UserError(f"--{name.replace('_', '-')}: needs {needed}")
    if options.packages and not options.script and options.command != "shell":
        raise UserError("--packages: needs --script: a fio job has no use for them")
    check_queues(options.kernel_args, options.smp)
    user = User(
        script=options.script,
        files=tuple(options.file),
        packages=tuple(options.packages),
        kernels=tuple(None if name == "debian" else Path(name) for name in options.kernel),
        modules=options.modules,
        memory_mib=options.memory,
        kernel_args=options.kernel_args,
        file_systems=tuple(chosen(file_systems, options.mount_options, options.trim)),
        trace=getattr(options, "trace", None) is not None,
    )
    user.check()
    return None if user == User() else user


def job_of(options: argparse.Namespace, several: int | None) -> Path | None:
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
    if options.zoned:
        return FIO_JOBS / "zoned.fio"
    default: Path | None = options.default_job
    return default or FIO_JOBS / ("drives.fio" if several else "demo.fio")


def clock_of(options: argparse.Namespace) -> Clock:
    """Which clock a run is on, and how fast its CPU then is."""
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
