# SPDX-License-Identifier: GPL-2.0-or-later
"""`make bench-instant`: how soon `scarp why`, the report and `compare --at` answer.

On the log of `make run`, with everything built.  The goals are those of the issue that asked for
this, for two idle cores; the command reports, tests judge.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from scarplib.build.cuts import ensure_why, why_sources
from scarplib.build.first_answer import first_program
from scarplib.drive import branches
from scarplib.errors import UserError
from scarplib.paths import ENGINE, ROOT
from scarplib.runs import run
from scarplib.runs.folder import draw

FOLDER = ROOT / "out" / "bench-instant"
BRANCHES = ("--under", "pgc,gftl,ideal")
# What is edited: a scheme's own file.
EDITED = Path("gc/victim_greedy.c")
GUESTS = ("baseline", "pgc")


@dataclass(frozen=True)
class Took:
    """Seconds by the clock, and of the processors: of all that was started and waited for."""

    clock_s: float
    processor_s: float

    def __sub__(self, other: Took) -> Took:
        return Took(self.clock_s - other.clock_s, self.processor_s - other.processor_s)


def _used() -> float:
    own, children = (
        resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def _measure(what: Callable[[], object]) -> Took:
    began, used = time.monotonic(), _used()
    what()
    return Took(time.monotonic() - began, _used() - used)


def _say(what: str, took: Took, goal: str) -> None:
    print(
        f"{what:<55}{took.clock_s:8.1f} s   (wanted: {goal}); {took.processor_s:.1f} s of the "
        "processors",
        flush=True,
    )


def _scarp(*words: object) -> None:
    command = [str(ROOT / "scripts" / "scarp"), *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise UserError(f"{' '.join(command[1:])}: {done.stderr.strip()}")


def _settings(name: str, schemes: Sequence[str], at: str | None = None) -> run.Settings:
    return run.Settings(
        job=ROOT / "fio-jobs" / "demo.fio",
        device=ROOT / "devices" / "demo.ini",
        schemes=schemes,
        age=900,
        seed=1,
        smp=1,
        out=FOLDER / name,
        cpu_limit=600,
        kind="bench-instant",
        at=at,
    )


def _compare(settings: run.Settings) -> None:
    outcome = run.compare(settings)
    if outcome.failures:
        raise UserError("\n".join(outcome.failures.values()))


def _edited(folder: Path) -> Took:
    """A scheme's file is saved: what it takes until `why` has answered with what it says now."""
    copy = FOLDER / "ftl"
    shutil.copytree(ENGINE, copy)
    files = [copy / path.relative_to(ENGINE) for path in why_sources()]
    first_program("why", "scarp-why", files, copy)
    text = (copy / EDITED).read_text()
    (copy / EDITED).write_text(f"{text}\n/* edited {time.time_ns()} */\n")
    question = branches.Question(folder, slowest=1, under=BRANCHES[1].split(","))
    arguments = question.arguments()

    def answer() -> None:
        program = first_program("why", "scarp-why", files, copy)
        branches.ask(arguments, program)

    return _measure(answer)


def main() -> int:
    """Print each figure beside its goal."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    load = os.getloadavg()[0]
    if load > 1:
        print(f"note: the host is busy (load {load:.1f}): times by the clock are longer")
    ensure_why()
    _compare(_settings("run", ("baseline", "ideal")))
    folder = FOLDER / "run" / "baseline"
    one = _measure(lambda: _scarp("why", folder, "--slowest", 1, *BRANCHES))
    _say("one command under three schemes", one, "3 s")
    ten = _measure(
        lambda: _scarp("why", folder, "--slowest", 10, *BRANCHES, "--without", "collections")
    )
    _say("--slowest 10 under them and without collections", ten, "5 s")
    # The first drawing also fills caches of the drawing's own.
    draw(FOLDER / "run")
    without = _measure(lambda: draw(FOLDER / "run", options=("--without-why",)))
    whole = _measure(lambda: draw(FOLDER / "run"))
    _say("the report, more than without its 20 episodes", whole - without, "2 s")
    _say("a scheme's file edited, until the answer", _edited(folder), "10 s")
    plain = _measure(lambda: _compare(_settings("plain", GUESTS)))
    forked = _measure(lambda: _compare(_settings("forked", GUESTS, "start+1")))
    ratio = forked.processor_s / plain.processor_s
    print(f"compare --at: {ratio:.3f} times the processor time of compare (wanted: at most 1.05)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
