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
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import cast

from scarplib.build.cache import tree_hash
from scarplib.build.requests import SOURCE, ensure_requests
from scarplib.errors import UserError, printable
from scarplib.own_drive import features, safety
from scarplib.own_drive.plan import FLUSH, MIB, READ, TRIM, WRITE, Known, Plan, Row, Step, span_of
from scarplib.own_drive.probe_file import Probe, Result, load, result

_KINDS = {READ: 0, WRITE: 1, TRIM: 2, FLUSH: 3}
MINUTES = 30
DEVICE_MIB = 2048
# After a step that changes the drive: it writes its buffer out and ends collections, as the
# replayer's does before its state is kept.  Else the next step finds a drive that is still busy.
REST_S = 2.0


# Of all of the requests of a step on its way; those of the largest step are a 16384th of the span.
ROW_BYTES = 160


def measured_by() -> str:
    """Of what says which requests there are, and how long each took."""
    return tree_hash([SOURCE, Path(__file__).with_name("plan.py")])[:20]


def packed(rows: Iterable[Row]) -> array[int]:
    """As scarp-requests reads them."""
    words = array("q")
    for at, kind, offset, size in rows:
        # Two u32 in one i64.
        words.extend((at, offset, size | _KINDS[kind] << 32))
    return words


def check_memory(span: int, machine: safety.Machine | None = None) -> None:
    """A step's requests are in memory, so that reading them takes no time from it."""
    need = span // 16384 * ROW_BYTES
    lines = ((machine or safety.Machine()).proc / "meminfo").read_text().splitlines()
    free = next((int(one.split()[1]) * 1024 for one in lines if one.startswith("MemAv")), need)
    if need > free:
        raise UserError(
            f"--mib: requests to {span // MIB} MiB need {need // MIB} MiB of memory, and "
            f"{free // MIB} MiB are free: {free // ROW_BYTES * 16384 // MIB} is the most"
        )


@dataclass
class OnDrive:
    """A device, and until when."""

    program: Path
    target: safety.Target
    ends: float
    written: int = 0
    # 0: not at all.
    rest_s: float = 0

    def run(self, step: Step, begin: Callable[[int], None] = lambda planned: None) -> Result | None:
        """One step; None if there is no time for it.

        One that changes what is on the drive calls `begin` with the bytes that it will write.
        Whatever comes of it, `written` has what was written, or at most that.
        """
        words = packed(step.rows())
        left = self.ends - time.monotonic()
        # What is timed says itself how long it takes: times only grow.
        if left <= words[-3] / 1e9:
            return None
        planned = sum(_bytes(words, WRITE))
        if planned or any(_bytes(words, TRIM)):
            begin(planned)
        counter = os.memfd_create("scarp-written")
        before = self.written
        try:
            os.ftruncate(counter, 8)
            done = self._run(words, step.depth or 0, counter, left)
            if done.returncode:
                raise UserError(_why(done))
            self.written = before + planned
        except subprocess.TimeoutExpired:
            return None
        finally:
            if self.written == before:
                self.written += int.from_bytes(os.pread(counter, 8, 0), sys.byteorder)
            os.close(counter)
        times = memoryview(done.stdout).cast("q")
        submit, complete = times[0::2], times[1::2]
        if step.prepares:
            seconds = max(max(complete) - min(submit), 1) / 1e9
            moved = planned + sum(_bytes(words, READ))
            return Result(moved / seconds, len(submit) / seconds)
        del words
        rows = list(step.rows())
        return result(rows, submit, complete, each=step.each, closed=step.depth is not None)

    def rest(self) -> None:
        """Until what the last step wrote is in the flash, as far as one can know."""
        if self.rest_s:
            os.fsync(self.target.fd)
            time.sleep(self.rest_s)

    def _run(
        self, requests: array[int], depth: int, counter: int, seconds: float
    ) -> subprocess.CompletedProcess[bytes]:
        words = (self.program, self.target.fd, depth, os.getpid(), counter)
        with subprocess.Popen(
            [str(word) for word in words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=(self.target.fd, counter),
        ) as process:
            try:
                # Not a copy, of which a large step's would be gigabytes.
                given = cast("bytes", memoryview(requests).cast("B"))
                out, err = process.communicate(given, timeout=seconds)
            except BaseException:
                # Until it has ended it may write, and count.
                process.kill()
                process.wait()
                raise
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def _bytes(words: array[int], kind: str) -> Iterator[int]:
    """Of each request of a kind."""
    # No slice: it would be a copy.
    for i in range(2, len(words), 3):
        if words[i] >> 32 == _KINDS[kind]:
            yield words[i] & 0xFFFFFFFF


def _why(done: subprocess.CompletedProcess[bytes]) -> str:
    """What went wrong, in its words."""
    if done.returncode < 0:
        return f"scarp-requests was ended by {signal.Signals(-done.returncode).name}"
    return done.stderr.decode(errors="replace").strip().removeprefix("scarp-requests: ")


def _go_on(drive: OnDrive, found: Probe, steps: list[Step], say: Callable[[str], None]) -> None:
    """What an earlier probe left of the drive's state is what the steps that are left begin in."""
    begun = found.source.pop("begun", None)
    if begun:
        if begun["bytes"]:
            # Killed, so that nobody counted.
            drive.written += begun["bytes"]
            found.source["written_at_most"] = True
        if begun["step"] not in [step.name for step in steps if not step.changes]:
            found.results.clear()
            found.left_out.clear()
            found.known = None
            say(
                f"{printable(begun['step'])} was begun and not ended, and has changed the drive: "
                "all is done again, from fill"
            )
            return
    if found.results:
        say(f"going on: {len(found.results)} steps are done")
    for before, step in pairwise(steps):
        if step.name not in found.results:
            # What only reads brings the drive's memory into a state, which does not last.
            if before.prepares and next(before.rows())[1] == READ:
                found.results.pop(before.name, None)
            break


def probe(
    drive: OnDrive,
    found: Probe,
    *,
    held_out: bool,
    keep: Callable[[Probe], None],
    say: Callable[[str], None],
) -> None:
    """What of the plan `found` has not got yet, kept before and after each step.

    Steps are done in their order alone: each finds the drive as those before it have left it.
    """
    plan = Plan(found.span, found.seed)
    first = plan.first()
    # Names are the same whatever is known.
    second = plan.second(found.known or Known(4096, 4096))
    _go_on(drive, found, [*first, *second], say)

    def do(steps: list[Step], done_before: int) -> bool:
        count = len(first) + len(second) + 4 * held_out
        for number, step in enumerate(steps):
            if step.name in found.results:
                continue
            say(f"{done_before + number + 1} of {count}: {step.name}")
            if not one(step):
                found.left_out = [each.name for each in steps[number:]]
                keep(found)
                say(f"left out, as no time is left: {', '.join(found.left_out)}")
                return False
            if step.changes:
                drive.rest()
        found.left_out = []
        return True

    def one(step: Step) -> bool:
        def begin(planned: int) -> None:
            found.source["begun"] = {"step": step.name, "bytes": planned}
            keep(found)

        done = None
        try:
            done = drive.run(step, begin)
        finally:
            if done:
                found.results[step.name] = done
                found.source.pop("begun", None)
            elif "begun" in found.source:
                found.source["begun"]["bytes"] = 0
                found.source["written_at_most"] = True
            found.source["written_bytes"] = drive.written
            keep(found)
        return done is not None

    if not do(first, 0):
        say("the rest is left out: it needs what the first part shows")
        return
    if not found.known:
        found.known = features.known(found)
    held = plan.held_out() if held_out else []
    do([*plan.second(found.known), *held], len(first))


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
    span = span_of(target.path, target.bytes, options.mib, DEVICE_MIB)
    check_memory(span)
    source = {
        "kind": "device",
        "name": target.name,
        "serial": target.serial,
        "identity": dict(target.identity),
        "bytes": target.bytes,
        "kernel": platform.release(),
        "machine": platform.machine(),
        "temperature": target.temperature,
        "measured_by": measured_by(),
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
        REST_S,
    )
    try:
        probe(
            drive,
            found,
            held_out=options.held_out,
            keep=lambda one: one.write(options.out),
            say=lambda text: print(text, file=sys.stderr, flush=True),
        )
    finally:
        # The terminal may be gone.
        with contextlib.suppress(OSError):
            print(f"{options.out}: {_summary(found, target.bytes)}", flush=True)
    if found.left_out:
        how = "goes on"
        if "begun" in found.source:
            how = "begins again from fill, and needs more --minutes"
        print(f"left out: {', '.join(found.left_out)}; the same command {how}")
    return 0


def _summary(found: Probe, size: int) -> str:
    written = found.source["written_bytes"]
    most = "at most " if found.source.get("written_at_most") else ""
    return (
        f"{len(found.results)} steps; {most}{written / MIB:,.0f} MiB written, "
        f"{written / size:.2f} times the device"
    )


def _gone_on(path: Path, wanted: Probe) -> Probe:
    """What an earlier, interrupted probe of the same device has."""
    found = load(path)
    same = all(found.source.get(name) == wanted.source[name] for name in ("identity", "bytes"))
    if not same or (found.span, found.seed) != (wanted.span, wanted.seed):
        raise UserError(
            f"--out: '{path}' is a probe of something else, or of another size or seed; "
            "name another file"
        )
    # What a latency is, and which requests there are, may be another from version to version.
    if found.source.get("measured_by") != wanted.source["measured_by"]:
        raise UserError(
            f"--out: '{path}' was begun by another version of scarp probe, whose steps are others; "
            "name another file"
        )
    return found
