# SPDX-License-Identifier: GPL-2.0-or-later
"""A replay in words: which workload it was, what was done to it, and what it cannot show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scarplib.results.units import human_ns

# How a workload differs from what its file says, in scarp-replay's JSON.
CHANGES = (
    *("folded", "skipped_lines", "empty_requests", "foreign_lines", "broken_lines"),
    *("skipped_requests", "gaps_cut", "gaps_cut_ns", "repeat"),
    *("times_back", "times_ahead", "warnings"),
)
_DAY_NS = 86_400 * 10**9


def _duration(ns: int) -> str:
    return f"{ns // _DAY_NS:,} days" if ns >= 2 * _DAY_NS else human_ns(ns)


def changes(result: dict[str, Any]) -> list[str]:
    """What was done to the workload, each kind with how often."""
    words = []
    for key, one, many in (
        ("folded", "request folded onto the drive", "requests folded onto the drive"),
        ("skipped_lines", "line of its head skipped", "lines of its head skipped"),
        ("empty_requests", "request of no bytes left out", "requests of no bytes left out"),
        ("foreign_lines", "line left out that no drive has a command for",
         "lines left out that no drive has a command for"),
        ("broken_lines", "broken line left out", "broken lines left out"),
        ("skipped_requests", "request left out by --skip", "requests left out by --skip"),
    ):  # fmt: skip
        if count := result[key]:
            words.append(f"{count:,} {one if count == 1 else many}")
    if count := result["gaps_cut"]:
        cut = _duration(result["gaps_cut_ns"])
        words.append(f"{count:,} {'gap' if count == 1 else 'gaps'} cut by {cut}")
    if result["repeat"] > 1:
        words.append(f"run {result['repeat']:,} times")
    return words


def _format(trace: dict[str, Any]) -> str:
    """Which format it was taken for, and how sure that is."""
    if not trace["sniffed"]:
        return str(trace["format"])
    words = f"{trace['format']}, by its first {trace['sniffed']:,} requests"
    if trace["also"]:
        words += f", which fit {trace['also']}, too: --format says which it is"
    return words


def workload(result: dict[str, Any]) -> str:
    """A run's first line."""
    words = f"{result['workload']} ({_format(result['trace'])}): "
    return words + ", ".join([f"{result['measured']:,} requests measured", *changes(result)])


def _bytes(count: int) -> str:
    for unit in ("KiB", "MiB"):
        count //= 1024
        if count < 10 * 1024:
            return f"{count:,} {unit}"
    return f"{count // 1024:,} GiB"


def collected(results: Sequence[dict[str, Any]]) -> bool:
    """Whether a scheme had anything to collect."""
    return any(r["stats"]["gc_runs"] or r["stats"]["erases"] for r in results)


def nothing_collected(several: bool, more: int | None, longer: str) -> str:
    """What it means that nothing was; `more`: how many bytes are missing, if that is known;
    `longer`: by what a run writes more."""
    words = "No collection ran: the schemes cannot differ" if several else "No collection ran"
    if more is None:
        return f"{words}. More must be written before one does: {longer}, or by --age 900."
    if not more:
        return f"{words}. The drive is full enough: a longer run, such as {longer}, collects."
    return (
        f"{words}. About {_bytes(more)} more must be written before one does: {longer}, or "
        "before the run, by --age 900."
    )


def no_collection(results: Sequence[dict[str, Any]]) -> str | None:
    """Where no scheme had anything to collect: what that means, and what is missing."""
    if collected(results):
        return None
    more = min(result["until_collection_bytes"] for result in results)
    return nothing_collected(len(results) > 1, more, "by --repeat")


def notes(results: Sequence[dict[str, Any]]) -> list[str]:
    """For the report's first screen."""
    found = [f"The workload: {workload(results[0])}."]
    found += [f"{line}." for line in results[0]["warnings"]]
    return [*found, *filter(None, [no_collection(results)])]
