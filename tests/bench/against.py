#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The engine as it is in this checkout, beside that of another commit.

First: every scheme and policy on several drives, each with another set of options: log of
commands and log of collections must be the same bytes, and refusals the same words.  So must each
statistic and each key that the other commit knows, and each section of the saved drive (what this
checkout has besides is no difference: outputs.py).  Then both start from each drive that the other
commit's engine saved, and must again give the same.  A change that should only make the engine
faster must not change one byte.
With --rounds N then: how long both take, in turns, on one core, medians of N, and how many
instructions; each built as the replayer is and as QEMU's library is.  --only-instructions counts
these alone.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "tests" / "bench")]

import engines  # noqa: E402
import outputs  # noqa: E402
import speed  # noqa: E402
from engines import Engine  # noqa: E402
from scarplib.build import host_packages as host  # noqa: E402
from scarplib.build import replayer as replay  # noqa: E402
from scarplib.errors import UserError  # noqa: E402
from scarplib.option_types import integer  # noqa: E402

DRIVES = ("hpdc18-small", "paragc-small", "pregc-2d-small", "pregc-3d-small", "ttflash-small")
COMBINATIONS = (
    "gc-vic+pgc", "gc-par+global", "pregc+gftl", "paragc+pregc", "dynamic+multi-plane",
    "deadline+background", "ttflash+fifo",
)  # fmt: skip
SUSPEND = ("-o", "nand.suspend_program=1", "-o", "nand.suspend_erase=1")
# Workload and options: each scheme meets two of them on each drive.
OPTIONS: tuple[tuple[str, ...], ...] = (
    ("gen:uniform", "-m", "closed", "-q", "32"),
    ("gen:mixed", "-m", "closed", "-q", "16"),
    ("gen:zipf", "-m", "closed", "-q", "64", *SUSPEND),
    ("gen:hm_0",),
    ("gen:bursty", "--speed", "500"),
    ("gen:mixed", "-m", "think", "-o", "ftl.recovery=1"),
    ("gen:mixed", "-m", "closed", "-q", "32", "-o", "ftl.unit_bytes=4096"),
    ("gen:uniform", "-m", "closed", "-q", "32", "-o", "nand.multiplane=1"),
    ("gen:zipf", "-m", "closed", "-q", "8", "-o", "nand.cache=1", "-o", "nand.copyback=1"),
    (
        "gen:mixed", "-m", "closed", "-q", "32", "-o", "controller.buffer_bytes=1048576",
        "-o", "ftl.unit_bytes=4096",
    ),
    ("gen:hot-cold", "-m", "closed", "-q", "32", "-o", "gc.wear_spread_erases=3"),
    ("gen:sequential", "-m", "closed", "-q", "4", "-o", "controller.slots=8"),
    ("gen:uniform", "-m", "closed", "-q", "32", "-o", "nand.bad_blocks_permille=20", *SUSPEND),
)  # fmt: skip
# Two dies for which many commands wait.  Each row has another kind of waiter: for an entry of
# the mapping, a merge, a pad, the channel, a stripe, or behind reads.
CROWDED = (
    "-m", "closed", "-q", "64", "-o", "geometry.channels=1", "-o", "geometry.chips_per_channel=2",
    "-o", "geometry.dies_per_chip=1", "-o", "geometry.planes_per_die=2",
    "-o", "geometry.blocks_per_plane=128", "-o", "gc.trigger_free_blocks=8",
    "-o", "nand.multiplane=1", "-o", "nand.copyback=1",
)  # fmt: skip
CROWDED_DRIVE = "pregc-2d-small"
CROWDED_OPTIONS: tuple[tuple[str, ...], ...] = (
    ("gen:mixed", *CROWDED, "-o", "ftl.mapping=demand", "-o", "ftl.map_cache_bytes=4096"),
    ("gen:zipf", *CROWDED, "-o", "ftl.mapping=block"),
    ("gen:mixed", *CROWDED, "-o", "ftl.mapping=fast"),
    ("gen:mixed", *CROWDED, "-o", "ftl.mapping=superblock"),
    (
        "gen:mixed", *CROWDED, "-o", "ftl.paired_pages=pad", "-o", "nand.cell_bits=2",
        "-o", "nand.power_cuts=1", "-o", "ftl.recovery=1",
    ),
    ("gen:mixed", *CROWDED, "-o", "controller.gc_first_on_channel=1"),
    ("gen:mixed", *CROWDED, "-o", "ftl.parity_width=2", "-o", "ftl.parity_stripes=4"),
    ("gen:mixed", *CROWDED, "-o", "controller.reads_first_limit=8", *SUSPEND),
    ("gen:mixed", *CROWDED, "-o", "controller.reads_first_limit=8", "-o", "nand.cache=1"),
)  # fmt: skip
REQUESTS = 6000
FROM_IMAGE = 2000  # requests on a drive that starts from an image


@dataclass(frozen=True)
class Case:
    scheme: str
    drive: str
    options: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.scheme} on {self.drive}: {' '.join(self.options)}"


def cases(schemes: list[str]) -> list[Case]:
    made = []
    for i, scheme in enumerate([*schemes, *COMBINATIONS]):
        for j, drive in enumerate(DRIVES):
            first = 2 * i + 5 * j
            made += [Case(scheme, drive, OPTIONS[k % len(OPTIONS)]) for k in (first, first + 1)]
        made += [Case(scheme, CROWDED_DRIVE, options) for options in CROWDED_OPTIONS]
    return made


def outcome(engine: Engine, case: Case, image: bytes | None = None) -> dict[str, bytes]:
    """What a run says and leaves behind: of a drive that is aged, or that starts from an image."""
    workload, *options = case.options
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if image is None:
            start = ["-d", str(ROOT / "devices" / f"{case.drive}.ini"), "--age", "900"]
            start += ["--age-overwrite", "300", "-n", str(REQUESTS)]
        else:
            (folder / "start").write_bytes(image)
            start = ["-i", "start", "-n", str(FROM_IMAGE)]
        command = [
            str(engine.replayer), *start, "-s", case.scheme, "--align", "4096", "--quiet",
            "--json", "json", "--cmd-log", "commands", "--gc-log", "collections",
            "--save", "drive", *options, workload,
        ]  # fmt: skip
        done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
        left = {path.name: path.read_bytes() for path in folder.iterdir()}
    return {"status": str(done.returncode).encode(), "words": done.stderr, **left}


@dataclass(frozen=True)
class Verdict:
    differ: list[str]
    refused: bool
    # Of the runs that start from the other commit's image, if it saved one.
    from_image: bool | None
    known: list[str]


def compare(there: Engine, here: Engine, case: Case) -> Verdict:
    base, now = outcome(there, case), outcome(here, case)
    found = outputs.compare(base, now)
    if base["status"] != b"0":
        return Verdict(found.unexpected, True, None, found.known)
    image = base["drive"]
    base, now = outcome(there, case, image), outcome(here, case, image)
    again = outputs.compare(base, now)
    if base["status"] != b"0":
        again.unexpected.append("its own engine refuses the image")
    return Verdict(
        found.unexpected + [f"{key} (from the image)" for key in again.unexpected],
        False,
        not again.unexpected,
        found.known + again.known,
    )


def same(there: Engine, here: Engine) -> bool:
    # Newer schemes have nothing to be compared with; one that is gone is a difference.
    schemes = replay.scheme_names(there.replayer)
    if new := set(replay.scheme_names(here.replayer)) - set(schemes):
        print(f"not in {there.name}: {', '.join(sorted(new))}", flush=True)
    todo = cases(schemes)
    with ThreadPoolExecutor(max_workers=len(os.sched_getaffinity(0))) as pool:
        verdicts = []
        for case, verdict in zip(
            todo, pool.map(lambda case: compare(there, here, case), todo), strict=True
        ):
            verdicts.append(verdict)
            if verdict.differ:
                print(f"differs: {case}: {', '.join(verdict.differ)}", flush=True)
    good = sum(not verdict.differ for verdict in verdicts)
    refused = sum(verdict.refused for verdict in verdicts)
    images = [verdict.from_image for verdict in verdicts if verdict.from_image is not None]
    print(f"{good} of {len(todo)} runs are the same, {refused} of them refused", flush=True)
    for what, n in Counter(what for v in verdicts for what in set(v.known)).items():
        print(f"known, in {n} runs: {what}, with the same value", flush=True)
    loaded = f"{sum(images)} of {len(images)} images that {there.name} saved"
    print(f"{loaded} load here, with equal results", flush=True)
    return good == len(todo) and refused < good / 2


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commit", metavar="COMMIT", help="whose engine this one is compared with")
    parser.add_argument(
        "--rounds", type=integer("--rounds", 0, 100), default=0, metavar="N",
        help="time both, N times (default: 0, not at all)",
    )  # fmt: skip
    parser.add_argument("--only-speed", action="store_true", help="do not compare results")
    parser.add_argument(
        "--only-instructions", action="store_true",
        help="compare nothing else: it takes minutes, and a busy machine counts the same",
    )  # fmt: skip
    arguments = parser.parse_args()
    host.ensure_packages()
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work)
        roots = (engines.checkout(arguments.commit, folder), ROOT)
        # It names files, too, and a branch may have a slash.
        commit = arguments.commit[:11].replace("/", "-")
        only = arguments.only_instructions
        there, here = (
            engines.build(name, root, folder, replayer=not only)
            for name, root in zip((commit, "here"), roots, strict=True)
        )
        good = arguments.only_speed or only or same(there, here)
        if arguments.rounds or only:
            words = engines.LibraryWords.ask()
            for engine, root in zip((there, here), roots, strict=True):
                engines.build_bench(engine, root, folder, words)
        if only:
            speed.instruction_table((there, here))
        elif arguments.rounds:
            speed.table((there, here), arguments.rounds)
    return 0 if good else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except UserError as error:
        sys.exit(f"against.py: error: {error}")
