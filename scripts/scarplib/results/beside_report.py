# SPDX-License-Identifier: GPL-2.0-or-later
"""The page of two runs beside each other (needs matplotlib).

`python -m scarplib.results.beside_report FOLDER` reads FOLDER/summary.json, which names the two.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

from scarplib.results import beside, html_page, replayed, summary
from scarplib.results.pictures.style import style
from scarplib.results.pictures.tail import figure_tail
from scarplib.results.report import TAIL_HEADING
from scarplib.results.summary import SchemeData
from scarplib.scheme_text import folder_name


def _load(label: str, side: beside.Side, name: str) -> SchemeData:
    load = replayed.load if side.result["schema"] == replayed.SCHEMA else summary.load_scheme
    return replace(load(side.folder / folder_name(name), name), name=label)


def write_report(folder: Path) -> None:
    """The pictures and the page."""
    result = json.loads((folder / "summary.json").read_text())
    sides = [beside.side(Path(each["folder"]), each["name"]) for each in result["sides"]]
    columns = beside.columns_of(sides)
    style()
    figure = figure_tail([_load(label, *of) for label, of in columns.items()])
    picture = None
    # Runs of trims alone have no tail of reads, writes or fsyncs.
    if figure:
        figure.savefig(folder / "tail.png")
        picture = (
            TAIL_HEADING,
            "On the left how slow the slow commands are, on the right what they waited for.",
            (folder / "tail.png").read_bytes(),
        )
    page = html_page.render(
        "beside.html",
        title=f"Scarp: {sides[0].name} beside {sides[1].name}",
        lead="Two runs, each from its own folder.",
        words=result["words"],
        numbers=(list(columns), beside.rows(sides)),
        picture=picture,
    )
    (folder / "report.html").write_text(page)


if __name__ == "__main__":
    write_report(Path(sys.argv[1]))
