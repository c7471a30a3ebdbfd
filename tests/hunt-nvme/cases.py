# SPDX-License-Identifier: GPL-2.0-or-later
"""Cases: what is run, what comes of it, and one that fails made small."""

from __future__ import annotations

import itertools
import re
import resource
import signal
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

import themes
from machine import MachineDied, MachineHangs
from model import Wrong
from sequence import Hunt

CLOCKS = ("virtual", "realtime")
COMMANDS = 1000
# Of processor time, for a start and for each command; a tenth of it does, even with sanitizers.
BUSY_S, COMMAND_S = 60, 0.05
# So often a sequence that fails is run to make it small, unless it takes too long.
SHRINK_RUNS, SHRINK_S = 80, 900


@dataclass
class Case:
    """What is run: a seed, a clock, how many commands, and which steps; None: all."""

    seed: int
    clock: str
    commands: int = COMMANDS
    steps: list[int] | None = None
    theme: str = ""

    def text(self) -> str:
        lines = [f"seed {self.seed}", f"clock {self.clock}", f"commands {self.commands}"]
        if self.theme:
            lines.append(f"theme {self.theme}")
        if self.steps is not None:
            lines.append("steps " + " ".join(map(str, self.steps)))
        return "\n".join(lines) + "\n"


def read_case(path: Path) -> Case:
    lines = (line.partition(" ") for line in path.read_text().splitlines() if line[:1] != "#")
    said = {key: value for key, _, value in lines}
    steps = [int(step) for step in said["steps"].split()] if "steps" in said else None
    theme = said.get("theme", "")
    return Case(int(said["seed"]), said["clock"], int(said["commands"]), steps, theme)


def drawn(seed: int, clock: str, commands: int = COMMANDS) -> Case:
    """With the theme that the seed gives."""
    return Case(seed, clock, commands, theme=themes.drawn(seed))


@dataclass
class Outcome:
    wrong: str = ""
    digest: str = ""
    steps: list[int] = field(default_factory=list)
    count: Counter[str] = field(default_factory=Counter)
    commands: int = 0
    seconds: float = 0

    def kind(self) -> str:
        """What failures that have the same cause have in common."""
        summary = re.search(r"SUMMARY: .*|Assertion.*", self.wrong)
        line = summary[0] if summary else self.wrong.partition("\n")[0]
        return re.sub(r"0x[0-9a-f]+|\d+|allowed.*", "", line)


def run(qemu: Path, case: Case, calm: bool = False) -> Outcome:
    began = time.monotonic()
    hunt = Hunt(qemu, case.seed, case.clock, case.theme)
    busy = BUSY_S + int(case.commands * COMMAND_S)
    resource.prlimit(hunt.machine.process.pid, resource.RLIMIT_CPU, (busy, busy))
    # A dump of a QEMU with sanitizers takes minutes.
    resource.prlimit(hunt.machine.process.pid, resource.RLIMIT_CORE, (0, 0))
    steps: Iterable[int] = itertools.count() if case.steps is None else case.steps
    wrong = ""
    try:
        hunt.run(steps, case.commands, calm)
    except (Wrong, MachineDied, MachineHangs, AssertionError, ConnectionError) as error:
        wrong = f"{error}\n{hunt.machine.stderr()[:3000]}".strip() or repr(error)
        if isinstance(error, MachineDied | ConnectionError):
            status = hunt.machine.ended()
            if status in (-signal.SIGXCPU, -signal.SIGKILL):
                wrong = f"QEMU is busy for ever: ended after {busy} s of processor time"
            else:
                wrong = f"QEMU ended with {status}: {wrong}"
    finally:
        hunt.machine.close()
    seconds = time.monotonic() - began
    digest = hunt.digest.hexdigest()[:12]
    return Outcome(wrong, digest, hunt.ran, hunt.count, hunt.machine.commands, seconds)


def shrunk(qemu: Path, case: Case, outcome: Outcome, seconds: float = SHRINK_S) -> Case:
    """The same with fewer steps, as long as it fails in the same way."""
    end = time.monotonic() + seconds
    small = replace(case, steps=outcome.steps)
    left = SHRINK_RUNS
    size = len(outcome.steps) // 2
    while size and left:
        at = 0
        while small.steps and at < len(small.steps) and left and time.monotonic() < end:
            fewer = small.steps[:at] + small.steps[at + size :]
            less = replace(case, steps=fewer)
            left -= 1
            if run(qemu, less).kind() == outcome.kind():
                small = less
            else:
                at += size
        size //= 2
    return small
