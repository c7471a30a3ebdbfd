# SPDX-License-Identifier: GPL-2.0-or-later
"""The page of a run, report.html, which opens without a network (needs matplotlib).

`python -m scarplib.results.report FOLDER` reads FOLDER/summary.json and one folder for each scheme,
and writes the page and the pictures in it as PNGs.
"""

from __future__ import annotations

import base64
import html
import json
import sys
import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from scarplib.drive import start
from scarplib.results import file_system, lateness, replayed, summary
from scarplib.results.causes import labels, merges, sentences, tail_shares, tail_text
from scarplib.results.interactive import section, served
from scarplib.results.pictures.cause_shares import figure_cause_shares
from scarplib.results.pictures.distribution import figure_distribution
from scarplib.results.pictures.guest_drive_waits import figure_guest_drive_waits
from scarplib.results.pictures.latency_over_time import figure_over_time
from scarplib.results.pictures.lateness import figure_lateness
from scarplib.results.pictures.operations import figure_operations
from scarplib.results.pictures.style import style
from scarplib.results.pictures.tail import figure_tail
from scarplib.results.summary import SchemeData
from scarplib.results.table import table_rows
from scarplib.results.units import human_ns
from scarplib.scheme_text import folder_name

# Heading, explanation and PNG.
Picture = tuple[str, str, bytes]
# The interactive part around what is shown where scripts do not run.
Interactive = Callable[[str], str]
TAIL_HEADING = "Each scheme's tail, and what makes it"
_PAGE_STYLE = """
body{font:16px/1.5 system-ui,sans-serif;color:#222;max-width:1180px;margin:2em auto;padding:0 1em}
h1{font-size:1.6em;margin-bottom:0}h2{font-size:1.2em;margin-top:2em}
img{max-width:100%;height:auto}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}
td,th{padding:.15em 1em;text-align:right}td:first-child,th:first-child{text-align:left}
tr.head td{font-weight:600;padding-top:.7em;border-bottom:1px solid #ccc}
pre{background:#f6f6f6;padding:1em;overflow:auto;font-size:.8em}
dt{float:left;clear:left;width:15em;font-weight:600}dd{margin:0 0 .2em 15.5em}
.lead{color:#555;margin-top:.2em}
"""


def html_table(names: Sequence[str], rows: Sequence[tuple[str, Sequence[str]]]) -> str:
    """Rows of (label, one cell for each name); a row without cells is a heading."""
    lines = ["<table><tr><th></th>"]
    lines += [f"<th>{html.escape(name)}</th>" for name in names]
    lines.append("</tr>")
    for label, cells in rows:
        if cells:
            body = "".join(f"<td>{html.escape(cell)}</td>" for cell in cells)
            lines.append(f"<tr><td>{html.escape(label.strip())}</td>{body}</tr>")
        else:
            lines.append(
                f'<tr class="head"><td colspan="{len(names) + 1}">{html.escape(label)}</td></tr>'
            )
    lines.append("</table>")
    return "".join(lines)


def head(title: str, lead: str) -> list[str]:
    """How a page begins."""
    return [
        "<!doctype html><html lang=en><meta charset=utf-8>",
        "<meta name=viewport content='width=device-width'>",
        f"<title>{html.escape(title)}</title><style>{_PAGE_STYLE}</style>",
        f"<h1>{html.escape(title)}</h1><p class=lead>{html.escape(lead)}</p>",
    ]


def picture(heading: str, text: str, png: bytes) -> str:
    """A picture that is in the page itself."""
    data = base64.b64encode(png).decode()
    return (
        f"<h2>{html.escape(heading)}</h2><p>{html.escape(text)}</p>"
        f'<img alt="{html.escape(heading)}" src="data:image/png;base64,{data}">'
    )


def tail(manifest: object, realtime: bool = False) -> str:
    """How it ends: with what made it."""
    promise = "Equal manifests give equal bytes on any host."
    if realtime:
        promise = "On the host's clock no two runs are alike: the host is a part of the result."
    return (
        f"<h2>What made these numbers</h2><p>{promise}</p>"
        f"<pre>{html.escape(json.dumps(manifest, indent=2))}</pre></html>"
    )


def _tail_words(schemes: dict[str, dict[str, Any]]) -> str:
    """The picture of the tails in sentences, and what its causes mean."""
    lines = ["<ul>"]
    met: set[str] = set()
    merging = merges(schemes.values())
    for name, scheme in schemes.items():
        for direction in ("read", "write"):
            tail = scheme["tail_causes"][direction]
            if not tail:
                continue
            met.update(c for c, share in tail_shares(tail).items() if share >= 5)
            lines.append(
                f"<li><b>{html.escape(name)}</b>: its slowest 0.1 % of {direction}s "
                f"({tail['count']:,}) took {human_ns(tail['mean_ns'])} on average: "
                f"{html.escape(tail_text(tail, merging=merging))}.</li>"
            )
    lines.append("</ul><dl>")
    for cause, label in labels(merging).items():
        if cause in met:
            said = html.escape(sentences(merging)[cause])
            lines.append(f"<dt>{html.escape(label)}</dt><dd>{said}</dd>")
    lines.append("</dl>")
    return "".join(lines)


def page(result: dict[str, Any], pictures: list[Picture], interactive: Interactive) -> str:
    """The report in one file: tails, table, every command, other pictures, the manifest.

    The picture under the interactive part's heading is for where scripts do not run.
    """
    schemes = result["schemes"]
    title = f"Scarp: {', '.join(schemes)}"
    cliff = summary.cliff(schemes)
    lead = ""
    if cliff:
        worst, best, ratio = cliff
        lead = f"99.9th percentile of reads: {worst} is {ratio:.1f} times {best}."
    lead += f" Job {result['job']} on {result['device']}, every scheme from the same state."
    if result.get("failed"):
        lead += f" Without {', '.join(result['failed'])}, which did not finish."
    parts = head(title, lead)
    parts += [f"<p>{html.escape(note)}</p>" for note in result.get("notes", [])]
    doubts = [*filter(None, [result.get("changed")]), *lateness.doubts(schemes)]
    parts += [f"<p><b>{html.escape(doubt)}</b></p>" for doubt in doubts]
    clock = lateness.clock(schemes.values())
    if any("script" in s for s in schemes.values()):
        who = "the drive saw"
    elif all("fio" in s for s in schemes.values()):
        who = "fio saw in the guest"
    else:
        who = "the host sees"
    numbers = (
        f"<h2>In numbers</h2><p>Latencies are what {who}, in {clock} time; "
        "pages moved and write amplification are the drive's own counts.</p>"
        + html_table(list(schemes), table_rows(schemes))
    )
    if found := file_system.matrix(schemes):
        text = "<h2>File systems and schemes</h2><p>Each under each, from the same drive.</p>"
        parts.append(text + html_table(*found))
    for heading, text, png in pictures:
        shown = picture(heading, text, png)
        parts.append(interactive(shown) if heading == section.HEADING else shown)
        if heading == TAIL_HEADING:
            parts += [_tail_words(schemes), numbers]
    parts.append(tail(result.get("manifest"), clock == "real"))
    return "\n".join(parts)


class _Served:
    """Where the commands were served, found beside the drawing: the replayer is another process."""

    def __init__(self, result: dict[str, Any], folder: Path, schemes: list[SchemeData]) -> None:
        self.starts = {d.name: start.of_run(result, folder, d.name) for d in schemes}
        self.found: dict[str, served.Served | None] = {}
        self._thread = threading.Thread(target=self._find, args=(schemes,))
        self._thread.start()

    def _find(self, schemes: list[SchemeData]) -> None:
        for data in schemes:
            self.found[data.name] = served.find(data, self.starts[data.name])

    def interactive(self, schemes: list[SchemeData], otherwise: str) -> str:
        """The part of the page."""
        self._thread.join()
        can_replay = {name: known is not None for name, known in self.starts.items()}
        return section.section(schemes, self.found, can_replay, otherwise)


def write_report(folder: Path) -> None:
    """Draw the pictures, and write the page around them, into the run's folder."""
    result = json.loads((folder / "summary.json").read_text())
    load = replayed.load if result["schema"] == replayed.SCHEMA else summary.load_scheme
    schemes = [load(folder / folder_name(name), name) for name in result["schemes"]]
    where = _Served(result, folder, schemes)
    style()
    if any(data.summary["tail_causes"]["read"] for data in schemes):
        # For a page of results: the reads alone, small.
        small = figure_tail(schemes, ("read",))
        small.savefig(folder / "tail-read.png", dpi=75)
        plt.close(small)
    pictures = []
    for name, heading, text, figure in (
        (
            "tail.png",
            TAIL_HEADING,
            "On the left, how slow the slow commands are: each step to the right is ten times "
            "rarer, and up is slower. The shaded part is the slowest thousandth. On the right, "
            "where exactly those commands' time went: what takes the most room is what makes the "
            "tail. Warm colours are garbage collection, blue is the host's other I/O, grey the "
            "command's own work.",
            figure_tail(schemes),
        ),
        (
            "latency.png",
            section.HEADING,
            "Every command of the measured job at the device. The shaded periods are those in "
            "which at least one plane collected garbage; the strip below counts them.",
            figure_over_time(schemes),
        ),
        (
            "cdf.png",
            "Distribution",
            "Left all commands, right the slow ones on a logarithmic axis.",
            figure_distribution(schemes),
        ),
        (
            "causes.png",
            "The same causes as shares",
            "Every bar is as long, so that short tails can be read too. Each command's latency is "
            "divided among causes that add up to it exactly.",
            figure_cause_shares(schemes),
        ),
        (
            "lateness.png",
            "How late the host was",
            "Each completion, by how much longer the guest waited for it than the model wanted: "
            "from its doorbell to its entry in the completion queue. Below, what kept the host "
            "busy at the time.",
            figure_lateness(schemes),
        ),
        (
            "operations.png",
            "The script's own operations",
            "Their latencies as the script took them down: each step to the right is ten times "
            "rarer, and up is slower.",
            figure_operations(schemes),
        ),
        (
            "block.png",
            "What the guest's kernel waited for",
            "On the left, the slowest calls that wait until data is durable (without any, the "
            "slowest requests), and where their time went, in the guest and in the drive. On the "
            "right, the slowest one: the requests that it stood behind, one after the other. "
            "The ten slowest are in blk.txt in the scheme's folder, all requests in requests.csv.",
            figure_guest_drive_waits(schemes),
        ),
    ):
        if figure is None:
            continue
        figure.savefig(folder / name)
        plt.close(figure)
        pictures.append((heading, text, (folder / name).read_bytes()))
    (folder / "report.html").write_text(page(result, pictures, partial(where.interactive, schemes)))


def main() -> int:
    """As `scarp run` calls it: FOLDER."""
    if len(sys.argv) != 2:
        print("usage: python -m scarplib.results.report FOLDER", file=sys.stderr)
        return 2
    write_report(Path(sys.argv[1]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
