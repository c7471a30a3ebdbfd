#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Puts repaired defects back, one at a time: the hunts must find each of them again.

    python3 tests/putback/run.py [--seconds N] [--seed N] [NAME ...]

Each patch of this folder brings one defect back; one patch stands for each kind of law.  A patch's
first line says what is wrong, its lines "Test:" which tests guard the repair.  The first file that
a patch changes decides who hunts: tests/hunt for ftl/, tests/hunt-array for guest/array, and
tests/hunt-nvme for hw/, where QEMU's own files are, too.  The hunt draws from --seed on, in one
process, until a scenario fails, for at most --seconds of processor time.  A scenario that fails
without the defect, too, does not count.  A defect that is not found is an error.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
for folder in (ROOT / "scripts", ROOT / "tests" / "qtest", ROOT / "tests" / "hunt-nvme"):
    sys.path.insert(0, str(folder))

from scarplib.build.venv import PACKAGES, go_on_with  # noqa: E402

if __name__ == "__main__":
    # QMP is a package's (scarplib.guest.qmp).
    go_on_with(PACKAGES, sys.argv[1:], Path(__file__))

import cases  # noqa: E402
from scarplib.build.qemu import compile_targets, ensure_qemu  # noqa: E402

FAILED = re.compile(r"^# seed (\d+) \(.*?\): (.*)", re.MULTILINE)
PASSED = re.compile(r"^(\d+) passed", re.MULTILINE)
# Whatever the makefiles of both hunts read.
COPIED = ("ftl", "guest/array", "tests/array", "tests/hunt", "tests/hunt-array")
QEMU = "qemu-system-x86_64"
# Commands of a sequence, as many as a reset and what it cancels need.
NVME_COMMANDS = 1000


@dataclass
class Found:
    """How many scenarios (or commands) it took, and how the last of them failed."""

    drawn: int
    how: str


def spent_s() -> float:
    """The processor time of all programs that have been waited for."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def patch(file: Path, folder: Path, *more: str) -> None:
    options = ["-p1", "-s", "--force", "--no-backup-if-mismatch", *more]
    subprocess.run(["patch", *options, "-d", str(folder), "-i", str(file)], check=True)


def changed(file: Path) -> list[str]:
    lines = file.read_text().splitlines()
    return [line.split()[1][2:] for line in lines if line.startswith("+++ b/")]


class Hunt:
    """A hunt that is one program of C, built in a copy of the checkout."""

    def __init__(self, name: str, work: Path) -> None:
        self.rules, self.goal = f"tests/{name}/hunt.mk", f"release/{name}"
        self.tree, self.out = work / name / "tree", work / name / "out"
        shutil.rmtree(work / name, ignore_errors=True)
        for part in COPIED:
            shutil.copytree(ROOT / part, self.tree / part)
        self.sane = self.build().rename(work / name / "sane")

    def build(self) -> Path:
        command = ["make", "-s", "-j2", "-f", str(self.tree / self.rules), "release"]
        subprocess.run([*command, f"OUT={self.out}", "HUNT_WARNINGS="], check=True)
        return self.out / self.goal

    def draw(self, binary: Path, seed: int, *bounds: str) -> str:
        options = ["--first", "--no-shrink", "--jobs", "1", "--keep", str(self.out / "kept")]
        command = [str(binary), *options, "--seed", str(seed), *bounds]
        return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False).stdout

    def find(self, file: Path, seed: int, seconds: int) -> Found | None:
        patch(file, self.tree)
        try:
            return self.search(self.build(), seed, seconds)
        finally:
            # The sources are newer than their objects then, so the next build is sane again.
            patch(file, self.tree, "-R")

    def search(self, binary: Path, seed: int, seconds: int) -> Found | None:
        at, used = seed, 0.0
        while used < seconds:
            before = spent_s()
            said = self.draw(binary, at, "--seconds", str(max(1, int(seconds - used))))
            used += spent_s() - before
            failed, passed = FAILED.search(said), PASSED.search(said)
            if not failed:
                at += int(passed[1]) if passed else 0
                continue
            at = int(failed[1]) + 1
            if not FAILED.search(self.draw(self.sane, at - 1, "--count", "1")):
                return Found(at - seed, failed[2])
        return None


class NvmeHunt:
    """The sequences of commands, on QEMU: what a patch changes is compiled and linked with the
    other objects of the sanitized build, which stays as it is."""

    def __init__(self, work: Path) -> None:
        self.build_dir, self.work = ensure_qemu("asan").build_dir, work / "hunt-nvme"
        compile_targets(self.build_dir, QEMU)

    def build(self, file: Path) -> Path:
        shutil.rmtree(self.work, ignore_errors=True)
        # The checkout's hw/flash-*.c are a folder of QEMU's.
        places = {
            name: name if name.startswith("hw/nvme/") else f"hw/nvme/scarp/{name}"
            for name in changed(file)
        }
        for name, place in places.items():
            (self.work / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(self.build_dir.parent / "src" / place, self.work / name)
        patch(file, self.work)
        listing = subprocess.run(
            ["ninja", "-t", "compdb", "-x"],
            cwd=self.build_dir,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        ).stdout
        steps = {step["output"]: shlex.split(step["command"]) for step in json.loads(listing)}
        link = steps[QEMU]
        for name, place in places.items():
            source, made = f"../src/{place}", str(self.work / f"{Path(name).stem}.o")
            output = next(out for out, words in steps.items() if source in words and "-c" in words)
            swap = {source: str(self.work / name), output: made}
            command = [swap.get(word, word) for word in steps[output]]
            # The headers beside the source are not beside its copy.
            command[-1:-1] = ["-iquote", str(Path(source).parent)]
            subprocess.run(command, cwd=self.build_dir, check=True)
            link = [swap.get(word, word) for word in link]
        binary = self.work / QEMU
        link = [str(binary) if word == QEMU else word for word in link]
        # The slowest step; functions keep their names.
        subprocess.run([*link, "-Wl,--strip-debug", "-fno-lto"], cwd=self.build_dir, check=True)
        return binary

    def find(self, file: Path, seed: int, seconds: int) -> Found | None:
        binary, commands, before = self.build(file), 0, spent_s()
        while spent_s() - before < seconds:
            case = cases.drawn(seed, cases.CLOCKS[seed % len(cases.CLOCKS)], NVME_COMMANDS)
            outcome = cases.run(binary, case)
            commands, seed = commands + outcome.commands, seed + 1
            if outcome.wrong:
                return Found(commands, outcome.kind())
        return None


def hunt_of(file: Path) -> str:
    first = changed(file)[0].split("/")[0]
    return {"ftl": "hunt", "guest": "hunt-array", "hw": "hunt-nvme"}[first]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="patches, by the beginnings of their names (all)")
    parser.add_argument("--seed", type=int, default=1, help="the first scenario (1)")
    parser.add_argument(
        "--seconds", type=int, default=300, help="of processor time for each defect (300)"
    )
    given = parser.parse_args()
    work = ROOT / "build" / "putback"
    hunts: dict[str, Hunt | NvmeHunt] = {}
    missed = 0
    for file in sorted(HERE.glob("*.patch"), key=lambda file: (hunt_of(file), file.name)):
        if given.names and not file.name.startswith(tuple(given.names)):
            continue
        name = hunt_of(file)
        if name not in hunts:
            hunts[name] = NvmeHunt(work) if name == "hunt-nvme" else Hunt(name, work)
        before = spent_s()
        found = hunts[name].find(file, given.seed, given.seconds)
        missed += not found
        said = f"{found.drawn:,} | {found.how[:90]}" if found else "not found |"
        print(f"| {file.stem} | {spent_s() - before:.0f} s | {said} |", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
