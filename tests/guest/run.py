# SPDX-License-Identifier: GPL-2.0-or-later
"""Guests under test: the suite under each scheme, a broken mapping, and guests that end badly.

Each guest is one test with its own subtests (KTAP); they run on as many cores as there are.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "scripts"))

from scarplib import guest_image, qemu_build, vm  # noqa: E402
from scarplib.errors import UserError  # noqa: E402

DEVICE = ROOT / "devices" / "demo.ini"
# About 53 MiB for the host: ten overwrites with verification take half a minute.
SMALL = "geometry.blocks_per_plane=20,ftl.over_provisioning_permille=500"
SCHEMES = ("baseline", "ideal")

Outcome = tuple[bool, str]


def _run(name: str, task: str, variant: str = "", **options: object) -> vm.GuestResult:
    out = ROOT / "out" / "test-guest" / name
    shutil.rmtree(out, ignore_errors=True)
    settings: dict[str, object] = {
        "drives": [vm.FlashDrive(description=DEVICE, overrides=SMALL)],
        "wall_limit": 120,
        **options,
    }
    return vm.run_guest(
        vm.GuestRun(
            qemu=qemu_build.ensure_qemu(variant),
            image=guest_image.ensure_image(tests=True),
            task=task,
            files={"suite.sh": HERE / "suite.sh"},
            out=out,
            **settings,  # type: ignore[arg-type]
        )
    )


def _console(result: vm.GuestResult) -> str:
    return "".join(f"# {line}\n" for line in result.console_tail.splitlines()[-25:])


def suite(scheme: str) -> Outcome:
    result = _run(
        scheme,
        "sh /scarp/suite.sh\n",
        drives=[
            vm.FlashDrive(description=DEVICE, scheme=scheme, overrides=SMALL),
            vm.FlashDrive(description=DEVICE, scheme=scheme),
        ],
        memory_mib=512,
        wall_limit=900,
    )
    if result.reason != "ok" or not result.results:
        return False, f"not ok 1 the guest: {result.reason}\n{_console(result)}"
    text = (result.results / "ktap").read_text()
    return "not ok" not in text, text


def broken_mapping() -> Outcome:
    """An engine that stores some units under another LPN: fio must say so."""
    task = (
        "fio --name=verify --filename=$SCARP_DEV --direct=1 --ioengine=io_uring --iodepth=16 "
        "--thread --rw=randwrite --bs=4k --size=16m --verify=crc32c --verify_fatal=1 "
        "--do_verify=1 >/results/fio 2>&1\necho $? >/results/status\n"
    )
    result = _run("broken-mapping", task, variant="broken-mapping")
    if result.reason != "ok" or not result.results:
        return False, _console(result)
    said = (result.results / "fio").read_text()
    status = (result.results / "status").read_text().strip()
    return status != "0" and "verify" in said and "bad" in said.lower(), f"# {said[-300:]!r}\n"


def _ends(name: str, task: str, reason: str, says: str, **options: object) -> Outcome:
    result = _run(name, task, **options)
    good = result.reason == reason and result.results is None and says in result.console_tail
    return good, f"# reason {result.reason}\n" + _console(result)


def realtime() -> Outcome:
    """The engine in a thread, on the host's clock; the controller is reset with I/O in flight."""
    fio = (
        "fio --filename=$SCARP_DEV --direct=1 --ioengine=io_uring --iodepth=32 --thread "
        "--rw=randwrite --bs=4k --verify=crc32c --verify_fatal=1 --do_verify=1 --eta=never"
    )
    task = (
        f"set -e\n{fio} --name=verify --size=16m\n"
        f"{fio} --name=reset --size=40m --loops=4 &\n"
        "pid=$!\n"
        "for i in 1 2 3 4; do sleep 0.5; nvme reset $SCARP_CTRL; done\n"
        # Or nothing was in flight.
        "kill -0 $pid\n"
        "wait $pid\n"
        "nvme get-log $SCARP_CTRL --log-id=0xca --log-len=96 --raw-binary >/results/stats.bin\n"
    )
    drive = vm.FlashDrive(description=DEVICE, overrides=SMALL, clock="realtime")
    result = _run("realtime", task, drives=[drive], icount=False)
    return result.reason == "ok" and result.results is not None, _console(result)


TESTS: list[tuple[str, Callable[[], Outcome]]] = [
    *((f"the suite under {scheme}", lambda scheme=scheme: suite(scheme)) for scheme in SCHEMES),
    ("a broken mapping is caught by fio --verify", broken_mapping),
    ("without icount: a thread's engine, verification, resets", realtime),
    (
        "a panic ends the run",
        lambda: _ends("panic", "echo c >/proc/sysrq-trigger\n", "panic", "Kernel panic"),
    ),
    (
        # A guest that sleeps is skipped forward; one that spins is not.
        "a hang ends the run within its limit",
        lambda: _ends("hang", "while :; do :; done\n", "hang", "stopped after", wall_limit=20),
    ),
    (
        "a full disk ends the run",
        lambda: _ends(
            "full",
            "dd if=/dev/zero of=/results/x bs=1M count=4096\n",
            "task failed",
            "No space left on device",
        ),
    ),
]


def main() -> int:
    print("KTAP version 1")
    print(f"1..{len(TESTS)}", flush=True)
    for variant in ("", "broken-mapping"):
        qemu_build.ensure_qemu(variant)
    guest_image.ensure_image(tests=True)
    bad = 0
    with ThreadPoolExecutor(min(3, os.cpu_count() or 1)) as pool:
        outcomes = pool.map(lambda test: test[1](), TESTS)
        for number, ((name, _), (good, text)) in enumerate(zip(TESTS, outcomes, strict=True), 1):
            for line in text.splitlines():
                print(f"    {line}")
            bad += not good
            print(f"{'' if good else 'not '}ok {number} {name}", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except UserError as error:
        print(f"Bail out! {json.dumps(str(error))}")
        sys.exit(1)
