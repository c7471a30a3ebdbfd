#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Hunt for defects of the NVMe device: random sequences of commands and interruptions.

A seed gives a machine and a sequence (sequence.py).  A sequence that fails is made small: steps are
cut as long as it fails in the same way.  What is left is a file, which --replay runs again.
"""

from __future__ import annotations

import argparse
import itertools
import re
import resource
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "qtest"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from machine import HANG_S, MachineDied
from model import Wrong
from scarplib.build.qemu import ensure_qemu
from sequence import Hunt

ROOT = Path(__file__).resolve().parents[2]
CLOCKS = ("virtual", "realtime")
CORPUS = Path(__file__).resolve().parent / "corpus"
KEPT = ROOT / "out" / "hunt-nvme"
COMMANDS = 1000
# Of processor time, for a start and for each command; a tenth of it does, even with sanitizers.
BUSY_S, COMMAND_S = 60, 0.05
# So often a sequence that fails is run to make it small.
SHRINK_RUNS = 80


@dataclass
class Case:
    """What is run: a seed, a clock, how many commands, and which steps; None: all."""

    seed: int
    clock: str
    commands: int = COMMANDS
    steps: list[int] | None = None

    def text(self) -> str:
        lines = [f"seed {self.seed}", f"clock {self.clock}", f"commands {self.commands}"]
        if self.steps is not None:
            lines.append("steps " + " ".join(map(str, self.steps)))
        return "\n".join(lines) + "\n"


def read_case(path: Path) -> Case:
    lines = (line.partition(" ") for line in path.read_text().splitlines() if line[:1] != "#")
    said = {key: value for key, _, value in lines}
    steps = [int(step) for step in said["steps"].split()] if "steps" in said else None
    return Case(int(said["seed"]), said["clock"], int(said["commands"]), steps)


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
    hunt = Hunt(qemu, case.seed, case.clock)
    busy = BUSY_S + int(case.commands * COMMAND_S)
    resource.prlimit(hunt.machine.process.pid, resource.RLIMIT_CPU, (busy, busy))
    steps: Iterable[int] = itertools.count() if case.steps is None else case.steps
    wrong = ""
    try:
        hunt.run(steps, case.commands, calm)
    except (Wrong, MachineDied, AssertionError, ConnectionError) as error:
        wrong = f"{error}\n{hunt.machine.stderr()[:3000]}".strip() or repr(error)
        if isinstance(error, MachineDied | ConnectionError):
            status = hunt.machine.process.wait(HANG_S)
            if status in (-signal.SIGXCPU, -signal.SIGKILL):
                wrong = f"QEMU is busy for ever: ended after {busy} s of processor time"
            else:
                wrong = f"QEMU ended with {status}: {wrong}"
    finally:
        hunt.machine.close()
    seconds = time.monotonic() - began
    digest = hunt.digest.hexdigest()[:12]
    return Outcome(wrong, digest, hunt.ran, hunt.count, hunt.machine.commands, seconds)


def shrunk(qemu: Path, case: Case, outcome: Outcome) -> Case:
    """The same with fewer steps, as long as it fails in the same way."""
    small = Case(case.seed, case.clock, case.commands, outcome.steps)
    left = SHRINK_RUNS
    size = len(outcome.steps) // 2
    while size and left:
        at = 0
        while small.steps and at < len(small.steps) and left:
            fewer = small.steps[:at] + small.steps[at + size :]
            less = Case(case.seed, case.clock, case.commands, fewer)
            left -= 1
            if run(qemu, less).kind() == outcome.kind():
                small = less
            else:
                at += size
        size //= 2
    return small


def tell(qemu: Path, case: Case, outcome: Outcome) -> None:
    """What was wrong; the small case is kept, and how to run it again is printed."""
    for line in outcome.wrong.splitlines():
        print(f"# {line}")
    small = shrunk(qemu, case, outcome)
    KEPT.mkdir(parents=True, exist_ok=True)
    path = KEPT / f"{case.seed}-{case.clock}.nvme"
    path.write_text(f"# {outcome.kind()}\n{small.text()}")
    steps = f"{len(outcome.steps)} steps, {len(small.steps or [])} of them needed"
    print(f"# {steps}: make hunt-nvme ARGS='--replay {path.relative_to(ROOT)}'", flush=True)


def of_commit(seconds: int) -> Iterator[Case]:
    """Cases that follow from the commit, for so long; a few on a host that is slow."""
    done = subprocess.run(
        ["git", "-C", str(ROOT), "rev-parse", "--short=8", "HEAD"],
        capture_output=True,
        text=True,
        check=False,
    )
    first = int(done.stdout.strip() or "1", 16) % 10**9 * 10**6
    end = time.monotonic() + seconds
    for number in itertools.count():
        if number >= len(CLOCKS) and time.monotonic() > end:
            break
        yield Case(first + number // len(CLOCKS), CLOCKS[number % len(CLOCKS)])


def cases(args: argparse.Namespace) -> Iterator[tuple[str, Case]]:
    """What is to be run, and what it is called."""
    corpus = [] if args.test is None else sorted(CORPUS.glob("*.nvme"))
    for path in args.replay or corpus:
        yield path.name, read_case(path)
    if args.replay:
        return
    if args.test is not None:
        for case in of_commit(args.test):
            yield f"--seed {case.seed} --seeds 1 --clock {case.clock}", case
        return
    for seed in range(args.seed, args.seed + args.seeds):
        case = Case(seed, args.clock or CLOCKS[seed % len(CLOCKS)], args.commands)
        yield f"--seed {seed} --seeds 1 --clock {case.clock}", case


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--qemu", type=Path, help="a QEMU binary; default: this checkout's")
    parser.add_argument(
        "--sanitize", action="store_true", help="with address and undefined-behaviour sanitizers"
    )
    parser.add_argument("--seed", type=int, default=1, help="the first one")
    parser.add_argument("--seeds", type=int, default=10, help="how many")
    parser.add_argument("--commands", type=int, default=COMMANDS, help="of each sequence")
    parser.add_argument("--clock", choices=CLOCKS, help="default: by the seed")
    parser.add_argument(
        "--calm", action="store_true", help="no interruptions: the digests of two QEMUs are equal"
    )
    parser.add_argument("--replay", type=Path, nargs="+", default=[], help="files of such cases")
    parser.add_argument(
        "--test",
        type=int,
        metavar="SECONDS",
        help="the corpus, then for so long sequences that follow from the commit",
    )
    args = parser.parse_args()
    qemu = (args.qemu or ensure_qemu("asan" if args.sanitize else "").binary).resolve()
    total: Counter[str] = Counter()
    commands: Counter[str] = Counter()
    seconds: defaultdict[str, float] = defaultdict(float)
    passed = failed = 0
    for name, case in cases(args):
        outcome = run(qemu, case, args.calm)
        passed += not outcome.wrong
        failed += bool(outcome.wrong)
        said = f"{passed + failed} {name}, {outcome.digest}"
        print(f"not ok {said}" if outcome.wrong else f"ok {said}", flush=True)
        if outcome.wrong:
            tell(qemu, case, outcome)
        total += outcome.count
        commands[case.clock] += outcome.commands
        seconds[case.clock] += outcome.seconds
    for clock, number in sorted(commands.items()):
        rate = number / seconds[clock]
        print(f"# {clock}: {number:,} commands in {seconds[clock]:.0f} s, {rate:.0f} a second")
    print("# " + ", ".join(f"{name} {number}" for name, number in sorted(total.items())))
    print(f"1..{passed + failed}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
