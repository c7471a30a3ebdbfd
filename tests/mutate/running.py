# SPDX-License-Identifier: GPL-2.0-or-later
"""Names and runs single tests, each a process that may use so much and no more."""

from __future__ import annotations

import contextlib
import math
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from trees import Build

FILE_BYTES = 1 << 30
TOO_LONG = "takes too long"


@dataclass(frozen=True)
class Test:
    program: str
    kind: str
    name: str
    cpu_s: float  # unchanged, where lines are counted


def environment(libraries: list[Path], tree: Path) -> dict[str, str]:
    return {
        **os.environ,
        "G_TEST_SRCDIR": str(tree / "tests/qtest"),
        "LD_LIBRARY_PATH": ":".join(str(library.parent) for library in libraries),
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def names(kind: str, program: Path, libraries: list[Path], tree: Path) -> list[str]:
    """Of the tests of a program."""
    if kind == "hunt":
        return sorted(path.name for path in (tree / "tests/hunt/corpus").glob("*.hunt"))
    if kind == "simulator":
        return re.findall(
            r"^def (test_\w+)", (tree / "tests/array/test_sim.py").read_text(), re.MULTILINE
        )
    command: list[str | Path] = [program, "-l"]
    if kind == "qtest":
        command = [sys.executable, tree / "tests/qtest/run.py", "--qemu", program, "--list"]
    done = subprocess.run(
        command, env=environment(libraries, tree), capture_output=True, text=True, check=False
    )
    if done.returncode == 77:  # the kernel has no io_uring, say
        return []
    if done.returncode:
        raise SystemExit(f"{program.name} does not name its tests: {done.stderr}")
    lines = done.stdout.splitlines()
    if kind == "qtest":
        return lines
    # As tests/test-names.sh: newer releases of GLib list them as comments.
    return [name for line in lines if (name := line.removeprefix("# ")).startswith("/")]


def _command(test: Test, program: Path, tree: Path, cpu_s: float) -> list[str | Path]:
    if test.kind == "hunt":
        limit = str(math.ceil(cpu_s))
        return [program, "--limit", limit, "--replay", tree / "tests/hunt/corpus" / test.name]
    if test.kind == "simulator":
        return [sys.executable, tree / "tests/array/test_sim.py", program, test.name]
    if test.kind == "qtest":
        return [sys.executable, tree / "tests/qtest/run.py", "--qemu", program, test.name]
    return [program, "-q", "-p", test.name]


def run_test(
    test: Test, program: Path, libraries: list[Path], tree: Path, cpu_s: float, build: Build
) -> tuple[str, bool]:
    """What went wrong, or empty; and whether it waited without end, which is nobody's fault."""

    def limits() -> None:
        # Of CPU time; it goes on through exec, and ends the test by SIGPROF.  Its children
        # have the other one, which counts whole seconds.
        signal.setitimer(signal.ITIMER_PROF, cpu_s)
        each = math.ceil(cpu_s) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (each, each + 2))
        resource.setrlimit(resource.RLIMIT_AS, (build.memory_bytes, build.memory_bytes))
        resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_BYTES, FILE_BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    scratch = Path(tempfile.mkdtemp(prefix="mutate-"))  # the paths of sockets are short
    # What is not initialised is seen; a QEMU takes memory by the MiB.
    perturbed = {} if test.kind == "qtest" else {"MALLOC_PERTURB_": "165"}
    child = subprocess.Popen(
        _command(test, program, tree, cpu_s),
        env={**environment(libraries, tree), **perturbed, "TMPDIR": str(scratch)},
        cwd=scratch,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=limits,
    )
    try:
        status = child.wait(300 + 40 * cpu_s)
    except subprocess.TimeoutExpired:
        return "waits", True
    finally:
        # Whatever it has left behind, too.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        shutil.rmtree(scratch, ignore_errors=True)
    if status in (-signal.SIGPROF, -signal.SIGXCPU):
        return TOO_LONG, False
    if status < 0 and status != -signal.SIGABRT:
        return signal.Signals(-status).name, False
    return ("fails" if status else ""), False
