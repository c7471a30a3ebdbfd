# SPDX-License-Identifier: GPL-2.0-or-later
"""The page of two runs beside each other (needs matplotlib).

`python -m scarplib.results.beside_report FOLDER` reads FOLDER/summary.json, which names the two.
"""

from __future__ import annotations

import html
import json
import sys
from dataclasses import replace
from pathlib import Path

from scarplib.results import beside, replayed, summary
from scarplib.results.pictures.style import style
from scarplib.results.pictures.tail import figure_tail
from scarplib.results.report import TAIL_HEADING, head, html_table, picture
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
    figure.savefig(folder / "tail.png")
    title = f"Scarp: {sides[0].name} beside {sides[1].name}"
    parts = head(title, "Two runs, each from its own folder.")
    parts += [f"<p>{html.escape(line)}</p>" for line in result["words"]]
    parts.append("<h2>In numbers</h2>" + html_table(list(columns), beside.rows(sides)))
    text = "On the left how slow the slow commands are, on the right what they waited for."
    parts.append(picture(TAIL_HEADING, text, (folder / "tail.png").read_bytes()))
    (folder / "report.html").write_text("\n".join([*parts, "</html>"]))


if __name__ == "__main__":
    write_report(Path(sys.argv[1]))
