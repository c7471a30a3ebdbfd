# SPDX-License-Identifier: GPL-2.0-or-later
"""The plan on a description as a guest's kernel has it: `scarp probe` itself, on /dev/nvme0n1.

What this measures beside the replayer's probe of the same description is the path of a block
device: the driver, interrupts, and the probe's own program.
"""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from scarplib.build.cache import cache_dir, step
from scarplib.build.qemu import ensure_qemu
from scarplib.build.requests import ensure_requests
from scarplib.errors import UserError
from scarplib.guest import job, user_packages, vm
from scarplib.guest.image import ensure_image, ensure_modules
from scarplib.guest.script import OUT
from scarplib.guest.user_task import UserTask
from scarplib.own_drive.probe_file import Probe, load
from scarplib.paths import ENGINE, ROOT, SCRIPTS

# What the probe needs of a Linux host: Python, what looks for signatures, what requests go by.
PACKAGES = ("python3", "util-linux", "liburing2")
SERIAL = "scarp0"
# Of a probe's source.
KIND = "guest"
# In the guest, below /scarp: `scarp probe` in the root of the packages; and what it is made of.
PROGRAM = "bin/scarp-probe"
_TOOL = "tool"
_CACHE = "cache"
_SAID = "/results/probe.log"
# A plan's requests are in memory, and Python is.
MEMORY_MIB = 768
# Of QEMU's processor time: far more than any plan takes, as the plan itself bounds the probe.
CPU_LIMIT_S = 6 * 3600


def tool() -> dict[str, Path | bytes]:
    """For GuestRun.files: this program, what it else would build there, and what starts it."""
    # The engine's sources have the names of what logs say.
    sources = [*SCRIPTS.rglob("*.py"), *SCRIPTS.rglob("*.[ch]"), *ENGINE.rglob("*.[ch]")]
    sources += [SCRIPTS / "scarp"]
    found: dict[str, Path | bytes] = {f"{_TOOL}/{path.relative_to(ROOT)}": path for path in sources}
    program = ensure_requests()
    found[f"{_CACHE}/scarp/{program.relative_to(cache_dir())}"] = program
    python = f"python3 -B /scarp/{_TOOL}/scripts/scarp probe"
    lines = [
        "#!/bin/sh",
        f"export XDG_CACHE_HOME=/scarp/{_CACHE}",
        f'exec {user_packages.enter()}/usr/bin/{python} "$@"',
    ]
    return {**found, PROGRAM: "\n".join([*lines, ""]).encode()}


def user() -> UserTask:
    """A guest with these packages and this program in it."""
    packages = user_packages.ensure_packages(PACKAGES)
    files: dict[str, Path | bytes] = {**tool(), user_packages.IMAGE: packages.image}
    for name in user_packages.MODULES:
        files |= ensure_modules(name)
    return UserTask(packages=True, files=files, memory_mib=MEMORY_MIB)


@dataclass(frozen=True)
class InGuest:
    """A description that is accepted, and what of the plan is done."""

    description: Path
    mib: int
    overrides: tuple[str, ...] = ()
    scheme: str = "baseline"
    seed: int = 1
    held_out: bool = False

    def words(self) -> list[str]:
        """The options of the guest's `scarp probe`."""
        words = ["--destroy", SERIAL, "--mib", str(self.mib), "--seed", str(self.seed)]
        words += ["--minutes", "10000", "--out", f"{OUT}/probe.json"]
        return words + (["--held-out"] if self.held_out else [])

    def task(self, setup: Sequence[str]) -> str:
        """The guest's script."""
        failed = f'{{ tail -n 1 {_SAID} | sed "s/^/scarp-error: /"; exit 1; }}'
        # The guest's CPU is as fast as in `scarp run`.
        lines = ["set -e", job.set_speed(job.Job.cpu_shift), *setup]
        run = f"/scarp/{PROGRAM} $SCARP_DEV {shlex.join(self.words())} >{_SAID} 2>&1"
        return "\n".join([*lines, f"{run} || {failed}"]) + "\n"


def probe(of: InGuest) -> Probe:
    """Boots, probes, and brings the result home."""
    task, qemu, image = user(), ensure_qemu(), ensure_image()
    with (
        tempfile.TemporaryDirectory(prefix="scarp-probe-guest-") as scratch,
        step("the probe in a guest"),
    ):
        drive = vm.FlashDrive(
            description=of.description,
            scheme=of.scheme,
            overrides=",".join(of.overrides) or None,
        )
        result = vm.run_guest(
            vm.GuestRun(
                qemu=qemu,
                image=image,
                drives=[drive],
                task=of.task(task.setup()),
                files=task.content(),
                memory_mib=task.memory_mib,
                cpu_limit=CPU_LIMIT_S,
                out=Path(scratch),
            )
        )
        if result.reason != "ok" or not result.results:
            lines = result.console_tail.splitlines()
            why = [line for line in lines if line.startswith("scarp-error: ")] or lines[-1:]
            said = "".join(why[-1:]).removeprefix("scarp-error: ").removeprefix("scarp: error: ")
            raise UserError(f"{of.description}: the guest's probe: {result.reason}: {said}")
        found = load(result.results / OUT.removeprefix("/results/") / "probe.json")
    # The device's names say nothing of the description.
    kept = ("bytes", "kernel", "machine", "written_bytes")
    found.source = {"kind": KIND, **{name: found.source[name] for name in kept}}
    return found
