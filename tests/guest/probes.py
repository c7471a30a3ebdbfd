# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp probe --guest`: a test for run.py, by the command that a user types."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

from scarplib.own_drive import features  # noqa: E402
from scarplib.own_drive.probe_file import Probe, load  # noqa: E402

Outcome = tuple[bool, str]

DRIVE = ("geometry.blocks_per_plane=20", "ftl.over_provisioning_permille=500")
# Properties that a kernel's path to the drive does not change.
SAME = ("page", "unit", "stripe", "dies", "channels", "buffer", "flush_waits", "suspends")
# What that path may take of a read, at the speed that the command gives the guest's CPU.
PATH_NS = 20_000


def _probe(out: Path, *words: str) -> tuple[int, str]:
    keys = [word for key in DRIVE for word in ("--set", key)]
    command = [sys.executable, str(ROOT / "scripts" / "scarp"), "probe"]
    command += [str(ROOT / "devices" / "demo.ini"), "--mib", "32", "--out", str(out), *keys]
    done = subprocess.run(
        [*command, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    return done.returncode, done.stdout


def _alone_ns(found: Probe) -> int:
    """A 4 KiB read at depth 1."""
    reads = found.results["read-depth-1"].reads
    assert reads
    return reads.points["p50"]


def by_command() -> Outcome:
    """A description in a guest has what it has in the replayer, and reads that take longer."""
    folder = ROOT / "out" / "test-guest" / "probe"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    here, there = folder / "replayer.json", folder / "guest.json"
    status, said = _probe(here)
    if not status:
        status, more = _probe(there, "--guest")
        said += more
    notes = "".join(f"# {line}\n" for line in said.splitlines()[-25:])
    if status:
        return False, notes
    replayer, guest = load(here), load(there)
    seen, wanted = features.read_off(guest), features.read_off(replayer)
    differ = [name for name in SAME if getattr(seen, name) != getattr(wanted, name)]
    path = _alone_ns(guest) - _alone_ns(replayer)
    source = guest.source
    good = not differ and 0 < path < PATH_NS and not guest.left_out
    good = good and guest.results.keys() >= replayer.results.keys()
    good = good and (source["kind"], source["name"]) == ("guest", "demo.ini")
    # Neither takes the other's place.
    status, said = _probe(here, "--guest")
    good = good and status == 1 and "is a probe of demo.ini, not of demo.ini, in a guest" in said
    return good, f"{notes}# {path} ns longer; different: {differ or 'nothing'}\n" + json.dumps(
        {name: getattr(seen, name) for name in SAME}
    ).join(("# ", "\n"))


TESTS = [("scarp probe --guest: a drive as it is in the replayer", by_command)]
