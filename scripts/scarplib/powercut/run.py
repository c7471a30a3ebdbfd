# SPDX-License-Identifier: GPL-2.0-or-later
"""One recording is cut and checked: what `scarp powercut` does, without its options and words."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from scarplib.build.qemu import ensure_qemu
from scarplib.errors import UserError
from scarplib.guest import user_guest
from scarplib.guest.image import ensure_image
from scarplib.guest.realtime import Clock
from scarplib.powercut import checks as known
from scarplib.powercut import cuts, fio_durable, judge, promises, record, report
from scarplib.powercut.check_guest import CheckGuest, What
from scarplib.powercut.checks import Check
from scarplib.powercut.cuts import Cut, Tried, Which
from scarplib.powercut.judge import Judged
from scarplib.powercut.layout import over
from scarplib.powercut.progress import Progress
from scarplib.powercut.recording import Recording


@dataclass(frozen=True)
class Asked:
    """`limit`: seconds for a check; `files`: what it finds in $SCARP_FILES."""

    which: Which
    checks: Sequence[Check] = ()
    limit: int = 60
    files: Sequence[Path] = ()


@dataclass(frozen=True)
class Outcome:
    """`found`: as in summary.json."""

    found: dict[str, Any]
    stories: list[str]

    @property
    def violated(self) -> bool:
        """By anything."""
        return any(self.found["violated"].values())


def _settings(
    made: Recording, tried: Tried, chosen: Sequence[Check]
) -> Callable[[Cut], dict[str, str]]:
    """What a check's environment has of a cut besides its number and time."""
    if not any(check.name == "fio" for check in chosen):
        return lambda cut: {}
    if not made.job:
        raise UserError("--check fio: what was recorded is no fio job")
    job = made.path(made.job).read_text()
    log = made.path(made.drives[0].cmd_log)
    durable = fio_durable.Durable(job, log, made.begin_ns, tried.volatile)
    fio_durable.check_counts(durable, made.path("fio.json"))
    return lambda cut: {"SCARP_DURABLE": durable.text(cut.failed_ns)}


def _checked(made: Recording, tried: Tried, asked: Asked, out: Path, progress: Progress) -> Judged:
    chosen = asked.checks
    settings = _settings(made, tried, chosen)
    packages = [name for check in chosen for name in check.packages]
    spread = over(made.guest["over"], len(made.drives), made.file_system)
    user = record.guest_user(made.guest, spread, packages)
    (guest,) = user_guest.prepare(user, None).guests.values()
    qemu = ensure_qemu()
    real = Clock(cpu_shift=None).real(qemu, ensure_image)
    files: dict[str, Path | bytes] = dict(known.programs())
    files |= {f"files/{path.name}": path for path in asked.files}
    if made.job:
        files["job.fio"] = fio_durable.verifying(made.path(made.job).read_text())
    sizes = (tried.drive_bytes,) * len(made.drives)
    what = What(spread.layout, tuple(chosen), sizes, asked.limit, files)
    checker = CheckGuest(qemu, guest, what, out / "checks", real.accel if real else "tcg")
    given = promises.read(made.path("files/promises"))
    try:
        return judge.judge(made, tried, checker, given, settings, out, progress.checks)
    finally:
        checker.end()


def run(made: Recording, asked: Asked, out: Path) -> Outcome:
    """Into the folder: summary.json, stories.txt, each cut, and what the checks left."""
    progress = Progress()
    judged = None
    try:
        tried = cuts.try_cuts(made, asked.which, seen=progress.cuts)
        # They may have taken hours: whatever becomes of the checks.
        lines = "".join(json.dumps(asdict(cut)) + "\n" for cut in tried.cuts)
        (out / "cuts.jsonl").write_text(lines)
        try:
            if asked.checks and not tried.interrupted:
                judged = _checked(made, tried, asked, out, progress)
        except KeyboardInterrupt:
            # Before the first check: judge() sees to those.
            tried.interrupted = True
    finally:
        progress.end()
    found = report.summary(made, tried, judged)
    stories = report.stories(made, tried, judged)
    (out / "summary.json").write_text(json.dumps(found, indent=1) + "\n")
    (out / "stories.txt").write_text("".join(f"{story}\n\n" for story in stories))
    return Outcome(found, stories)
