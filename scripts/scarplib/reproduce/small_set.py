# SPDX-License-Identifier: GPL-2.0-or-later
"""The small set, in `make test`: few workloads and seeds, run anew; directions, no magnitudes."""

from __future__ import annotations

import sys
import time

from scarplib.reproduce import papers as paper_runs
from scarplib.reproduce import replays, results, spec, stale
from scarplib.reproduce.judge import JUDGES


def main(cores: int) -> int:
    """Run it and print TAP."""
    papers = [spec.load(name, "small") for name in spec.PAPERS if spec.exists(name)]
    begun = time.monotonic()
    paper_runs.run_cells(papers, "small", cores or 2)
    number = failed = 0
    print("TAP version 13")
    for paper in papers:
        judge = JUDGES[paper.name]
        for name, good in judge.directions(results.load(paper)):
            number += 1
            failed += not good
            print(f"{'' if good else 'not '}ok {number} - {paper.name}: {name}")
    replays.drop_images(papers)
    for line in stale.older():
        print(f"# {line}")
    print(f"1..{number}")
    print(f"# {time.monotonic() - begun:.0f} s", file=sys.stderr)
    return 1 if failed else 0
