# SPDX-License-Identifier: GPL-2.0-or-later
"""The page of a run, report.html, which opens without a network (needs matplotlib).

`python -m scarplib.results.report FOLDER` reads FOLDER/summary.json and one folder for each scheme,
and writes the page and the pictures in it as PNGs.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from markupsafe import Markup

from scarplib.drive import start
from scarplib.results import best, file_system, html_page, lateness, ran, replayed, summary
from scarplib.results.causes import labels, merges, sentences, tail_shares, tail_text
from scarplib.results.host_rows import AT_DRIVE
from scarplib.results.html_page import Picture
from scarplib.results.interactive import instants, section, served
from scarplib.results.pictures.cause_shares import figure_cause_shares
from scarplib.results.pictures.distribution import figure_distribution
from scarplib.results.pictures.fork import figure_fork
from scarplib.results.pictures.guest_drive_waits import figure_guest_drive_waits
from scarplib.results.pictures.latency_over_time import figure_over_time
from scarplib.results.pictures.lateness import figure_lateness
from scarplib.results.pictures.operations import figure_operations
from scarplib.results.pictures.style import style
from scarplib.results.pictures.tail import TAILS, figure_tail
from scarplib.results.summary import SchemeData
from scarplib.results.table import table_rows
from scarplib.results.units import human_ns
from scarplib.scheme_text import folder_name

# The interactive part around what is shown where scripts do not run.
Interactive = Callable[[Markup], Markup]
TAIL_HEADING = "Each scheme's tail, and what makes it"


@dataclass(frozen=True)
class _Tail:
    """A scheme's slowest commands of a kind, in words."""

    scheme: str
    direction: str
    count: str
    mean: str
    text: str


def _tails(schemes: dict[str, dict[str, Any]]) -> tuple[list[_Tail], list[tuple[str, str]]]:
    """The picture of the tails in words; and (label, sentence) of the causes that it has."""
    found = []
    met: set[str] = set()
    merging = merges(schemes.values())
    for name, scheme in schemes.items():
        for direction in TAILS:
            tail = scheme["tail_causes"].get(direction)
            if not tail:
                continue
            met.update(c for c, share in tail_shares(tail).items() if share >= 5)
            text = tail_text(tail, merging=merging)
            found.append(
                _Tail(
                    name, AT_DRIVE[direction], f"{tail['count']:,}", human_ns(tail["mean_ns"]), text
                )
            )
    said = sentences(merging)
    return found, [(label, said[x]) for x, label in labels(merging).items() if x in met]


def page(
    result: dict[str, Any],
    pictures: list[Picture],
    interactive: Interactive,
    what_ran: Sequence[tuple[str, Sequence[str]]] = (),
) -> Markup:
    """The report in one file: tails, table, every command, other pictures, the manifest.

    `what_ran`: of drive, load, schemes and command, a line or some each.
    The picture under the interactive part's heading is for where scripts do not run.
    """
    schemes = result["schemes"]
    title = f"Scarp: {', '.join(schemes)}"
    lead = best.cliff(schemes) or ""
    lead += f" Job {result['job']} on {result['device']}, every scheme from the same state."
    if forks := result.get("forks"):
        at_ns = next(iter(forks.values()))["at_ns"]
        lead += f" All are the first one until {at_ns / 1e9:.9f} s of the drive's clock (--at)."
    if result.get("failed"):
        lead += f" Without {', '.join(result['failed'])}, which did not finish."
    clock = lateness.clock(schemes.values())
    if any("script" in s for s in schemes.values()):
        who = "the drive saw"
    elif all("fio" in s for s in schemes.values()):
        who = "fio saw in the guest"
    else:
        who = "the host sees"
    tails, causes = _tails(schemes)
    return html_page.render(
        "report.html",
        title=title,
        lead=lead,
        ran=what_ran,
        notes=[
            *result.get("notes", []),
            *summary.ramp_notes(schemes),
            *(f"Best first, 99.9th percentile of {x.words()}." for x in best.rankings(schemes)),
        ],
        doubts=[*filter(None, [result.get("changed")]), *lateness.doubts(schemes)],
        matrix=file_system.matrix(schemes),
        pictures=pictures,
        interactive_heading=section.HEADING,
        interactive=interactive,
        tail_heading=TAIL_HEADING,
        tails=tails,
        causes=causes,
        who=who,
        clock=clock,
        numbers=(list(schemes), table_rows(schemes)),
        manifest=html_page.manifest_text(result.get("manifest")),
        realtime=clock == "real",
    )


class _Asked:
    """What is asked of the engine beside the drawing: its programs are other processes.

    Where the commands were served, and what the slowest would have cost (unless without_why).
    """

    def __init__(
        self, result: dict[str, Any], folder: Path, schemes: list[SchemeData], without_why: bool
    ) -> None:
        self.starts = {d.name: start.of_run(result, folder, d.name) for d in schemes}
        self.found: dict[str, served.Served | None] = {}
        self.repeatable: dict[str, section.Repeatable] = {}
        self.again = instants.compare_words(result, folder)
        self._result = result
        # On the host's clock no log gives its own nanoseconds again.
        self._asks = not without_why and lateness.clock(result["schemes"].values()) == "virtual"
        self._thread = threading.Thread(target=self._find, args=(schemes,))
        self._thread.start()

    def _find(self, schemes: list[SchemeData]) -> None:
        for data in schemes:
            self.found[data.name] = served.find(data, self.starts[data.name])
        for data in schemes:
            if self._asks and self.starts[data.name]:
                answer = instants.find(data.folder)
                compared = instants.schemes_of(self._result, data.name)
                self.repeatable[data.name] = section.Repeatable(answer, compared)

    def interactive(self, schemes: list[SchemeData], otherwise: Markup) -> Markup:
        """The part of the page."""
        self._thread.join()
        can_replay = {name: known is not None for name, known in self.starts.items()}
        return section.section(
            schemes,
            self.found,
            can_replay,
            otherwise,
            repeatable=self.repeatable,
            again=self.again,
        )


def write_report(folder: Path, without_why: bool = False) -> None:
    """Draw the pictures, and write the page around them, into the run's folder."""
    result = json.loads((folder / "summary.json").read_text())
    load = replayed.load if result["schema"] == replayed.SCHEMA else summary.load_scheme
    schemes = [load(folder / folder_name(name), name) for name in result["schemes"]]
    where = _Asked(result, folder, schemes, without_why)
    style()
    # For a page of results: the reads alone, small.
    if small := figure_tail(schemes, ("read",)):
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
            "fork.png",
            "One run until an instant",
            "All columns are the first one until the dotted line: the same commands at the same "
            "nanoseconds, which was compared. From there on each is its own scheme.",
            figure_fork(schemes, result.get("forks", {})),
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
    (folder / "report.html").write_text(
        page(result, pictures, partial(where.interactive, schemes), ran.rows(result, folder))
    )


def main() -> int:
    """As `scarp run` calls it: FOLDER; as its benchmark does: FOLDER --without-why."""
    if len(sys.argv) < 2 or sys.argv[2:] not in ([], ["--without-why"]):
        print("usage: python -m scarplib.results.report FOLDER [--without-why]", file=sys.stderr)
        return 2
    write_report(Path(sys.argv[1]), bool(sys.argv[2:]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
