# SPDX-License-Identifier: GPL-2.0-or-later
"""Names that the engine gives to what it counts, from its own tables in ftl/.

The engine writes numbers without names.  What they mean is said once, in C: whatever reads them
here asks this module, and a new field there needs no change here.
"""

from __future__ import annotations

import functools
import re

from scarplib.paths import ENGINE, ROOT


@functools.cache
def _sources() -> str:
    return "".join(path.read_text() for path in sorted(ENGINE.rglob("*.c")))


def _table(declaration: str) -> str:
    """What is between the braces of the one array that is declared so."""
    found = re.findall(
        rf"\b{declaration}\[[^\]\n]*\] = \{{\n(.*?)\n\}};", _sources(), flags=re.DOTALL
    )
    if len(found) != 1:
        raise LookupError(f"{ENGINE}: {len(found)} tables '{declaration}[]', one expected")
    return str(found[0])


def _strings(declaration: str) -> tuple[str, ...]:
    return tuple(re.findall(r'"(\w+)"', _table(declaration)))


@functools.cache
def causes() -> tuple[str, ...]:
    """What a command can wait for, in the order of ScarpCause: controller, link, …"""
    return _strings("cause_names")


@functools.cache
def part_causes() -> tuple[str, ...]:
    """The causes that follow on a drive with an SLC cache or a temperature: die_fold_read, …"""
    return _strings("part_names")


@functools.cache
def statistics() -> tuple[str, ...]:
    """The counters of ScarpStats in their order, cause_…_ns among them."""
    return tuple(re.findall(r'^    \{ "(\w+)"', _table("ScarpStatField fields"), re.MULTILINE))


@functools.cache
def latency_points() -> tuple[str, ...]:
    """The quantiles that the drive itself tells: p50, p90, …"""
    return _strings("point_names")


@functools.cache
def latency_tails() -> tuple[str, ...]:
    """The shares of slowest commands that the drive itself explains: slowest_1_percent, …"""
    return _strings("tail_names")


@functools.cache
def realtime_statistics() -> tuple[str, ...]:
    """What a drive on the host's clock adds to the log page, in order."""
    source = (ROOT / "hw" / "flash-lateness.c").read_text()
    found = re.findall(r"\brealtime_fields\[\] = \{\n(.*?)\n\};", source, flags=re.DOTALL)
    if len(found) != 1:
        raise LookupError(f"hw/flash-lateness.c: {len(found)} tables of fields, one expected")
    return tuple(re.findall(r'"(\w+)"', found[0]))
