# SPDX-License-Identifier: GPL-2.0-or-later
"""What a run of power cuts prints and writes: a table, the stories of what failed, JSON."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

from scarplib.errors import printable
from scarplib.powercut.cuts import Cut, Tried
from scarplib.powercut.judge import Checked, Judged
from scarplib.powercut.recording import Recording
from scarplib.results.units import human_ns

SCHEMA = "scarp-powercut-1"
# Lines of a check's output in a story.
_LINES = 8


def summary(recording: Recording, tried: Tried, judged: Judged | None) -> dict[str, Any]:
    """All of it for programs."""
    ready = [cut.ready_ns for cut in tried.cuts if cut.ready_ns is not None]
    met = {cut.met for cut in tried.cuts if not cut.again}
    violated = {"contract": [cut.name for cut in tried.cuts if cut.violations]}
    found: dict[str, Any] = {
        "schema": SCHEMA,
        "work": recording.work,
        "file_system": recording.file_system,
        "scheme": recording.scheme,
        "overrides": recording.overrides,
        "drives": len(recording.drives),
        "moments": tried.moments,
        "cuts": len(tried.cuts),
        "cut_twice": sum(cut.again is not None for cut in tried.cuts),
        "kinds": len(tried.kinds),
        "kinds_met": len(met & {kind["met"] for kind in tried.kinds}),
        "contents": len({cut.contents for cut in tried.cuts if cut.contents}),
        "torn_pages": sum(cut.torn_pages for cut in tried.cuts),
        "lost": sum(cut.lost_sectors > 0 for cut in tried.cuts),
        "ready_median_ns": int(statistics.median(ready)) if ready else None,
        "ready_worst_ns": max(ready, default=None),
        "violated": violated,
        "interrupted": tried.interrupted or bool(judged and judged.interrupted),
        "manifest": recording.manifest,
    }
    if judged:
        names = [name for each in judged.contents for name in each.verdict.of]
        for name in dict.fromkeys(names):
            violated[name] = [e.cut.name for e in judged.contents if name in e.failed]
        found["checked"] = len(judged.contents)
        found["refused"] = sum("refused" in e.verdict.of.values() for e in judged.contents)
        found["stopped"] = sum("stopped" in e.verdict.of.values() for e in judged.contents)
    return found


def _rows(found: dict[str, Any]) -> list[tuple[str, str]]:
    twice = f", {found['cut_twice']:,} of them twice" if found["cut_twice"] else ""
    rows = [
        ("moments of the run", f"{found['moments']:,}"),
        ("cuts", f"{found['cuts']:,}{twice}"),
        ("kinds of moments met", f"{found['kinds_met']} of {found['kinds']}"),
        ("pages torn", f"{found['torn_pages']:,}"),
        ("cuts that lost completed writes", f"{found['lost']:,}"),
        ("time until ready, median", human_ns(found["ready_median_ns"])),
        ("time until ready, worst", human_ns(found["ready_worst_ns"])),
        ("distinct contents", f"{found['contents']:,}"),
    ]
    if "checked" in found:
        rows.append(("  checked in the guest", f"{found['checked']:,}"))
        rows.append(("  refused: not mounted", f"{found['refused']:,}"))
        if found["stopped"]:
            rows.append(("  stopped: a check did not end", f"{found['stopped']:,}"))
    return rows


def table(found: dict[str, Any]) -> str:
    """For people."""
    rows = _rows(found)
    cuts = found["violated"]["contract"]
    rows.append(("cuts that break NVMe's contract", f"{len(cuts):,}"))
    for name, failed in found["violated"].items():
        if name != "contract":
            rows.append((f"contents that fail '{name}'", f"{len(failed):,}"))
    width = max(len(label) for label, _ in rows)
    right = max(len(value) for _, value in rows)
    return "\n".join(f"{label:{width}}  {value:>{right}}" for label, value in rows)


def verdict(found: dict[str, Any]) -> str:
    """The end in a sentence, and the part of the page that goes on from there."""
    violated = found["violated"]
    broken = len(violated["contract"])
    failed = len({cut for name, cuts in violated.items() if name != "contract" for cut in cuts})
    cuts, page = found["cuts"], "docs/powercut.md"
    kept = f"The drive kept NVMe's contract at all {cuts:,} cuts"
    if not cuts:
        return f"No cut was tried ({page}#which-cuts)."
    if broken:
        said = f"The drive broke NVMe's contract at {broken:,} of {cuts:,} cuts"
        return f"{said}: what is lost there is its fault ({page}#reading-a-story)."
    if failed:
        said = f"{kept}, but {failed:,} of {found['checked']:,} contents fail a check"
        return f"{said}: that is not the drive's fault ({page}#whose-fault)."
    if "checked" not in found:
        part = "checks-that-are-there"
        return f"{kept}; what software makes of it no --check has asked ({page}#{part})."
    if found["checked"] < found["contents"]:
        said = f"{kept}, and the {found['checked']:,} of {found['contents']:,} contents that were"
        return f"{said} checked pass ({page}#how-much-was-tried)."
    return f"{kept}, and all {found['checked']:,} contents pass ({page}#how-much-was-tried)."


def shown(folder: Path) -> Path:
    """As short as it can be said."""
    return folder.relative_to(Path.cwd()) if folder.is_relative_to(Path.cwd()) else folder


def _head(recording: Recording, cut: Cut) -> str:
    when = ""
    if cut.failed_ns < recording.begin_ns:
        when = ", before the workload had begun"
    elif cut.failed_ns > recording.end_ns:
        when = ", after the workload had ended"
    return f"cut {cut.name}, at {cut.failed_ns} ns{when}; the power failed during: {cut.met}"


def _of_contract(cut: Cut) -> list[str]:
    lines = []
    for drive, text in enumerate(cut.stories):
        if text:
            lines.append(f"  drive {drive}: {text}" if len(cut.stories) > 1 else f"  {text}")
    if cut.fault:
        lines.append(f"  a fault of the drive: {cut.fault}")
    return lines


def _of_checks(each: Checked) -> list[str]:
    lines = [f"  {name}: {each.verdict.of[name]}" for name in each.failed]
    said = [line for line in each.verdict.output.splitlines() if line.strip()]
    told = [line for line in said if line.startswith(("lost: ", "verify: "))] or said
    lines += [f"    {line}" for line in told[:_LINES]]
    if len(told) > _LINES:
        lines.append(f"    … and {len(told) - _LINES} lines more")
    if each.promised:
        when, _, what = each.promised.partition(" ")
        lines.append(f"  The last promise before that was '{printable(what)}', at {when} ns.")
    if each.cut.violations:
        lines.append("  The drive broke NVMe's contract, so this may be its fault:")
        lines += _of_contract(each.cut)
    else:
        lines.append("  The drive kept NVMe's contract: this is not its fault.")
        gone = each.cut.lost_sectors
        lines.append(
            f"  Sectors whose last completed write is gone: {gone:,}. Nothing had made it durable."
            if gone
            else "  All writes that had completed are there."
        )
    return lines


def stories(recording: Recording, tried: Tried, judged: Judged | None) -> list[str]:
    """Of each cut that something is wrong with; those that a check has failed first."""
    failed = [each for each in (judged.contents if judged else []) if each.failed]
    found = ["\n".join([_head(recording, each.cut), *_of_checks(each)]) for each in failed]
    told = {each.cut.name for each in failed}
    for cut in tried.cuts:
        if cut.violations and cut.name not in told:
            found.append("\n".join([_head(recording, cut), *_of_contract(cut)]))
    return found
