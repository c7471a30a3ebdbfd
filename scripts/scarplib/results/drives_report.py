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

from scarplib.results import drives
from scarplib.results.pictures.drives import figure_drives
from scarplib.results.pictures.style import style
from scarplib.results.report import head, html_table, picture, tail


def write_report(folder: Path) -> None:
    """Draw the picture, and write the page around it, into the run's folder."""
    result = json.loads((folder / "summary.json").read_text())
    layouts = result["layouts"]
    style()
    figure = figure_drives(
        [drives.load_layout(folder / name, name, result["drives"]) for name in layouts]
    )
    figure.savefig(folder / "drives.png")
    plt.close(figure)
    lead = f"Job {result['job']} on {result['drives']} drives of {result['device']}, on one clock; "
    lead += "every layout from the same states."
    if result.get("failed"):
        lead += f" Without {', '.join(result['failed'])}, which did not finish."
    parts = [
        *head(f"Scarp: {result['drives']} drives, {', '.join(layouts)}", lead),
        picture(
            "Latency over time, and each drive's collections",
            "Every request that fio sent, by when it ended, in virtual time. Below, a line for "
            "each drive shows when at least one of its planes collected garbage.",
            (folder / "drives.png").read_bytes(),
        ),
        "<h2>In numbers</h2>",
        html_table(list(layouts), drives.table_rows(layouts)),
        tail(result.get("manifest")),
    ]
    (folder / "report.html").write_text("\n".join(parts))


def main() -> int:
    """As `scarp run --drives` calls it: FOLDER."""
    if len(sys.argv) != 2:
        print("usage: python -m scarplib.results.drives_report FOLDER", file=sys.stderr)
        return 2
    write_report(Path(sys.argv[1]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
