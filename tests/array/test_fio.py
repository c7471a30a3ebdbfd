#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The array as fio's engine: test_fio.py FIO_SOURCES, configured, of the version of fio in PATH.

`make test-array` runs it when FIO_SOURCES is set, and says that it is skipped otherwise.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

TOP = Path(__file__).resolve().parents[2]
BUILD = TOP / "guest" / "array" / "uring" / "build.sh"
DRIVE_BYTES = (1 << 20) + 256 * 65536


class Bench:
    def __init__(self, work: Path, fio: Path) -> None:
        self.work = work
        subprocess.run(["sh", str(BUILD), str(work), str(fio)], check=True)
        self.drives = [work / f"drive{number}" for number in range(3)]
        for drive in self.drives:
            drive.touch()
            os.truncate(drive, DRIVE_BYTES)

    def format(self, *options: str) -> subprocess.CompletedProcess[str]:
        command = [str(self.work / "array-format"), *options, *map(str, self.drives)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def fio(self, *options: str) -> subprocess.CompletedProcess[str]:
        command = [
            *("fio", "--name=array", f"--ioengine=external:{self.work / 'array-fio.so'}"),
            *("--drives=" + ":".join(map(str, self.drives)), "--output-format=json"),
            *("--keys=cache_bytes=3145728", "--iodepth=64", *options),
        ]
        return subprocess.run(
            command, capture_output=True, text=True, check=False, cwd=self.work, timeout=900
        )


def _job(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.returncode == 0, done.stdout + done.stderr
    job: dict[str, Any] = json.loads(done.stdout[done.stdout.index("{") :])["jobs"][0]
    return job


def test_refused_without_labels(bench: Bench) -> None:
    done = bench.fio("--rw=read", "--size=1M")
    assert done.returncode
    assert "has no label of an array" in done.stdout + done.stderr
    assert bench.format("--nonsense").returncode == 1
    assert bench.format().returncode == 0
    again = bench.format()
    assert again.returncode == 1
    assert again.stderr.count("\n") == 1
    assert "--force makes a new one" in again.stderr


def test_verify(bench: Bench) -> None:
    # Blocks of all sizes, some not of whole pages, with flushes between them.
    job = _job(
        bench.fio(
            *("--rw=randwrite", "--bsrange=512-64k", "--size=48M", "--fsync=500"),
            *("--verify=crc32c", "--verify_fatal=1", "--end_fsync=1"),
        )
    )
    assert job["error"] == 0
    assert job["read"]["io_bytes"] > 40 << 20


def test_verify_in_another_process(bench: Bench) -> None:
    options = ("--rw=randwrite", "--bs=4k", "--size=48M", "--verify=crc32c", "--randseed=7")
    _job(bench.fio(*options, "--do_verify=0"))
    job = _job(bench.fio(*options, "--verify_only", "--verify_fatal=1"))
    assert job["error"] == 0
    assert job["read"]["total_ios"] == (48 << 20) // 4096


def test_unaligned(bench: Bench) -> None:
    job = _job(bench.fio("--rw=randwrite", "--bs=128", "--size=48M", "--io_size=2M"))
    assert job["write"]["total_ios"] == 16384


def test_mixed(bench: Bench) -> None:
    job = _job(bench.fio("--rw=randrw", "--rwmixread=40", "--bs=4k", "--size=48M"))
    assert job["read"]["total_ios"] + job["write"]["total_ios"] == (48 << 20) // 4096


def test_one_job_at_a_time(bench: Bench) -> None:
    # Long enough that the other one, which waits a second for the drives, gives up.
    done = bench.fio("--rw=read", "--size=1M", "--numjobs=2", "--time_based", "--runtime=20")
    assert done.returncode
    assert "is in use" in done.stdout + done.stderr


def test_bad_keys(bench: Bench) -> None:
    done = bench.fio("--rw=read", "--size=1M", "--keys=slot=3")
    assert done.returncode
    assert "slot: no such key" in done.stdout + done.stderr


TESTS = (
    test_refused_without_labels,
    test_verify,
    test_verify_in_another_process,
    test_unaligned,
    test_mixed,
    test_one_job_at_a_time,
    test_bad_keys,
)


def main() -> int:
    if len(sys.argv) != 2 or not (Path(sys.argv[1]) / "config-host.h").exists():
        print("test_fio.py: FIO_SOURCES: a folder with fio's sources, configured", file=sys.stderr)
        return 1
    failed = 0
    with tempfile.TemporaryDirectory() as work:
        bench = Bench(Path(work), Path(sys.argv[1]).resolve())
        for number, test in enumerate(TESTS, 1):
            try:
                test(bench)
                print(f"ok {number} {test.__name__}", flush=True)
            except AssertionError as error:
                failed += 1
                print(f"not ok {number} {test.__name__}: {error}", flush=True)
    print(f"1..{len(TESTS)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
