# SPDX-License-Identifier: GPL-2.0-or-later
"""Power cuts in a recording: what scarp-cuts finds, cut by cut, as it comes."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scarplib import scheme_text
from scarplib.build.cuts import ensure_cuts
from scarplib.errors import UserError
from scarplib.powercut.recording import Recording


@dataclass(frozen=True)
class Cut:
    """One cut and what came of it.

    `again`: the moment of the recovery at which power failed once more.  `failed_ns`, `at_ns`: when
    it failed first, and last.  `stories`: what breaks NVMe's contract, in words, of each drive.
    `fault`: what the engine must never do.
    """

    cut: int
    fault: str | None
    again: int | None = None
    failed_ns: int = 0
    at_ns: int = 0
    met: str = ""
    torn_pages: int = 0
    cut_commands: int = 0
    ready_ns: int | None = None
    recovery_moments: int = 0
    contents: tuple[str, ...] = ()
    lost_sectors: int = 0
    stories: tuple[str | None, ...] = ()

    @property
    def name(self) -> str:
        """As it is told: 1234, or 1234+56 where power failed once more."""
        return f"{self.cut}+{self.again}" if self.again else str(self.cut)

    @property
    def violations(self) -> list[str]:
        """Of the contract, and of the engine's own laws."""
        return [text for text in (self.fault, *self.stories) if text]


@dataclass(frozen=True)
class Which:
    """The cuts that are wanted: those that are named, or a sample of the workload's time."""

    count: int = 200
    # N, A-B, N+M (once more at moment M of the recovery), joined by commas.
    named: str | None = None
    # Each cut is followed by one at some moment of its recovery, besides.
    twice: bool = False
    seed: int = 1
    jobs: int = 1

    def words(self) -> list[str]:
        """For scarp-cuts."""
        words = ["--sample-seed", str(self.seed), "--jobs", str(self.jobs)]
        words += ["--cuts", self.named] if self.named else ["--count", str(self.count)]
        return words + (["--twice"] if self.twice else [])


@dataclass
class Tried:
    """All that scarp-cuts said; `interrupted`: before it was done."""

    moments: int
    kinds: list[dict[str, Any]]
    asked: int
    # The drives' caches: what has completed need not be durable.
    volatile: bool = True
    drive_bytes: int = 0
    cuts: list[Cut] = field(default_factory=list)
    interrupted: bool = False


def command(recording: Recording, which: Which, more: list[str]) -> list[str]:
    """scarp-cuts' command line."""
    words = [str(ensure_cuts()), *scheme_text.split(recording.scheme).words()]
    if recording.description:
        words += ["--description", str(recording.path(recording.description))]
    for drive in recording.drives:
        words += ["--image", str(recording.path(drive.image)), "--seed", str(drive.seed)]
        words += ["--cmd-log", str(recording.path(drive.cmd_log))]
        words += ["--data-log", str(recording.path(drive.data_log))]
    for override in filter(None, (recording.overrides or "").split(",")):
        words += ["--override", override]
    words += ["--from-ns", str(recording.begin_ns), "--to-ns", str(recording.end_ns)]
    return [*words, *which.words(), *more]


@contextlib.contextmanager
def _passing_on(process: subprocess.Popen[str]) -> Iterator[None]:
    """Ctrl-C is for scarp-cuts, which tells what it has begun and ends."""

    def pass_on(*_: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGINT)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, pass_on)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _cut(found: dict[str, Any]) -> Cut:
    if found.get("error"):
        raise UserError(f"cut {found['cut']}: {found['error']}")
    del found["error"]
    for name in ("contents", "stories"):
        found[name] = tuple(found.get(name, ()))
    return Cut(**found)


def _take(tried: Tried, found: dict[str, Any]) -> None:
    if "schema" in found:
        tried.moments, tried.kinds, tried.asked = found["moments"], found["kinds"], found["cuts"]
        tried.volatile, tried.drive_bytes = found["volatile"], found["drive_bytes"]
    else:
        tried.cuts.append(_cut(found))


def try_cuts(
    recording: Recording,
    which: Which,
    more: list[str] | None = None,
    seen: Callable[[Tried], None] = lambda tried: None,
) -> Tried:
    """`seen` is called after each of them."""
    tried = Tried(0, [], 0)
    with tempfile.TemporaryFile("w+") as errors:
        # A group of its own: a terminal's Ctrl-C is for us, who pass it on.
        process = subprocess.Popen(
            command(recording, which, more or []),
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            process_group=0,
        )
        assert process.stdout
        try:
            with _passing_on(process):
                for line in process.stdout:
                    _take(tried, json.loads(line))
                    seen(tried)
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
            process.stdout.close()
            status = process.wait()
        errors.seek(0)
        said = errors.read().strip()
    if status == 130:
        tried.interrupted = True
    elif status:
        raise UserError(said.removeprefix("scarp-cuts: ") or f"scarp-cuts ended with {status}")
    return tried


def keep(recording: Recording, cuts: list[Cut], folder: Path) -> None:
    """What the drives contained after these cuts, as folder/CONTENTS.raw; they are made anew."""
    named = ",".join(cut.name for cut in cuts)
    if try_cuts(recording, Which(named=named), ["--contents", str(folder)]).interrupted:
        raise KeyboardInterrupt
