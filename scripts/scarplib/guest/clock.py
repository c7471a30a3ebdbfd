# SPDX-License-Identifier: GPL-2.0-or-later
"""The guest's clock beside the drive's: what fio says of when it counted is on the guest's.

The pair is taken once, behind the job, so that nothing of it is in the measured time.
"""

from __future__ import annotations

import re

# What is shipped: the kernel's monotonic clock when the drive's page had just been read, and what
# its wall clock, of which fio's times are, is ahead of that one.
FILE = "clock"
# What lets jobs of one fio begin at different times, or count from a later moment on.
_APART = re.compile(
    r"^\s*(?:ramp_time|stonewall|new_group|wait_for|startdelay|start_delay)\b", re.MULTILINE
)
_SECTION = re.compile(r"^\s*\[(?!global\])[^\]]+\]", re.MULTILINE)
_SOURCE = "/proc/timer_list"


def wanted(job: str) -> bool:
    """Whether anybody will ask when a part of this fio job ran."""
    return bool(_APART.search(job)) or len(_SECTION.findall(job)) > 1


def lines() -> list[str]:
    """Behind the command that reads the drive's page.  Its third line says what time it is, and
    the shell itself reads that one: a program would have to be started first."""
    ahead = "sed -n '/ktime_get_real$/{n;p;q}'"
    return [
        f'[ ! -r {_SOURCE} ] || {{ read -r x; read -r x; read -r x; echo "$x"; {ahead}; }} '
        f"<{_SOURCE} >/results/{FILE}"
    ]


def wall_ns(text: str) -> int | None:
    """The guest's wall clock (ns) of what lines() has left; None: it is something else."""
    found = re.fullmatch(r"now at (\d{1,19}) nsecs\s+\.offset:\s+(-?\d{1,19}) nsecs\s*", text)
    return int(found[1]) + int(found[2]) if found else None
