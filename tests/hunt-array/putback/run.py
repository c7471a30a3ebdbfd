"""
Defects of the array that were repaired are put back, one at a time; the hunt must find each again.

    python3 tests/hunt-array/putback/run.py [--seconds N] [--seed N] [NAME ...]
    python3 tests/hunt-array/putback/run.py --tests [NAME ...]

Each patch of this folder brings one defect back into guest/array; its name begins with the commit
that repaired it.  Its first line says what is wrong, lines "Test:" behind it which tests see that:
a program of tests/array with the name of a test, or a file of tests/hunt-array/corpus.  It is
applied to a copy, and the release build of the hunt draws scenarios from --seed on until one fails,
in one process.  A scenario that fails without the defect, too, does not count.

--tests runs the tests instead, with sanitizers: each must pass, and must fail with the defect.
Printed are rows of the table in docs/laws.md.  It is an error if a defect is not found, or if a
test does not see it.

SPDX-License-Identifier: GPL-2.0-or-later
"""

import argparse
import dataclasses
import filecmp
import re
import resource
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOP = HERE.parents[2]
FAILED = re.compile(r"^# seed (\d+) \(\w+\): (.*)", re.MULTILINE)
PASSED = re.compile(r"^(\d+) passed", re.MULTILINE)
COPIED = ("ftl", "guest/array", "tests/array", "tests/hunt", "tests/hunt-array")
URING = ("uring", "ring", "threads", "keep", "drives", "drive_labels")
# A program with a defect may never end.
TEST_SECONDS = 300


@dataclasses.dataclass
class Defect:
    path: Path
    what: str
    tests: list[str]

    @property
    def name(self) -> str:
        return f"`{self.path.name[:7]}` {self.what}"


def read(path: Path) -> Defect:
    lines = path.read_text().split("--- ", 1)[0].splitlines()
    tests = [line.removeprefix("Test: ") for line in lines if line.startswith("Test: ")]
    return Defect(path, lines[0].rstrip("."), tests)


def synchronize(source: Path, target: Path) -> None:
    """Makes target as source is; what is the same keeps its time, so that little is built."""
    for path in target.rglob("*"):
        if path.is_file() and not (source / path.relative_to(target)).exists():
            path.unlink()
    for path in source.rglob("*"):
        to = target / path.relative_to(source)
        if not path.is_file():
            continue
        if not to.exists():
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, to)
        elif not filecmp.cmp(path, to, shallow=False):
            shutil.copyfile(path, to)


def tree_of(defect: Defect | None, work: Path) -> None:
    """A copy; patched files are touched, and made anew for the next one."""
    for folder in COPIED:
        synchronize(TOP / folder, work / "tree" / folder)
    if defect:
        command = ["patch", "-p1", "-s", "--no-backup-if-mismatch", "-d", str(work / "tree")]
        subprocess.run([*command, "-i", str(defect.path)], check=True)


def make(tree: Path, out: Path, goal: str) -> Path:
    command = ["make", "-s", "-f", str(tree / "tests/hunt-array/hunt.mk"), goal, f"OUT={out}"]
    subprocess.run([*command, "HUNT_WARNINGS="], check=True)
    return out / goal / "hunt-array"


def spent() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def draw(binary: Path, work: Path, seed: int, *bounds: str) -> str:
    options = ["--first", "--no-shrink", "--jobs", "1", "--keep", str(work / "kept")]
    done = subprocess.run(
        [str(binary), *options, "--seed", str(seed), *bounds],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    return done.stdout


def must_find(defect: Defect, work: Path, sane: Path, seed: int, seconds: int) -> bool:
    binary = make(work / "tree", work / "out", "release")
    at, used = seed, 0.0
    while used < seconds:
        # The hunt's own seconds go by while another process runs, too.
        before = spent()
        said = draw(binary, work, at, "--seconds", str(max(1, int(seconds - used))))
        used += spent() - before
        match = FAILED.search(said)
        if not match:
            passed = PASSED.search(said)
            at += int(passed[1]) if passed else 0
            continue
        at = int(match[1]) + 1
        if not FAILED.search(draw(sane, work, at - 1, "--count", "1")):
            print(f"| {defect.name} | {at - seed} | {used:.1f} | {match[2][:90]} |")
            return True
    print(f"| {defect.name} | not found in | {used:.0f} | |")
    return False


def words(*names: str) -> list[str]:
    done = subprocess.run(["pkg-config", *names], stdout=subprocess.PIPE, text=True, check=True)
    return shlex.split(done.stdout)


def program(tree: Path, source: str, binary: Path) -> None:
    sources = [tree / source, *sorted((tree / "guest/array").glob("*.c"))]
    libraries = words("--libs", "glib-2.0")
    if "/uring/" in source:
        sources += [tree / f"guest/array/uring/{name}.c" for name in URING]
        libraries += ["-luring", "-lpthread"]
    flags = ["-std=gnu11", "-g", "-O1", "-fsanitize=address,undefined"]
    flags += ["-fno-sanitize-recover=all", *words("--cflags", "glib-2.0")]
    flags += [f"-I{tree / folder}" for folder in ("guest/array", "guest/array/uring")]
    flags += [f"-I{tree / 'tests/array'}", "-o", str(binary)]
    subprocess.run(["cc", *flags, *map(str, sources), *libraries], check=True)


def passes(test: str, work: Path) -> bool:
    """A program and the name of its test, or a file of the corpus."""
    if test.endswith(".hunt"):
        binary = make(work / "tree", work / "out", "checked")
        command = [str(binary), "--replay", str(TOP / test)]
    else:
        source, name = test.split(" ")
        program(work / "tree", source, work / "program")
        command = [str(work / "program"), "-p", name]
    try:
        result = subprocess.run(
            command,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=TEST_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False
    return result.returncode == 0


def must_see(defect: Defect, work: Path) -> bool:
    seen = {test: not passes(test, work) for test in defect.tests}
    for test, red in seen.items():
        print(f"| {defect.name} | `{test.split(' ')[-1]}` | {'red' if red else 'GREEN'} |")
    return bool(seen) and all(seen.values())


def all_pass(defects: list[Defect], work: Path) -> bool:
    tree_of(None, work)
    failed = {test for defect in defects for test in defect.tests if not passes(test, work)}
    for test in sorted(failed):
        print(f"{test}: fails without a defect", file=sys.stderr)
    return not failed


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="patches, by the beginnings of their names (all)")
    parser.add_argument("--tests", action="store_true", help="the tests that see it, not the hunt")
    parser.add_argument("--seed", type=int, default=1, help="the first scenario (1)")
    parser.add_argument(
        "--seconds", type=int, default=300, help="of processor time for each defect (300)"
    )
    parser.add_argument(
        "--work", type=Path, default=TOP / "build/putback-array", help="for copies and objects"
    )
    given = parser.parse_args()
    work = given.work.resolve()
    defects = [
        read(path)
        for path in sorted(HERE.glob("*.patch"))
        if any(path.name.startswith(name) for name in given.names or [""])
    ]
    good = bool(defects)
    if given.tests:
        good &= all_pass(defects, work)
    else:
        # The same without a defect: what fails there is none of it.
        sane = work / "sane"
        tree_of(None, work)
        shutil.copy2(make(work / "tree", work / "out", "release"), sane)
    for defect in defects:
        try:
            tree_of(defect, work)
            if given.tests:
                good &= must_see(defect, work)
            else:
                good &= must_find(defect, work, sane, given.seed, given.seconds)
        except subprocess.CalledProcessError:
            print(f"{defect.path.name}: does not apply to this tree, or does not build")
            good = False
        sys.stdout.flush()
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
