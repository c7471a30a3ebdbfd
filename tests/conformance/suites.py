# SPDX-License-Identifier: GPL-2.0-or-later
"""Suites of others: what of a source folder goes into the guest, with what, and which tests."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from scarplib.errors import UserError

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Plan:
    """The tests' names as the table has them, and what the guest's script is told to run."""

    names: list[str]
    tests: list[str]

    def only(self, wanted: list[str]) -> Plan:
        """The tests whose name contains one of these; all, if none is given."""
        names = [n for n in self.names if not wanted or any(x in n for x in wanted)]
        # What the guest is told is a whole part of the name: nvmept is not nvmept_trim.
        tests = [t for t in self.tests if any(f"/{t}/" in f"/{n}/" for n in names)]
        return Plan(names, tests)


@dataclass(frozen=True)
class Suite:
    """`variable`: of `make conformance`; `parts`: what of the source the guest needs."""

    name: str
    variable: str
    what: str
    parts: tuple[str, ...]
    packages: tuple[str, ...]
    plan: Callable[[Path, bool], Plan]
    modules: tuple[str, ...] = ()
    drives: int = 1
    memory_mib: int = 1024
    # Of QEMU's processor time, for a guest of the short list.
    cpu_limit: int = 1800


# ---- fio -----------------------------------------------------------------------------------------


def _fio(source: Path, long: bool) -> Plan:
    # Newer releases have renamed the first.
    scripts = ("io_uring_cmd", "nvmept", "nvmept_trim")
    found = [name for name in scripts if (source / f"t/{name}.py").exists()]
    names = [
        f"fio/{script}/{number}"
        for script in found
        for number in re.findall(r'"test_id": (\d+)', (source / f"t/{script}.py").read_text())
    ]
    return Plan(names, found)


# ---- blktests ------------------------------------------------------------------------------------

# More than a minute each of an idle machine.
_BLKTESTS_LONG = ("nvme/034", "nvme/035", "nvme/037")


def _blktests(source: Path, long: bool) -> Plan:
    """Those of groups block and nvme that test a given device; the others never touch it."""
    tests = []
    for path in sorted((source / "tests").glob("*/[0-9][0-9][0-9]")):
        name = f"{path.parent.name}/{path.name}"
        of_device = re.search(r"^test_device\(\)", path.read_text(errors="replace"), re.MULTILINE)
        if path.parent.name in ("block", "nvme") and of_device:
            tests.append(name)
    if not long:
        tests = [name for name in tests if name not in _BLKTESTS_LONG]
    return Plan([f"blktests/{name}" for name in tests], tests)


SUITES = (
    Suite(
        name="fio",
        variable="FIO",
        what="fio's source, or the word debian: that of the guest's version",
        parts=("t/*.py",),
        packages=("bash", "python3-minimal", "python3"),
        plan=_fio,
    ),
    Suite(
        name="blktests",
        variable="BLKTESTS",
        what="a checkout of blktests, built as its README says",
        parts=("check", "common", "src", "tests/block", "tests/nvme"),
        packages=(
            *("bash", "gawk", "coreutils", "findutils", "grep", "sed", "diffutils", "gzip"),
            *("util-linux", "bsdextrautils", "mount", "procps", "kmod", "pciutils", "udev", "jq"),
            *("xfsprogs", "uuid-runtime", "login", "hostname"),
        ),
        plan=_blktests,
        modules=("xfs", "nvme-loop", "nvme-tcp", "null_blk"),
    ),
)


def check(suite: Suite, source: Path) -> None:
    """Is the folder what it is said to be?"""
    if not source.is_dir():
        raise UserError(f"{suite.variable}={source}: no such folder; {suite.what} is meant")
    for part in suite.parts:
        if not any(source.glob(part)):
            raise UserError(f"{suite.variable}={source}: no {part} in it; {suite.what} is meant")
