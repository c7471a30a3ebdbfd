# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp powercut`: record, cut, check, and say what was lost."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

from scarplib.build.qemu import ensure_qemu
from scarplib.errors import UserError
from scarplib.experiments.folder import new_folder, point_latest
from scarplib.guest import user_guest
from scarplib.guest.image import ensure_image
from scarplib.guest.realtime import Clock
from scarplib.guest.user_guest import User
from scarplib.powercut import checks as known
from scarplib.powercut import cuts, fio_durable, judge, promises, record, recording, report
from scarplib.powercut.check_guest import CheckGuest, What
from scarplib.powercut.checks import Check
from scarplib.powercut.cuts import Cut, Tried, Which
from scarplib.powercut.judge import Judged
from scarplib.powercut.layout import Layout
from scarplib.powercut.recording import Recording

# How many failures are told in full.
_TOLD = 3
# The exit status where something was violated.
VIOLATED = 3


class _Progress:
    """One line: rewritten on a terminal, now and then elsewhere."""

    def __init__(self) -> None:
        self.began = self.shown = time.monotonic()
        self.terminal = sys.stderr.isatty()

    def say(self, text: str) -> None:
        """What is so now."""
        now = time.monotonic()
        if now - self.shown < (0.2 if self.terminal else 10):
            return
        self.shown = now
        line = f"  {now - self.began:4.0f} s  {text}"
        print(f"\r{line}  " if self.terminal else line, end="" if self.terminal else "\n",
              file=sys.stderr, flush=True)  # fmt: skip

    def cuts(self, tried: Tried) -> None:
        """After each cut."""
        bad = sum(bool(cut.violations) for cut in tried.cuts)
        text = f"{len(tried.cuts):,} of {tried.asked:,} cuts"
        self.say(text + (f", {bad:,} break the contract" if bad else ""))

    def checks(self, judged: Judged) -> None:
        """After each contents."""
        bad = sum(bool(each.failed) for each in judged.contents)
        text = f"{len(judged.contents):,} of {judged.distinct:,} contents checked"
        self.say(text + (f", {bad:,} fail" if bad else ""))

    def end(self) -> None:
        """What follows begins on a line of its own."""
        if self.terminal:
            print("\r" + " " * 72 + "\r", end="", file=sys.stderr, flush=True)


def complete(options: argparse.Namespace) -> None:
    """What the checks bring of their own becomes the user's, where nothing is said."""
    options.default_job = None
    if options.recording:
        for name in ("job", "script", "fs", "packages", "kernel", "set"):
            if getattr(options, name) and name != "set":
                raise UserError(f"--{name}: excludes --from: the run has been recorded")
        return
    chosen = known.chosen(options.check, options.fs, bool(options.packages))
    if not options.job and not options.script:
        own = next((check for check in chosen if check.workload or check.job), None)
        if not own:
            raise UserError(
                "--job, --script: what shall be recorded? One of them is needed, or a --check "
                f"that has a workload of its own: {', '.join(known.NAMES)}"
            )
        options.job, options.script = own.job, own.workload
        options.packages = [*dict.fromkeys([*options.packages, *own.packages])]
        if own.in_file_system and not options.fs:
            options.fs = "ext4"


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
        files=dict(known.programs()),
    )
    record.check(wanted)
    folder = out / "recording"
    folder.mkdir()
    return record.record(wanted, folder)


def _settings(
    made: Recording, tried: Tried, chosen: list[Check]
) -> Callable[[Cut], dict[str, str]]:
    if not any(check.name == "fio" for check in chosen):
        return lambda cut: {}
    if not made.job:
        raise UserError("--check fio: what was recorded is no fio job")
    job = made.path(made.job).read_text()
    log = made.path(made.drives[0].cmd_log)
    durable = fio_durable.Durable(job, log, made.begin_ns, tried.volatile)
    fio_durable.check_counts(durable, made.path("fio.json"))
    return lambda cut: {"SCARP_DURABLE": durable.text(cut.failed_ns)}


def _checked(
    options: argparse.Namespace,
    made: Recording,
    tried: Tried,
    chosen: list[Check],
    out: Path,
    progress: _Progress,
) -> Judged:
    settings = _settings(made, tried, chosen)
    packages = [name for check in chosen for name in check.packages]
    user = record.guest_user(made.guest, packages)
    (guest,) = user_guest.prepare(user, None).guests.values()
    qemu = ensure_qemu()
    real = Clock(cpu_shift=None).real(qemu, ensure_image)
    files: dict[str, Path | bytes] = dict(known.programs())
    if made.job:
        files["job.fio"] = fio_durable.verifying(made.path(made.job).read_text())
    sizes = (tried.drive_bytes,) * len(made.drives)
    what = What(Layout(files), tuple(chosen), sizes, options.check_limit)
    checker = CheckGuest(qemu, guest, what, out / "checks", real.accel if real else "tcg")
    given = promises.read(made.path("files/promises"))
    try:
        return judge.judge(made, tried, checker, given, settings, out, progress.checks)
    finally:
        checker.end()


def _say_end(found: dict[str, object], tried: Tried, judged: Judged | None, out: Path) -> None:
    stories = report.stories(tried, judged)
    print(report.table(found))
    for story in stories[:_TOLD]:
        print(f"\n{story}")
    if len(stories) > _TOLD:
        print(f"\n… and {len(stories) - _TOLD} more")
    shown = out.relative_to(Path.cwd()) if out.is_relative_to(Path.cwd()) else out
    print(f"\nResults: {shown}/  (summary.json, stories.txt, recording/)")


def main(options: argparse.Namespace, user: User | None, job: Path | None) -> int:
    """The exit status: 0 if nothing was violated."""
    which = _which(options)
    if options.clock != "virtual":
        raise UserError("--clock: a run on the host's clock is never the same again")
    made = recording.read(options.recording.resolve()) if options.recording else None
    file_system = made.file_system if made else options.fs
    chosen = known.chosen(options.check, file_system, bool(options.packages))
    out = new_folder("powercut", options.out)
    if not made:
        made = _recorded(options, user or User(), job, out)
    elif options.set:
        made = made.changed(options.set)
    progress = _Progress()
    tried = cuts.try_cuts(made, which, seen=progress.cuts)
    judged = None
    if chosen and not tried.interrupted:
        judged = _checked(options, made, tried, chosen, out, progress)
    progress.end()
    found = report.summary(made, tried, judged)
    (out / "summary.json").write_text(json.dumps(found, indent=1) + "\n")
    stories = "\n\n".join(report.stories(tried, judged))
    (out / "stories.txt").write_text(f"{stories}\n" if stories else "")
    point_latest(out)
    if options.json:
        print(json.dumps(found, indent=1))
    else:
        _say_end(found, tried, judged, out)
    if tried.interrupted or (judged and judged.interrupted):
        print("scarp: interrupted; what was done is kept", file=sys.stderr)
        return 130
    return VIOLATED if any(found["violated"].values()) else 0
