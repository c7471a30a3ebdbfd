#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Defects that were repaired are put back, one at a time, and must be found again.

A patch of the series is taken back, or one of this folder brings a defect into hw/ or into QEMU.
The objects that differ are compiled, and linked with all others of a build that is there; it stays
as it is.  The tests of tests/qtest that are named for the defect are run: one must fail.  Then
sequences are drawn from --seed on, in one process, until one fails.  Printed is a row of the table
in docs/laws.md: the defect, the commands and the seconds that it took, how it was seen, which test
fails.  What is "Test alone:" in its patch is nothing that a sequence draws.
"""

from __future__ import annotations

import argparse
import json
import shlex
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
for folder in (ROOT / "scripts", ROOT / "tests" / "qtest", HERE.parent):
    sys.path.insert(0, str(folder))

import cases  # noqa: E402
from scarplib.build.qemu import compile_targets, ensure_qemu  # noqa: E402

TARGET = "qemu-system-x86_64"
# Patches of the series, by their numbers; what was wrong without them, and which test sees it.
SERIES = {
    "0017": (
        "The scatter lists of commands that a reset cancels are leaked",
        "resets_leave_nothing",
    ),
    "0018": ("FDP events of all namespaces: an assertion", "events_of_all_namespaces"),
    "0019": (
        "A queue's vector is one that only MSI-X has, and there is no MSI-X",
        "vector_beyond_the_pins",
    ),
    "0020": (
        "Shadow doorbells out of range: QEMU is busy for ever",
        "shadow_doorbells_out_of_range",
    ),
    "0021": (
        "A queue whose doorbell is an event descriptor is served without a guard",
        "event_descriptors_are_guarded",
    ),
    "0022": (
        "The drive's own data, interrupts and features reset it within themselves",
        "that_reset_the_function",
    ),
    "0023": (
        "Format does not wait for a copy in flight, which reads beyond its buffer",
        "format.F",
    ),
    "0024": ("A device that ejects itself goes within its access", "data_that_ejects_the_drive"),
    "0025": (
        "A PRP list in the last bytes of a page has entries that nobody has written",
        "a_list_begins_at_a_qword",
    ),
    "0026": (
        "Data into another controller's memory is refused while that one's doorbell is served",
        "into_the_memory_of_another_controller",
    ),
    "0027": ("Data that leads to no memory is an error of the media", "where_no_memory_is"),
    "0028": (
        "Format leaks a coroutine of the drive's thread",
        "a_format_leaves_nothing",
    ),
    "0032": (
        "A queue gets an event descriptor each time doorbells are told of, and leaves them",
        "doorbell_buffers_once_more",
    ),
    "0033": ("A controller that is ejected asserts that it has no virtual ones", "are_ejected"),
    "0034": ("A block backend's data resets the drive within its own end", "of_a_block_backend"),
    "0035": ("A copy's range is read from the range before's namespace", "several_namespaces"),
    "0036": ("The memory of what copies have read has no bound", "memory_of_copies"),
    "0037": ("A controller that was refused stays in its subsystem", "leaves_the_subsystem"),
    "0038": ("A list of empty descriptors is read for minutes", "again_and_again"),
    "0039": ("A device that a bridge ejects goes within its access", "from_a_bridge"),
    "0040": ("Commands that ring their own queue are served for ever", "ring_their_own"),
    "0041": ("A transfer that waits for a bounce buffer is cancelled for ever", "a_bounce_buffer"),
}


# Folders of QEMU's own tree; any other is of the checkout.
QEMUS = ("hw/nvme/", "hw/pci/", "system/")

# Of these, what no sequence draws: answers that are another controller's doorbells, a drive that
# its own data ejects, one with virtual functions that is ejected, one on a block backend, copies
# from two namespaces, many of them, a controller that is refused, lists of a million entries, and
# block backends again.
ALONE = ("0021", "0024", "0033", "0034", "0035", "0036", "0037", "0038", "0039", "0040", "0041")


@dataclass
class Defect:
    name: str
    what: str
    patch: Path
    taken_back: bool
    test: str  # parts of the names of those that see it
    hunted: bool = True


def defects(names: list[str]) -> list[Defect]:
    patches = ROOT / "qemu-patches"
    found = [
        Defect(number, what, next(patches.glob(f"{number}-*")), True, test, number not in ALONE)
        for number, (what, test) in SERIES.items()
    ]
    for path in sorted(HERE.glob("*.patch")):
        what, said = path.read_text().splitlines()[:2]
        kind, _, test = said.partition(":")
        alone = kind == "Test alone"
        found.append(Defect(path.stem, what.rstrip("."), path, False, test.strip(), not alone))
    return [
        each for each in found if not names or any(each.name.startswith(name) for name in names)
    ]


def sources(patch: Path) -> list[str]:
    """The files of C that it changes; what it adds to headers may stay."""
    lines = patch.read_text().splitlines()
    named = [line.split()[1][2:] for line in lines if line.startswith("+++ b/")]
    return [name for name in named if name.endswith(".c")]


def at(name: str) -> str:
    """Where a file of the checkout is in QEMU's tree."""
    return name if name.startswith(QEMUS) else f"hw/nvme/scarp/{name}"


def patched(group: list[Defect], build: Path, work: Path) -> list[str]:
    """Copies of the sources, with these defects; their names in QEMU's tree."""
    shutil.rmtree(work, ignore_errors=True)
    names = sorted({name for defect in group for name in sources(defect.patch)})
    for name in names:
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(build.parent / "src" / at(name), work / name)
    for defect in group:
        # Parts for other files are for headers, and for what is not compiled.
        whole = defect.patch.read_text().split("diff --git ")
        parts = [part for part in whole[1:] if part.split()[1][2:] in names]
        text = "".join(f"diff --git {part}" for part in parts) or whole[0]
        # Later patches have other lines beside it.  None is taken for a reversed one.
        command = ["patch", "-p1", "-F3", "-s", "--force"]
        command += ["--no-backup-if-mismatch", "-d", str(work)]
        if defect.taken_back:
            command.append("-R")
        subprocess.run(command, input=text, text=True, check=True)
    return names


def built(group: list[Defect], build: Path, work: Path) -> Path:
    names = patched(group, build, work)
    listing = subprocess.run(
        ["ninja", "-t", "compdb", "-x"], cwd=build, capture_output=True, text=True, check=True
    ).stdout
    steps = {step["output"]: step["command"] for step in json.loads(listing)}
    link = shlex.split(steps[TARGET])
    for name in names:
        source = f"../src/{at(name)}"
        (output,) = [x for x, command in steps.items() if f" -c {source}" in f" {command} "]
        made = str(work / f"{Path(name).stem}.o")
        swap = {source: str(work / name), output: made}
        command = [swap.get(word, word) for word in shlex.split(steps[output])]
        # Headers beside the source are beside the copy no more.
        command[-1:-1] = ["-iquote", str(Path(source).parent)]
        subprocess.run(command, cwd=build, check=True)
        link = [made if word == output else word for word in link]
    binary = work / TARGET
    link[link.index("-o") + 1] = str(binary)
    # The slowest step; functions keep their names.
    link += ["-Wl,--strip-debug", "-fno-lto"]
    if shutil.which("ld.gold"):
        link.append("-fuse-ld=gold")
    subprocess.run(link, cwd=build, check=True)
    return binary


def search(binary: Path, defect: Defect, args: argparse.Namespace) -> list[str]:
    """Commands, seconds, and what was seen; nothing: not found."""
    began = time.monotonic()
    commands = 0
    for seed in range(args.seed, args.seed + args.seeds):
        clock = cases.CLOCKS[seed % len(cases.CLOCKS)]
        case = cases.drawn(seed, clock, args.commands)
        outcome = cases.run(binary, case)
        commands += outcome.commands
        spent = time.monotonic() - began
        if outcome.wrong:
            if args.keep:
                small = cases.shrunk(binary, case, outcome)
                args.keep.mkdir(parents=True, exist_ok=True)
                text = f"# {defect.what}\n{small.text()}"
                (args.keep / f"{defect.name}.nvme").write_text(text)
            return [f"{commands:,}", f"{spent:.0f}", outcome.kind().replace("|", "/")[:90]]
        if spent > args.seconds:
            break
    return [f"not found in {commands:,}", f"{time.monotonic() - began:.0f}", ""]


def failing(binary: Path, defect: Defect) -> list[str]:
    """Those tests that are named for it, and fail."""
    command = [sys.executable, str(ROOT / "tests/qtest/run.py"), "--qemu", str(binary)]
    done = subprocess.run(
        [*command, *defect.test.split()], capture_output=True, text=True, check=False
    )
    return [line.split()[3] for line in done.stdout.splitlines() if line.startswith("not ok")]


def seen(binary: Path, defect: Defect, args: argparse.Namespace) -> bool:
    """By the tests that are named for it, and by the sequences; prints its row."""
    tested = bool(defect.test) and not args.sequences
    red = failing(binary, defect) if tested else []
    hunted = defect.hunted and not args.tests
    found = search(binary, defect, args) if hunted else ["", "", ""]
    tests = ", ".join(f"`{name}`" for name in red) or ("**not seen**" if tested else "")
    cells = [f"{defect.name} {defect.what}", *found, tests]
    print(f"| {' | '.join(cells)} |", flush=True)
    return bool((red or not tested) and (found[-1] or not hunted))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="defects, by the beginnings of their names (all)")
    parser.add_argument("--build", type=Path, help="of QEMU; default: the sanitized one")
    parser.add_argument("--seed", type=int, default=1, help="the first one")
    parser.add_argument("--seeds", type=int, default=200, help="at most so many for each defect")
    parser.add_argument("--commands", type=int, default=1000, help="of each sequence")
    parser.add_argument("--seconds", type=int, default=600, help="at most, for each defect")
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--tests", action="store_true", help="tests alone, no sequences")
    only.add_argument("--sequences", action="store_true", help="sequences alone, no tests")
    parser.add_argument("--keep", type=Path, help="where the shortest cases go")
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "putback-nvme")
    args = parser.parse_args()
    if not args.build:
        args.build = ensure_qemu("asan").build_dir
        compile_targets(args.build, TARGET)
    missed = 0
    chosen = defects(args.names)
    alone = [each for each in chosen if not each.hunted]
    # What no sequence draws is put back all at once: each has a test that looks at nothing else.
    groups = [[each] for each in chosen if each.hunted] + ([alone] if alone else [])
    for group in groups:
        try:
            binary = built(group, args.build.resolve(), args.work.resolve())
        except subprocess.CalledProcessError as error:
            names = " ".join(each.name for each in group)
            print(f"{names}: cannot be put back: {error.cmd[0]} failed", file=sys.stderr)
            missed += len(group)
            continue
        missed += sum(not seen(binary, each, args) for each in group)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
