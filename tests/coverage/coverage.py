#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Which branches of the engine no test takes: `make coverage`.

clang counts both sides of every condition of ftl/, while the unit tests and some thousand
scenarios of the hunt run.  uncovered.toml says what is not counted, and why the rest that no test
takes is left.
"""

from __future__ import annotations

import argparse
import concurrent.futures as futures
import fnmatch
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "scripts"))
sys.dont_write_bytecode = True

from scarplib.build.host_packages import (  # noqa: E402
    BUILD_PACKAGES,
    CLANG_PACKAGES,
    ensure_packages,
)

GOAL = 95.0  # percent
OUT = ROOT / "build" / "coverage"
HEAD = re.compile(r"^(?=[A-Za-z_])(?:__attribute__\(\(\w+\)\)|[^(])*?(\w+)\((?!\()")
# These have a condition that a test is not to make false, or that nothing of the engine depends on.
SPANS = re.compile(r"\b(g_assert\w*|scarp_mark_if)\s*\(")


@dataclass(frozen=True, order=True)
class Side:
    """Of a condition, what happens when it holds, or when it does not."""

    file: str
    line: int
    column: int
    holds: bool


@dataclass(frozen=True)
class Rule:
    files: str
    functions: re.Pattern[str] | None
    lines: re.Pattern[str] | None
    sides: str  # "both", or "failing": not counted where the other one was taken
    why: str

    def covers(self, source: Source, side: Side) -> bool:
        return (
            fnmatch.fnmatch(side.file, self.files)
            and (not self.functions or bool(self.functions.fullmatch(source.function(side.line))))
            and (not self.lines or bool(self.lines.search(source.lines[side.line - 1])))
        )


class Source:
    """The text of one file: in which function a line is, what is asserted or a mark."""

    def __init__(self, file: str) -> None:
        self.lines = (ROOT / file).read_text().splitlines()
        self.names: list[str] = []
        self.spans: list[tuple[tuple[int, int], tuple[int, int]]] = []
        name = ""
        for line in self.lines:
            if found := HEAD.match(line):
                name = found[1]
            self.names.append(name)
        self._find_spans()

    def _find_spans(self) -> None:
        for number, line in enumerate(self.lines):
            for found in SPANS.finditer(line):
                at, column, depth = number, found.end(), 1
                while depth and at < len(self.lines):
                    text = self.lines[at]
                    while depth and column < len(text):
                        depth += {"(": 1, ")": -1}.get(text[column], 0)
                        column += 1
                    if depth:
                        at, column = at + 1, 0
                self.spans.append(((number + 1, found.start() + 1), (at + 1, column)))

    def function(self, line: int) -> str:
        return self.names[line - 1]

    def aside(self, side: Side) -> bool:
        at = (side.line, side.column)
        return any(begin <= at <= end for begin, end in self.spans)


def rules(kind: str) -> list[Rule]:
    def pattern(entry: dict[str, str], name: str) -> re.Pattern[str] | None:
        return re.compile(entry[name]) if name in entry else None

    table = tomllib.loads((HERE / "uncovered.toml").read_text())
    return [
        Rule(
            entry.get("files", "*"),
            pattern(entry, "functions"),
            pattern(entry, "lines"),
            entry.get("sides", "both"),
            entry["why"],
        )
        for entry in table.get(kind, [])
    ]


# ---- Running ---------------------------------------------------------------


def _raw(name: str) -> dict[str, str]:
    return {
        **os.environ,
        "LLVM_PROFILE_FILE": str(OUT / "raw" / f"{name}-%m.profraw"),
        "G_TEST_SRCDIR": str(ROOT / "tests" / "qtest"),
    }


def _unit(program: Path) -> str | None:
    done = subprocess.run(
        [program], env=_raw(program.name), capture_output=True, text=True, check=False
    )
    failed = [x for x in (done.stdout + done.stderr).splitlines() if "ERROR" in x]
    return f"{program.name}: {(failed or ['ended otherwise'])[0]}" if done.returncode else None


def run_tests(args: argparse.Namespace) -> None:
    shutil.rmtree(OUT / "raw", ignore_errors=True)
    (OUT / "raw").mkdir(parents=True)
    tests = sorted((ROOT / "tests" / "unit").rglob("test-*.c"))
    programs = [OUT / path.relative_to(ROOT).with_suffix("") for path in tests]
    with futures.ThreadPoolExecutor(args.jobs) as pool:
        for failed in filter(None, pool.map(_unit, programs)):
            print(f"# {failed}", flush=True)
    print(f"# {len(programs)} programs of unit tests have run", flush=True)
    hunt = [OUT / "hunt", "--seed", args.seed, "--count", args.count, "--jobs", args.jobs]
    done = subprocess.run(
        [*map(str, hunt), "--no-shrink", "--keep", str(OUT / "failed")],
        env=_raw("hunt"),
        cwd=OUT,
        capture_output=True,
        text=True,
        check=False,
    )
    for line in done.stdout.splitlines():
        if line.startswith("not ok") or line.endswith("failed"):
            print(f"# hunt: {line}", flush=True)


def export() -> dict[str, Any]:
    profile = OUT / "all.profdata"
    raw = [str(path) for path in sorted((OUT / "raw").glob("*.profraw"))]
    subprocess.run(["llvm-profdata", "merge", "-sparse", *raw, "-o", str(profile)], check=True)
    text = subprocess.run(
        ["llvm-cov", "export", "-format=text", f"-instr-profile={profile}", str(OUT / "hunt")],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    found: dict[str, Any] = json.loads(text)
    return found


def sides_of(exported: dict[str, Any]) -> Counter[Side]:
    """How often each was taken; a header's function counts once, wherever it was compiled."""
    sides: Counter[Side] = Counter()
    for function in exported["data"][0]["functions"]:
        for line, column, _, _, taken, not_taken, file_id, *_ in function["branches"]:
            path = Path(function["filenames"][file_id])
            if not path.is_relative_to(ROOT / "ftl"):
                continue  # a macro of a library: assertions, and the least of two
            file = path.relative_to(ROOT).as_posix()
            sides[Side(file, line, column, True)] += taken
            sides[Side(file, line, column, False)] += not_taken
    return sides


# ---- What came of it -------------------------------------------------------


def excluded(sides: Counter[Side], source: Source, side: Side, all_: list[Rule]) -> bool:
    if source.aside(side):
        return True
    other = Side(side.file, side.line, side.column, not side.holds)
    return any(
        rule.covers(source, side) and (rule.sides == "both" or (not sides[side] and sides[other]))
        for rule in all_
    )


def report(sides: Counter[Side]) -> float:
    sources = {file: Source(file) for file in {side.file for side in sides}}
    not_counted, left = rules("excluded"), rules("uncovered")
    counted = sorted(s for s in sides if not excluded(sides, sources[s.file], s, not_counted))
    rooms: dict[str, list[int]] = {}
    used: Counter[str] = Counter()
    unexplained = []
    for side in counted:
        room = rooms.setdefault("/".join(side.file.split("/")[:2]), [0, 0])
        room[0] += 1
        room[1] += not sides[side]
        if not sides[side]:
            found = next((r for r in left if r.covers(sources[side.file], side)), None)
            if found:
                used[found.why] += 1
            else:
                unexplained.append(side)
    for side in unexplained:
        source = sources[side.file]
        print(
            f"{side.file}:{side.line}:{side.column}: never {'true' if side.holds else 'false'}, "
            f"{source.function(side.line)}(): {source.lines[side.line - 1].strip()}"
        )
    for rule in left:
        if not used[rule.why]:
            print(f"# uncovered.toml: all of it is taken: {rule.files}: {rule.why}")
    for name, (n, missed) in sorted(rooms.items()):
        print(f"# {name}: {n - missed} of {n} sides of branches")
    missed = sum(room[1] for room in rooms.values())
    share = 100 * (1 - missed / len(counted))
    print(
        f"# {missed} never taken: {sum(used.values())} with a reason in "
        f"tests/coverage/uncovered.toml, {len(unexplained)} without"
    )
    print(f"branch coverage of ftl/: {share:.2f} % of {len(counted)} sides, goal {GOAL:.0f} %")
    return share


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", default="3000", help="scenarios of the hunt (3000)")
    parser.add_argument("--seed", default="1", help="the first of them (1)")
    parser.add_argument("--jobs", default=os.cpu_count() or 1, type=int, help="all cores")
    parser.add_argument("--again", action="store_true", help="read the last run's counts again")
    args = parser.parse_args()
    ensure_packages((*BUILD_PACKAGES, *CLANG_PACKAGES))
    if not args.again:
        make = ["make", "-s", "-f", str(HERE / "coverage.mk"), f"-j{args.jobs}"]
        subprocess.run(make, check=True)
        run_tests(args)
    return report(sides_of(export())) < GOAL


if __name__ == "__main__":
    sys.exit(main())
