# SPDX-License-Identifier: GPL-2.0-or-later
"""The small set, in `make test`: few workloads and seeds, run anew; directions, no magnitudes.

And a sample of the kept cells, whose figures must be those of this engine.
"""

from __future__ import annotations

import sys
import time

from scarplib.reproduce import papers as paper_runs
from scarplib.reproduce import replays, results, sampled, spec, stale
from scarplib.reproduce.judge import JUDGES


def main(cores: int) -> int:
    """Run it and print TAP."""
    papers = [spec.load(name, "small") for name in spec.PAPERS if spec.exists(name)]
    begun = time.monotonic()
    paper_runs.run_cells(papers, "small", cores or 2)
    found = [
        (f"{paper.name}: {name}", good)
        for paper in papers
        for name, good in JUDGES[paper.name].directions(results.load(paper))
    ]
    replays.drop_images(papers)
    found += sampled.check(sampled.commit())
    print("TAP version 13")
    for number, (name, good) in enumerate(found, 1):
        print(f"{'' if good else 'not '}ok {number} - {name}")
    for line in stale.older():
        print(f"# {line}")
    print(f"1..{len(found)}")
    print(f"# {time.monotonic() - begun:.0f} s", file=sys.stderr)
    return 0 if all(good for _, good in found) else 1
