# SPDX-License-Identifier: GPL-2.0-or-later
"""How far the sequences have been hunted: record.txt, a line for each range of seeds."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from cases import CLOCKS, Case, Outcome, drawn
from scarplib.build import present

RECORD = Path(__file__).resolve().parent / "record.txt"
# So many seeds are a line: some minutes with sanitizers, which is what an interruption costs.
BLOCK = 20


@dataclass
class Range:
    """Seeds that were run, each on the clock that its number gives it."""

    device: str
    commit: str
    first: int
    last: int
    commands: Counter[str] = field(default_factory=Counter)
    seconds: int = 0
    failed: list[int] = field(default_factory=list)

    def text(self) -> str:
        numbers = [self.first, self.last, *(self.commands[clock] for clock in CLOCKS)]
        failed = ",".join(map(str, self.failed)) or "-"
        return " ".join([self.device, self.commit, *map(str, numbers), str(self.seconds), failed])


def read() -> list[Range]:
    found = []
    for line in RECORD.read_text().splitlines():
        if line[:1] == "#":
            continue
        made, at, first, last, *counts, seconds, failed = line.split()
        commands = Counter(dict(zip(CLOCKS, map(int, counts), strict=True)))
        bad = [] if failed == "-" else [int(seed) for seed in failed.split(",")]
        found.append(Range(made, at, int(first), int(last), commands, int(seconds), bad))
    return found


class Goal:
    """Goes on where the record ends, until this device has had so many commands on each clock."""

    def __init__(self, commands: int) -> None:
        self.each = commands // len(CLOCKS)
        self.before = read()
        self.device, self.commit = present.device_hash(), present.commit()

    def counted(self, ranges: list[Range]) -> Counter[str]:
        return sum((each.commands for each in ranges), Counter())

    def own(self) -> list[Range]:
        """What another device has passed says nothing of this one."""
        return [each for each in self.before if each.device == self.device]

    def cases(self) -> Iterator[Case]:
        while min(self.counted(self.own())[clock] for clock in CLOCKS) < self.each:
            first = max((each.last for each in self.before), default=0) + 1
            now = Range(self.device, self.commit, first, first + BLOCK - 1)
            self.now, began = now, time.monotonic()
            for seed in range(now.first, now.last + 1):
                yield drawn(seed, CLOCKS[seed % len(CLOCKS)])
            now.seconds = round(time.monotonic() - began)
            self.before.append(now)
            with RECORD.open("a") as stream:
                stream.write(now.text() + "\n")

    def ended(self, case: Case, outcome: Outcome) -> None:
        if outcome.wrong:
            self.now.failed.append(case.seed)
        else:
            self.now.commands[case.clock] += outcome.commands

    def said(self) -> list[str]:
        """What there is now, and how much of it this device has seen."""
        lines = []
        for name, ranges in (("in all", self.before), ("on these sources", self.own())):
            commands = self.counted(ranges)
            parts = ", ".join(f"{commands[clock]:,} {clock}" for clock in CLOCKS)
            bad = sum(len(each.failed) for each in ranges)
            hours = sum(each.seconds for each in ranges) / 3600
            total = sum(commands.values())
            lines.append(
                f"{name}: {total:,} commands in clean sequences ({parts}), "
                f"{bad} sequences failed, {hours:.1f} hours"
            )
        return lines
