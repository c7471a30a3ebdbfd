#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How much spare space buys how short a tail, under three schemes: sweep.py DESCRIPTION.

PYTHONPATH has to name the folder of scarp.py: docs/library.md.
"""

from __future__ import annotations

import sys

import scarp

REQUESTS, DEPTH = 20_000, 8


def p99_us(description: str, scheme: str, spare_permille: int) -> tuple[float, float]:
    """The reads' 99th percentile (µs), and the write amplification."""
    overrides = {"ftl.over_provisioning_permille": spare_permille}
    with scarp.Drive(description, scheme, overrides=overrides) as drive:
        drive.age(900)
        for _ in drive.closed_loop(scarp.uniform(drive, REQUESTS, read_permille=700), DEPTH):
            pass
        amplification = drive.stats()["write_amplification_milli"] / 1000
        return drive.latency_ns(scarp.Op.READ, 990_000) / 1000, amplification


def main(description: str) -> None:
    """A row for each drive."""
    print(f"{'spare':>6} {'scheme':<10} {'p99 of reads':>14} {'amplification':>14}")
    for spare_permille in (200, 300, 400):
        for scheme in ("baseline", "pgc", "ideal"):
            tail, amplification = p99_us(description, scheme, spare_permille)
            print(
                f"{spare_permille / 10:>4} % {scheme:<10} {tail:>11,.0f} µs {amplification:>14.2f}"
            )


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: sweep.py DESCRIPTION")
    main(sys.argv[1])
