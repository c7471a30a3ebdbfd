# SPDX-License-Identifier: GPL-2.0-or-later
"""A busy host fails no test: what ends a guest or a suite, and how long a limit is at least."""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
import tempfile
import time
import types
import unittest
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

from scarplib.dev import suites
from scarplib.guest import vm

ROOT = Path(__file__).resolve().parents[2]
# Limits on wall time are for hangs alone, and so of minutes.  Less than a second is how often
# somebody looks.
LEAST_S = 300
_NUMBER = r"(\d[\d_.]*(?:\s*\*\s*[\d_.]+)*)"
_LIMITS = [
    re.compile(pattern)
    for pattern in (
        rf"(?<!--)timeout\s*=\s*{_NUMBER}",  # nvme-cli's are the guest's, in milliseconds
        rf"settimeout\(\s*{_NUMBER}",
        rf"\.(?:wait|join|communicate|result)\(\s*{_NUMBER}",
        rf"(?:monotonic|perf_counter|time)\(\)\s*\+\s*{_NUMBER}",
        rf"(?:monotonic|perf_counter|time)\(\)\s*-\s*\w+\s*[<>]=?\s*{_NUMBER}",
        rf"wall_seconds\s*[<>]=?\s*{_NUMBER}",
        rf"(?:^|[;&|(\"'])\s*timeout\s+(?:-\S+\s+)*{_NUMBER}",
        rf"^\s*\w*(?:HANG|SILENT|TIMEOUT|WALL)\w*\s*=\s*{_NUMBER}",
    )
]


def limits_of(text: str) -> Iterator[tuple[str, float]]:
    """Lines with a limit on wall time, and its seconds."""
    for line in text.splitlines():
        for limit in _LIMITS:
            for match in limit.finditer(line):
                yield line.strip(), math.prod(float(n) for n in match[1].split("*"))


def too_short(text: str) -> Iterator[str]:
    for line, seconds in limits_of(text):
        if 1 <= seconds < LEAST_S:
            yield line


class Limits(unittest.TestCase):
    def test_are_of_minutes(self) -> None:
        files = [
            path
            for folder in ("tests", "scripts")
            for path in sorted((ROOT / folder).rglob("*"))
            if path.suffix in (".py", ".sh") and path.name != Path(__file__).name
        ]
        found = [
            f"{path.relative_to(ROOT)}: {line}"
            for path in files
            for line in too_short(path.read_text())
        ]
        self.assertEqual(found, [])
        # It has looked at what has limits, each of which is long enough.
        limits = [line for path in files for line, _ in limits_of(path.read_text())]
        self.assertIn("HANG_S = 300.0", limits)
        self.assertGreater(len(limits), 10)


class Clock:
    """A host's clock that goes on by so much whenever somebody sleeps."""

    def __init__(self, step_s: float) -> None:
        self.step_s = step_s
        self.now_s = 0.0

    def monotonic(self) -> float:
        return self.now_s

    def sleep(self, _: float) -> None:
        self.now_s += self.step_s


class Guest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.console = Path(folder.name) / "console.log"
        self.console.write_bytes(b"")

    def watched(
        self,
        share: float,
        after_s: float = math.inf,
        then: Callable[[], int | None] = int,
        wanted: float = 0,
    ) -> tuple[str, float]:
        """A guest that gets this share of a core, of that which it wants, on the limit of 600 s;
        why and when it ends."""
        clock = Clock(10)

        def poll() -> int | None:
            return None if clock.now_s < after_s else then()

        with (
            mock.patch.object(vm, "time", clock),
            mock.patch.object(vm, "cpu_seconds", lambda _: clock.now_s * share),
            mock.patch.object(vm, "wanted_seconds", lambda _: clock.now_s * max(share, wanted)),
        ):
            process: Any = types.SimpleNamespace(pid=1, poll=poll)
            guest: Any = types.SimpleNamespace(
                cpu_limit=600, console_limit=100, stop=None, load=None
            )
            return vm.watch(process, vm.Console(self.console), guest)[0], clock.now_s

    def test_spins(self) -> None:
        self.assertEqual(self.watched(1), ("spins", 610))

    def test_spins_on_a_busy_host(self) -> None:
        self.assertEqual(self.watched(0.1), ("spins", 6010))

    def test_ends_on_a_busy_host(self) -> None:
        self.assertEqual(self.watched(0.1, after_s=5500), ("", 5500))

    def test_waits(self) -> None:
        for share in (0, 0.01):
            why, when_s = self.watched(share)
            self.assertEqual(why, "waits")
            self.assertGreaterEqual(when_s, LEAST_S)
            self.assertLess(when_s, suites.SILENT_S)

    def test_waits_for_the_host_only(self) -> None:
        self.assertEqual(self.watched(0.01, after_s=50_000, wanted=1), ("", 50_000))

    def test_panics(self) -> None:
        def panic() -> int | None:
            self.console.write_bytes(b"Kernel panic - not syncing: sysrq\n")
            return None

        why, when_s = self.watched(1, after_s=100, then=panic)
        self.assertEqual(why, "panic")
        self.assertLess(when_s, 200)

    def test_what_steers_a_terminal_is_not_shown(self) -> None:
        self.console.write_bytes(
            b"\x1b[1;31mred\x1b[0m\r\nscarp-error: \x1b]0;title\x07it \x1b]8;;x\x1b\\failed\n"
            b"\x1b[?25l\x1bP1;2|x\xc2\x9b5n\ta\x08b\xff\nscarp: end \x1b]52;c;eA==\x07no drive\n"
        )
        console = vm.Console(self.console)
        for text in (console.tail(), console.end() or ""):
            self.assertTrue(all(c.isprintable() or c == "\n" for c in text), repr(text))
        lines = console.tail().splitlines()
        self.assertEqual(lines[:2], ["red", "scarp-error: it failed"])
        self.assertEqual(len(lines), 4)
        self.assertEqual(console.end(), "no drive")

    def test_a_full_disk(self) -> None:
        folder = Path(tempfile.mkdtemp(dir=self.console.parent))
        qemu = folder / "qemu"
        qemu.write_text("#!/bin/sh\nkill -BUS $$\n")
        qemu.chmod(0o755)
        made: Any = types.SimpleNamespace(binary=qemu, firmware_dir=folder)
        image: Any = types.SimpleNamespace(kernel=qemu, initramfs=qemu)
        found = vm.run_guest(vm.GuestRun(made, image, [], "", folder / "out"))
        self.assertEqual(found.reason, "qemu died")
        self.assertIn("the disk of the results is full", found.console_tail)
        self.assertEqual(list((folder / "out").glob("*.tmp")), [])

    def test_processor_time(self) -> None:
        before = time.process_time()
        while time.process_time() < before + 0.1:
            pass
        low = time.process_time()
        used = vm.cpu_seconds(os.getpid())
        high = time.process_time()
        # The kernel counts it in ticks.
        self.assertGreater(used, low - 0.05)
        self.assertLess(used, high + 0.05)

    def test_processor_time_in_line(self) -> None:
        """What its threads have used, and what they have stood in line for; not one of them."""
        folder = Path(tempfile.mkdtemp(dir=self.console.parent))
        for thread, text in (
            ("7", "2000000000 3000000000 5\n"),
            ("8", "500000000 1500000000 5\n"),
            ("9", ""),  # a kernel that does not count
        ):
            (folder / "7/task" / thread).mkdir(parents=True)
            (folder / "7/task" / thread / "schedstat").write_text(text)
        with (
            mock.patch.object(vm, "PROC", folder),
            mock.patch.object(vm, "cpu_seconds", lambda _: 1.0),
        ):
            self.assertEqual(vm.wanted_seconds(7), 7.0)
            # Nor is it less than what was used.
            self.assertEqual(vm.wanted_seconds(8), 1.0)

    @unittest.skipUnless(Path("/proc/self/schedstat").exists(), "this kernel does not count it")
    def test_two_in_line(self) -> None:
        """Two that share a core want twice what they get, from when both are there."""
        core = min(os.sched_getaffinity(0))
        spin = f"import os\nos.sched_setaffinity(0, [{core}])\nwhile True: pass"
        processes = [subprocess.Popen([sys.executable, "-c", spin]) for _ in range(2)]
        try:
            began = self.when_used([0.3, 0.3], processes)
            ended = self.when_used([used + 0.5 for used, _ in began], processes)
        finally:
            for process in processes:
                process.kill()
                process.wait()
        used = sum(after[0] - before[0] for before, after in zip(began, ended, strict=True))
        wanted = sum(after[1] - before[1] for before, after in zip(began, ended, strict=True))
        self.assertGreater(wanted, 1.5 * used)

    def when_used(
        self, seconds: list[float], processes: list[subprocess.Popen[bytes]]
    ) -> list[tuple[float, float]]:
        """Processor time and wanted time of each, as soon as all have used so much."""
        while True:
            found = [(vm.cpu_seconds(p.pid), vm.wanted_seconds(p.pid)) for p in processes]
            if all(used > least for (used, _), least in zip(found, seconds, strict=True)):
                return found
            time.sleep(0.05)


if __name__ == "__main__":
    unittest.main()
