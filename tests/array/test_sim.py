#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""scarp-array on small drives: the same bytes every time, every mode comes to rest, bad input."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
DRIVE = HERE / "small.ini"
PROGRAM = Path(sys.argv[1]).resolve()
SMALL = ("-n", "3", "-r", "4000", "--warmup", "1000", "-k", "cache_bytes=2097152")


def _run(*options: str) -> subprocess.CompletedProcess[str]:
    command = [str(PROGRAM), "-d", str(DRIVE), *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def _result(*options: str) -> dict[str, Any]:
    done = _run(*SMALL, *options)
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def test_the_same_options_give_the_same_bytes() -> None:
    for mode in ("independent", "striped", "cached", "flusher"):
        outputs = {_run(*SMALL, "-m", mode).stdout for _ in range(2)}
        assert len(outputs) == 1, mode
        assert _run(*SMALL, "-m", mode, "--seed", "2").stdout not in outputs, mode


def test_every_mode_and_workload_comes_to_rest() -> None:
    for mode in ("independent", "striped", "cached", "flusher"):
        for workload in ("uniform", "zipf"):
            for reads in ("0", "400", "1000"):
                made = _result("-m", mode, "-w", workload, "--read-permille", reads)
                assert made["requests"] == 4000, (mode, workload, reads)
                measured = made["read_latency"]["n"] + made["write_latency"]["n"]
                # Those that were under way when the warm-up ended are not.
                assert 4000 - 3 * 32 <= measured <= 4000, measured
                assert made["ns"] > 0


def test_drives_collect() -> None:
    assert all(drive["gc_runs"] for drive in _result("-m", "flusher")["per_drive"])


def test_the_flusher_is_what_differs() -> None:
    off = _result("-m", "cached")["array"]
    on = _result("-m", "flusher")["array"]
    assert off["written_low"] == off["flush_requests"] == 0
    assert off["evicted_dirty"] > 0
    assert on["written_low"] > 0
    discarded = sum(on[f"discarded_{why}"] for why in ("evicted", "cleaned", "score"))
    assert on["written_low"] + discarded <= on["flush_requests"] + on["flush_pending_max"]


def test_parts_of_pages_are_read_first() -> None:
    whole = _result("-m", "flusher")["array"]
    parts = _result("-m", "flusher", "--request-bytes", "128")["array"]
    assert whole["read"] == 0
    assert parts["read"] > 0


def test_barriers() -> None:
    made = _result("-m", "flusher", "--barrier-every", "100")
    # 4000 requests, one barrier in a hundred of each thread's; some cross the measurement's ends.
    assert 30 <= made["barrier_latency"]["n"] <= 40, made["barrier_latency"]
    assert made["barrier_latency"]["p50_ns"] > 750_000  # a program, at least
    assert made["array"]["barrier_writes"] > 0
    assert made["array"]["drive_flushes"] > 0


def test_turns() -> None:
    plain = _result("-m", "flusher")
    modes = [
        _result("-m", "coordinated", "--turn-us", "20000", *more)
        for more in ((), ("--turn-drives", "3"), ("--turn-free-blocks", "6"))
    ]
    for made in modes:
        assert made["requests"] == 4000
        assert all(drive["gc_runs"] for drive in made["per_drive"])
    told = [[drive["gc_runs"] for drive in made["per_drive"]] for made in (plain, *modes)]
    assert len({tuple(runs) for runs in told}) == len(told), told
    # What is asked of drives has ended with the run: each came to rest, and kept the laws.
    outputs = {_run(*SMALL, "-m", "coordinated").stdout for _ in range(2)}
    assert len(outputs) == 1


def test_synchronous_threads() -> None:
    made = _result("-m", "flusher", "--threads", "5", "--depth", "1")
    assert made["write_latency"]["n"] >= 4000 - 5


def test_images_change_nothing() -> None:
    with tempfile.TemporaryDirectory() as folder:
        plain = _run(*SMALL).stdout
        first = _run(*SMALL, "--images", folder).stdout
        assert len(list(Path(folder).iterdir())) == 3
        again = _run(*SMALL, "--images", folder).stdout
        assert plain == first == again
        # A drive that was aged otherwise is another one.
        _run(*SMALL, "--images", folder, "--fill-permille", "500")
        assert len(list(Path(folder).iterdir())) == 6


def test_a_recorded_core_decides_the_same_again() -> None:
    """Asked the same; and a record that was changed anywhere is another one."""
    with tempfile.TemporaryDirectory() as name:
        record = Path(name) / "record"
        options = ("--read-permille", "300", "--request-bytes", "1024", "--barrier-every", "100")
        plain = _run(*SMALL, *options).stdout
        recorded = _run(*SMALL, *options, "--record", str(record))
        assert recorded.stdout == plain
        done = _run("--replay", str(record))
        assert done.returncode == 0, done.stderr
        made = json.loads(done.stdout)
        # The requests, the warm-up, barriers, and the last flush.
        assert made["requests"] > 5001
        assert made["array"]["written_low"] > 0
        assert made["late"] == 0
        assert made["gc_runs"] > 0
        # Drives that never collect are done earlier, and that changes no decision.
        assert _run("--replay", str(record), "--fresh").returncode == 0
        lines = record.read_text().splitlines(keepends=True)
        at = next(n for n, line in enumerate(lines) if line.startswith("i w 1"))
        asked = next(n for n in range(at, len(lines)) if lines[n][0] in "SD")
        ended = next(n for n, line in enumerate(lines) if line.startswith("D "))
        late = re.sub(r"D \d+", f"D {2**63 - 1}", lines[ended])
        header = lines[0].replace("dirty_pages=6", "dirty_pages=5")
        for changed, line in (
            ([*lines[:at], *lines[at + 1 :]], "the core decided '"),
            ([*lines[:at], lines[at], *lines[at:]], "the core decided '"),
            ([*lines[:at], lines[at].replace("i w 1", "i w 0"), *lines[at + 1 :]], "'i w 0 "),
            ([header, *lines[1:]], "the core decided '"),
            ([*lines[:at], lines[at][:-1]], "the record ends in the middle of a line"),
            (lines[:asked], "at the record's end the core is not at rest"),
            (lines[1:], "not a record of the array's core"),
            ([lines[0].replace("\n", " more\n")], "not a record of the array's core"),
            ([lines[0], *lines[at:]], f"the core decided '{lines[at].strip()}' there and 'nothing"),
            ([*lines[:1], "S 1 x 0 0 4096\n"], "'S 1 x 0 0 4096': not a request"),
            ([*lines[:1], "S 1 r 0 0 4096 more\n"], "'S 1 r 0 0 4096 more': not a request"),
            ([*lines[:1], f"S {2**63 - 1} r 0 0 4096\n"], "': its time must be at most "),
            ([*lines[:1], f"S {2**64} r 0 0 4096\n"], "': its time must be at most "),
            ([*lines[:ended], late], "': its time must be at most "),
            ([*lines[:ended], f"{late.strip()} more\n"], "more': not an end of I/O"),
            ([*lines[:1], "D 1 0 0 0\n"], "'D 1 0 0 0': no such I/O is under way"),
            ([*lines[:1], "D 1 9 0 0\n"], "'D 1 9 0 0': not an end of I/O"),
            ([*lines[:1], "x\n"], "'x': must begin with S, D, i or e"),
            ([lines[0].replace(" 3 12845056", " 3 99328000000")], "drives of 99328000000 bytes"),
        ):
            record.write_text("".join(changed))
            done = _run("--replay", str(record))
            assert (done.returncode, done.stdout) == (1, ""), line
            assert done.stderr.count("\n") == 1, done.stderr
            assert line in done.stderr, (line, done.stderr)


REFUSED = (
    (("--replay", "/nonexistent"), "--replay: /nonexistent: No such file"),
    (("--replay", "/"), "--replay: /: Is a directory"),
    (("--replay", "x", "-m", "flusher"), "--mode: excludes --replay"),
    (("--replay", "x", "-r", "5"), "--requests: excludes --replay"),
    # A value that is the usual one has as little effect.
    (("--replay", "x", "-n", "6"), "--drives: excludes --replay"),
    (("--replay", "x", "--warmup", "-1"), "--warmup: excludes --replay"),
    (("--replay", "x", "--record", "y"), "--record: excludes --replay"),
    (("--record", "x", "-m", "striped"), "--record: needs --mode=cached, flusher or coord"),
    ((*SMALL, "--record", "/dev/full"), "--record: /dev/full: No space left on device"),
    (("--record", "/nonexistent/x"), "--record: /nonexistent/x: No such file"),
    (("-n", "0"), "--drives=0: must be from 1 to 256"),
    (("-m", "raid"), "--mode=raid: allowed: independent, striped, cached, flusher, coordinated"),
    (("-w", "pareto"), "--workload=pareto: allowed: uniform, zipf"),
    (("-k", "slot=1"), "--keys: slot: no such key; allowed: page_bytes,"),
    (("-k", "set_pages=12,dirty_pages=12"), "--keys: dirty_pages=12: must be less than set_pages"),
    (("--request-bytes", "0"), "--request-bytes=0: must be from 1 to 65536"),
    (("--request-bytes", "3000"), "--request-bytes=3000: must divide page_bytes, 4096"),
    (("--request-bytes", "128", "-m", "striped"), "--request-bytes=128: drives take multiples"),
    (
        ("--barrier-every", "5", "-m", "striped"),
        "--barrier-every: needs --mode=cached, flusher or coord",
    ),
    (("--turn-drives", "7", "-m", "coordinated"), "--turn-drives=7: must be at most --drives=6"),
    (("--turn-us", "9"), "--turn-us=9: must be from 10 to"),
    (("--turn-us", "10"), "--turn-us: needs --mode=coordinated"),
    (("--drive-slots", "8", "-m", "cached"), "--drive-slots: needs --mode=independent or striped"),
    (("--fresh", "--images", "x"), "--images: excludes --fresh"),
    (("-k", "flusher=0"), "--keys: flusher: 1 with --mode=flusher"),
    (("-k", "flusher=1", "-m", "cached"), "--keys: flusher: 0 with --mode=cached"),
    (("--threads", "4", "-m", "independent"), "--threads=4: must be a multiple of --drives=6"),
    (("--fill-permille", "1001"), "--fill-permille=1001: must be from 1 to 1000"),
    (("-s", "nonsense"), "nonsense"),
    (("-o", "gc.nonsense=1"), "nonsense"),
    (("extra",), "extra: no such argument"),
)


def test_bad_input_is_one_line() -> None:
    for options, line in REFUSED:
        done = _run(*options)
        assert done.returncode == 1, options
        assert done.stdout == "", options
        assert done.stderr.count("\n") == 1, done.stderr
        assert line in done.stderr, (options, done.stderr)
    done = subprocess.run([str(PROGRAM)], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "scarp-array: --description=FILE: must be given\n"


def test_results_that_cannot_be_written() -> None:
    with open("/dev/full", "w", encoding="utf-8") as full:  # noqa: PTH123
        command = [str(PROGRAM), "-d", str(DRIVE), *SMALL]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert "cannot be written" in done.stderr


def test_results_are_written_in_place() -> None:
    """A link, or a device such as /dev/null, is not replaced by a file."""
    with tempfile.TemporaryDirectory() as name:
        file, link = Path(name) / "file", Path(name) / "link"
        file.touch()
        link.symlink_to(file)
        done = _run(*SMALL, "--json", str(link))
        assert (done.returncode, done.stdout) == (0, ""), done.stderr
        assert link.is_symlink()
        assert json.loads(file.read_text())["requests"] == 4000
        none = _run(*SMALL, "--json", str(Path(name) / "no" / "file"))
        assert none.returncode == 1
        assert "cannot be written" in none.stderr


def test_what_is_read_is_not_written() -> None:
    """By whatever name: it would be gone."""
    with tempfile.TemporaryDirectory() as name:
        drive, link, record = (Path(name) / x for x in ("drive.ini", "link", "record"))
        drive.write_text(DRIVE.read_text())
        link.symlink_to(drive)
        made = _run(*SMALL, "--record", str(record))
        assert made.returncode == 0, made.stderr
        before = drive.read_bytes(), record.read_bytes()
        for option, path, words in (
            ("--json", link, SMALL),
            ("--record", link, SMALL),
            ("--json", record, ("--replay", str(record))),
        ):
            done = _run("-d", str(drive), *words, option, str(path))
            assert done.returncode == 1, (option, path)
            assert f"{option}={path}: is also --" in done.stderr, done.stderr
            assert (drive.read_bytes(), record.read_bytes()) == before, (option, path)
        done = _run(*SMALL, "--record", str(record), "--json", str(record))
        assert done.returncode == 1
        assert record.read_bytes() == before[1]


def test_every_key_of_the_array_is_listed() -> None:
    done = _run("--list")
    names = [line.split()[0] for line in done.stdout.splitlines()]
    assert done.returncode == 0
    assert "stale_score" in names
    # And each of them does something, or is told apart by the core's tests.
    assert len(names) == len(set(names)) == 13


def test_threads_that_cost_no_time() -> None:
    """One synchronous thread: what is not a request's time is its own, and may be nothing."""
    for host_ns in (0, 2000):
        options = ("-m", "striped", "--threads", "1", "--depth", "1", "--host-ns", str(host_ns))
        made = _result(*options)
        requests = made["write_latency"]["n"]
        own = made["ns"] - requests * made["write_latency"]["mean_ns"]
        # The mean is rounded: by less than a nanosecond for each request.
        assert abs(own - requests * host_ns) < requests, (host_ns, own)


def test_without_an_array_requests_are_spread() -> None:
    """Over all pages that a drive was filled with: those of a few pages would need no copies."""
    for mode in ("independent", "striped"):
        for drive in _result("-m", mode)["per_drive"]:
            # Written anywhere, each block that is collected still has pages that are valid.
            assert drive["write_amplification_milli"] > 1500, (mode, drive)


ONLY = sys.argv[2:]
TESTS: list[Callable[[], None]] = [
    value
    for name, value in list(globals().items())
    if name.startswith("test_") and (not ONLY or name in ONLY)
]


def main() -> int:
    failed = 0
    for number, test in enumerate(TESTS, 1):
        try:
            test()
            print(f"ok {number} {test.__name__}", flush=True)
        except Exception:
            failed += 1
            print(f"not ok {number} {test.__name__}", flush=True)
            print("".join(f"# {line}\n" for line in traceback.format_exc().splitlines()), end="")
    print(f"1..{len(TESTS)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
