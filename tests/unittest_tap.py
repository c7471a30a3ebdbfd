# SPDX-License-Identifier: GPL-2.0-or-later
"""unittests of a folder as TAP, for tests/*/run.py."""

from __future__ import annotations

import sys
import unittest
from pathlib import Path
from types import TracebackType

ExcInfo = tuple[type[BaseException], BaseException, TracebackType] | tuple[None, None, None]


class TapResult(unittest.TestResult):
    """One line for each test, its trouble as comments under it."""

    number = 0

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
        if err:
            problem = (self.failures or self.errors)[-1][1]
            self._line(subtest, False, text=problem)


def run(folder: Path) -> int:
    """Those that the command line names, or all of the folder's; the exit status."""
    tests = unittest.defaultTestLoader.discover(str(folder), "test_*.py")
    if sys.argv[1:]:
        tests = unittest.defaultTestLoader.loadTestsFromNames(sys.argv[1:])
    result = TapResult()
    print("TAP version 13")
    tests.run(result)
    print(f"1..{result.number}")
    return 0 if result.wasSuccessful() else 1
