# SPDX-License-Identifier: GPL-2.0-or-later
"""Counting of TAP and KTAP: leaves count once, and silence is a failure."""

from __future__ import annotations

import fnmatch
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

_RESULT = re.compile(r"^(\s*)(not )?ok\b\s*(\d+)?\s*(.*)$")
_DIRECTIVE = re.compile(r"#\s*SKIP\b", re.IGNORECASE)
_PLAN = re.compile(r"^(\s*)1\.\.(\d+)")


@dataclass
class Count:
    """Results of one suite."""

    passed: int = 0
    failed: int = 0
    failures: list[str] = field(default_factory=list)
    # "suite: test # SKIP reason"
    skips: list[str] = field(default_factory=list)

    @property
    def skipped(self) -> int:
        """Tests that did not run."""
        return len(self.skips)

    def fail(self, what: str) -> None:
        """One more failure, and its name."""
        self.failed += 1
        self.failures.append(what)


class Stopwatch:
    """How long each test took: from its suite's line before to its own, as the output grows.

    Where a suite runs tests side by side, or says what they did when all are done, the time is
    that of whoever is named next.
    """

    def __init__(self, suite: str, now: float) -> None:
        self.suite = suite
        self.before = now
        self.part = ""
        self.times: list[tuple[float, str]] = []

    def see(self, text: str, now: float) -> None:
        """More of the output."""
        *lines, self.part = (self.part + text).split("\n")
        for line in lines:
            match = _RESULT.match(line)
            if match and (match.group(3) or not match.group(1)):
                name = match.group(4).lstrip("- ") or f"test {match.group(3)}"
                self.times.append((now - self.before, f"{self.suite}: {name}"))
                self.before = now


def slowest(watches: Sequence[Stopwatch], number: int = 10) -> list[str]:
    """The tests that took longest, a line each."""
    times = sorted((x for watch in watches for x in watch.times), reverse=True)
    return [f"{seconds:6.0f} s  {name}" for seconds, name in times[:number]]


@dataclass
class _Level:
    """What was seen at one indentation since the last result of a lower one."""

    results: int = 0
    failed: int = 0
    plan: int | None = None


def _close(levels: dict[int, _Level], deeper_than: int, count: Count, name: str) -> bool | None:
    """Judge finished subtests: None when there were none, else whether one had failed."""
    closed = [levels.pop(indent) for indent in sorted(levels) if indent > deeper_than]
    if not any(level.results for level in closed):
        return None
    failed = False
    for level in closed:
        if level.plan is not None and level.plan != level.results:
            count.fail(f"{name}: planned {level.plan} tests, {level.results} reported")
            failed = True
        failed = failed or level.failed > 0
    return failed


def count(text: str, status: int, suite: str) -> Count:
    """Results of one suite's output and exit status."""
    out = Count()
    levels: dict[int, _Level] = {}
    for line in text.splitlines():
        if match := _PLAN.match(line):
            indent = len(match.group(1))
            levels.setdefault(indent, _Level()).plan = int(match.group(2))
            continue
        if line.startswith("Bail out!"):
            out.fail(f"{suite}: {line}")
            continue
        match = _RESULT.match(line)
        if not match or (match.group(3) is None and match.group(1)):
            continue
        indent, bad = len(match.group(1)), bool(match.group(2))
        name = match.group(4).lstrip("- ") or f"test {match.group(3)}"
        children = _close(levels, indent, out, name)
        level = levels.setdefault(indent, _Level())
        level.results += 1
        directive = re.search(r"#\s*(SKIP|TODO)\b", name, re.IGNORECASE)
        if directive and directive.group(1).upper() == "TODO":
            bad = False
        level.failed += bad
        if children is not None:
            # A parent repeats its children; it counts only when it failed for itself.
            if bad and not children:
                out.fail(f"{suite}: {name}")
        elif bad:
            out.fail(f"{suite}: {name}")
        elif directive:
            out.skips.append(f"{suite}: {name}")
        else:
            out.passed += 1
    _close(levels, -1, out, suite)
    if status and not out.failed:
        out.fail(f"{suite}: exit status {status} without a failed test")
    if not (out.passed or out.failed):
        out.fail(f"{suite}: {'every test was skipped' if out.skips else 'no test results'}")
    return out


def around(text: str, failure: str, lines: int = 8) -> list[str]:
    """What a suite's output says beside a failure (one of Count.failures), or else at its end.

    Some suites explain a failure before its line and some after it: so many lines of each.
    """
    said = text.splitlines()
    name = failure.partition(": ")[2]
    for at, line in enumerate(said):
        if line.lstrip().startswith("not ok") and name and name in line:
            return said[max(at - lines, 0) : at + lines + 1]
    return said[-2 * lines :]


@dataclass(frozen=True)
class MaySkip:
    """Tests that may be skipped: patterns as a shell has them, and on which hosts that is."""

    suite: str
    test: str
    reason: str
    why: str

    def covers(self, skip: str) -> bool:
        """Whether one of Count.skips is meant."""
        suite, _, rest = skip.partition(": ")
        test, _, reason = _DIRECTIVE.sub("\n", rest, count=1).partition("\n")
        said = ((suite, self.suite), (test.strip(), self.test), (reason.strip(), self.reason))
        return all(fnmatch.fnmatchcase(text, pattern) for text, pattern in said)


def may_skip(path: Path) -> list[MaySkip]:
    """The list of what may be skipped (TOML, see tests/skips.toml)."""
    return [MaySkip(**entry) for entry in tomllib.loads(path.read_text())["skip"]]


def judge_skips(count: Count, allowed: Sequence[MaySkip]) -> None:
    """A skip that is on no list is a failure: a test that never runs says nothing."""
    for skip in list(count.skips):
        if not any(entry.covers(skip) for entry in allowed):
            count.skips.remove(skip)
            count.fail(f"{skip} (not on the list of what may be skipped)")
