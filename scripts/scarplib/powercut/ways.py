# SPDX-License-Identifier: GPL-2.0-or-later
"""The ways of `scarp powercut`: a run recorded and cut, one recorded before, --ready, --lies."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from pathlib import Path

from scarplib.errors import UserError
from scarplib.guest.user_guest import User
from scarplib.powercut import checks as known
from scarplib.powercut import lies, ready, record, recording, report
from scarplib.powercut.cuts import Which
from scarplib.powercut.layout import over
from scarplib.powercut.recording import Recording
from scarplib.powercut.run import Asked, Outcome, run
from scarplib.runs.folder import new_folder, point_latest

# How many failures are told in full.
_TOLD = 3
# The exit status where something was violated.
VIOLATED = 3
# What scarp-cuts says where its drives do not do what was recorded.
_OF_ANOTHER = "the run was of another drive"
# Ways to run the command: what each reads besides _ALL, and why it reads nothing else.
_ALL = ("command", "json", "out", "recording", "lies", "ready")
_CUTS = ("check", "check_limit", "cut", "cuts", "jobs", "sample_seed", "set", "twice")
_READ = {
    "ready": ((), ", which has drives and a load of its own"),
    "lies": (("device", *_CUTS), ", which has workloads of its own"),
    "recording": (("file", *_CUTS), ": the run has been recorded"),
}
# What every drive may have but one whose power fails.
_NOT_HERE = (
    *("handles", "namespaces", "block_bytes", "zoned", "kernel_args"),
    *("accel", "lateness_bound", "cpus", "priority", "idle"),
)


def _name(option: str) -> str:
    return "--from" if option == "recording" else f"--{option.replace('_', '-')}"


def check_read(options: argparse.Namespace, usual: argparse.Namespace) -> None:
    """What would do nothing is refused; `usual`: the options when none is given."""
    given = [name for name, value in vars(options).items() if value != getattr(usual, name)]
    for way, (read, why) in _READ.items():
        if way not in given:
            continue
        for name in given:
            if name not in (*_ALL, *read) or (name in _READ and name != way):
                raise UserError(f"{_name(name)}: excludes {_name(way)}{why}")
        return
    for name in given:
        if name in _NOT_HERE:
            raise UserError(f"{_name(name)}: not of a drive whose power fails here")


def complete(options: argparse.Namespace) -> None:
    """What the checks bring of their own becomes the user's, where nothing is said."""
    options.default_job = None
    if options.recording:
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
            options.fs = "btrfs" if options.over == "btrfs" else "ext4"
    over(options.over, options.drives, options.fs)
    # Before packages are made for its guest.
    record.check_device(options.device)


def _which(options: argparse.Namespace) -> Which:
    if options.cut and options.cuts:
        raise UserError("--cut: excludes --cuts")
    named, count = options.cut, Which.count
    if options.cuts and options.cuts.isdecimal():
        count = int(options.cuts)
    elif options.cuts:
        named = options.cuts
    return Which(count, named, options.twice, options.sample_seed, options.jobs)


def _wanted(options: argparse.Namespace, user: User, job: Path | None) -> record.Wanted:
    return record.Wanted(
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
        over=over(options.over, options.drives, options.fs),
    )


def _recorded(wanted: record.Wanted, out: Path) -> Recording:
    folder = out / recording.FOLDER
    folder.mkdir()
    return record.record(wanted, folder)


def _say_end(outcome: Outcome, out: Path) -> None:
    print(report.table(outcome.found))
    for story in outcome.stories[:_TOLD]:
        print(f"\n{story}")
    if len(outcome.stories) > _TOLD:
        print(f"\n… and {len(outcome.stories) - _TOLD} more")
    print(f"\nResults: {report.shown(out)}/  (summary.json, cuts.jsonl, stories.txt)")
    print(f"\n{report.verdict(outcome.found)}")


def main(options: argparse.Namespace, user: User | None, job: Path | None) -> int:
    """The exit status: 0 if nothing was violated."""
    which = _which(options)
    if options.clock != "virtual":
        raise UserError("--clock: a run on the host's clock is never the same again")
    made = recording.read(options.recording.resolve()) if options.recording else None
    file_system = made.file_system if made else options.fs
    packages = bool(made.guest["packages"] if made else options.packages)
    chosen = known.chosen(options.check, file_system, packages)
    wanted = None
    if not made:
        wanted = _wanted(options, user or User(), job)
        record.check(wanted)
        # What is built only for what can run.
        wanted = dataclasses.replace(wanted, files=dict(known.programs()))
    elif options.set:
        made = made.changed(options.set)
    out = new_folder("powercut", options.out)
    if wanted:
        made = _recorded(wanted, out)
    assert made
    asked = Asked(which, chosen, options.check_limit, options.file)
    try:
        outcome = run(made, asked, out)
    except UserError as error:
        if options.recording and options.set and _OF_ANOTHER in str(error):
            raise UserError(
                f"--set: {options.set}: the run itself would be another one. --from takes keys "
                f"that only a power cut notices, so record it with this one ({error})"
            ) from error
        raise
    point_latest(out)
    if options.json:
        print(json.dumps(outcome.found, indent=1))
    else:
        _say_end(outcome, out)
    if outcome.found["interrupted"]:
        print("scarp: interrupted; what was done is kept", file=sys.stderr)
        return 130
    return VIOLATED if outcome.violated else 0


def main_ready(options: argparse.Namespace) -> int:
    """`--ready`: tables and a picture."""
    out = new_folder("powercut", options.out)
    found = ready.measure()
    (out / ready.FILE).write_text(json.dumps(found, indent=1) + "\n")
    ready.draw(out)
    print(json.dumps(found, indent=1) if options.json else ready.text(found))
    if not options.json:
        print(f"\nResults: {report.shown(out)}/  ({ready.FILE}, {ready.PICTURE})")
    return 0


def main_lies(options: argparse.Namespace) -> int:
    """`--lies`: the exit status is 0 if the honest drive passes, and no lie the contract."""
    out = new_folder("powercut", options.out)
    names = options.check or list(known.NAMES)
    asked = lies.Asked(options.device, names, _which(options), options.check_limit, options.set)
    found, interrupted = lies.table(asked, out)
    print(json.dumps(found, indent=1) if options.json else lies.text(found))
    if interrupted:
        print("scarp: interrupted; what was done is kept", file=sys.stderr)
        return 130
    return 0 if lies.as_it_should(found) else VIOLATED
