# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp why --watch`: the same question again whenever a file of the engine is saved."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from scarplib.errors import UserError

# How soon a saved file is noticed: less than anybody waits for, and hardly any processor time.
LOOK_S = 0.3

# Each file with when it was written last and how long it is; one that has just gone has neither.
State = dict[Path, tuple[int, int] | None]


def _state(files: Sequence[Path]) -> State:
    found: State = {}
    for path in files:
        try:
            said = path.stat()
            found[path] = said.st_mtime_ns, said.st_size
        except OSError:
            # An editor may be putting a new file in its place.
            found[path] = None
    return found


def watch(
    answer: Callable[[], None],
    files: Callable[[], Sequence[Path]],
    wait: Callable[[float], None] = time.sleep,
) -> int:
    """Answer now and after each change of these files, until Ctrl-C; the exit status.

    What does not compile, or is refused, is said, and the next change is waited for.
    """
    try:
        while True:
            # Before the answer: what is saved while it is made is answered, too.
            seen = _state(files())
            began = time.monotonic()
            try:
                answer()
            except UserError as error:
                print(f"scarp: error: {error}", file=sys.stderr)
            took = time.monotonic() - began
            sys.stdout.flush()
            print(f"({took:.1f} s; waiting for a change of ftl/, Ctrl-C ends)", file=sys.stderr)
            while _state(files()) == seen:
                wait(LOOK_S)
    except KeyboardInterrupt:
        return 0
