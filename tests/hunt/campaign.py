# SPDX-License-Identifier: GPL-2.0-or-later
"""A long hunt in parts: record.txt has a line for each range of scenarios that was run.

It goes on after the last one, on any day and any machine, until the present engine has passed
--goal of them.  Lines of other engines do not count; their scenarios are not drawn again.  Lines of
this engine count, also those of an older hunt.  What an interruption loses is the part under way.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
RECORD = Path(__file__).resolve().parent / "record.txt"
sys.path.insert(0, str(ROOT / "scripts"))

from scarplib.build import present  # noqa: E402

# The first scenario, and how many are a line: some minutes, which is what an interruption costs.
FIRST = {"release": 100_000_000, "checked": 200_000_000}
PART = {"release": 20_000, "checked": 1_000}
GOAL = {"release": 1_000_000, "checked": 50_000}
_TOTAL = re.compile(r"^(\d+) passed, (\d+) failed$", re.MULTILINE)
_SPEED = re.compile(r" ([\d.]+) in a second of a core$", re.MULTILINE)
_COMMANDS = re.compile(r"^# (\d+) commands and ", re.MULTILINE)
_UNMET = re.compile(r"^# mark (\S+) \(.*\): 0 in 0 scenarios$", re.MULTILINE)


@dataclass(frozen=True)
class Part:
    """Scenarios `first` to `first + count - 1`, with a build of one engine."""

    build: str
    engine: str
    commit: str
    first: int
    count: int
    failed: int
    commands: int
    core_s: int
    unmet: frozenset[str]  # marks that none of them met; of a checked build

    def text(self) -> str:
        numbers = (self.first, self.count, self.failed, self.commands, self.core_s)
        words = [self.build, self.engine, self.commit, *map(str, numbers)]
        return " ".join([*words, ",".join(sorted(self.unmet)) or "-"])

    @classmethod
    def of_text(cls, line: str) -> Part:
        build, engine, commit, *numbers, unmet = line.split()
        first, count, failed, commands, core_s = map(int, numbers)
        marks = frozenset() if unmet == "-" else frozenset(unmet.split(","))
        return cls(build, engine, commit, first, count, failed, commands, core_s, marks)


def read(text: str) -> list[Part]:
    return [Part.of_text(line) for line in text.splitlines() if line[:1] not in ("#", "")]


def next_of(parts: Sequence[Part], build: str) -> int:
    """The first scenario that no engine was asked for."""
    return max((p.first + p.count for p in parts if p.build == build), default=FIRST[build])


def part_of(said: str, build: str, made: str, at: str, first: int) -> Part:
    """From what the hunt said at its end; ValueError if it did not say it."""
    total, speed, commands = _TOTAL.search(said), _SPEED.search(said), _COMMANDS.search(said)
    if not (total and speed and commands):
        raise ValueError("the hunt did not come to its end")
    count = int(total[1]) + int(total[2])
    return Part(
        build, made, at, first, count, int(total[2]), count * int(commands[1]),
        round(count / max(float(speed[1]), 0.1)), frozenset(_UNMET.findall(said)),
    )  # fmt: skip


def tell(parts: Sequence[Part], build: str, goal: int) -> bool:
    """The sum of one engine's parts; whether it is a proof."""
    count, failed = sum(p.count for p in parts), sum(p.failed for p in parts)
    unmet = frozenset.intersection(*(p.unmet for p in parts)) if parts else frozenset()
    print(
        f"# {build}: {count:,} of {goal:,} scenarios, {sum(p.commands for p in parts):,} host "
        f"commands, {sum(p.core_s for p in parts) / 3600:.1f} hours of one core"
    )
    for mark in sorted(unmet):
        print(f"# mark {mark} was never met")
    print(f"{count - failed} passed, {failed} failed", flush=True)
    return not failed and count >= goal and not unmet


def main() -> int:
    """0 if the present engine has passed the goal."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", choices=FIRST, help="checked: with sanitizers and all laws")
    parser.add_argument("--goal", type=int, help="scenarios (1,000,000; checked 50,000)")
    parser.add_argument("--seconds", type=int, default=86400, help="no part begins later (a day)")
    options = parser.parse_args()
    build = options.build
    goal = GOAL[build] if options.goal is None else options.goal
    if goal < 1:
        parser.error(f"--goal {goal}: must be at least 1")
    # Of what is built now, whatever is checked out meanwhile.
    made, at, began = present.engine_hash(), present.commit(), time.monotonic()
    subprocess.run(["sh", HERE / "make.sh", "-f", "tests/hunt/hunt.mk", build], check=True)
    while True:
        every = read(RECORD.read_text())
        parts = [p for p in every if p.build == build and p.engine == made]
        left = goal - sum(p.count for p in parts)
        if left <= 0 or time.monotonic() - began >= options.seconds:
            return 0 if tell(parts, build, goal) else 1
        first = next_of(every, build)
        done = subprocess.run(
            [str(ROOT / "build" / "hunt" / build / "hunt"), "--seed", str(first), "--count",
             str(min(left, PART[build]))],
            cwd=ROOT, capture_output=True, text=True, check=False,
        )  # fmt: skip
        try:
            part = part_of(done.stdout, build, made, at, first)
        except ValueError as error:
            print(done.stdout + done.stderr)
            print(f"campaign.py: seeds from {first} on: {error}", file=sys.stderr)
            return 1
        if part.failed:
            print(done.stdout, flush=True)
        with RECORD.open("a") as stream:
            stream.write(part.text() + "\n")


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("campaign.py: stopped; the parts that had ended are in record.txt")
