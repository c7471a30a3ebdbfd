# SPDX-License-Identifier: GPL-2.0-or-later
"""The rule by which a branch has avoided, moved or delayed what it saved.

It asks three things, in this order, and docs/why.md says them to the reader:
1. Were the commands asked for faster?  Else nothing was saved.
2. Has the drive fewer free blocks at the window's end than in fact?  Then collections that ran in
   fact are still to come: the time is delayed.
3. Did the other commands, and those that the host held back, lose more than half of what was
   saved?  Then it is moved to them.
What is left is avoided.
"""

from __future__ import annotations

from typing import Any

NOTHING, DELAYED, MOVED, AVOIDED = "nothing saved", "delayed", "moved", "avoided"


def of(branch: dict[str, Any], control: dict[str, Any]) -> str:
    """Of one branch, beside the branch in which nothing changed."""
    window = branch["window"]
    saved = -window["asked_ns"]
    others = window["slower"]["ns"] + window["faster"]["ns"] + window["waited_ns"]
    if saved <= 0:
        return NOTHING
    if branch["owed"]["free_blocks"] < control["owed"]["free_blocks"]:
        return DELAYED
    return MOVED if 2 * others > saved else AVOIDED
