# SPDX-License-Identifier: GPL-2.0-or-later
"""tests/fuzz-device/run.py: a QEMU that hangs under the fuzzer is ended, and its input kept."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

TESTS = Path(__file__).resolve().parents[1]


def program() -> object:
    """The file, whose folders' other modules have names that ours have, too."""
    spec = importlib.util.spec_from_file_location("fuzz_device", TESTS / "fuzz-device" / "run.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    before = list(sys.path)
    with mock.patch.dict(sys.modules, fuzz_device=module):
        spec.loader.exec_module(module)
    sys.path[:] = before
    return module


class Watched(unittest.TestCase):
    def status(self, text: str, asleep_s: int, busy_s: int) -> tuple[int, str]:
        """Of a fuzzer that does this; and what it says when it is ended, as libFuzzer would."""
        module = program()
        aborted = (
            "import signal, sys, time\n"
            "def abort(*_):\n    print('kept', flush=True)\n    sys.exit(77)\n"
            "signal.signal(signal.SIGABRT, abort)\n"
        )
        with (
            tempfile.TemporaryDirectory() as folder,
            mock.patch.multiple(module, ASLEEP_S=asleep_s, BUSY_S=busy_s),
        ):
            log = Path(folder) / "log"
            with (
                log.open("wb") as stream,
                subprocess.Popen([sys.executable, "-c", aborted + text], stdout=stream) as process,
            ):
                status = module.watched(process, log)  # type: ignore[attr-defined]
            return status, log.read_text()

    def test_one_that_sleeps_is_ended(self) -> None:
        self.assertEqual(self.status("time.sleep(600)", 2, 600), (77, "kept\n"))

    def test_one_that_is_busy_and_says_nothing_is_ended(self) -> None:
        self.assertEqual(self.status("while True: pass", 600, 2), (77, "kept\n"))

    def test_one_that_goes_on_is_not(self) -> None:
        goes_on = (
            "for _ in range(12):\n"
            "    end = time.process_time() + 0.2\n"
            "    while time.process_time() < end: pass\n"
            "    print('#', end='', flush=True)\n"
            "    time.sleep(0.3)\n"
            "sys.exit(3)"
        )
        self.assertEqual(self.status(goes_on, 2, 2), (3, 12 * "#"))


if __name__ == "__main__":
    unittest.main()
