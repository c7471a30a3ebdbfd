"""
Defects that were repaired are put back, one at a time, and the hunt must find each of them again.

    python3 tests/hunt/putback/run.py [--seconds N] [--seed N] [NAME ...]

Each patch of this folder brings one defect back into the present engine; its name begins with
the commit that repaired it, its first line says what is wrong.  It is applied to a copy of ftl/,
and the release build of the hunt draws scenarios from --seed on until one fails, in one process.
Printed is a row of the table in docs/laws.md: the defect, then the scenarios and the seconds of
processor time that it took to find it.

SPDX-License-Identifier: GPL-2.0-or-later
"""

import argparse
import dataclasses
import filecmp
import os
import re
import resource
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOP = HERE.parents[2]
FAILED = re.compile(r"^# seed (\d+) \(", re.MULTILINE)


@dataclasses.dataclass
class Found:
    scenarios: int | None  # None: not found
    seconds: float
    how: str


def synchronize(source: Path, target: Path) -> None:
    """Makes target as source is; what is the same keeps its time, so that little is built."""
    for path in target.rglob("*"):
        if path.is_file() and not (source / path.relative_to(target)).exists():
            path.unlink()
    for path in source.rglob("*"):
        to = target / path.relative_to(source)
        if path.is_file() and not (to.exists() and filecmp.cmp(path, to, shallow=False)):
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, to)


def build(patch: Path, work: Path) -> Path:
    """The hunt with the defect.  Patched files are touched; they are made anew for the next one."""
    for folder in ("ftl", "tests/hunt"):
        synchronize(TOP / folder, work / folder)
    command = ["patch", "-p1", "-s", "--no-backup-if-mismatch", "-d", str(work), "-i", str(patch)]
    subprocess.run(command, check=True)
    make = ["make", "-s", "-f", str(work / "tests/hunt/hunt.mk"), f"-j{os.cpu_count()}", "release"]
    subprocess.run([*make, f"OUT={work / 'out'}", "HUNT_WARNINGS="], check=True)
    return work / "out/release/hunt"


def hunt(binary: Path, work: Path, seed: int, seconds: int) -> Found:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    options = ["--first", "--no-shrink", "--jobs", "1", "--count", "1000000000"]
    bounds = ["--seed", str(seed), "--seconds", str(seconds), "--keep", str(work / "kept")]
    result = subprocess.run(
        [str(binary), *options, *bounds], stdout=subprocess.PIPE, text=True, check=False
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    match = FAILED.search(result.stdout)
    if match:
        how = result.stdout[match.start() :].splitlines()[0].split("): ", 1)[1]
        return Found(int(match[1]) - seed + 1, spent, how)
    return Found(None, spent, "")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="patches, by the beginnings of their names (all)")
    parser.add_argument("--seed", type=int, default=1, help="the first scenario (1)")
    parser.add_argument("--seconds", type=int, default=600, help="for each defect (600)")
    parser.add_argument(
        "--work", type=Path, default=TOP / "build/putback", help="folder for copies and objects"
    )
    given = parser.parse_args()
    patches = [
        path
        for path in sorted(HERE.glob("*.patch"))
        if not given.names or any(path.name.startswith(name) for name in given.names)
    ]
    missed = 0
    for patch in patches:
        what = patch.read_text().splitlines()[0].rstrip(".")
        try:
            found = hunt(build(patch, given.work), given.work, given.seed, given.seconds)
        except subprocess.CalledProcessError:
            print(f"{patch.name}: does not apply to this tree, or does not build", file=sys.stderr)
            missed += 1
            continue
        name = f"`{patch.name[:7]}` {what}"
        if found.scenarios is None:
            missed += 1
            print(f"| {name} | not found | {found.seconds:.0f} | |", flush=True)
        else:
            print(f"| {name} | {found.scenarios} | {found.seconds:.1f} | {found.how} |", flush=True)
    return 1 if missed or not patches else 0


if __name__ == "__main__":
    sys.exit(main())
