# SPDX-License-Identifier: GPL-2.0-or-later
"""What the `scarp` command may be told; each value is checked before anything is built."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any

from scarplib.errors import UserError
from scarplib.guest.file_system import FILE_SYSTEMS
from scarplib.guest.layouts import LAYOUTS, USUAL
from scarplib.guest.realtime import ACCELERATORS, BOUND_US, IDLES
from scarplib.option_types import (
    Parser,
    add_cores,
    integer,
    integers,
    one_of_each,
    one_scheme,
    scheme_list,
)
from scarplib.paths import DEVICES, FIO_JOBS, UNLOCKED
from scarplib.powercut.options import add_powercut
from scarplib.version import version

# How commands begin that need what is not installed, such as tests/.
OF_A_CHECKOUT = ("test", "lint", "bench", "update-locks")
# How full a drive is, in thousandths, of which nothing is said.
AGE = 900


def _overrides(text: str) -> str:
    for part in text.split(","):
        if not re.fullmatch(r"[\w-]+\.[\w-]+=[^=;,]+", part):
            raise UserError(f"--set: '{part}' is not 'group.key=value'")
    return text


def check_overwrite(options: argparse.Namespace) -> None:
    """Of a new drive nothing can be overwritten."""
    if options.overwrite is not None and not options.age:
        raise UserError("--overwrite: needs --age, from 1 to 1000")


def _add_compare_options(
    parser: argparse.ArgumentParser, device: str, schemes: list[str], job: str
) -> None:
    parser.add_argument(
        "--job",
        type=Path,
        metavar="FILE",
        help=f"fio job file (default: fio-jobs/{job}.fio)",
    )
    parser.set_defaults(default_job=FIO_JOBS / f"{job}.fio")
    parser.add_argument(
        "--fs",
        type=one_of_each("--fs", FILE_SYSTEMS),
        default=[],
        metavar="A,B,…",
        help=f"the job runs in a file system on the drive, in each of these: "
        f"{', '.join(FILE_SYSTEMS)}; then --job is fio-jobs/database.fio unless given",
    )
    _add_user_options(parser)
    parser.add_argument(
        "--trace",
        choices=("blk",),
        help="records what the guest's block layer does, and joins it with the drive's command "
        "log: which requests a slow fsync waited for, and what each waited for in the drive",
    )
    parser.add_argument(
        "--schemes",
        type=scheme_list,
        default=schemes,
        metavar="A,B,…",
        help="schemes to compare, each NAME or NAME:KEY=VALUE:… with parameters "
        f"(default: {','.join(schemes)})",
    )
    _add_drive_options(parser, device)
    # Told apart from the default: an image can do without a description.
    parser.set_defaults(device=None, default_device=DEVICES / f"{device}.ini")
    parser.add_argument(
        "--image",
        type=Path,
        metavar="FILE",
        help="the state that all start from, made by `scarp age` (default: aged as --age says)",
    )
    parser.add_argument(
        "--overwrite",
        type=integer("--overwrite", 0, 2**32 - 2),
        metavar="N",
        help="how much ageing overwrites, in thousandths of it; 0: no GC yet (default: until "
        "steady)",
    )
    parser.add_argument(
        "--jobs",
        type=integer("--jobs", 0, 4096),
        default=0,
        metavar="N",
        help="guests at once; 0: one for each core (default: 0)",
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="results (default: out/<time>-…)")
    parser.add_argument(
        "--times",
        action="store_true",
        help="say at the end what each part of all this took; with one drive",
    )
    parser.add_argument(
        "--cpu-limit",
        type=integer("--cpu-limit", 10, 7 * 86400),
        metavar="S",
        help="give up on a guest after this many seconds of processor time (default: 600, and "
        "3600 if its idle virtual CPUs poll)",
    )


def _packages(text: str) -> list[str]:
    from scarplib.guest.user_packages import parse_names

    return parse_names(text)


def _add_user_options(parser: argparse.ArgumentParser) -> None:
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
        type=integer("--memory", 256, 1 << 20),
        metavar="MIB",
        help="the guest's memory (default: 384 and what packages and files need)",
    )


def _add_drive_options(parser: argparse.ArgumentParser, device: str = "demo") -> None:
    parser.add_argument(
        "--device",
        type=Path,
        default=DEVICES / f"{device}.ini",
        metavar="FILE",
        help=f"the drive's description (default: devices/{device}.ini)",
    )
    parser.add_argument(
        "--set",
        type=_overrides,
        metavar="GROUP.KEY=VALUE,…",
        help="keys of the description to change, e.g. gc.trigger_free_blocks=4",
    )
    parser.add_argument(
        "--handles",
        type=integer("--handles", 0, 255),
        default=0,
        metavar="N",
        help="reclaim unit handles that the guest may place its writes by (FDP), at most "
        "ftl.streams; 0: no FDP (default: 0)",
    )
    parser.add_argument(
        "--age",
        type=integer("--age", 0, 1000),
        default=AGE,
        metavar="N",
        help=f"how full the aged drive is, in thousandths; 0: a fresh drive (default: {AGE})",
    )
    parser.add_argument(
        "--seed",
        type=integer("--seed", 0, 2**63 - 1),
        default=1,
        metavar="N",
        help="seed of the drive and its ageing (default: 1)",
    )
    parser.add_argument(
        "--smp", type=integer("--smp", 1, 64), default=1, metavar="N", help="virtual CPUs"
    )
    parser.add_argument(
        "--cpu-shift",
        type=integer("--cpu-shift", -4, 10),
        metavar="N",
        help="2^N ns for each guest instruction: -2 is a modern core (default: -2)",
    )
    _add_clock_options(parser)


def _add_clock_options(parser: argparse.ArgumentParser) -> None:
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
        type=integer("--lateness-bound", 1, 10**6),
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


def _add_drives_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--drives",
        type=integer("--drives", 1, 24),
        metavar="N",
        help="run on N drives of one guest, in several layouts (docs/array.md); then --schemes is "
        "baseline and --job is fio-jobs/drives.fio unless given",
    )
    parser.add_argument(
        "--over",
        type=one_of_each("--over", LAYOUTS),
        metavar="A,B,…",
        help=f"with --drives: of {', '.join(LAYOUTS)} (default: {','.join(USUAL)})",
    )
    parser.add_argument(
        "--keys", metavar="KEY=VALUE,…", help="with --drives: the array's keys (docs/array.md)"
    )
    parser.add_argument(
        "--depth",
        type=integer("--depth", 1, 1024),
        metavar="N",
        help="with --drives: SCARP_DEPTH of the job, for a drive (default: 32)",
    )
    parser.add_argument(
        "--requests",
        type=integer("--requests", 1, 10**9),
        metavar="N",
        help="with --drives: SCARP_IOS of the job, for a drive (default: 20000)",
    )


def _add_lists(commands: Any) -> None:
    """What can be chosen, and what helps to type it."""
    schemes = commands.add_parser("schemes", help="which schemes there are")
    schemes.add_argument(
        "name", nargs="?", metavar="NAME", help="all of one, or of each of a+b: needs, parameters"
    )
    devices = commands.add_parser("devices", help="which drives there are")
    devices.add_argument(
        "part", nargs="?", metavar="PART", help="only those with this in their names, said in full"
    )
    keys = commands.add_parser("keys", help="what a drive's description and --set may say")
    keys.add_argument("part", nargs="?", metavar="PART", help="only keys that have this: gc., free")
    for each in (schemes, devices, keys):
        each.add_argument("--json", action="store_true", help="for programs")
    convert = commands.add_parser("convert", help="a trace that replay does not read, into one")
    convert.add_argument(
        "trace", type=Path, metavar="TRACE", help="vscsiStats' binary, or Windows' event tracing"
    )
    convert.add_argument("-o", "--out", type=Path, required=True, metavar="FILE")
    completion = commands.add_parser("completion", help="what a shell needs to complete all this")
    completion.add_argument("shell", choices=("bash", "zsh"), help="whose; see its first lines")


# Commands that fetch nothing; and those whose options are their programs' own.
_BUILD_NOTHING = (
    *("devices", "keys", "convert", "completion", "cut", "rows", "update-locks"),
    *("replay", "array", "sweep"),
)


def parser() -> Parser:
    """All commands with their options; a wrong one is a UserError."""
    parser = Parser(prog="scarp", description="An NVMe SSD inside QEMU that shows its GC.")
    parser.add_argument("--version", action="version", version=f"scarp {version()}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    run = commands.add_parser("run", help="run the demonstration: a fio job, two schemes")
    _add_compare_options(run, "demo", ["baseline", "ideal"], "demo")
    _add_drives_options(run)
    run.set_defaults(schemes=None, default_job=None)

    compare = commands.add_parser("compare", help="run a fio job under several schemes")
    _add_compare_options(
        compare,
        "hpdc18-small",
        ["baseline", "pgc", "gc-par", "gc-vic", "ideal"],
        "mixed-read-tail",
    )
    compare.add_argument(
        "--paper",
        choices=("hpdc18", "paragc", "pregc", "hios", "all"),
        help="a paper's own pairs on its drive, into docs/results/compare.md; of the other "
        "options only --jobs counts",
    )

    powercut = commands.add_parser("powercut", help="what a workload's software survives")
    add_powercut(powercut)
    _add_user_options(powercut)
    _add_drive_options(powercut, "power-cut")

    shell = commands.add_parser("shell", help="boot the guest to a prompt on the drive")
    shell.add_argument("--mkfs", choices=FILE_SYSTEMS, help="make and mount this file system")
    _add_user_options(shell)
    shell.add_argument(
        "--scheme",
        type=one_scheme,
        default="baseline",
        metavar="NAME[:KEY=VALUE…]",
        help="with its parameters, if any is to be set (default: baseline)",
    )
    shell.add_argument(
        "--qmp",
        type=Path,
        metavar="SOCKET",
        help="where `scarp cut`, and whoever speaks QMP, can talk to the guest's QEMU meanwhile",
    )
    _add_drive_options(shell)

    cut = commands.add_parser(
        "cut",
        help="the power of a running guest's drive fails, and comes back at once",
        description="The power of a running guest's drive fails, and comes back at once. The drive "
        "needs nand.power_cuts=1 and ftl.recovery=1 or 2. Its controllers have lost their queues "
        "then and say so (CSTS.CFS); Linux looks when a command has not ended for 30 s, and resets "
        "them. In the guest `nvme reset` is sooner; and `nvme admin-passthru $SCARP_CTRL "
        "--opcode=0xc0 --cdw10=3 --timeout=1` is a cut by the guest itself, at the same moment in "
        "every run, or with --cdw11=N in N microseconds.",
    )
    cut.add_argument(
        "socket",
        type=Path,
        metavar="SOCKET",
        help="`scarp shell --qmp`'s, or that of a QEMU of your own: -qmp "
        "unix:SOCKET,server=on,wait=off",
    )
    cut.add_argument(
        "--drive",
        default="f0",
        metavar="ID",
        help="of -device nvme-flash,id=ID (default: f0, which is the shell's)",
    )

    age = commands.add_parser("age", help="an aged drive in a file, for runs and replays to start")
    age.add_argument("description", type=Path, metavar="DESCRIPTION", help="a file of devices/")
    age.add_argument("-o", "--output", type=Path, required=True, metavar="IMAGE")
    age.add_argument(
        "--fill",
        type=integer("--fill", 1, 1000),
        default=900,
        metavar="N",
        help="how much of it is written, in thousandths (default: 900)",
    )
    age.add_argument(
        "--overwrite",
        type=integer("--overwrite", 0, 2**32 - 2),
        metavar="N",
        help="how much is overwritten then, in thousandths of it (default: until steady)",
    )
    age.add_argument(
        "--pattern",
        choices=("random", "sequential"),
        default="random",
        help="how it is overwritten (default: random)",
    )
    age.add_argument(
        "--scheme",
        type=one_scheme,
        default="baseline",
        metavar="NAME[:KEY=VALUE…]",
        help="(default: baseline)",
    )
    age.add_argument(
        "--seed", type=integer("--seed", 0, 2**61 - 1), default=1, metavar="N", help="(default: 1)"
    )
    age.add_argument(
        "--set", type=_overrides, metavar="GROUP.KEY=VALUE,…", help="keys of the description"
    )

    _add_lists(commands)

    determinism = commands.add_parser("determinism", help="run one job often, compare every byte")
    determinism.add_argument("-n", type=integer("-n", 4, 10_000), default=12, metavar="N")
    determinism.add_argument(
        "--skip-negative", action="store_true", help="without the run that must differ"
    )

    commands.add_parser(
        "bench-array", help="the guest's instructions for each I/O of the SSD array"
    )
    bench = commands.add_parser("bench-guest", help="guest I/Os per wall second, against null-co")
    bench.add_argument("--rounds", type=integer("--rounds", 1, 100), default=5, metavar="N")

    # For the list only: main() hands on their arguments untouched.
    commands.add_parser("replay", help="a block trace or generator on a drive, without a guest")
    commands.add_parser("array", help="the SSD array on simulated drives, without a guest")
    commands.add_parser("probe", help="measures a drive: a description, or a block device")
    commands.add_parser("fit", help="makes a description of what a probe measured")
    commands.add_parser("sweep", help="a comparison on many drives and seeds, here or on a cluster")

    rows = commands.add_parser(
        "rows", help="a command log, GC log or flash log as comma-separated values"
    )
    rows.add_argument(
        "log",
        type=Path,
        metavar="FILE",
        help="a run's cmd.bin or gc.bin, or a scheme's folder, such as out/latest/baseline; or "
        "what --cmd-log, --gc-log or --flash-log of `scarp replay` wrote",
    )
    rows.add_argument("-o", "--out", type=Path, metavar="FILE", help="(default: standard output)")
    rows.add_argument(
        "--slowest",
        type=integer("--slowest", 1, 10**9),
        default=0,
        metavar="N",
        help="these alone, the slowest first (default: all, in the log's order)",
    )
    rows.add_argument(
        "--words",
        action="store_true",
        help="a line for people in place of columns: when it came, what it was, how long it took, "
        "and its greatest causes",
    )

    timeline = commands.add_parser("timeline", help="a moment of a run, for ui.perfetto.dev")
    timeline.add_argument("folder", type=Path, metavar="RUN/SCHEME", help="out/latest/baseline")
    timeline.add_argument(
        "--around",
        type=integer("--around", 0, 2**61),
        required=True,
        metavar="NS",
        help="the moment, in ns of the drive's clock, as the report and the logs have it",
    )
    timeline.add_argument(
        "--for",
        dest="length",
        type=integer("--for", 1, 2**50),
        default=50_000,
        metavar="US",
        help="so many microseconds, a sixth of them before the moment (default: 50000)",
    )
    timeline.add_argument("-o", "--output", type=Path, required=True, metavar="FILE")

    engine = commands.add_parser("bench", help="the engine's speed and memory on one core")
    engine.add_argument("--rounds", type=integer("--rounds", 1, 100), default=3, metavar="N")
    engine.add_argument(
        "--only",
        choices=("loads", "growth", "schemes", "mappings"),
        default="",
        help="one part of it (default: all)",
    )

    ring = commands.add_parser(
        "bench-realtime", help="the engine's thread and rings on the host's clock, without a guest"
    )
    ring.add_argument(
        "--guest",
        action="store_true",
        help="in place of that: reads in a guest on TCG, beside stock nvme",
    )
    ring.add_argument("--rounds", type=integer("--rounds", 1, 100), default=3, metavar="N")
    ring.add_argument(
        "--seconds", type=integer("--seconds", 1, 600), default=5, metavar="S", help="of each load"
    )

    commands.add_parser("doctor", help="can this machine hold a drive to the host's clock?")

    reproduce = commands.add_parser("reproduce", help="a paper's experiments, and their verdicts")
    papers = (
        "hpdc18",
        "paragc",
        "pregc",
        "mappings",
        "hios",
        "all-together",
        "safs",
        "fit",
        "all",
        "small",
    )
    reproduce.add_argument("paper", choices=papers)
    add_cores(reproduce)
    reproduce.add_argument(
        "--traces",
        default="",
        metavar="DIR",
        help="real traces in place of the stand-ins named after them: NAME.csv, plain, .gz or .zst",
    )
    less = reproduce.add_mutually_exclusive_group()
    less.add_argument(
        "--quick",
        action="store_true",
        help="directions in minutes: three seeds, short runs; the page goes to out/reproduce/quick",
    )
    less.add_argument(
        "--estimate", action="store_true", help="say how long it would take on this machine"
    )

    for name, text in (
        ("setup", "fetch and build what runs and tests need"),
        ("update-locks", "what mirror and registry have today becomes what is locked"),
        ("test", "every suite, in parallel where they do not disturb each other"),
        ("test-guest", "what only a guest can test"),
        ("test-upstream", "QEMU's own nvme tests on the patched QEMU"),
        ("test-laws", "write amplification against the published formulas"),
        ("test-reproduce", "directions of the papers' experiments, on few workloads"),
        ("test-scripts", "these scripts, on synthetic results"),
        ("test-e2e", "the built programs and the report as a user meets them"),
        ("lint", "ruff and mypy, and QEMU's checkpatch on C files and patches"),
    ):
        commands.add_parser(name, help=text)
    manifest = commands.add_parser("manifest", help="what must be equal for equal results, as JSON")
    manifest.add_argument(
        "--built",
        action="store_true",
        help="also of what is made of it: the guest's kernel and initramfs, the firmware",
    )
    device = commands.add_parser("test-qtest", help="the device without a guest")
    device.add_argument(
        "only", nargs="*", metavar="NAME", help="a part of the names of the tests to run"
    )
    for name, command in commands.choices.items():
        if name not in _BUILD_NOTHING:
            command.add_argument(
                "--unlocked",
                action="store_true",
                help=f"takes what the mirror has, where a locked version is gone ({UNLOCKED}=1)",
            )
    return parser
