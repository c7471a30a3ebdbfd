# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp report A B`: two finished runs beside each other, as a table and a page."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from scarplib.errors import UserError
from scarplib.results import beside, table
from scarplib.runs.folder import draw, new_folder


def _sides(folders: Sequence[Path]) -> list[beside.Side]:
    resolved = [folder.resolve() for folder in folders]
    if resolved[0] == resolved[1]:
        raise UserError(f"report: {folders[0]} and {folders[1]} are one run")
    names = [folder.name for folder in folders]
    if names[0] == names[1]:
        names = [str(folder) for folder in folders]
    return [beside.side(*each) for each in zip(folders, names, strict=True)]


def main(folders: Sequence[Path], differ: Sequence[str], out: Path | None) -> int:
    """The exit status."""
    sides = _sides(folders)
    found = beside.differences(sides[0], sides[1], differ)
    said = beside.words(sides, found)
    print("\n".join(said))
    columns = beside.columns_of(sides)
    print(table.columns(list(columns), beside.rows(sides)))
    folder = new_folder("report", out)
    whole = {
        "schema": beside.SCHEMA,
        "sides": [{"name": each.name, "folder": str(each.folder)} for each in sides],
        "differ": found,
        "words": said,
        "schemes": {label: each.result["schemes"][name] for label, (each, name) in columns.items()},
    }
    (folder / "summary.json").write_text(json.dumps(whole, indent=1) + "\n")
    draw(folder, "scarplib.results.beside_report")
    shown = folder.relative_to(Path.cwd()) if folder.is_relative_to(Path.cwd()) else folder
    print(f"\nResults: {shown}/  (report.html, summary.json)")
    return 0
