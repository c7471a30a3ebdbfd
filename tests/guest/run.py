#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""suite.sh in one guest for each scheme, at the same time; prints KTAP."""

from __future__ import annotations

import json
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "scripts"))
sys.dont_write_bytecode = True

from scarplib import guest_image, qemu_build, vm  # noqa: E402
from scarplib.errors import UserError  # noqa: E402

SCHEMES = ("baseline", "ideal")
# The issue asks for ten; the drive here is a few blocks in each plane.
OVERWRITES = 10
DEVICE = ROOT / "devices" / "demo.ini"


def guest(scheme: str) -> tuple[str, bool]:
    """KTAP of one guest, and whether it got as far as its end."""
    out = ROOT / "out" / "test-guest" / scheme
    shutil.rmtree(out, ignore_errors=True)
    result = vm.run_guest(
        vm.GuestRun(
            qemu=qemu_build.ensure_qemu(),
            image=guest_image.ensure_image(tests=True),
            drives=[vm.FlashDrive(description=DEVICE, scheme=scheme, age=0)],
            task=f"export OVERWRITES={OVERWRITES}\nsh /scarp/suite.sh\n",
            files={"suite.sh": HERE / "suite.sh"},
            memory_mib=512,
            wall_limit=900,
            out=out,
        )
    )
    if result.reason != "ok" or not result.results:
        tail = "".join(f"# {line}\n" for line in result.console_tail.splitlines()[-25:])
        return f"not ok 1 the guest: {result.reason}\n{tail}", False
    return (result.results / "ktap").read_text(), True


def main() -> int:
    print("KTAP version 1")
    print(f"1..{len(SCHEMES)}", flush=True)
    bad = 0
    qemu_build.ensure_qemu()
    guest_image.ensure_image(tests=True)
    with ThreadPoolExecutor(len(SCHEMES)) as pool:
        for number, (scheme, (text, ended)) in enumerate(
            zip(SCHEMES, pool.map(guest, SCHEMES), strict=True), 1
        ):
            for line in text.splitlines():
                print(f"    {line}")
            good = ended and "not ok" not in text
            bad += not good
            print(f"{'' if good else 'not '}ok {number} {scheme}", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except UserError as error:
        print(f"Bail out! {json.dumps(str(error))}")
        sys.exit(1)
