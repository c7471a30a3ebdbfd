#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Run the tests of the device in QEMU without a guest; prints TAP."""

from __future__ import annotations

import argparse
import sys
import time
import unittest
from pathlib import Path

# Once for all tests: which of them is loaded first is a matter of their names.
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from scarplib.build.venv import PACKAGES, go_on_with

if __name__ == "__main__":
    # QMP is a package's (scarplib.guest.qmp).
    go_on_with(PACKAGES, sys.argv[1:], Path(__file__))

from fixture import ALL, DriveTest

HERE = Path(__file__).resolve().parent
# `make test-qtest-long` alone has these.
LONG = (
    # What copies need of memory shows after gigabytes of them.
    "Room.test_memory_of_copies_is_bounded",
    "Room.test_copies_that_are_aborted_give_room_back",
    # Replay.test_switched_runs has both schemes in one run.
    "Replay.test_identical_times",
)


class TapResult(unittest.TestResult):
    """Prints one TAP line per test as it ends."""

    def __init__(self) -> None:
        super().__init__()
        self.passed = 0
        self.failed = 0
        self._number = 0
        self.skips = 0
        self._trouble: str | None = None
        self._skipped: str | None = None
        self._began = 0.0

    def startTest(self, test: unittest.TestCase) -> None:
        super().startTest(test)
        self._number += 1
        self._trouble = None
        self._skipped = None
        self._began = time.monotonic()

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        super().addSkip(test, reason)
        self._skipped = reason

    def addFailure(self, test: unittest.TestCase, err: object) -> None:
        super().addFailure(test, err)  # type: ignore[arg-type]
        self._trouble = self.failures[-1][1]

    def addError(self, test: unittest.TestCase, err: object) -> None:
        super().addError(test, err)  # type: ignore[arg-type]
        self._trouble = self.errors[-1][1]

    def addSubTest(self, test: unittest.TestCase, subtest: unittest.TestCase, err: object) -> None:
        super().addSubTest(test, subtest, err)  # type: ignore[arg-type]
        if err is not None:
            failed = isinstance(err, tuple) and issubclass(err[0], test.failureException)
            self._trouble = (self.failures if failed else self.errors)[-1][1]

    def stopTest(self, test: unittest.TestCase) -> None:
        super().stopTest(test)
        name = test.id().removeprefix("test_")
        seconds = time.monotonic() - self._began
        if self._trouble is None and self._skipped is not None:
            self.skips += 1
            print(f"ok {self._number} {name} # SKIP {self._skipped}", flush=True)
        elif self._trouble is None:
            self.passed += 1
            print(f"ok {self._number} {name} # {seconds:.1f} s", flush=True)
        else:
            self.failed += 1
            print(f"not ok {self._number} {name}", flush=True)
            for line in self._trouble.rstrip().splitlines():
                print(f"# {line}", flush=True)


def usual(test: unittest.TestCase) -> bool:
    """Whether it runs where none is named; with SCARP_TEST_ALL=1 in the environment all do."""
    return ALL or not test.id().endswith(LONG)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--qemu", type=Path, required=True, help="the QEMU binary to test")
    parser.add_argument("only", nargs="*", help="run only tests whose name contains one of these")
    args = parser.parse_args()
    if not args.qemu.is_file():
        parser.error(f"--qemu: no such file: {args.qemu}")

    DriveTest.qemu = args.qemu.resolve()
    found = unittest.defaultTestLoader.discover(str(HERE))
    tests = [
        test
        for test in flatten(found)
        if (any(part in test.id() for part in args.only) if args.only else usual(test))
    ]
    print("TAP version 13")
    print(f"1..{len(tests)}", flush=True)
    result = TapResult()
    unittest.TestSuite(tests).run(result)
    print(f"{result.passed} passed, {result.failed} failed, {result.skips} skipped")
    return 1 if result.failed or not result.passed else 0


def flatten(suite: unittest.TestSuite) -> list[unittest.TestCase]:
    tests: list[unittest.TestCase] = []
    for item in suite:
        tests += flatten(item) if isinstance(item, unittest.TestSuite) else [item]
    return tests


if __name__ == "__main__":
    sys.exit(main())
