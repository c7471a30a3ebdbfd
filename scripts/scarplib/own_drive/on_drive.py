# SPDX-License-Identifier: GPL-2.0-or-later
"""The plan on a block device: each step by scarp-requests, which times each request."""

from __future__ import annotations

import argparse
import contextlib
import os
import platform
import signal
import subprocess
import sys
import time
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from scarplib.build.requests import ensure_requests
from scarplib.errors import UserError
from scarplib.own_drive import features, safety
from scarplib.own_drive.plan import FLUSH, MIB, READ, TRIM, WRITE, Plan, Row, Step
from scarplib.own_drive.probe_file import Probe, Result, load, result

_KINDS = {READ: 0, WRITE: 1, TRIM: 2, FLUSH: 3}
MINUTES = 30
DEVICE_MIB = 2048


def packed(rows: list[Row]) -> bytes:
    """As scarp-requests reads them."""
    words = array("q")
    for at, kind, offset, size in rows:
        # Two u32 in one i64.
        words.extend((at, offset, size | _KINDS[kind] << 32))
    return words.tobytes()


@dataclass
class OnDrive:
    """A device, and until when."""

    program: Path
    target: safety.Target
    ends: float
    written: int = 0

    def run(self, step: Step) -> Result | None:
        """One step; None if there is no time for it."""
        rows = list(step.rows())
        left = self.ends - time.monotonic()
        # What is timed says itself how long it takes.
        if left <= max(row[0] for row in rows) / 1e9:
            return None
        words = [str(one) for one in (self.program, self.target.fd, step.depth or 0, os.getpid())]
        try:
            done = subprocess.run(
                words,
                input=packed(rows),
                capture_output=True,
                check=False,
                timeout=left,
                pass_fds=(self.target.fd,),
            )
        except subprocess.TimeoutExpired:
            return None
        if done.returncode:
            raise UserError(done.stderr.decode().strip().removeprefix("scarp-requests: "))
        self.written += sum(row[3] for row in rows if row[1] == WRITE)
        times = array("q", done.stdout)
        return result(rows, times[0::2], times[1::2], each=step.each, closed=step.depth is not None)


def probe(
    drive: OnDrive,
    found: Probe,
    *,
    held_out: bool,
    keep: Callable[[Probe], None],
    say: Callable[[str], None],
) -> None:
    """What of the plan `found` has not got yet, kept after each step."""
    plan = Plan(found.span, found.seed)
    gone_on = bool(found.results)

    def do(steps: list[Step], first: int, count: int) -> None:
        for number, step in enumerate(steps, first):
            if step.name in found.results:
                continue
            say(f"{number} of about {count}: {step.name}")
            done = drive.run(step)
            found.left_out = [name for name in found.left_out if name != step.name]
            if done is None:
                found.left_out.append(step.name)
                say(f"left out: {step.name}: no time is left for it")
            else:
                found.results[step.name] = done
            found.source["written_bytes"] = drive.written
            keep(found)

    first = plan.first()
    count = len(first) + 11 + 4 * held_out
    if gone_on:
        say(f"going on: {len(found.results)} steps are done")
    do(first, 1, count)
    if any(name in found.left_out for name in features.FIRST):
        say("the rest is left out: it needs what the first part shows")
        return
    if not found.known:
        found.known = features.known(found)
    second = plan.second(found.known) + (plan.held_out() if held_out else [])
    do(second, len(first) + 1, count)


def main(options: argparse.Namespace) -> int:
    """`scarp probe DEVICE`."""
    # Before anything is checked: what is built, or fetched to build it, takes minutes.
    program = ensure_requests()
    target = safety.target(options.drive, options.destroy)
    try:
        safety.past_the_cache(target)
        with _ended_in_order():
            return _probe(options, program, target)
    finally:
        os.close(target.fd)


@contextlib.contextmanager
def _ended_in_order() -> Iterator[None]:
    """Who ends the program, or closes its terminal, ends it as Ctrl-C does."""
    before = {one: signal.getsignal(one) for one in (signal.SIGTERM, signal.SIGHUP)}
    # Of nohup, say: it stays ignored.
    before = {one: action for one, action in before.items() if action != signal.SIG_IGN}
    for one in before:
        signal.signal(one, signal.default_int_handler)
    try:
        yield
    finally:
        for one, action in before.items():
            signal.signal(one, action)


def _probe(options: argparse.Namespace, program: Path, target: safety.Target) -> int:
    """Of what is held."""
    span = min((options.mib or DEVICE_MIB) * MIB, target.bytes // MIB * MIB)
    if span < 32 * MIB:
        raise UserError(f"{target.path}: has {target.bytes} bytes; a plan needs 32 MiB")
    source = {
        "kind": "device",
        "name": target.name,
        "serial": target.serial,
        "bytes": target.bytes,
        "kernel": platform.release(),
        "machine": platform.machine(),
        "temperature": target.temperature,
        "written_bytes": 0,
    }
    found = Probe(source, span, options.seed)
    if options.out.is_file():
        found = _gone_on(options.out, found)
    # Before the first step: what cannot be written is said while the data are still there.
    found.write(options.out)
    minutes = options.minutes or MINUTES
    drive = OnDrive(
        program,
        target,
        time.monotonic() + minutes * 60,
        found.source["written_bytes"],
    )
    probe(
        drive,
        found,
        held_out=options.held_out,
        keep=lambda one: one.write(options.out),
        say=lambda text: print(text, file=sys.stderr, flush=True),
    )
    share = drive.written / target.bytes
    print(
        f"{options.out}: {len(found.results)} steps; {drive.written / MIB:,.0f} MiB written, "
        f"{share:.2f} times the device"
    )
    if found.left_out:
        print(f"left out: {', '.join(found.left_out)}; the same command goes on")
    return 0


def _gone_on(path: Path, wanted: Probe) -> Probe:
    """What an earlier, interrupted probe of the same device has."""
    found = load(path)
    same = all(found.source.get(name) == wanted.source[name] for name in ("serial", "bytes"))
    if not same or (found.span, found.seed) != (wanted.span, wanted.seed):
        raise UserError(f"--out: '{path}' is a probe of something else, or of another size or seed")
    return found
