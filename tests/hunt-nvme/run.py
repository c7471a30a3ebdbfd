#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Hunt for defects of the NVMe device: random sequences of commands and interruptions.

A seed gives a machine and a sequence (sequence.py).  A sequence that fails is made small: steps are
cut as long as it fails in the same way.  What is left is a file, which --replay runs again.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "qtest"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from scarplib.build.venv import PACKAGES, go_on_with

if __name__ == "__main__":
    # QMP is a package's (scarplib.guest.qmp).
    go_on_with(PACKAGES, sys.argv[1:], Path(__file__))

import record
import themes
from cases import CLOCKS, COMMANDS, SHRINK_S, Case, Outcome, drawn, read_case, run, shrunk
from scarplib.build import present
from scarplib.build.qemu import ensure_qemu

ROOT = Path(__file__).resolve().parents[2]
CORPUS = Path(__file__).resolve().parent / "corpus"
KEPT = ROOT / "out" / "hunt-nvme"


# In `make test` others wait for the end of this.
TEST_SHRINK_S = 120


def tell(qemu: Path, case: Case, outcome: Outcome, seconds: float) -> None:
    """What was wrong; the small case is kept, and how to run it again is printed."""
    for line in outcome.wrong.splitlines():
        print(f"# {line}")
    small = shrunk(qemu, case, outcome, seconds)
    KEPT.mkdir(parents=True, exist_ok=True)
    path = KEPT / f"{case.seed}-{case.clock}.nvme"
    path.write_text(f"# {outcome.kind()}\n{small.text()}")
    steps = f"{len(outcome.steps)} steps, {len(small.steps or [])} of them needed"
    print(f"# {steps}: make hunt-nvme ARGS='--replay {path.relative_to(ROOT)}'", flush=True)


def of_commit(seconds: int) -> Iterator[Case]:
    """Cases that follow from the commit, for so long; a few on a host that is slow."""
    commit = present.commit()
    first = (1 if commit == "none" else int(commit, 16)) % 10**9 * 10**6
    end = time.monotonic() + seconds
    for number in itertools.count():
        if number >= len(CLOCKS) and time.monotonic() > end:
            break
        yield drawn(first + number // len(CLOCKS), CLOCKS[number % len(CLOCKS)])


def cases(args: argparse.Namespace, goal: record.Goal | None) -> Iterator[tuple[str, Case]]:
    """What is to be run, and what it is called."""
    if goal:
        for case in goal.cases():
            yield f"--seed {case.seed} --seeds 1 --clock {case.clock}", case
        return
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
        case = drawn(seed, args.clock or CLOCKS[seed % len(CLOCKS)], args.commands)
        name = f"--seed {seed} --seeds 1 --clock {case.clock}"
        if args.theme is not None:
            case.theme = args.theme
            name += f" --theme {args.theme or 'none'}"
        yield name, case


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
        "--theme",
        type=lambda name: "" if name == "none" else name,
        choices=["", *themes.THEMES],
        metavar="{" + ",".join(["none", *themes.THEMES]) + "}",
        help="of all sequences; default: by the seed",
    )
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
    parser.add_argument(
        "--goal",
        type=int,
        metavar="COMMANDS",
        help=f"go on after the last seed of {record.RECORD.name}, until this device had so many",
    )
    args = parser.parse_args()
    goal = record.Goal(args.goal) if args.goal else None
    if goal and not args.sanitize:
        parser.error("--goal: the record is of the sanitized build; give --sanitize, too")
    qemu = (args.qemu or ensure_qemu("asan" if args.sanitize else "").binary).resolve()
    total: Counter[str] = Counter()
    commands: Counter[str] = Counter()
    seconds: defaultdict[str, float] = defaultdict(float)
    passed = failed = 0
    for name, case in cases(args, goal):
        outcome = run(qemu, case, args.calm)
        if goal:
            goal.ended(case, outcome)
        passed += not outcome.wrong
        failed += bool(outcome.wrong)
        said = f"{passed + failed} {name}, {outcome.digest}"
        print(f"not ok {said}" if outcome.wrong else f"ok {said}", flush=True)
        if outcome.wrong:
            tell(qemu, case, outcome, SHRINK_S if args.test is None else TEST_SHRINK_S)
        total += outcome.count
        commands[case.clock] += outcome.commands
        seconds[case.clock] += outcome.seconds
    for clock, number in sorted(commands.items()):
        rate = number / seconds[clock]
        print(f"# {clock}: {number:,} commands in {seconds[clock]:.0f} s, {rate:.0f} a second")
    for line in goal.said() if goal else []:
        print(f"# {line}")
    print("# " + ", ".join(f"{name} {number}" for name, number in sorted(total.items())))
    print(f"1..{passed + failed}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or (not passed and not goal) else 0


if __name__ == "__main__":
    sys.exit(main())
