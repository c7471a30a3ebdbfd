# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp run`, `compare`, `determinism`, `manifest`: several guests, and what they depend on."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from scarplib.command_tree import RESULTS, RUN, SETTING_UP, Tree
from scarplib.drive.controller import WHOLE
from scarplib.drive.options import AGE, add_overwrite, check_overwrite, view_of
from scarplib.errors import UserError
from scarplib.guest.file_system import FILE_SYSTEMS
from scarplib.guest.layouts import LAYOUTS, USUAL
from scarplib.guest.options import (
    add_cpu_limit,
    add_job,
    add_machine,
    add_user,
    clock_of,
    job_of,
    user_of,
)
from scarplib.option_types import (
    Parser,
    add_out,
    integer,
    one_of_each,
    scheme_list,
)
from scarplib.paths import DEVICES, FIO_JOBS

if TYPE_CHECKING:
    from scarplib.runs.run import Settings

_RUN_SCHEMES = ["baseline", "ideal"]
_COMPARE_SCHEMES = ["baseline", "pgc", "gc-par", "gc-vic", "ideal"]


def _instant(text: str) -> str:
    from scarplib.results import instant

    return instant.check(text)


def _add_loads(parser: argparse.ArgumentParser, device: str, schemes: list[str], job: str) -> None:
    """What `run` and `compare` share."""
    add_job(parser, job)
    parser.set_defaults(default_job=FIO_JOBS / f"{job}.fio")
    parser.add_argument(
        "--fs",
        type=one_of_each("--fs", FILE_SYSTEMS),
        default=[],
        metavar="A,B,…",
        help=f"the job runs in a file system on the drive, in each of these: "
        f"{', '.join(FILE_SYSTEMS)}; then --job is fio-jobs/database.fio unless given",
    )
    add_user(parser)
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
    parser.add_argument(
        "--at",
        type=_instant,
        metavar="T",
        help="the first scheme until T, then each its own: start (the job's begin), start+SECONDS, "
        "or Nns of the drive's clock (docs/why.md)",
    )
    add_machine(parser, device)
    # Told apart from the default: an image can do without a description.
    parser.set_defaults(device=None, default_device=DEVICES / f"{device}.ini")
    parser.add_argument(
        "--image",
        type=Path,
        metavar="FILE",
        help="the state that all start from, made by `scarp age` (default: aged as --age says)",
    )
    add_overwrite(parser)
    parser.add_argument(
        "--jobs",
        type=integer("--jobs", 0, 4096),
        default=0,
        metavar="N",
        help="guests at once; 0: one for each core (default: 0)",
    )
    add_out(parser)
    parser.add_argument(
        "--times",
        action="store_true",
        help="say at the end what each part of all this took; with one drive",
    )
    add_cpu_limit(parser, None, "600, and 3600 if its idle virtual CPUs poll")


def _add_drives(parser: argparse.ArgumentParser) -> None:
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


def _check_at(options: argparse.Namespace) -> None:
    """What --at excludes, and needs."""
    if getattr(options, "drives", None):
        raise UserError("--at: excludes --drives: an instant is of one drive's clock")
    if options.clock == "realtime":
        raise UserError(
            "--at: excludes --clock realtime, on which no two runs are equal until an instant"
        )
    # Without --schemes there are two or more.
    if options.schemes and len(options.schemes) < 2:
        raise UserError("--at: needs two schemes or more: the first is the stem of the others")


def _settings(options: argparse.Namespace) -> Settings:
    """What `run` and `compare` are told; what can be said of it before a boot is said here."""
    from scarplib.runs import run

    if options.image and options.overwrite is not None:
        raise UserError("--overwrite: excludes --image, which has been aged")
    if options.image and options.age != AGE:
        raise UserError("--age: excludes --image, which has been aged")
    check_overwrite(options)
    several = getattr(options, "drives", None)
    if several and options.image:
        raise UserError("--drives: excludes --image, which is of one drive")
    view = view_of(options)
    if several and view != WHOLE:
        raise UserError("--drives: excludes --handles, --namespaces, --block-bytes and --zoned")
    if several and options.times:
        raise UserError("--times: excludes --drives")
    if not several:
        for name in ("over", "keys", "depth", "requests"):
            if getattr(options, name, None) is not None:
                raise UserError(f"--{name}: needs --drives")
    if options.at:
        _check_at(options)
    clock = clock_of(options)
    job = job_of(options, several)
    user = user_of(options, options.fs)
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
        view=view,
        image=options.image,
        overwrite=options.overwrite,
        parallel=options.jobs,
        out=options.out,
        cpu_limit=options.cpu_limit or (3600 if clock.idle == "poll" else 600),
        kind=options.command,
        user=user,
        at=options.at,
    )


def _add_compare(parser: argparse.ArgumentParser) -> None:
    _add_loads(parser, "hpdc18-small", _COMPARE_SCHEMES, "mixed-read-tail")
    parser.add_argument(
        "--paper",
        choices=("hpdc18", "paragc", "pregc", "hios", "all"),
        help="a paper's own pairs on its drive, into docs/results/compare.md; of the other "
        "options only --jobs counts",
    )


def compared(words: Sequence[str]) -> Settings:
    """What `scarp compare` would do if it was told so."""
    parser = Parser(prog="scarp compare")
    _add_compare(parser)
    return _settings(parser.parse_args(words, argparse.Namespace(command="compare")))


def _run(options: argparse.Namespace) -> int:
    """`run`; `compare` without a paper."""
    from scarplib.runs import run

    settings = _settings(options)
    several = getattr(options, "drives", None)
    if not several:
        return run.run(settings, options.times)
    from scarplib.runs import run_drives

    given = {name: getattr(options, name) for name in ("keys", "depth", "requests")}
    given = {name: value for name, value in given.items() if value is not None}
    layouts = options.over or list(USUAL)
    return run_drives.main(settings, run_drives.Over(options.drives, layouts, **given))


def _compare(options: argparse.Namespace) -> int:
    if not options.paper:
        return _run(options)
    if options.at:
        raise UserError("--at: excludes --paper, whose guests have their schemes from the start")
    from scarplib.runs import compare_papers

    return compare_papers.papers(options.paper, options.jobs)


def _determinism(options: argparse.Namespace) -> int:
    from scarplib.runs import determinism

    return determinism.main(options.n, negative=not options.skip_negative)


def _manifest(options: argparse.Namespace) -> int:
    from scarplib.runs import manifest

    return manifest.main(options.built)


def _report(options: argparse.Namespace) -> int:
    if not options.second:
        report = options.first / "report.html"
        own = f"; the report of {options.first} alone is {report}" if report.is_file() else ""
        raise UserError(f"report: a second run's folder is missing, to stand beside{own}")
    from scarplib.runs import two_runs

    return two_runs.main([options.first, options.second], options.differ, options.out)


def _add_report(tree: Tree) -> None:
    report = tree.add("report", RESULTS, "two finished runs beside each other", _report)
    report.add_argument("first", type=Path, metavar="A", help="a run's folder, such as out/latest")
    # Who forgets it is told more than that it is required.
    report.add_argument("second", type=Path, nargs="?", metavar="B", help="another's; needed")
    report.add_argument(
        "--differ",
        type=one_of_each("--differ", ("drive", "state", "job")),
        default=[],
        metavar="WHAT,…",
        help="what the two may differ in besides their schemes and Scarp itself: drive, state (its "
        "age and seed), job",
    )
    report.add_argument("--out", type=Path, metavar="DIR", help="(default: out/<time>-report)")


def add_commands(tree: Tree) -> None:
    """To `scarp`."""
    run = tree.add("run", RUN, "run the demonstration: a fio job, two schemes", _run)
    _add_loads(run, "demo", _RUN_SCHEMES, "demo")
    _add_drives(run)
    run.set_defaults(schemes=None, default_job=None)
    _add_compare(tree.add("compare", RUN, "run a fio job under several schemes", _compare))
    _add_report(tree)
    determinism = tree.add(
        "determinism", RUN, "run one job often, compare every byte", _determinism
    )
    determinism.add_argument("-n", type=integer("-n", 4, 10_000), default=12, metavar="N")
    determinism.add_argument(
        "--skip-negative", action="store_true", help="without the run that must differ"
    )
    manifest = tree.add(
        "manifest", SETTING_UP, "what must be equal for equal results, as JSON", _manifest
    )
    manifest.add_argument(
        "--built",
        action="store_true",
        help="also of what is made of it: the guest's kernel and initramfs, the firmware",
    )
