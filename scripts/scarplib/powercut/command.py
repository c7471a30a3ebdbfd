# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp powercut`: record, cut, check, and say what was lost."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from scarplib.errors import UserError
from scarplib.experiments.folder import new_folder, point_latest
from scarplib.guest.user_guest import User
from scarplib.powercut import cuts, record, recording, report
from scarplib.powercut.cuts import Tried, Which
from scarplib.powercut.recording import Recording

# How many failures are told in full.
_TOLD = 3
# The exit status where something was violated.
VIOLATED = 3


class _Progress:
    """A line for all cuts: rewritten on a terminal, now and then elsewhere."""

    def __init__(self) -> None:
        self.began = self.shown = time.monotonic()
        self.terminal = sys.stderr.isatty()

    def __call__(self, tried: Tried) -> None:
        now = time.monotonic()
        if now - self.shown < (0.2 if self.terminal else 10):
            return
        self.shown = now
        bad = sum(bool(cut.violations) for cut in tried.cuts)
        text = f"  {now - self.began:4.0f} s  {len(tried.cuts):,} of {tried.asked:,} cuts"
        text += f", {bad:,} break the contract" if bad else ""
        print(f"\r{text}  " if self.terminal else text, end="" if self.terminal else "\n",
              file=sys.stderr, flush=True)  # fmt: skip

    def end(self) -> None:
        """The table begins on a line of its own."""
        if self.terminal:
            print("\r" + " " * 60 + "\r", end="", file=sys.stderr, flush=True)


def _which(options: argparse.Namespace) -> Which:
    if options.cut and options.cuts:
        raise UserError("--cut: excludes --cuts")
    named, count = options.cut, Which.count
    if options.cuts and options.cuts.isdecimal():
        count = int(options.cuts)
    elif options.cuts:
        named = options.cuts
    return Which(count, named, options.twice, options.sample_seed, options.jobs)


def _recorded(options: argparse.Namespace, user: User, job: Path | None, out: Path) -> Recording:
    folder = out / "recording"
    folder.mkdir()
    wanted = record.Wanted(
        device=options.device,
        job=job,
        user=user,
        scheme=options.scheme,
        overrides=options.set,
        age=options.age,
        overwrite=options.overwrite,
        seed=options.seed,
        smp=options.smp,
        cpu_shift=-2 if options.cpu_shift is None else options.cpu_shift,
        cpu_limit=options.cpu_limit,
        data_mib=options.most_data,
    )
    record.check(wanted)
    return record.record(wanted, folder)


def _say_end(found: dict[str, object], tried: Tried, out: Path) -> None:
    bad = [cut for cut in tried.cuts if cut.violations]
    print(report.table(found))
    for cut in bad[:_TOLD]:
        print(f"\n{report.story(cut)}")
    if len(bad) > _TOLD:
        print(f"\n… and {len(bad) - _TOLD} more")
    (out / "stories.txt").write_text("".join(f"{report.story(cut)}\n\n" for cut in bad))
    shown = out.relative_to(Path.cwd()) if out.is_relative_to(Path.cwd()) else out
    print(f"\nResults: {shown}/  (summary.json, stories.txt, recording/)")


def main(options: argparse.Namespace, user: User | None, job: Path | None) -> int:
    """The exit status: 0 if nothing was violated."""
    which = _which(options)
    if not options.recording and options.clock != "virtual":
        raise UserError("--clock: a run on the host's clock is never the same again")
    out = new_folder("powercut", options.out)
    if options.recording:
        made = recording.read(options.recording.resolve())
    else:
        made = _recorded(options, user or User(), job, out)
    progress = _Progress()
    tried = cuts.try_cuts(made, which, seen=progress)
    progress.end()
    found = report.summary(made, tried)
    (out / "summary.json").write_text(json.dumps(found, indent=1) + "\n")
    point_latest(out)
    if options.json:
        print(json.dumps(found, indent=1))
    else:
        _say_end(found, tried, out)
    if tried.interrupted:
        print("scarp: interrupted; what was done is kept", file=sys.stderr)
        return 130
    return VIOLATED if any(found["violated"].values()) else 0
