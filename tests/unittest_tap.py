# SPDX-License-Identifier: GPL-2.0-or-later
"""unittests of a folder as TAP, for tests/*/run.py."""

from __future__ import annotations

import resource
import sys
import unittest
from pathlib import Path
from types import TracebackType

ExcInfo = tuple[type[BaseException], BaseException, TracebackType] | tuple[None, None, None]

LONGEST = 10  # so many tests of a suite are listed


def _spent_s() -> float:
    """The processor time of this process and of all that it has waited for."""
    both = [resource.getrusage(x) for x in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(used.ru_utime + used.ru_stime for used in both)


class TapResult(unittest.TestResult):
    """One line for each test, its trouble as comments under it."""

    number = 0

    def __init__(self) -> None:
        super().__init__()
        self.before_s = _spent_s()
        self.spent: list[tuple[float, str]] = []

    def stopTest(self, test: unittest.TestCase) -> None:
        """The first test of a class answers for what the class has set up, too."""
        super().stopTest(test)
        now_s = _spent_s()
        self.spent.append((now_s - self.before_s, test.id()))
        self.before_s = now_s

    def longest(self) -> list[str]:
        """Where to look if a suite takes too long, a line each."""
        most = sorted(self.spent, reverse=True)[:LONGEST]
        return [f"{seconds:7.1f} s of processor time  {name}" for seconds, name in most]

    def _line(self, test: unittest.TestCase, good: bool, note: str = "", text: str = "") -> None:
        self.number += 1
        print(f"{'' if good else 'not '}ok {self.number} - {test.id()}{note}")
        for line in text.splitlines():
            print(f"# {line}")
        sys.stdout.flush()

    def addSuccess(self, test: unittest.TestCase) -> None:
        self._line(test, True)

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        self._line(test, True, f" # SKIP {reason}")

    def addError(self, test: unittest.TestCase, err: ExcInfo) -> None:
        super().addError(test, err)
        self._line(test, False, text=self.errors[-1][1])

    def addFailure(self, test: unittest.TestCase, err: ExcInfo) -> None:
        super().addFailure(test, err)
        self._line(test, False, text=self.failures[-1][1])

    def addSubTest(
        self, test: unittest.TestCase, subtest: unittest.TestCase, err: ExcInfo | None
    ) -> None:
        super().addSubTest(test, subtest, err)
        if err and err[0]:
            failed = issubclass(err[0], test.failureException)
            problem = (self.failures if failed else self.errors)[-1][1]
            self._line(subtest, False, text=problem)


def run(folder: Path) -> int:
    """Those that the command line names, or all of the folder's; the exit status."""
    tests = unittest.defaultTestLoader.discover(str(folder), "test_*.py")
    if sys.argv[1:]:
        tests = unittest.defaultTestLoader.loadTestsFromNames(sys.argv[1:])
    result = TapResult()
    print("TAP version 13")
    tests.run(result)
    print(*(f"# {line}" for line in result.longest()), sep="\n")
    print(f"1..{result.number}")
    return 0 if result.wasSuccessful() else 1
