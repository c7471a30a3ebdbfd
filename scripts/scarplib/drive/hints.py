# SPDX-License-Identifier: GPL-2.0-or-later
"""What may help whoever has typed something wrong: the nearest allowed word, drives that would do.

The engine, argparse and these scripts each say what is wrong with a word and list what is allowed;
here that text is read again.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from scarplib.drive import choices
from scarplib.errors import nearest

# The wrong word, then what is allowed, as messages have them.
_LISTS = (
    # scheme=pcg: unknown; allowed, joined by '+': baseline, gc-vic, …
    re.compile(r"(?:^|[=: ])([^\s=:]+): unknown; allowed[^:]*: (.*)"),
    # unknown key gc.x; allowed are gc.y gc.z, or: no parameter 'x'; allowed are y
    re.compile(r"(?:unknown key|no parameter) '?([\w.]+)'?; allowed are (.*)"),
    # argument --fs: invalid choice: 'x' (choose from 'y', 'z')
    re.compile(r"invalid choice: '([^']*)' \(choose from (.*?)\)"),
    # --fs: 'x': allowed: y, z
    re.compile(r"'([^']*)': allowed: (.*)"),
    # 'x' is no scheme; there are y, z
    re.compile(r"'([^']*)' is no \w+; there are (.*)"),
)
# A need of a scheme's, by the key that the engine names, and which of devices/ meet it.
_NEEDS: dict[str, Callable[[choices.Drive], bool]] = {
    "geometry.planes_per_die": lambda drive: drive.planes > drive.dies,
    "geometry.channels": lambda drive: drive.channels > 1,
}


def _did_you_mean(said: str) -> str:
    for pattern in _LISTS:
        if match := pattern.search(said):
            return nearest(match[1], re.findall(r"[\w.+-]+", match[2]))
    return ""


def _drives(said: str) -> str:
    for key, meets in _NEEDS.items():
        if re.search(rf" needs [^;]*\({re.escape(key)}\)", said):
            names = [drive.file.removesuffix(".ini") for drive in choices.drives() if meets(drive)]
            return f"; drives that have them: {', '.join(names)}"
    return ""


def hint(said: str) -> str:
    """What to append to what is wrong; often nothing."""
    return _did_you_mean(said) or _drives(said)
