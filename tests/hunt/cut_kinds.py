# SPDX-License-Identifier: GPL-2.0-or-later
"""Power cuts of every kind of drive: the hunt, led to those that had fewest.

Random drives alone meet some kinds thousands of times, and others hardly ever.  Here each pacing
and placement that there is meets each mapping, and whatever had fewer cuts than --least is drawn
again.  A kind is what `hunt --cut-kinds` calls one: mapping, pacing, placement, cache, and what
recovery reads.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
HUNT = ROOT / "build" / "hunt" / "release" / "hunt"
MAPPINGS = ("page", "demand", "block", "superblock", "fast")
_KIND = re.compile(r"# cuts: ((\S+) (\S+) (\S+) \S+ \S+): (\d+)$")
_TOTAL = re.compile(r"(\d+) passed, (\d+) failed")


@dataclass
class Campaign:
    """What was run so far."""

    seed: int
    cuts: Counter[str] = field(default_factory=Counter)
    scenarios: int = 0
    failed: int = 0
    # Of a kind: its mapping, pacing and placement.
    drives: dict[str, tuple[str, str, str]] = field(default_factory=dict)

    def run(self, count: int, mapping: str, pacing: str, placement: str) -> None:
        """So many scenarios of such drives, if any is accepted."""
        command = [
            str(HUNT), "--cuts", "--cut-kinds", "--seed", str(self.seed), "--count", str(count),
            "--mapping", mapping, "--scheme", f"{pacing}+{placement}",
        ]  # fmt: skip
        self.seed += count
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        total = self.count(done.stdout)
        if not total and done.stderr.startswith("hunt: no drive is accepted"):
            print(f"# {mapping} {pacing}+{placement}: {done.stderr.strip()[:200]}", flush=True)
            return
        if not total:
            self.failed += 1
            print(
                f"# {shlex.join(command)}: ended with {done.returncode}: {done.stderr}", flush=True
            )
            return
        if int(total[2]):
            print(done.stdout + done.stderr, flush=True)

    def count(self, text: str) -> re.Match[str] | None:
        """Scenarios, and cuts by kind, of what `hunt --cut-kinds` printed; None: it did not end."""
        total = _TOTAL.search(text)
        if not total:
            return None
        self.scenarios += int(total[1]) + int(total[2])
        self.failed += int(total[2])
        for line in text.splitlines():
            if match := _KIND.match(line):
                self.cuts[match[1]] += int(match[5])
                self.drives[match[1]] = (match[2], match[3], match[4])
        return total

    def begin(self, path: Path) -> None:
        """With what an earlier hunt printed; ValueError if that is not there, or not whole."""
        try:
            text = path.read_text()
        except OSError as error:
            raise ValueError(f"{path}: {error.strerror}") from error
        if not self.count(text) or not self.cuts:
            raise ValueError(f"{path}: not what `hunt --cuts --cut-kinds` prints to its end")


def choices() -> tuple[list[str], list[str]]:
    """All pacings, with the host policies that pace by themselves, and all placements."""
    text = subprocess.run(
        [str(ROOT / "scripts" / "scarp"), "schemes", "--json"],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    known = json.loads(text)

    def of(axis: str) -> list[str]:
        return [entry["name"] for entry in known if entry["axis"] == axis]

    hios = [name for name in of("host queue") if name.startswith("hios")]
    return of("pacing") + hios, of("relocation placement")


def main() -> int:
    """0 if no scenario failed and each kind that was met had enough."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--least", type=int, default=400, help="cuts of each kind (400)")
    parser.add_argument("--seed", type=int, default=60000000, help="the first scenario")
    parser.add_argument("--count", type=int, default=60, help="scenarios of a choice at once (60)")
    parser.add_argument("--seconds", type=int, default=7200, help="no round begins later (7200)")
    parser.add_argument(
        "--begun", type=Path, help="what `hunt --cuts --cut-kinds` printed: its cuts count, too"
    )
    options = parser.parse_args()
    campaign = Campaign(options.seed)
    if options.begun:
        try:
            campaign.begin(options.begun)
        except ValueError as error:
            parser.error(f"--begun: {error}")
    subprocess.run(["sh", HERE / "make.sh", "-f", "tests/hunt/hunt.mk", "release"], check=True)
    began = time.monotonic()
    pacings, placements = ([], []) if options.begun else choices()
    for mapping in MAPPINGS:
        for pacing in pacings:
            for placement in placements:
                campaign.run(options.count, mapping, pacing, placement)
    while time.monotonic() - began < options.seconds:
        rare = {campaign.drives[k] for k, n in campaign.cuts.items() if n < options.least}
        if not rare:
            break
        for mapping, pacing, placement in sorted(rare):
            campaign.run(options.count, mapping, pacing, placement)
        print(f"# {len(rare)} choices had kinds with too few", flush=True)
    for kind, cuts in sorted(campaign.cuts.items()):
        print(f"# cuts: {kind}: {cuts}")
    few = [kind for kind, cuts in campaign.cuts.items() if cuts < options.least]
    print(
        f"# {campaign.scenarios} scenarios, {sum(campaign.cuts.values())} cuts of "
        f"{len(campaign.cuts)} kinds of drives, {len(few)} of them with fewer than "
        f"{options.least}; seeds {options.seed} to {campaign.seed - 1}, "
        f"{time.monotonic() - began:.0f} s"
    )
    print(f"{max(campaign.scenarios - campaign.failed, 0)} passed, {campaign.failed} failed")
    return 1 if campaign.failed or few else 0


if __name__ == "__main__":
    sys.exit(main())
