# SPDX-License-Identifier: GPL-2.0-or-later
"""`make test` and its parts: which suites there are, and how they share the machine."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from scarplib.build import locks
from scarplib.build.cuts import ensure_why
from scarplib.build.host_packages import ensure_packages
from scarplib.build.page_library import ensure_library
from scarplib.build.qemu import QemuBuild, ensure_qemu
from scarplib.build.replayer import ensure_replay
from scarplib.build.venv import ensure_venv
from scarplib.dev import lint, tap, upstream_tests
from scarplib.guest.image import ensure_image
from scarplib.paths import ROOT
from scarplib.reproduce import stale

# A suite that has said nothing for so long hangs: on a busy host it is slow, but it goes on.
SILENT_S = 2700

# More failures of one suite than these are not explained again at the end.
FAILURES_AGAIN = 5


@dataclass(frozen=True)
class Suite:
    """Tests that one command runs."""

    name: str
    command: list[str]
    # Cores that it keeps busy; suites whose sum fits the machine run together.
    cores: int
    environment: dict[str, str] = field(default_factory=dict)


def _suites(qemu: QemuBuild, python: Path) -> list[Suite]:
    scarp = str(ROOT / "scripts" / "scarp")
    return [
        # Those of two cores first: each waits until two are free, and one would be idle meanwhile.
        Suite("guest", [sys.executable, "tests/guest/run.py"], 3),
        Suite("unit", ["sh", "tests/unit/run.sh"], 2),
        # Scenarios that once failed, then for seconds scenarios that follow from the commit.
        Suite("hunt", ["sh", "tests/hunt/run.sh", "test", "12"], 2),
        # Arrays of drives that fail and servers that are killed: what once failed, then fresh ones.
        Suite("hunt-array", ["sh", "tests/hunt-array/run.sh", "test", "4", "checked"], 2),
        Suite("laws", [str(python), "tests/laws/run.py"], 2),
        Suite("reproduce", [scarp, "reproduce", "small", "--cores", "2"], 2),
        Suite("upstream", [scarp, "test-upstream"], 2),
        # Then those of one, roughly the longest first, so that the short ones fill what is left.
        # What README.md and docs/ tell a reader to type, one after the other.
        Suite("docs", [sys.executable, "tests/docs/run.py"], 1),
        Suite("qtest", [sys.executable, "tests/qtest/run.py", "--qemu", str(qemu.binary)], 1),
        Suite("fuzz", ["sh", "tests/fuzz/run.sh", "3"], 1),
        # Built programs as a user runs them, the report in a browser, the pages against both.
        Suite("e2e", [str(python), "tests/e2e/run.py"], 1),
        # The scripts alone, on results that are made up.
        Suite("scripts", [str(python), "tests/scripts/run.py"], 1),
        # Guests on a host that it makes busy itself for half of them: what runs beside it makes it
        # busier, and the bytes must be the same.  `make test-determinism` has more of them, and
        # those that must differ.
        Suite("determinism", [scarp, "determinism", "-n", "4", "--skip-negative"], 1),
        # Guests that are one run until an instant, and what `scarp why` says of it.
        Suite("instant", [str(python), "tests/instant/run.py"], 1),
        # One guest without an operating system, on KVM, on TCG and on virtual time.
        Suite("kvm", [sys.executable, "tests/kvm/run.py", "--qemu", str(qemu.binary)], 1),
        # What patches 0042 to 0046 change: which of a guest's blocks TCG runs next.
        Suite("tcg", [sys.executable, "tests/tcg/run.py", "--qemu", str(qemu.binary)], 1),
        # Python, C, shell, words, licences; the engine and the array with clang.
        Suite("lint", [scarp, "lint"], 1),
        # The SSD array: its core, its simulator, and io_uring where there is one.  It keeps
        # little more than one busy.
        Suite("array", ["sh", "tests/array/run.sh"], 1),
        # NVMe commands without a guest: what once failed, then some sequences of this commit's own.
        Suite(
            "hunt-nvme",
            [sys.executable, "tests/hunt-nvme/run.py", "--qemu", str(qemu.binary), "--test", "10"],
            1,
        ),
    ]


def setup() -> tuple[QemuBuild, Path]:
    """All that the suites need; the guest's packages arrive while QEMU is compiled."""
    # First and alone: both of what follows need them.
    ensure_packages()
    errors: list[BaseException] = []

    def image() -> None:
        try:
            ensure_image()
        except BaseException as error:
            errors.append(error)

    other = threading.Thread(target=image)
    other.start()
    try:
        qemu = ensure_qemu()
    finally:
        other.join()
    if errors:
        raise errors[0]
    ensure_library()
    ensure_replay()
    ensure_why()
    return qemu, ensure_venv()


class Counted(subprocess.Popen[bytes]):
    """A process that knows how much processor time it took, once it was polled to its end.

    That includes what it started and waited for.  A suite that took much less than its cores had
    in its time has left them idle.
    """

    cpu_s = 0.0

    def poll(self) -> int | None:
        """As Popen's."""
        if self.returncode is None:
            pid, status, usage = os.wait4(self.pid, os.WNOHANG)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
                self.cpu_s = usage.ru_utime + usage.ru_stime
        return self.returncode


def ended(
    process: subprocess.Popen[bytes], log: Path, watch: tap.Stopwatch | None = None
) -> tuple[int, str]:
    """A suite's exit status, and why it was stopped, if it was."""
    with log.open(errors="replace") as stream:
        found = _ended(process, stream, watch)
        if watch:
            watch.see(stream.read(), time.monotonic())
    return found


def _ended(
    process: subprocess.Popen[bytes], stream: TextIO, watch: tap.Stopwatch | None
) -> tuple[int, str]:
    grew = time.monotonic()
    while (status := process.poll()) is None:
        if text := stream.read():
            grew = time.monotonic()
            if watch:
                watch.see(text, grew)
        elif time.monotonic() - grew > SILENT_S:
            process.kill()
            while process.poll() is None:
                time.sleep(0.05)
            return 1, f" (stopped: silent for {SILENT_S // 60} minutes)"
        time.sleep(0.2)
    return status, ""


class _Runner:
    def __init__(self, folder: Path, cores: int) -> None:
        self.folder = folder
        self.cores = cores
        self.free = cores
        self.changed = threading.Condition()
        self.counts: dict[str, tap.Count] = {}
        self.watches: list[tap.Stopwatch] = []
        self.took: dict[str, tuple[float, float]] = {}  # seconds, and those of processor time
        self.may_skip = tap.may_skip(ROOT / "tests" / "skips.toml")

    def _say(self, text: str) -> None:
        print(text, flush=True)

    def _run(self, suite: Suite, cores: int) -> None:
        log = self.folder / f"{suite.name}.log"
        began = time.monotonic()
        watch = tap.Stopwatch(suite.name, began)
        cpu_s = 0.0
        try:
            with log.open("wb") as stream:
                process = Counted(
                    suite.command,
                    cwd=ROOT,
                    stdin=subprocess.DEVNULL,
                    stdout=stream,
                    stderr=subprocess.STDOUT,
                    env={**os.environ, **suite.environment},
                )
            status, reason = ended(process, log, watch)
            cpu_s = process.cpu_s
        except OSError as error:
            status, reason = 1, f" ({error})"
        count = tap.count(log.read_text(errors="replace"), status, suite.name)
        tap.judge_skips(count, self.may_skip)
        with self.changed:
            self.counts[suite.name] = count
            self.watches.append(watch)
            seconds = time.monotonic() - began
            self.took[suite.name] = seconds, cpu_s
            self._say(
                f"# {suite.name}: {count.passed} passed, {count.failed} failed"
                f"{f', {count.skipped} skipped' if count.skipped else ''}, "
                f"{seconds:.0f} s, {cpu_s:.0f} s of processor time{reason}"
            )
            if count.failed:
                for failure in count.failures:
                    self._say(f"#   FAILED {failure}")
                for line in log.read_text(errors="replace").splitlines()[-30:]:
                    self._say(f"#   | {line}")
            self.free += cores
            self.changed.notify_all()

    def run(self, suites: list[Suite]) -> None:
        waiting = list(suites)
        threads: list[threading.Thread] = []
        with self.changed:
            while waiting:
                # Ask for no more than there is, or a small machine would wait for ever.
                fitting = next((s for s in waiting if min(s.cores, self.cores) <= self.free), None)
                if not fitting:
                    self.changed.wait()
                    continue
                waiting.remove(fitting)
                cores = min(fitting.cores, self.cores)
                self.free -= cores
                self._say(f"# {fitting.name}: started")
                thread = threading.Thread(target=self._run, args=(fitting, cores))
                thread.start()
                threads.append(thread)
        for thread in threads:
            thread.join()


def failures_again(folder: Path, counts: dict[str, tap.Count]) -> list[str]:
    """Each failure with what its suite said beside it.

    Whoever is shown only the end of a long output must find there what failed, and why.
    """
    out: list[str] = []
    for suite, count in counts.items():
        if count.failures:
            text = (folder / f"{suite}.log").read_text(errors="replace")
        for failure in count.failures[:FAILURES_AGAIN]:
            out.append(f"FAILED {failure}")
            out += [f"  | {line[:160]}" for line in tap.around(text, failure)]
        if more := count.failures[FAILURES_AGAIN:]:
            out.append(f"FAILED {suite}: {len(more)} more")
    return out


def times(seconds: float, took: dict[str, tuple[float, float]]) -> str:
    """A line near the end, as failures are: whoever sees only that knows what took how long."""
    longest = sorted(took.items(), key=lambda each: each[1][1], reverse=True)
    suites = ", ".join(f"{name} {wall:.0f} ({cpu:.0f})" for name, (wall, cpu) in longest)
    return f"{seconds:.0f} s in all; of each suite, with its processor time: {suites}"


def test() -> int:
    """`make test`: 0 if every suite passed."""
    began = time.monotonic()
    qemu, python = setup()
    print(f"# set-up: {time.monotonic() - began:.0f} s", flush=True)
    folder = ROOT / "out" / "test"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    runner = _Runner(folder, os.cpu_count() or 1)
    runner.run(_suites(qemu, python))
    passed = sum(count.passed for count in runner.counts.values())
    failed = sum(count.failed for count in runner.counts.values())
    print(f"# each suite's output is in {folder.name}/")
    print("# slowest, as the time since their suite's test before:")
    for line in [*tap.slowest(runner.watches), *locks.report()]:
        print(f"# {line}")
    skips = [skip for count in runner.counts.values() for skip in count.skips]
    for skip in skips:
        print(f"# skipped: {skip}")
    for line in stale.older():
        print(f"# {line}")
    for line in failures_again(folder, runner.counts):
        print(f"# {line}")
    print(f"# {times(time.monotonic() - began, runner.took)}")
    print(f"{len(skips)} skipped")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


def main(command: str, only: Sequence[str] = ()) -> int:
    """One command: all suites, one of them (or `only` some of its tests), the set-up, or lint."""
    if command == "test":
        return test()
    if command == "setup":
        setup()
        return 0
    if command == "lint":
        return lint.main()
    if command == "test-upstream":
        return upstream_tests.main()
    qemu, python = setup()
    suite = next(s for s in _suites(qemu, python) if f"test-{s.name}" == command)
    return subprocess.run([*suite.command, *only], cwd=ROOT, check=False).returncode
