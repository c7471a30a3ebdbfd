# SPDX-License-Identifier: GPL-2.0-or-later
"""A report's interactive part: the data of all schemes, what draws it, and the library for that."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from markupsafe import Markup

from scarplib.build.page_library import ensure_library
from scarplib.device_logs.command_log import CAUSES, OPS, Commands
from scarplib.device_logs.flash_log import NOWHERE
from scarplib.paths import ROOT
from scarplib.results import html_page
from scarplib.results.causes import labels, merges, sentences
from scarplib.results.interactive import instants
from scarplib.results.interactive.bins import KEPT, bins, kept, levels
from scarplib.results.interactive.columns import EXACT, Packer
from scarplib.results.interactive.served import Served
from scarplib.results.pictures.schemes import looks
from scarplib.results.pictures.style import CAUSE_COLOURS
from scarplib.results.summary import SchemeData

HEADING = "Latency over time"
_HERE = Path(__file__).parent
_SCRIPTS = ("data.js", "plot.js", "details.js", "page.js")
# The same where collections may be folds.
_SCRIPTS_OF_FOLDS = (*_SCRIPTS[:-1], "folds.js", _SCRIPTS[-1])


@dataclass(frozen=True)
class Repeatable:
    """A column whose run can be repeated from an instant on."""

    # What scarp-why said of its slowest commands; None: nothing.
    answer: Mapping[str, Any] | None
    # For `scarp compare --at`: its own scheme first; empty: that cannot be.
    schemes: Sequence[str] = ()


def _commands(
    pack: Packer,
    data: SchemeData,
    served: Served | None,
    limit: int,
    repeatable: Repeatable | None = None,
) -> dict[str, Any]:
    """The commands that are kept one by one, in the order of submission."""
    commands = data.commands
    begin = data.begin_ns
    submit = np.frombuffer(commands.submit, np.int64)
    latency = np.frombuffer(commands.complete, np.int64) - submit
    ops = np.frombuffer(commands.op, np.uint8)
    chosen = kept(ops, latency, limit)
    chosen = chosen[np.argsort(submit[chosen], kind="stable")]
    columns = {
        "time": pack.add(submit[chosen] - begin, rising=True),
        "latency": pack.add(latency[chosen]),
        "op": pack.add(ops[chosen]),
        "offset": pack.add(np.frombuffer(commands.offset, np.uint64)[chosen].astype(np.int64)),
        "length": pack.add(np.frombuffer(commands.length, np.uint32)[chosen]),
        "stream": pack.add(np.frombuffer(commands.stream, np.uint16)[chosen]),
    }
    order = np.frombuffer(commands.order, np.uint32)[chosen]
    if repeatable:
        columns["order"] = pack.add(order)
    causes = {}
    for name, column in commands.by_cause().items():
        values = np.frombuffer(column, np.int64)[chosen]
        if values.any():
            causes[name] = pack.add(values)
    if served:
        for name in ("die", "plane", "block", "page"):
            values = getattr(served, name)[chosen].astype(np.int64)
            # Nowhere becomes nought, which is narrower.
            columns[name] = pack.add(np.where(values == NOWHERE, 0, values + 1))
    found: dict[str, Any] = {"columns": columns, "causes": causes}
    if repeatable and repeatable.answer:
        places = {int(number): place for place, number in enumerate(order)}
        found["why"] = instants.described(repeatable.answer, places, begin)
    return found


def _levels(pack: Packer, data: SchemeData) -> dict[str, list[Any]]:
    """For each kind of command its bins, from coarse to fine."""
    submit = np.frombuffer(data.commands.submit, np.int64) - data.begin_ns
    latency = np.frombuffer(data.commands.complete, np.int64) - data.begin_ns - submit
    ops = np.frombuffer(data.commands.op, np.uint8)
    span = data.end_ns - data.begin_ns
    out = {}
    for op in np.unique(ops):
        mine = ops == op
        found = []
        for number in levels(len(ops)):
            made = bins(submit[mine], latency[mine], number, span)
            found.append({
                "width": made.width_ns,
                "number": pack.add(made.number, rising=True),
                **{
                    name: pack.add(getattr(made, name))
                    for name in ("count", "lowest", "p50", "p99", "highest")
                },
            })  # fmt: skip
        out[str(op)] = found
    return out


def _collections(pack: Packer, data: SchemeData) -> dict[str, Any]:
    runs = data.gc_runs
    begin = np.array([run.begin - data.begin_ns for run in runs], np.int64)
    # A collection may have begun before the job did: times here begin with the first of both.
    first = min(0, int(begin.min())) if len(begin) else 0
    columns = {
        "begin": pack.add(begin - first, rising=True),
        "length": pack.add(np.array([run.end - run.begin for run in runs], np.int64)),
    }
    for name in ("die", "plane", "block", "moved"):
        columns[name] = pack.add(np.array([getattr(run, name) for run in runs], np.int64))
    return {"first": first, "columns": columns}


def _folder_words(folder: Path) -> str:
    """A scheme's folder as a command names it that is typed in the checkout."""
    whole = folder.resolve()
    return str(whole.relative_to(ROOT) if whole.is_relative_to(ROOT) else whole)


def _causes(schemes: Sequence[SchemeData]) -> list[dict[str, str]]:
    """Each cause that the logs have: what it is called, and how it is drawn."""
    merging = merges(data.summary for data in schemes)
    had = {*CAUSES, *(name for data in schemes for name in data.commands.by_cause())}
    return [
        {
            "name": name,
            "label": labels(merging)[name],
            "sentence": sentences(merging)[name],
            "colour": colour,
        }
        for name, colour in CAUSE_COLOURS.items()
        if name in had
    ]


def _may_fold(commands: Commands) -> bool:
    return "die_fold_read" in commands.by_cause()


def describe(
    schemes: Sequence[SchemeData],
    served: Mapping[str, Served | None],
    can_replay: Mapping[str, bool],
    limit: int = KEPT,
    repeatable: Mapping[str, Repeatable] = MappingProxyType({}),
    again: str | None = None,
) -> tuple[dict[str, Any], str]:
    """What the page says as JSON, and the columns that it refers to, as text."""
    pack = Packer()
    total = sum(len(data.commands) for data in schemes)
    described = []
    look = looks([data.name for data in schemes])
    for data in schemes:
        count = len(data.commands)
        room = count if total <= limit else limit * count // total
        described.append({
            "name": data.name,
            "colour": look[data.name].colour,
            "begin": data.begin_ns,
            "span": data.end_ns - data.begin_ns,
            "count": count,
            "folder": _folder_words(data.folder) if can_replay.get(data.name) else None,
            **_commands(pack, data, served.get(data.name), room, repeatable.get(data.name)),
            "compared": list(repeatable[data.name].schemes) if data.name in repeatable else [],
            "levels": _levels(pack, data),
            "collections": _collections(pack, data),
        })  # fmt: skip
    said = {"ops": OPS, "causes": _causes(schemes), "schemes": described, "again": again}
    return said, pack.text()


def _library() -> str:
    text = b"\n".join(path.read_bytes() for path in ensure_library())
    return base64.b64encode(zlib.compress(text, 9)).decode()


def section(
    schemes: Sequence[SchemeData],
    served: Mapping[str, Served | None],
    can_replay: Mapping[str, bool],
    otherwise: Markup,
    limit: int = KEPT,
    repeatable: Mapping[str, Repeatable] = MappingProxyType({}),
    again: str | None = None,
) -> Markup:
    """The part as HTML; `otherwise` is shown where scripts do not run.

    It is all there is of a run that is too long for the page's numbers.
    """
    longest = max(data.end_ns - data.begin_ns for data in schemes)
    if longest >= EXACT:
        days = longest // (86_400 * 10**9)
        return html_page.render("interactive.html", days=f"{days:,}", otherwise=otherwise)
    said, columns = describe(schemes, served, can_replay, limit, repeatable, again)
    # "</" must not end the script that it is in.
    data = json.dumps(said, separators=(",", ":")).replace("</", "<\\/")
    folds = any(_may_fold(data.commands) for data in schemes)
    return html_page.render(
        "interactive.html",
        heading=HEADING,
        whole=sum(len(data.commands) for data in schemes) <= limit,
        otherwise=otherwise,
        style=_text("page.css"),
        controls=_text("page.html"),
        data=Markup(data),
        columns=columns,
        library=_library(),
        scripts=_text(*(_SCRIPTS_OF_FOLDS if folds else _SCRIPTS)),
    )


def _text(*names: str) -> Markup:
    """Files of this folder, which go into the page as they are."""
    return Markup("".join((_HERE / name).read_text() for name in names))
