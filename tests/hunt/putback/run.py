"""
Defects that were repaired are put back, one at a time, and the hunt must find each of them again.

    python3 tests/hunt/putback/run.py [--seconds N] [--seed N] [NAME ...]
    python3 tests/hunt/putback/run.py --tests [NAME ...]

Each patch of this folder brings one defect back into the present engine; its name begins with
the commit that repaired it.  Its first line says what is wrong, lines "Test:" behind it which tests
see that: a program of tests/unit or tests/e2e with the name of a test, or a file of
tests/hunt/corpus.  It is applied to a copy of ftl/, and the release build of the hunt draws
scenarios from --seed on until one fails, in one process, for at most so many seconds of processor
time.  A scenario that fails without the defect, too, does not count.

--tests runs the tests instead, with sanitizers and all laws: each must pass, and must fail
with the defect.  Printed are rows of the tables in docs/laws.md.  It is an error if a defect is
not found, but for those whose line "Not found:" says why; or if a test does not see it.

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
PASSED = re.compile(r"^(\d+) passed", re.MULTILINE)
COPIED = ("ftl", "scripts", "tests/e2e", "tests/hunt", "tests/unit")
# A program with a defect may never end.
TEST_SECONDS = 300


@dataclasses.dataclass
class Defect:
    path: Path
    what: str
    tests: list[str]
    why_not: str  # the hunt does not find it

    @property
    def name(self) -> str:
        return f"`{self.path.name[:7]}` {self.what}"


@dataclasses.dataclass
class Found:
    scenarios: int | None  # None: not found
    seconds: float
    how: str


def read(path: Path) -> Defect:
    lines = path.read_text().split("--- ", 1)[0].splitlines()
    tests = [line.removeprefix("Test: ") for line in lines if line.startswith("Test: ")]
    why = [line.removeprefix("Not found: ") for line in lines if line.startswith("Not found: ")]
    return Defect(path, lines[0].rstrip("."), tests, " ".join(why))


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


def make(tree: Path, out: Path, *goals: str, rules: str = "tests/hunt/hunt.mk") -> None:
    command = ["make", "-s", "-f", str(tree / rules), f"-j{os.cpu_count()}"]
    subprocess.run([*command, *goals, f"OUT={out}", "HUNT_WARNINGS="], check=True)


def begin(work: Path) -> None:
    """What make hunt has built is not built once more: objects, and what they depend on."""
    own = TOP / "build/hunt"
    # Both names at once: own is in TOP, and so is work.
    names = {f"{own}/": f"{work}/out/", f"{TOP}/": f"{work}/"}
    either = re.compile("|".join(map(re.escape, names)))
    for path in own.glob("*/ftl/**/*"), own.glob("*/tests/**/*"):
        for made in path:
            to = work / "out" / made.relative_to(own)
            if made.is_dir() or to.exists():
                continue
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(made, to)
            if to.suffix == ".d":
                to.write_text(either.sub(lambda found: names[found[0]], made.read_text()))


def tree_of(defect: Defect | None, work: Path) -> None:
    """Patched files are touched; they are made anew for the next one."""
    for folder in COPIED:
        synchronize(TOP / folder, work / folder)
    if defect:
        command = ["patch", "-p1", "-s", "--no-backup-if-mismatch", "-d", str(work)]
        subprocess.run([*command, "-i", str(defect.path)], check=True)


def spent() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def draw(binary: Path, work: Path, seed: int, *bounds: str) -> str:
    options = ["--first", "--no-shrink", "--jobs", "1", "--keep", str(work / "kept")]
    return subprocess.run(
        [str(binary), *options, "--seed", str(seed), *bounds],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    ).stdout


def hunt(work: Path, sane: Path, seed: int, seconds: int) -> Found:
    at, used = seed, 0.0
    while used < seconds:
        # The hunt's own seconds go by while another process runs, too.
        before = spent()
        bound = str(max(1, int(seconds - used)))
        said = draw(work / "out/release/hunt", work, at, "--seconds", bound)
        used += spent() - before
        match = FAILED.search(said)
        if not match:
            passed = PASSED.search(said)
            at += int(passed[1]) if passed else 0
            continue
        at = int(match[1]) + 1
        if not FAILED.search(draw(sane, work, at - 1, "--count", "1")):
            how = said[match.start() :].splitlines()[0].split("): ", 1)[1]
            return Found(at - seed, used, how)
    return Found(None, used, "")


def must_find(defect: Defect, work: Path, seed: int, seconds: int) -> bool:
    own = ["sh", str(HERE.parent / "make.sh"), "-f", "tests/hunt/hunt.mk", "release"]
    subprocess.run([*own, "HUNT_WARNINGS="], check=True)
    make(work, work / "out", "release")
    found = hunt(work, TOP / "build/hunt/release/hunt", seed, seconds)
    if found.scenarios is None:
        print(f"| {defect.name} | not found in | {found.seconds:.0f} | {defect.why_not} |")
        return bool(defect.why_not)
    print(f"| {defect.name} | {found.scenarios} | {found.seconds:.1f} | {found.how} |")
    return True


def passes(test: str, work: Path) -> bool:
    """A program and the name of its test, or a file of the corpus."""
    folder = TOP
    if test.endswith(".hunt"):
        make(work, work / "out", "checked")
        command = [str(work / "out/checked/hunt"), "--replay", str(TOP / test)]
    elif test.startswith("tests/e2e/"):
        program, name = test.split(" ")
        folder = work / Path(program).parent
        command = [sys.executable, "-m", "unittest", "-q", f"{Path(program).stem}.{name}"]
    else:
        program, name = test.split(" ")
        made = work / "out/unit" / Path(program).stem
        make(work, work / "out", str(made), rules="tests/unit/unit.mk")
        command = [str(made), "-p", name]
    try:
        result = subprocess.run(
            command,
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "G_TEST_SRCDIR": str(TOP / "tests/qtest")},
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


def each(defects: list[Defect], work: Path, given: argparse.Namespace) -> bool:
    good = True
    if given.tests:
        tree_of(None, work)
        for test in sorted({test for defect in defects for test in defect.tests}):
            if not passes(test, work):
                print(f"{test}: fails without a defect", file=sys.stderr)
                good = False
    for defect in defects:
        try:
            tree_of(defect, work)
            good &= (
                must_see(defect, work)
                if given.tests
                else must_find(defect, work, given.seed, given.seconds)
            )
        except subprocess.CalledProcessError:
            print(f"{defect.path.name}: does not apply to this tree, or does not build")
            good = False
        sys.stdout.flush()
    return good


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="patches, by the beginnings of their names (all)")
    parser.add_argument("--tests", action="store_true", help="the tests that see it, not the hunt")
    parser.add_argument("--seed", type=int, default=1, help="the first scenario (1)")
    parser.add_argument(
        "--seconds", type=int, default=600, help="of processor time for each defect (600)"
    )
    parser.add_argument(
        "--work", type=Path, default=TOP / "build/putback", help="folder for copies and objects"
    )
    given = parser.parse_args()
    names = given.names or [""]
    defects = [
        read(path)
        for path in sorted(HERE.glob("*.patch"))
        if any(path.name.startswith(name) for name in names)
    ]
    work = given.work.resolve()
    begin(work)
    return 0 if defects and each(defects, work, given) else 1


if __name__ == "__main__":
    sys.exit(main())
