# SPDX-License-Identifier: GPL-2.0-or-later
"""Two finished runs beside each other: what they differ in, and their numbers in one table."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scarplib.drive import controller
from scarplib.errors import UserError
from scarplib.results import replayed, summary
from scarplib.results.summary import seen
from scarplib.results.units import human_ns

# Of the summary.json of two runs beside each other.
SCHEMA = "scarp-beside-1"
# What of two runs must be alike, unless that is the difference that is asked for.
FACETS = ("drive", "state", "job")
_WHAT = {
    "drive": "drives are not alike",
    "state": "drives begin in different states (age, overwriting or seed)",
    "job": "jobs are not alike",
}
_SCHEMAS = {summary.SCHEMA: "a guest's run", replayed.SCHEMA: "a replay"}
_LATENCIES = ("p50", "p99", "p99.9", "max")
_OPERATIONS = (("read", "reads"), ("write", "writes"), ("sync", "fsync"))


@dataclass(frozen=True)
class Side:
    """One of the two runs."""

    name: str
    folder: Path
    result: dict[str, Any]

    def facet(self, name: str) -> Any:
        """Equal values: the runs are alike in this."""
        manifest = self.result["manifest"]
        settings, inputs = manifest["settings"], manifest["inputs"]
        words = settings.get("arguments")
        return {
            "drive": (inputs.get("device"), settings.get("overrides"),
                      [settings.get(name) for name in controller.SETTINGS],
                      [x for x in self.result["start"] or [] if x[0] == "override"]),
            "state": inputs["image"],
            "job": (self.result["job"], inputs.get("job"), inputs.get("workload"), words,
                    settings.get("smp"), settings.get("cpu_shift"), "realtime" in settings),
        }[name]  # fmt: skip

    def called(self, name: str) -> str:
        """In words, as its user knows it."""
        return str(self.result["device" if name == "drive" else "job"])


def side(folder: Path, name: str) -> Side:
    """What is in the folder of a run; UserError where it is none that has ended."""
    path = folder / "summary.json"
    try:
        result = json.loads(path.read_text())
        if not isinstance(result, dict) or result.get("schema") not in _SCHEMAS:
            raise UserError(f"report: {path}: is no result of run, compare or replay --schemes")
        found = Side(name, folder.resolve(), result)
        for facet in FACETS:
            found.facet(facet)
        if not result["schemes"]:
            raise UserError(f"report: {path}: no scheme has finished")
    except OSError as error:
        raise UserError(f"report: {path}: {error.strerror}") from error
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise UserError(f"report: {path}: is not what scarp writes") from error
    return found


def differences(first: Side, second: Side, allowed: Sequence[str]) -> list[str]:
    """In what they differ, of what is allowed; UserError for what is not.

    Two versions of Scarp are no difference of these kinds: what one changes is what is looked for.
    """
    kinds = [_SCHEMAS[each.result["schema"]] for each in (first, second)]
    if kinds[0] != kinds[1]:
        raise UserError(
            f"report: {first.name} is {kinds[0]}, {second.name} is {kinds[1]}: other clocks and "
            "loads, which no table compares"
        )
    found = [facet for facet in FACETS if first.facet(facet) != second.facet(facet)]
    # Another drive has another state.
    implied = {"state"} if "drive" in found else set()
    for facet in found:
        if facet not in {*allowed, *implied}:
            names = ""
            if facet != "state" and first.called(facet) != second.called(facet):
                names = f" ({first.called(facet)}, {second.called(facet)})"
            raise UserError(
                f"report: the two {_WHAT[facet]}{names}; --differ {facet} compares them none the "
                "less"
            )
    return [facet for facet in found if facet not in implied]


def columns_of(sides: Sequence[Side]) -> dict[str, tuple[Side, str]]:
    """(run, column there) by their names here: a column that both have stands beside itself."""
    every = list(dict.fromkeys(name for each in sides for name in each.result["schemes"]))
    return {
        f"{each.name}: {name}": (each, name)
        for name in every
        for each in sides
        if name in each.result["schemes"]
    }


def rows(sides: Sequence[Side]) -> list[tuple[str, list[str]]]:
    """What is compared, a cell for each column."""
    found = [each.result["schemes"][name] for each, name in columns_of(sides).values()]
    out: list[tuple[str, list[str]]] = []
    for key, label in _OPERATIONS:
        values = [seen(scheme).get(key) or {} for scheme in found]
        if any(values):
            out.append((label, []))
            out += [(f"  {x}", [human_ns(v.get(f"{x}_ns")) for v in values]) for x in _LATENCIES]
    amplification = [scheme.get("write_amplification") for scheme in found]
    out.append(("drive", []))
    cells = ["–" if a is None else f"{a:.3f}" for a in amplification]
    out.append(("  write amplification", cells))
    out.append(("  GC runs", [f"{scheme['gc_runs']:,}" for scheme in found]))
    return out


def words(sides: Sequence[Side], differ: Sequence[str]) -> list[str]:
    """What was run on either side, and in what the two differ."""
    lines = [
        f"{each.name}: {_SCHEMAS[each.result['schema']]}, {each.called('job')} on "
        f"{each.called('drive')}, Scarp {each.result['manifest'].get('scarp', '(unknown)')}"
        for each in sides
    ]
    engines = [
        each.result["manifest"].get("qemu", {}).get("engine")
        or each.result["manifest"].get("engine")
        for each in sides
    ]
    said = [*differ, *(["engine"] if engines[0] != engines[1] else [])]
    lines.append(f"They differ in: {', '.join(said)}." if said else "They differ in no setting.")
    return lines
