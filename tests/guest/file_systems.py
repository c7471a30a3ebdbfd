#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""File systems on every mapping under several schemes, each byte verified; prints KTAP.

    tests/guest/file_systems.py [--list] [--short | --missing] [ONLY...]

A run is named FILE-SYSTEM/MAPPING/SCHEME; ONLY are patterns of such names, as a shell has them.
Each boots a guest from a full drive, overwrites 160 MiB of files six times with
fio-jobs/verify.fio, and ends well only if fio read all of it back, and the drive collected or
merged meanwhile.
`--short`: a tenth of the writes.
`--missing`: what file_systems.txt does not say of the present device, on any day and any machine; a
line is added for each run that ended well.
"""

from __future__ import annotations

import argparse
import contextlib
import fnmatch
import io
import json
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts")]
sys.dont_write_bytecode = True

from scarplib.build import present  # noqa: E402
from scarplib.errors import UserError  # noqa: E402
from scarplib.guest.file_system import FileSystem  # noqa: E402
from scarplib.guest.user_guest import User  # noqa: E402
from scarplib.runs import run  # noqa: E402

JOB = ROOT / "fio-jobs" / "verify.fio"
DEVICE = ROOT / "devices" / "demo.ini"
OUT = ROOT / "out" / "test-guest"
# What has run: a line for each guest that verified all it wrote, and the device it ran on.
RECORD = Path(__file__).with_suffix(".txt")
FILE_SYSTEMS = ("ext4", "xfs", "btrfs", "f2fs")
# The same drive with half of its chips and two planes in each die.
PLANES = "geometry.chips_per_channel=1,geometry.planes_per_die=2,nand.multiplane=1"
# Verified bytes of the whole job: four files of 40 MiB, six times.
VERIFIED_BYTES = 6 * 4 * 40 << 20


@dataclass(frozen=True)
class Combination:
    """One guest."""

    file_system: str
    mapping: str
    scheme: str
    overrides: str = ""

    @property
    def name(self) -> str:
        return f"{self.file_system}/{self.mapping}/{self.scheme}"


def combinations() -> Iterator[Combination]:
    for mapping in ("page", "demand", "block", "superblock", "fast"):
        for scheme in ("baseline", "pgc", "hios-2"):
            for name in FILE_SYSTEMS:
                yield Combination(name, mapping, scheme)
    # What needs planes, or other channels, needs a mapping that puts a unit anywhere.
    for mapping in ("page", "demand"):
        for scheme in ("gc-vic", "paragc", "pregc"):
            for name in FILE_SYSTEMS:
                yield Combination(name, mapping, scheme, PLANES)


# What `make test-guest-long` runs, short: the one that once ended in errors and a crash of QEMU.
SOME = ("f2fs/demand/hios-2",)


def short_job(folder: Path) -> Path:
    """A tenth of the writes: two thirds of the files, and one time instead of six."""
    path = folder / "verify-short.fio"
    text = JOB.read_text().replace("filesize=40m", "filesize=24m").replace("loops=6", "loops=1")
    path.write_text(text)
    return path


def trouble(folder: Path, summary: dict[str, Any], least: int) -> str | None:
    """What does not hold of a guest that ended well."""
    fio = json.loads((folder / "fio.json").read_text())
    verified = sum(job["read"]["io_bytes"] for job in fio["jobs"])
    if any(job["error"] for job in fio["jobs"]) or verified < least:
        return f"fio verified {verified} bytes; {least} are wanted"
    return None if summary["stats"]["gc_runs"] else "the drive collected nothing"


def one(combination: Combination, short: bool) -> str | None:
    """Boot, verify; what went wrong."""
    folder = OUT / f"verify-{combination.name.replace('/', '-')}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    job, least = (short_job(folder), 4 * 24 << 20) if short else (JOB, VERIFIED_BYTES)
    overrides = f"ftl.mapping={combination.mapping}"
    settings = run.Settings(
        job=job,
        device=DEVICE,
        schemes=(combination.scheme,),
        age=900,
        seed=1,
        smp=1,
        overrides=",".join(filter(None, (overrides, combination.overrides))),
        parallel=1,
        out=folder / "run",
        cpu_limit=3600,
        user=User(file_systems=(FileSystem(combination.file_system),)),
    )
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            outcome = run.compare(settings)
    except UserError as error:
        return str(error)
    if outcome.failures:
        return "\n".join(outcome.failures.values())
    ((name, summary),) = outcome.schemes.items()
    problem = trouble(outcome.folder / name, summary, least)
    if not problem:
        shutil.rmtree(folder)
    return problem


def recorded(device: str) -> set[str]:
    """Names of what has run well on that device."""
    lines = [line.split() for line in RECORD.read_text().splitlines() if line[:1] != "#"]
    return {name for made, _, name, _ in lines if made == device}


def spent_s() -> float:
    """Processor time of all children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def some() -> tuple[bool, str]:
    """For run.py: a few of them, short."""
    # A process of its own: what is said is caught by redirecting sys.stdout, which run.py's other
    # threads print to. (Four of its results once went that way.)
    done = subprocess.run(
        [sys.executable, __file__, "--short", *SOME],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    good = done.returncode == 0 and f"\n{len(SOME)} passed, 0 failed\n" in done.stdout
    return good, re.sub("(?m)^", "# ", done.stdout)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", action="store_true", help="only say what would run")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--short", action="store_true", help="a tenth of the writes")
    how.add_argument(
        "--missing", action="store_true", help="what file_systems.txt does not say of this device"
    )
    parser.add_argument("only", nargs="*", metavar="ONLY", help="patterns of names")
    arguments = parser.parse_args()
    chosen = [
        c
        for c in combinations()
        if not arguments.only or any(fnmatch.fnmatchcase(c.name, p) for p in arguments.only)
    ]
    if not chosen:
        parser.error(f"no run's name is like {' or '.join(arguments.only)}; see --list")
    device = present.device_hash()
    if arguments.missing:
        there = recorded(device)
        chosen = [c for c in chosen if c.name not in there]
    if arguments.list:
        print("\n".join(c.name for c in chosen))
        return 0
    print(f"KTAP version 1\n1..{len(chosen)}", flush=True)
    bad = 0
    at = present.commit()
    for number, combination in enumerate(chosen, 1):
        before_s = spent_s()
        problem = one(combination, arguments.short)
        bad += problem is not None
        if arguments.missing and problem is None:
            with RECORD.open("a") as stream:
                print(device, at, combination.name, round(spent_s() - before_s), file=stream)
        print(f"{'not ok' if problem else 'ok'} {number} {combination.name}", flush=True)
        for line in (problem or "").splitlines():
            print(f"# {re.sub(chr(27) + '[^m]*m', '', line)}")
    print(f"{len(chosen) - bad} passed, {bad} failed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
