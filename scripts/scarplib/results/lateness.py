# SPDX-License-Identifier: GPL-2.0-or-later
"""How late a run on the host's clock was, and whether it can be believed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from scarplib.device_logs.lateness_log import completions
from scarplib.results.percentiles import percentile
from scarplib.results.units import human_ns

OPERATIONS = ("read", "write", "other")
_POINTS = ("mean", "p50", "p99", "p99_9", "max")


def of_page(values: Mapping[str, int]) -> dict[str, Any]:
    """Of what the drive added to its log page; nothing if it was on virtual time."""
    if not values:
        return {}
    found: dict[str, Any] = {"bound_ns": values["realtime_bound_ns"]}
    for name in (*OPERATIONS, "all"):
        found[name] = {"count": values[f"{name}_late_n"]}
        for point in _POINTS:
            found[name][f"{point.replace('_', '.')}_ns"] = values[f"{name}_late_{point}_ns"]
    elapsed = max(values["realtime_elapsed_ns"], 1)
    found["over_bound"] = values["realtime_over_bound"]
    found["behind_share"] = round(values["realtime_behind_ns"] / elapsed, 6)
    found["thread_cpu_share"] = round(values["realtime_thread_cpu_ns"] / elapsed, 6)
    found["polled_share"] = round(values["realtime_polled_ns"] / elapsed, 6)
    found["sleeps"] = values["realtime_sleeps"]
    found["thread_priority"] = values["realtime_priority"]
    found["lost_polls"] = values["realtime_lost_polls"]
    found["doubtful"] = found["all"]["p99_ns"] > found["bound_ns"]
    return found


def clock(schemes: Iterable[Mapping[str, Any]]) -> str:
    """Whose time theirs is: real, which is the host's, or virtual."""
    return "real" if any(scheme.get("lateness") for scheme in schemes) else "virtual"


def shares(log: Path, begin_ns: int, end_ns: int) -> dict[str, Any]:
    """Where lateness arose: before the model's beginning, or from its end on.

    The model begins at the doorbell, unless the engine has gone further by the time at which the
    queue has been read.  After the model's end the drive's thread has to be there, and to get
    QEMU's big lock.
    """
    before: list[int] = []
    behind: list[int] = []
    for c in completions(log):
        if not c.part and begin_ns <= c.arrived <= end_ns:
            before.append(c.submit - c.arrived)
            behind.append(c.posted - c.complete)
    return {
        name: {f"p{point}_ns": percentile(sorted(values), point) for point in ("50", "99")}
        for name, values in (("before_engine", before), ("behind_model", behind))
        if values
    }


def doubts(schemes: Mapping[str, dict[str, Any]]) -> list[str]:
    """A sentence for each column whose latencies are not the model's."""
    said = []
    for name, scheme in schemes.items():
        late = scheme.get("lateness")
        if late and late["doubtful"]:
            said.append(
                f"{name} is doubtful: the 99th percentile of its completions' lateness is "
                f"{human_ns(late['all']['p99_ns'])}, allowed are {human_ns(late['bound_ns'])}; "
                f"its thread was behind {100 * late['behind_share']:.1f} % of the time."
            )
    return said


def rows(schemes: Sequence[dict[str, Any]]) -> list[tuple[str, list[str]]]:
    """Of the table; none on virtual time."""
    late = [scheme.get("lateness") for scheme in schemes]
    if not any(late):
        return []
    found: list[tuple[str, list[str]]] = []
    for name in OPERATIONS:
        if not any(x and x[name]["count"] for x in late):
            continue
        found.append((f"lateness of {name}s" if name != "other" else "lateness of others", []))
        for point in ("p50", "p99", "p99.9", "max"):
            cells = [human_ns(x[name][f"{point}_ns"]) if x else "–" for x in late]
            found.append((f"  {point}", cells))
    for title, key in (("before the engine", "before_engine"), ("after the model", "behind_model")):
        if any(x and key in x for x in late):
            cells = [_two(x, key) for x in late]
            found.append((f"of it {title}: p50, p99", cells))
    found.append(("the engine's thread", []))
    found.append(("  processor time", [_share(x, "thread_cpu_share") for x in late]))
    found.append(("  of it polling", [_share(x, "polled_share") for x in late]))
    found.append(("  behind", [_share(x, "behind_share") for x in late]))
    found.append(("  real-time priority", [_priority(x) for x in late]))
    found.append(("  verdict", [_verdict(x) for x in late]))
    return found + _truth_rows(schemes)


def _two(late: dict[str, Any] | None, key: str) -> str:
    part = (late or {}).get(key)
    return f"{human_ns(part['p50_ns'])}, {human_ns(part['p99_ns'])}" if part else "–"


def _idle(truth: dict[str, Any] | None) -> str:
    idle = (truth or {}).get("idle_host")
    if not truth or not idle:
        return "–"
    both = ", ".join(human_ns(idle[which]["p50_ns"]) for which in ("given", "wanted"))
    return f"{both} ({100 * idle['count'] / truth['count']:.0f} % of them)"


def _share(late: dict[str, Any] | None, key: str) -> str:
    return f"{100 * late[key]:.1f} %" if late else "–"


def _priority(late: dict[str, Any] | None) -> str:
    return "–" if not late else str(late["thread_priority"] or "none")


def _verdict(late: dict[str, Any] | None) -> str:
    return "–" if not late else "doubtful" if late["doubtful"] else "good"


def _truth_rows(schemes: Sequence[dict[str, Any]]) -> list[tuple[str, list[str]]]:
    """What the guest was given, and what the model wanted for the same arrivals."""
    found: list[tuple[str, list[str]]] = []
    for name in ("read", "write"):
        truths = [(scheme.get("truth") or {}).get(name) for scheme in schemes]
        if not any(truths):
            continue
        found.append((f"{name}s: given, and wanted on virtual time", []))
        for point in ("p50", "p99", "p99.9"):
            key = f"{point}_ns"
            cells = [
                f"{human_ns(t['given'][key])}, {human_ns(t['wanted'][key])}" if t else "–"
                for t in truths
            ]
            found.append((f"  {point}", cells))
        cells = [human_ns(t["distance_ns"]) if t else "–" for t in truths]
        found.append(("  distance of both", cells))
        cells = [
            ", ".join(human_ns(t["each"][f"p{p}_ns"]) for p in (50, 90)) if t else "–"
            for t in truths
        ]
        found.append(("  difference of each command's: p50, p90", cells))
        if any(t and "idle_host" in t for t in truths):
            found.append(("  p50 while the host was idle", [_idle(t) for t in truths]))
    return found
