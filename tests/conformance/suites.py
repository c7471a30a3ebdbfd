# SPDX-License-Identifier: GPL-2.0-or-later
"""Suites of others: what of a source folder goes into the guest, with what, and which tests."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
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

    def without(self, done: set[str]) -> Plan:
        """What has no verdict yet: a test of which one name lacks it is run whole."""
        return self.of([test for test in self.tests if not set(self.of([test]).names) <= done])

    def of(self, tests: list[str]) -> Plan:
        """Those tests, with their names."""
        return Plan([n for n in self.names if any(f"/{t}/" in f"/{n}/" for t in tests)], tests)

    def parts(self, each: int) -> list[Plan]:
        """So many tests to each; 0: all to one."""
        size = each or len(self.tests) or 1
        starts = range(0, len(self.tests), size)
        return [self.of(self.tests[start : start + size]) for start in starts]


def _of_no_group(source: Path, groups: list[str]) -> Plan:
    return Plan([], [])


@dataclass(frozen=True)
class Suite:
    """`variable`: of `make conformance`; `parts`: what of the source the guest needs."""

    name: str
    variable: str
    what: str
    parts: tuple[str, ...]
    packages: tuple[str, ...]
    plan: Callable[[Path, bool], Plan]
    # In place of `plan`: what the suite itself has in these of its groups.
    plan_groups: Callable[[Path, list[str]], Plan] = _of_no_group
    modules: tuple[str, ...] = ()
    # In bytes, of one drive; larger than what the tests ask for.
    namespaces: tuple[int, ...] = (5 << 28,)
    memory_mib: int = 1024
    # More of QEMU's command line, for either device.
    machine: tuple[str, ...] = ()
    # Of QEMU's processor time, for a guest of the short list.
    cpu_limit: int = 1800
    # Of the guest's time, for one test; for suites that run tests one by one.
    test_limit_s: int = 600


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


# ---- xfstests ------------------------------------------------------------------------------------

# What a drive can break: what was flushed is there after a power cut (dm-log-writes, dm-flakey,
# shut down), discards, direct and asynchronous I/O.  The first two replay all that was written.
_XFSTESTS = (
    *("455", "482"),
    *("034", "039", "065", "066", "101", "106", "321", "322", "335", "341"),
    *("198", "240", "247", "249", "260", "288", "338", "392", "405", "468", "001", "008"),
)
# Tens of thousands of operations each, or they run until they are stopped.
_XFSTESTS_LONG = (
    *("013", "075", "076", "091", "112", "113", "127", "263", "311", "388", "457", "475"),
)
FILE_SYSTEMS = ("ext4", "xfs")


def _xfstests(source: Path, long: bool) -> Plan:
    return _on_each(source, _XFSTESTS + (_XFSTESTS_LONG if long else ()))


def _on_each(source: Path, numbers: Iterable[str]) -> Plan:
    """The same tests on each file system; what this version of the suite does not have is not."""
    found = [number for number in numbers if (source / f"tests/generic/{number}").is_file()]
    tests = [f"{fs}/generic/{number}" for fs in FILE_SYSTEMS for number in found]
    return Plan([f"xfstests/{test}" for test in tests], tests)


def _xfstests_of(source: Path, groups: list[str]) -> Plan:
    """All generic tests that the suite's own list has in one of these groups."""
    lines = (source / "tests/generic/group.list").read_text().splitlines()
    listed = [line.split() for line in lines if re.match(r"\d", line)]
    numbers = [number for number, *of in listed if set(of) & set(groups)]
    return _on_each(source, numbers)


# ---- libvfn --------------------------------------------------------------------------------------


def _libvfn(source: Path, long: bool) -> Plan:
    """The programs that were built."""
    programs = sorted(p for p in (source / "build/tests/device").glob("*") if p.is_file())
    tests = [path.name for path in programs if not path.suffix]
    return Plan([f"libvfn/{test}" for test in tests], tests)


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
    Suite(
        name="xfstests",
        variable="XFSTESTS",
        what="a checkout of xfstests, built as its README says",
        parts=(
            "check",
            "common",
            "configs",
            "tests/generic",
            # What only a build leaves; without the list, no test is known.
            "tests/generic/group.list",
            "src/feature",
            "src",
            "tools",
            "ltp/fsx*",
            "ltp/fsstress",
        ),
        # Without udev: no test waits for its daemon.
        packages=(
            *("bash", "gawk", "coreutils", "findutils", "grep", "sed", "diffutils", "hostname"),
            *("util-linux", "util-linux-extra", "bsdextrautils", "mount", "procps", "psmisc", "bc"),
            *(
                "perl",
                "python3-minimal",
                "acl",
                "attr",
                "quota",
                "e2fsprogs",
                "xfsprogs",
                "dmsetup",
            ),
            *("libaio1t64", "liburing2", "libgdbm6t64", "libcap2-bin", "uuid-runtime", "kmod"),
        ),
        plan=_xfstests,
        plan_groups=_xfstests_of,
        modules=(
            *("xfs", "dm-log-writes", "dm-thin-pool", "dm-flakey", "dm-snapshot"),
            *("dm-mod", "dm-delay", "dm-zero"),
        ),
        # TEST_DEV, SCRATCH_DEV, LOGWRITES_DEV; alike, as Linux looks at all at once, and names them
        # in whatever order it is done.
        namespaces=(1 << 30, 1 << 30, 1 << 30),
        memory_mib=1536,
        # An hour, for both file systems.
        cpu_limit=3600,
        # 455 replays its writes some 40 times.
        test_limit_s=1200,
    ),
    Suite(
        name="libvfn",
        variable="LIBVFN",
        what="a checkout of libvfn, built in its folder build as its README says, with libnvme",
        parts=("build/tests/device/*", "build/src/libvfn.so*"),
        packages=("bash", "coreutils", "grep", "sed", "libnvme1t64"),
        plan=_libvfn,
        modules=("vfio-pci", "vfio_iommu_type1"),
        # Without one, a program may not have a device of its own.
        machine=("-device", "intel-iommu,intremap=on"),
    ),
)


def check(suite: Suite, source: Path) -> None:
    """Is the folder what it is said to be?"""
    if not source.is_dir():
        raise UserError(f"{suite.variable}={source}: no such folder; {suite.what} is meant")
    for part in suite.parts:
        if not any(source.glob(part)):
            raise UserError(f"{suite.variable}={source}: no {part} in it; {suite.what} is meant")
