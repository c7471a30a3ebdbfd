# SPDX-License-Identifier: GPL-2.0-or-later
"""`make bench-realtime ARGS=--guest`: how much longer a read takes in a guest than in the model.

One guest on TCG and on the host's clock has two drives: the flash device, and QEMU's own nvme
whose reads take no time.  fio reads from one, then from the other.  What it measures on the second
is what guest and QEMU need for any read.
"""

from __future__ import annotations

import shutil
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from scarplib.device_logs import log_page
from scarplib.device_logs.command_log import READ, read_commands
from scarplib.device_logs.lateness_log import completions
from scarplib.device_logs.log_file import LogError
from scarplib.errors import UserError
from scarplib.guest import realtime, vm
from scarplib.guest.host_load import host_ticks
from scarplib.guest.job import environment, get_stats
from scarplib.paths import DEVICES, FIO_JOBS, OUT
from scarplib.results.fio import load_fio
from scarplib.results.fio_figures import figures
from scarplib.runs import at_once, run

AGE = 900
# The guest finds both by their serial numbers.
STOCK = (
    *("-blockdev", f"null-co,node-name=null0,size={1 << 30},read-zeroes=on"),
    *("-device", "nvme,serial=scarp1,drive=null0"),
)


class Round(NamedTuple):
    """Means of 4 KiB reads at depth 1, in ns."""

    reads: int
    # On the flash device: fio's; what the model wanted; their difference; the drive's lateness.
    given: float
    model: float
    error: float
    late: float
    # fio's on stock nvme, whose reads take no time: its overhead.  What the error has beyond it.
    stock: float
    beyond: float


COLUMNS = ("fio", "model", "error", "of it lateness", "stock nvme", "error - stock")


def task_text(rounds: int, seconds: int) -> str:
    """The guest's script; in round 0, which is not counted, QEMU translates the guest's code."""
    lines = ["set -e", *environment(AGE), f"export SCARP_SECONDS={seconds}"]
    fio = "fio --output-format=json+ --eta=never /scarp/job.fio --output=/results"
    for number in range(rounds + 1):
        lines += [
            get_stats(f"begin-{number}", realtime=True),
            f"SCARP_DEV=$SCARP_DEV0 {fio}/flash-{number}.json",
            get_stats(f"end-{number}", realtime=True),
            f"SCARP_DEV=$SCARP_DEV1 {fio}/stock-{number}.json",
        ]
    return "\n".join(lines) + "\n"


def _fio(path: Path) -> tuple[int, float]:
    """How many reads, and their mean."""
    found = figures(load_fio(path).jobs, "read")
    if not found:
        raise LogError(f"{path}: no reads")
    return found["count"], found["mean_ns"]


def _mean(log: Path, reads: Sequence[tuple[int, int]], window: tuple[int, int], n: int) -> float:
    """Of a log's reads in that time."""
    chosen = [value for at, value in reads if window[0] <= at <= window[1]]
    if len(chosen) != n:
        raise LogError(f"{log}: {len(chosen)} reads, but fio made {n}")
    return statistics.fmean(chosen)


def read_rounds(folder: Path, results: Path, rounds: int) -> list[Round]:
    """The drive's logs beside fio's results; a LogError if these are not of the same reads."""
    cmd, late = folder / "cmd.bin", folder / "late.bin"
    commands = read_commands(cmd)
    starts = (commands.submit[i] for i in commands.indices(READ))
    wanted = list(zip(starts, commands.latencies(READ), strict=True))
    lateness = [(c.submit, c.late_ns) for c in completions(late) if c.op == READ and not c.part]
    found = []
    for number in range(1, rounds + 1):
        count, given = _fio(results / f"flash-{number}.json")
        begin = log_page.read(results / f"begin-{number}.bin").now_ns
        window = (begin, log_page.read(results / f"end-{number}.bin").now_ns)
        model = _mean(cmd, wanted, window, count)
        behind = _mean(late, lateness, window, count)
        stock, error = _fio(results / f"stock-{number}.json")[1], given - model
        found.append(Round(count, given, model, error, behind, stock, error - stock))
    return found


def table(rounds: Sequence[Round]) -> str:
    """The last row has each column's median, so that a few rounds on a busy host do not matter."""
    rows = [r[1:] for r in rounds]
    rows.append(tuple(map(statistics.median, zip(*rows, strict=True))))
    names = [*(f"{r.reads:,} reads" for r in rounds), "median"]
    lines = [f"{'means in µs':<16}{''.join(f'{title:>16}' for title in COLUMNS)}"]
    for name, row in zip(names, rows, strict=True):
        lines.append(f"{name:<16}{''.join(f'{value / 1000:16.1f}' for value in row)}")
    return "\n".join(lines)


def measure(folder: Path, rounds: int, seconds: int) -> list[Round]:
    """One guest with both drives."""
    qemu, image = run.prepare()
    real = realtime.RealTime(
        "tcg", priority=realtime.usual_priority(1), idle=realtime.usual_idle(1, 1)
    )
    drive = realtime.on_clock(real, vm.FlashDrive(DEVICES / "demo.ini", age=AGE), folder=folder)
    drive.cmd_log = folder / "cmd.bin"
    result = vm.run_guest(
        vm.GuestRun(
            qemu=qemu,
            image=image,
            drives=[drive],
            task=task_text(rounds, seconds),
            files={"job.fio": FIO_JOBS / "read-latency.fio"},
            accel=real.accel,
            idle_poll=real.idle == "poll",
            # For booting, and then a core for each of its threads.
            cpu_limit=240 + 6 * (rounds + 1) * seconds,
            out=folder,
            extra_args=list(STOCK),
        )
    )
    if problem := at_once.guest_failure("read-latency", result):
        raise UserError(problem)
    assert result.results
    try:
        return read_rounds(folder, result.results, rounds)
    except LogError as error:
        raise UserError(str(error)) from error


def main(rounds: int, seconds: int) -> int:
    """Print each round, and the medians."""
    folder = OUT / "bench-realtime"
    shutil.rmtree(folder, ignore_errors=True)
    before = host_ticks()
    found = measure(folder, rounds, seconds)
    after = host_ticks()
    stolen = (after.stolen - before.stolen) / max(after.all - before.all, 1)
    print(f"4 KiB reads at depth 1, TCG, stolen {100 * stolen:.1f} %", table(found), sep="\n")
    return 0
