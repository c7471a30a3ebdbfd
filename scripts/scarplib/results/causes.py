# SPDX-License-Identifier: GPL-2.0-or-later
"""What commands waited for: in words, and added up over the slowest of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from scarplib.device_logs.command_log import Commands

# The tail that the report explains, in thousandths of the commands.
TAIL_PERMILLE = 1
# What waits for garbage collection first, then other host I/O, then the command's own work.
CAUSE_LABELS = {
    "die_gc_program": "die: GC program",
    "die_gc_read": "die: GC read",
    "die_gc_held": "die: held by a waiting GC",
    "die_erase": "die: erase",
    "die_fold_program": "die: fold program",
    "die_fold_read": "die: fold read",
    "no_space": "no free page until GC ends",
    "die_host_program": "die: another host program",
    "die_host_read": "die: another host read",
    "channel": "flash channel busy",
    "host_queue": "host queue",
    "buffer_full": "write buffer full",
    "order": "another command's data",
    "rmw": "read before a partial write",
    "mapping": "mapping table",
    "suspended": "own program suspended",
    "die_suspend": "die: suspending",
    "throttled": "own array time: throttled",
    "array": "own array time",
    "transfer": "own transfer",
    "controller": "controller",
    "link": "host link",
}
# The same in full, for whoever meets them for the first time.
CAUSE_SENTENCES = {
    "die_gc_program": "the die was writing pages that garbage collection moves",
    "die_gc_read": "the die was reading pages that garbage collection moves",
    "die_gc_held": "garbage collection kept the die to itself while it waited for something else",
    "die_erase": "the die was erasing a block",
    "die_fold_program": "the die was writing what a fold moves out of the SLC cache",
    "die_fold_read": "the die was reading what a fold moves out of the SLC cache",
    "no_space": "no page was free to write to until garbage collection had made one",
    "die_host_program": "the die was writing for another command of the host",
    "die_host_read": "the die was reading for another command of the host",
    "channel": "the wires to the die were busy with other data",
    "host_queue": "the drive had taken no more commands, or preferred others",
    "buffer_full": "the write buffer was full",
    "order": "the data that it depends on was another command's, still on its way",
    "rmw": "the rest of the unit had to be read first, as less than a unit was written",
    "mapping": "a part of the mapping table had to be read first",
    "suspended": "its own write stood still to let a read pass",
    "die_suspend": "the die was putting aside what it did",
    "throttled": "the flash itself, so much longer because the drive was warm: not a wait",
    "array": "the flash itself, reading or writing its own data: not a wait",
    "transfer": "its own data on the wires to the die: not a wait",
    "controller": "the drive's firmware: not a wait",
    "link": "the link to the host",
}
# What collections are called where the mapping merges blocks (ftl.mapping=block, superblock, fast):
# nothing else is collected there.
MERGE_LABELS = {
    "die_gc_program": "die: merge program",
    "die_gc_read": "die: merge read",
    "die_gc_held": "die: held by a waiting merge",
    "no_space": "no free page until a merge ends",
}
MERGE_SENTENCES = {
    "die_gc_program": "the die was writing pages that a merge copies",
    "die_gc_read": "the die was reading pages that a merge copies",
    "die_gc_held": "a merge kept the die to itself while it waited for something else",
    "no_space": "no page was free to write to until a merge had made one",
}
# A cause that is less than this share (in percent) of every tail is among "anything else".
SMALL_SHARE = 5


def merges(summaries: Iterable[Mapping[str, Any]]) -> bool:
    """Whether the drive of these schemes' summaries merges blocks: one has counted it."""
    kinds = ("switch_merges", "partial_merges", "full_merges")
    return any(s.get("stats", {}).get(kind, 0) for s in summaries for kind in kinds)


def labels(merging: bool) -> dict[str, str]:
    """Each cause in a few words, in the order of CAUSE_LABELS."""
    return {**CAUSE_LABELS, **MERGE_LABELS} if merging else CAUSE_LABELS


def sentences(merging: bool) -> dict[str, str]:
    """The same in full."""
    return {**CAUSE_SENTENCES, **MERGE_SENTENCES} if merging else CAUSE_SENTENCES


def tail_causes(commands: Commands, op: int) -> dict[str, Any] | None:
    """Where the slowest commands' time went: nanoseconds by cause, zeroes left out."""
    chosen = commands.indices(op)
    if not chosen:
        return None
    chosen.sort(key=lambda i: (commands.submit[i] - commands.complete[i], i))
    chosen = chosen[: max(1, len(chosen) * TAIL_PERMILLE // 1000)]
    causes = {
        name: total
        for name, column in commands.by_cause().items()
        if (total := sum(column[i] for i in chosen))
    }
    return {
        "count": len(chosen),
        "mean_ns": sum(causes.values()) // len(chosen),
        "fastest_ns": min(commands.complete[i] - commands.submit[i] for i in chosen),
        "cause_ns": causes,
    }


def tail_shares(tail: dict[str, Any] | None) -> dict[str, float]:
    """What the slowest commands' time went to, in percent, by cause."""
    causes = tail["cause_ns"] if tail else {}
    total = sum(causes.values())
    return {name: value * 100 / total for name, value in causes.items()} if total else {}


def tail_text(tail: dict[str, Any], most: int = 3, merging: bool = False) -> str:
    """The greatest causes in words: "71 % die: GC program, 20 % die: erase"."""
    words = labels(merging)
    shares = sorted(tail_shares(tail).items(), key=lambda item: -item[1])
    named = [(name, share) for name, share in shares[:most] if share >= SMALL_SHARE]
    return ", ".join(f"{share:.0f} % {words[name]}" for name, share in named)
