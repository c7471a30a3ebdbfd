# SPDX-License-Identifier: GPL-2.0-or-later
"""Pictures of a run and the page around them (needs matplotlib: run in the cache's venv).

`python -m scarplib.results.report FOLDER` reads FOLDER/summary.json and one folder for
each scheme, and writes the PNGs and a report.html that opens without a network.
"""

from __future__ import annotations

import base64
import html
import json
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from scarplib.device_logs import command_log
from scarplib.results import summary
from scarplib.results.pictures.style import CAUSE_COLOURS, latency_axis, scheme_colour, style
from scarplib.results.pictures.tail import figure_tail
from scarplib.results.summary import CAUSE_LABELS, SchemeData

GC_BAND = "#F0C987"
GC_EDGE = "#B7791F"
READ_COLOUR, WRITE_COLOUR = "#0072B2", "#8A8A8A"
# In the full-run panel, GC periods closer than this share of it are one band.
BAND_GAP = 1 / 1500


def merge_spans(spans: list[tuple[int, int]], gap: int) -> list[tuple[int, int]]:
    """Sorted union of spans; those at most gap apart become one."""
    out: list[tuple[int, int]] = []
    for begin, end in sorted(spans):
        if out and begin <= out[-1][1] + gap:
            out[-1] = (out[-1][0], max(out[-1][1], end))
        else:
            out.append((begin, end))
    return out


def gc_steps(data: SchemeData) -> tuple[list[float], list[int]]:
    """How many GC runs are active at a time, as the corners of a step function (seconds)."""
    changes: dict[int, int] = {}
    for run in data.gc_runs:
        if run.end > run.begin:
            changes[run.begin] = changes.get(run.begin, 0) + 1
            changes[run.end] = changes.get(run.end, 0) - 1
    times, counts, level = [0.0], [0], 0
    for moment in sorted(changes):
        level += changes[moment]
        times.append((moment - data.begin_ns) / 1e9)
        counts.append(level)
    times.append((data.end_ns - data.begin_ns) / 1e9)
    counts.append(level)
    return times, counts


def closer_window(data: SchemeData) -> tuple[int, int]:
    """A stretch around the slowest read, short enough to see single commands."""
    reads = data.commands.indices(command_log.READ) or list(range(len(data.commands)))
    length = max((data.end_ns - data.begin_ns) // 60, 1)
    if not reads:
        return data.begin_ns, data.begin_ns + length
    worst = max(reads, key=lambda i: data.commands.complete[i] - data.commands.submit[i])
    middle = (data.commands.submit[worst] + data.commands.complete[worst]) // 2
    length = max(length, 3 * (data.commands.complete[worst] - data.commands.submit[worst]))
    begin = min(max(middle - length // 2, data.begin_ns), max(data.begin_ns, data.end_ns - length))
    return begin, begin + length


def _bands(axes: Axes, data: SchemeData, spans: list[tuple[int, int]]) -> None:
    for begin, end in spans:
        axes.axvspan(
            (begin - data.begin_ns) / 1e9,
            (end - data.begin_ns) / 1e9,
            color=GC_BAND,
            alpha=0.38,
            linewidth=0,
            zorder=0,
        )


def _over_time(axes: Axes, data: SchemeData) -> None:
    commands = data.commands
    for op, colour, label, order in (
        (command_log.WRITE, WRITE_COLOUR, "write", 2),
        (command_log.READ, READ_COLOUR, "read", 3),
    ):
        chosen = commands.indices(op)
        axes.scatter(
            [(commands.submit[i] - data.begin_ns) / 1e9 for i in chosen],
            [commands.complete[i] - commands.submit[i] for i in chosen],
            s=2.0,
            color=colour,
            alpha=0.45,
            linewidths=0,
            label=label,
            zorder=order,
            rasterized=True,
        )


def _closer(axes: Axes, data: SchemeData, window: tuple[int, int]) -> None:
    """Each command as a line from its submission to its completion, at its latency."""
    commands = data.commands
    for op, colour, order in (
        (command_log.WRITE, WRITE_COLOUR, 2),
        (command_log.READ, READ_COLOUR, 3),
    ):
        lines = []
        for i in commands.indices(op):
            begin, end = commands.submit[i], commands.complete[i]
            if end >= window[0] and begin <= window[1] and end > begin:
                x0, x1 = (begin - data.begin_ns) / 1e9, (end - data.begin_ns) / 1e9
                lines.append([(x0, end - begin), (x1, end - begin)])
        axes.add_collection(
            LineCollection(lines, colors=colour, linewidths=1.3, alpha=0.7, zorder=order)
        )
    spans = [(r.begin, r.end) for r in data.gc_runs if r.end > r.begin]
    _bands(axes, data, [s for s in merge_spans(spans, 0) if s[1] > window[0] and s[0] < window[1]])
    axes.set_xlim((window[0] - data.begin_ns) / 1e9, (window[1] - data.begin_ns) / 1e9)


def figure_over_time(schemes: list[SchemeData]) -> Figure:
    """For each scheme: the whole run, the GCs active at a time, and a closer look."""
    figure = plt.figure(figsize=(13.5, 3.9 * len(schemes) + 0.9), layout="constrained")
    grid = figure.add_gridspec(
        2 * len(schemes), 2, width_ratios=[2.1, 1], height_ratios=[4.2, 1] * len(schemes)
    )
    all_latencies = [
        data.commands.complete[i] - data.commands.submit[i]
        for data in schemes
        for i in range(len(data.commands))
        if data.commands.op[i] in (command_log.READ, command_log.WRITE)
    ]
    low, high = max(min(all_latencies), 1) * 0.7, max(all_latencies) * 1.5
    longest = max((data.end_ns - data.begin_ns) / 1e9 for data in schemes)
    most = max(max(gc_steps(data)[1]) for data in schemes)
    for row, data in enumerate(schemes):
        colour = scheme_colour(row)
        main = figure.add_subplot(grid[2 * row, 0])
        strip = figure.add_subplot(grid[2 * row + 1, 0], sharex=main)
        closer = figure.add_subplot(grid[2 * row, 1], sharey=main)
        closer_strip = figure.add_subplot(grid[2 * row + 1, 1], sharex=closer)
        _over_time(main, data)
        spans = [(r.begin, r.end) for r in data.gc_runs if r.end > r.begin]
        _bands(main, data, merge_spans(spans, int((data.end_ns - data.begin_ns) * BAND_GAP)))
        window = closer_window(data)
        _closer(closer, data, window)
        main.set_yscale("log")
        main.set_ylim(low, high)
        main.set_xlim(0, longest * 1.005)
        latency_axis(main.yaxis)
        main.set_ylabel("latency")
        note = "" if spans else "  (GC takes no time)" if data.gc_runs else "  (no GC)"
        main.set_title(f"{data.name}: latency of every command{note}", color=colour)
        legend = main.legend(
            handles=[
                plt.Line2D([], [], marker="o", ls="", ms=5, color=READ_COLOUR, label="read"),
                plt.Line2D([], [], marker="o", ls="", ms=5, color=WRITE_COLOUR, label="write"),
                plt.Rectangle((0, 0), 1, 1, color=GC_BAND, alpha=0.6, label="GC somewhere"),
            ],
            loc="upper right",
            ncols=3,
            fontsize=8.5,
            frameon=True,
            framealpha=0.85,
            edgecolor="none",
        )
        legend.set_zorder(10)
        slowest = "read" if data.commands.indices(command_log.READ) else "command"
        closer.set_title(f"a closer look, around its slowest {slowest}")
        times, counts = gc_steps(data)
        for axes in (strip, closer_strip):
            axes.fill_between(times, counts, step="post", color=GC_BAND, linewidth=0)
            axes.step(times, counts, where="post", color=GC_EDGE, linewidth=0.6)
            axes.set_ylim(0, max(most, 1) * 1.1)
            axes.set_yticks([0, max(most, 1)])
            axes.set_xlabel("virtual time since the job's start (s)")
        strip.set_ylabel("planes\nin GC")
        main.tick_params(labelbottom=False)
        closer.tick_params(labelbottom=False, labelleft=False)
    return figure


def figure_cdf(schemes: list[SchemeData]) -> Figure:
    """The distribution twice: all of it, and its tail on a logarithmic axis."""
    figure, (whole, tail) = plt.subplots(1, 2, figsize=(13.5, 4.8), layout="constrained")
    smallest = 1.0
    for row, data in enumerate(schemes):
        colour = scheme_colour(row)
        for op, label, dashes in (
            (command_log.READ, "reads", "-"),
            (command_log.WRITE, "writes", (0, (4, 2))),
        ):
            ordered = sorted(data.commands.latencies(op))
            if not ordered:
                continue
            n = len(ordered)
            smallest = min(smallest, 1 / n)
            style = {"color": colour, "linestyle": dashes, "linewidth": 1.8, "where": "post"}
            name = f"{data.name} {label}"
            whole.step(ordered, [(i + 1) / n * 100 for i in range(n)], label=name, **style)
            # The share that is at least this slow: the slowest one stays visible.
            tail.step(ordered, [(n - i) / n for i in range(n)], label=name, **{**style})
    for axes in (whole, tail):
        axes.set_xscale("log")
        latency_axis(axes.xaxis)
        axes.set_xlabel("latency at the device")
    whole.set_ylabel("commands at most this slow (%)")
    whole.set_ylim(0, 100.5)
    whole.set_title("Cumulative distribution")
    whole.legend(loc="lower right")
    tail.set_yscale("log")
    tail.set_ylim(smallest * 0.8, 1.1)
    levels = {1.0: "all", 0.5: "p50", 0.1: "p90", 1e-2: "p99", 1e-3: "p99.9", 1e-4: "p99.99"}
    shown = {share: name for share, name in levels.items() if share >= smallest * 0.8}
    tail.set_yticks(list(shown), list(shown.values()))
    tail.yaxis.set_minor_formatter(NullFormatter())
    tail.set_ylabel("share of commands at least this slow")
    tail.set_title("The tail (right and up is worse)")
    return figure


def figure_causes(schemes: list[SchemeData]) -> Figure | None:
    """What the slowest commands waited for, as shares of their time."""
    bars = []
    for direction in ("read", "write"):
        for data in schemes:
            tail = data.summary["tail_causes"][direction]
            if tail:
                bars.append((data.name, direction, tail))
    if not bars:
        return None
    figure, axes = plt.subplots(figsize=(13.5, 0.62 * len(bars) + 2.1), layout="constrained")
    used: dict[str, Any] = {}
    for y, (_, _, tail) in enumerate(bars):
        total = sum(tail["cause_ns"].values()) or 1
        left = 0.0
        for cause, colour in CAUSE_COLOURS.items():
            share = tail["cause_ns"].get(cause, 0) / total * 100
            if not share:
                continue
            bar = axes.barh(y, share, left=left, color=colour, edgecolor="white", height=0.68)
            if share >= 7:
                dark = sum(mpl.colors.to_rgb(colour)) < 1.5
                axes.text(
                    left + share / 2,
                    y,
                    f"{share:.0f} %",
                    ha="center",
                    va="center",
                    fontsize=9,
                    color="white" if dark else "black",
                )
            if share >= 0.5:
                used.setdefault(cause, bar)
            left += share
        axes.text(
            101, y, f"mean {summary.human_ns(tail['mean_ns'])}  (n = {tail['count']})", va="center"
        )
    axes.set_yticks(range(len(bars)), [f"{name}, {direction}s" for name, direction, _ in bars])
    axes.invert_yaxis()
    axes.set_xlim(0, 100)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("share of their time (%)")
    axes.set_title(f"Where the slowest {summary.TAIL_PERMILLE / 10:g} % spent their time")
    ordered = [cause for cause in CAUSE_COLOURS if cause in used]
    figure.legend(
        [used[cause] for cause in ordered],
        [CAUSE_LABELS[cause] for cause in ordered],
        loc="outside lower center",
        ncols=min(5, len(ordered)),
    )
    return figure


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


def _html_table(schemes: dict[str, dict[str, Any]]) -> str:
    lines = ["<table><tr><th></th>"]
    lines += [f"<th>{html.escape(name)}</th>" for name in schemes]
    lines.append("</tr>")
    for label, cells in summary.table_rows(schemes):
        if cells:
            body = "".join(f"<td>{html.escape(cell)}</td>" for cell in cells)
            lines.append(f"<tr><td>{html.escape(label.strip())}</td>{body}</tr>")
        else:
            lines.append(
                f'<tr class="head"><td colspan="{len(schemes) + 1}">{html.escape(label)}</td></tr>'
            )
    lines.append("</table>")
    return "".join(lines)


def _tail_words(schemes: dict[str, dict[str, Any]]) -> str:
    """The picture of the tails in sentences, and what its causes mean."""
    lines = ["<ul>"]
    met: set[str] = set()
    for name, scheme in schemes.items():
        for direction in ("read", "write"):
            tail = scheme["tail_causes"][direction]
            if not tail:
                continue
            met.update(c for c, share in summary.tail_shares(tail).items() if share >= 5)
            lines.append(
                f"<li><b>{html.escape(name)}</b>: its slowest 0.1 % of {direction}s "
                f"({tail['count']:,}) took {summary.human_ns(tail['mean_ns'])} on average: "
                f"{html.escape(summary.tail_text(tail))}.</li>"
            )
    lines.append("</ul><dl>")
    for cause, label in summary.CAUSE_LABELS.items():
        if cause in met:
            said = html.escape(summary.CAUSE_SENTENCES[cause])
            lines.append(f"<dt>{html.escape(label)}</dt><dd>{said}</dd>")
    lines.append("</dl>")
    return "".join(lines)


def page(result: dict[str, Any], pictures: list[tuple[str, str, bytes]]) -> str:
    """The report in one file: the tails, the table, the other pictures, the manifest.

    `pictures`: heading, explanation and PNG of each.
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
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8>",
        "<meta name=viewport content='width=device-width'>",
        f"<title>{html.escape(title)}</title><style>{_PAGE_STYLE}</style>",
        f"<h1>{html.escape(title)}</h1><p class=lead>{html.escape(lead)}</p>",
    ]
    numbers = (
        "<h2>In numbers</h2><p>Latencies are what fio saw in the guest, in virtual time; "
        "pages moved and write amplification are the drive's own counts.</p>" + _html_table(schemes)
    )
    for heading, text, png in pictures:
        data = base64.b64encode(png).decode()
        parts.append(
            f"<h2>{html.escape(heading)}</h2><p>{html.escape(text)}</p>"
            f'<img alt="{html.escape(heading)}" src="data:image/png;base64,{data}">'
        )
        if heading == TAIL_HEADING:
            parts += [_tail_words(schemes), numbers]
    manifest = json.dumps(result.get("manifest"), indent=2)
    parts.append(
        "<h2>What made these numbers</h2><p>Equal manifests give equal bytes on any host.</p>"
        f"<pre>{html.escape(manifest)}</pre></html>"
    )
    return "\n".join(parts)


def write_report(folder: Path) -> None:
    result = json.loads((folder / "summary.json").read_text())
    schemes = [summary.load_scheme(folder / name, name) for name in result["schemes"]]
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
            "Latency over time",
            "Every command of the measured job at the device. The shaded periods are those in "
            "which at least one plane collected garbage; the strip below counts them.",
            figure_over_time(schemes),
        ),
        (
            "cdf.png",
            "Distribution",
            "Left all commands, right the slow ones on a logarithmic axis.",
            figure_cdf(schemes),
        ),
        (
            "causes.png",
            "The same causes as shares",
            "Every bar is as long, so that short tails can be read too. Each command's latency is "
            "divided among causes that add up to it exactly.",
            figure_causes(schemes),
        ),
    ):
        if figure is None:
            continue
        figure.savefig(folder / name)
        plt.close(figure)
        pictures.append((heading, text, (folder / name).read_bytes()))
    (folder / "report.html").write_text(page(result, pictures))


def main() -> int:
    if len(sys.argv) != 2:
        print("usage: python -m scarplib.results.report FOLDER", file=sys.stderr)
        return 2
    write_report(Path(sys.argv[1]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
