# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp compare --at`: guests that are one run until an instant, and then a scheme each.

The first scheme is the stem, which never changes.  The other columns boot as the stem, and their
drives switch by a timer of the virtual clock, which costs their guests no instruction.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scarplib import scheme_text
from scarplib.device_logs import changes
from scarplib.device_logs.log_file import LogError
from scarplib.drive import start
from scarplib.drive.controller import WHOLE
from scarplib.drive.switch import Switch
from scarplib.errors import UserError
from scarplib.guest.job import Job
from scarplib.guest.realtime import VIRTUAL
from scarplib.results import instant

if TYPE_CHECKING:
    from scarplib.runs.run import Settings


@dataclass(frozen=True)
class Fork:
    """A column that is its stem, another column, until an instant of the drive's clock."""

    stem: str
    scheme: str
    at_ns: int

    def said(self) -> dict[str, Any]:
        """As summary.json has it."""
        return {"stem": self.stem, "scheme": self.scheme, "at_ns": self.at_ns}


def forked_jobs(
    at: str, stem: str, jobs: dict[str, Job], column: dict[str, Any]
) -> tuple[dict[str, Fork], dict[str, Job]]:
    """The forks from one stem, and their jobs: `jobs` are those that were to run without one.

    column: the stem's summary, which says when the job ran.
    """
    at_ns = instant.at_ns(at, column["begin_ns"], column["end_ns"])
    forks = {name: Fork(stem, job.scheme, at_ns) for name, job in jobs.items() if name != stem}
    changed = {
        name: replace(jobs[name], scheme=jobs[stem].scheme, switch=Switch(at_ns, fork.scheme))
        for name, fork in forks.items()
    }
    return forks, changed


def check(fork: Fork, stem: Path, column: Path) -> None:
    """Raise if the column has not switched, or was not its stem until then."""
    try:
        made = [(it.time_ns, it.scheme) for it in changes.of(column) if it.change == changes.SCHEME]
    except LogError as error:
        raise UserError(str(error)) from error
    if (fork.at_ns, scheme_text.split(fork.scheme).name) not in made:
        raise UserError(
            f"--at: '{fork.scheme}': the drive did not switch at {fork.at_ns} ns: the guest ended "
            f"before, or the drive refused ({column / 'qemu.log'} says so)"
        )
    instant.check_equal(stem, column, fork.at_ns)


def again(settings: Settings, state: Path, folder: Path) -> dict[str, list[list[str]]]:
    """For summary.json: options by which `scarp compare` runs these guests again, but for schemes
    and an instant.  What is the user's own has more options than a line to copy should."""
    shift = settings.clock.cpu_shift
    if settings.user or shift is None or not settings.job or settings.view != WHOLE:
        return {}
    words = [["image", start.said(state, folder)], ["job", start.said(settings.job, folder)]]
    if settings.device:
        words.append(["device", start.said(settings.device, folder)])
    words += [["set", settings.overrides]] if settings.overrides else []
    for name, value in (("seed", settings.seed), ("smp", settings.smp)):
        words += [[name, str(value)]] if value != 1 else []
    words += [["cpu-shift", str(shift)]] if shift != VIRTUAL.cpu_shift else []
    return {"again": words}
