# SPDX-License-Identifier: GPL-2.0-or-later
"""The page of a run over several drives (needs matplotlib).

`python -m scarplib.results.drives_report FOLDER` reads FOLDER/summary.json and one folder for each
layout, and writes report.html and drives.png.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import matplotlib.pyplot as plt

from scarplib.results import drives, html_page
from scarplib.results.html_page import Picture
from scarplib.results.pictures.drives import figure_drives
from scarplib.results.pictures.lateness import figure_lateness
from scarplib.results.pictures.style import style
from scarplib.results.summary import ramp_notes
from scarplib.scheme_text import folder_name


def _lateness(folder: Path, data: drives.LayoutData) -> Picture:
    path = folder / folder_name(data.name) / "lateness.png"
    figure = figure_lateness(data.drives, path.with_name("load.csv"))
    assert figure
    figure.savefig(path)
    plt.close(figure)
    return (
        f"How late the host was: {data.name}",
        "Each drive's completions, by how much longer the guest waited for them than the model "
        "wanted. Below, what kept the host busy at the time.",
        path.read_bytes(),
    )


def write_report(folder: Path) -> None:
    """Draw the picture, and write the page around it, into the run's folder."""
    result = json.loads((folder / "summary.json").read_text())
    layouts = result["layouts"]
    style()
    loaded = [
        drives.load_layout(folder / folder_name(name), name, made["layout"], result["drives"])
        for name, made in layouts.items()
    ]
    figure = figure_drives(loaded)
    figure.savefig(folder / "drives.png")
    plt.close(figure)
    lead = f"Job {result['job']} on {result['drives']} drives of {result['device']}, on one clock; "
    lead += "every layout from the same states."
    real = drives.on_real_time(layouts)
    if result.get("failed"):
        lead += f" Without {', '.join(result['failed'])}, which did not finish."
    page = html_page.render(
        "drives.html",
        title=f"Scarp: {result['drives']} drives, {', '.join(layouts)}",
        lead=lead,
        picture=(
            "Latency over time, and each drive's collections",
            f"Every request that fio sent, by when it ended, in {'real' if real else 'virtual'} "
            "time. Below, a line for each drive shows when at least one of its planes collected "
            "garbage. Above each panel: the layout, and the tails of fio's latencies.",
            (folder / "drives.png").read_bytes(),
        ),
        doubts=[
            *filter(None, [result.get("changed")]),
            *drives.doubts(layouts),
            *ramp_notes(layouts),
        ],
        lateness=[_lateness(folder, data) for data in loaded if real],
        numbers=(list(layouts), drives.table_rows(layouts)),
        manifest=html_page.manifest_text(result.get("manifest")),
        realtime=real,
    )
    (folder / "report.html").write_text(page)


def main() -> int:
    """As `scarp run --drives` calls it: FOLDER."""
    if len(sys.argv) != 2:
        print("usage: python -m scarplib.results.drives_report FOLDER", file=sys.stderr)
        return 2
    write_report(Path(sys.argv[1]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
